//! Code objects: kernels as bytes in GPU memory.
//!
//! A kernel is loaded as lines of 64 bytes: magic, kernel id, line number and
//! line count in the first four words of every line, then words that stand for
//! the instructions. A dispatch names a program address; the bytes there, not
//! the address, say which kernel runs. Lines of several kernels, or anything
//! else, are a fault.

use std::sync::Arc;
use wavefence_base::{GpuAddress, KernelId, Limit, WaveSize};
use wavefence_shader::ir::Kernel;
use wavefence_wave::exec::{Executor, Program};

/// Alignment of code objects: COMPUTE_PGM holds the address without its low 8
/// bits.
pub const CODE_ALIGNMENT: u64 = 256;

/// Bytes of a line: one line of the instruction cache.
pub(crate) const LINE: usize = 64;

/// First word of every line.
const MAGIC: u32 = 0x4B46_5601;

/// Bytes per IR statement: what an instruction takes on this hardware at most.
const BYTES_PER_STATEMENT: usize = 8;

/// A kernel that a device knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedKernel {
    /// Its number on this device.
    pub id: KernelId,
    /// Where its code object lies; goes into COMPUTE_PGM shifted right by 8.
    pub code: GpuAddress,
}

/// One kernel with what is made from it once.
pub(crate) struct Entry {
    pub(crate) kernel: Arc<Kernel>,
    /// Ordered operations of a wave, if the text fixes their number.
    pub(crate) ordered_operations: Option<u32>,
    programs: [Option<Arc<dyn Program>>; 2],
}

/// Every kernel of a device.
pub(crate) struct Kernels {
    executor: Arc<dyn Executor>,
    entries: Vec<Entry>,
}

/// The bytes at a program address are no kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadCode {
    /// The first line is none of ours.
    NoKernel,
    /// Line `line` belongs to something else than line 0.
    Torn {
        /// Its number.
        line: u32,
    },
}

impl Kernels {
    pub(crate) fn new(executor: Arc<dyn Executor>) -> Self {
        Self { executor, entries: Vec::new() }
    }

    /// Gives the next kernel its id.
    pub(crate) fn add(&mut self, kernel: Arc<Kernel>) -> KernelId {
        let id = KernelId(self.entries.len() as u32);
        let ordered_operations = crate::dispatch::ordered_operations(&kernel);
        self.entries.push(Entry { kernel, ordered_operations, programs: [None, None] });
        id
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Forgets all but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.entries.truncate(len);
    }

    /// The kernel `id`, which must exist.
    pub(crate) fn entry(&self, id: KernelId) -> &Entry {
        &self.entries[id.index()]
    }

    /// The program of a kernel for a wave size, prepared on first use.
    pub(crate) fn program(
        &mut self,
        id: KernelId,
        size: WaveSize,
    ) -> Result<Arc<dyn Program>, Limit> {
        let entry = &mut self.entries[id.index()];
        let slot = &mut entry.programs[usize::from(size == WaveSize::W64)];
        if let Some(program) = slot {
            return Ok(program.clone());
        }
        let program = self.executor.prepare(&entry.kernel, size)?;
        *slot = Some(program.clone());
        Ok(program)
    }

    /// Which kernel the bytes that `fetch` reads are. `fetch(line, count)` gives the
    /// words of lines; fewer or zeros where nothing is mapped.
    pub(crate) fn identify(
        &self,
        mut fetch: impl FnMut(u32, u32) -> Vec<u32>,
    ) -> Result<KernelId, BadCode> {
        let mut words = fetch(0, 1);
        let Some(&[magic, id, 0, lines]) = words.first_chunk() else {
            return Err(BadCode::NoKernel);
        };
        if magic != MAGIC || id as usize >= self.entries.len() || lines == 0 {
            return Err(BadCode::NoKernel);
        }
        let kernel = &self.entries[id as usize].kernel;
        if lines as usize != line_count(kernel) {
            return Err(BadCode::NoKernel);
        }
        if lines > 1 {
            words.extend(fetch(1, lines - 1));
        }
        for line in 0..lines {
            let at = line as usize * (LINE / 4);
            let want = line_words(KernelId(id), line, lines);
            if words.get(at..at + LINE / 4) != Some(&want[..]) {
                return Err(BadCode::Torn { line });
            }
        }
        Ok(KernelId(id))
    }
}

fn line_count(kernel: &Kernel) -> usize {
    let mut statements = 0;
    kernel.walk(&mut |_| statements += 1);
    ((statements + 1) * BYTES_PER_STATEMENT).div_ceil(LINE - 16)
}

fn line_words(id: KernelId, line: u32, lines: u32) -> [u32; LINE / 4] {
    std::array::from_fn(|word| match word {
        0 => MAGIC,
        1 => id.0,
        2 => line,
        3 => lines,
        // Stands for instructions: differs from kernel to kernel and line to line.
        n => (id.0 << 20 ^ line << 4 ^ n as u32).wrapping_mul(0x9E37_79B1),
    })
}

/// The code object of a kernel.
pub(crate) fn code_object(kernel: &Kernel, id: KernelId) -> Vec<u8> {
    let lines = line_count(kernel) as u32;
    (0..lines).flat_map(|l| line_words(id, l, lines)).flat_map(u32::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fake;

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    }

    fn identify(kernels: &Kernels, code: &[u32]) -> Result<KernelId, BadCode> {
        kernels.identify(|line, count| {
            let (at, words) = (line as usize * (LINE / 4), count as usize * (LINE / 4));
            (at..at + words).map(|i| code.get(i).copied().unwrap_or(0)).collect()
        })
    }

    #[test]
    fn bytes_pick_the_kernel_and_a_mixture_is_none() {
        let mut kernels = Kernels::new(fake::executor());
        let big = fake::kernel(50);
        let a = kernels.add(big.clone());
        let b = kernels.add(big.clone());
        let code_a = words(&code_object(&big, a));
        let mut code_b = words(&code_object(&big, b));
        assert!(code_a.len() > 2 * LINE / 4);
        assert_eq!(identify(&kernels, &code_a), Ok(a));
        assert_eq!(identify(&kernels, &code_b), Ok(b));
        let second = LINE / 4..2 * LINE / 4;
        code_b[second.clone()].copy_from_slice(&code_a[second]);
        assert_eq!(identify(&kernels, &code_b), Err(BadCode::Torn { line: 1 }));
        assert_eq!(identify(&kernels, &[0; 64]), Err(BadCode::NoKernel));
    }

    #[test]
    fn length_grows_with_the_kernel() {
        let small = code_object(&fake::kernel(1), KernelId(0)).len();
        let large = code_object(&fake::kernel(100), KernelId(0)).len();
        assert!(large > 10 * small);
    }
}
