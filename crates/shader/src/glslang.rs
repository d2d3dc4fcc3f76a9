//! GLSL to SPIR-V, by Khronos's glslang in a child process: for what naga does not
//! take.
//!
//! The program is Debian's `glslangValidator` (package `glslang-tools`) or any other
//! build of glslang's command line. It runs in a folder of its own that goes again,
//! with a time limit.

use crate::source::{CompileOptions, Diagnostic, Position, Severity, SourceFile};
use crate::{ShaderError, ShaderErrorKind};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Environment variable that names the program.
pub const VARIABLE: &str = "WAVEFENCE_GLSLANG";

/// Names to look for on PATH, in this order.
const NAMES: [&str; 2] = ["glslang", "glslangValidator"];

/// What the source is called in the child's folder, and so in its messages and
/// debug lines.
pub(crate) const FILE: &str = "shader.comp";

/// The most that is read of the child's messages, in bytes.
const MAX_MESSAGES: u64 = 1 << 20;

/// Where the program is: `given`, else [`VARIABLE`], else the first of its names
/// on PATH.
///
/// # Errors
/// A sentence that says how to get it.
pub fn find(given: Option<&Path>) -> Result<PathBuf, String> {
    let named = given
        .map(Path::to_owned)
        .or_else(|| std::env::var_os(VARIABLE).filter(|v| !v.is_empty()).map(PathBuf::from));
    if let Some(path) = named {
        if path.is_file() {
            return Ok(path);
        }
        return Err(format!("{} is not there; it was to be glslang ({VARIABLE})", path.display()));
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = NAMES.iter().find_map(|name| {
        std::env::split_paths(&paths).map(|dir| dir.join(name)).find(|path| path.is_file())
    });
    found.ok_or_else(|| {
        format!(
            "glslang is not on PATH; Debian has it (apt-get install glslang-tools), or name one \
             by {VARIABLE}"
        )
    })
}

/// A folder that is removed when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("wavefence-glsl-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compiles `text` with the program at `glslang`; messages call it `name`. Gives
/// the bytes of the module and what was warned of.
///
/// # Errors
/// [`ShaderErrorKind::Source`] with places; [`ShaderErrorKind::Tool`] if the program
/// fails by itself or takes too long.
pub(crate) fn compile(
    glslang: &Path,
    name: &str,
    text: &str,
    dir: Option<&Path>,
    options: &CompileOptions,
) -> Result<(Vec<u8>, Vec<Diagnostic>), ShaderError> {
    let tool = |what: String| {
        let what = format!("{name}: {}: {what}", glslang.display());
        ShaderError::new(ShaderErrorKind::Tool, what)
    };
    let io = |e: io::Error| tool(e.to_string());
    let folder = Folder::new().map_err(io)?;
    std::fs::write(folder.0.join(FILE), text).map_err(io)?;
    let mut command = Command::new(std::path::absolute(glslang).map_err(io)?);
    command.args(["-V", "--target-env", "vulkan1.3", "-S", "comp", "-g", "-o", "out.spv"]);
    if let Some(entry) = &options.entry {
        command.args(["--source-entrypoint", "main", "-e", entry]);
    }
    for (key, value) in &options.defines {
        let value = value.as_ref().map_or(String::new(), |v| format!("={v}"));
        command.arg(format!("-D{key}{value}"));
    }
    for folder in dir.into_iter().chain(options.include_dirs.iter().map(PathBuf::as_path)) {
        command.arg(format!("-I{}", std::path::absolute(folder).map_err(io)?.display()));
    }
    command.arg(FILE).current_dir(&folder.0);
    let (messages, good) = run(command, options.time_limit).map_err(|e| tool(e.to_string()))?;
    let all = diagnostics(&messages, name);
    if good {
        return Ok((std::fs::read(folder.0.join("out.spv")).map_err(io)?, all));
    }
    if all.iter().any(|d| d.severity == Severity::Error) {
        let file = SourceFile { name: name.into(), debug_name: None, text: text.into() };
        return Err(ShaderError::from_diagnostics(name, all).with_files(vec![file]));
    }
    Err(tool(format!("it failed: {}", messages.trim())))
}

/// Runs the child to its end or `limit`: its messages, and whether it went well.
fn run(mut command: Command, limit: Duration) -> io::Result<(String, bool)> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = Ended(child.spawn()?);
    let out = child.0.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let (send, done) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let mut text = Vec::new();
        let read = out.take(MAX_MESSAGES).read_to_end(&mut text);
        let _ = send.send(read.map(|_| text));
    })?;
    let text = done.recv_timeout(limit).map_err(|_| {
        io::Error::other(format!("it did not finish within {} s", limit.as_secs_f32()))
    })??;
    let status = child.0.wait()?;
    Ok((String::from_utf8_lossy(&text).into_owned(), status.success()))
}

/// A child that does not outlive its job.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `ERROR: shader.comp:7: 'x' : message` and `WARNING: …`.
fn diagnostics(text: &str, name: &str) -> Vec<Diagnostic> {
    let mut all = Vec::new();
    for line in text.lines() {
        let (severity, rest) = if let Some(rest) = line.strip_prefix("ERROR: ") {
            (Severity::Error, rest)
        } else if let Some(rest) = line.strip_prefix("WARNING: ") {
            (Severity::Warning, rest)
        } else {
            continue;
        };
        // The count at the end.
        if rest.ends_with("No code generated.") {
            continue;
        }
        let placed = rest.split_once(": ").and_then(|(place, message)| {
            let (file, line) = place.rsplit_once(':')?;
            let file = if file == FILE { name } else { file };
            let at = Position { file: file.to_owned(), line: line.parse().ok()?, column: 0 };
            Some((at, message))
        });
        let (at, message) = placed.map_or((None, rest), |(at, m)| (Some(at), m));
        let message = message.trim().trim_start_matches("'' : ");
        all.push(Diagnostic { severity, ..Diagnostic::error(at, message) });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_places() {
        let text = "shader.comp\nERROR: shader.comp:7: 'texure' : no matching overloaded function found \n\
                    WARNING: shader.comp:2: '' : odd: thing\nERROR: 2 compilation errors.  No code generated.\n";
        let shown: Vec<String> =
            diagnostics(text, "dir/a.comp").iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(shown.join("\n"), @"
        dir/a.comp:7: error: 'texure' : no matching overloaded function found
        dir/a.comp:2: warning: odd: thing
        ");
    }

    #[test]
    fn a_program_that_is_not_there_says_how_to_get_it() {
        let error = find(Some(Path::new("/nowhere/glslang"))).unwrap_err();
        assert!(error.contains(VARIABLE), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_hangs_or_fails_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let options =
            CompileOptions { time_limit: Duration::from_millis(300), ..CompileOptions::default() };
        for (body, part) in [("exec sleep 60", "did not finish"), ("echo odd; exit 3", "odd")] {
            let path = dir.path().join(format!("{}.sh", body.len()));
            std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            let error = compile(&path, "a.comp", "", None, &options).unwrap_err();
            assert_eq!(error.kind, ShaderErrorKind::Tool);
            assert!(error.what.contains(part), "{error}");
        }
    }
}
