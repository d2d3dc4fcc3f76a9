//! The packets of the D3D11.X face, per generation (`hardware/pm4.md` 2 and 4).

mod common;

use common::model;
use wavefence_base::{GpuAddress, Profile, ProfileName};
use wavefence_d3d::enums::*;
use wavefence_d3d::{CommandList, Device, ListKind};
use wavefence_pm4::{Field, Kind, coher, decode_stream, print_stream};

use D3D11_FLUSH as F;
use ListKind::{Compute, Graphics};
use ProfileName::{XboxOne, XboxOneS, XboxOneX};

const ALL: u64 = D3D11_FLUSH_GPU_CACHE_RANGE_ALL;

fn record(
    profile: ProfileName,
    kind: ListKind,
    calls: impl FnOnce(&mut Device, &mut CommandList),
) -> CommandList {
    let mut device = model(profile);
    let mut list = device.create_context_x("L", kind).unwrap();
    calls(&mut device, &mut list);
    list.close().unwrap_or_else(|e| panic!("{e}"));
    list
}

fn text(
    profile: ProfileName,
    kind: ListKind,
    calls: impl FnOnce(&mut Device, &mut CommandList),
) -> String {
    let list = record(profile, kind, calls);
    let (text, error) =
        print_stream(list.words(), Profile::get(profile).generation.value, kind.ring());
    assert_eq!(error, None);
    text
}

/// CP_COHER_CNTL and whether the PFP runs it, of each acquire.
fn acquires(profile: ProfileName, kind: ListKind, flags: F) -> Vec<(u32, bool)> {
    let list = record(profile, kind, |_, l| {
        match kind {
            Graphics => l.flush_gpu_cache_range(flags, GpuAddress(0), ALL),
            Compute | ListKind::Dma => l.flush_gpu_caches_top_of_pipe(flags),
        };
    });
    let generation = Profile::get(profile).generation.value;
    decode_stream(list.words(), generation, kind.ring())
        .map(|p| p.unwrap().1)
        .filter(|p| matches!(p.kind(), Kind::SurfaceSync | Kind::AcquireMem))
        .map(|p| (p.get(Field::Coher) as u32, p.get(Field::Engine) == 0))
        .collect()
}

/// Flags that may be recorded alone on a graphics context.
fn allowed() -> impl Iterator<Item = F> {
    let flags = F::NAMES.iter().map(|&(_, bits)| F::from_bits_retain(bits));
    flags.filter(|f| !f.intersects(F::RESERVED))
}

#[test]
fn flags_are_the_packet_s_bits_one_for_one_and_the_engine_is_inverted() {
    for profile in [XboxOne, XboxOneS] {
        for flag in allowed() {
            let bits = flag.bits() & 0x7FFF_FFFF;
            let pfp = flag.contains(F::ENGINE_PFP);
            let expected = if bits == 0 { vec![] } else { vec![(bits, pfp)] };
            assert_eq!(acquires(profile, Graphics, flag), expected, "{flag}");
        }
    }
    // With something to flush, the flag turns bit 31 of the packet off.
    let list = record(XboxOne, Graphics, |_, l| {
        l.flush_gpu_cache_range(F::DEFAULT_PFP, GpuAddress(0), ALL);
    });
    assert_eq!(list.words()[1], 0x00C0_0000);
    let list = record(XboxOne, Graphics, |_, l| {
        l.flush_gpu_cache_range(F::DEFAULT, GpuAddress(0), ALL);
    });
    assert_eq!(list.words()[1], 0x80C0_0000);
}

#[test]
fn gfx8_has_no_volatile_bit_and_spells_l2_its_own_way() {
    let of = |flags| acquires(XboxOneX, Graphics, flags);
    let (wb, nc) = (coher::TC_WB_ACTION_ENA, coher::TC_NC_ACTION_ENA);
    let (l1, l2) = (coher::TCL1_ACTION_ENA, coher::TC_ACTION_ENA);
    assert_eq!(of(F::TEXTURE_L2_VOLATILE), []);
    assert_eq!(of(F::TEXTURE_L2_INVALIDATE), [(l2 | wb, false)]);
    assert_eq!(of(F::TEXTURE_L2_INVALIDATE | F::TEXTURE_L2_WRITEBACK), [(l2 | wb, false)]);
    assert_eq!(of(F::DEFAULT_PFP), [(l1 | l2 | wb, true)]);
    assert_eq!(of(F::TEXTURE_L2_WRITEBACK), [(wb | nc, false)]);
    // A write-back alone and an L1 invalidate take two packets.
    let both = F::TEXTURE_L2_WRITEBACK | F::TEXTURE_L1_INVALIDATE | F::KCACHE_INVALIDATE;
    let k = coher::SH_KCACHE_ACTION_ENA;
    assert_eq!(of(both), [(wb | nc | k, false), (l1, false)]);
    // Every other flag is the same as on GFX7.
    for flag in allowed().filter(|f| !f.intersects(F::DEFAULT | F::TEXTURE_L2_WRITEBACK)) {
        if flag != F::TEXTURE_L2_VOLATILE {
            assert_eq!(of(flag), acquires(XboxOne, Graphics, flag), "{flag}");
        }
    }
}

#[test]
fn a_compute_context_has_no_render_back_ends_and_no_pfp() {
    for profile in [XboxOne, XboxOneX] {
        let flags = F::ENSURE_CB | F::COLOR_BLOCK_INVALIDATE | F::DEPTH_BLOCK_INVALIDATE;
        assert_eq!(acquires(profile, Compute, flags), []);
        let flags = flags | F::KCACHE_INVALIDATE | F::ENGINE_PFP;
        let expected = [(coher::SH_KCACHE_ACTION_ENA, false)];
        assert_eq!(acquires(profile, Compute, flags), expected);
    }
}

#[test]
fn ranges_are_rounded_out_to_256_bytes() {
    let list = record(XboxOne, Graphics, |_, l| {
        l.flush_gpu_cache_range(F::TEXTURE_L1_INVALIDATE, GpuAddress(0x12_34FF), 2);
    });
    // Size, then base, in units of 256 bytes.
    assert_eq!(list.words()[2..4], [2, 0x1234]);
    let list = record(XboxOne, Graphics, |_, l| {
        l.flush_gpu_cache_range(F::TEXTURE_L1_INVALIDATE, GpuAddress(0), ALL);
    });
    assert_eq!(list.words()[2..4], [0xFFFF_FFFF, 0]);
}

fn graphics_calls(_: &mut Device, l: &mut CommandList) {
    l.gpu_send_pipelined_event(D3D11X_GPU_PIPELINED_EVENT_CS_PARTIAL_FLUSH)
        .flush_gpu_cache_range(F::DEFAULT_PFP | F::ENSURE_CB, GpuAddress(0x1000), 0x300)
        .insert_wait_until_idle()
        .gpu_send_pipelined_event(D3D11X_GPU_PIPELINED_EVENT_FLUSH_AND_INV_CB_META)
        .insert_wait_on_memory(GpuAddress(0x2000), 0, D3D11_COMPARISON_EQUAL, 8, 0xFF)
        .write_value_bottom_of_pipe(GpuAddress(0x2004), 5)
        .write_timestamp_to_memory(GpuAddress(0x2020));
}

#[test]
fn packets_of_a_graphics_context_on_gfx7() {
    insta::assert_snapshot!(text(XboxOne, Graphics, graphics_calls), @r#"
    0x0000 EVENT_WRITE
      EVENT_TYPE = 7 CS_PARTIAL_FLUSH
      EVENT_INDEX = 4 PARTIAL_FLUSH
    0x0002 SURFACE_SYNC
      COHER = 0xc03fc0 CB0_DEST_BASE_ENA | CB1_DEST_BASE_ENA | CB2_DEST_BASE_ENA | CB3_DEST_BASE_ENA | CB4_DEST_BASE_ENA | CB5_DEST_BASE_ENA | CB6_DEST_BASE_ENA | CB7_DEST_BASE_ENA | TCL1_ACTION_ENA | TC_ACTION_ENA
      ENGINE = 0 PFP
      COHER_SIZE = 0x300
      COHER_BASE = 0x0000001000
      POLL_INTERVAL = 10
    0x0007 EVENT_WRITE
      EVENT_TYPE = 15 VS_PARTIAL_FLUSH
      EVENT_INDEX = 4 PARTIAL_FLUSH
    0x0009 EVENT_WRITE
      EVENT_TYPE = 16 PS_PARTIAL_FLUSH
      EVENT_INDEX = 4 PARTIAL_FLUSH
    0x000b EVENT_WRITE
      EVENT_TYPE = 7 CS_PARTIAL_FLUSH
      EVENT_INDEX = 4 PARTIAL_FLUSH
    0x000d PFP_SYNC_ME
      DUMMY = 0x0
    0x000f EVENT_WRITE
      EVENT_TYPE = 46 FLUSH_AND_INV_CB_META
      EVENT_INDEX = 0 OTHER
    0x0011 WAIT_REG_MEM
      FUNCTION = 3 EQUAL
      MEM_SPACE = 1 MEMORY
      OPERATION = 0 WAIT
      ENGINE = 0 ME
      CACHE_POLICY = 0 LRU
      ADDR = 0x0000002000
      REFERENCE = 0x8
      MASK = 0xff
      POLL_INTERVAL = 10
    0x0018 EVENT_WRITE_EOP
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      CACHE_POLICY = 0 LRU
      ADDR = 0x0000000000
      DST_SEL = 0 MEMORY
      INT_SEL = 0 NONE
      DATA_SEL = 0 NONE
      DATA = 0x0
    0x001e EVENT_WRITE_EOP
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      CACHE_POLICY = 0 LRU
      ADDR = 0x0000002004
      DST_SEL = 0 MEMORY
      INT_SEL = 3 WRITE_AFTER_CONFIRM
      DATA_SEL = 1 DATA_32
      DATA = 0x5
    0x0024 EVENT_WRITE_EOP
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      CACHE_POLICY = 0 LRU
      ADDR = 0x0000000000
      DST_SEL = 0 MEMORY
      INT_SEL = 0 NONE
      DATA_SEL = 0 NONE
      DATA = 0x0
    0x002a EVENT_WRITE_EOP
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      CACHE_POLICY = 0 LRU
      ADDR = 0x0000002020
      DST_SEL = 0 MEMORY
      INT_SEL = 0 NONE
      DATA_SEL = 3 GPU_CLOCK
      DATA = 0x0
    "#);
}

#[test]
fn packets_of_a_graphics_context_on_gfx8() {
    let calls = |_: &mut Device, l: &mut CommandList| {
        l.flush_gpu_cache_range(
            F::TEXTURE_L2_WRITEBACK | F::TEXTURE_L1_INVALIDATE,
            GpuAddress(0),
            ALL,
        );
    };
    insta::assert_snapshot!(text(XboxOneX, Graphics, calls), @r#"
    0x0000 SURFACE_SYNC
      COHER = 0x40008 TC_NC_ACTION_ENA | TC_WB_ACTION_ENA
      ENGINE = 1 ME
      COHER_SIZE = 0xffffffff00
      COHER_BASE = 0x0000000000
      POLL_INTERVAL = 10
    0x0005 SURFACE_SYNC
      COHER = 0x400000 TCL1_ACTION_ENA
      ENGINE = 1 ME
      COHER_SIZE = 0xffffffff00
      COHER_BASE = 0x0000000000
      POLL_INTERVAL = 10
    "#);
}

fn compute_calls(device: &mut Device, l: &mut CommandList) {
    let fence = device.create_fence("F", 0).unwrap();
    l.flush_gpu_caches_top_of_pipe(F::DEFAULT | F::KCACHE_INVALIDATE)
        .flush_gpu_caches_bottom_of_pipe(F::TEXTURE_L2_WRITEBACK | F::TEXTURE_L1_INVALIDATE)
        .flush_gpu_caches_bottom_of_pipe(F::TEXTURE_L2_INVALIDATE | F::ICACHE_INVALIDATE)
        .insert_fence(&fence, 7)
        .insert_wait_on_fence(&fence, 7);
}

#[test]
fn packets_of_a_compute_context_on_gfx7() {
    insta::assert_snapshot!(text(XboxOneS, Compute, compute_calls), @r#"
    0x0000 ACQUIRE_MEM
      COHER = 0x8c00000 TCL1_ACTION_ENA | TC_ACTION_ENA | SH_KCACHE_ACTION_ENA
      ENGINE = 1 ME
      COHER_SIZE = 0xffffffff00
      COHER_BASE = 0x0000000000
      POLL_INTERVAL = 10
    0x0007 RELEASE_MEM
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      TC_WB_ACTION = 1
      TCL1_ACTION = 1
      CACHE_POLICY = 0 LRU
      DST_SEL = 0 MEMORY
      INT_SEL = 0 NONE
      DATA_SEL = 0 NONE
      ADDR = 0x0000000000
      DATA = 0x0
    0x000e WRITE_DATA
      DST_SEL = 5 MEMORY
      WR_CONFIRM = 1
      CACHE_POLICY = 0 LRU
      ENGINE = 0 ME
      ADDR = 0x0000000000
      [0x0] 00000000
    0x0013 RELEASE_MEM
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      TC_ACTION = 1
      CACHE_POLICY = 0 LRU
      DST_SEL = 0 MEMORY
      INT_SEL = 0 NONE
      DATA_SEL = 0 NONE
      ADDR = 0x0000000000
      DATA = 0x0
    0x001a RELEASE_MEM
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      TC_ACTION = 1
      CACHE_POLICY = 0 LRU
      DST_SEL = 0 MEMORY
      INT_SEL = 3 WRITE_AFTER_CONFIRM
      DATA_SEL = 1 DATA_32
      ADDR = 0x0000000000
      DATA = 0x1
    0x0021 WAIT_REG_MEM
      FUNCTION = 3 EQUAL
      MEM_SPACE = 1 MEMORY
      OPERATION = 0 WAIT
      ENGINE = 0 ME
      CACHE_POLICY = 0 LRU
      ADDR = 0x0000000000
      REFERENCE = 0x1
      MASK = 0xffffffff
      POLL_INTERVAL = 10
    0x0028 ACQUIRE_MEM
      COHER = 0x20000000 SH_ICACHE_ACTION_ENA
      ENGINE = 1 ME
      COHER_SIZE = 0xffffffff00
      COHER_BASE = 0x0000000000
      POLL_INTERVAL = 10
    0x002f RELEASE_MEM
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      CACHE_POLICY = 0 LRU
      DST_SEL = 0 MEMORY
      INT_SEL = 0 NONE
      DATA_SEL = 0 NONE
      ADDR = 0x0000000000
      DATA = 0x0
    0x0036 RELEASE_MEM
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      CACHE_POLICY = 0 LRU
      DST_SEL = 0 MEMORY
      INT_SEL = 3 WRITE_AFTER_CONFIRM
      DATA_SEL = 2 DATA_64
      ADDR = 0x0100000000
      DATA = 0x7
    0x003d WAIT_REG_MEM64 (assumed)
      FUNCTION = 5 GREATER_EQUAL
      MEM_SPACE = 1 MEMORY
      ENGINE = 0 ME
      ADDR = 0x0100000000
      REFERENCE = 0x7
      MASK = 0xffffffffffffffff
      POLL_INTERVAL = 10
    "#);
}

#[test]
fn packets_of_a_compute_context_on_gfx8() {
    insta::assert_snapshot!(text(XboxOneX, Compute, compute_calls), @r#"
    0x0000 ACQUIRE_MEM
      COHER = 0x8c40000 TC_WB_ACTION_ENA | TCL1_ACTION_ENA | TC_ACTION_ENA | SH_KCACHE_ACTION_ENA
      ENGINE = 1 ME
      COHER_SIZE = 0xffffffff00
      COHER_BASE = 0x0000000000
      POLL_INTERVAL = 10
    0x0007 RELEASE_MEM
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      TC_WB_ACTION = 1
      TCL1_ACTION = 1
      CACHE_POLICY = 0 LRU
      DST_SEL = 0 MEMORY
      INT_SEL = 0 NONE
      DATA_SEL = 0 NONE
      ADDR = 0x0000000000
      DATA = 0x0
    0x000e WRITE_DATA
      DST_SEL = 5 MEMORY
      WR_CONFIRM = 1
      CACHE_POLICY = 0 LRU
      ENGINE = 0 ME
      ADDR = 0x0000000000
      [0x0] 00000000
    0x0013 RELEASE_MEM
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      TC_WB_ACTION = 1
      TC_ACTION = 1
      CACHE_POLICY = 0 LRU
      DST_SEL = 0 MEMORY
      INT_SEL = 0 NONE
      DATA_SEL = 0 NONE
      ADDR = 0x0000000000
      DATA = 0x0
    0x001a RELEASE_MEM
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      TC_WB_ACTION = 1
      TC_ACTION = 1
      CACHE_POLICY = 0 LRU
      DST_SEL = 0 MEMORY
      INT_SEL = 3 WRITE_AFTER_CONFIRM
      DATA_SEL = 1 DATA_32
      ADDR = 0x0000000000
      DATA = 0x1
    0x0021 WAIT_REG_MEM
      FUNCTION = 3 EQUAL
      MEM_SPACE = 1 MEMORY
      OPERATION = 0 WAIT
      ENGINE = 0 ME
      CACHE_POLICY = 0 LRU
      ADDR = 0x0000000000
      REFERENCE = 0x1
      MASK = 0xffffffff
      POLL_INTERVAL = 10
    0x0028 ACQUIRE_MEM
      COHER = 0x20000000 SH_ICACHE_ACTION_ENA
      ENGINE = 1 ME
      COHER_SIZE = 0xffffffff00
      COHER_BASE = 0x0000000000
      POLL_INTERVAL = 10
    0x002f RELEASE_MEM
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      CACHE_POLICY = 0 LRU
      DST_SEL = 0 MEMORY
      INT_SEL = 0 NONE
      DATA_SEL = 0 NONE
      ADDR = 0x0000000000
      DATA = 0x0
    0x0036 RELEASE_MEM
      EVENT_TYPE = 40 BOTTOM_OF_PIPE_TS
      EVENT_INDEX = 5 END_OF_PIPE
      CACHE_POLICY = 0 LRU
      DST_SEL = 0 MEMORY
      INT_SEL = 3 WRITE_AFTER_CONFIRM
      DATA_SEL = 2 DATA_64
      ADDR = 0x0100000000
      DATA = 0x7
    0x003d WAIT_REG_MEM64 (assumed)
      FUNCTION = 5 GREATER_EQUAL
      MEM_SPACE = 1 MEMORY
      ENGINE = 0 ME
      ADDR = 0x0100000000
      REFERENCE = 0x7
      MASK = 0xffffffffffffffff
      POLL_INTERVAL = 10
    "#);
}

#[test]
fn a_context_runs_and_its_fence_is_set() {
    for kind in [Graphics, Compute] {
        for profile in [XboxOne, XboxOneX] {
            let mut device = model(profile);
            let fence = device.create_fence("F", 0).unwrap();
            let buffer = device.create_buffer("B", 4096).unwrap();
            let pipeline = device.create_pipeline("S", common::store_kernel(3, 64)).unwrap();
            let mut l = device.create_context_x("L", kind).unwrap();
            l.set_pipeline_state(&pipeline)
                .set_uav(0, 0, buffer.raw_view())
                .set_dispatch_flags(D3D12XBOX_DISPATCH_FLAG_FORCE_START_AT_000)
                .dispatch(1, 1, 1)
                .gpu_send_pipelined_event(D3D11X_GPU_PIPELINED_EVENT_CS_PARTIAL_FLUSH);
            match kind {
                Graphics => l.flush_gpu_cache_range(F::TEXTURE_L2_WRITEBACK, GpuAddress(0), ALL),
                Compute | ListKind::Dma => {
                    l.flush_gpu_caches_bottom_of_pipe(F::TEXTURE_L2_WRITEBACK)
                }
            };
            l.insert_fence(&fence, 9);
            l.close().unwrap();
            let queue = match kind {
                Graphics => device.graphics_queue().unwrap(),
                Compute | ListKind::Dma => device.compute_queue(0, 0).unwrap(),
            };
            device.execute_command_lists(&queue, &[&l]).unwrap();
            let (done, report) = device.wait_on_host(&fence, 9).unwrap();
            assert!(done && report.is_clean(), "{report:?}");
            assert_eq!(device.read_u32s(buffer.address(), 1).unwrap(), [3]);
        }
    }
}
