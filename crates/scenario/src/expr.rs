//! Small integer expressions: `ceildiv(Photo.Width, 8) * 4`, `Sync + 16`.
//!
//! A name stands for a GPU address or a number that the runner knows; syntax is
//! checked when the file is read, names when they are used.

use crate::number;
use crate::problem::{Problem, Span};

/// Deepest nesting of parentheses and calls.
const MAX_DEPTH: usize = 32;
/// Most operators in a row.
const MAX_CHAIN: usize = 64;

/// An expression with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Where it stands.
    pub at: Span,
    term: Term,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Int(i128),
    Name(String),
    Binary(char, Box<Expr>, Box<Expr>),
    Call(Function, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Function {
    CeilDiv,
    Max,
    Min,
    Align,
}

impl Function {
    const ALL: [(&'static str, Self); 4] = [
        ("ceildiv", Self::CeilDiv),
        ("max", Self::Max),
        ("min", Self::Min),
        ("align", Self::Align),
    ];
}

impl Expr {
    /// The number itself, at a place.
    pub fn constant(at: Span, value: i128) -> Self {
        Self { at, term: Term::Int(value) }
    }

    /// Parses `text`, which stands at `at`.
    pub fn parse(text: &str, at: Span) -> Result<Self, Problem> {
        let mut parser = Parser { text, pos: 0, at, depth: 0 };
        let expr = parser.sum()?;
        match parser.peek() {
            None => Ok(expr),
            Some(c) => Err(parser.error(format!("`{c}` is not expected here"))),
        }
    }

    /// If the expression is nothing but a name, that name.
    pub fn as_name(&self) -> Option<&str> {
        match &self.term {
            Term::Name(name) => Some(name),
            Term::Int(_) | Term::Binary(..) | Term::Call(..) => None,
        }
    }

    /// The value. `lookup` gives what a name stands for, or why there is none.
    pub fn eval(&self, lookup: &dyn Fn(&str) -> Result<i128, String>) -> Result<i128, Problem> {
        let overflow = || Problem::at(self.at, "the value does not fit 127 bits");
        match &self.term {
            Term::Int(value) => Ok(*value),
            Term::Name(name) => lookup(name).map_err(|why| Problem::at(self.at, why)),
            Term::Binary(op, a, b) => {
                let (x, y) = (a.eval(lookup)?, b.eval(lookup)?);
                let zero = || Problem::at(b.at, "division by zero");
                match op {
                    '+' => x.checked_add(y).ok_or_else(overflow),
                    '-' => x.checked_sub(y).ok_or_else(overflow),
                    '*' => x.checked_mul(y).ok_or_else(overflow),
                    '/' => x.checked_div_euclid(y).ok_or_else(zero),
                    _ => x.checked_rem_euclid(y).ok_or_else(zero),
                }
            }
            Term::Call(function, a, b) => {
                let (x, y) = (a.eval(lookup)?, b.eval(lookup)?);
                let positive = || Problem::at(b.at, "must be above 0").label(format!("is {y}"));
                match function {
                    Function::Max => Ok(x.max(y)),
                    Function::Min => Ok(x.min(y)),
                    Function::CeilDiv if y > 0 => {
                        Ok(x.div_euclid(y) + i128::from(x.rem_euclid(y) != 0))
                    }
                    Function::Align if y > 0 => {
                        let up = i128::from(x.rem_euclid(y) != 0) * (y - x.rem_euclid(y));
                        x.checked_add(up).ok_or_else(overflow)
                    }
                    Function::CeilDiv | Function::Align => Err(positive()),
                }
            }
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    pos: usize,
    at: Span,
    depth: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.pos..]
    }

    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.pos += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    fn span(&self, start: usize) -> Span {
        // A scalar whose text was unquoted or folded may be longer than its span.
        if start < self.at.len { self.at.part(start, (self.pos - start).max(1)) } else { self.at }
    }

    fn error(&self, message: String) -> Problem {
        Problem::at(self.span(self.pos), message)
            .help("numbers, names, + - * / %, parentheses, ceildiv, align, min and max")
    }

    fn sum(&mut self) -> Result<Expr, Problem> {
        self.chain(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Expr, Problem> {
        self.chain(&['*', '/', '%'], Self::atom)
    }

    fn chain(
        &mut self,
        ops: &[char],
        next: fn(&mut Self) -> Result<Expr, Problem>,
    ) -> Result<Expr, Problem> {
        self.peek();
        let start = self.pos;
        let mut left = next(self)?;
        let mut length = 0;
        while let Some(op) = self.peek().filter(|c| ops.contains(c)) {
            length += 1;
            if length > MAX_CHAIN {
                return Err(self.error("the expression is too long".into()));
            }
            self.pos += op.len_utf8();
            let right = next(self)?;
            let term = Term::Binary(op, Box::new(left), Box::new(right));
            left = Expr { at: self.span(start), term };
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<Expr, Problem> {
        let Some(c) = self.peek() else {
            return Err(self.error("a number or name is missing".into()));
        };
        let start = self.pos;
        if c == '(' {
            self.pos += 1;
            return self.nested(|p| {
                let inner = p.sum()?;
                p.expect(')')?;
                Ok(inner)
            });
        }
        if c == '-' {
            self.pos += 1;
            let value = self.nested(Self::atom)?;
            let zero = Box::new(Expr::constant(value.at, 0));
            let term = Term::Binary('-', zero, Box::new(value));
            return Ok(Expr { at: self.span(start), term });
        }
        let word = self.rest();
        let length = word
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))
            .unwrap_or(word.len());
        let word = word[..length].to_string();
        self.pos += length;
        if c.is_ascii_digit() {
            return match number::int(&word) {
                Some(value) => Ok(Expr { at: self.span(start), term: Term::Int(value) }),
                None => Err(Problem::at(self.span(start), format!("`{word}` is not an integer"))),
            };
        }
        if word.is_empty() {
            return Err(self.error(format!("`{c}` is not expected here")));
        }
        if self.peek() == Some('(') {
            return self.call(start, &word);
        }
        let end = start + length;
        let at = if start < self.at.len { self.at.part(start, end - start) } else { self.at };
        Ok(Expr { at, term: Term::Name(word) })
    }

    fn call(&mut self, start: usize, word: &str) -> Result<Expr, Problem> {
        let Some((_, function)) = Function::ALL.into_iter().find(|(name, _)| *name == word) else {
            return Err(Problem::at(self.span(start), format!("there is no function `{word}`"))
                .help("there are ceildiv, align, min and max"));
        };
        self.pos += 1;
        let (a, b) = self.nested(|p| {
            let a = p.sum()?;
            p.expect(',')?;
            let b = p.sum()?;
            p.expect(')')?;
            Ok((a, b))
        })?;
        Ok(Expr { at: self.span(start), term: Term::Call(function, Box::new(a), Box::new(b)) })
    }

    fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("the expression is nested too deeply".into()));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn expect(&mut self, wanted: char) -> Result<(), Problem> {
        match self.peek() {
            Some(c) if c == wanted => {
                self.pos += c.len_utf8();
                Ok(())
            }
            _ => Err(self.error(format!("`{wanted}` is missing"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(text: &str) -> Result<i128, String> {
        let at = Span::new(0, text.len());
        let lookup = |name: &str| match name {
            "Sync" => Ok(0x1000),
            "Photo.Width" => Ok(601),
            _ => Err(format!("nothing is called {name}")),
        };
        Expr::parse(text, at).and_then(|e| e.eval(&lookup)).map_err(|p| p.message)
    }

    #[test]
    fn values() {
        assert_eq!(eval("Sync + 0x10"), Ok(0x1010));
        assert_eq!(eval("ceildiv(Photo.Width, 8) * 2 - 1"), Ok(151));
        assert_eq!(eval("2 + 3 * (4 - -1) % 4"), Ok(5));
        assert_eq!(eval("align(Photo.Width * 4, 256)"), Ok(2560));
        assert_eq!(eval("min(3, max(1, 2))"), Ok(2));
    }

    #[test]
    fn mistakes() {
        assert_eq!(eval("1 / 0"), Err("division by zero".into()));
        assert_eq!(eval("ceildiv(1, 0)"), Err("must be above 0".into()));
        assert_eq!(eval("Nope + 1"), Err("nothing is called Nope".into()));
        assert_eq!(eval("1 +"), Err("a number or name is missing".into()));
        assert_eq!(eval("1 2"), Err("`2` is not expected here".into()));
        assert_eq!(eval("f(1)"), Err("there is no function `f`".into()));
        assert_eq!(eval("0xZ"), Err("`0xZ` is not an integer".into()));
        assert!(eval(&"(".repeat(10_000)).is_err());
        assert!(eval(&"-".repeat(10_000)).is_err());
        assert!(eval(&"1+".repeat(10_000)).is_err());
        assert!(eval("\u{1F600}").is_err());
    }
}
