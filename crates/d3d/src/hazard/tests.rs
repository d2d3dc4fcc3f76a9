//! Hazards made by hand, told in the API's words.

use crate::enums::*;
use crate::{CommandList, Device, Face, ListKind};
use std::sync::Arc;
use wavefence_base::{
    AccessKind, CacheAction, CacheClass, Client, DispatchId, Engine, GpuAddress, GpuRange, Level,
    ProfileName, QueueId, Rule, Verdict,
};
use wavefence_check::{Action, At, Element, Hazard, Held, Mend, Miss, Side, rules};
use wavefence_shader::ir::{Kernel, SourceLoc, Uses, WaveRule};

const ALL: u64 = D3D12XBOX_FLUSH_RANGE_ALL;

/// A kernel that does nothing, with one source line.
fn kernel() -> Arc<Kernel> {
    let at = |line| SourceLoc { file: 0, line, column: 1 };
    Arc::new(Kernel {
        entry: "main".into(),
        group_size: [64, 1, 1],
        wave: WaveRule::Wave64,
        resources: Vec::new(),
        lds_bytes: 0,
        scratch_bytes: 0,
        regs: Vec::new(),
        constants: Vec::new(),
        body: Vec::new(),
        locs: vec![at(0), at(7)],
        files: vec!["blur.hlsl".into()],
        formats: Vec::new(),
        uses: Uses::default(),
    })
}

/// A device with a list that was executed, and what its calls are made of.
struct Bench {
    device: Device,
    list: CommandList,
    base: u64,
    queue: QueueId,
    data: GpuRange,
    kernel: wavefence_base::KernelId,
}

impl Bench {
    fn new(profile: ProfileName, face: Face, calls: impl FnOnce(&mut CommandList)) -> Self {
        let mut device = Device::builder().profile(profile).check(true).build().unwrap();
        let data = device.create_buffer("Constants", 256).unwrap().range();
        let pipeline = device.create_pipeline("Blur", kernel()).unwrap();
        let mut list = match face {
            Face::D3D12X => device.create_command_list("Frame", ListKind::Graphics),
            Face::D3D11X => device.create_context_x("Frame", ListKind::Graphics).unwrap(),
        };
        list.begin_event(0, "post").set_pipeline_state(&pipeline).dispatch(1, 1, 1);
        calls(&mut list);
        list.dispatch(1, 1, 1).end_event();
        list.close().unwrap();
        let queue = device.graphics_queue().unwrap();
        device.execute_command_lists(&queue, &[&list]).unwrap();
        let base = *device.placed.keys().next_back().unwrap();
        let kernel = pipeline.kernel_id();
        Self { device, list, base, queue: queue.id(), data, kernel }
    }

    /// The first packet of call `index`, or the first of its top half.
    fn packet(&self, index: u32, top: bool) -> GpuAddress {
        let call = self.list.calls().iter().find(|c| c.index == index).unwrap();
        let word = if top { call.top.unwrap() } else { call.word };
        GpuAddress(self.base + u64::from(word) * 4)
    }

    fn side(&self, index: u32, kind: AccessKind, client: Client) -> Side {
        Side {
            client,
            kind,
            queue: Some(self.queue),
            engine: None,
            packet: Some(self.packet(index, false)),
            dispatch: Some(DispatchId(index)),
            kernel: Some(self.kernel),
            loc: 1,
            group: Some([0, 0, 0]),
            wave: Some(0),
            lane: Some(3),
        }
    }

    /// A write by call `from` that call `to` does not see.
    fn hazard(&self, rule: &'static Rule, from: u32, to: u32, mends: Vec<Mend>) -> Hazard {
        Hazard {
            rule,
            verdict: Verdict::Proven,
            producer: Some(self.side(from, AccessKind::Write, Client::ShaderVector)),
            consumer: Some(self.side(to, AccessKind::Read, Client::ShaderScalar)),
            range: Some(GpuRange::new(self.data.start.offset(16), 4)),
            span: Some(self.data),
            held: None,
            misses: Vec::new(),
            mends,
            element: None,
            count: 3,
            cost: None,
            assumes: "",
        }
    }

    fn text(&self, hazard: &Hazard) -> String {
        let f = self.device.hazard_finding(hazard);
        let mut text = format!("{} {} {}\n{}\n", f.verdict, f.rule.name, f.call, f.message);
        for (key, value) in &f.properties {
            text += &format!("  {key}={value}\n");
        }
        text
    }

    fn mend(&self, mends: Vec<Mend>) -> String {
        self.device.mend(&self.hazard(&rules::STALE_SCALAR, 2, 4, mends))
    }
}

fn before(packet: GpuAddress, action: Action) -> Mend {
    Mend { action, at: At::Before(packet) }
}

fn flush12(flags: D3D12XBOX_FLUSH) -> impl FnOnce(&mut CommandList) {
    move |l| {
        l.flush_pipeline_x(flags, GpuAddress(0), ALL);
    }
}

#[test]
fn a_stale_constant_is_told_whole() {
    let flags = D3D12XBOX_FLUSH::BOP_CS_PARTIAL | D3D12XBOX_FLUSH::TOP_TEXTURE_L1_INVALIDATE;
    let bench = Bench::new(ProfileName::SeriesX, Face::D3D12X, flush12(flags));
    let last = bench.packet(4, false);
    let mends = vec![
        before(last, Action::WaitShaders),
        before(last, Action::Invalidate(vec![CacheClass::Scalar])),
    ];
    let mut hazard = bench.hazard(&rules::STALE_SCALAR, 2, 4, mends);
    let since = bench.side(2, AccessKind::Read, Client::ShaderScalar);
    hazard.held = Some(Held { class: CacheClass::Scalar, since });
    let actions = vec![CacheAction::InvalidateL1];
    hazard.misses = vec![Miss::WrongCache { packet: bench.packet(3, true), actions }];
    insta::assert_snapshot!(bench.text(&hazard), @r#"
    proven stale-scalar-cache list "Frame" #4 Dispatch
    list "Frame" #4 Dispatch in "post" (queue "graphics", shader "Blur", blur.hlsl:7, group 0,0,0, wave 0, lane 3) reads bytes 16..20 of "Constants" as they were before list "Frame" #2 Dispatch in "post" (queue "graphics", shader "Blur", blur.hlsl:7, group 0,0,0, wave 0, lane 3) wrote them. A constant or descriptor may be served by a scalar data cache (K$) that still holds bytes from before the write. K$ held the line since list "Frame" #2 Dispatch in "post" (queue "graphics", shader "Blur", blur.hlsl:7, group 0,0,0, wave 0, lane 3). There is list "Frame" #3 FlushPipelineX(BOP_CS_PARTIAL | TOP_TEXTURE_L1_INVALIDATE, 0x0, 0xffffffff00) in "post" between them, but it acts on other caches (invalidate of L0 and GL1). To mend it: FlushPipelineX(BOP_CS_PARTIAL | TOP_KCACHE_INVALIDATE, 0, D3D12XBOX_FLUSH_RANGE_ALL) before list "Frame" #4 Dispatch.
      resource=Constants
      offset=16
      bytes=4
      address=0x100000010
      span=0x100000000+0x100
      cache=K$
      held-since=list "Frame" #2 Dispatch
      producer=list "Frame" #2 Dispatch
      producer-queue=graphics
      producer-path=a shader's vector memory access
      producer-shader=Blur
      producer-line=blur.hlsl:7
      producer-group=0,0,0
      producer-wave=0
      producer-lane=3
      consumer=list "Frame" #4 Dispatch
      consumer-queue=graphics
      consumer-path=a shader's scalar load (constants, descriptors)
      consumer-shader=Blur
      consumer-line=blur.hlsl:7
      consumer-group=0,0,0
      consumer-wave=0
      consumer-lane=3
      missed=wrong-cache list "Frame" #3 FlushPipelineX
      mend=FlushPipelineX(BOP_CS_PARTIAL | TOP_KCACHE_INVALIDATE, 0, D3D12XBOX_FLUSH_RANGE_ALL) before list "Frame" #4 Dispatch
    "#);
}

#[test]
fn a_race_with_the_host_and_a_copy() {
    let bench = Bench::new(ProfileName::XboxOne, Face::D3D11X, |l| {
        l.gpu_send_pipelined_event(D3D11X_GPU_PIPELINED_EVENT_CS_PARTIAL_FLUSH);
    });
    let to = bench.queue;
    let mends =
        vec![Mend { action: Action::SignalAndWait { from: None, to: Some(to) }, at: At::Host }];
    let mut hazard = bench.hazard(&rules::RACE_HOST, 2, 4, mends);
    hazard.verdict = Verdict::Possible;
    hazard.assumes = "the host runs beside the queue";
    hazard.producer = Some(Side {
        client: Client::Host,
        kind: AccessKind::Write,
        queue: None,
        engine: None,
        packet: None,
        dispatch: None,
        kernel: None,
        loc: 0,
        group: None,
        wave: None,
        lane: None,
    });
    insta::assert_snapshot!(bench.text(&hazard), @r#"
    possible race-host list "Frame" #4 Dispatch
    the host writes bytes 16..20 of "Constants"; list "Frame" #4 Dispatch in "post" (queue "graphics", shader "Blur", blur.hlsl:7, group 0,0,0, wave 0, lane 3) reads them. The host and the GPU touch the same bytes with no order between them. No synchronisation that could help stands between them. Assumes: the host runs beside the queue. To mend it: submit the second access after the host's, or let queue "graphics" wait for a fence that the host signals.
      resource=Constants
      offset=16
      bytes=4
      address=0x100000010
      span=0x100000000+0x100
      producer=the host
      producer-path=the host
      consumer=list "Frame" #4 Dispatch
      consumer-queue=graphics
      consumer-path=a shader's scalar load (constants, descriptors)
      consumer-shader=Blur
      consumer-line=blur.hlsl:7
      consumer-group=0,0,0
      consumer-wave=0
      consumer-lane=3
      assumes=the host runs beside the queue
      mend=submit the second access after the host's, or let queue "graphics" wait for a fence that the host signals
    "#);
}

#[test]
fn indirect_arguments_read_too_early() {
    let flags = D3D12XBOX_FLUSH::BOP_CS_PARTIAL;
    let bench = Bench::new(ProfileName::XboxOneX, Face::D3D12X, flush12(flags));
    let last = bench.packet(4, false);
    let mends = vec![before(last, Action::WriteBackL2), before(last, Action::SyncPfp)];
    let mut hazard = bench.hazard(&rules::WRONG_ENGINE, 2, 4, mends);
    hazard.consumer = Some(Side {
        client: Client::IndirectArguments,
        engine: Some(Engine::Pfp),
        dispatch: None,
        kernel: None,
        group: None,
        wave: None,
        lane: None,
        ..bench.side(4, AccessKind::Read, Client::IndirectArguments)
    });
    let given = Level::ShadersDone;
    let packet = Some(bench.packet(3, false));
    hazard.misses =
        vec![Miss::OnlyMicroEngine, Miss::Level { packet, given, needed: Level::WrittenBack }];
    insta::assert_snapshot!(bench.text(&hazard), @r#"
    proven wrong-engine list "Frame" #4 Dispatch
    list "Frame" #2 Dispatch in "post" (queue "graphics", shader "Blur", blur.hlsl:7, group 0,0,0, wave 0, lane 3) writes bytes 16..20 of "Constants"; list "Frame" #4 Dispatch in "post" (queue "graphics", by the pfp) reads them. The prefetch parser reads ahead of the micro engine: what the ME waits for, the PFP does not. There is a wait in the ME, but it does not hold the prefetch parser, which reads ahead. There is list "Frame" #3 FlushPipelineX(BOP_CS_PARTIAL, 0x0, 0xffffffff00) in "post", but it says that waves have ended; needed is that the event's cache actions are complete. To mend it: FlushPipelineX(TOP_TEXTURE_L2_WRITEBACK | TOP_PFP, 0, D3D12XBOX_FLUSH_RANGE_ALL) before list "Frame" #4 Dispatch.
      resource=Constants
      offset=16
      bytes=4
      address=0x100000010
      span=0x100000000+0x100
      producer=list "Frame" #2 Dispatch
      producer-queue=graphics
      producer-path=a shader's vector memory access
      producer-shader=Blur
      producer-line=blur.hlsl:7
      producer-group=0,0,0
      producer-wave=0
      producer-lane=3
      consumer=list "Frame" #4 Dispatch
      consumer-queue=graphics
      consumer-path=the command processor's read of indirect arguments
      missed=only-me; level list "Frame" #3 FlushPipelineX
      mend=FlushPipelineX(TOP_TEXTURE_L2_WRITEBACK | TOP_PFP, 0, D3D12XBOX_FLUSH_RANGE_ALL) before list "Frame" #4 Dispatch
    "#);
}

#[test]
fn mends_are_spelt_for_the_face() {
    let l1k = vec![CacheClass::Vector, CacheClass::Scalar];
    for (face, profile) in
        [(Face::D3D12X, ProfileName::XboxOne), (Face::D3D11X, ProfileName::XboxOne)]
    {
        let bench = Bench::new(profile, face, |l| match face {
            Face::D3D12X => {
                l.flush_pipeline_x(D3D12XBOX_FLUSH::BOP_CS_PARTIAL, GpuAddress(0), ALL);
            }
            Face::D3D11X => {
                l.flush_gpu_cache_range(D3D11_FLUSH::TEXTURE_L1_INVALIDATE, GpuAddress(0), ALL);
            }
        });
        let (flush, last) = (bench.packet(3, false), bench.packet(4, false));
        let lines = [
            bench.mend(vec![
                before(last, Action::WaitShaders),
                before(last, Action::Invalidate(l1k.clone())),
                before(last, Action::SyncPfp),
            ]),
            bench.mend(vec![Mend { action: Action::Invalidate(l1k.clone()), at: At::In(flush) }]),
            bench.mend(vec![Mend { action: Action::Confirm, at: At::In(flush) }]),
            bench.mend(vec![Mend { action: Action::Widen(bench.data), at: At::In(flush) }]),
            bench.mend(vec![Mend { action: Action::Atomic, at: At::Shader(last) }]),
        ];
        match face {
            Face::D3D12X => insta::assert_snapshot!(lines.join("\n"), @r#"
            FlushPipelineX(BOP_CS_PARTIAL | TOP_TEXTURE_L1_INVALIDATE | TOP_KCACHE_INVALIDATE | TOP_PFP, 0, D3D12XBOX_FLUSH_RANGE_ALL) before list "Frame" #4 Dispatch
            add TOP_TEXTURE_L1_INVALIDATE | TOP_KCACHE_INVALIDATE to the flags of list "Frame" #3 FlushPipelineX
            Write32BitValueBottomOfPipeX with BOP_TEXTURE_L2_WRITEBACK, or SignalX, which wait for memory's confirmation, in list "Frame" #3 FlushPipelineX
            base 0x100000000 and size 0x100 (bytes 0..256 of "Constants"), or base 0 and D3D12XBOX_FLUSH_RANGE_ALL, in list "Frame" #3 FlushPipelineX
            an Interlocked… function for both accesses in the shader of list "Frame" #4 Dispatch, or two dispatches with FlushPipelineX(BOP_CS_PARTIAL, 0, D3D12XBOX_FLUSH_RANGE_ALL) between them
            "#),
            Face::D3D11X => insta::assert_snapshot!(lines.join("\n"), @r#"
            GpuSendPipelinedEvent(CS_PARTIAL_FLUSH), then FlushGpuCacheRange(TEXTURE_L1_INVALIDATE | KCACHE_INVALIDATE, 0, D3D11_FLUSH_GPU_CACHE_RANGE_ALL), then InsertWaitUntilIdle() before list "Frame" #4 Dispatch
            add TEXTURE_L1_INVALIDATE | KCACHE_INVALIDATE to the flags of list "Frame" #3 FlushGpuCacheRange
            InsertFence, which waits for memory's confirmation, in list "Frame" #3 FlushGpuCacheRange
            base 0x100000000 and size 0x100 (bytes 0..256 of "Constants"), or base 0 and D3D11_FLUSH_GPU_CACHE_RANGE_ALL, in list "Frame" #3 FlushGpuCacheRange
            an Interlocked… function for both accesses in the shader of list "Frame" #4 Dispatch, or two dispatches with GpuSendPipelinedEvent(CS_PARTIAL_FLUSH) between them
            "#),
        }
    }
}

#[test]
fn elements_have_the_name_of_the_flag_that_asked_for_them() {
    let flags = D3D12XBOX_FLUSH::BOP_TEXTURE_L1_INVALIDATE
        | D3D12XBOX_FLUSH::TOP_TEXTURE_L1_INVALIDATE
        | D3D12XBOX_FLUSH::TOP_KCACHE_INVALIDATE
        | D3D12XBOX_FLUSH::BOP_CS_PARTIAL;
    let bench = Bench::new(ProfileName::SeriesX, Face::D3D12X, flush12(flags));
    let name = |top, element| bench.device.element_name(bench.packet(3, top), element);
    let l1 = Element::Cache(CacheAction::InvalidateL1);
    assert_eq!(name(false, l1), "BOP_TEXTURE_L1_INVALIDATE");
    assert_eq!(name(true, l1), "TOP_TEXTURE_L1_INVALIDATE");
    assert_eq!(name(true, Element::Cache(CacheAction::InvalidateK)), "TOP_KCACHE_INVALIDATE");
    assert_eq!(name(false, Element::Shaders), "BOP_CS_PARTIAL");
    // No flag of the call asked for these.
    assert_eq!(name(true, Element::Cache(CacheAction::InvalidateI)), "invalidate of I$");
    let gl1 = super::is_of_call(
        &bench.device.site_at(bench.packet(3, true)).unwrap(),
        Element::Cache(CacheAction::InvalidateGl1),
    );
    assert!(!gl1);
}
