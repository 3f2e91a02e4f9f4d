//! The client that places pods with claims: for each a `Filter`, and an `Assume` that allocates, as a scheduler core does. Start at
//! [`measure`].

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use nodesift_proto::v1::{self, pod};
use prost::Message as _;
use serde::{Deserialize, Serialize};

use super::super::grpc::{Call, Connection, MESSAGE_HEAD};
use super::super::requests::{dial_unix, known, request};
use crate::measure::Times;

/// Pods with claims that are to be placed.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct PlaceJob {
    /// The names of the nodes, by row.
    pub(in super::super) nodes: Vec<String>,
    /// UIDs of the pods to place.
    pub(in super::super) uids: Vec<String>,
    /// Where the sidecar listens.
    pub(in super::super) unix: PathBuf,
}

/// Figures that the client has measured.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct PlaceFigures {
    /// Pods that are placed in each round.
    pub(in super::super) pods: usize,
    /// Pods per second, by one client.
    pub(in super::super) by_one_per_second: u64,
    /// Number of several clients.
    pub(in super::super) clients: usize,
    /// Pods per second, by these together.
    pub(in super::super) by_clients_per_second: u64,
}

/// Clients at the same time: more than a machine of two cores serves at once.
const CLIENTS: usize = 4;
/// Rounds whose median counts. In each, all pods are placed, and then forgotten.
const ROUNDS: usize = 5;
/// Rounds whose median counts with `--quick`.
const ROUNDS_QUICK: usize = 1;
/// Nodes that may be lost to another client between the two calls, for one pod.
const RETRIES: usize = 16;

/// Places all pods in turn, by one client and by several.
///
/// # Errors
///
/// If the sidecar cannot be reached, refuses a pod, or allocates nothing.
pub(in super::super) fn measure(job: &PlaceJob, quick: bool) -> anyhow::Result<PlaceFigures> {
    let rounds = if quick { ROUNDS_QUICK } else { ROUNDS };
    let per_second = |clients: usize| -> anyhow::Result<u64> {
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            times.push(round(job, clients)?);
        }
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // The number of pods is far below 2^52.
        let rate = (job.uids.len() as f64 / Times::new(times).median().as_secs_f64()) as u64;
        Ok(rate)
    };
    Ok(PlaceFigures {
        pods: job.uids.len(),
        by_one_per_second: per_second(1)?,
        clients: CLIENTS,
        by_clients_per_second: per_second(CLIENTS)?,
    })
}

/// The time in which so many clients place all pods. They are forgotten afterwards.
fn round(job: &PlaceJob, clients: usize) -> anyhow::Result<Duration> {
    let share = job.uids.len().div_ceil(clients).max(1);
    let start = Barrier::new(job.uids.chunks(share).len() + 1);
    let time = thread::scope(|scope| {
        let place = |number: usize, uids: &[String]| -> anyhow::Result<()> {
            let client = Client::open(&job.unix, &job.nodes, number * job.nodes.len() / clients);
            start.wait();
            let mut client = client?;
            uids.iter().try_for_each(|uid| client.place(uid))
        };
        let placing: Vec<_> =
            job.uids.chunks(share).enumerate().map(|(number, uids)| scope.spawn(move || place(number, uids))).collect();
        start.wait();
        let started = Instant::now();
        for client in placing {
            client.join().unwrap_or_else(|_| Err(anyhow!("a client that places pods panicked")))?;
        }
        anyhow::Ok(started.elapsed())
    })?;
    let mut connection = Connection::open(dial_unix(&job.unix)?, Call::Forget)?;
    for uid in &job.uids {
        connection.send(&v1::ForgetRequest { pod: Some(pod_of(uid)) })?;
        let (_, answer): (_, v1::ForgetResponse) = connection.receive()?;
        if !answer.was_assumed {
            bail!("pod {uid} was not assumed");
        }
    }
    Ok(time)
}

/// A scheduler core: one pod after the other, each on the first node that fits after that of the last one.
struct Client<'a> {
    filter: Connection<UnixStream>,
    assume: Connection<UnixStream>,
    nodes: &'a [String],
    next: usize,
    table: v1::Bitmaps,
}

impl<'a> Client<'a> {
    fn open(unix: &Path, nodes: &'a [String], next: usize) -> anyhow::Result<Self> {
        let filter = Connection::open(dial_unix(unix)?, Call::Filter)?;
        let assume = Connection::open(dial_unix(unix)?, Call::Assume)?;
        Ok(Self { filter, assume, nodes, next, table: v1::Bitmaps::default() })
    }

    fn place(&mut self, uid: &String) -> anyhow::Result<()> {
        for _ in 0..RETRIES {
            self.filter.send(&request(std::slice::from_ref(uid), self.table))?;
            let (_, answer) = self.filter.receive()?;
            self.table = known(&answer, 1)?.unwrap_or(self.table);
            let rows = answer.pods.first().and_then(|pod| pod.feasible_rows.as_deref()).unwrap_or_default();
            let row =
                first_from(rows, self.next, self.nodes.len()).context("no node fits a pod that is to be placed")?;
            self.next = row + 1;
            let node = self.nodes.get(row).cloned().unwrap_or_default();
            let pod = Some(pod_of(uid));
            self.assume.send(&v1::AssumeRequest { pod, node, allocate: true, ..Default::default() })?;
            let (_, answer) = self.assume.receive_encoded()?;
            // Where the call was refused, another client has taken the devices.
            if let Some(answer) = answer.get(MESSAGE_HEAD..) {
                let answer = v1::AssumeResponse::decode(answer).context("an answer does not decode")?;
                if answer.allocations.len() != 1 {
                    bail!("pod {uid} got {} allocations", answer.allocations.len());
                }
                return Ok(());
            }
        }
        bail!("pod {uid} was refused {RETRIES} times")
    }
}

fn pod_of(uid: &str) -> v1::Pod {
    v1::Pod::from(pod::Pod::Uid(uid.to_owned()))
}

/// The first row of a bitmap from a row on, continuing at the first row after the last one.
fn first_from(bitmap: &[u8], from: usize, rows: usize) -> Option<usize> {
    let has = |row: &usize| bitmap.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1);
    (from..rows).chain(0..from.min(rows)).find(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_in_turn() {
        let bitmap = [0b0010_0010, 0b1];
        let from = |row| first_from(&bitmap, row, 20);
        assert_eq!([0, 1, 2, 6, 8, 9, 20].map(from), [1, 1, 5, 8, 8, 1, 1].map(Some));
        assert_eq!(first_from(&[0], 3, 20), None);
        assert_eq!(first_from(&bitmap, 6, 8), Some(1), "rows past the last one do not exist");
    }
}
