//! Answers compared with the reference implementation, on the cluster as it was at the versions that they name. Start at
//! [`Judge`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use nodesift_fixtures::Cluster;
use nodesift_fixtures::json::text;
use nodesift_reference::{Cycle, explain_newest};
use serde_json::Value;

use crate::cluster::{Living, Versions};

/// Samples that wait. Beyond that none are taken until there is room.
const WAITING: usize = 64;

/// Versions by which a pod of a request may be newer than its snapshot.
const SOON: u64 = 20;

/// Wrong answers that are shown.
const SHOWN: usize = 5;

/// Per node: the first predicate that rejects it, with code and reasons.
pub(crate) type First = BTreeMap<String, (String, String, Vec<String>)>;

/// An answer about one pod, for all nodes.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    /// How it was asked.
    pub(crate) way: &'static str,
    pub(crate) versions: Versions,
    pub(crate) pod: AskedPod,
    /// Nodes that fit, sorted.
    pub(crate) feasible: Vec<String>,
    /// Where the answer has them.
    pub(crate) first: Option<First>,
    pub(crate) message: Option<String>,
}

/// The pod of a sample.
#[derive(Debug, Clone)]
pub(crate) enum AskedPod {
    /// Sent as a whole object.
    Whole(Value),
    /// By its UID, as the server had it at the answer's version.
    Uid(String),
}

/// Takes samples without waiting.
#[derive(Debug, Clone)]
pub(crate) struct Samples {
    sender: SyncSender<Sample>,
    waiting: Arc<AtomicUsize>,
}

impl Samples {
    /// Whether there is room for another one.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < WAITING
    }

    /// Adds a sample, where there is room.
    pub(crate) fn add(&self, sample: Sample) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.sender.try_send(sample) {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Results of the comparison with the reference.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// Samples by the way they were asked.
    pub(crate) samples: BTreeMap<&'static str, usize>,
    /// Nodes that fit, and nodes that do not, over all samples.
    pub(crate) feasible: usize,
    pub(crate) rejected: usize,
    /// How many answers were wrong.
    pub(crate) wrong: usize,
    /// Texts of the first wrong answers.
    pub(crate) shown: Vec<String>,
}

/// Thread that compares samples with the reference.
pub(crate) struct Judge {
    samples: Samples,
    thread: JoinHandle<Judged>,
}

impl Judge {
    /// Starts the thread of the comparison.
    pub(crate) fn start(living: Arc<Living>) -> Self {
        let (sender, receiver) = sync_channel(2 * WAITING);
        let waiting = Arc::<AtomicUsize>::default();
        let samples = Samples { sender, waiting: Arc::clone(&waiting) };
        Self { samples, thread: std::thread::spawn(move || judge(&living, &receiver, &waiting)) }
    }

    /// Where samples are added.
    pub(crate) fn samples(&self) -> Samples {
        self.samples.clone()
    }

    /// Judges what waits, and ends. All clients must have ended.
    pub(crate) fn finish(self) -> anyhow::Result<Judged> {
        drop(self.samples);
        self.thread.join().map_err(|_| anyhow::anyhow!("judging has panicked"))
    }
}

fn judge(living: &Living, samples: &Receiver<Sample>, waiting: &AtomicUsize) -> Judged {
    let mut judged = Judged::default();
    // Samples of one moment share their cluster.
    let mut last: Option<(Versions, Cluster)> = None;
    for sample in samples {
        waiting.fetch_sub(1, Ordering::Relaxed);
        let at = sample.versions;
        let (_, cluster) = match last.take() {
            Some(last) if last.0 == at => last,
            _ => (at, living.cluster_at(at)),
        };
        match difference(&cluster, &sample, &mut judged) {
            Some(_) if changes_soon(living, &cluster, &sample) => {}
            None => *judged.samples.entry(sample.way).or_default() += 1,
            Some(difference) => {
                judged.wrong += 1;
                if judged.shown.len() < SHOWN {
                    judged.shown.push(format!("{} at {at:?}: {difference}\n  pod {:?}", sample.way, sample.pod));
                }
            }
        }
        last = Some((at, cluster));
    }
    judged
}

/// Whether a pod that was named by its UID changes within the next few versions. The answer is then about either state: a pod
/// of a request is found beside the snapshot, and may be newer.
fn changes_soon(living: &Living, cluster: &Cluster, sample: &Sample) -> bool {
    let AskedPod::Uid(uid) = &sample.pod else { return false };
    let of = |cluster: &Cluster| cluster.all("Pod").find(|pod| text(pod, "metadata.uid") == uid).cloned();
    let soon = Versions { pods: sample.versions.pods + SOON, ..sample.versions };
    of(cluster) != of(&living.cluster_at(soon))
}

/// Difference between a sample and the reference's answer; `None` where they agree.
fn difference(cluster: &Cluster, sample: &Sample, judged: &mut Judged) -> Option<String> {
    let pod = match &sample.pod {
        AskedPod::Whole(pod) => pod,
        AskedPod::Uid(uid) => match cluster.all("Pod").find(|pod| text(pod, "metadata.uid") == uid) {
            Some(pod) => pod,
            None => return Some("an answer about a pod that is not there".to_owned()),
        },
    };
    let expected = explain_newest(cluster, pod).together;
    judged.feasible += expected.feasible.len();
    judged.rejected += expected.first.len();
    let mut feasible = expected.feasible.clone();
    feasible.sort_unstable();
    if sample.feasible != feasible {
        return Some(format!("feasible {:?}, expected {feasible:?}", sample.feasible));
    }
    let first: First = expected
        .first
        .iter()
        .map(|(node, (filter, failure))| {
            (node.clone(), ((*filter).to_owned(), failure.code.name().to_owned(), failure.reasons.clone()))
        })
        .collect();
    if let Some(found) = sample.first.as_ref().filter(|found| **found != first) {
        let nodes = found.keys().chain(first.keys()).find(|node| found.get(*node) != first.get(*node))?;
        return Some(format!("{nodes}: {:?}, expected {:?}", found.get(nodes), first.get(nodes)));
    }
    let has_failures = sample.first.is_some();
    if has_failures && expected.cycle == Cycle::EachNode && sample.message != expected.message {
        return Some(format!("message {:?}, expected {:?}", sample.message, expected.message));
    }
    None
}
