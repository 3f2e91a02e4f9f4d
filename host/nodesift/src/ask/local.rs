//! Answers from an engine in this process, over cluster files or one list of a live cluster. Start at [`Local::open`].

use nodesift_proto::v1;

use std::path::PathBuf;

use anyhow::Context as _;

use super::{listed, pods};
use crate::args::{PodKey, QuestionArgs};
use crate::cluster::{self, Origin};
use crate::exit::Failure;
use crate::report::Answers;
use crate::terminal;
use crate::why::{missing_pod, pods_of_engine};
use nodesift_api::{Age, response};
use nodesift_cache::Writer;
use nodesift_engine::{self as engine, Clock, Depth, Engine, Nodes, Options, PodRef, Query, ScoreRequest};
use nodesift_source::files;
use nodesift_source::kube::connection;

/// Pods per call of the engine: few enough to show progress, enough that the number of calls does not matter.
const BATCH: usize = 64;

/// An answer that the engine evaluates.
pub(super) trait Evaluate: Sized {
    /// How many predicates are evaluated for it.
    const DEPTH: Depth;
    /// The engine's answer as the messages that a sidecar would send.
    fn answers(answer: &engine::Answer) -> Answers<Self>;
}

impl Evaluate for v1::PodAnswer {
    const DEPTH: Depth = Depth::FirstFailure;

    fn answers(answer: &engine::Answer) -> Answers<Self> {
        let response = response::filter(answer, Age::default(), v1::Detail::Failures, None);
        Answers::new(response.version, response.pods)
    }
}

impl Evaluate for v1::PodExplanation {
    const DEPTH: Depth = Depth::Each;

    fn answers(answer: &engine::Answer) -> Answers<Self> {
        let response = response::explain(answer, Age::default());
        Answers::new(response.version, response.pods)
    }
}

/// An engine in this process, over the cluster of files or of one list, with the policy of the command line.
pub struct Local {
    engine: Engine,
    /// Predicates of the policy that are not evaluated.
    skip: Vec<String>,
}

impl Local {
    /// Reads the files of the question and compiles its policy.
    ///
    /// # Errors
    ///
    /// [`Failure::Policy`] if the policy is invalid, [`Failure::Data`] if the objects are.
    pub fn open(args: &QuestionArgs) -> anyhow::Result<Self> {
        let opened = cluster::open(&Origin::Files(&args.cluster.cluster), &args.policy())?;
        cluster::note_summary(&opened.summary);
        if !args.in_flight.is_empty() {
            hold(&args.in_flight, &mut opened.writer.lock())?;
        }
        Ok(Self { engine: opened.engine, skip: Vec::new() })
    }

    /// Lists a live cluster once, and compiles the question's policy.
    ///
    /// # Errors
    ///
    /// As [`listed::open`].
    pub(crate) fn list(origin: &connection::Origin, args: &QuestionArgs, skip: &[String]) -> anyhow::Result<Self> {
        Ok(Self { engine: listed::open(origin, &args.policy(), skip, listed::Say::What)?.engine, skip: Vec::new() })
    }

    /// Leaves out predicates of the policy, by name.
    pub(crate) fn without(self, skip: &[String]) -> Self {
        Self { skip: skip.to_vec(), ..self }
    }

    /// The predicates of the policy that are left out.
    pub(super) fn skip(&self) -> &[String] {
        &self.skip
    }

    /// Fixes the engine's clock at one moment, in seconds since 1970, however long it takes to answer.
    pub fn at(self, now: i64) -> Self {
        Self { engine: self.engine.with_clock(Clock::new(move || now)), ..self }
    }

    /// The engine that answers.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The pods to evaluate, in batches: those of `--pods`, else those of `--pod`, else the pending pods.
    ///
    /// # Errors
    ///
    /// As [`pods::read`].
    pub(super) fn batches(&self, args: &QuestionArgs) -> anyhow::Result<Vec<Vec<PodRef>>> {
        pods_to_evaluate(&self.engine, &args.pods, &args.pod)
    }

    /// Evaluates one batch.
    ///
    /// # Errors
    ///
    /// [`Failure::Data`] if a named pod or node does not exist.
    pub(super) fn answer<A: Evaluate>(&self, pods: Vec<PodRef>, args: &QuestionArgs) -> anyhow::Result<Answers<A>> {
        let nodes = if args.node.is_empty() { Nodes::All } else { Nodes::Named(args.node.clone()) };
        let question = Query::new(pods).with_nodes(nodes).with_phase(args.phase.into()).with_depth(A::DEPTH);
        let each = A::DEPTH == Depth::Each;
        let scores =
            args.scores.and_then(|top| usize::try_from(top).ok()).map(|top| ScoreRequest { top, seed: None, each });
        let question = question.with_skip(self.skip.clone()).with_scores(scores);
        let answer = self.engine.answer(&question, Options::default()).map_err(|error| self.failure(error))?;
        Ok(A::answers(&answer))
    }

    /// The failure of a question; where a pod is not there, with the pods that have a name like it.
    fn failure(&self, error: engine::Error) -> Failure {
        let missing = match &error {
            engine::Error::UnknownPod { pod } => pod.parse::<PodKey>().ok(),
            _ => None,
        };
        Failure::Data(match missing {
            Some(key) => missing_pod(error.into(), &key, &pods_of_engine(&self.engine)),
            None => error.into(),
        })
    }
}

/// Holds the allocations of the claims in files.
fn hold(files: &[PathBuf], writer: &mut Writer) -> anyhow::Result<()> {
    for claim in files::read_claims(files).map_err(|error| Failure::Data(error.into()))? {
        let devices = claim.status.allocation.as_ref().map(|allocation| allocation.devices.results.as_slice());
        let held = writer.hold_in_flight(&claim.metadata.uid, devices.unwrap_or_default());
        let claim = format!("{}/{}", claim.metadata.namespace, claim.metadata.name);
        held.with_context(|| format!("the allocation of ResourceClaim {claim} cannot be in flight"))
            .map_err(Failure::Data)?;
    }
    writer.publish();
    Ok(())
}

/// Pods in batches: those of files, narrowed to those that are named; else those that are named; else the pending pods.
///
/// # Errors
///
/// As [`pods::read`].
pub(crate) fn pods_to_evaluate(
    engine: &Engine,
    files: &[PathBuf],
    keys: &[PodKey],
) -> anyhow::Result<Vec<Vec<PodRef>>> {
    let pods: Vec<PodRef> = if !files.is_empty() {
        pods::read(files, keys)?.into_iter().map(|file| PodRef::Whole(file.pod)).collect()
    } else if !keys.is_empty() {
        keys.iter().map(|key| named(&key.namespace, &key.name)).collect()
    } else {
        let pending = engine.pending_pods();
        if pending.is_empty() {
            terminal::note("the cluster has no pending pods: name pods with --pod, or give some with --pods");
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

/// A pod of the cluster by its namespace and name.
pub(crate) fn named(namespace: &str, name: &str) -> PodRef {
    PodRef::Name { namespace: namespace.to_owned(), name: name.to_owned() }
}
