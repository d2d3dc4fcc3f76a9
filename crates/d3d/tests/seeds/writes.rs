// tidy: table
//! Seeds 002 and 004: the bottom-of-pipe writes.

use crate::Row;
use crate::common::{MODES, PROFILES, device, model, store_kernel};
use std::sync::{Arc, Mutex};
use wavefence_base::{
    Event, Family, Generation, GpuAddress, Observer, Profile, ProfileName, Writer,
};
use wavefence_d3d::enums::*;
use wavefence_d3d::{CallError, CommandList, Device, ListKind, QueueKind};
use wavefence_pm4::{Field, Kind, Packet, Ring, decode_stream, int_sel};

use D3D12XBOX_FLUSH as Flush;
use D3D12XBOX_WRITE_VALUE_BOP_FLAGS as Flags;

pub const SEED_002: &[Row] = &[
    Row { seed: "002", says: "writes the 32-bit value at the destination", check: writes_32 },
    Row { seed: "002", says: "the destination must be 4-byte aligned", check: alignment_4 },
    Row { seed: "002", says: "flush is an optional OR of flush flags", check: flush_combines },
    Row { seed: "002", says: "flush must be of the five texture flags", check: flush_of_five },
    Row { seed: "002", says: "flags must be NONE", check: flags_none },
    Row {
        seed: "002",
        says: "both timestamps have 64 bits and need the 64-bit call",
        check: timestamps_need_64,
    },
    Row { seed: "002", says: "the call returns nothing: errors come from Close", check: no_result },
    Row {
        seed: "002",
        says: "the value is written after all shader execution",
        check: after_shaders_32,
    },
    Row {
        seed: "002",
        says: "but potentially before earlier memory writes: nothing confirms them",
        check: unconfirmed_32,
    },
    Row {
        seed: "002",
        says: "with Wait32BitValueX it synchronises engines within command lists",
        check: cross_engine_32,
    },
];

pub const SEED_004: &[Row] = &[
    Row { seed: "004", says: "writes the 64-bit value at the destination", check: writes_64 },
    Row {
        seed: "004",
        says: "the address must be 32-byte aligned (Xbox One family)",
        check: alignment_32,
    },
    Row { seed: "004", says: "value is written if no timestamp is selected", check: writes_64 },
    Row { seed: "004", says: "with a timestamp the value must be 0", check: value_zero },
    Row { seed: "004", says: "flush must be NONE", check: flush_none },
    Row { seed: "004", says: "flags are an optional OR; NONE selects the value", check: writes_64 },
    Row { seed: "004", says: "GPU_TIMESTAMP selects the GPU clock counter", check: gpu_clock },
    Row {
        seed: "004",
        says: "SYSTEM_TIMESTAMP selects the system clock counter",
        check: system_clock,
    },
    Row {
        seed: "004",
        says: "each flag selects what is written, so both contradict",
        check: both_timestamps,
    },
    Row {
        seed: "004",
        says: "the value is written after all shader execution",
        check: after_shaders_64,
    },
    Row {
        seed: "004",
        says: "as a rule before earlier memory writes: nothing confirms them",
        check: unconfirmed_64,
    },
    Row {
        seed: "004",
        says: "with Wait64BitValueX it synchronises engines within command lists",
        check: cross_engine_64,
    },
    Row { seed: "004", says: "the page is the Xbox One family's", check: alignment_by_family },
];

fn kinds(device: &mut Device) -> Vec<(ListKind, QueueKind)> {
    let _ = device;
    vec![
        (ListKind::Graphics, QueueKind::Graphics),
        (ListKind::Compute, QueueKind::Compute { pipe: 1, queue: 2 }),
        (ListKind::Dma, QueueKind::Dma { engine: 3 }),
    ]
}

/// Records with `record`, runs, and gives the 16 bytes at the destination.
fn run_write(
    device: &mut Device,
    kind: ListKind,
    queue: QueueKind,
    record: impl FnOnce(&mut CommandList, GpuAddress),
) -> Vec<u8> {
    let out = device.create_buffer("out", 64).unwrap().address();
    device.write(out, &[0xEE; 64]).unwrap();
    let mut list = device.create_command_list("L", kind);
    record(&mut list, out);
    list.close().unwrap();
    let queue = device.open_queue(queue, "q").unwrap();
    device.execute_command_lists(&queue, &[&list]).unwrap();
    let report = device.run();
    assert!(report.is_clean(), "{report:?}");
    device.read(out, 16).unwrap()
}

fn errors(
    profile: ProfileName,
    kind: ListKind,
    record: impl FnOnce(&mut CommandList),
) -> Vec<CallError> {
    let mut device = model(profile);
    let mut list = device.create_command_list("L", kind);
    record(&mut list);
    match list.close() {
        Ok(()) => Vec::new(),
        Err(errors) => errors.0,
    }
}

/// Exactly one error, of that rule, for that argument.
#[track_caller]
fn one(errors: &[CallError], rule: &str, argument: &str) {
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].rule.name, rule);
    assert_eq!(errors[0].argument, argument);
}

fn write32(list: &mut CommandList, at: u64, flush: Flush, flags: Flags) {
    list.write_32_bit_value_bottom_of_pipe_x(GpuAddress(at), 1, flush, flags);
}

fn write64(list: &mut CommandList, at: u64, value: u64, flush: Flush, flags: Flags) {
    list.write_64_bit_value_bottom_of_pipe_x(GpuAddress(at), value, flush, flags);
}

fn writes_32() {
    for profile in PROFILES {
        for mode in MODES {
            for (kind, queue) in kinds(&mut model(profile)) {
                let mut device = device(profile, mode);
                let bytes = run_write(&mut device, kind, queue, |list, out| {
                    let value = 0x89AB_CDEF;
                    let at = out.offset(4);
                    list.write_32_bit_value_bottom_of_pipe_x(at, value, Flush::NONE, Flags::NONE);
                });
                let around = [0xEE; 4];
                assert_eq!(bytes[..4], around);
                assert_eq!(bytes[4..8], [0xEF, 0xCD, 0xAB, 0x89]);
                assert_eq!(bytes[8..12], around);
            }
        }
    }
}

fn writes_64() {
    for profile in PROFILES {
        for mode in MODES {
            for (kind, queue) in kinds(&mut model(profile)) {
                let mut device = device(profile, mode);
                let bytes = run_write(&mut device, kind, queue, |list, out| {
                    let value = 0x0123_4567_89AB_CDEF;
                    list.write_64_bit_value_bottom_of_pipe_x(out, value, Flush::NONE, Flags::NONE);
                });
                assert_eq!(bytes[..8], 0x0123_4567_89AB_CDEF_u64.to_le_bytes());
                assert_eq!(bytes[8..], [0xEE; 8]);
            }
        }
    }
}

fn alignment_4() {
    for kind in ListKind::ALL {
        for low in 0..8 {
            let found = errors(ProfileName::XboxOne, kind, |list| {
                write32(list, 0x10_0000 + low, Flush::NONE, Flags::NONE);
            });
            if low % 4 == 0 {
                assert!(found.is_empty(), "{found:?}");
            } else {
                one(&found, "write32-alignment", "Destination");
                assert!(found[0].to_string().contains("4-byte aligned"), "{}", found[0]);
            }
        }
    }
}

fn alignment_32() {
    for profile in [ProfileName::XboxOne, ProfileName::XboxOneS, ProfileName::XboxOneX] {
        for kind in ListKind::ALL {
            for low in (0..64).step_by(8) {
                let found = errors(profile, kind, |list| {
                    write64(list, 0x10_0000 + low, 1, Flush::NONE, Flags::NONE);
                });
                if low % 32 == 0 {
                    assert!(found.is_empty(), "{found:?}");
                } else {
                    one(&found, "write64-alignment", "Destination");
                }
            }
        }
    }
}

/// On Series 8 bytes (assumed), but 32 on DMA lists; below 8 never.
fn alignment_by_family() {
    for profile in PROFILES {
        let series = Profile::get(profile).family == Family::Series;
        for kind in ListKind::ALL {
            let wide = !series || kind == ListKind::Dma;
            let at = |low: u64| {
                errors(profile, kind, |l| write64(l, 0x100 + low, 1, Flush::NONE, Flags::NONE))
            };
            assert!(at(32).is_empty());
            assert_eq!(at(8).is_empty(), !wide, "{profile} {kind}");
            one(&at(4), "write64-alignment", "Destination");
        }
    }
}

const FIVE: [Flush; 5] = [
    Flush::BOP_TEXTURE_L1_INVALIDATE,
    Flush::BOP_TEXTURE_L1_VOLATILE,
    Flush::BOP_TEXTURE_L2_INVALIDATE,
    Flush::BOP_TEXTURE_L2_VOLATILE,
    Flush::BOP_TEXTURE_L2_WRITEBACK,
];

fn flush_combines() {
    for kind in [ListKind::Graphics, ListKind::Compute] {
        for bits in 0..32u32 {
            let flush = (0..5).filter(|i| bits >> i & 1 != 0).fold(Flush::NONE, |f, i| f | FIVE[i]);
            let found =
                errors(ProfileName::XboxOne, kind, |list| write32(list, 0x100, flush, Flags::NONE));
            assert!(found.is_empty(), "{flush}: {found:?}");
        }
    }
}

fn flush_of_five() {
    for &(name, value) in Flush::NAMES {
        let flush = Flush::from_bits_retain(value);
        let allowed = FIVE.contains(&flush) || flush.is_empty();
        let found = errors(ProfileName::XboxOne, ListKind::Graphics, |list| {
            write32(list, 0x100, flush, Flags::NONE);
        });
        assert_eq!(found.is_empty(), allowed, "{name}");
        if !allowed {
            one(&found, "write32-flush", "Flush");
        }
    }
}

fn flags_none() {
    for flags in [Flags::GPU_TIMESTAMP, Flags::SYSTEM_TIMESTAMP, Flags::from_bits_retain(1 << 9)] {
        for kind in ListKind::ALL {
            let found = errors(ProfileName::XboxOneX, kind, |list| {
                write32(list, 0x100, Flush::NONE, flags)
            });
            one(&found, "write32-flags", "Flags");
        }
    }
}

fn timestamps_need_64() {
    for flags in [Flags::GPU_TIMESTAMP, Flags::SYSTEM_TIMESTAMP] {
        let kind = ListKind::Graphics;
        let narrow =
            errors(ProfileName::XboxOne, kind, |list| write32(list, 0x100, Flush::NONE, flags));
        assert!(narrow[0].message.contains("Write64BitValueBottomOfPipeX"), "{}", narrow[0]);
        let wide =
            errors(ProfileName::XboxOne, kind, |list| write64(list, 0x100, 0, Flush::NONE, flags));
        assert!(wide.is_empty(), "{wide:?}");
    }
}

fn no_result() {
    let mut device = model(ProfileName::XboxOne);
    let mut list = device.create_command_list("L", ListKind::Graphics);
    // The call chains whether it was right or wrong; both errors come at once.
    list.write_32_bit_value_bottom_of_pipe_x(GpuAddress(1), 0, Flush::NONE, Flags::NONE)
        .write_32_bit_value_bottom_of_pipe_x(GpuAddress(4), 0, Flush::IDLE, Flags::NONE)
        .write_32_bit_value_bottom_of_pipe_x(GpuAddress(4), 0, Flush::NONE, Flags::NONE);
    let found = list.close().unwrap_err().0;
    assert_eq!(found.iter().map(|e| e.index).collect::<Vec<_>>(), [0, 1]);
}

fn value_zero() {
    for flags in [Flags::GPU_TIMESTAMP, Flags::SYSTEM_TIMESTAMP] {
        for value in [0, 1, u64::MAX] {
            let found = errors(ProfileName::XboxOne, ListKind::Compute, |list| {
                write64(list, 0x100, value, Flush::NONE, flags);
            });
            if value == 0 {
                assert!(found.is_empty());
            } else {
                one(&found, "write64-value", "Value");
            }
        }
    }
}

fn flush_none() {
    for &(name, value) in Flush::NAMES {
        let flush = Flush::from_bits_retain(value);
        for kind in ListKind::ALL {
            let found = errors(ProfileName::XboxOne, kind, |list| {
                write64(list, 0x100, 1, flush, Flags::NONE)
            });
            assert_eq!(found.is_empty(), flush.is_empty(), "{name}");
            if !flush.is_empty() {
                one(&found, "write64-flush", "Flush");
            }
        }
    }
}

fn both_timestamps() {
    let both = Flags::GPU_TIMESTAMP | Flags::SYSTEM_TIMESTAMP;
    let found = errors(ProfileName::XboxOne, ListKind::Graphics, |list| {
        write64(list, 0x100, 0, Flush::NONE, both);
    });
    one(&found, "write64-timestamps", "Flags");
}

/// Two stamps with a write between them: they rise, and lie at the counter.
fn stamps(kind: ListKind, queue: QueueKind, flags: Flags) -> (u64, u64) {
    let mut device = model(ProfileName::XboxOne);
    let bytes = run_write(&mut device, kind, queue, |list, out| {
        write64(list, out.0, 0, Flush::NONE, flags);
        write32(list, out.0 + 16, Flush::NONE, Flags::NONE);
        write64(list, out.0 + 32, 0, Flush::NONE, flags);
    });
    let first = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let out = device.create_buffer("second", 64).unwrap().address();
    let mut list = device.create_command_list("M", kind);
    write64(&mut list, out.0, 0, Flush::NONE, flags);
    list.close().unwrap();
    let queue = device.open_queue(queue, "q").unwrap();
    device.execute_command_lists(&queue, &[&list]).unwrap();
    assert!(device.run().is_clean());
    (first, device.read_u64(out).unwrap())
}

fn gpu_clock() {
    let mut some = Vec::new();
    for (kind, queue) in kinds(&mut model(ProfileName::XboxOne)) {
        let (first, second) = stamps(kind, queue, Flags::GPU_TIMESTAMP);
        assert!(second > first && first != 0, "{kind}: {first} {second}");
        some.push(first);
    }
    // The counters have different origins.
    let (system, _) = stamps(ListKind::Graphics, QueueKind::Graphics, Flags::SYSTEM_TIMESTAMP);
    assert!(some.iter().all(|&gpu| gpu.abs_diff(system) > 1 << 20));
}

fn system_clock() {
    for (kind, queue) in kinds(&mut model(ProfileName::XboxOne)) {
        if kind == ListKind::Dma {
            let found = errors(ProfileName::XboxOne, kind, |list| {
                write64(list, 0x100, 0, Flush::NONE, Flags::SYSTEM_TIMESTAMP);
            });
            one(&found, "dma-system-clock", "Flags");
            continue;
        }
        let (first, second) = stamps(kind, queue, Flags::SYSTEM_TIMESTAMP);
        assert!(second > first && first != 0, "{kind}: {first} {second}");
    }
}

/// Keeps the events of a device.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Event>>>);

impl Observer for Log {
    fn event(&mut self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

fn after_shaders(wide: bool) {
    for profile in PROFILES {
        for (kind, queue) in kinds(&mut model(profile)) {
            if kind == ListKind::Dma {
                continue;
            }
            let log = Log::default();
            let mut device =
                Device::builder().profile(profile).observer(Box::new(log.clone())).build().unwrap();
            let pipeline = device.create_pipeline("store", store_kernel(7, 64)).unwrap();
            let data = device.create_buffer("data", 64 * 64 * 4).unwrap();
            run_write(&mut device, kind, queue, |list, out| {
                list.set_pipeline_state(&pipeline).set_uav(0, 0, data.raw_view());
                list.dispatch(64, 1, 1).dispatch(64, 1, 1);
                if wide {
                    write64(list, out.0, 1, Flush::NONE, Flags::NONE);
                } else {
                    write32(list, out.0, Flush::NONE, Flags::NONE);
                }
            });
            let events = log.0.lock().unwrap();
            let position = |f: &dyn Fn(&Event) -> bool| events.iter().rposition(f).unwrap();
            let ended = position(&|e| matches!(e, Event::DispatchEnd { .. }));
            let ends = events.iter().filter(|e| matches!(e, Event::DispatchEnd { .. })).count();
            let written = position(&|e| {
                matches!(e, Event::ValueWritten { by: Writer::Queue(_), value: 1, .. })
            });
            assert_eq!(ends, 2);
            assert!(written > ended, "{profile} {kind}");
        }
    }
}

fn after_shaders_32() {
    after_shaders(false);
}

fn after_shaders_64() {
    after_shaders(true);
}

/// The end-of-pipe packets that a list holds.
fn release_packets(
    profile: ProfileName,
    kind: ListKind,
    record: impl FnOnce(&mut CommandList),
) -> Vec<Packet> {
    let mut device = model(profile);
    let mut list = device.create_command_list("L", kind);
    record(&mut list);
    list.close().unwrap();
    let generation = Profile::get(profile).generation.value;
    decode_stream(list.words(), generation, kind.ring())
        .map(|p| p.unwrap().1)
        .filter(|p| matches!(p.kind(), Kind::ReleaseMem | Kind::EventWriteEop))
        .collect()
}

fn unconfirmed(record: fn(&mut CommandList)) {
    for profile in PROFILES {
        for kind in [ListKind::Graphics, ListKind::Compute] {
            let packets = release_packets(profile, kind, record);
            let last = packets.last().unwrap();
            assert_eq!(last.get(Field::IntSel), u64::from(int_sel::NONE));
            // On GFX7 and GFX8 the event is sent twice, the first without a value.
            let events = match Profile::get(profile).generation.value {
                Generation::Gfx7 | Generation::Gfx8 => 2,
                Generation::Gfx10_3 => 1,
            };
            assert_eq!(packets.len(), events);
            assert_ne!(kind.ring(), Ring::Sdma);
        }
    }
}

fn unconfirmed_32() {
    unconfirmed(|list| write32(list, 0x100, Flush::NONE, Flags::NONE));
}

fn unconfirmed_64() {
    unconfirmed(|list| write64(list, 0x100, 1, Flush::NONE, Flags::NONE));
}

/// A value written in the middle of one list lets another engine's list go on.
fn cross_engine(wide: bool) {
    for profile in PROFILES {
        for mode in MODES {
            let mut device = device(profile, mode);
            let compute = device.compute_queue(0, 0).unwrap();
            let dma = device.dma_queue(0).unwrap();
            let pipeline = device.create_pipeline("store", store_kernel(42, 64)).unwrap();
            let data = device.create_buffer("data", 64 * 4).unwrap();
            let copy = device.create_buffer("copy", 64 * 4).unwrap();
            let flags = device.create_buffer("flags", 64).unwrap().address();

            let mut consumer = device.create_command_list("Copy", ListKind::Dma);
            let (func, none) = (D3D12_COMPARISON_FUNC_EQUAL, D3D12XBOX_WAIT_FLAG_NONE);
            if wide {
                consumer.wait_64_bit_value_x(flags, func, 1 << 40, none);
            } else {
                consumer.wait_32_bit_value_x(flags, func, 1, none);
            }
            consumer.copy_buffer_region(&copy, 0, &data, 0, 64 * 4);
            consumer.close().unwrap();

            let mut producer = device.create_command_list("Produce", ListKind::Compute);
            producer.set_pipeline_state(&pipeline).set_uav(0, 0, data.raw_view()).dispatch(1, 1, 1);
            let flush = Flush::BOP_TEXTURE_L2_WRITEBACK;
            if wide {
                let (all, base) = (D3D12XBOX_FLUSH_RANGE_ALL, GpuAddress(0));
                producer.flush_pipeline_x(Flush::BOP_CS_PARTIAL | flush, base, all);
                write64(&mut producer, flags.0, 1 << 40, Flush::NONE, Flags::NONE);
            } else {
                write32(&mut producer, flags.0, flush, Flags::NONE);
            }
            producer.dispatch(1, 1, 1);
            producer.close().unwrap();

            // The consumer first, so that it does wait.
            device.execute_command_lists(&dma, &[&consumer]).unwrap();
            device.execute_command_lists(&compute, &[&producer]).unwrap();
            let report = device.run();
            assert!(report.is_clean(), "{report:?}");
            assert_eq!(device.read_u32s(copy.address(), 64).unwrap(), [42; 64]);
        }
    }
}

fn cross_engine_32() {
    cross_engine(false);
}

fn cross_engine_64() {
    cross_engine(true);
}
