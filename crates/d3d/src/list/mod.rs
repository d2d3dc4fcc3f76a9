//! Command lists: calls are judged and encoded as they are recorded.
//!
//! As in Direct3D a recording call returns nothing to check; what is wrong is kept
//! and [`CommandList::close`] returns all of it. Every call counts, wrong ones too,
//! so that call number n is the n-th call that was made.

mod barrier;
mod context;
mod copy;
mod dispatch;
mod flush;
mod marker;
mod packets;
mod value;

pub use barrier::Barrier;
pub use copy::TextureLocation;
pub use dispatch::{CommandSignature, CountBuffer};
pub(crate) use flush::flush_sync;

use crate::binding::Bindings;
use crate::encode::{Encoder, Own};
use crate::enums::D3D12XBOX_DISPATCH_FLAGS;
use crate::error::{CallError, CallErrors, advice, place};
use crate::face::{Face, d3d11_call};
use crate::hang::{RecordedList, RecordedLists};
use crate::pipeline::Pipeline;
use crate::resource::DeviceTag;
use crate::rules;
use crate::view::View;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use wavefence_base::{Family, Finding, Generation, GpuAddress, Profile, Rule};
use wavefence_pm4::Ring;
use wavefence_shader::ir::ResourceClass;

/// Which engine a list is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListKind {
    /// The graphics queue.
    Graphics,
    /// Asynchronous compute queues.
    Compute,
    /// DMA engines.
    Dma,
}

impl ListKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Graphics, Self::Compute, Self::Dma];

    /// The ring whose packets the list is made of.
    pub const fn ring(self) -> Ring {
        match self {
            Self::Graphics => Ring::Graphics,
            Self::Compute => Ring::Compute,
            Self::Dma => Ring::Sdma,
        }
    }
}

impl fmt::Display for ListKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Graphics => "graphics",
            Self::Compute => "compute",
            Self::Dma => "dma",
        })
    }
}

/// A recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number in the list, from 0.
    pub index: u32,
    /// The call, as Direct3D spells it.
    pub name: &'static str,
    /// Its arguments, for calls that reports quote; else empty.
    pub arguments: Box<str>,
    /// Dword in the list where its packets start.
    pub word: u32,
    /// Of a flush with two halves: dword where the `TOP_…` half starts.
    pub top: Option<u32>,
}

/// A command list being recorded, or closed.
#[derive(Debug)]
pub struct CommandList {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    pub(crate) kind: ListKind,
    face: Face,
    pub(crate) device: DeviceTag,
    /// The other lives of its device that its objects are of, one object each.
    pub(crate) uses: Vec<(String, DeviceTag)>,
    pub(crate) encoder: Encoder,
    pub(crate) calls: Vec<Call>,
    profile: Arc<Profile>,
    next: u32,
    closed: bool,
    errors: Vec<CallError>,
    advice: Vec<Finding>,
    /// Where in `advice` the same advice about the same call stands.
    advised: HashMap<(u32, &'static str, String), usize>,
    state: State,
    /// Open events: index of the call and the name.
    events: Vec<(u32, String)>,
    /// True once a copy or fill was recorded.
    copied: bool,
    /// The device's closed lists, and this one's entry there.
    recorded: RecordedLists,
    entry: Option<Arc<RecordedList>>,
}

/// What the next dispatch uses, and what of it the packets do not say yet.
#[derive(Debug, Default)]
struct State {
    pipeline: Option<Pipeline>,
    bindings: Bindings,
    start: [u32; 3],
    /// Of `SetDispatchFlags`, once it was called.
    flags: Option<D3D12XBOX_DISPATCH_FLAGS>,
    program_dirty: bool,
    bindings_dirty: bool,
    start_dirty: bool,
    threads: Option<([u32; 3], [u32; 3])>,
    /// Tables already in the list, by their bytes.
    tables: HashMap<Vec<u8>, Own>,
    /// The table of the present bindings.
    table: Option<Own>,
    /// Set when the bindings were judged wrong, so that one cause is told once.
    binding_errors: bool,
}

impl State {
    /// Takes nothing for granted that packets said before.
    fn forget(&mut self) {
        self.program_dirty = self.pipeline.is_some();
        self.bindings_dirty = true;
        self.start_dirty = true;
        self.threads = None;
    }
}

/// The judgement of one call.
pub(crate) struct Checks {
    list: Arc<str>,
    index: u32,
    call: &'static str,
    errors: Vec<CallError>,
    advice: Vec<Finding>,
    /// Objects of other lives of the device than the list's.
    uses: Vec<(String, DeviceTag)>,
}

impl Checks {
    /// The call breaks `rule`.
    pub(crate) fn error(
        &mut self,
        rule: &'static Rule,
        argument: &str,
        value: impl fmt::Display,
        message: impl Into<String>,
    ) {
        self.errors.push(CallError {
            rule,
            list: self.list.to_string(),
            index: self.index,
            call: self.call,
            argument: argument.to_owned(),
            value: value.to_string(),
            message: message.into(),
        });
    }

    /// Advice about the call.
    pub(crate) fn advise(
        &mut self,
        rule: &'static Rule,
        argument: &'static str,
        value: impl fmt::Display,
        message: impl Into<String>,
    ) {
        self.advice.push(advice(
            rule,
            (&self.list, self.index, self.call),
            (argument, value.to_string()),
            message.into(),
        ));
    }

    pub(crate) fn ok(&self) -> bool {
        self.errors.is_empty()
    }
}

impl CommandList {
    pub(crate) fn new(
        id: u64,
        name: &str,
        (kind, face): (ListKind, Face),
        profile: Arc<Profile>,
        device: DeviceTag,
        recorded: RecordedLists,
    ) -> Self {
        let encoder = Encoder::new(&profile, kind.ring());
        Self {
            id,
            name: name.into(),
            kind,
            face,
            device,
            uses: Vec::new(),
            encoder,
            calls: Vec::new(),
            profile,
            next: 0,
            closed: false,
            errors: Vec::new(),
            advice: Vec::new(),
            advised: HashMap::new(),
            state: State { start_dirty: true, ..State::default() },
            events: Vec::new(),
            copied: false,
            recorded,
            entry: None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which engine it is for.
    pub fn kind(&self) -> ListKind {
        self.kind
    }

    /// The generation of its packets.
    pub(crate) fn generation(&self) -> Generation {
        self.profile.generation.value
    }

    /// Which API it is recorded with.
    pub fn face(&self) -> Face {
        self.face
    }

    /// The number that the next call will get.
    pub fn next_index(&self) -> u32 {
        self.next
    }

    /// The calls that were recorded; wrong ones are not among them.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Errors so far.
    pub fn errors(&self) -> &[CallError] {
        &self.errors
    }

    /// Advice so far, once for each cause: the first call it is about and a count.
    pub fn advice(&self) -> &[Finding] {
        &self.advice
    }

    /// True after [`CommandList::close`] succeeded.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The packets as dwords, for a disassembly. Addresses of the list's own tables
    /// and scratch words are 0 until the list is executed.
    pub fn words(&self) -> &[u32] {
        self.encoder.words()
    }

    /// Command buffers that packets of the list may run (`ExecuteIndirect` with a
    /// count), in the order of the packets.
    pub fn branches(&self) -> impl Iterator<Item = &[u32]> {
        self.encoder.branches()
    }

    /// Ends recording.
    ///
    /// # Errors
    /// Every call that broke a rule; the list cannot be executed then.
    pub fn close(&mut self) -> Result<(), CallErrors> {
        if let Some(mut c) = self.begin("Close") {
            let open: Vec<_> = self.events.drain(..).collect();
            for (index, name) in open {
                c.advise(
                    &rules::MARKER_BALANCE,
                    "",
                    "",
                    format!("event \"{name}\" of call #{index} is still open; add an EndEvent"),
                );
            }
            self.finish(c, String::new);
            self.closed = self.errors.is_empty();
            if self.closed {
                self.entry = Some(self.recorded.add(self));
            }
        }
        if self.errors.is_empty() { Ok(()) } else { Err(CallErrors(self.errors.clone())) }
    }

    /// Sets the pipeline: `SetPipelineState`.
    pub fn set_pipeline_state(&mut self, pipeline: &Pipeline) -> &mut Self {
        let Some(mut c) = self.begin("SetPipelineState") else { return self };
        self.not_on_dma(&mut c);
        self.same_device(&mut c, "pPipelineState", pipeline.name(), pipeline.device);
        if self.finish(c, String::new) {
            let same = |p: &Pipeline| p.code == pipeline.code;
            if !self.state.pipeline.as_ref().is_some_and(same) {
                self.state.pipeline = Some(pipeline.clone());
                self.state.program_dirty = true;
                self.state.bindings_dirty = true;
            }
        }
        self
    }

    /// Binds to `t{register}, space{space}`.
    pub fn set_srv(&mut self, register: u32, space: u32, view: View) -> &mut Self {
        let call = "SetComputeRootShaderResourceView";
        self.bind_one(call, ResourceClass::Srv, register, space, view)
    }

    /// Binds to `u{register}, space{space}`.
    pub fn set_uav(&mut self, register: u32, space: u32, view: View) -> &mut Self {
        let call = "SetComputeRootUnorderedAccessView";
        self.bind_one(call, ResourceClass::Uav, register, space, view)
    }

    /// Binds to `b{register}, space{space}`.
    pub fn set_cbv(&mut self, register: u32, space: u32, view: View) -> &mut Self {
        let call = "SetComputeRootConstantBufferView";
        self.bind_one(call, ResourceClass::Cbv, register, space, view)
    }

    /// Binds to `s{register}, space{space}`.
    pub fn set_sampler(&mut self, register: u32, space: u32, view: View) -> &mut Self {
        let call = match self.face {
            Face::D3D12X => "SetComputeRootDescriptorTable",
            Face::D3D11X => "CSSetSamplers",
        };
        self.bind_one(call, ResourceClass::Sampler, register, space, view)
    }

    /// Root constants for `b{register}, space{space}`.
    pub fn set_root_constants(&mut self, register: u32, space: u32, words: &[u32]) -> &mut Self {
        self.binding_call("SetComputeRoot32BitConstants", |bindings| {
            bindings.root_constants(register, space, words);
        })
    }

    /// Puts a whole table over what is bound.
    pub fn set_bindings(&mut self, table: &Bindings) -> &mut Self {
        self.binding_call("SetComputeRootDescriptorTable", |bindings| bindings.extend(table))
    }

    /// Puts the views of one class over what is bound.
    pub fn set_views(&mut self, class: ResourceClass, table: &Bindings) -> &mut Self {
        let call = match (class, self.face) {
            (ResourceClass::Srv, _) => "SetComputeRootShaderResourceView",
            (ResourceClass::Uav, _) => "SetComputeRootUnorderedAccessView",
            (ResourceClass::Cbv, _) => "SetComputeRootConstantBufferView",
            (ResourceClass::Sampler, Face::D3D12X) => "SetComputeRootDescriptorTable",
            (ResourceClass::Sampler, Face::D3D11X) => "CSSetSamplers",
        };
        self.binding_call(call, |bindings| bindings.extend_class(class, table))
    }

    /// Unbinds everything: `SetComputeRootSignature`.
    pub fn clear_bindings(&mut self) -> &mut Self {
        self.binding_call("SetComputeRootSignature", Bindings::clear)
    }

    fn bind_one(
        &mut self,
        call: &'static str,
        class: ResourceClass,
        register: u32,
        space: u32,
        view: View,
    ) -> &mut Self {
        self.binding_call(call, |bindings| {
            if class == ResourceClass::Cbv {
                bindings.cbv(register, space, view);
            } else {
                bindings.bind(class, register, space, view);
            }
        })
    }

    fn binding_call(
        &mut self,
        call: &'static str,
        change: impl FnOnce(&mut Bindings),
    ) -> &mut Self {
        let Some(mut c) = self.begin(call) else { return self };
        self.not_on_dma(&mut c);
        if self.finish(c, String::new) {
            change(&mut self.state.bindings);
            self.state.bindings_dirty = true;
        }
        self
    }

    /// Starts a call of D3D12.X, which D3D11.X may have under another name; `None`
    /// if the list is closed, which is its error.
    fn begin(&mut self, call: &'static str) -> Option<Checks> {
        match self.face {
            Face::D3D12X => self.begin_as(call),
            Face::D3D11X => match d3d11_call(call) {
                Ok(call) => self.begin_as(call),
                Err(_) if call == "CSSetSamplers" => self.begin_as(call),
                Err(instead) => {
                    let mut c = self.begin_as(call)?;
                    let message = format!("is no call of the D3D11.X face; {instead}");
                    c.error(&rules::FACE_CALL, "", "", message);
                    Some(c)
                }
            },
        }
    }

    /// Starts a call under that name.
    fn begin_as(&mut self, call: &'static str) -> Option<Checks> {
        let mut c = Checks {
            list: self.name.clone(),
            index: self.next,
            call,
            errors: Vec::new(),
            advice: Vec::new(),
            uses: Vec::new(),
        };
        self.next += 1;
        if !self.closed {
            return Some(c);
        }
        let message = "the list is closed; record into a new list";
        c.error(&rules::LIST_CLOSED, "", "", message);
        self.errors.append(&mut c.errors);
        None
    }

    /// Ends a call's judgement: true if it may be encoded. Its packets start at the
    /// present position.
    fn finish(&mut self, mut c: Checks, arguments: impl FnOnce() -> String) -> bool {
        let ok = c.ok();
        if ok {
            self.calls.push(Call {
                index: c.index,
                name: c.call,
                arguments: arguments().into_boxed_str(),
                word: self.encoder.position(),
                top: None,
            });
        }
        self.errors.append(&mut c.errors);
        for (name, life) in c.uses {
            if !self.uses.iter().any(|(_, known)| *known == life) {
                self.uses.push((name, life));
            }
        }
        for advice in c.advice {
            self.advise(c.call, advice);
        }
        ok
    }

    /// Keeps advice; the same about a later call of the same kind counts up.
    fn advise(&mut self, call: &'static str, advice: Finding) {
        let value = advice.properties.last().map_or("", |(_, value)| value);
        let key = (advice.rule.number, call, format!("{value}: {}", advice.message));
        match self.advised.get(&key) {
            Some(&at) => self.advice[at].count += 1,
            None => {
                self.advised.insert(key, self.advice.len());
                self.advice.push(advice);
            }
        }
    }

    /// The call of the packet at dword `word`, by the table made while recording.
    pub(crate) fn call_at(calls: &[Call], word: u32) -> Option<&Call> {
        let after = calls.partition_point(|c| c.word <= word);
        calls[..after].last()
    }

    /// `list "Blur" #3 DispatchX`, or with the arguments where they were kept.
    pub(crate) fn spell(list: &str, call: &Call) -> String {
        let mut text = place(list, call.index, call.name);
        if !call.arguments.is_empty() {
            text.push('(');
            text.push_str(&call.arguments);
            text.push(')');
        }
        text
    }

    fn not_on_dma(&self, c: &mut Checks) {
        if self.kind == ListKind::Dma {
            let message = "a DMA engine runs no shaders; record it in a graphics or compute list";
            c.error(&rules::LIST_KIND, "", "", message);
        }
    }

    fn same_device(&self, c: &mut Checks, argument: &str, name: &str, device: DeviceTag) {
        if device.life != self.device.life {
            c.uses.push((name.to_owned(), device));
        }
        if device.device != self.device.device {
            let message = "belongs to another device; use one made by this list's device";
            c.error(&rules::FENCE_DEVICE, argument, format!("\"{name}\""), message);
        }
    }

    /// An address must be there and fit; `rule` says its alignment.
    fn address(
        &self,
        c: &mut Checks,
        argument: &str,
        address: GpuAddress,
        bytes: u64,
        alignment: Option<(u64, &'static Rule)>,
    ) {
        let bits = self.profile.generation.value.address_bits();
        let end = address.0.checked_add(bytes);
        if address.0 == 0 || end.is_none_or(|end| end > 1 << bits) {
            let message = format!("is no address in the GPU's {bits} bits; pass an allocation's");
            c.error(&rules::ADDRESS_RANGE, argument, address, message);
        }
        if let Some((alignment, rule)) = alignment
            && !address.is_aligned(alignment)
        {
            c.error(
                rule,
                argument,
                address,
                format!(
                    "must be {alignment}-byte aligned; the next such address is {}",
                    GpuAddress(address.0.next_multiple_of(alignment))
                ),
            );
        }
    }

    fn xbox_one(&self) -> bool {
        match self.profile.family {
            Family::XboxOne => true,
            Family::Series => false,
        }
    }
}
