//! The scenario file: from text to a [`Scenario`] in which every name is known to
//! exist.
//!
//! The format is a superset of the LLVM offload test suite's pipeline: `Shaders`,
//! `Buffers`, `Samplers`, `DescriptorSets`, `DispatchParameters` and `Results`
//! mean what they mean there. A file without `CommandLists` runs its shaders as
//! one list on one queue. `Profile`, `Memory`, `Images`, `Queues`, `Fences`,
//! `CommandLists`, `Submit`, `Expect` and `Explore` are ours.

pub mod binding;
pub mod buffer;
pub mod call;
pub mod expect;
pub mod explore;
pub mod image;
pub mod push;
pub mod shader;
pub mod submit;

use crate::expr::Expr;
use crate::node::{self, Node};
use crate::problem::{Problem, Problems, Source, Span};
use crate::reader::{At, MapReader, Reader, unknown};
use binding::{DescriptorSetDecl, SamplerDecl};
use buffer::BufferDecl;
use call::Arg;
use expect::{Expect, ResultDecl};
use explore::ExploreDecl;
use image::ImageDecl;
use shader::ShaderDecl;
use submit::{FenceDecl, ListDecl, MemoryDecl, QueueDecl, Step};
use wavefence_base::ProfileName;

/// A scenario as its file tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// The profile, if the file names one.
    pub profile: Option<ProfileName>,
    /// Kernels.
    pub shaders: Vec<ShaderDecl>,
    /// Allocations.
    pub memory: Vec<MemoryDecl>,
    /// Buffers.
    pub buffers: Vec<BufferDecl>,
    /// Images.
    pub images: Vec<ImageDecl>,
    /// Samplers.
    pub samplers: Vec<SamplerDecl>,
    /// Sets of bindings.
    pub sets: Vec<DescriptorSetDecl>,
    /// Queues.
    pub queues: Vec<QueueDecl>,
    /// Fences.
    pub fences: Vec<FenceDecl>,
    /// Command lists.
    pub lists: Vec<ListDecl>,
    /// Steps in order.
    pub submit: Vec<At<Step>>,
    /// Bytes of push constants, for a plain pipeline.
    pub push_constants: Option<At<Vec<u8>>>,
    /// Groups to run, for a plain pipeline.
    pub dispatch: Option<At<Vec<Expr>>>,
    /// Buffers to compare.
    pub results: Vec<ResultDecl>,
    /// What is to happen.
    pub expect: Expect,
    /// What exploring it is to find.
    pub explore: ExploreDecl,
}

/// Reads a scenario.
///
/// # Errors
/// Everything that is wrong with the text, each with its place.
pub fn parse(source: &Source) -> Result<Scenario, Problems> {
    read(source, shader::shader)
}

/// Reads a scenario whose compiled shaders are given beside the file, one for each
/// entry of `Shaders`.
///
/// # Errors
/// As [`parse`].
pub fn parse_pipeline(source: &Source) -> Result<Scenario, Problems> {
    read(source, shader::given_shader)
}

/// Reads one entry of `Shaders:`.
type ReadShader = fn(&Reader, &Node) -> Option<shader::ShaderDecl>;

fn read(source: &Source, read_shader: ReadShader) -> Result<Scenario, Problems> {
    let all = |list| Problems { source: source.clone(), list };
    let root = node::parse(&source.text).map_err(|p| all(vec![p]))?;
    let reader = Reader::default();
    let scenario = top(&reader, &root, read_shader);
    if let Some(scenario) = &scenario {
        check_names(&reader, scenario);
    }
    let mut problems = reader.into_problems();
    match scenario {
        Some(scenario) if problems.is_empty() => Ok(scenario),
        _ => {
            problems.sort_by_key(|p| p.at.map_or(0, |at| at.start));
            if problems.is_empty() {
                problems.push(Problem::whole("the file is no scenario"));
            }
            Err(all(problems))
        }
    }
}

/// Parts of the suite's format that need what this version does not have.
const REFUSED: [(&str, &str); 5] = [
    ("Bindings", "there are no draws"),
    ("AccelerationStructures", "there is no ray tracing"),
    ("RayTracingPipelineConfig", "there is no ray tracing"),
    ("HitGroups", "there is no ray tracing"),
    ("ShaderBindingTable", "there is no ray tracing"),
];

fn each<T>(
    m: &mut MapReader<'_>,
    key: &'static str,
    read: fn(&Reader, &Node) -> Option<T>,
) -> Option<Vec<T>> {
    m.opt(key, |r, n| r.each(n, "a list", |n| read(r, n))).map(Option::unwrap_or_default)
}

fn top(r: &Reader, root: &Node, read_shader: ReadShader) -> Option<Scenario> {
    let mut m = r.map(root, "a scenario")?;
    let profile = m.opt("Profile", |r, n| {
        r.word(n, &ProfileName::ALL.map(|p| (p.as_str(), p))).map(|w| w.value)
    });
    let shaders = each(&mut m, "Shaders", read_shader);
    let memory = each(&mut m, "Memory", submit::memory);
    let buffers = each(&mut m, "Buffers", buffer::buffer);
    let images = each(&mut m, "Images", image::image);
    let samplers = each(&mut m, "Samplers", binding::sampler);
    let sets = each(&mut m, "DescriptorSets", binding::descriptor_set);
    let queues = each(&mut m, "Queues", submit::queue);
    let fences = each(&mut m, "Fences", submit::fence);
    let lists = each(&mut m, "CommandLists", submit::list);
    let steps = each(&mut m, "Submit", submit::step);
    let push_constants = m.opt("PushConstants", push::push_constants);
    let settings = m.opt("RuntimeSettings", push::runtime_settings);
    let dispatch = m.opt("DispatchParameters", dispatch_parameters);
    let results = each(&mut m, "Results", expect::result);
    let expect = m.opt("Expect", expect::expect);
    let explore = m.opt("Explore", explore::explore);
    for (key, why) in REFUSED {
        m.refuse(key, why);
    }
    m.finish()?;
    settings?;
    Some(Scenario {
        profile: profile?,
        shaders: shaders?,
        memory: memory?,
        buffers: buffers?,
        images: images?,
        samplers: samplers?,
        sets: sets?,
        queues: queues?,
        fences: fences?,
        lists: lists?,
        submit: steps?,
        push_constants: push_constants?,
        dispatch: dispatch?.flatten(),
        results: results?,
        expect: expect?.unwrap_or_default(),
        explore: explore?.unwrap_or_default(),
    })
}

#[allow(clippy::option_option, reason = "wrong, absent and present are three things")]
fn dispatch_parameters(r: &Reader, node: &Node) -> Option<Option<At<Vec<Expr>>>> {
    let mut m = r.map(node, "DispatchParameters")?;
    let count = m.opt("DispatchGroupCount", |r, n| {
        let list = r.each(n, "a list of three numbers", |n| r.expr(n))?;
        if list.len() != 3 {
            r.note(Problem::at(n.at, "DispatchGroupCount has three numbers"));
            return None;
        }
        Some(At::new(n.at, list))
    });
    m.refuse("VertexCount", "there are no draws");
    m.finish()?;
    count
}

/// What kinds of thing a name may belong to.
struct Names<'a> {
    reader: &'a Reader,
}

impl Names<'_> {
    fn unique<'n>(&self, what: &str, names: impl Iterator<Item = &'n At<String>>) {
        let mut seen: Vec<&str> = Vec::new();
        for name in names {
            if name.value.is_empty() {
                self.reader.note(Problem::at(name.at, format!("{what} has an empty name")));
            }
            if seen.contains(&name.value.as_str()) {
                let message = format!("{what} `{}` is there twice", name.value);
                self.reader.note(Problem::at(name.at, message));
            }
            seen.push(&name.value);
        }
    }

    fn known(&self, what: &str, name: &At<String>, known: &[&str]) {
        if !known.contains(&name.value.as_str()) {
            self.reader.note(unknown(name.at, what, &name.value, known));
        }
    }
}

fn check_names(reader: &Reader, s: &Scenario) {
    let names = Names { reader };
    let resources = s
        .memory
        .iter()
        .map(|m| &m.name)
        .chain(s.buffers.iter().map(|b| &b.name))
        .chain(s.images.iter().map(|i| &i.name))
        .chain(s.samplers.iter().map(|x| &x.name));
    names.unique("resource", resources.clone());
    names.unique("queue", s.queues.iter().map(|q| &q.name));
    names.unique("fence", s.fences.iter().map(|f| &f.name));
    names.unique("command list", s.lists.iter().map(|l| &l.name));
    names.unique("descriptor set", s.sets.iter().filter_map(|d| d.name.as_ref()));
    if !s.lists.is_empty() {
        names.unique("shader", s.shaders.iter().map(|d| &d.name));
    }
    let resources: Vec<&str> = resources.map(|n| n.value.as_str()).collect();
    for resource in s.sets.iter().flat_map(|d| &d.resources) {
        names.known("resource", &resource.name, &resources);
    }
    let buffers: Vec<&str> = s.buffers.iter().map(|b| b.name.value.as_str()).collect();
    for result in s.results.iter().chain(&s.expect.results) {
        names.known("buffer", &result.actual, &buffers);
        names.known("buffer", &result.expected, &buffers);
    }
    check_calls(&names, s, &resources);
    check_steps(&names, s);
    check_whole(reader, s);
}

fn check_calls(names: &Names<'_>, s: &Scenario, resources: &[&str]) {
    let shaders: Vec<&str> = s.shaders.iter().map(|d| d.name.value.as_str()).collect();
    let sets: Vec<&str> =
        s.sets.iter().filter_map(|d| d.name.as_ref()).map(|n| n.value.as_str()).collect();
    let fences: Vec<&str> = s.fences.iter().map(|f| f.name.value.as_str()).collect();
    for call in s.lists.iter().flat_map(|l| &l.calls) {
        for (param, arg) in call.kind.params().iter().zip(&call.args) {
            let Some(Arg::Text(text)) = arg else { continue };
            match (call.kind, param.name) {
                (_, "PipelineState" | "ComputeShader") => names.known("shader", text, &shaders),
                (_, "DescriptorSet") => names.known("descriptor set", text, &sets),
                (_, "Fence") => names.known("fence", text, &fences),
                (_, "DstBuffer" | "SrcBuffer" | "ArgumentBuffer" | "CountBuffer" | "Resource")
                | (_, "DstResource" | "SrcResource") => names.known("resource", text, resources),
                _ => {}
            }
        }
    }
}

fn check_steps(names: &Names<'_>, s: &Scenario) {
    let queues: Vec<&str> = s.queues.iter().map(|q| q.name.value.as_str()).collect();
    let fences: Vec<&str> = s.fences.iter().map(|f| f.name.value.as_str()).collect();
    let lists: Vec<&str> = s.lists.iter().map(|l| l.name.value.as_str()).collect();
    for step in &s.submit {
        match &step.value {
            Step::Execute { queue, lists: run } => {
                names.known("queue", queue, &queues);
                for list in run {
                    names.known("command list", list, &lists);
                }
            }
            Step::Signal { queue, fence, .. } | Step::QueueWait { queue, fence, .. } => {
                names.known("queue", queue, &queues);
                names.known("fence", fence, &fences);
            }
            Step::HostWait { fence: Some((fence, _)) } => names.known("fence", fence, &fences),
            Step::HostWait { fence: None }
            | Step::HostWrite { .. }
            | Step::HostRead(_)
            | Step::HostSpin(_)
            | Step::Free { .. }
            | Step::HangClaim { .. } => {}
        }
    }
    if let Some(hang) = &s.expect.hang
        && let Some(queue) = &hang.value.queue
        // Waits of the host stand under that name.
        && queue.value != "host"
    {
        names.known("queue", queue, &queues);
    }
}

/// A file that does nothing is a mistake, not a clean run.
fn check_whole(reader: &Reader, s: &Scenario) {
    if s.lists.is_empty() {
        if let Some(step) = s.submit.first() {
            let problem = Problem::at(Span::new(step.at.start, 1), "Submit needs CommandLists");
            reader.note(problem);
        } else if s.shaders.is_empty() {
            reader.note(
                Problem::whole("the scenario runs nothing")
                    .help("give Shaders, or CommandLists with Queues and Submit"),
            );
        }
    } else if let Some(push) = &s.push_constants {
        let message = "PushConstants belong to a pipeline without CommandLists";
        let problem = Problem::at(push.at, message);
        reader.note(problem.help("use SetComputeRoot32BitConstants"));
    } else if let Some(dispatch) = &s.dispatch {
        let message = "DispatchParameters belongs to a pipeline without CommandLists";
        reader.note(Problem::at(dispatch.at, message));
    } else if s.submit.is_empty() {
        let list = &s.lists[0].name;
        let problem = Problem::at(list.at, "no list is ever submitted");
        reader.note(problem.help("add Submit: [{Queue: Q, List: L}]"));
    }
}

#[cfg(test)]
mod tests;
