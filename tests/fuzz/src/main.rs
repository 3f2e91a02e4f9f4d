//! `nodesift-fuzz`: runs fuzz targets one after the other, each in a process of its own, and fails where one finds something.
//!
//! Start at [`Args`].
#![allow(clippy::print_stdout, reason = "a command")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::Parser as _;
use nodesift_fuzz::{TARGETS, Target, driver, target};

/// Runs the fuzz targets of nodesift.
#[derive(Debug, clap::Parser)]
#[command(max_term_width = 120)]
struct Args {
    /// Target to run [default: all of them]
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Time per target, in seconds
    #[arg(long, default_value_t = 60)]
    time: u64,
    /// Seed of the mutations
    #[arg(long, env = "NODESIFT_SEED", default_value_t = fastrand::u64(..))]
    seed: u64,
    /// Folder for inputs with findings [default: target/fuzz]
    #[arg(long, value_name = "PATH")]
    folder: Option<PathBuf>,
    /// Print the names of the targets and end
    #[arg(long)]
    list: bool,
    /// Write this many generated inputs to the folder, and end
    #[arg(long, value_name = "COUNT", requires = "target")]
    generate: Option<usize>,
    /// Run the target in this process
    #[arg(long, hide = true, requires = "target")]
    here: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.list {
        TARGETS.iter().for_each(|target| println!("{}", target.name));
        return ExitCode::SUCCESS;
    }
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fuzz");
    let folder = args.folder.clone().unwrap_or_else(default);
    let targets: Vec<&Target> = match &args.target {
        None => TARGETS.iter().collect(),
        Some(name) => match target(name) {
            Some(target) => vec![target],
            None => {
                let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
                println!("there is no target {name}; there are {}", names.join(", "));
                return ExitCode::from(2);
            }
        },
    };
    if let Some(count) = args.generate {
        return generate(targets[0], count, args.seed, &folder.join(targets[0].name));
    }
    if args.here {
        return targets.iter().map(|target| here(target, &args, &folder.join(target.name))).collect::<Vec<_>>()[0];
    }
    println!("seed {}; NODESIFT_SEED repeats the mutations", args.seed);
    let failed = targets.iter().filter(|target| !apart(target, &args, &folder)).count();
    if failed > 0 {
        println!("{failed} of {} targets have found something", targets.len());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Writes generated inputs, for a corpus.
fn generate(target: &Target, count: usize, seed: u64, folder: &Path) -> ExitCode {
    let mut random = fastrand::Rng::with_seed(seed);
    let write = |input: Vec<u8>| std::fs::write(folder.join(driver::name(&input)), input);
    let mut inputs = std::iter::repeat_with(|| (target.generate)(&mut random)).take(count);
    match std::fs::create_dir_all(folder).and_then(|()| inputs.try_for_each(write)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{}: {error}", folder.display());
            ExitCode::from(2)
        }
    }
}

/// Runs a target in this process.
fn here(target: &Target, args: &Args, folder: &Path) -> ExitCode {
    let summary = match driver::fuzz(target, Duration::from_secs(args.time), args.seed, folder) {
        Ok(summary) => summary,
        Err(error) => {
            println!("{}: {}: {error}", target.name, folder.display());
            return ExitCode::from(2);
        }
    };
    println!(
        "{}: {} executions, {} behaviours, the slowest unit {} ms, {} findings",
        target.name,
        summary.executions,
        summary.behaviours,
        summary.slowest.as_millis(),
        summary.findings.len(),
    );
    for (finding, path) in &summary.findings {
        println!("  {finding}\n    input: {}", path.display());
    }
    if summary.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a target in a process of its own, which it may end. Returns whether it has found nothing.
fn apart(target: &Target, args: &Args, folder: &Path) -> bool {
    let seed = args.seed.to_string();
    let time = args.time.to_string();
    let run = std::env::current_exe().and_then(|this| {
        Command::new(this)
            .args(["--here", "--target", target.name, "--seed", &seed, "--time", &time, "--folder"])
            .arg(folder)
            .status()
    });
    match run {
        Ok(status) if status.success() => true,
        Ok(status) => {
            let running = driver::running(&folder.join(target.name));
            if running.exists() {
                println!("{}: ended with {status} at the input {}", target.name, running.display());
            }
            false
        }
        Err(error) => {
            println!("{}: cannot be run: {error}", target.name);
            false
        }
    }
}
