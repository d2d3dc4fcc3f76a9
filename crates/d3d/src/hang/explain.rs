//! What each verdict means and the way out of it.

use super::{HangExit, HangValue};
use wavefence_base::{Budget, QueueId, StallVerdict, StuckWork, WorkVerdict, Writer};

/// What a verdict on a wait means and the way out of it.
pub(super) fn explain(verdict: &StallVerdict, queues: &dyn Fn(QueueId) -> String) -> String {
    match verdict {
        StallVerdict::Cycle(ring) => {
            let mut names: Vec<String> =
                ring.iter().map(|q| format!("\"{}\"", queues(*q))).collect();
            if let Some(first) = names.first().cloned() {
                names.push(first);
            }
            format!(
                "deadlock: queues wait for each other: {}; break the ring by signalling before \
                 waiting on one of them",
                names.join(" -> ")
            )
        }
        StallVerdict::NeverWritten => {
            "never written: nothing has written there and nothing still to run does; submit the \
             producer, or check the address"
                .into()
        }
        StallVerdict::Overtaken => {
            "overtaken: the value was there and has been passed; wait with GREATER_EQUAL on a \
             counter that only grows"
                .into()
        }
        StallVerdict::WriteLost => {
            "write lost: the write that would have ended it went to memory that is read-only for \
             the GPU or not there; write to memory that the GPU may write"
                .into()
        }
        StallVerdict::NeverSatisfied => {
            "never satisfied: the address was written, but never with such a value; check the \
             value and the comparison"
                .into()
        }
        StallVerdict::ValueInL2(by) => format!(
            "value in L2: {} stored it, but it lies dirty in L2 and the command processor polls \
             memory; write L2 back after the store, or write the value at the bottom of the pipe",
            writer(*by, queues)
        ),
        StallVerdict::BehindItself => {
            "blocks itself: the only write that would end it stands behind the wait on the same \
             queue; write from another queue or earlier"
                .into()
        }
        StallVerdict::WriterBlocked(queue) => format!(
            "writer blocked: the write that would end it stands on queue \"{}\", which cannot go \
             on either; look at what holds that queue",
            queues(*queue)
        ),
        StallVerdict::NotSubmitted(list) => format!(
            "not submitted: list \"{list}\" was recorded and closed and would end this wait, but \
             no queue was given it; execute it"
        ),
        StallVerdict::MemoryFreed(name) => format!(
            "memory freed: \"{name}\", which the wait looks at, was freed while the wait was \
             pending; keep it until the fence behind the wait has passed"
        ),
        StallVerdict::MemoryReused { was, now } => format!(
            "memory re-used: the wait began on \"{was}\", and \"{now}\" lies there now; keep the \
             memory until the fence behind the wait has passed"
        ),
        // The list is open to other crates.
        other => format!("blocked: {other:?}"),
    }
}

/// Who wrote, without the call.
pub(super) fn writer(by: Writer, queues: &dyn Fn(QueueId) -> String) -> String {
    match by {
        Writer::Host => "the host".into(),
        Writer::Queue(q) | Writer::Dma(q) => format!("queue \"{}\"", queues(q)),
        Writer::Shader(q, d) => format!("a shader of {d} on queue \"{}\"", queues(q)),
        // The list is open to other crates.
        other => format!("{other:?}"),
    }
}

fn budget_of(work: &StuckWork) -> u64 {
    match work.verdict {
        WorkVerdict::OverBudget(Budget::Instructions(n) | Budget::Cycles(n)) => n,
        WorkVerdict::Stuck | WorkVerdict::Endless { .. } => 0,
    }
}

/// What all groups would take, if they go on as those before.
fn estimate(work: &StuckWork, budget: u64) -> String {
    if work.ended == 0 {
        return String::new();
    }
    let whole = u128::from(budget) * u128::from(work.total) / u128::from(work.ended);
    format!(", so all of them would take about {whole} (an estimate: as long as those took)")
}

/// What a verdict on a thread group means and the way out of it.
pub(super) fn explain_work(
    work: &StuckWork,
    shader: &str,
    exits: &[HangExit],
    values: &[HangValue],
) -> String {
    let stale = values.iter().find(|v| v.memory.is_some());
    let what = match work.verdict {
        WorkVerdict::Stuck => {
            return format!(
                "stuck: waves of the group wait for each other or for an ordered turn that does \
                 not come; let every wave of \"{shader}\" reach its barriers and ordered \
                 operations"
            );
        }
        WorkVerdict::OverBudget(budget) => {
            let budget = match budget {
                Budget::Instructions(n) => format!("{n} wave instructions"),
                Budget::Cycles(n) => format!("{n} GPU cycles"),
            };
            format!(
                "still running: the run's budget of {budget} ended while \"{shader}\" was \
                 running; {} of {} groups have ended{}",
                work.ended,
                work.total,
                estimate(work, budget_of(work))
            )
        }
        WorkVerdict::Endless { period: 0 } => format!(
            "proved endless: the state of \"{shader}\" repeats, and nothing that can still move \
             writes what it reads"
        ),
        WorkVerdict::Endless { period } => format!(
            "proved endless: the state of \"{shader}\" repeats every {}, and nothing that can \
             still move writes what it reads",
            if period == 1 { "turn of a loop".to_owned() } else { format!("{period} turns") }
        ),
    };
    let mend = if let Some((_, [x, y, z])) = work.arguments
        && work.looping.as_ref().is_none_or(|l| l.values.is_empty())
    {
        format!(
            "its counts ({x}, {y}, {z}) were read from memory; check who wrote them, and that \
             the write is ordered before the read (PFP)"
        )
    } else if work.ended > 0 && matches!(work.verdict, WorkVerdict::OverBudget(_)) {
        "groups do end, there are only many: launch fewer, or give the run a larger \
         budget"
            .to_owned()
    } else if work.looping.is_none() {
        "give the work a bound, or the run a larger budget".to_owned()
    } else if exits.is_empty() {
        "the loop has no way out; add one".to_owned()
    } else if let Some(stale) = stale {
        format!(
            "the wave reads {} of {} from a cache while memory holds another value; invalidate \
             the caches that may hold the line behind the write, or write it by a way that goes \
             through them",
            stale.value, stale.resource
        )
    } else if values.is_empty() {
        "no value in memory decides when the loop ends; give it a bound".to_owned()
    } else {
        "check who writes the value below, or give the loop a bound".to_owned()
    };
    format!("{what}; {mend}")
}
