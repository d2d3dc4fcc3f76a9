//! Litmus programs at the level of events: the weak form of each must be reported,
//! its ordered twin must be silent.

mod script;

use script::*;
use wavefence_base::{AccessKind, CacheAction as A, Client, Level, ProfileName, Writer};

/// A program; true asks for the ordered twin.
type Litmus = fn(&mut Script, bool);

fn run(name: &str, program: Litmus, profiles: &[ProfileName]) {
    for &profile in profiles {
        for ordered in [false, true] {
            let mut s = Script::new(profile);
            program(&mut s, ordered);
            let errors = s.errors();
            assert_eq!(
                errors.is_empty(),
                ordered,
                "{name}, {profile}, ordered {ordered}: {errors:?}"
            );
        }
    }
}

fn two_queues(s: &mut Script) -> (W, W) {
    s.submit(CS1);
    s.submit(CS2);
    (s.dispatch(CS1), s.dispatch(CS2))
}

/// `from` tells `to` through `at` that its shaders' stores are there.
fn pass(s: &mut Script, from: W, to: W, at: u64) -> (W, W) {
    s.end(from);
    s.signal(from.q, at, Level::Accepted, &[]);
    s.wait(to.q, at);
    (s.dispatch(from.q), s.dispatch(to.q))
}

macro_rules! litmus {
    ($($name:ident on $profiles:expr => |$s:ident, $ordered:ident| $body:block)*) => {$(
        #[test]
        fn $name() {
            fn program($s: &mut Script, $ordered: bool) $body
            run(stringify!($name), program, $profiles);
        }
    )*};
}

const ALL: &[ProfileName] = &ProfileName::ALL;
const OLD: &[ProfileName] = &[ProfileName::XboxOne, ProfileName::XboxOneS, ProfileName::XboxOneX];
const NEW: &[ProfileName] = &[ProfileName::SeriesS, ProfileName::SeriesX];

litmus! {
    // Between queues.
    message_passing on ALL => |s, ordered| {
        let (a, mut b) = two_queues(s);
        s.write(a, X, 4);
        if ordered {
            b = pass(s, a, b, V).1;
        }
        s.read(b, X, 4);
    }
    message_passing_by_a_shaders_flag on ALL => |s, ordered| {
        // The flag is data too: without a wait it orders nothing.
        let (a, mut b) = two_queues(s);
        s.write(a, X, 4);
        s.atomic(a, Y);
        if ordered {
            b = pass(s, a, b, V).1;
        }
        s.atomic(b, Y);
        s.read(b, X, 4);
    }
    store_buffering on ALL => |s, ordered| {
        let (mut a, mut b) = two_queues(s);
        s.write(a, X, 4);
        s.write(b, Y, 4);
        if ordered {
            (a, b) = pass(s, a, b, V);
            (b, a) = pass(s, b, a, V2);
        }
        s.read(a, Y, 4);
        s.read(b, X, 4);
    }
    load_buffering on ALL => |s, ordered| {
        let (mut a, mut b) = two_queues(s);
        s.read(a, X, 4);
        s.read(b, Y, 4);
        if ordered {
            (a, b) = pass(s, a, b, V);
            (b, a) = pass(s, b, a, V2);
        }
        s.write(a, Y, 4);
        s.write(b, X, 4);
    }
    coherence_of_two_writes on ALL => |s, ordered| {
        let (a, mut b) = two_queues(s);
        s.write(a, X, 4);
        if ordered {
            b = pass(s, a, b, V).1;
        }
        s.write(b, X, 4);
    }
    coherence_of_two_reads on ALL => |s, ordered| {
        // The first read fills the line; the second must not see it again.
        let (a, mut b) = two_queues(s);
        s.read(b, X, 4);
        b = pass(s, b, a, V2).0;
        let mut a = s.dispatch(CS1);
        s.write(a, X, 4);
        (a, b) = pass(s, a, b, V);
        if ordered {
            s.flush(CS2, L1I);
            b = s.dispatch(CS2);
        }
        s.read(b, X, 4);
        s.end(a);
    }
    two_plus_two_writes on ALL => |s, ordered| {
        let (a, mut b) = two_queues(s);
        s.write(a, X, 4);
        s.write(a, Y, 4);
        if ordered {
            b = pass(s, a, b, V).1;
        }
        s.write(b, Y, 4);
        s.write(b, X, 4);
    }
    write_to_read_causality on ALL => |s, ordered| {
        // A writes X; B reads it and writes Y; the graphics queue reads both.
        s.submit(GFX);
        let (a, b) = two_queues(s);
        s.write(a, X, 4);
        let (_, b) = pass(s, a, b, V);
        s.read(b, X, 4);
        s.write(b, Y, 4);
        s.end(b);
        if ordered {
            s.signal(CS2, V2, Level::Accepted, &[]);
            s.wait(GFX, V2);
        } else {
            s.wait(GFX, V);
        }
        let g = s.dispatch(GFX);
        s.read(g, Y, 4);
        s.read(g, X, 4);
    }
    independent_reads_of_independent_writes on ALL => |s, ordered| {
        s.submit(GFX);
        s.submit(DMA);
        let (a, b) = two_queues(s);
        s.write(a, X, 4);
        s.write(b, Y, 4);
        s.end(a);
        s.end(b);
        s.signal(CS1, V, Level::Accepted, &[]);
        s.signal(CS2, V2, Level::Accepted, &[]);
        s.wait(GFX, V);
        if ordered {
            s.wait(GFX, V2);
        }
        let g = s.dispatch(GFX);
        s.read(g, X, 4);
        s.read(g, Y, 4);
    }
    a_wait_for_the_wrong_value on ALL => |s, ordered| {
        let (a, _) = two_queues(s);
        s.host_write(V2, 4);
        s.value(Writer::Host, None, V2);
        s.write(a, X, 4);
        s.end(a);
        s.signal(CS1, V, Level::Accepted, &[]);
        s.wait(CS2, if ordered { V } else { V2 });
        let b = s.dispatch(CS2);
        s.read(b, X, 4);
    }
    a_signal_before_the_dispatch on ALL => |s, ordered| {
        let (_, _) = two_queues(s);
        if !ordered {
            s.signal(CS1, V, Level::Confirmed, &[]);
        }
        let a = s.dispatch(CS1);
        s.write(a, X, 4);
        s.end(a);
        if ordered {
            s.signal(CS1, V, Level::Confirmed, &[]);
        }
        s.wait(CS2, V);
        let b = s.dispatch(CS2);
        s.read(b, X, 4);
    }
    a_bare_signal_for_reading on ALL => |s, ordered| {
        let (a, _) = two_queues(s);
        s.write(a, X, 4);
        s.end(a);
        if ordered {
            s.wait_shaders(CS1);
        }
        s.signal(CS1, V, Level::ShadersDone, &[]);
        s.wait(CS2, V);
        let b = s.dispatch(CS2);
        s.read(b, X, 4);
    }
    a_bare_signal_for_a_second_write on ALL => |s, ordered| {
        let (a, _) = two_queues(s);
        s.write(a, X, 4);
        s.end(a);
        s.signal(CS1, V, if ordered { Level::Confirmed } else { Level::ShadersDone }, &[]);
        s.wait(CS2, V);
        let b = s.dispatch(CS2);
        s.write(b, X, 4);
    }
    copies_between_queues on ALL => |s, ordered| {
        s.submit(CS1);
        s.submit(DMA);
        s.sdma_copy(Y, X, 64);
        s.sdma_fence(V);
        if ordered {
            s.wait(CS1, V);
        }
        let a = s.dispatch(CS1);
        s.read(a, X, 64);
    }

    // Within a queue.
    ping_pong on ALL => |s, ordered| {
        s.submit(CS1);
        for (from, to) in [(X, Y), (Y, X), (X, Y)] {
            let w = s.dispatch(CS1);
            s.read(w, from, 64);
            s.write(w, to, 64);
            s.end(w);
            s.wait_shaders(CS1);
            if ordered {
                s.flush(CS1, L1I);
            }
        }
    }
    in_place on ALL => |s, ordered| {
        s.submit(CS1);
        for _ in 0..2 {
            let w = s.dispatch(CS1);
            s.read(w, X, 64);
            s.write(w, X, 64);
            s.end(w);
            if ordered {
                s.wait_shaders(CS1);
                s.flush(CS1, L1I);
            }
        }
    }
    a_wait_that_is_not_reached on ALL => |s, ordered| {
        s.submit(CS1);
        let a = s.dispatch(CS1);
        s.write(a, X, 4);
        if ordered {
            s.wait_shaders(CS1);
        }
        let b = s.dispatch(CS1);
        s.write(b, X, 4);
        if !ordered {
            s.wait_shaders(CS1);
        }
    }
    predicates_and_arguments on NEW => |s, ordered| {
        s.submit(GFX);
        let a = s.dispatch(GFX);
        s.write(a, X, 12);
        s.end(a);
        s.wait_shaders(GFX);
        if ordered {
            s.sync_pfp();
        }
        let packet = s.arguments(X);
        s.launch(packet);
    }
    arguments_in_memory on OLD => |s, ordered| {
        s.submit(GFX);
        let a = s.dispatch(GFX);
        s.write(a, X, 12);
        s.end(a);
        s.wait_shaders(GFX);
        if ordered {
            s.flush(GFX, L2I);
        }
        s.sync_pfp();
        let packet = s.arguments(X);
        s.launch(packet);
    }
    arguments_of_a_compute_queue on OLD => |s, ordered| {
        s.submit(CS1);
        let a = s.dispatch(CS1);
        s.write(a, X, 12);
        s.end(a);
        s.wait_shaders(CS1);
        if ordered {
            s.flush(CS1, L2I);
        }
        s.engine_access(CS1, Client::IndirectArguments, AccessKind::Read, X, 12);
    }
    copied_arguments on NEW => |s, ordered| {
        s.submit(GFX);
        s.cp_dma(GFX, Client::CpDmaL2, Y, X, 12);
        if ordered {
            s.wait_dma(GFX);
        }
        s.sync_pfp();
        s.arguments(X);
    }
    data_packets_and_constants on ALL => |s, ordered| {
        s.submit(CS1);
        let a = s.dispatch(CS1);
        s.constants(a, X, 64);
        s.end(a);
        s.wait_shaders(CS1);
        s.engine_access(CS1, Client::CpDataL2, AccessKind::Write, X, 8);
        if ordered {
            s.flush(CS1, ki(s.profile()));
        }
        let b = s.dispatch(CS1);
        s.constants(b, X, 64);
    }
    data_packets_by_memory on OLD => |s, ordered| {
        s.submit(CS1);
        let a = s.dispatch(CS1);
        s.read(a, X, 64);
        s.end(a);
        s.wait_shaders(CS1);
        s.engine_access(CS1, Client::CpDataMemory, AccessKind::Write, X, 8);
        s.flush(CS1, if ordered { &[A::InvalidateL1, A::InvalidateL2] } else { L1I });
        let b = s.dispatch(CS1);
        s.read(b, X, 64);
    }
    new_code_at_an_old_place on ALL => |s, ordered| {
        s.submit(CS1);
        let a = s.dispatch(CS1);
        s.code(a, X, 256);
        s.end(a);
        s.wait_shaders(CS1);
        let b = s.dispatch(CS1);
        s.write(b, X, 256);
        s.end(b);
        s.wait_shaders(CS1);
        if ordered {
            s.flush(CS1, &[A::InvalidateL1, A::InvalidateI]);
        }
        let c = s.dispatch(CS1);
        s.code(c, X, 256);
    }

    // With the host.
    host_data_behind_a_submit on ALL => |s, ordered| {
        if ordered {
            s.host_write(X, 64);
        }
        s.submit(CS1);
        if !ordered {
            s.host_write(X, 64);
        }
        let a = s.dispatch(CS1);
        s.read(a, X, 64);
    }
    host_message_passing on ALL => |s, ordered| {
        s.submit(CS1);
        if ordered {
            s.host_write(X, 4);
        }
        s.host_write(V, 4);
        s.value(Writer::Host, None, V);
        if !ordered {
            s.host_write(X, 4);
        }
        s.wait(CS1, V);
        let a = s.dispatch(CS1);
        s.read(a, X, 4);
    }
    host_store_buffering on ALL => |s, ordered| {
        s.submit(CS1);
        let a = s.dispatch(CS1);
        s.write(a, X, 4);
        s.end(a);
        if ordered {
            s.done(CS1);
        }
        s.host_write(X, 4);
    }
    results_without_waiting on ALL => |s, ordered| {
        s.submit(CS1);
        let a = s.dispatch(CS1);
        s.write(a, X, 64);
        s.end(a);
        s.signal(CS1, V, Level::Confirmed, L2I);
        s.signal(CS1, V2, Level::Confirmed, L2I);
        if ordered {
            s.host_read(V2, 4);
        }
        s.host_read(X, 64);
    }
    a_ring_buffer_of_constants on ALL => |s, ordered| {
        // Two frames re-use one slot; the host has to wait for the first.
        for _ in 0..2 {
            s.host_write(X, 64);
            s.submit(CS1);
            s.start(CS1);
            let a = s.dispatch(CS1);
            s.constants(a, X, 64);
            s.end(a);
            if ordered {
                s.done(CS1);
            }
        }
    }

    // Within a dispatch.
    groups_by_plain_stores on ALL => |s, ordered| {
        s.submit(CS1);
        let w = s.dispatch(CS1);
        s.write(w, X, 4);
        if ordered {
            s.end(w);
            s.wait_shaders(CS1);
            let w = s.dispatch(CS1);
            s.read(w.group(1), X, 4);
        } else {
            s.read(w.group(1), X, 4);
        }
    }
    groups_by_atomics on ALL => |s, ordered| {
        s.submit(CS1);
        let w = s.dispatch(CS1);
        if ordered { s.atomic(w, X) } else { s.write(w, X, 4) };
        s.atomic(w.group(1), X);
    }
    groups_by_a_flag on ALL => |s, ordered| {
        s.submit(CS1);
        let w = s.dispatch(CS1);
        s.write(w, X, 4);
        if ordered {
            s.fence(w);
        }
        s.atomic(w, V);
        s.atomic(w.group(1), V);
        s.fence(w.group(1));
        s.read(w.group(1), X, 4);
    }
    a_chain_of_groups on ALL => |s, ordered| {
        // Each group passes its sum on: the carry is read without the caches or not.
        s.submit(CS1);
        let w = s.dispatch(CS1);
        for group in 0..4 {
            let g = w.group(group);
            // Something else in the line that the carries are in.
            s.read(g, X + 32, 4);
            if group > 0 {
                let at = 4 * u64::from(group - 1);
                s.atomic(g, V + at);
                if ordered {
                    s.coherent_read(g, X + at, 4);
                } else {
                    s.read(g, X + at, 4);
                }
            }
            let at = 4 * u64::from(group);
            s.write(g, X + at, 4);
            s.fence(g);
            s.atomic(g, V + at);
        }
    }
    waves_by_a_barrier on ALL => |s, ordered| {
        s.submit(CS1);
        let w = s.dispatch(CS1);
        s.write(w, X, 256);
        s.read(w.wave(1).barrier(u32::from(ordered)), X, 256);
    }
    waves_that_exchange on ALL => |s, ordered| {
        s.submit(CS1);
        let w = s.dispatch(CS1);
        for wave in 0..2 {
            s.write(w.wave(wave), X + 256 * u64::from(wave), 256);
        }
        for wave in 0..2 {
            s.read(w.wave(wave).barrier(1), X + 256 * u64::from(1 - wave), 256);
        }
        // The next round overwrites: it needs a barrier of its own.
        for wave in 0..2 {
            let w = w.wave(wave).barrier(if ordered { 2 } else { 1 });
            s.write(w, X + 256 * u64::from(wave), 256);
        }
    }
}
