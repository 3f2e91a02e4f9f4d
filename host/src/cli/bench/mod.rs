//! `nodesift bench`: how fast, on this machine, in one run.
//!
//! ```text
//! socket   serves the cluster on a Unix socket          client   asks it, as another process of this program
//! native   runs the program that evaluates natively     aims     what is aimed at, for the clusters that have aims
//! figures  what one run found, as JSON                  table    the same for people
//! ```
//!
//! What is measured in this process, and how, is [`crate::bench`]. Start at [`run`].

mod aims;
mod client;
mod figures;
mod native;
mod socket;
mod table;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use nodesift_fixtures::synthetic::Shape;

use super::args::{BenchArgs, Format, PolicyArgs};
use super::cluster;
use super::exit::Failure;
use super::progress::Progress;
use super::report;
use crate::bench::events::{self, FullNode};
use crate::bench::pods::{self, Rounds};
use crate::bench::{Ground, GroundError};
use crate::cache;
use crate::engine::{Engine, Reuse};
use crate::limits;
use figures::{PodFigures, Size, SizeFigures, nanos};

/// Measures every size, one after the other, and prints what comes out; or plays the client of a run.
pub(super) fn run(args: &BenchArgs) -> anyhow::Result<()> {
    if let Some(socket) = &args.client {
        return client::run(socket, args.quick);
    }
    let clusters = clusters(args)?;
    let native = native::Program::find(args.native.as_deref())?;
    if native.is_none() {
        cluster::note(&format!("without native figures: {}", native::MISSING));
    }
    let mut sizes = Vec::with_capacity(clusters.len());
    for cluster in &clusters {
        let size = measure(cluster, args.quick, native.as_ref())?;
        if args.output == Format::Jsonl {
            report::print(&size.lines()?)?;
        }
        sizes.push(size);
    }
    match args.output {
        Format::Jsonl => Ok(()),
        Format::Json => report::print(&(serde_json::to_string_pretty(&figures::all(&sizes))? + "\n")),
        Format::Yaml => report::print(&serde_saphyr::to_string(&figures::all(&sizes))?),
        Format::Table => report::print(&table::text(&sizes, report::Paint::for_stdout())),
    }
}

/// A cluster to measure on.
enum Cluster {
    Synthetic(Shape),
    Files { cluster: Vec<PathBuf>, pods: Vec<PathBuf> },
}

/// From so many nodes on, nodes of a synthetic cluster are less full.
const LARGE_NODES: u32 = 50_000;

fn clusters(args: &BenchArgs) -> Result<Vec<Cluster>, Failure> {
    let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
    if !args.cluster.cluster.is_empty() {
        if args.pods.is_empty() {
            return usage("which pods? give --pods FILE beside --cluster");
        }
        if args.cluster.cluster.iter().chain(&args.pods).any(|file| file == Path::new("-")) {
            return usage("files are read more than once: stdin cannot be one of them");
        }
        return Ok(vec![Cluster::Files { cluster: args.cluster.cluster.clone(), pods: args.pods.clone() }]);
    }
    let sizes: &[u32] = match (args.nodes.as_slice(), args.quick) {
        ([], true) => &[5_000],
        ([], false) => &[5_000, 100_000],
        (sizes, _) => sizes,
    };
    let shapes = sizes.iter().enumerate().map(|(at, &nodes)| {
        let by_size = if nodes < LARGE_NODES { 30 } else { 10 };
        let pods_per_node = match args.pods_per_node.as_slice() {
            [] => by_size,
            [all] => *all,
            each => each.get(at).copied().unwrap_or(by_size),
        };
        Cluster::Synthetic(Shape { nodes, pods_per_node, seed: aims::SEED })
    });
    if args.pods_per_node.len() > 1 && args.pods_per_node.len() != sizes.len() {
        return usage("--pods-per-node: give one number, or one for each size");
    }
    Ok(shapes.collect())
}

/// Measures one cluster. Nothing runs beside what is measured, but for the client of the socket, which is meant to.
fn measure(cluster: &Cluster, quick: bool, native: Option<&native::Program>) -> anyhow::Result<Size> {
    let (writer, reader) = cache::new();
    let policy = PolicyArgs::default();
    let fresh = cluster::engine(reader.clone(), &policy)?.reusing(Reuse::Off);
    let keeping = cluster::engine(reader, &policy)?;
    let own = fresh.policy().scheduler_names.clone();
    let ground = match cluster {
        Cluster::Synthetic(shape) => {
            let objects = u64::from(shape.nodes) * (u64::from(shape.pods_per_node) + 1);
            let mut progress = Progress::new(usize::try_from(objects).unwrap_or(usize::MAX), "objects made");
            Ground::synthetic(writer, &own, *shape, || progress.advance(1))?
        }
        Cluster::Files { cluster, pods } => {
            let read = Ground::of_files(writer, &own, cluster, pods).map_err(|error| match error {
                GroundError::Files(error) => Failure::Data(error.into()).into(),
                error @ GroundError::Object(_) => anyhow::Error::from(error),
            });
            let (ground, skipped) = read?;
            cluster::note_skipped(&skipped);
            ground
        }
    };
    if ground.templates.is_empty() || ground.nodes == 0 {
        return Err(Failure::Data(anyhow::anyhow!("there is no node, or no pod to ask about")).into());
    }
    if ground.templates.len() > limits::BENCH_TEMPLATES {
        let text = format!("{} pods to ask about, at most {}", ground.templates.len(), limits::BENCH_TEMPLATES);
        return Err(Failure::Usage(text).into());
    }
    in_turn(cluster, &ground, &fresh, keeping, quick, native)
}

/// One part after the other: what changes the cluster for good comes last.
fn in_turn(
    cluster: &Cluster,
    ground: &Ground,
    fresh: &Engine,
    keeping: Engine,
    quick: bool,
    native: Option<&native::Program>,
) -> anyhow::Result<Size> {
    let rounds = if quick { Rounds::QUICK } else { Rounds::FULL };
    // The pods, the native program, the socket, the preemption, the event.
    let mut progress = Progress::new(ground.templates.len() + 4, "measurements");
    let mut pods = Vec::with_capacity(ground.templates.len());
    for template in &ground.templates {
        let times = pods::measure(ground, fresh, &keeping, template, rounds)?;
        pods.push(PodFigures::new(ground, template, &times));
        progress.advance(1);
    }
    if let Some(native) = native {
        native.measure(cluster, rounds.cold, &mut pods).context("the native program failed")?;
    }
    progress.advance(1);
    let keeping = Arc::new(keeping);
    let socket = socket::measure(Arc::clone(&keeping), ground, quick)?;
    progress.advance(1);
    let full = FullNode::of(ground);
    let preempted = ground.templates.first().map(|template| full.measure(&keeping, template, 0, rounds.warm));
    let preemption = preempted.transpose()?.map(|(time, _)| time).unwrap_or_default();
    progress.advance(1);
    let pod_event = events::pod_event(ground, rounds.warm);
    progress.advance(1);
    let whole = SizeFigures {
        nodes: ground.nodes,
        pods: ground.pods,
        uds_p50_ns: socket.p50_ns,
        uds_p99_ns: socket.p99_ns,
        uds_requests: socket.requests,
        pods_per_second: socket.pods_per_second,
        batch_pods: socket.batch_pods,
        connections: socket.connections,
        in_flight: socket.in_flight,
        preemption_ns: nanos(preemption),
        pod_event_ns: nanos(pod_event),
    };
    let aims = match cluster {
        Cluster::Synthetic(shape) => aims::of(*shape),
        Cluster::Files { .. } => aims::NONE,
    };
    Ok(Size { pods, whole, aims })
}
