//! `nodesift-dev cluster synth`: its files can be read by the other commands.

use nodesift_tests::sidecar::{Output, run};
use nodesift_tests::workshop::{Workshop, lines};

use crate::{developer, new_workshop};

const SHAPE: [&str; 6] = ["cluster", "synth", "--nodes", "50", "--pods-per-node", "3"];

/// Writes it in the folder of the workshop.
fn synth(shop: &Workshop, more: &[&str]) -> Output {
    run(developer().current_dir(shop.path("")).args(SHAPE).args(more))
}

#[test]
fn a_synthetic_cluster_can_be_asked_about() {
    let shop = new_workshop();
    let synth = |more: &[&str]| synth(&shop, more);
    let written = synth(&["--out", "cluster.json.gz", "--pods", "pods.json"]);
    assert_eq!((written.code, written.stdout.as_str()), (Some(0), ""), "{}", written.stderr);
    assert!(written.stderr.contains("50 nodes and 150 pods written"), "{}", written.stderr);
    let apart = shop.answer(&["explain", "-o", "jsonl", "--cluster", "cluster.json.gz", "--pods", "pods.json"]);
    assert_eq!(lines(&apart).iter().filter(|line| line["predicate"] == "*").count(), 4);

    // Without `--pods`, the pending pods of the cluster are used.
    let whole = synth(&["--out", "-"]);
    assert_eq!(whole.code, Some(0), "{}", whole.stderr);
    shop.write("whole.json", &whole.stdout);
    assert_eq!(shop.answer(&["explain", "-o", "jsonl", "--cluster", "whole.json"]), apart);
}

#[test]
fn a_synthetic_cluster_that_cannot_be_written_names_the_file() {
    let shop = new_workshop();
    let failed = synth(&shop, &["--out", "no/such/folder.json"]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("no/such/folder.json"), "{}", failed.stderr);
}
