//! Blanks the attributes that bind resources by Vulkan numbers.
//!
//! Direct3D binds by register and ignores `[[vk::binding(…)]]`; DXC's SPIR-V
//! writer lets it win, without our shifts. So it goes, character by character
//! replaced with a space: places of everything else stay.

/// `text` without `vk::binding` and `vk::counter_binding` attributes.
pub(crate) fn without_bindings(text: &str) -> String {
    let mut out = text.to_owned();
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
    out
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
        let binds =
            packed.starts_with("vk::binding(") || packed.starts_with("vk::counter_binding(");
        Self { start, end, binds }
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
        let blanked = without_bindings(text);
        insta::assert_snapshot!(blanked, @r#"
                                    A a : register(t0); // é
                                      B b; int x[a[[0]]];
        [[vk::image_format("r32f")]] C c;
        "#);
        assert_eq!(blanked.len(), text.len());
        let two = "x [[vk::binding(0),\nvk::image_format(\"r32f\")]]\ny";
        let blanked = without_bindings(two);
        assert_eq!(blanked.lines().last(), Some("y"));
        assert_eq!(blanked.lines().count(), two.lines().count());
        assert!(blanked.contains("vk::image_format") && !blanked.contains("vk::binding"));
    }

    proptest! {
        #[test]
        fn lines_never_move(text in "(\\[\\[|\\]\\]|vk::binding\\(|\\)|,|\n|é| |x|\\[|\\(){0,24}") {
            let blanked = without_bindings(&text);
            prop_assert_eq!(blanked.matches('\n').count(), text.matches('\n').count());
        }
    }
}
