//! `wavefence bench launch-rate` and what its table promises.
#![allow(missing_docs, reason = "a test")]

use std::process::{Command, Output};

fn wavefence(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wavefence"));
    command.args(args).env_remove("WAVEFENCE_PROFILE");
    command.output().expect("the program runs")
}

/// A row: profile, lanes, waves per group, order, threads, most, waves per clock, mark.
struct Row {
    words: Vec<String>,
}

impl Row {
    fn get(&self, at: usize) -> &str {
        &self.words[at]
    }

    /// Hundredths of a wave per clock.
    fn rate(&self) -> u64 {
        let (whole, part) = self.get(6).split_once('.').expect("two decimals");
        assert_eq!(part.len(), 2, "{:?}", self.words);
        whole.parse::<u64>().unwrap() * 100 + part.parse::<u64>().unwrap()
    }

    /// Every condition of the full rate.
    fn is_full(&self) -> bool {
        let small = if self.get(0).starts_with("series") { "wave32" } else { "wave64" };
        let line = self.get(4).ends_with("x1x1");
        self.get(1) == small && self.get(2) == "1" && self.get(3) == "out-of-order" && line
    }
}

fn rows(text: &str) -> Vec<Row> {
    let table = text.lines().skip_while(|l| !l.starts_with("profile")).skip(1);
    let rows = table.take_while(|l| !l.is_empty());
    rows.map(|l| Row { words: l.split_whitespace().map(str::to_owned).collect() }).collect()
}

#[test]
fn the_full_rate_is_reached_where_its_conditions_are_met_and_nowhere_else() {
    let output = wavefence(&["bench", "launch-rate"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = rows(&text);
    // Two wave sizes on Series; three numbers of waves, two orders, three shapes.
    assert_eq!(rows.len(), 2 * 36 + 3 * 18, "{text}");
    let full = [
        ("xbox-one", 200, "assumed"),
        ("xbox-one-s", 200, "assumed"),
        ("xbox-one-x", 400, "assumed"),
        ("series-s", 100, "confirmed"),
        ("series-x", 200, "confirmed"),
    ];
    for (profile, most, mark) in full {
        let mine: Vec<&Row> = rows.iter().filter(|r| r.get(0) == profile).collect();
        assert_eq!(mine.iter().filter(|r| r.is_full()).count(), 1);
        for row in mine {
            assert_eq!(row.words.iter().filter(|w| w.contains('.')).count(), 1);
            assert_eq!(row.get(5).parse::<u64>().unwrap() * 100, most, "{:?}", row.words);
            if row.is_full() {
                assert_eq!((row.rate(), row.get(7)), (most, mark), "{:?}", row.words);
            } else {
                assert!(row.rate() < most && row.rate() > 0, "{:?}", row.words);
                assert_eq!(row.get(7), "assumed", "{:?}", row.words);
            }
        }
    }
    // What is alike but for one thing is never better with it.
    let like = |row: &Row, at: usize, word: &str| {
        let mut words = row.words[..5].to_vec();
        words[at] = word.into();
        rows.iter().find(|r| r.words[..5] == words[..]).map(Row::rate)
    };
    for row in &rows {
        if row.get(3) == "in-order" {
            assert!(like(row, 3, "out-of-order") >= Some(row.rate()), "{:?}", row.words);
        }
    }
}

#[test]
fn the_same_table_every_time() {
    let run = || wavefence(&["bench", "launch-rate", "--profile", "series-s"]);
    let (a, b) = (run(), run());
    assert!(a.status.success());
    assert_eq!(a.stdout, b.stdout);
    let text = String::from_utf8(a.stdout).unwrap();
    assert!(rows(&text).iter().all(|r| r.get(0) == "series-s"), "{text}");
}

#[test]
fn what_is_no_benchmark_is_refused_with_the_list() {
    let output = wavefence(&["bench", "launch-rates"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("launch-rate"), "{text}");
}
