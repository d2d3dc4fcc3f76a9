//! `wavefence disasm`.

use crate::args::DisasmArgs;
use crate::failure::{BAD_INPUT, Failure};
use crate::run::{options, read};
use crate::ui;
use std::collections::BTreeMap;
use std::fmt::Write;
use wavefence_base::{Generation, Profile};
use wavefence_pm4::{Ring, decode_stream, parse_dump, print};
use wavefence_scenario::{load, run as runner};

/// Largest dump that is read, in bytes.
const MAX_DUMP: u64 = 256 << 20;

/// Prints packets.
pub fn run(args: &DisasmArgs) -> Result<u8, Failure> {
    let extension = args.file.extension().and_then(|e| e.to_str()).unwrap_or_default();
    if matches!(extension, "yaml" | "yml") { scenario(args) } else { dump(args) }
}

fn scenario(args: &DisasmArgs) -> Result<u8, Failure> {
    let (source, scenario) = read(&args.file)?;
    let options = options(&args.build);
    let generation = Profile::get(runner::profile(&scenario, &options)).generation.value;
    let (lists, report) = runner::record(&source, &scenario, &options)?;
    let mut code = 0;
    for list in lists {
        ui::out(&format!(
            "list \"{}\" ({}, {generation})\n\
             ; addresses of the list's own tables and scratch words are 0 until it is executed\n",
            list.name, list.ring
        ));
        let none = BTreeMap::new();
        let branches = list.branches.iter().map(|words| (words, &none));
        for (i, (words, calls)) in
            [(&list.words, &list.calls)].into_iter().chain(branches).enumerate()
        {
            if i > 0 {
                ui::out(&format!("list \"{}\", branch {i}\n", list.name));
            }
            let (text, error) = packets(words, generation, list.ring, calls);
            ui::out(&text);
            if let Some(error) = error {
                // Our own encoder made them.
                panic!("list \"{}\" does not decode: {error}", list.name);
            }
        }
    }
    for error in &report.errors {
        ui::problem(&format!("{}: {} {}: {}", error.at, error.call, error.argument, error.message));
        code = BAD_INPUT;
    }
    Ok(code)
}

fn dump(args: &DisasmArgs) -> Result<u8, Failure> {
    let name = args.file.display();
    let bad = |why: String| Failure::Input(format!("{name}: {why}"));
    let bytes = load::read_bytes(&args.file, MAX_DUMP).map_err(bad)?;
    let words = parse_dump(&bytes).map_err(|e| bad(e.to_string()))?;
    let (text, error) = packets(&words, args.generation, args.ring, &BTreeMap::new());
    ui::out(&text);
    match error {
        None => Ok(0),
        Some(why) => Err(bad(format!("{why} (read as {}, {} ring)", args.generation, args.ring))),
    }
}

/// The packets as text, up to the first word that is none; calls stand above
/// their packets.
fn packets(
    words: &[u32],
    generation: Generation,
    ring: Ring,
    calls: &BTreeMap<usize, Vec<String>>,
) -> (String, Option<String>) {
    let mut out = String::new();
    let mut calls = calls.iter().peekable();
    for packet in decode_stream(words, generation, ring) {
        match packet {
            Ok((offset, packet)) => {
                while let Some((_, texts)) = calls.next_if(|(at, _)| **at <= offset) {
                    for text in texts {
                        let _ = writeln!(out, "; {text}");
                    }
                }
                let _ = write!(out, "{offset:#06x}: {}", print(&packet));
            }
            Err(error) => return (out, Some(error.to_string())),
        }
    }
    for text in calls.flat_map(|(_, texts)| texts) {
        let _ = writeln!(out, "; {text}");
    }
    (out, None)
}
