//! Raw dumps of command buffers: binary dwords or hex text.

/// Bytes that are no dump, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DumpError {
    /// Nothing there, or text with no word in it.
    #[error("the dump is empty: it holds no dword")]
    Empty,
    /// A binary dump that ends inside a dword.
    #[error(
        "the binary dump is {len} bytes long, which is no whole number of dwords: \
         the last one is cut off at byte {offset}"
    )]
    CutOff {
        /// Length in bytes.
        len: usize,
        /// Byte offset of the dword that is cut off.
        offset: usize,
    },
    /// A word of hex text that cannot be read.
    #[error("line {line}, column {column}: {message}")]
    Text {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
}

/// Reads a dump.
///
/// If the bytes are text (UTF-8 with no control characters but white space), they
/// are hex words, separated by white space or commas: `0x` and one to eight hex
/// digits, or exactly eight digits without it. `#` and `//` start comments that
/// go to the end of the line. Anything else is little-endian dwords.
pub fn parse_dump(bytes: &[u8]) -> Result<Vec<u32>, DumpError> {
    if bytes.is_empty() {
        return Err(DumpError::Empty);
    }
    let without_mark = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match std::str::from_utf8(without_mark) {
        Ok(text) if text.chars().all(|c| !c.is_control() || c.is_whitespace()) => parse_text(text),
        Ok(_) | Err(_) => parse_binary(bytes),
    }
}

fn parse_binary(bytes: &[u8]) -> Result<Vec<u32>, DumpError> {
    let (dwords, rest) = bytes.as_chunks::<4>();
    if rest.is_empty() {
        Ok(dwords.iter().map(|&b| u32::from_le_bytes(b)).collect())
    } else {
        Err(DumpError::CutOff { len: bytes.len(), offset: bytes.len() - rest.len() })
    }
}

fn parse_text(text: &str) -> Result<Vec<u32>, DumpError> {
    let mut words = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let code = [line.find('#'), line.find("//")].into_iter().flatten().min();
        let code = &line[..code.unwrap_or(line.len())];
        let mut rest = code;
        while let Some(start) = rest.find(|c: char| !separates(c)) {
            let word = &rest[start..];
            let word = &word[..word.find(separates).unwrap_or(word.len())];
            match parse_word(word) {
                Ok(value) => words.push(value),
                Err(message) => {
                    let before = code.len() - rest.len() + start;
                    let column = code[..before].chars().count() + 1;
                    return Err(DumpError::Text { line: index + 1, column, message });
                }
            }
            rest = &rest[start + word.len()..];
        }
    }
    if words.is_empty() { Err(DumpError::Empty) } else { Ok(words) }
}

fn separates(c: char) -> bool {
    c.is_whitespace() || c == ','
}

fn parse_word(word: &str) -> Result<u32, String> {
    let shown: String = word.chars().take(24).collect();
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    let (digits, prefixed) = match digits {
        Some(digits) => (digits, true),
        None => (word, false),
    };
    if let Some(bad) = digits.chars().find(|c| !c.is_ascii_hexdigit()) {
        return Err(format!("`{shown}` is no hex word: `{}` is no digit", bad.escape_default()));
    }
    match (prefixed, digits.len()) {
        (true, 0) => Err(format!("`{shown}` has no digits")),
        (true, 1..=8) | (false, 8) => {
            u32::from_str_radix(digits, 16).map_err(|e| format!("`{shown}`: {e}"))
        }
        (true, _) => Err(format!("`{shown}` has more than 8 digits")),
        (false, n) => Err(format!(
            "`{shown}` has {n} digits: a word without `0x` has 8 (write `0x…` for shorter ones)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_error(text: &str) -> (usize, usize, String) {
        match parse_dump(text.as_bytes()) {
            Err(DumpError::Text { line, column, message }) => (line, column, message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn binary_is_little_endian() {
        assert_eq!(parse_dump(&[0x02, 0x15, 0x03, 0xC0, 1, 0, 0, 0]), Ok(vec![0xC003_1502, 1]));
        assert_eq!(
            parse_dump(&[0x02, 0x15, 0x03, 0xC0, 1]),
            Err(DumpError::CutOff { len: 5, offset: 4 })
        );
        assert_eq!(parse_dump(&[0]), Err(DumpError::CutOff { len: 1, offset: 0 }));
        assert_eq!(parse_dump(&[0; 8]), Ok(vec![0, 0]));
    }

    #[test]
    fn text_in_every_spelling() {
        let text =
            "\u{FEFF}0xC0031502, 00000001 # a dispatch\n// nothing here\n\t0x2,0X3\r\nC0FFEE00";
        assert_eq!(parse_dump(text.as_bytes()), Ok(vec![0xC003_1502, 1, 2, 3, 0xC0FF_EE00]));
    }

    #[test]
    fn text_errors_say_where() {
        assert_eq!(text_error("0x1\n  0x1 zz").0, 2);
        assert_eq!(text_error("0x1\n  0x1 zz").1, 7);
        assert!(text_error("123").2.contains("3 digits"));
        assert!(text_error("0x").2.contains("no digits"));
        assert!(text_error("0x123456789").2.contains("more than 8"));
        assert!(text_error("123456789").2.contains("9 digits"));
        assert_eq!(text_error("ä, 0x1").1, 1);
        assert_eq!(text_error("0x1, ä").1, 6);
    }

    #[test]
    fn nothing_is_an_error() {
        for text in ["", " \n\n", "# only a comment", "// and this", "\u{FEFF}"] {
            assert_eq!(parse_dump(text.as_bytes()), Err(DumpError::Empty), "{text:?}");
        }
    }

    #[test]
    fn a_nul_makes_it_binary() {
        assert_eq!(
            parse_dump(b"0x1\0"),
            Ok(vec![u32::from_le_bytes(*b"0x1\0")]),
            "four bytes with a NUL are one dword"
        );
        assert!(matches!(parse_dump(b"0x1 \0"), Err(DumpError::CutOff { .. })));
    }
}
