//! The parent's side: starts children, keeps idle ones, reports what went wrong.
//!
//! A child's pipes belong to one thread of this process, so that a child which
//! neither reads nor answers blocks that thread and not the caller, who waits
//! with a time limit. Killing the child ends the thread.

use super::HELPER_WORD;
use super::protocol::{HELLO, Request, Response, read_frame, write_frame};
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How much of a dead child's stderr is shown.
const MAX_LAST_WORDS: usize = 2048;

/// Idle children kept.
const MAX_IDLE: usize = 8;

/// Why a job got no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The program could not be started.
    NotStarted { helper: PathBuf, reason: String },
    /// The program ended before it said hello, or said something else.
    NotAHelper { helper: PathBuf, reason: String },
    /// The child died over this job.
    Died { how: String, last_words: String },
    /// The child ran over the time limit and was killed.
    TimedOut { limit: Duration },
    /// The child answered with something that is no response.
    Garbage { reason: String },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted { helper, reason } => {
                write!(f, "cannot start {} to run DXC in: {reason}", helper.display())
            }
            Self::NotAHelper { helper, reason } => write!(
                f,
                "{} is not a wavefence program that runs DXC: {reason}; see {}",
                helper.display(),
                super::HELPER_VARIABLE
            ),
            Self::Died { how, last_words } => {
                write!(f, "DXC crashed ({how}); the fault is the compiler's, whatever the source")?;
                if !last_words.is_empty() {
                    write!(f, "; its last words: {last_words}")?;
                }
                Ok(())
            }
            Self::TimedOut { limit } => {
                write!(f, "DXC did not finish within {} s and was ended", limit.as_secs_f32())
            }
            Self::Garbage { reason } => write!(f, "the DXC child answered nonsense: {reason}"),
        }
    }
}

/// Sends `request` to a child that runs `helper` and waits up to `limit`.
pub(crate) fn run(helper: &Path, request: &Request, limit: Duration) -> Result<Response, Failure> {
    let mut running = match take_idle(helper) {
        Some(running) => running,
        None => Running::start(helper, limit)?,
    };
    let answer = running.ask(request.encode(), limit);
    match answer {
        Ok(bytes) => match Response::decode(&bytes) {
            Ok(response) => {
                put_idle(running);
                Ok(response)
            }
            Err(_) => Err(Failure::Garbage { reason: format!("{} bytes", bytes.len()) }),
        },
        Err(failure) => Err(failure),
    }
}

static IDLE: Mutex<Vec<Running>> = Mutex::new(Vec::new());

fn idle() -> MutexGuard<'static, Vec<Running>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take_idle(helper: &Path) -> Option<Running> {
    let mut idle = idle();
    while let Some(at) = idle.iter().position(|r| r.helper == helper) {
        let mut running = idle.swap_remove(at);
        // One that died while idle is no fault of the next job.
        if matches!(running.child.try_wait(), Ok(None)) {
            return Some(running);
        }
    }
    None
}

fn put_idle(running: Running) {
    let mut idle = idle();
    if idle.len() < MAX_IDLE {
        idle.push(running);
    }
}

struct Running {
    helper: PathBuf,
    child: Child,
    jobs: mpsc::Sender<Vec<u8>>,
    answers: mpsc::Receiver<io::Result<Option<Vec<u8>>>>,
    last_words: mpsc::Receiver<Vec<u8>>,
}

impl Running {
    fn start(helper: &Path, limit: Duration) -> Result<Self, Failure> {
        let not_started =
            |e: io::Error| Failure::NotStarted { helper: helper.into(), reason: e.to_string() };
        let mut child = Command::new(helper)
            .arg(HELPER_WORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(not_started)?;
        let (Some(mut to), Some(mut from), Some(words)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(not_started(io::Error::other("no pipes")));
        };
        let (jobs, job) = mpsc::channel::<Vec<u8>>();
        let (answer, answers) = mpsc::channel();
        let (keep, last_words) = mpsc::channel();
        // The first answer, to no job, is the hello.
        let talk = move || {
            let mut result = read_frame(&mut from);
            loop {
                if answer.send(result).is_err() {
                    return;
                }
                let Ok(frame) = job.recv() else { return };
                result = write_frame(&mut to, &frame).and_then(|()| read_frame(&mut from));
            }
        };
        for spawned in [
            std::thread::Builder::new().spawn(talk),
            std::thread::Builder::new().spawn(move || {
                let _ = keep.send(read_last_words(words));
            }),
        ] {
            if let Err(e) = spawned {
                let _ = child.kill();
                return Err(not_started(e));
            }
        }
        let mut running = Self { helper: helper.into(), child, jobs, answers, last_words };
        let not_a_helper = |reason| Failure::NotAHelper { helper: helper.into(), reason };
        match running.answers.recv_timeout(limit) {
            Ok(Ok(Some(hello))) if hello == HELLO => Ok(running),
            Ok(Ok(Some(_))) => Err(not_a_helper("it speaks another version".into())),
            Ok(Ok(None)) | Err(RecvTimeoutError::Disconnected) => {
                let (how, words) = running.end();
                let words = if words.is_empty() { String::new() } else { format!(": {words}") };
                Err(not_a_helper(format!("it ended at once ({how}){words}")))
            }
            Ok(Err(e)) => Err(not_a_helper(e.to_string())),
            Err(RecvTimeoutError::Timeout) => {
                Err(not_a_helper(format!("it said nothing for {} s", limit.as_secs_f32())))
            }
        }
    }

    fn ask(&mut self, frame: Vec<u8>, limit: Duration) -> Result<Vec<u8>, Failure> {
        let sent = self.jobs.send(frame).is_ok();
        match if sent { self.answers.recv_timeout(limit) } else { Ok(Ok(None)) } {
            Ok(Ok(Some(bytes))) => Ok(bytes),
            Ok(Err(e)) if e.kind() == io::ErrorKind::InvalidData => {
                Err(Failure::Garbage { reason: e.to_string() })
            }
            Ok(Ok(None) | Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                let (how, last_words) = self.end();
                Err(Failure::Died { how, last_words })
            }
            Err(RecvTimeoutError::Timeout) => Err(Failure::TimedOut { limit }),
        }
    }

    /// Waits for a child whose stdout has ended, and tells how it went.
    fn end(&mut self) -> (String, String) {
        // A process that is ending keeps its status; one that closed stdout and
        // lives on has no more use.
        let _ = self.child.kill();
        let how = match self.child.wait() {
            Ok(status) => describe(status),
            Err(e) => e.to_string(),
        };
        // Bounded: a child of the child may hold stderr open.
        let words = self.last_words.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
        let text = String::from_utf8_lossy(&words);
        (how, text.lines().filter(|l| !l.trim().is_empty()).collect::<Vec<_>>().join(" / "))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_last_words(mut from: ChildStderr) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0u8; 1024];
    while let Ok(n) = from.read(&mut buffer) {
        if n == 0 {
            break;
        }
        kept.extend_from_slice(&buffer[..n]);
        let over = kept.len().saturating_sub(MAX_LAST_WORDS);
        kept.drain(..over);
    }
    kept
}

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            let name = match signal {
                4 => " SIGILL",
                6 => " SIGABRT",
                7 => " SIGBUS",
                8 => " SIGFPE",
                9 => " SIGKILL",
                11 => " SIGSEGV",
                _ => "",
            };
            return format!("signal {signal}{name}");
        }
    }
    status.code().map_or_else(|| "no exit code".into(), |code| format!("exit code {code}"))
}

#[cfg(all(test, unix))]
#[path = "helper_tests.rs"]
mod tests;
