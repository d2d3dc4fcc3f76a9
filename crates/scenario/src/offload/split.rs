//! `split-file`: the parts of a file, and the mend of pipelines that only LLVM's
//! YAML parser reads.

/// A named part. Its text begins with as many empty lines as there are lines before
/// it, so that lines in messages are lines of the file, as `--leading-lines` gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name, which may hold folders.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Splits a text at lines `#--- name` and `//--- name`.
///
/// # Errors
/// If there are no parts, a name is bad, or there twice.
pub fn split(text: &str, leading_lines: bool) -> Result<Vec<Part>, String> {
    let mut parts: Vec<Part> = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let marker = line.split_once("--- ").filter(|(head, _)| matches!(*head, "#" | "//"));
        let Some((_, name)) = marker else {
            if let Some(part) = parts.last_mut() {
                part.text.push_str(line);
            }
            continue;
        };
        let name = name.trim();
        let bad = name.is_empty() || name.starts_with('/') || name.split('/').any(|p| p == "..");
        if bad {
            return Err(format!("line {}: `{name}` is no name of a part", index + 1));
        }
        if parts.iter().any(|p| p.name == name) {
            return Err(format!("line {}: part `{name}` is there twice", index + 1));
        }
        let text = if leading_lines { "\n".repeat(index + 1) } else { String::new() };
        parts.push(Part { name: name.into(), text });
    }
    if parts.is_empty() {
        return Err("the file has no parts".into());
    }
    Ok(parts)
}

/// Columns that a tab at the start of a line stands for.
const TAB: &str = "    ";

/// Mends what LLVM's YAML parser takes and YAML forbids, inside flow lists only:
/// tabs at the start of a line, and empty entries (`1,, 2`), which LLVM skips. All
/// other text stays as it is.
pub fn mend(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut depth, mut quote, mut comma) = (0usize, None, false);
    for line in text.split_inclusive('\n') {
        let mut before = '\n';
        let mut start = true;
        for (i, c) in line.char_indices() {
            if let Some(q) = quote {
                quote = (c != q).then_some(q);
                out.push(c);
                before = c;
                continue;
            }
            if start && c == '\t' && depth > 0 {
                out.push_str(TAB);
                before = ' ';
                continue;
            }
            start &= c == ' ';
            if c == '#' && before.is_whitespace() {
                out.push_str(&line[i..]);
                break;
            }
            match c {
                '[' | '{' => depth += 1,
                ']' | '}' => depth = depth.saturating_sub(1),
                '"' | '\'' if !before.is_alphanumeric() => quote = Some(c),
                _ => {}
            }
            if c == ',' && comma && depth > 0 {
                out.push(' ');
            } else {
                out.push(c);
            }
            comma = c == ',' || (comma && c.is_whitespace());
            before = c;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_names_and_lines() {
        let text = "#--- a.hlsl\none\n//--- sub/b.yaml\n---\ntwo\n#--- end\n# RUN: x\n";
        let parts = split(text, false).unwrap();
        assert_eq!(parts[0].text, "one\n");
        assert_eq!((parts[1].name.as_str(), parts[1].text.as_str()), ("sub/b.yaml", "---\ntwo\n"));
        assert_eq!(split(text, true).unwrap()[1].text, "\n\n\n---\ntwo\n");
        for bad in ["x\n", "#--- a\n#--- a\n", "#--- ../a\n", "#--- /a\n"] {
            assert!(split(bad, false).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_flow_lists_are_mended() {
        assert_eq!(mend("D: [1,, 2 , ,3]\n"), "D: [1,  2 ,  3]\n");
        assert_eq!(mend("D: [1,\n\t\t2]\n"), "D: [1,\n        2]\n");
        assert_eq!(mend("D: [1, # a,,b\n 2,\n , 3]\n"), "D: [1, # a,,b\n 2,\n   3]\n");
        for same in ["a: x,, y\n", "a: |\n\tb,,c\n", "a: \"[,,\"\nb: 'it,, [s'\n", "# [\n a: 1,,\n"]
        {
            assert_eq!(mend(same), same);
        }
    }
}
