//! Replay strings: one run, short enough to be pasted.
//!
//! `wf1_series-x_0_5f3a9c01_100000_17.1x40_3.2_c4d1`: version, profile, seed, sum of
//! the scenario's text, bound on steps, then the choices that differ from the plain
//! order, then a sum of all that. A choice is `skip.index` or `skip.indexxtimes`:
//! after `skip` points of the plain order, option `index` is taken `times` times on
//! end. Only letters, digits, `_`, `.` and `-`: no shell takes offence.

use std::fmt;
use wavefence_base::ProfileName;

/// First word: the version of the form.
const VERSION: &str = "wf1";

/// Choices that a string may hold, repetitions counted.
const MOST_CHOICES: u64 = 10_000_000;

/// One run that can be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The profile.
    pub profile: ProfileName,
    /// The device's seed.
    pub seed: u64,
    /// [`sum`] of the scenario's text.
    pub scenario: u32,
    /// Steps at most.
    pub most: u64,
    /// Point and index of what is taken that is not the plain order, ascending; no
    /// index is 0.
    pub choices: Vec<(u64, u32)>,
}

/// Why a text is no replay string.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// It does not begin as one.
    #[error(
        "it is no replay string: one begins with `{VERSION}_`, as `wavefence explore` prints it"
    )]
    NotOne,
    /// It was made by a version that writes another form.
    #[error("it was made by another version of wavefence (`{0}`; this one reads `{VERSION}`)")]
    Version(String),
    /// Its own sum does not fit.
    #[error("it is damaged (its own checksum does not fit): copy it whole")]
    Damaged,
    /// A part cannot be read.
    #[error("its {part} `{text}` cannot be read")]
    Part {
        /// Which part.
        part: &'static str,
        /// The part.
        text: String,
    },
    /// It was made from another scenario.
    #[error(
        "it was made from another scenario, or from an older text of this one (checksum \
         {made:08x}, this file has {here:08x}); explore this file again"
    )]
    Scenario {
        /// The sum in the string.
        made: u32,
        /// The sum of the file.
        here: u32,
    },
}

/// A sum of a text: 32 bits of FNV-1a.
pub fn sum(text: &[u8]) -> u32 {
    let hash = super::hash(text);
    (hash ^ (hash >> 32)) as u32
}

impl Replay {
    /// # Errors
    /// If it was made from another text than this one.
    pub fn check(&self, scenario: &str) -> Result<(), ReplayError> {
        let here = sum(scenario.as_bytes());
        if here == self.scenario {
            return Ok(());
        }
        Err(ReplayError::Scenario { made: self.scenario, here })
    }

    /// Reads a string.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, ReplayError> {
        let text = text.trim();
        let Some((version, _)) = text.split_once('_') else { return Err(ReplayError::NotOne) };
        if version != VERSION {
            let digits = version.strip_prefix("wf").filter(|d| !d.is_empty());
            return Err(match digits {
                Some(d) if d.len() < 6 && d.bytes().all(|b| b.is_ascii_digit()) => {
                    ReplayError::Version(version.into())
                }
                Some(_) | None => ReplayError::NotOne,
            });
        }
        let Some((body, end)) = text.rsplit_once('_') else { return Err(ReplayError::NotOne) };
        if end != seal(body) {
            return Err(ReplayError::Damaged);
        }
        let part = |part, text: &str| ReplayError::Part { part, text: text.into() };
        let mut words = body.split('_').skip(1);
        let mut next = |name| words.next().ok_or(part(name, ""));
        let (profile, seed) = (next("profile")?, next("seed")?);
        let (scenario, most) = (next("checksum")?, next("bound on steps")?);
        let profile = ProfileName::ALL
            .into_iter()
            .find(|p| p.as_str() == profile)
            .ok_or_else(|| part("profile", profile))?;
        let seed = seed.parse().map_err(|_| part("seed", seed))?;
        let scenario = u32::from_str_radix(scenario, 16).map_err(|_| part("checksum", scenario))?;
        let most = most.parse().map_err(|_| part("bound on steps", most))?;
        let mut choices = Vec::new();
        let mut point = 0u64;
        for word in words {
            let bad = || part("choice", word);
            let (skip, index, times) = choice(word).ok_or_else(bad)?;
            point = point.checked_add(skip).ok_or_else(bad)?;
            if times > MOST_CHOICES - choices.len() as u64 {
                return Err(bad());
            }
            for _ in 0..times {
                choices.push((point, index));
                point = point.checked_add(1).ok_or_else(bad)?;
            }
        }
        Ok(Self { profile, seed, scenario, most, choices })
    }
}

/// `skip.index` or `skip.indexxtimes`.
fn choice(word: &str) -> Option<(u64, u32, u64)> {
    let (skip, rest) = word.split_once('.')?;
    let (index, times) = match rest.split_once('x') {
        Some((index, times)) => (index, times.parse().ok()?),
        None => (rest, 1),
    };
    let (skip, index) = (skip.parse().ok()?, index.parse().ok()?);
    (index != 0 && times != 0).then_some((skip, index, times))
}

fn seal(body: &str) -> String {
    format!("{:04x}", sum(body.as_bytes()) & 0xffff)
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, seed, scenario, most, choices } = self;
        let mut body = format!("{VERSION}_{profile}_{seed}_{scenario:08x}_{most}");
        let mut next = 0;
        let mut rest = &choices[..];
        while let [(point, index), ..] = rest {
            let on_end = |(n, c): &(usize, &(u64, u32))| c.0 == point + *n as u64 && c.1 == *index;
            let times = rest.iter().enumerate().take_while(on_end).count();
            body.push_str(&format!("_{}.{index}", point - next));
            if times > 1 {
                body.push_str(&format!("x{times}"));
            }
            next = point + times as u64;
            rest = &rest[times..];
        }
        write!(f, "{body}_{}", seal(&body))
    }
}
