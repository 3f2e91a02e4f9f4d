//! The engine: a question about pods and nodes in, an answer from one snapshot and one policy out. It does no I/O.
//!
//! Start with [`Engine::answer`]; `evaluate` runs the predicates of one pod and combines their verdicts, `context`
//! offers a predicate its facts.

mod answer;
mod context;
mod evaluate;
mod question;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub use answer::{Answer, Code, Cycle, Failure, FaultEffect, FaultReport, PodAnswer, PredicateAnswer};
pub use context::{Batch, Context};
pub use question::{Depth, Nodes, PodRef, Question};

use crate::cache::{Reader, Row, Snapshot};
use crate::metadata::{self, PodFacts, PodRecord};
use crate::policy::ActivePolicy;
pub use crate::policy::Phase;
use crate::sandbox::Runtime;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The pod is not in the cache.
    #[error("pod {pod} is not in the cache: name a pod that exists, or send the whole pod")]
    UnknownPod {
        /// As the question named it.
        pod: String,
    },
    /// A node of the subset is not in the cache.
    #[error("node {node:?} is not in the cache")]
    UnknownNode {
        /// As the question named it.
        node: String,
    },
}

/// Answers questions; safe to call from many threads at once.
#[derive(Debug)]
pub struct Engine {
    cache: Reader,
    policy: ArcSwap<ActivePolicy>,
    /// Keeps the clock of all deadlines running.
    _runtime: Runtime,
}

/// A pod as predicates see it.
struct Subject {
    /// `namespace/name`.
    name: String,
    /// The name alone.
    pod: Arc<str>,
    /// As in the object; empty where it has none.
    uid: Arc<str>,
    node_name: Option<Arc<str>>,
    facts: Arc<PodFacts>,
}

impl Engine {
    /// An engine over a cache, with its first policy and the run time that loaded it.
    pub fn new(cache: Reader, policy: ActivePolicy, runtime: Runtime) -> Self {
        Self { cache, policy: ArcSwap::from_pointee(policy), _runtime: runtime }
    }

    /// The newest snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.cache.snapshot()
    }

    /// The active policy.
    pub fn policy(&self) -> Arc<ActivePolicy> {
        self.policy.load_full()
    }

    /// Pods of the cache that are bound to no node, by namespace and name.
    pub fn pending_pods(&self) -> Vec<Arc<PodRecord>> {
        self.cache.pods().pending()
    }

    /// Answers from the newest snapshot.
    pub fn answer(&self, question: &Question) -> Result<Answer, Error> {
        self.answer_on(&self.snapshot(), question)
    }

    /// Answers from a given snapshot, so that a caller can look up rows in the same one.
    pub fn answer_on(&self, snapshot: &Arc<Snapshot>, question: &Question) -> Result<Answer, Error> {
        let policy = self.policy();
        let batch = batch(snapshot, &question.nodes)?;
        let pods = question
            .pods
            .iter()
            .map(|pod| {
                let subject = self.subject(pod)?;
                let context = Context::new(Arc::clone(snapshot), subject.facts, subject.node_name, batch.clone());
                let context = context.named(&subject.pod, &subject.uid);
                Ok(evaluate::pod(&policy, question, subject.name, &Arc::new(context)))
            })
            .collect::<Result<_, Error>>()?;
        Ok(Answer { snapshot: Arc::clone(snapshot), policy_generation: policy.generation, pods })
    }

    fn subject(&self, pod: &PodRef) -> Result<Subject, Error> {
        let (record, asked) = match pod {
            PodRef::Whole(pod) => {
                let node_name = Some(pod.spec.node_name.as_str()).filter(|name| !name.is_empty()).map(Arc::from);
                return Ok(Subject {
                    name: pod.key(),
                    pod: Arc::from(pod.metadata.name.as_str()),
                    uid: Arc::from(pod.metadata.uid.as_str()),
                    node_name,
                    facts: Arc::new(metadata::pod(pod)),
                });
            }
            PodRef::Uid(uid) => (self.cache.pods().by_uid(uid), uid.clone()),
            PodRef::Name { namespace, name } => {
                (self.cache.pods().by_name(namespace, name), format!("{namespace}/{name}"))
            }
        };
        let record = record.ok_or(Error::UnknownPod { pod: asked })?;
        Ok(Subject {
            name: format!("{}/{}", record.namespace, record.name),
            pod: Arc::clone(&record.name),
            uid: Arc::from(record.object_uid()),
            node_name: record.node_name.clone(),
            facts: record.whole_facts(),
        })
    }
}

/// The rows asked about; named ones each once, in the order of names.
fn batch(snapshot: &Snapshot, nodes: &Nodes) -> Result<Batch, Error> {
    let Nodes::Named(names) = nodes else { return Ok(Batch::All) };
    let row = |name: &String| snapshot.node_row(name).ok_or_else(|| Error::UnknownNode { node: name.clone() });
    let mut rows: Vec<Row> = names.iter().map(row).collect::<Result<_, _>>()?;
    rows.sort_unstable_by_key(|row| snapshot.node_name(*row));
    rows.dedup();
    Ok(Batch::Rows(rows.into()))
}
