//! The sidecar under mixed load for minutes, while its cluster changes and faults happen: `make soak`.
//!
//! Wrong answers, panics, growing memory, leaked descriptors and threads, and answers that become slower all take time to
//! show. So the real binary follows a scripted API server whose nodes and pods change at random, is asked by clients of every
//! protocol, and meets a fault of another class every half minute. A part of the answers is compared with the reference
//! implementation on the cluster as it was at the versions that the answer names.
//!
//! | module | holds |
//! |---|---|
//! | [`cluster`] | the API server, its objects, and how they change |
//! | [`load`] | the clients, one thread each |
//! | [`faults`] | the classes of faults |
//! | [`judge`] | answers compared with the reference |
//! | [`vitals`] | memory, descriptors and threads of the sidecar |
//! | [`report`] | what is printed, and what fails the run |
//! | [`tenants`] | instead of all that: hostile tenants beside an honest core |
//!
//! Start at [`run`].
#![allow(clippy::print_stdout, reason = "a command")]

mod cluster;
mod faults;
mod judge;
mod load;
mod report;
mod tenants;
mod vitals;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::Parser as _;
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::{process, timeout};

use cluster::Living;
use judge::Judge;
use load::{Clients, Shared};
use report::Report;
use vitals::{Quiet, Vitals};

/// Parts of the run for which latencies are told apart.
pub(crate) const PARTS: u32 = 10;

/// The first part of the run is a warm-up for memory: caches and pools fill.
const WARM_UP_DIVISOR: u32 = 4;

/// Load before the first look at descriptors and threads, so that pools have started.
const FIRST_LOAD: Duration = Duration::from_secs(5);

/// Bytes of cached verdicts: few, so that the limit is reached in the warm-up and memory that still grows is something else.
const VERDICT_CACHE: &str = "8388608";

/// The sidecar under mixed load, with faults.
#[derive(Debug, clap::Parser)]
#[command(max_term_width = 120)]
struct Args {
    /// Duration of the run in seconds
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(20..))]
    time: u64,
    /// Seed of load, changes and faults
    #[arg(long, env = "NODESIFT_SEED", default_value_t = fastrand::u64(..))]
    seed: u64,
    /// Nodes of the cluster
    #[arg(long, default_value_t = 120, default_value_if("tenants", "true", "1500"))]
    nodes: usize,
    /// Pods of the cluster
    #[arg(long, default_value_t = 800)]
    pods: usize,
    /// Instead of mixed load for some time: ten tenants with heavy pods and claims beside a core that asks about ordinary ones
    #[arg(long)]
    tenants: bool,
    /// The sidecar to run [default: nodesift beside this program]
    #[arg(long, value_name = "PATH")]
    sidecar: Option<PathBuf>,
    /// Arguments for the sidecar besides those that name the cluster
    #[arg(long, value_name = "ARGUMENT", num_args = 1.., allow_hyphen_values = true)]
    with: Vec<String>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    println!("seed {}; NODESIFT_SEED repeats load, changes and faults, but not their timing", args.seed);
    if args.tenants {
        return match binary(&args) {
            Ok((binary, cache)) => tenants::run(&args, &binary, &cache),
            Err(error) => {
                println!("failed: {error:#}");
                ExitCode::FAILURE
            }
        };
    }
    match run(&args) {
        Ok(report) => {
            print!("{report}");
            if report.failures().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            println!("failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Starts everything, lets it run, and looks at what is left.
fn run(args: &Args) -> anyhow::Result<Report> {
    let living = Arc::new(Living::start(args.seed, args.nodes, args.pods));
    let sidecar = start(args, &living)?;
    let time = Duration::from_secs(args.time);
    let judge = Judge::start(Arc::clone(&living));

    // Once with load, so that the threads that load needs are there when they are counted.
    let first = Shared::new(args.seed, &sidecar, Arc::clone(&living), judge.samples());
    let clients = Clients::start(&first)?;
    wait(FIRST_LOAD, &first.stop);
    clients.stop()?;
    drop(first);
    let before = Quiet::reached(sidecar.id(), None);

    let shared = Shared::new(args.seed ^ 1, &sidecar, Arc::clone(&living), judge.samples());
    let (started, stop) = (Instant::now(), Arc::clone(&shared.stop));
    let vitals = Vitals::start(sidecar.id(), sidecar.unix(), &stop);
    let churn = living.change_until(args.seed, &stop);
    let faults = faults::inject(args.seed, &shared, time);
    let clients = Clients::start(&shared)?;
    println!("{} s of load on {} nodes and {} pods", args.time, args.nodes, args.pods);
    wait(time, &stop);
    stop.store(true, Ordering::Relaxed);
    clients.stop()?;
    let faults = faults.join().map_err(|_| anyhow::anyhow!("the faults have panicked"))?;
    let changes = churn.join().map_err(|_| anyhow::anyhow!("the changes have panicked"))?;
    let vitals = vitals.stop(started + time / WARM_UP_DIVISOR)?;
    let answered = shared.answered();
    drop(shared);
    let judged = judge.finish()?;
    let after = Quiet::reached(sidecar.id(), Some(before));
    let log = sidecar.output();
    sidecar.signal("TERM");
    let (status, _) = sidecar.wait();
    ensure!(status.success(), "the sidecar has ended with {status}");
    Ok(Report { time, before, after, vitals, judged, faults, changes, log, answered })
}

/// The sidecar to run, and the folder for what it compiles.
fn binary(args: &Args) -> anyhow::Result<(PathBuf, PathBuf)> {
    let here = std::env::current_exe().context("the path of this program is unknown")?;
    let here = here.parent().unwrap_or(Path::new("")).to_owned();
    let binary = args.sidecar.clone().unwrap_or_else(|| here.join("nodesift"));
    ensure!(binary.is_file(), "there is no sidecar at {}", binary.display());
    Ok((binary, here.join("../soak/cache")))
}

fn start(args: &Args, living: &Living) -> anyhow::Result<Sidecar> {
    let (binary, cache) = binary(args)?;
    let command = sidecar::command(&binary, &cache);
    let kubeconfig = living.server.kubeconfig().to_str().context("a path that is not UTF-8")?;
    let mut arguments = vec!["--kubeconfig", kubeconfig, "--verdict-cache-bytes", VERDICT_CACHE];
    arguments.extend(args.with.iter().map(String::as_str));
    let sidecar = Sidecar::start(command, &arguments);
    println!("the sidecar is ready, with {} MiB resident", process::resident_bytes(sidecar.id()) >> 20);
    Ok(sidecar)
}

/// Waits for some time, or until it is told to stop.
pub(crate) fn wait(time: Duration, stop: &AtomicBool) {
    const LOOK: Duration = Duration::from_millis(50);
    let end = Instant::now() + time;
    while !stop.load(Ordering::Relaxed) {
        match end.checked_duration_since(Instant::now()) {
            Some(left) => std::thread::park_timeout(left.min(LOOK)),
            None => return,
        }
    }
}

/// The time after which a condition counts as never reached.
pub(crate) fn patience() -> Duration {
    timeout::limit()
}
