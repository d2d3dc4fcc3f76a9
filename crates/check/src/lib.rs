//! Hazard rules: which synchronisation was missing, in the wrong place, or in vain.
//!
//! Rules this crate keeps:
//! - It is fed by events and access records alone, and by the topology of the
//!   device; it never asks a device anything, and the same events give the same
//!   hazards in the same order.
//! - Order comes from the axioms below, never from the order in which a simulator
//!   happened to do things.
//! - It goes back to a checkpoint as the device does, and has then heard nothing of
//!   what came after.
//! - Words are neutral: caches, packets and queues. Whoever knows the API spells
//!   them as calls.
//!
//! # Axioms
//!
//! *Agents.* Each queue has a prefetch parser (PFP, graphics queue only), a micro
//! engine (ME; MEC or SDMA on other queues), a DMA of the command processor, an end
//! of the pipe, and dispatches, which the ME starts. The host is one more agent.
//! What an engine does itself is in its own program order. A dispatch begins with
//! what its ME knows at that moment and is in no order with what its queue does
//! next.
//!
//! *Knowledge.* An agent knows of another's work: that waves have **ended**, that L2
//! has **accepted** their stores, that a copy is done, that a cache action ran, that
//! its write-back was **confirmed**. Knowledge grows only by
//! - completion levels: a partial flush, an idle, a DMA sync or PFP_SYNC_ME joins
//!   what it waits for;
//! - values: an end-of-pipe event knows what its ME knew when it took the packet up
//!   and, at its level, every dispatch started before; a value carries its writer's
//!   knowledge and a wait that it ends joins it; end-of-pipe events of one queue are
//!   in order;
//! - submits: an engine that enters a submission joins what the host knew when it
//!   submitted;
//! - the host: reading a value that a queue wrote joins its knowledge, and a host
//!   step after a submission is done knows that submission.
//!
//! *A happens before B* if B's agent knows A when it does B.
//!
//! *Race.* Two accesses to a byte, one of them a write, of which neither happens
//! before the other. Excepted are two atomics, and coherent accesses of one dispatch
//! with atomics or each other. A write after a read, and no more, is in order once
//! the reader's waves have ended; everything else needs acceptance. Lanes of one
//! instruction of one wave are one access; within a wave program order holds, within
//! a group barriers order.
//!
//! *Available.* A write through L2 is available in L2 once accepted, and in memory
//! once an L2 write-back ran that knew it accepted. A write beside L2 is available
//! in memory at once.
//!
//! *Visible.* A read through path P sees a write that happens before it if the write
//! is available where P ends (L2 or memory) and, for every cache on P that may have
//! held an older copy, an invalidate of that cache came after the write was available
//! below it and before the read.
//!
//! *May have held.* A line may be in some cache of a class if an access that can fill
//! it was made by any unit since the device was made, did not know the write, and no
//! invalidate of that class came between it and the write (an invalidate that ran while
//! the writer may have run counts for nothing). Evictions and the unit that a group
//! runs on are chance, so they excuse nothing. A line that nobody can have filled is
//! cold, and silent.
//!
//! *Group-shared memory.* Each group has its own; barriers and atomics order its waves,
//! and nothing else does.
//!
//! *Not judged yet.* Lines that volatile accesses filled (actions on those alone protect nothing), colour and depth blocks.
//! Faults are the device's; [`faults`] explains each and says which rule it breaks.
//!
//! *Verdicts.* Proven: the record of the read says that its bytes were taken before
//! the write. Possible: the axioms allow it. Advice: at the end of the run no access
//! needed the element.
//!
//! It knows nothing about packets' encodings, kernels, Direct3D, or the device.

mod blame;
mod checker;
mod clock;
mod elements;
pub mod faults;
mod flushes;
mod found;
mod hash;
pub mod hazard;
mod judge;
pub mod rules;
mod shadow;
mod shared;
pub mod text;
mod timeline;
mod walk;

pub use checker::Checker;
pub use hazard::{Action, At, Element, Hazard, Held, Mend, Miss, Side};
pub use rules::RuleInfo;
