//! What every part of a device shares: memory, counters, observers, faults, the
//! budget, and the kernels.

use crate::clock::Clock;
use crate::code::Kernels;
use crate::desc::{DeviceDesc, Limits, Outcome};
use crate::dispatch::Dispatch;
use crate::faults::Faults;
use crate::gds::Gds;
use crate::group::{Group, Standing, WaveFault, WaveTrouble};
use crate::history::History;
use crate::mem::{Access, Bus, effect, fault_kind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wavefence_base::access::Engine;
use wavefence_base::stall::PastWrite;
use wavefence_base::{
    DispatchId, Event, Fault, FaultKind, Generation, GpuAddress, Limit, Observer, Place, Profile,
    QueueId, Writer,
};
use wavefence_memory::{AccessError, AddressSpace};
use wavefence_shader::ir::Loc;

/// The part that host threads share.
pub(crate) struct Shared {
    pub(crate) space: Arc<AddressSpace>,
    pub(crate) gds: Gds,
    pub(crate) clock: Clock,
    instructions: AtomicU64,
}

impl Shared {
    /// Wave instructions that may still be run.
    pub(crate) fn instructions(&self) -> u64 {
        self.instructions.load(Ordering::Relaxed)
    }

    /// Counts `used` instructions.
    pub(crate) fn spend(&self, used: u64) {
        let left = |n: u64| Some(n.saturating_sub(used));
        // The closure always gives a value, so this cannot fail.
        let _ = self.instructions.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
    }

    /// True if no instruction may be run any more.
    pub(crate) fn exhausted(&self) -> bool {
        self.instructions() == 0
    }
}

/// What the engines work with.
pub(crate) struct Core {
    pub(crate) profile: Profile,
    pub(crate) generation: Generation,
    pub(crate) shared: Arc<Shared>,
    pub(crate) bus: Bus,
    pub(crate) kernels: Kernels,
    pub(crate) history: History,
    pub(crate) faults: Faults,
    pub(crate) seed: u64,
    /// Packets the PFP may be ahead of the ME; 0 in a fast run.
    pub(crate) lead: usize,
    /// True where groups may start out of order and group events are given.
    pub(crate) model: bool,
    /// Set when the run must end.
    pub(crate) ending: Option<Outcome>,
    pub(crate) next_dispatch: u32,
    /// Accesses and cache actions so far.
    seq: u64,
    /// Dispatches that the schedule has not taken up yet.
    pub(crate) started: Vec<Arc<Dispatch>>,
    limits: Limits,
    packets: u64,
    stop_on_fault: bool,
    observers: Vec<Box<dyn Observer>>,
}

/// Packets that the PFP may hold decoded for the ME in a model run.
const PFP_LEAD: usize = 8;

impl Core {
    pub(crate) fn new(desc: DeviceDesc, space: Arc<AddressSpace>) -> Self {
        let model = desc.mode == crate::desc::RunMode::Model;
        let shared = Arc::new(Shared {
            space: space.clone(),
            gds: Gds::new(desc.profile.gds_bytes.value),
            clock: Clock::default(),
            instructions: AtomicU64::new(desc.limits.max_instructions),
        });
        Self {
            generation: desc.profile.generation.value,
            profile: desc.profile,
            bus: Bus::new(space),
            shared,
            kernels: Kernels::new(desc.executor),
            history: History::default(),
            faults: Faults::default(),
            seed: desc.seed,
            lead: if model { PFP_LEAD } else { 0 },
            model,
            ending: None,
            next_dispatch: 0,
            seq: 0,
            started: Vec::new(),
            limits: desc.limits,
            packets: 0,
            stop_on_fault: desc.stop_on_fault,
            observers: Vec::new(),
        }
    }

    pub(crate) fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observers.push(observer);
    }

    /// Tells the observers; builds the event only if there are any.
    pub(crate) fn emit(&mut self, event: impl FnOnce() -> Event) {
        if self.observers.is_empty() {
            return;
        }
        let event = event();
        for observer in &mut self.observers {
            observer.event(&event);
        }
    }

    /// Adds a fault; the first one at a place is told to observers.
    pub(crate) fn fault(&mut self, fault: Fault) {
        if !self.faults.add(fault.clone()) {
            return;
        }
        if self.stop_on_fault && self.ending.is_none() {
            self.ending = Some(Outcome::Stopped(Box::new(fault.clone())));
        }
        self.emit(|| Event::Fault(Box::new(fault)));
    }

    /// Adds a fault of a packet.
    pub(crate) fn packet_fault(
        &mut self,
        kind: FaultKind,
        queue: QueueId,
        packet: GpuAddress,
        detail: String,
    ) {
        let place = Place { queue: Some(queue), packet: Some(packet), ..Place::default() };
        self.fault(Fault { kind, place, address: None, bytes: 0, count: 1, detail });
    }

    /// Ends the run with a limit.
    pub(crate) fn limit(&mut self, limit: Limit) {
        if self.ending.is_none() {
            self.ending = Some(Outcome::Limit(limit));
        }
    }

    /// Counts a packet that an engine takes up, and tells observers.
    pub(crate) fn take_packet(
        &mut self,
        queue: QueueId,
        engine: Engine,
        packet: GpuAddress,
        name: &'static str,
    ) {
        self.packets += 1;
        self.shared.clock.advance(1);
        if self.packets >= self.limits.max_packets {
            self.limit(Limit::budget(format!(
                "{} packets were run: the budget ended at {name} at {packet} on {queue}",
                self.packets
            )));
        }
        let engine = engine.name();
        self.emit(|| Event::Packet { queue, engine, packet, name });
    }

    /// Reads for a packet; a miss reads 0 and is a fault.
    pub(crate) fn read(&mut self, access: &Access<'_>, address: GpuAddress, bytes: u8) -> u64 {
        match self.bus.read_value(access, address, bytes) {
            Ok(value) => value,
            Err(e) => {
                self.refused(access, &e);
                0
            }
        }
    }

    /// Writes a value of 4 or 8 bytes for a packet. It is remembered, told, and
    /// a fault if it is dropped; true if it landed.
    pub(crate) fn write(
        &mut self,
        access: &Access<'_>,
        by: Writer,
        address: GpuAddress,
        value: u64,
        bytes: u8,
    ) -> bool {
        let packet = access.packet;
        let result = self.bus.write_value(access, address, value, bytes);
        let landed = result.is_ok();
        self.history.record(address, PastWrite { by, packet, value, landed });
        match result {
            Ok(()) => {
                self.emit(|| Event::ValueWritten { by, packet, address, value, bytes });
            }
            Err(e) => {
                self.emit(|| Event::ValueLost { by, packet, address, value });
                self.refused(access, &e);
            }
        }
        landed
    }

    /// A packet's access was refused: a fault with the place.
    pub(crate) fn refused(&mut self, access: &Access<'_>, error: &AccessError) {
        self.fault(Fault {
            kind: fault_kind(error),
            place: Place { queue: access.queue, packet: access.packet, ..Place::default() },
            address: Some(error.at),
            bytes: error.len,
            count: 1,
            detail: format!("{}: {error}; {}", access.what, effect(error)),
        });
    }

    /// Turns what a wave did wrong into faults.
    pub(crate) fn wave_faults(&mut self, faults: Vec<WaveFault>) {
        for fault in faults {
            if let WaveTrouble::Refused(limit) = fault.what {
                self.limit(limit);
                continue;
            }
            let fault = self.wave_fault(&fault);
            self.fault(fault);
        }
    }

    fn wave_fault(&self, fault: &WaveFault) -> Fault {
        let dispatch = &fault.dispatch;
        let kernel = dispatch.program.kernel();
        let (loc, lane, address, bytes, count) = match &fault.what {
            WaveTrouble::Miss(m) => {
                (m.loc, m.lanes.lowest(), Some(m.address), u64::from(m.bytes), m.count)
            }
            WaveTrouble::Barrier { loc, .. } => (*loc, None, None, 0, 1),
            WaveTrouble::Refused(_) => (0, None, None, 0, 1),
        };
        let line = kernel.line(Loc(loc));
        let place = Place {
            queue: Some(dispatch.queue),
            packet: Some(dispatch.packet),
            dispatch: Some(dispatch.id),
            kernel: Some(dispatch.kernel),
            line: line.clone(),
            group: Some(fault.group),
            wave: Some(fault.wave),
            lane,
        };
        let at = line.map_or(String::new(), |l| format!(" at {l}"));
        let detail = match &fault.what {
            WaveTrouble::Miss(m) => {
                let error = m.error(&self.shared.space);
                format!(
                    "lane {} of wave {} of group {:?} of `{}`{at}: {error}; {}",
                    m.lanes.lowest().unwrap_or(0),
                    fault.wave,
                    fault.group,
                    kernel.entry,
                    effect(&error)
                )
            }
            WaveTrouble::Barrier { lanes: true, .. } => format!(
                "wave {} of group {:?} of `{}` met the barrier{at} with some of its lanes \
                 elsewhere; every thread of a group must reach a group barrier",
                fault.wave, fault.group, kernel.entry
            ),
            WaveTrouble::Barrier { lanes: false, .. } => format!(
                "waves of group {:?} of `{}` wait at the barrier{at} while others have ended; \
                 every thread of a group must reach a group barrier",
                fault.group, kernel.entry
            ),
            WaveTrouble::Refused(limit) => limit.what.clone(),
        };
        Fault { kind: fault.what.kind(), place, address, bytes, count, detail }
    }

    /// The instruction budget ended while `group` (if any) was running.
    pub(crate) fn out_of_instructions(&mut self, group: Option<&Group>) {
        let mut what = "the budget of wave instructions ended".to_string();
        if let Some(group) = group
            && let Some((wave, standing)) = group.standing()
        {
            let d = &group.dispatch;
            what += &format!(
                " with wave {wave} of group {:?} of {} (packet {} on {}) {}",
                group.id,
                d.id,
                d.packet,
                d.queue,
                standing_text(d, standing)
            );
        }
        self.limit(Limit::budget(what));
    }

    /// The next place among memory accesses and cache actions.
    pub(crate) fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// The next dispatch's number.
    pub(crate) fn new_dispatch(&mut self) -> DispatchId {
        let id = DispatchId(self.next_dispatch);
        self.next_dispatch += 1;
        id
    }
}

/// Where a wave stands, in words.
pub(crate) fn standing_text(dispatch: &Dispatch, standing: Standing) -> String {
    let kernel = dispatch.program.kernel();
    let name = &kernel.entry;
    let at = |loc| kernel.line(Loc(loc)).map_or(String::new(), |l| format!(" at {l}"));
    match standing {
        Standing::Loop { loc: 0 } => format!("running `{name}`"),
        Standing::Loop { loc } => format!("in a loop of `{name}`{}", at(loc)),
        Standing::Barrier { loc } => format!("at a barrier of `{name}`{}", at(loc)),
        Standing::Ordered { id } => {
            format!("waiting in `{name}` for its ordered turn, id {id}")
        }
    }
}
