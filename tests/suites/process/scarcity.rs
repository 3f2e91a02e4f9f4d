//! The system gives too little: file descriptors (P-04), memory (P-06).

use std::time::{Duration, Instant};

use nodesift_tests::http::post;
use nodesift_tests::machine::alone;
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::wire::Wire;
use nodesift_tests::{process, timeout, timing};

use crate::running::{command, limited, question};

/// File descriptors of the process, and connections that want one each.
const FILES: usize = 64;
const CONNECTIONS: usize = 200;
/// Descriptors that may be open now and then beside those of an idle process: a file of `/proc`, a connection that is closed just now.
const OTHERS: usize = 4;
/// Aim of the processor time while no descriptor is free, as a part of one processor.
const SHARE: f64 = 0.2;
/// Time over which it is measured.
const TIME: Duration = Duration::from_secs(4);

/// P-04 of the reliability plan: file descriptors.
#[test]
fn without_file_descriptors_it_waits_instead_of_spinning_and_recovers() {
    let _alone = alone();
    let sidecar = Sidecar::start(limited(&format!("-n {FILES}")), &[]);
    let id = sidecar.id();
    let idle = process::open_files(id);
    let wires: Vec<Wire> = (0..CONNECTIONS)
        .filter_map(|number| Wire::open(&if number % 2 == 0 { sidecar.tcp() } else { sidecar.unix() }).ok())
        .collect();
    timeout::until(|| (process::open_files(id) >= FILES).then_some(())).expect("all descriptors are used");
    let (start, used) = (Instant::now(), process::processor_time(id));
    while start.elapsed() < TIME {
        std::thread::park_timeout(TIME);
    }
    let used = process::processor_time(id) - used;
    let share = used.as_secs_f64() / start.elapsed().as_secs_f64();
    println!("{} connections, {FILES} descriptors: {:.1} % of a processor", wires.len(), 100.0 * share);
    timing::number("processor time without descriptors, of a processor", share, SHARE);
    // A loop that does not wait takes all of it, or a half beside others.
    assert!(share < 2.0 * SHARE, "{share} of a processor");

    drop(wires);
    for endpoint in [sidecar.tcp(), sidecar.unix()] {
        let answered = || post(&endpoint, "/v1/filter", question(0).to_string()).ok().filter(|it| it.status == 200);
        timeout::until(answered).expect("it answers again");
    }
    timeout::until(|| (process::open_files(id) <= idle + OTHERS).then_some(())).expect("descriptors are given back");
    assert!(!sidecar.output().contains("panicked"), "{}", sidecar.output());
}

/// The peak of the address space of a process in KiB, which is what `ulimit -v` limits.
fn address_space(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// P-06 of the reliability plan: memory.
#[test]
fn with_memory_just_above_its_need_it_works_and_below_it_fails_clearly() {
    let _alone = alone();
    let need = {
        let sidecar = Sidecar::start(command(), &[]);
        assert_eq!(post(&sidecar.unix(), "/v1/filter", question(0).to_string()).unwrap().status, 200);
        address_space(sidecar.id())
    };
    println!("needs {} MiB of address space", need >> 10);
    // Threads and arenas of the allocator vary by some hundred MiB of address space from start to start.
    let enough = need + need / 16 + (1 << 20);
    let sidecar = Sidecar::start(limited(&format!("-v {enough}")), &[]);
    assert_eq!(post(&sidecar.unix(), "/v1/filter", question(0).to_string()).unwrap().status, 200);
    drop(sidecar);

    let folder = tempfile::tempdir().unwrap();
    for part in [2, 8, 64, 1024, 8192] {
        let limit = need / part;
        let mut command = limited(&format!("-v {limit}"));
        command.args(["serve", "--sample", "--no-tcp", "--socket"]).arg(folder.path().join("s.sock"));
        // It ends by itself: a hang would be found by the timeout of the whole suite.
        let begun = Instant::now();
        let output = sidecar::run(&mut command);
        println!("{} MiB: {:?} after {:?}: {}", limit >> 10, output.code, begun.elapsed(), output.stderr.trim());
        assert_ne!(output.code, Some(0), "{} MiB", limit >> 10);
        assert!(!output.stderr.trim().is_empty(), "{} MiB: it says nothing", limit >> 10);
        assert!(begun.elapsed() < timeout::limit(), "{} MiB", limit >> 10);
        assert!(!output.stdout.contains("listening"), "{} MiB: {}", limit >> 10, output.stdout);
    }
}
