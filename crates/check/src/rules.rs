// tidy: table
//! Every hazard rule, numbered from 1: what a run did or may do. One list, read by
//! the checker, the docs and `explain`. Numbers and names are stable; a rule that
//! goes leaves a gap.

use wavefence_base::{FaultKind, Rule};

/// A rule with what `explain` says beyond its summary.
#[derive(Clone, Copy, Debug)]
pub struct RuleInfo {
    /// The rule.
    pub rule: &'static Rule,
    /// What it means and how to get out of it, in neutral words.
    pub explanation: &'static str,
    /// A list of commands that breaks it, one a line, and the mended list's
    /// difference after `mend:`.
    pub example: &'static str,
}

macro_rules! rules {
    ($($number:literal $const:ident $name:literal: $summary:literal, $source:literal,
       $explanation:literal, $example:literal;)*) => {
        $(#[doc = $summary]
        pub static $const: Rule = Rule {
            number: $number, name: $name, summary: $summary, source: $source,
        };)*

        /// Every rule, by number.
        pub static ALL: &[&Rule] = &[$(&$const),*];

        /// Every rule with its explanation, by number.
        pub static INFO: &[RuleInfo] = &[$(RuleInfo {
            rule: &$const, explanation: $explanation, example: $example,
        }),*];
    };
}

rules! {
    // Caches that held old bytes.
    1 STALE_VECTOR "stale-vector-cache": "A vector read may be served by a vector L1 (GFX10: L0 or GL1) that still holds bytes from before the write.", "hardware/caches.md 1.2, 1.4 and 6.1 rows 1, 3, 34",
      "Each compute unit has its own vector cache and nothing snoops it. A store reaches L2 at once, but a unit that read the line before keeps its copy until the cache is invalidated. The invalidate has to come after the wait for the writer and before the reader starts. A line that no unit can have read before cannot be stale, so a cold cache is silent.",
      "dispatch A reads X\ndispatch B writes X\nwait for shaders\ndispatch C reads X\nmend: wait for shaders, then invalidate the vector caches before C";
    2 STALE_SCALAR "stale-scalar-cache": "A constant or descriptor may be served by a scalar data cache (K$) that still holds bytes from before the write.", "hardware/caches.md 1.2, 6.1 rows 2, 18, 32; section 7 B16; seed 000, DEFAULT",
      "Constant buffers and descriptors are read through the scalar data cache, which is another cache than the vector L1. The vendor's DEFAULT flush covers the vector L1 and L2 only, so a constant buffer that a shader, a copy or the host rewrote needs the scalar cache invalidated as well.",
      "dispatch A uses constants C\ncopy new constants to C, wait for the copy\ninvalidate vector L1 and L2\ndispatch B uses constants C\nmend: also invalidate K$";
    3 STALE_INSTRUCTION "stale-instruction-cache": "Code may be fetched from an instruction cache (I$) that still holds bytes from before it was written.", "hardware/caches.md 6.1 rows 20, 27, 28",
      "Instruction fetch goes through the instruction cache and L2. Code that replaces other code at the same address runs as the old code, or as a mixture, until the instruction cache is invalidated.",
      "dispatch of the code at P\nthe host writes other code at P\ndispatch of the code at P\nmend: invalidate I$ (and L2, for a write that bypassed it) before the second dispatch";
    4 STALE_L2 "stale-l2": "A read through L2 may be served by a line from before a write that went to memory without passing L2.", "hardware/caches.md 2 and 6.1 rows 17 to 21, 24, 25, 28, 31, 33",
      "The host, DMA engines and, before GFX10, the command processor write to memory beside L2. A line that L2 holds from before stays as it is until L2 is invalidated. The caches above L2 fill from it, so their invalidate has to come with or after that of L2.",
      "dispatch A reads X\nDMA engine writes X; the queue waits for its fence\ninvalidate vector L1\ndispatch B reads X\nmend: invalidate L2 as well";

    // Writes that were not where the reader looks.
    5 MISSING_WRITE_BACK "missing-write-back": "A reader that bypasses L2 may read memory before the bytes that a shader left in L2 were written back.", "hardware/caches.md 2 and 6.1 rows 4 to 8, 23, 26; section 7 B17",
      "Shader stores rest in L2. The host and DMA engines on every generation, and the command processor's reads of indirect arguments before GFX10, read memory itself. L2 has to be written back after the wait for the shader and before the read.",
      "dispatch A writes arguments X\nwait for shaders, let the prefetch parser wait\nindirect dispatch with X (GFX7, GFX8)\nmend: write L2 back between the wait and the indirect dispatch";
    6 NOT_LANDED "not-landed": "A signal says that shaders have ended, not that their stores have landed where the reader looks.", "seeds 002 and 004; hardware/caches.md 3.1, 3.2 and 6.1 rows 26, 34; section 7 B15",
      "A bottom-of-pipe write without a flush lands when waves have ended, possibly before L2 has accepted their stores. That is enough to overwrite what those waves read, and not enough to read what they wrote. Before memory itself is read by the host or a DMA engine, the write-back must be confirmed too; on GFX7 and GFX8 a single end-of-pipe event may write its value before its own L2 action is complete.",
      "queue 1: dispatch A writes X; bottom-of-pipe value without flush\nqueue 2: wait for the value; dispatch B reads X\nmend: wait for shaders before the value, or ask the value for a flush or write confirm";
    7 WRONG_ENGINE "wrong-engine": "The prefetch parser reads ahead of the micro engine: what the ME waits for, the PFP does not.", "hardware/caches.md 2 (stage split), 3.2 and 6.1 rows 4, 5, 7; section 7 B12, B17; seed 000, ENGINE_PFP",
      "Indirect arguments and predicates are read by the prefetch parser, which runs ahead of the micro engine. Waits and flushes in the ME do not hold it. It must be made to wait for the ME after the wait and the flush.",
      "dispatch A writes arguments X\nwait for shaders\nindirect dispatch with X\nmend: let the prefetch parser wait for the ME before the indirect dispatch";
    8 FLUSH_ORDER "flush-order": "A flush on the right cache came on the wrong side: before the write had landed, or not before the reader.", "design section 5; hardware/caches.md 3.1; seed 000, top and bottom of pipe",
      "A cache action acts at the moment it runs. An invalidate that runs before the writer has finished (top of pipe where bottom of pipe was needed) lets the cache fill with old bytes again; a write-back that runs before the store has reached L2 misses it; a flush on another queue helps only if the reader's queue waits for it.",
      "dispatch A reads X\ndispatch B writes X\ninvalidate vector L1\nwait for shaders\ndispatch C reads X\nmend: invalidate after the wait";
    9 FLUSH_RANGE "flush-range": "A flush on the right cache at the right moment does not cover the bytes that are read.", "hardware/pm4.md 2.2; seed 000; peers.md 5.1 (hard-coded size)",
      "A flush with a base and a size promises nothing outside them, rounded out to 256 bytes. L2 and L1 of the Xbox One family ignore the range, so the run may still be right there; a range that was right once goes wrong when a resource grows.",
      "dispatch B writes all 8 KiB of X\nwait for shaders\ninvalidate vector L1 over the first 4 KiB of X\ndispatch C reads all of X\nmend: widen the range to 8 KiB";

    // Races.
    10 RACE_QUEUE "race-queue": "Two commands of one queue touch the same bytes and nothing makes the later one wait for the earlier one.", "hardware/caches.md 1.7, 6.1 rows 1, 9, 10; section 7 B2, B14",
      "Dispatches of a queue overlap: the next one starts as soon as there is room. A read after a write, a write after a read and a write after a write each need a wait for the shaders between them.",
      "dispatch A writes X\ndispatch B reads X\nmend: wait for shaders (and invalidate, if a cache may hold X) between A and B";
    11 RACE_CROSS_QUEUE "race-cross-queue": "Two queues touch the same bytes and no signal and wait put them in order.", "hardware/caches.md 3.2 and 6.1 rows 25, 34",
      "Queues run side by side. Order between them comes only from a value that one writes at the bottom of its pipe and the other waits for.",
      "queue 1: dispatch A writes X\nqueue 2: dispatch B reads X\nmend: queue 1 writes a value after A, queue 2 waits for it before B";
    12 RACE_DISPATCH "race-dispatch": "Two waves of one dispatch touch the same bytes without order: from different groups, or from one group with no barrier between.", "hardware/caches.md 1.8; section 7 B18",
      "Groups of a dispatch run in any order and at once; only atomics and coherent accesses put them in order. Waves of a group are in order where a group barrier stands between. Lanes of one instruction of one wave are one access.",
      "group 0 writes X[1]; group 1 reads X[1]\nmend: two dispatches with a wait between, or an atomic";
    13 RACE_SHARED "race-shared": "Two waves of a group touch the same group-shared bytes with no barrier between.", "HLSL GroupMemoryBarrierWithGroupSync; peers.md matrix row 26",
      "Group-shared memory has no order between waves but that of group barriers and atomics.",
      "wave 0 writes S[0]; wave 1 reads S[0]\nmend: a group barrier between";
    14 RACE_HOST "race-host": "The host and the GPU touch the same bytes with no order between them.", "hardware/caches.md 1.7; peers.md matrix row 30",
      "The host is in order with a queue's work by submitting it and by waiting for a value or for a submission to be done. Memory that a submitted list uses must not be written, nor its results read, in between.",
      "submit a list that reads X\nthe host writes X\nmend: wait for the list's fence before writing X";
    15 RACE_DMA "race-dma": "A copy of the command processor's own DMA engine is used before anything waited for it.", "hardware/caches.md 3.2 and 6.1 rows 21 to 24; section 7 B17",
      "The command processor's DMA runs beside the packets that follow. Neither the end of the pipe nor the end of a list waits for it; only a DMA packet with its sync bit does.",
      "copy Y to X without sync\ndispatch A reads X\nmend: set the sync bit, or wait for the DMA before A";

    // Memory.
    16 FREED_MEMORY "freed-memory": "Memory was given back or put to another use while work that uses it was not known to be done.", "hardware/caches.md 6.6 (TransientAllocator); peers.md matrix row 31",
      "Freeing memory, or placing another resource there, is a host write to all of it: the host has to wait for every queue that uses it.",
      "submit a list that reads X\nfree X\nmend: wait for the list's fence before freeing X";
    17 UNINITIALISED "uninitialised-read": "A shader or engine read bytes that nothing has written since the memory was allocated.", "peers.md matrix row 33",
      "Fresh memory of a console holds whatever was there. A value that depends on it changes from run to run.",
      "allocate X\ndispatch A reads X\nmend: write X before";
    18 UNMAPPED "unmapped-access": "An access lies outside every live allocation: the read gives 0, the write is dropped.", "design 4.2",
      "The fault names the lane, the thread and the nearest allocation. Accesses through a bound buffer view that are out of its range are no fault: they read 0 by Direct3D's rules.",
      "dispatch reads 16 bytes past the end of X\nmend: bound the index, or enlarge X";
    19 READ_ONLY "read-only-write": "The GPU wrote memory that it may only read: the write is dropped.", "design 4.2; peers.md section 4 (HangFenceNonWritable)",
      "A wait for a value that was dropped never ends.",
      "bottom-of-pipe value to a read-only page\nmend: place the value in memory that the GPU may write";
    20 BARRIER_DIVERGENCE "barrier-divergence": "Some threads of a group do not come to a group barrier that others wait at.", "HLSL GroupMemoryBarrierWithGroupSync; peers.md matrix row 34",
      "Every thread of the group must reach the same barrier; otherwise what happens is undefined on hardware.",
      "if (thread < 32) barrier()\nmend: move the barrier out of the branch";
    21 DIRTY_OVERWRITE "dirty-overwrite": "A write that bypasses L2 goes to bytes that L2 may still hold dirty: a later write-back puts the older bytes over it.", "hardware/caches.md section 7 B4",
      "L2 writes dirty bytes back whenever it likes. Before the host, a DMA engine or another client that bypasses L2 writes the same bytes, L2 has to be written back.",
      "dispatch A writes X\nwait for shaders; DMA engine copies Y to X\nmend: write L2 back before the copy";

    // Flushes that do too much or nothing.
    30 FLUSH_REDUNDANT "flush-redundant": "No later access of the run needed this flush or wait.", "design section 5",
      "Judged at the end of the run, for this run: each element is credited if it is the earliest one that makes some later access correct. An element that is never credited cost time and changed nothing. A list that is only part of the frame may need it for what follows.",
      "dispatch A writes X\nwait for shaders; invalidate vector L1 and K$\ndispatch B reads X as a buffer\nmend: leave the K$ invalidate out";
    31 FLUSH_NO_EFFECT "flush-no-effect": "The cache or state that this action names does not exist on this generation or queue.", "hardware/caches.md 1.6; seed 000",
      "Compute queues have no colour and depth blocks; nothing is marked volatile on the Xbox One family; the L2 metadata cache exists from GFX10 on.",
      "compute queue: flush the colour block\nmend: leave it out";
    32 FLUSH_OVER_WIDE "flush-over-wide": "A narrower action would have done: only L2's write-back was needed, not its invalidate.", "hardware/caches.md 1.3 and 1.5; seed 000, TEXTURE_L2_INVALIDATE",
      "Invalidating L2 writes everything dirty back and then makes every later read miss. Where later accesses only needed the bytes in memory, a write-back keeps the lines.",
      "dispatch A writes X\nwait for shaders; invalidate L2\nDMA engine reads X\nmend: write L2 back instead";
}

/// The rule of that number or name.
pub fn find(key: &str) -> Option<&'static RuleInfo> {
    let number = key.parse::<u32>().ok();
    INFO.iter().find(|i| i.rule.name == key || number == Some(i.rule.number))
}

/// The rule that a fault breaks, for faults that are hazards.
pub fn of_fault(kind: FaultKind) -> Option<&'static Rule> {
    match kind {
        FaultKind::ReadUnmapped | FaultKind::WriteUnmapped => Some(&UNMAPPED),
        FaultKind::WriteReadOnly => Some(&READ_ONLY),
        FaultKind::BarrierDivergence => Some(&BARRIER_DIVERGENCE),
        FaultKind::BadPacket
        | FaultKind::BadCommand
        | FaultKind::BadCode
        | FaultKind::Unbound
        | FaultKind::DebugBreak => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_names_are_kebab_case_and_unique() {
        for pair in ALL.windows(2) {
            assert!(pair[0].number < pair[1].number, "{}", pair[1].name);
        }
        for info in INFO {
            let rule = info.rule;
            assert!((1..1000).contains(&rule.number));
            assert!(
                rule.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            );
            assert!(rule.summary.ends_with('.') && info.explanation.ends_with('.'));
            assert!(info.example.contains("mend: "), "{}", rule.name);
            assert_eq!(find(rule.name).map(|i| i.rule.number), Some(rule.number));
            assert_eq!(find(&rule.number.to_string()).map(|i| i.rule.name), Some(rule.name));
        }
    }

    #[test]
    fn faults_have_rules() {
        assert_eq!(of_fault(FaultKind::WriteUnmapped), Some(&UNMAPPED));
        assert_eq!(of_fault(FaultKind::BadPacket), None);
    }
}
