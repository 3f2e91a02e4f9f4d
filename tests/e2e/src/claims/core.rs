//! A small scheduler core: it asks the sidecar where a pod fits, has the sidecar choose devices there, writes them to the statuses of
//! the claims, and binds the pod.
//!
//! Start at [`Core::place`]. Whatever is refused on the way ends with Forget, and the pod is taken again later. What one process of
//! the sidecar has decided is written before the next one is asked ([`Core::replace`]): a process knows what it has decided itself and
//! what the API server says, and nothing of what the process before it has given away.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use nodesift_fixtures::Rng;
use nodesift_fixtures::json::{key, list, text};
use nodesift_tests::http::{self, Endpoint};
use serde_json::{Value, json};
use tokio::sync::{RwLock, watch};

use super::ledger::{Ledger, Written};
use crate::api::Api;
use crate::steps::binding;

/// Feasible nodes that are enough to choose from.
const CHOICE: usize = 5;

/// Placements of a hundred that the core gives up once the claims are written, as where something else refuses the pod.
const GIVEN_UP_PERCENT: usize = 4;

/// Time to live of a placement, longer than a run takes: none ends by itself.
const TTL_MS: u64 = 3_600_000;

/// Time until a pod is taken again whose request was not answered.
const PAUSE: Duration = Duration::from_millis(20);

/// Outcome of one attempt to place a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Bound,
    /// No node fits the pod.
    NoRoom,
    /// Refused, or not answered.
    Again,
}

/// How often what has happened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Pods that were bound.
    pub(crate) bound: usize,
    /// Requests that were not answered, because the sidecar was gone or too slow.
    pub(crate) unanswered: usize,
    /// Placements that the sidecar refused, because the node was taken after the answer that named it.
    pub(crate) refused: usize,
    /// Placements that ended after claims were written, or because a claim was not as the sidecar had it.
    pub(crate) given_up: usize,
    /// Claims that were given devices.
    pub(crate) allocated: usize,
}

/// A scheduler core with its queue of pods.
pub(crate) struct Core {
    api: Api,
    /// The claims as the API server has them.
    pub(crate) ledger: Ledger,
    /// The process that is asked. A placement holds it until everything is written.
    process: RwLock<Endpoint>,
    queue: Mutex<VecDeque<Value>>,
    waiting: Mutex<BTreeMap<String, Value>>,
    bound: Mutex<Vec<Value>>,
    counts: Mutex<Counts>,
    /// The number of pods bound, to wait on.
    done: watch::Sender<usize>,
}

/// Whatever a panicking task has left is as good as any other state of a test that fails.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    /// A core with these pods to place, as the API server has them.
    pub(crate) fn new(api: &Api, process: Endpoint, claims: Vec<Value>, pods: Vec<Value>) -> Self {
        Self {
            api: api.clone(),
            ledger: Ledger::new(api.clone(), claims),
            process: RwLock::new(process),
            queue: Mutex::new(pods.into()),
            waiting: Mutex::default(),
            bound: Mutex::default(),
            counts: Mutex::default(),
            done: watch::channel(0).0,
        }
    }

    /// Returns the counts so far.
    pub(crate) fn counts(&self) -> Counts {
        *lock(&self.counts)
    }

    /// The number of pods bound, to wait on.
    pub(crate) fn done(&self) -> watch::Receiver<usize> {
        self.done.subscribe()
    }

    /// Takes a random pod off the bound ones.
    pub(crate) fn take_bound(&self, rng: &mut Rng) -> Option<Value> {
        let mut bound = lock(&self.bound);
        (!bound.is_empty()).then(|| rng.below(bound.len())).map(|at| bound.swap_remove(at))
    }

    /// Takes up all pods again that have found no node.
    pub(crate) fn retry_waiting(&self) {
        lock(&self.queue).extend(std::mem::take(&mut *lock(&self.waiting)).into_values());
    }

    /// Asks another process from now on, once everything is written that the one before has decided and the new one has seen it.
    pub(crate) async fn replace(
        &self,
        process: Endpoint,
        seen: impl AsyncFnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut current = self.process.write().await;
        seen().await?;
        *current = process;
        Ok(())
    }

    /// Places pods until none is left. Several may work at the same time.
    pub(crate) async fn work(&self, seed: u64) -> anyhow::Result<()> {
        let mut rng = Rng::with_seed(seed);
        while let Some(pod) = { lock(&self.queue).pop_front() } {
            let attempt = self.place(&pod, &mut rng).await.with_context(|| key(&pod))?;
            match attempt {
                Attempt::Bound => {
                    lock(&self.bound).push(pod);
                    let mut counts = lock(&self.counts);
                    counts.bound += 1;
                    self.done.send_replace(counts.bound);
                }
                Attempt::NoRoom => drop(lock(&self.waiting).insert(key(&pod), pod)),
                Attempt::Again => lock(&self.queue).push_back(pod),
            }
        }
        Ok(())
    }

    async fn place(&self, pod: &Value, rng: &mut Rng) -> anyhow::Result<Attempt> {
        let process = self.process.read().await;
        let named = json!({"uid": text(pod, "metadata.uid")});
        let question = json!({"pods": [named], "limit": CHOICE, "start": rng.below(100)});
        let Some(answer) = self.ask(&process, "/v1/filter", &question).await? else { return Ok(Attempt::Again) };
        let answer = list(&answer, "pods").first().context("no answer for the pod")?;
        ensure!(list(answer, "faults").is_empty(), "a fault: {answer}");
        let Some(node) = rng.choose(list(answer, "feasible")).and_then(Value::as_str) else {
            return Ok(Attempt::NoRoom);
        };

        let assumption = json!({"pod": named, "node": node, "allocate": true, "ttlMs": TTL_MS});
        let Some(assumed) = self.ask(&process, "/v1/assume", &assumption).await? else {
            self.forget(&process, &named).await?;
            return Ok(Attempt::Again);
        };
        if assumed.get("error").is_some() {
            lock(&self.counts).refused += 1;
            return Ok(Attempt::Again);
        }
        ensure!(text(&assumed, "placed") == "PLACED_ASSUMED", "the pod is placed already: {assumed}");
        let allocations = list(&assumed, "allocations");

        match self.ledger.reserve(pod, node, allocations).await? {
            Written::All if !rng.chance(GIVEN_UP_PERCENT) => {
                self.ledger.serve_extended(pod, allocations).await?;
                self.api.done(&binding(pod, node)).await?;
                lock(&self.counts).allocated += allocations.len();
                return Ok(Attempt::Bound);
            }
            Written::All | Written::Refused => {}
        }
        self.ledger.release(pod).await?;
        lock(&self.counts).given_up += 1;
        self.forget(&process, &named).await?;
        Ok(Attempt::Again)
    }

    /// Ends a placement. Where that is not answered, the process is gone, and with it all that it has held.
    async fn forget(&self, process: &Endpoint, pod: &Value) -> anyhow::Result<()> {
        self.ask(process, "/v1/forget", &json!({"pod": pod})).await.map(drop)
    }

    /// An answer; an error of the API as a document with `error`; `None` where there is no answer.
    async fn ask(&self, process: &Endpoint, path: &str, request: &Value) -> anyhow::Result<Option<Value>> {
        let answer = tokio::task::block_in_place(|| http::post(process, path, request.to_string()));
        if let Ok(answer) = answer {
            match (answer.status, path) {
                (200, _) => return Ok(Some(answer.json())),
                // It does not fit any more.
                (409, "/v1/assume") => return Ok(Some(answer.json())),
                (503 | 504, _) => {}
                (status, _) => bail!("{path} {request}: {status} {}", answer.body),
            }
        }
        lock(&self.counts).unanswered += 1;
        tokio::time::sleep(PAUSE).await;
        Ok(None)
    }
}
