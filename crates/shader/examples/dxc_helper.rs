//! Runs DXC as the `wavefence` binary's hidden word does; for this crate's tests.

fn main() {
    let known =
        std::env::args().nth(1).is_some_and(|word| word == wavefence_shader::dxc::HELPER_WORD);
    let code = if known {
        wavefence_shader::dxc::child_main(&mut std::io::stdin(), std::io::stdout())
    } else {
        2
    };
    std::process::exit(code);
}
