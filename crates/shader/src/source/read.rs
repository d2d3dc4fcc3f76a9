//! Reading source files with a bound, and the checks every text gets.

use std::fmt;
use std::io::Read;
use std::path::Path;

/// No shader source is larger.
pub const MAX_SOURCE_BYTES: u64 = 64 << 20;

/// Why a file is no shader source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReadProblem {
    /// The system says so.
    Io(String),
    /// It is a folder.
    Folder,
    /// It is neither file nor folder (a device, a pipe).
    NotAFile,
    /// It has no bytes.
    Empty,
    /// It is over the bound.
    TooLarge {
        /// Its size, if it has one.
        bytes: u64,
        /// The bound.
        limit: u64,
    },
    /// A NUL byte in what should be text.
    Nul {
        /// Its offset.
        at: usize,
        /// The line it stands on, from 1.
        line: usize,
    },
    /// Bytes that are no UTF-8.
    NotUtf8 {
        /// Offset of the first.
        at: usize,
        /// The line it stands on, from 1.
        line: usize,
    },
}

impl fmt::Display for ReadProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(e) => f.write_str(e),
            Self::Folder => f.write_str("it is a folder, not a shader source"),
            Self::NotAFile => f.write_str("it is not a regular file"),
            Self::Empty => f.write_str("the file is empty"),
            Self::TooLarge { bytes, limit } => {
                let (size, limit) = (bytes.div_ceil(1 << 20), limit >> 20);
                write!(f, "{size} MiB is too large for a shader source (limit {limit} MiB)")
            }
            Self::Nul { at, line } => {
                write!(f, "NUL byte at offset {at} (line {line}): this is not a text file")
            }
            Self::NotUtf8 { at, line } => write!(
                f,
                "the byte at offset {at} (line {line}) is not UTF-8: save the file as UTF-8"
            ),
        }
    }
}

/// The bytes of a regular file, at most `limit` of them.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, ReadProblem> {
    let io = |e: std::io::Error| ReadProblem::Io(e.to_string());
    // Asked before opening: opening a pipe would wait for its writer.
    let meta = std::fs::metadata(path).map_err(io)?;
    if meta.is_dir() {
        return Err(ReadProblem::Folder);
    }
    if !meta.is_file() {
        return Err(ReadProblem::NotAFile);
    }
    if meta.len() > limit {
        return Err(ReadProblem::TooLarge { bytes: meta.len(), limit });
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(io)?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > limit {
        return Err(ReadProblem::TooLarge { bytes: bytes.len() as u64, limit });
    }
    Ok(bytes)
}

fn line_at(bytes: &[u8], at: usize) -> usize {
    1 + bytes[..at].iter().filter(|b| **b == b'\n').count()
}

/// The bytes as text: UTF-8 with or without a byte order mark, or UTF-16 with
/// one. Refuses NUL.
pub(crate) fn text_of(bytes: Vec<u8>) -> Result<String, ReadProblem> {
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|c| unit([c[0], c[1]])).collect();
        String::from_utf16(&units).map_err(|_| ReadProblem::NotUtf8 { at: 0, line: 1 })
    };
    let text = match &bytes[..] {
        [0xFF, 0xFE, ..] => utf16(u16::from_le_bytes)?,
        [0xFE, 0xFF, ..] => utf16(u16::from_be_bytes)?,
        _ => {
            if let Some(at) = bytes.iter().position(|b| *b == 0) {
                return Err(ReadProblem::Nul { at, line: line_at(&bytes, at) });
            }
            match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(e) => {
                    let at = e.utf8_error().valid_up_to();
                    let line = line_at(e.as_bytes(), at);
                    return Err(ReadProblem::NotUtf8 { at, line });
                }
            }
        }
    };
    if let Some(at) = text.find('\0') {
        return Err(ReadProblem::Nul { at, line: line_at(text.as_bytes(), at) });
    }
    Ok(match text.strip_prefix('\u{FEFF}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_their_encodings() {
        let utf16: Vec<u8> =
            "\u{FEFF}int é;".encode_utf16().flat_map(|u| u.to_le_bytes()).collect();
        assert_eq!(text_of(utf16).unwrap(), "int é;");
        assert_eq!(text_of("\u{FEFF}a".into()).unwrap(), "a");
        let nul = text_of(b"a\nb\0c".to_vec()).unwrap_err();
        assert_eq!(nul, ReadProblem::Nul { at: 3, line: 2 });
        let bad = text_of(b"a\n\n// \xA9".to_vec()).unwrap_err();
        assert_eq!(bad, ReadProblem::NotUtf8 { at: 6, line: 3 });
    }

    #[test]
    fn files_that_are_no_source() {
        let tmp = tempfile::tempdir().unwrap();
        assert_eq!(read_bounded(tmp.path(), 9), Err(ReadProblem::Folder));
        let missing = read_bounded(&tmp.path().join("none"), 9).unwrap_err();
        assert!(matches!(missing, ReadProblem::Io(_)), "{missing}");
        let big = tmp.path().join("big");
        std::fs::File::create(&big).unwrap().set_len(1 << 30).unwrap();
        let error = read_bounded(&big, MAX_SOURCE_BYTES).unwrap_err();
        assert_eq!(error.to_string(), "1024 MiB is too large for a shader source (limit 64 MiB)");
        #[cfg(unix)]
        assert_eq!(read_bounded(Path::new("/dev/zero"), 9), Err(ReadProblem::NotAFile));
    }
}
