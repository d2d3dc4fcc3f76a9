// tidy: table
//! What each kind of fault means. A fault happened, so nothing judges it; a reader
//! of a report asks about it by name as he does about a rule.

use crate::rules::of_fault;
use wavefence_base::{FaultKind, Rule};

/// A kind of fault with what `explain` says of it.
#[derive(Clone, Copy, Debug)]
pub struct FaultInfo {
    /// The kind.
    pub kind: FaultKind,
    /// What happened, in a sentence.
    pub summary: &'static str,
    /// What the device does then, and how to get out of it.
    pub explanation: &'static str,
    /// What leads to it, one step a line, and the mended step after `mend:`.
    pub example: &'static str,
}

impl FaultInfo {
    /// The hazard rule that such a fault breaks, if it breaks one.
    pub fn rule(&self) -> Option<&'static Rule> {
        of_fault(self.kind)
    }
}

/// What a fault of that kind means.
pub fn info(kind: FaultKind) -> FaultInfo {
    let (summary, explanation, example) = match kind {
        FaultKind::ReadUnmapped => (
            "A read lies outside every live allocation.",
            "It gives 0 and the run goes on. The fault names the nearest allocation, and one that \
             was freed there. A read through a bound buffer view that is out of the view's range \
             is no fault: it gives 0 by Direct3D's rules.",
            "dispatch reads 16 bytes past the end of X by its address\nmend: bound the index, or \
             enlarge X",
        ),
        FaultKind::WriteUnmapped => (
            "A write lies outside every live allocation.",
            "It is dropped and the run goes on. A wait for a value that was dropped never ends; \
             the hang says so.",
            "bottom-of-pipe value to memory that was freed\nmend: free it after the queue's fence",
        ),
        FaultKind::WriteReadOnly => (
            "A write goes to memory that the GPU may only read.",
            "It is dropped and the run goes on. A wait for a value that was dropped never ends; \
             the hang says so.",
            "bottom-of-pipe value to read-only memory\nmend: place the value in memory that the \
             GPU may write",
        ),
        FaultKind::BadPacket => (
            "A word where a packet should begin is no packet of this generation.",
            "The queue stops there, as nothing after the word can be trusted. Packets come from \
             recorded calls, which are sound when they are encoded; so the words are raw packets, \
             or something wrote over the command buffer after it was recorded.",
            "the host writes over a list that is still to run\nmend: wait for the list's fence \
             before its memory is used again",
        ),
        FaultKind::BadCommand => (
            "A packet is well formed and asks for something that cannot be.",
            "An address that is not aligned, a poll that gave up after its last retry, a dword \
             outside the global data share, a copy that the engine cannot make. The packet does \
             nothing, and the run goes on.",
            "raw packet: write 64 bits to an address that is 4 mod 8\nmend: align the address",
        ),
        FaultKind::BadCode => (
            "The bytes at the program address are no kernel, or parts of several.",
            "Instruction fetch reads what its caches and memory hold. Code that was written over \
             while some of its lines were cached is a mixture of both; nothing is launched.",
            "dispatch of the code at P\nthe host writes longer code at P\ndispatch of the code at \
             P\nmend: invalidate I$ (and L2) before the second dispatch",
        ),
        FaultKind::BarrierDivergence => (
            "Some threads of a group do not come to a group barrier that others wait at.",
            "Hardware may hang or go on; here the barrier opens for those that came, and the run \
             goes on.",
            "if (thread < 32) barrier()\nmend: move the barrier out of the branch",
        ),
        FaultKind::Unbound => (
            "A resource that the kernel names has no valid descriptor.",
            "Nothing was bound at its register when the dispatch started, or the descriptor's \
             bytes were overwritten. Reads give 0 and writes are dropped.",
            "dispatch of a shader that writes u1; only u0 is bound\nmend: bind u1",
        ),
        FaultKind::DebugBreak => (
            "A wave came by a breakpoint of its shader.",
            "The shader asks for it, as a failed assertion does. The wave goes on; each place is \
             told once, with the lanes that came there first, and counted.",
            "if (sum != expected) debug break\nmend: what the assertion checks",
        ),
    };
    FaultInfo { kind, summary, explanation, example }
}

/// The kind of that name.
pub fn find(name: &str) -> Option<FaultInfo> {
    FaultKind::ALL.iter().copied().find(|k| k.name() == name).map(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_and_is_explained() {
        for (i, &kind) in FaultKind::ALL.iter().enumerate() {
            let name = kind.name();
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
            assert!(FaultKind::ALL[i + 1..].iter().all(|k| k.name() != name), "{name}");
            let found = find(name).expect("a name finds its kind");
            assert_eq!(found.kind, kind);
            assert!(found.summary.ends_with('.') && found.explanation.ends_with('.'), "{name}");
            assert!(found.example.contains("mend: "), "{name}");
        }
        assert!(find("fault").is_none());
    }

    #[test]
    fn no_name_is_both_a_kind_and_another_rule() {
        // `barrier-divergence` is both, and the rule is that of the kind.
        for &kind in FaultKind::ALL {
            if let Some(rule) = crate::rules::find(kind.name()) {
                assert_eq!(info(kind).rule(), Some(rule.rule));
            }
        }
    }
}
