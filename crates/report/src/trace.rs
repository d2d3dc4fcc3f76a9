//! Events as JSON lines: one object per event, its GPU cycle behind its name, keys in
//! a fixed order, numbers in decimal and addresses in hexadecimal text. The same run gives the same bytes.

use serde_json::{Map, Value, json};
use wavefence_base::{Event, GpuAddress, GpuRange, WaveSize, Writer};

/// One line for one event at a GPU cycle, without the line break.
pub fn line(event: &Event, cycle: u64) -> String {
    let (name, fields) = fields(event);
    // Written by hand so that `event` comes first and the order is ours.
    let mut out = format!("{{\"event\":\"{name}\",\"cycle\":{cycle}");
    for (key, value) in fields {
        out.push_str(&format!(",\"{key}\":{value}"));
    }
    out.push('}');
    out
}

type Fields = Vec<(&'static str, Value)>;

fn address(a: GpuAddress) -> Value {
    json!(a.to_string())
}

fn range(r: GpuRange) -> Value {
    let mut map = Map::new();
    map.insert("at".into(), address(r.start));
    map.insert("bytes".into(), json!(r.len));
    Value::Object(map)
}

fn writer(by: Writer) -> Value {
    json!(match by {
        Writer::Host => "host".to_string(),
        Writer::Queue(q) => q.to_string(),
        Writer::Dma(q) => format!("{q} transfer"),
        Writer::Shader(q, d) => format!("{q} {d}"),
        // The list is open to other crates.
        _ => "other".to_string(),
    })
}

fn fields(event: &Event) -> (&'static str, Fields) {
    let id = |v: u32| json!(v);
    match event {
        Event::Submit { submit, queue, buffer } => (
            "submit",
            vec![("submit", id(submit.0)), ("queue", id(queue.0)), ("buffer", range(*buffer))],
        ),
        Event::SubmitDone { submit, queue } => {
            ("submit-done", vec![("submit", id(submit.0)), ("queue", id(queue.0))])
        }
        Event::Packet { queue, engine, packet, name } => (
            "packet",
            vec![
                ("queue", id(queue.0)),
                ("engine", json!(engine)),
                ("packet", address(*packet)),
                ("name", json!(name)),
            ],
        ),
        Event::DispatchBegin {
            dispatch,
            queue,
            packet,
            kernel,
            start,
            groups,
            wave_size,
            initiator,
        } => (
            "dispatch-begin",
            vec![
                ("dispatch", id(dispatch.0)),
                ("queue", id(queue.0)),
                ("packet", address(*packet)),
                ("kernel", id(kernel.0)),
                ("start", json!(start)),
                ("groups", json!(groups)),
                ("lanes", json!(lanes(*wave_size))),
                ("initiator", json!(format!("{initiator:#x}"))),
            ],
        ),
        Event::DispatchEnd { dispatch } => ("dispatch-end", vec![("dispatch", id(dispatch.0))]),
        Event::GroupBegin { dispatch, group, waves } => (
            "group-begin",
            vec![("dispatch", id(dispatch.0)), ("group", json!(group)), ("waves", json!(waves))],
        ),
        Event::GroupEnd { dispatch, group } => {
            ("group-end", vec![("dispatch", id(dispatch.0)), ("group", json!(group))])
        }
        Event::WaitBlocked { queue, packet, address: at } => {
            wait("wait-blocked", queue.0, *packet, *at)
        }
        Event::WaitDone { queue, packet, address: at, value, .. } => {
            let (name, mut fields) = wait("wait-done", queue.0, *packet, *at);
            fields.push(("value", json!(value)));
            (name, fields)
        }
        other => rest(other),
    }
}

fn wait(
    name: &'static str,
    queue: u32,
    packet: GpuAddress,
    at: GpuAddress,
) -> (&'static str, Fields) {
    (name, vec![("queue", json!(queue)), ("packet", address(packet)), ("address", address(at))])
}

fn lanes(size: WaveSize) -> u32 {
    size.lanes()
}

fn rest(event: &Event) -> (&'static str, Fields) {
    let packet = |p: &Option<GpuAddress>| p.map_or(Value::Null, address);
    match event {
        Event::ValueWritten { by, packet: p, address: at, value, bytes } => (
            "value-written",
            vec![
                ("by", writer(*by)),
                ("packet", packet(p)),
                ("address", address(*at)),
                ("value", json!(value)),
                ("bytes", json!(bytes)),
            ],
        ),
        Event::ValueLost { by, packet: p, address: at, value } => (
            "value-lost",
            vec![
                ("by", writer(*by)),
                ("packet", packet(p)),
                ("address", address(*at)),
                ("value", json!(value)),
            ],
        ),
        Event::Flush { queue, packet, actions, range: over, on_pfp, bottom, .. } => (
            "flush",
            vec![
                ("queue", json!(queue.0)),
                ("packet", address(*packet)),
                ("actions", json!(actions.iter().map(|a| format!("{a:?}")).collect::<Vec<_>>())),
                ("range", over.map_or(Value::Null, range)),
                ("on_pfp", json!(on_pfp)),
                ("bottom", json!(bottom)),
            ],
        ),
        Event::Transfer { queue, packet, source, destination } => (
            "transfer",
            vec![
                ("queue", json!(queue.0)),
                ("packet", address(*packet)),
                ("source", source.map_or(Value::Null, range)),
                ("destination", range(*destination)),
            ],
        ),
        Event::Marker { queue, packet, depth, text, color } => (
            "marker",
            vec![
                ("queue", json!(queue.0)),
                ("packet", address(*packet)),
                ("depth", json!(depth)),
                ("text", json!(text)),
                ("color", json!(format!("{color:#010x}"))),
            ],
        ),
        Event::Printed(p) => ("printed", vec![("text", json!(p.text))]),
        Event::HostWrite { range: over } => ("host-write", vec![("range", range(*over))]),
        Event::Fault(fault) => (
            "fault",
            vec![
                ("kind", json!(fault.kind.name())),
                ("packet", packet(&fault.place.packet)),
                ("address", packet(&fault.address)),
                ("detail", json!(fault.detail)),
            ],
        ),
        // The list is open to other crates; an event without words of its own is
        // still told whole.
        other => ("other", vec![("text", json!(format!("{other:?}")))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavefence_base::{DispatchId, QueueId, SubmitId};

    #[test]
    fn lines_are_json_with_the_event_first() {
        let events = [
            Event::Submit {
                submit: SubmitId(0),
                queue: QueueId(1),
                buffer: GpuRange::new(GpuAddress(0x1000), 64),
            },
            Event::ValueWritten {
                by: Writer::Shader(QueueId(1), DispatchId(2)),
                packet: None,
                address: GpuAddress(16),
                value: u64::MAX,
                bytes: 8,
            },
            Event::Marker {
                queue: QueueId(0),
                packet: GpuAddress(4),
                depth: 1,
                text: "a \"b\"\n".into(),
                color: 0xFF00_0000,
            },
        ];
        let lines: Vec<String> = events.iter().zip(7..).map(|(e, cycle)| line(e, cycle)).collect();
        for line in &lines {
            assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
            assert!(!line.contains('\n'));
        }
        insta::assert_snapshot!(lines.join("\n"), @r##"
    {"event":"submit","cycle":7,"submit":0,"queue":1,"buffer":{"at":"0x1000","bytes":64}}
    {"event":"value-written","cycle":8,"by":"queue1 dispatch2","packet":null,"address":"0x10","value":18446744073709551615,"bytes":8}
    {"event":"marker","cycle":9,"queue":0,"packet":"0x4","depth":1,"text":"a \"b\"\n","color":"0xff000000"}
    "##);
    }
}
