//! Blanks the attributes that bind resources by Vulkan numbers.
//!
//! Direct3D binds by register and ignores `[[vk::binding(…)]]`; DXC's SPIR-V
//! writer lets it win, without our shifts. So it goes, and with it
//! `[[vk::combinedImageSampler]]`, which Direct3D has no binding for: character by character
//! replaced with a space: places of everything else stay. The numbers are kept by
//! the name of the resource, for callers who know nothing but them.

/// A resource's name with its binding and set.
pub(crate) type Named = (String, (u32, u32));

/// `text` without `vk::binding` and `vk::counter_binding` attributes, and what the
/// former said.
pub(crate) fn without_bindings(text: &str) -> (String, Vec<Named>) {
    let mut out = text.to_owned();
    let mut named = Vec::new();
    let mut from = 0;
    while let Some(start) = out[from..].find("[[").map(|i| from + i) {
        let Some(list) = List::read(&out[start + 2..]) else {
            from = start + 2;
            continue;
        };
        let end = start + 2 + list.len;
        if list.items.iter().any(|item| item.binds) {
            let keep: Vec<&str> = list
                .items
                .iter()
                .filter(|item| !item.binds)
                .map(|item| &out[start + 2 + item.start..start + 2 + item.end])
                .collect();
            let numbers = list.items.iter().find_map(|item| item.numbers);
            if let (Some(at), Some(name)) = (numbers, declared(&out[end + 2..])) {
                named.push((name, at));
            }
            // What stays is pushed left; the length does not change.
            let mut new = match keep.is_empty() {
                true => String::new(),
                false => format!("[[{}]]", keep.join(",")),
            };
            // Line ends inside stay as many as they were.
            let lines = |s: &str| s.matches('\n').count();
            let missing = lines(&out[start..end + 2]) - lines(&new);
            new.extend(std::iter::repeat_n('\n', missing));
            let room = end + 2 - start;
            let padding = room.saturating_sub(new.len());
            new.extend(std::iter::repeat_n(' ', padding));
            out.replace_range(start..end + 2, &new);
            from = start + new.len();
        } else {
            from = end + 2;
        }
    }
    (out, named)
}

/// The name that the declaration at the start of `text` declares: the last word
/// before what follows a declarator, template arguments and further attributes
/// left out.
fn declared(text: &str) -> Option<String> {
    let (mut name, mut depth) = (None, 0i32);
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c == '_' || c.is_ascii_alphanumeric();
        let len = match first {
            c if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |i| i + 2),
            '[' if rest.starts_with("[[") => rest.find("]]").map_or(rest.len(), |i| i + 2),
            ':' if rest.starts_with("::") => 2,
            other => other.len_utf8(),
        };
        match first {
            c if word(c) && depth == 0 => name = Some(rest[..len].to_owned()),
            '<' => depth += 1,
            '>' => depth -= 1,
            '[' | ':' | ';' | '=' | '{' | ',' if len == 1 && depth == 0 => return name,
            _ => {}
        }
        rest = rest[len..].trim_start();
    }
    None
}

struct List {
    /// Bytes up to the closing `]]`.
    len: usize,
    items: Vec<Item>,
}

struct Item {
    start: usize,
    end: usize,
    binds: bool,
    /// Binding and set of a `vk::binding` in plain numbers.
    numbers: Option<(u32, u32)>,
}

impl List {
    /// Reads up to the `]]` that closes the list that `rest` continues.
    fn read(rest: &str) -> Option<Self> {
        let mut items = Vec::new();
        let (mut depth, mut start) = (0usize, 0usize);
        for (i, c) in rest.char_indices() {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.checked_sub(1)?,
                ',' if depth == 0 => {
                    items.push(Item::new(rest, start, i));
                    start = i + 1;
                }
                ']' if depth == 0 => {
                    if !rest[i..].starts_with("]]") {
                        return None;
                    }
                    items.push(Item::new(rest, start, i));
                    return Some(Self { len: i, items });
                }
                // No attribute holds one of these.
                '[' | '{' | '}' | ';' => return None,
                _ => {}
            }
        }
        None
    }
}

impl Item {
    fn new(rest: &str, start: usize, end: usize) -> Self {
        let packed: String = rest[start..end].chars().filter(|c| !c.is_whitespace()).collect();
        let binds = ["vk::binding(", "vk::counter_binding("].iter().any(|a| packed.starts_with(a))
            || packed == "vk::combinedImageSampler";
        let args = packed.strip_prefix("vk::binding(").and_then(|s| s.strip_suffix(')'));
        let numbers = args.and_then(|args| {
            let (binding, set) = args.split_once(',').unwrap_or((args, "0"));
            Some((binding.parse().ok()?, set.parse().ok()?))
        });
        Self { start, end, binds, numbers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bindings_go_and_the_rest_stays_where_it_is() {
        let text = "[[vk::binding(3, (1 + 1))]] A a : register(t0); // é\n\
                    [[ vk :: counter_binding(4) ]]B b; int x[a[[0]]];\n[[vk::image_format(\"r32f\")]] C c;";
        let (blanked, named) = without_bindings(text);
        // `(1 + 1)` is no plain number.
        assert_eq!(named, []);
        insta::assert_snapshot!(blanked, @r#"
                                    A a : register(t0); // é
                                      B b; int x[a[[0]]];
        [[vk::image_format("r32f")]] C c;
        "#);
        assert_eq!(blanked.len(), text.len());
        let two = "x [[vk::binding(0),\nvk::image_format(\"r32f\")]]\ny";
        let (blanked, named) = without_bindings(two);
        assert_eq!(named, []);
        assert_eq!(blanked.lines().last(), Some("y"));
        assert_eq!(blanked.lines().count(), two.lines().count());
        assert!(blanked.contains("vk::image_format") && !blanked.contains("vk::binding"));
    }

    #[test]
    fn numbers_are_kept_by_the_name_they_stand_at() {
        let text =
            "[[vk::binding(3, 1)]] RWStructuredBuffer<vector<float, 4> > A[2] : register(u1);
            [[vk::binding(4)]] [[vk::image_format(\"r32f\")]] RWTexture2D<float> B;
            [[vk::binding(5), vk::counter_binding(6)]] // why
            globallycoherent RWStructuredBuffer<N::S> C;
            [[vk::binding(7)]] cbuffer D : register(b0) { float x; };
            [[vk::binding(N)]] Buffer<float> E;";
        let (_, named) = without_bindings(text);
        let named: Vec<_> = named.iter().map(|(n, at)| (n.as_str(), *at)).collect();
        assert_eq!(named, [("A", (3, 1)), ("B", (4, 0)), ("C", (5, 0)), ("D", (7, 0))]);
    }

    proptest! {
        #[test]
        fn lines_never_move(text in "(\\[\\[|\\]\\]|vk::binding\\(|\\)|,|\n|é| |x|\\[|\\(){0,24}") {
            let (blanked, _) = without_bindings(&text);
            prop_assert_eq!(blanked.matches('\n').count(), text.matches('\n').count());
        }
    }
}
