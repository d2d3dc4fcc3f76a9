// tidy: table
//! Texel formats: one list, spelt as the DXGI names without their prefix.

/// How the bits of a component are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComponentKind {
    /// Unsigned, scaled to 0..1.
    Unorm,
    /// Signed, scaled to -1..1.
    Snorm,
    /// Unsigned integer.
    Uint,
    /// Signed integer.
    Sint,
    /// IEEE (or small unsigned) float.
    Float,
    /// Unsigned, scaled, colour components through the sRGB curve.
    Srgb,
}

macro_rules! formats {
    ($($name:ident = $bits:expr, $kind:ident;)*) => {
        /// A texel format. Bits of each component are listed from the lowest
        /// address (and lowest bit) up, in the order the name gives.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types, missing_docs, reason = "the field's own spelling")]
        #[repr(u32)]
        pub enum TexelFormat { $($name),* }

        impl TexelFormat {
            /// Every format.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name, without prefix.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// Bits of each component, in memory order.
            pub const fn component_bits(self) -> &'static [u8] {
                match self { $(Self::$name => &$bits),* }
            }

            /// How components are read.
            pub const fn kind(self) -> ComponentKind {
                match self { $(Self::$name => ComponentKind::$kind),* }
            }
        }
    };
}

formats! {
    R32G32B32A32_FLOAT = [32, 32, 32, 32], Float;
    R32G32B32A32_UINT = [32, 32, 32, 32], Uint;
    R32G32B32A32_SINT = [32, 32, 32, 32], Sint;
    R32G32B32_FLOAT = [32, 32, 32], Float;
    R32G32B32_UINT = [32, 32, 32], Uint;
    R32G32B32_SINT = [32, 32, 32], Sint;
    R16G16B16A16_FLOAT = [16, 16, 16, 16], Float;
    R16G16B16A16_UNORM = [16, 16, 16, 16], Unorm;
    R16G16B16A16_UINT = [16, 16, 16, 16], Uint;
    R16G16B16A16_SNORM = [16, 16, 16, 16], Snorm;
    R16G16B16A16_SINT = [16, 16, 16, 16], Sint;
    R32G32_FLOAT = [32, 32], Float;
    R32G32_UINT = [32, 32], Uint;
    R32G32_SINT = [32, 32], Sint;
    R10G10B10A2_UNORM = [10, 10, 10, 2], Unorm;
    R10G10B10A2_UINT = [10, 10, 10, 2], Uint;
    R11G11B10_FLOAT = [11, 11, 10], Float;
    R8G8B8A8_UNORM = [8, 8, 8, 8], Unorm;
    R8G8B8A8_UNORM_SRGB = [8, 8, 8, 8], Srgb;
    R8G8B8A8_UINT = [8, 8, 8, 8], Uint;
    R8G8B8A8_SNORM = [8, 8, 8, 8], Snorm;
    R8G8B8A8_SINT = [8, 8, 8, 8], Sint;
    B8G8R8A8_UNORM = [8, 8, 8, 8], Unorm;
    B8G8R8A8_UNORM_SRGB = [8, 8, 8, 8], Srgb;
    R16G16_FLOAT = [16, 16], Float;
    R16G16_UNORM = [16, 16], Unorm;
    R16G16_UINT = [16, 16], Uint;
    R16G16_SNORM = [16, 16], Snorm;
    R16G16_SINT = [16, 16], Sint;
    R32_FLOAT = [32], Float;
    R32_UINT = [32], Uint;
    R32_SINT = [32], Sint;
    R8G8_UNORM = [8, 8], Unorm;
    R8G8_UINT = [8, 8], Uint;
    R8G8_SNORM = [8, 8], Snorm;
    R8G8_SINT = [8, 8], Sint;
    R16_FLOAT = [16], Float;
    R16_UNORM = [16], Unorm;
    R16_UINT = [16], Uint;
    R16_SNORM = [16], Snorm;
    R16_SINT = [16], Sint;
    R8_UNORM = [8], Unorm;
    R8_UINT = [8], Uint;
    R8_SNORM = [8], Snorm;
    R8_SINT = [8], Sint;
    D32_FLOAT = [32], Float;
    D16_UNORM = [16], Unorm;
    R64_UINT = [64], Uint;
    R64_SINT = [64], Sint;
    R64G64_UINT = [64, 64], Uint;
    R64G64_SINT = [64, 64], Sint;
}

impl TexelFormat {
    /// The format of that name; a `DXGI_FORMAT_` prefix is accepted.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.strip_prefix("DXGI_FORMAT_").unwrap_or(name);
        Self::ALL.iter().copied().find(|f| f.name() == name)
    }

    /// Bytes of one texel.
    pub const fn bytes(self) -> u32 {
        let bits = self.component_bits();
        let mut sum = 0;
        let mut i = 0;
        while i < bits.len() {
            sum += bits[i] as u32;
            i += 1;
        }
        sum / 8
    }

    /// Number of components.
    pub const fn components(self) -> u32 {
        self.component_bits().len() as u32
    }

    /// The format with that number, as descriptors carry it.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// The number that descriptors carry.
    pub const fn number(self) -> u32 {
        self as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_consistent() {
        for (i, &f) in TexelFormat::ALL.iter().enumerate() {
            assert_eq!(f.number() as usize, i);
            assert_eq!(TexelFormat::from_number(i as u32), Some(f));
            assert_eq!(TexelFormat::parse(f.name()), Some(f));
            let bits: u32 = f.component_bits().iter().map(|&b| u32::from(b)).sum();
            assert_eq!(bits % 8, 0, "{}", f.name());
        }
        assert_eq!(TexelFormat::R8G8B8A8_UNORM.bytes(), 4);
        assert_eq!(TexelFormat::parse("DXGI_FORMAT_R16_UINT"), Some(TexelFormat::R16_UINT));
    }
}
