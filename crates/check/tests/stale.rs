//! Stale reads, cache by cache, and the flush that is missing, too early, too narrow
//! or on another cache.

mod script;

use script::*;
use wavefence_base::{
    CacheAction as A, CacheClass, Client, GpuAddress, GpuRange, Level, ProfileName, Verdict,
};
use wavefence_check::Miss;

const ALL: [ProfileName; 5] = ProfileName::ALL;

fn none() -> Vec<String> {
    Vec::new()
}

/// Dispatch A reads X, B writes it, C reads it; between them what `mend` does.
fn reread(profile: ProfileName, read: Read, mend: &[&dyn Fn(&mut Script)]) -> Script {
    let mut s = Script::new(profile);
    s.submit(CS1);
    let a = s.dispatch(CS1);
    read(&mut s, a);
    s.end(a);
    s.wait_shaders(CS1);
    let b = s.dispatch(CS1);
    s.write(b, X, 256);
    s.end(b);
    for step in mend {
        step(&mut s);
    }
    let c = s.dispatch(CS1);
    read(&mut s, c);
    s
}

type Read = fn(&mut Script, W) -> u64;

fn vector(s: &mut Script, w: W) -> u64 {
    s.read(w, X, 256)
}

fn scalar(s: &mut Script, w: W) -> u64 {
    s.constants(w, X, 256)
}

fn code(s: &mut Script, w: W) -> u64 {
    s.code(w, X, 256)
}

fn wait(s: &mut Script) {
    s.wait_shaders(CS1);
}

fn l1i(s: &mut Script) {
    s.flush(CS1, L1I);
}

#[test]
fn vector_reads_need_the_vector_caches_invalidated() {
    for profile in ALL {
        let s = reread(profile, vector, &[&wait, &l1i]);
        assert_eq!((s.errors(), s.advice()), (none(), none()), "{profile}");
        let s = reread(profile, vector, &[&wait]);
        let near = match profile {
            ProfileName::SeriesS | ProfileName::SeriesX => "vector L0 and GL1",
            _ => "vector L1",
        };
        assert_eq!(s.errors(), [format!("possible stale-vector-cache: invalidate {near}")]);
        let h = &s.hazards()[0];
        assert_eq!(h.held.unwrap().class, CacheClass::Vector);
        assert_eq!(h.held.unwrap().since.dispatch.unwrap().0, 0);
    }
}

#[test]
fn a_cold_cache_is_silent() {
    for profile in ALL {
        for read in [vector as Read, scalar, code] {
            let mut s = Script::new(profile);
            s.submit(CS1);
            let b = s.dispatch(CS1);
            s.write(b, X, 256);
            s.end(b);
            s.wait_shaders(CS1);
            let c = s.dispatch(CS1);
            read(&mut s, c);
            assert_eq!(s.errors(), none(), "{profile}");
        }
    }
}

#[test]
fn the_same_line_counts_not_the_same_bytes() {
    for profile in ALL {
        let long = matches!(profile, ProfileName::SeriesS | ProfileName::SeriesX);
        for (at, stale) in [(X + 32, true), (X + 64, long), (X + 128, false)] {
            let mut s = Script::new(profile);
            s.submit(CS1);
            let a = s.dispatch(CS1);
            s.read(a, at, 4);
            s.end(a);
            let b = s.dispatch(CS1);
            s.write(b, X, 4);
            s.end(b);
            s.wait_shaders(CS1);
            let c = s.dispatch(CS1);
            s.read(c, X, 4);
            assert_eq!(!s.errors().is_empty(), stale, "{profile} {at:#x}");
        }
    }
}

#[test]
fn constants_need_the_scalar_cache_invalidated() {
    for profile in ALL {
        let k = |s: &mut Script| {
            s.flush(CS1, ki(profile));
        };
        let s = reread(profile, scalar, &[&wait, &k]);
        assert_eq!((s.errors(), s.advice()), (none(), none()), "{profile}");
        // The trap of the default flush: L1 and L2, and no K$.
        let default = |s: &mut Script| {
            s.flush(CS1, &[A::InvalidateL1, A::InvalidateL2]);
        };
        let s = reread(profile, scalar, &[&wait, &default]);
        assert_eq!(s.errors(), ["possible stale-scalar-cache: invalidate K$"], "{profile}");
        let h = &s.hazards()[0];
        assert!(matches!(h.misses[..], [Miss::WrongCache { .. }]), "{:?}", h.misses);
    }
}

#[test]
fn gl1_goes_with_the_scalar_cache_on_series() {
    let only_k = |s: &mut Script| {
        s.flush(CS1, &[A::InvalidateK]);
    };
    let s = reread(ProfileName::SeriesX, scalar, &[&wait, &only_k]);
    assert_eq!(s.errors(), ["possible stale-scalar-cache: invalidate GL1"]);
    let s = reread(ProfileName::XboxOneX, scalar, &[&wait, &only_k]);
    assert_eq!(s.errors(), none());
}

#[test]
fn code_needs_the_instruction_cache_invalidated() {
    for profile in ALL {
        let i = |s: &mut Script| {
            let gfx10 = matches!(profile, ProfileName::SeriesS | ProfileName::SeriesX);
            s.flush(CS1, if gfx10 { &[A::InvalidateGl1, A::InvalidateI] } else { II });
        };
        assert_eq!(reread(profile, code, &[&wait, &i]).errors(), none(), "{profile}");
        let s = reread(profile, code, &[&wait, &l1i]);
        assert_eq!(s.errors(), ["possible stale-instruction-cache: invalidate I$"]);
    }
}

#[test]
fn an_invalidate_before_the_wait_is_too_early() {
    let s = reread(ProfileName::SeriesX, vector, &[&l1i, &wait]);
    assert_eq!(s.errors(), ["possible flush-order: wait for shaders"]);
    let h = &s.hazards()[0];
    assert!(matches!(h.misses[0], Miss::TooEarly { action: A::InvalidateL1, .. }));
}

#[test]
fn an_invalidate_on_another_queue_helps_only_behind_a_wait() {
    for signal in [false, true] {
        let mut s = Script::new(ProfileName::XboxOneX);
        s.submit(CS1);
        s.submit(CS2);
        let a = s.dispatch(CS2);
        s.read(a, X, 64);
        s.end(a);
        s.signal(CS2, V2, Level::Accepted, &[]);
        s.wait(CS1, V2);
        let b = s.dispatch(CS1);
        s.write(b, X, 64);
        s.end(b);
        s.wait_shaders(CS1);
        s.signal(CS1, V, Level::Accepted, &[]);
        s.wait(CS2, V);
        s.flush(CS1, L1I);
        if signal {
            s.signal(CS1, V, Level::Accepted, &[]);
            s.wait(CS2, V);
        }
        let c = s.dispatch(CS2);
        s.read(c, X, 64);
        let expected =
            if signal { none() } else { vec!["possible flush-order: invalidate vector L1".into()] };
        assert_eq!(s.errors(), expected);
    }
}

#[test]
fn a_range_that_is_too_small_is_named() {
    for (size, ok) in [(0x100, false), (0x200, true), (0x180, true)] {
        let flush = |s: &mut Script| {
            let range = GpuRange::new(GpuAddress(X), size);
            s.flush_range(CS1, L1I, Some(range));
        };
        let mut s = Script::new(ProfileName::SeriesX);
        s.submit(CS1);
        let a = s.dispatch(CS1);
        s.read(a, X, 512);
        s.end(a);
        s.wait_shaders(CS1);
        let b = s.dispatch(CS1);
        s.write(b, X, 512);
        s.end(b);
        s.wait_shaders(CS1);
        flush(&mut s);
        let c = s.dispatch(CS1);
        s.read(c, X, 512);
        if ok {
            assert_eq!(s.errors(), none());
        } else {
            let errors = s.errors();
            assert!(errors.len() == 1 && errors[0].starts_with("possible flush-range: widen"));
            let span = s.hazards()[0].span.unwrap();
            assert_eq!((span.start.0, span.len), (X + 0x100, 0x100));
        }
    }
}

#[test]
fn a_hit_on_old_bytes_is_proven_and_one_on_new_bytes_possible() {
    for (old, verdict) in [(true, Verdict::Proven), (false, Verdict::Possible)] {
        let mut s = Script::new(ProfileName::XboxOne);
        s.submit(CS1);
        let a = s.dispatch(CS1);
        let filled = s.read(a, X, 64);
        s.end(a);
        s.wait_shaders(CS1);
        let b = s.dispatch(CS1);
        s.write(b, X, 64);
        s.end(b);
        s.wait_shaders(CS1);
        let c = s.dispatch(CS1);
        if old {
            s.as_of = Some(filled);
        }
        s.read(c, X, 64);
        assert_eq!(s.hazards()[0].verdict, verdict);
    }
}

#[test]
fn copies_beside_l2_need_l2_invalidated_and_the_caches_above_it() {
    // Rows 25 and 21: SDMA and CP DMA by memory.
    for profile in ALL {
        for (actions, expected) in [
            (&[A::InvalidateL1, A::InvalidateL2][..], vec![]),
            (&[A::InvalidateL1][..], vec!["possible stale-l2: invalidate L2"]),
            (&[A::InvalidateL2][..], vec!["stale-vector-cache"]),
            (&[][..], vec!["possible stale-l2: invalidate L2", "stale-vector-cache"]),
        ] {
            let mut s = Script::new(profile);
            s.submit(CS1);
            s.submit(DMA);
            let a = s.dispatch(CS1);
            s.read(a, X, 64);
            s.end(a);
            s.signal(CS1, V, Level::Accepted, &[]);
            s.wait(DMA, V);
            s.sdma_copy(Y, X, 64);
            s.sdma_fence(V2);
            s.wait(CS1, V2);
            if !actions.is_empty() {
                s.flush(CS1, actions);
            }
            let b = s.dispatch(CS1);
            s.read(b, X, 64);
            let errors = s.errors();
            assert_eq!(errors.len(), expected.len(), "{profile} {actions:?} {errors:?}");
            for (error, want) in errors.iter().zip(&expected) {
                assert!(error.contains(want), "{profile} {error} {want}");
            }
            if expected.is_empty() {
                assert_eq!(s.advice(), none(), "{profile}");
            }
        }
    }
}

#[test]
fn l1_filled_again_from_a_stale_l2_is_stale() {
    let mut s = Script::new(ProfileName::XboxOneX);
    s.submit(CS1);
    s.submit(DMA);
    let a = s.dispatch(CS1);
    s.read(a, X, 64);
    s.end(a);
    s.signal(CS1, V, Level::Accepted, &[]);
    s.wait(DMA, V);
    s.sdma_copy(Y, X, 64);
    s.sdma_fence(V2);
    s.wait(CS1, V2);
    s.flush(CS1, L1I);
    s.flush(CS1, L2I);
    let b = s.dispatch(CS1);
    s.read(b, X, 64);
    assert_eq!(s.errors(), ["possible stale-vector-cache: invalidate vector L1"]);
}

#[test]
fn a_copy_through_l2_needs_only_the_near_caches() {
    for (flush, expected) in [
        (Some(L1I), none()),
        (None, vec!["possible stale-vector-cache: invalidate vector L1".to_owned()]),
    ] {
        let mut s = Script::new(ProfileName::XboxOne);
        s.submit(GFX);
        let a = s.dispatch(GFX);
        s.read(a, X, 64);
        s.end(a);
        s.wait_shaders(GFX);
        s.cp_dma(GFX, Client::CpDmaL2, Y, X, 64);
        s.wait_dma(GFX);
        if let Some(flush) = flush {
            s.flush(GFX, flush);
        }
        let b = s.dispatch(GFX);
        s.read(b, X, 64);
        assert_eq!(s.errors(), expected);
        assert_eq!(s.advice(), none());
    }
}

#[test]
fn host_writes_need_the_boundary_or_a_flush() {
    for profile in ALL {
        for boundary in [false, true] {
            let mut s = Script::new(profile);
            s.host_write(X, 64);
            s.submit(CS1);
            let a = s.dispatch(CS1);
            s.constants(a, X, 64);
            s.end(a);
            s.done(CS1);
            s.host_write(X, 64);
            s.submit(CS1);
            if boundary {
                s.start(CS1);
            }
            let b = s.dispatch(CS1);
            s.constants(b, X, 64);
            let errors = s.errors();
            if boundary {
                // On Series GL1 belongs to the L1 invalidate of the boundary.
                assert_eq!(errors, none(), "{profile}");
            } else {
                assert_eq!(errors.len(), 2, "{profile} {errors:?}");
                assert!(errors[0].contains("stale-l2") && errors[1].contains("stale-scalar"));
            }
            assert_eq!(s.advice(), none());
        }
    }
}

#[test]
fn caches_cleaned_before_the_write_cannot_be_stale() {
    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(CS1);
    let a = s.dispatch(CS1);
    s.read(a, X, 64);
    s.end(a);
    s.wait_shaders(CS1);
    s.flush(CS1, L1I);
    let b = s.dispatch(CS1);
    s.write(b, X, 64);
    s.end(b);
    s.wait_shaders(CS1);
    let c = s.dispatch(CS1);
    s.read(c, X, 64);
    assert_eq!((s.errors(), s.advice()), (none(), none()));
}

#[test]
fn coherent_reads_pass_the_near_caches() {
    let read = |s: &mut Script, w: W| s.coherent_read(w, X, 256);
    let s = reread(ProfileName::SeriesX, read, &[&wait]);
    assert_eq!(s.errors(), none());
}

#[test]
fn every_extra_element_is_named_and_no_other() {
    for profile in ALL {
        let gfx10 = matches!(profile, ProfileName::SeriesS | ProfileName::SeriesX);
        let mut extras = vec![A::InvalidateK, A::InvalidateI, A::InvalidateL2];
        if profile != ProfileName::XboxOne && profile != ProfileName::XboxOneS {
            extras.push(A::WritebackL2);
        }
        for extra in extras {
            let both = |s: &mut Script| {
                s.flush(CS1, &[A::InvalidateL1, extra]);
            };
            let s = reread(profile, vector, &[&wait, &both]);
            assert_eq!(s.errors(), none());
            let advice = s.advice();
            assert_eq!(advice.len(), 1, "{profile} {advice:?}");
            let h = &s.hazards()[0];
            assert_eq!(h.element.unwrap().2, wavefence_check::Element::Cache(extra));
            assert_eq!(h.rule.name, "flush-redundant");
        }
        let twice = |s: &mut Script| {
            s.wait_shaders(CS1);
        };
        let s = reread(profile, vector, &[&wait, &twice, &l1i]);
        assert_eq!(s.advice(), ["advice flush-redundant: leave the wait for shaders out"]);
        // The first one counts.
        let s = reread(profile, vector, &[&wait, &l1i, &l1i]);
        assert_eq!(s.advice().len(), 1);
        let element = s.hazards()[0].element.unwrap();
        assert!(element.1.0 > 0x1_0040, "the second is redundant: {element:?}");
        let volatile = |s: &mut Script| {
            s.flush(CS1, &[A::InvalidateL2Volatile]);
        };
        let s = reread(profile, vector, &[&wait, &l1i, &volatile]);
        assert_eq!(s.advice().len(), usize::from(!gfx10), "{profile}");
    }
}

#[test]
fn an_invalidate_of_l2_where_a_write_back_would_do() {
    for (profile, advice) in [
        (ProfileName::XboxOne, none()),
        (
            ProfileName::XboxOneX,
            vec![
                "advice flush-over-wide: put a write-back of L2 in the place of the write-back \
                 and invalidate of L2"
                    .to_owned(),
            ],
        ),
    ] {
        let mut s = Script::new(profile);
        s.submit(GFX);
        let a = s.dispatch(GFX);
        s.write(a, X, 12);
        s.end(a);
        s.wait_shaders(GFX);
        s.flush(GFX, L2I);
        s.sync_pfp();
        s.arguments(X);
        assert_eq!((s.errors(), s.advice()), (none(), advice));
    }
}

#[test]
fn compute_queues_have_no_colour_blocks() {
    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(CS1);
    s.flush(CS1, &[A::FlushColorData]);
    assert_eq!(s.advice(), ["advice flush-no-effect: leave the flush of colour data out"]);
    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(GFX);
    s.flush(GFX, &[A::FlushColorData]);
    assert_eq!(s.advice(), none());
}
