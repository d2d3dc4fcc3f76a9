//! Counting, searching, reversing and extracting bits.

/// Number of set bits.
#[inline(always)]
pub fn bitcount(a: u32) -> u32 {
    a.count_ones()
}

/// Bits in reverse order.
#[inline(always)]
pub fn bitreverse(a: u32) -> u32 {
    a.reverse_bits()
}

/// Lowest set bit, or all ones.
#[inline(always)]
pub fn findlsb(a: u32) -> u32 {
    if a == 0 { u32::MAX } else { a.trailing_zeros() }
}

/// Highest set bit, or all ones.
#[inline(always)]
pub fn findumsb(a: u32) -> u32 {
    31u32.wrapping_sub(a.leading_zeros())
}

/// Highest bit that differs from the sign, or all ones.
#[inline(always)]
pub fn findsmsb(a: u32) -> u32 {
    findumsb(a ^ ((a as i32) >> 31) as u32)
}

/// `c` bits of `a` from bit `b`, sign-extended.
#[inline(always)]
pub fn bfsextract(a: u32, b: u32, c: u32) -> u32 {
    if c == 0 {
        return 0;
    }
    let (from, count) = (b.min(32), c.min(32));
    // In 64 bits a field that reaches past bit 31 reads the sign there.
    let shifted = i64::from(a as i32) >> from;
    (shifted << (64 - count) >> (64 - count)) as u32
}

/// `c` bits of `a` from bit `b`, zero-extended.
#[inline(always)]
pub fn bfuextract(a: u32, b: u32, c: u32) -> u32 {
    let (from, count) = (b.min(32), c.min(32));
    ((u64::from(a) >> from) & ((1u64 << count) - 1)) as u32
}
