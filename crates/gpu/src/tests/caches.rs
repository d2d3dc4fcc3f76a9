//! Rows of `hardware/caches.md` 6.1 at packet level: with the elements of a row the
//! consumer sees the new bytes, without any one of them the old ones.

use super::fake;
use super::rig::{COMPUTE, COMPUTE2, DMA, GFX, List, PROFILES, Rig};
use crate::{LoadedKernel, Outcome, QueueKind, RunMode};
use std::sync::{Arc, Mutex};
use wavefence_base::{
    Client, Event, FaultKind, Generation, GpuAddress, MemoryAccess, Observer, Profile, ProfileName,
    Topology,
};
use wavefence_memory::AllocationDesc;
use wavefence_pm4::{Field, Kind, Ring, coher, data_sel, function, gcr, int_sel, sel};

/// What stands between producer and consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    /// CS_PARTIAL_FLUSH.
    Cs,
    /// CP DMA sync.
    Dma,
    /// The consumer's queue waits for the producer's signal.
    Wait,
    L1,
    K,
    I,
    L2wb,
    L2i,
    /// PFP_SYNC_ME.
    Pfp,
}
use Element::{Cs, Dma, I, K, L1, L2i, L2wb, Pfp, Wait};

/// Who writes the new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Producer {
    Store,
    CpDma(u8),
    WriteData(u8),
    Sdma,
    Host,
    EndOfPipe,
    OtherQueue,
}

/// Who reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Consumer {
    Vector,
    Scalar,
    Arguments,
    Condition,
    Code,
}

const OLD: u32 = 1;
const NEW: u32 = 2;

/// A producer and a consumer on one list of `kind`.
struct Pair {
    profile: ProfileName,
    kind: QueueKind,
    producer: Producer,
    consumer: Consumer,
}

/// What the lists work on.
struct Things {
    rig: Rig,
    /// The value, alone in its page.
    x: GpuAddress,
    /// What the consumer leaves.
    out: GpuAddress,
    /// Holds the new value, or the new code.
    source: GpuAddress,
    flag: GpuAddress,
    /// Kernels: the one whose code is overwritten, then by use.
    victim: LoadedKernel,
    read: LoadedKernel,
    scalar: LoadedKernel,
    copy: LoadedKernel,
    count: LoadedKernel,
    code_words: u32,
}

fn things(profile: ProfileName) -> Things {
    let mut rig = Rig::new(profile, RunMode::Model);
    let [x, out, source, flag] = ["x", "out", "source", "flag"].map(|n| rig.buffer(n, 4096));
    let victim = rig.load(fake::named("write_old", [1, 1, 1]));
    let other = rig.load(fake::named("write_new", [1, 1, 1]));
    let mut words = vec![0; 64];
    rig.device.host_read(other.code, &mut words).unwrap();
    let kernels = ["read", "read_scalar", "copy", "threads"];
    let [read, scalar, copy, count] = kernels.map(|n| rig.load(fake::named(n, [1, 1, 1])));
    rig.device.host_write(x, &OLD.to_le_bytes()).unwrap();
    rig.device.host_write(source, &NEW.to_le_bytes()).unwrap();
    let mut things =
        Things { rig, x, out, source, flag, victim, read, scalar, copy, count, code_words: 16 };
    things.rig.device.host_write(source.offset(256), &words).unwrap();
    things
}

impl Things {
    /// The kernel on `table` in that many groups, with two constants.
    fn go(&self, list: List, kernel: LoadedKernel, table: GpuAddress, groups: u32) -> List {
        list.bind(kernel, [1, 1, 1], table).dispatch([groups, 1, 1], 4)
    }

    fn constants(&self, list: List, values: &[u32]) -> List {
        list.set_sh(wavefence_pm4::reg::COMPUTE_USER_DATA_2, values)
    }

    fn consume(&self, list: List, consumer: Consumer) -> List {
        let out = [self.out.lo(), self.out.hi()];
        match consumer {
            Consumer::Vector => self.go(self.constants(list, &out), self.read, self.x, 4),
            Consumer::Scalar => self.go(self.constants(list, &out), self.scalar, self.x, 4),
            Consumer::Code => self.go(list, self.victim, self.out, 1),
            Consumer::Arguments => {
                // The number of groups is the value; the others are 1.
                let list = list.bind(self.count, [1, 1, 1], self.out);
                match list.ring() {
                    Ring::Graphics => list
                        .packet(
                            Kind::SetBase,
                            &[
                                (Field::BaseIndex, sel::base_index::INDIRECT.into()),
                                (Field::Addr, self.x.0),
                            ],
                        )
                        .packet(Kind::DispatchIndirect, &[(Field::Initiator, 5)]),
                    Ring::Compute | Ring::Sdma => list.packet(
                        Kind::DispatchIndirect,
                        &[(Field::Addr, self.x.0), (Field::Initiator, 5)],
                    ),
                }
            }
            Consumer::Condition => {
                // Skips the write if the value is 0.
                let body = list.clone_empty().write(self.out, &[NEW]);
                let dwords = body.words.len() as u64;
                let skip = [(Field::Addr, self.x.0), (Field::ExecCount, dwords)];
                let mut list = list.packet(Kind::CondExec, &skip);
                list.words.extend(body.words);
                list
            }
        }
    }

    /// Where the producer writes and how much.
    fn target(&self, consumer: Consumer) -> (GpuAddress, GpuAddress, u32) {
        match consumer {
            Consumer::Code => (self.source.offset(256), self.victim.code, self.code_words),
            Consumer::Vector | Consumer::Scalar | Consumer::Arguments | Consumer::Condition => {
                (self.source, self.x, 1)
            }
        }
    }

    fn produce(&self, list: List, producer: Producer, consumer: Consumer) -> List {
        let (from, to, words) = self.target(consumer);
        match producer {
            Producer::Store => {
                let args = [to.lo(), to.hi(), words];
                self.go(self.constants(list, &args), self.copy, from, 4)
            }
            Producer::CpDma(select) => list.packet(
                Kind::DmaData,
                &[
                    (Field::SrcSel, sel::dma_src::MEMORY.into()),
                    (Field::DstSel, select.into()),
                    (Field::Src, from.0),
                    (Field::Dst, to.0),
                    (Field::ByteCount, u64::from(words) * 4),
                ],
            ),
            Producer::WriteData(select) => list.packet_with(
                Kind::WriteData,
                &[(Field::DstSel, select.into()), (Field::Addr, to.0)],
                &[NEW],
            ),
            Producer::EndOfPipe => list.signal(to, NEW.into(), 4),
            Producer::Sdma | Producer::Host | Producer::OtherQueue => list,
        }
    }

    /// The other queue of a pair, if the producer has one.
    fn other_queue(&mut self, pair: &Pair) {
        let (from, to, words) = self.target(pair.consumer);
        let late = self.flag.offset(512);
        match pair.producer {
            Producer::Sdma => {
                let mut list = self.rig.list(DMA);
                for _ in 0..200 {
                    list = list.signal(late, 0, 4);
                }
                let bytes = (Field::ByteCount, u64::from(words) * 4);
                let ends = [(Field::Src, from.0), (Field::Dst, to.0), bytes];
                let list = list.packet(Kind::SdmaCopyLinear, &ends).signal(self.flag, 1, 4);
                self.rig.submit(list);
            }
            Producer::OtherQueue => {
                let mut list = self.rig.list(COMPUTE2);
                for _ in 0..200 {
                    list = list.write(late, &[0]);
                }
                let list = self.produce(list, Producer::Store, pair.consumer).flush_cs();
                let list = list.signal(self.flag, 1, 4);
                self.rig.submit(list);
            }
            Producer::Store
            | Producer::CpDma(_)
            | Producer::WriteData(_)
            | Producer::Host
            | Producer::EndOfPipe => {}
        }
    }
}

/// Puts the elements between the two.
fn between(things: &Things, mut list: List, elements: &[Element], pair: &Pair) -> List {
    let has = |e| elements.contains(&e);
    if has(Cs) {
        list = list.flush_cs();
    }
    if has(Dma) {
        list = list.packet(Kind::DmaData, &[(Field::CpSync, 1), (Field::ByteCount, 0)]);
    }
    if has(Wait) {
        let at = match pair.producer {
            Producer::EndOfPipe => things.x,
            _ => things.flag,
        };
        let value = if at == things.x { NEW } else { 1 };
        list = list.wait(at, function::EQUAL, value.into(), 4);
    }
    let actions: Vec<Element> =
        elements.iter().copied().filter(|e| [L1, K, I, L2wb, L2i].contains(e)).collect();
    if !actions.is_empty() {
        list = acquire(list, &actions);
    }
    if has(Pfp) {
        list = list.packet(Kind::PfpSyncMe, &[]);
    }
    list
}

/// One acquire in the ME.
fn acquire(list: List, actions: &[Element]) -> List {
    let gfx10 = list.generation == Generation::Gfx10_3;
    let mut bits = 0;
    for action in actions {
        bits |= match (action, gfx10) {
            (L1, true) => gcr::GLV_INV | gcr::GL1_INV,
            (K, true) => gcr::GLK_INV | gcr::GL1_INV,
            (I, true) => 1 << gcr::GLI_INV_SHIFT | gcr::GL1_INV,
            (L2wb, true) => gcr::GL2_WB,
            (L2i, true) => gcr::GL2_WB | gcr::GL2_INV,
            (L1, false) => coher::TCL1_ACTION_ENA,
            (K, false) => coher::SH_KCACHE_ACTION_ENA,
            (I, false) => coher::SH_ICACHE_ACTION_ENA,
            (L2wb, false) => coher::TC_WB_ACTION_ENA,
            (L2i, false) => coher::TC_ACTION_ENA | coher::TC_WB_ACTION_ENA,
            (Cs | Dma | Wait | Pfp, _) => 0,
        };
    }
    let all = (Field::CoherSize, 0xFF_FFFF_FF00);
    let me = (Field::Engine, u64::from(sel::acquire_engine::ME));
    match (gfx10, list.ring()) {
        (true, Ring::Graphics) => {
            list.packet(Kind::AcquireMem, &[(Field::Gcr, bits.into()), all, me])
        }
        (true, _) => list.packet(Kind::AcquireMem, &[(Field::Gcr, bits.into()), all]),
        (false, Ring::Graphics) => {
            list.packet(Kind::SurfaceSync, &[(Field::Coher, bits.into()), all, me])
        }
        (false, _) => list.packet(Kind::AcquireMem, &[(Field::Coher, bits.into()), all]),
    }
}

/// Runs a pair with these elements; true if the consumer saw the new value.
fn fresh(pair: &Pair, elements: &[Element]) -> bool {
    let mut things = things(pair.profile);
    let old = match pair.consumer {
        Consumer::Condition => 0,
        _ => OLD,
    };
    let args = [old, 1, 1].map(u32::to_le_bytes).concat();
    things.rig.device.host_write(things.x, &args).unwrap();
    // What the consumer's caches may hold: the old value, read by every unit.
    let list = things.rig.list(pair.kind);
    let list = things.warm(list, pair);
    let list = if pair.producer == Producer::Host && elements.contains(&Wait) {
        between(&things, list, &[Wait], pair)
    } else {
        things.produce(list, pair.producer, pair.consumer)
    };
    let rest: Vec<Element> = elements
        .iter()
        .copied()
        .filter(|&e| pair.producer != Producer::Host || e != Wait)
        .collect();
    let list = between(&things, list, &rest, pair);
    let list = things.consume(list, pair.consumer).flush_cs();
    things.rig.submit(list);
    things.other_queue(pair);
    let outcome = things.rig.run();
    if pair.producer == Producer::Host {
        assert!(matches!(outcome, Outcome::Blocked(_)), "{outcome:?}");
        let (from, to, words) = things.target(pair.consumer);
        let mut bytes = vec![0; words as usize * 4];
        things.rig.device.host_read(from, &mut bytes).unwrap();
        things.rig.device.host_write(to, &bytes).unwrap();
        things.rig.device.host_write(things.flag, &1u32.to_le_bytes()).unwrap();
        assert_eq!(things.rig.run(), Outcome::Idle);
    } else {
        assert_eq!(outcome, Outcome::Idle, "{:?}", things.rig.device.faults());
    }
    assert_eq!(things.rig.device.faults(), []);
    things.rig.u32(things.out) == NEW
}

impl Things {
    /// Fills the caches that the consumer reads through with the old value.
    fn warm(&self, list: List, pair: &Pair) -> List {
        match pair.consumer {
            Consumer::Vector | Consumer::Scalar => {
                let spare = self.flag.offset(1024);
                let list = self.constants(list, &[spare.lo(), spare.hi()]);
                let kernel =
                    if pair.consumer == Consumer::Vector { self.read } else { self.scalar };
                self.go(list, kernel, self.x, 4).flush_cs()
            }
            Consumer::Code => self.go(list, self.victim, self.flag.offset(1024), 1).flush_cs(),
            Consumer::Arguments => {
                let list = list.bind(self.count, [1, 1, 1], self.flag.offset(1024));
                let at = [(Field::Addr, self.x.0), (Field::Initiator, 5)];
                match list.ring() {
                    Ring::Graphics => list
                        .packet(
                            Kind::SetBase,
                            &[(Field::BaseIndex, sel::base_index::INDIRECT.into()), at[0]],
                        )
                        .packet(Kind::DispatchIndirect, &[at[1]])
                        .flush_cs(),
                    Ring::Compute | Ring::Sdma => {
                        list.packet(Kind::DispatchIndirect, &at).flush_cs()
                    }
                }
            }
            Consumer::Condition => list,
        }
    }
}

/// With all elements the value is fresh, and without any one of them it is not,
/// but for those in `spare`, whose lack the model does not show.
fn row(pair: &Pair, elements: &[Element], spare: &[Element]) {
    let name = format!("{} {} {:?} -> {:?}", pair.profile, pair.kind, pair.producer, pair.consumer);
    assert!(fresh(pair, elements), "{name}: stale with {elements:?}");
    for left_out in elements.iter().filter(|e| !spare.contains(e)) {
        let rest: Vec<Element> = elements.iter().copied().filter(|e| e != left_out).collect();
        assert!(!fresh(pair, &rest), "{name}: fresh without {left_out:?}");
    }
}

fn rows(kind: QueueKind, producer: Producer, consumer: Consumer, sets: [&[Element]; 3]) {
    for (profile, set) in PROFILES.into_iter().zip(sets) {
        row(&Pair { profile, kind, producer, consumer }, set, &[]);
    }
}

#[test]
fn rows_1_and_2_stores_read_by_shaders() {
    for kind in [GFX, COMPUTE] {
        rows(kind, Producer::Store, Consumer::Vector, [&[Cs, L1]; 3]);
        rows(kind, Producer::Store, Consumer::Scalar, [&[Cs, K]; 3]);
    }
}

#[test]
fn rows_5_and_6_stores_read_as_arguments() {
    let before: &[_] = &[Cs, L2wb, Pfp];
    rows(GFX, Producer::Store, Consumer::Arguments, [before, before, &[Cs, Pfp]]);
    rows(COMPUTE, Producer::Store, Consumer::Arguments, [&[Cs, L2wb], &[Cs, L2wb], &[Cs]]);
}

#[test]
fn row_7_stores_read_as_conditions() {
    let before: &[_] = &[Cs, L2wb, Pfp];
    let sets = PROFILES.map(|name| {
        let topology = Topology::of(&Profile::get(name));
        if topology.path(Client::Predicate).is_empty() { before } else { &[Cs, Pfp] }
    });
    rows(GFX, Producer::Store, Consumer::Condition, sets);
}

#[test]
fn rows_17_to_20_host_writes_within_a_submission() {
    for kind in [GFX, COMPUTE] {
        for (profile, consumer, set) in PROFILES.into_iter().flat_map(|p| {
            [
                (p, Consumer::Vector, [Wait, L2i, L1]),
                (p, Consumer::Scalar, [Wait, L2i, K]),
                (p, Consumer::Code, [Wait, L2i, I]),
            ]
        }) {
            let pair = Pair { profile, kind, producer: Producer::Host, consumer };
            row(&pair, &set, &[Wait]);
        }
    }
    for (profile, set) in
        PROFILES.into_iter().zip([&[Wait, Pfp][..], &[Wait, Pfp], &[Wait, L2i, Pfp]])
    {
        let pair =
            Pair { profile, kind: GFX, producer: Producer::Host, consumer: Consumer::Arguments };
        row(&pair, set, &[Wait]);
    }
}

#[test]
fn rows_21_to_24_copies_of_the_command_processor() {
    let (memory, l2) = (Producer::CpDma(sel::dma_dst::MEMORY), Producer::CpDma(sel::dma_dst::L2));
    for profile in PROFILES {
        let of = |kind, producer, consumer| Pair { profile, kind, producer, consumer };
        for kind in [GFX, COMPUTE] {
            row(&of(kind, l2, Consumer::Vector), &[Dma, L1], &[]);
            row(&of(kind, l2, Consumer::Scalar), &[Dma, K], &[]);
        }
        if profile == ProfileName::SeriesX {
            row(&of(GFX, l2, Consumer::Arguments), &[Dma, Pfp], &[]);
            continue;
        }
        for kind in [GFX, COMPUTE] {
            row(&of(kind, memory, Consumer::Vector), &[Dma, L2i, L1], &[]);
            row(&of(kind, memory, Consumer::Scalar), &[Dma, L2i, K], &[]);
        }
        row(&of(GFX, l2, Consumer::Arguments), &[Dma, L2wb, Pfp], &[]);
        row(&of(GFX, memory, Consumer::Arguments), &[Dma, Pfp], &[]);
        row(&of(COMPUTE, memory, Consumer::Arguments), &[Dma], &[]);
    }
}

#[test]
fn row_25_copies_of_a_dma_engine() {
    for kind in [GFX, COMPUTE] {
        rows(kind, Producer::Sdma, Consumer::Vector, [&[Wait, L2i, L1]; 3]);
        rows(kind, Producer::Sdma, Consumer::Scalar, [&[Wait, L2i, K]; 3]);
    }
}

#[test]
fn rows_27_and_28_code() {
    rows(COMPUTE, Producer::Store, Consumer::Code, [&[Cs, I]; 3]);
    let memory = Producer::CpDma(sel::dma_dst::MEMORY);
    for profile in [ProfileName::XboxOne, ProfileName::XboxOneX] {
        let pair = Pair { profile, kind: GFX, producer: memory, consumer: Consumer::Code };
        row(&pair, &[Dma, L2i, I], &[]);
    }
    rows(COMPUTE, Producer::Sdma, Consumer::Code, [&[Wait, L2i, I]; 3]);
}

#[test]
fn rows_31_to_33_values_of_packets() {
    let (memory, l2) =
        (Producer::WriteData(sel::write_dst::MEMORY), Producer::WriteData(sel::write_dst::L2));
    for kind in [GFX, COMPUTE] {
        rows(kind, memory, Consumer::Vector, [&[L2i, L1], &[L2i, L1], &[L1]]);
        rows(kind, memory, Consumer::Scalar, [&[L2i, K], &[L2i, K], &[K]]);
        rows(kind, l2, Consumer::Scalar, [&[K]; 3]);
        let sets: [&[Element]; 3] = [&[Wait, L2i, L1], &[Wait, L2i, L1], &[Wait, L1]];
        for (profile, set) in PROFILES.into_iter().zip(sets) {
            let (producer, consumer) = (Producer::EndOfPipe, Consumer::Vector);
            // With nothing to wait for the value is there before the reader.
            row(&Pair { profile, kind, producer, consumer }, set, &[Wait]);
        }
    }
}

#[test]
fn row_34_stores_of_another_queue() {
    for kind in [GFX, COMPUTE] {
        rows(kind, Producer::OtherQueue, Consumer::Vector, [&[Wait, L1]; 3]);
        rows(kind, Producer::OtherQueue, Consumer::Scalar, [&[Wait, K]; 3]);
    }
}

/// What a store's way to a DMA engine consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Signal {
    writeback: bool,
    confirm: bool,
    twice: bool,
}

/// Row 26: true if a DMA engine found the new value behind the signal.
fn lands(profile: ProfileName, kind: QueueKind, how: Signal) -> bool {
    let mut t = things(profile);
    let gfx10 = profile == ProfileName::SeriesX;
    let confirm = if how.confirm { int_sel::WRITE_AFTER_CONFIRM } else { int_sel::NONE };
    let action = match (gfx10, how.writeback) {
        (true, on) => (Field::Gcr, if on { gcr::release::GL2_WB.into() } else { 0 }),
        (false, on) => (Field::TcWbAction, u64::from(on)),
    };
    let common = [(Field::IntSel, confirm.into()), action];
    let mut list = t.produce(t.rig.list(kind), Producer::Store, Consumer::Vector);
    if how.twice {
        list = list.release(data_sel::NONE, &[action]);
    }
    let value = [common[0], common[1], (Field::Addr, t.flag.0), (Field::Data, 1)];
    let hold = t.flag.offset(512);
    let list = list.release(data_sel::DATA_32, &value).wait(hold, function::EQUAL, 1, 4);
    t.rig.submit(list);
    let copy = [(Field::Src, t.x.0), (Field::Dst, t.out.0), (Field::ByteCount, 4)];
    let list = t.rig.list(DMA).wait(t.flag, function::EQUAL, 1, 4);
    let list = list.packet(Kind::SdmaCopyLinear, &copy);
    t.rig.submit(list);
    assert!(matches!(t.rig.run(), Outcome::Blocked(_)));
    t.rig.u32(t.out) == NEW
}

#[test]
fn row_26_and_b15_stores_seen_by_a_dma_engine() {
    for profile in PROFILES {
        let early = profile != ProfileName::SeriesX;
        let all = Signal { writeback: true, confirm: true, twice: early };
        for kind in [GFX, COMPUTE] {
            assert!(lands(profile, kind, all), "{profile} {kind}");
            let mut less = vec![Signal { writeback: false, ..all }];
            if early {
                less.push(Signal { twice: false, ..all });
            } else {
                less.push(Signal { confirm: false, ..all });
            }
            for less in less {
                assert!(!lands(profile, kind, less), "{profile} {kind} {less:?}");
            }
        }
    }
}

/// Row 35: what the first wave of a group reads after the second has written it.
fn exchanged(profile: ProfileName, kernel: &str, wgp: bool) -> u32 {
    let mut rig = Rig::with(profile, RunMode::Model, |d| d.profile.order.wgp_mode.value = wgp);
    let x = rig.buffer("x", 4096);
    rig.device.host_write(x, &OLD.to_le_bytes()).unwrap();
    let kernel = rig.load(fake::named(kernel, [128, 1, 1]));
    let list = rig.list(COMPUTE).bind(kernel, [128, 1, 1], x).dispatch([1, 1, 1], 4);
    rig.submit(list);
    rig.run_idle();
    rig.u32(x.offset(256))
}

#[test]
fn row_35_waves_of_one_group_on_two_units() {
    let series = ProfileName::SeriesX;
    assert_eq!(exchanged(series, "exchange", false), NEW);
    assert_eq!(exchanged(series, "exchange", true), OLD);
    assert_eq!(exchanged(series, "exchange_fenced", true), NEW);
    assert_eq!(exchanged(ProfileName::XboxOne, "exchange", false), NEW);
}

/// True if a second queue that waits for a value sees the store before it.
fn seen_behind_value(profile: ProfileName, flushed: bool, level2: bool) -> bool {
    let mut t = things(profile);
    let list = t.produce(t.rig.list(COMPUTE2), Producer::Store, Consumer::Vector);
    let list = if flushed { list.flush_cs() } else { list };
    let gfx10 = profile == ProfileName::SeriesX;
    let action = match (level2, gfx10) {
        (true, true) => (Field::Gcr, gcr::release::GL2_WB.into()),
        (on, false) => (Field::TcWbAction, u64::from(on)),
        (false, true) => (Field::Gcr, 0),
    };
    let value = [action, (Field::Addr, t.flag.0), (Field::Data, 1)];
    let list = list.release(data_sel::DATA_32, &value);
    t.rig.submit(list);
    let pair =
        Pair { profile, kind: COMPUTE, producer: Producer::OtherQueue, consumer: Consumer::Vector };
    let list = between(&t, t.rig.list(COMPUTE), &[Wait, L1], &pair);
    let list = t.consume(list, Consumer::Vector);
    t.rig.submit(list);
    t.rig.run_idle();
    t.rig.u32(t.out) == NEW
}

#[test]
fn a_bare_value_lands_before_the_stores_of_the_waves_it_waited_for() {
    for profile in PROFILES {
        assert!(!seen_behind_value(profile, false, false), "{profile}");
        assert!(seen_behind_value(profile, true, false), "{profile}");
        assert!(seen_behind_value(profile, false, true), "{profile}");
    }
}

/// B9-like: commands that a shader wrote, run as a command buffer. True if the new
/// ones ran.
fn generated(profile: ProfileName, elements: &[Element]) -> bool {
    let mut t = things(profile);
    let (buffer, spare) = (t.rig.buffer("commands", 4096), t.rig.buffer("new", 4096));
    for (at, value) in [(buffer, OLD), (spare, NEW)] {
        let list = t.rig.list(GFX).write(t.out, &[value]);
        let bytes: Vec<u8> = list.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        t.rig.device.host_write(at, &bytes).unwrap();
    }
    let words = t.rig.list(GFX).write(t.out, &[NEW]).words.len() as u32;
    let list = t.constants(t.rig.list(GFX), &[buffer.lo(), buffer.hi(), words]);
    let list = t.go(list, t.copy, spare, 4);
    let pair =
        Pair { profile, kind: GFX, producer: Producer::Store, consumer: Consumer::Condition };
    let list = between(&t, list, elements, &pair);
    let call = [(Field::Addr, buffer.0), (Field::IbSize, u64::from(words))];
    let list = list.packet(Kind::IndirectBuffer, &call);
    t.rig.submit(list);
    t.rig.run_idle();
    t.rig.u32(t.out) == NEW
}

#[test]
fn b9_commands_that_a_shader_wrote() {
    for profile in PROFILES {
        let all = [Cs, L2wb, Pfp];
        assert!(generated(profile, &all), "{profile}");
        for left_out in all {
            let rest: Vec<Element> = all.into_iter().filter(|&e| e != left_out).collect();
            assert!(!generated(profile, &rest), "{profile}: without {left_out:?}");
        }
    }
}

#[test]
fn a_value_that_lies_in_l2_never_ends_a_wait_on_memory() {
    use wavefence_base::{DispatchId, QueueId, StallVerdict, Writer};
    for profile in PROFILES {
        let mut t = things(profile);
        let list = t.go(t.rig.list(COMPUTE), t.victim, t.flag, 1).flush_cs();
        let list = list.wait(t.flag, function::EQUAL, OLD.into(), 4);
        t.rig.submit(list);
        let outcome = t.rig.run();
        if profile == ProfileName::SeriesX {
            assert_eq!(outcome, Outcome::Idle);
            continue;
        }
        let Outcome::Blocked(stall) = outcome else { panic!("{outcome:?}") };
        let by = Writer::Shader(QueueId(0), DispatchId(0));
        assert_eq!(stall.waits[0].verdict, StallVerdict::ValueInL2(by));
        assert_eq!(stall.waits[0].present, 0);
    }
}

/// An access or event: its place, if it has one, and its words.
type Heard = (Option<u64>, String);

/// Keeps everything it hears.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<Vec<Heard>>>);

impl Observer for Everything {
    fn event(&mut self, event: &Event) {
        let seq = match event {
            Event::Flush { seq, .. } => Some(*seq),
            _ => None,
        };
        self.0.lock().unwrap().push((seq, format!("{event:?}")));
    }

    fn wants_accesses(&self) -> bool {
        true
    }

    fn access(&mut self, access: &MemoryAccess<'_>) {
        self.0.lock().unwrap().push((Some(access.seq), format!("{access:?}")));
    }
}

#[test]
fn accesses_and_cache_actions_come_in_one_order_and_repeat() {
    let heard = |profile| {
        let mut t = things(profile);
        let everything = Everything::default();
        t.rig.device.add_observer(Box::new(everything.clone()));
        let list = t.produce(t.rig.list(GFX), Producer::Store, Consumer::Vector);
        let pair =
            Pair { profile, kind: GFX, producer: Producer::Store, consumer: Consumer::Vector };
        let list = between(&t, list, &[Cs, L1, Pfp], &pair);
        let list = t.consume(list, Consumer::Vector);
        t.rig.submit(list);
        t.rig.run_idle();
        assert_eq!(t.rig.u32(t.out), NEW);
        everything.0.lock().unwrap().clone()
    };
    for profile in PROFILES {
        let first = heard(profile);
        let places: Vec<u64> = first.iter().filter_map(|h| h.0).collect();
        assert!(places.is_sorted() && places.len() > 20, "{profile}: {places:?}");
        for word in ["client: CommandFetch", "client: Instruction", "client: ShaderVector"] {
            assert!(first.iter().any(|h| h.1.contains(word)), "{profile}: {word}");
        }
        assert!(first.last().is_some_and(|h| h.1.contains("client: Host")), "{profile}");
        let reached = first.iter().position(|h| h.1.contains("level: Accepted"));
        let store = first.iter().position(|h| h.1.contains("kind: Write") && h.1.contains("Wave"));
        assert!(store < reached, "{profile}");
        assert_eq!(heard(profile), first);
    }
}

/// A line of L2 outlives the memory it belongs to: its bytes are dropped, and told.
#[test]
fn dirty_bytes_of_freed_memory_are_a_fault() {
    for profile in PROFILES {
        let mut rig =
            Rig::with(profile, RunMode::Model, |d| d.profile.order.submit_end.value = false);
        let memory = rig.device.memory().clone();
        let gone = memory.allocate(AllocationDesc::new("gone", 256)).unwrap();
        let dst = (Field::DstSel, sel::write_dst::L2.into());
        let fields = [dst, (Field::Addr, gone.range.start.0)];
        let list = rig.list(COMPUTE).packet_with(Kind::WriteData, &fields, &[NEW]);
        rig.submit(list);
        rig.run_idle();
        memory.free(gone.id).unwrap();
        let list = acquire(rig.list(COMPUTE), &[L2i]);
        rig.submit(list);
        assert_eq!(rig.run(), Outcome::Idle);
        let faults = rig.device.faults();
        assert_eq!(faults.len(), 1, "{profile}");
        let (kind, at) = (faults[0].kind, faults[0].address);
        assert_eq!((kind, at), (FaultKind::WriteUnmapped, Some(gone.range.start)));
        assert!(faults[0].detail.contains("freed meanwhile"), "{}", faults[0].detail);
    }
}
