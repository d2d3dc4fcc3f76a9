//! Image instructions: registers as lane arrays for `crate::image`, once for
//! each pair of descriptors that active lanes name.

use super::State;
use crate::descriptor::Descriptor;
use crate::exec::Env;
use crate::image::{self, Request};
use crate::program::Flat;
use crate::simd::Loc;
use wavefence_base::{LaneMask, Limit};
use wavefence_memory::port::{Lanes, Port};
use wavefence_shader::ir::{Inst, Reg, ResourceRef};

impl State {
    /// Runs one; the limit if the descriptors ask for what is not supported.
    pub(super) fn image(
        &mut self,
        flat: &Flat,
        inst: &Inst,
        loc: u32,
        env: &mut Env<'_>,
    ) -> Result<(), Limit> {
        let Inst::Image { dst, image, sampler, .. } = inst else { return Ok(()) };
        let mut regs = Vec::new();
        inst.registers(&mut |r| regs.push(r), &mut |_| {});
        // Of 64 bits, the high words come as a register of their own.
        let mut rows = Vec::with_capacity(regs.len());
        let mut named = Vec::with_capacity(regs.len());
        for reg in regs {
            for (i, loc) in flat.words(reg).enumerate() {
                let mut row = [0; 64];
                self.file.read(loc, &mut row);
                rows.push(row);
                named.push((reg, i));
            }
        }
        let places: Vec<Loc> = dst.iter().flat_map(|&r| flat.words(r)).collect();
        let mut results = vec![[0; 64]; places.len()];
        let element = |s: &Self, at: &ResourceRef, lane: u32| {
            at.index.map_or(0, |i| s.file.lane(flat.loc(i), lane))
        };
        let mut rest = self.mask();
        while let Some(first) = rest.lowest() {
            let key = |lane: u32| {
                let pick = sampler.as_ref().map_or(0, |s| element(self, s, lane));
                (element(self, image, lane), pick)
            };
            let (of_image, of_sampler) = key(first);
            let same = |l: &u32| key(*l) == (of_image, of_sampler);
            let members = LaneMask(rest.iter().filter(same).fold(0, |m, l| m | 1u64 << l));
            let pair = (
                self.descriptor(flat, image, of_image),
                sampler.as_ref().map(|s| self.descriptor(flat, s, of_sampler)),
            );
            let mut out = vec![[0; 64]; places.len()];
            self.image_on(flat, inst, loc, &pair, members, (&named, &rows), env.port, &mut out)?;
            for (to, from) in results.iter_mut().zip(&out) {
                for lane in members.iter() {
                    to[lane as usize] = from[lane as usize];
                }
            }
            rest = rest & !members;
        }
        for (place, row) in places.iter().zip(&results) {
            self.file.write(*place, self.exec, row);
        }
        Ok(())
    }

    /// The descriptor of one element of a resource; null if there is none.
    fn descriptor(&self, flat: &Flat, at: &ResourceRef, element: u32) -> Descriptor {
        let resource = &flat.kernel.resources[at.resource.index()];
        if element >= resource.count {
            return Descriptor::Null;
        }
        let slot = flat.first_slots[at.resource.index()] + element;
        self.descriptors.get(slot as usize).copied().unwrap_or_default()
    }

    #[allow(clippy::too_many_arguments, reason = "one instruction's operands, in parts")]
    fn image_on(
        &self,
        flat: &Flat,
        inst: &Inst,
        loc: u32,
        (image, sampler): &(Descriptor, Option<Descriptor>),
        mask: LaneMask,
        (named, rows): (&[(Reg, usize)], &[Lanes]),
        port: &mut dyn Port,
        out: &mut [Lanes],
    ) -> Result<(), Limit> {
        let Inst::Image { op, dst, image: at, coords, offset, data, order, .. } = inst else {
            return Ok(());
        };
        const NONE: Lanes = [0; 64];
        let find = |at: (Reg, usize)| named.iter().position(|n| *n == at).map(|i| &rows[i]);
        let read = |reg: Reg| find((reg, 0)).unwrap_or(&NONE);
        let list = |regs: &[Reg]| -> Vec<&Lanes> {
            regs.iter().flat_map(|&r| [find((r, 0)), find((r, 1))]).flatten().collect()
        };
        let resource = &flat.kernel.resources[at.resource.index()];
        let request = Request {
            image,
            sampler: sampler.as_ref(),
            coords: &list(coords),
            offset: &list(offset),
            wide: dst.iter().chain(data).any(|&r| flat.is_wide(r)),
            data: &list(data),
            mask,
            coherent: order.coherent || resource.coherent,
            volatile: order.volatile || resource.volatile,
            loc,
        };
        image::execute(op, &request, &read, port, out).map_err(|limit| {
            let place = flat.kernel.line(wavefence_shader::ir::Loc(loc));
            let at = place.map_or(String::new(), |l| format!(" at {l}"));
            Limit { what: format!("{} (`{}`{at})", limit.what, resource.name), ..limit }
        })
    }
}
