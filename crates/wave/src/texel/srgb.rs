//! The sRGB curve at 8 bits.

/// Fifth root of a number from 0 to 1, by Newton's method from above.
const fn fifth_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let mut y = 1.0;
    loop {
        let next = (4.0 * y + x / (y * y * y * y)) / 5.0;
        if next >= y {
            return y;
        }
        y = next;
    }
}

/// Linear value of a coded one, both 0 to 1.
const fn linear(coded: f64) -> f64 {
    if coded <= 0.04045 {
        return coded / 12.92;
    }
    let t = (coded + 0.055) / 1.055;
    // t to the power 2.4.
    t * t * fifth_root(t * t)
}

const LINEAR: [f32; 256] = {
    let mut table = [0.0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = linear(i as f64 / 255.0) as f32;
        i += 1;
    }
    table
};

/// Entry i: from here on the code is above i. The curve rises, so rounding the
/// coded value to nearest is the same as comparing the linear one with these.
const STEPS: [f64; 255] = {
    let mut table = [0.0; 255];
    let mut i = 0;
    while i < 255 {
        table[i] = linear((i as f64 + 0.5) / 255.0);
        i += 1;
    }
    table
};

/// Linear value of an 8-bit code.
pub(super) fn decode(code: u8) -> f32 {
    LINEAR[usize::from(code)]
}

/// The 8-bit code nearest to a linear value; NaN gives 0.
pub(super) fn encode(v: f32) -> u8 {
    STEPS.partition_point(|&step| step <= f64::from(v)) as u8
}
