use super::*;
use crate::space::AllocationDesc;
use proptest::prelude::*;
use wavefence_base::{Profile, ProfileName};

/// A heap at 0x1000 with a read-only part at 0x1100, and a neighbour right
/// behind it at 0x1400.
fn space() -> AddressSpace {
    let s = AddressSpace::with_budget(&Profile::get(ProfileName::SeriesS), 1 << 20);
    let heap = s.allocate(AllocationDesc::new("heap", 0x400).at(GpuAddress(0x1000))).unwrap();
    let part = AllocationDesc::new("part", 0x80).placed_in(heap.id, 0x100).read_only();
    s.allocate(part).unwrap();
    s.allocate(AllocationDesc::new("next", 0x100).at(GpuAddress(0x1400))).unwrap();
    s
}

#[test]
fn accesses_cross_allocations() {
    let s = space();
    let at = GpuAddress(0x13FC);
    s.host().write(at, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    assert_eq!(s.gpu().read_u64(at), Ok(0x0807_0605_0403_0201));
    s.gpu().write_u64(at, 0x1122_3344_5566_7788).unwrap();
    assert_eq!(s.gpu().read_u32(at), Ok(0x5566_7788));
    assert_eq!(s.gpu().read_u32(GpuAddress(0x1400)), Ok(0x1122_3344));
    assert_eq!(s.gpu().read_u32(GpuAddress(0x13FE)), Ok(0x3344_5566));
}

#[test]
fn only_the_host_writes_read_only_memory() {
    let s = space();
    let at = GpuAddress(0x1104);
    s.host().write_u32(at, 5).unwrap();
    let e = s.gpu().write_u32(at, 6).unwrap_err();
    assert_eq!(e.kind, AccessErrorKind::ReadOnly);
    assert_eq!(
        e.to_string(),
        "write of 4 bytes at 0x1104 goes to memory the GPU may only read: \
         0x4 bytes into \"part\" [0x1100, +0x80)"
    );
    assert_eq!(s.gpu().read_u32(at), Ok(5));
    assert!(s.gpu().atomic_u32(Atomic::Add, at, 1, 0).is_err());
    // Refused whole: nothing before the read-only part was written either.
    let e = s.gpu().fill(GpuAddress(0x10F0), 0x20, 7).unwrap_err();
    assert_eq!((e.kind, e.at), (AccessErrorKind::ReadOnly, GpuAddress(0x1100)));
    assert_eq!(s.gpu().read_u32(GpuAddress(0x10F0)), Ok(0));
    assert_eq!(s.host().atomic_u64(Atomic::Add, GpuAddress(0x1108), 3, 0), Ok(0));
    assert_eq!(s.host().read_u64(GpuAddress(0x1108)), Ok(3));
}

#[test]
fn misses_name_the_neighbour_and_the_dead() {
    let s = space();
    assert_eq!(
        s.gpu().read_u32(GpuAddress(0x14FE)).unwrap_err().to_string(),
        "read of 4 bytes at 0x14fe (from 0x1500 on) lies in no allocation: \
         0 bytes past the end of \"next\" [0x1400, +0x100)"
    );
    let old = s.allocate(AllocationDesc::new("old", 64)).unwrap();
    s.free(old.id).unwrap();
    let e = s.gpu().write_u32(old.range.start.offset(4), 1).unwrap_err();
    assert_eq!(e.kind, AccessErrorKind::Freed);
    assert_eq!(
        e.to_string(),
        "write of 4 bytes at 0x100000004 lies in freed memory: \
         0x4 bytes into \"old\" [0x100000000, +0x40), made at step 4, freed at step 5"
    );
    assert_eq!(
        s.host().atomic_u32(Atomic::Or, GpuAddress(0x1002), 1, 0).unwrap_err().kind,
        AccessErrorKind::Misaligned
    );
    assert!(s.host().read_u64(GpuAddress(u64::MAX - 3)).is_err());
    assert!(s.host().read(GpuAddress(0x9999), &mut []).is_ok());
}

proptest! {
    #[test]
    fn copies_and_fills_match_a_vector(
        from in 0..0x520u64, to in 0..0x520u64, len in 0..0x500u64, value in any::<u32>()
    ) {
        let s = space();
        const BYTES: u64 = 0x500;
        let base = GpuAddress(0x1000);
        let mut model: Vec<u8> = (0..BYTES).map(|i| (i * 13 + i / 256) as u8).collect();
        s.host().write(base, &model).unwrap();
        let fits = len == 0 || from + len <= BYTES && to + len <= BYTES;
        prop_assert_eq!(s.host().copy(base.offset(from), base.offset(to), len).is_ok(), fits);
        if fits && len > 0 {
            model.copy_within(from as usize..(from + len) as usize, to as usize);
        }
        if s.host().fill(base.offset(to), len, value).is_ok() {
            for i in 0..len {
                model[(to + i) as usize] = value.to_le_bytes()[(i % 4) as usize];
            }
        }
        let mut got = vec![0; BYTES as usize];
        s.gpu().read(base, &mut got).unwrap();
        prop_assert_eq!(got, model);
    }
}
