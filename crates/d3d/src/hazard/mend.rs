//! The smallest mend, as flags and calls of the face that is in use.

use super::spell::{Part, calls, flags11, flags12};
use crate::device::Device;
use crate::face::Face;
use crate::list::ListKind;
use crate::names::Site;
use wavefence_base::{GpuRange, QueueId};
use wavefence_check::{Action, At, Hazard, Mend, text};

impl Device {
    /// All parts of the mend, in order: `FlushPipelineX(BOP_CS_PARTIAL |
    /// TOP_KCACHE_INVALIDATE, 0, D3D12XBOX_FLUSH_RANGE_ALL) before list "Blur" #3
    /// DispatchX`.
    pub(super) fn mend(&self, hazard: &Hazard) -> String {
        let mut out = Vec::new();
        let mut rest = hazard.mends.as_slice();
        while let Some(first) = rest.first() {
            let same = rest.iter().take_while(|m| m.at == first.at).count();
            let (group, after) = rest.split_at(same);
            out.push(self.group(group));
            rest = after;
        }
        out.join(", then ")
    }

    /// The parts at one place.
    fn group(&self, mends: &[Mend]) -> String {
        let Some(at) = mends.first().map(|m| m.at) else { return String::new() };
        let site = match at {
            At::Before(packet) | At::In(packet) | At::Shader(packet) => self.site_at(packet),
            At::Host => None,
        };
        let parts: Vec<Part> = mends.iter().flat_map(|m| parts(&m.action)).collect();
        let mut out = Vec::new();
        if !parts.is_empty() {
            out.push(self.parts(&parts, at, site.as_ref()));
        }
        for mend in mends.iter().filter(|m| parts_of(&m.action).is_none()) {
            out.push(self.other(&mend.action, at, site.as_ref()));
        }
        out.join(", then ")
    }

    fn parts(&self, parts: &[Part], at: At, site: Option<&Site>) -> String {
        // Without a call it is our own face that is spelt.
        let face = site.map_or(Face::D3D12X, |s| s.face);
        let kind = site.and_then(|s| s.kind).unwrap_or(ListKind::Graphics);
        if let (At::In(_), Some(site)) = (at, site)
            && let Some(flags) = flags_to_add(parts, site)
        {
            return format!("add {flags} to the flags of {}", site.short());
        }
        let place = match at {
            At::Before(packet) | At::In(packet) | At::Shader(packet) => self.call_short(packet),
            At::Host => "the host's next step".into(),
        };
        format!("{} before {place}", calls(parts, face, kind).join(", then "))
    }

    fn other(&self, action: &Action, at: At, site: Option<&Site>) -> String {
        let face = site.map_or(Face::D3D12X, |s| s.face);
        let place = match at {
            At::Before(packet) => format!("before {}", self.call_short(packet)),
            At::In(packet) => format!("in {}", self.call_short(packet)),
            At::Shader(packet) => format!("in the shader of {}", self.call_short(packet)),
            At::Host => "on the host".into(),
        };
        match action {
            Action::Confirm => confirm(face, site, &place),
            Action::Accept => {
                let kind = site.and_then(|s| s.kind).unwrap_or(ListKind::Graphics);
                let wait = calls(&[Part::Shaders], face, kind).join(", then ");
                match at {
                    At::In(packet) => format!("{wait} before {}", self.call_short(packet)),
                    At::Before(_) | At::Shader(_) | At::Host => format!("{wait} {place}"),
                }
            }
            Action::SignalAndWait { from, to } => self.signal_and_wait(*from, *to, face),
            Action::Widen(range) => self.widen(*range, face, &place),
            Action::GroupBarrier => {
                format!("AllMemoryBarrierWithGroupSync() between the two {place}")
            }
            Action::Atomic => format!(
                "an Interlocked… function for both accesses {place}, or two dispatches with {} \
                 between them",
                calls(&[Part::Shaders], face, ListKind::Graphics).join(", then ")
            ),
            Action::Coherent => format!("declare the resource globallycoherent {place}"),
            Action::Initialise => "write the memory before it is read".into(),
            Action::Remove(element) => match at {
                At::Before(packet) | At::In(packet) | At::Shader(packet) => format!(
                    "leave {} out of {}",
                    self.element_name(packet, *element),
                    self.call_short(packet)
                ),
                At::Host => format!("leave it out {place}"),
            },
            Action::Replace(old, new) => {
                let name = |element| match at {
                    At::Before(packet) | At::In(packet) | At::Shader(packet) => {
                        self.element_name(packet, element)
                    }
                    At::Host => text::element_name(element, self.profile.generation.value),
                };
                let spelt = Part::of(*new).and_then(|part| {
                    let in_call = site.and_then(|site| flags_to_add(&[part], site));
                    in_call.or_else(|| calls(&[part], face, ListKind::Graphics).into_iter().next())
                });
                let new = spelt.unwrap_or_else(|| name(*new));
                format!("{new} in the place of {} {place}", name(*old))
            }
            Action::Invalidate(_)
            | Action::WriteBackL2
            | Action::WaitShaders
            | Action::WaitDma
            | Action::SyncPfp => text::mend_name(action, self.profile.generation.value),
        }
    }

    fn signal_and_wait(&self, from: Option<QueueId>, to: Option<QueueId>, face: Face) -> String {
        let queue = |id: QueueId| format!("queue \"{}\"", self.queue_name(id));
        let (signal, wait) = match face {
            Face::D3D12X => ("Signal a fence", "Wait for it"),
            Face::D3D11X => ("InsertFence", "InsertWaitOnFence"),
        };
        match (from, to) {
            (Some(from), Some(to)) => format!(
                "{signal} on {} after the first access, and {wait} on {} before the second",
                queue(from),
                queue(to)
            ),
            (Some(from), None) => {
                format!("{signal} on {} and wait for it on the host in between", queue(from))
            }
            (None, Some(to)) => format!(
                "submit the second access after the host's, or let {} wait for a fence that the \
                 host signals",
                queue(to)
            ),
            (None, None) => "put the two steps of the host in order".into(),
        }
    }

    fn widen(&self, range: GpuRange, face: Face, place: &str) -> String {
        let all = match face {
            Face::D3D12X => "D3D12XBOX_FLUSH_RANGE_ALL",
            Face::D3D11X => "D3D11_FLUSH_GPU_CACHE_RANGE_ALL",
        };
        format!(
            "base {} and size {:#x} ({}), or base 0 and {all}, {place}",
            range.start,
            range.len,
            self.memory_text(range)
        )
    }
}

/// The parts that flags or calls beside a flush spell.
fn parts_of(action: &Action) -> Option<Vec<Part>> {
    Some(match action {
        Action::Invalidate(list) => list.iter().map(|&c| Part::invalidate(c)).collect(),
        Action::WriteBackL2 => vec![Part::WriteBackL2],
        Action::WaitShaders => vec![Part::Shaders],
        Action::WaitDma => vec![Part::Dma],
        Action::SyncPfp => vec![Part::Pfp],
        Action::Confirm
        | Action::Accept
        | Action::SignalAndWait { .. }
        | Action::Widen(_)
        | Action::GroupBarrier
        | Action::Atomic
        | Action::Coherent
        | Action::Initialise
        | Action::Remove(_)
        | Action::Replace(..) => return None,
    })
}

fn parts(action: &Action) -> Vec<Part> {
    parts_of(action).unwrap_or_default()
}

/// The parts as flags of that call, if it can take them all.
fn flags_to_add(parts: &[Part], site: &Site) -> Option<String> {
    match (site.face, site.call.call.as_str()) {
        (Face::D3D12X, "FlushPipelineX" | "SignalX") => {
            let flags = flags12(parts);
            let whole = !flags.is_empty() && !parts.contains(&Part::Dma);
            whole.then(|| flags.to_string())
        }
        (Face::D3D12X, "Write32BitValueBottomOfPipeX") => {
            let rows: Option<Vec<_>> = parts.iter().map(|p| p.spelling()).collect();
            let flags: Vec<String> = rows?
                .iter()
                .map(|s| (!s.bottom.is_empty()).then_some(s.bottom))
                .map(|f| f.filter(|f| crate::enums::D3D12XBOX_FLUSH::WRITE32.contains(*f)))
                .map(|f| f.map(|f| f.to_string()))
                .collect::<Option<_>>()?;
            Some(flags.join(" | "))
        }
        (Face::D3D11X, call) if call.starts_with("FlushGpuCache") && call != "FlushGpuCaches" => {
            let all = parts.iter().all(|p| p.spelling().is_some_and(|s| !s.flag11.is_empty()));
            all.then(|| flags11(parts).to_string())
        }
        (Face::D3D11X | Face::D3D12X, _) => None,
    }
}

/// A signal that waits until memory has confirmed.
fn confirm(face: Face, site: Option<&Site>, place: &str) -> String {
    match (face, site.map(|s| s.call.call.as_str())) {
        (Face::D3D12X, Some("Write32BitValueBottomOfPipeX")) => {
            format!("BOP_TEXTURE_L2_WRITEBACK as Flush {place}")
        }
        (Face::D3D12X, _) => format!(
            "Write32BitValueBottomOfPipeX with BOP_TEXTURE_L2_WRITEBACK, or SignalX, which wait \
             for memory's confirmation, {place}"
        ),
        (Face::D3D11X, _) => {
            format!("InsertFence, which waits for memory's confirmation, {place}")
        }
    }
}
