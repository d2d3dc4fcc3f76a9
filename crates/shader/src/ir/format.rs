//! The texts that [`Inst::DebugPrint`](super::Inst::DebugPrint) writes: C's
//! `printf`, with `%v2` to `%v4` before a conversion for vectors, as
//! `NonSemantic.DebugPrintf` has it.

use super::Ty;
use std::fmt::{self, Write as _};

/// A format, taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrintFormat {
    text: String,
    pieces: Vec<Piece>,
}

/// Why a text is no format: what stands there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError(pub String);

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FormatError {}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(String),
    Value(Spec),
}

/// One `%…`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Spec {
    /// Values it takes: 1, or those of a vector.
    count: usize,
    conversion: Conversion,
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Conversion {
    Signed,
    Unsigned,
    Octal,
    Hex { upper: bool },
    Fixed,
    Exponent { upper: bool },
    General { upper: bool },
}

/// The widest field, and the most digits after the point.
const MAX_WIDTH: usize = 256;

impl PrintFormat {
    /// Takes `text` apart.
    ///
    /// # Errors
    /// A `%` with what is no conversion of this form.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            plain.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('%') {
                plain.push('%');
                rest = after;
                continue;
            }
            let (spec, length) = Spec::parse(rest)?;
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Value(spec));
            rest = &rest[length..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self { text: text.to_owned(), pieces })
    }

    /// The text as the source has it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Number of values it takes, each component of a vector being one.
    pub fn args(&self) -> usize {
        let each = self.pieces.iter().map(|p| match p {
            Piece::Text(_) => 0,
            Piece::Value(spec) => spec.count,
        });
        each.sum()
    }

    /// The line that `values` (bits, with the type of the register that held
    /// them) make. A value that is not given reads as 0.
    pub fn render(&self, values: &[(Ty, u64)]) -> String {
        let mut out = String::new();
        let mut values = values.iter().copied();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Value(spec) => {
                    for i in 0..spec.count {
                        out.push_str(if i > 0 { ", " } else { "" });
                        let (ty, bits) = values.next().unwrap_or((Ty::B32, 0));
                        out.push_str(&spec.one(ty, bits));
                    }
                }
            }
        }
        out
    }
}

impl Spec {
    /// Reads what follows a `%`; gives its length too.
    fn parse(text: &str) -> Result<(Self, usize), FormatError> {
        let shown = text.split(|c: char| c.is_whitespace() || c == '%').next().unwrap_or("");
        let shown: String = shown.chars().take(8).collect();
        let bad = || FormatError(format!("`%{shown}` is no conversion of a printed line"));
        let bytes = text.as_bytes();
        let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
        let mut spec = Self {
            count: 1,
            conversion: Conversion::Signed,
            left: false,
            plus: false,
            space: false,
            alternate: false,
            zeros: false,
            width: 0,
            precision: None,
        };
        let mut i = 0;
        loop {
            match at(i) {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zeros = true,
                _ => break,
            }
            i += 1;
        }
        let number = |i: &mut usize| {
            let from = *i;
            while at(*i).is_ascii_digit() {
                *i += 1;
            }
            let digits = &text[from..*i];
            let n = if digits.is_empty() { Ok(0) } else { digits.parse() };
            n.ok().filter(|&n| n <= MAX_WIDTH).ok_or_else(bad)
        };
        spec.width = number(&mut i)?;
        if at(i) == b'.' {
            i += 1;
            spec.precision = Some(number(&mut i)?);
        }
        if at(i) == b'v' {
            spec.count = match at(i + 1) {
                n @ b'2'..=b'4' => usize::from(n - b'0'),
                _ => return Err(bad()),
            };
            i += 2;
        }
        // The register says how wide a value is.
        while matches!(at(i), b'l' | b'h') {
            i += 1;
        }
        spec.conversion = match at(i) {
            b'd' | b'i' => Conversion::Signed,
            b'u' => Conversion::Unsigned,
            b'o' => Conversion::Octal,
            b'x' => Conversion::Hex { upper: false },
            b'X' => Conversion::Hex { upper: true },
            b'f' | b'F' => Conversion::Fixed,
            b'e' => Conversion::Exponent { upper: false },
            b'E' => Conversion::Exponent { upper: true },
            b'g' => Conversion::General { upper: false },
            b'G' => Conversion::General { upper: true },
            _ => return Err(bad()),
        };
        i += 1;
        // `%ul` and `%xl` are this extension's own spelling of 64 bits.
        let integer = matches!(spec.conversion, Conversion::Unsigned | Conversion::Hex { .. });
        if integer && at(i) == b'l' {
            i += 1;
        }
        Ok((spec, i))
    }

    fn one(&self, ty: Ty, bits: u64) -> String {
        let (sign, digits) = match self.conversion {
            Conversion::Signed => {
                let value = signed(ty, bits);
                (value < 0, value.unsigned_abs().to_string())
            }
            Conversion::Unsigned => (false, bits.to_string()),
            Conversion::Octal => (false, self.prefixed("0", bits, format!("{bits:o}"))),
            Conversion::Hex { upper: false } => {
                (false, self.prefixed("0x", bits, format!("{bits:x}")))
            }
            Conversion::Hex { upper: true } => {
                (false, self.prefixed("0X", bits, format!("{bits:X}")))
            }
            Conversion::Fixed | Conversion::Exponent { .. } | Conversion::General { .. } => {
                let value = float(ty, bits);
                (value.is_sign_negative() && !value.is_nan(), self.float_digits(value.abs()))
            }
        };
        let takes_sign = !matches!(
            self.conversion,
            Conversion::Unsigned | Conversion::Octal | Conversion::Hex { .. }
        );
        let sign = match (sign, takes_sign && self.plus, takes_sign && self.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        };
        self.pad(sign, digits)
    }

    fn pad(&self, sign: &str, mut digits: String) -> String {
        let integer = matches!(
            self.conversion,
            Conversion::Signed | Conversion::Unsigned | Conversion::Octal | Conversion::Hex { .. }
        );
        if let Some(least) = self.precision.filter(|_| integer) {
            digits = format!("{digits:0>least$}");
        }
        let missing = self.width.saturating_sub(sign.len() + digits.chars().count());
        let finite = !digits.ends_with(['n', 'f', 'N', 'F']) || integer;
        if self.left {
            format!("{sign}{digits}{:missing$}", "")
        } else if self.zeros && finite && !(integer && self.precision.is_some()) {
            format!("{sign}{:0>missing$}{digits}", "")
        } else {
            format!("{:missing$}{sign}{digits}", "")
        }
    }

    fn prefixed(&self, prefix: &str, bits: u64, digits: String) -> String {
        if self.alternate && bits != 0 { format!("{prefix}{digits}") } else { digits }
    }

    fn float_digits(&self, value: f64) -> String {
        let upper = matches!(
            self.conversion,
            Conversion::Exponent { upper: true } | Conversion::General { upper: true }
        );
        let precision = self.precision.unwrap_or(6);
        let text = if value.is_nan() {
            "nan".to_owned()
        } else if value.is_infinite() {
            "inf".to_owned()
        } else {
            match self.conversion {
                Conversion::Exponent { .. } => exponent(value, precision),
                Conversion::General { .. } => general(value, precision.max(1), self.alternate),
                Conversion::Fixed
                | Conversion::Signed
                | Conversion::Unsigned
                | Conversion::Octal
                | Conversion::Hex { .. } => format!("{value:.precision$}"),
            }
        };
        if upper { text.to_uppercase() } else { text }
    }
}

/// C's `%e`: at least two digits in the exponent.
fn exponent(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let mut out = mantissa.to_owned();
    let sign = if power < 0 { '-' } else { '+' };
    let _ = write!(out, "e{sign}{:02}", power.abs());
    out
}

/// C's `%g`: the shorter of `%e` and `%f`, without trailing zeros.
fn general(value: f64, precision: usize, keep: bool) -> String {
    let text = exponent(value, precision - 1);
    let power: i32 = text.split_once('e').and_then(|(_, p)| p.parse().ok()).unwrap_or(0);
    let trim = |digits: &str| match digits.contains('.') && !keep {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    if power < -4 || power >= precision as i32 {
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{power}", trim(mantissa));
    }
    let after = (precision as i32 - 1 - power).max(0) as usize;
    trim(&format!("{value:.after$}"))
}

fn signed(ty: Ty, bits: u64) -> i64 {
    match ty {
        Ty::Bool => i64::from(bits != 0),
        Ty::B8 => i64::from(bits as i8),
        Ty::B16 => i64::from(bits as i16),
        Ty::B32 => i64::from(bits as i32),
        Ty::B64 => bits as i64,
    }
}

fn float(ty: Ty, bits: u64) -> f64 {
    match ty {
        Ty::Bool | Ty::B8 => bits as f64,
        Ty::B16 => half(bits as u16),
        Ty::B32 => f64::from(f32::from_bits(bits as u32)),
        Ty::B64 => f64::from_bits(bits),
    }
}

fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let value = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if bits & 1023 == 0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 != 0 { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(format: &str, values: &[(Ty, u64)]) -> String {
        PrintFormat::parse(format).unwrap().render(values)
    }

    fn f(value: f32) -> (Ty, u64) {
        (Ty::B32, u64::from(value.to_bits()))
    }

    #[test]
    fn integers() {
        let v = (Ty::B32, 0xFFFF_FFFE);
        assert_eq!(
            shown("%d %u %x %#X|%o", &[v, v, v, v, (Ty::B32, 8)]),
            "-2 4294967294 fffffffe 0XFFFFFFFE|10"
        );
        assert_eq!(shown("%5d|%-5d|%05d|%+d|%.3d", &[(Ty::B32, 7); 5]), "    7|7    |00007|+7|007");
        assert_eq!(
            shown("%ld %ul %lx", &[(Ty::B64, u64::MAX); 3]),
            "-1 18446744073709551615 ffffffffffffffff"
        );
        assert_eq!(shown("%d %d", &[(Ty::B16, 0x8000), (Ty::B8, 0xFF)]), "-32768 -1");
    }

    #[test]
    fn floats_as_c_prints_them() {
        assert_eq!(
            shown("%f %.2f %8.1f|%F", &[f(1.5), f(-0.125), f(2.0), f(0.0)]),
            "1.500000 -0.12      2.0|0.000000"
        );
        assert_eq!(shown("%e %.1E", &[f(12345.0), f(0.00012)]), "1.234500e+04 1.2E-04");
        assert_eq!(
            shown("%g %g %g %g", &[f(0.5), f(1e10), f(1e-7), f(100000.0)]),
            "0.5 1e+10 1e-07 100000"
        );
        assert_eq!(
            shown("%f %05f %g", &[f(f32::NAN), f(f32::INFINITY), f(f32::NEG_INFINITY)]),
            "nan   inf -inf"
        );
        assert_eq!(
            shown("%f %f", &[(Ty::B16, 0x3C00), (Ty::B64, 0.1f64.to_bits())]),
            "1.000000 0.100000"
        );
    }

    #[test]
    fn vectors_and_text() {
        let format = PrintFormat::parse("a %v3d, 100%% %v2f\n").unwrap();
        assert_eq!(format.args(), 5);
        let values = [(Ty::B32, 1), (Ty::B32, 2), (Ty::B32, 3), f(0.5), f(2.0)];
        assert_eq!(format.render(&values), "a 1, 2, 3, 100% 0.500000, 2.000000\n");
        assert_eq!(shown("no value", &[]), "no value");
    }

    #[test]
    fn what_is_no_format_is_refused() {
        for (text, part) in [
            ("%s", "`%s`"),
            ("50%", "`%`"),
            ("%v5d", "`%v5d`"),
            ("%9999d", "`%9999d`"),
            ("é%é", "`%é`"),
        ] {
            let error = PrintFormat::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
