//! Hostile tenants beside an honest core, instead of mixed load: `--tenants`. Start at [`run`].

use std::path::Path;
use std::process::ExitCode;

use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::tenants::{self, Shape};

use crate::Args;

/// Ordinary pods, and loads of each of the tenants.
const HONEST: usize = 1_000;
const TENANTS: usize = 10;
const LOADS: usize = 12;

/// Bytes of the largest object of a tenant.
const BYTES: usize = 1_000_000;

/// How often each ordinary pod is asked about: the first time, nothing is known of it.
const ROUNDS: usize = 3;

/// Pods of tenants of which the reference says what is right.
const JUDGED: usize = 4;

/// Runs it, and prints what was counted. Times are printed, and fail nothing.
pub(crate) fn run(args: &Args, binary: &Path, cache: &Path) -> ExitCode {
    let shape = Shape {
        seed: args.seed,
        nodes: args.nodes,
        honest: HONEST,
        tenants: TENANTS,
        loads: LOADS,
        bytes: BYTES,
        rounds: ROUNDS,
        judged: JUDGED,
    };
    println!("{TENANTS} tenants beside a core with {HONEST} pods, on {} nodes", args.nodes);
    let start = |cluster: &Path| {
        let cluster = cluster.to_string_lossy();
        let mut arguments = vec!["--cluster", &cluster];
        arguments.extend(args.with.iter().map(String::as_str));
        Sidecar::start(sidecar::command(binary, cache), &arguments)
    };
    let report = tenants::run(&shape, start);
    print!("{report}");
    let is_right =
        report.honest_faults.is_empty() && report.honest_wrong == 0 && report.opened == 0 && report.judged.1 == 0;
    if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
