//! Rules of the D3D11.X face.

use crate::{AT, Bench, Case, case, result};
use wavefence_base::{GpuAddress, ProfileName};
use wavefence_d3d::enums::*;
use wavefence_d3d::{CommandList, ListKind, Undrawn, rules};

use D3D11_FLUSH as F;
use ListKind::{Compute, Graphics};
use ProfileName::{SeriesX, XboxOne, XboxOneX};

/// Names of the rules that a context's calls break or are advised by.
fn context(
    profile: ProfileName,
    kind: ListKind,
    record: impl FnOnce(&mut Bench, &mut CommandList),
) -> Vec<&'static str> {
    let mut bench = Bench::new(profile);
    let mut list = bench.device.create_context_x("L", kind).unwrap();
    record(&mut bench, &mut list);
    let _ = list.close();
    let advice = list.advice().iter().map(|a| a.rule.name);
    list.errors().iter().map(|e| e.rule.name).chain(advice).collect()
}

fn range(flags: F, base: u64, size: u64) -> Vec<&'static str> {
    context(XboxOne, Graphics, |_, l| {
        l.flush_gpu_cache_range(flags, GpuAddress(base), size);
    })
}

fn top(flags: F) -> Vec<&'static str> {
    context(XboxOneX, Compute, |_, l| {
        l.flush_gpu_caches_top_of_pipe(flags);
    })
}

fn bottom(flags: F) -> Vec<&'static str> {
    context(XboxOne, Compute, |_, l| {
        l.flush_gpu_caches_bottom_of_pipe(flags);
    })
}

const ALL: u64 = D3D11_FLUSH_GPU_CACHE_RANGE_ALL;

pub static CASES: &[Case] = &[
    case(
        &rules::FACE_CALL,
        || {
            context(XboxOne, Graphics, |_, l| {
                l.flush_pipeline_x(D3D12XBOX_FLUSH_IDLE, GpuAddress(0), ALL);
            })
        },
        || {
            context(XboxOne, Graphics, |_, l| {
                l.insert_wait_until_idle();
            })
        },
    ),
    case(
        &rules::FLUSH_RANGE_ZERO,
        || range(F::TEXTURE_L1_INVALIDATE, 0, 0),
        || range(F::TEXTURE_L1_INVALIDATE, 0, ALL),
    ),
    case(
        &rules::WAIT_MASK,
        || {
            context(XboxOne, Compute, |_, l| {
                l.insert_wait_on_memory(AT, 0, D3D11_COMPARISON_EQUAL, 0x10, 0x0F);
            })
        },
        || {
            context(XboxOne, Compute, |_, l| {
                l.insert_wait_on_memory(AT, 0, D3D11_COMPARISON_EQUAL, 0x10, 0xF0);
            })
        },
    ),
    case(
        &rules::FLUSH_ENSURE_DB,
        || top(F::ENSURE_DB_COHERENCY | F::KCACHE_INVALIDATE),
        || range(F::ENSURE_DB_COHERENCY | F::KCACHE_INVALIDATE, 0, ALL),
    ),
    case(
        &rules::FLUSH_RESERVED,
        || range(F::ENSURE_BASE_2_COHERENCY | F::TEXTURE_L1_INVALIDATE, 0, ALL),
        || range(F::TEXTURE_L1_INVALIDATE, 0, ALL),
    ),
    case(
        &rules::FLUSH_CB_SUBSET,
        || range(F::ENSURE_CB0_COHERENCY | F::COLOR_BLOCK_INVALIDATE, 0, ALL),
        || range(F::ENSURE_CB | F::COLOR_BLOCK_INVALIDATE, 0, ALL),
    ),
    case(
        &rules::UNDRAWN,
        || {
            context(XboxOne, Graphics, |_, l| {
                l.refuse(Undrawn::DrawInstanced);
            })
        },
        || {
            context(XboxOne, Graphics, |b, l| {
                b.ready(l);
                l.dispatch(1, 1, 1);
            })
        },
    ),
];

/// One row of the table of flags (design 4.3): what each context says of the flag
/// alone.
#[test]
fn every_flag_is_judged_on_each_context() {
    let none: [&str; 0] = [];
    for &(name, bits) in F::NAMES {
        let flag = F::from_bits_retain(bits);
        let graphics = range(flag, 0, ALL);
        let compute = top(flag);
        assert_eq!(bottom(flag), compute, "{name}");
        let (on_graphics, on_compute): (&[&str], &[&str]) = if F::RESERVED.contains(flag) {
            (&["flush-reserved"], &["flush-reserved"])
        } else if F::ENSURE_CB.contains(flag) {
            (&["flush-cb-subset"], &["flush-graphics-parts"])
        } else if flag == F::ENSURE_DB_COHERENCY {
            (&none, &["flush-ensure-db"])
        } else if F::VOLATILE.contains(flag) {
            (&["volatile-nothing"], &["volatile-nothing"])
        } else if F::RENDER_BACKEND.contains(flag) {
            (&none, &["flush-graphics-parts"])
        } else if flag.contains(F::ENGINE_PFP) {
            (&none, &["flush-pfp"])
        } else {
            (&none, &none)
        };
        assert_eq!(graphics, on_graphics, "{name}");
        assert_eq!(compute, on_compute, "{name}");
    }
}

#[test]
fn flags_of_a_flush_as_a_whole() {
    assert_eq!(range(F::empty(), 0, ALL), ["flush-nothing"]);
    assert_eq!(top(F::empty()), ["flush-nothing"]);
    assert_eq!(bottom(F::empty()), ["flush-nothing"]);
    assert_eq!(range(F::from_bits_retain(1 << 17), 0, ALL), ["unknown-flags"]);
    assert_eq!(range(F::TEXTURE_L2_INVALIDATE, 0x1000, 0x100), ["flush-range-l2"]);
    assert_eq!(range(F::TEXTURE_L1_INVALIDATE, 0x1000, 0), ["flush-empty-range"]);
    assert_eq!(range(F::TEXTURE_L1_INVALIDATE, 1 << 40, 256), ["address-range"]);
    assert_eq!(range(F::DEFAULT, 0, u64::MAX), [""; 0]);
}

#[test]
fn calls_exist_on_their_context_only() {
    let graphics_only = context(XboxOne, Compute, |b, l| {
        l.flush_gpu_cache_range(F::DEFAULT, GpuAddress(0), ALL)
            .flush_gpu_caches((&b.a).into())
            .insert_wait_until_idle()
            .gpu_send_pipelined_event(D3D11X_GPU_PIPELINED_EVENT_PS_PARTIAL_FLUSH);
    });
    assert_eq!(graphics_only, ["list-kind"; 4]);
    let compute_only = context(XboxOne, Graphics, |_, l| {
        l.flush_gpu_caches_top_of_pipe(F::DEFAULT).flush_gpu_caches_bottom_of_pipe(F::DEFAULT);
    });
    assert_eq!(compute_only, ["list-kind"; 2]);
    let both = |kind| {
        context(XboxOneX, kind, |b, l| {
            let fence = b.device.create_fence("F", 0).unwrap();
            l.gpu_send_pipelined_event(D3D11X_GPU_PIPELINED_EVENT_CS_PARTIAL_FLUSH)
                .insert_fence(&fence, 1)
                .insert_wait_on_fence(&fence, 1)
                .write_value_bottom_of_pipe(AT, 1)
                .write_timestamp_to_memory(AT)
                .set_dispatch_flags(D3D12XBOX_DISPATCH_FLAG_USE_THREAD_DIMENSIONS);
            b.ready(l);
            l.dispatch(70, 1, 1).dispatch_indirect(&b.b, 0).copy_resource(&b.a, &b.b);
        })
    };
    assert_eq!(both(Graphics), [""; 0]);
    assert_eq!(both(Compute), [""; 0]);
}

#[test]
fn a_list_of_one_face_refuses_calls_of_the_other() {
    let mut bench = Bench::new(XboxOne);
    let mut list = bench.device.create_command_list("L", Graphics);
    list.flush_gpu_cache_range(F::DEFAULT, GpuAddress(0), ALL);
    insta::assert_snapshot!(list.close().unwrap_err(), @r#"list "L" #0 FlushGpuCacheRange: is a call of the D3D11.X face; this is a D3D12.X list [face-call 1009]"#);
    let mut list = bench.device.create_context_x("L", Compute).unwrap();
    let none = D3D12XBOX_DISPATCH_FLAG_NONE;
    list.set_root_constants(0, 0, &[1]).dispatch_x(1, 1, 1, none).end_event();
    list.write_value_bottom_of_pipe(GpuAddress(2), 1);
    list.insert_wait_on_memory(AT, 3, D3D11_COMPARISON_NEVER, 1, 1);
    list.set_dispatch_flags(D3D12XBOX_DISPATCH_FLAG_W32).refuse(Undrawn::DecompressResource);
    bench.ready(&mut list);
    list.dispatch(1, 1, 1);
    insta::assert_snapshot!(list.close().unwrap_err(), @r#"
    list "L" #0 SetComputeRoot32BitConstants: is no call of the D3D11.X face; use a constant buffer [face-call 1009]
    list "L" #1 DispatchX: is no call of the D3D11.X face; set the flags by SetDispatchFlags and call Dispatch [face-call 1009]
    list "L" #1 DispatchX: no shader is set; call CSSetShader first [dispatch-pipeline 1052]
    list "L" #3 WriteValueBottomOfPipe: pDestination = 0x2: must be 4-byte aligned; the next such address is 0x4 [write32-alignment 1010]
    list "L" #4 InsertWaitOnMemory: Flags = 0x3: no flag of this call is public; pass 0 [unknown-flags 1019]
    list "L" #4 InsertWaitOnMemory: ComparisonFunction = NEVER: would hold the queue for ever; choose another comparison [wait-never 1020]
    list "L" #6 DecompressResource: is not supported: this version runs compute and copies, and draws nothing [undrawn 1066]
    list "L" #9 Dispatch: Flags = W32: does not exist on xbox-one; leave it out [dispatch-w32-profile 1044]
    "#);
    assert_eq!(list.advice()[0].call, "list \"L\" #2 PIXEndEvent");
}

#[test]
fn contexts_exist_on_xbox_one_only() {
    let mut bench = Bench::new(SeriesX);
    assert_eq!(result(bench.device.create_context_x("L", Graphics)), ["face-family"]);
    let mut bench = Bench::new(XboxOne);
    assert_eq!(result(bench.device.create_context_x("L", ListKind::Dma)), ["list-kind"]);
}
