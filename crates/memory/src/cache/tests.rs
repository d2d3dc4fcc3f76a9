use super::*;
use proptest::prelude::*;
use wavefence_base::{CacheClass, Confidence, Marked, Sharing, WritePolicy};

fn cache(bytes: u64, line: u32, ways: u32) -> Cache {
    fn marked<T>(value: T) -> Marked<T> {
        Marked { value, confidence: Confidence::Assumed }
    }
    Cache::new(&CacheShape {
        class: CacheClass::L2,
        bytes: marked(bytes),
        line: marked(line),
        ways: marked(ways),
        sharing: marked(Sharing::Device),
        writes: WritePolicy::WriteBack,
    })
}

/// A cache as a list per set, the last used at the end.
#[derive(Default)]
struct Lru(Vec<Vec<u64>>);

impl Lru {
    fn new(sets: usize) -> Self {
        Self(vec![Vec::new(); sets])
    }

    fn set(&mut self, number: u64) -> &mut Vec<u64> {
        let n = self.0.len() as u64;
        &mut self.0[(number % n) as usize]
    }

    fn find(&mut self, number: u64) -> bool {
        let set = self.set(number);
        let Some(at) = set.iter().position(|&n| n == number) else { return false };
        set.remove(at);
        set.push(number);
        true
    }

    fn victim(&mut self, number: u64, ways: usize) -> Option<u64> {
        let set = self.set(number);
        (set.len() == ways).then(|| set[0])
    }

    fn all(&self) -> Vec<u64> {
        let mut all = self.0.concat();
        all.sort_unstable();
        all
    }
}

fn present(c: &Cache) -> Vec<u64> {
    let mut all: Vec<u64> = c.slots().map(|s| c.line(s).number).collect();
    all.sort_unstable();
    all
}

proptest! {
    /// Against the list: the same lines, the same victims, and the same bytes.
    #[test]
    fn the_least_recently_used_line_goes(
        ways in 1..5u32, sets in 1..6u64,
        steps in proptest::collection::vec((0..9u8, 0..40u64, any::<u8>()), 1..200),
    ) {
        let mut c = cache(sets * u64::from(ways) * 64, 64, ways);
        let mut model = Lru::new(sets as usize);
        let mut bytes = std::collections::BTreeMap::new();
        for (kind, number, value) in steps {
            match kind {
                0 => {
                    prop_assert_eq!(c.drop_all(), model.all().len() as u64);
                    model = Lru::new(sets as usize);
                }
                1 => {
                    if let Some(slot) = c.peek(number) {
                        c.drop_slot(slot);
                    }
                    model.set(number).retain(|&n| n != number);
                }
                2 => {
                    let found = c.slots_in(64 * number + 63, 64 * number + 129);
                    let mut found: Vec<u64> = found.iter().map(|&s| c.line(s).number).collect();
                    found.sort_unstable();
                    let want = number..=number + 2;
                    let want: Vec<u64> =
                        model.all().into_iter().filter(|n| want.contains(n)).collect();
                    prop_assert_eq!(found, want);
                }
                _ => {
                    let found = c.find(number);
                    prop_assert_eq!(found.is_some(), model.find(number));
                    if let Some(slot) = found {
                        prop_assert_eq!(c.bytes(slot)[5], bytes[&number]);
                        continue;
                    }
                    let victim = c.victim(number).map(|s| c.line(s).number);
                    let want = model.victim(number, ways as usize);
                    prop_assert_eq!(victim, want);
                    let set = model.set(number);
                    set.retain(|&n| Some(n) != want);
                    set.push(number);
                    let slot = c.place(number, 1);
                    prop_assert_eq!(c.line(slot).valid, 0);
                    c.set(slot, span(5, 1), &[value; 64], &[]);
                    bytes.insert(number, value);
                }
            }
            prop_assert_eq!(present(&c), model.all());
            prop_assert_eq!(c.live(), model.all().len() as u64);
        }
    }

    #[test]
    fn runs_give_the_mask_back(mask in any::<u128>()) {
        let mut again = 0;
        let mut last = None;
        for (at, len) in runs(mask) {
            prop_assert!(last.is_none_or(|end| at > end));
            again |= span(at as u32, len as u32);
            last = Some(at + len);
        }
        prop_assert_eq!(again, mask);
    }
}

#[test]
fn masks_at_the_edges() {
    assert_eq!((span(0, 128), span(127, 1), span(3, 0)), (u128::MAX, 1 << 127, 0));
    assert_eq!(runs(u128::MAX).collect::<Vec<_>>(), [(0, 128)]);
    let mut to = [0; 4];
    copy_masked(&mut to, 0b0101, &[1, 2, 3, 4]);
    assert_eq!(to, [1, 0, 3, 0]);
}

#[test]
fn nothing_is_made_before_it_is_touched() {
    let mut c = cache(5 << 20, 128, 16);
    assert_eq!((c.find(3), c.victim(3), c.drop_all()), (None, None, 0));
    assert!(c.tags.is_empty() && c.data.is_empty());
    c.place(3, 1);
    assert_eq!(c.data.len(), 128);
}

/// Dropping everything is a step of a counter; when it ends the tags are cleared.
#[test]
fn generations_come_round() {
    let mut c = cache(64 * 8, 64, 2);
    for _ in 0..2 {
        c.place(1, 1);
        c.generation = GENERATIONS - 1;
        c.tags[2] = c.tag(1);
        assert_eq!(c.drop_all(), 1);
        assert_eq!((c.generation, c.find(1)), (1, None));
    }
}

/// Dirty lines are listed once each, dropped ones not at all.
#[test]
fn dirty_lines_are_listed_once() {
    let mut c = cache(64 * 64, 64, 4);
    for round in 0..200u64 {
        let number = round % 70;
        if let Some(victim) = c.victim(number) {
            c.clean(victim);
        }
        let slot = c.find(number).unwrap_or_else(|| c.place(number, 1));
        c.soil(slot, 1);
        if round % 3 == 0 {
            c.clean(slot);
            c.soil(slot, 2);
        }
        if round % 7 == 0 {
            c.drop_slot(slot);
        }
    }
    let want: Vec<u32> = c.slots().filter(|&s| c.line(s).dirty != 0).map(|s| s as u32).collect();
    assert_eq!(c.take_dirty(), want);
    assert!(c.dirty.is_empty());
}

#[test]
fn stamps_follow_the_bytes() {
    let mut c = cache(64 * 8, 64, 2);
    let slot = c.place(1, 4);
    assert!(c.stamps(slot).is_empty());
    c.keep_stamps(true);
    assert_eq!(c.stamps(slot), [4; 16]);
    c.stamp(slot, span(7, 2), 9);
    assert_eq!(c.stamps(slot)[..4], [4, 9, 9, 4]);
    let all: Vec<u64> = (20..36).collect();
    c.set(slot, span(60, 4), &[0; 64], &all);
    assert_eq!(c.stamps(slot)[14..], [4, 35]);
    let next = c.place(2, 5);
    c.set(next, u128::MAX >> 64, &[0; 64], &all);
    assert_eq!(c.stamps(next)[3], 23);
}
