use super::*;
use proptest::prelude::*;

fn space(name: ProfileName) -> AddressSpace {
    AddressSpace::with_budget(&Profile::get(name), 64 << 20)
}

fn series() -> AddressSpace {
    space(ProfileName::SeriesX)
}

#[test]
fn addresses_are_the_same_every_time() {
    let places = || {
        let s = series();
        let mut all = Vec::new();
        for (i, bytes) in [1, 4096, 70_000, 3].into_iter().enumerate() {
            let a = s.allocate(AllocationDesc::new(format!("b{i}"), bytes)).unwrap();
            assert!(a.range.start.is_aligned(DEFAULT_ALIGNMENT));
            all.push(a.range);
        }
        all
    };
    let all = places();
    assert_eq!(all, places());
    assert_eq!(all[0].start, FIRST_ADDRESS);
    // A gap follows each.
    assert!(all.windows(2).all(|w| w[1].start.0 >= w[0].end() + DEFAULT_ALIGNMENT));
}

#[test]
fn refusals_say_what_and_why() {
    let s = series();
    let heap = s.allocate(AllocationDesc::new("heap", 0x1000).at(GpuAddress(0x10_0000))).unwrap();
    let desc = |bytes| AllocationDesc::new("x", bytes);
    let refuse = |d: AllocationDesc| s.allocate(d).unwrap_err().to_string();
    assert_eq!(refuse(desc(0)), r#"allocation "x" has 0 bytes; it must have at least 1"#);
    assert_eq!(
        refuse(AllocationDesc { alignment: 48, ..desc(1) }),
        r#"allocation "x": alignment 48 is not a power of two"#
    );
    assert_eq!(
        refuse(desc(1).at(GpuAddress(0x20_0010))),
        r#"allocation "x": address 0x200010 is not a multiple of 256"#
    );
    assert_eq!(
        refuse(desc(0x101).at(GpuAddress(0x0F_FF00))),
        "allocation \"x\": [0xfff00, +0x101) overlaps \"heap\" [0x100000, +0x1000); \
         place it in that allocation to share its bytes"
    );
    assert!(s.allocate(desc(0x100).at(GpuAddress(0x0F_FF00))).is_ok());
    assert_eq!(
        refuse(desc(512).at(GpuAddress((1 << 48) - 256))),
        r#"allocation "x": [0xffffffffff00, +0x200) does not fit the 48-bit address space"#
    );
    assert_eq!(
        refuse(desc(16).placed_in(heap.id, 0xFF4)),
        r#"allocation "x": 16 bytes at offset 4084 do not fit "heap" of 4096 bytes"#
    );
    assert_eq!(
        refuse(desc(8).placed_in(heap.id, 2)),
        r#"allocation "x": address 0x100002 is not a multiple of 4"#
    );
    assert_eq!(
        refuse(desc(8).placed_in(AllocationId(99), 0)),
        r#"allocation "x" is placed in alloc99, which does not exist"#
    );
    assert_eq!(
        refuse(AllocationDesc { esram: true, ..desc(8) }),
        r#"allocation "x": series-x has no ESRAM"#
    );
    let big = s.allocate(desc(64 << 20)).unwrap_err();
    assert!(matches!(big, AllocationError::Limit(_)), "{big}");
    assert!(big.to_string().contains("exceeds the memory budget of 67108864 bytes"), "{big}");
    // Nothing refused left a trace.
    assert_eq!(s.allocations().len(), 2);
}

#[test]
fn consoles_differ() {
    let one = space(ProfileName::XboxOne);
    let esram = |bytes| AllocationDesc { esram: true, ..AllocationDesc::new("e", bytes) };
    let first = one.allocate(esram(20 << 20)).unwrap();
    assert!(matches!(
        one.allocate(esram(20 << 20)),
        Err(AllocationError::EsramFull { left: 0xC0_0000, .. })
    ));
    one.free(first.id).unwrap();
    one.allocate(esram(32 << 20)).unwrap();
    let volatile = AllocationDesc { volatile: true, ..AllocationDesc::new("v", 4) };
    assert!(matches!(one.allocate(volatile.clone()), Err(AllocationError::NoVolatile { .. })));
    series().allocate(volatile).unwrap();
    let high = AllocationDesc::new("high", 256).at(GpuAddress(1 << 40));
    assert!(matches!(
        one.allocate(high.clone()),
        Err(AllocationError::OutsideSpace { bits: 40, .. })
    ));
    series().allocate(high).unwrap();
}

#[test]
fn a_full_space_reuses_what_was_freed() {
    let s = series();
    let first = s.allocate(AllocationDesc::new("first", 4096)).unwrap();
    s.allocate(AllocationDesc::new("second", 4096)).unwrap();
    // The search stands near the top of the space now.
    let top = (1u64 << 48) - 2 * DEFAULT_ALIGNMENT;
    s.inner().next = top;
    let last = s.allocate(AllocationDesc::new("last", 4096)).unwrap();
    assert_eq!(last.range.start.0, top);
    s.free(first.id).unwrap();
    let again = s.allocate(AllocationDesc::new("again", 4096)).unwrap();
    assert_eq!(again.range, first.range);
    assert_ne!(again.id, first.id);
    assert_eq!(s.describe(first.range.start), Some(("again".into(), 0)));
}

#[test]
fn freed_memory_keeps_its_name() {
    let s = series();
    let heap = s.allocate(AllocationDesc::new("heap", 0x2000)).unwrap();
    let placed = s.allocate(AllocationDesc::new("placed", 0x100).placed_in(heap.id, 0x40)).unwrap();
    let inside = placed.range.start.offset(8);
    assert_eq!(s.describe(inside), Some(("placed".into(), 8)));
    assert_eq!(
        s.free(heap.id).unwrap_err().to_string(),
        r#""heap" cannot be freed while "placed" lies in it"#
    );
    s.free(placed.id).unwrap();
    assert_eq!(s.describe(inside), Some(("heap".into(), 0x48)));
    s.free(heap.id).unwrap();
    assert_eq!(s.describe(inside), None);
    assert_eq!(
        s.nearest(inside).unwrap().to_string(),
        r#"0x8 bytes into "placed" [0x100000040, +0x100), made at step 2, freed at step 3"#
    );
    assert_eq!(s.free(heap.id).unwrap_err().to_string(), r#""heap" was freed before (step 4)"#);
    assert_eq!(s.free(AllocationId(7)).unwrap_err().to_string(), "alloc7 does not exist");
    assert!(matches!(
        s.allocate(AllocationDesc::new("x", 4).placed_in(heap.id, 0)),
        Err(AllocationError::FreedHeap { .. })
    ));
}

#[test]
fn nearest_prefers_what_lives() {
    let s = series();
    assert_eq!(s.nearest(GpuAddress(0)), None);
    let a = s.allocate(AllocationDesc::new("a", 0x100).at(GpuAddress(0x1000))).unwrap();
    s.allocate(AllocationDesc::new("b", 0x100).at(GpuAddress(0x2000))).unwrap();
    let say = |at| s.nearest(GpuAddress(at)).unwrap().to_string();
    assert_eq!(say(0x0FFC), r#"4 bytes before the start of "a" [0x1000, +0x100)"#);
    assert_eq!(say(0x1100), r#"0 bytes past the end of "a" [0x1000, +0x100)"#);
    assert_eq!(say(0x1F00), r#"256 bytes before the start of "b" [0x2000, +0x100)"#);
    s.free(a.id).unwrap();
    assert_eq!(say(0x1200), r#"3584 bytes before the start of "b" [0x2000, +0x100)"#);
}

proptest! {
    /// Overlapping placed allocations against a table of bytes.
    #[test]
    fn segments_name_the_latest(
        steps in proptest::collection::vec((0..60u64, 1..30u64, any::<bool>(), any::<bool>()), 1..24)
    ) {
        const HEAP: usize = 400;
        let s = series();
        let heap = s.allocate(AllocationDesc::new("heap", HEAP as u64)).unwrap();
        let mut living = vec![heap.clone()];
        for (offset, len, read_only, free) in steps {
            if free && living.len() > 1 {
                let gone = living.remove(1 + offset as usize % (living.len() - 1));
                s.free(gone.id).unwrap();
            } else {
                let mut d = AllocationDesc::new("p", len * 4).placed_in(heap.id, offset * 4);
                if read_only { d = d.read_only(); }
                if let Ok(a) = s.allocate(d) { living.push(a); }
            }
        }
        let table = s.snapshot();
        for byte in 0..HEAP as u64 + 8 {
            let at = heap.range.start.offset(byte);
            let want = living.iter().rev().find(|a| a.range.contains(at, 1));
            let got = table.find(at);
            prop_assert_eq!(got.map(|g| g.allocation), want.map(|w| w.id));
            prop_assert_eq!(
                got.map(|g| g.gpu_write),
                want.map(|w| w.desc.gpu_access == GpuAccess::ReadWrite)
            );
        }
    }
}

#[test]
fn what_is_allocated_after_going_back_is_zero_and_lies_where_it_lay() {
    let s = series();
    s.checkpoint();
    let mut first = None;
    for round in 0..4u8 {
        let heap = s.allocate(AllocationDesc::new("heap", 70_000)).unwrap();
        let other = s.allocate(AllocationDesc::new("other", 70_000)).unwrap();
        // Too large to be kept.
        let large = s.allocate(AllocationDesc::new("large", 3 << 20)).unwrap();
        assert_eq!(s.host().read_u32(large.range.start), Ok(0));
        s.host().write_u32(large.range.start, 7).unwrap();
        let inside = AllocationDesc::new("inside", 100).placed_in(heap.id, 4096);
        let inside = s.allocate(inside).unwrap();
        for a in [&heap, &other] {
            let mut bytes = vec![1; 70_000];
            s.host().read(a.range.start, &mut bytes).unwrap();
            assert!(bytes.iter().all(|&b| b == 0), "round {round}");
        }
        s.host().write(inside.range.start, &[round + 1; 100]).unwrap();
        s.host().write(other.range.start.offset(69_000), &[round + 1; 1000]).unwrap();
        if round == 2 {
            s.free(other.id).unwrap();
        }
        let places = [heap.range, other.range, inside.range];
        assert_eq!(*first.get_or_insert(places), places);
        assert!(s.restore());
        assert!(s.allocations().is_empty());
        assert!(s.host().read(heap.range.start, &mut [0]).is_err());
    }
}
