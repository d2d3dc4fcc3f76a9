//! The checker: an observer that judges.

use crate::hazard::{Action, At, Element, Hazard, Mend};
use crate::rules;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wavefence_base::{
    CacheAction, Event, Generation, GpuAddress, Observer, QueueId, Topology, Verdict,
};

/// Watches a device. Clones share one state: one is given to the device as an
/// observer, the other asks for what was found.
#[derive(Clone, Debug)]
pub struct Checker {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    topology: Topology,
    no_effect: BTreeMap<(QueueId, GpuAddress, Element), u64>,
}

impl Checker {
    /// A checker for a device of that topology.
    pub fn new(topology: Topology) -> Self {
        Self { state: Arc::new(Mutex::new(State { topology, no_effect: BTreeMap::new() })) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which generation's words its hazards are to be told in.
    pub fn generation(&self) -> Generation {
        self.state().topology.generation
    }

    /// What the run so far has to say: hazards in the order of their first
    /// occurrence, then advice by packet. Advice on redundant elements takes this
    /// moment as the end of the run. May be asked again later.
    pub fn hazards(&self) -> Vec<Hazard> {
        self.state().advice()
    }
}

impl State {
    fn advice(&self) -> Vec<Hazard> {
        let advice = |(&(queue, packet, element), &count)| Hazard {
            rule: &rules::FLUSH_NO_EFFECT,
            verdict: Verdict::Advice,
            producer: None,
            consumer: None,
            range: None,
            span: None,
            held: None,
            misses: Vec::new(),
            mends: vec![Mend { action: Action::Remove(element), at: At::In(packet) }],
            element: Some((queue, packet, element)),
            count,
            assumes: "",
        };
        self.no_effect.iter().map(advice).collect()
    }

    fn has_effect(&self, action: CacheAction) -> bool {
        let gfx10 = self.topology.generation == Generation::Gfx10_3;
        match action {
            CacheAction::InvalidateL1Volatile
            | CacheAction::InvalidateL2Volatile
            | CacheAction::InvalidateKVolatile
            | CacheAction::InvalidateMetadata
            | CacheAction::InvalidateGl1
            | CacheAction::InvalidateL2Clean => gfx10,
            CacheAction::InvalidateL1
            | CacheAction::InvalidateL2
            | CacheAction::WritebackL2
            | CacheAction::InvalidateK
            | CacheAction::InvalidateI
            | CacheAction::FlushColorData
            | CacheAction::FlushColorMeta
            | CacheAction::FlushDepthData
            | CacheAction::FlushDepthMeta => true,
        }
    }
}

impl Observer for Checker {
    fn event(&mut self, event: &Event) {
        let mut state = self.state();
        if let Event::Flush { queue, packet, actions, .. } = event {
            for &action in actions {
                if !state.has_effect(action) {
                    let key = (*queue, *packet, Element::Cache(action));
                    *state.no_effect.entry(key).or_default() += 1;
                }
            }
        }
    }
}
