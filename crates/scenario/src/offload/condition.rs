//! The boolean expressions of `REQUIRES`, `UNSUPPORTED`, `XFAIL` and `%if`.

use regex::Regex;

/// True if the expression holds for a set of features.
///
/// # Errors
/// A sentence about what is wrong with it.
pub fn holds(text: &str, features: &[&str]) -> Result<bool, String> {
    let mut p = Parser { tokens: tokens(text)?, at: 0, features };
    let value = p.or()?;
    match p.peek() {
        None => Ok(value),
        Some(token) => Err(format!("`{text}`: `{token}` is not expected")),
    }
}

/// Parts between operators and brackets.
fn tokens(text: &str) -> Result<Vec<&str>, String> {
    let mut all = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let len = if rest.starts_with("&&") || rest.starts_with("||") {
            2
        } else if rest.starts_with(['!', '(', ')']) {
            1
        } else {
            name_length(rest).ok_or_else(|| format!("`{text}`: `{rest}` is not understood"))?
        };
        all.push(&rest[..len]);
        rest = rest[len..].trim_start();
    }
    Ok(all)
}

/// Bytes of a feature's name, which may have regular expressions in `{{}}`.
fn name_length(text: &str) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("{{") {
            at += rest.find("}}")? + 2;
        } else if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "-+=._".contains(c)) {
            at += 1;
        } else {
            break;
        }
    }
    (at > 0).then_some(at)
}

/// Deepest nesting of brackets and negations.
const MAX_DEPTH: usize = 64;

struct Parser<'a> {
    tokens: Vec<&'a str>,
    at: usize,
    features: &'a [&'a str],
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.at).copied()
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn or(&mut self) -> Result<bool, String> {
        if self.at > 0 && self.depth() > MAX_DEPTH {
            return Err("the condition is nested too deeply".into());
        }
        let mut value = self.and()?;
        while self.take("||") {
            value |= self.and()?;
        }
        Ok(value)
    }

    /// Brackets open before here.
    fn depth(&self) -> usize {
        self.tokens[..self.at].iter().filter(|&&t| t == "(").count()
    }

    fn and(&mut self) -> Result<bool, String> {
        let mut value = self.not()?;
        while self.take("&&") {
            value &= self.not()?;
        }
        Ok(value)
    }

    fn not(&mut self) -> Result<bool, String> {
        let mut negate = false;
        while self.take("!") {
            negate = !negate;
        }
        if self.take("(") {
            let value = self.or()?;
            if !self.take(")") {
                return Err("a `)` is missing in a condition".into());
            }
            return Ok(value != negate);
        }
        match self.peek() {
            Some(name) if !matches!(name, "&&" | "||" | ")") => {
                self.at += 1;
                Ok(self.has(name)? != negate)
            }
            Some(other) => Err(format!("a feature is expected, not `{other}`")),
            None => Err("a condition ends too early".into()),
        }
    }

    fn has(&self, name: &str) -> Result<bool, String> {
        if name == "true" || name == "false" {
            return Ok(name == "true");
        }
        if !name.contains("{{") {
            return Ok(self.features.contains(&name));
        }
        let mut source = String::from("^");
        for (i, part) in name.split("{{").enumerate() {
            match part.split_once("}}") {
                Some((regex, text)) if i > 0 => {
                    source.push_str(&format!("(?:{regex}){}", regex::escape(text)));
                }
                _ => source.push_str(&regex::escape(part)),
            }
        }
        source.push('$');
        let regex = Regex::new(&source).map_err(|_| format!("`{name}` is no expression"))?;
        Ok(self.features.iter().any(|f| regex.is_match(f)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let features = ["Vulkan", "DXC", "SM_6_6"];
        for (text, value) in [
            ("Vulkan", true),
            ("Metal", false),
            ("!Metal && Vulkan", true),
            ("Clang && Vulkan || DXC", true),
            ("Clang && (Vulkan || DXC)", false),
            ("!(Clang || Metal)", true),
            ("!!DXC", true),
            ("SM_6_{{[0-9]+}}", true),
            ("true && !false", true),
        ] {
            assert_eq!(holds(text, &features), Ok(value), "{text}");
        }
        let deep = format!("{}a", "(".repeat(100_000));
        for bad in ["", "&&", "a b", "(a", "a)", "a &", "!", "{{(}}", &deep] {
            assert!(holds(bad, &features).is_err(), "{}", &bad[..bad.len().min(20)]);
        }
    }
}
