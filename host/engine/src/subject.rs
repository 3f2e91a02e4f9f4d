//! The pod of a query: one of the cache, or one that was sent whole. Start at [`Subject`].

use std::sync::Arc;

use nodesift_cache::Snapshot;
use nodesift_cache::metadata::{self, Account, PodFacts, PodRecord};
use nodesift_object::Pod;

use crate::accounting::Asked;
use crate::facts::{Batch, Context};
use crate::policy::{ActivePolicy, PolicySettings};
use crate::query::PodRef;
use crate::selectors::Selectors;
use crate::throttle::Throttle;
use crate::{Engine, Error};

/// The pod of a query.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    /// The pod as `namespace/name`.
    pub(crate) name: String,
    /// Name of the pod, as in `metadata.name`.
    pub(crate) pod: Arc<str>,
    /// `metadata.uid`; empty where absent.
    pub(crate) uid: Arc<str>,
    /// `spec.priority`; 0 where absent.
    pub(crate) priority: i32,
    /// Node that the pod names in `spec.nodeName`; `None` where absent.
    pub(crate) node_name: Option<Arc<str>>,
    pub(crate) facts: Arc<PodFacts>,
    /// Resources that the pod takes of its node by the accounting component; `None` where those are its requests.
    pub(crate) account: Option<Arc<Account>>,
    /// Why no node fits it, where what it takes is not known.
    pub(crate) refusal: Option<Arc<str>>,
    /// When its evaluation began, in seconds since 1970-01-01T00:00:00Z.
    pub(crate) now: i64,
    /// Fields of the policy's document that facts depend on.
    pub(crate) settings: Arc<PolicySettings>,
    /// Evaluator of the selectors of devices; `None` where neither a predicate nor a scorer reads devices.
    pub(crate) selectors: Option<Arc<Selectors>>,
    /// The namespaces that are throttled.
    pub(crate) throttle: Arc<Throttle>,
    /// Whether nodes are asked for as candidates of a negotiation.
    pub(crate) is_negotiated: bool,
}

impl Subject {
    /// A pod of the cache, for predicates of a policy, evaluated at a time.
    pub(crate) fn from_record(record: &PodRecord, policy: &ActivePolicy, now: i64) -> Self {
        // By this policy, whatever the cache has: the pod may be of a later state of it than the snapshot.
        let Asked { account, refusal } = match &policy.accounting {
            Some(accounting) => accounting.ask(&record.facts, record.account.as_ref()),
            None => Asked::default(),
        };
        Self {
            name: [&*record.namespace, "/", &record.name].concat(),
            pod: Arc::clone(&record.name),
            uid: if record.object_uid().is_empty() { Arc::default() } else { Arc::clone(&record.uid) },
            priority: record.priority,
            node_name: record.node_name.clone(),
            facts: record.whole_facts_by(account.as_ref()),
            account,
            refusal,
            now,
            settings: Arc::clone(&policy.settings),
            selectors: policy.selectors.clone(),
            throttle: Arc::clone(&policy.throttle),
            is_negotiated: false,
        }
    }

    /// A pod that need not be in the cache, for predicates of a policy, evaluated at a time.
    pub(crate) fn from_object(pod: &Pod, policy: &ActivePolicy, now: i64) -> Self {
        let node_name = Some(pod.spec.node_name.as_str()).filter(|name| !name.is_empty()).map(Arc::from);
        let facts = Arc::new(metadata::pod_selecting(pod, &policy.selection()));
        let Asked { account, refusal } = match &policy.accounting {
            Some(accounting) => accounting.ask(&facts, None),
            None => Asked::default(),
        };
        let facts = match &account {
            Some(account) => Arc::new(Arc::unwrap_or_clone(facts).accounted_as(account)),
            None => facts,
        };
        Self {
            name: pod.key(),
            pod: Arc::from(pod.metadata.name.as_str()),
            uid: Arc::from(pod.metadata.uid.as_str()),
            priority: pod.spec.priority.unwrap_or(0),
            node_name,
            now,
            facts,
            account,
            refusal,
            settings: Arc::clone(&policy.settings),
            selectors: policy.selectors.clone(),
            throttle: Arc::clone(&policy.throttle),
            is_negotiated: false,
        }
    }

    /// The facts about the pod and a batch of rows of a snapshot.
    pub(crate) fn context(&self, snapshot: &Arc<Snapshot>, batch: Batch) -> Context {
        let (snapshot, facts) = (Arc::clone(snapshot), Arc::clone(&self.facts));
        let context = Context::new(snapshot, facts, self.node_name.clone(), batch);
        let context = context.with_owner(Arc::clone(&self.pod), Arc::clone(&self.uid)).with_now(self.now);
        let context = context.with_refusal(self.refusal.clone()).with_negotiated(self.is_negotiated);
        let context = context.with_throttle(&self.throttle).with_settings(Arc::clone(&self.settings));
        context.with_selectors(self.selectors.clone())
    }
}

impl Engine {
    /// The pod of a query, with the facts that the policy selects.
    pub(crate) fn subject(&self, pod: &PodRef, policy: &ActivePolicy) -> Result<Subject, Error> {
        if let PodRef::Whole(pod) = pod {
            return Ok(Subject::from_object(pod, policy, self.clock.now()));
        }
        Ok(Subject::from_record(&*self.record(pod)?, policy, self.clock.now()))
    }

    /// The facts about the pod of a query and every row of a snapshot, as predicates of the policy that decides about it read them. A
    /// negotiation of the [`Context::negotiated_pod`] keeps its answers where predicates look for them.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownPod`] or [`Error::OtherVersion`] where the pod is not in the cache.
    pub fn context(&self, snapshot: &Arc<Snapshot>, pod: &PodRef) -> Result<Context, Error> {
        let running = self.running_on(snapshot);
        Ok(self.subject(pod, &running.policy)?.context(snapshot, Batch::All))
    }
}

impl Context {
    /// The facts about a pod, which need not be in the cache, and a batch of rows of a snapshot, as an engine with this policy reads them
    /// at a time in seconds since 1970-01-01T00:00:00Z.
    pub fn for_pod(pod: &Pod, policy: &ActivePolicy, now: i64, snapshot: &Arc<Snapshot>, batch: Batch) -> Self {
        Subject::from_object(pod, policy, now).context(snapshot, batch)
    }
}
