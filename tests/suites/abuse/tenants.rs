//! Tenants whose pods and claims are as heavy as an API server takes them: no question about somebody else's pod has a fault or another
//! answer. `nodesift-soak --tenants` does the same with thousands of nodes, and prints how long answers take.

use std::path::Path;

use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::tenants::{self, Shape};

use crate::arena::random;

#[test]
fn beside_ten_hostile_tenants_ordinary_pods_are_answered_as_without_them() {
    let _beside = beside_others();
    let shape = Shape {
        seed: random().u64(..),
        nodes: 150,
        honest: 60,
        tenants: 10,
        loads: 3,
        bytes: 1_000_000,
        rounds: 2,
        judged: 4,
    };
    let start = |cluster: &Path| {
        let binary = Path::new(env!("CARGO_BIN_EXE_nodesift"));
        let command = sidecar::command(binary, Path::new(env!("CARGO_TARGET_TMPDIR")));
        Sidecar::start(command, &["--cluster", cluster.to_str().unwrap()])
    };
    let report = tenants::run(&shape, start);
    println!("{report}");
    assert!(report.honest_faults.is_empty(), "faults of ordinary pods: {report}");
    assert_eq!(report.honest_wrong, 0, "wrong answers about ordinary pods: {report}");
    assert_eq!(report.opened, 0, "quarantined predicates: {report}");
    assert_eq!(report.judged.1, 0, "wrong answers about pods of tenants: {report}");
    // How many of the heavy ones have an answer depends on the pace of the machine; the ordinary one beside them has one.
    assert!(report.judged.0 > 0, "no answer about a pod of a tenant was compared: {report}");
}
