//! Every file of `scenarios/`, run again and again on one device: each run is the
//! first one, whatever ran in between. Files that cannot be prepared are left to the
//! other tests.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use wavefence_base::ProfileName;
use wavefence_d3d::Limits;
use wavefence_scenario::run::{Prepared, RunOptions};
use wavefence_scenario::{format, load};

/// Keeps a trace where the test can see it.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<u8>>>);

impl Trace {
    fn take(&self) -> String {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&std::mem::take(&mut *bytes)).into_owned()
    }
}

impl Write for Trace {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn options(profile: Option<ProfileName>, stop: bool) -> RunOptions {
    RunOptions {
        helper: Some(PathBuf::from(env!("CARGO_BIN_EXE_wavefence"))),
        profile,
        stop_on_fault: stop,
        // Work that does not end is cut short, each time at the same cycle.
        limits: Some(Limits { max_cycles: 200_000, ..Limits::default() }),
        ..RunOptions::default()
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "yaml") {
            found.push(path);
        }
    }
    found.sort();
}

/// Checks one file; false if it cannot be prepared.
fn again(path: &Path, stop: bool) -> bool {
    let Ok(source) = load::read_scenario(path) else { return false };
    let Ok(scenario) = format::parse(&source) else { return false };
    let options = options(None, stop);
    let trace = Trace::default();
    let sink: Box<dyn Write + Send> = Box::new(trace.clone());
    let Ok(mut prepared) = Prepared::new(&source, &scenario, &options, Some(sink)) else {
        return false;
    };
    let name = path.display();
    prepared.keep_start().unwrap_or_else(|e| panic!("{name}: {e:?}"));
    trace.take();
    let mut first = None;
    for round in 0..3 {
        if prepared.go().is_err() {
            return false;
        }
        let events = trace.take();
        // In one round the short verdict is asked for before, which must not show.
        let brief = (round == 1).then(|| prepared.brief());
        let report = prepared.report().unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let contents = prepared.contents().map_err(|e| format!("{e:?}"));
        if let Some(Ok(brief)) = brief {
            let outcome = report.outcome().exit_code();
            assert!(!brief.is_clean() || outcome == 0, "{name}: {brief:?}, exit {outcome}");
        }
        let told = (events, report.json(), contents);
        match &first {
            None => first = Some(told),
            Some(first) => {
                let other = first.0.lines().zip(told.0.lines()).find(|(a, b)| a != b);
                assert_eq!(other, None, "{name}, round {round}: events");
                assert!(*first == told, "{name}, round {round}: reports or buffers differ");
            }
        }
    }
    // The same as a run of a device that does not go back.
    let alone = Prepared::new(&source, &scenario, &options, None).and_then(|mut alone| {
        alone.go()?;
        Ok((alone.report()?.json(), alone.contents().map_err(|e| format!("{e:?}"))))
    });
    let first = first.map(|(_, json, contents)| (json, contents));
    assert!(first == alone.ok(), "{name}: differs from a run of its own");
    true
}

#[test]
fn every_scenario_runs_again_as_the_first_time() {
    let mut all = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"), &mut all);
    let prepared = all.iter().filter(|path| again(path, false)).count();
    assert!(prepared > 100, "only {prepared} of {} scenarios could be prepared", all.len());
    // Cut short in the middle of their work.
    for path in all.iter().filter(|p| p.to_string_lossy().contains("fault")) {
        again(path, true);
    }
}
