//! The client of the socket figures: sends requests as a scheduler core does, by UID and with bitmap answers.
//!
//! It reads the number of nodes and then the UIDs of the pods from stdin, one per line, and writes [`SocketFigures`] as JSON
//! to stdout. The verdicts of the pods are cached before anything is measured. Start at [`run`].

use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use nodesift_proto::v1::nodesift_client::NodesiftClient;
use nodesift_proto::v1::{self, pod};
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tonic::transport::{Channel, Endpoint};

use super::results::nanos;
use crate::limits;
use crate::measure::Times;
use crate::terminal;

/// What the client measures.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SocketFigures {
    /// Requests with one pod, one after the other.
    pub(super) requests: usize,
    /// Their median latency in nanoseconds.
    pub(super) p50_ns: u64,
    /// Their 99th percentile in nanoseconds.
    pub(super) p99_ns: u64,
    /// Throughput of batches.
    pub(super) pods_per_second: u64,
    /// Pods in each batch.
    pub(super) batch_pods: usize,
    /// Connections that send batches.
    pub(super) connections: usize,
    /// Batches in flight on each connection.
    pub(super) in_flight: usize,
}

/// Requests whose latency is measured. 200 of them are slower than the 99th percentile.
const REQUESTS: usize = 20_000;
/// The same with `--quick`.
const REQUESTS_QUICK: usize = 1_000;
/// Requests before the measured ones, to warm up the connection and the caches.
const WARM_UP_REQUESTS: usize = 500;
/// How long batches are sent.
const BATCHES_TIME: Duration = Duration::from_secs(3);
/// The same with `--quick`.
const BATCHES_TIME_QUICK: Duration = Duration::from_millis(300);
/// Pods in a batch.
const BATCH: usize = 64;
/// Connections that send batches: a scheduler core has one or two.
const CONNECTIONS: usize = 2;
/// Batches in flight on each connection, so that the sidecar never waits for the next one.
const IN_FLIGHT: usize = 2;

type Client = NodesiftClient<Channel>;

/// Measures the sidecar behind a socket.
///
/// # Errors
///
/// If stdin is invalid, the sidecar cannot be reached, or an answer is incomplete.
pub(super) fn run(socket: &Path, quick: bool) -> anyhow::Result<()> {
    let mut input = String::new();
    std::io::stdin().lock().read_to_string(&mut input).context("cannot read the pods from stdin")?;
    let mut lines = input.lines();
    let nodes: usize =
        lines.next().unwrap_or_default().parse().context("stdin: expected the number of nodes in the first line")?;
    let uids: Vec<&str> = lines.collect();
    let requests = if quick { REQUESTS_QUICK } else { REQUESTS };
    let one = Builder::new_current_thread().enable_all().build().context("cannot start the network client")?;
    let times = one.block_on(one_by_one(socket, &uids, requests))?;
    drop(one);
    let batch = BATCH.min(nodesift_api::limits::REQUEST_PAIRS / nodes.max(1)).max(1);
    let time = if quick { BATCHES_TIME_QUICK } else { BATCHES_TIME };
    let many = Builder::new_multi_thread().enable_all().build().context("cannot start the network client")?;
    let pods_per_second = many.block_on(in_batches(socket, &uids, batch, time))?;
    let figures = SocketFigures {
        requests,
        p50_ns: nanos(times.quantile(0.5)),
        p99_ns: nanos(times.quantile(0.99)),
        pods_per_second,
        batch_pods: batch,
        connections: CONNECTIONS,
        in_flight: IN_FLIGHT,
    };
    terminal::print(&(serde_json::to_string(&figures)? + "\n"))
}

async fn connect(socket: &Path) -> anyhow::Result<Client> {
    let endpoint = Endpoint::from_shared(format!("unix:{}", socket.display()))?;
    let endpoint = endpoint.connect_timeout(limits::CLIENT_CONNECT).timeout(limits::CLIENT_ANSWER);
    let channel = endpoint.connect().await.context("cannot reach the sidecar")?;
    Ok(NodesiftClient::new(channel).max_decoding_message_size(limits::CLIENT_ANSWER_BYTES))
}

/// One pod per request, one request after the other, on one connection.
async fn one_by_one(socket: &Path, uids: &[&str], requests: usize) -> anyhow::Result<Times> {
    let mut client = connect(socket).await?;
    let mut table = v1::Bitmaps::default();
    let mut times = Vec::with_capacity(requests);
    for (at, uid) in uids.iter().cycle().take(WARM_UP_REQUESTS.max(uids.len()) + requests).enumerate() {
        let started = Instant::now();
        send(&mut client, &[uid], &mut table).await?;
        let taken = started.elapsed();
        if at >= WARM_UP_REQUESTS.max(uids.len()) {
            times.push(taken);
        }
    }
    Ok(Times::of(times))
}

/// Batches over [`CONNECTIONS`] connections, [`IN_FLIGHT`] on each. Returns pods per second.
async fn in_batches(socket: &Path, uids: &[&str], batch: usize, time: Duration) -> anyhow::Result<u64> {
    let batches: Vec<Vec<String>> =
        uids.chunks(batch).map(|uids| uids.iter().map(|uid| (*uid).to_owned()).collect()).collect();
    let mut senders = JoinSet::new();
    let started = Instant::now();
    for _ in 0..CONNECTIONS {
        let client = connect(socket).await?;
        for _ in 0..IN_FLIGHT {
            let (mut client, batches) = (client.clone(), batches.clone());
            senders.spawn(async move {
                let mut table = v1::Bitmaps::default();
                let mut answered: u64 = 0;
                for batch in batches.iter().cycle() {
                    if started.elapsed() >= time {
                        break;
                    }
                    let uids: Vec<&str> = batch.iter().map(String::as_str).collect();
                    send(&mut client, &uids, &mut table).await?;
                    answered += u64::try_from(uids.len())?;
                }
                anyhow::Ok(answered)
            });
        }
    }
    let mut answered = 0;
    while let Some(sender) = senders.join_next().await {
        answered += sender??;
    }
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // The number of pods is far below 2^52.
    let per_second = (answered as f64 / started.elapsed().as_secs_f64()) as u64;
    Ok(per_second)
}

/// One request for the nodes that fit, without the failures of the others: all that a core needs to place pods. Checks that
/// every pod is answered.
async fn send(client: &mut Client, uids: &[&str], table: &mut v1::Bitmaps) -> anyhow::Result<()> {
    let pods = uids.iter().map(|uid| v1::Pod { pod: Some(pod::Pod::Uid((*uid).to_owned())) }).collect();
    let request =
        v1::FilterRequest { pods, detail: v1::Detail::Feasible.into(), bitmaps: Some(*table), ..Default::default() };
    let response = client.filter(request).await?.into_inner();
    let is_bitmap = |pod: &v1::PodAnswer| {
        let bits: u32 = pod.feasible_rows.iter().flatten().map(|byte| byte.count_ones()).sum();
        bits == pod.feasible_count && pod.nodes > 0
    };
    if response.pods.len() != uids.len() || !response.pods.iter().all(is_bitmap) {
        bail!("an answer lacks a pod or a bitmap");
    }
    if let Some(rows) = response.rows {
        *table = v1::Bitmaps { epoch: rows.epoch, generation: rows.generation };
    }
    Ok(())
}
