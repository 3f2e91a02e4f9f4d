//! Clusters with devices: pods with claims over all nodes, expressions that are new, and pods that are placed over the socket.
//!
//! ```text
//! results  what was measured          placing  the client that places pods          table  the results as tables
//! ```
//!
//! What is measured in this process, and how, is in [`crate::measure::claims`]. Start at [`measure`].

pub(super) mod placing;
pub(super) mod results;
pub(super) mod table;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use super::client::Job;
use super::cluster::Cluster;
use super::native::NativeFigures;
use super::results::nanos;
use super::socket::{self, Served};
use super::{native, targets};
use crate::measure::claims::{self, ClaimBed, Reads};
use crate::measure::pods::Rounds;
use nodesift::progress::Progress;
use nodesift_cache::Writer;
use nodesift_engine::Engine;
use nodesift_fixtures::synthetic::devices::{DeviceShape, PENDING};
use placing::{PlaceFigures, PlaceJob};
use results::{ClaimFigures, ClaimResults, DeviceFigures};

/// Expressions of each kind that are new. Each is evaluated on all devices.
const EXPRESSIONS: usize = 15;
/// New expressions of each kind with `--quick`.
const EXPRESSIONS_QUICK: usize = 3;

/// Measures a cluster with devices, in an empty cache.
///
/// # Errors
///
/// If an evaluation fails, or the client or `nodesift-native` fails.
pub(super) fn measure(
    shape: DeviceShape,
    writer: Writer,
    uncached: &Engine,
    caching: Engine,
    quick: bool,
    native: Option<&native::Program>,
) -> anyhow::Result<ClaimResults> {
    let objects = usize::try_from(shape.nodes)?.saturating_mul(2);
    let mut progress = Progress::new(objects, "objects");
    let bed = ClaimBed::synthetic(writer, &uncached.policy(), shape, || progress.advance(1))?;
    drop(progress);
    let rounds = if quick { Rounds::QUICK } else { Rounds::FULL_CLAIMS };
    // The pods, then three parts: native, expressions, placing.
    let mut progress = Progress::new(PENDING.len() + 3, "measurements");
    let mut pods = Vec::with_capacity(PENDING.len());
    for pod in &PENDING {
        let times = claims::measure(&bed, uncached, &caching, pod, rounds)?;
        pods.push(ClaimFigures {
            nodes: bed.nodes(),
            devices: bed.devices(),
            pod: pod.name.to_owned(),
            feasible: times.feasible,
            cold_ns: nanos(times.cold),
            allocated_ns: nanos(times.allocated),
            warm_ns: nanos(times.warm),
            native: NativeFigures::default(),
        });
        progress.advance(1);
    }
    if let Some(native) = native {
        let run = native.measure(&Cluster::Devices(shape), rounds.cold).context("cannot measure native figures")?;
        for pod in &mut pods {
            pod.native = run.figures(&pod.pod, pod.feasible)?;
        }
    }
    progress.advance(1);
    let expressions = if quick { EXPRESSIONS_QUICK } else { EXPRESSIONS };
    let [common, distinct] = new_expressions(&bed, &caching, expressions)?;
    progress.advance(1);
    let placed = place(&bed, caching, quick)?;
    progress.advance(1);
    let cluster = DeviceFigures {
        nodes: bed.nodes(),
        devices: bed.devices(),
        held: bed.held(),
        new_expression_common_ns: nanos(common),
        new_expression_distinct_ns: nanos(distinct),
        placed_pods: placed.pods,
        placed_per_second: placed.by_one_per_second,
        clients: placed.clients,
        placed_by_clients_per_second: placed.by_clients_per_second,
    };
    Ok(ClaimResults { pods, cluster, targets: targets::for_devices(shape) })
}

/// The median times of expressions that are new, by what they read.
fn new_expressions(bed: &ClaimBed, engine: &Engine, rounds: usize) -> anyhow::Result<[Duration; 2]> {
    let policy = engine.policy();
    let selectors = policy.selectors.as_ref().context("the policy reads no devices")?;
    let of = |reads| claims::new_expression(bed, selectors, reads, rounds).map_err(|error| anyhow!("{error}"));
    Ok([of(Reads::Common)?, of(Reads::Distinct)?])
}

/// Serves the cluster, and runs a client that places the replicas of the first pod.
fn place(bed: &ClaimBed, engine: Engine, quick: bool) -> anyhow::Result<PlaceFigures> {
    let served = Served::start(Arc::new(engine), bed.writer())?;
    let uids = PENDING.first().map(|pod| bed.uids(pod)).unwrap_or_default();
    let job = PlaceJob { nodes: bed.node_names(), uids, unix: served.unix().to_owned() };
    let figures = socket::run_client(&Job::Claims(job), quick);
    served.stop();
    figures
}
