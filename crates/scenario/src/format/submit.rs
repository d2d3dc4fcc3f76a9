//! `Memory:`, `Queues:`, `Fences:`, `CommandLists:` and `Submit:`.

use super::buffer::DataFormat;
use super::call::{Call, call};
use crate::expr::Expr;
use crate::node::{Node, Value};
use crate::problem::{Problem, Span};
use crate::reader::{At, Reader};
use wavefence_d3d::Face;

/// A named allocation of GPU memory.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryDecl {
    /// Its name.
    pub name: At<String>,
    /// Its size in bytes.
    pub size: Expr,
    /// How the CPU and GPU see it.
    pub kind: MemoryKind,
    /// True if the GPU may only read it.
    pub read_only: bool,
    /// True if its lines are marked volatile.
    pub volatile: bool,
}

/// The type of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Write-combined for the CPU.
    WriteCombined,
    /// Cached by the CPU.
    CpuCached,
    /// Cached by nobody.
    Uncached,
    /// In ESRAM, where the profile has it.
    Esram,
}

/// Reads one entry of `Memory:`.
pub fn memory(r: &Reader, node: &Node) -> Option<MemoryDecl> {
    const KINDS: [(&str, MemoryKind); 4] = [
        ("WriteCombined", MemoryKind::WriteCombined),
        ("CpuCached", MemoryKind::CpuCached),
        ("Uncached", MemoryKind::Uncached),
        ("Esram", MemoryKind::Esram),
    ];
    let mut m = r.map(node, "an allocation")?;
    let name = m.req("Name", |r, n| r.text(n));
    let size = m.req("Size", |r, n| r.expr(n));
    let kind = m.opt("Type", |r, n| r.word(n, &KINDS));
    let read_only = m.opt("GpuReadOnly", |r, n| r.bool(n));
    let volatile = m.opt("Volatile", |r, n| r.bool(n));
    m.finish()?;
    Some(MemoryDecl {
        name: name?,
        size: size?,
        kind: kind?.map_or(MemoryKind::WriteCombined, |k| k.value),
        read_only: read_only?.unwrap_or(false),
        volatile: volatile?.unwrap_or(false),
    })
}

/// The kind of a queue or list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueType {
    /// Graphics: PFP and ME.
    Graphics,
    /// Asynchronous compute: a MEC.
    Compute,
    /// DMA: an SDMA engine.
    Dma,
}

impl QueueType {
    const WORDS: [(&'static str, Self); 3] =
        [("Graphics", Self::Graphics), ("Compute", Self::Compute), ("DMA", Self::Dma)];
}

/// One queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueDecl {
    /// Its name.
    pub name: At<String>,
    /// Its kind.
    pub kind: QueueType,
    /// Compute pipe, or DMA engine.
    pub pipe: u32,
    /// Queue of the compute pipe.
    pub queue: u32,
}

/// Reads one entry of `Queues:`.
pub fn queue(r: &Reader, node: &Node) -> Option<QueueDecl> {
    let mut m = r.map(node, "a queue")?;
    let name = m.req("Name", |r, n| r.text(n));
    let kind = m.req("Type", |r, n| r.word(n, &QueueType::WORDS));
    let pipe = m.opt("Pipe", |r, n| r.int::<u32>(n));
    let engine = m.opt("Engine", |r, n| r.int::<u32>(n).map(|v| At::new(n.at, v)));
    let queue = m.opt("Queue", |r, n| r.int::<u32>(n));
    m.finish()?;
    let (kind, pipe, engine, queue) = (kind?, pipe?, engine?, queue?);
    let compute_only = pipe.is_some() || queue.is_some();
    if compute_only && kind.value != QueueType::Compute {
        r.note(Problem::at(node.at, "Pipe and Queue belong to a Compute queue"));
        return None;
    }
    if let Some(engine) = &engine
        && kind.value != QueueType::Dma
    {
        r.note(Problem::at(engine.at, "Engine belongs to a DMA queue"));
        return None;
    }
    let pipe = engine.map(|e| e.value).or(pipe).unwrap_or(0);
    Some(QueueDecl { name: name?, kind: kind.value, pipe, queue: queue.unwrap_or(0) })
}

/// One fence.
#[derive(Clone, Debug, PartialEq)]
pub struct FenceDecl {
    /// Its name.
    pub name: At<String>,
    /// Its first value.
    pub initial: u64,
}

/// Reads one entry of `Fences:`.
pub fn fence(r: &Reader, node: &Node) -> Option<FenceDecl> {
    let mut m = r.map(node, "a fence")?;
    let name = m.req("Name", |r, n| r.text(n));
    let initial = m.opt("InitialValue", |r, n| r.int::<u64>(n));
    m.finish()?;
    Some(FenceDecl { name: name?, initial: initial?.unwrap_or(0) })
}

/// One command list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListDecl {
    /// Its name.
    pub name: At<String>,
    /// Its kind.
    pub kind: QueueType,
    /// Which API it is recorded with.
    pub face: At<Face>,
    /// Its calls.
    pub calls: Vec<Call>,
}

/// Reads one entry of `CommandLists:`.
pub fn list(r: &Reader, node: &Node) -> Option<ListDecl> {
    let mut m = r.map(node, "a command list")?;
    let name = m.req("Name", |r, n| r.text(n));
    let kind = m.req("Type", |r, n| r.word(n, &QueueType::WORDS));
    let face = m.opt("Face", |r, n| r.word(n, &Face::ALL.map(|f| (f.name(), f))));
    let repeat = m.opt("Repeat", |r, n| r.int::<u32>(n).map(|v| At::new(n.at, v)));
    let calls = m.req("Calls", |r, n| r.each(n, "a list of calls", |n| call(r, n)));
    m.finish()?;
    let (mut calls, repeat) = (calls?, repeat?);
    let face = face?.unwrap_or(At::new(node.at, Face::D3D12X));
    let foreign = |call: &&Call| face.value == Face::D3D12X && call.kind.is_d3d11_name();
    if let Some(call) = calls.iter().find(foreign) {
        let message = format!("{} is a call of the D3D11.X face", call.kind.name());
        r.note(Problem::at(call.at, message).help("give the list `Face: D3D11.X`"));
        return None;
    }
    if let Some(repeat) = repeat {
        if calls.len().saturating_mul(repeat.value as usize) > MAX_CALLS {
            let message = format!("a list may hold {MAX_CALLS} calls");
            r.note(Problem::at(repeat.at, message).unsupported());
            return None;
        }
        let once = calls.clone();
        calls = std::iter::repeat_n(once, repeat.value as usize).flatten().collect();
    }
    Some(ListDecl { name: name?, kind: kind?.value, face, calls })
}

/// Most calls in one list, repetitions counted.
pub const MAX_CALLS: usize = 1_000_000;

/// What the host writes.
#[derive(Clone, Debug, PartialEq)]
pub enum HostData {
    /// A 32-bit value.
    Value32(Expr),
    /// A 64-bit value.
    Value64(Expr),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// One step of `Submit:`.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Lists to a queue, in order.
    Execute {
        /// The queue.
        queue: At<String>,
        /// The lists.
        lists: Vec<At<String>>,
    },
    /// The queue signals a fence when it is done with what came before.
    Signal {
        /// The queue.
        queue: At<String>,
        /// The fence.
        fence: At<String>,
        /// The value.
        value: Expr,
        /// `D3D12XBOX_FLUSH` flags of `SignalX`.
        flush: Option<At<String>>,
    },
    /// The queue waits for a fence.
    QueueWait {
        /// The queue.
        queue: At<String>,
        /// The fence.
        fence: At<String>,
        /// The value.
        value: Expr,
    },
    /// The host writes memory.
    HostWrite {
        /// Where.
        address: Expr,
        /// What.
        data: HostData,
    },
    /// The host waits: for a fence value, or until everything submitted is done.
    HostWait {
        /// The fence and value.
        fence: Option<(At<String>, Expr)>,
    },
    /// The host reads memory and compares.
    HostRead(ValueCheck),
    /// The host looks at memory until it holds that value.
    HostSpin(ValueCheck),
    /// The host frees an allocation of `Memory:`.
    Free {
        /// Its name.
        memory: At<String>,
    },
    /// The title says that the GPU hangs, and why it thinks so.
    HangClaim {
        /// Why.
        reason: String,
    },
}

/// A value that must be in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueCheck {
    /// Where the check stands.
    pub at: Span,
    /// Where the value is.
    pub address: Expr,
    /// The value.
    pub value: HostData,
}

/// Reads one entry of `Submit:`, with the place for messages.
pub fn step(r: &Reader, node: &Node) -> Option<At<Step>> {
    let mut m = r.map(node, "a submit step")?;
    let queue = m.opt("Queue", |r, n| r.text(n));
    let list = m.opt("List", |r, n| r.text(n));
    let lists = m.opt("Lists", |r, n| r.each(n, "a list of names", |n| r.text(n)));
    let signal = m.opt("Signal", fence_value);
    let wait = m.take("Wait");
    let write = m.opt("Write", |r, n| value_check(r, n, "a host write"));
    let read = m.opt("Read", |r, n| value_check(r, n, "a host read"));
    let free = m.opt("Free", |r, n| r.text(n));
    let claim = m.opt("ReportGpuHangX", |r, n| r.text(n));
    m.finish()?;
    let (free, claim) = (free?, claim?);
    let (queue, list, lists) = (queue?, list?, lists?);
    let (signal, write, read) = (signal?, write?, read?);
    let lists = match (list, lists) {
        (Some(list), None) => Some(vec![list]),
        (None, lists) => lists,
        (Some(list), Some(_)) => {
            r.note(Problem::at(list.at, "a step has List or Lists, not both"));
            return None;
        }
    };
    let alone = (queue.is_none() && lists.is_none() && signal.is_none())
        && (wait.is_none() && write.is_none() && read.is_none());
    match (free, claim) {
        (None, None) => {}
        (Some(memory), None) if alone => return Some(At::new(node.at, Step::Free { memory })),
        (None, Some(reason)) if alone => {
            return Some(At::new(node.at, Step::HangClaim { reason: reason.value }));
        }
        (free, claim) => {
            let at = free.or(claim).map_or(node.at, |t| t.at);
            r.note(Problem::at(at, "Free and ReportGpuHangX are steps of their own"));
            return None;
        }
    }
    let step = match (queue, lists, signal, wait, write, read) {
        (Some(queue), Some(lists), None, None, None, None) => Step::Execute { queue, lists },
        (Some(queue), None, Some(s), None, None, None) => {
            Step::Signal { queue, fence: s.0, value: s.1, flush: s.2 }
        }
        (Some(queue), None, None, Some(node), None, None) => {
            let (fence, value, flush) = fence_value(r, node)?;
            no_flush(r, flush)?;
            Step::QueueWait { queue, fence, value }
        }
        (None, None, None, Some(node), None, None) => host_wait(r, node)?,
        (None, None, None, None, Some(w), None) => {
            Step::HostWrite { address: w.address, data: w.value }
        }
        (None, None, None, None, None, Some(read)) => Step::HostRead(read),
        _ => {
            let message = "a step is one of Queue with List, Lists, Signal or Wait; Write; Read; Wait; \
                 Free; ReportGpuHangX";
            r.note(Problem::at(Span::new(node.at.start, 1), message));
            return None;
        }
    };
    Some(At::new(node.at, step))
}

fn no_flush(r: &Reader, flush: Option<At<String>>) -> Option<()> {
    match flush {
        None => Some(()),
        Some(flush) => {
            r.note(Problem::at(flush.at, "a wait flushes nothing"));
            None
        }
    }
}

type FenceValue = (At<String>, Expr, Option<At<String>>);

fn fence_value(r: &Reader, node: &Node) -> Option<FenceValue> {
    let mut m = r.map(node, "a fence and value")?;
    let fence = m.req("Fence", |r, n| r.text(n));
    let value = m.req("Value", |r, n| r.expr(n));
    let flush = m.opt("Flush", |r, n| r.text(n));
    m.finish()?;
    Some((fence?, value?, flush?))
}

/// `Wait: Idle`, `Wait: {Fence: F, Value: n}`, or `Wait: {Address: a, Value32: n}`.
fn host_wait(r: &Reader, node: &Node) -> Option<Step> {
    if let Value::Scalar(_) = &node.value {
        return r.word(node, &[("Idle", ())]).map(|_| Step::HostWait { fence: None });
    }
    if let Value::Map(entries) = &node.value
        && entries.iter().any(|(key, _)| key.name == "Address")
    {
        return value_check(r, node, "a host wait").map(Step::HostSpin);
    }
    let (fence, value, flush) = fence_value(r, node)?;
    no_flush(r, flush)?;
    Some(Step::HostWait { fence: Some((fence, value)) })
}

/// `{Address: a, Value32: v}`, `Value64`, or `Format` with `Data`.
pub fn value_check(r: &Reader, node: &Node, what: &'static str) -> Option<ValueCheck> {
    let mut m = r.map(node, what)?;
    let address = m.req("Address", |r, n| r.expr(n));
    let value32 = m.opt("Value32", |r, n| r.expr(n));
    let value64 = m.opt("Value64", |r, n| r.expr(n));
    let format = m.opt("Format", |r, n| r.word(n, &DataFormat::WORDS));
    let data = m.take("Data");
    m.finish()?;
    let value = match (value32?, value64?, format?, data) {
        (Some(v), None, None, None) => HostData::Value32(v),
        (None, Some(v), None, None) => HostData::Value64(v),
        (None, None, Some(format), Some(node)) => {
            HostData::Bytes(super::buffer::numbers(r, node, format.value)?)
        }
        _ => {
            let message = format!("{what} has one of Value32, Value64, or Format with Data");
            r.note(Problem::at(Span::new(node.at.start, 1), message));
            return None;
        }
    };
    Some(ValueCheck { at: node.at, address: address?, value })
}
