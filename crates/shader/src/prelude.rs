//! HLSL put before a source that uses Xbox intrinsics.
//!
//! Only what the source names goes in, so that other modules stay clean. Names
//! and meanings of the `__XB_…` functions are those of public Xbox shader code
//! and of the HLSL Tools editor's intrinsic list; `GlobalOrderedCountIncrement`
//! is Microsoft's (learn.microsoft.com, mt733231). Forms marked *ours* are not
//! theirs.
//!
//! Ordered append and the global data share become accesses to two reserved
//! UAVs, which lowering turns into their IR operations:
//! - `RWByteAddressBuffer` at `u0`, [`SPACE`]: `InterlockedAdd` at byte
//!   `4 * counter` is an ordered add;
//! - `RWByteAddressBuffer` at `u1`, [`SPACE`]: the global data share, by byte
//!   offset.
//!
//! `__XB_DebugBreak` prints [`DEBUG_BREAK`], which lowering turns into a
//! breakpoint: DXC writes damaged SPIR-V for a source that uses two instruction
//! sets without semantics.

mod table;

use crate::ShaderError;
use crate::source::Position;
use table::{DECLARATIONS, FUNCTIONS};

/// The register space of the reserved UAVs.
pub const SPACE: u32 = 5746;

/// Register of the ordered append counters.
pub const ORDERED_APPEND_REGISTER: u32 = 0;

/// Register of the global data share.
pub const GDS_REGISTER: u32 = 1;

/// The printed line that is a breakpoint.
pub const DEBUG_BREAK: &str = "__wavefence_break";

/// True for a name that belongs to Xbox or to us.
pub(crate) fn is_ours(name: &str) -> bool {
    name.starts_with("__XB_") || find(name).is_some()
}

fn find(name: &str) -> Option<&'static table::Function> {
    FUNCTIONS.iter().find(|f| f.name == name)
}

/// Every function the prelude can give, in alphabetical order.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = FUNCTIONS.iter().map(|f| f.name).collect();
    names.sort_unstable();
    names
}

/// The prelude for a source that uses `used`; `None` if it needs none.
///
/// # Errors
/// A name under `__XB_` that is not supported, with its line.
pub(crate) fn text_for(used: &[(String, Position)]) -> Result<Option<String>, ShaderError> {
    if used.is_empty() {
        return Ok(None);
    }
    let mut functions: Vec<&table::Function> = Vec::new();
    for (name, at) in used {
        let Some(function) = find(name) else {
            let what = format!("the intrinsic `{name}`{}", nearest(name));
            let line = Some(format!("{}:{}", at.file, at.line));
            return Err(ShaderError::unsupported(what).on_line(line));
        };
        functions.push(function);
    }
    functions.sort_unstable_by_key(|f| f.name);
    let mut text = String::new();
    for (name, declaration) in DECLARATIONS {
        if functions.iter().any(|f| f.needs.contains(name)) {
            text += declaration;
            text.push('\n');
        }
    }
    for function in functions {
        for definition in function.hlsl {
            text += definition;
            text.push('\n');
        }
    }
    Ok(Some(text))
}

fn nearest(name: &str) -> String {
    match name {
        "__XB_GdsOrderedCount" => {
            return " (its flags are not public; use `GlobalOrderedCountIncrement`)".into();
        }
        "__XB_GetCUID" | "__XB_GetSEID" | "__XB_GetSIMDID" | "__XB_GetWaveID" => {
            return " (where a wave runs is not shown to shaders here)".into();
        }
        _ => {}
    }
    let known = FUNCTIONS.iter().map(|f| f.name).filter(|k| k.eq_ignore_ascii_case(name)).min();
    known.map_or_else(
        || format!("; there are: {}", names().join(", ")),
        |k| format!("; did you mean `{k}`?"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(names: &[&str]) -> Vec<(String, Position)> {
        let at = Position { file: "a.hlsl".into(), line: 3, column: 0 };
        names.iter().map(|n| ((*n).to_owned(), at.clone())).collect()
    }

    #[test]
    fn only_what_is_used_goes_in() {
        assert_eq!(text_for(&[]).unwrap(), None);
        let text = text_for(&used(&["__XB_GetLaneID"])).unwrap().unwrap();
        assert!(!text.contains("register"), "{text}");
        let text = text_for(&used(&["GlobalOrderedCountIncrement"])).unwrap().unwrap();
        assert!(text.contains("register(u0, space5746)"), "{text}");
        assert!(!text.contains("u1"), "{text}");
    }

    #[test]
    fn unknown_intrinsics_are_refused_by_name_and_line() {
        let error = text_for(&used(&["__XB_MemTime", "__XB_Nope"])).unwrap_err();
        let error = error.to_string();
        let start = "a.hlsl:3: unsupported: the intrinsic `__XB_Nope`; there are: ";
        assert!(error.starts_with(start), "{error}");
        assert!(names().iter().all(|name| error.contains(name)), "{error}");
        let error = text_for(&used(&["__XB_memtime"])).unwrap_err();
        assert!(error.to_string().ends_with("did you mean `__XB_MemTime`?"), "{error}");
    }

    #[test]
    fn the_table_is_sound() {
        for f in FUNCTIONS {
            assert!(f.hlsl.iter().all(|h| h.contains(f.name)), "{}", f.name);
            for (name, _) in DECLARATIONS {
                let used = f.hlsl.iter().any(|h| h.contains(name));
                assert_eq!(used, f.needs.contains(name), "{} {name}", f.name);
            }
            for need in f.needs {
                assert!(DECLARATIONS.iter().any(|(name, _)| name == need), "{need}");
            }
        }
        assert_eq!(names().len(), FUNCTIONS.len());
    }
}
