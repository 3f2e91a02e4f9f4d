//! The native figures of `nodesift-dev bench`: whole answers of the default policy about the same cluster, evaluated alternately
//! in the sandbox and natively, so that both run under the same conditions. Prints one line of JSON per pod.
//!
//! Fails if the two answers differ. Both use the same engine code around the predicates. In turn with them runs a plain loop over the same
//! columns, where it finds the same rows.
#![allow(clippy::print_stdout, reason = "the output is JSON lines")]

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use clap::Parser;
use nodesift::cluster;
use nodesift_bench::native;
use nodesift_bench::streamed::Streamed;
use nodesift_cache as cache;
use nodesift_dev::measure::claims::{self, ClaimBed};
use nodesift_dev::measure::{NativeTimes, Testbed, Times, pods};
use nodesift_engine::{Engine, Options, PodAnswer, Query, Reuse};
use nodesift_fixtures::synthetic::Shape;
use nodesift_fixtures::synthetic::devices::{DeviceShape, PENDING};

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Measures the predicates in the sandbox and natively
#[derive(Debug, Parser)]
struct Args {
    /// Nodes of a synthetic cluster
    #[arg(long, default_value_t = 5_000)]
    nodes: u32,
    /// Devices on each of its nodes: measures pods with claims, and leaves out all other pods
    #[arg(long, conflicts_with = "pods_per_node")]
    devices_per_node: Option<u32>,
    /// Pods on each of its nodes
    #[arg(long, default_value_t = 30)]
    pods_per_node: u32,
    /// Seed of the synthetic cluster
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Files of a cluster instead of a synthetic one
    #[arg(long, num_args = 1.., requires = "pods")]
    cluster: Vec<PathBuf>,
    /// Files of the pods to evaluate
    #[arg(long, num_args = 1.., requires = "cluster")]
    pods: Vec<PathBuf>,
    /// Number of measurements of each
    #[arg(long, default_value_t = 400)]
    rounds: usize,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let (writer, reader) = cache::new();
    let engine = cluster::engine(reader, &cluster::PolicyArgs::default())?.with_reuse(Reuse::Off);
    let policy = engine.policy();
    if let Some(devices_per_node) = args.devices_per_node {
        let shape = DeviceShape { nodes: args.nodes, devices_per_node, uuids: true, seed: args.seed };
        let _bed = ClaimBed::synthetic(writer, &policy, shape, || ())?;
        for pod in &PENDING {
            let query = claims::question(pod);
            let feasible = engine.answer(&query, Options::default())?.pods.first().map_or(0, |pod| pod.feasible.len());
            measure(&engine, pod.name, &query, feasible, args.rounds)?;
        }
        return Ok(());
    }
    let (own, selection) = (&policy.scheduler_names, &policy.selection());
    let testbed = if args.cluster.is_empty() {
        let shape = Shape { nodes: args.nodes, pods_per_node: args.pods_per_node, seed: args.seed };
        Testbed::synthetic(writer, own, selection, shape, || ())?
    } else {
        Testbed::from_files(writer, own, selection, &args.cluster, &args.pods)?.0
    };
    for template in testbed.templates() {
        let query = pods::question(template);
        let feasible = pods::settle(&testbed, &engine, &query)?;
        measure(&engine, template.name(), &query, feasible, args.rounds)?;
    }
    Ok(())
}

/// Measures one pod, and prints its line.
fn measure(engine: &Engine, pod: &str, query: &Query, feasible: usize, rounds: usize) -> anyhow::Result<()> {
    let natively = || native::answer(engine, query);
    check(&engine.answer(query, Options::default())?.pods, &natively()?).with_context(|| format!("pod {pod}"))?;
    let streamed = streamed(engine, query)?;
    let (mut sandboxed_times, mut native_times, mut streamed_times) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let started = Instant::now();
        drop(black_box(engine.answer(query, Options::default())?));
        sandboxed_times.push(started.elapsed());
        let started = Instant::now();
        drop(black_box(natively()?));
        native_times.push(started.elapsed());
        if let Some(streamed) = &streamed {
            let started = Instant::now();
            drop(black_box(streamed.feasible()));
            streamed_times.push(started.elapsed());
        }
    }
    let nanos = |times| u64::try_from(Times::new(times).median().as_nanos());
    let (sandboxed_ns, native_ns) = (nanos(sandboxed_times)?, nanos(native_times)?);
    let streamed_ns = streamed.is_some().then(|| nanos(streamed_times)).transpose()?;
    let times = NativeTimes { pod: pod.to_owned(), feasible, sandboxed_ns, native_ns, streamed_ns };
    println!("{}", serde_json::to_string(&times)?);
    Ok(())
}

/// The plain loop for the pod of a query; `None` where it does not find the rows of the answer.
fn streamed(engine: &Engine, query: &Query) -> anyhow::Result<Option<Streamed>> {
    let Some(pod) = query.pods.first() else { return Ok(None) };
    let context = Arc::new(engine.context(&engine.snapshot(), pod)?);
    let answer = engine.answer(query, Options::default())?;
    let feasible = answer.pods.first().map(|pod| pod.feasible.bitmap(context.rows() as usize));
    Ok(Streamed::new(&context).filter(|streamed| Some(streamed.feasible()) == feasible))
}

/// Checks that both answers are equal for every node.
fn check(sandboxed: &[PodAnswer], native: &[PodAnswer]) -> anyhow::Result<()> {
    for (sandboxed, native) in sandboxed.iter().zip(native) {
        ensure!(sandboxed.faults.is_empty(), "a predicate failed in the sandbox: {:?}", sandboxed.faults);
        ensure!(native.faults.is_empty(), "a predicate failed natively: {:?}", native.faults);
        ensure!(sandboxed.feasible == native.feasible, "different nodes fit natively");
        ensure!(sandboxed.failures == native.failures, "nodes fail for different reasons natively");
        ensure!(sandboxed.message == native.message, "the message differs natively");
    }
    Ok(())
}
