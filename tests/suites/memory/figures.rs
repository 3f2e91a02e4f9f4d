//! The gate: memory and allocations against committed figures.

use std::fmt::Write as _;
use std::path::Path;

use nodesift_engine::Reuse;
use nodesift_fixtures::synthetic::{PENDING, Shape};

use crate::answers::Cluster;
use crate::files::load;

/// Figures of the commit that last changed them. A change that lowers one lowers it here; one that raises a figure by more than
/// a tenth says why in its commit.
const FIGURES: &[(&str, f64)] = &[
    ("bytes per node", 1342.7),
    ("bytes per pod", 849.0),
    ("allocations, pod a cold", 94.0),
    ("bytes, pod a cold", 27964.0),
    ("allocations, pod b cold", 119.0),
    ("bytes, pod b cold", 32829.0),
    ("allocations, pod c cold", 176.0),
    ("bytes, pod c cold", 39621.0),
    ("allocations, pod d cold", 196.0),
    ("bytes, pod d cold", 40759.0),
    ("allocations, pod a warm", 5.0),
    ("bytes, pod a warm", 1966.0),
    ("allocations, pod b warm", 5.0),
    ("bytes, pod b warm", 1966.0),
    ("allocations, pod c warm", 5.0),
    ("bytes, pod c warm", 1966.0),
    ("allocations, pod d warm", 5.0),
    ("bytes, pod d warm", 1966.0),
];

/// The most that a figure may be, over what is committed.
const MOST: f64 = 1.1;

const SHAPE: Shape = Shape { nodes: 1_000, pods_per_node: 30, seed: 1 };

/// Measured figures by name, in the order of the committed ones.
fn measured() -> Vec<(String, f64)> {
    let mut measured = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    let held = |objects: &mut dyn Iterator<Item = String>| {
        let path = folder.path().join("objects.json");
        std::fs::write(&path, objects.collect::<String>()).unwrap();
        load(Path::new(&path)).0
    };
    let nodes = held(&mut SHAPE.nodes());
    let whole = held(&mut SHAPE.nodes().chain(SHAPE.pods()));
    let pods = f64::from(SHAPE.nodes * SHAPE.pods_per_node);
    measured.push(("bytes per node".to_owned(), nodes.bytes_current as f64 / f64::from(SHAPE.nodes)));
    measured.push(("bytes per pod".to_owned(), (whole.bytes_current - nodes.bytes_current) as f64 / pods));

    let mut cluster = Cluster::new(SHAPE);
    for (kind, reuse) in [("cold", Reuse::Off), ("warm", Reuse::On)] {
        let engine = cluster.engine(reuse);
        for (uid, (name, _)) in cluster.uids().to_vec().into_iter().zip(PENDING) {
            let info = cluster.evaluated(&engine, &uid);
            measured.push((format!("allocations, pod {name} {kind}"), info.count_total as f64));
            measured.push((format!("bytes, pod {name} {kind}"), info.bytes_total as f64));
        }
    }
    measured
}

#[test]
fn memory_and_allocations_are_within_a_tenth_of_the_committed_figures() {
    let measured = measured();
    let mut table = String::new();
    for (name, figure) in &measured {
        writeln!(table, "    ({name:?}, {figure:.1}),").unwrap();
    }
    println!("{table}");
    assert_eq!(measured.len(), FIGURES.len(), "measured:\n{table}");
    for ((name, figure), (known, committed)) in measured.iter().zip(FIGURES) {
        assert_eq!(name, known, "measured:\n{table}");
        assert!(*figure <= committed * MOST, "{name}: {figure:.1}, committed are {committed}; measured:\n{table}");
    }
}
