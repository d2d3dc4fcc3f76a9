//! Where the DXC library and the helper program are.

use std::env;
use std::path::{Path, PathBuf};

/// Environment variable that names the DXC library (or its folder).
pub const LIBRARY_VARIABLE: &str = "WAVEFENCE_DXC";

/// Environment variable that names the program to run as the DXC child.
pub const HELPER_VARIABLE: &str = "WAVEFENCE_HELPER";

const LIBRARY: &str = if cfg!(windows) {
    "dxcompiler.dll"
} else if cfg!(target_os = "macos") {
    "libdxcompiler.dylib"
} else {
    "libdxcompiler.so"
};

const PROGRAM: &str = if cfg!(windows) { "wavefence.exe" } else { "wavefence" };

/// The DXC library: `given` (the `--dxc` option), else [`LIBRARY_VARIABLE`],
/// else `.tools/dxc/` in the current folder, the program's folder or a parent of
/// either, else the Vulkan SDK, else the bare name, which the system's loader
/// looks up in its library path. A folder stands for the library in it.
///
/// # Errors
/// What was named outright (by `given` or the variable) and is not there.
pub fn find_library(given: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(path) = given {
        return named(path, "--dxc");
    }
    if let Some(path) = env::var_os(LIBRARY_VARIABLE).filter(|v| !v.is_empty()) {
        return named(Path::new(&path), LIBRARY_VARIABLE);
    }
    let here = env::current_dir().ok();
    let program = env::current_exe().ok();
    let found = here
        .iter()
        .chain(&program)
        .flat_map(|start| start.ancestors())
        .map(|folder| folder.join(".tools/dxc").join(LIBRARY))
        .chain(vulkan_sdk())
        .find(|path| path.is_file());
    Ok(found.unwrap_or_else(|| PathBuf::from(LIBRARY)))
}

fn vulkan_sdk() -> Option<PathBuf> {
    let sdk = PathBuf::from(env::var_os("VULKAN_SDK").filter(|v| !v.is_empty())?);
    Some(sdk.join(if cfg!(windows) { "Bin" } else { "lib" }).join(LIBRARY))
}

fn named(path: &Path, by: &str) -> Result<PathBuf, String> {
    let path = if path.is_dir() { path.join(LIBRARY) } else { path.to_owned() };
    if path.is_file() {
        Ok(path.canonicalize().unwrap_or(path))
    } else {
        Err(format!("{by} names {}, which is not there", path.display()))
    }
}

/// The program to run as the child: `given`, else [`HELPER_VARIABLE`], else
/// `wavefence` beside this program (or one folder up, where Cargo puts it
/// relative to tests and examples), else on `PATH`.
///
/// # Errors
/// Where it was looked for.
pub fn find_helper(given: Option<&Path>) -> Result<PathBuf, String> {
    let outright = |path: &Path, by: &str| {
        if path.is_file() {
            Ok(path.to_owned())
        } else {
            Err(format!("{by} names {}, which is not there", path.display()))
        }
    };
    if let Some(path) = given {
        return outright(path, "the helper option");
    }
    if let Some(path) = env::var_os(HELPER_VARIABLE).filter(|v| !v.is_empty()) {
        return outright(Path::new(&path), HELPER_VARIABLE);
    }
    let beside = env::current_exe().ok().and_then(|program| {
        let folder = program.parent()?;
        let up = folder
            .file_name()
            .filter(|name| *name == "deps" || *name == "examples")
            .and(folder.parent());
        [Some(folder), up].into_iter().flatten().map(|f| f.join(PROGRAM)).find(|p| p.is_file())
    });
    let on_path = || {
        let path = env::var_os("PATH")?;
        env::split_paths(&path).map(|folder| folder.join(PROGRAM)).find(|p| p.is_file())
    };
    beside.or_else(on_path).ok_or_else(|| {
        format!(
            "the program `{PROGRAM}`, which runs DXC in a process of its own, is neither beside \
             this program nor on PATH; name it by {HELPER_VARIABLE}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_library_must_be_there() {
        let error = find_library(Some(Path::new("/no/such/lib.so"))).unwrap_err();
        assert_eq!(error, "--dxc names /no/such/lib.so, which is not there");
        let error = find_helper(Some(Path::new("/no/such"))).unwrap_err();
        assert_eq!(error, "the helper option names /no/such, which is not there");
    }

    #[test]
    fn a_folder_stands_for_the_library_in_it() {
        let tmp = tempfile::tempdir().unwrap();
        let error = find_library(Some(tmp.path())).unwrap_err();
        assert!(error.contains(LIBRARY), "{error}");
        std::fs::write(tmp.path().join(LIBRARY), "").unwrap();
        let found = find_library(Some(tmp.path())).unwrap();
        assert!(found.ends_with(LIBRARY), "{}", found.display());
    }
}
