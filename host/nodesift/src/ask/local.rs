//! Answers from an engine in this process, over cluster files.

use std::collections::HashSet;

use nodesift_proto::v1;

use super::Batch;
use crate::args::{AskArgs, PodKey};
use crate::cluster::{self, GivenPod, Origin};
use crate::exit::Failure;
use nodesift_api::{Age, response};
use nodesift_engine::{self as engine, Depth, Engine, Nodes, PodRef, Query};

/// Pods answered in one go: often enough to show progress, seldom enough not to matter.
const BATCH: usize = 64;

/// An answer as the engine in this process gives it.
pub(super) trait Answered: Sized {
    /// How much has to be evaluated for it.
    const DEPTH: Depth;
    /// The answers in the messages that a sidecar would send.
    fn batch(answer: &engine::Answer) -> Batch<Self>;
}

impl Answered for v1::PodAnswer {
    const DEPTH: Depth = Depth::FirstFailure;

    fn batch(answer: &engine::Answer) -> Batch<Self> {
        let response = response::filter(answer, Age::default(), v1::Detail::Failures, None);
        Batch { version: response.version.unwrap_or_default(), answers: response.pods }
    }
}

impl Answered for v1::PodExplanation {
    const DEPTH: Depth = Depth::Each;

    fn batch(answer: &engine::Answer) -> Batch<Self> {
        let response = response::explain(answer, Age::default());
        Batch { version: response.version.unwrap_or_default(), answers: response.pods }
    }
}

/// The cluster read from files.
pub(super) struct Local {
    engine: Engine,
}

impl Local {
    pub(super) fn open(args: &AskArgs) -> anyhow::Result<Self> {
        let opened = cluster::open(&Origin::Files(&args.cluster.cluster), &args.policy)?;
        cluster::note_skipped(&opened.skipped);
        Ok(Self { engine: opened.engine })
    }

    /// The pods to judge, in batches: given in files, named, or all pending ones.
    pub(super) fn batches(&self, args: &AskArgs) -> anyhow::Result<Vec<Vec<PodRef>>> {
        let pods: Vec<PodRef> = if !args.pods.is_empty() {
            let given = select(cluster::pods(&args.pods)?, &args.pod)?;
            given.into_iter().map(|given| PodRef::Whole(given.pod)).collect()
        } else if !args.pod.is_empty() {
            args.pod.iter().map(|key| named(&key.namespace, &key.name)).collect()
        } else {
            let pending = self.engine.pending_pods();
            if pending.is_empty() {
                cluster::note(
                    "every pod of the cluster is bound to a node: name pods with --pod, or give some with --pods",
                );
            }
            pending.iter().map(|pod| named(&pod.namespace, &pod.name)).collect()
        };
        let mut pods = pods.into_iter().peekable();
        let mut batches = Vec::new();
        while pods.peek().is_some() {
            batches.push(pods.by_ref().take(BATCH).collect());
        }
        Ok(batches)
    }

    pub(super) fn answer<A: Answered>(&self, pods: Vec<PodRef>, args: &AskArgs) -> anyhow::Result<Batch<A>> {
        let nodes = if args.node.is_empty() { Nodes::All } else { Nodes::Named(args.node.clone()) };
        let question = Query { pods, nodes, phase: args.phase.into(), depth: A::DEPTH };
        let answer = self.engine.answer(&question).map_err(|error| Failure::Data(error.into()))?;
        Ok(A::batch(&answer))
    }
}

fn named(namespace: &str, name: &str) -> PodRef {
    PodRef::Name { namespace: namespace.to_owned(), name: name.to_owned() }
}

/// The given pods that are also named; all of them where none is.
pub(super) fn select(given: Vec<GivenPod>, named: &[PodKey]) -> Result<Vec<GivenPod>, Failure> {
    if named.is_empty() {
        return Ok(given);
    }
    let wanted: HashSet<String> = named.iter().map(PodKey::to_string).collect();
    let chosen: Vec<GivenPod> = given.into_iter().filter(|given| wanted.contains(&given.pod.key())).collect();
    let found: HashSet<String> = chosen.iter().map(|given| given.pod.key()).collect();
    match wanted.difference(&found).min() {
        Some(missing) => Err(Failure::Data(anyhow::anyhow!("pod {missing} is not in the files of --pods"))),
        None => Ok(chosen),
    }
}
