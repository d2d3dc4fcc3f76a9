//! Enumerations and constants with their Direct3D names: one list per type, from
//! which the type, its free constants, parsing and printing come.
//!
//! A flag or value can be written with its whole name or without the type's
//! prefix, in any letter case; flags are joined with `|`. `Display` prints without
//! the prefix, `{:#}` with it.

mod d3d12;
mod dispatch;
mod flush;
mod flush11;
mod pipe11;
mod state;

pub use d3d12::*;
pub use dispatch::*;
pub use flush::*;
pub use flush11::*;
pub use pipe11::*;
pub use state::*;

/// A flag or value name that no entry of its list has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {of}{hint}")]
pub struct NameError {
    /// What was written.
    pub text: String,
    /// The type that has no such name.
    pub of: &'static str,
    /// The nearest name, as `; did you mean …?`, or empty.
    pub hint: String,
}

/// Declares a set of flags: `SHORT = FULL_NAME = value`.
macro_rules! flag_set {
    (
        $(#[$doc:ident $($docs:tt)*])*
        $type:ident : $repr:ty, prefix $prefix:literal {
            $($(#[$d:ident $($ds:tt)*])* $short:ident = $full:ident = $value:expr;)*
        }
    ) => {
        bitflags::bitflags! {
            $(#[$doc $($docs)*])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
            #[allow(non_camel_case_types, reason = "the field's own spelling")]
            pub struct $type: $repr {
                $($(#[$d $($ds)*])* const $short = $value;)*
            }
        }

        $($(#[$d $($ds)*])* pub const $full: $type = $type::$short;)*

        impl $type {
            /// Prefix of every name.
            pub const PREFIX: &'static str = $prefix;

            /// Every entry: the whole name and the value, in the page's order.
            pub const NAMES: &'static [(&'static str, $repr)] =
                &[$((stringify!($full), $value)),*];

            /// The set that `text` names: names joined with `|`.
            ///
            /// # Errors
            /// Names the first word that is no flag, and the nearest one.
            pub fn parse(text: &str) -> Result<Self, $crate::enums::NameError> {
                let names = Self::NAMES.iter().map(|&(n, v)| (n, u64::from(v)));
                let bits = $crate::enums::parse_flags(text, Self::PREFIX, stringify!($type), names)?;
                Ok(Self::from_bits_retain(bits as $repr))
            }

            /// Bits that no entry names.
            pub const fn unknown(self) -> $repr {
                let mut known = 0;
                let mut i = 0;
                while i < Self::NAMES.len() {
                    known |= Self::NAMES[i].1;
                    i += 1;
                }
                self.bits() & !known
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let names = Self::NAMES.iter().map(|&(n, v)| (n, u64::from(v)));
                f.write_str(&$crate::enums::print_flags(
                    u64::from(self.bits()), Self::PREFIX, f.alternate(), names,
                ))
            }
        }
    };
}
pub(crate) use flag_set;

/// Declares a plain enumeration: `SHORT = FULL_NAME = value`.
macro_rules! value_enum {
    (
        $(#[$doc:meta])*
        $type:ident, prefix $prefix:literal {
            $($(#[$d:meta])* $short:ident = $full:ident = $value:expr;)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types, reason = "the field's own spelling")]
        #[repr(u32)]
        pub enum $type {
            $($(#[$d])* $short = $value,)*
        }

        $($(#[$d])* pub const $full: $type = $type::$short;)*

        impl $type {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$short),*];

            /// Prefix of every name.
            pub const PREFIX: &'static str = $prefix;

            /// The whole name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$short => stringify!($full)),* }
            }

            /// The name without its prefix.
            pub const fn short_name(self) -> &'static str {
                match self { $(Self::$short => stringify!($short)),* }
            }

            /// The number.
            pub const fn value(self) -> u32 {
                self as u32
            }

            /// The value with that number.
            pub fn from_value(value: u32) -> Option<Self> {
                Self::ALL.iter().copied().find(|v| v.value() == value)
            }

            /// The value of that name, with or without prefix.
            ///
            /// # Errors
            /// Names the word and the nearest name.
            pub fn parse(text: &str) -> Result<Self, $crate::enums::NameError> {
                let names = Self::ALL.iter().map(|v| (v.name(), u64::from(v.value())));
                let value = $crate::enums::parse_word(
                    text.trim(), Self::PREFIX, stringify!($type), names,
                )?;
                Ok(Self::ALL.iter().copied().find(|v| u64::from(v.value()) == value)
                    .unwrap_or(Self::ALL[0]))
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(if f.alternate() { self.name() } else { self.short_name() })
            }
        }
    };
}
pub(crate) use value_enum;

/// The value of one word.
fn parse_word(
    word: &str,
    prefix: &str,
    of: &'static str,
    names: impl Iterator<Item = (&'static str, u64)> + Clone,
) -> Result<u64, NameError> {
    let same = |name: &str| {
        name.eq_ignore_ascii_case(word)
            || name.strip_prefix(prefix).is_some_and(|short| short.eq_ignore_ascii_case(word))
    };
    if let Some((_, value)) = names.clone().find(|(name, _)| same(name)) {
        return Ok(value);
    }
    let short = |name: &'static str| name.strip_prefix(prefix).unwrap_or(name);
    let wanted = word.to_ascii_uppercase();
    let wanted = wanted.strip_prefix(prefix).unwrap_or(&wanted);
    let near = names
        .map(|(name, _)| (distance(wanted, short(name)), name))
        .min()
        .filter(|&(d, name)| d <= short(name).len() / 3);
    let hint = near.map_or(String::new(), |(_, n)| format!("; did you mean {}?", short(n)));
    Err(NameError { text: word.to_owned(), of, hint })
}

/// The bits of words joined with `|`. `0` and nothing at all are the empty set.
fn parse_flags(
    text: &str,
    prefix: &str,
    of: &'static str,
    names: impl Iterator<Item = (&'static str, u64)> + Clone,
) -> Result<u64, NameError> {
    if matches!(text.trim(), "" | "0") {
        return Ok(0);
    }
    text.split('|')
        .try_fold(0, |bits, word| Ok(bits | parse_word(word.trim(), prefix, of, names.clone())?))
}

/// Single flags that are set, in list order; bits without a name as a number.
fn print_flags(
    bits: u64,
    prefix: &str,
    whole: bool,
    names: impl Iterator<Item = (&'static str, u64)> + Clone,
) -> String {
    let word = |name: &'static str| match name.strip_prefix(prefix) {
        Some(short) if !whole => short,
        _ => name,
    };
    if bits == 0 {
        return names.clone().find(|&(_, v)| v == 0).map_or("0", |(n, _)| word(n)).to_owned();
    }
    let mut rest = bits;
    let mut out = Vec::new();
    for (name, value) in names {
        if value.is_power_of_two() && rest & value != 0 {
            rest &= !value;
            out.push(word(name).to_owned());
        }
    }
    if rest != 0 {
        out.push(format!("{rest:#x}"));
    }
    out.join(" | ")
}

/// Edits between two words (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_with_and_without_prefix_and_print_back() {
        let set = D3D12XBOX_FLUSH::parse("BOP_CS_PARTIAL | D3D12XBOX_FLUSH_TOP_PFP").unwrap();
        assert_eq!(set, D3D12XBOX_FLUSH_BOP_CS_PARTIAL | D3D12XBOX_FLUSH_TOP_PFP);
        assert_eq!(set.to_string(), "BOP_CS_PARTIAL | TOP_PFP");
        assert_eq!(format!("{set:#}"), "D3D12XBOX_FLUSH_BOP_CS_PARTIAL | D3D12XBOX_FLUSH_TOP_PFP");
        assert_eq!(D3D12XBOX_FLUSH::parse(" none ").unwrap(), D3D12XBOX_FLUSH::empty());
        assert_eq!(D3D12XBOX_FLUSH::empty().to_string(), "NONE");
        assert_eq!(D3D12XBOX_FLUSH::from_bits_retain(1 << 11).to_string(), "0x800");
    }

    #[test]
    fn a_wrong_name_is_refused_with_the_nearest_one() {
        let error = D3D12XBOX_DISPATCH_FLAGS::parse("W32 | ENABLE_OUT_OF_ODER").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`ENABLE_OUT_OF_ODER` is no D3D12XBOX_DISPATCH_FLAGS; did you mean ENABLE_OUT_OF_ORDER?"
        );
        assert!(D3D12_COMPARISON_FUNC::parse("SOMETIMES").unwrap_err().hint.is_empty());
        assert!(D3D11_FLUSH::parse("DEFAULT |").is_err());
    }

    fn check_list<T: Copy + Into<u64>>(prefix: &str, names: &[(&str, T)]) {
        let mut seen = 0u64;
        for &(name, value) in names {
            let value: u64 = value.into();
            assert!(name.starts_with(prefix), "{name}");
            if value.is_power_of_two() {
                assert_eq!(seen & value, 0, "{name} shares its bit");
                seen |= value;
            } else {
                assert_eq!(seen & value, value, "{name} is made of flags above it");
            }
        }
    }

    #[test]
    fn every_flag_has_its_own_bit_and_masks_are_made_of_flags() {
        check_list(D3D11_FLUSH::PREFIX, D3D11_FLUSH::NAMES);
        check_list(D3D12XBOX_FLUSH::PREFIX, D3D12XBOX_FLUSH::NAMES);
        check_list(D3D12XBOX_DISPATCH_FLAGS::PREFIX, D3D12XBOX_DISPATCH_FLAGS::NAMES);
        check_list(D3D12XBOX_WRITE_VALUE_BOP_FLAGS::PREFIX, D3D12XBOX_WRITE_VALUE_BOP_FLAGS::NAMES);
    }
}
