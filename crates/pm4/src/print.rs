//! Packets as text for people. Stable: golden tests hold it.

use crate::desc::{Flag, RegSpace, Values};
use crate::marker::Marker;
use crate::{DecodeError, FieldDesc, Generation, Mark, Packet, Ring, decode_stream, reg};
use std::fmt::Write;

/// The packet as one header line and one indented line per field.
///
/// One-bit fields print only when set. A value of an enumeration prints with its
/// name, or as unnamed; a register of flags with the names of the bits set. SET
/// packets list their registers by name, a marker prints its text. A packet of our
/// own is noted as assumed.
pub fn print(packet: &Packet) -> String {
    let mut out = packet.name().to_owned();
    for (on, note) in [
        (packet.desc().mark == Mark::Assumed, " (assumed)"),
        (packet.predicate(), " predicated"),
        (packet.shader_type_compute(), " compute"),
        (packet.reset_filter_cam(), " reset-filter-cam"),
    ] {
        if on {
            out.push_str(note);
        }
    }
    out.push('\n');
    let desc = packet.desc();
    for field in desc.fields_on(packet.generation(), packet.ring()) {
        if desc.holds(field, packet.generation(), packet.ring(), packet.words()) {
            print_field(&mut out, packet, field);
        }
    }
    print_body(&mut out, packet);
    out
}

/// A whole command buffer as text: each packet as [`print()`] gives it, led by its
/// offset in dwords. The text ends before the first word that is no packet, which
/// comes as the second value.
pub fn print_stream(
    words: &[u32],
    generation: Generation,
    ring: Ring,
) -> (String, Option<DecodeError>) {
    let mut out = String::new();
    for item in decode_stream(words, generation, ring) {
        match item {
            Ok((offset, packet)) => {
                let _ = write!(out, "{offset:#06x} ");
                out.push_str(&print(&packet));
            }
            Err(error) => return (out, Some(error)),
        }
    }
    (out, None)
}

/// Hex words, eight to a line, each line led by `indent` and its first index.
pub fn print_words(words: &[u32], indent: &str) -> String {
    let mut out = String::new();
    for (i, line) in words.chunks(8).enumerate() {
        let hex: Vec<_> = line.iter().map(|w| format!("{w:08x}")).collect();
        line_of(&mut out, format_args!("{indent}[{:#x}] {}", i * 8, hex.join(" ")));
    }
    out
}

fn line_of(out: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(line);
    out.push('\n');
}

fn print_field(out: &mut String, packet: &Packet, field: &FieldDesc) {
    let value = field.read(packet.words());
    let name = field.field;
    let text = match field.values {
        Values::OnOff if value == 0 => return,
        Values::OnOff => "1".to_owned(),
        Values::Hex => format!("{value:#x}"),
        Values::Dec => value.to_string(),
        Values::Address => format!("{value:#012x}"),
        Values::Named(_) => match field.value_name(value) {
            Some(known) => format!("{value} {known}"),
            None => format!("{value} (unnamed)"),
        },
        Values::Flags(flags) => flags_text(value as u32, flags),
        Values::Register(space) => register_text(packet.generation(), space, value),
    };
    line_of(out, format_args!("  {name} = {text}"));
}

fn flags_text(value: u32, flags: &[Flag]) -> String {
    let mut out = format!("{value:#x}");
    let mut separator = " ";
    for flag in flags {
        let bits = value & flag.mask();
        if bits == 0 {
            continue;
        }
        out.push_str(separator);
        out.push_str(flag.name);
        if flag.hi != flag.lo {
            let _ = write!(out, "={}", bits >> flag.lo);
        }
        separator = " | ";
    }
    out
}

fn register_text(generation: Generation, space: RegSpace, value: u64) -> String {
    let index = space.base().wrapping_add(value as u32);
    match reg::name(generation, index) {
        Some(name) => format!("{value:#x} {name}"),
        None => format!("{value:#x} (register {index:#06x})"),
    }
}

fn print_body(out: &mut String, packet: &Packet) {
    if let Some(marker) = Marker::decode(packet) {
        let kind = marker.kind.name();
        let text = marker.text.escape_debug();
        line_of(out, format_args!("  marker {kind} #{:08x} \"{text}\"", marker.color));
        return;
    }
    if packet.body().is_empty() {
        return;
    }
    match set_space(packet) {
        Some((space, first)) => {
            for (i, word) in packet.body().iter().enumerate() {
                let index = space.base().wrapping_add(first).wrapping_add(i as u32);
                let name = reg::name(packet.generation(), index).unwrap_or("register");
                line_of(out, format_args!("  {name} ({index:#06x}) = {word:#010x}"));
            }
        }
        None => out.push_str(&print_words(packet.body(), "  ")),
    }
}

/// The register space and first register of a packet whose body is registers.
fn set_space(packet: &Packet) -> Option<(RegSpace, u32)> {
    packet.desc().fields_on(packet.generation(), packet.ring()).find_map(|f| match f.values {
        Values::Register(space) if f.field == crate::Field::RegOffset => {
            Some((space, f.read(packet.words()) as u32))
        }
        Values::Register(_)
        | Values::Hex
        | Values::Dec
        | Values::Address
        | Values::OnOff
        | Values::Named(_)
        | Values::Flags(_) => None,
    })
}
