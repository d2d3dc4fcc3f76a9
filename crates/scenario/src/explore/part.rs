//! Parts of a search that were made by several processes, put together.

use super::hunt::{Found, HuntOptions, Summary};
use super::search::Shard;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Name and version of the form of a part.
pub const FORM: &str = "wavefence-explore-part/1";

/// What one process found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// [`FORM`].
    pub form: String,
    /// Sum of the scenario's text.
    pub scenario: u32,
    /// The profile.
    pub profile: String,
    /// Everything else that the search depends on, but for the part.
    pub options: String,
    /// Its number, from 0.
    pub index: u64,
    /// How many parts there are.
    pub of: u64,
    /// What it came to.
    pub summary: Summary,
}

/// Why parts are not put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// It is written in another form.
    #[error("it is no part of a search that this version writes (`{0}`, not `{FORM}`)")]
    Form(String),
    /// It is about another scenario.
    #[error("it was made from another scenario (checksum {made:08x}, this file has {here:08x})")]
    Scenario {
        /// The sum in the part.
        made: u32,
        /// The sum of the file.
        here: u32,
    },
    /// It was made with other options.
    #[error("it was made with other options: `{made}`, here `{here}`")]
    Options {
        /// Those of the part.
        made: String,
        /// Those wanted.
        here: String,
    },
    /// It is one of another number of parts.
    #[error("it is part {} of {of}, the first is one of {wanted}", index + 1)]
    Count {
        /// Its number.
        index: u64,
        /// Of how many.
        of: u64,
        /// How many the first says.
        wanted: u64,
    },
    /// It is there twice.
    #[error("part {} of {of} is there already", index + 1)]
    Twice {
        /// Its number.
        index: u64,
        /// Of how many.
        of: u64,
    },
    /// Parts are missing.
    #[error("part {} of {of} is missing", index + 1)]
    Missing {
        /// The first that is.
        index: u64,
        /// Of how many.
        of: u64,
    },
}

/// Options as text, to be compared.
pub fn options_text(o: &HuntOptions, more: &str) -> String {
    let preemptions = o.preemptions.map_or("all".into(), |n| n.to_string());
    format!(
        "strategy={} seed={} schedules={} depth={} preemptions={preemptions} evictions={} \
         max-steps={} keep-going={} {more}",
        o.strategy.name(),
        o.seed,
        o.schedules,
        o.depth,
        o.evictions,
        o.steps,
        o.keep_going,
    )
}

impl Part {
    /// A part as it is written.
    pub fn new(
        scenario: u32,
        profile: String,
        options: String,
        shard: Shard,
        summary: Summary,
    ) -> Self {
        let Shard { index, of } = shard;
        Self { form: FORM.into(), scenario, profile, options, index, of, summary }
    }
}

/// Puts all parts of one search together; an error says which part is wrong, by its
/// place among `parts`.
///
/// # Errors
/// If one does not belong to them, or one is missing (then the place is 0).
pub fn merge(
    parts: &[Part],
    scenario: u32,
    keep_going: bool,
) -> Result<Summary, (usize, MergeError)> {
    let Some(first) = parts.first() else {
        return Err((0, MergeError::Missing { index: 0, of: 1 }));
    };
    let mut seen = BTreeSet::new();
    for (place, part) in parts.iter().enumerate() {
        let error = if part.form != FORM {
            MergeError::Form(part.form.clone())
        } else if part.scenario != scenario {
            MergeError::Scenario { made: part.scenario, here: scenario }
        } else if (&part.options, &part.profile) != (&first.options, &first.profile) {
            let text = |p: &Part| format!("{} profile={}", p.options, p.profile);
            MergeError::Options { made: text(part), here: text(first) }
        } else if part.of != first.of || part.index >= part.of {
            MergeError::Count { index: part.index, of: part.of, wanted: first.of }
        } else if !seen.insert(part.index) {
            MergeError::Twice { index: part.index, of: part.of }
        } else {
            continue;
        };
        return Err((place, error));
    }
    if let Some(index) = (0..first.of).find(|i| !seen.contains(i)) {
        return Err((0, MergeError::Missing { index, of: first.of }));
    }
    Ok(join(parts, keep_going))
}

fn join(parts: &[Part], keep_going: bool) -> Summary {
    let mut all = Summary { complete: true, ..Summary::default() };
    let mut found: Vec<&Found> = Vec::new();
    for Part { summary, .. } in parts {
        let Summary {
            schedules,
            repeats,
            cut,
            first_cut,
            limited,
            limit,
            outcomes,
            found: bad,
            plain_steps,
            complete,
        } = summary;
        all.schedules += schedules;
        all.repeats += repeats;
        all.cut += cut;
        all.first_cut = [all.first_cut.take(), first_cut.clone()].into_iter().flatten().min();
        all.limited += limited;
        all.limit = all.limit.or_else(|| limit.clone());
        all.outcomes.extend(outcomes);
        all.plain_steps = all.plain_steps.max(*plain_steps);
        all.complete &= complete;
        found.extend(bad);
    }
    found.sort_by_key(|f| f.schedule);
    let mut seen = BTreeSet::new();
    for one in found {
        let new: Vec<_> = one.bad.iter().filter(|b| seen.insert((*b).clone())).cloned().collect();
        if !new.is_empty() {
            all.found.push(Found { bad: new, ..one.clone() });
        }
    }
    if !keep_going {
        all.found.truncate(1);
    }
    all
}
