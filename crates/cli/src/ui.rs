//! Output: stdout for results, stderr for problems.

use miette::{GraphicalReportHandler, GraphicalTheme};
use std::io::{self, IsTerminal, Write};
use wavefence_scenario::Problems;

/// Writes a result. A reader that has gone away is no error of ours.
pub fn out(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Writes a problem, with a line break after it.
pub fn problem(text: &str) {
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
