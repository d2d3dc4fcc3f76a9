//! `ResourceBarrier`, expanded to what this generation asks for and no more.
//!
//! The requirement follows from what the producer may have done and what the
//! consumer reads through, as the facts of `hardware/caches.md` sections 1 to 3
//! give it. Copies of a command processor go through L2 and are waited for by the
//! copy call itself, so only the readers' caches matter after them.

use super::{Checks, CommandList, ListKind};
use crate::encode::{Caches, Sync};
use crate::enums::D3D12_RESOURCE_STATES;
use crate::resource::Resource;
use crate::rules;
use wavefence_base::{Generation, Profile};

/// One barrier.
#[derive(Clone, Copy, Debug)]
pub enum Barrier<'a> {
    /// The resource is used otherwise from here on.
    Transition {
        /// The resource.
        resource: Resource<'a>,
        /// How it was used.
        before: D3D12_RESOURCE_STATES,
        /// How it will be used.
        after: D3D12_RESOURCE_STATES,
    },
    /// Unordered accesses before and after do not overlap; `None` is any resource.
    Uav(Option<Resource<'a>>),
    /// The same memory is used as another resource from here on.
    Aliasing {
        /// The resource that was there, `None` for any.
        before: Option<Resource<'a>>,
        /// The resource that will be there, `None` for any.
        after: Option<Resource<'a>>,
    },
}

impl CommandList {
    /// Records barriers; together they make one synchronisation.
    pub fn resource_barrier(&mut self, barriers: &[Barrier<'_>]) -> &mut Self {
        let Some(mut c) = self.begin("ResourceBarrier") else { return self };
        let mut sync = Sync::default();
        for barrier in barriers {
            match *barrier {
                Barrier::Transition { resource, before, after } => {
                    let name = resource.name();
                    self.same_device(&mut c, "pResource", name, resource.device());
                    self.check_states(&mut c, name, before, after);
                    let need = self.transition(before, after);
                    merge(&mut sync, &need);
                }
                Barrier::Uav(resource) => {
                    if let Some(r) = resource {
                        self.same_device(&mut c, "pResource", r.name(), r.device());
                    }
                    self.not_on_dma(&mut c);
                    let uav = D3D12_RESOURCE_STATES::UNORDERED_ACCESS;
                    merge(&mut sync, &self.transition(uav, uav));
                }
                Barrier::Aliasing { before, after } => {
                    for r in [before, after].into_iter().flatten() {
                        self.same_device(&mut c, "pResource", r.name(), r.device());
                    }
                    merge(&mut sync, &self.aliasing());
                }
            }
        }
        if self.finish(c, String::new) && self.kind != ListKind::Dma {
            self.encoder.sync(&sync);
        }
        self
    }

    fn check_states(
        &self,
        c: &mut Checks,
        name: &str,
        before: D3D12_RESOURCE_STATES,
        after: D3D12_RESOURCE_STATES,
    ) {
        use D3D12_RESOURCE_STATES as S;
        if before == after {
            let message = format!("of \"{name}\" is StateBefore too; name the state it goes to");
            c.error(&rules::BARRIER_SAME, "StateAfter", after, message);
        }
        let writable = S::RENDER_TARGET
            | S::UNORDERED_ACCESS
            | S::DEPTH_WRITE
            | S::STREAM_OUT
            | S::COPY_DEST
            | S::RESOLVE_DEST;
        let allowed = match self.kind {
            ListKind::Graphics => S::all(),
            ListKind::Compute => {
                S::VERTEX_AND_CONSTANT_BUFFER
                    | S::UNORDERED_ACCESS
                    | S::NON_PIXEL_SHADER_RESOURCE
                    | S::INDIRECT_ARGUMENT
                    | S::COPY_DEST
                    | S::COPY_SOURCE
            }
            ListKind::Dma => S::COPY_DEST | S::COPY_SOURCE,
        };
        for (argument, state) in [("StateBefore", before), ("StateAfter", after)] {
            if state.unknown() != 0 {
                let message = "has bits that no state names";
                c.error(&rules::UNKNOWN_FLAGS, argument, state, message);
                continue;
            }
            if state.intersects(writable) && !state.bits().is_power_of_two() {
                let message = format!("of \"{name}\" combines a writable state; name one state");
                c.error(&rules::BARRIER_COMBINATION, argument, state, message);
            }
            let beyond = state - allowed;
            if !beyond.is_empty() {
                let message = format!(
                    "of \"{name}\" does not exist on a {} list; make the transition on a queue \
                     that has it",
                    self.kind
                );
                c.error(&rules::BARRIER_LIST, argument, beyond, message);
            }
        }
    }

    /// What a transition asks for.
    fn transition(&self, before: D3D12_RESOURCE_STATES, after: D3D12_RESOURCE_STATES) -> Sync {
        use D3D12_RESOURCE_STATES as S;
        let generation = self.profile.generation.value;
        let mut sync = self.producer_waits(before, after);
        if before.is_empty() {
            // COMMON: what was done elsewhere became visible at the submit, or by
            // the wait that ordered it.
            return sync;
        }
        let rendered = before.intersects(S::RENDER_TARGET | S::DEPTH_WRITE);
        let stored = before.intersects(S::UNORDERED_ACCESS | S::STREAM_OUT);
        let produced = rendered || stored || before.intersects(S::COPY_DEST | S::RESOLVE_DEST);
        if !produced {
            return sync;
        }
        self.consumer_caches(&mut sync, after);
        if rendered {
            let coherent = !rb_l2_incoherent(&self.profile);
            render_target_caches(&mut sync, before, after, generation, coherent);
        } else {
            let bypasses_l2 = match generation {
                Generation::Gfx7 => S::INDIRECT_ARGUMENT | S::INDEX_BUFFER,
                Generation::Gfx8 => S::INDIRECT_ARGUMENT,
                Generation::Gfx10_3 => S::COMMON,
            };
            let targets = S::RENDER_TARGET | S::DEPTH_WRITE | S::DEPTH_READ;
            let rb_bypasses = match generation {
                Generation::Gfx7 | Generation::Gfx8 => after.intersects(targets),
                Generation::Gfx10_3 => false,
            };
            sync.top.l2_writeback |= after.intersects(bypasses_l2) || rb_bypasses;
        }
        if after.is_empty() {
            // COMMON: another queue or the host comes next, which looks in memory.
            sync.top.l2_writeback = true;
        }
        sync
    }

    /// Waits for the stages that touched the resource in state `before`.
    fn producer_waits(&self, before: D3D12_RESOURCE_STATES, after: D3D12_RESOURCE_STATES) -> Sync {
        use D3D12_RESOURCE_STATES as S;
        let graphics = self.kind == ListKind::Graphics;
        // Indirect arguments are no shader's: the engine that reads them is past them
        // when a later packet runs.
        let compute =
            S::UNORDERED_ACCESS | S::NON_PIXEL_SHADER_RESOURCE | S::VERTEX_AND_CONSTANT_BUFFER;
        let written = after.is_empty()
            || after.intersects(
                S::RENDER_TARGET
                    | S::UNORDERED_ACCESS
                    | S::DEPTH_WRITE
                    | S::STREAM_OUT
                    | S::COPY_DEST
                    | S::RESOLVE_DEST,
            );
        let produced = S::RENDER_TARGET
            | S::DEPTH_WRITE
            | S::UNORDERED_ACCESS
            | S::STREAM_OUT
            | S::RESOLVE_DEST
            | S::COPY_DEST;
        // Read before and read after: nothing to order.
        if !before.intersects(produced) && !written {
            return Sync::default();
        }
        Sync {
            cs: before.intersects(compute),
            ps: graphics
                && before.intersects(
                    S::RENDER_TARGET
                        | S::DEPTH_WRITE
                        | S::DEPTH_READ
                        | S::PIXEL_SHADER_RESOURCE
                        | S::RESOLVE_DEST
                        | S::RESOLVE_SOURCE,
                ),
            // The index fetch is known to be over only when its waves are done.
            vs: graphics
                && before
                    .intersects(S::INDEX_BUFFER | S::STREAM_OUT | S::VERTEX_AND_CONSTANT_BUFFER),
            ..Sync::default()
        }
    }

    /// Caches of the readers, and the PFP where it reads.
    fn consumer_caches(&self, sync: &mut Sync, after: D3D12_RESOURCE_STATES) {
        use D3D12_RESOURCE_STATES as S;
        let graphics = self.kind == ListKind::Graphics;
        let vector = S::VERTEX_AND_CONSTANT_BUFFER
            | S::UNORDERED_ACCESS
            | S::NON_PIXEL_SHADER_RESOURCE
            | S::PIXEL_SHADER_RESOURCE
            | S::RESOLVE_SOURCE;
        sync.top.l1 |= after.intersects(vector);
        sync.top.k |= after.intersects(S::VERTEX_AND_CONSTANT_BUFFER);
        sync.pfp |= graphics && after.intersects(S::INDIRECT_ARGUMENT | S::INDEX_BUFFER);
    }

    /// The memory becomes another resource: nothing of the old one may be under way,
    /// and lines read through another view must go.
    fn aliasing(&self) -> Sync {
        let graphics = self.kind == ListKind::Graphics;
        Sync {
            cs: true,
            ps: graphics,
            top: Caches { l1: true, ..Caches::default() },
            ..Sync::default()
        }
    }
}

/// After rendering: the render back end's caches, and L2 where they pass it by.
fn render_target_caches(
    sync: &mut Sync,
    before: D3D12_RESOURCE_STATES,
    after: D3D12_RESOURCE_STATES,
    generation: Generation,
    coherent: bool,
) {
    use D3D12_RESOURCE_STATES as S;
    let color = before.contains(S::RENDER_TARGET);
    sync.color_data = color;
    sync.color_meta = color;
    sync.depth_data = !color;
    sync.depth_meta = !color;
    let around_l2 = match generation {
        Generation::Gfx7 => S::INDIRECT_ARGUMENT | S::INDEX_BUFFER,
        Generation::Gfx8 => S::INDIRECT_ARGUMENT,
        Generation::Gfx10_3 if coherent => S::all(),
        Generation::Gfx10_3 => S::COMMON,
    };
    sync.bottom.l2 = !(after - around_l2).is_empty();
}

/// On GFX10 the colour and depth blocks and L2 do not agree where the number of L2
/// blocks (256 KiB each) is no power of two (`hardware/caches.md` section 5, assumed
/// for consoles).
fn rb_l2_incoherent(profile: &Profile) -> bool {
    match profile.generation.value {
        Generation::Gfx7 | Generation::Gfx8 => false,
        Generation::Gfx10_3 => !(profile.l2_bytes.value >> 18).is_power_of_two(),
    }
}

/// What both ask for.
fn merge(into: &mut Sync, other: &Sync) {
    let caches = |a: Caches, b: Caches| Caches {
        l1: a.l1 | b.l1,
        l1_volatile: a.l1_volatile | b.l1_volatile,
        l2: a.l2 | b.l2,
        l2_volatile: a.l2_volatile | b.l2_volatile,
        l2_writeback: a.l2_writeback | b.l2_writeback,
        k: a.k | b.k,
        k_volatile: a.k_volatile | b.k_volatile,
        i: a.i | b.i,
    };
    *into = Sync {
        held: into.held | other.held,
        idle: into.idle | other.idle,
        vs: into.vs | other.vs,
        ps: into.ps | other.ps,
        cs: into.cs | other.cs,
        color_data: into.color_data | other.color_data,
        color_meta: into.color_meta | other.color_meta,
        depth_data: into.depth_data | other.depth_data,
        depth_meta: into.depth_meta | other.depth_meta,
        bottom: caches(into.bottom, other.bottom),
        top: caches(into.top, other.top),
        pfp: into.pfp | other.pfp,
        range: None,
    };
}
