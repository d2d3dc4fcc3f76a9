//! Hazards in words: neutral prose and stable properties. Whoever knows calls and
//! names says it again in those.

use crate::hazard::{Action, At, Element, Hazard, Mend, Miss, Side};
use wavefence_base::{
    AccessKind, CacheAction, CacheClass, FlushCost, Generation, GpuRange, Level, QueueId, Verdict,
};

/// A cache action in neutral words.
pub fn action_name(action: CacheAction, generation: Generation) -> String {
    let gfx10 = generation == Generation::Gfx10_3;
    match action {
        CacheAction::InvalidateL1 if gfx10 => "invalidate of L0 and GL1",
        CacheAction::InvalidateL1 => "invalidate of vector L1",
        CacheAction::InvalidateGl1 => "invalidate of GL1",
        CacheAction::InvalidateL1Volatile => "invalidate of volatile lines in vector L1",
        CacheAction::InvalidateL2 => "write-back and invalidate of L2",
        CacheAction::InvalidateL2Clean => "invalidate of L2 without write-back",
        CacheAction::InvalidateL2Volatile => "invalidate of volatile lines in L2",
        CacheAction::WritebackL2 => "write-back of L2",
        CacheAction::InvalidateK => "invalidate of K$",
        CacheAction::InvalidateKVolatile => "invalidate of volatile lines in K$",
        CacheAction::InvalidateI => "invalidate of I$",
        CacheAction::InvalidateMetadata => "invalidate of L2's metadata cache",
        CacheAction::FlushColorData => "flush of colour data",
        CacheAction::FlushColorMeta => "flush of colour metadata",
        CacheAction::FlushDepthData => "flush of depth data",
        CacheAction::FlushDepthMeta => "flush of depth metadata",
    }
    .to_owned()
}

/// An element in neutral words.
pub fn element_name(element: Element, generation: Generation) -> String {
    match element {
        Element::Cache(action) => action_name(action, generation),
        Element::Shaders => "wait for shaders".into(),
        Element::Dma => "wait for CP DMA".into(),
        Element::Pfp => "wait of the prefetch parser for the ME".into(),
    }
}

/// A level of completion in neutral words.
pub const fn level_name(level: Level) -> &'static str {
    match level {
        Level::ShadersDone => "waves have ended",
        Level::Accepted => "L2 has accepted their stores",
        Level::WrittenBack => "the event's cache actions are complete",
        Level::Confirmed => "memory has confirmed",
        Level::CpDma => "CP DMA is done",
        Level::MicroEngine => "the ME has come this far",
    }
}

fn queue_name(queue: Option<QueueId>) -> String {
    queue.map_or_else(|| "the host".into(), |q| q.to_string())
}

fn classes(list: &[CacheClass], generation: Generation) -> String {
    join(&list.iter().map(|c| c.name(generation).to_owned()).collect::<Vec<_>>())
}

fn join(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

fn actions(list: &[CacheAction], generation: Generation) -> String {
    join(&list.iter().map(|&a| action_name(a, generation)).collect::<Vec<_>>())
}

/// A mend in neutral words, without its place.
pub fn mend_name(action: &Action, generation: Generation) -> String {
    match action {
        Action::Invalidate(list) => format!("invalidate {}", classes(list, generation)),
        Action::WriteBackL2 => "write L2 back".into(),
        Action::WaitShaders => "wait for shaders".into(),
        Action::WaitDma => "wait for CP DMA".into(),
        Action::SyncPfp => "let the prefetch parser wait for the ME".into(),
        Action::Confirm => "let the signal wait for write confirm".into(),
        Action::Accept => {
            "wait for shaders before the signal, or ask it for a flush or write confirm".into()
        }
        Action::SignalAndWait { from: None, to: Some(q) } => {
            format!("let {q} wait for a value that the host writes")
        }
        Action::SignalAndWait { from, to } => format!(
            "signal a value on {} after the first and wait for it on {} before the second",
            queue_name(*from),
            queue_name(*to)
        ),
        Action::Widen(range) => format!("widen the range to {range:?}"),
        Action::GroupBarrier => "put a group barrier between the two".into(),
        Action::Atomic => "make both accesses atomic, or split the dispatch in two".into(),
        Action::Coherent => {
            "declare the resource globallycoherent, so that the read passes those caches".into()
        }
        Action::Initialise => "write the memory first".into(),
        Action::Remove(element) => {
            format!("leave the {} out", element_name(*element, generation))
        }
        Action::Replace(old, new) => format!(
            "put a {} in the place of the {}",
            element_name(*new, generation),
            element_name(*old, generation)
        ),
    }
}

fn place(at: At) -> String {
    match at {
        At::Before(packet) => format!("before packet {packet}"),
        At::In(packet) => format!("in packet {packet}"),
        At::Shader(packet) => format!("in the shader of packet {packet}"),
        At::Host => "on the host".into(),
    }
}

/// All parts of a mend, in order.
pub fn mends(list: &[Mend], generation: Generation) -> String {
    let mut text = String::new();
    for (i, mend) in list.iter().enumerate() {
        if i > 0 {
            text += ", then ";
        }
        text += &mend_name(&mend.action, generation);
        if list.get(i + 1).is_none_or(|next| next.at != mend.at) {
            text += " ";
            text += &place(mend.at);
        }
    }
    text
}

/// One side in neutral words: `dispatch3 on queue0 (packet 0x1000, group [1, 0, 0],
/// wave 0, lane 5) writes`.
pub fn side(side: &Side) -> String {
    let mut who = match (side.dispatch, side.engine, side.queue) {
        (Some(d), _, Some(q)) => format!("{d} on {q}"),
        (Some(d), _, None) => d.to_string(),
        (None, Some(engine), Some(q)) => format!("{} of {q}", engine.name()),
        (None, _, Some(q)) => format!("{} on {q}", side.client.name()),
        (None, _, None) => side.client.name().to_owned(),
    };
    let mut more = Vec::new();
    if let Some(packet) = side.packet {
        more.push(format!("packet {packet}"));
    }
    if let Some(group) = side.group {
        more.push(format!("group {group:?}"));
    }
    if let Some(wave) = side.wave {
        more.push(format!("wave {wave}"));
    }
    if let Some(lane) = side.lane {
        more.push(format!("lane {lane}"));
    }
    if !more.is_empty() {
        who += &format!(" ({})", more.join(", "));
    }
    format!("{who} {}", verb(side))
}

const fn verb(side: &Side) -> &'static str {
    match side.kind {
        AccessKind::Read => "reads",
        AccessKind::Write => "writes",
        AccessKind::Atomic => "updates atomically",
        AccessKind::Fence => "puts its accesses in order",
    }
}

/// Why something that is there did not help.
pub fn miss(miss: &Miss, generation: Generation) -> String {
    match miss {
        Miss::WrongCache { packet, actions: list } => format!(
            "the flush at {packet} between them acts on other caches: {}",
            actions(list, generation)
        ),
        Miss::TooEarly { packet, action } => format!(
            "the {} at {packet} ran too early: before the write was there",
            action_name(*action, generation)
        ),
        Miss::NotBeforeReader { packet, action } => format!(
            "nothing puts the {} at {packet} before the reader",
            action_name(*action, generation)
        ),
        Miss::Range { packet, action, range } => {
            format!("the {} at {packet} covers {range:?} only", action_name(*action, generation))
        }
        Miss::OnlyMicroEngine => {
            "waits in the ME do not hold the prefetch parser, which reads ahead".into()
        }
        Miss::Level { packet, given, needed } => {
            let at = packet.map_or(String::new(), |p| format!(" at {p}"));
            format!(
                "what was waited for{at} says that {}; needed is that {}",
                level_name(*given),
                level_name(*needed)
            )
        }
    }
}

fn bytes(range: Option<GpuRange>) -> String {
    range.map_or(String::new(), |r| format!(" {} bytes at {}", r.len, r.start))
}

/// What the cache actions of a packet had to do.
pub fn cost_text(cost: &FlushCost) -> String {
    if *cost == FlushCost::default() {
        return "In this run it found no line to drop or write back".into();
    }
    format!("In this run it dropped {} cache lines and wrote {} back", cost.dropped, cost.written)
}

/// The whole in neutral prose.
pub fn message(h: &Hazard, generation: Generation) -> String {
    let mut text = String::new();
    match (&h.producer, &h.consumer) {
        (Some(first), Some(second)) => {
            text += &format!("{}; {}{}", side(first), side(second), bytes(h.range));
        }
        (None, Some(one)) | (Some(one), None) => {
            text += &format!("{}{}", side(one), bytes(h.range));
        }
        (None, None) => {
            if let Some((queue, packet, element)) = &h.element {
                text += &format!("{} at {packet} on {queue}", element_name(*element, generation));
            }
        }
    }
    text += ". ";
    text += h.rule.summary;
    if let Some(held) = &h.held {
        text += &format!(
            " The line {} in {} since {}.",
            if h.verdict == Verdict::Proven { "was" } else { "may be" },
            held.class.name(generation),
            side(&held.since)
        );
    }
    for m in &h.misses {
        text += &format!(" Present: {}.", miss(m, generation));
    }
    if let Some(cost) = &h.cost {
        text += &format!(" {}.", cost_text(cost));
    }
    if !h.assumes.is_empty() {
        text += &format!(" Assumes: {}.", h.assumes);
    }
    if !h.mends.is_empty() {
        text += &format!(" Mend: {}.", mends(&h.mends, generation));
    }
    text
}

fn side_properties(prefix: &[&'static str; 6], s: &Side, out: &mut Vec<(&'static str, String)>) {
    let [access, queue, packet, dispatch, group, line] = *prefix;
    out.push((access, format!("{} {}", s.client.name(), verb(s))));
    if let Some(q) = s.queue {
        out.push((queue, q.0.to_string()));
    }
    if let Some(p) = s.packet {
        out.push((packet, p.to_string()));
    }
    if let Some(d) = s.dispatch {
        out.push((dispatch, d.0.to_string()));
    }
    if let (Some([x, y, z]), Some(wave)) = (s.group, s.wave) {
        out.push((group, format!("{x},{y},{z}:{wave}:{}", s.lane.unwrap_or(0))));
    }
    if s.loc != 0 {
        out.push((line, s.loc.to_string()));
    }
}

/// Stable key and value pairs.
pub fn properties(h: &Hazard, generation: Generation) -> Vec<(&'static str, String)> {
    let mut out = vec![
        ("rule", h.rule.name.to_owned()),
        ("verdict", h.verdict.to_string()),
        ("generation", format!("{generation:?}")),
    ];
    if let Some(s) = &h.producer {
        let names = [
            "producer",
            "producer-queue",
            "producer-packet",
            "producer-dispatch",
            "producer-wave",
            "producer-loc",
        ];
        side_properties(&names, s, &mut out);
    }
    if let Some(s) = &h.consumer {
        let names = [
            "consumer",
            "consumer-queue",
            "consumer-packet",
            "consumer-dispatch",
            "consumer-wave",
            "consumer-loc",
        ];
        side_properties(&names, s, &mut out);
    }
    if let Some((queue, packet, element)) = &h.element {
        out.push(("queue", queue.0.to_string()));
        out.push(("packet", packet.to_string()));
        out.push(("element", element_name(*element, generation)));
    }
    if let Some(r) = h.range {
        out.push(("address", r.start.to_string()));
        out.push(("bytes", r.len.to_string()));
    }
    if let Some(r) = h.span {
        out.push(("span", format!("{}+{}", r.start, r.len)));
    }
    if let Some(held) = &h.held {
        out.push(("cache", held.class.name(generation).to_owned()));
        if let Some(p) = held.since.packet {
            out.push(("held-since", p.to_string()));
        }
    }
    let misses: Vec<String> = h.misses.iter().map(miss_key).collect();
    if !misses.is_empty() {
        out.push(("missed", misses.join(" ")));
    }
    if !h.mends.is_empty() {
        out.push(("mend", mends(&h.mends, generation)));
    }
    if let Some(cost) = &h.cost {
        out.push(("lines-dropped", cost.dropped.to_string()));
        out.push(("lines-written", cost.written.to_string()));
    }
    out.push(("count", h.count.to_string()));
    out
}

fn miss_key(m: &Miss) -> String {
    match m {
        Miss::WrongCache { packet, .. } => format!("wrong-cache@{packet}"),
        Miss::TooEarly { packet, .. } => format!("too-early@{packet}"),
        Miss::NotBeforeReader { packet, .. } => format!("not-before-reader@{packet}"),
        Miss::Range { packet, .. } => format!("range@{packet}"),
        Miss::OnlyMicroEngine => "only-me".into(),
        Miss::Level { packet: Some(p), .. } => format!("level@{p}"),
        Miss::Level { packet: None, .. } => "level".into(),
    }
}
