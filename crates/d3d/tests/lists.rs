//! Command lists end to end: copies, fills, indirect dispatches, barriers, the data
//! share, markers, fences, and what a hang or fault says.

mod common;

use common::{Builder, MODES, PROFILES, count_kernel, device, model, store_kernel};
use std::sync::Arc;
use wavefence_base::{EventLog, GpuAddress, Observer, ProfileName, TexelFormat};
use wavefence_d3d::enums::*;
use wavefence_d3d::{
    AllocationDesc, Barrier, Bindings, CommandList, CommandSignature, CountBuffer, Device, Ending,
    GpuAccess, ListKind, Queue, RunMode, TextureDesc, TextureLocation,
};
use wavefence_shader::ir::{BinOp, Builtin, Kernel, ResourceClass, ResourceKind};

fn queue(device: &mut Device, kind: ListKind) -> Queue {
    match kind {
        ListKind::Graphics => device.graphics_queue(),
        ListKind::Compute => device.compute_queue(0, 0),
        ListKind::Dma => device.dma_queue(0),
    }
    .unwrap()
}

fn run(device: &mut Device, kind: ListKind, record: impl FnOnce(&mut CommandList)) {
    let queue = queue(device, kind);
    let mut list = device.create_command_list("L", kind);
    record(&mut list);
    list.close().unwrap_or_else(|e| panic!("{e}"));
    device.execute_command_lists(&queue, &[&list]).unwrap();
    let report = device.run();
    assert!(report.is_clean(), "{report:?}");
}

/// Runs `check` on every profile, mode and kind of list.
fn everywhere(check: impl Fn(Device, ListKind)) {
    for profile in PROFILES {
        for mode in MODES {
            for kind in ListKind::ALL {
                check(device(profile, mode), kind);
            }
        }
    }
}

fn counted(bytes: u64) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 256) as u8).collect()
}

#[test]
fn copies_of_any_length_and_place() {
    everywhere(|mut device, kind| {
        let data = counted(70_001);
        let from = device.create_buffer_with("from", &data).unwrap();
        let to = device.create_buffer("to", 70_001).unwrap();
        run(&mut device, kind, |l| {
            l.copy_buffer_region(&to, 3, &from, 1, 69_997);
        });
        let found = device.read(to.address(), 70_001).unwrap();
        assert_eq!(found[..3], [0; 3]);
        assert_eq!(found[3..70_000], data[1..69_998]);
        assert_eq!(found[70_000], 0);
    });
}

/// Longer than one packet can say on GFX7.
#[test]
fn long_copies_and_fills_take_several_packets() {
    for kind in ListKind::ALL {
        let mut device = model(ProfileName::XboxOne);
        let bytes = 9 << 20;
        let from = device.create_buffer("from", bytes).unwrap();
        let to = device.create_buffer("to", bytes).unwrap();
        run(&mut device, kind, |l| {
            l.fill_memory_with_32_bit_value_x(from.address(), bytes, 0x1234_5678);
            l.copy_resource(&to, &from);
        });
        let found = device.read_u32s(to.address(), bytes / 4).unwrap();
        assert!(found.iter().all(|&w| w == 0x1234_5678));
    }
}

#[test]
fn fills_of_every_width() {
    everywhere(|mut device, kind| {
        let out = device.create_buffer("out", 512).unwrap();
        let at = |n: u64| out.address().offset(n * 128);
        run(&mut device, kind, |l| {
            l.fill_memory_with_32_bit_value_x(at(0), 100, 0xAABB_CCDD);
            l.fill_memory_with_64_bit_value_x(at(1), 88, 0x1111_2222_3333_4444);
            l.fill_memory_with_128_bit_value_x(at(2), 112, [1, 2, 3, 4]);
        });
        let words = |n| device.read_u32s(at(n), 32).unwrap();
        let expect = |pattern: &[u32], filled: usize| -> Vec<u32> {
            (0..32).map(|i| if i < filled { pattern[i % pattern.len()] } else { 0 }).collect()
        };
        assert_eq!(words(0), expect(&[0xAABB_CCDD], 25));
        assert_eq!(words(1), expect(&[0x3333_4444, 0x1111_2222], 22));
        assert_eq!(words(2), expect(&[1, 2, 3, 4], 28));
    });
}

#[test]
fn texture_regions_keep_rows_apart() {
    everywhere(|mut device, kind| {
        let desc = TextureDesc::d2(TexelFormat::R8G8B8A8_UINT, 10, 6);
        let texture = device.create_texture("T", &desc).unwrap();
        let upload = device.create_buffer_with("up", &counted(10 * 6 * 4)).unwrap();
        let down = device.create_buffer("down", 4 * 3 * 4).unwrap();
        let format = TexelFormat::R8G8B8A8_UINT;
        run(&mut device, kind, |l| {
            let from = TextureLocation::Footprint {
                buffer: &upload,
                offset: 0,
                row_pitch: 40,
                format,
                width: 10,
                height: 6,
            };
            let middle = TextureLocation::Texture(&texture);
            l.copy_texture_region(middle, [0, 0], from, [0, 0], [10, 6]);
            let to = TextureLocation::Footprint {
                buffer: &down,
                offset: 0,
                row_pitch: 16,
                format,
                width: 4,
                height: 3,
            };
            l.copy_texture_region(to, [0, 0], middle, [2, 3], [4, 3]);
        });
        let source = counted(10 * 6 * 4);
        let found = device.read(down.address(), 48).unwrap();
        for row in 0..3 {
            let at = (row + 3) * 40 + 2 * 4;
            assert_eq!(found[row * 16..row * 16 + 16], source[at..at + 16]);
        }
    });
}

#[test]
fn indirect_dispatches_read_their_counts() {
    for profile in PROFILES {
        for mode in MODES {
            for kind in [ListKind::Graphics, ListKind::Compute] {
                // Offset 4 is not 32-byte aligned: GFX7 compute queues need a repair.
                for offset in [0, 4, 36] {
                    let mut device = device(profile, mode);
                    let p = device.create_pipeline("count", count_kernel([1, 1, 1])).unwrap();
                    let out = device.create_buffer("out", 64).unwrap();
                    let args = device.create_buffer("args", 256).unwrap();
                    let words: Vec<u32> = vec![2, 3, 4, 0, 5, 1, 1, 0];
                    device.write_u32s(args.address().offset(offset), &words).unwrap();
                    run(&mut device, kind, |l| {
                        l.set_pipeline_state(&p).set_uav(0, 0, out.raw_view());
                        let signature = CommandSignature { byte_stride: 16 };
                        l.execute_indirect(signature, 2, &args, offset, None);
                    });
                    assert_eq!(device.read_u32s(out.address(), 1).unwrap(), [24 + 5]);
                }
            }
        }
    }
}

/// A count in memory says how many of the records run; above the maximum, all.
#[test]
fn a_count_in_memory_says_how_many_run() {
    for profile in PROFILES {
        for mode in MODES {
            for kind in [ListKind::Graphics, ListKind::Compute] {
                for (count, expected) in [(0, 0), (1, 1), (2, 11), (3, 111), (0xFFFF_FFFF, 111)] {
                    let mut device = device(profile, mode);
                    let p = device.create_pipeline("count", count_kernel([1, 1, 1])).unwrap();
                    let out = device.create_buffer("out", 64).unwrap();
                    let args = device.create_buffer("args", 40).unwrap();
                    let words = [1, 1, 1, 10, 1, 1, 10, 10, 1, count];
                    device.write_u32s(args.address(), &words).unwrap();
                    run(&mut device, kind, |l| {
                        l.set_pipeline_state(&p).set_uav(0, 0, out.raw_view());
                        // The count is the last dword of its allocation.
                        let count = CountBuffer { buffer: &args, offset: 36 };
                        l.execute_indirect(CommandSignature::default(), 3, &args, 0, Some(count));
                    });
                    let found = device.read_u32s(out.address(), 1).unwrap();
                    assert_eq!(found, [expected], "{profile} {kind}");
                }
            }
        }
    }
}

/// A fault in a record that only a count lets run leads back to the call.
#[test]
fn a_counted_dispatch_keeps_its_call() {
    let mut device = model(ProfileName::SeriesX);
    let p = device.create_pipeline("Writer", store_kernel(1, 1)).unwrap();
    let desc = AllocationDesc { gpu_access: GpuAccess::ReadOnly, ..AllocationDesc::new("ro", 64) };
    let out = device.allocate(desc).unwrap().buffer("ro", 0, 64).unwrap();
    let args = device.create_buffer("args", 64).unwrap();
    device.write_u32s(args.address(), &[1, 1, 1, 1, 1, 1, 2]).unwrap();
    let queue = device.compute_queue(0, 0).unwrap();
    let mut list = device.create_command_list("Culled", ListKind::Compute);
    list.set_pipeline_state(&p).set_uav(0, 0, out.raw_view()).set_marker(0, "here");
    let count = CountBuffer { buffer: &args, offset: 24 };
    list.execute_indirect(CommandSignature::default(), 2, &args, 0, Some(count));
    list.close().unwrap();
    assert_eq!(list.branches().map(<[u32]>::len).collect::<Vec<_>>(), [4, 4]);
    device.execute_command_lists(&queue, &[&list]).unwrap();
    let report = device.run();
    assert_eq!(report.faults.len(), 2, "{report:?}");
    for fault in &report.faults {
        assert!(fault.to_string().contains("list \"Culled\" #3 ExecuteIndirect"), "{fault}");
    }
}

#[test]
fn a_count_of_zero_skips_the_command() {
    for profile in PROFILES {
        for kind in [ListKind::Graphics, ListKind::Compute] {
            for (count, expected) in [(0, 0), (1, 6), (9, 6)] {
                let mut device = model(profile);
                let p = device.create_pipeline("count", count_kernel([1, 1, 1])).unwrap();
                let out = device.create_buffer("out", 64).unwrap();
                let args = device.create_buffer("args", 64).unwrap();
                device.write_u32s(args.address(), &[6, 1, 1, count]).unwrap();
                run(&mut device, kind, |l| {
                    l.set_pipeline_state(&p).set_uav(0, 0, out.raw_view());
                    let count = CountBuffer { buffer: &args, offset: 12 };
                    l.execute_indirect(CommandSignature::default(), 1, &args, 0, Some(count));
                });
                assert_eq!(device.read_u32s(out.address(), 1).unwrap(), [expected]);
            }
        }
    }
}

/// `u0[id] = b0[0] * 10 + b0[1]`.
fn constants_kernel() -> Arc<Kernel> {
    let mut b = Builder::new("constants", [4, 1, 1]);
    let kind = ResourceKind::ConstantBuffer;
    let constants = b.resource(ResourceClass::Cbv, 0, "Constants", kind);
    let out = b.uav(0, "Out");
    let id = b.builtin(Builtin::GlobalIdX);
    let (zero, one, ten) = (b.constant(0), b.constant(1), b.constant(10));
    let first = b.load(constants, zero);
    let second = b.load(constants, one);
    let tens = b.binary(BinOp::IMul, first, ten);
    let sum = b.binary(BinOp::IAdd, tens, second);
    b.store(out, id, sum);
    b.build()
}

#[test]
fn root_constants_and_constant_buffers_reach_the_shader() {
    for profile in PROFILES {
        for mode in MODES {
            let mut device = device(profile, mode);
            let p = device.create_pipeline("constants", constants_kernel()).unwrap();
            let out = device.create_buffer("out", 64).unwrap();
            let parts: Vec<_> = (0..4)
                .map(|i| {
                    let name = format!("out {i}");
                    device.create_buffer(&name, 16).unwrap()
                })
                .collect();
            let cb = device.create_buffer("cb", 256).unwrap();
            device.write_u32s(cb.address(), &[7, 8]).unwrap();
            run(&mut device, ListKind::Compute, |l| {
                l.set_pipeline_state(&p);
                l.set_uav(0, 0, parts[0].raw_view()).set_root_constants(0, 0, &[1, 2]);
                l.dispatch(1, 1, 1);
                // The second block of constants lies behind another register's.
                l.set_root_constants(5, 0, &[9, 9, 9]).set_root_constants(0, 0, &[3, 4]);
                l.set_uav(0, 0, parts[1].raw_view()).dispatch(1, 1, 1);
                l.set_cbv(0, 0, cb.constant_view()).set_uav(0, 0, parts[2].raw_view());
                l.dispatch(1, 1, 1);
                let mut table = Bindings::new();
                table.uav(0, 0, parts[3].raw_view()).root_constants(0, 0, &[5, 6]);
                l.set_bindings(&table).dispatch(1, 1, 1);
            });
            let _ = out;
            let found: Vec<u32> =
                parts.iter().map(|b| device.read_u32s(b.address(), 1).unwrap()[0]).collect();
            assert_eq!(found, [12, 34, 78, 56], "{profile}");
        }
    }
}

#[test]
fn dependent_dispatches_with_barriers() {
    for profile in PROFILES {
        for mode in MODES {
            for kind in [ListKind::Graphics, ListKind::Compute] {
                let mut device = device(profile, mode);
                let p = device.create_pipeline("count", count_kernel([64, 1, 1])).unwrap();
                let store = device.create_pipeline("store", store_kernel(0, 1)).unwrap();
                let out = device.create_buffer("out", 64).unwrap();
                let copy = device.create_buffer("copy", 64).unwrap();
                run(&mut device, kind, |l| {
                    l.set_uav(0, 0, out.raw_view());
                    l.set_pipeline_state(&p).dispatch(4, 1, 1);
                    l.resource_barrier(&[Barrier::Uav(None)]);
                    l.set_pipeline_state(&store).dispatch(1, 1, 1);
                    l.resource_barrier(&[Barrier::Uav(Some((&out).into()))]);
                    l.set_pipeline_state(&p).dispatch(3, 1, 1);
                    l.resource_barrier(&[Barrier::Transition {
                        resource: (&out).into(),
                        before: D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
                        after: D3D12_RESOURCE_STATE_COPY_SOURCE,
                    }]);
                    l.copy_resource(&copy, &out);
                });
                assert_eq!(device.read_u32s(copy.address(), 1).unwrap(), [192], "{profile}");
            }
        }
    }
}

#[test]
fn the_data_share_is_written_read_and_reset() {
    for profile in PROFILES {
        for mode in MODES {
            for kind in [ListKind::Graphics, ListKind::Compute] {
                let mut device = device(profile, mode);
                let out = device.create_buffer("out", 64).unwrap();
                run(&mut device, kind, |l| {
                    l.write_gds_x(16, &[11, 12, 13]).setup_ordered_append_counter_x(5, 99);
                    l.read_gds_x(out.address(), 16, 3);
                });
                assert_eq!(device.read_u32s(out.address(), 4).unwrap(), [11, 99, 13, 0]);
                assert_eq!(device.gds_dword(20), Some(99));
            }
        }
    }
}

#[test]
fn top_and_shader_writes_land() {
    everywhere(|mut device, kind| {
        let out = device.create_buffer("out", 128).unwrap().address();
        run(&mut device, kind, |l| {
            l.write_32_bit_value_top_of_pipe_x(out, 5);
            l.write_64_bit_value_top_of_pipe_x(out.offset(32), 6 << 33);
            l.write_32_bit_value_bottom_of_shader_x(out.offset(64), 7);
        });
        assert_eq!(device.read_u32s(out, 1).unwrap(), [5]);
        assert_eq!(device.read_u64(out.offset(32)).unwrap(), 6 << 33);
        assert_eq!(device.read_u32s(out.offset(64), 1).unwrap(), [7]);
    });
}

#[test]
fn fences_order_queues_and_the_host() {
    for profile in PROFILES {
        for mode in MODES {
            let mut device = device(profile, mode);
            let compute = device.compute_queue(0, 1).unwrap();
            let graphics = device.graphics_queue().unwrap();
            let dma = device.dma_queue(1).unwrap();
            let fence = device.create_fence("frame", 3).unwrap();
            let a = device.create_buffer("a", 64).unwrap();
            let b = device.create_buffer("b", 64).unwrap();
            let fill = |device: &mut Device, kind, at: GpuAddress, value| {
                let mut list = device.create_command_list("fill", kind);
                list.fill_memory_with_32_bit_value_x(at, 64, value);
                list.close().unwrap();
                list
            };
            let first = fill(&mut device, ListKind::Compute, a.address(), 1);
            let second = fill(&mut device, ListKind::Graphics, a.address(), 2);
            let mut third = device.create_command_list("copy", ListKind::Dma);
            third.copy_resource(&b, &a);
            third.close().unwrap();
            device.wait(&dma, &fence, 5).unwrap();
            device.execute_command_lists(&dma, &[&third]).unwrap();
            device.signal(&dma, &fence, 6).unwrap();
            device.wait(&graphics, &fence, 4).unwrap();
            device.execute_command_lists(&graphics, &[&second]).unwrap();
            device.signal_x(&graphics, &fence, 5, D3D12XBOX_FLUSH_BOP_MASK).unwrap();
            device.execute_command_lists(&compute, &[&first]).unwrap();
            assert_eq!(device.fence_value(&fence).unwrap(), 3);
            let (reached, report) = device.wait_on_host(&fence, 6).unwrap();
            assert!(!reached);
            let hang = report.hang().expect("a hang").to_string();
            assert!(hang.contains("queue \"graphics\" Wait(\"frame\", 4)"), "{hang}");
            device.signal(&compute, &fence, 4).unwrap();
            let (reached, report) = device.wait_on_host(&fence, 6).unwrap();
            assert!(reached && report.is_clean(), "{report:?}");
            assert_eq!(device.read_u32s(b.address(), 16).unwrap(), [2; 16]);
            device.signal_from_host(&fence, 9).unwrap();
            assert_eq!(device.fence_value(&fence).unwrap(), 9);
        }
    }
}

#[test]
fn a_list_runs_again_and_on_two_queues() {
    let mut device = model(ProfileName::XboxOne);
    let p = device.create_pipeline("count", count_kernel([1, 1, 1])).unwrap();
    let out = device.create_buffer("out", 64).unwrap();
    let mut list = device.create_command_list("L", ListKind::Compute);
    list.set_pipeline_state(&p).set_uav(0, 0, out.raw_view()).dispatch(3, 1, 1);
    let flags = D3D12XBOX_FLUSH_BOP_COMPUTE_MASK | D3D12XBOX_FLUSH_TOP_COMPUTE_MASK;
    list.flush_pipeline_x(flags, GpuAddress(0), D3D12XBOX_FLUSH_RANGE_ALL).dispatch(2, 1, 1);
    list.close().unwrap();
    let (a, b) = (device.compute_queue(0, 0).unwrap(), device.compute_queue(1, 0).unwrap());
    device.execute_command_lists(&a, &[&list, &list]).unwrap();
    device.execute_command_lists(&b, &[&list]).unwrap();
    assert!(device.run().is_clean());
    device.execute_command_lists(&a, &[&list]).unwrap();
    assert!(device.run().is_clean());
    assert_eq!(device.read_u32s(out.address(), 1).unwrap(), [20]);
}

#[test]
fn a_hang_is_told_in_calls() {
    let mut device = model(ProfileName::SeriesX);
    let queue = device.open_queue(wavefence_d3d::QueueKind::Compute { pipe: 0, queue: 0 }, "async");
    let queue = queue.unwrap();
    let flag = device.create_buffer("flag", 64).unwrap();
    let mut list = device.create_command_list("Blur", ListKind::Compute);
    list.begin_event(0xFF00_FF00, "Frame 1").begin_event(0, "Blur pass");
    list.wait_32_bit_value_x(
        flag.address().offset(8),
        D3D12_COMPARISON_FUNC_EQUAL,
        3,
        D3D12XBOX_WAIT_FLAG_NONE,
    );
    list.end_event().end_event();
    list.close().unwrap();
    device.write_u32s(flag.address().offset(8), &[4]).unwrap();
    device.execute_command_lists(&queue, &[&list]).unwrap();
    let report = device.run();
    let Ending::Hang(hang) = report.ending else { panic!("{report:?}") };
    insta::assert_snapshot!(hang, @r#"
    nothing can move: 1 wait blocked
      queue "async" (mec): list "Blur" #2 Wait32BitValueX(0x100050008, EQUAL, 3) in "Frame 1" / "Blur pass"
        waits until 0x100050008 (flag+0x8) == 3; it is 4
        written so far: 4 by the host
        never satisfied: the address was written, but never with such a value; check the value and the comparison
    "#);
}

#[test]
fn a_fault_names_list_call_and_shader() {
    for mode in MODES {
        let mut device = device(ProfileName::SeriesX, mode);
        let p = device.create_pipeline("Writer", store_kernel(1, 64)).unwrap();
        let desc = AllocationDesc {
            gpu_access: GpuAccess::ReadOnly,
            ..AllocationDesc::new("constants", 256)
        };
        let readonly = device.allocate(desc).unwrap();
        let buffer = readonly.buffer("constants", 0, 256).unwrap();
        let queue = device.compute_queue(0, 0).unwrap();
        let mut list = device.create_command_list("Bad", ListKind::Compute);
        list.set_pipeline_state(&p).set_uav(0, 0, buffer.raw_view()).dispatch(1, 1, 1);
        list.close().unwrap();
        device.execute_command_lists(&queue, &[&list]).unwrap();
        let report = device.run();
        assert_eq!(report.ending, Ending::Idle);
        assert_eq!(report.faults.len(), 1, "{report:?}");
        let text = report.faults[0].to_string();
        assert!(text.contains("list \"Bad\" #2 Dispatch"), "{text}");
        assert!(text.contains("shader \"Writer\""), "{text}");
        assert!(text.contains("may only read"), "{text}");
        assert_eq!(device.read_u32s(buffer.address(), 64).unwrap(), [0; 64]);
    }
}

#[test]
fn a_lost_write_is_the_verdict() {
    let mut device = model(ProfileName::SeriesX);
    let queue = device.graphics_queue().unwrap();
    let desc = AllocationDesc { gpu_access: GpuAccess::ReadOnly, ..AllocationDesc::new("ro", 64) };
    let flag = device.allocate(desc).unwrap().address();
    let mut list = device.create_command_list("L", ListKind::Graphics);
    list.write_32_bit_value_bottom_of_pipe_x(
        flag,
        1,
        D3D12XBOX_FLUSH_NONE,
        D3D12XBOX_WRITE_VALUE_BOP_FLAG_NONE,
    );
    list.wait_32_bit_value_x(flag, D3D12_COMPARISON_FUNC_EQUAL, 1, D3D12XBOX_WAIT_FLAG_NONE);
    list.close().unwrap();
    device.execute_command_lists(&queue, &[&list]).unwrap();
    let report = device.run();
    let hang = report.hang().expect("a hang");
    assert_eq!(hang.waits[0].verdict, wavefence_base::StallVerdict::WriteLost, "{hang}");
    assert!(!hang.waits[0].past[0].landed);
}

#[test]
fn markers_reach_observers() {
    struct Shared(std::sync::Arc<std::sync::Mutex<EventLog>>);
    impl Observer for Shared {
        fn event(&mut self, event: &wavefence_base::Event) {
            self.0.lock().unwrap().event(event);
        }
    }
    for kind in ListKind::ALL {
        let log = std::sync::Arc::new(std::sync::Mutex::new(EventLog::default()));
        let builder = Device::builder().profile(ProfileName::XboxOne);
        let mut device = builder.observer(Box::new(Shared(log.clone()))).build().unwrap();
        run(&mut device, kind, |l| {
            l.begin_event(0xFF12_3456, "Größe").set_marker(7, "x").end_event();
        });
        let markers: Vec<_> = log
            .lock()
            .unwrap()
            .events
            .iter()
            .filter_map(|e| match e {
                wavefence_base::Event::Marker { depth, text, color, .. } => {
                    Some((*depth, text.clone(), *color))
                }
                _ => None,
            })
            .collect();
        let expected = [(1, "Größe", 0xFF12_3456), (0, "x", 7), (-1, "", 0)];
        let expected: Vec<_> = expected.iter().map(|&(d, t, c)| (d, t.to_owned(), c)).collect();
        assert_eq!(markers, expected, "{kind}");
    }
}

/// A list longer than one command buffer can be.
#[test]
fn a_long_list_is_cut_into_command_buffers() {
    for kind in ListKind::ALL {
        let mut device = device(ProfileName::XboxOne, RunMode::Fast { threads: 1 });
        let out = device.create_buffer("out", 64).unwrap().address();
        run(&mut device, kind, |l| {
            for i in 0..300_000u32 {
                l.write_32_bit_value_top_of_pipe_x(out.offset(u64::from(i % 4) * 4), i);
            }
            assert!(l.words().len() > 1 << 20);
        });
        assert_eq!(device.read_u32s(out, 4).unwrap(), [299_996, 299_997, 299_998, 299_999]);
    }
}

/// As many small dispatches as a long frame has, each with its own bindings.
#[test]
fn a_hundred_thousand_small_dispatches() {
    let mut device = device(ProfileName::SeriesX, RunMode::Fast { threads: 2 });
    let p = device.create_pipeline("count", count_kernel([64, 1, 1])).unwrap();
    let outs: Vec<_> = (0..4)
        .map(|i| {
            let name = format!("out {i}");
            device.create_buffer(&name, 64).unwrap()
        })
        .collect();
    run(&mut device, ListKind::Compute, |l| {
        l.set_pipeline_state(&p);
        for i in 0..100_000 {
            l.set_uav(0, 0, outs[i % 4].raw_view()).dispatch(1, 1, 1);
        }
    });
    for out in &outs {
        assert_eq!(device.read_u32s(out.address(), 1).unwrap(), [25_000 * 64]);
    }
}

#[test]
fn the_same_advice_is_given_once_with_a_count() {
    let mut device = model(ProfileName::XboxOne);
    let mut list = device.create_command_list("L", ListKind::Compute);
    for _ in 0..1000 {
        let flags = D3D12XBOX_FLUSH_BOP_TEXTURE_L1_VOLATILE;
        list.flush_pipeline_x(flags, GpuAddress(0), D3D12XBOX_FLUSH_RANGE_ALL);
    }
    list.close().unwrap();
    assert_eq!(list.advice().len(), 1);
    assert_eq!(list.advice()[0].count, 1000);
    assert_eq!(list.advice()[0].call, "list \"L\" #0 FlushPipelineX");
}
