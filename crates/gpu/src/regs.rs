//! Registers as the SET packets write them, one file per queue.
//!
//! Shader registers are what a dispatch reads. Every other register keeps its
//! value, so that COPY_DATA and WAIT_REG_MEM can read it back; nothing else
//! looks at it in this version.

use std::collections::BTreeMap;
use wavefence_base::GpuAddress;
use wavefence_pm4::{RegSpace, reg};

const SH_COUNT: usize = (RegSpace::Sh.last() - RegSpace::Sh.base() + 1) as usize;

/// One queue's registers, by whole dword index. Registers start as 0.
#[derive(Clone, Debug)]
pub(crate) struct Regs {
    sh: Box<[u32; SH_COUNT]>,
    other: BTreeMap<u32, u32>,
}

impl Default for Regs {
    fn default() -> Self {
        Self { sh: Box::new([0; SH_COUNT]), other: BTreeMap::new() }
    }
}

impl Regs {
    /// The value of register `index`.
    pub(crate) fn get(&self, index: u32) -> u32 {
        match self.sh_slot(index) {
            Some(slot) => self.sh[slot],
            None => self.other.get(&index).copied().unwrap_or(0),
        }
    }

    /// Writes register `index`.
    pub(crate) fn set(&mut self, index: u32, value: u32) {
        match self.sh_slot(index) {
            Some(slot) => self.sh[slot] = value,
            None => {
                self.other.insert(index, value);
            }
        }
    }

    /// Context registers back to 0.
    pub(crate) fn clear_context(&mut self) {
        let context = RegSpace::Context.base()..=RegSpace::Context.last();
        self.other.retain(|index, _| !context.contains(index));
    }

    fn sh_slot(&self, index: u32) -> Option<usize> {
        (RegSpace::Sh.base()..=RegSpace::Sh.last())
            .contains(&index)
            .then(|| (index - RegSpace::Sh.base()) as usize)
    }

    /// Three registers in a row.
    pub(crate) fn triple(&self, first: u32) -> [u32; 3] {
        [self.get(first), self.get(first + 1), self.get(first + 2)]
    }

    /// The program address: COMPUTE_PGM holds it without its low 8 bits.
    pub(crate) fn program(&self) -> GpuAddress {
        let lo = u64::from(self.get(reg::COMPUTE_PGM_LO));
        let hi = u64::from(self.get(reg::COMPUTE_PGM_HI) & 0xFF);
        GpuAddress((hi << 32 | lo) << 8)
    }

    /// The descriptor table: user data 0 and 1.
    pub(crate) fn table(&self) -> GpuAddress {
        GpuAddress::from_parts(
            self.get(reg::COMPUTE_USER_DATA_0),
            self.get(reg::COMPUTE_USER_DATA_1),
        )
    }

    /// Root constants: user data 2 to 15.
    pub(crate) fn root_constants(&self) -> [u32; 14] {
        std::array::from_fn(|i| self.get(reg::COMPUTE_USER_DATA_2 + i as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_address_has_no_low_byte() {
        let mut regs = Regs::default();
        regs.set(reg::COMPUTE_PGM_LO, 0x1234_5678);
        regs.set(reg::COMPUTE_PGM_HI, 0x9A);
        assert_eq!(regs.program(), GpuAddress(0x9A12_3456_7800));
    }

    #[test]
    fn unknown_registers_keep_their_value() {
        let mut regs = Regs::default();
        assert_eq!(regs.get(0xC07C), 0);
        regs.set(0xC07C, 5);
        assert_eq!(regs.get(0xC07C), 5);
    }
}
