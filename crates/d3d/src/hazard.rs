//! What the checker found, in the API's words: calls, names of memory, shader
//! lines, and the mend as flags and calls of the face in use.

mod mend;
mod spell;
#[cfg(test)]
mod tests;

use crate::device::Device;
use crate::enums::{D3D11_FLUSH, D3D12XBOX_FLUSH};
use crate::face::Face;
use crate::names::Site;
use spell::Part;
use std::cell::RefCell;
use std::collections::BTreeMap;
use wavefence_base::{
    AccessKind, CacheAction, Client, Finding, FlushCost, GpuAddress, GpuRange, Verdict,
};
use wavefence_check::{Element, Hazard, Miss, Side, rules, text};
use wavefence_shader::ir::Loc;

/// Most names of one run of bytes that a message lists.
const MAX_NAMES: usize = 3;

/// Keys of one side's properties: call, queue, path, shader, line, group, wave,
/// lane.
type SideKeys = [&'static str; 8];
const PRODUCER: SideKeys = [
    "producer",
    "producer-queue",
    "producer-path",
    "producer-shader",
    "producer-line",
    "producer-group",
    "producer-wave",
    "producer-lane",
];
const CONSUMER: SideKeys = [
    "consumer",
    "consumer-queue",
    "consumer-path",
    "consumer-shader",
    "consumer-line",
    "consumer-group",
    "consumer-wave",
    "consumer-lane",
];

impl Device {
    /// Every hazard of the run so far as a finding; advice about one call by one
    /// rule is one finding.
    pub(crate) fn hazard_findings(&self) -> Vec<Finding> {
        let Some(checker) = &self.checker else { return Vec::new() };
        let mut findings: Vec<Finding> = Vec::new();
        let mut advice: Vec<(u32, String, Vec<Hazard>)> = Vec::new();
        // Packets of one half of a call are judged as one.
        let calls = RefCell::new(BTreeMap::new());
        let call_of = |packet: GpuAddress| {
            let mut calls = calls.borrow_mut();
            let next = calls.len() as u64;
            let half = self
                .site_at(packet)
                .map_or_else(|| (packet.to_string(), false), |site| (site.short(), site.top));
            *calls.entry(half).or_insert(next)
        };
        for hazard in checker.hazards_by_call(&call_of) {
            let Some((_, packet, element)) = hazard.element else {
                findings.push(self.hazard_finding(&hazard));
                continue;
            };
            let Some(site) = self.site_at(packet) else {
                findings.push(self.hazard_finding(&hazard));
                continue;
            };
            if !is_of_call(&site, element) {
                continue;
            }
            let key = (hazard.rule.number, site.short());
            match advice.iter_mut().find(|(rule, call, _)| (*rule, call) == (key.0, &key.1)) {
                Some((_, _, list)) => list.push(hazard),
                None => advice.push((key.0, key.1, vec![hazard])),
            }
        }
        findings.extend(advice.iter().filter_map(|(_, call, list)| self.advice_of(call, list)));
        findings
    }

    fn hazard_finding(&self, h: &Hazard) -> Finding {
        let mut finding = h.finding(self.profile.generation.value);
        let main = h.consumer.or(h.producer);
        finding.place.line = main.and_then(|s| self.side_line(&s));
        finding.call = match (h.packet(), main) {
            (Some(packet), _) => self.call_short(packet),
            (None, Some(side)) => self.who(&side),
            (None, None) => String::new(),
        };
        finding.message = self.hazard_message(h);
        finding.properties = self.hazard_properties(h);
        finding
    }

    /// Advice about elements of one call.
    fn advice_of(&self, call: &str, list: &[Hazard]) -> Option<Finding> {
        let first = list.first()?;
        let mut finding = first.finding(self.profile.generation.value);
        let mut names = Vec::new();
        for hazard in list {
            if let Some((_, packet, element)) = hazard.element {
                let name = self.element_name(packet, element);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let names = names.join(" | ");
        let mends: Vec<String> = list.iter().map(|h| self.mend(h)).collect();
        let mut mend = mends.join("; ");
        if mends.len() > 1 && mends.iter().all(|m| m.starts_with("leave ")) {
            mend = format!("leave {names} out of {call}");
        }
        finding.call = call.to_owned();
        finding.count = list.iter().map(|h| h.count).max().unwrap_or(1);
        let cost = cost_of(list);
        let told = cost.map_or(String::new(), |c| format!(" {}.", text::cost_text(&c)));
        finding.message = format!("{names}: {}{told} To mend it: {mend}.", first.rule.summary);
        let mut properties = vec![("call", call.to_owned()), ("element", names), ("mend", mend)];
        if let Some(cost) = cost {
            properties.push(("lines-dropped", cost.dropped.to_string()));
            properties.push(("lines-written", cost.written.to_string()));
        }
        if let Some(queue) = finding.place.queue {
            properties.insert(1, ("queue", self.queue_name(queue)));
        }
        if !first.assumes.is_empty() {
            properties.push(("assumes", first.assumes.to_owned()));
        }
        finding.properties = properties;
        Some(finding)
    }

    /// `list "Blur" #3 DispatchX`, or the packet where no call is known.
    fn call_short(&self, packet: GpuAddress) -> String {
        self.site_at(packet).map_or_else(|| format!("packet at {packet}"), |site| site.short())
    }

    /// As [`Device::call_short`], with arguments and events.
    fn call_long(&self, packet: GpuAddress) -> String {
        self.call_at(packet)
            .map_or_else(|| format!("the packet at {packet}"), |call| call.to_string())
    }

    fn who(&self, side: &Side) -> String {
        match (side.packet, side.queue) {
            (Some(packet), _) => self.call_short(packet),
            (None, Some(queue)) => format!("queue \"{}\"", self.queue_name(queue)),
            (None, None) => side.client.name().to_owned(),
        }
    }

    fn side_line(&self, side: &Side) -> Option<String> {
        let pipeline = self.pipelines.get(&side.kernel?.0)?;
        pipeline.kernel.line(Loc(side.loc))
    }

    /// One side in a sentence: `list "Blur" #3 DispatchX (queue "graphics", shader
    /// "Blur", blur.hlsl:7, group 0,0,0, wave 0, lane 3)`.
    pub(crate) fn side_text(&self, side: &Side) -> String {
        let mut text = match side.packet {
            Some(packet) => self.call_long(packet),
            None => return self.who(side),
        };
        let mut more = Vec::new();
        if let Some(queue) = side.queue {
            more.push(format!("queue \"{}\"", self.queue_name(queue)));
        }
        if let Some(engine) = side.engine
            && side.dispatch.is_none()
        {
            more.push(format!("by the {}", engine.name()));
        }
        if let Some(name) = side.kernel.and_then(|k| self.shader_name(k)) {
            more.push(format!("shader \"{name}\""));
        }
        more.extend(self.side_line(side));
        if let Some([x, y, z]) = side.group {
            more.push(format!("group {x},{y},{z}"));
        }
        more.extend(side.wave.map(|wave| format!("wave {wave}")));
        more.extend(side.lane.map(|lane| format!("lane {lane}")));
        if !more.is_empty() {
            text += &format!(" ({})", more.join(", "));
        }
        text
    }

    /// The names of memory, the smallest first, each with the bytes in it.
    fn memory_names(&self, range: GpuRange) -> Vec<(String, u64)> {
        let holds = |r: &GpuRange| r.start <= range.start && range.start.0 < r.end();
        let mut found: Vec<(u64, String, u64)> = Vec::new();
        for (at, name) in self.names.iter().filter(|(r, _)| holds(r)) {
            found.push((at.len, name.clone(), range.start.0 - at.start.0));
        }
        for a in self.hardware.allocations() {
            if holds(&a.range) {
                let freed = if a.freed.is_some() { " (freed)" } else { "" };
                let name = format!("{}{freed}", a.desc.name);
                found.push((a.range.len, name, range.start.0 - a.range.start.0));
            }
        }
        found.sort();
        found.dedup_by(|a, b| a.1 == b.1 && a.2 == b.2);
        found.into_iter().map(|(_, name, offset)| (name, offset)).collect()
    }

    /// `bytes 0..16 of "Constants" (also "Heap" at 64)`.
    fn memory_text(&self, range: GpuRange) -> String {
        let names = self.memory_names(range);
        let Some(((name, offset), others)) = names.split_first() else {
            return format!("{} bytes at {}", range.len, range.start);
        };
        let mut text = format!("bytes {offset}..{} of \"{name}\"", offset + range.len);
        let others: Vec<String> =
            others.iter().take(MAX_NAMES - 1).map(|(n, at)| format!("\"{n}\" at {at}")).collect();
        if !others.is_empty() {
            text += &format!(" (also {})", others.join(", "));
        }
        text
    }

    fn hazard_message(&self, h: &Hazard) -> String {
        let mut text = match (&h.producer, &h.consumer) {
            (Some(first), Some(second)) => self.pair_text(h, first, second),
            (Some(one), None) | (None, Some(one)) => {
                let bytes = h.range.map_or(String::new(), |r| self.memory_text(r));
                format!("{} {} {bytes}.", self.side_text(one), verb(one.kind))
            }
            (None, None) => match h.element {
                Some((_, packet, element)) => {
                    format!("{}: {}.", self.call_long(packet), self.element_name(packet, element))
                }
                None => String::new(),
            },
        };
        let mut sentence = |words: String| {
            text.push(' ');
            text.push_str(&words);
        };
        sentence(h.rule.summary.to_owned());
        if let Some(held) = &h.held {
            let cache = held.class.name(self.profile.generation.value);
            let has = if h.verdict == Verdict::Proven { "held" } else { "may hold" };
            sentence(format!("{cache} {has} the line since {}.", self.side_text(&held.since)));
        }
        if h.misses.is_empty() && h.consumer.is_some() && h.producer.is_some() {
            sentence("No synchronisation that could help stands between them.".into());
        }
        for miss in &h.misses {
            sentence(format!("There is {}.", self.miss_text(miss)));
        }
        if !h.assumes.is_empty() {
            sentence(format!("Assumes: {}.", h.assumes));
        }
        if !h.mends.is_empty() {
            sentence(format!("To mend it: {}.", self.mend(h)));
        }
        text
    }

    fn pair_text(&self, h: &Hazard, first: &Side, second: &Side) -> String {
        let bytes = match h.range {
            Some(r) if second.client == Client::GroupShared => {
                format!("bytes {}..{} of group-shared memory", r.start.0, r.end())
            }
            Some(r) => self.memory_text(r),
            None => "memory".into(),
        };
        let (one, two) = (self.side_text(first), self.side_text(second));
        let stale = h.held.is_some() || h.rule == &rules::MISSING_WRITE_BACK;
        match (stale, h.verdict) {
            (true, Verdict::Proven) => {
                format!("{two} reads {bytes} as they were before {one} {} them.", past(first.kind))
            }
            (true, Verdict::Possible | Verdict::Advice) => format!(
                "{two} may read {bytes} as they were before {one} {} them.",
                past(first.kind)
            ),
            (false, _) => {
                format!("{one} {} {bytes}; {two} {} them.", verb(first.kind), verb(second.kind))
            }
        }
    }

    fn actions_text(&self, actions: &[CacheAction]) -> String {
        let generation = self.profile.generation.value;
        let names: Vec<String> =
            actions.iter().map(|&a| text::action_name(a, generation)).collect();
        names.join(", ")
    }

    fn miss_text(&self, miss: &Miss) -> String {
        let one = |action: &CacheAction| self.actions_text(std::slice::from_ref(action));
        match miss {
            Miss::WrongCache { packet, actions } => format!(
                "{} between them, but it acts on other caches ({})",
                self.call_long(*packet),
                self.actions_text(actions)
            ),
            Miss::TooEarly { packet, action } => format!(
                "{}, but its {} runs too early: the write may land after it",
                self.call_long(*packet),
                one(action)
            ),
            Miss::NotBeforeReader { packet, action } => format!(
                "{}, but nothing makes the reader wait for its {}",
                self.call_long(*packet),
                one(action)
            ),
            Miss::Range { packet, action, range } => format!(
                "{}, but its {} covers {} only",
                self.call_long(*packet),
                one(action),
                self.memory_text(*range)
            ),
            Miss::OnlyMicroEngine => {
                "a wait in the ME, but it does not hold the prefetch parser, which reads ahead"
                    .into()
            }
            Miss::Level { packet, given, needed } => {
                let by = packet.map_or("a wait".to_owned(), |p| self.call_long(p));
                format!(
                    "{by}, but it says that {}; needed is that {}",
                    text::level_name(*given),
                    text::level_name(*needed)
                )
            }
        }
    }

    fn hazard_properties(&self, h: &Hazard) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        let shared = h.consumer.is_some_and(|s| s.client == Client::GroupShared);
        if let Some(range) = h.range
            && shared
        {
            out.push(("resource", "group-shared memory".into()));
            out.push(("offset", range.start.0.to_string()));
            out.push(("bytes", range.len.to_string()));
        } else if let Some(range) = h.range {
            if let Some((name, offset)) = self.memory_names(range).into_iter().next() {
                out.push(("resource", name));
                out.push(("offset", offset.to_string()));
            }
            out.push(("bytes", range.len.to_string()));
            out.push(("address", range.start.to_string()));
        }
        if let Some(span) = h.span {
            out.push(("span", format!("{}+{:#x}", span.start, span.len)));
        }
        if let Some(held) = &h.held {
            out.push(("cache", held.class.name(self.profile.generation.value).to_owned()));
            out.push(("held-since", self.who(&held.since)));
        }
        for (keys, side) in [(PRODUCER, &h.producer), (CONSUMER, &h.consumer)] {
            if let Some(side) = side {
                self.side_properties(keys, side, &mut out);
            }
        }
        if let Some((queue, packet, element)) = h.element {
            out.push(("queue", self.queue_name(queue)));
            out.push(("element", self.element_name(packet, element)));
        }
        let missed: Vec<String> = h.misses.iter().map(|m| self.miss_key(m)).collect();
        if !missed.is_empty() {
            out.push(("missed", missed.join("; ")));
        }
        if !h.assumes.is_empty() {
            out.push(("assumes", h.assumes.to_owned()));
        }
        if !h.mends.is_empty() {
            out.push(("mend", self.mend(h)));
        }
        out
    }

    fn side_properties(&self, keys: SideKeys, side: &Side, out: &mut Vec<(&'static str, String)>) {
        let [call, queue, path, shader, line, group, wave, lane] = keys;
        out.push((call, self.who(side)));
        out.extend(side.queue.map(|q| (queue, self.queue_name(q))));
        out.push((path, side.client.name().to_owned()));
        let name = side.kernel.and_then(|k| self.shader_name(k));
        out.extend(name.map(|name| (shader, name.to_owned())));
        out.extend(self.side_line(side).map(|text| (line, text)));
        out.extend(side.group.map(|[x, y, z]| (group, format!("{x},{y},{z}"))));
        out.extend(side.wave.map(|n| (wave, n.to_string())));
        out.extend(side.lane.map(|n| (lane, n.to_string())));
    }

    fn miss_key(&self, miss: &Miss) -> String {
        let (word, packet) = match miss {
            Miss::WrongCache { packet, .. } => ("wrong-cache", Some(packet)),
            Miss::TooEarly { packet, .. } => ("too-early", Some(packet)),
            Miss::NotBeforeReader { packet, .. } => ("not-before-reader", Some(packet)),
            Miss::Range { packet, .. } => ("range", Some(packet)),
            Miss::OnlyMicroEngine => ("only-me", None),
            Miss::Level { packet, .. } => ("level", packet.as_ref()),
        };
        match packet {
            Some(packet) => format!("{word} {}", self.call_short(*packet)),
            None => word.to_owned(),
        }
    }

    /// An element as the flag that its call gave for it, else in neutral words.
    fn element_name(&self, packet: GpuAddress, element: Element) -> String {
        let site = self.site_at(packet);
        site.and_then(|site| flag_name(&site, element))
            .unwrap_or_else(|| text::element_name(element, self.profile.generation.value))
    }
}

/// The flag of a call that asked for an element.
fn flag_name(site: &Site, element: Element) -> Option<String> {
    let spelling = Part::of(element)?.spelling()?;
    let first = site.arguments.split(',').next().unwrap_or_default();
    match (site.face, site.call.call.as_str()) {
        (Face::D3D12X, "FlushPipelineX" | "SignalX") => {
            let given = D3D12XBOX_FLUSH::parse(first).ok()?;
            let half = if site.top { spelling.top } else { spelling.bottom };
            let idle = matches!(element, Element::Shaders | Element::Pfp)
                && given.contains(D3D12XBOX_FLUSH::IDLE);
            let flag = if idle { D3D12XBOX_FLUSH::IDLE } else { half };
            (!flag.is_empty() && given.contains(flag)).then(|| flag.to_string())
        }
        (Face::D3D12X, "Write32BitValueBottomOfPipeX") => {
            let given = D3D12XBOX_FLUSH::parse(site.arguments.rsplit(',').next()?).ok()?;
            let flag = spelling.bottom;
            (!flag.is_empty() && given.contains(flag)).then(|| flag.to_string())
        }
        (Face::D3D11X, call) if call.starts_with("FlushGpuCache") => {
            let given = D3D11_FLUSH::parse(first).ok()?;
            let flag = spelling.flag11;
            (!flag.is_empty() && given.contains(flag)).then(|| flag.to_string())
        }
        (Face::D3D11X, "GpuSendPipelinedEvent") => Some(first.to_owned()),
        (Face::D3D11X | Face::D3D12X, _) => None,
    }
}

/// What the packets that the advice is about had to do, each once.
fn cost_of(list: &[Hazard]) -> Option<FlushCost> {
    let packets: BTreeMap<GpuAddress, FlushCost> =
        list.iter().filter_map(|h| Some((h.element?.1, h.cost?))).collect();
    packets
        .into_values()
        .reduce(|a, b| FlushCost { dropped: a.dropped + b.dropped, written: a.written + b.written })
}

/// True if advice about an element is about something that the caller wrote: a flag
/// of the call, or packets of his own. What a barrier, a boundary or another
/// generation's spelling adds is not his to leave out; nor are the reserved and
/// volatile flags, which the rules of the call itself tell.
fn is_of_call(site: &Site, element: Element) -> bool {
    match site.call.call.as_str() {
        "FlushPipelineX"
        | "SignalX"
        | "Write32BitValueBottomOfPipeX"
        | "FlushGpuCacheRange"
        | "FlushGpuCachesTopOfPipe"
        | "FlushGpuCachesBottomOfPipe" => flag_name(site, element).is_some(),
        "FlushGpuCaches" => Part::of(element).is_some(),
        "GpuSendPipelinedEvent" | "InsertWaitUntilIdle" | "InsertPacketsX" => true,
        // What a barrier, a copy or a fence waits for and flushes is not the caller's
        // to leave out.
        _ => false,
    }
}

const fn verb(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "reads",
        AccessKind::Write => "writes",
        AccessKind::Atomic => "updates",
        AccessKind::Fence => "orders",
    }
}

const fn past(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "read",
        AccessKind::Write => "wrote",
        AccessKind::Atomic => "updated",
        AccessKind::Fence => "ordered",
    }
}
