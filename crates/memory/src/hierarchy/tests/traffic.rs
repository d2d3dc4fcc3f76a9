//! What accesses were served by, and the bytes that moved.

use super::*;

/// Waits by depth, bytes of L2 and of memory since the last call.
fn since(h: &mut Hierarchy) -> ([u32; 4], u64, u64) {
    let t = h.take_traffic();
    (t.waits, t.l2_bytes, t.memory_bytes)
}

#[test]
fn a_load_waits_for_the_deepest_line() {
    for recording in [false, true] {
        let mut h = device(ProfileName::SeriesX);
        h.set_recording(recording);
        h.load1(0, 0x1000);
        assert_eq!(since(&mut h), ([0, 0, 0, 1], 128, 128), "cold");
        h.load1(0, 0x1004);
        assert_eq!(since(&mut h), ([1, 0, 0, 0], 0, 0), "the unit's own cache");
        h.load1(1, 0x1000);
        assert_eq!(since(&mut h), ([0, 1, 0, 0], 0, 0), "its array's");
        h.load1(51, 0x1000);
        assert_eq!(since(&mut h), ([0, 0, 1, 0], 128, 0), "L2");
        // Two lines in one request: one wait, for the deeper.
        let mut out = [[0; 64]];
        let mut offsets = [0; 64];
        offsets[1] = 128;
        h.port(wave(0)).load(&access(0x1000, 4), &offsets, &[LaneMask(3)], &mut out);
        assert_eq!(since(&mut h), ([0, 0, 0, 1], 128, 128));
        h.coherent_load1(0, 0x1000);
        assert_eq!(since(&mut h), ([0, 0, 1, 0], 0, 0), "goes past the near ones");
    }
}

#[test]
fn stores_move_bytes_when_they_land_and_nobody_waits() {
    let mut h = device(ProfileName::XboxOne);
    h.store1(0, 0x1000, 5);
    assert_eq!(since(&mut h), ([0; 4], 0, 0));
    h.land(Land::Unit(0));
    assert_eq!(since(&mut h), ([0; 4], 64, 0));
    assert_eq!(h.dirty_lines(), 1);
    h.act(CacheAction::WritebackL2, None);
    assert_eq!(h.dirty_lines(), 0);
    assert_eq!(since(&mut h), ([0; 4], 0, 64));
    h.act(CacheAction::WritebackL2, None);
    assert_eq!(since(&mut h), ([0; 4], 0, 0), "nothing is dirty any more");
}

#[test]
fn engines_around_l2_use_memory_alone() {
    let mut h = device(ProfileName::XboxOne);
    let (from, to) = (GpuAddress(0x1000), GpuAddress(0x3000));
    let sdma = engine(Client::Sdma);
    h.copy(sdma, from, sdma, to, 0x1000).unwrap();
    assert_eq!(since(&mut h), ([0; 4], 0, 0x2000));
    let mut h = device(ProfileName::XboxOne);
    let cp = engine(Client::CpDmaL2);
    h.fill(cp, to, 0x1000, 7).unwrap();
    assert_eq!(since(&mut h), ([0; 4], 0x1000, 0));
}
