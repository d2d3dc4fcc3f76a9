//! What preprocessed HLSL says that SPIR-V does not carry: wave sizes, and the
//! names that need our prelude.
//!
//! The text is DXC's own preprocessor output, so macros, conditions, includes
//! and comments have been dealt with exactly as the compile will.

use super::Position;
use crate::ir::WaveRule;
use crate::lower::BINDING_SHIFT;
use crate::{ShaderError, ShaderErrorKind};
use wavefence_base::WaveSize;

/// The macro that marks a shader as compiled for waves of 32 lanes.
pub(crate) const WAVE32_MACRO: &str = "__XBOX_ENABLE_WAVE32";

/// File name of the lines that [`marked`] appends.
pub(crate) const MARKER_FILE: &str = "<wavefence: value of __XBOX_ENABLE_WAVE32>";

const MARKER: &str = "__wavefence_wave32_is_on";

/// `text` with lines appended that leave a marker in the preprocessor's output
/// if [`WAVE32_MACRO`] is non-zero at the end of the source. A macro defined as
/// nothing counts as zero.
pub(crate) fn marked(text: &str) -> String {
    format!(
        "{text}\n\n#line 1 \"{MARKER_FILE}\"\n#if defined({WAVE32_MACRO})\n\
         #if {WAVE32_MACRO} + 0\n{MARKER}\n#endif\n#endif\n"
    )
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// [`WAVE32_MACRO`] is non-zero.
    pub wave32: bool,
    /// The arguments of `[WaveSize(...)]` on the entry point, as text, and where.
    pub wave_size: Option<(Vec<String>, Position)>,
    /// The first register whose number is too high to be told from another class.
    pub high_register: Option<(String, Position)>,
    /// Identifiers that `wanted` asked for, at their first use.
    pub names: Vec<(String, Position)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Number(&'a str),
    Text,
    Sign(char),
}

/// Reads preprocessed `text`. `wanted` says which identifiers to note.
pub(crate) fn read(text: &str, entry: &str, wanted: impl Fn(&str) -> bool) -> Facts {
    let tokens = tokens(text);
    let mut facts = Facts::default();
    let (mut braces, mut parens) = (0usize, 0usize);
    let mut attribute: Option<(Vec<String>, Position)> = None;
    let mut i = 0;
    while i < tokens.len() {
        let (token, at) = &tokens[i];
        match token {
            Token::Word(MARKER) if at.file == MARKER_FILE => facts.wave32 = true,
            Token::Word(word) => {
                if wanted(word) && !facts.names.iter().any(|(name, _)| name == word) {
                    facts.names.push(((*word).to_owned(), at.clone()));
                }
                if *word == "register" && facts.high_register.is_none() {
                    facts.high_register = high_register(&tokens[i + 1..]);
                }
                if *word == entry && braces == 0 && parens == 0 && is_definition(&tokens[i + 1..]) {
                    facts.wave_size = facts.wave_size.or(attribute.take());
                }
            }
            Token::Sign('[') if braces == 0 && parens == 0 => {
                if let Some(found) = wave_size(&tokens[i + 1..]) {
                    attribute = Some((found, at.clone()));
                }
            }
            Token::Sign('{') => braces += 1,
            Token::Sign('}') => {
                braces = braces.saturating_sub(1);
                if braces == 0 {
                    attribute = None;
                }
            }
            Token::Sign('(') => parens += 1,
            Token::Sign(')') => parens = parens.saturating_sub(1),
            Token::Sign(';') if braces == 0 => attribute = None,
            Token::Sign(_) | Token::Number(_) | Token::Text => {}
        }
        i += 1;
    }
    facts
}

/// `(t70000`: a number of [`BINDING_SHIFT`] or more.
fn high_register(tokens: &[(Token<'_>, Position)]) -> Option<(String, Position)> {
    let [(Token::Sign('('), _), (Token::Word(name), at), ..] = tokens else { return None };
    let number: u64 = name.get(1..)?.parse().ok()?;
    (number >= u64::from(BINDING_SHIFT)).then(|| ((*name).to_owned(), at.clone()))
}

/// `( ... ) [: SEMANTIC] {`
fn is_definition(tokens: &[(Token<'_>, Position)]) -> bool {
    if !matches!(tokens.first(), Some((Token::Sign('('), _))) {
        return false;
    }
    let mut depth = 0usize;
    for (token, _) in tokens {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth = depth.saturating_sub(1),
            Token::Sign('{') if depth == 0 => return true,
            Token::Sign(';') if depth == 0 => return false,
            Token::Sign(_) | Token::Word(_) | Token::Number(_) | Token::Text => {}
        }
    }
    false
}

/// `WaveSize(a, b, c)]`: each argument's tokens, joined.
fn wave_size(tokens: &[(Token<'_>, Position)]) -> Option<Vec<String>> {
    let mut rest = tokens.iter().map(|(token, _)| *token).skip_while(|t| *t == Token::Sign('['));
    match rest.next()? {
        Token::Word(word) if word.eq_ignore_ascii_case("wavesize") => {}
        _ => return None,
    }
    if rest.next()? != Token::Sign('(') {
        return None;
    }
    let mut args = vec![String::new()];
    let mut depth = 0usize;
    for token in rest {
        let (Token::Word(word) | Token::Number(word)) = token else {
            match token {
                Token::Sign('(') => depth += 1,
                Token::Sign(')') if depth == 0 => return Some(args),
                Token::Sign(')') => depth -= 1,
                Token::Sign(',') if depth == 0 => args.push(String::new()),
                Token::Sign(sign) => args.last_mut()?.push(sign),
                Token::Text | Token::Word(_) | Token::Number(_) => return None,
            }
            continue;
        };
        args.last_mut()?.push_str(word);
    }
    None
}

fn tokens(text: &str) -> Vec<(Token<'_>, Position)> {
    let mut out = Vec::new();
    let mut at = Position { file: String::new(), line: 0, column: 0 };
    for line in text.split('\n') {
        at.line += 1;
        if let Some((number, file)) = line_directive(line) {
            at.line = number.wrapping_sub(1);
            if let Some(file) = file {
                at.file = file;
            }
            continue;
        }
        let mut rest = line.trim_start();
        if rest.starts_with('#') {
            continue;
        }
        while let Some(first) = rest.chars().next() {
            let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
            let (token, len) = if first == '_' || first.is_ascii_alphabetic() {
                let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                (Token::Word(&rest[..len]), len)
            } else if first.is_ascii_digit() {
                let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                (Token::Number(&rest[..len]), len)
            } else if first == '"' || first == '\'' {
                (Token::Text, quoted(rest, first))
            } else {
                (Token::Sign(first), first.len_utf8())
            };
            out.push((token, at.clone()));
            rest = rest[len..].trim_start();
        }
    }
    out
}

/// Length of the quoted text that `rest` starts with.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (i, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return i + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// `#line 12 "file"`
fn line_directive(line: &str) -> Option<(u32, Option<String>)> {
    let rest = line.trim_start().strip_prefix("#line")?.trim_start();
    let (number, rest) =
        rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    let number = number.parse().ok()?;
    let rest = rest.trim();
    if rest.is_empty() {
        return Some((number, None));
    }
    let end = quoted(rest, '"');
    let inner = rest.get(1..end.checked_sub(1)?)?;
    Some((number, Some(inner.replace("\\\\", "\\").replace("\\\"", "\""))))
}

impl Facts {
    /// Refuses what cannot be carried through SPIR-V.
    pub fn check_registers(&self) -> Result<(), ShaderError> {
        let Some((name, at)) = &self.high_register else { return Ok(()) };
        let what = format!("register {name}; numbers go up to {}", BINDING_SHIFT - 1);
        Err(ShaderError::limit(what).on_line(Some(format!("{}:{}", at.file, at.line))))
    }

    /// The wave rule. `[WaveSize(n)]` wins over the macro.
    pub fn wave_rule(&self) -> Result<WaveRule, ShaderError> {
        let by_macro = if self.wave32 { WaveRule::Wave32 } else { WaveRule::Wave64 };
        let Some((args, at)) = &self.wave_size else { return Ok(by_macro) };
        let refuse = |kind, what: String| {
            Err(ShaderError::new(kind, what).on_line(Some(format!("{}:{}", at.file, at.line))))
        };
        let mut sizes = Vec::new();
        for arg in args {
            match number(arg) {
                Some(n) => sizes.push(n),
                None => {
                    let what = format!("[WaveSize({arg})]: the argument is not a plain number");
                    return refuse(ShaderErrorKind::Unsupported, what);
                }
            }
        }
        let (low, high) = match sizes[..] {
            [n] => (n, n),
            [low, high] | [low, high, _] => (low, high),
            _ => {
                let what = "[WaveSize] takes one, two or three numbers".to_owned();
                return refuse(ShaderErrorKind::Source, what);
            }
        };
        let (w32, w64) = ((low..=high).contains(&32), (low..=high).contains(&64));
        match (w32, w64) {
            (true, true) => Ok(by_macro),
            (true, false) => Ok(WaveRule::Fixed(WaveSize::W32)),
            (false, true) => Ok(WaveRule::Fixed(WaveSize::W64)),
            (false, false) => {
                let what = format!(
                    "[WaveSize({})]: waves have 32 or 64 lanes on this hardware",
                    args.join(", ")
                );
                refuse(ShaderErrorKind::Unsupported, what)
            }
        }
    }
}

fn number(text: &str) -> Option<u32> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Result<WaveRule, String> {
        read(text, "main", |_| false).wave_rule().map_err(|e| e.to_string())
    }

    #[test]
    fn wave_size_of_the_entry_point_only() {
        let text = "#line 1 \"a.hlsl\"\n[WaveSize(64)] void other() { }\n\
                    [wavesize(0x20)]\n[numthreads(8, 1, 1)]\nvoid main(uint3 id : SV_GroupID) {\n}\n";
        assert_eq!(rule(text), Ok(WaveRule::Fixed(WaveSize::W32)));
        let text = "[WaveSize(32)] void other() { } void main() { }";
        assert_eq!(rule(text), Ok(WaveRule::Wave64));
        let text = "void main(); [WaveSize(64)][numthreads(1,1,1)] void main() { }";
        assert_eq!(rule(text), Ok(WaveRule::Fixed(WaveSize::W64)));
        assert_eq!(rule("[WaveSize(16, 64)] void main() { }"), Ok(WaveRule::Wave64));
        assert_eq!(
            rule("[WaveSize(4, 32, 16)] void main() { }"),
            Ok(WaveRule::Fixed(WaveSize::W32))
        );
    }

    #[test]
    fn sizes_that_do_not_exist_here_are_refused_with_their_line() {
        let error = rule("#line 7 \"dir/b.hlsl\"\n\n[WaveSize(16)] void main() { }").unwrap_err();
        insta::assert_snapshot!(error, @"dir/b.hlsl:8: unsupported: [WaveSize(16)]: waves have 32 or 64 lanes on this hardware");
        let error = rule("[WaveSize(N*2)] void main() { }").unwrap_err();
        assert!(error.contains("N*2"), "{error}");
    }

    #[test]
    fn registers_that_would_look_like_others_are_refused() {
        let text = "#line 3 \"r.hlsl\"\nA a : register(t65535); B b : register( u65536 , space1);";
        let error = read(text, "main", |_| false).check_registers().unwrap_err();
        insta::assert_snapshot!(error, @"r.hlsl:3: limit: register u65536; numbers go up to 65535");
        let text = text.replace("u65536", "u0");
        assert!(read(&text, "main", |_| false).check_registers().is_ok());
    }

    #[test]
    fn names_are_noted_at_their_first_use() {
        let text = "#line 5 \"C:\\\\x \\\"y\\\".hlsl\"\nfoo(\"__XB_A\"); __XB_B(1); a__XB_C;\n__XB_B(2);\n";
        let facts = read(text, "main", |word| word.starts_with("__XB_"));
        assert_eq!(facts.names.len(), 1);
        assert_eq!(facts.names[0].0, "__XB_B");
        assert_eq!(facts.names[0].1.to_string(), "C:\\x \"y\".hlsl:5");
    }
}
