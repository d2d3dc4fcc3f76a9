//! One test for each rule of `hardware/caches.md` 1.5 and 1.6, and the bugs of
//! its section 7 that caches alone show.

use super::*;
use crate::access::AccessErrorKind;
use CacheAction as A;
use CacheClass as C;
use Client as By;
use ProfileName::{SeriesS, SeriesX, XboxOne, XboxOneX};

const X: u64 = 0x1000;
const Y: u64 = 0x2000;

/// B6 (ROCm/rocm-systems pull 6886), 1.1: nothing snoops.
#[test]
fn a_unit_keeps_its_copy_until_it_is_dropped() {
    for profile in ProfileName::ALL {
        let mut h = device(profile);
        h.set(By::Host, X, 1);
        assert_eq!(h.load1(0, X), 1);
        h.landed_store1(8, X, 2);
        assert_eq!(h.load1(0, X), 1, "{profile}");
        h.act(A::InvalidateL1, None);
        assert_eq!(h.load1(0, X), 2, "{profile}");
    }
}

/// B7 (gem5 pull 1011): the host writes under a line of L2.
#[test]
fn a_host_write_is_not_seen_through_a_line_of_l2() {
    for profile in ProfileName::ALL {
        let mut h = device(profile);
        assert_eq!(h.load1(0, X), 0);
        h.set(By::Host, X, 5);
        h.act(A::InvalidateL1, None);
        assert_eq!(h.load1(0, X), 0, "{profile}: L2 still has it");
        h.act(A::InvalidateL1, None);
        h.act(A::InvalidateL2, None);
        assert_eq!(h.load1(0, X), 5, "{profile}");
    }
}

/// B4 (ROCm/rocm-systems pull 7835): a dirty line over what a client wrote that
/// goes around L2.
#[test]
fn a_dirty_line_overwrites_what_went_around_it() {
    for profile in ProfileName::ALL {
        let mut h = device(profile);
        h.set(By::Host, Y, 7);
        let copy = |h: &mut Hierarchy| {
            let sdma = engine(By::Sdma);
            h.copy(sdma, GpuAddress(Y), sdma, GpuAddress(X), 4).unwrap();
        };
        h.landed_store1(0, X, 1);
        copy(&mut h);
        assert_eq!(h.memory(X), 7);
        h.act(A::WritebackL2, None);
        assert_eq!(h.memory(X), 1, "{profile}: the older bytes won");
        // Mended: write back before, drop after.
        h.landed_store1(0, X, 2);
        h.act(A::WritebackL2, None);
        copy(&mut h);
        h.act(A::InvalidateL2, None);
        h.act(A::InvalidateL1, None);
        assert_eq!((h.memory(X), h.load1(0, X)), (7, 7), "{profile}");
    }
}

/// B5 (ROCm/rocm-systems pull 8006): an uncached store under a line of L2. By
/// default the line goes; with the switch off it is the bug.
#[test]
fn an_uncached_store_meets_a_line_of_l2() {
    for drops in [true, false] {
        let mut h = device_with(SeriesX, |_, r| r.switches.uncached_drops.value = drops);
        assert_eq!(h.add1(0, X, 1), 0);
        h.act(A::WritebackL2, None);
        // The same bytes, named anew as uncached.
        let heap = h.space().allocations()[0].id;
        let alias = AllocationDesc { uncached: true, ..AllocationDesc::new("uc", 64) };
        let alias = h.space().allocate(alias.placed_in(heap, 0)).unwrap();
        h.landed_store1(0, X, 100);
        assert_eq!(h.memory(X), 100, "not kept by any cache");
        assert_eq!((h.load1(0, X), h.lines(C::Vector)), (100, 0));
        h.space().free(alias.id).unwrap();
        assert_eq!(h.add1(0, X, 1), if drops { 100 } else { 1 });
    }
}

/// 1.5: stores pass with a byte mask, so two units that write different bytes of
/// one line, each on a stale copy, do not spoil each other's.
#[test]
fn stores_carry_only_their_bytes() {
    for profile in ProfileName::ALL {
        let mut h = device(profile);
        h.load1(0, X);
        h.load1(1, X);
        let byte = access(X, 1);
        h.port(wave(0)).store(&byte, &[1; 64], &[ONE], &[[0xAA; 64]]);
        h.port(wave(1)).store(&byte, &[2; 64], &[ONE], &[[0xBB; 64]]);
        h.land(Land::All);
        h.act(A::InvalidateL2, None);
        assert_eq!(h.memory(X), 0x00BB_AA00, "{profile}");
    }
}

/// 1.5: a store that hits keeps the line with its bytes; the rest of the line
/// stays as old as it was. The switch drops the line instead.
#[test]
fn a_store_updates_its_own_line() {
    for (rule, rest) in [(PassingStore::Update, 0), (PassingStore::Drop, 9)] {
        let mut h = device_with(XboxOne, |_, r| r.switches.store_hit.value = rule);
        h.load1(0, X);
        h.landed_store1(5, X + 4, 9);
        h.store1(0, X, 3);
        assert_eq!((h.load1(0, X), h.load1(0, X + 4)), (3, rest), "{rule}");
    }
}

/// S8 (gem5 TCP): a store that finds no line makes none.
#[test]
fn a_store_that_misses_makes_no_line() {
    for profile in ProfileName::ALL {
        let mut h = device(profile);
        h.landed_store1(0, X, 3);
        assert_eq!((h.lines(C::Vector), h.lines(C::Gl1), h.lines(C::L2)), (0, 0, 1));
    }
}

/// 1.5, S1: a coherent load goes past the vector L1 (GFX10: L0 and GL1) and drops
/// what is there.
#[test]
fn a_coherent_load_goes_past_what_units_do_not_share() {
    for profile in ProfileName::ALL {
        let mut h = device(profile);
        h.load1(0, X);
        // Another array's unit where there are arrays.
        let far = h.topology().compute_units - 1;
        h.landed_store1(far, X, 2);
        assert_eq!(h.load1(0, X), 0);
        assert_eq!(h.coherent_load1(0, X), 2, "{profile}");
        assert_eq!((h.lines(C::Vector), h.lines(C::Gl1)), (0, 0));
        assert_eq!(h.load1(0, X), 2, "{profile}: the old line is gone");
    }
}

/// GFX10: work-group scope in WGP mode needs L0 alone dropped, since GL1 is
/// shared; of another array it is not enough.
#[test]
fn gl1_is_shared_by_an_array() {
    let mut h = device(SeriesX);
    h.load1(0, X);
    assert_eq!((h.lines(C::Vector), h.lines(C::Gl1), h.lines(C::L2)), (1, 1, 1));
    h.load1(1, X);
    h.load1(12, X);
    h.load1(13, X);
    assert_eq!((h.lines(C::Vector), h.lines(C::Gl1)), (4, 2));
    // A store of unit 0 passes its own GL1 and drops the line there.
    h.landed_store1(0, X, 4);
    assert_eq!(h.lines(C::Gl1), 1);
    assert_eq!(h.load1(2, X), 4, "same array, no line in its L0");
    assert_eq!(h.load1(14, X), 0, "other array: its GL1 is stale");
    h.act(A::InvalidateGl1, None);
    assert_eq!((h.load1(15, X), h.load1(12, X)), (4, 0), "L0 is another matter");
}

/// The switch for GL1 under a passing store.
#[test]
fn gl1_under_a_passing_store() {
    use PassingStore::{Drop, Leave, Update};
    for (rule, lines, seen) in [(Leave, 1, 0), (Drop, 0, 4), (Update, 1, 4)] {
        let mut h = device_with(SeriesS, |_, r| r.switches.passing_store.value = rule);
        h.load1(0, X);
        h.landed_store1(1, X, 4);
        assert_eq!(h.lines(C::Gl1), lines, "{rule}");
        assert_eq!(h.load1(2, X), seen, "{rule}");
    }
}

/// 1.5: atomics are executed in L2, however stale the caches above; the unit's
/// own line goes.
#[test]
fn atomics_are_executed_in_l2() {
    for profile in ProfileName::ALL {
        let mut h = device(profile);
        h.load1(0, X);
        assert_eq!((h.add1(0, X, 1), h.add1(9, X, 1), h.add1(0, X, 1)), (0, 1, 2), "{profile}");
        assert_eq!(h.load1(0, X), 3, "{profile}");
        assert_eq!(h.memory(X), 0, "dirty in L2");
    }
}

/// 3.1 T2: stores are accepted by L2 later than they are issued; the unit itself
/// sees them, and what it sends down the same path goes behind them.
#[test]
fn stores_land_later() {
    for profile in ProfileName::ALL {
        let mut h = device(profile);
        h.store1(0, X, 1);
        assert!(h.in_flight(None) && h.in_flight(Some(DispatchId(1))));
        assert!(!h.in_flight(Some(DispatchId(2))));
        assert_eq!(h.load1(5, X), 0, "{profile}: not yet there");
        assert_eq!(h.coherent_load1(5, X), 0, "{profile}: whatever the path");
        assert_eq!(h.load1(0, X), 1, "{profile}: its own");
        assert!(!h.in_flight(None));
        assert_eq!(h.coherent_load1(5, X), 1);
        h.store1(0, X, 2);
        assert_eq!(h.add1(0, X, 1), 2, "{profile}: an atomic goes behind");
        h.store1(0, X, 7);
        h.port(wave(0)).fence();
        assert_eq!(h.coherent_load1(5, X), 7, "{profile}: a barrier waits for them");
    }
}

/// Stores of one unit arrive in order: what was before those of a dispatch comes
/// too, what is after stays.
#[test]
fn a_dispatch_lands_with_what_was_before_it() {
    let mut h = device(XboxOneX);
    for (dispatch, at) in [(1, X), (2, X + 0x100), (3, X + 0x200)] {
        let context = WaveContext { dispatch: DispatchId(dispatch), ..wave(3) };
        h.port(context).store(&access(at, 4), &[0; 64], &[ONE], &[[1; 64]]);
    }
    h.store1(4, X + 0x300, 1);
    h.land(Land::Dispatch(DispatchId(2)));
    let there = [0, 0x100, 0x200, 0x300].map(|at| h.by(By::ShaderAtomic, X + at));
    assert_eq!(there, [1, 1, 0, 0]);
    assert!(h.in_flight(Some(DispatchId(3))) && !h.in_flight(Some(DispatchId(2))));
    h.land(Land::All);
    assert!(!h.in_flight(None));
    assert_eq!(h.by(By::ShaderAtomic, X + 0x200), 1);
}

/// No more than so many lines are on the way.
#[test]
fn the_oldest_store_arrives_when_there_is_no_room() {
    let mut h = device_with(XboxOne, |_, r| r.switches.stores_in_flight.value = 2);
    for i in 0..3 {
        h.store1(0, X + 64 * i, 1);
    }
    let there = [0, 64, 128].map(|at| h.by(By::CpDataL2, X + at));
    assert_eq!(there, [1, 0, 0]);
}

/// 1.2: L2 keeps dirty bytes by mask and makes a line for a write without reading
/// it; the rest is read when asked for.
#[test]
fn l2_reads_the_rest_of_a_line_when_asked() {
    for profile in ProfileName::ALL {
        let mut h = device(profile);
        h.landed_store1(0, X, 1);
        // Not in the line yet, so the host's write is seen.
        h.set(By::Host, X + 4, 5);
        assert_eq!(h.load1(1, X + 4), 5, "{profile}");
        assert_eq!(h.load1(1, X), 1, "{profile}");
        // Now it is; and a write-back writes the dirty bytes alone.
        h.set(By::Host, X + 4, 6);
        h.act(A::InvalidateL1, None);
        assert_eq!(h.load1(1, X + 4), 5, "{profile}");
        h.act(A::WritebackL2, None);
        assert_eq!((h.memory(X), h.memory(X + 4)), (1, 6), "{profile}");
    }
}

/// 1.5: TC_ACTION (and GL2 INV with WB) writes back and drops everything; the
/// range is not honoured.
#[test]
fn an_l2_invalidate_takes_the_whole_l2() {
    for profile in ProfileName::ALL {
        let mut h = device(profile);
        h.landed_store1(0, X, 1);
        h.landed_store1(0, Y, 2);
        h.load1(0, X + 0x400);
        let cost = h.act(A::InvalidateL2, Some(GpuRange::new(GpuAddress(X), 4)));
        assert_eq!((h.memory(X), h.memory(Y), h.lines(C::L2)), (1, 2, 0), "{profile}");
        let (dropped, written) = (cost.lines_dropped, cost.lines_written);
        assert_eq!((dropped, written, cost.bytes_written), (3, 2, 8));
        assert_eq!(cost.seq, h.seq());
    }
}

/// 1.3: GFX7 has no write-back alone, it drops too; elsewhere lines stay, clean.
#[test]
fn an_l2_write_back_keeps_lines_or_not() {
    for (profile, lines) in [(XboxOne, 0), (XboxOneX, 2), (SeriesX, 2)] {
        let mut h = device(profile);
        h.landed_store1(0, X, 1);
        h.by(By::CpDataL2, Y);
        let cost = h.act(A::WritebackL2, None);
        assert_eq!((h.memory(X), h.lines(C::L2)), (1, lines), "{profile}");
        assert_eq!((cost.lines_written, cost.bytes_written), (1, 4));
        assert_eq!(h.act(A::WritebackL2, None).lines_written, 0);
    }
}

/// 1.5: GL2_INV without WB drops what mirrors memory and leaves dirty bytes
/// alone; the switch loses them.
#[test]
fn a_bare_l2_invalidate_and_dirty_bytes() {
    for (keeps, seen) in [(true, 1), (false, 0)] {
        let mut h = device_with(SeriesX, |_, r| r.switches.invalidate_keeps_dirty.value = keeps);
        h.landed_store1(0, X, 1);
        // The line is whole now, its second dword clean.
        h.by(By::Poll, X + 4);
        h.by(By::Poll, Y);
        h.set(By::Host, X + 4, 5);
        h.set(By::Host, Y, 6);
        h.act(A::InvalidateL2Clean, None);
        let now = [X, X + 4, Y].map(|at| h.by(By::Poll, at));
        assert_eq!(now, [seen, 5, 6]);
    }
}

/// 1.2, 1.4: K$ is not coherent with the vector path. On GFX10 GL1 is under both,
/// so K$ alone is not enough.
#[test]
fn the_scalar_cache_is_apart() {
    for profile in ProfileName::ALL {
        let mut h = device(profile);
        assert_eq!(h.scalar1(0, X), 0);
        let far = h.topology().compute_units - 1;
        h.landed_store1(far, X, 2);
        h.act(A::InvalidateL1, Some(GpuRange::new(GpuAddress(Y), 4)));
        h.act(A::InvalidateI, None);
        assert_eq!(h.scalar1(0, X), 0, "{profile}");
        h.act(A::InvalidateK, None);
        let gl1 = profile >= SeriesS;
        assert_eq!(h.scalar1(0, X), if gl1 { 0 } else { 2 }, "{profile}");
        h.act(A::InvalidateK, None);
        h.act(A::InvalidateGl1, None);
        assert_eq!(h.scalar1(0, X), 2, "{profile}");
    }
}

/// A scalar read does not go behind the unit's stores: another way down.
#[test]
fn a_scalar_read_overtakes_stores() {
    let mut h = device(XboxOne);
    h.store1(0, X, 2);
    assert_eq!(h.scalar1(0, X), 0);
    assert!(h.in_flight(None));
}

/// 1.6: code is read through I$ and stays there.
#[test]
fn the_instruction_cache_keeps_code() {
    for profile in ProfileName::ALL {
        let mut h = device(profile);
        let all = |h: &mut Hierarchy, actions: &[CacheAction]| {
            for &action in actions {
                h.act(action, None);
            }
        };
        h.set(By::Host, X, 1);
        assert_eq!(h.by(By::Instruction, X), 1);
        h.set(By::Host, X, 2);
        all(&mut h, &[A::InvalidateL1, A::InvalidateK, A::InvalidateL2]);
        assert_eq!(h.by(By::Instruction, X), 1, "{profile}");
        all(&mut h, &[A::InvalidateI]);
        assert_eq!(h.by(By::Instruction, X), 2, "{profile}");
    }
}

/// Section 2: before GFX10 the command processor reads memory.
#[test]
fn the_command_processor_and_l2() {
    for (profile, seen) in [(XboxOne, 0), (XboxOneX, 0), (SeriesS, 1), (SeriesX, 1)] {
        let mut h = device(profile);
        h.landed_store1(0, X, 1);
        for client in [By::IndirectArguments, By::Poll, By::CpDmaMemory] {
            assert_eq!(h.by(client, X), seen, "{profile} {client:?}");
        }
        assert_eq!((h.by(By::CpDmaL2, X), h.by(By::Host, X), h.by(By::Sdma, X)), (1, 0, 0));
        h.act(A::WritebackL2, None);
        assert_eq!(h.by(By::IndirectArguments, X), 1, "{profile}");
    }
}

/// What an engine writes by L2 is there at once; by memory it is under the line.
#[test]
fn engines_write_where_their_path_ends() {
    let mut h = device(XboxOne);
    h.set(By::CpDataL2, X, 1);
    assert_eq!((h.memory(X), h.by(By::ShaderAtomic, X)), (0, 1));
    h.set(By::EndOfPipe, X, 2);
    assert_eq!((h.memory(X), h.by(By::ShaderAtomic, X)), (2, 1));
    let old = h.update(engine(By::CpDataL2), GpuAddress(X), 4, |v| v + 10).unwrap();
    assert_eq!((old, h.by(By::CpDataL2, X), h.memory(X)), (1, 11, 2));
    let old = h.update(engine(By::Sdma), GpuAddress(X), 8, |v| v + 1).unwrap();
    assert_eq!((old, h.memory(X)), (2, 3));
    let odd = h.update(engine(By::Sdma), GpuAddress(X + 4), 8, |v| v).unwrap_err();
    assert_eq!(odd.kind, AccessErrorKind::Misaligned);
    assert!(h.read_value(engine(By::Poll), GpuAddress(0x10), 4).is_err());
    assert!(h.write_value(engine(By::Poll), GpuAddress(0x1_0FFE), 0, 4).is_err());
}

/// A copy that overlaps itself, on one side or across.
#[test]
fn copies_overlap_as_if_through_a_buffer() {
    for client in [By::CpDmaL2, By::CpDmaMemory] {
        for (from, to) in [(X + 5, X + 1000), (X + 1000, X + 5)] {
            let mut h = device(XboxOneX);
            let bytes: Vec<u8> = (0..9000u32).map(|i| (i % 251) as u8).collect();
            h.write(engine(client), GpuAddress(from), &bytes).unwrap();
            let who = engine(client);
            h.copy(who, GpuAddress(from), who, GpuAddress(to), 9000).unwrap();
            let mut out = vec![0; 9000];
            h.read(who, GpuAddress(to), &mut out).unwrap();
            assert!(out == bytes, "{client:?} {from:#x}");
            h.fill(who, GpuAddress(to + 1), 4099, 0x0403_0201).unwrap();
            h.read(who, GpuAddress(to), &mut out).unwrap();
            assert_eq!(
                (out[0], &out[1..6], out[4099], out[4100]),
                (0, &[1, 2, 3, 4, 1][..], 3, bytes[4100])
            );
        }
    }
}

/// Design 4.6: lines filled by volatile accesses are marked, on Series alone.
#[test]
fn volatile_actions_take_marked_lines() {
    for (profile, marks) in [(SeriesX, true), (XboxOne, false)] {
        let mut h = device(profile);
        let volatile = Access { volatile: true, ..access(X, 4) };
        h.port(wave(0)).load(&volatile, &[0; 64], &[ONE], &mut [[0; 64]]);
        h.load1(0, Y);
        h.landed_store1(9, Y + 0x200, 3);
        let dropped = |h: &mut Hierarchy, action| h.act(action, None).lines_dropped;
        // L0 and GL1 each had one.
        assert_eq!(dropped(&mut h, A::InvalidateL1Volatile), if marks { 2 } else { 0 });
        assert_eq!(dropped(&mut h, A::InvalidateL2Volatile), u64::from(marks));
        assert_eq!(dropped(&mut h, A::InvalidateKVolatile), 0);
        assert_eq!(h.lines(C::L2), if marks { 2 } else { 3 });
    }
}

/// Design 4.6: DISABLE_VOLATILE_… makes volatile accesses go past that cache.
#[test]
fn volatile_accesses_can_go_past_the_first_cache() {
    let mut h = device(SeriesX);
    let space = Arc::clone(h.space());
    let v = AllocationDesc { volatile: true, ..AllocationDesc::new("v", 256) };
    let v = space.allocate(v.at(GpuAddress(0x4_0000))).unwrap().range.start.0;
    let context =
        WaveContext { volatile_skips_vector: true, volatile_skips_scalar: true, ..wave(0) };
    let mut out = [[0; 64]];
    h.port(context).load(&access(v, 4), &[0; 64], &[ONE], &mut out);
    h.port(context).scalar(GpuAddress(v), &mut [0; 4]);
    h.port(context).load(&access(X, 4), &[0; 64], &[ONE], &mut out);
    assert_eq!((h.lines(C::Vector), h.lines(C::Scalar), h.lines(C::Gl1)), (1, 0, 2));
    h.port(wave(0)).scalar(GpuAddress(v), &mut [0; 4]);
    assert_eq!(h.act(A::InvalidateKVolatile, None).lines_dropped, 1);
}

/// 1.8: a device-memory barrier drops the unit's own caches, no one else's.
#[test]
fn a_fence_drops_what_the_unit_does_not_share() {
    for profile in ProfileName::ALL {
        let mut h = device(profile);
        h.load1(0, X);
        h.load1(1, X);
        h.scalar1(0, X);
        let before = h.lines(C::Gl1);
        h.port(wave(0)).fence();
        assert_eq!((h.lines(C::Vector), h.lines(C::Scalar)), (1, 1), "{profile}");
        assert_eq!((before > 0, h.lines(C::Gl1)), (profile >= SeriesS, 0));
    }
}

/// Design 4.3: ranges are rounded out to 256 bytes, for the caches that honour
/// them.
#[test]
fn ranges_are_rounded_out() {
    let mut h = device(XboxOne);
    for i in 0..16 {
        h.load1(0, X + 64 * i);
    }
    let cost = h.act(A::InvalidateL1, Some(GpuRange::new(GpuAddress(X + 0x1FC), 8)));
    assert_eq!((cost.lines_dropped, h.lines(C::Vector)), (8, 8));
    let none = h.act(A::InvalidateL1, Some(GpuRange::new(GpuAddress(X + 0x100), 0)));
    assert_eq!(none.lines_dropped, 0);
    let rest = h.act(A::InvalidateL1, Some(GpuRange::new(GpuAddress(0), u64::MAX)));
    assert_eq!((rest.lines_dropped, h.lines(C::Vector)), (8, 0));
}

/// Dirty bytes of memory that has gone are dropped and told.
#[test]
fn dirty_bytes_of_freed_memory_are_lost() {
    let mut h = device(SeriesS);
    let space = Arc::clone(h.space());
    let gone = space.allocate(AllocationDesc::new("gone", 256)).unwrap();
    let at = gone.range.start.0;
    h.landed_store1(0, at, 1);
    space.free(gone.id).unwrap();
    let cost = h.act(A::WritebackL2, None);
    assert_eq!((cost.lines_written, cost.bytes_written), (1, 0));
    let range = GpuRange::new(GpuAddress(at), 4);
    assert_eq!(h.take_lost(), [LostBytes { range, kind: AccessErrorKind::Freed }]);
    assert!(h.take_lost().is_empty());
    // Whoever gets the address next meets the old line.
    space.allocate(AllocationDesc::new("next", 256).at(GpuAddress(at))).unwrap();
    assert_eq!(h.load1(0, at), 1);
}

/// Looking is not reading.
#[test]
fn peek_changes_nothing() {
    let mut h = device(XboxOne);
    h.landed_store1(0, X, 1);
    h.set(By::Host, Y, 2);
    h.set_recording(true);
    let seq = h.seq();
    let look = |h: &mut Hierarchy, client, at| {
        let mut four = [0; 4];
        h.peek(engine(client), GpuAddress(at), &mut four).unwrap();
        u32::from_le_bytes(four)
    };
    assert_eq!((look(&mut h, By::Poll, X), look(&mut h, By::CpDataL2, X)), (0, 1));
    assert_eq!(look(&mut h, By::ShaderVector, Y), 2);
    assert_eq!((h.lines(C::L2), h.lines(C::Vector), h.seq()), (1, 0, seq));
    assert!(!h.has_records());
}

/// What draws will give something to do costs nothing until then.
#[test]
fn actions_without_a_cache_cost_nothing() {
    let mut h = device(SeriesX);
    h.landed_store1(0, X, 1);
    for action in [
        A::InvalidateMetadata,
        A::FlushColorData,
        A::FlushColorMeta,
        A::FlushDepthData,
        A::FlushDepthMeta,
    ] {
        assert_eq!(h.act(action, None), ActionCost { seq: h.seq(), ..ActionCost::default() });
    }
    assert_eq!((h.lines(C::L2), h.memory(X)), (1, 0));
}

#[test]
fn reset_makes_a_cold_device() {
    let mut h = device(SeriesX);
    h.set_recording(true);
    h.load1(0, X);
    h.store1(1, X, 1);
    h.reset();
    assert_eq!(C::ALL.map(|c| h.lines(c)), [0; 5]);
    assert!(!h.in_flight(None) && !h.has_records() && h.seq() == 0);
    assert_eq!(h.load1(1, X), 0);
}
