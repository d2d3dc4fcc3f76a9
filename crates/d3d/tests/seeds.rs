//! The vendor's pages, sentence by sentence: one row for each sentence of seeds 002,
//! 003 and 004 that states a rule, a value or an effect that can be seen without
//! caches and draws, and one for every value of seed 000. `says` gives the sentence
//! in our words.

mod common;
#[path = "seeds/dispatch.rs"]
mod dispatch;
#[path = "seeds/values.rs"]
mod values;
#[path = "seeds/writes.rs"]
mod writes;

/// One sentence.
pub struct Row {
    /// Which page.
    pub seed: &'static str,
    /// What it says.
    pub says: &'static str,
    /// Panics if it does not hold.
    pub check: fn(),
}

fn run(rows: &[Row]) {
    let mut failed = Vec::new();
    for row in rows {
        if std::panic::catch_unwind(row.check).is_err() {
            failed.push(format!("seed {}: {}", row.seed, row.says));
        }
    }
    assert!(failed.is_empty(), "{} rows do not hold:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn seed_000_values() {
    values::flush_values();
}

#[test]
fn seed_002() {
    run(writes::SEED_002);
}

#[test]
fn seed_003() {
    run(dispatch::SEED_003);
}

#[test]
fn seed_004() {
    run(writes::SEED_004);
}
