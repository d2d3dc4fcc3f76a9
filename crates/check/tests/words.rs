//! What hazards say, in neutral words and as properties.

mod script;

use script::*;
use wavefence_base::{Generation, GpuAddress, GpuRange, ProfileName};

fn stale() -> Script {
    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(CS1);
    let a = s.dispatch(CS1);
    let filled = s.constants(a, X, 64);
    s.end(a);
    s.wait_shaders(CS1);
    let b = s.dispatch(CS1);
    s.write(b, X, 64);
    s.end(b);
    s.wait_shaders(CS1);
    s.flush(CS1, L1I);
    let c = s.dispatch(CS1);
    s.as_of = Some(filled);
    s.constants(c, X, 64);
    s
}

#[test]
fn a_stale_constant() {
    let s = stale();
    let hazards = s.hazards();
    let h = &hazards[0];
    insta::assert_snapshot!(h.message(Generation::Gfx10_3), @"dispatch1 on queue1 (packet 0x10030, group [0, 0, 0], wave 0) writes; dispatch2 on queue1 (packet 0x10060, group [0, 0, 0], wave 0, lane 0) reads 64 bytes at 0x100000. A constant or descriptor may be served by a scalar data cache (K$) that still holds bytes from before the write. The line was in K$ since dispatch0 on queue1 (packet 0x10010, group [0, 0, 0], wave 0) reads. Present: the flush at 0x10050 between them acts on other caches: invalidate of L0 and GL1. Mend: invalidate K$ before packet 0x10060.");
    let lines: Vec<String> =
        h.properties(Generation::Gfx10_3).iter().map(|(k, v)| format!("{k}={v}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    rule=stale-scalar-cache
    verdict=proven
    generation=Gfx10_3
    producer=a shader's vector memory access writes
    producer-queue=1
    producer-packet=0x10030
    producer-dispatch=1
    producer-wave=0,0,0:0:0
    consumer=a shader's scalar load (constants, descriptors) reads
    consumer-queue=1
    consumer-packet=0x10060
    consumer-dispatch=2
    consumer-wave=0,0,0:0:0
    address=0x100000
    bytes=64
    span=0x100000+64
    cache=K$
    held-since=0x10010
    missed=wrong-cache@0x10050
    mend=invalidate K$ before packet 0x10060
    count=1
    ");
    let finding = h.finding(Generation::Gfx10_3);
    assert_eq!((finding.rule.name, finding.count), ("stale-scalar-cache", 1));
    assert_eq!(finding.call, "packet at 0x10060");
}

#[test]
fn a_range_and_advice() {
    let mut s = Script::new(ProfileName::XboxOne);
    s.submit(CS1);
    let a = s.dispatch(CS1);
    s.read(a, X, 512);
    s.end(a);
    s.wait_shaders(CS1);
    let b = s.dispatch(CS1);
    s.write(b, X, 512);
    s.end(b);
    s.wait_shaders(CS1);
    s.flush_range(CS1, L1I, Some(GpuRange::new(GpuAddress(X), 256)));
    s.flush(CS1, II);
    let c = s.dispatch(CS1);
    s.read(c, X, 512);
    let hazards = s.hazards();
    let text: Vec<String> = hazards.iter().map(|h| h.message(Generation::Gfx7)).collect();
    insta::assert_snapshot!(text.join("\n"), @"
    dispatch1 on queue1 (packet 0x10030, group [0, 0, 0], wave 0) writes; dispatch2 on queue1 (packet 0x10070, group [0, 0, 0], wave 0, lane 0) reads 64 bytes at 0x100100. A flush on the right cache at the right moment does not cover the bytes that are read. The line may be in vector L1 since dispatch0 on queue1 (packet 0x10010, group [0, 0, 0], wave 0) reads. Present: the invalidate of vector L1 at 0x10050 covers [0x100000, +0x100) only. Assumes: the line may still be in some unit's cache; a miss fetches it afresh. Mend: widen the range to [0x100000, +0x200) in packet 0x10050.
    invalidate of I$ at 0x10060 on queue1. No later access of the run needed this flush or wait. In this run it found no line to drop or write back. Mend: leave the invalidate of I$ out in packet 0x10060.
    ");
}

#[test]
fn the_same_events_give_the_same_hazards() {
    assert_eq!(stale().hazards(), stale().hazards());
}
