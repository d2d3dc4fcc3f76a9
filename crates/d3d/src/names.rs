//! From packets back to calls: what the device's findings, faults and hangs say in
//! the API's words.

use crate::device::Device;
use crate::enums::D3D12XBOX_FLUSH;
use crate::face::Face;
use crate::list::{Call, CommandList, ListKind};
use crate::pipeline::Pipeline;
use crate::report::{CallFault, CallLine, CallRef, Ending, Report};
use std::sync::Arc;
use wavefence_base::{Fault, GpuAddress, Printed, QueueId};
use wavefence_gpu::Outcome;

/// A command buffer in GPU memory.
pub(crate) struct Placed {
    bytes: u64,
    kind: PlacedKind,
}

enum PlacedKind {
    List {
        name: Arc<str>,
        face: Face,
        kind: ListKind,
        calls: Arc<[Call]>,
        /// Where branches start, and the dword of the list that each belongs to.
        owners: Vec<(u32, u32)>,
    },
    Queue {
        queue: String,
        call: &'static str,
        text: String,
        /// Flush flags, and the dword where their `TOP_…` half starts.
        flags: D3D12XBOX_FLUSH,
        top: Option<u32>,
    },
}

impl Placed {
    pub(crate) fn list(list: &CommandList) -> Self {
        let calls = list.calls.as_slice().into();
        let kind = PlacedKind::List {
            name: list.name.clone(),
            face: list.face(),
            kind: list.kind,
            calls,
            owners: list.encoder.owners(),
        };
        Self { bytes: list.encoder.layout().code, kind }
    }

    pub(crate) fn queue_call(
        queue: &str,
        (call, text): (&'static str, String),
        (flags, top): (D3D12XBOX_FLUSH, Option<u32>),
        bytes: u64,
    ) -> Self {
        let queue = queue.to_owned();
        Self { bytes, kind: PlacedKind::Queue { queue, call, text, flags, top } }
    }

    fn site(&self, word: u32) -> Option<Site> {
        match &self.kind {
            PlacedKind::Queue { queue, call, text, flags, top } => Some(Site {
                call: CallRef {
                    list: queue.clone(),
                    index: None,
                    call: (*call).to_owned(),
                    markers: Vec::new(),
                    text: text.clone(),
                },
                arguments: flags.to_string(),
                face: Face::D3D12X,
                kind: None,
                top: top.is_some_and(|top| top <= word),
            }),
            PlacedKind::List { name, face, kind, calls, owners } => {
                let branch = owners.partition_point(|&(start, _)| start <= word);
                let word = owners[..branch].last().map_or(word, |&(_, owner)| owner);
                let call = CommandList::call_at(calls, word)?;
                Some(Site {
                    call: CallRef {
                        list: name.to_string(),
                        index: Some(call.index),
                        call: call.name.to_owned(),
                        markers: markers(calls, call.index),
                        text: CommandList::spell(name, call),
                    },
                    arguments: call.arguments.to_string(),
                    face: *face,
                    kind: Some(*kind),
                    top: call.top.is_some_and(|top| top <= word),
                })
            }
        }
    }
}

/// A call that a packet came from, with what its spelling depends on.
pub(crate) struct Site {
    pub(crate) call: CallRef,
    pub(crate) arguments: String,
    pub(crate) face: Face,
    /// Of the list; `None` for calls on a queue.
    pub(crate) kind: Option<ListKind>,
    /// True in the `TOP_…` half of a flush.
    pub(crate) top: bool,
}

impl Site {
    /// `list "Blur" #3 DispatchX`, without arguments.
    pub(crate) fn short(&self) -> String {
        match self.call.index {
            Some(index) => crate::error::place(&self.call.list, index, &self.call.call),
            None => self.call.text.clone(),
        }
    }
}

/// The events open at a call, outermost first.
fn markers(calls: &[Call], index: u32) -> Vec<String> {
    let mut open = Vec::new();
    for call in calls.iter().take_while(|c| c.index < index) {
        match call.name {
            "BeginEvent" | "PIXBeginEvent" => open.push(call.arguments.to_string()),
            "EndEvent" | "PIXEndEvent" => {
                open.pop();
            }
            _ => {}
        }
    }
    open
}

impl Device {
    /// The call that the packet at `address` came from.
    pub fn call_at(&self, address: GpuAddress) -> Option<CallRef> {
        self.site_at(address).map(|site| site.call)
    }

    /// The call that the packet at `address` came from, with its surroundings.
    pub(crate) fn site_at(&self, address: GpuAddress) -> Option<Site> {
        let (&base, placed) = self.placed.range(..=address.0).next_back()?;
        let offset = address.0 - base;
        if offset >= placed.bytes {
            return None;
        }
        placed.site((offset / 4) as u32)
    }

    /// A queue's name.
    pub fn queue_name(&self, id: QueueId) -> String {
        self.queues
            .iter()
            .find(|q| q.id == id)
            .map_or_else(|| id.to_string(), |q| q.name().to_owned())
    }

    /// A shader's name by its kernel's number.
    pub fn shader_name(&self, kernel: wavefence_base::KernelId) -> Option<&str> {
        self.pipelines.get(&kernel.0).map(Pipeline::name)
    }

    pub(crate) fn report(&self, outcome: &Outcome) -> Report {
        let ending = match outcome {
            Outcome::Idle => Ending::Idle,
            Outcome::Blocked(stall) => Ending::Hang(self.hang(stall)),
            Outcome::Limit(limit) => Ending::Limit(limit.clone()),
            Outcome::Stopped(fault) => Ending::Stopped(Box::new(self.fault(fault))),
            Outcome::HostTurn => Ending::HostTurn,
            Outcome::Enough => Ending::Enough,
        };
        let (lines, lines_lost) = self.hardware.printed();
        Report {
            ending,
            printed: lines.into_iter().map(|p| self.printed_line(p)).collect(),
            lines_lost,
            faults: self.hardware.faults().iter().map(|f| self.fault(f)).collect(),
            findings: self.advice.iter().cloned().chain(self.hazard_findings()).collect(),
        }
    }

    fn fault(&self, fault: &Fault) -> CallFault {
        let place = &fault.place;
        CallFault {
            queue: place.queue.map(|q| self.queue_name(q)),
            call: place.packet.and_then(|p| self.call_at(p)),
            shader: place.kernel.and_then(|k| self.shader_name(k)).map(str::to_owned),
            fault: fault.clone(),
        }
    }

    fn printed_line(&self, printed: &Printed) -> CallLine {
        let place = &printed.place;
        CallLine {
            call: place.packet.and_then(|p| self.call_at(p)),
            shader: place.kernel.and_then(|k| self.shader_name(k)).map(str::to_owned),
            printed: printed.clone(),
        }
    }
}
