//! Order between commands of a queue, between queues, and with the host: each case
//! that must report has a twin that must not.

mod script;

use script::*;
use wavefence_base::{CacheAction, Client, Level, ProfileName};

const ALL: [ProfileName; 5] = ProfileName::ALL;

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn read_after_write_needs_a_wait() {
    for profile in ALL {
        for wait in [false, true] {
            let mut s = Script::new(profile);
            s.submit(CS1);
            let a = s.dispatch(CS1);
            s.write(a, X, 256);
            if wait {
                s.end(a);
                s.wait_shaders(CS1);
            }
            let b = s.dispatch(CS1);
            s.read(b, X, 256);
            let expected =
                if wait { none() } else { vec!["possible race-queue: wait for shaders".into()] };
            assert_eq!(s.errors(), expected, "{profile}");
        }
    }
}

#[test]
fn a_read_that_ran_before_the_earlier_write_is_proven() {
    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(CS1);
    let a = s.dispatch(CS1);
    let b = s.dispatch(CS1);
    s.read(b, X, 4);
    s.write(a, X, 4);
    assert_eq!(s.errors(), ["proven race-queue: wait for shaders"]);
    let h = &s.hazards()[0];
    assert_eq!(h.producer.unwrap().dispatch, Some(a.d));
    assert_eq!(h.consumer.unwrap().dispatch, Some(b.d));
}

#[test]
fn write_after_read_and_write_after_write_need_a_wait() {
    for first_writes in [false, true] {
        for wait in [false, true] {
            let mut s = Script::new(ProfileName::XboxOne);
            s.submit(GFX);
            let a = s.dispatch(GFX);
            if first_writes {
                s.write(a, X, 64)
            } else {
                s.read(a, X, 64)
            };
            s.end(a);
            if wait {
                s.wait_shaders(GFX);
            }
            let b = s.dispatch(GFX);
            s.write(b, X, 64);
            assert_eq!(s.errors().is_empty(), wait, "{first_writes}");
        }
    }
}

#[test]
fn atomics_of_two_dispatches_race_and_of_one_do_not() {
    let mut s = Script::new(ProfileName::XboxOne);
    s.submit(CS1);
    let a = s.dispatch(CS1);
    s.atomic(a, X);
    s.atomic(a.group(1), X);
    assert_eq!(s.errors(), none());
    // B14: a clear, then atomics, with no wait.
    let b = s.dispatch(CS1);
    s.write(b, Y, 4);
    let c = s.dispatch(CS1);
    s.atomic(c, Y);
    assert_eq!(s.errors(), ["possible race-queue: wait for shaders"]);
}

#[test]
fn queues_need_a_signal_and_a_wait() {
    for signal in [false, true] {
        let mut s = Script::new(ProfileName::SeriesX);
        s.submit(CS1);
        s.submit(CS2);
        let a = s.dispatch(CS1);
        s.write(a, X, 64);
        s.end(a);
        if signal {
            s.signal(CS1, V, Level::Accepted, &[]);
            s.wait(CS2, V);
        }
        let b = s.dispatch(CS2);
        s.read(b, X, 64);
        let expected = if signal {
            none()
        } else {
            vec![
                "possible race-cross-queue: signal a value on queue1 after the first and wait \
                 for it on queue2 before the second"
                    .into(),
            ]
        };
        assert_eq!(s.errors(), expected);
    }
}

#[test]
fn a_bare_signal_is_enough_to_overwrite_and_not_to_read() {
    for reads in [false, true] {
        let mut s = Script::new(ProfileName::SeriesX);
        s.submit(CS1);
        s.submit(CS2);
        let a = s.dispatch(CS1);
        if reads {
            s.write(a, X, 64)
        } else {
            s.read(a, X, 64)
        };
        s.end(a);
        s.signal(CS1, V, Level::ShadersDone, &[]);
        s.wait(CS2, V);
        let b = s.dispatch(CS2);
        if reads {
            s.read(b, X, 64)
        } else {
            s.write(b, X, 64)
        };
        let errors = s.errors();
        if reads {
            assert!(
                errors.len() == 1 && errors[0].starts_with("possible not-landed: "),
                "{errors:?}"
            );
        } else {
            assert_eq!(errors, none());
        }
    }
}

#[test]
fn a_value_of_the_micro_engine_says_nothing_of_shaders() {
    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(CS1);
    s.submit(CS2);
    let a = s.dispatch(CS1);
    s.write(a, X, 4);
    let packet =
        s.engine_access(CS1, Client::CpDataMemory, wavefence_base::AccessKind::Write, V, 4);
    s.value(wavefence_base::Writer::Queue(CS1), Some(packet), V);
    s.wait(CS2, V);
    let b = s.dispatch(CS2);
    s.read(b, X, 4);
    assert_eq!(s.errors(), ["possible race-cross-queue: wait for shaders"]);
}

#[test]
fn knowledge_passes_through_a_third_queue() {
    let mut s = Script::new(ProfileName::SeriesX);
    for queue in [GFX, CS1, CS2] {
        s.submit(queue);
    }
    let a = s.dispatch(CS1);
    s.write(a, X, 4);
    s.end(a);
    s.signal(CS1, V, Level::Accepted, &[]);
    s.wait(CS2, V);
    s.signal(CS2, V2, Level::Accepted, &[]);
    s.wait(GFX, V2);
    let b = s.dispatch(GFX);
    s.read(b, X, 4);
    assert_eq!(s.errors(), none());
}

#[test]
fn the_host_waits_before_it_writes_again() {
    for done in [false, true] {
        let mut s = Script::new(ProfileName::XboxOneX);
        s.host_write(X, 64);
        s.submit(CS1);
        let a = s.dispatch(CS1);
        s.read(a, X, 64);
        s.end(a);
        if done {
            s.done(CS1);
        }
        s.host_write(X, 64);
        assert_eq!(s.errors().is_empty(), done);
        if !done {
            assert!(s.errors()[0].starts_with("possible race-host: "));
        }
    }
}

#[test]
fn a_host_write_after_the_submit_races_unless_the_queue_waits_for_it() {
    for wait in [false, true] {
        let mut s = Script::new(ProfileName::SeriesX);
        s.submit(CS1);
        s.host_write(X, 4);
        s.host_write(V, 4);
        s.value(wavefence_base::Writer::Host, None, V);
        if wait {
            s.wait(CS1, V);
        }
        let a = s.dispatch(CS1);
        s.read(a, X, 4);
        assert_eq!(s.errors().is_empty(), wait, "{:?}", s.errors());
    }
}

#[test]
fn the_host_reads_results_behind_the_submissions_end() {
    let mut s = Script::new(ProfileName::XboxOne);
    s.submit(CS1);
    let a = s.dispatch(CS1);
    s.write(a, X, 64);
    s.end(a);
    s.done(CS1);
    s.host_read(X, 64);
    assert_eq!(s.errors(), none());
}

#[test]
fn the_host_reads_results_behind_a_confirmed_value() {
    for (level, actions, expected) in [
        (Level::Confirmed, L2WB, ""),
        (Level::WrittenBack, L2WB, "not-landed"),
        (Level::Confirmed, &[][..], "missing-write-back"),
        (Level::Accepted, L2WB, "not-landed"),
    ] {
        let mut s = Script::new(ProfileName::XboxOneX);
        s.submit(CS1);
        let a = s.dispatch(CS1);
        s.write(a, X, 64);
        s.end(a);
        s.signal(CS1, V, level, actions);
        s.host_read(V, 4);
        s.host_read(X, 64);
        let errors = s.errors();
        if expected.is_empty() {
            assert_eq!(errors, none());
        } else {
            assert!(errors.len() == 1 && errors[0].contains(expected), "{level:?}: {errors:?}");
        }
    }
}

#[test]
fn the_second_of_two_end_of_pipe_events_completes_the_first() {
    let mut s = Script::new(ProfileName::XboxOne);
    s.submit(CS1);
    let a = s.dispatch(CS1);
    s.write(a, X, 64);
    s.end(a);
    s.signal(CS1, V2, Level::Accepted, L2I);
    s.signal(CS1, V, Level::Confirmed, L2I);
    s.host_read(V, 4);
    s.host_read(X, 64);
    assert_eq!(s.errors(), none());
    assert_eq!(s.advice(), none());
}

#[test]
fn cp_dma_has_to_be_waited_for() {
    for wait in [false, true] {
        let mut s = Script::new(ProfileName::SeriesX);
        s.submit(GFX);
        s.cp_dma(GFX, Client::CpDmaL2, Y, X, 256);
        if wait {
            s.wait_dma(GFX);
        }
        let a = s.dispatch(GFX);
        s.read(a, X, 256);
        let expected =
            if wait { none() } else { vec!["possible race-dma: wait for CP DMA".into()] };
        assert_eq!(s.errors(), expected);
    }
}

#[test]
fn an_end_of_pipe_signal_does_not_cover_cp_dma() {
    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(GFX);
    s.submit(CS1);
    s.cp_dma(GFX, Client::CpDmaL2, Y, X, 256);
    s.signal(GFX, V, Level::Confirmed, &[]);
    s.wait(CS1, V);
    let a = s.dispatch(CS1);
    s.read(a, X, 256);
    assert_eq!(s.errors(), ["possible race-dma: wait for CP DMA"]);
}

#[test]
fn the_prefetch_parser_runs_ahead_of_the_wait() {
    // Row 5 on Series: CS; PFP.
    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(GFX);
    let a = s.dispatch(GFX);
    s.write(a, X, 12);
    s.end(a);
    s.wait_shaders(GFX);
    let packet = s.arguments(X);
    s.launch(packet);
    assert_eq!(s.errors(), ["possible wrong-engine: let the prefetch parser wait for the ME"]);

    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(GFX);
    let a = s.dispatch(GFX);
    s.write(a, X, 12);
    s.end(a);
    s.wait_shaders(GFX);
    s.sync_pfp();
    let packet = s.arguments(X);
    s.launch(packet);
    assert_eq!(s.errors(), none());
    assert_eq!(s.advice(), none());

    // The sync without the wait for the shaders.
    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(GFX);
    let a = s.dispatch(GFX);
    s.write(a, X, 12);
    s.sync_pfp();
    s.arguments(X);
    assert_eq!(s.errors(), ["possible race-queue: wait for shaders"]);
}

#[test]
fn arguments_read_before_the_dispatch_began_are_proven_old() {
    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(GFX);
    let first = s.ahead("DISPATCH_DIRECT");
    let second = s.arguments(X);
    s.take(GFX, wavefence_base::Engine::Me, first, "DISPATCH_DIRECT");
    let a = s.begin(GFX, first);
    s.write(a, X, 12);
    s.end(a);
    s.launch(second);
    assert_eq!(s.errors(), ["proven wrong-engine: let the prefetch parser wait for the ME"]);
}

#[test]
fn arguments_may_be_overwritten_behind_their_reader() {
    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(GFX);
    let packet = s.arguments(X);
    s.launch(packet);
    let b = s.dispatch(GFX);
    s.write(b, X, 12);
    assert_eq!(s.errors(), none());
}

#[test]
fn arguments_on_older_generations_need_the_write_back_too() {
    for (profile, back, expected) in [
        (
            ProfileName::XboxOne,
            false,
            vec!["possible missing-write-back: write L2 back".to_owned()],
        ),
        (
            ProfileName::XboxOneX,
            false,
            vec!["possible missing-write-back: write L2 back".to_owned()],
        ),
        (ProfileName::XboxOne, true, none()),
        (ProfileName::SeriesS, false, none()),
    ] {
        let mut s = Script::new(profile);
        s.submit(GFX);
        let a = s.dispatch(GFX);
        s.write(a, X, 12);
        s.end(a);
        s.wait_shaders(GFX);
        if back {
            s.flush(GFX, L2I);
        }
        s.sync_pfp();
        s.arguments(X);
        assert_eq!(s.errors(), expected, "{profile}");
        assert_eq!(s.advice(), none(), "{profile}");
    }
}

#[test]
fn a_write_back_before_the_wait_is_too_early() {
    let mut s = Script::new(ProfileName::XboxOneX);
    s.submit(GFX);
    let a = s.dispatch(GFX);
    s.write(a, X, 12);
    s.end(a);
    s.flush(GFX, L2WB);
    s.wait_shaders(GFX);
    s.sync_pfp();
    s.arguments(X);
    assert_eq!(s.errors(), ["possible flush-order: wait for shaders"]);
    assert_eq!(s.advice(), ["advice flush-redundant: leave the write-back of L2 out"]);
}

#[test]
fn sdma_reads_memory_and_writes_beside_l2() {
    for profile in ALL {
        for (back, confirm) in [(false, true), (true, false), (true, true)] {
            let mut s = Script::new(profile);
            s.submit(CS1);
            s.submit(DMA);
            let a = s.dispatch(CS1);
            s.write(a, X, 64);
            s.end(a);
            s.wait_shaders(CS1);
            let level = if confirm { Level::Confirmed } else { Level::WrittenBack };
            s.signal(CS1, V, level, if back { L2WB } else { &[] });
            s.wait(DMA, V);
            s.sdma_copy(X, Y, 64);
            let errors = s.errors();
            match (back, confirm) {
                (true, true) => assert_eq!(errors, none(), "{profile}"),
                (true, false) => assert_eq!(
                    errors,
                    ["possible not-landed: let the signal wait for write confirm"]
                ),
                (false, _) => assert_eq!(errors, ["possible missing-write-back: write L2 back"]),
            }
        }
    }
}

#[test]
fn a_copy_over_dirty_bytes_is_overwritten_by_them() {
    for back in [false, true] {
        let mut s = Script::new(ProfileName::XboxOneX);
        s.submit(CS1);
        s.submit(DMA);
        let a = s.dispatch(CS1);
        s.write(a, X, 64);
        s.end(a);
        s.signal(CS1, V, Level::Confirmed, if back { L2WB } else { &[] });
        s.wait(DMA, V);
        s.sdma_copy(Y, X, 64);
        let expected =
            if back { none() } else { vec!["possible dirty-overwrite: write L2 back".into()] };
        assert_eq!(s.errors(), expected);
    }
}

#[test]
fn a_list_run_twice_is_one_finding_with_a_count() {
    let mut s = Script::new(ProfileName::SeriesX);
    s.submit(CS1);
    let packets = [s.packet(CS1, "DISPATCH_DIRECT"), s.packet(CS1, "DISPATCH_DIRECT")];
    for _ in 0..3 {
        s.take(CS1, wavefence_base::Engine::Mec, packets[0], "DISPATCH_DIRECT");
        let a = s.begin(CS1, packets[0]);
        s.write(a, X, 4);
        s.take(CS1, wavefence_base::Engine::Mec, packets[1], "DISPATCH_DIRECT");
        let b = s.begin(CS1, packets[1]);
        s.read(b, X, 4);
        s.end(b);
        s.wait_shaders(CS1);
        s.flush(CS1, &[CacheAction::InvalidateL1]);
    }
    assert_eq!(s.errors().len(), 1, "{:?}", s.errors());
    assert_eq!(s.hazards()[0].count, 3);
}

#[test]
fn command_buffers_are_in_order_behind_their_submit() {
    use wavefence_base::{AccessKind, Agent, Engine, Event, GpuAddress, GpuRange, SubmitId};
    for late in [false, true] {
        let mut s = Script::new(ProfileName::SeriesX);
        let buffer = GpuRange::new(GpuAddress(X), 64);
        let write = |s: &mut Script, at: u64| s.host_write(at, 64);
        if !late {
            write(&mut s, X);
        }
        // The same buffer twice, then the host writes it again.
        for submit in 0..2 {
            s.event(Event::Submit { submit: SubmitId(submit), queue: CS1, buffer });
        }
        if late {
            write(&mut s, X);
        }
        for submit in 0..2 {
            for packet in [X, X + 16] {
                let packet = GpuAddress(packet);
                let agent = Agent::Engine { queue: CS1, engine: Engine::Mec, packet };
                s.access(agent, Client::CommandFetch, AccessKind::Read, false, packet.0, 16);
                s.take(CS1, Engine::Mec, packet, "NOP");
            }
            s.event(Event::SubmitDone { submit: SubmitId(submit), queue: CS1 });
        }
        write(&mut s, X);
        assert_eq!(s.errors().is_empty(), !late, "{:?}", s.errors());
    }
}

#[test]
fn a_called_buffer_does_not_begin_the_submission_anew() {
    use wavefence_base::{AccessKind, Agent, Engine, Event, GpuAddress, GpuRange, SubmitId};
    // One list is submitted twice and calls a buffer behind it in memory. What the host
    // writes between the two submits is before the second only.
    let mut s = Script::new(ProfileName::SeriesX);
    let buffer = GpuRange::new(GpuAddress(X), 64);
    s.event(Event::Submit { submit: SubmitId(0), queue: CS1, buffer });
    s.host_write(Y, 4);
    s.event(Event::Submit { submit: SubmitId(1), queue: CS1, buffer });
    for packet in [X, X + 4096, X + 16].map(GpuAddress) {
        let agent = Agent::Engine { queue: CS1, engine: Engine::Mec, packet };
        s.access(agent, Client::CommandFetch, AccessKind::Read, false, packet.0, 16);
        s.take(CS1, Engine::Mec, packet, "NOP");
    }
    let a = s.dispatch(CS1);
    s.read(a, Y, 4);
    assert_eq!(s.errors().len(), 1, "{:?}", s.errors());
    assert!(s.errors()[0].starts_with("possible race-host: "), "{:?}", s.errors());
}

#[test]
fn a_fence_that_the_host_signals_behind_a_queue() {
    // The queue signals 1, the host 2: the wait for 2 knows what the host did.
    for wrote in [true, false] {
        let mut s = Script::new(ProfileName::SeriesX);
        s.host_write(V, 8);
        s.submit(CS1);
        s.submit(CS2);
        s.signal(CS1, V, Level::Confirmed, &[]);
        if wrote {
            s.host_write(X, 4);
        }
        s.host_write(V, 8);
        if !wrote {
            s.host_write(X, 4);
        }
        s.wait(CS2, V);
        let a = s.dispatch(CS2);
        s.read(a, X, 4);
        assert_eq!(s.errors().is_empty(), wrote, "{:?}", s.errors());
    }
}
