//! Integer arithmetic, logic, bits and comparisons on 8, 16 and 64 bits.

/// The ops on one width: `$u` and `$s` are its types, `$wu` and `$ws` types that
/// hold a product.
macro_rules! ints {
    ($(#[$doc:meta])* $module:ident: $u:ident $s:ident $wu:ident $ws:ident) => {
        $(#[$doc])*
        pub mod $module {
            #![allow(missing_docs, reason = "each is the op of that name")]

            const BITS: u32 = $u::BITS;

            #[inline(always)]
            pub fn not(a: $u) -> $u {
                !a
            }
            #[inline(always)]
            pub fn ineg(a: $u) -> $u {
                a.wrapping_neg()
            }
            #[inline(always)]
            pub fn iabs(a: $u) -> $u {
                (a as $s).wrapping_abs() as $u
            }
            #[inline(always)]
            pub fn isign(a: $u) -> $u {
                (a as $s).signum() as $u
            }
            #[inline(always)]
            pub fn bitcount(a: $u) -> $u {
                a.count_ones() as $u
            }
            #[inline(always)]
            pub fn bitreverse(a: $u) -> $u {
                a.reverse_bits()
            }
            #[inline(always)]
            pub fn findlsb(a: $u) -> $u {
                if a == 0 { $u::MAX } else { a.trailing_zeros() as $u }
            }
            #[inline(always)]
            pub fn findumsb(a: $u) -> $u {
                if a == 0 { $u::MAX } else { (BITS - 1 - a.leading_zeros()) as $u }
            }
            #[inline(always)]
            pub fn findsmsb(a: $u) -> $u {
                findumsb(a ^ ((a as $s) >> (BITS - 1)) as $u)
            }
            #[inline(always)]
            pub fn copy(a: $u) -> $u {
                a
            }
            #[inline(always)]
            pub fn iadd(a: $u, b: $u) -> $u {
                a.wrapping_add(b)
            }
            #[inline(always)]
            pub fn isub(a: $u, b: $u) -> $u {
                a.wrapping_sub(b)
            }
            #[inline(always)]
            pub fn imul(a: $u, b: $u) -> $u {
                a.wrapping_mul(b)
            }
            #[inline(always)]
            pub fn umulhi(a: $u, b: $u) -> $u {
                (($wu::from(a) * $wu::from(b)) >> BITS) as $u
            }
            #[inline(always)]
            pub fn smulhi(a: $u, b: $u) -> $u {
                (($ws::from(a as $s) * $ws::from(b as $s)) >> BITS) as $u
            }
            #[inline(always)]
            pub fn udiv(a: $u, b: $u) -> $u {
                a.checked_div(b).unwrap_or($u::MAX)
            }
            #[inline(always)]
            pub fn sdiv(a: $u, b: $u) -> $u {
                if b == 0 { $u::MAX } else { (a as $s).wrapping_div(b as $s) as $u }
            }
            #[inline(always)]
            pub fn umod(a: $u, b: $u) -> $u {
                a.checked_rem(b).unwrap_or($u::MAX)
            }
            #[inline(always)]
            pub fn srem(a: $u, b: $u) -> $u {
                if b == 0 { $u::MAX } else { (a as $s).wrapping_rem(b as $s) as $u }
            }
            #[inline(always)]
            pub fn smod(a: $u, b: $u) -> $u {
                if b == 0 {
                    return $u::MAX;
                }
                let r = (a as $s).wrapping_rem(b as $s);
                let fix = r != 0 && (r ^ b as $s) < 0;
                if fix { r.wrapping_add(b as $s) as $u } else { r as $u }
            }
            #[inline(always)]
            pub fn ucarry(a: $u, b: $u) -> $u {
                $u::from(a.wrapping_add(b) < a)
            }
            #[inline(always)]
            pub fn uborrow(a: $u, b: $u) -> $u {
                $u::from(a < b)
            }
            #[inline(always)]
            pub fn and(a: $u, b: $u) -> $u {
                a & b
            }
            #[inline(always)]
            pub fn or(a: $u, b: $u) -> $u {
                a | b
            }
            #[inline(always)]
            pub fn xor(a: $u, b: $u) -> $u {
                a ^ b
            }
            #[inline(always)]
            pub fn shl(a: $u, b: $u) -> $u {
                a.wrapping_shl(b as u32)
            }
            #[inline(always)]
            pub fn shrl(a: $u, b: $u) -> $u {
                a.wrapping_shr(b as u32)
            }
            #[inline(always)]
            pub fn shra(a: $u, b: $u) -> $u {
                (a as $s).wrapping_shr(b as u32) as $u
            }
            #[inline(always)]
            pub fn umin(a: $u, b: $u) -> $u {
                a.min(b)
            }
            #[inline(always)]
            pub fn umax(a: $u, b: $u) -> $u {
                a.max(b)
            }
            #[inline(always)]
            pub fn smin(a: $u, b: $u) -> $u {
                (a as $s).min(b as $s) as $u
            }
            #[inline(always)]
            pub fn smax(a: $u, b: $u) -> $u {
                (a as $s).max(b as $s) as $u
            }
            #[inline(always)]
            pub fn ieq(a: $u, b: $u) -> bool {
                a == b
            }
            #[inline(always)]
            pub fn ine(a: $u, b: $u) -> bool {
                a != b
            }
            #[inline(always)]
            pub fn ult(a: $u, b: $u) -> bool {
                a < b
            }
            #[inline(always)]
            pub fn ule(a: $u, b: $u) -> bool {
                a <= b
            }
            #[inline(always)]
            pub fn ugt(a: $u, b: $u) -> bool {
                a > b
            }
            #[inline(always)]
            pub fn uge(a: $u, b: $u) -> bool {
                a >= b
            }
            #[inline(always)]
            pub fn slt(a: $u, b: $u) -> bool {
                (a as $s) < b as $s
            }
            #[inline(always)]
            pub fn sle(a: $u, b: $u) -> bool {
                a as $s <= b as $s
            }
            #[inline(always)]
            pub fn sgt(a: $u, b: $u) -> bool {
                a as $s > b as $s
            }
            #[inline(always)]
            pub fn sge(a: $u, b: $u) -> bool {
                a as $s >= b as $s
            }
            #[inline(always)]
            pub fn select(a: bool, b: $u, c: $u) -> $u {
                if a { b } else { c }
            }
            /// `c` bits of `a` from bit `b`, sign-extended. A field that reaches
            /// past the top reads the sign there.
            #[inline(always)]
            pub fn bfsextract(a: $u, b: u32, c: u32) -> $u {
                if c == 0 {
                    return 0;
                }
                let (from, count) = (b.min(BITS - 1), c.min(BITS));
                let shifted = (a as $s) >> from;
                (shifted << (BITS - count) >> (BITS - count)) as $u
            }
            /// `c` bits of `a` from bit `b`, zero-extended.
            #[inline(always)]
            pub fn bfuextract(a: $u, b: u32, c: u32) -> $u {
                let shifted = a.checked_shr(b).unwrap_or(0);
                if c < BITS { shifted & ((1 << c) - 1) } else { shifted }
            }
        }
    };
}

ints! {
    /// On 8 bits.
    b8: u8 i8 u16 i16
}
ints! {
    /// On 16 bits.
    b16: u16 i16 u32 i32
}
ints! {
    /// On 64 bits.
    b64: u64 i64 u128 i128
}
