// tidy: table
//! Enumerations of public Direct3D 12 that the calls take; values as published.

use super::value_enum;

value_enum! {
    /// How a wait compares. Waits are unsigned; NEVER is refused.
    D3D12_COMPARISON_FUNC, prefix "D3D12_COMPARISON_FUNC_" {
        /// Never true.
        NEVER = D3D12_COMPARISON_FUNC_NEVER = 1;
        /// Memory is less than the reference.
        LESS = D3D12_COMPARISON_FUNC_LESS = 2;
        /// Memory equals the reference.
        EQUAL = D3D12_COMPARISON_FUNC_EQUAL = 3;
        /// Memory is at most the reference.
        LESS_EQUAL = D3D12_COMPARISON_FUNC_LESS_EQUAL = 4;
        /// Memory is above the reference.
        GREATER = D3D12_COMPARISON_FUNC_GREATER = 5;
        /// Memory differs from the reference.
        NOT_EQUAL = D3D12_COMPARISON_FUNC_NOT_EQUAL = 6;
        /// Memory is at least the reference.
        GREATER_EQUAL = D3D12_COMPARISON_FUNC_GREATER_EQUAL = 7;
        /// Always true.
        ALWAYS = D3D12_COMPARISON_FUNC_ALWAYS = 8;
    }
}

impl D3D12_COMPARISON_FUNC {
    /// True if a wait with this function ends for `value` in memory.
    pub const fn holds(self, value: u64, reference: u64) -> bool {
        match self {
            Self::NEVER => false,
            Self::LESS => value < reference,
            Self::EQUAL => value == reference,
            Self::LESS_EQUAL => value <= reference,
            Self::GREATER => value > reference,
            Self::NOT_EQUAL => value != reference,
            Self::GREATER_EQUAL => value >= reference,
            Self::ALWAYS => true,
        }
    }

    /// The packet's FUNCTION code, which has another order (`hardware/pm4.md`
    /// section 5); NEVER has none.
    pub const fn packet_code(self) -> Option<u32> {
        match self {
            Self::NEVER => None,
            Self::LESS => Some(1),
            Self::EQUAL => Some(3),
            Self::LESS_EQUAL => Some(2),
            Self::GREATER => Some(6),
            Self::NOT_EQUAL => Some(4),
            Self::GREATER_EQUAL => Some(5),
            Self::ALWAYS => Some(0),
        }
    }
}

value_enum! {
    /// How a sampler filters. The comparison variants add 0x80.
    D3D12_FILTER, prefix "D3D12_FILTER_" {
        /// Nearest texel, nearest level.
        MIN_MAG_MIP_POINT = D3D12_FILTER_MIN_MAG_MIP_POINT = 0x00;
        /// Nearest texel, linear between levels.
        MIN_MAG_POINT_MIP_LINEAR = D3D12_FILTER_MIN_MAG_POINT_MIP_LINEAR = 0x01;
        /// Linear only when magnified, nearest level.
        MIN_POINT_MAG_LINEAR_MIP_POINT = D3D12_FILTER_MIN_POINT_MAG_LINEAR_MIP_POINT = 0x04;
        /// Linear when magnified, and between levels.
        MIN_POINT_MAG_MIP_LINEAR = D3D12_FILTER_MIN_POINT_MAG_MIP_LINEAR = 0x05;
        /// Linear only when minified, nearest level.
        MIN_LINEAR_MAG_MIP_POINT = D3D12_FILTER_MIN_LINEAR_MAG_MIP_POINT = 0x10;
        /// Linear when minified, and between levels.
        MIN_LINEAR_MAG_POINT_MIP_LINEAR = D3D12_FILTER_MIN_LINEAR_MAG_POINT_MIP_LINEAR = 0x11;
        /// Linear between texels, nearest level.
        MIN_MAG_LINEAR_MIP_POINT = D3D12_FILTER_MIN_MAG_LINEAR_MIP_POINT = 0x14;
        /// Linear between texels and levels.
        MIN_MAG_MIP_LINEAR = D3D12_FILTER_MIN_MAG_MIP_LINEAR = 0x15;
        /// Nearest texel, nearest level; texels are compared.
        COMPARISON_MIN_MAG_MIP_POINT = D3D12_FILTER_COMPARISON_MIN_MAG_MIP_POINT = 0x80;
        /// Nearest texel, linear between levels; texels are compared.
        COMPARISON_MIN_MAG_POINT_MIP_LINEAR = D3D12_FILTER_COMPARISON_MIN_MAG_POINT_MIP_LINEAR = 0x81;
        /// Linear only when magnified, nearest level; texels are compared.
        COMPARISON_MIN_POINT_MAG_LINEAR_MIP_POINT = D3D12_FILTER_COMPARISON_MIN_POINT_MAG_LINEAR_MIP_POINT = 0x84;
        /// Linear when magnified, and between levels; texels are compared.
        COMPARISON_MIN_POINT_MAG_MIP_LINEAR = D3D12_FILTER_COMPARISON_MIN_POINT_MAG_MIP_LINEAR = 0x85;
        /// Linear only when minified, nearest level; texels are compared.
        COMPARISON_MIN_LINEAR_MAG_MIP_POINT = D3D12_FILTER_COMPARISON_MIN_LINEAR_MAG_MIP_POINT = 0x90;
        /// Linear when minified, and between levels; texels are compared.
        COMPARISON_MIN_LINEAR_MAG_POINT_MIP_LINEAR = D3D12_FILTER_COMPARISON_MIN_LINEAR_MAG_POINT_MIP_LINEAR = 0x91;
        /// Linear between texels, nearest level; texels are compared.
        COMPARISON_MIN_MAG_LINEAR_MIP_POINT = D3D12_FILTER_COMPARISON_MIN_MAG_LINEAR_MIP_POINT = 0x94;
        /// Linear between texels and levels; texels are compared.
        COMPARISON_MIN_MAG_MIP_LINEAR = D3D12_FILTER_COMPARISON_MIN_MAG_MIP_LINEAR = 0x95;
    }
}

value_enum! {
    /// What a sampler does outside 0..1.
    D3D12_TEXTURE_ADDRESS_MODE, prefix "D3D12_TEXTURE_ADDRESS_MODE_" {
        /// Repeats.
        WRAP = D3D12_TEXTURE_ADDRESS_MODE_WRAP = 1;
        /// Repeats, every second one mirrored.
        MIRROR = D3D12_TEXTURE_ADDRESS_MODE_MIRROR = 2;
        /// The edge texel.
        CLAMP = D3D12_TEXTURE_ADDRESS_MODE_CLAMP = 3;
        /// The border colour.
        BORDER = D3D12_TEXTURE_ADDRESS_MODE_BORDER = 4;
        /// Mirrored once, then the edge texel.
        MIRROR_ONCE = D3D12_TEXTURE_ADDRESS_MODE_MIRROR_ONCE = 5;
    }
}
