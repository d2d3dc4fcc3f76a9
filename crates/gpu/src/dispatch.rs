//! One dispatch: the grid, the order its groups start in, and ordered append.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use wavefence_base::{DispatchId, GpuAddress, GroupLaunch, KernelId, QueueId, WaveSize};
use wavefence_pm4::initiator as bits;
use wavefence_shader::ir::{Block, Inst, Kernel, Stmt};
use wavefence_wave::exec::{self, Program};

/// The groups of a dispatch, x fastest (`hardware/caches.md` 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// First group.
    pub(crate) start: [u32; 3],
    /// Number of groups.
    pub(crate) count: [u32; 3],
    /// Threads of a whole group.
    pub(crate) size: [u32; 3],
    /// Threads of the last group of each dimension.
    pub(crate) last: [u32; 3],
}

/// Why a dispatch cannot run; the sentence goes into a fault.
pub(crate) type Refusal = String;

impl Grid {
    /// What DIM, START and NUM_THREAD registers mean under `initiator`
    /// (`hardware/pm4.md` 1.4 and 3).
    ///
    /// `dims` are the packet's words, `start` COMPUTE_START_*, `threads`
    /// COMPUTE_NUM_THREAD_* (\[15:0\] whole group, \[31:16\] last group).
    pub(crate) fn new(
        initiator: u32,
        dims: [u32; 3],
        start: [u32; 3],
        threads: [u32; 3],
    ) -> Result<Self, Refusal> {
        let on = |bit| initiator & bit != 0;
        let start = if on(bits::FORCE_START_AT_000) { [0; 3] } else { start };
        let size = threads.map(|t| t & 0xFFFF);
        if size.contains(&0) {
            return Err(format!("COMPUTE_NUM_THREAD is {size:?}: a group needs threads"));
        }
        if on(bits::USE_THREAD_DIMENSIONS) {
            if start != [0; 3] {
                return Err(format!(
                    "USE_THREAD_DIMENSIONS with COMPUTE_START {start:?} is undefined; \
                     set FORCE_START_AT_000"
                ));
            }
            let count = std::array::from_fn(|i| dims[i].div_ceil(size[i]));
            let last = std::array::from_fn(|i| match dims[i] % size[i] {
                0 => size[i],
                rest => rest,
            });
            return Ok(Self { start, count, size, last });
        }
        let last = if on(bits::PARTIAL_TG_EN) { threads.map(|t| t >> 16) } else { size };
        if (0..3).any(|i| last[i] == 0 || last[i] > size[i]) {
            return Err(format!(
                "PARTIAL_TG_EN with last-group sizes {last:?} for groups of {size:?}: \
                 each must be from 1 to the group's size"
            ));
        }
        // DIM is an end coordinate: START..DIM run.
        let count = std::array::from_fn(|i| dims[i].saturating_sub(start[i]));
        Ok(Self { start, count, size, last })
    }

    /// Number of groups; saturates.
    pub(crate) fn total(&self) -> u64 {
        let all = self.count.iter().fold(1u128, |n, &c| n * u128::from(c));
        u64::try_from(all).unwrap_or(u64::MAX)
    }

    /// End coordinates.
    pub(crate) fn end(&self) -> [u32; 3] {
        std::array::from_fn(|i| self.start[i] + self.count[i])
    }

    /// Id and threads of the `linear`-th group.
    pub(crate) fn group(&self, linear: u64) -> ([u32; 3], [u32; 3]) {
        let (cx, cy) = (u64::from(self.count[0]), u64::from(self.count[1]));
        let at = [linear % cx, linear / cx % cy, linear / cx / cy].map(|v| v as u32);
        let id = std::array::from_fn(|i| self.start[i] + at[i]);
        let threads = std::array::from_fn(|i| {
            if at[i] + 1 == self.count[i] { self.last[i] } else { self.size[i] }
        });
        (id, threads)
    }
}

/// The order groups start in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaunchOrder {
    /// By linear index.
    InOrder,
    /// `(index * step + first) mod total`: a permutation, as `step` and the
    /// total share no factor.
    Permuted {
        /// Coprime to the total.
        step: u64,
        /// Where it starts.
        first: u64,
    },
}

impl LaunchOrder {
    /// Another order than the first one, chosen by `seed`.
    pub(crate) fn permuted(total: u64, seed: u64) -> Self {
        if total < 2 {
            return Self::InOrder;
        }
        let mix = seed.wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mut step = (total / 2 + 1 + (mix >> 33) % total.max(2)) % total;
        while step == 0 || gcd(step, total) != 1 {
            step = (step + 1) % total;
        }
        // With a step of 1 only the start moves; never start at 0.
        let first = 1 + (mix >> 7) % (total - 1);
        Self::Permuted { step, first }
    }

    /// The linear index of the group that starts as `launch`-th.
    pub(crate) fn linear(self, launch: u64, total: u64) -> u64 {
        match self {
            Self::InOrder => launch,
            Self::Permuted { step, first } => {
                let at = u128::from(launch) * u128::from(step) + u128::from(first);
                (at % u128::from(total)) as u64
            }
        }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Ordered append of a dispatch: whose turn it is.
///
/// A turn passes on when its holder has done all its ordered operations. Where
/// the kernel's text fixes their number (none in a loop) that is after the
/// last; otherwise it is when the holder ends.
#[derive(Debug)]
pub(crate) struct Ordered {
    /// One id per thread group instead of per wave.
    pub(crate) per_group: bool,
    /// Ordered operations that a wave does, if the text fixes it.
    pub(crate) operations: Option<u32>,
    turn: Mutex<Turn>,
    /// Ids handed out so far (per wave: groups start one at a time).
    pub(crate) next_id: AtomicU64,
    /// Moves with every turn: what waited for one may look again.
    epoch: AtomicU64,
}

#[derive(Debug, Default)]
struct Turn {
    next: u64,
    done: BTreeSet<u64>,
}

impl Ordered {
    /// Turns from id 0 on.
    pub(crate) fn new(per_group: bool, operations: Option<u32>) -> Self {
        let (next_id, epoch) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { per_group, operations, turn: Mutex::default(), next_id, epoch }
    }

    /// Runs `act` if it is `id`'s turn.
    pub(crate) fn in_turn<T>(&self, id: u64, act: impl FnOnce() -> T) -> Option<T> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        (turn.next == id).then(act)
    }

    /// Whose turn it is.
    pub(crate) fn next_turn(&self) -> u64 {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).next
    }

    /// `id` is done with its ordered operations.
    pub(crate) fn pass(&self, id: u64) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        turn.done.insert(id);
        loop {
            let next = turn.next;
            if !turn.done.remove(&next) {
                break;
            }
            turn.next += 1;
        }
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// Changes whenever a turn may have moved.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }
}

/// How many ordered operations a wave does, `None` if a loop holds one.
pub(crate) fn ordered_operations(kernel: &Kernel) -> Option<u32> {
    fn count(block: &Block, looped: bool) -> Option<u32> {
        let mut all = 0;
        for stmt in block {
            all += match stmt {
                Stmt::Inst(Inst::OrderedAdd { .. }, _) => (!looped).then_some(1)?,
                Stmt::Inst(..) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => 0,
                Stmt::If { then, els, .. } => count(then, looped)? + count(els, looped)?,
                Stmt::Loop { body, continuing, .. } => {
                    count(body, true)? + count(continuing, true)?
                }
                Stmt::Scope { body, .. } => count(body, looped)?,
                Stmt::Switch { cases, .. } => {
                    cases.iter().try_fold(0, |n, c| Some(n + count(&c.body, looped)?))?
                }
            };
        }
        Some(all)
    }
    count(&kernel.body, false)
}

/// One dispatch that started.
#[derive(Clone)]
pub(crate) struct Dispatch {
    /// Its number.
    pub(crate) id: DispatchId,
    /// The queue that launched it.
    pub(crate) queue: QueueId,
    /// Its number among the dispatches of that queue, from 1.
    pub(crate) seq: u64,
    /// The packet.
    pub(crate) packet: GpuAddress,
    /// The kernel.
    pub(crate) kernel: KernelId,
    /// The kernel made ready.
    pub(crate) program: Arc<dyn Program>,
    /// What is the same for all waves.
    pub(crate) exec: exec::Dispatch,
    /// Its groups.
    pub(crate) grid: Grid,
    /// Number of groups.
    pub(crate) total: u64,
    /// Their order.
    pub(crate) order: LaunchOrder,
    /// Ordered append, if the dispatch hands out ids.
    pub(crate) ordered: Option<Arc<Ordered>>,
    /// COMPUTE_DISPATCH_INITIATOR.
    pub(crate) initiator: u32,
    /// Where the code object lies.
    pub(crate) code: GpuAddress,
    /// Launched out of order, on a queue that can.
    pub(crate) out_of_order: bool,
    /// Waves of the smallest size that the generation has.
    pub(crate) small_waves: bool,
    /// Waves of a group sit on both compute units of a WGP.
    pub(crate) wgp_mode: bool,
    /// Where its counts were read, if it was an indirect one.
    pub(crate) arguments: Option<GpuAddress>,
}

impl Dispatch {
    /// The wave size.
    pub(crate) fn wave_size(&self) -> WaveSize {
        self.program.wave_size()
    }

    /// Waves of a group with `threads`.
    pub(crate) fn waves(&self, threads: [u32; 3]) -> u32 {
        threads.iter().product::<u32>().div_ceil(self.wave_size().lanes())
    }

    /// Waves of a whole group.
    pub(crate) fn full_waves(&self) -> u32 {
        self.waves(self.grid.size)
    }

    /// What a group of so many waves asks of the launchers.
    pub(crate) fn group_launch(&self, waves: u32) -> GroupLaunch {
        GroupLaunch {
            out_of_order: self.out_of_order,
            small_waves: self.small_waves,
            waves,
            size: self.grid.size,
        }
    }

    /// The compute unit of a wave whose group was given `unit`.
    pub(crate) fn unit(&self, unit: usize, wave: u32) -> u32 {
        let unit = unit as u32;
        if self.wgp_mode { (unit & !1) | (wave & 1) } else { unit }
    }

    /// Bytes of group-shared memory.
    pub(crate) fn lds_bytes(&self) -> u32 {
        self.program.kernel().lds_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dims_are_end_coordinates() {
        let threads = [8, 8, 1];
        let g = Grid::new(1, [5, 4, 1], [2, 1, 0], threads).expect("valid");
        assert_eq!((g.start, g.count), ([2, 1, 0], [3, 3, 1]));
        assert_eq!(g.end(), [5, 4, 1]);
        let forced = Grid::new(1 | 4, [5, 4, 1], [2, 1, 0], threads).expect("valid");
        assert_eq!((forced.start, forced.count), ([0, 0, 0], [5, 4, 1]));
        let empty = Grid::new(1, [2, 4, 1], [2, 1, 0], threads).expect("valid");
        assert_eq!(empty.total(), 0);
    }

    #[test]
    fn thread_dimensions_make_partial_groups() {
        let g = Grid::new(1 | 4 | 0x20, [17, 8, 1], [9; 3], [8, 8, 1]).expect("valid");
        assert_eq!((g.count, g.last), ([3, 1, 1], [1, 8, 1]));
        assert_eq!(g.group(2), ([2, 0, 0], [1, 8, 1]));
        assert_eq!(g.group(1), ([1, 0, 0], [8, 8, 1]));
        assert!(Grid::new(1 | 0x20, [17, 8, 1], [1, 0, 0], [8, 8, 1]).is_err());
    }

    #[test]
    fn partial_groups_by_register() {
        let threads = [8 | 3 << 16, 4 | 4 << 16, 1 | 1 << 16];
        let g = Grid::new(1 | 2 | 4, [2, 2, 1], [0; 3], threads).expect("valid");
        assert_eq!(g.group(3), ([1, 1, 0], [3, 4, 1]));
        assert_eq!(g.group(2), ([0, 1, 0], [8, 4, 1]));
        assert!(Grid::new(1 | 2 | 4, [2, 2, 1], [0; 3], [8, 4, 1]).is_err());
        let wide = [8 | 9 << 16, 4 | 4 << 16, 1 | 1 << 16];
        assert!(Grid::new(1 | 2 | 4, [2, 2, 1], [0; 3], wide).is_err());
    }

    #[test]
    fn groups_start_x_fastest() {
        let g = Grid::new(1 | 4, [2, 2, 2], [0; 3], [1, 1, 1]).expect("valid");
        let ids: Vec<_> = (0..g.total()).map(|i| g.group(i).0).collect();
        assert_eq!(ids[..3], [[0, 0, 0], [1, 0, 0], [0, 1, 0]]);
        assert_eq!(ids[7], [1, 1, 1]);
    }

    #[test]
    fn turns_pass_in_id_order() {
        let ordered = Ordered::new(false, Some(1));
        assert_eq!(ordered.in_turn(1, || ()), None);
        ordered.pass(1);
        assert_eq!(ordered.in_turn(1, || ()), None);
        assert_eq!(ordered.in_turn(0, || 5), Some(5));
        ordered.pass(0);
        assert_eq!(ordered.in_turn(2, || ()), Some(()));
    }

    proptest! {
        #[test]
        fn another_order_starts_every_group_once(total in 2u64..500, seed: u64) {
            let order = LaunchOrder::permuted(total, seed);
            let mut seen: Vec<u64> = (0..total).map(|i| order.linear(i, total)).collect();
            prop_assert_ne!(seen[0], 0);
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..total).collect::<Vec<_>>());
        }
    }
}
