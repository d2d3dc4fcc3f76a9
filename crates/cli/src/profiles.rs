//! `wavefence profiles`.

use crate::ui;
use std::fmt::Write;
use wavefence_base::{Profile, ProfileName};

/// Prints every profile.
pub fn run() -> u8 {
    ui::out(&text());
    0
}

/// The table: one column a profile, a letter for the confidence of each number.
fn text() -> String {
    let rows = ProfileName::ALL.map(|name| Profile::get(name).rows());
    let values = rows.iter().flatten().map(|(_, value, _)| value.to_string().chars().count());
    // A value, a space and its mark, and two spaces to the next column.
    let width = values.max().unwrap_or(0) + 4;
    let mut out = String::new();
    let _ = write!(out, "{:34}", "");
    for name in ProfileName::ALL {
        let _ = write!(out, "{name:<width$}");
    }
    out.push('\n');
    for (i, (label, ..)) in rows[0].iter().enumerate() {
        let _ = write!(out, "{label:34}");
        for row in &rows {
            let (_, value, confidence) = &row[i];
            let mark = confidence.to_string().chars().next().unwrap_or('?');
            let _ = write!(out, "{:<width$}", format!("{value} {mark}"));
        }
        let end = out.trim_end().len();
        out.truncate(end);
        out.push('\n');
    }
    out.push_str(
        "\nc confirmed: a named source states it\nd derived: it follows from confirmed facts\n\
         a assumed: plausible for the family, no source found\n",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_carries_its_mark() {
        let text = text();
        for name in ProfileName::ALL {
            assert!(text.contains(name.as_str()));
        }
        let table: Vec<&str> = text.lines().skip(1).take_while(|l| !l.is_empty()).collect();
        assert!(table.len() > 10);
        for line in table {
            let marks = line.split_whitespace().filter(|w| ["c", "d", "a"].contains(w)).count();
            assert_eq!(marks, 5, "{line}");
        }
    }
}
