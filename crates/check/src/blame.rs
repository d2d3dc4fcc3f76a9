//! From a judgement to a hazard: which rule, what is there and why it missed, and the
//! smallest mend.

use crate::clock::Stream;
use crate::flushes::{Effect, Ran, effects};
use crate::found::union;
use crate::hazard::{Action, At, Hazard, Held, Mend, Miss, Side};
use crate::judge::{Access, Inside, Judge, Order, Stale};
use crate::rules;
use crate::shadow::{ANOTHER, Record};
use crate::shared::Race;
use wavefence_base::{
    AccessKind, CacheClass, Client, Engine, GpuAddress, GpuRange, Level, QueueId, Rule, Verdict,
};

/// The bytes of an occurrence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    pub(crate) range: GpuRange,
    pub(crate) lane: u8,
    /// The record of the read says that its bytes are from before the write.
    pub(crate) old: bool,
}

const ORDER: &str = "nothing orders the two, whatever the timing of this run was";
const FILLED: &str = "the line may still be in some unit's cache; a miss fetches it afresh";
const DIRTY: &str = "L2 has not happened to write the bytes back before the read";

impl Judge {
    /// A record as a side of a hazard.
    pub(crate) fn side(&self, r: &Record, lane: Option<u8>) -> Side {
        let dispatch = self.timeline.dispatch_of(r.epoch);
        let shader = dispatch.is_some() && r.launch < ANOTHER;
        let engine = match r.epoch.stream {
            Stream::Dispatch | Stream::Host | Stream::Boundary => None,
            Stream::Pfp => Some(Engine::Pfp),
            Stream::Dma => Some(Engine::CpDma),
            Stream::EndOfPipe => Some(Engine::EndOfPipe),
            Stream::Engine if r.client == Client::Sdma => Some(Engine::Sdma),
            Stream::Engine => Some(Engine::Me),
        };
        let packet = match dispatch {
            Some((_, d)) => Some(d.packet),
            None => engine.map(|_| GpuAddress::from_parts(r.who[0], r.who[1])),
        };
        Side {
            client: r.client,
            kind: r.kind,
            queue: r.epoch.queue(),
            engine,
            packet,
            dispatch: dispatch.map(|(id, _)| id),
            kernel: dispatch.map(|(_, d)| d.kernel),
            loc: r.loc,
            group: shader.then_some(r.who),
            wave: (shader && r.wave != u16::MAX).then_some(u32::from(r.wave)),
            lane: lane.filter(|_| shader),
        }
    }

    fn add(
        &mut self,
        rule: &'static Rule,
        proven: bool,
        sides: (Side, Side),
        bytes: Bytes,
        mends: Vec<Mend>,
        more: More,
    ) {
        let hazard = Hazard {
            rule,
            verdict: if proven { Verdict::Proven } else { Verdict::Possible },
            producer: Some(sides.0),
            consumer: Some(sides.1),
            range: Some(bytes.range),
            span: Some(bytes.range),
            held: more.held,
            misses: more.misses,
            mends,
            element: None,
            count: 1,
            cost: None,
            assumes: if proven { "" } else { more.assumes },
        };
        self.found.add(hazard, self.now);
    }

    /// Two accesses, the second judged, that are not in order.
    pub(crate) fn blame_order(
        &mut self,
        prev: &Record,
        access: &Access,
        order: Order,
        bytes: Bytes,
    ) {
        let now = access.record;
        let same_queue = prev.epoch.queue().is_some() && prev.epoch.queue() == now.epoch.queue();
        if !same_queue && self.read_ahead(prev) && now.kind != AccessKind::Read {
            return self.blame_read_ahead(prev, &now, bytes);
        }
        let later =
            same_queue && self.timeline.program(now.epoch) < self.timeline.program(prev.epoch);
        let (first, second) = if later { (&now, prev) } else { (prev, &now) };
        let sides = if later {
            (self.side(first, Some(bytes.lane)), self.side(second, None))
        } else {
            (self.side(first, None), self.side(second, Some(bytes.lane)))
        };
        // What reads before an earlier command's write got old bytes.
        let proven = if later {
            second.kind == AccessKind::Read && first.kind != AccessKind::Read
        } else {
            bytes.old
        };
        let (rule, action, misses) = if same_queue {
            self.same_queue(first, second, (!later).then_some(access), order)
        } else {
            self.other_queue(first, second, access, order)
        };
        let at = match (sides.1.packet, &action) {
            (_, Action::Accept | Action::SignalAndWait { to: None, .. }) => At::Host,
            (Some(packet), _) => At::Before(packet),
            (None, _) => At::Host,
        };
        let mends = vec![Mend { action, at }];
        self.add(rule, proven, sides, bytes, mends, More { misses, held: None, assumes: ORDER });
    }

    /// True for what a prefetch parser has read although its ME has not come there.
    fn read_ahead(&self, r: &Record) -> bool {
        let queue = r.epoch.queue().filter(|_| r.epoch.stream == Stream::Pfp);
        queue.is_some_and(|q| self.timeline.me_place(q) < self.timeline.program(r.epoch))
    }

    /// Another queue or the host writes what a prefetch parser has read too early.
    fn blame_read_ahead(&mut self, reader: &Record, writer: &Record, bytes: Bytes) {
        let sides = (self.side(writer, Some(bytes.lane)), self.side(reader, None));
        let at = sides.1.packet.map_or(At::Host, At::Before);
        let mends = vec![Mend { action: Action::SyncPfp, at }];
        let more = More { misses: vec![Miss::OnlyMicroEngine], held: None, assumes: ORDER };
        self.add(&rules::WRONG_ENGINE, true, sides, bytes, mends, more);
    }

    /// Two commands of one queue; `access` is the second one's, where it is known.
    fn same_queue(
        &mut self,
        first: &Record,
        second: &Record,
        access: Option<&Access>,
        order: Order,
    ) -> (&'static Rule, Action, Vec<Miss>) {
        if second.epoch.stream == Stream::Pfp {
            let producer = self.timeline.program(first.epoch);
            let by = self.timeline.program(second.epoch);
            let synced = access.is_some_and(|a| a.know.of(first.epoch.queue).engine >= producer);
            if !synced && !self.elements.prefetch_waited(first.epoch.queue, producer, by) {
                return (&rules::WRONG_ENGINE, Action::SyncPfp, vec![Miss::OnlyMicroEngine]);
            }
        }
        if first.epoch.stream == Stream::Dma {
            return (&rules::RACE_DMA, Action::WaitDma, Vec::new());
        }
        if order == Order::Landing {
            return (&rules::NOT_LANDED, Action::WaitShaders, vec![landing()]);
        }
        let queue = first.epoch.queue();
        match first.epoch.stream {
            Stream::EndOfPipe => {
                let action = Action::SignalAndWait { from: queue, to: queue };
                (&rules::RACE_QUEUE, action, Vec::new())
            }
            Stream::Dispatch
            | Stream::Engine
            | Stream::Pfp
            | Stream::Dma
            | Stream::Boundary
            | Stream::Host => (&rules::RACE_QUEUE, Action::WaitShaders, Vec::new()),
        }
    }

    fn other_queue(
        &mut self,
        first: &Record,
        second: &Record,
        access: &Access,
        order: Order,
    ) -> (&'static Rule, Action, Vec<Miss>) {
        let (from, to) = (first.epoch.queue(), second.epoch.queue());
        if order == Order::Landing {
            return (&rules::NOT_LANDED, Action::Accept, vec![landing()]);
        }
        let host = from.is_none() || to.is_none();
        let rule = if host { &rules::RACE_HOST } else { &rules::RACE_CROSS_QUEUE };
        // A signal from behind the first one is there, but it says too little.
        let reached = from.is_some()
            && access.know.of(first.epoch.queue).engine >= self.timeline.program(first.epoch);
        if reached && first.epoch.stream == Stream::Dma {
            return (&rules::RACE_DMA, Action::WaitDma, Vec::new());
        }
        if reached && first.epoch.stream == Stream::Dispatch {
            let miss = Miss::Level {
                packet: None,
                given: Level::MicroEngine,
                needed: if first.kind == AccessKind::Read {
                    Level::ShadersDone
                } else {
                    Level::Accepted
                },
            };
            return (rule, Action::WaitShaders, vec![miss]);
        }
        (rule, Action::SignalAndWait { from, to }, Vec::new())
    }

    /// Two accesses of one dispatch.
    pub(crate) fn blame_inside(
        &mut self,
        prev: &Record,
        access: &Access,
        inside: Inside,
        bytes: Bytes,
    ) {
        let now = access.record;
        let sides = (self.side(prev, None), self.side(&now, Some(bytes.lane)));
        let (rule, action) = match inside {
            Inside::Ordered => return,
            Inside::Waves => (&rules::RACE_DISPATCH, Action::GroupBarrier),
            Inside::Groups => (&rules::RACE_DISPATCH, Action::Atomic),
            Inside::NotDropped => (&rules::STALE_VECTOR, Action::Coherent),
        };
        let at = sides.1.packet.map_or(At::Host, At::Shader);
        let mends = vec![Mend { action, at }];
        let proven = bytes.old && now.kind != AccessKind::Write;
        let more = More { misses: Vec::new(), held: None, assumes: ORDER };
        self.add(rule, proven, sides, bytes, mends, more);
    }

    /// Two waves of a group, and no barrier between.
    pub(crate) fn blame_shared(&mut self, race: &Race, now: &Record) {
        let sides = (self.side(&race.earlier, None), self.side(now, Some(race.lane)));
        let at = sides.1.packet.map_or(At::Host, At::Shader);
        let mends = vec![Mend { action: Action::GroupBarrier, at }];
        let bytes = Bytes { range: race.range, lane: race.lane, old: false };
        let more = More { misses: Vec::new(), held: None, assumes: ORDER };
        self.add(&rules::RACE_SHARED, false, sides, bytes, mends, more);
    }

    /// A reader that bypasses L2, and no write-back in time.
    pub(crate) fn blame_write_back(&mut self, writer: &Record, access: &Access, bytes: Bytes) {
        let at = bytes.range.start;
        if let Some(packet) = self.timeline.overtaken(writer.epoch, &access.know) {
            return self.blame_signal(writer, access, packet, bytes);
        }
        let mends = self.wait_for_it(Effect::WriteBackL2, writer, access).unwrap_or_else(|| {
            before(access, Action::WriteBackL2, &self.side(&access.record, None))
        });
        let misses = self.misses(Effect::WriteBackL2, writer, access, at);
        let rule = rule_of(&rules::MISSING_WRITE_BACK, &misses);
        let sides = (self.side(writer, None), self.side(&access.record, Some(bytes.lane)));
        self.add(rule, bytes.old, sides, bytes, mends, More { misses, held: None, assumes: DIRTY });
    }

    /// The write-back is there, but the signal did not wait for memory's confirmation.
    pub(crate) fn blame_confirm(
        &mut self,
        writer: &Record,
        access: &Access,
        ran: u32,
        bytes: Bytes,
    ) {
        let packet = self.flushes.get(ran).packet;
        self.blame_signal(writer, access, packet, bytes);
    }

    /// The end-of-pipe event at `packet` signals before memory has confirmed.
    fn blame_signal(&mut self, writer: &Record, access: &Access, packet: GpuAddress, bytes: Bytes) {
        if let Some(queue) = writer.epoch.queue() {
            self.elements.credit_write_back(queue, packet);
        }
        let mends = vec![Mend { action: Action::Confirm, at: At::In(packet) }];
        let misses = vec![Miss::Level {
            packet: Some(packet),
            given: Level::WrittenBack,
            needed: Level::Confirmed,
        }];
        let sides = (self.side(writer, None), self.side(&access.record, Some(bytes.lane)));
        let more = More { misses, held: None, assumes: DIRTY };
        self.add(&rules::NOT_LANDED, bytes.old, sides, bytes, mends, more);
    }

    /// A write beside L2 over bytes that are dirty in it.
    pub(crate) fn blame_dirty(&mut self, writer: &Record, access: &Access, bytes: Bytes) {
        let mends = before(access, Action::WriteBackL2, &self.side(&access.record, None));
        let misses = self.misses(Effect::WriteBackL2, writer, access, bytes.range.start);
        let sides = (self.side(writer, None), self.side(&access.record, None));
        let more = More { misses, held: None, assumes: "L2 has not written the bytes back yet" };
        self.add(&rules::DIRTY_OVERWRITE, false, sides, bytes, mends, more);
    }

    /// A read that caches may have served with old bytes.
    pub(crate) fn blame_stale(
        &mut self,
        records: &[Record],
        writer: &Record,
        access: &Access,
        missing: &[Stale],
        bytes: Bytes,
    ) {
        let sides = (self.side(writer, None), self.side(&access.record, Some(bytes.lane)));
        // L2 is a flush of its own; GL1 goes with the cache above it.
        let (l2, mut near): (Vec<Stale>, Vec<Stale>) =
            missing.iter().copied().partition(|(class, _)| *class == CacheClass::L2);
        near.reverse();
        for list in [l2, near] {
            let Some(&(class, fill)) = list.first() else { continue };
            let mut misses = Vec::new();
            for &(class, _) in &list {
                let effect = Effect::Invalidate(class);
                for miss in self.misses(effect, writer, access, bytes.range.start) {
                    if !misses.contains(&miss) {
                        misses.push(miss);
                    }
                }
            }
            let classes = list.iter().map(|(class, _)| *class).collect();
            let narrow = misses.iter().find_map(|m| match m {
                Miss::Range { packet, range, .. } => Some((*packet, *range)),
                Miss::WrongCache { .. }
                | Miss::TooEarly { .. }
                | Miss::NotBeforeReader { .. }
                | Miss::OnlyMicroEngine
                | Miss::Level { .. } => None,
            });
            let mends = match narrow {
                Some((packet, range)) => {
                    let whole = union(range, bytes.range);
                    vec![Mend { action: Action::Widen(whole), at: At::In(packet) }]
                }
                None => self
                    .wait_for_it(Effect::Invalidate(class), writer, access)
                    .unwrap_or_else(|| before(access, Action::Invalidate(classes), &sides.1)),
            };
            let held = Held { class, since: self.side(&records[fill as usize], None) };
            let rule = rule_of(stale_rule(class, access.record.client), &misses);
            let more = More { misses, held: Some(held), assumes: FILLED };
            self.add(rule, bytes.old, sides, bytes, mends, more);
        }
    }

    /// What is there of an action between a write and its reader, and why it missed.
    fn misses(
        &self,
        effect: Effect,
        writer: &Record,
        access: &Access,
        at: GpuAddress,
    ) -> Vec<Miss> {
        let since = self.timeline.dispatch_of(writer.epoch).map_or(writer.seq, |(_, d)| d.seq);
        let know = &access.know;
        let knows = |r: &Ran| r.know.landed(writer.epoch);
        let range =
            self.flushes.last(effect, since, |r| knows(r) && r.before(know) && !r.covers(at));
        if let Some(ran) = range
            && let Some(range) = ran.range
        {
            return vec![Miss::Range { packet: ran.packet, action: ran.action, range }];
        }
        if let Some(ran) = self.flushes.last(effect, since, |r| r.before(know) && !knows(r)) {
            return vec![Miss::TooEarly { packet: ran.packet, action: ran.action }];
        }
        let loose = self.flushes.last(effect, since, |r| knows(r) && !r.before(know));
        if let Some(ran) = loose {
            return vec![Miss::NotBeforeReader { packet: ran.packet, action: ran.action }];
        }
        match self.flushes.last_packet(since, know) {
            Some((packet, actions)) if !actions.iter().any(|&a| effects(a).contains(&effect)) => {
                vec![Miss::WrongCache { packet, actions }]
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// The mend where the right flush stands behind the writer on the writer's own
    /// queue, but did not wait for its stores: that wait.
    fn wait_for_it(&self, effect: Effect, writer: &Record, access: &Access) -> Option<Vec<Mend>> {
        let (_, dispatch) = self.timeline.dispatch_of(writer.epoch)?;
        let early = |r: &Ran| {
            r.by.queue == writer.epoch.queue
                && r.by.stream == Stream::Engine
                && r.before(&access.know)
                && !r.know.landed(writer.epoch)
        };
        let ran = self.flushes.last(effect, dispatch.seq, early)?;
        Some(vec![Mend { action: Action::WaitShaders, at: At::Before(ran.packet) }])
    }

    /// Memory that nothing has written.
    pub(crate) fn blame_uninitialised(&mut self, access: &Access, bytes: Bytes) {
        let side = self.side(&access.record, Some(bytes.lane));
        let hazard = Hazard {
            rule: &rules::UNINITIALISED,
            verdict: Verdict::Proven,
            producer: None,
            consumer: Some(side),
            range: Some(bytes.range),
            span: Some(bytes.range),
            held: None,
            misses: Vec::new(),
            mends: before(access, Action::Initialise, &side),
            element: None,
            count: 1,
            cost: None,
            assumes: "",
        };
        self.found.add(hazard, self.now);
    }

    /// Memory was given back while `prev` was not known to be done with it.
    pub(crate) fn blame_freed(&mut self, prev: &Record, host: &Record, range: GpuRange) {
        let sides = (self.side(prev, None), self.side(host, None));
        let from = prev.epoch.queue();
        let action = Action::SignalAndWait { from, to: None };
        let mends = vec![Mend { action, at: At::Host }];
        let bytes = Bytes { range, lane: 0, old: false };
        let more = More { misses: Vec::new(), held: None, assumes: ORDER };
        self.add(&rules::FREED_MEMORY, false, sides, bytes, mends, more);
    }
}

/// The rest of a hazard.
struct More {
    held: Option<Held>,
    misses: Vec<Miss>,
    assumes: &'static str,
}

fn landing() -> Miss {
    Miss::Level { packet: None, given: Level::ShadersDone, needed: Level::Accepted }
}

fn before(access: &Access, action: Action, side: &Side) -> Vec<Mend> {
    let at = match side.packet {
        Some(packet) => At::Before(packet),
        None => At::Host,
    };
    let queue: Option<QueueId> = access.record.epoch.queue();
    debug_assert!(queue.is_some() || at == At::Host);
    vec![Mend { action, at }]
}

/// The rule of a cache, unless a flush of it is there at the wrong place.
fn rule_of(rule: &'static Rule, misses: &[Miss]) -> &'static Rule {
    let of = |m: &Miss| match m {
        Miss::Range { .. } => Some(&rules::FLUSH_RANGE),
        Miss::TooEarly { .. } | Miss::NotBeforeReader { .. } => Some(&rules::FLUSH_ORDER),
        Miss::WrongCache { .. } | Miss::OnlyMicroEngine | Miss::Level { .. } => None,
    };
    misses.iter().find_map(of).unwrap_or(rule)
}

/// The rule of the nearest cache that was stale; GL1 counts for what reads through it.
fn stale_rule(class: CacheClass, client: Client) -> &'static Rule {
    match (class, client) {
        (CacheClass::L2, _) => &rules::STALE_L2,
        (CacheClass::Scalar, _) | (CacheClass::Gl1, Client::ShaderScalar) => &rules::STALE_SCALAR,
        (CacheClass::Instruction, _) | (CacheClass::Gl1, Client::Instruction) => {
            &rules::STALE_INSTRUCTION
        }
        (CacheClass::Vector | CacheClass::Gl1, _) => &rules::STALE_VECTOR,
    }
}
