//! The client of the socket figures: sends requests as a scheduler core does, by UID and with bitmap answers.
//!
//! It reads [`Job`] as JSON from stdin, and writes the figures, here [`SocketFigures`], as JSON to stdout. It is a plain blocking gRPC
//! client, see [`grpc`](super::grpc): a runtime of its own would cost as much as the sidecar. Beside the calls it measures the least that
//! a round trip between two cores costs here, 32 bytes there and back over a bare socket of the same kind. The verdicts of the pods are
//! cached before anything is measured. Start at [`run`].

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use nodesift_proto::v1;
use serde::{Deserialize, Serialize};

use super::claims::placing;
use super::cores::{self, Core};
use super::grpc::{Call, Connection};
use super::http;
use super::requests::{dial_tcp, dial_unix, known, request};
use super::results::nanos;
use crate::measure::Times;
use nodesift::terminal;

/// Measurements that the client is to make.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Job {
    /// Measure requests about pods.
    Pods(PodJob),
    /// Measure pods with claims that are placed; see [`placing`].
    Claims(placing::PlaceJob),
}

/// Requests about pods of a cluster.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PodJob {
    /// Number of nodes in the cluster.
    pub(super) nodes: usize,
    /// The pods to ask about, in turn.
    pub(super) uids: Vec<String>,
    /// Where the sidecar listens.
    pub(super) unix: PathBuf,
    pub(super) tcp: SocketAddr,
    /// Where threads of the same process send back what they receive, [`PING_BYTES`] at a time.
    pub(super) ping_unix: PathBuf,
    pub(super) ping_tcp: SocketAddr,
    /// Where a thread of the same process answers a number, of four bytes, with so many bytes.
    pub(super) bulk_unix: PathBuf,
}

/// Bytes of a bare message.
pub(super) const PING_BYTES: usize = 32;

/// Median and 99th percentile of latencies, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Latency {
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
}

/// Figures that the client has measured.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SocketFigures {
    /// Requests with one pod over each kind of socket, one after the other.
    pub(super) requests: usize,
    pub(super) unix: Latency,
    pub(super) tcp: Latency,
    /// Latencies of as many bare messages over a socket of the same kind.
    pub(super) ping_unix: Latency,
    pub(super) ping_tcp: Latency,
    /// Cost of names of nodes in answers.
    pub(super) names: NamesFigures,
    /// Throughput of batches over the Unix socket.
    pub(super) pods_per_second: u64,
    /// Pods in each batch.
    pub(super) batch_pods: usize,
    /// Connections that send batches.
    pub(super) connections: usize,
    /// Batches in flight on each connection.
    pub(super) in_flight: usize,
}

/// Median latencies over the Unix socket for the pod that fits most nodes: the same answer with a bitmap and with names, in
/// nanoseconds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct NamesFigures {
    /// The number of names.
    pub(super) count: u32,
    pub(super) grpc_bitmap_p50_ns: u64,
    pub(super) grpc_names_p50_ns: u64,
    pub(super) json_bitmap_p50_ns: u64,
    pub(super) json_names_p50_ns: u64,
    /// Median times of as many bytes as the answer with names has in JSON, and of [`PING_BYTES`], over a bare socket of the same
    /// kind.
    pub(super) bare_names_p50_ns: u64,
    pub(super) bare_ping_p50_ns: u64,
}

/// Requests whose latency is measured. 200 of them are slower than the 99th percentile.
const REQUESTS: usize = 20_000;
/// Requests whose latency is measured with `--quick`.
const REQUESTS_QUICK: usize = 1_000;
/// The parts in which they are measured, in turn with bare messages: the machine changes its pace within seconds.
const ROUNDS: usize = 20;
/// Requests and bare messages before the measured ones, to warm up connections and caches.
const WARM_UP_REQUESTS: usize = 500;
/// Time for which batches are sent.
const BATCHES_TIME: Duration = Duration::from_secs(3);
/// Time for which batches are sent with `--quick`.
const BATCHES_TIME_QUICK: Duration = Duration::from_millis(300);
/// Pods in a batch.
const BATCH: usize = 64;
/// Connections that send batches: a scheduler core has one or two.
const CONNECTIONS: usize = 2;
/// Batches in flight on each connection, so that the sidecar never waits for the next one.
const IN_FLIGHT: usize = 2;

/// Measures the sidecar behind its sockets.
///
/// # Errors
///
/// If stdin is invalid, the sidecar cannot be reached, or an answer is incomplete.
pub(super) fn run(quick: bool) -> anyhow::Result<()> {
    let job: Job = serde_json::from_reader(std::io::stdin().lock()).context("cannot read the job from stdin")?;
    let figures = match job {
        Job::Pods(job) => serde_json::to_string(&measure(&job, quick)?)?,
        Job::Claims(job) => serde_json::to_string(&placing::measure(&job, quick)?)?,
    };
    terminal::print(&(figures + "\n"))
}

fn measure(job: &PodJob, quick: bool) -> anyhow::Result<SocketFigures> {
    let requests = if quick { REQUESTS_QUICK } else { REQUESTS };
    let [unix, tcp, ping_unix, ping_tcp] = one_by_one(job, requests)?;
    let batch = BATCH.min(nodesift_api::limits::REQUEST_PAIRS / job.nodes.max(1)).max(1);
    let time = if quick { BATCHES_TIME_QUICK } else { BATCHES_TIME };
    Ok(SocketFigures {
        names: names(job, requests / 4)?,
        requests,
        unix,
        tcp,
        ping_unix,
        ping_tcp,
        pods_per_second: in_batches(job, batch, time)?,
        batch_pods: batch,
        connections: CONNECTIONS,
        in_flight: IN_FLIGHT,
    })
}

/// One connection that asks about one pod per request, one request after the other.
struct Asker<'a, S> {
    connection: Connection<S>,
    uids: std::iter::Cycle<std::slice::Iter<'a, String>>,
    table: v1::Bitmaps,
}

impl<'a, S: Read + Write> Asker<'a, S> {
    fn open(stream: S, uids: &'a [String]) -> anyhow::Result<Self> {
        Ok(Self {
            connection: Connection::open(stream, Call::Filter)?,
            uids: uids.iter().cycle(),
            table: v1::Bitmaps::default(),
        })
    }

    fn ask(&mut self) -> anyhow::Result<()> {
        let uid = self.uids.next().context("there are no pods to ask about")?;
        self.connection.send(&request(std::slice::from_ref(uid), self.table))?;
        let (_, answer) = self.connection.receive()?;
        self.table = known(&answer, 1)?.unwrap_or(self.table);
        Ok(())
    }
}

/// Sends bare messages over a socket and reads them back.
fn ping(stream: &mut (impl Read + Write)) -> anyhow::Result<()> {
    let mut bytes = [7; PING_BYTES];
    stream.write_all(&bytes).context("cannot send a bare message")?;
    stream.read_exact(&mut bytes).context("a bare message does not come back")
}

/// Asks for so many bytes over a bare socket, and reads them.
fn bulk(stream: &mut (impl Read + Write), bytes: &mut [u8]) -> anyhow::Result<()> {
    stream.write_all(&u32::try_from(bytes.len())?.to_le_bytes()).context("cannot send a bare message")?;
    stream.read_exact(bytes).context("a bare message does not come")
}

/// Latencies of answers with bitmaps and with names, about the pod that fits most nodes.
fn names(job: &PodJob, requests: usize) -> anyhow::Result<NamesFigures> {
    let mut grpc = Connection::open(dial_unix(&job.unix)?, Call::Filter)?;
    let mut most = (0, None);
    let mut table = v1::Bitmaps::default();
    for uid in &job.uids {
        grpc.send(&request(std::slice::from_ref(uid), table))?;
        let (_, answer) = grpc.receive()?;
        table = known(&answer, 1)?.unwrap_or(table);
        let count = answer.pods.first().map_or(0, |pod| pod.feasible_count);
        if most.1.is_none() || count > most.0 {
            most = (count, Some(uid));
        }
    }
    let (count, Some(uid)) = most else { bail!("there are no pods to ask about") };
    let with_bitmap = request(std::slice::from_ref(uid), table);
    let with_names = v1::FilterRequest { bitmaps: None, ..with_bitmap.clone() };
    let json = [serde_json::to_string(&with_bitmap)?, serde_json::to_string(&with_names)?];
    let mut http = http::Connection::new(dial_unix(&job.unix)?);
    let mut bare = dial_unix(&job.bulk_unix)?;
    let mut bytes = vec![0; http.ask("/v1/filter", &json[1])?.len()];
    let mut times = [const { Vec::new() }; 6];
    for round in 0..=ROUNDS {
        for (kind, times) in times.iter_mut().enumerate() {
            for _ in 0..requests.div_ceil(ROUNDS) {
                let started = Instant::now();
                // The answers are read whole and not decoded, as far as the client is free to.
                match kind {
                    0 | 1 => {
                        grpc.send(if kind == 0 { &with_bitmap } else { &with_names })?;
                        grpc.receive_encoded()?;
                    }
                    2 | 3 => {
                        http.ask("/v1/filter", if kind == 2 { &json[0] } else { &json[1] })?;
                    }
                    4 => bulk(&mut bare, &mut bytes)?,
                    _ => bulk(&mut bare, bytes.get_mut(..PING_BYTES).unwrap_or_default())?,
                }
                if round > 0 {
                    times.push(started.elapsed());
                }
            }
        }
    }
    let [
        grpc_bitmap_p50_ns,
        grpc_names_p50_ns,
        json_bitmap_p50_ns,
        json_names_p50_ns,
        bare_names_p50_ns,
        bare_ping_p50_ns,
    ] = times.map(|times| nanos(Times::new(times).quantile(0.5)));
    Ok(NamesFigures {
        count,
        grpc_bitmap_p50_ns,
        grpc_names_p50_ns,
        json_bitmap_p50_ns,
        json_names_p50_ns,
        bare_names_p50_ns,
        bare_ping_p50_ns,
    })
}

/// Latencies over the Unix socket and TCP, and of bare messages over each, which have their two ends on different cores.
fn one_by_one(job: &PodJob, requests: usize) -> anyhow::Result<[Latency; 4]> {
    let (mut ping_unix, mut ping_tcp) = (dial_unix(&job.ping_unix)?, dial_tcp(job.ping_tcp)?);
    let (mut unix, mut tcp) =
        (Asker::open(dial_unix(&job.unix)?, &job.uids)?, Asker::open(dial_tcp(job.tcp)?, &job.uids)?);
    let mut kinds: [Box<dyn FnMut() -> anyhow::Result<()>>; 4] = [
        Box::new(move || unix.ask()),
        Box::new(move || tcp.ask()),
        Box::new(move || ping(&mut ping_unix)),
        Box::new(move || ping(&mut ping_tcp)),
    ];
    let mut times = [const { Vec::new() }; 4];
    for round in 0..=ROUNDS {
        let (count, measured) = match round {
            0 => (WARM_UP_REQUESTS.max(job.uids.len()), false),
            _ => (requests.div_ceil(ROUNDS), true),
        };
        for (kind, (call, times)) in kinds.iter_mut().zip(&mut times).enumerate() {
            // Requests leave the choice to the system: a sidecar's thread may share the client's core, or not.
            let is_bare = kind >= 2;
            let _on_one_core = is_bare.then(|| cores::pin(Core::First)).transpose().context("cannot choose a core")?;
            for _ in 0..count {
                let started = Instant::now();
                call()?;
                let taken = started.elapsed();
                if measured {
                    times.push(taken);
                }
            }
        }
    }
    Ok(times.map(|times| {
        let times = Times::new(times);
        Latency { p50_ns: nanos(times.quantile(0.5)), p99_ns: nanos(times.quantile(0.99)) }
    }))
}

/// Batches over [`CONNECTIONS`] connections of the Unix socket, [`IN_FLIGHT`] on each. Returns pods per second.
fn in_batches(job: &PodJob, batch: usize, time: Duration) -> anyhow::Result<u64> {
    let started = Instant::now();
    let answered: u64 = thread::scope(|scope| {
        let send = || -> anyhow::Result<u64> {
            let mut connection = Connection::open(dial_unix(&job.unix)?, Call::Filter)?;
            let (mut table, mut answered) = (v1::Bitmaps::default(), 0);
            let mut waiting = BTreeMap::new();
            for batch in job.uids.chunks(batch).cycle() {
                if started.elapsed() >= time {
                    break;
                }
                if waiting.len() == IN_FLIGHT {
                    let (stream, answer) = connection.receive()?;
                    let pods = waiting.remove(&stream).context("an answer to no request")?;
                    table = known(&answer, pods)?.unwrap_or(table);
                    answered += u64::try_from(pods)?;
                }
                waiting.insert(connection.send(&request(batch, table))?, batch.len());
            }
            Ok(answered)
        };
        let senders: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(send)).collect();
        senders
            .into_iter()
            .map(|sender| sender.join().unwrap_or_else(|_| Err(anyhow!("a sender of batches panicked"))))
            .sum::<anyhow::Result<u64>>()
    })?;
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // The number of pods is far below 2^52.
    let per_second = (answered as f64 / started.elapsed().as_secs_f64()) as u64;
    Ok(per_second)
}
