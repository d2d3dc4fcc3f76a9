use super::*;

fn run(checks: &str, input: &str) -> Result<(), Failure> {
    check(checks, input, &Options::default())
}

fn with(args: &str, checks: &str, input: &str) -> Result<(), Failure> {
    let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
    let (options, ..) = Options::from_args(&args).unwrap();
    check(checks, input, &options)
}

fn said(result: Result<(), Failure>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn plain_directives_match_in_order() {
    let input = "Name:    In\nData: [ 1, 2 ]\nName: Out\nData: [ 3 ]\n";
    run("# CHECK: Name: Out\n# CHECK: Data: [ 3 ]\n", input).unwrap();
    run("// CHECK: Data:\t[ 1, 2 ]\n", input).unwrap();
    assert_eq!(
        said(run("CHECK: Name: Out\nCHECK: Data: [ 4 ]\n", input)),
        "line 2: CHECK: Data: [ 4 ]: not found; the search begins at (input line 3); nearest is \
         line 4: Data: [ 3 ]"
    );
    // A match is used up.
    assert!(run("CHECK: Name: Out\nCHECK: Name: Out\n", input).is_err());
}

#[test]
fn next_same_and_empty_ask_for_a_line() {
    let input = "a b\nc\n\nd\n";
    run("CHECK: a\nCHECK-SAME: b\nCHECK-NEXT: c\nCHECK-EMPTY:\nCHECK-NEXT: d\n", input).unwrap();
    assert!(said(run("CHECK: a\nCHECK-NEXT: d\n", input)).contains("not on the line after"));
    assert!(said(run("CHECK: a\nCHECK-NEXT: b\n", input)).contains("same line"));
    assert!(said(run("CHECK: a\nCHECK-SAME: c\n", input)).contains("not on the line of"));
    assert!(said(run("CHECK: a\nCHECK-EMPTY:\n", input)).contains("not empty"));
    assert!(said(run("CHECK: d\nCHECK-EMPTY:\nCHECK-EMPTY:\n", input)).contains("no next line"));
    assert!(said(run("CHECK-NEXT: a\n", input)).contains("no directive before it"));
}

#[test]
fn not_holds_up_to_the_next_match() {
    let input = "one\ntwo\nthree\n";
    run("CHECK: one\nCHECK-NOT: one\nCHECK: three\n", input).unwrap();
    assert!(said(run("CHECK: one\nCHECK-NOT: two\nCHECK: three\n", input)).contains("line 2"));
    run("CHECK: two\nCHECK-NOT: one\n", input).unwrap();
    assert!(run("CHECK: two\nCHECK-NOT: three\n", input).is_err());
    assert!(run("CHECK-NOT: one\nCHECK: two\n", input).is_err());
}

#[test]
fn dag_matches_in_any_order_without_overlap() {
    let input = "b\na\nend\na\n";
    run("CHECK-DAG: a\nCHECK-DAG: b\nCHECK: end\n", input).unwrap();
    assert!(run("CHECK-DAG: b\nCHECK-DAG: b\n", input).is_err());
    assert!(run("CHECK-DAG: a\nCHECK-DAG: end\nCHECK: b\n", input).is_err());
    assert!(said(run("CHECK-NOT: b\nCHECK-DAG: a\n", input)).contains("may not be"));
}

#[test]
fn labels_are_borders() {
    let input = "f:\n x\ng:\n y\n";
    run("CHECK-LABEL: f:\nCHECK: x\nCHECK-LABEL: g:\nCHECK: y\n", input).unwrap();
    let wrong = "CHECK-LABEL: f:\nCHECK: y\nCHECK-LABEL: g:\n";
    assert!(said(run(wrong, input)).starts_with("line 2"));
    assert!(run("CHECK-LABEL: h:\nCHECK: y\n", input).is_err());
}

#[test]
fn count_repeats() {
    let input = "x x\nx\n";
    run("CHECK-COUNT-3: x\nCHECK-NOT: x\n", input).unwrap();
    assert!(said(run("CHECK-COUNT-4: x\n", input)).contains("found 3 times of 4"));
    assert!(said(run("CHECK-COUNT-0: x\n", input)).contains("at least 1"));
}

#[test]
fn patterns() {
    let input = "v = 3.1415, r12 = r12 + 7\nat line 2: 8\n";
    run("CHECK: v = {{3\\.14.*}}, [[R:r[0-9]+]] =\nCHECK-SAME: [[R]] +\n", input).unwrap();
    run("CHECK: + [[#N:]]\nCHECK: at line [[@LINE]]: [[#N+1]]\n", input).unwrap();
    run("CHECK{LITERAL}: r12 + 7\n", input).unwrap();
    run("CHECK: {{r{1}12}}\n", input).unwrap();
    assert!(run("CHECK: v = {{2.*}}\n", input).is_err());
    assert!(said(run("CHECK: [[X]]\n", input)).contains("not defined"));
    assert!(said(run("CHECK: {{(}}\n", input)).contains("no regular expression"));
    assert!(said(run("CHECK: [[A:r]] [[A]]\n", input)).contains("pattern that defines it"));
    // Signs of regular expressions are plain text outside `{{}}`.
    assert!(run("CHECK: 3.1.15\n", input).is_err());
}

#[test]
fn prefixes_and_options() {
    let input = "Alpha  beta\n";
    with("f --check-prefix=OBJ", "OBJ: beta\nCHECK: gamma\n", input).unwrap();
    with("f -check-prefixes=A,B", "A: Alpha\nB-SAME: beta\n", input).unwrap();
    assert!(said(run("X-CHECK: beta\nCHECKS: y\n", input)).contains("no directive"));
    run("COM: CHECK: gamma\nCHECK: beta\n", input).unwrap();
    run("CHECK: Alpha beta\n", input).unwrap();
    assert!(with("f --strict-whitespace", "CHECK: Alpha beta\n", input).is_err());
    with("f --strict-whitespace", "CHECK: Alpha  beta\n", input).unwrap();
    assert!(with("f --match-full-lines", "CHECK: Alpha\n", input).is_err());
    with("f --match-full-lines", "CHECK: Alpha beta\n", input).unwrap();
    with("f --ignore-case", "CHECK: ALPHA\n", input).unwrap();
    with("f -DX=beta", "CHECK: [[X]]\n", input).unwrap();
    assert!(with("f --implicit-check-not=beta", "CHECK: Alpha\n", input).is_err());
    assert!(Options::from_args(&["f".into(), "--frobnicate".into()]).is_err());
    assert_eq!(said(run("CHECK: x\n", "")), "the input is empty");
}

#[test]
fn odd_texts_do_no_harm() {
    for checks in ["CHECK:", "CHECK: [[", "CHECK: {{", "CHECK: [[#", "CHECK-COUNT-99999999999: x"] {
        assert!(run(checks, "x\n").is_err(), "{checks}");
    }
    assert!(run("CHECK: \u{e9}{{.}}\u{fc}\n", "\u{e9}x\u{fc}\n").is_ok());
    assert!(run("CHECK: [[]] [[1]]\n", "[[]] [[1]]\n").is_ok());
}
