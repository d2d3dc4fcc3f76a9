//! Queues and the host: what each agent did and knows, built from events.

use crate::clock::{Epoch, Knowledge, Snapshot, Stream};
use crate::hash::Quick;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use wavefence_base::{
    DispatchId, Engine, GpuAddress, GpuRange, KernelId, Level, QueueId, SubmitId, Writer,
};

/// A dispatch.
#[derive(Clone, Debug)]
pub(crate) struct Dispatch {
    pub(crate) epoch: Epoch,
    pub(crate) packet: GpuAddress,
    pub(crate) kernel: KernelId,
    /// What it began with.
    pub(crate) know: Snapshot,
    /// Its place in the queue's program.
    pub(crate) program: u32,
    /// Accesses up to here came before it began.
    pub(crate) seq: u64,
    /// What its groups did to be in order with each other, by launch number.
    pub(crate) groups: HashMap<u32, Group, Quick>,
}

/// How far a group of a running dispatch is in order with others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Group {
    /// Its last device-memory barrier.
    pub(crate) fence: u64,
    /// Stores up to here were before a barrier that an atomic or coherent write
    /// followed.
    pub(crate) released: u64,
    /// The latest atomic or coherent write of others that it has read.
    pub(crate) acquired: u64,
}

/// An end-of-pipe event or DMA copy on its way.
#[derive(Clone, Debug)]
struct Pending {
    packet: GpuAddress,
    number: u32,
    know: Snapshot,
    program: u32,
    /// Its actions on L2 were told.
    l2_seen: bool,
}

/// A submission that an engine has not come to.
#[derive(Clone, Debug)]
struct Entry {
    submit: SubmitId,
    buffer: GpuRange,
    host: Snapshot,
}

/// An engine of a queue.
#[derive(Clone, Debug, Default)]
struct Agent {
    know: Snapshot,
    packet: GpuAddress,
    inside: Option<(SubmitId, GpuRange)>,
    entries: VecDeque<Entry>,
}

impl Agent {
    /// Comes to a packet; gives the former submission if it enters another.
    fn take(&mut self, packet: GpuAddress) -> Option<Option<SubmitId>> {
        let holds = |b: GpuRange| b.contains(packet, 1);
        // A buffer that was submitted twice is entered again at its beginning.
        if self.inside.is_some_and(|(_, b)| holds(b)) && packet > self.packet {
            return None;
        }
        let submit = self.entries.iter().find(|e| holds(e.buffer))?.submit;
        self.enter(submit)
    }

    /// It is at that packet. One of a buffer that the submission's own calls says
    /// nothing about the place in the submission.
    fn stand_at(&mut self, packet: GpuAddress) {
        if self.inside.is_none_or(|(_, b)| b.contains(packet, 1)) {
            self.packet = packet;
        }
    }

    /// Enters a submission; gives the former one if it was not inside already.
    fn enter(&mut self, submit: SubmitId) -> Option<Option<SubmitId>> {
        let at = self.entries.iter().position(|e| e.submit == submit)?;
        let entry = self.entries.drain(..=at).next_back()?;
        Arc::make_mut(&mut self.know).join(&entry.host);
        let former = self.inside.replace((entry.submit, entry.buffer));
        // Any packet of the new one comes after this.
        self.packet = GpuAddress(0);
        Some(former.map(|(submit, _)| submit))
    }
}

/// One queue.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    index: u16,
    me: Agent,
    pfp: Agent,
    has_pfp: bool,
    /// Dispatches started.
    pub(crate) dispatches: Vec<DispatchId>,
    /// Place in the program of the packet that the ME or the PFP is at.
    me_at: u32,
    /// End-of-pipe events whose value overtook their own write-back, and what was
    /// known then.
    overtaken: Vec<(u32, GpuAddress, Snapshot)>,
    pfp_at: u32,
    /// Packets that the PFP has passed on, with their places.
    passed: VecDeque<(GpuAddress, u32)>,
    dma: u32,
    eop: u32,
    pending_dma: VecDeque<Pending>,
    pending_eop: VecDeque<Pending>,
    /// The copy that moves bytes now.
    moving: Option<Pending>,
    /// The event that landed last: its cache actions may still come.
    late: Option<Pending>,
    /// Addresses of values that an event has written and is not yet told as landed.
    due: Vec<(GpuAddress, GpuAddress)>,
    /// What the last end-of-pipe event that landed knew.
    landed: Snapshot,
    landing: Option<GpuAddress>,
    /// Places in the program of end-of-pipe events and of copies.
    eop_programs: Vec<u32>,
    dma_programs: Vec<u32>,
    boundary: u32,
    /// What was known when the ME left a submission.
    left: VecDeque<(SubmitId, Knowledge)>,
}

/// Packets that take effect at the end of the pipe.
const END_OF_PIPE: [&str; 3] = ["EVENT_WRITE_EOP", "EVENT_WRITE_EOS", "RELEASE_MEM"];
/// Packets of the command processor's DMA.
const CP_DMA: [&str; 2] = ["DMA_DATA", "CP_DMA"];

impl Queue {
    fn new(index: u16) -> Self {
        Self {
            index,
            me: Agent::default(),
            pfp: Agent::default(),
            has_pfp: false,
            dispatches: Vec::new(),
            me_at: 0,
            overtaken: Vec::new(),
            pfp_at: 0,
            passed: VecDeque::new(),
            dma: 0,
            eop: 0,
            pending_dma: VecDeque::new(),
            pending_eop: VecDeque::new(),
            moving: None,
            late: None,
            due: Vec::new(),
            landed: Snapshot::default(),
            landing: None,
            eop_programs: Vec::new(),
            dma_programs: Vec::new(),
            boundary: 0,
            left: VecDeque::new(),
        }
    }

    /// What the ME knows now, of itself too.
    pub(crate) fn me_know(&mut self) -> Snapshot {
        let (index, at, pfp) = (self.index, self.me_at, self.has_pfp);
        let known = self.me.know.of(index);
        if known.engine != at || pfp && known.pfp < at {
            let mine = Arc::make_mut(&mut self.me.know).of_mut(index);
            mine.engine = at;
            if pfp {
                mine.pfp = mine.pfp.max(at);
            }
        }
        self.me.know.clone()
    }

    fn pfp_know(&mut self) -> Snapshot {
        let (index, at) = (self.index, self.pfp_at);
        if self.pfp.know.of(index).pfp != at {
            Arc::make_mut(&mut self.pfp.know).of_mut(index).pfp = at;
        }
        self.pfp.know.clone()
    }

    /// The ME is at that packet: everything that the prefetch parser took up before
    /// it is behind.
    fn me_comes_to(&mut self, packet: GpuAddress) {
        match self.passed.iter().position(|(p, _)| *p == packet) {
            Some(at) if self.has_pfp => {
                self.me_at = self.passed[at].1;
                self.passed.drain(..=at);
            }
            Some(_) | None => self.me_at += 1,
        }
    }

    /// The ME comes to a packet: it may be in another submission now.
    fn me_enters(&mut self, packet: GpuAddress) {
        if let Some(Some(former)) = self.me.take(packet) {
            let know = self.all_done();
            self.left.push_back((former, know));
        }
    }

    fn agent(&mut self, pfp: bool) -> &mut Agent {
        if pfp { &mut self.pfp } else { &mut self.me }
    }

    /// Place in the program of some work of this queue.
    pub(crate) fn program(&self, epoch: Epoch, dispatches: &[Dispatch]) -> u32 {
        let of = |list: &[u32]| list.get(epoch.number as usize - 1).copied().unwrap_or(0);
        match epoch.stream {
            Stream::Dispatch => self
                .dispatches
                .get(epoch.number as usize - 1)
                .and_then(|d| dispatches.get(d.index()))
                .map_or(0, |d| d.program),
            Stream::Engine | Stream::Pfp => epoch.number,
            Stream::Dma => of(&self.dma_programs),
            Stream::EndOfPipe => of(&self.eop_programs),
            Stream::Boundary | Stream::Host => 0,
        }
    }

    /// Everything the queue has started, as known when it is done.
    fn all_done(&mut self) -> Knowledge {
        let mut know = (*self.me_know()).clone();
        know.join(&self.landed);
        let mine = know.of_mut(self.index);
        mine.ended = self.dispatches.len() as u32;
        mine.accepted = mine.ended;
        mine.dma = self.dma;
        mine.eop = self.eop;
        mine.eop_done = self.eop;
        mine.eop_confirmed = self.eop;
        mine.pfp = mine.pfp.max(self.pfp_at);
        know
    }
}

/// What a wait or flush that was reached gave, for judging what was redundant.
#[derive(Clone, Debug)]
pub(crate) struct Gave {
    /// Dispatches or copies known from then on, or the ME's place for the PFP.
    pub(crate) upto: u32,
    /// The place in the program at which it gave that.
    pub(crate) program: u32,
    /// For the PFP: what the ME knew, and what the PFP had known before.
    pub(crate) know: Option<(Snapshot, Snapshot)>,
}

/// All queues and the host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    queues: Vec<Queue>,
    pub(crate) dispatches: Vec<Dispatch>,
    host: Knowledge,
    /// Knowledge that the value last written to an address carries, and its place
    /// among the accesses.
    values: HashMap<u64, (Snapshot, u64), Quick>,
}

impl Timeline {
    /// The queue, known from its first event on.
    pub(crate) fn queue(&mut self, id: QueueId) -> &mut Queue {
        while self.queues.len() <= id.index() {
            self.queues.push(Queue::new(self.queues.len() as u16));
        }
        &mut self.queues[id.index()]
    }

    pub(crate) fn queue_at(&self, id: QueueId) -> Option<&Queue> {
        self.queues.get(id.index())
    }

    pub(crate) fn dispatch(&self, id: DispatchId) -> Option<&Dispatch> {
        self.dispatches.get(id.index())
    }

    /// The dispatch that an epoch is.
    pub(crate) fn dispatch_of(&self, epoch: Epoch) -> Option<(DispatchId, &Dispatch)> {
        if epoch.stream != Stream::Dispatch {
            return None;
        }
        let queue = self.queue_at(epoch.queue()?)?;
        let id = *queue.dispatches.get((epoch.number as usize).checked_sub(1)?)?;
        Some((id, self.dispatch(id)?))
    }

    /// Place in its queue's program.
    pub(crate) fn program(&self, epoch: Epoch) -> u32 {
        epoch
            .queue()
            .and_then(|q| self.queue_at(q))
            .map_or(0, |q| q.program(epoch, &self.dispatches))
    }

    /// The end-of-pipe event of the writer's queue that `know` waited for, whose value
    /// overtook its own write-back of what `writer` wrote.
    pub(crate) fn overtaken(&self, writer: Epoch, know: &Knowledge) -> Option<GpuAddress> {
        let queue = self.queue_at(writer.queue()?)?;
        let known = know.of(writer.queue);
        let late = |(number, _, then): &&(u32, GpuAddress, Snapshot)| {
            *number <= known.eop && *number > known.eop_done && then.landed(writer)
        };
        queue.overtaken.iter().rev().find(late).map(|&(_, packet, _)| packet)
    }

    /// How far the ME of a queue has come in the program.
    pub(crate) fn me_place(&self, queue: QueueId) -> u32 {
        self.queue_at(queue).map_or(0, |q| q.me_at)
    }

    /// The host does something: its number, and what it knows, itself included.
    pub(crate) fn host_step(&mut self) -> (Epoch, Snapshot) {
        self.host.host += 1;
        (Epoch::host(self.host.host), Arc::new(self.host.clone()))
    }

    /// What the host knows.
    pub(crate) fn host_know(&self) -> Snapshot {
        Arc::new(self.host.clone())
    }

    /// What the host knew at a step: at most what it knows now.
    pub(crate) fn host_knew(&self, step: u32) -> Knowledge {
        let mut know = self.host.clone();
        know.host = step;
        know
    }

    /// The host read a value: true if a queue wrote it, so that it is a signal.
    pub(crate) fn host_reads_value(&mut self, at: GpuAddress) -> bool {
        match self.values.get(&at.0) {
            Some((know, _)) => {
                self.host.join(know);
                true
            }
            None => false,
        }
    }

    /// True if a value that waits may look at was written there.
    pub(crate) fn is_value(&self, at: GpuAddress) -> bool {
        self.values.contains_key(&at.0)
    }

    pub(crate) fn submit(&mut self, submit: SubmitId, queue: QueueId, buffer: GpuRange) {
        let host = self.host_know();
        let queue = self.queue(queue);
        let entry = Entry { submit, buffer, host };
        queue.me.entries.push_back(entry.clone());
        queue.pfp.entries.push_back(entry);
    }

    pub(crate) fn submit_done(&mut self, submit: SubmitId, id: QueueId) {
        let queue = self.queue(id);
        let at = queue.left.iter().position(|(s, _)| *s == submit);
        let know = match at {
            Some(at) => queue.left.drain(..=at).next_back().map(|(_, know)| know),
            None => None,
        };
        let mut know = know.unwrap_or_else(|| queue.all_done());
        let mine = know.of_mut(queue.index);
        mine.boundary = mine.boundary.max(queue.boundary);
        self.host.join(&know);
    }

    /// The prefetch parser takes a packet up, or sends it on.
    pub(crate) fn prefetched(&mut self, id: QueueId, packet: GpuAddress) {
        let queue = self.queue(id);
        queue.has_pfp = true;
        queue.pfp_at = queue.pfp_at.max(queue.me_at) + 1;
        queue.passed.push_back((packet, queue.pfp_at));
        queue.pfp.take(packet);
        queue.pfp.stand_at(packet);
    }

    /// The ME, MEC or SDMA engine takes a packet up.
    pub(crate) fn packet(&mut self, id: QueueId, packet: GpuAddress, name: &str) {
        let queue = self.queue(id);
        queue.me_enters(packet);
        queue.me_comes_to(packet);
        queue.me.stand_at(packet);
        let program = queue.me_at;
        if END_OF_PIPE.contains(&name) {
            queue.eop += 1;
            queue.eop_programs.push(program);
            let know = queue.end_of_pipe_knows();
            let number = queue.eop;
            queue.pending_eop.push_back(Pending { packet, number, know, program, l2_seen: false });
        } else if CP_DMA.contains(&name) {
            queue.dma += 1;
            queue.dma_programs.push(program);
            let (number, know) = (queue.dma, queue.me_know());
            queue.pending_dma.push_back(Pending { packet, number, know, program, l2_seen: false });
        }
    }

    pub(crate) fn dispatch_begin(
        &mut self,
        id: DispatchId,
        queue: QueueId,
        packet: GpuAddress,
        kernel: KernelId,
        seq: u64,
    ) {
        let q = self.queue(queue);
        q.dispatches.push(id);
        let epoch = Epoch::new(queue, Stream::Dispatch, q.dispatches.len() as u32);
        let dispatch = Dispatch {
            epoch,
            packet,
            kernel,
            know: q.me_know(),
            program: q.me_at,
            seq,
            groups: HashMap::default(),
        };
        self.dispatches.push(dispatch);
    }

    pub(crate) fn dispatch_end(&mut self, id: DispatchId) {
        if let Some(dispatch) = self.dispatches.get_mut(id.index()) {
            dispatch.groups = HashMap::default();
        }
    }

    /// Who runs a flush that a packet asked for, what it knows, and whether it comes
    /// after the value of its end-of-pipe event. `on_l2` says that it acts on L2,
    /// `waits` that the prefetch parser lets the ME run its flushes, and waits.
    pub(crate) fn flush(
        &mut self,
        id: QueueId,
        packet: GpuAddress,
        on_pfp: bool,
        bottom: bool,
        on_l2: bool,
        waits: bool,
    ) -> (Epoch, Snapshot, bool) {
        let queue = self.queue(id);
        if bottom {
            // L2's part may come after the event's value. A list that runs again has
            // its packets again, so the same packet may stand for two events.
            let late = queue.late.as_mut().filter(|p| p.packet == packet);
            let pending = queue.pending_eop.iter_mut().find(|p| p.packet == packet);
            let is_late = late.as_ref().is_some_and(|p| on_l2 && !p.l2_seen);
            let event = if is_late { late } else { pending.or(late) };
            if let Some(event) = event {
                event.l2_seen |= on_l2;
                let by = Epoch::new(id, Stream::EndOfPipe, event.number);
                let know = accepted(&event.know, queue.index);
                return (by, know, is_late);
            }
        }
        if on_pfp && !waits {
            let know = queue.pfp_know();
            return (Epoch::new(id, Stream::Pfp, queue.pfp_at), know, false);
        }
        if on_pfp {
            queue.me_comes_to(packet);
        }
        let know = queue.me_know();
        (Epoch::new(id, Stream::Engine, queue.me_at), know, false)
    }

    /// Who runs the flushes at a submission's start: whoever fetches its packets.
    pub(crate) fn start(&mut self, id: QueueId, submit: SubmitId) -> (Epoch, Snapshot) {
        let queue = self.queue(id);
        if queue.has_pfp {
            queue.pfp.enter(submit);
            let know = queue.pfp_know();
            return (Epoch::new(id, Stream::Pfp, queue.pfp_at), know);
        }
        if let Some(Some(former)) = queue.me.enter(submit) {
            let know = queue.all_done();
            queue.left.push_back((former, know));
        }
        queue.pfp.enter(submit);
        let know = queue.me_know();
        (Epoch::new(id, Stream::Engine, queue.me_at), know)
    }

    /// Who runs the flushes at a submission's end.
    pub(crate) fn end(&mut self, id: QueueId, submit: SubmitId) -> (Epoch, Snapshot) {
        let queue = self.queue(id);
        queue.boundary += 1;
        let left = queue.left.iter().find(|(s, _)| *s == submit).map(|(_, know)| know.clone());
        let know = left.unwrap_or_else(|| queue.all_done());
        (Epoch::new(id, Stream::Boundary, queue.boundary), Arc::new(know))
    }

    /// An engine goes on behind a wait: what it gained, if anything.
    pub(crate) fn reached(&mut self, id: QueueId, engine: Engine, level: Level) -> Gave {
        let queue = self.queue(id);
        let pfp = engine == Engine::Pfp;
        let started = queue.dispatches.len() as u32;
        let (dma, index, me_at) = (queue.dma, queue.index, queue.me_at);
        let joins = match level {
            Level::MicroEngine => Some(queue.me_know()),
            Level::WrittenBack | Level::Confirmed => Some(queue.landed.clone()),
            Level::ShadersDone | Level::Accepted | Level::CpDma => None,
        };
        let eop = queue.eop_programs.len() as u32 - queue.pending_eop.len() as u32;
        let program = if pfp { queue.pfp_at } else { queue.me_at };
        let had = queue.agent(pfp).know.clone();
        let know = Arc::make_mut(&mut queue.agent(pfp).know);
        if let Some(other) = &joins {
            know.join(other);
        }
        let mine = know.of_mut(index);
        let upto = match level {
            Level::MicroEngine => me_at,
            Level::CpDma => {
                mine.dma = mine.dma.max(dma);
                dma
            }
            Level::ShadersDone | Level::Accepted | Level::WrittenBack | Level::Confirmed => {
                mine.ended = mine.ended.max(started);
                if level != Level::ShadersDone {
                    mine.accepted = mine.accepted.max(started);
                }
                if matches!(level, Level::WrittenBack | Level::Confirmed) {
                    mine.eop = mine.eop.max(eop);
                    mine.eop_done = mine.eop_done.max(eop);
                }
                if level == Level::Confirmed {
                    mine.eop_confirmed = mine.eop_confirmed.max(eop);
                }
                started
            }
        };
        let gained = joins.filter(|_| level == Level::MicroEngine).map(|know| (know, had));
        Gave { upto, program, know: gained }
    }

    /// An end-of-pipe event takes effect.
    pub(crate) fn end_of_pipe(
        &mut self,
        id: QueueId,
        packet: GpuAddress,
        (level, overtook): (Level, bool),
        seq: u64,
    ) {
        let queue = self.queue(id);
        let Some(at) = queue.pending_eop.iter().position(|p| p.packet == packet) else { return };
        let Some(pending) = queue.pending_eop.drain(..=at).next_back() else { return };
        let mut know = (*pending.know).clone();
        know.join(&queue.landed);
        let mine = know.of_mut(queue.index);
        if level != Level::ShadersDone {
            mine.accepted = mine.accepted.max(mine.ended);
        }
        mine.eop = mine.eop.max(pending.number);
        // Its own cache actions may come after its value; those of earlier events
        // are complete.
        let done = match level {
            Level::ShadersDone | Level::Accepted => pending.number - 1,
            Level::WrittenBack | Level::Confirmed | Level::CpDma | Level::MicroEngine => {
                pending.number
            }
        };
        mine.eop_done = mine.eop_done.max(done);
        if level == Level::Confirmed {
            mine.eop_confirmed = mine.eop_confirmed.max(pending.number);
        }
        queue.landed = Arc::new(know);
        if overtook {
            queue.overtaken.push((pending.number, packet, queue.landed.clone()));
        }
        queue.landing = Some(packet);
        queue.late = Some(pending);
        let (landed, due) = (queue.landed.clone(), std::mem::take(&mut queue.due));
        for (_, at) in due.iter().filter(|(p, _)| *p == packet) {
            self.values.insert(at.0, (landed.clone(), seq));
        }
    }

    pub(crate) fn value_written(
        &mut self,
        by: Writer,
        packet: Option<GpuAddress>,
        at: GpuAddress,
        seq: u64,
    ) {
        let know = match by {
            Writer::Host => self.host_step().1,
            Writer::Queue(id) => {
                let queue = self.queue(id);
                let pending = |p: &Pending| Some(p.packet) == packet;
                if let Some(packet) = packet
                    && queue.pending_eop.iter().any(pending)
                {
                    // What it carries is told with the event's level.
                    queue.due.push((packet, at));
                    queue.me_know()
                } else if packet.is_some() && queue.landing == packet {
                    queue.landed.clone()
                } else {
                    queue.me_know()
                }
            }
            Writer::Dma(id) => {
                let queue = self.queue(id);
                match &queue.moving {
                    Some(p) if Some(p.packet) == packet => {
                        let mut know = (*p.know).clone();
                        know.of_mut(queue.index).dma = p.number;
                        Arc::new(know)
                    }
                    _ => queue.me_know(),
                }
            }
            Writer::Shader(_, dispatch) => {
                self.dispatch(dispatch).map(|d| d.know.clone()).unwrap_or_default()
            }
            _ => return,
        };
        self.values.insert(at.0, (know, seq));
    }

    /// What a value at that address carries, if it was told as a value, and its place.
    pub(crate) fn value(&self, at: GpuAddress) -> Option<(Snapshot, u64)> {
        self.values.get(&at.0).cloned()
    }

    /// A wait was ended by a value that carries `know`.
    pub(crate) fn wait_done(&mut self, id: QueueId, packet: GpuAddress, know: &Knowledge) {
        let queue = self.queue(id);
        let pfp = queue.has_pfp && queue.me.packet != packet && queue.pfp.packet == packet;
        Arc::make_mut(&mut queue.agent(pfp).know).join(know);
    }

    /// An engine fetches a packet of a command buffer: it is in that submission now, if
    /// the buffer is one that was submitted and not one that such a buffer calls.
    pub(crate) fn fetches(&mut self, id: QueueId, engine: Engine, packet: GpuAddress) {
        let queue = self.queue(id);
        let pfp = engine == Engine::Pfp;
        if pfp {
            queue.has_pfp = true;
            queue.pfp.take(packet);
        } else {
            queue.me_enters(packet);
        }
    }

    /// An engine accesses memory: its epoch, what it knows, and its place in the
    /// program.
    pub(crate) fn engine(
        &mut self,
        id: QueueId,
        engine: Engine,
        packet: GpuAddress,
    ) -> (Epoch, Snapshot) {
        let queue = self.queue(id);
        match engine {
            Engine::Pfp => {
                let know = queue.pfp_know();
                (Epoch::new(id, Stream::Pfp, queue.pfp_at), know)
            }
            Engine::Me | Engine::Mec | Engine::Sdma => {
                let know = queue.me_know();
                (Epoch::new(id, Stream::Engine, queue.me_at), know)
            }
            Engine::CpDma => {
                if let Some(at) = queue.pending_dma.iter().position(|p| p.packet == packet) {
                    queue.moving = queue.pending_dma.drain(..=at).next_back();
                }
                match &queue.moving {
                    Some(p) => {
                        let mut know = (*p.know).clone();
                        let mine = know.of_mut(queue.index);
                        // Copies run one after the other.
                        mine.dma = mine.dma.max(p.number);
                        debug_assert!(p.program <= queue.me_at);
                        (Epoch::new(id, Stream::Dma, p.number), Arc::new(know))
                    }
                    None => {
                        let know = queue.me_know();
                        (Epoch::new(id, Stream::Engine, queue.me_at), know)
                    }
                }
            }
            Engine::EndOfPipe => {
                let pending = queue.pending_eop.iter().find(|p| p.packet == packet);
                let (number, know) = match pending {
                    Some(p) => (p.number, p.know.clone()),
                    // Told as landed before its value.
                    None => (queue.landed.of(queue.index).eop.max(1), queue.landed.clone()),
                };
                let mut know = (*know).clone();
                let mine = know.of_mut(queue.index);
                mine.eop = mine.eop.max(number);
                (Epoch::new(id, Stream::EndOfPipe, number), Arc::new(know))
            }
        }
    }

    /// What the ME of a queue knows now.
    pub(crate) fn me_know(&mut self, id: QueueId) -> (Epoch, Snapshot) {
        let queue = self.queue(id);
        let know = queue.me_know();
        (Epoch::new(id, Stream::Engine, queue.me_at), know)
    }
}

/// The same, with every dispatch that ended also accepted: cache actions of an
/// end-of-pipe event come after that.
fn accepted(know: &Snapshot, queue: u16) -> Snapshot {
    let mut know = (**know).clone();
    let mine = know.of_mut(queue);
    mine.accepted = mine.accepted.max(mine.ended);
    Arc::new(know)
}

impl Queue {
    /// What an end-of-pipe event taken up now will know when its value lands: what
    /// the ME knows, and that the waves of every dispatch so far have ended.
    fn end_of_pipe_knows(&mut self) -> Snapshot {
        let mut know = (*self.me_know()).clone();
        let mine = know.of_mut(self.index);
        mine.ended = self.dispatches.len() as u32;
        Arc::new(know)
    }
}
