//! `wavefence explain-hang`.

use crate::args::ExplainHangArgs;
use crate::failure::Failure;
use crate::ui;
use wavefence_report::dump::{Dump, MOST_BYTES};

/// Prints what a dump explains.
pub fn run(args: &ExplainHangArgs) -> Result<u8, Failure> {
    let bad = |e: String| Failure::Input(format!("{}: {e}", args.dump.display()));
    let size = std::fs::metadata(&args.dump).map_err(|e| bad(e.to_string()))?.len();
    if size > MOST_BYTES {
        return Err(bad(format!("{size} bytes are too many for a dump of a hang")));
    }
    let text = std::fs::read(&args.dump).map_err(|e| bad(e.to_string()))?;
    let text = String::from_utf8(text).map_err(|e| {
        bad(format!("byte {}: the dump is damaged: it is no text", e.utf8_error().valid_up_to()))
    })?;
    // The place follows the file's name, as in compilers' messages.
    let wrong = |e| Failure::Input(format!("{}:{e}", args.dump.display()));
    let dump = Dump::parse(&text).map_err(wrong)?;
    ui::out(&dump.text());
    Ok(0)
}
