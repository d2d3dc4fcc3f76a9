//! Waits for shaders, cache actions and the prefetch parser.

use super::{Encoder, Own};
use wavefence_base::{Generation, GpuAddress, GpuRange};
use wavefence_pm4::{Field, Kind, Ring, coher, data_sel, events, function, gcr, int_sel, sel};

/// Cache actions, in neutral words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Caches {
    pub(crate) l1: bool,
    pub(crate) l1_volatile: bool,
    pub(crate) l2: bool,
    pub(crate) l2_volatile: bool,
    pub(crate) l2_writeback: bool,
    pub(crate) k: bool,
    pub(crate) k_volatile: bool,
    pub(crate) i: bool,
}

impl Caches {
    pub(crate) fn any(self) -> bool {
        self != Self::default()
    }
}

/// One synchronisation: waits and end-of-pipe actions first, then the acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Sync {
    /// Everything of the queue done, and the PFP held.
    pub(crate) idle: bool,
    /// The ME waits for an end-of-pipe event even if it flushes nothing.
    pub(crate) held: bool,
    /// Vertex-stage shaders done.
    pub(crate) vs: bool,
    /// Pixel shaders done.
    pub(crate) ps: bool,
    /// Compute shaders done.
    pub(crate) cs: bool,
    /// Colour data and metadata flushed.
    pub(crate) color_data: bool,
    pub(crate) color_meta: bool,
    /// Depth data and metadata flushed.
    pub(crate) depth_data: bool,
    pub(crate) depth_meta: bool,
    /// At the end of the pipe (`k`, `k_volatile` and `i` are not used there).
    pub(crate) bottom: Caches,
    /// In the acquire.
    pub(crate) top: Caches,
    /// The prefetch parser waits for all of it.
    pub(crate) pfp: bool,
    /// Range of the acquire; `None` is everything.
    pub(crate) range: Option<GpuRange>,
}

/// Size that means everything, in bytes: all ones in 256-byte units.
const EVERYTHING: u64 = 0xFFFF_FFFF << 8;
const POLL_INTERVAL: u64 = 10;

impl Encoder {
    /// Emits what `sync` asks for and nothing else; the dword where the acquire
    /// starts.
    pub(crate) fn sync(&mut self, sync: &Sync) -> u32 {
        self.waits(sync);
        let back_ends = sync.color_data || sync.color_meta || sync.depth_data || sync.depth_meta;
        if sync.held || sync.bottom.any() || back_ends {
            self.release_and_wait(sync);
        }
        let top = self.position();
        self.top(sync);
        top
    }

    /// As [`Encoder::sync`], but the end-of-pipe half writes `value`, confirmed, and
    /// the queue does not wait for it.
    pub(crate) fn sync_and_signal(&mut self, sync: &Sync, address: GpuAddress, value: u64) -> u32 {
        self.waits(sync);
        let (event, target) = (end_event(sync), Target::At(address));
        self.end_of_pipe(event, sync.bottom, data_sel::DATA_64, true, target, value);
        let top = self.position();
        self.top(sync);
        top
    }

    /// Metadata flushes and waits for shaders.
    fn waits(&mut self, sync: &Sync) {
        if sync.color_meta {
            self.event(events::FLUSH_AND_INV_CB_META, 0);
        }
        if sync.depth_meta {
            self.event(events::FLUSH_AND_INV_DB_META, 0);
        }
        let graphics = self.ring == Ring::Graphics;
        if graphics && (sync.idle || sync.vs) {
            self.event(events::VS_PARTIAL_FLUSH, events::index::PARTIAL_FLUSH);
        }
        if graphics && (sync.idle || sync.ps) {
            self.event(events::PS_PARTIAL_FLUSH, events::index::PARTIAL_FLUSH);
        }
        if sync.idle || sync.cs {
            self.event(events::CS_PARTIAL_FLUSH, events::index::PARTIAL_FLUSH);
        }
    }

    /// The acquire, in the ME: the PFP's own would not wait for the waits before it
    /// on GFX7 and GFX8. Then the PFP, which must be the last packet of a barrier, or
    /// it would run on before the ME's waits are done (`hardware/pm4.md` section 6).
    fn top(&mut self, sync: &Sync) {
        if sync.top.any() {
            self.acquire(sync.top, sync.range);
        }
        if self.ring == Ring::Graphics && (sync.pfp || sync.idle) {
            self.packet(Kind::PfpSyncMe, &[]);
        }
    }

    pub(super) fn event(&mut self, event: u8, index: u8) {
        self.packet(
            Kind::EventWrite,
            &[(Field::EventType, u64::from(event)), (Field::EventIndex, u64::from(index))],
        );
    }

    /// An end-of-pipe event with the cache actions, and a wait for its value: the
    /// ME goes on when the actions are done. The word is cleared first, so that a
    /// list can be executed again.
    fn release_and_wait(&mut self, sync: &Sync) {
        let event = end_event(sync);
        let word = self.scratch(4, 4);
        let at = self.packet_with_body(
            Kind::WriteData,
            &[(Field::DstSel, u64::from(self.cp_write_dst())), (Field::WrConfirm, 1)],
            &[0],
        );
        self.patch(at + 2, word);
        self.end_of_pipe(event, sync.bottom, data_sel::DATA_32, true, Target::Own(word), 1);
        let at = self.packet(
            Kind::WaitRegMem,
            &[
                (Field::Function, u64::from(function::EQUAL)),
                (Field::MemSpace, u64::from(sel::mem_space::MEMORY)),
                (Field::Reference, 1),
                (Field::Mask, 0xFFFF_FFFF),
                (Field::PollInterval, POLL_INTERVAL),
            ],
        );
        self.patch(at + 2, word);
    }

    /// DST_SEL of WRITE_DATA for values that the CP polls: memory on GFX7 and GFX8,
    /// L2 on GFX10 (`hardware/pm4.md` section 7).
    pub(super) fn cp_write_dst(&self) -> u8 {
        if self.gfx10() { sel::write_dst::L2 } else { sel::write_dst::MEMORY }
    }

    /// An end-of-pipe event that writes a value. On GFX7 and GFX8 two events: the
    /// first, without data, because one event can write its value before its own
    /// cache action is complete (`hardware/pm4.md` 4.2).
    pub(super) fn end_of_pipe(
        &mut self,
        event: u8,
        caches: Caches,
        data: u8,
        confirm: bool,
        target: Target,
        value: u64,
    ) {
        match self.generation {
            Generation::Gfx7 | Generation::Gfx8 => {
                if self.twice {
                    self.end_of_pipe_gfx7(event, caches, data_sel::NONE, false, target, 0);
                }
                self.end_of_pipe_gfx7(event, caches, data, confirm, target, value);
            }
            Generation::Gfx10_3 => {
                self.end_of_pipe_gfx10(event, caches, data, confirm, target, value);
            }
        }
    }

    fn end_of_pipe_gfx7(
        &mut self,
        event: u8,
        caches: Caches,
        data: u8,
        confirm: bool,
        target: Target,
        value: u64,
    ) {
        let (kind, address_word) = match self.ring {
            Ring::Graphics => (Kind::EventWriteEop, 2),
            Ring::Compute | Ring::Sdma => (Kind::ReleaseMem, 3),
        };
        let empty = data == data_sel::NONE;
        let mut fields = vec![
            (Field::EventType, u64::from(event)),
            (Field::EventIndex, u64::from(events::index::END_OF_PIPE)),
            (Field::Tcl1VolAction, u64::from(caches.l1_volatile)),
            (Field::TcVolAction, u64::from(caches.l2_volatile)),
            // On GFX8 an L2 invalidate needs the write-back bit beside it.
            (Field::TcWbAction, u64::from(caches.l2_writeback || caches.l2 && self.gfx8())),
            (Field::Tcl1Action, u64::from(caches.l1)),
            (Field::TcAction, u64::from(caches.l2)),
            (Field::DstSel, u64::from(sel::event_dst::MEMORY)),
            (Field::IntSel, u64::from(confirmation(confirm))),
            (Field::DataSel, u64::from(data)),
        ];
        if !empty {
            fields.push((Field::Data, value));
            if let Target::At(address) = target {
                fields.push((Field::Addr, address.0));
            }
        }
        let at = self.packet(kind, &fields);
        if let (Target::Own(own), false) = (target, empty) {
            self.patch(at + address_word, own);
        }
    }

    fn end_of_pipe_gfx10(
        &mut self,
        event: u8,
        caches: Caches,
        data: u8,
        confirm: bool,
        target: Target,
        value: u64,
    ) {
        let mut fields = vec![
            (Field::EventType, u64::from(event)),
            (Field::EventIndex, u64::from(events::index::END_OF_PIPE)),
            (Field::Gcr, u64::from(release_gcr(caches))),
            (Field::DstSel, u64::from(sel::event_dst::L2)),
            (Field::IntSel, u64::from(confirmation(confirm))),
            (Field::DataSel, u64::from(data)),
            (Field::Data, value),
        ];
        if let Target::At(address) = target {
            fields.push((Field::Addr, address.0));
        }
        let at = self.packet(Kind::ReleaseMem, &fields);
        if let Target::Own(own) = target {
            self.patch(at + 3, own);
        }
    }

    fn gfx8(&self) -> bool {
        match self.generation {
            Generation::Gfx8 => true,
            Generation::Gfx7 | Generation::Gfx10_3 => false,
        }
    }

    fn acquire(&mut self, caches: Caches, range: Option<GpuRange>) {
        if !self.gfx10() {
            self.acquire_bits(coher_bits(caches), false, range);
            return;
        }
        let (base, size) = coher_range(range);
        let mut fields = vec![
            (Field::CoherSize, size),
            (Field::CoherBase, base),
            (Field::PollInterval, POLL_INTERVAL),
            (Field::Gcr, u64::from(acquire_gcr(caches))),
        ];
        if self.ring == Ring::Graphics {
            fields.push((Field::Engine, u64::from(sel::acquire_engine::ME)));
        }
        self.packet(Kind::AcquireMem, &fields);
    }

    /// An acquire of GFX7 or GFX8: CP_COHER_CNTL as GFX7 spells it, run by the
    /// prefetch parser or by the ME. Nothing is sent for no bits.
    pub(crate) fn acquire_bits(&mut self, bits: u32, pfp: bool, range: Option<GpuRange>) {
        let (base, size) = coher_range(range);
        let kind = match self.ring {
            Ring::Graphics => Kind::SurfaceSync,
            Ring::Compute | Ring::Sdma => Kind::AcquireMem,
        };
        let engine = if pfp { sel::acquire_engine::PFP } else { sel::acquire_engine::ME };
        for bits in coher_packets(bits, self.gfx8()).into_iter().filter(|&bits| bits != 0) {
            self.packet(
                kind,
                &[
                    (Field::Coher, u64::from(bits)),
                    (Field::Engine, u64::from(engine)),
                    (Field::CoherSize, size),
                    (Field::CoherBase, base),
                    (Field::PollInterval, POLL_INTERVAL),
                ],
            );
        }
    }

    /// Cache actions at the end of the pipe that nobody waits for: an event
    /// without a value. GFX7 and GFX8.
    pub(crate) fn release_caches(&mut self, caches: Caches) {
        let nowhere = Target::At(GpuAddress(0));
        let event = events::BOTTOM_OF_PIPE_TS;
        self.end_of_pipe_gfx7(event, caches, data_sel::NONE, false, nowhere, 0);
    }

    /// An event of the pipeline by itself.
    pub(crate) fn pipelined_event(&mut self, event: u8) {
        self.event(event, events::index_of(event));
    }
}

/// Where an end-of-pipe value goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// An address the caller gave.
    At(GpuAddress),
    /// A scratch word of the list.
    Own(Own),
}

/// The end-of-pipe event that flushes what is asked for.
fn end_event(sync: &Sync) -> u8 {
    match (sync.color_data, sync.depth_data) {
        (false, false) => events::BOTTOM_OF_PIPE_TS,
        (true, false) => events::FLUSH_AND_INV_CB_DATA_TS,
        (false, true) => events::FLUSH_AND_INV_DB_DATA_TS,
        (true, true) => events::CACHE_FLUSH_AND_INV_TS_EVENT,
    }
}

fn confirmation(confirm: bool) -> u8 {
    if confirm { int_sel::WRITE_AFTER_CONFIRM } else { int_sel::NONE }
}

/// Base and size of an acquire: rounded out to 256 bytes.
fn coher_range(range: Option<GpuRange>) -> (u64, u64) {
    match range {
        None => (0, EVERYTHING),
        Some(range) => {
            let base = range.start.0 & !0xFF;
            (base, (range.end() - base).next_multiple_of(256).min(EVERYTHING))
        }
    }
}

/// CP_COHER_CNTL of an acquire, as GFX7 spells it.
fn coher_bits(caches: Caches) -> u32 {
    let bit = |on: bool, bit: u32| if on { bit } else { 0 };
    bit(caches.l1, coher::TCL1_ACTION_ENA)
        | bit(caches.l1_volatile, coher::TCL1_VOL_ACTION_ENA)
        | bit(caches.l2, coher::TC_ACTION_ENA)
        | bit(caches.l2_writeback, coher::TC_WB_ACTION_ENA)
        | bit(caches.l2_volatile, coher::TC_VOL_ACTION_ENA)
        | bit(caches.k, coher::SH_KCACHE_ACTION_ENA)
        | bit(caches.k_volatile, coher::SH_KCACHE_VOL_ACTION_ENA)
        | bit(caches.i, coher::SH_ICACHE_ACTION_ENA)
}

/// The packets that GFX7's bits take. On GFX8 there is no bit for volatile L2
/// lines, an L2 invalidate needs the write-back bit beside it, a write-back alone
/// its own bit, and that does not go with an L1 invalidate in one packet
/// (`hardware/pm4.md` 2.1, `hardware/caches.md` 1.6).
fn coher_packets(bits: u32, gfx8: bool) -> [u32; 2] {
    if !gfx8 {
        return [bits, 0];
    }
    let bits = bits & !coher::TC_VOL_ACTION_ENA;
    if bits & coher::TC_ACTION_ENA != 0 {
        return [bits | coher::TC_WB_ACTION_ENA, 0];
    }
    if bits & coher::TC_WB_ACTION_ENA == 0 {
        return [bits, 0];
    }
    let l1 = bits & (coher::TCL1_ACTION_ENA | coher::TCL1_VOL_ACTION_ENA);
    [(bits | coher::TC_NC_ACTION_ENA) & !l1, l1]
}

/// GCR_CNTL of an acquire (`hardware/pm4.md` 2.4).
fn acquire_gcr(caches: Caches) -> u32 {
    let bit = |on: bool, bits: u32| if on { bits } else { 0 };
    let l2_volatile_only = caches.l2_volatile && !caches.l2;
    bit(caches.l1 || caches.l1_volatile, gcr::GLV_INV | gcr::GL1_INV)
        | bit(caches.l2, gcr::GL2_INV | gcr::GL2_WB | gcr::GLM_INV | gcr::GLM_WB)
        | bit(caches.l2_writeback, gcr::GL2_WB)
        | bit(l2_volatile_only, gcr::GL2_INV | gcr::GL2_WB | 1 << gcr::GL2_RANGE_SHIFT)
        | bit(caches.k || caches.k_volatile, gcr::GLK_INV | gcr::GL1_INV)
        // The instruction cache fills through GL1 as the scalar cache does.
        | bit(caches.i, 1 << gcr::GLI_INV_SHIFT | gcr::GL1_INV)
}

/// The GCR field of a release, which has its own layout (4.4).
fn release_gcr(caches: Caches) -> u32 {
    use gcr::release as r;
    let bit = |on: bool, bits: u32| if on { bits } else { 0 };
    let l2_volatile_only = caches.l2_volatile && !caches.l2;
    bit(caches.l1 || caches.l1_volatile, r::GLV_INV | r::GL1_INV)
        | bit(caches.l2, r::GL2_INV | r::GL2_WB | r::GLM_INV | r::GLM_WB)
        | bit(caches.l2_writeback, r::GL2_WB)
        | bit(l2_volatile_only, r::GL2_INV | r::GL2_WB | 1 << r::GL2_RANGE_SHIFT)
}
