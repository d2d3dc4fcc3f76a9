//! Order inside one dispatch: groups, waves, barriers, atomics, coherent accesses.

mod script;

use script::*;
use wavefence_base::{GpuAddress, GpuRange, ProfileName};

fn none() -> Vec<String> {
    Vec::new()
}

fn script() -> (Script, W) {
    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(CS1);
    let w = s.dispatch(CS1);
    (s, w)
}

#[test]
fn groups_race_and_one_wave_does_not() {
    let (mut s, w) = script();
    s.write(w, X, 256);
    s.read(w, X, 256);
    s.write(w, X, 256);
    assert_eq!(s.errors(), none());
    s.read(w.group(1), X + 16, 4);
    let split = "make both accesses atomic, or split the dispatch in two";
    assert_eq!(s.errors(), [format!("possible race-dispatch: {split}")]);
}

#[test]
fn a_group_that_overwrites_what_several_read() {
    for reader in [0, 1, 2] {
        let (mut s, w) = script();
        s.read(w, X, 4);
        s.read(w.group(1), X, 4);
        s.write(w.group(reader), X, 4);
        assert_eq!(s.errors().len(), 1, "group {reader}");
    }
}

#[test]
fn waves_of_a_group_need_a_barrier() {
    for barrier in [false, true] {
        let (mut s, w) = script();
        s.write(w, X, 4);
        let later = w.wave(1).barrier(u32::from(barrier));
        s.read(later, X, 4);
        let expected = if barrier {
            none()
        } else {
            vec!["possible race-dispatch: put a group barrier between the two".into()]
        };
        assert_eq!(s.errors(), expected);
    }
}

#[test]
fn all_waves_read_then_one_writes_behind_a_barrier() {
    for barrier in [false, true] {
        let (mut s, w) = script();
        for wave in 0..4 {
            s.read(w.wave(wave), X, 64);
        }
        s.write(w.wave(0).barrier(u32::from(barrier)), X, 64);
        assert_eq!(s.errors().is_empty(), barrier);
    }
}

#[test]
fn bytes_of_one_dword_are_not_each_other() {
    let (mut s, w) = script();
    for group in 0..4 {
        s.write(w.group(group), X + u64::from(group), 1);
    }
    assert_eq!(s.errors(), none());
    s.read(w.group(1), X + 1, 1);
    assert_eq!(s.errors(), none());
    s.read(w.group(1), X, 4);
    assert_eq!(s.errors().len(), 1);
}

#[test]
fn a_whole_write_takes_the_bytes_together_again() {
    let (mut s, w) = script();
    s.write(w, X + 1, 2);
    s.write(w, X, 4);
    s.read(w, X + 3, 1);
    assert_eq!(s.errors(), none());
    s.write(w.group(1), X + 3, 1);
    assert_eq!(s.errors().len(), 1);
}

/// Group 0 writes data and a flag, group 1 reads the flag and the data.
fn message(release: bool, acquire: bool, coherent: bool) -> Vec<String> {
    let (mut s, w) = script();
    let r = w.group(1);
    // The reader's cache may hold the line.
    s.read(r, X + 64, 4);
    s.write(w, X, 4);
    if release {
        s.fence(w);
    }
    s.atomic(w, V);
    s.atomic(r, V);
    if acquire {
        s.fence(r);
    }
    if coherent {
        s.coherent_read(r, X, 4)
    } else {
        s.read(r, X, 4)
    };
    s.errors()
}

#[test]
fn message_passing_between_groups() {
    assert_eq!(message(true, true, false), none());
    assert_eq!(message(true, false, true), none());
    assert_eq!(message(false, true, false).len(), 1);
    let plain = message(true, false, false);
    assert!(plain.len() == 1 && plain[0].contains("stale-vector-cache"), "{plain:?}");
}

#[test]
fn a_flag_that_was_not_read_orders_nothing() {
    let (mut s, w) = script();
    s.write(w, X, 4);
    s.fence(w);
    s.atomic(w, V);
    s.fence(w.group(1));
    s.read(w.group(1), X, 4);
    assert_eq!(s.errors().len(), 1);
}

#[test]
fn memory_that_nothing_wrote() {
    for filled in [false, true] {
        let (mut s, w) = script();
        s.checker.allocated(GpuRange::new(GpuAddress(X), 256), filled);
        s.write(w, X, 4);
        s.read(w, X, 4);
        assert_eq!(s.errors(), none());
        s.read(w, X + 4, 4);
        let expected = if filled {
            none()
        } else {
            vec!["proven uninitialised-read: write the memory first".into()]
        };
        assert_eq!(s.errors(), expected);
    }
}

#[test]
fn memory_freed_under_a_running_dispatch() {
    for done in [false, true] {
        let (mut s, w) = script();
        s.read(w, X, 4);
        s.end(w);
        if done {
            s.done(CS1);
        }
        s.checker.freed(GpuRange::new(GpuAddress(X), 0x1000));
        assert_eq!(s.errors().is_empty(), done);
        if !done {
            assert!(s.errors()[0].contains("freed-memory"));
        }
    }
}
