//! What the tests that need DXC share.

use std::path::PathBuf;
use wavefence_shader::CompileOptions;

/// Options whose helper is this crate's example, which Cargo builds for tests.
pub fn options() -> CompileOptions {
    let mut helper: PathBuf = std::env::current_exe().unwrap();
    helper.pop();
    helper.pop();
    helper.push("examples/dxc_helper");
    assert!(helper.is_file(), "{} is not built", helper.display());
    CompileOptions { helper: Some(helper), ..CompileOptions::default() }
}
