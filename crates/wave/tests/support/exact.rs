//! Binary floats of any width by exact integer arithmetic, rounded once to
//! nearest even: the reference of the float tests.

use std::cmp::Ordering;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits in all.
    pub width: u32,
    /// Bits of the significand, the hidden one included.
    pub precision: u32,
}

pub const HALF: Format = Format { width: 16, precision: 11 };
pub const FLOAT: Format = Format { width: 32, precision: 24 };
pub const DOUBLE: Format = Format { width: 64, precision: 53 };

/// What bits stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Nan,
    Infinite(bool),
    /// `m * 2^e`, negative if so.
    Finite(bool, u64, i32),
}

impl Format {
    /// Exponent of the last bit of the smallest number.
    fn least(self) -> i32 {
        let bias = (1 << (self.width - self.precision - 1)) - 1;
        2 - bias - self.precision as i32
    }

    pub fn sign(self) -> u64 {
        1 << (self.width - 1)
    }

    pub fn infinity(self) -> u64 {
        self.sign() - (1 << (self.precision - 1))
    }

    /// The one NaN.
    pub fn nan(self) -> u64 {
        self.infinity() | 1 << (self.precision - 2)
    }

    /// 1.
    pub fn one(self) -> u64 {
        self.infinity() >> 1 & !((1 << (self.precision - 1)) - 1)
    }

    pub fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign() > self.infinity()
    }

    pub fn decode(self, bits: u64) -> Value {
        let negative = bits & self.sign() != 0;
        let low = bits & !self.sign();
        if low >= self.infinity() {
            return if low == self.infinity() { Value::Infinite(negative) } else { Value::Nan };
        }
        let hidden = 1 << (self.precision - 1);
        let (e, m) = (low >> (self.precision - 1), low & (hidden - 1));
        if e == 0 {
            return Value::Finite(negative, m, self.least());
        }
        Value::Finite(negative, m | hidden, self.least() + e as i32 - 1)
    }

    /// `m * 2^e` (and a little more, if `sticky`) rounded.
    pub fn round(self, negative: bool, m: u128, e: i32, sticky: bool) -> u64 {
        let sign = if negative { self.sign() } else { 0 };
        if m == 0 {
            return sign;
        }
        let top = 127 - m.leading_zeros() as i32;
        let last = (e + top + 1 - self.precision as i32).max(self.least());
        let drop = last - e;
        let q = if drop <= 0 {
            (m << -drop) as u64
        } else if drop > 127 {
            0
        } else {
            let (q, rest) = ((m >> drop) as u64, m & ((1 << drop) - 1));
            let up = match rest.cmp(&(1 << (drop - 1))) {
                Ordering::Less => false,
                Ordering::Equal => sticky || q & 1 == 1,
                Ordering::Greater => true,
            };
            q + u64::from(up)
        };
        let bits = (((last - self.least()) as u128) << (self.precision - 1)) + u128::from(q);
        sign | (bits.min(self.infinity().into()) as u64)
    }

    /// `a * b + c`, rounded once.
    pub fn fma(self, a: u64, b: u64, c: u64) -> u64 {
        let (x, y, z) = match (self.decode(a), self.decode(b), self.decode(c)) {
            (Value::Nan, _, _) | (_, Value::Nan, _) | (_, _, Value::Nan) => return self.nan(),
            values => values,
        };
        let product_sign = (a ^ b) & self.sign();
        let infinite = |v: Value| matches!(v, Value::Infinite(_));
        let zero = |v: Value| matches!(v, Value::Finite(_, 0, _));
        if infinite(x) || infinite(y) {
            let none = zero(x) || zero(y) || (infinite(z) && c & self.sign() != product_sign);
            return if none { self.nan() } else { product_sign | self.infinity() };
        }
        if infinite(z) {
            return c;
        }
        let (Value::Finite(_, m, e), Value::Finite(_, n, f), Value::Finite(_, k, g)) = (x, y, z)
        else {
            unreachable!("the rest is finite");
        };
        let product = u128::from(m) * u128::from(n);
        if product == 0 && k == 0 {
            return product_sign & c & self.sign();
        }
        let negative = |bits: u64| bits & self.sign() != 0;
        self.sum((negative(product_sign), product, e + f), (negative(c), k.into(), g))
    }

    /// The sum of two numbers.
    fn sum(self, a: (bool, u128, i32), b: (bool, u128, i32)) -> u64 {
        // The one that reaches higher first, its last bit as low as there is room.
        let top = |v: (bool, u128, i32)| {
            if v.1 == 0 { i32::MIN } else { v.2 + 128 - v.1.leading_zeros() as i32 }
        };
        let (a, b) = if top(a) >= top(b) { (a, b) } else { (b, a) };
        let up = a.1.leading_zeros() as i32 - 2;
        let (m, e) = (a.1 << up, a.2 - up);
        let (n, sticky) = match b.2 - e {
            s if b.1 == 0 || s >= 0 => (b.1 << s.max(0), false),
            s if s <= -128 => (0, true),
            s => (b.1 >> -s, b.1 & ((1 << -s) - 1) != 0),
        };
        if a.0 == b.0 {
            return self.round(a.0, m + n, e, sticky);
        }
        // What was cut off makes the difference a little smaller.
        let (negative, rest) = match m.checked_sub(n) {
            Some(rest) => (a.0, rest - u128::from(sticky)),
            None => (b.0, n - m),
        };
        self.round(negative && (rest != 0 || sticky), rest, e, sticky)
    }

    /// Sum.
    pub fn add(self, a: u64, b: u64) -> u64 {
        self.fma(a, self.one(), b)
    }

    /// Difference.
    pub fn sub(self, a: u64, b: u64) -> u64 {
        if self.is_nan(b) { self.nan() } else { self.add(a, b ^ self.sign()) }
    }

    /// Product.
    pub fn mul(self, a: u64, b: u64) -> u64 {
        self.fma(a, b, self.sign())
    }

    /// In another format.
    pub fn convert(self, bits: u64, to: Format) -> u64 {
        match self.decode(bits) {
            Value::Nan => to.nan(),
            Value::Infinite(negative) => to.infinity() | if negative { to.sign() } else { 0 },
            Value::Finite(negative, m, e) => to.round(negative, m.into(), e, false),
        }
    }

    /// The value, exactly.
    pub fn value(self, bits: u64) -> f64 {
        f64::from_bits(self.convert(bits, DOUBLE))
    }

    /// A 64-bit float rounded to this.
    pub fn of(self, x: f64) -> u64 {
        DOUBLE.convert(x.to_bits(), self)
    }

    /// Toward zero, within `low..=high`; NaN is 0.
    pub fn to_integer(self, bits: u64, low: i128, high: i128) -> i128 {
        let (negative, m, e) = match self.decode(bits) {
            Value::Nan => return 0,
            Value::Infinite(negative) => return if negative { low } else { high },
            Value::Finite(negative, m, e) => (negative, i128::from(m), e),
        };
        let whole = match e {
            e if e >= 70 && m != 0 => i128::MAX,
            e if e >= 0 => m << e.min(70),
            e => m >> (-e).min(127),
        };
        (if negative { -whole } else { whole }).clamp(low, high)
    }

    /// Distance of `got` from `want` in units of the last place.
    pub fn distance(self, got: u64, want: f64) -> f64 {
        let near = self.of(want);
        if want.is_nan() || self.is_nan(got) {
            return if got == self.nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
        }
        if got == near && got & !self.sign() == self.infinity() {
            return 0.0;
        }
        if want.is_infinite() || got & !self.sign() == self.infinity() {
            return f64::INFINITY;
        }
        (self.value(got) - want).abs() / self.unit(want)
    }

    /// The unit of the last place of a number about `x`.
    fn unit(self, x: f64) -> f64 {
        if x == 0.0 {
            return 2f64.powi(self.least().max(-1022));
        }
        let e = (x.to_bits() >> 52 & 0x7FF) as i32 - 1023;
        2f64.powi((e + 1 - self.precision as i32).max(self.least()).max(-1022))
    }
}
