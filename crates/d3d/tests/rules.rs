//! Every API rule: a call that breaks it and names it, and a twin beside it that
//! must say nothing. The list of rules is checked for completeness.

mod common;
#[path = "rules/context.rs"]
mod context;

use common::{Builder, fixed, lane_count_kernel, model, ordered_kernel, store_kernel};
use std::sync::Arc;
use wavefence_base::{GpuAddress, Profile, ProfileName, Rule, TexelFormat, WaveSize};
use wavefence_d3d::enums::*;
use wavefence_d3d::{
    Barrier, Buffer, CommandList, CommandSignature, CountBuffer, Device, Error, Fence, ListKind,
    Pipeline, QueueKind, Texture, TextureDesc, TextureLocation, View, check_d3d11_face, rules,
};
use wavefence_shader::ir::{Builtin, Kernel, ResourceClass, ResourceKind, WaveRule};

use D3D12XBOX_DISPATCH_FLAGS as Dispatch;
use D3D12XBOX_FLUSH as Flush;
use D3D12XBOX_WRITE_VALUE_BOP_FLAGS as Write;
use ListKind::{Compute, Dma, Graphics};
use ProfileName::{SeriesX, XboxOne, XboxOneX};

const AT: GpuAddress = GpuAddress(0x20_0000);
const ALL: u64 = D3D12XBOX_FLUSH_RANGE_ALL;

/// A device with something of everything.
struct Bench {
    device: Device,
    a: Buffer,
    b: Buffer,
    texture: Texture,
    small: Texture,
    store: Pipeline,
}

impl Bench {
    fn new(profile: ProfileName) -> Self {
        let mut device = model(profile);
        let a = device.create_buffer("A", 4096).unwrap();
        let b = device.create_buffer("B", 4096).unwrap();
        let desc = TextureDesc::d2(TexelFormat::R32_UINT, 16, 16);
        let texture = device.create_texture("T", &desc).unwrap();
        let desc = TextureDesc::d2(TexelFormat::R32_UINT, 8, 8);
        let small = device.create_texture("S", &desc).unwrap();
        let store = device.create_pipeline("Store", store_kernel(1, 64)).unwrap();
        Self { device, a, b, texture, small, store }
    }

    fn pipeline(&mut self, kernel: Arc<Kernel>) -> Pipeline {
        self.device.create_pipeline("Kernel", kernel).unwrap()
    }

    fn ready(&self, list: &mut CommandList) {
        list.set_pipeline_state(&self.store).set_uav(0, 0, self.a.raw_view());
    }

    /// Binds a kernel's `u0` to a raw buffer.
    fn bind(&mut self, list: &mut CommandList, kernel: Arc<Kernel>) {
        let pipeline = self.pipeline(kernel);
        list.set_pipeline_state(&pipeline).set_uav(0, 0, self.a.raw_view());
    }
}

/// Names of the rules that a list's calls break or are advised by.
fn list(
    profile: ProfileName,
    kind: ListKind,
    record: impl FnOnce(&mut Bench, &mut CommandList),
) -> Vec<&'static str> {
    let mut bench = Bench::new(profile);
    let mut list = bench.device.create_command_list("L", kind);
    record(&mut bench, &mut list);
    let _ = list.close();
    for error in list.errors() {
        let text = error.to_string();
        assert!(text.starts_with("list \"L\" #"), "{text}");
        assert!(text.contains(&format!("[{} {}]", error.rule.name, error.rule.number)), "{text}");
        assert!(!error.message.is_empty());
    }
    let advice = list.advice().iter().map(|a| a.rule.name);
    list.errors().iter().map(|e| e.rule.name).chain(advice).collect()
}

fn result<T>(result: Result<T, Error>) -> Vec<&'static str> {
    match result {
        Ok(_) => Vec::new(),
        Err(Error::Call(e)) => vec![e.rule.name],
        Err(other) => panic!("{other}"),
    }
}

struct Case {
    rule: &'static Rule,
    bad: fn() -> Vec<&'static str>,
    good: fn() -> Vec<&'static str>,
}

const fn case(
    rule: &'static Rule,
    bad: fn() -> Vec<&'static str>,
    good: fn() -> Vec<&'static str>,
) -> Case {
    Case { rule, bad, good }
}

fn dispatch_with(
    profile: ProfileName,
    kind: ListKind,
    kernel: Arc<Kernel>,
    flags: Dispatch,
) -> Vec<&'static str> {
    list(profile, kind, |bench, l| {
        bench.bind(l, kernel);
        l.dispatch_x(1, 1, 1, flags);
    })
}

fn write32(l: &mut CommandList, at: u64, flush: Flush, flags: Write) {
    l.write_32_bit_value_bottom_of_pipe_x(GpuAddress(at), 1, flush, flags);
}

fn write64(l: &mut CommandList, at: u64, value: u64, flush: Flush, flags: Write) {
    l.write_64_bit_value_bottom_of_pipe_x(GpuAddress(at), value, flush, flags);
}

fn transition(
    profile: ProfileName,
    kind: ListKind,
    before: D3D12_RESOURCE_STATES,
    after: D3D12_RESOURCE_STATES,
) -> Vec<&'static str> {
    list(profile, kind, |bench, l| {
        let resource = (&bench.a).into();
        l.resource_barrier(&[Barrier::Transition { resource, before, after }]);
    })
}

/// A kernel with one resource that nothing uses.
fn resource_kernel(class: ResourceClass, kind: ResourceKind) -> Arc<Kernel> {
    let mut b = Builder::new("bound", [1, 1, 1]);
    b.resource(class, 3, "Thing", kind);
    b.builtin(Builtin::GroupIdX);
    b.build()
}

fn structured(stride: u32) -> Vec<&'static str> {
    list(SeriesX, Compute, |bench, l| {
        let kind = ResourceKind::StructuredBuffer { stride: 16 };
        let p = bench.pipeline(resource_kernel(ResourceClass::Srv, kind));
        l.set_pipeline_state(&p).set_srv(3, 0, bench.a.structured_view(stride)).dispatch(1, 1, 1);
    })
}

fn counted(counter: bool) -> Vec<&'static str> {
    list(SeriesX, Compute, |bench, l| {
        let p = bench.pipeline(resource_kernel(ResourceClass::Uav, ResourceKind::Counter));
        let view = match counter {
            true => bench.a.counted_view(16, &bench.b, 0).unwrap(),
            false => bench.a.structured_view(16),
        };
        l.set_pipeline_state(&p).set_uav(3, 0, view).dispatch(1, 1, 1);
    })
}

#[test]
fn a_counter_is_aligned_and_lies_in_its_buffer() {
    let bench = Bench::new(SeriesX);
    let refused = |offset| bench.a.counted_view(4, &bench.b, offset).unwrap_err().to_string();
    insta::assert_snapshot!(refused(4), @"CreateUnorderedAccessView: CounterOffsetInBytes = 4: must be a multiple of 4096 [uav-counter 1059]");
    insta::assert_snapshot!(refused(4096), @r#"CreateUnorderedAccessView: CounterOffsetInBytes = 4096: the counter of UAV "A" does not fit in "B", which has 4096 bytes [uav-counter 1059]"#);
}

fn signal_on(fence_of_other: bool) -> Vec<&'static str> {
    let mut device = model(SeriesX);
    let mut other = model(SeriesX);
    let queue = device.graphics_queue().unwrap();
    let fence: Fence = if fence_of_other {
        other.create_fence("F", 0).unwrap()
    } else {
        device.create_fence("F", 0).unwrap()
    };
    result(device.signal(&queue, &fence, 1))
}

fn execute(kind: ListKind, close: bool) -> Vec<&'static str> {
    let mut device = model(SeriesX);
    let queue = device.compute_queue(0, 0).unwrap();
    let mut list = device.create_command_list("L", kind);
    if close {
        list.close().unwrap();
    }
    result(device.execute_command_lists(&queue, &[&list]))
}

fn indirect(offset: u64, stride: u32, max: u32, count: bool) -> Vec<&'static str> {
    list(SeriesX, Graphics, |bench, l| {
        bench.ready(l);
        let count = count.then_some(CountBuffer { buffer: &bench.b, offset: 0 });
        let signature = CommandSignature { byte_stride: stride };
        l.execute_indirect(signature, max, &bench.b, offset, count);
    })
}

fn wave_rule(kernel: WaveRule, flags: Dispatch) -> Vec<&'static str> {
    dispatch_with(SeriesX, Compute, lane_count_kernel(kernel), flags)
}

fn dispatch(x: u32, y: u32, z: u32, start: [u32; 3], flags: Dispatch) -> Vec<&'static str> {
    list(SeriesX, Compute, |bench, l| {
        bench.ready(l);
        l.set_compute_start_x(start).dispatch_x(x, y, z, flags);
    })
}

fn flush(
    profile: ProfileName,
    kind: ListKind,
    flags: Flush,
    base: u64,
    size: u64,
) -> Vec<&'static str> {
    list(profile, kind, |_, l| {
        l.flush_pipeline_x(flags, GpuAddress(base), size);
    })
}

fn constants(dwords: usize) -> Vec<&'static str> {
    list(SeriesX, Compute, |bench, l| {
        bench.ready(l);
        l.set_root_constants(7, 0, &vec![1; dwords]).dispatch(1, 1, 1);
    })
}

fn eos(profile: ProfileName) -> Vec<&'static str> {
    list(profile, Graphics, |bench, l| {
        l.fill_memory_with_32_bit_value_x(bench.a.address(), 64, 0);
        l.write_32_bit_value_bottom_of_shader_x(bench.b.address(), 1);
    })
}

static CASES: &[Case] = &[
    case(
        &rules::LIST_CLOSED,
        || {
            list(SeriesX, Compute, |_, l| {
                l.close().unwrap();
                l.begin_event(0, "late");
            })
            .into_iter()
            .take(1)
            .collect()
        },
        || list(SeriesX, Compute, |_, _| {}),
    ),
    case(&rules::LIST_OPEN, || execute(Compute, false), || execute(Compute, true)),
    case(
        &rules::LIST_KIND,
        || {
            list(SeriesX, Dma, |_, l| {
                l.setup_ordered_append_counter_x(0, 0);
            })
        },
        || {
            list(SeriesX, Compute, |_, l| {
                l.setup_ordered_append_counter_x(0, 0);
            })
        },
    ),
    case(&rules::QUEUE_KIND, || execute(Graphics, true), || execute(Compute, true)),
    case(
        &rules::QUEUE_EXISTS,
        || result(model(XboxOne).open_queue(QueueKind::Compute { pipe: 1, queue: 3 }, "q")),
        || result(model(XboxOne).open_queue(QueueKind::Compute { pipe: 1, queue: 2 }, "q")),
    ),
    case(
        &rules::FACE_FAMILY,
        || result(check_d3d11_face(&Profile::get(SeriesX), "FlushGpuCacheRange")),
        || result(check_d3d11_face(&Profile::get(XboxOneX), "FlushGpuCacheRange")),
    ),
    case(
        &rules::MARKER_BALANCE,
        || {
            list(SeriesX, Dma, |_, l| {
                l.begin_event(0, "open");
            })
        },
        || {
            list(SeriesX, Dma, |_, l| {
                l.begin_event(0, "closed").set_marker(0, "here").end_event();
            })
        },
    ),
    case(
        &rules::ADDRESS_RANGE,
        || list(XboxOne, Compute, |_, l| write32(l, 1 << 40, Flush::NONE, Write::NONE)),
        || list(SeriesX, Compute, |_, l| write32(l, 1 << 40, Flush::NONE, Write::NONE)),
    ),
    case(
        &rules::RAW_PACKETS,
        // A type-3 NOP header that counts more dwords than follow.
        || {
            list(SeriesX, Compute, |_, l| {
                l.insert_packets_x(&[0xC002_1000, 0]);
            })
        },
        || {
            list(SeriesX, Compute, |_, l| {
                l.insert_packets_x(&[0xC000_1000, 0]);
            })
        },
    ),
    case(
        &rules::WRITE32_ALIGNMENT,
        || {
            list(SeriesX, Compute, |_, l| {
                l.write_32_bit_value_top_of_pipe_x(GpuAddress(0x1002), 1);
            })
        },
        || {
            list(SeriesX, Compute, |_, l| {
                l.write_32_bit_value_top_of_pipe_x(GpuAddress(0x1004), 1);
            })
        },
    ),
    case(
        &rules::WRITE32_FLUSH,
        || list(SeriesX, Compute, |_, l| write32(l, AT.0, Flush::BOP_CS_PARTIAL, Write::NONE)),
        || list(SeriesX, Compute, |_, l| write32(l, AT.0, Flush::WRITE32, Write::NONE)),
    ),
    case(
        &rules::WRITE32_FLAGS,
        || list(SeriesX, Compute, |_, l| write32(l, AT.0, Flush::NONE, Write::GPU_TIMESTAMP)),
        || list(SeriesX, Compute, |_, l| write32(l, AT.0, Flush::NONE, Write::NONE)),
    ),
    case(
        &rules::WRITE64_ALIGNMENT,
        || list(SeriesX, Dma, |_, l| write64(l, AT.0 + 8, 1, Flush::NONE, Write::NONE)),
        || list(SeriesX, Compute, |_, l| write64(l, AT.0 + 8, 1, Flush::NONE, Write::NONE)),
    ),
    case(
        &rules::WRITE64_FLUSH,
        || {
            list(XboxOne, Compute, |_, l| {
                write64(l, AT.0, 1, Flush::BOP_TEXTURE_L2_WRITEBACK, Write::NONE);
            })
        },
        || list(XboxOne, Compute, |_, l| write64(l, AT.0, 1, Flush::NONE, Write::NONE)),
    ),
    case(
        &rules::WRITE64_VALUE,
        || list(XboxOne, Compute, |_, l| write64(l, AT.0, 1, Flush::NONE, Write::GPU_TIMESTAMP)),
        || list(XboxOne, Compute, |_, l| write64(l, AT.0, 0, Flush::NONE, Write::GPU_TIMESTAMP)),
    ),
    case(
        &rules::WRITE64_TIMESTAMPS,
        || {
            list(XboxOne, Compute, |_, l| {
                write64(l, AT.0, 0, Flush::NONE, Write::GPU_TIMESTAMP | Write::SYSTEM_TIMESTAMP);
            })
        },
        || list(XboxOne, Compute, |_, l| write64(l, AT.0, 0, Flush::NONE, Write::SYSTEM_TIMESTAMP)),
    ),
    case(
        &rules::DMA_FLUSH,
        || {
            list(SeriesX, Dma, |_, l| {
                write32(l, AT.0, Flush::BOP_TEXTURE_L2_WRITEBACK, Write::NONE);
            })
        },
        || list(SeriesX, Dma, |_, l| write32(l, AT.0, Flush::NONE, Write::NONE)),
    ),
    case(
        &rules::DMA_SYSTEM_CLOCK,
        || list(SeriesX, Dma, |_, l| write64(l, AT.0, 0, Flush::NONE, Write::SYSTEM_TIMESTAMP)),
        || list(SeriesX, Dma, |_, l| write64(l, AT.0, 0, Flush::NONE, Write::GPU_TIMESTAMP)),
    ),
    case(
        &rules::UNKNOWN_FLAGS,
        || flush(SeriesX, Compute, Flush::from_bits_retain(1 << 25), 0, ALL),
        || flush(SeriesX, Compute, Flush::BOP_CS_PARTIAL, 0, ALL),
    ),
    case(
        &rules::WAIT_NEVER,
        || {
            list(SeriesX, Dma, |_, l| {
                l.wait_32_bit_value_x(AT, D3D12_COMPARISON_FUNC_NEVER, 0, D3D12XBOX_WAIT_FLAG_NONE);
            })
        },
        || {
            list(SeriesX, Dma, |_, l| {
                l.wait_32_bit_value_x(
                    AT,
                    D3D12_COMPARISON_FUNC_ALWAYS,
                    0,
                    D3D12XBOX_WAIT_FLAG_NONE,
                );
            })
        },
    ),
    case(
        &rules::WAIT_ALIGNMENT,
        || {
            list(SeriesX, Dma, |_, l| {
                let func = D3D12_COMPARISON_FUNC_EQUAL;
                l.wait_64_bit_value_x(AT.offset(4), func, 0, D3D12XBOX_WAIT_FLAG_NONE);
            })
        },
        || {
            list(SeriesX, Dma, |_, l| {
                let func = D3D12_COMPARISON_FUNC_EQUAL;
                l.wait_32_bit_value_x(AT.offset(4), func, 0, D3D12XBOX_WAIT_FLAG_NONE);
            })
        },
    ),
    case(&rules::EOS_AFTER_COPY, || eos(XboxOne), || eos(XboxOneX)),
    case(
        &rules::FLUSH_NOTHING,
        || flush(SeriesX, Graphics, Flush::NONE, 0, ALL),
        || flush(SeriesX, Graphics, Flush::IDLE, 0, 0),
    ),
    case(
        &rules::FLUSH_ZERO_RANGE,
        || flush(SeriesX, Graphics, Flush::BOP_DEPTH_BLOCK_DATA, 0, 0),
        || flush(SeriesX, Graphics, Flush::BOP_DEPTH_BLOCK_DATA, 0, ALL),
    ),
    case(
        &rules::FLUSH_GRAPHICS_PARTS,
        || flush(SeriesX, Compute, Flush::BOP_PS_PARTIAL, 0, ALL),
        || flush(SeriesX, Graphics, Flush::BOP_PS_PARTIAL, 0, ALL),
    ),
    case(
        &rules::FLUSH_PFP,
        || flush(SeriesX, Compute, Flush::TOP_PFP, 0, ALL),
        || flush(SeriesX, Compute, Flush::TOP_COMPUTE_MASK | Flush::BOP_COMPUTE_MASK, 0, ALL),
    ),
    case(
        &rules::FLUSH_RANGE_L2,
        || flush(XboxOne, Compute, Flush::TOP_TEXTURE_L2_INVALIDATE, 0x1000, 256),
        || flush(XboxOne, Compute, Flush::TOP_TEXTURE_L1_INVALIDATE, 0x1000, 256),
    ),
    case(
        &rules::VOLATILE_NOTHING,
        || flush(XboxOne, Compute, Flush::BOP_TEXTURE_L1_VOLATILE, 0, ALL),
        || flush(XboxOne, Compute, Flush::BOP_COMPUTE_MASK, 0, ALL),
    ),
    case(
        &rules::FLUSH_EMPTY_RANGE,
        || flush(SeriesX, Compute, Flush::TOP_TEXTURE_L1_INVALIDATE, 0x1000, 0),
        || flush(SeriesX, Compute, Flush::TOP_TEXTURE_L1_INVALIDATE, 0x1000, 1),
    ),
    case(
        &rules::DISPATCH_OUT_OF_ORDER,
        || dispatch_with(SeriesX, Graphics, store_kernel(1, 64), Dispatch::ENABLE_OUT_OF_ORDER),
        || dispatch_with(SeriesX, Compute, store_kernel(1, 64), Dispatch::ENABLE_OUT_OF_ORDER),
    ),
    case(
        &rules::DISPATCH_ORDERED_OUT_OF_ORDER,
        || {
            let flags = Dispatch::ENABLE_OUT_OF_ORDER | Dispatch::ENABLE_ORDERED_APPEND;
            dispatch_with(SeriesX, Compute, ordered_kernel(64), flags)
        },
        || {
            let flags = Dispatch::ENABLE_ORDERED_APPEND;
            dispatch_with(SeriesX, Compute, ordered_kernel(64), flags)
        },
    ),
    case(
        &rules::DISPATCH_ORDERED_FLAG,
        || {
            list(SeriesX, Compute, |bench, l| {
                bench.bind(l, ordered_kernel(64));
                l.dispatch(1, 1, 1);
            })
        },
        || {
            list(SeriesX, Compute, |bench, l| {
                bench.bind(l, ordered_kernel(64));
                l.dispatch_x(1, 1, 1, Dispatch::ENABLE_ORDERED_APPEND);
            })
        },
    ),
    case(
        &rules::DISPATCH_WAVEID_ALONE,
        || {
            let flags = Dispatch::ORDERED_APPEND_WAVEID_PER_THREADGROUP;
            dispatch_with(SeriesX, Compute, store_kernel(1, 64), flags)
        },
        || {
            let per_group = Dispatch::ORDERED_APPEND_WAVEID_PER_THREADGROUP;
            let flags = per_group | Dispatch::ENABLE_ORDERED_APPEND;
            dispatch_with(SeriesX, Compute, store_kernel(1, 64), flags)
        },
    ),
    case(
        &rules::DISPATCH_W32_PROFILE,
        || dispatch_with(XboxOneX, Compute, lane_count_kernel(WaveRule::Wave32), Dispatch::W32),
        || dispatch_with(XboxOneX, Compute, lane_count_kernel(WaveRule::Wave32), Dispatch::NONE),
    ),
    case(
        &rules::DISPATCH_W32_SHADER,
        || wave_rule(WaveRule::Wave64, Dispatch::W32),
        || wave_rule(WaveRule::Wave32, Dispatch::W32),
    ),
    case(
        &rules::DISPATCH_WAVE32_UNUSED,
        || wave_rule(WaveRule::Wave32, Dispatch::NONE),
        || wave_rule(WaveRule::Wave64, Dispatch::NONE),
    ),
    case(
        &rules::DISPATCH_WAVE_SIZE,
        || wave_rule(fixed(WaveSize::W32), Dispatch::NONE),
        || wave_rule(fixed(WaveSize::W32), Dispatch::W32),
    ),
    case(
        &rules::DISPATCH_START_THREADS,
        || dispatch(64, 1, 1, [1, 0, 0], Dispatch::USE_THREAD_DIMENSIONS),
        || {
            let flags = Dispatch::USE_THREAD_DIMENSIONS | Dispatch::FORCE_START_AT_000;
            dispatch(64, 1, 1, [1, 0, 0], flags)
        },
    ),
    case(
        &rules::DISPATCH_START_EMPTY,
        || dispatch(2, 1, 1, [2, 0, 0], Dispatch::NONE),
        || dispatch(3, 1, 1, [2, 0, 0], Dispatch::NONE),
    ),
    case(
        &rules::DISPATCH_EMPTY,
        || dispatch(0, 1, 1, [0; 3], Dispatch::NONE),
        || dispatch(1, 1, 1, [0; 3], Dispatch::NONE),
    ),
    case(
        &rules::DISPATCH_LIMIT,
        || dispatch(1, 65_536, 1, [0; 3], Dispatch::NONE),
        || dispatch(65_536, 1, 1, [0; 3], Dispatch::USE_THREAD_DIMENSIONS),
    ),
    case(
        &rules::DISPATCH_PIPELINE,
        || {
            list(SeriesX, Compute, |_, l| {
                l.dispatch(1, 1, 1);
            })
        },
        || {
            list(SeriesX, Compute, |bench, l| {
                bench.ready(l);
                l.dispatch(1, 1, 1);
            })
        },
    ),
    case(
        &rules::BINDING_MISSING,
        || {
            list(SeriesX, Compute, |bench, l| {
                l.set_pipeline_state(&bench.store).dispatch(1, 1, 1);
            })
        },
        || {
            list(SeriesX, Compute, |bench, l| {
                l.set_pipeline_state(&bench.store).set_uav(0, 0, View::Null).dispatch(1, 1, 1);
            })
        },
    ),
    case(&rules::BINDING_TYPE, || structured(8), || structured(16)),
    case(&rules::ROOT_CONSTANTS, || constants(15), || constants(14)),
    case(
        &rules::DISPATCH_THREADS,
        || {
            list(SeriesX, Compute, |bench, l| {
                bench.bind(l, store_kernel(1, 1025));
                l.dispatch(1, 1, 1);
            })
        },
        || {
            list(SeriesX, Compute, |bench, l| {
                bench.bind(l, store_kernel(1, 1024));
                l.dispatch(1, 1, 1);
            })
        },
    ),
    case(
        &rules::DISPATCH_VOLATILE,
        || {
            let flags = Dispatch::INVALIDATE_VOLATILE_SCALAR_L1;
            dispatch_with(XboxOne, Compute, store_kernel(1, 64), flags)
        },
        || {
            let flags = Dispatch::INVALIDATE_VOLATILE_SCALAR_L1;
            dispatch_with(SeriesX, Compute, store_kernel(1, 64), flags)
        },
    ),
    case(&rules::INDIRECT_ALIGNMENT, || indirect(2, 12, 1, false), || indirect(4, 12, 1, false)),
    case(&rules::UAV_COUNTER, || counted(false), || counted(true)),
    case(
        &rules::COPY_RANGE,
        || {
            list(SeriesX, Dma, |bench, l| {
                l.copy_buffer_region(&bench.a, 4090, &bench.b, 0, 8);
            })
        },
        || {
            list(SeriesX, Dma, |bench, l| {
                l.copy_buffer_region(&bench.a, 4088, &bench.b, 0, 8);
            })
        },
    ),
    case(
        &rules::COPY_OVERLAP,
        || {
            list(SeriesX, Dma, |bench, l| {
                l.copy_buffer_region(&bench.a, 0, &bench.a, 8, 16);
            })
        },
        || {
            list(SeriesX, Dma, |bench, l| {
                l.copy_buffer_region(&bench.a, 0, &bench.a, 16, 16);
            })
        },
    ),
    case(
        &rules::COPY_SHAPE,
        || {
            list(SeriesX, Compute, |bench, l| {
                l.copy_resource(&bench.texture, &bench.small);
            })
        },
        || {
            list(SeriesX, Compute, |bench, l| {
                let from = TextureLocation::Texture(&bench.small);
                let to = TextureLocation::Texture(&bench.texture);
                l.copy_texture_region(to, [4, 4], from, [0, 0], [8, 8]);
            })
        },
    ),
    case(
        &rules::FILL_ALIGNMENT,
        || {
            list(SeriesX, Compute, |_, l| {
                l.fill_memory_with_64_bit_value_x(AT, 12, 1);
            })
        },
        || {
            list(SeriesX, Compute, |_, l| {
                l.fill_memory_with_64_bit_value_x(AT, 16, 1);
            })
        },
    ),
    case(
        &rules::COPY_EMPTY,
        || {
            list(SeriesX, Compute, |bench, l| {
                l.copy_buffer_region(&bench.a, 0, &bench.b, 0, 0);
            })
        },
        || {
            list(SeriesX, Compute, |bench, l| {
                l.copy_buffer_region(&bench.a, 0, &bench.b, 0, 1);
            })
        },
    ),
    case(
        &rules::BARRIER_SAME,
        || {
            let uav = D3D12_RESOURCE_STATE_UNORDERED_ACCESS;
            transition(SeriesX, Compute, uav, uav)
        },
        || {
            let uav = D3D12_RESOURCE_STATE_UNORDERED_ACCESS;
            transition(SeriesX, Compute, uav, D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE)
        },
    ),
    case(
        &rules::BARRIER_COMBINATION,
        || {
            let both = D3D12_RESOURCE_STATE_UNORDERED_ACCESS | D3D12_RESOURCE_STATE_COPY_SOURCE;
            transition(SeriesX, Compute, D3D12_RESOURCE_STATE_COMMON, both)
        },
        || {
            let reads =
                D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE | D3D12_RESOURCE_STATE_COPY_SOURCE;
            transition(SeriesX, Compute, D3D12_RESOURCE_STATE_COMMON, reads)
        },
    ),
    case(
        &rules::BARRIER_LIST,
        || {
            let target = D3D12_RESOURCE_STATE_RENDER_TARGET;
            transition(SeriesX, Compute, D3D12_RESOURCE_STATE_COMMON, target)
        },
        || {
            let target = D3D12_RESOURCE_STATE_RENDER_TARGET;
            transition(SeriesX, Graphics, D3D12_RESOURCE_STATE_COMMON, target)
        },
    ),
    case(
        &rules::GDS_RANGE,
        || {
            list(SeriesX, Compute, |_, l| {
                l.write_gds_x(65_532, &[1, 2]);
            })
        },
        || {
            list(SeriesX, Compute, |_, l| {
                l.write_gds_x(65_528, &[1, 2]);
            })
        },
    ),
    case(
        &rules::ORDERED_COUNTER,
        || {
            list(SeriesX, Compute, |_, l| {
                l.setup_ordered_append_counter_x(16_384, 0);
            })
        },
        || {
            list(SeriesX, Compute, |_, l| {
                l.setup_ordered_append_counter_x(16_383, 0);
            })
        },
    ),
    case(&rules::FENCE_DEVICE, || signal_on(true), || signal_on(false)),
    case(&rules::HANG_CLAIM, || claim(false), || claim(true)),
];

/// What a claim of a hang is told, where there is one or is none.
fn claim(hangs: bool) -> Vec<&'static str> {
    let mut device = model(SeriesX);
    let queue = device.graphics_queue().unwrap();
    let fence = device.create_fence("frame", 0).unwrap();
    if hangs {
        device.wait(&queue, &fence, 1).unwrap();
    }
    device.report_gpu_hang_x("the frame is late");
    device.report_now().findings.iter().map(|f| f.rule.name).collect()
}

#[test]
fn every_rule_is_named_where_it_is_broken_and_silent_beside_it() {
    let mut wrong = Vec::new();
    for case in CASES.iter().chain(context::CASES) {
        let name = case.rule.name;
        let bad = (case.bad)();
        if bad != [name] {
            wrong.push(format!("{name}: breaking it gave {bad:?}"));
        }
        let good = (case.good)();
        if !good.is_empty() {
            wrong.push(format!("{name}: its twin gave {good:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_rule_once() {
    let cases = CASES.iter().chain(context::CASES);
    let mut tested: Vec<_> = cases.map(|c| c.rule.number).collect();
    tested.sort_unstable();
    let listed: Vec<_> = rules::ALL.iter().map(|r| r.number).collect();
    assert_eq!(tested, listed);
}

#[test]
fn an_error_names_call_argument_value_rule_and_way_out() {
    let mut bench = Bench::new(XboxOne);
    let mut list = bench.device.create_command_list("Blur", Compute);
    list.begin_event(0, "pass").end_event();
    write32(&mut list, 0x1002, Flush::IDLE | Flush::BOP_TEXTURE_L1_INVALIDATE, Write::NONE);
    let errors = list.close().unwrap_err();
    insta::assert_snapshot!(errors, @r#"
    list "Blur" #2 Write32BitValueBottomOfPipeX: Destination = 0x1002: must be 4-byte aligned; the next such address is 0x1004 [write32-alignment 1010]
    list "Blur" #2 Write32BitValueBottomOfPipeX: Flush = IDLE: is not among the five flags allowed; use FlushPipelineX before the write [write32-flush 1011]
    "#);
}

#[test]
fn a_missing_binding_names_register_and_resource() {
    let mut bench = Bench::new(SeriesX);
    let kind = ResourceKind::StructuredBuffer { stride: 16 };
    let pipeline = bench.pipeline(resource_kernel(ResourceClass::Srv, kind));
    let mut list = bench.device.create_command_list("L", Compute);
    list.set_pipeline_state(&pipeline).dispatch(1, 1, 1);
    let errors = list.close().unwrap_err();
    insta::assert_snapshot!(errors, @r#"list "L" #1 Dispatch: t3, space0 (Thing): nothing is bound, and the shader declares a structured buffer of stride 16 there; bind one, or a null view (shader "Kernel") [binding-missing 1053]"#);
}
