//! What lit reads in a test file: `RUN` lines, conditions and substitutions.

use super::condition;

/// A value with the line it stands on, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line.
    pub number: usize,
    /// What follows the keyword.
    pub text: String,
}

/// The lit part of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// `RUN` lines; continued ones are joined.
    pub runs: Vec<Line>,
    /// `REQUIRES`: all hold.
    pub requires: Vec<Line>,
    /// `UNSUPPORTED`: none holds.
    pub unsupported: Vec<Line>,
    /// `XFAIL`: the test is expected to fail if one holds.
    pub xfail: Vec<Line>,
}

/// Reads a test file.
///
/// # Errors
/// A sentence about a keyword that is not supported here.
pub fn parse(text: &str) -> Result<Script, String> {
    const REFUSED: [&str; 3] = ["DEFINE:", "REDEFINE:", "ALLOW_RETRIES:"];
    let mut script = Script::default();
    let mut continued = false;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if keyword(line, "END.").is_some() {
            break;
        }
        if let Some(value) = keyword(line, "RUN:") {
            let (part, more) = match value.strip_suffix('\\') {
                Some(part) => (part.trim(), true),
                None => (value, false),
            };
            match script.runs.last_mut().filter(|_| continued) {
                Some(run) => {
                    run.text.push(' ');
                    run.text.push_str(part);
                }
                None => script.runs.push(Line { number, text: part.into() }),
            }
            continued = more;
        }
        for (word, list) in [
            ("REQUIRES:", &mut script.requires),
            ("UNSUPPORTED:", &mut script.unsupported),
            ("XFAIL:", &mut script.xfail),
        ] {
            let values = keyword(line, word).into_iter().flat_map(|v| v.split(','));
            for value in values.map(str::trim).filter(|v| !v.is_empty()) {
                list.push(Line { number, text: value.into() });
            }
        }
        if let Some(word) = REFUSED.iter().find(|word| keyword(line, word).is_some()) {
            return Err(format!("line {number}: `{word}` is not known here"));
        }
    }
    if continued {
        return Err("the last RUN line is continued, but nothing follows".into());
    }
    Ok(script)
}

/// What follows a keyword that stands alone.
fn keyword<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let at = line.find(word)?;
    let before = line[..at].chars().next_back();
    if before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        return None;
    }
    Some(line[at + word.len()..].trim())
}

impl Script {
    /// The first requirement that does not hold.
    ///
    /// # Errors
    /// What is wrong with a condition.
    pub fn missing(&self, features: &[&str]) -> Result<Option<&Line>, String> {
        first(&self.requires, features, false)
    }

    /// The first `UNSUPPORTED` that holds.
    ///
    /// # Errors
    /// As [`Self::missing`].
    pub fn unsupported(&self, features: &[&str]) -> Result<Option<&Line>, String> {
        first(&self.unsupported, features, true)
    }

    /// The first `XFAIL` that holds.
    ///
    /// # Errors
    /// As [`Self::missing`].
    pub fn expected_failure(&self, features: &[&str]) -> Result<Option<&Line>, String> {
        first(&self.xfail, features, true)
    }
}

fn first<'a>(
    lines: &'a [Line],
    features: &[&str],
    wanted: bool,
) -> Result<Option<&'a Line>, String> {
    for line in lines {
        let value = line.text == "*"
            || condition::holds(&line.text, features)
                .map_err(|e| format!("line {}: {e}", line.number))?;
        if value == wanted {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// Puts `%if cond %{ … %} %else %{ … %}` in place.
///
/// # Errors
/// What is wrong with it.
pub fn conditionals(text: &str, features: &[&str]) -> Result<String, String> {
    choose(text, features, 0)
}

/// Deepest nesting of conditions.
const MAX_DEPTH: usize = 16;

fn choose(text: &str, features: &[&str], depth: usize) -> Result<String, String> {
    if depth > MAX_DEPTH {
        return Err("`%if` is nested too deeply".into());
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("%if ") {
        out.push_str(&rest[..at]);
        let behind = &rest[at + "%if ".len()..];
        let open = behind.find("%{").ok_or("`%if` has no `%{`")?;
        let value = condition::holds(behind[..open].trim(), features)?;
        let (then, after) = block(&behind[open..])?;
        let tail = after.trim_start();
        let (other, after) = match tail.strip_prefix("%else") {
            Some(tail) => {
                let tail = tail.trim_start();
                if !tail.starts_with("%{") {
                    return Err("`%else` has no `%{`".into());
                }
                block(tail)?
            }
            None => ("", after),
        };
        let chosen = if value { then } else { other };
        out.push_str(&choose(chosen.trim(), features, depth + 1)?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The text between `%{` and its `%}`, and what follows.
fn block(text: &str) -> Result<(&str, &str), String> {
    let (mut depth, mut at) = (0usize, 0);
    while let Some(found) = text[at..].find("%{").into_iter().chain(text[at..].find("%}")).min() {
        let here = at + found;
        if text[here..].starts_with("%{") {
            depth += 1;
        } else if depth <= 1 {
            return Ok((&text[2..here], &text[here + 2..]));
        } else {
            depth -= 1;
        }
        at = here + 2;
    }
    Err("`%{` has no `%}`".into())
}

/// Replaces `%name`s; `%%` is a percent sign.
///
/// # Errors
/// Names the substitution that is not known.
pub fn substitute(text: &str, known: &[(&str, String)]) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        if let Some(tail) = behind.strip_prefix('%') {
            out.push('%');
            rest = tail;
            continue;
        }
        let found =
            known.iter().filter(|(name, _)| behind.starts_with(name)).max_by_key(|k| k.0.len());
        let Some((name, value)) = found else {
            let word: String = behind.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
            return Err(format!("the substitution `%{word}` is not known here"));
        };
        out.push_str(value);
        rest = &behind[name.len()..];
    }
    out.push_str(rest);
    Ok(out)
}

/// A `lit.local.cfg` of the one form that is understood: `if 'X' [not] in
/// config.available_features:` with `config.unsupported = True` below it. Gives
/// the condition that makes its folder unsupported, if it holds.
///
/// # Errors
/// The line that is not understood.
pub fn local_config(text: &str, features: &[&str]) -> Result<Option<String>, String> {
    let mut condition: Option<(bool, String)> = None;
    for (i, line) in text.lines().enumerate() {
        let code = line.split('#').next().unwrap_or_default().trim_end();
        if code.trim().is_empty() {
            continue;
        }
        let words: Vec<&str> = code.split_whitespace().collect();
        let name = |word: &str| word.trim_matches(['\'', '"']).to_owned();
        let list = "config.available_features:";
        match words.as_slice() {
            ["if", feature, "in", end] if *end == list => {
                let feature = name(feature);
                condition = Some((features.contains(&feature.as_str()), feature));
            }
            ["if", feature, "not", "in", end] if *end == list => {
                let feature = name(feature);
                let holds = !features.contains(&feature.as_str());
                condition = Some((holds, format!("!{feature}")));
            }
            ["config.unsupported", "=", "True"] => match &condition {
                Some((true, why)) if line.starts_with([' ', '\t']) => {
                    return Ok(Some(why.clone()));
                }
                Some((false, _)) if line.starts_with([' ', '\t']) => {}
                _ => return Ok(Some("always".into())),
            },
            _ => return Err(format!("line {}: `{}` is not understood", i + 1, code.trim())),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURES: [&str; 2] = ["Vulkan", "DXC"];

    #[test]
    fn keywords_are_found_in_any_comment() {
        let text = "x\n# RUN: a \\\n# RUN: b\n// RUN: c\n# XFAIL:Clang, Metal\n# PRE-RUN: no\n\
                    # REQUIRES: Half, Int16\n# END.\n# RUN: never\n";
        let script = parse(text).unwrap();
        let runs: Vec<_> = script.runs.iter().map(|r| (r.number, r.text.as_str())).collect();
        assert_eq!(runs, [(2, "a b"), (4, "c")]);
        assert_eq!(script.xfail.len(), 2);
        assert_eq!(script.missing(&FEATURES).unwrap().unwrap().text, "Half");
        assert_eq!(script.expected_failure(&FEATURES), Ok(None));
        assert!(parse("# DEFINE: x\n").is_err());
        assert!(parse("# RUN: a \\\n").is_err());
    }

    #[test]
    fn conditionals_choose() {
        let text = "a %if Vulkan %{ b %if Metal %{ c %} %else %{ d %} %} %else %{ e %} f";
        assert_eq!(conditionals(text, &FEATURES).unwrap(), "a b d f");
        assert_eq!(conditionals("%if Metal %{ x %} y", &FEATURES).unwrap().trim(), "y");
        for bad in ["%if Vulkan", "%if %{ x %}", "%if Vulkan %{ x", "%if Vulkan %{ x %} %else y"] {
            assert!(conditionals(bad, &FEATURES).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_longest_substitution_wins() {
        let known = [("t", "T".into()), ("target", "X".into()), ("s", "S".into())];
        assert_eq!(substitute("%target %t.o 5%% %s", &known).unwrap(), "X T.o 5% S");
        assert!(substitute("%unknown", &known).unwrap_err().contains("%unknown"));
    }

    #[test]
    fn local_configurations() {
        let text = "# why\nif 'DirectX' not in config.available_features:\n    config.unsupported = True\n";
        assert_eq!(local_config(text, &FEATURES), Ok(Some("!DirectX".into())));
        let text = "if 'Metal' in config.available_features:\n  config.unsupported = True\n";
        assert_eq!(local_config(text, &FEATURES), Ok(None));
        assert_eq!(
            local_config("config.unsupported = True\n", &FEATURES),
            Ok(Some("always".into()))
        );
        assert!(local_config("import os\n", &FEATURES).is_err());
    }
}
