//! Accesses that cross lines and pages, and random ones against a plain model.

mod script;

use proptest::prelude::*;
use script::*;
use wavefence_base::ProfileName;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Two groups of one dispatch write and read byte ranges: a hazard is found
    /// exactly where a byte is touched by both and written by one.
    #[test]
    fn bytes_of_two_groups(
        list in prop::collection::vec((0u32..2, any::<bool>(), 4080u64..4120, 1u32..40), 1..12)
    ) {
        let mut s = Script::new(ProfileName::XboxOne);
        s.submit(CS1);
        let w = s.dispatch(CS1);
        let mut touched: Vec<(u32, bool, u64, u64)> = Vec::new();
        let mut races = false;
        for (group, write, at, len) in list {
            let (start, end) = (at, at + u64::from(len));
            races |= touched.iter().any(|&(g, wrote, a, b)| {
                g != group && (wrote || write) && a < end && start < b
            });
            touched.push((group, write, start, end));
            let w = w.group(group);
            if write { s.write(w, X + at, len) } else { s.read(w, X + at, len) };
            prop_assert_eq!(!s.errors().is_empty(), races);
        }
    }
}

#[test]
fn one_access_over_many_pages() {
    let mut s = Script::new(ProfileName::XboxOne);
    s.submit(CS1);
    s.host_write(X, 5 * 4096);
    let w = s.dispatch(CS1);
    s.write(w, X + 100, 3 * 4096);
    s.read(w.group(1), X + 3 * 4096, 4);
    assert_eq!(s.errors().len(), 2, "the host's write came after the submit: {:?}", s.errors());
    s.read(w.group(1), X + 4 * 4096, 4);
    assert_eq!(s.errors().len(), 2);
}
