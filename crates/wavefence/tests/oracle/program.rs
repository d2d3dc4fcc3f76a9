//! One row as a program: caches warmed by the consumer, the producer, the elements,
//! the consumer.

use crate::rows::{Element, Row, Where};
use crate::spell::{Face, Site};
use wavefence::prelude::*;
use wavefence_base::Topology;
use wavefence_check::{Checker, Hazard};
use wavefence_pm4::{Field, Kind, sel};

/// Words of the memory in question.
const WORDS: u32 = 64;
/// What it holds at first, and what the producer leaves; plus the index.
const OLD: u32 = 1000;
const NEW: u32 = 2000;

/// What a run gave.
pub struct Outcome {
    /// What the checker said.
    pub hazards: Vec<Hazard>,
    /// True if the consumer saw all that the producer did.
    pub fresh: bool,
    /// Words that it saw, for the report of a failure.
    pub saw: Vec<u32>,
}

impl Outcome {
    /// Findings, without advice.
    pub fn findings(&self) -> impl Iterator<Item = &Hazard> {
        self.hazards.iter().filter(|h| h.verdict != Verdict::Advice)
    }

    /// Advice.
    pub fn advice(&self) -> impl Iterator<Item = &Hazard> {
        self.hazards.iter().filter(|h| h.verdict == Verdict::Advice)
    }
}

const STORE: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = id.x + NEWu; }";
const ATOMIC: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<atomic<u32>>;
    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) { atomicAdd(&x[id.x], NEWu); }";
const ARGUMENTS: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(1)
    fn main() { x[0] = 2u; }";
const READ: &str = "
    @group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(64)
    fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) g: vec3<u32>) {
        out[g.x * 64u + i] = x[i];
    }";
const CONSTANTS: &str = "
    struct C { v: array<vec4<u32>, 16> }
    @group(0) @binding(0) var<uniform> c: C;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(64)
    fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) g: vec3<u32>) {
        out[g.x * 64u + i] = c.v[i / 4u][i % 4u];
    }";
const COUNT: &str = "
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(1)
    fn main(@builtin(workgroup_id) g: vec3<u32>) { out[g.x] = 1u; }";
const COPY: &str = "
    @group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> to: array<u32>;
    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (id.x < arrayLength(&to)) { to[id.x] = x[id.x]; }
    }";
/// One wave of a group stores what the other has read before and reads again.
const GROUP: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(128)
    fn main(@builtin(local_invocation_index) i: u32) {
        if (i >= 64u) { out[i] = x[i - 64u]; }
        workgroupBarrier();
        if (i < 64u) { x[i] = i + NEWu; }
        workgroupBarrier();
        MORE
        if (i >= 64u) { out[i - 64u] = x[i - 64u]; }
    }";
/// Two kernels of the same length, one writes 1 and one 2.
const CODE: &str = "
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(1)
    fn main() { out[0] = VALUEu; }";

type Result<T> = std::result::Result<T, String>;

fn text<E: std::fmt::Display>(error: E) -> String {
    error.to_string()
}

struct Rig<'a> {
    row: &'a Row,
    face: Face,
    device: Device,
    checker: Checker,
    units: u32,
    x: Buffer,
    source: Buffer,
    warm: Buffer,
    out: Buffer,
    flags: Buffer,
    old_code: Pipeline,
    new_code: Pipeline,
    code_bytes: u64,
}

/// Runs a row with `elements` in the place of its minimal set.
pub fn run(row: &Row, name: ProfileName, face: Face, elements: &[Element]) -> Result<Outcome> {
    let mut rig = Rig::new(row, name, face)?;
    match (row.from, row.to) {
        (_, _) if row.consumer == "group-read" => rig.one_group(elements)?,
        (Where::Host, _) | (Where::Dma, _) => rig.written_outside(elements)?,
        (_, Where::Dma | Where::Host) => rig.read_outside(elements)?,
        (from, to) if from == to => rig.one_queue(elements)?,
        (_, _) => rig.two_queues(elements)?,
    }
    rig.outcome()
}

impl<'a> Rig<'a> {
    fn new(row: &'a Row, name: ProfileName, face: Face) -> Result<Self> {
        let mut profile = Profile::get(name);
        // What row 35 is about; elsewhere a group sits on one unit.
        profile.order.wgp_mode.value = row.consumer == "group-read";
        let checker = Checker::new(Topology::of(&profile));
        let builder =
            Device::builder().custom_profile(profile.clone()).observer(Box::new(checker.clone()));
        let mut device = builder.build().map_err(text)?;
        let units = profile.compute_units.value;
        let reads = u64::from(units * WORDS) * 4;
        let mut buffer = |name: &str, bytes| device.create_buffer(name, bytes).map_err(text);
        let (x, source) = (buffer("X", 256)?, buffer("source", 256)?);
        let (warm, out, flags) =
            (buffer("warm", reads)?, buffer("out", reads)?, buffer("flags", 4096)?);
        let old_code = pipeline(&mut device, "Old", &CODE.replace("VALUE", "1"))?;
        let new_code = pipeline(&mut device, "New", &CODE.replace("VALUE", "2"))?;
        let lines = device.read_u32s(old_code.code(), 4).map_err(text)?[3];
        let mut rig = Self {
            row,
            face,
            device,
            checker,
            units,
            x,
            source,
            warm,
            out,
            flags,
            old_code,
            new_code,
            code_bytes: u64::from(lines) * 64,
        };
        rig.fill()?;
        Ok(rig)
    }

    /// What memory holds before anything runs.
    fn fill(&mut self) -> Result<()> {
        let (old, new) = match self.row.consumer.as_str() {
            "indirect" => (vec![1, 1, 1], vec![2, 1, 1]),
            "predicate" => (vec![0], vec![1]),
            _ => ((OLD..OLD + WORDS).collect(), (NEW..NEW + WORDS).collect()),
        };
        let zero = vec![0; self.out.bytes() as usize / 4];
        for (buffer, words) in [
            (&self.x, &old),
            (&self.source, &new),
            (&self.warm, &zero),
            (&self.out, &zero),
            (&self.flags, &vec![0; 1024]),
        ] {
            self.device.write_u32s(buffer.address(), words).map_err(text)?;
        }
        Ok(())
    }

    fn queue(&mut self, place: Where) -> Result<Queue> {
        match place {
            Where::Graphics => self.device.graphics_queue(),
            Where::Compute => self.device.compute_queue(0, 0),
            Where::Dma => self.device.dma_queue(0),
            Where::Host => return Err("the host is no queue".into()),
        }
        .map_err(text)
    }

    fn list(&mut self, place: Where, name: &str) -> Result<CommandList> {
        let kind = self.queue(place)?.list_kind();
        if self.face == Face::D3d11 && place != Where::Dma {
            return self.device.create_context_x(name, kind).map_err(text);
        }
        Ok(self.device.create_command_list(name, kind))
    }

    fn site(&self, list: &CommandList) -> Site {
        Site { generation: self.device.profile().generation.value, ring: list.kind().ring() }
    }

    fn submit(&mut self, place: Where, list: &mut CommandList) -> Result<()> {
        list.close().map_err(text)?;
        let queue = self.queue(place)?;
        self.device.execute_command_lists(&queue, &[list]).map_err(text)
    }

    fn pipeline(&mut self, name: &str, source: &str) -> Result<Pipeline> {
        let value = if name == "Atomic" { "1" } else { "2000" };
        pipeline(&mut self.device, name, &source.replace("NEW", value))
    }

    fn flag(&self, n: u64) -> GpuAddress {
        self.flags.address().offset(n * 256)
    }

    /// A dispatch that reads or writes `to` at u1.
    fn dispatch(
        &mut self,
        list: &mut CommandList,
        name: &str,
        source: &str,
        groups: u32,
        bind: impl FnOnce(&mut CommandList),
    ) -> Result<()> {
        let pipeline = self.pipeline(name, source)?;
        list.set_pipeline_state(&pipeline);
        bind(list);
        list.dispatch(groups, 1, 1);
        Ok(())
    }

    /// The consumer's access, its result to `to`.
    fn consume(&mut self, list: &mut CommandList, to: &Buffer) -> Result<()> {
        let (x, to, units) = (self.x.clone(), to.clone(), self.units);
        match self.row.consumer.as_str() {
            "vector-read" => self.dispatch(list, "Read", READ, units, |l| {
                l.set_srv(0, 0, x.raw_view()).set_uav(1, 0, to.raw_view());
            }),
            "scalar-read" => self.dispatch(list, "Constants", CONSTANTS, units, |l| {
                l.set_cbv(0, 0, x.constant_view()).set_uav(1, 0, to.raw_view());
            }),
            "indirect" => {
                let count = self.pipeline("Count", COUNT)?;
                list.set_pipeline_state(&count).set_uav(1, 0, to.raw_view());
                list.dispatch_indirect(&x, 0);
                Ok(())
            }
            "predicate" => {
                let site = self.site(list);
                let fields = [(Field::Addr, x.address().0), (Field::ExecCount, 5)];
                list.insert_packets_x(&site.build(Kind::CondExec, &fields, &[]));
                let memory = if self.gfx10() { sel::write_dst::L2 } else { sel::write_dst::MEMORY };
                let fields = [(Field::DstSel, u64::from(memory)), (Field::Addr, to.address().0)];
                list.insert_packets_x(&site.build(Kind::WriteData, &fields, &[1]));
                Ok(())
            }
            "store" => self.dispatch(list, "Store", STORE, 1, |l| {
                l.set_uav(0, 0, x.raw_view());
            }),
            "atomic" => self.dispatch(list, "Atomic", ATOMIC, 1, |l| {
                l.set_uav(0, 0, x.raw_view());
            }),
            "execute" => {
                list.set_pipeline_state(&self.old_code).set_uav(1, 0, to.raw_view());
                list.dispatch(1, 1, 1);
                Ok(())
            }
            other => Err(format!("no consumer `{other}`")),
        }
    }

    fn gfx10(&self) -> bool {
        self.device.profile().generation.value == wavefence_base::Generation::Gfx10_3
    }

    /// Lets the consumer's caches see the old bytes, and waits for it.
    fn warm_up(&mut self, list: &mut CommandList) -> Result<()> {
        if ["store", "atomic"].contains(&self.row.consumer.as_str()) {
            return Ok(());
        }
        let warm = self.warm.clone();
        // Row 33 on GFX7 and GFX8 names L2 alone: only L2 has seen the memory.
        if self.row.producer == "eop-value" && !self.gfx10() {
            let x = self.x.clone();
            self.dispatch(list, "Constants", CONSTANTS, 1, |l| {
                l.set_cbv(0, 0, x.constant_view()).set_uav(1, 0, warm.raw_view());
            })?;
        } else {
            self.consume(list, &warm)?;
        }
        // The command processor's own reads are in order with what it does next.
        if !["indirect", "predicate"].contains(&self.row.consumer.as_str()) {
            let site = self.site(list);
            Face::Packets.record(list, &site, &[Element::Cs]);
        }
        Ok(())
    }

    /// The producer's work on a list.
    fn produce(&mut self, list: &mut CommandList) -> Result<()> {
        let (x, source) = (self.x.clone(), self.source.clone());
        let site = self.site(list);
        let bytes = if self.row.consumer == "indirect" { 12 } else { 256 };
        let dma = |from: u8, to: u8, dst: GpuAddress, src: GpuAddress, bytes: u64| {
            let fields = [
                (Field::SrcSel, u64::from(from)),
                (Field::DstSel, u64::from(to)),
                (Field::Src, src.0),
                (Field::Dst, dst.0),
                (Field::ByteCount, bytes),
            ];
            site.build(Kind::DmaData, &fields, &[])
        };
        let data = |to: u8| {
            let body: Vec<u32> = (NEW..NEW + WORDS).collect();
            let fields = [
                (Field::DstSel, u64::from(to)),
                (Field::WrConfirm, 1),
                (Field::Addr, x.address().0),
            ];
            site.build(Kind::WriteData, &fields, &body)
        };
        let (memory, l2) = (sel::dma_src::MEMORY, sel::dma_src::L2);
        match self.row.producer.as_str() {
            "cs-store" if ["indirect", "predicate"].contains(&self.row.consumer.as_str()) => {
                return self.dispatch(list, "Arguments", ARGUMENTS, 1, |l| {
                    l.set_uav(0, 0, x.raw_view());
                });
            }
            "cs-store" => {
                return self.dispatch(list, "Store", STORE, 1, |l| {
                    l.set_uav(0, 0, x.raw_view());
                });
            }
            "cs-read" => {
                let (units, warm) = (self.units, self.warm.clone());
                return self.dispatch(list, "Read", READ, units, |l| {
                    l.set_srv(0, 0, x.raw_view()).set_uav(1, 0, warm.raw_view());
                });
            }
            "cs-store-code" => {
                let view = |p: &Pipeline, n| View::Raw(GpuRange::new(p.code(), n));
                let from = view(&self.new_code, self.code_bytes);
                let to = view(&self.old_code, self.code_bytes);
                let groups = (self.code_bytes as u32 / 4).div_ceil(64);
                return self.dispatch(list, "Copy", COPY, groups, |l| {
                    l.set_srv(0, 0, from).set_uav(1, 0, to);
                });
            }
            "dma-memory" => {
                list.insert_packets_x(&dma(memory, memory, x.address(), source.address(), bytes))
            }
            "dma-l2" if self.face != Face::Packets => {
                list.copy_buffer_region(&x, 0, &source, 0, bytes)
            }
            "dma-l2" => list.insert_packets_x(&dma(l2, l2, x.address(), source.address(), bytes)),
            "dma-memory-code" => {
                let (to, from) = (self.old_code.code(), self.new_code.code());
                list.insert_packets_x(&dma(memory, memory, to, from, self.code_bytes))
            }
            "sdma" => list.copy_buffer_region(&x, 0, &source, 0, bytes),
            "sdma-code" => list.copy_memory_to_memory_x(
                self.old_code.code(),
                self.new_code.code(),
                self.code_bytes,
            ),
            "data-memory" => list.insert_packets_x(&data(sel::write_dst::MEMORY)),
            "data-l2" => list.insert_packets_x(&data(sel::write_dst::L2)),
            "eop-value" => {
                self.face.signal(list, &site, &[], x.address(), NEW);
                list
            }
            other => return Err(format!("no producer `{other}`")),
        };
        Ok(())
    }

    /// The producer's work by the host.
    fn produce_by_host(&mut self) -> Result<()> {
        if self.row.consumer == "execute" {
            let code = self.device.read(self.new_code.code(), self.code_bytes).map_err(text)?;
            return self.device.write(self.old_code.code(), &code).map_err(text);
        }
        let n = if self.row.consumer == "indirect" { 3 } else { u64::from(WORDS) };
        let words = self.device.read_u32s(self.source.address(), n).map_err(text)?;
        self.device.write_u32s(self.x.address(), &words).map_err(text)
    }

    fn one_queue(&mut self, elements: &[Element]) -> Result<()> {
        let mut list = self.list(self.row.to, "Row")?;
        let site = self.site(&list);
        self.warm_up(&mut list)?;
        self.produce(&mut list)?;
        if elements.contains(&Element::Eop) {
            self.face.wait(&mut list, self.x.address(), NEW);
        }
        self.face.record(&mut list, &site, elements);
        let out = self.out.clone();
        self.consume(&mut list, &out)?;
        self.submit(self.row.to, &mut list)?;
        self.finish()
    }

    /// The producer is the host or a DMA engine: it waits until the warm reads are
    /// known to be done.
    fn written_outside(&mut self, elements: &[Element]) -> Result<()> {
        let (warmed, produced, end) = (self.flag(0), self.flag(1), self.flag(2));
        let mut list = self.list(self.row.to, "Consumer")?;
        let site = self.site(&list);
        self.warm_up(&mut list)?;
        self.face.signal(&mut list, &site, &[], warmed, 1);
        if elements.contains(&Element::Xq) {
            self.face.wait(&mut list, produced, 1);
        }
        self.face.record(&mut list, &site, elements);
        let out = self.out.clone();
        self.consume(&mut list, &out)?;
        if self.row.from == Where::Dma {
            let mut dma = self.list(Where::Dma, "Producer")?;
            Face::D3d12.wait(&mut dma, warmed, 1);
            self.produce(&mut dma)?;
            Face::D3d12.signal(&mut dma, &site, &[], produced, 1);
            self.submit(self.row.to, &mut list)?;
            self.submit(Where::Dma, &mut dma)?;
            return self.finish();
        }
        // Keeps the submission open while the host works.
        self.face.wait(&mut list, end, 1);
        self.submit(self.row.to, &mut list)?;
        self.device.run();
        if self.device.read_u32s(warmed, 1).map_err(text)? != [1] {
            return Err("the warm reads did not end".into());
        }
        self.produce_by_host()?;
        self.device.write_u32s(produced, &[1]).map_err(text)?;
        self.device.run();
        self.device.write_u32s(end, &[1]).map_err(text)?;
        self.finish()
    }

    /// The consumer is the host or a DMA engine, which hold no caches.
    fn read_outside(&mut self, elements: &[Element]) -> Result<()> {
        let (produced, end) = (self.flag(1), self.flag(2));
        let mut list = self.list(self.row.from, "Producer")?;
        let site = self.site(&list);
        self.produce(&mut list)?;
        self.face.signal(&mut list, &site, elements, produced, 1);
        let waits = elements.contains(&Element::Xq);
        if self.row.to == Where::Dma {
            let mut dma = self.list(Where::Dma, "Consumer")?;
            if waits {
                Face::D3d12.wait(&mut dma, produced, 1);
            }
            let (x, out) = (self.x.clone(), self.out.clone());
            dma.copy_buffer_region(&out, 0, &x, 0, 256);
            self.submit(self.row.from, &mut list)?;
            self.submit(Where::Dma, &mut dma)?;
            return self.finish();
        }
        self.face.wait(&mut list, end, 1);
        self.submit(self.row.from, &mut list)?;
        self.device.run();
        if waits {
            self.device.read_u32s(produced, 1).map_err(text)?;
        }
        let seen = self.device.read_u32s(self.x.address(), u64::from(WORDS)).map_err(text)?;
        self.device.write_u32s(end, &[1]).map_err(text)?;
        self.finish()?;
        // Kept where the outcome looks.
        self.device.write_u32s(self.out.address(), &seen).map_err(text)
    }

    /// Producer and consumer are the waves of one group.
    fn one_group(&mut self, elements: &[Element]) -> Result<()> {
        let more = if elements.contains(&Element::Gl0) { "storageBarrier();" } else { "" };
        let mut list = self.list(self.row.to, "Row")?;
        let (x, out) = (self.x.clone(), self.out.clone());
        self.dispatch(&mut list, "Group", &GROUP.replace("MORE", more), 1, |l| {
            l.set_uav(0, 0, x.raw_view()).set_uav(1, 0, out.raw_view());
        })?;
        self.submit(self.row.to, &mut list)?;
        self.finish()
    }

    fn two_queues(&mut self, elements: &[Element]) -> Result<()> {
        let (warmed, produced) = (self.flag(0), self.flag(1));
        let mut b = self.list(self.row.to, "Consumer")?;
        let site_b = self.site(&b);
        self.warm_up(&mut b)?;
        self.face.signal(&mut b, &site_b, &[], warmed, 1);
        if elements.contains(&Element::Xq) {
            self.face.wait(&mut b, produced, 1);
        }
        let cache = |e: &&Element| !matches!(e, Element::Cs | Element::Xq);
        let on_b: Vec<Element> = elements.iter().filter(cache).copied().collect();
        self.face.record(&mut b, &site_b, &on_b);
        let out = self.out.clone();
        self.consume(&mut b, &out)?;
        let mut a = self.list(self.row.from, "Producer")?;
        let site_a = self.site(&a);
        self.face.wait(&mut a, warmed, 1);
        self.produce(&mut a)?;
        if elements.contains(&Element::Cs) {
            self.face.record(&mut a, &site_a, &[Element::Cs]);
        }
        self.face.signal(&mut a, &site_a, &[], produced, 1);
        self.submit(self.row.to, &mut b)?;
        self.submit(self.row.from, &mut a)?;
        self.finish()
    }

    fn finish(&mut self) -> Result<()> {
        let report = self.device.run();
        if report.is_clean() { Ok(()) } else { Err(format!("does not end clean: {report:?}")) }
    }

    fn outcome(&mut self) -> Result<Outcome> {
        let hazards = self.checker.hazards();
        let words = |device: &Device, b: &Buffer, n: u32| {
            device.read_u32s(b.address(), u64::from(n)).map_err(text)
        };
        let all = self.units * WORDS;
        let (saw, right): (Vec<u32>, Vec<u32>) = match self.row.consumer.as_str() {
            "vector-read" | "scalar-read" if self.row.producer == "eop-value" => {
                let saw = words(&self.device, &self.out, all)?;
                (saw.into_iter().step_by(WORDS as usize).collect(), vec![NEW; self.units as usize])
            }
            "vector-read" | "scalar-read" => {
                let right = (0..all).map(|i| NEW + i % WORDS).collect();
                (words(&self.device, &self.out, all)?, right)
            }
            "indirect" => (words(&self.device, &self.out, 2)?, vec![1, 1]),
            "predicate" => (words(&self.device, &self.out, 1)?, vec![1]),
            "execute" => (words(&self.device, &self.out, 1)?, vec![2]),
            "atomic" => {
                (words(&self.device, &self.x, WORDS)?, (0..WORDS).map(|i| NEW + i + 1).collect())
            }
            // The store is the later one; what the reader before it saw counts.
            "store" if self.row.producer == "cs-read" => {
                (words(&self.device, &self.warm, all)?, (0..all).map(|i| OLD + i % WORDS).collect())
            }
            "store" => (words(&self.device, &self.x, WORDS)?, (NEW..NEW + WORDS).collect()),
            _ => (words(&self.device, &self.out, WORDS)?, (NEW..NEW + WORDS).collect()),
        };
        Ok(Outcome { hazards, fresh: saw == right, saw })
    }
}

fn pipeline(device: &mut Device, name: &str, source: &str) -> Result<Pipeline> {
    let source = Source::text(Language::Wgsl, "oracle.wgsl", source);
    device.create_pipeline_from_source(name, &source, &CompileOptions::default()).map_err(text)
}
