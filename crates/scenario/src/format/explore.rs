//! `Explore:`: what `wavefence explore` is to do with the scenario and to find.

use crate::explore::BadKind;
use crate::node::Node;
use crate::problem::Problem;
use crate::reader::{At, Reader};

/// What exploring must find.
#[derive(Clone, Debug, PartialEq)]
pub struct Finds {
    /// The kind.
    pub kind: BadKind,
    /// A rule, a hang's verdict, a fault's kind or a part of a check's name; anything
    /// if `None`.
    pub what: Option<String>,
}

/// `Explore:`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExploreDecl {
    /// Some order must be wrong in this way; none may be wrong otherwise.
    pub finds: Option<At<Finds>>,
    /// Every order must have been tried.
    pub proves: Option<At<bool>>,
    /// False: results alone judge, not the hazard rules.
    pub check: Option<bool>,
    /// Evictions in a run, unless the command line says.
    pub evictions: Option<u32>,
    /// Schedules, unless the command line says.
    pub schedules: Option<u64>,
}

/// Reads `Explore:`.
pub fn explore(r: &Reader, node: &Node) -> Option<ExploreDecl> {
    const KINDS: [(&str, BadKind); 4] = [
        ("Hang", BadKind::Hang),
        ("WrongResult", BadKind::WrongResult),
        ("Fault", BadKind::Fault),
        ("Finding", BadKind::Finding),
    ];
    let mut m = r.map(node, "Explore")?;
    let finds = m.opt("Finds", |r, n| r.word(n, &KINDS));
    let what = m.opt("What", |r, n| r.text(n));
    let proves = m.opt("Proves", |r, n| r.bool(n).map(|v| At::new(n.at, v)));
    let check = m.opt("Check", |r, n| r.bool(n));
    let evictions = m.opt("Evictions", |r, n| r.int::<u32>(n));
    let schedules = m.opt("Schedules", |r, n| r.int::<u64>(n));
    m.finish()?;
    let (finds, what, proves) = (finds?, what?, proves?);
    if let (None, Some(what)) = (&finds, &what) {
        r.note(Problem::at(what.at, "What says more about Finds, which is missing"));
        return None;
    }
    if let (Some(finds), Some(proves)) = (&finds, &proves)
        && proves.value
    {
        let message = "a search ends at what it finds: it cannot find and prove";
        r.note(Problem::at(finds.at, message));
        return None;
    }
    let finds =
        finds.map(|kind| At::new(kind.at, Finds { kind: kind.value, what: what.map(|w| w.value) }));
    Some(ExploreDecl { finds, proves, check: check?, evictions: evictions?, schedules: schedules? })
}
