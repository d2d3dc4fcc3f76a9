// tidy: table
//! Every verdict on a hang, by the word that reports and scenarios use. One list, read
//! by the scenario format and `explain`.

/// A verdict on a blocked wait or on work that does not end.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// The word.
    pub name: &'static str,
    /// What it says, in a sentence.
    pub summary: &'static str,
    /// How it comes about and what to do.
    pub explanation: &'static str,
    /// What leads to it, in the words of a scenario file.
    pub wrong: &'static str,
    /// What to write instead.
    pub right: &'static str,
}

macro_rules! verdicts {
    ($($name:literal: $summary:literal, $explanation:literal, $wrong:literal => $right:literal;)*) => {
        /// Every verdict; those on waits first.
        pub static ALL: &[Verdict] = &[$(Verdict {
            name: $name, summary: $summary, explanation: $explanation,
            wrong: $wrong, right: $right,
        }),*];
    };
}

verdicts! {
    "cycle": "Queues wait for each other.", "Each queue of the ring waits for a value that the next one writes behind a wait of its own. The report draws the ring: every wait, and the write that stands behind the next wait. Break it at one place: signal before waiting there.", "A: Wait32BitValueX: [X, EQUAL, 1] then Write32…: [Y, 1]; B: Wait32BitValueX: [Y, EQUAL, 1] then Write32…: [X, 1]" => "A writes Y before it waits for X";
    "never-written": "Nothing wrote the value and nothing still to run does.", "The address has no write in its history and none in any command buffer that is left. Submit the producer, or check the address of the wait.", "Wait32BitValueX: [Sync, EQUAL, 1] and no write to Sync" => "Write32BitValueBottomOfPipeX: [Sync, 1] on another queue";
    "overtaken": "The value was there and has been passed.", "An EQUAL on a counter is true only while the counter has that value. Wait with GREATER_EQUAL on counters that only grow.", "Write: 1, Write: 2, then Wait32BitValueX: [Sync, EQUAL, 1]" => "Wait32BitValueX: [Sync, GREATER_EQUAL, 1]";
    "write-lost": "The write that would have ended the wait was dropped.", "It went to memory that the GPU may only read, or to no memory at all. The dropped write stands in the history of the wait, and as a fault.", "Memory: {Name: Sync, GpuReadOnly: true}" => "Memory: {Name: Sync}";
    "never-satisfied": "The address was written, but never with such a value.", "Check the value that is written, the comparison and the mask. Where a counter rises by one, the report names the first value that nobody writes.", "Write32…: [Sync, 1], then Wait32BitValueX: [Sync, EQUAL, 2]" => "Write32…: [Sync, 2]";
    "behind-itself": "The only write that would end the wait stands behind it on the same queue.", "A queue runs its packets in order, so nothing behind a wait runs before the wait ends. Write from another queue, or before the wait.", "Wait32BitValueX: [Sync, EQUAL, 5], then Write32…: [Sync, 5] in one list" => "Write32…: [Sync, 5], then Wait32BitValueX: [Sync, EQUAL, 5]";
    "value-in-l2": "The value lies dirty in L2, where the engine does not look.", "On the Xbox One family the command processor polls memory; a shader's store stays in L2 until it is written back. Write L2 back after the store, or write the value at the bottom of the pipe.", "a shader stores to Sync, another queue waits for it on xbox-one" => "FlushPipelineX: BOP_TEXTURE_L2_WRITEBACK behind the dispatch";
    "writer-blocked": "The write that would end the wait stands on a queue that cannot go on either.", "This wait is a consequence. Look at what holds the other queue.", "B waits for A, and A is in an endless loop" => "end the loop of A";
    "not-submitted": "A recorded list would end the wait, but no queue was given it.", "The list is closed and writes a value that would end the wait. Execute it, before anything waits for it on the host.", "CommandLists: Producer, and no {List: Producer} under Submit" => "Submit: {Queue: Q, List: Producer}";
    "memory-freed": "The memory that the wait looks at was freed.", "Memory that a queue polls must live until the wait has ended. Free it when a fence behind the wait has passed.", "Submit: the wait, then Free: Sync" => "Wait: {Fence: F, Value: 1}, then Free: Sync";
    "memory-reused": "The memory that the wait looks at belongs to something else now.", "It was freed or placed over while the wait was pending, so what the wait reads is another's data. Keep it until a fence behind the wait has passed.", "the wait, then Release of its memory and another resource placed there" => "Wait: {Fence: F, Value: 1}, then Free: Sync";
    "stuck": "Waves of a thread group wait for each other.", "A wave stands at a group barrier that others of its group do not reach, or before an ordered operation whose turn does not come.", "if (wave == 0) GroupMemoryBarrierWithGroupSync()" => "a barrier that all threads reach";
    "still-running": "A budget ended while the work was running.", "The run's budget of cycles or wave instructions (--max-cycles, --max-instructions) was used up. The report names the loop, when it ends, the values in memory that decide, and who wrote them last.", "for (i = 0; i < Counts[0]; i++) with Counts[0] never initialised" => "a bound: min(Counts[0], MAX)";
    "endless": "The work runs for ever: proved.", "The state of every wave that is left came back with everything it reads unchanged, and nothing on the device that can still move writes what it reads. Only the host could end it.", "while (Flag[0] == 0) {} and nobody writes Flag" => "write Flag from another queue, with the caches invalidated";
}

/// The verdict of that name.
pub fn find(name: &str) -> Option<&'static Verdict> {
    ALL.iter().find(|v| v.name == name)
}
