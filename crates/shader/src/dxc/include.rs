//! Serves `#include` inside the child: from the allowed folders only, bounded.

use super::attributes::without_bindings;
use super::protocol::{Included, Refused};
use crate::source::read::{ReadProblem, read_bounded, text_of};
use std::path::{Path, PathBuf};

/// All included files together, in bytes.
const MAX_TOTAL: u64 = 64 << 20;

/// The include handler of one job.
pub(super) struct Includes {
    dir: PathBuf,
    roots: Vec<PathBuf>,
    total: u64,
    /// Files served, in the order of their first use.
    pub included: Vec<Included>,
    /// Includes found but not served.
    pub refused: Vec<Refused>,
}

impl Includes {
    /// Relative names start from `dir`; no file outside `roots` is read.
    pub fn new(dir: &str, roots: &[String]) -> Self {
        let roots = roots.iter().filter_map(|r| Path::new(r).canonicalize().ok()).collect();
        Self { dir: PathBuf::from(dir), roots, total: 0, included: Vec::new(), refused: Vec::new() }
    }

    fn refuse(&mut self, asked: &str, reason: String) -> Option<String> {
        if !self.refused.iter().any(|r| r.asked == asked) {
            self.refused.push(Refused { asked: asked.into(), reason });
        }
        None
    }

    fn load(&mut self, asked: &str) -> Option<String> {
        if let Some(file) = self.included.iter().find(|f| f.asked == asked) {
            return Some(without_bindings(&file.text).0);
        }
        if self.dir.as_os_str().is_empty() && Path::new(asked).is_relative() {
            return self.refuse(asked, "the source has no folder to include from".into());
        }
        let path = self.dir.join(asked);
        // What is not there is DXC's to report: it tries several folders.
        let real = path.canonicalize().ok()?;
        if !self.roots.iter().any(|root| real.starts_with(root)) {
            let reason = format!(
                "{} lies outside the folder of the source and the include folders; \
                 add its folder to the include folders",
                real.display()
            );
            return self.refuse(asked, reason);
        }
        let bytes = match read_bounded(&real, MAX_TOTAL - self.total) {
            Ok(bytes) => bytes,
            Err(ReadProblem::TooLarge { .. }) => {
                let reason = format!(
                    "{} would bring the included files over {} MiB",
                    real.display(),
                    MAX_TOTAL >> 20
                );
                return self.refuse(asked, reason);
            }
            Err(problem) => return self.refuse(asked, format!("{}: {problem}", real.display())),
        };
        self.total += bytes.len() as u64;
        match text_of(bytes) {
            Ok(text) => {
                let path = real.to_string_lossy().into_owned();
                let (served, _) = without_bindings(&text);
                self.included.push(Included { asked: asked.into(), path, text });
                Some(served)
            }
            Err(problem) => self.refuse(asked, format!("{}: {problem}", real.display())),
        }
    }
}

impl hassle_rs::DxcIncludeHandler for Includes {
    fn load_source(&mut self, filename: String) -> Option<String> {
        self.load(&filename)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_under_the_roots_are_served() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("in");
        std::fs::create_dir_all(dir.join("sub")).unwrap();
        std::fs::write(dir.join("sub/a.hlsli"), "int a;").unwrap();
        std::fs::write(dir.join("nul.hlsli"), "int\0a;").unwrap();
        std::fs::write(tmp.path().join("secret.txt"), "s").unwrap();
        let d = dir.to_str().unwrap().to_owned();
        let mut inc = Includes::new(&d, std::slice::from_ref(&d));
        assert_eq!(inc.load("./sub/a.hlsli").as_deref(), Some("int a;"));
        assert_eq!(inc.load("./sub/a.hlsli").as_deref(), Some("int a;"));
        assert_eq!(inc.load("./missing.hlsli"), None);
        assert_eq!(inc.load("./../secret.txt"), None);
        assert_eq!(inc.load("./nul.hlsli"), None);
        assert_eq!(inc.load("./sub"), None);
        assert_eq!(inc.included.len(), 1);
        let why: Vec<_> = inc.refused.iter().map(|r| (&r.asked[..], &r.reason[..])).collect();
        assert_eq!(why.len(), 3, "{why:?}");
        assert!(why[0].1.contains("outside the folder"), "{why:?}");
        assert!(why[1].1.contains("NUL"), "{why:?}");
        assert!(why[2].1.contains("is a folder"), "{why:?}");
    }

    #[test]
    fn a_source_without_a_folder_includes_nothing() {
        let mut inc = Includes::new("", &[]);
        assert_eq!(inc.load("./a.hlsli"), None);
        assert!(inc.refused[0].reason.contains("no folder"));
    }
}
