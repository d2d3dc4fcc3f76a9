//! Elements of flushes and waits, and which of them some access needed.

use crate::clock::{Epoch, Knowledge, Stream};
use crate::flushes::{Effect, Flushes};
use crate::hazard::{Action, At, Element, Hazard, Mend};
use crate::rules;
use crate::timeline::Gave;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use wavefence_base::{CacheAction, FlushCost, Generation, GpuAddress, QueueId, Rule, Verdict};

#[derive(Clone, Copy, Debug, Default)]
struct Use {
    runs: u64,
    /// Some access needed it.
    needed: bool,
    /// Some access needed more of it than an L2 write-back.
    whole: bool,
    /// It belongs to a boundary that nobody asked for.
    boundary: bool,
    no_effect: bool,
}

/// What one kind of wait gave, oldest first.
type Waits = HashMap<u16, Vec<(Gave, u32)>>;

/// All elements of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elements {
    keys: Vec<(QueueId, GpuAddress, Element)>,
    uses: Vec<Use>,
    by_key: HashMap<(QueueId, GpuAddress, Element), u32>,
    shaders: Waits,
    dma: Waits,
    pfp: Waits,
    /// Actions that are needed because the one before them was.
    twins: BTreeMap<(Epoch, CacheAction), bool>,
    /// What the cache actions of packets had to do.
    costs: BTreeMap<(QueueId, GpuAddress), FlushCost>,
    /// Packets whose write-back was needed and overtaken by their own signal.
    overtaken: BTreeSet<(QueueId, GpuAddress)>,
}

impl Elements {
    /// One more execution of an element.
    pub(crate) fn run(
        &mut self,
        queue: QueueId,
        packet: GpuAddress,
        element: Element,
        boundary: bool,
    ) -> u32 {
        let key = (queue, packet, element);
        let next = self.keys.len() as u32;
        let at = *self.by_key.entry(key).or_insert(next);
        if at == next {
            self.keys.push(key);
            self.uses.push(Use::default());
        }
        let one = &mut self.uses[at as usize];
        one.runs += 1;
        one.boundary |= boundary;
        at
    }

    /// What a packet's cache actions had to do, once more.
    pub(crate) fn cost(&mut self, queue: QueueId, packet: GpuAddress, cost: FlushCost) {
        let sum = self.costs.entry((queue, packet)).or_default();
        sum.dropped += cost.dropped;
        sum.written += cost.written;
    }

    pub(crate) fn no_effect(&mut self, element: u32) {
        self.uses[element as usize].no_effect = true;
    }

    /// A wait was reached.
    pub(crate) fn wait(
        &mut self,
        queue: QueueId,
        packet: GpuAddress,
        element: Element,
        gave: Gave,
    ) {
        let index = self.run(queue, packet, element, false);
        let list = match element {
            Element::Shaders => &mut self.shaders,
            Element::Dma => &mut self.dma,
            Element::Pfp => &mut self.pfp,
            Element::Cache(_) => return,
        };
        list.entry(queue.0 as u16).or_default().push((gave, index));
    }

    /// An access needed that action for that effect.
    pub(crate) fn credit_flush(&mut self, flushes: &Flushes, ran: u32, effect: Effect) {
        let ran = flushes.get(ran);
        let one = &mut self.uses[ran.element as usize];
        one.needed = true;
        one.whole |= effect != Effect::WriteBackL2;
    }

    /// An access needed that end-of-pipe action and so, on GFX7 and GFX8, the same one
    /// of the stream's next event, whose value it was that waited for the first. That
    /// one may come after the access.
    pub(crate) fn credit_twin(&mut self, flushes: &Flushes, ran: u32) {
        let first = flushes.get(ran);
        if first.by.stream == Stream::EndOfPipe {
            let next = Epoch { number: first.by.number + 1, ..first.by };
            let whole = self.uses[first.element as usize].whole;
            *self.twins.entry((next, first.action)).or_default() |= whole;
        }
    }

    /// An access needed what the packet does to L2, and would have had it if the
    /// packet's signal had waited for it: the mend is that wait, not to leave it out.
    /// The write-back itself may come after the access.
    pub(crate) fn credit_write_back(&mut self, queue: QueueId, packet: GpuAddress) {
        self.overtaken.insert((queue, packet));
    }

    /// Credits the twins and the overtaken write-backs that have come. Call before [`Self::advice`].
    pub(crate) fn settle(&mut self, flushes: &Flushes) {
        for (&(epoch, action), &whole) in &self.twins {
            if let Some(twin) = flushes.by_epoch(epoch, action) {
                let one = &mut self.uses[twin.element as usize];
                one.needed = true;
                one.whole |= whole;
            }
        }
        for &(queue, packet) in &self.overtaken {
            for action in [CacheAction::InvalidateL2, CacheAction::WritebackL2] {
                if let Some(&at) = self.by_key.get(&(queue, packet, Element::Cache(action))) {
                    self.uses[at as usize].needed = true;
                }
            }
        }
    }

    /// An access needed `producer` to be known before a consumer that knows `know`.
    /// `pfp` is the consumer's queue if the prefetch parser is the consumer;
    /// `program` the producer's place.
    pub(crate) fn credit_order(
        &mut self,
        producer: Epoch,
        program: u32,
        pfp: Option<QueueId>,
        know: &Knowledge,
    ) {
        let engine = know.of(producer.queue).engine;
        let mut needed = [None, None];
        match producer.stream {
            Stream::Dispatch => {
                needed[0] = first_wait(&self.shaders, producer.queue, producer.number, engine);
            }
            Stream::Dma => {
                needed[0] = first_wait(&self.dma, producer.queue, producer.number, engine)
            }
            Stream::Engine | Stream::Pfp | Stream::EndOfPipe | Stream::Boundary | Stream::Host => {}
        }
        if let Some(queue) = pfp
            && producer.queue() == Some(queue)
        {
            let by = know.of(producer.queue).pfp;
            needed[1] = first_wait(&self.pfp, producer.queue, program, by);
        } else {
            self.credit_prefetch(producer, pfp, know);
        }
        for element in needed.into_iter().flatten() {
            let one = &mut self.uses[element as usize];
            (one.needed, one.whole) = (true, true);
        }
    }

    /// True if the prefetch parser of that queue waited, before the place `by` in the
    /// program, for what the ME executed at `producer`.
    pub(crate) fn prefetch_waited(&self, queue: u16, producer: u32, by: u32) -> bool {
        first_wait(&self.pfp, queue, producer, by).is_some()
    }

    /// The prefetch parser of `pfp` knows the work of others by the first of its waits
    /// for the ME at which the ME knew it.
    pub(crate) fn credit_prefetch(
        &mut self,
        producer: Epoch,
        pfp: Option<QueueId>,
        know: &Knowledge,
    ) {
        let Some(queue) = pfp.map(|q| q.0 as u16) else { return };
        let Some(list) = self.pfp.get(&queue) else { return };
        let knew = |gave: &Gave| gave.know.as_ref().is_some_and(|(k, _)| k.landed(producer));
        let at = list.partition_point(|(gave, _)| !knew(gave));
        let Some((gave, element)) = list.get(at) else { return };
        let had = gave.know.as_ref().is_some_and(|(_, had)| had.landed(producer));
        if !had && gave.program <= know.of(queue).pfp {
            let one = &mut self.uses[*element as usize];
            (one.needed, one.whole) = (true, true);
        }
    }

    /// Advice on elements that no access needed, by call: `call` gives packets of one
    /// call the same number, or each its own.
    pub(crate) fn advice(
        &self,
        generation: Generation,
        call: &dyn Fn(GpuAddress) -> u64,
    ) -> Vec<Hazard> {
        // An element of a call is needed if it is in any of the call's packets.
        let mut calls: BTreeMap<(QueueId, u64, Element), (GpuAddress, Use)> = BTreeMap::new();
        for (&(queue, packet, element), one) in self.keys.iter().zip(&self.uses) {
            let entry = calls
                .entry((queue, call(packet), element))
                .or_insert((packet, Use { no_effect: true, ..Use::default() }));
            entry.0 = entry.0.min(packet);
            entry.1.runs = entry.1.runs.max(one.runs);
            entry.1.needed |= one.needed;
            entry.1.whole |= one.whole;
            entry.1.boundary |= one.boundary;
            entry.1.no_effect &= one.no_effect;
        }
        let mut list: Vec<Hazard> = calls
            .iter()
            .filter(|(_, (_, one))| !one.boundary)
            .filter_map(|(&(queue, _, element), (packet, one))| {
                let (rule, action) = judge(generation, element, one)?;
                let mut advice = advice(rule, action, (queue, *packet, element), one.runs);
                if matches!(element, Element::Cache(_)) {
                    advice.cost = self.costs.get(&(queue, *packet)).copied();
                }
                Some(advice)
            })
            .collect();
        list.sort_by_key(|h| (h.element, h.rule.number));
        list
    }
}

/// The first wait of a queue that gave `upto`, if it stands before `by`.
fn first_wait(waits: &Waits, queue: u16, upto: u32, by: u32) -> Option<u32> {
    let list = waits.get(&queue)?;
    let at = list.partition_point(|(gave, _)| gave.upto < upto);
    list.get(at).filter(|(gave, _)| gave.program <= by).map(|&(_, element)| element)
}

/// What is to be said of an element at the end of the run.
fn judge(generation: Generation, element: Element, one: &Use) -> Option<(&'static Rule, Action)> {
    if one.no_effect {
        return Some((&rules::FLUSH_NO_EFFECT, Action::Remove(element)));
    }
    match element {
        // Needed by draws, which do not exist yet, and by volatile accesses.
        Element::Cache(
            CacheAction::FlushColorData
            | CacheAction::FlushColorMeta
            | CacheAction::FlushDepthData
            | CacheAction::FlushDepthMeta
            | CacheAction::InvalidateMetadata
            | CacheAction::InvalidateL1Volatile
            | CacheAction::InvalidateKVolatile
            | CacheAction::InvalidateL2Volatile,
        ) => None,
        Element::Cache(CacheAction::InvalidateL2) if one.needed && !one.whole => {
            // A write-back alone exists from GFX8 on.
            (generation != Generation::Gfx7).then_some((
                &rules::FLUSH_OVER_WIDE,
                Action::Replace(element, Element::Cache(CacheAction::WritebackL2)),
            ))
        }
        Element::Cache(_) | Element::Shaders | Element::Dma | Element::Pfp => {
            (!one.needed).then_some((&rules::FLUSH_REDUNDANT, Action::Remove(element)))
        }
    }
}

fn advice(
    rule: &'static Rule,
    action: Action,
    element: (QueueId, GpuAddress, Element),
    count: u64,
) -> Hazard {
    Hazard {
        rule,
        verdict: Verdict::Advice,
        producer: None,
        consumer: None,
        range: None,
        span: None,
        held: None,
        misses: Vec::new(),
        mends: vec![Mend { action, at: At::In(element.1) }],
        element: Some(element),
        count,
        cost: None,
        assumes: "",
    }
}
