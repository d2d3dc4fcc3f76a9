//! Command fetch: the ring, command buffers called from it, and the packets in
//! them. Words are read when they are decoded, not before.

use crate::core::Core;
use crate::cp::sync;
use crate::mem::Access;
use crate::ring::RingBuffer;
use wavefence_base::access::{Agent, Engine};
use wavefence_base::topology::Client;
use wavefence_base::{FaultKind, GpuAddress, QueueId, SubmitId};
use wavefence_pm4::{DecodeErrorKind, Packet, Ring, decode};

/// A packet and where it lies.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) packet: Packet,
    pub(crate) at: GpuAddress,
}

impl Located {
    /// The address of the packet's dword `index`.
    pub(crate) fn dword(&self, index: u64) -> GpuAddress {
        self.at.offset(index * 4)
    }
}

/// What the fetcher found.
pub(crate) enum Fetched {
    /// A packet; the fetcher stands behind it.
    Packet(Box<Located>),
    /// Everything of a submission was fetched; the packet that ran its buffer.
    SubmitEnd(SubmitId, GpuAddress),
    /// Nothing is there.
    Empty,
    /// A word that is no packet. The fault was reported; the queue must halt.
    Bad,
}

/// A command buffer being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The next word.
    pub(crate) at: GpuAddress,
    /// Words left.
    pub(crate) left: u64,
}

/// Command buffers deep at most: one from the ring and one from that
/// (`hardware/pm4.md` 1.4 knows IB1 and IB2).
const MAX_DEPTH: usize = 2;

/// Words read at first; a longer packet reads on.
const WINDOW: u64 = 32;

/// One queue's place in its commands.
#[derive(Clone, Debug)]
pub(crate) struct Fetcher {
    pub(crate) ring: RingBuffer,
    pub(crate) frames: Vec<Frame>,
}

impl Fetcher {
    pub(crate) fn new(ring: RingBuffer) -> Self {
        Self { ring, frames: Vec::new() }
    }

    /// The next packet, or what stands there instead.
    pub(crate) fn next(&mut self, core: &mut Core, queue: QueueId, ring: Ring) -> Fetched {
        while self.frames.last().is_some_and(|f| f.left == 0) {
            self.frames.pop();
        }
        let frame = match self.frames.last() {
            Some(&frame) => frame,
            None => {
                if let Some((submit, packet)) = self.ring.finished_submit() {
                    return Fetched::SubmitEnd(submit, packet);
                }
                match self.ring.head() {
                    Some((at, left)) => Frame { at, left },
                    None => return Fetched::Empty,
                }
            }
        };
        match read_packet(core, frame, ring) {
            Ok(packet) => {
                let dwords = packet.len_dwords() as u64;
                match self.frames.last_mut() {
                    Some(f) => {
                        // Of the ring itself nothing is told: only the device writes there.
                        let by = fetch_access(queue, ring, frame.at);
                        core.bus.fetched(&by, frame.at, dwords * 4);
                        f.at = f.at.offset(dwords * 4);
                        f.left -= dwords;
                    }
                    None => {
                        if let Some(submit) = self.ring.starting_submit(frame.at) {
                            sync::submit_start(core, (queue, ring), submit, frame.at);
                        }
                        self.ring.advance(dwords);
                    }
                }
                Fetched::Packet(Box::new(Located { packet, at: frame.at }))
            }
            Err((kind, detail)) => {
                core.packet_fault(kind, queue, frame.at, detail);
                Fetched::Bad
            }
        }
    }

    /// True if [`Self::next`] would not find nothing.
    pub(crate) fn has_next(&self) -> bool {
        self.frames.iter().any(|f| f.left > 0) || self.ring.has_next()
    }

    /// Skips `dwords` of what follows in this command buffer.
    pub(crate) fn skip(&mut self, dwords: u64) -> Result<(), String> {
        let Some(frame) = self.frames.last_mut() else {
            return Err("there is nothing to skip in the ring itself".into());
        };
        if frame.left < dwords {
            return Err(format!("{dwords} dwords to skip, {} are left in the buffer", frame.left));
        }
        frame.at = frame.at.offset(dwords * 4);
        frame.left -= dwords;
        Ok(())
    }

    /// Goes on in another command buffer; with `chain` without coming back.
    pub(crate) fn call(&mut self, at: GpuAddress, dwords: u64, chain: bool) -> Result<(), String> {
        if chain {
            let Some(frame) = self.frames.last_mut() else {
                return Err("a chained command buffer needs one to chain from".into());
            };
            *frame = Frame { at, left: dwords };
            return Ok(());
        }
        // What is finished needs no place to come back to.
        while self.frames.last().is_some_and(|f| f.left == 0) && self.frames.len() > 1 {
            self.frames.pop();
        }
        if self.frames.len() >= MAX_DEPTH {
            return Err(format!("command buffers nest {MAX_DEPTH} deep below the ring"));
        }
        self.frames.push(Frame { at, left: dwords });
        Ok(())
    }
}

/// The access record of a packet's fetch.
fn fetch_access(queue: QueueId, ring: Ring, packet: GpuAddress) -> Access<'static> {
    let engine = match ring {
        Ring::Graphics => Engine::Pfp,
        Ring::Compute => Engine::Mec,
        Ring::Sdma => Engine::Sdma,
    };
    Access {
        what: "command fetch",
        queue: Some(queue),
        packet: Some(packet),
        agent: Agent::Engine { queue, engine, packet },
        client: Client::CommandFetch,
    }
}

/// Reads and decodes the packet at the beginning of `frame`. Is no access.
pub(crate) fn read_packet(
    core: &mut Core,
    frame: Frame,
    ring: Ring,
) -> Result<Packet, (FaultKind, String)> {
    let mut window = WINDOW.min(frame.left);
    loop {
        let words = core.bus.peek_words(Client::CommandFetch, frame.at, window);
        match decode(&words, 0, core.generation, ring) {
            Ok(packet) => return Ok(packet),
            Err(e) if e.kind == DecodeErrorKind::Truncated && (words.len() as u64) < window => {
                let end = frame.at.offset(words.len() as u64 * 4);
                return Err((
                    FaultKind::ReadUnmapped,
                    format!("command fetch at {end}: it lies in no live allocation"),
                ));
            }
            Err(e) if e.kind == DecodeErrorKind::Truncated && window < frame.left => {
                window = (window * 8).min(frame.left);
            }
            Err(e) => {
                let at = frame.at.offset(e.offset as u64 * 4);
                let detail = format!("word {:#010x} at {at}: {}", e.word, e.message);
                return Err((FaultKind::BadPacket, detail));
            }
        }
    }
}
