//! How each face spells each element.

use crate::rows::{Element, Row, Where};
use wavefence_base::{Family, Generation, GpuAddress, Profile};
use wavefence_d3d::CommandList;
use wavefence_d3d::enums::{
    D3D11_COMPARISON_FUNC, D3D11_FLUSH as Flush11, D3D11_FLUSH_GPU_CACHE_RANGE_ALL,
    D3D11X_GPU_PIPELINED_EVENT, D3D12_COMPARISON_FUNC, D3D12XBOX_FLUSH as Flush,
    D3D12XBOX_FLUSH_RANGE_ALL, D3D12XBOX_WAIT_FLAGS, D3D12XBOX_WRITE_VALUE_BOP_FLAGS as Write,
};
use wavefence_pm4::{Field, Kind, Packet, Ring, coher, data_sel, events, gcr, int_sel, sel};

/// What records the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// Packets word for word, one per element.
    Packets,
    /// `FlushPipelineX` with everything in one call, and the D3D12.X write calls.
    D3d12,
    /// The contexts of D3D11.X.
    D3d11,
}

impl Face {
    pub const ALL: [Self; 3] = [Self::Packets, Self::D3d12, Self::D3d11];

    pub fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::D3d12 => "d3d12.x",
            Self::D3d11 => "d3d11.x",
        }
    }

    /// True if the face exists on a profile.
    pub fn exists(self, profile: &Profile) -> bool {
        match (self, profile.family) {
            (Self::Packets | Self::D3d12, Family::XboxOne | Family::Series) => true,
            (Self::D3d11, family) => family == Family::XboxOne,
        }
    }

    /// True if the face has calls for what the row's producer and consumer do.
    pub fn records(self, row: &Row) -> bool {
        let by_packets = ["dma-memory", "dma-memory-code", "data-memory", "data-l2"];
        match self {
            Self::Packets => true,
            Self::D3d12 | Self::D3d11 => {
                !by_packets.contains(&row.producer.as_str()) && row.consumer != "predicate"
            }
        }
    }

    /// True if this face can record the element on that queue.
    pub fn spells(self, element: Element, queue: Where, generation: Generation) -> bool {
        use Element as E;
        let graphics = queue == Where::Graphics;
        let gfx10 = generation == Generation::Gfx10_3;
        match element {
            E::Cs | E::L2wb | E::L2i | E::L1i | E::Ki | E::Ii | E::Xq | E::Eop => true,
            E::Pfp | E::Vs | E::Ps => graphics,
            // The API drops GL1 with K$ and I$.
            E::Gl1i => gfx10 && self == Self::Packets,
            // The API's copies wait for themselves, its signals are sent twice and
            // confirmed (D3D12.X: with any L2 flag).
            E::Dma | E::Confirm => self == Self::Packets,
            E::Twice => self == Self::Packets && !gfx10,
            // In the shader itself.
            E::Gl0 => true,
            E::Cbf | E::Dbf | E::Glmi | E::So => false,
        }
    }

    /// True if a set with the element more than `set` differs from `set`: calls put
    /// several elements into one action.
    pub fn tells_apart(
        self,
        element: Element,
        row: &Row,
        set: &[Element],
        generation: Generation,
    ) -> bool {
        use Element as E;
        let has = |e| set.contains(&e);
        match (self, element) {
            (Self::Packets, _) => true,
            // One L2 action holds the other.
            (Self::D3d12 | Self::D3d11, E::L2wb) => !has(E::L2i),
            (Self::D3d12 | Self::D3d11, E::L2i) => !has(E::L2wb) || generation != Generation::Gfx7,
            // One GL1 action serves both.
            (Self::D3d12, E::L1i) => !has(E::Ki) && !has(E::Ii),
            // Waits for shaders and holds the prefetch parser in one call.
            (Self::D3d11, E::Pfp) => false,
            // Its signal is confirmed.
            (Self::D3d11, E::Cs) => row.number != 34,
            (Self::D3d12 | Self::D3d11, _) => true,
        }
    }

    /// A row's minimal set in this face's elements: what its signals hold anyway is
    /// no element of its own.
    pub fn minimal(self, row: &Row, minimal: &[Element]) -> Vec<Element> {
        use Element as E;
        let mut set = minimal.to_vec();
        if self != Self::D3d11 {
            return set;
        }
        match row.number {
            // Its signal carries no write-back: the shaders are waited for and L2 is
            // written back before it.
            26 => {
                set.retain(|e| !matches!(e, E::Confirm | E::Twice));
                set.insert(0, E::Cs);
            }
            // Its signal is confirmed, which waits for the stores.
            34 => set.retain(|&e| e != E::Cs),
            _ => {}
        }
        set
    }

    /// True if the element can be taken from that set alone: on a graphics context
    /// of D3D11.X one call waits for shaders and holds the prefetch parser.
    pub fn separable(self, element: Element, set: &[Element]) -> bool {
        let held = self == Self::D3d11 && set.contains(&Element::Pfp);
        !held || !matches!(element, Element::Cs | Element::Pfp)
    }

    /// Records waits and cache actions, in order.
    pub fn record(self, list: &mut CommandList, at: &Site, elements: &[Element]) {
        match self {
            Self::Packets => {
                for &element in elements {
                    let words = at.packet(element);
                    if !words.is_empty() {
                        list.insert_packets_x(&words);
                    }
                }
            }
            Self::D3d12 => {
                let flags = elements.iter().fold(Flush::NONE, |f, &e| f | flag(e));
                if !flags.is_empty() {
                    list.flush_pipeline_x(flags, GpuAddress(0), D3D12XBOX_FLUSH_RANGE_ALL);
                }
            }
            Self::D3d11 => record_d3d11(list, at, elements),
        }
    }

    /// Records the end-of-pipe write that signals, with what of `elements` belongs
    /// to it.
    pub fn signal(
        self,
        list: &mut CommandList,
        at: &Site,
        elements: &[Element],
        address: GpuAddress,
        value: u32,
    ) {
        let has = |e| elements.contains(&e);
        match self {
            Self::Packets => {
                let twice = has(Element::Twice);
                let (write_back, confirm) = (has(Element::L2wb), has(Element::Confirm));
                if twice {
                    let first = at.end_of_pipe(write_back, false, None);
                    list.insert_packets_x(&first);
                }
                let last = at.end_of_pipe(write_back, confirm, Some((address, value)));
                list.insert_packets_x(&last);
            }
            Self::D3d12 => {
                let write_back = Flush::BOP_TEXTURE_L2_WRITEBACK;
                let flush = if has(Element::L2wb) { write_back } else { Flush::NONE };
                list.write_32_bit_value_bottom_of_pipe_x(address, value, flush, Write::NONE);
            }
            Self::D3d11 => {
                let before = [Element::Cs, Element::L2wb];
                let before: Vec<Element> = before.into_iter().filter(|&e| has(e)).collect();
                record_d3d11(list, at, &before);
                list.write_value_bottom_of_pipe(address, value);
            }
        }
    }

    /// Records a wait for a value.
    pub fn wait(self, list: &mut CommandList, address: GpuAddress, value: u32) {
        match self {
            Self::Packets | Self::D3d12 => {
                let func = D3D12_COMPARISON_FUNC::EQUAL;
                list.wait_32_bit_value_x(address, func, value, D3D12XBOX_WAIT_FLAGS::NONE);
            }
            Self::D3d11 => {
                let func = D3D11_COMPARISON_FUNC::EQUAL;
                list.insert_wait_on_memory(address, 0, func, value, u32::MAX);
            }
        }
    }
}

/// Waits by events, caches by the context's flush. With the prefetch parser in the
/// set, `InsertWaitUntilIdle` waits for shaders and holds it, and the flush runs on
/// it.
fn record_d3d11(list: &mut CommandList, at: &Site, elements: &[Element]) {
    let has = |e| elements.contains(&e);
    let held = has(Element::Pfp);
    let graphics = at.ring == Ring::Graphics;
    if held {
        list.insert_wait_until_idle();
    } else if has(Element::Cs) {
        list.gpu_send_pipelined_event(D3D11X_GPU_PIPELINED_EVENT::CS_PARTIAL_FLUSH);
    }
    let mut flags = elements.iter().fold(Flush11::empty(), |f, &e| f | flag11(e));
    if flags.is_empty() {
        return;
    }
    if graphics {
        if held {
            flags |= Flush11::ENGINE_PFP;
        }
        list.flush_gpu_cache_range(flags, GpuAddress(0), D3D11_FLUSH_GPU_CACHE_RANGE_ALL);
    } else {
        list.flush_gpu_caches_top_of_pipe(flags);
    }
}

/// The flag of an element in the flushes of D3D11.X.
fn flag11(element: Element) -> Flush11 {
    use Element as E;
    match element {
        E::L2wb => Flush11::TEXTURE_L2_WRITEBACK,
        E::L2i => Flush11::TEXTURE_L2_INVALIDATE,
        E::L1i => Flush11::TEXTURE_L1_INVALIDATE,
        E::Ki => Flush11::KCACHE_INVALIDATE,
        E::Ii => Flush11::ICACHE_INVALIDATE,
        // Other calls, or no element of these consoles.
        E::Cs | E::Vs | E::Ps | E::Dma | E::Eop | E::Gl1i | E::Pfp => Flush11::empty(),
        E::Confirm | E::Twice | E::Xq | E::Gl0 => Flush11::empty(),
        E::Cbf | E::Dbf | E::Glmi | E::So => Flush11::empty(),
    }
}

/// The flag of an element in a `FlushPipelineX`.
fn flag(element: Element) -> Flush {
    use Element as E;
    match element {
        E::Cs => Flush::BOP_CS_PARTIAL,
        E::Vs => Flush::BOP_VS_PARTIAL,
        E::Ps => Flush::BOP_PS_PARTIAL,
        E::L2wb => Flush::TOP_TEXTURE_L2_WRITEBACK,
        E::L2i => Flush::TOP_TEXTURE_L2_INVALIDATE,
        E::L1i | E::Gl1i => Flush::TOP_TEXTURE_L1_INVALIDATE,
        E::Ki => Flush::TOP_KCACHE_INVALIDATE,
        E::Ii => Flush::TOP_ICACHE_INVALIDATE,
        E::Pfp => Flush::TOP_PFP,
        // Not in this call.
        E::Dma | E::Eop | E::Confirm | E::Twice | E::Xq | E::Gl0 => Flush::NONE,
        // Rows with draws are skipped before they come here.
        E::Cbf | E::Dbf | E::Glmi | E::So => Flush::NONE,
    }
}

/// Where packets go.
pub struct Site {
    pub generation: Generation,
    pub ring: Ring,
}

impl Site {
    /// One packet.
    pub fn build(&self, kind: Kind, fields: &[(Field, u64)], body: &[u32]) -> Vec<u32> {
        let mut builder = Packet::build(kind, self.generation, self.ring).body(body);
        for &(field, value) in fields {
            builder = builder.set(field, value);
        }
        builder.encode()
    }

    fn gfx10(&self) -> bool {
        self.generation == Generation::Gfx10_3
    }

    fn event(&self, event: u8) -> Vec<u32> {
        let index = u64::from(events::index::PARTIAL_FLUSH);
        let fields = [(Field::EventType, u64::from(event)), (Field::EventIndex, index)];
        self.build(Kind::EventWrite, &fields, &[])
    }

    /// The packet of a wait or cache action.
    pub fn packet(&self, element: Element) -> Vec<u32> {
        use Element as E;
        match element {
            E::Cs => self.event(events::CS_PARTIAL_FLUSH),
            E::Vs => self.event(events::VS_PARTIAL_FLUSH),
            E::Ps => self.event(events::PS_PARTIAL_FLUSH),
            E::Dma => self.dma_sync(),
            E::Pfp => self.build(Kind::PfpSyncMe, &[], &[]),
            E::L2wb | E::L2i | E::L1i | E::Ki | E::Ii | E::Gl1i => self.acquire(element),
            E::Eop | E::Confirm | E::Twice | E::Xq | E::Gl0 => Vec::new(),
            E::Cbf | E::Dbf | E::Glmi | E::So => Vec::new(),
        }
    }

    /// A copy of no bytes with the sync bit (`hardware/caches.md` 3.2).
    fn dma_sync(&self) -> Vec<u32> {
        let source = u64::from(sel::dma_src::DATA);
        let to = u64::from(sel::dma_dst::L2);
        let fields = [(Field::SrcSel, source), (Field::DstSel, to), (Field::CpSync, 1)];
        self.build(Kind::DmaData, &fields, &[])
    }

    /// A cache action in the ME, over everything.
    fn acquire(&self, element: Element) -> Vec<u32> {
        let size = 0xFFFF_FFFF_u64 << 8;
        let mut fields = vec![(Field::CoherSize, size), (Field::PollInterval, 10)];
        let graphics = self.ring == Ring::Graphics;
        let kind = if graphics && !self.gfx10() { Kind::SurfaceSync } else { Kind::AcquireMem };
        if graphics || !self.gfx10() {
            fields.push((Field::Engine, u64::from(sel::acquire_engine::ME)));
        }
        if self.gfx10() {
            fields.push((Field::Gcr, u64::from(gcr_bits(element))));
        } else {
            let gfx8 = self.generation == Generation::Gfx8;
            fields.push((Field::Coher, u64::from(coher_bits(element, gfx8))));
        }
        self.build(kind, &fields, &[])
    }

    /// An end-of-pipe event: `value` to an address, or nothing.
    fn end_of_pipe(
        &self,
        write_back: bool,
        confirm: bool,
        value: Option<(GpuAddress, u32)>,
    ) -> Vec<u32> {
        let data = if value.is_some() { data_sel::DATA_32 } else { data_sel::NONE };
        let int = if confirm { int_sel::WRITE_AFTER_CONFIRM } else { int_sel::NONE };
        let mut fields = vec![
            (Field::EventType, u64::from(events::BOTTOM_OF_PIPE_TS)),
            (Field::EventIndex, u64::from(events::index::END_OF_PIPE)),
            (Field::DataSel, u64::from(data)),
            (Field::IntSel, u64::from(int)),
        ];
        if let Some((address, value)) = value {
            fields.push((Field::Addr, address.0));
            fields.push((Field::Data, u64::from(value)));
        }
        if self.gfx10() {
            fields.push((Field::DstSel, u64::from(sel::event_dst::L2)));
            let bits = if write_back { gcr::release::GL2_WB } else { 0 };
            fields.push((Field::Gcr, u64::from(bits)));
            return self.build(Kind::ReleaseMem, &fields, &[]);
        }
        // Write-back alone does not exist at the end of the pipe of GFX7.
        let gfx8 = self.generation == Generation::Gfx8;
        fields.push((Field::TcAction, u64::from(write_back && !gfx8)));
        fields.push((Field::TcWbAction, u64::from(write_back && gfx8)));
        let graphics = self.ring == Ring::Graphics;
        let kind = if graphics { Kind::EventWriteEop } else { Kind::ReleaseMem };
        self.build(kind, &fields, &[])
    }
}

fn coher_bits(element: Element, gfx8: bool) -> u32 {
    use Element as E;
    match element {
        E::L1i => coher::TCL1_ACTION_ENA,
        E::Ki => coher::SH_KCACHE_ACTION_ENA,
        E::Ii => coher::SH_ICACHE_ACTION_ENA,
        E::L2i if gfx8 => coher::TC_ACTION_ENA | coher::TC_WB_ACTION_ENA,
        E::L2wb if gfx8 => coher::TC_WB_ACTION_ENA | coher::TC_NC_ACTION_ENA,
        // GFX7 has the full action only.
        E::L2i | E::L2wb => coher::TC_ACTION_ENA,
        E::Cs | E::Vs | E::Ps | E::Dma | E::Eop | E::Gl1i | E::Cbf | E::Dbf | E::Glmi => 0,
        E::Pfp | E::Confirm | E::Twice | E::Xq | E::Gl0 | E::So => 0,
    }
}

fn gcr_bits(element: Element) -> u32 {
    use Element as E;
    match element {
        E::L1i => gcr::GLV_INV | gcr::GL1_INV,
        E::Gl1i => gcr::GL1_INV,
        E::Ki => gcr::GLK_INV | gcr::GL1_INV,
        E::Ii => 1 << gcr::GLI_INV_SHIFT,
        E::L2i => gcr::GL2_INV | gcr::GL2_WB,
        E::L2wb => gcr::GL2_WB,
        E::Cs | E::Vs | E::Ps | E::Dma | E::Eop | E::Cbf | E::Dbf | E::Glmi => 0,
        E::Pfp | E::Confirm | E::Twice | E::Xq | E::Gl0 | E::So => 0,
    }
}
