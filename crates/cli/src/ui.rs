//! Output: stdout for results, stderr for problems.

use indicatif::{ProgressBar, ProgressStyle};
use miette::{GraphicalReportHandler, GraphicalTheme};
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wavefence_scenario::Problems;

/// Whether work is shown to go on.
enum Busy {
    /// Not yet: short work shows nothing.
    NotShown,
    /// A spinner turns on the terminal.
    Shown(ProgressBar),
    /// Something was printed: from here on nothing turns.
    Over,
}

static BUSY: Mutex<Busy> = Mutex::new(Busy::NotShown);

fn busy() -> MutexGuard<'static, Busy> {
    // A panic while it was held is told elsewhere.
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows that work goes on, on a terminal, until the first output.
pub fn show_busy() {
    let mut state = busy();
    if matches!(*state, Busy::NotShown) && io::stderr().is_terminal() {
        let bar = ProgressBar::new_spinner().with_message("working");
        bar.enable_steady_tick(Duration::from_millis(120));
        *state = Busy::Shown(bar);
    }
}

/// Clears the spinner for good.
fn end_busy() {
    if let Busy::Shown(bar) = std::mem::replace(&mut *busy(), Busy::Over) {
        bar.finish_and_clear();
    }
}

/// A bar over `len` steps, on a terminal; it takes the spinner's place.
pub fn bar(len: usize) -> ProgressBar {
    end_busy();
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(len as u64).with_style(style());
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

fn style() -> ProgressStyle {
    // The template is a constant: a wrong one would only lose the rate.
    ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Writes a result. A reader that has gone away is no error of ours.
pub fn out(text: &str) {
    end_busy();
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Writes a problem, with a line break after it.
pub fn problem(text: &str) {
    end_busy();
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Columns that problems are broken at.
const WIDTH: usize = 100;

/// Shows each problem with the lines it is about.
pub fn problems(problems: &Problems) {
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(WIDTH).with_links(false);
    for diagnostic in problems.diagnostics() {
        let mut text = String::new();
        match handler.render_report(&mut text, &diagnostic) {
            Ok(()) => problem(text.trim_end()),
            // The plain form says the same.
            Err(_) => problem(&problems.to_string()),
        }
    }
}
