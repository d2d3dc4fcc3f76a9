//! The `wavefence` program.
//!
//! Rules this crate keeps:
//! - It reads arguments, calls the library and prints; every decision about
//!   scenarios and verdicts is made below it.
//! - Results go to stdout, problems to stderr; colour only on a terminal.
//! - The exit codes of design 7: 0 clean, 1 findings, 2 bad input or usage, 3
//!   hang, 4 wrong result, 5 a host limit or something unsupported, 70 our bug.
//!   A panic is caught and told as 70.
//!
//! It knows nothing about packets' meaning, caches or shaders.

mod args;
mod bench;
mod disasm;
mod explain;
mod explain_hang;
mod explore;
mod failure;
mod offload;
mod profiles;
mod run;
mod ui;

use args::{Cli, Command};
use clap::Parser;
use std::process::ExitCode;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// A bug of ours (BSD's EX_SOFTWARE).
const INTERNAL: u8 = 70;

/// Work that takes longer is shown to go on.
const PATIENCE: Duration = Duration::from_secs(1);

/// Stack of the thread that does the work: deeply nested shaders recurse.
const STACK: usize = 256 << 20;

fn main() -> ExitCode {
    // The program runs itself as the child that loads DXC, which may crash.
    if std::env::args_os().nth(1).is_some_and(|word| word == wavefence_shader::dxc::HELPER_WORD) {
        let code = wavefence_shader::dxc::child_main(&mut std::io::stdin(), std::io::stdout());
        return ExitCode::from(u8::try_from(code).unwrap_or(INTERNAL));
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == offload::WORKER_WORD) {
        return ExitCode::from(u8::try_from(offload::worker_main()).unwrap_or(INTERNAL));
    }
    let cli = Cli::parse();
    std::panic::set_hook(Box::new(|info| {
        ui::problem(&format!(
            "wavefence: internal error: {info}\nThis is a bug of wavefence {}, not of your \
             scenario. Please report it with the scenario.",
            env!("CARGO_PKG_VERSION")
        ));
    }));
    let (done, ended) = std::sync::mpsc::channel::<()>();
    let work = move || {
        // Dropped at the end, also of a panic.
        let _done = done;
        match cli.command {
            Command::Run(args) => run::run(&args),
            Command::Explore(args) => explore::run(&args),
            Command::Disasm(args) => disasm::run(&args),
            Command::Offload(args) => offload::run(&args),
            Command::Explain(args) => explain::run(&args),
            Command::ExplainHang(args) => explain_hang::run(&args),
            Command::Profiles => Ok(profiles::run()),
            Command::Bench(args) => bench::run(&args),
        }
    };
    let result = match std::thread::Builder::new().stack_size(STACK).spawn(work) {
        Ok(thread) => {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                ui::show_busy();
            }
            thread.join()
        }
        Err(error) => {
            ui::problem(&format!("wavefence: cannot start a thread: {error}"));
            return ExitCode::from(failure::LIMIT);
        }
    };
    match result {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(failure)) => {
            failure.print();
            ExitCode::from(failure.exit_code())
        }
        Err(_) => ExitCode::from(INTERNAL),
    }
}
