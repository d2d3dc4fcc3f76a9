//! The process that runs tests, and its other end.
//!
//! Lines of JSON: first the settings, then a path for each test; an outcome comes
//! back for each.

use crate::STACK;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use wavefence_base::ProfileName;
use wavefence_scenario::offload::{self, Failed, Outcome};

/// The hidden first argument that makes this program a worker.
pub const WORKER_WORD: &str = "--wavefence-offload-worker";

/// What a worker is told first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The profile by name.
    #[serde(with = "profile_name")]
    pub profile: Option<ProfileName>,
    /// Threads of a fast run.
    pub fast: Option<usize>,
    /// 32 lanes where the shader leaves it open.
    pub wave32: bool,
    /// Where DXC is.
    pub dxc: Option<PathBuf>,
    /// Seconds that a test may take.
    pub seconds: u64,
}

/// Profiles travel by name.
mod profile_name {
    use serde::{Deserialize, Deserializer, Serializer};
    use wavefence_base::ProfileName;

    pub fn serialize<S: Serializer>(v: &Option<ProfileName>, s: S) -> Result<S::Ok, S::Error> {
        match v {
            Some(name) => s.serialize_some(name.as_str()),
            None => s.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<ProfileName>, D::Error> {
        let text = Option::<String>::deserialize(d)?;
        Ok(text.and_then(|t| ProfileName::ALL.into_iter().find(|p| p.as_str() == t)))
    }
}

/// The other end of a worker process; it is started when it is first needed, and
/// again after it was ended.
pub struct Worker {
    settings: Settings,
    process: Option<Process>,
}

struct Process {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Worker {
    pub fn new(settings: Settings) -> Self {
        Self { settings, process: None }
    }

    /// Runs one test, for `limit` at most.
    pub fn run(&mut self, path: &Path, limit: Duration) -> Outcome {
        if self.process.is_none() {
            match start(&self.settings) {
                Ok(process) => self.process = Some(process),
                Err(e) => {
                    let what = format!("cannot start a process for the test: {e}");
                    return Outcome::failed(Failed::Limit, what);
                }
            }
        }
        let Some(process) = &mut self.process else {
            return Outcome::failed(Failed::Bug, "there is no process");
        };
        let sent = send(&mut process.input, &path);
        let answer = match sent {
            Ok(()) => process.lines.recv_timeout(limit),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        match answer {
            Ok(line) => match serde_json::from_str(&line) {
                Ok(outcome) => outcome,
                Err(e) => self.end(Failed::Bug, &format!("the test's process said nonsense: {e}")),
            },
            Err(RecvTimeoutError::Timeout) => {
                let what = format!("it took more than {} s and was ended", limit.as_secs());
                self.end(Failed::Limit, &what)
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.end(Failed::Bug, "a bug of wavefence: the test's process died")
            }
        }
    }

    /// Ends the process.
    fn end(&mut self, how: Failed, what: &str) -> Outcome {
        let mut what = what.to_owned();
        if let Some(mut process) = self.process.take() {
            // It may have gone by itself, which is what is wanted.
            let _ = process.child.kill();
            if let Ok(status) = process.child.wait()
                && how == Failed::Bug
            {
                what.push_str(&format!(" ({status})"));
            }
        }
        Outcome::failed(how, what)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let Some(process) = self.process.take() else { return };
        let Process { mut child, input, .. } = process;
        // Its input ends, so it ends.
        drop(input);
        let _ = child.wait();
    }
}

fn send(to: &mut impl Write, what: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_string(what)?;
    line.push('\n');
    to.write_all(line.as_bytes())?;
    to.flush()
}

fn start(settings: &Settings) -> std::io::Result<Process> {
    let program = std::env::current_exe()?;
    let mut child = Command::new(program)
        .arg(WORKER_WORD)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(std::io::Error::other("a pipe is missing"));
    };
    let (tell, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if tell.send(line).is_err() {
                break;
            }
        }
    });
    send(&mut input, settings)?;
    Ok(Process { child, input, lines })
}

/// What the process does.
pub fn main() -> i32 {
    offload::keep_panics();
    let work = || {
        let mut lines = std::io::stdin().lines().map_while(Result::ok);
        let settings: Settings = serde_json::from_str(&lines.next()?).ok()?;
        let options = offload::Options {
            profile: settings.profile,
            fast: settings.fast,
            wave32: settings.wave32,
            dxc: settings.dxc,
            helper: crate::run::helper(),
            time_limit: Some(Duration::from_secs(settings.seconds)),
        };
        for line in lines {
            let path: PathBuf = serde_json::from_str(&line).ok()?;
            let outcome = offload::run(&path, &options);
            send(&mut std::io::stdout().lock(), &outcome).ok()?;
        }
        Some(())
    };
    // Deeply nested shaders recurse.
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(Some(()))) => 0,
        Ok(Ok(None)) => i32::from(crate::failure::BAD_INPUT),
        Ok(Err(_)) | Err(_) => i32::from(crate::INTERNAL),
    }
}
