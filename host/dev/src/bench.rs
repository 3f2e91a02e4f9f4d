//! `nodesift-dev bench`: evaluation speed on this machine.
//!
//! ```text
//! cluster  the clusters that the arguments select      targets  targets for the synthetic clusters
//! socket   serves a cluster on its sockets             client   sends requests to it, in another process
//! native   runs nodesift-native                        grpc · http · incoming     the connections of that client
//! requests what the client sends
//! results  what was measured, and its JSON             table · cells              the results as tables
//! claims   the same for clusters with devices
//! ```
//!
//! What is measured in this process, and how, is in [`crate::measure`]. Start at [`run`].

mod cells;
mod claims;
mod client;
mod cluster;
mod cores;
mod grpc;
mod http;
mod incoming;
mod native;
mod requests;
mod results;
mod socket;
mod table;
mod targets;

use std::sync::Arc;

use anyhow::Context as _;

use crate::args::{BenchArgs, Format, PolicyArgs};
use crate::limits;
use crate::measure::events::{self, FullNode};
use crate::measure::pods::{self, Rounds};
use crate::measure::{Testbed, TestbedError};
use cluster::Cluster;
use nodesift::cluster::{engine, note_summary};
use nodesift::exit::Failure;
use nodesift::progress::Progress;
use nodesift::terminal::{self, Paint};
use nodesift_cache as cache;
use nodesift_engine::{Engine, Reuse};
use results::{ClusterFigures, Measured, PodFigures, Results, nanos};

/// Measures the clusters in turn and prints the results. With `--client` it is the client of another run.
///
/// # Errors
///
/// If arguments or files are invalid, an evaluation fails, or the client or `nodesift-native` fails.
pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<()> {
    if args.client {
        return client::run(args.quick);
    }
    let clusters = cluster::select(args)?;
    // It runs the default predicates, whatever the policy is, and answers are compared.
    let native = if args.policy.is_default() { native::Program::find(args.native.as_deref())? } else { None };
    if native.is_none() {
        let why = if args.policy.is_default() { native::MISSING } else { "they are those of the default policy" };
        terminal::note(&format!("native figures are not measured: {why}"));
    }
    let mut results = Vec::with_capacity(clusters.len());
    for cluster in &clusters {
        let measured = measure(cluster, &args.policy, args.quick, native.as_ref())?;
        if args.output == Format::Jsonl {
            terminal::print(&measured.lines()?)?;
        }
        results.push(measured);
    }
    match args.output {
        Format::Jsonl => Ok(()),
        Format::Json => terminal::print(&(serde_json::to_string_pretty(&results::all(&results))? + "\n")),
        Format::Yaml => terminal::print(&serde_saphyr::to_string(&results::all(&results))?),
        Format::Table => terminal::print(&table::text(&results, Paint::for_stdout())),
    }
}

/// Measures one cluster. Nothing else runs meanwhile, except the client of the socket.
fn measure(
    cluster: &Cluster,
    policy: &PolicyArgs,
    quick: bool,
    native: Option<&native::Program>,
) -> anyhow::Result<Measured> {
    let (writer, reader) = cache::new();
    // With its scorers, as a sidecar has it.
    let policy = policy.clone().with_scorers();
    let uncached = engine(reader.clone(), &policy)?.with_reuse(Reuse::Off);
    let caching = engine(reader, &policy)?;
    let own = uncached.policy().scheduler_names.clone();
    let selection = uncached.policy().selection();
    let testbed = match cluster {
        Cluster::Devices(shape) => {
            return claims::measure(*shape, writer, &uncached, caching, quick, native).map(Measured::Claims);
        }
        Cluster::Synthetic(shape) => {
            let objects = u64::from(shape.nodes) * (u64::from(shape.pods_per_node) + 1);
            let mut progress = Progress::new(usize::try_from(objects).unwrap_or(usize::MAX), "objects");
            Testbed::synthetic(writer, &own, &selection, *shape, || progress.advance(1))?
        }
        Cluster::Files { cluster, pods } => {
            let read = Testbed::from_files(writer, &own, &selection, cluster, pods).map_err(|error| match error {
                TestbedError::Files(error) => Failure::Data(error.into()).into(),
                error @ TestbedError::Object(_) => anyhow::Error::from(error),
            });
            let (testbed, summary) = read?;
            note_summary(&summary);
            testbed
        }
    };
    if testbed.templates().is_empty() || testbed.nodes() == 0 {
        return Err(Failure::Data(anyhow::anyhow!(
            "the files hold no node or no pod: --cluster needs nodes, --pods needs pods"
        ))
        .into());
    }
    if testbed.templates().len() > limits::BENCH_TEMPLATES {
        let (pods, most) = (testbed.templates().len(), limits::BENCH_TEMPLATES);
        let text = format!("--pods holds {pods} pods; at most {most} can be measured");
        return Err(Failure::Usage(text).into());
    }
    let results = measure_parts(cluster, &testbed, &uncached, caching, quick, native)?;
    Ok(Measured::Pods(Box::new(results)))
}

/// The parts of one cluster, in turn. Parts that change the cluster for good come last.
fn measure_parts(
    cluster: &Cluster,
    testbed: &Testbed,
    uncached: &Engine,
    caching: Engine,
    quick: bool,
    native: Option<&native::Program>,
) -> anyhow::Result<Results> {
    let rounds = if quick { Rounds::QUICK } else { Rounds::FULL };
    // The pods, then four parts: native, socket, preemption, pod event.
    let mut progress = Progress::new(testbed.templates().len() + 4, "measurements");
    let mut pods = Vec::with_capacity(testbed.templates().len());
    for template in testbed.templates() {
        let times = pods::measure(testbed, uncached, &caching, template, rounds)?;
        pods.push(PodFigures::new(testbed, template, &times));
        progress.advance(1);
    }
    if let Some(native) = native {
        let run = native.measure(cluster, rounds.cold).context("cannot measure native figures")?;
        for pod in &mut pods {
            pod.native = run.figures(&pod.pod, pod.feasible)?;
        }
    }
    progress.advance(1);
    let caching = Arc::new(caching);
    let socket = socket::measure(Arc::clone(&caching), testbed, quick)?;
    progress.advance(1);
    let full = FullNode::fill(testbed);
    let preempted = testbed.templates().first().map(|template| full.measure(&caching, template, 0, rounds.warm));
    let preemption = preempted.transpose()?.map(|(time, _)| time).unwrap_or_default();
    progress.advance(1);
    let pod_event = events::pod_event(testbed, rounds.warm);
    progress.advance(1);
    let figures = ClusterFigures {
        nodes: testbed.nodes(),
        pods: testbed.pods(),
        uds_p50_ns: socket.unix.p50_ns,
        uds_p99_ns: socket.unix.p99_ns,
        uds_ping_p50_ns: socket.ping_unix.p50_ns,
        tcp_p50_ns: socket.tcp.p50_ns,
        tcp_p99_ns: socket.tcp.p99_ns,
        tcp_ping_p50_ns: socket.ping_tcp.p50_ns,
        uds_by_ping: targets::ratio(socket.unix.p50_ns, socket.ping_unix.p50_ns),
        tcp_by_uds: targets::ratio(socket.tcp.p50_ns, socket.unix.p50_ns),
        names: socket.names.count,
        names_json_ns: socket.names.json_names_p50_ns.saturating_sub(socket.names.json_bitmap_p50_ns),
        names_grpc_ns: socket.names.grpc_names_p50_ns.saturating_sub(socket.names.grpc_bitmap_p50_ns),
        names_bare_ns: socket.names.bare_names_p50_ns.saturating_sub(socket.names.bare_ping_p50_ns),
        uds_requests: socket.requests,
        pods_per_second: socket.pods_per_second,
        batch_pods: socket.batch_pods,
        connections: socket.connections,
        in_flight: socket.in_flight,
        preemption_ns: nanos(preemption),
        pod_event_ns: nanos(pod_event),
    };
    let targets = match cluster {
        Cluster::Synthetic(shape) => targets::for_shape(*shape),
        Cluster::Devices(_) | Cluster::Files { .. } => targets::NONE,
    };
    Ok(Results { pods, cluster: figures, targets })
}
