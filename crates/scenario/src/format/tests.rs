use super::*;

fn problems(text: &str) -> String {
    parse(&Source::new("t.yaml", text)).map_or_else(|p| p.to_string(), |_| "none".into())
}

const PIPELINE: &str = "
---
Shaders:
  - Stage: Compute
    Entry: main
    Source: |
      RWBuffer<int> Out : register(u0);
      [numthreads(1,1,1)] void main() { Out[0] = 1; }
    DispatchSize: [1, 1, 1]
Buffers:
  - Name: Out
    Format: Int32
    FillSize: 4
  - Name: Expected
    Format: Int32
    Data: [1]
DescriptorSets:
  - Resources:
    - Name: Out
      Kind: RWBuffer
      DirectXBinding: {Register: 0, Space: 0}
      VulkanBinding: {Binding: 0}
Results:
  - Result: Test
    Rule: BufferExact
    Actual: Out
    Expected: Expected
...
";

#[test]
fn a_pipeline_of_the_suite_is_a_scenario() {
    let s = parse(&Source::new("p", PIPELINE)).unwrap();
    assert_eq!(s.buffers[1].data, [1, 0, 0, 0]);
    assert_eq!(s.shaders[0].name.value, "main");
    assert_eq!(s.sets[0].resources[0].register, Some((0, 0)));
}

#[test]
fn every_mistake_is_reported_with_its_place() {
    let text = PIPELINE
        .replace("Register: 0", "Registr: 0")
        .replace("Actual: Out", "Actual: Oot")
        .replace("FillSize: 4", "FillSize: four");
    insta::assert_snapshot!(problems(&text), @r"
    t.yaml:13:15: an integer is needed here: found `four`
    t.yaml:21:24: unknown key in DirectXBinding: `Registr`: did you mean `Register`? (known here: Register, Space)
    ");
}

#[test]
fn names_must_exist_once() {
    let text = "
Shaders: [{Name: A, File: a.hlsl}]
Memory: [{Name: Sync, Size: 64}, {Name: Sync, Size: 64}]
Queues: [{Name: Q, Type: Compute}]
CommandLists:
  - Name: L
    Type: Compute
    Calls:
      - SetPipelineState: B
      - Wait32BitValueX: {Address: Sync, Function: EQUAL, Reference: 1}
Submit:
  - {Queue: R, List: L}
  - {Queue: Q, List: M}
  - {Queue: Q}
Expect: {Hang: {Verdict: circle}}
";
    insta::assert_snapshot!(problems(text), @r"
    t.yaml:14:5: a step is one of Queue with List, Lists, Signal or Wait; Write; Read; Wait; Free; ReportGpuHangX
    t.yaml:15:26: unknown value `circle`: did you mean `cycle`? (known here: cycle, never-written, overtaken, write-lost, never-satisfied, behind-itself, value-in-l2, writer-blocked, not-submitted, memory-freed, memory-reused, stuck, still-running, endless)
    ");
    insta::assert_snapshot!(problems(&text.replace("circle", "cycle").replace("- {Queue: Q}", "")), @r"
    t.yaml:3:41: resource `Sync` is there twice
    t.yaml:9:27: unknown shader `B`: did you mean `A`? (known here: A)
    t.yaml:12:13: unknown queue `R`: did you mean `Q`? (known here: Q)
    t.yaml:13:22: unknown command list `M`: did you mean `L`? (known here: L)
    ");
}

#[test]
fn what_is_not_supported_is_named_as_such() {
    let text = PIPELINE
        .replace("Stage: Compute", "Stage: Pixel")
        .replace("Buffers:", "AccelerationStructures: {}\nBuffers:");
    let problems = parse(&Source::new("t", text)).unwrap_err();
    assert!(!problems.is_bad_input(), "{problems}");
}

#[test]
fn a_file_that_runs_nothing_is_refused() {
    for text in ["Profile: series-x", "{}", "Submit: []", "Buffers: []", "- a", "7"] {
        assert_ne!(problems(text), "none", "{text}");
    }
}

/// A smoke length of fuzzing: a fixed stream of mutations over a small corpus.
/// Whatever comes out, nothing may panic, and an error must have a text.
#[test]
fn mutated_files_never_panic() {
    const ROUNDS: u32 = 100_000;
    let corpus = [
        PIPELINE,
        "Queues: [{Name: Q, Type: DMA, Engine: 1}]\nCommandLists: [{Name: L, Type: DMA, Calls: [EndEvent, Dispatch: [1, 2, \"ceildiv(A.Width, 8)\"]]}]\nSubmit: [{Queue: Q, List: L}, {Wait: Idle}]\n",
        "Memory: &m [{Name: S, Size: 0x10}]\nImages: [{Name: I, Width: 4, Height: 4, Format: R8_UNORM}]\nExpect: {Findings: [{Rule: x, Verdict: Advice}], Hang: true}\nX: *m\n",
    ];
    let tokens: [&str; 18] = [
        "&a",
        "*a",
        "<<",
        ": ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        "|\n",
        "\"",
        "'",
        "!!binary ",
        "~",
        "\n  ",
        "0x",
        "-9223372036854775809",
        "\u{feff}\u{0}\u{1F600}",
    ];
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n.max(1) as u64) as usize
    };
    for round in 0..ROUNDS {
        let mut text: Vec<char> = corpus[next(corpus.len())].chars().collect();
        for _ in 0..=next(4) {
            let at = next(text.len());
            match next(4) {
                0 => {
                    let end = (at + next(12)).min(text.len());
                    text.drain(at..end);
                }
                1 => {
                    let token = tokens[next(tokens.len())];
                    text.splice(at..at, token.chars());
                }
                2 => {
                    let end = (at + next(30)).min(text.len());
                    let copy = text[at..end].to_vec();
                    let to = next(text.len());
                    text.splice(to..to, copy);
                }
                _ => {
                    if let Some(c) = text.get_mut(at) {
                        *c = char::from(next(128) as u8);
                    }
                }
            }
        }
        let text: String = text.into_iter().collect();
        if let Err(problems) = parse(&Source::new("fuzz", text)) {
            assert!(!problems.list.is_empty() && !problems.to_string().is_empty(), "{round}");
        }
    }
}

#[test]
fn what_exploring_is_to_find_is_read_and_checked() {
    let with = |explore: &str| {
        let text = format!(
            "Shaders:\n  - {{Name: S, Language: WGSL, Source: \"\"}}\nDispatchParameters: \
             {{DispatchGroupCount: [1, 1, 1]}}\nExplore: {explore}\n"
        );
        parse(&Source::new("explore", text))
    };
    let said = |explore: &str| with(explore).map(|_| ()).expect_err("a mistake").to_string();
    for (text, part) in [
        ("{What: overtaken}", "Finds, which is missing"),
        ("{Finds: Hang, Proves: true}", "cannot find and prove"),
        ("{Finds: Hangs}", "Hang"),
        ("{Prove: true}", "Proves"),
    ] {
        assert!(said(text).contains(part), "{text}: {}", said(text));
    }
}
