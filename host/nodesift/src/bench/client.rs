//! The client's side of the socket figures: asks as a scheduler core does, by UID, and takes bitmaps.
//!
//! On stdin come the number of nodes and then the UIDs of the pods, a line each; stdout gets [`Found`] as JSON. The pods'
//! verdicts are kept by the time that anything is measured. Start at [`run`].

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

use super::figures::nanos;
use crate::limits;
use crate::measure::Times;
use crate::report;

/// What a client finds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) requests: usize,
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) pods_per_second: u64,
    pub(super) batch_pods: usize,
    pub(super) connections: usize,
    pub(super) in_flight: usize,
}

/// Requests whose latency is measured, one after the other: 200 of them are slower than the 99th percentile.
const REQUESTS: usize = 20_000;
/// The same for a quick look.
const REQUESTS_QUICK: usize = 1_000;
/// Requests before those that are measured: connections and caches warm up.
const REQUESTS_UNMEASURED: usize = 500;
/// How long batches are asked for.
const BATCHES_TIME: Duration = Duration::from_secs(3);
/// The same for a quick look.
const BATCHES_TIME_QUICK: Duration = Duration::from_millis(300);
/// Pods in a batch.
const BATCH: usize = 64;
/// Connections over which batches are asked for: a core has one or two.
const CONNECTIONS: usize = 2;
/// Batches under way on each: the next one is there when one is answered.
const IN_FLIGHT: usize = 2;

type Client = NodesiftClient<Channel>;

/// Asks the sidecar behind a socket.
pub(super) fn run(socket: &Path, quick: bool) -> anyhow::Result<()> {
    let mut told = String::new();
    std::io::stdin().lock().read_to_string(&mut told).context("cannot read what to ask")?;
    let mut lines = told.lines();
    let nodes: usize = lines.next().unwrap_or_default().parse().context("the number of nodes")?;
    let uids: Vec<&str> = lines.collect();
    let requests = if quick { REQUESTS_QUICK } else { REQUESTS };
    let one = Builder::new_current_thread().enable_all().build().context("cannot start the network client")?;
    let times = one.block_on(one_by_one(socket, &uids, requests))?;
    drop(one);
    let batch = BATCH.min(nodesift_api::limits::REQUEST_PAIRS / nodes.max(1)).max(1);
    let time = if quick { BATCHES_TIME_QUICK } else { BATCHES_TIME };
    let many = Builder::new_multi_thread().enable_all().build().context("cannot start the network client")?;
    let pods_per_second = many.block_on(in_batches(socket, &uids, batch, time))?;
    let found = Found {
        requests,
        p50_ns: nanos(times.quantile(0.5)),
        p99_ns: nanos(times.quantile(0.99)),
        pods_per_second,
        batch_pods: batch,
        connections: CONNECTIONS,
        in_flight: IN_FLIGHT,
    };
    report::print(&(serde_json::to_string(&found)? + "\n"))
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
    for (at, uid) in uids.iter().cycle().take(REQUESTS_UNMEASURED.max(uids.len()) + requests).enumerate() {
        let started = Instant::now();
        ask(&mut client, &[uid], &mut table).await?;
        let taken = started.elapsed();
        if at >= REQUESTS_UNMEASURED.max(uids.len()) {
            times.push(taken);
        }
    }
    Ok(Times::of(times))
}

/// Batches over several connections, some under way on each; how many pods are answered a second.
async fn in_batches(socket: &Path, uids: &[&str], batch: usize, time: Duration) -> anyhow::Result<u64> {
    let batches: Vec<Vec<String>> =
        uids.chunks(batch).map(|uids| uids.iter().map(|uid| (*uid).to_owned()).collect()).collect();
    let mut askers = JoinSet::new();
    let started = Instant::now();
    for _ in 0..CONNECTIONS {
        let client = connect(socket).await?;
        for _ in 0..IN_FLIGHT {
            let (mut client, batches) = (client.clone(), batches.clone());
            askers.spawn(async move {
                let mut table = v1::Bitmaps::default();
                let mut answered: u64 = 0;
                for batch in batches.iter().cycle() {
                    if started.elapsed() >= time {
                        break;
                    }
                    let uids: Vec<&str> = batch.iter().map(String::as_str).collect();
                    ask(&mut client, &uids, &mut table).await?;
                    answered += u64::try_from(uids.len())?;
                }
                anyhow::Ok(answered)
            });
        }
    }
    let mut answered = 0;
    while let Some(asker) = askers.join_next().await {
        answered += asker??;
    }
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // Pods of a few seconds are far below 2^52, and so are those of one.
    let per_second = (answered as f64 / started.elapsed().as_secs_f64()) as u64;
    Ok(per_second)
}

/// Asks which nodes fit, without why the others do not: what a core places by. The answer must be about all pods.
async fn ask(client: &mut Client, uids: &[&str], table: &mut v1::Bitmaps) -> anyhow::Result<()> {
    let pods = uids.iter().map(|uid| v1::Pod { pod: Some(pod::Pod::Uid((*uid).to_owned())) }).collect();
    let request =
        v1::FilterRequest { pods, detail: v1::Detail::Feasible.into(), bitmaps: Some(*table), ..Default::default() };
    let response = client.filter(request).await?.into_inner();
    let is_bitmap = |pod: &v1::PodAnswer| {
        let bits: u32 = pod.feasible_rows.iter().flatten().map(|byte| byte.count_ones()).sum();
        bits == pod.feasible_count && pod.nodes > 0
    };
    if response.pods.len() != uids.len() || !response.pods.iter().all(is_bitmap) {
        bail!("an answer is not what was asked for");
    }
    if let Some(rows) = response.rows {
        *table = v1::Bitmaps { epoch: rows.epoch, generation: rows.generation };
    }
    Ok(())
}
