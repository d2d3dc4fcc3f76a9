use super::*;

fn outcome(text: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.test");
    std::fs::write(&path, text).unwrap();
    run(&path, &Options::default())
}

#[test]
fn what_is_not_run_says_why() {
    for (text, why, part) in [
        ("x\n", Skipped::NoTest, "no RUN line"),
        ("# RUN: %dxc_target -T ps_6_0 -Fo %t.o %s\n", Skipped::Graphics, "ps_6_0"),
        ("# RUN: %dxc_target_lib -T lib_6_5 -Fo %t.o %s\n", Skipped::RayTracing, "lib_6_5"),
        ("# RUN: true\n# - Stage: Mesh\n", Skipped::Graphics, "Mesh (line 2)"),
        ("# RUN: true\n# REQUIRES: acceleration-structure\n", Skipped::RayTracing, "line 2"),
        ("# RUN: true\n# REQUIRES: MeshShader\n", Skipped::Graphics, "MeshShader"),
        ("# RUN: true\n# REQUIRES: Half, Quantum\n", Skipped::MissingFeature, "Quantum"),
        ("# RUN: true\n# UNSUPPORTED: Vulkan && DXC\n", Skipped::NotForThisTarget, "line 2"),
        ("# RUN: obj2yaml %t.o\n", Skipped::OtherTool, "DXIL"),
        ("# RUN: false\n# XFAIL: DXC\n", Skipped::ExpectedFailure, "XFAIL: DXC (line 2)"),
    ] {
        let outcome = outcome(text);
        assert_eq!(outcome.verdict, Verdict::Skipped(why), "{text}: {}", outcome.reason);
        assert!(outcome.reason.contains(part), "{}", outcome.reason);
    }
}

#[test]
fn commands_pass_and_fail() {
    for (text, verdict) in [
        ("# RUN: echo a b | FileCheck %s\n# CHECK: a b\n", Verdict::Passed),
        ("# RUN: true\n# XFAIL: Vulkan\n", Verdict::Passed),
        ("# RUN: not false && true\n", Verdict::Passed),
        (
            "# RUN: split-file %s %t && cat %t/x | FileCheck %s\n#--- x\nhi\n#--- e\n# CHECK: hi\n",
            Verdict::Passed,
        ),
        ("# RUN: echo a > %t && cat < %t | FileCheck %s\n# CHECK: a\n", Verdict::Passed),
        ("# RUN: echo b | FileCheck %s\n# CHECK: a\n", Verdict::Failed(Failed::WrongResult)),
        ("# RUN: not true\n", Verdict::Failed(Failed::WrongResult)),
        ("# RUN: frobnicate\n", Verdict::Failed(Failed::BadInput)),
        ("# RUN: echo %nothing\n", Verdict::Failed(Failed::BadInput)),
        ("# RUN: true\n# REQUIRES: (\n", Verdict::Failed(Failed::BadInput)),
    ] {
        let outcome = outcome(text);
        assert_eq!(outcome.verdict, verdict, "{text}: {}", outcome.reason);
    }
}

#[test]
fn a_local_configuration_leaves_a_folder_out() {
    let folder = tempfile::tempdir().unwrap();
    let config = "if 'DirectX' not in config.available_features:\n  config.unsupported = True\n";
    std::fs::create_dir_all(folder.path().join("sub/Inputs")).unwrap();
    std::fs::write(folder.path().join("lit.cfg.py"), "").unwrap();
    std::fs::write(folder.path().join("sub/lit.local.cfg"), config).unwrap();
    for name in ["sub/a.test", "sub/Inputs/b.test", "c.yaml", "d.txt"] {
        std::fs::write(folder.path().join(name), "# RUN: true\n").unwrap();
    }
    let found = find(&[folder.path().into()]).unwrap();
    assert_eq!(found, [folder.path().join("c.yaml"), folder.path().join("sub/a.test")]);
    let skipped = run(&found[1], &Options::default());
    assert_eq!(skipped.verdict, Verdict::Skipped(Skipped::NotForThisTarget));
    assert!(skipped.reason.contains("!DirectX"), "{}", skipped.reason);
    assert!(find(&[folder.path().join("nothing")]).is_err());
    assert!(find(&[folder.path().join("sub/Inputs/none")]).is_err());
}

/// Texts of the pieces that the readers look for.
fn pieces() -> impl proptest::strategy::Strategy<Value = String> {
    let words = [
        "# RUN: ",
        "echo ",
        "cat ",
        "%t",
        "%s",
        "%if ",
        "%{ ",
        " %}",
        "%else ",
        "Vulkan ",
        "&& ",
        "|| ",
        "!",
        "(",
        ")",
        "| FileCheck %s",
        "\n",
        "# CHECK: ",
        "# CHECK-NEXT: ",
        "CHECK-DAG: ",
        "CHECK-NOT: ",
        "CHECK-COUNT-2: ",
        "CHECK-LABEL: ",
        "CHECK-EMPTY:",
        "{{",
        "}}",
        "[[",
        "]]",
        "#",
        "X:",
        "a",
        ".*",
        "\u{e9}",
        "#--- ",
        "# XFAIL: ",
        "# REQUIRES: ",
        ",",
        "'",
        "\"",
        "\\",
        "> ",
        "2>&1 ",
        "not ",
        "split-file %s %t",
        "\t",
        "%",
        "FileCheck -DX=y ",
        "[",
        "]",
    ];
    let word = proptest::sample::select(words.to_vec());
    proptest::strategy::Strategy::prop_map(proptest::collection::vec(word, 0..40), |w| w.concat())
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]
    #[test]
    fn no_text_is_a_bug(text in pieces()) {
        let outcome = outcome(&text);
        proptest::prop_assert!(!matches!(outcome.verdict, Verdict::Failed(Failed::Bug)), "{}", outcome.reason);
        let _ = crate::filecheck::check(&text, &text, &crate::filecheck::Options::default());
        let _ = split::mend(&text);
    }
}
