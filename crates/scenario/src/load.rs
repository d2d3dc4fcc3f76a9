//! Reading files that a person named: bounded, and with words for what is wrong.

use crate::node::MAX_BYTES;
use crate::problem::{Problem, Problems, Source};
use std::fs;
use std::io::Read;
use std::path::Path;

/// The bytes of a regular file of at most `limit` bytes.
///
/// # Errors
/// In words, without the file's name.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let words = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_string(),
        std::io::ErrorKind::PermissionDenied => "it may not be read".to_string(),
        _ => e.to_string(),
    };
    // Asked before opening: opening a pipe would wait for its writer.
    let meta = fs::metadata(path).map_err(words)?;
    if meta.is_dir() {
        return Err("it is a folder".into());
    }
    if !meta.is_file() {
        return Err("it is no regular file".into());
    }
    let too_long = |n: u64| format!("it has {n} bytes; at most {limit} are read");
    if meta.len() > limit {
        return Err(too_long(meta.len()));
    }
    let mut bytes = Vec::new();
    // It may have grown since it was asked.
    fs::File::open(path).and_then(|f| f.take(limit + 1).read_to_end(&mut bytes)).map_err(words)?;
    if bytes.len() as u64 > limit {
        return Err(too_long(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Reads the text of a scenario.
///
/// # Errors
/// A problem with the file as a whole.
pub fn read_scenario(path: &Path) -> Result<Source, Problems> {
    let name = path.display().to_string();
    let bad = |why: String| {
        Problems::one(
            &Source::new(name.clone(), ""),
            Problem::whole(format!("cannot read the scenario: {why}")),
        )
    };
    let bytes = read_bytes(path, MAX_BYTES as u64).map_err(bad)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source::new(name, text)),
        Err(e) => {
            let at = e.utf8_error().valid_up_to();
            Err(bad(format!("byte {at} is not UTF-8; it is no text file")))
        }
    }
}
