//! The JSON report against its schema, by a validator of the few words that the
//! schema is written in. A word it does not know fails the test.

use super::*;
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../report.schema.json")).expect("valid JSON")
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What of `value` breaks `rule`; `at` is where it stands.
fn broken(root: &Value, rule: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
    let words = rule.as_object().expect("a schema is an object");
    for (word, of) in words {
        match word.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" => {}
            "$ref" => {
                let path = of.as_str().and_then(|p| p.strip_prefix('#')).expect("a local ref");
                let rule = root.pointer(path).expect("it is defined");
                broken(root, rule, value, at, out);
            }
            "const" if of != value => out.push(format!("{at}: is not {of}")),
            "enum" if !of.as_array().expect("a list").contains(value) => {
                out.push(format!("{at}: {value} is not among {of}"));
            }
            "const" | "enum" => {}
            "type" => {
                let types = of.as_array().cloned().unwrap_or_else(|| vec![of.clone()]);
                if !types.contains(&json!(type_of(value))) {
                    out.push(format!("{at}: is a {}, not {of}", type_of(value)));
                }
            }
            "anyOf" => {
                let fits = |rule: &Value| {
                    let mut inner = Vec::new();
                    broken(root, rule, value, at, &mut inner);
                    inner.is_empty()
                };
                if !of.as_array().expect("a list").iter().any(fits) {
                    out.push(format!("{at}: fits none of {of}"));
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    broken(root, of, item, &format!("{at}/{i}"), out);
                }
            }
            "required" => {
                for key in of.as_array().expect("a list") {
                    let key = key.as_str().expect("a name");
                    if value.is_object() && value.get(key).is_none() {
                        out.push(format!("{at}: lacks {key}"));
                    }
                }
            }
            "properties" => {
                for (key, rule) in of.as_object().expect("an object") {
                    if let Some(value) = value.get(key) {
                        broken(root, rule, value, &format!("{at}/{key}"), out);
                    }
                }
            }
            "additionalProperties" => {
                let known = |key: &str| rule["properties"].get(key).is_some();
                let more = value.as_object().into_iter().flatten().filter(|(k, _)| !known(k));
                for (key, value) in more {
                    match of {
                        Value::Bool(false) => out.push(format!("{at}: {key} is not in the schema")),
                        rule => broken(root, rule, value, &format!("{at}/{key}"), out),
                    }
                }
            }
            other => panic!("the validator does not know `{other}`"),
        }
    }
}

fn judge(value: &Value) -> Vec<String> {
    let (schema, mut out) = (schema(), Vec::new());
    broken(&schema, &schema, value, "", &mut out);
    out
}

#[test]
fn reports_are_what_the_schema_says() {
    for report in [Report::default(), whole(), super::exploration::searched(true, false)] {
        let value: Value = serde_json::from_str(&report.json()).expect("valid JSON");
        assert_eq!(judge(&value), [""; 0]);
    }
}

#[test]
fn the_schema_names_every_key_and_no_more() {
    let value: Value = serde_json::from_str(&whole().json()).expect("valid JSON");
    let change = |pointer: &str, change: &dyn Fn(&mut Value)| {
        let mut value = value.clone();
        change(value.pointer_mut(pointer).expect("it is there"));
        judge(&value)
    };
    let lack = |key: &'static str| {
        move |v: &mut Value| {
            v.as_object_mut().expect("an object").remove(key).expect("it is there");
        }
    };
    let more = |v: &mut Value| v["more"] = json!(1);
    for pointer in ["", "/stats", "/errors/0", "/findings/0", "/faults/0", "/checks/0"] {
        assert_eq!(change(pointer, &more), [format!("{pointer}: more is not in the schema")]);
    }
    assert_eq!(change("", &lack("faults")), [": lacks faults"]);
    assert_eq!(change("/findings/0", &lack("known")), ["/findings/0: lacks known"]);
    assert_eq!(change("/findings/0/verdict", &|v| *v = json!("sure")).len(), 1);
    assert_eq!(change("/findings/0/properties/cache", &|v| *v = json!(3)).len(), 1);
    assert_eq!(change("/hang/queues/0", &lack("state")).len(), 1);
    assert_eq!(change("/schema", &|v| *v = json!("wavefence-report/2")).len(), 1);
    // Every key that the schema requires is one that it describes.
    let schema = schema();
    let mut parts: Vec<&Value> =
        schema["$defs"].as_object().into_iter().flatten().map(|p| p.1).collect();
    parts.push(&schema);
    for part in parts {
        let described: Vec<&String> =
            part["properties"].as_object().into_iter().flatten().map(|p| p.0).collect();
        let mut required: Vec<&str> =
            part["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        required.sort_unstable();
        let mut described: Vec<&str> = described.iter().map(|s| s.as_str()).collect();
        described.sort_unstable();
        assert_eq!(required, described);
    }
}

#[test]
fn a_dump_fits_its_schema_and_comes_back_as_it_went() {
    let schema: Value =
        serde_json::from_str(include_str!("../../hang.schema.json")).expect("valid JSON");
    let mut hang = hang(false);
    hang.work.push(crate::hang::Work {
        queue: "Q".into(),
        call: "list \"L\" #2 Dispatch".into(),
        shader: "Walk".into(),
        group: [1, 0, 0],
        count: 3,
        wave: 0,
        lane: 5,
        at: "in a loop of `main`".into(),
        line: "walk.hlsl:7".into(),
        exits: vec!["Next[byte 8] (1) == 7".into()],
        values: vec![crate::hang::LoopValue {
            what: "Next at 0x10 (Next+0x8)".into(),
            line: "walk.hlsl:8".into(),
            bytes: 4,
            value: 1,
            memory: Some(7),
            by: "the host".into(),
        }],
        waves: vec![crate::hang::Wave { wave: 0, at: "in a loop".into(), exec: Some(1) }],
        verdict: "endless".into(),
        culprit: "list \"L\" #2 Dispatch".into(),
        explanation: "proved endless".into(),
    });
    hang.state.memory.push(crate::hang::Bytes { at: "0x10".into(), hex: "00ff".into() });
    let report = Report { hang: Some(hang), ..whole() };
    let dump = crate::dump::Dump::of(&report).expect("a hang");
    let value: Value = serde_json::from_str(&dump.json()).expect("valid JSON");
    let mut wrong = Vec::new();
    broken(&schema, &schema, &value, "", &mut wrong);
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(crate::dump::Dump::parse(&dump.json()), Ok(dump.clone()));
    let told = text::print(&report, 50);
    assert!(told.contains(&text::hang(&dump.hang)), "{told}");
    assert_eq!(crate::dump::Dump::of(&Report { hang: None, ..report }), None);
}
