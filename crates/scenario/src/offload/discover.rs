//! Which files are tests, and which of them are not run.

use super::features::{FEATURES, left_out};
use super::lit::{self, Script};
use super::{Outcome, Skipped};
use std::path::{Path, PathBuf};

/// Folders of tests' inputs, and files that are none.
const EXCLUDED: [&str; 4] = ["Inputs", "CMakeLists.txt", "README.txt", "LICENSE.txt"];
/// Deepest folder.
const MAX_DEPTH: usize = 32;

/// The tests under these files and folders, in order of their names and each once.
/// In a folder those are the files that end in `.test` or `.yaml`.
///
/// # Errors
/// The path that cannot be read, and why.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in paths {
        let meta = std::fs::metadata(path).map_err(|e| words(path, &e))?;
        if meta.is_dir() {
            let before = found.len();
            walk(path, 0, &mut found)?;
            if found.len() == before {
                return Err(format!("{} holds no tests (.test, .yaml)", path.display()));
            }
        } else {
            found.push(path.clone());
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn words(path: &Path, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("{} is not there", path.display()),
        _ => format!("{}: {error}", path.display()),
    }
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("{} is nested too deeply", folder.display()));
    }
    for entry in std::fs::read_dir(folder).map_err(|e| words(folder, &e))? {
        let entry = entry.map_err(|e| words(folder, &e))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') || EXCLUDED.contains(&name.as_ref()) {
            continue;
        }
        let kind = entry.file_type().map_err(|e| words(&entry.path(), &e))?;
        // Links to folders may lead in a circle.
        if kind.is_dir() {
            walk(&entry.path(), depth + 1, found)?;
        } else if name.ends_with(".test") || name.ends_with(".yaml") {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// Why the `lit.local.cfg` of a folder above a test leaves it out, if one does.
///
/// # Errors
/// The line of one that is not understood.
pub fn local_reason(path: &Path) -> Result<Option<String>, String> {
    for folder in path.ancestors().skip(1) {
        if let Ok(text) = std::fs::read_to_string(folder.join("lit.local.cfg")) {
            let reason = lit::local_config(&text, &FEATURES)
                .map_err(|e| format!("{}: {e}", folder.join("lit.local.cfg").display()))?;
            if reason.is_some() {
                return Ok(reason);
            }
        }
        if folder.join("lit.cfg.py").is_file() {
            break;
        }
    }
    Ok(None)
}

/// The outcome of a test that is not run; `Err` in words where that cannot be told.
pub(super) fn skipped(path: &Path, text: &str, script: &Script) -> Option<Result<Outcome, String>> {
    let skip = |why, reason: String| Some(Ok(Outcome::skipped(why, reason)));
    if script.runs.is_empty() {
        return skip(Skipped::NoTest, "the file has no RUN line".into());
    }
    if let Some((why, reason)) = stage(text, script) {
        return skip(why, reason);
    }
    match script.missing(&FEATURES) {
        Ok(None) => {}
        Ok(Some(line)) => {
            let text = format!("REQUIRES: {} (line {})", line.text, line.number);
            return match left_out(&line.text) {
                Some("ray tracing") => skip(Skipped::RayTracing, text),
                Some("graphics") => skip(Skipped::Graphics, text),
                Some(what) => skip(Skipped::MissingFeature, format!("{text}: {what}")),
                None => skip(Skipped::MissingFeature, text),
            };
        }
        Err(why) => return Some(Err(why)),
    }
    match script.unsupported(&FEATURES) {
        Ok(None) => {}
        Ok(Some(line)) => {
            let text = format!("UNSUPPORTED: {} (line {})", line.text, line.number);
            return skip(Skipped::NotForThisTarget, text);
        }
        Err(why) => return Some(Err(why)),
    }
    match local_reason(path) {
        Ok(None) => None,
        Ok(Some(why)) => {
            skip(Skipped::NotForThisTarget, format!("lit.local.cfg: unsupported where {why}"))
        }
        Err(why) => Some(Err(why)),
    }
}

/// Shader stages that are no compute, by the pipeline's word and DXC's target.
const STAGES: [(&str, &str, Skipped); 13] = [
    ("Vertex", "vs_", Skipped::Graphics),
    ("Pixel", "ps_", Skipped::Graphics),
    ("Geometry", "gs_", Skipped::Graphics),
    ("Hull", "hs_", Skipped::Graphics),
    ("Domain", "ds_", Skipped::Graphics),
    ("Mesh", "ms_", Skipped::Graphics),
    ("Amplification", "as_", Skipped::Graphics),
    ("RayGeneration", "lib_", Skipped::RayTracing),
    ("Miss", "lib_", Skipped::RayTracing),
    ("ClosestHit", "lib_", Skipped::RayTracing),
    ("AnyHit", "lib_", Skipped::RayTracing),
    ("Intersection", "lib_", Skipped::RayTracing),
    ("Callable", "lib_", Skipped::RayTracing),
];

fn stage(text: &str, script: &Script) -> Option<(Skipped, String)> {
    for run in &script.runs {
        let mut words = run.text.split_whitespace();
        while let Some(word) = words.next() {
            let Some(joined) = word.strip_prefix("-T") else { continue };
            let target = if joined.is_empty() { words.next()? } else { joined };
            if let Some((_, _, why)) = STAGES.iter().find(|s| target.starts_with(s.1)) {
                return Some((*why, format!("DXC target {target} (line {})", run.number)));
            }
        }
    }
    for (i, line) in text.lines().enumerate() {
        let Some((_, value)) = line.split_once("Stage:") else { continue };
        let value = value.trim_start();
        let end = value.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(value.len());
        if let Some((word, _, why)) = STAGES.iter().find(|s| s.0 == &value[..end]) {
            return Some((*why, format!("shader stage {word} (line {})", i + 1)));
        }
    }
    let trees = text.lines().position(|l| l.trim_start().starts_with("AccelerationStructures:"));
    trees.map(|i| (Skipped::RayTracing, format!("acceleration structures (line {})", i + 1)))
}
