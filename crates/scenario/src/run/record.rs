//! Records the command lists of a scenario, call by call.

use super::resources::World;
use super::{Context, Packets, RunError};
use crate::expr::Expr;
use crate::format::call::{Arg, Call, CallKind};
use crate::format::submit::{ListDecl, QueueType};
use crate::problem::{Problem, Span};
use crate::reader::At;
use std::collections::BTreeMap;
use wavefence_base::{Finding, GpuAddress};
use wavefence_d3d::enums::{
    D3D12_COMPARISON_FUNC, D3D12_RESOURCE_BARRIER_TYPE, D3D12_RESOURCE_STATES,
    D3D12XBOX_DISPATCH_FLAGS, D3D12XBOX_FLUSH, D3D12XBOX_FLUSH_RANGE_ALL, D3D12XBOX_WAIT_FLAGS,
    D3D12XBOX_WRITE_VALUE_BOP_FLAGS,
};
use wavefence_d3d::{
    Barrier, CallError, CommandList, CommandSignature, CountBuffer, Device, Face, ListKind,
    TextureLocation,
};
use wavefence_report::{CallErrorItem, Report};
use wavefence_shader::ir::ResourceClass;
use wavefence_shader::ir::WaveRule;

/// PIX colour of a marker that names none.
const WHITE: u32 = 0xFFFF_FFFF;

/// A recorded list.
pub(super) struct Recorded {
    pub list: CommandList,
    pub errors: Vec<CallError>,
    /// The scenario's call, and its place, for each number that `d3d` gave.
    places: BTreeMap<u32, usize>,
}

impl Recorded {
    pub(super) fn packets(&self) -> Packets {
        let mut calls: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for call in self.list.calls() {
            let mut text = format!("#{} {}", call.index, call.name);
            if !call.arguments.is_empty() {
                text.push_str(&format!("({})", call.arguments));
            }
            calls.entry(call.word as usize).or_default().push(text);
        }
        Packets {
            name: self.list.name().to_string(),
            ring: self.list.kind().ring(),
            words: self.list.words().to_vec(),
            branches: self.list.branches().map(<[u32]>::to_vec).collect(),
            calls,
        }
    }

    /// Advice about its calls.
    fn advice(&self) -> &[Finding] {
        self.list.advice()
    }
}

fn list_kind(kind: QueueType) -> ListKind {
    match kind {
        QueueType::Graphics => ListKind::Graphics,
        QueueType::Compute => ListKind::Compute,
        QueueType::Dma => ListKind::Dma,
    }
}

/// Records every list; a plain pipeline becomes one.
pub(super) fn lists(
    cx: &Context<'_>,
    device: &mut Device,
    world: &World,
) -> Result<Vec<Recorded>, RunError> {
    if cx.scenario.lists.is_empty() {
        return Ok(vec![plain(cx, device, world)?]);
    }
    cx.scenario.lists.iter().map(|decl| one(cx, device, world, decl)).collect()
}

/// Every shader of a plain pipeline in order, with every set bound.
fn plain(cx: &Context<'_>, device: &mut Device, world: &World) -> Result<Recorded, RunError> {
    let mut list = device.create_command_list("pipeline", ListKind::Compute);
    for set in &world.sets {
        list.set_bindings(set);
    }
    for (decl, pipeline) in cx.scenario.shaders.iter().zip(&world.pipelines) {
        let mut groups = [1; 3];
        if let Some(size) = cx.scenario.dispatch.as_ref().or(decl.dispatch.as_ref()) {
            for (group, expr) in groups.iter_mut().zip(&size.value) {
                *group = world.number(cx, expr)?;
            }
        }
        list.set_pipeline_state(pipeline);
        if cx.options.wave32 && pipeline.kernel().wave == WaveRule::Wave32 {
            use D3D12XBOX_DISPATCH_FLAGS as F;
            let flags = F::FORCE_START_AT_000 | F::W32;
            list.dispatch_x(groups[0], groups[1], groups[2], flags);
        } else {
            list.dispatch(groups[0], groups[1], groups[2]);
        }
    }
    Ok(close(list, BTreeMap::new()))
}

fn close(mut list: CommandList, places: BTreeMap<u32, usize>) -> Recorded {
    let errors = list.close().err().map(|e| e.0).unwrap_or_default();
    Recorded { list, errors, places }
}

fn one(
    cx: &Context<'_>,
    device: &mut Device,
    world: &World,
    decl: &ListDecl,
) -> Result<Recorded, RunError> {
    let kind = list_kind(decl.kind);
    let name = &decl.name.value;
    let mut list = match decl.face.value {
        Face::D3D12X => device.create_command_list(name, kind),
        Face::D3D11X => device.create_context_x(name, kind).map_err(|e| cx.api(decl.face.at, e))?,
    };
    if kind != ListKind::Dma {
        let sets = cx.scenario.sets.iter().zip(&world.sets);
        for (_, set) in sets.filter(|(set, _)| set.name.is_none()) {
            list.set_bindings(set);
        }
    }
    let mut places = BTreeMap::new();
    for (i, call) in decl.calls.iter().enumerate() {
        places.insert(list.next_index(), i);
        Args { cx, world, call }.record(&mut list)?;
    }
    Ok(close(list, places))
}

/// Puts errors and advice of the lists into the report.
pub(super) fn tell(cx: &Context<'_>, lists: &[Recorded], report: &mut Report) {
    for (i, recorded) in lists.iter().enumerate() {
        let calls = cx.scenario.lists.get(i).map_or(&[][..], |l| &l.calls);
        let call = |index: u32| recorded.places.get(&index).and_then(|&i| calls.get(i));
        for error in &recorded.errors {
            let at = call(error.index).map(|c| c.place(&error.argument));
            let at = at.map_or_else(
                || cx.source.name.clone(),
                |at| {
                    let (line, column) = cx.source.line_column(at.start);
                    format!("{}:{line}:{column}", cx.source.name)
                },
            );
            report.errors.push(CallErrorItem::new(error, at));
        }
        report.findings.extend(recorded.advice().iter().map(Into::into));
    }
}

/// The arguments of one call.
pub(super) struct Args<'a> {
    pub(super) cx: &'a Context<'a>,
    pub(super) world: &'a World,
    pub(super) call: &'a Call,
}

impl<'a> Args<'a> {
    fn expr(&self, name: &str) -> Option<&'a Expr> {
        match self.call.arg(name) {
            Some(Arg::Number(expr)) => Some(expr),
            Some(Arg::Numbers(_) | Arg::Text(_)) | None => None,
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a At<String>> {
        match self.call.arg(name) {
            Some(Arg::Text(text)) => Some(text),
            Some(Arg::Number(_) | Arg::Numbers(_)) | None => None,
        }
    }

    /// The number, or `default` if it was left out.
    pub(super) fn or<T: TryFrom<i128>>(&self, name: &str, default: T) -> Result<T, RunError> {
        match self.expr(name) {
            Some(expr) => self.world.number(self.cx, expr),
            None => Ok(default),
        }
    }

    /// A number that the reader made sure of.
    pub(super) fn number<T: TryFrom<i128> + Default>(&self, name: &str) -> Result<T, RunError> {
        self.or(name, T::default())
    }

    pub(super) fn address(&self, name: &str) -> Result<GpuAddress, RunError> {
        Ok(GpuAddress(self.number(name)?))
    }

    pub(super) fn numbers(&self, name: &str) -> Result<Vec<u32>, RunError> {
        match self.call.arg(name) {
            Some(Arg::Numbers(list)) => list.iter().map(|e| self.word(e)).collect(),
            Some(Arg::Number(_) | Arg::Text(_)) | None => Ok(Vec::new()),
        }
    }

    /// A dword: unsigned, or signed in two's complement.
    fn word(&self, expr: &Expr) -> Result<u32, RunError> {
        let value: i64 = self.world.number(self.cx, expr)?;
        u32::try_from(value).or_else(|_| i32::try_from(value).map(|v| v as u32)).map_err(|_| {
            self.cx.error(Problem::at(expr.at, format!("{value} does not fit 32 bits")))
        })
    }

    /// Flags or an enumeration value by name; `default` if left out.
    pub(super) fn named<T, E: std::fmt::Display>(
        &self,
        name: &str,
        default: T,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, RunError> {
        match self.text(name) {
            None => Ok(default),
            Some(text) => {
                parse(&text.value).map_err(|e| self.cx.error(Problem::at(text.at, e.to_string())))
            }
        }
    }

    pub(super) fn required(&self, name: &str) -> Result<&'a At<String>, RunError> {
        let missing = || {
            let message = format!("{} needs `{name}`", self.call.kind.name());
            self.cx.error(Problem::at(self.call.at, message))
        };
        self.text(name).ok_or_else(missing)
    }

    fn counts(&self) -> Result<[u32; 3], RunError> {
        Ok([
            self.number("ThreadGroupCountX")?,
            self.number("ThreadGroupCountY")?,
            self.number("ThreadGroupCountZ")?,
        ])
    }

    fn record(&self, list: &mut CommandList) -> Result<(), RunError> {
        match self.call.kind {
            CallKind::SetPipelineState => self.set_pipeline(list, "PipelineState"),
            CallKind::SetComputeRootDescriptorTable => self.set_descriptor_table(list),
            CallKind::SetComputeRoot32BitConstants => self.set_constants(list),
            CallKind::SetComputeRootSignature => self.run(list, |_, l| Ok(l.clear_bindings())),
            CallKind::SetComputeStartX => self.run(list, |a, l| {
                Ok(l.set_compute_start_x([a.number("X")?, a.number("Y")?, a.number("Z")?]))
            }),
            CallKind::Dispatch => self.run(list, |a, l| {
                let [x, y, z] = a.counts()?;
                Ok(l.dispatch(x, y, z))
            }),
            CallKind::DispatchX => self.dispatch_x(list),
            CallKind::ExecuteIndirect => self.execute_indirect(list),
            CallKind::CopyBufferRegion => self.copy_buffer_region(list),
            CallKind::CopyResource => self.copy_resource(list),
            CallKind::CopyTextureRegion => self.copy_texture(list),
            CallKind::CopyMemoryToMemoryX => self.run(list, |a, l| {
                let (to, from) = (a.address("Destination")?, a.address("Source")?);
                Ok(l.copy_memory_to_memory_x(to, from, a.number("NumBytes")?))
            }),
            CallKind::FillMemoryWith32BitValueX => self.run(list, |a, l| {
                let (to, bytes) = (a.address("Destination")?, a.number("NumBytes")?);
                Ok(l.fill_memory_with_32_bit_value_x(to, bytes, a.number("Value")?))
            }),
            CallKind::FillMemoryWith64BitValueX => self.run(list, |a, l| {
                let (to, bytes) = (a.address("Destination")?, a.number("NumBytes")?);
                Ok(l.fill_memory_with_64_bit_value_x(to, bytes, a.number("Value")?))
            }),
            CallKind::ResourceBarrier => self.barrier(list),
            CallKind::FlushPipelineX => self.flush_pipeline(list),
            CallKind::Write32BitValueBottomOfPipeX => self.run(list, |a, l| {
                let (to, value) = (a.address("Destination")?, a.number("Value")?);
                Ok(l.write_32_bit_value_bottom_of_pipe_x(to, value, a.flush()?, a.write_flags()?))
            }),
            CallKind::Write64BitValueBottomOfPipeX => self.run(list, |a, l| {
                let (to, value) = (a.address("Destination")?, a.number("Value")?);
                Ok(l.write_64_bit_value_bottom_of_pipe_x(to, value, a.flush()?, a.write_flags()?))
            }),
            CallKind::Write32BitValueTopOfPipeX => self.run(list, |a, l| {
                let to = a.address("Destination")?;
                Ok(l.write_32_bit_value_top_of_pipe_x(to, a.number("Value")?))
            }),
            CallKind::Write64BitValueTopOfPipeX => self.run(list, |a, l| {
                let to = a.address("Destination")?;
                Ok(l.write_64_bit_value_top_of_pipe_x(to, a.number("Value")?))
            }),
            CallKind::Write32BitValueBottomOfShaderX => self.run(list, |a, l| {
                let to = a.address("Destination")?;
                Ok(l.write_32_bit_value_bottom_of_shader_x(to, a.number("Value")?))
            }),
            CallKind::Wait32BitValueX => self.run(list, |a, l| {
                let (at, value) = (a.address("Address")?, a.number("Reference")?);
                Ok(l.wait_32_bit_value_x(at, a.function()?, value, a.wait_flags()?))
            }),
            CallKind::Wait64BitValueX => self.run(list, |a, l| {
                let (at, value) = (a.address("Address")?, a.number("Reference")?);
                Ok(l.wait_64_bit_value_x(at, a.function()?, value, a.wait_flags()?))
            }),
            CallKind::SetupOrderedAppendCounterX => self.run(list, |a, l| {
                Ok(l.setup_ordered_append_counter_x(a.number("Counter")?, a.number("Value")?))
            }),
            CallKind::WriteGDSX => {
                self.run(list, |a, l| Ok(l.write_gds_x(a.number("Offset")?, &a.numbers("Data")?)))
            }
            CallKind::ReadGDSX => self.read_gds(list),
            CallKind::BeginEvent | CallKind::PIXBeginEvent => self.run(list, |a, l| {
                Ok(l.begin_event(a.or("Color", WHITE)?, &a.required("Name")?.value))
            }),
            CallKind::EndEvent | CallKind::PIXEndEvent => self.run(list, |_, l| Ok(l.end_event())),
            CallKind::SetMarker | CallKind::PIXSetMarker => self.run(list, |a, l| {
                Ok(l.set_marker(a.or("Color", WHITE)?, &a.required("Name")?.value))
            }),
            CallKind::InsertPacketsX => {
                self.run(list, |a, l| Ok(l.insert_packets_x(&a.numbers("Words")?)))
            }
            _ => self.context(list),
        }
    }

    /// Records through a chaining method of the list.
    fn run<'l>(
        &self,
        list: &'l mut CommandList,
        call: impl FnOnce(&Self, &'l mut CommandList) -> Result<&'l mut CommandList, RunError>,
    ) -> Result<(), RunError> {
        call(self, list).map(|_| ())
    }

    fn flush(&self) -> Result<D3D12XBOX_FLUSH, RunError> {
        self.named("Flush", D3D12XBOX_FLUSH::NONE, D3D12XBOX_FLUSH::parse)
    }

    fn write_flags(&self) -> Result<D3D12XBOX_WRITE_VALUE_BOP_FLAGS, RunError> {
        let none = D3D12XBOX_WRITE_VALUE_BOP_FLAGS::NONE;
        self.named("Flags", none, D3D12XBOX_WRITE_VALUE_BOP_FLAGS::parse)
    }

    fn wait_flags(&self) -> Result<D3D12XBOX_WAIT_FLAGS, RunError> {
        self.named("Flags", D3D12XBOX_WAIT_FLAGS::NONE, D3D12XBOX_WAIT_FLAGS::parse)
    }

    fn function(&self) -> Result<D3D12_COMPARISON_FUNC, RunError> {
        self.named("Function", D3D12_COMPARISON_FUNC::ALWAYS, D3D12_COMPARISON_FUNC::parse)
    }

    fn flush_pipeline(&self, list: &mut CommandList) -> Result<(), RunError> {
        let size = self.or("Size", D3D12XBOX_FLUSH_RANGE_ALL)?;
        list.flush_pipeline_x(self.flush()?, self.address("Base")?, size);
        Ok(())
    }

    fn read_gds(&self, list: &mut CommandList) -> Result<(), RunError> {
        let (to, at) = (self.address("Destination")?, self.number("Offset")?);
        list.read_gds_x(to, at, self.number("NumDwords")?);
        Ok(())
    }

    pub(super) fn set_pipeline(
        &self,
        list: &mut CommandList,
        argument: &str,
    ) -> Result<(), RunError> {
        let name = self.required(argument)?;
        let shaders = self.cx.scenario.shaders.iter().zip(&self.world.pipelines);
        for (_, pipeline) in shaders.filter(|(d, _)| d.name.value == name.value).take(1) {
            list.set_pipeline_state(pipeline);
        }
        Ok(())
    }

    fn set_descriptor_table(&self, list: &mut CommandList) -> Result<(), RunError> {
        let name = self.required("DescriptorSet")?;
        let sets = self.cx.scenario.sets.iter().zip(&self.world.sets);
        let named = |n: &Option<At<String>>| n.as_ref().is_some_and(|n| n.value == name.value);
        for (_, set) in sets.filter(|(d, _)| named(&d.name)).take(1) {
            list.set_bindings(set);
        }
        Ok(())
    }

    /// The views of one class of a descriptor set.
    pub(super) fn set_views(
        &self,
        list: &mut CommandList,
        class: ResourceClass,
    ) -> Result<(), RunError> {
        let name = self.required("DescriptorSet")?;
        let sets = self.cx.scenario.sets.iter().zip(&self.world.sets);
        let named = |n: &Option<At<String>>| n.as_ref().is_some_and(|n| n.value == name.value);
        for (_, set) in sets.filter(|(d, _)| named(&d.name)).take(1) {
            list.set_views(class, set);
        }
        Ok(())
    }

    fn set_constants(&self, list: &mut CommandList) -> Result<(), RunError> {
        let words = self.numbers("Values")?;
        list.set_root_constants(self.number("Register")?, self.number("Space")?, &words);
        Ok(())
    }

    fn dispatch_x(&self, list: &mut CommandList) -> Result<(), RunError> {
        let [x, y, z] = self.counts()?;
        let none = D3D12XBOX_DISPATCH_FLAGS::NONE;
        list.dispatch_x(x, y, z, self.named("Flags", none, D3D12XBOX_DISPATCH_FLAGS::parse)?);
        Ok(())
    }

    fn execute_indirect(&self, list: &mut CommandList) -> Result<(), RunError> {
        let (cx, world) = (self.cx, self.world);
        let arguments = world.buffer(cx, self.required("ArgumentBuffer")?)?;
        let count = match self.text("CountBuffer") {
            Some(name) => Some(CountBuffer {
                buffer: world.buffer(cx, name)?,
                offset: self.number("CountBufferOffset")?,
            }),
            None => None,
        };
        let byte_stride = CommandSignature::default().byte_stride;
        let signature = CommandSignature { byte_stride: self.or("ByteStride", byte_stride)? };
        let most = self.or("MaxCommandCount", 1)?;
        let offset = self.number("ArgumentBufferOffset")?;
        list.execute_indirect(signature, most, arguments, offset, count);
        Ok(())
    }

    fn copy_buffer_region(&self, list: &mut CommandList) -> Result<(), RunError> {
        let to = self.world.buffer(self.cx, self.required("DstBuffer")?)?;
        let from = self.world.buffer(self.cx, self.required("SrcBuffer")?)?;
        let (at, source) = (self.number("DstOffset")?, self.number("SrcOffset")?);
        list.copy_buffer_region(to, at, from, source, self.number("NumBytes")?);
        Ok(())
    }

    fn copy_resource(&self, list: &mut CommandList) -> Result<(), RunError> {
        let to = self.world.resource(self.cx, self.required("DstResource")?)?;
        list.copy_resource(to, self.world.resource(self.cx, self.required("SrcResource")?)?);
        Ok(())
    }

    fn copy_texture(&self, list: &mut CommandList) -> Result<(), RunError> {
        let (cx, world) = (self.cx, self.world);
        let to = world.texture(cx, self.required("DstResource")?)?;
        let from = world.texture(cx, self.required("SrcResource")?)?;
        let [width, height, _] = from.extent();
        let place: Span = self.call.place("SrcBox");
        let [left, top, right, bottom] = match self.numbers("SrcBox")?[..] {
            [] => [0, 0, width, height],
            [left, top, right, bottom] if left <= right && top <= bottom => {
                [left, top, right, bottom]
            }
            _ => {
                let message = "SrcBox is [left, top, right, bottom]";
                return Err(cx.error(Problem::at(place, message)));
            }
        };
        list.copy_texture_region(
            TextureLocation::Texture(to),
            [self.number("DstX")?, self.number("DstY")?],
            TextureLocation::Texture(from),
            [left, top],
            [right - left, bottom - top],
        );
        Ok(())
    }

    fn barrier(&self, list: &mut CommandList) -> Result<(), RunError> {
        use D3D12_RESOURCE_BARRIER_TYPE as Kind;
        let states =
            |name| self.named(name, D3D12_RESOURCE_STATES::COMMON, D3D12_RESOURCE_STATES::parse);
        let resource = match self.text("Resource") {
            Some(name) => Some(self.world.resource(self.cx, name)?),
            None => None,
        };
        let barrier = match self.named("Type", Kind::TRANSITION, Kind::parse)? {
            Kind::TRANSITION => {
                for name in ["Resource", "StateBefore", "StateAfter"] {
                    self.required(name)?;
                }
                let Some(resource) = resource else { return Ok(()) };
                let (before, after) = (states("StateBefore")?, states("StateAfter")?);
                Barrier::Transition { resource, before, after }
            }
            Kind::UAV => Barrier::Uav(resource),
            Kind::ALIASING => Barrier::Aliasing { before: None, after: resource },
        };
        list.resource_barrier(&[barrier]);
        Ok(())
    }
}
