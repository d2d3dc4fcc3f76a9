//! Launching: descriptors, launch values, the first exec mask.

use super::State;
use crate::descriptor::{DESCRIPTOR_BYTES, Descriptor};
use crate::exec::{Dispatch, Issued, Launch};
use crate::program::Flat;
use wavefence_base::LaneMask;
use wavefence_memory::port::Port;
use wavefence_shader::ir::Builtin;

impl State {
    /// Makes this the wave `launch` of `dispatch`.
    pub(super) fn begin(
        &mut self,
        flat: &Flat,
        dispatch: &Dispatch,
        launch: &Launch,
        port: &mut dyn Port,
    ) {
        self.dispatch.clone_from(dispatch);
        self.launch = *launch;
        self.refused = None;
        self.issued = Issued::default();
        self.back_edge = None;
        self.read_descriptors(flat, port);
        let threads: u64 = launch.threads.iter().map(|&t| u64::from(t)).product();
        let first = u64::from(launch.wave) * u64::from(self.lanes);
        let here = threads.saturating_sub(first).min(u64::from(self.lanes));
        self.live = LaneMask::first(here as u32).0;
        self.set_exec(self.live);
        self.pc = if self.live == 0 { flat.steps.len() - 1 } else { 0 };
        self.scratch.fill(0);
        for &loc in &flat.zeros {
            self.file.fill(loc, 0);
        }
        self.number_threads(launch);
        for &(which, loc) in &flat.builtins {
            self.builtin(flat, which, loc, threads);
        }
    }

    /// All slots in one read through the scalar path; decoded again only if the
    /// bytes are not those of the last start.
    fn read_descriptors(&mut self, flat: &Flat, port: &mut dyn Port) {
        let slots = flat.descriptors as usize;
        if slots == 0 {
            return;
        }
        let mut bytes = std::mem::take(&mut self.spare);
        bytes.resize(slots * DESCRIPTOR_BYTES as usize, 0);
        port.scalar(self.dispatch.table, &mut bytes);
        if bytes != self.table {
            self.descriptors.clear();
            for slot in bytes.chunks_exact(DESCRIPTOR_BYTES as usize) {
                let mut words = [0; 16];
                for (word, four) in words.iter_mut().zip(slot.chunks_exact(4)) {
                    *word = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
                }
                // What is no descriptor acts as a null one: reads give 0.
                self.descriptors.push(Descriptor::decode(&words).unwrap_or_default());
            }
            std::mem::swap(&mut self.table, &mut bytes);
        }
        self.spare = bytes;
    }

    /// Thread ids of the lanes: threads of the group that exist are numbered x
    /// first.
    fn number_threads(&mut self, launch: &Launch) {
        if self.ids_for == Some((launch.wave, launch.threads)) {
            return;
        }
        self.ids_for = Some((launch.wave, launch.threads));
        let [tx, ty, _] = launch.threads.map(|t| t.max(1));
        for lane in 0..self.lanes {
            let thread = launch.wave * self.lanes + lane;
            let i = lane as usize;
            self.ids[0][i] = thread % tx;
            self.ids[1][i] = thread / tx % ty;
            self.ids[2][i] = thread / tx / ty;
        }
    }

    fn builtin(&mut self, flat: &Flat, which: Builtin, loc: crate::simd::Loc, threads: u64) {
        let lanes = self.lanes;
        let size = flat.kernel.group_size;
        let Launch { group, wave, .. } = self.launch;
        let same = match which {
            Builtin::GroupIdX => group[0],
            Builtin::GroupIdY => group[1],
            Builtin::GroupIdZ => group[2],
            Builtin::GroupCountX => self.dispatch.groups[0],
            Builtin::GroupCountY => self.dispatch.groups[1],
            Builtin::GroupCountZ => self.dispatch.groups[2],
            Builtin::LaneCount => lanes,
            Builtin::WaveIndex => wave,
            Builtin::WaveCount => threads.div_ceil(u64::from(lanes)) as u32,
            Builtin::ThreadIdX => return self.thread_id(loc, 0, 0),
            Builtin::ThreadIdY => return self.thread_id(loc, 1, 0),
            Builtin::ThreadIdZ => return self.thread_id(loc, 2, 0),
            Builtin::GlobalIdX => return self.thread_id(loc, 0, group[0].wrapping_mul(size[0])),
            Builtin::GlobalIdY => return self.thread_id(loc, 1, group[1].wrapping_mul(size[1])),
            Builtin::GlobalIdZ => return self.thread_id(loc, 2, group[2].wrapping_mul(size[2])),
            Builtin::ThreadIndex => {
                for (i, word) in self.file.words_mut(loc).iter_mut().enumerate() {
                    let [x, y, z] = [self.ids[0][i], self.ids[1][i], self.ids[2][i]];
                    *word = (z * size[1] + y) * size[0] + x;
                }
                return;
            }
            Builtin::Lane => {
                for (i, word) in self.file.words_mut(loc).iter_mut().enumerate() {
                    *word = i as u32;
                }
                return;
            }
        };
        self.file.fill(loc, same);
    }

    /// Ids along dimension `d`, plus `base`.
    fn thread_id(&mut self, loc: crate::simd::Loc, d: usize, base: u32) {
        for (word, id) in self.file.words_mut(loc).iter_mut().zip(&self.ids[d]) {
            *word = base.wrapping_add(*id);
        }
    }
}
