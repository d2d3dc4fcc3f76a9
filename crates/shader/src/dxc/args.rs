//! The DXC arguments: ours, and the caller's as `dxc` would take them.

use crate::lower::BINDING_SHIFT;
use std::path::PathBuf;

/// What a `dxc` command line says besides its inputs and outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UserArgs {
    /// `-T`.
    pub target: Option<String>,
    /// `-E`.
    pub entry: Option<String>,
    /// `-D`: name and value.
    pub defines: Vec<(String, Option<String>)>,
    /// `-I`.
    pub include_dirs: Vec<PathBuf>,
    /// What goes to DXC as it is.
    pub rest: Vec<String>,
}

/// Options with a value whose effect is a file that we do not write.
const OUTPUTS: [&str; 11] = ["Fo", "Fc", "Fd", "Fe", "Fh", "Fi", "Fre", "Frs", "Fsh", "Vn", "MF"];

/// Options without a value that change nothing about the SPIR-V, or that DXC
/// takes for DXIL only. `Gis` (strict IEEE) is one: DXC refuses it with
/// `-spirv`. Nothing here re-orders floats; DXC's optimiser may still fuse a
/// multiplication and an addition, which `precise` prevents.
const WITHOUT_EFFECT: [&str; 11] = [
    "spirv",
    "Gis",
    "nologo",
    "Qembed_debug",
    "Qstrip_debug",
    "Qstrip_reflect",
    "Qstrip_rootsignature",
    "Zi",
    "Zs",
    "Vd",
    "select-validator",
];

/// Options that would break what the rest of this program relies on.
const REFUSED: [(&str, &str); 8] = [
    ("fvk-b-shift", "register shifts are fixed here: they carry the register class"),
    ("fvk-t-shift", "register shifts are fixed here: they carry the register class"),
    ("fvk-u-shift", "register shifts are fixed here: they carry the register class"),
    ("fvk-s-shift", "register shifts are fixed here: they carry the register class"),
    ("fvk-bind-register", "bindings come from HLSL registers here"),
    ("fvk-bind-globals", "bindings come from HLSL registers here"),
    ("fcgl", "it stops DXC half way"),
    ("P", "it stops DXC after the preprocessor"),
];

/// Options whose value is the next argument and goes to DXC with it.
const WITH_VALUE: [&str; 4] =
    ["HV", "fspv-entrypoint-name", "auto-binding-space", "fspv-flatten-resource-arrays-limit"];

/// Sorts a `dxc` command line's options.
///
/// # Errors
/// A sentence for each option that cannot be honoured, and for an input file or
/// a missing value.
pub(crate) fn sort(args: &[String]) -> Result<UserArgs, String> {
    let mut out = UserArgs::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg.contains('\0') {
            return Err(format!("the DXC argument {arg:?} contains a NUL"));
        }
        let Some(option) = arg.strip_prefix('-').or_else(|| arg.strip_prefix('/')) else {
            return Err(format!("the DXC argument `{arg}` is no option"));
        };
        let mut value = |joined: &str| match joined {
            "" => {
                args.next().cloned().ok_or_else(|| format!("the DXC option `{arg}` needs a value"))
            }
            joined => Ok(joined.to_owned()),
        };
        let name = option.split_once('=').map_or(option, |(name, _)| name);
        if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            return Err(format!("the DXC option `{arg}` cannot be used: {why}"));
        }
        if WITHOUT_EFFECT.contains(&name) {
            if name == "select-validator" {
                value("")?;
            }
        } else if OUTPUTS.contains(&name) {
            value("")?;
        } else if WITH_VALUE.contains(&name) {
            out.rest.push(arg.clone());
            if !option.contains('=') {
                out.rest.push(value("")?);
            }
        } else if let Some(joined) = option.strip_prefix('T') {
            out.target = Some(value(joined)?);
        } else if let Some(joined) = option.strip_prefix('E').filter(|_| name != "Emit") {
            out.entry = Some(value(joined)?);
        } else if let Some(joined) = option.strip_prefix('I') {
            out.include_dirs.push(PathBuf::from(value(joined)?));
        } else if let Some(joined) = option.strip_prefix('D') {
            let define = value(joined)?;
            out.defines.push(match define.split_once('=') {
                Some((name, value)) => (name.into(), Some(value.into())),
                None => (define, None),
            });
        } else {
            out.rest.push(arg.clone());
        }
    }
    Ok(out)
}

/// True if one of `args` begins with one of `prefixes`, either dash.
fn has(args: &[String], prefixes: &[&str]) -> bool {
    args.iter().any(|a| {
        let option = a.trim_start_matches(['-', '/']);
        a.starts_with(['-', '/']) && prefixes.iter().any(|p| option.starts_with(p))
    })
}

/// Keeps resources that nothing uses in the module: a buffer that nothing but its
/// counter is used of, whose register is the counter's.
pub(crate) const KEEP_BINDINGS: &str = "-fspv-preserve-bindings";

/// How much DXC optimises unless the caller says so.
pub(crate) const OPTIMISE: &str = "-O3";

/// True if `args` say how much DXC is to optimise.
pub(crate) fn optimises(args: &[String]) -> bool {
    has(args, &["O0", "O1", "O2", "O3", "Od", "Oconfig"])
}

/// Arguments for the preprocessor and the compiler alike.
pub(crate) fn common(
    user: &UserArgs,
    defines: &[(String, Option<String>)],
    include_dirs: &[String],
) -> Vec<String> {
    let mut out = vec!["-spirv".to_owned()];
    if !has(&user.rest, &["fspv-target-env"]) {
        out.push("-fspv-target-env=vulkan1.3".into());
    }
    for (name, value) in defines {
        out.push("-D".into());
        out.push(match value {
            Some(value) => format!("{name}={value}"),
            None => name.clone(),
        });
    }
    for dir in include_dirs {
        out.push("-I".into());
        out.push(dir.clone());
    }
    out
}

/// Arguments for the compiler alone.
///
/// What they mean, as tried with DXC 1.8:
/// - The shifts carry the register class through SPIR-V's one binding number;
///   `all` makes them hold in every space. Resources without a register stay below
///   the shifts, in the order of the source, and hidden counters with them.
/// - The layout is Direct3D's: constant buffers in rows of 16 bytes where a
///   scalar may follow in the last row of an array or matrix, structured
///   buffers packed by each scalar's own size. `-fvk-use-scalar-layout` gives
///   the same for structured buffers and a wrong one for constant buffers.
/// - DXC's own validator refuses some of those constant buffers (a scalar right
///   after a matrix), so it is off; the front end validates what it reads.
/// - Debug lines cost nothing: the optimised code is the same with and without.
pub(crate) fn compile_only(user: &UserArgs) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (class, shift) in [("t", 1), ("u", 2), ("s", 3), ("b", 4)] {
        let shift = (shift * BINDING_SHIFT).to_string();
        out.extend([format!("-fvk-{class}-shift"), shift, "all".into()]);
    }
    if !has(&user.rest, &["fvk-use-"]) {
        out.push("-fvk-use-dx-layout".into());
    }
    if !has(&user.rest, &["fspv-debug"]) {
        out.push("-fspv-debug=line".into());
    }
    if !optimises(&user.rest) {
        out.push(OPTIMISE.into());
    }
    out.push("-Vd".into());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(line: &str) -> Result<UserArgs, String> {
        sort(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_dxc_command_line_is_sorted() {
        let args = sorted(
            "-T cs_6_5 /Emain2 -DA=1 -D B -I inc -Iother -Gis -HV 2021 -enable-16bit-types -Fo out.spv -Od -Zpr",
        )
        .unwrap();
        assert_eq!(args.target.as_deref(), Some("cs_6_5"));
        assert_eq!(args.entry.as_deref(), Some("main2"));
        assert_eq!(args.defines, [("A".into(), Some("1".into())), ("B".into(), None)]);
        assert_eq!(args.include_dirs, [PathBuf::from("inc"), PathBuf::from("other")]);
        assert_eq!(args.rest, ["-HV", "2021", "-enable-16bit-types", "-Od", "-Zpr"]);
        assert!(!compile_only(&args).contains(&"-O3".to_owned()));
    }

    #[test]
    fn what_cannot_be_honoured_is_refused() {
        for (line, part) in [
            ("-fvk-u-shift 5 0", "register shifts"),
            ("a.hlsl", "no option"),
            ("-T", "needs a value"),
            ("-P out.i", "preprocessor"),
        ] {
            let error = sorted(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
