//! Every kernel gives the right result in both runs and with both wave sizes.

use std::path::Path;
use wavefence_base::WaveSize;
use wavefence_bench::{Engine, SMALL, Setup, case, measure};

fn right_everywhere(name: &str) {
    let case = case(name);
    let helper = Path::new(env!("CARGO_BIN_EXE_wavefence-bench"));
    for wave in [WaveSize::W32, WaveSize::W64] {
        for engine in [Engine::Model, Engine::Checked, Engine::Fast(2)] {
            let setup = Setup { engine, wave, repeats: 0 };
            if let Err(message) = measure(&case, setup, helper) {
                panic!("{engine:?} {wave:?}: {message}");
            }
        }
    }
}

macro_rules! kernels {
    ($($name:ident)*) => { $(#[test] fn $name() { right_everywhere(stringify!($name)); })* };
}

#[test]
fn the_small_ones() {
    for name in SMALL {
        right_everywhere(name);
    }
}

/// Each of them is clean, or there is an error.
#[test]
fn schedules_are_made() {
    let rate = wavefence_bench::schedules::schedules(20).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(rate.schedules, 20);
    // More than the packets, groups and waves of one would be.
    assert!(rate.per_second() > 0.0 && rate.steps > 20 * 60, "{rate:?}");
}

kernels! { mandel nbody blur hist matmul bitonic scan saxpy }
