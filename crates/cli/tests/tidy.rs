//! Holds the rules of the house that a compiler does not: the level table, the
//! list of files that may leave safe Rust, size budgets, and that ARCHITECTURE.md
//! names what is there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folder of each crate and its level: a crate uses only crates of a lower one.
const LEVELS: &[(&str, u32)] = &[
    ("base", 0),
    ("pm4", 1),
    ("shader", 1),
    ("memory", 1),
    ("wave", 2),
    ("check", 2),
    ("gpu", 3),
    ("d3d", 4),
    ("report", 5),
    ("wavefence", 6),
    ("scenario", 6),
    ("cli", 7),
];

/// Path prefixes (under `crates/`) of files that may leave safe Rust.
const UNSAFE: &[&str] = &["memory/src/store", "wave/src/simd/", "shader/src/dxc"];

const FILE_LINES: usize = 800;
const FUNCTION_LINES: usize = 80;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("workspace root")
}

fn rust_files(dir: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        fs::read_dir(dir).expect("readable folder").map(|e| e.expect("entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if path.file_name().is_some_and(|n| n != "target") {
                rust_files(&path, into);
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

/// Every Rust file under `crates/` and `bench/` with its path (from `crates/`, for
/// those there) and its text.
fn sources() -> Vec<(String, String)> {
    let crates = root().join("crates");
    let mut files = Vec::new();
    rust_files(&crates, &mut files);
    rust_files(&root().join("bench"), &mut files);
    files
        .into_iter()
        .map(|p| {
            let from = p.strip_prefix(&crates).or_else(|_| p.strip_prefix(root()));
            let name = from.expect("under the root").display().to_string();
            (name, fs::read_to_string(&p).expect("UTF-8 source"))
        })
        .collect()
}

/// Names in the `[dependencies]` section of a manifest.
fn dependencies(folder: &str) -> Vec<String> {
    let path = root().join("crates").join(folder).join("Cargo.toml");
    let text = fs::read_to_string(&path).expect("manifest");
    let mut inside = false;
    let mut names = Vec::new();
    for line in text.lines() {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if inside && !line.trim().is_empty() && !line.starts_with('#') {
            let end = line.find(['.', ' ', '=']).unwrap_or(line.len());
            names.push(line[..end].to_owned());
        }
    }
    names
}

fn folder_of(package: &str) -> Option<String> {
    if package == "wavefence" {
        return Some(package.to_owned());
    }
    package.strip_prefix("wavefence-").map(str::to_owned)
}

#[test]
fn every_crate_has_a_level() {
    let mut folders: Vec<_> = fs::read_dir(root().join("crates"))
        .expect("crates folder")
        .map(|e| e.expect("entry").file_name().into_string().expect("UTF-8"))
        .collect();
    folders.sort();
    let mut listed: Vec<_> = LEVELS.iter().map(|(name, _)| (*name).to_owned()).collect();
    listed.sort();
    assert_eq!(folders, listed);
}

#[test]
fn crates_use_only_lower_levels() {
    let levels: BTreeMap<_, _> = LEVELS.iter().copied().collect();
    for (folder, level) in LEVELS {
        for dependency in dependencies(folder).iter().filter_map(|d| folder_of(d)) {
            let below = levels[dependency.as_str()];
            assert!(below < *level, "{folder} (level {level}) uses {dependency} (level {below})");
        }
    }
}

#[test]
fn the_library_pulls_in_no_command_line() {
    let mut todo = vec!["wavefence".to_owned()];
    let mut seen = Vec::new();
    while let Some(folder) = todo.pop() {
        for dependency in dependencies(&folder) {
            for barred in ["clap", "miette", "indicatif", "cranelift-jit"] {
                assert_ne!(dependency, barred, "the library reaches {barred} through {folder}");
            }
            if let Some(next) = folder_of(&dependency).filter(|n| !seen.contains(n)) {
                seen.push(next.clone());
                todo.push(next);
            }
        }
    }
}

/// The line without a trailing `//` comment (strings with `//` lose a little,
/// which is harmless here).
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or("")
}

fn has_word(line: &str, word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(is_word)
            && !line[at + word.len()..].chars().next().is_some_and(is_word)
    })
}

/// True if the module doc of `name`, or of the module it is part of, argues why
/// its code is sound.
fn is_argued(name: &str, files: &BTreeMap<String, String>) -> bool {
    let argues = |text: &String| {
        text.lines().any(|l| l.starts_with("//!") && (has_word(l, "sound") || has_word(l, "Sound")))
    };
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    files.get(name).is_some_and(argues)
        || files.get(&format!("{folder}/mod.rs")).is_some_and(argues)
        || files.contains_key(&format!("{folder}.rs")) && is_argued(&format!("{folder}.rs"), files)
}

#[test]
fn unsafe_stands_only_where_it_is_argued() {
    let files: BTreeMap<_, _> = sources().into_iter().collect();
    for (name, text) in &files {
        let uses = text.lines().any(|l| has_word(code(l), concat!("un", "safe")));
        if !uses || name == "cli/tests/tidy.rs" {
            continue;
        }
        assert!(UNSAFE.iter().any(|p| name.starts_with(p)), "{name} says unsafe");
        assert!(is_argued(name, &files), "{name} has no argument why it is sound");
    }
}

#[test]
fn files_keep_to_their_budget() {
    for (name, text) in sources() {
        if text.starts_with("// tidy: table") {
            continue;
        }
        let lines = text.lines().count();
        assert!(lines <= FILE_LINES, "{name} has {lines} lines; split it by idea");
    }
}

/// Functions of rustfmt-formatted text that are longer than the budget.
fn long_functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<_> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let body = line.trim_start();
        let indent = &line[..line.len() - body.len()];
        let head = body.split('(').next().unwrap_or("");
        // rustfmt ends a head in one of these; text of other languages does not.
        let opens = body.ends_with('{') || body.ends_with('(') || body.ends_with(['>', ',']);
        if !has_word(head, "fn") || body.starts_with("//") || !opens {
            continue;
        }
        let close = format!("{indent}}}");
        let end = lines[start..].iter().position(|l| *l == close || l.ends_with(" {}"));
        // Golden text stands in the test that checks it.
        let golden = |length: usize| {
            lines[start..start + length].iter().any(|l| l.contains("assert_snapshot!"))
        };
        if let Some(length) = end.filter(|length| *length > FUNCTION_LINES && !golden(*length)) {
            found.push((start + 1, length));
        }
    }
    found
}

#[test]
fn functions_keep_to_their_budget() {
    let mut over = Vec::new();
    for (name, text) in sources() {
        if !text.starts_with("// tidy: table") {
            for (line, length) in long_functions(&text) {
                over.push(format!("{name}:{line}: {length} lines"));
            }
        }
    }
    assert!(over.is_empty(), "functions over {FUNCTION_LINES} lines:\n{}", over.join("\n"));
}

#[test]
fn the_function_budget_notices() {
    let long = format!("fn f(\n    x: u32,\n) {{\n{}}}\n", "    x;\n".repeat(FUNCTION_LINES));
    assert_eq!(long_functions(&long).len(), 1);
    assert!(long_functions("fn f() {\n    x;\n}\n").is_empty());
}

#[test]
fn nothing_is_left_for_later() {
    let marks = [
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("db", "g!("),
        concat!("#[ig", "nore]"),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
    ];
    for (name, text) in sources() {
        for mark in marks {
            assert!(!text.contains(mark), "{name} holds {mark}");
        }
    }
}

#[test]
fn crates_open_with_their_rules() {
    for (folder, _) in LEVELS {
        let src = root().join("crates").join(folder).join("src");
        let lib = if src.join("lib.rs").exists() { "lib.rs" } else { "main.rs" };
        let text = fs::read_to_string(src.join(lib)).expect("crate root");
        let doc: String = text.lines().take_while(|l| l.starts_with("//!")).collect();
        assert!(doc.contains("Rules this crate keeps"), "{folder} states no rules");
        assert!(doc.contains("knows nothing about"), "{folder} does not say what it ignores");
    }
}

#[test]
fn the_map_is_true() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    for (folder, level) in LEVELS {
        let row = format!("| {level} | `{folder}` |");
        assert!(map.contains(&row), "ARCHITECTURE.md lacks the row {row}");
        for dependency in dependencies(folder) {
            if folder_of(&dependency).is_none() {
                let name = format!("`{dependency}`");
                assert!(map.contains(&name), "ARCHITECTURE.md does not say why {name}");
            }
        }
    }
}
