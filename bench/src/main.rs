//! `wavefence-bench [--threads N] [--repeats N] [--model] [--check] [--wave32] [--json PATH]
//! [KERNEL…]`, `--schedules N`, or `--emit-spirv FOLDER`: times the eight kernels, or the small
//! ones that Oclgrind is compared on. With `--schedules` it prints how many
//! schedules of a small scenario one core makes in a second, by making N of them;
//! see [`wavefence_bench::schedules`].

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use wavefence_base::WaveSize;
use wavefence_bench::{Engine, NAMES, SMALL, Setup, case, helper_path, measure, spirv};

/// What the command line asked for.
struct Options {
    setup: Setup,
    json: Option<PathBuf>,
    emit: Option<PathBuf>,
    schedules: Option<u64>,
    names: Vec<String>,
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let setup = Setup { engine: Engine::Fast(2), wave: WaveSize::W64, repeats: 7 };
    let mut options = Options { setup, json: None, emit: None, schedules: None, names: Vec::new() };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        let mut number = || value()?.parse::<usize>().map_err(|e| format!("{arg}: {e}"));
        match arg.as_str() {
            "--threads" => options.setup.engine = Engine::Fast(number()?),
            "--repeats" => options.setup.repeats = number()?,
            "--schedules" => options.schedules = Some(number()? as u64),
            "--model" => options.setup.engine = Engine::Model,
            "--check" => options.setup.engine = Engine::Checked,
            "--wave32" => options.setup.wave = WaveSize::W32,
            "--json" => options.json = Some(value()?.into()),
            "--emit-spirv" => options.emit = Some(value()?.into()),
            name if NAMES.contains(&name) || SMALL.contains(&name) => options.names.push(arg),
            other => {
                return Err(format!(
                    "{other} is neither an option nor a kernel: {NAMES:?} {SMALL:?}"
                ));
            }
        }
    }
    if options.names.is_empty() {
        options.names = NAMES.map(str::to_owned).to_vec();
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    if let Some(count) = options.schedules {
        let rate = wavefence_bench::schedules::schedules(count.max(1))?;
        let line = format!("{:.0} schedules a second", rate.per_second());
        return writeln!(io::stdout(), "{line}").map_err(|e| e.to_string());
    }
    let helper = helper_path().ok_or("this program does not know where it is")?;
    let mut rows = Vec::new();
    for name in &options.names {
        let case = case(name);
        if let Some(folder) = &options.emit {
            let words = spirv(&case, &helper)?;
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
            std::fs::write(folder.join(format!("{name}.spv")), bytes).map_err(|e| e.to_string())?;
            continue;
        }
        let measured = measure(&case, options.setup, &helper)?;
        let low = measured.ms.iter().copied().fold(f64::INFINITY, f64::min);
        let line = format!("{name:9} {:9.2} ms  [{low:.2}]", measured.median());
        writeln!(io::stdout(), "{line}").map_err(|e| e.to_string())?;
        rows.push(format!("    \"{name}\": {:.4}", measured.median()));
    }
    if let Some(path) = &options.json {
        let text = format!("{{\n  \"ms\": {{\n{}\n  }}\n}}\n", rows.join(",\n"));
        std::fs::write(path, text).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    // DXC runs in a child process of this same program.
    if args.peek().is_some_and(|a| a == wavefence_shader::dxc::HELPER_WORD) {
        let code = wavefence_shader::dxc::child_main(&mut io::stdin().lock(), io::stdout());
        return ExitCode::from(u8::try_from(code).unwrap_or(70));
    }
    match parse(args).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(io::stderr(), "error: {message}");
            ExitCode::FAILURE
        }
    }
}
