//! The accounting component of a policy: what pods take of their nodes, and what nodes add to sums.
//!
//! ```text
//! known    what was said of facts, for as long as they are in use
//! metrics  calls, quarantine, and sums of nodes as gauges
//! object   what a component reads of a pod or node, from its facts
//! ```
//!
//! A pod's account follows from its facts alone, so that pods of one template are accounted for once. Start at [`ActiveAccounting`],
//! which the cache's writer calls as an [`Accountant`].

mod known;
pub mod metrics;
mod object;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nodesift_cache::metadata::{
    Account, Accountant, Accounted, AccountedNode, PodFacts, PodRecord, Pool, Selection, Sums, Watermark,
};
use nodesift_sandbox::accounting::{AccountedObject, Accounting, ObjectInterface, Ruling};
use nodesift_sandbox::fault::Fault;
use nodesift_sandbox::limits::{ACCOUNTING_BATCH, FILTER_TIME_WEIGHT};

use crate::breaker::{Admitted, Blame, Breaker, Change, Quarantine, is_by_size};
use crate::limits::ACCOUNTING_FAULTS_IN_A_ROW;
use crate::reuse::size::Size as _;
use crate::set_aside::Owner;
use known::Known;
use object::{NodeObject, PodObject};

/// Fallback for a pod whose account the accounting component failed to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnAccountError {
    /// The pod's last account; without one, the resource requests of its spec.
    #[default]
    Keep,
    /// The resource requests of the pod's spec.
    Standard,
    /// Falls back like [`Self::Keep`], and no node fits the pod while it is asked about.
    Refuse,
}

/// A loaded accounting component. It is shared with the policy before, if that had the same.
#[derive(Debug)]
pub struct ActiveAccounting {
    component: Accounting,
    settings: AccountingSettings,
    /// Equal accounts are kept once.
    pool: Pool,
    known: Known,
    /// Faults since the last call that had none.
    faults_in_a_row: AtomicU32,
    breaker: Breaker,
    /// Calls about objects so far.
    calls: AtomicU64,
}

/// Settings of an accounting component in the policy, without its grants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountingSettings {
    /// The SHA-256 of the component.
    pub digest: [u8; 32],
    /// Fallback for pods for which the component fails.
    pub on_error: OnAccountError,
    /// Namespaces whose pods take nothing, sorted.
    pub ignored_namespaces: Vec<String>,
    /// The sums that are shown as gauges, by node.
    pub gauges: Vec<String>,
    /// Watermarks of sums, in the order of the policy.
    pub watermarks: Vec<Watermark>,
}

/// Account of a pod that is being scheduled, and the refusal where the account is unknown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// Resources that the pod takes of its node; `None` for the resource requests of its spec.
    pub(crate) account: Option<Arc<Account>>,
    /// Reason why no node fits the pod, under [`OnAccountError::Refuse`].
    pub(crate) refusal: Option<Arc<str>>,
}

/// An object that the component is to be called about.
struct Called<'a> {
    /// None of a node.
    namespace: Option<&'a str>,
    object: Arc<dyn AccountedObject>,
    /// Whether it takes more time than an ordinary one may.
    is_large: bool,
}

impl ActiveAccounting {
    /// A component that has not been called.
    pub fn new(component: Accounting, settings: AccountingSettings) -> Self {
        let (pool, known, breaker) = (Pool::default(), Known::default(), Breaker::default());
        let (faults_in_a_row, calls) = (AtomicU32::new(0), AtomicU64::new(0));
        Self { component, settings, pool, known, faults_in_a_row, breaker, calls }
    }

    /// Returns the loaded wasm component.
    pub fn component(&self) -> &Accounting {
        &self.component
    }

    /// Returns the component's settings in the policy, without its grants.
    pub fn settings(&self) -> &AccountingSettings {
        &self.settings
    }

    /// How many objects it was called about so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Whether it is called at all.
    pub fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// Its quarantine, if it fails for everything.
    pub fn quarantine(&self) -> Option<Quarantine> {
        self.breaker.quarantine()
    }

    /// Fields of nodes and pods that are compiled for this component beyond those that every policy reads.
    pub(crate) fn selection(&self) -> Selection {
        let reads = |interface| self.component.imports().contains(&interface);
        let keys = self.component.needs().annotations.iter().map(ToString::to_string);
        Selection {
            annotation_keys: keys.collect(),
            object_owners: reads(ObjectInterface::Owners),
            object_containers: reads(ObjectInterface::Requests),
            ..Selection::default()
        }
    }

    /// Has it account for these pods and nodes now, so that it knows them when the writer asks. Ends early once that `is_over`.
    pub fn prepare(&self, pods: &[Arc<PodRecord>], nodes: &[AccountedNode], is_over: &dyn Fn() -> bool) {
        for pods in pods.chunks(ACCOUNTING_BATCH) {
            if is_over() {
                return;
            }
            self.pods(&pods.iter().map(|pod| &pod.facts).collect::<Vec<_>>());
        }
        for nodes in nodes.chunks(ACCOUNTING_BATCH) {
            if is_over() {
                return;
            }
            self.nodes(nodes);
        }
    }

    /// Account of a pod that is being scheduled, from its facts and from the account that it has in the cache.
    pub(crate) fn ask(&self, facts: &Arc<PodFacts>, held: Option<&Arc<Account>>) -> Asked {
        let said = self.pods(&[facts]).pop().unwrap_or(Ok(None));
        match said {
            Ok(account) => Asked { account, refusal: None },
            Err(text) => {
                let last = held.filter(|held| self.keeps_last() && held.is_given());
                let account = Account::unknown(facts, last.map(|last| &**last), &text);
                let refusal = (self.settings.on_error == OnAccountError::Refuse).then_some(text);
                Asked { account: Some(Arc::new(account)), refusal }
            }
        }
    }

    /// Accounts of at most [`ACCOUNTING_BATCH`] pods, one per pod. The component is called once for facts without a known account,
    /// however often they occur.
    fn batch(&self, pods: &[&Arc<PodFacts>]) -> Vec<Accounted> {
        let mut said = self.known.pods(pods);
        // So few that a search through them is faster than a map.
        let mut missing: Vec<&Arc<PodFacts>> = Vec::new();
        let place = |missing: &[&Arc<PodFacts>], facts| missing.iter().position(|known| Arc::ptr_eq(known, facts));
        for (facts, said) in pods.iter().zip(&mut said).filter(|(_, said)| said.is_none()) {
            if self.is_ignored(facts) {
                *said = Some(Ok(Some(self.pool.account(Account::default()))));
            } else if place(&missing, facts).is_none() {
                missing.push(facts);
            }
        }
        if !missing.is_empty() {
            let called = self.call_pods(&missing);
            self.known.add_pods(missing.iter().zip(&called).filter(|(_, (_, is_lasting))| *is_lasting));
            for (facts, said) in pods.iter().zip(&mut said).filter(|(_, said)| said.is_none()) {
                *said = place(&missing, facts).and_then(|at| called.get(at)).map(|(said, _)| said.clone());
            }
        }
        said.into_iter().map(|said| said.unwrap_or(Ok(None))).collect()
    }

    fn is_ignored(&self, facts: &PodFacts) -> bool {
        let namespaces = &self.settings.ignored_namespaces;
        namespaces.binary_search_by(|known| known.as_str().cmp(&facts.namespace)).is_ok()
    }

    /// Calls the component about pods, whatever is known. The flag says whether the same would be said again.
    fn call_pods(&self, pods: &[&Arc<PodFacts>]) -> Vec<(Accounted, bool)> {
        let object = |facts: &&Arc<PodFacts>| Arc::new(PodObject(Arc::clone(facts))) as Arc<dyn AccountedObject>;
        self.call(
            pods.iter().map(|facts| Called {
                namespace: Some(&*facts.namespace),
                object: object(facts),
                is_large: facts.heap() > FILTER_TIME_WEIGHT,
            }),
            |objects| self.component.pods(objects),
            |ruling| match ruling {
                Ruling::Standard => Ok(None),
                Ruling::Account(account) => {
                    let flags = account.flags;
                    let account = Account::new(account.requests, account.usage, account.sums, flags);
                    Ok(Some(self.pool.account(account)))
                }
                Ruling::Broken(text) => Err(text.into()),
            },
        )
    }

    /// Calls the component about nodes, whatever is known. The flag says whether the same would be returned again.
    fn call_nodes(&self, nodes: &[&AccountedNode]) -> Vec<(Result<Sums, Arc<str>>, bool)> {
        let object = |node: &&AccountedNode| Arc::new(NodeObject((*node).clone())) as Arc<dyn AccountedObject>;
        self.call(
            nodes.iter().map(|node| Called { namespace: None, object: object(node), is_large: false }),
            |objects| self.component.nodes(objects),
            |sums| match sums {
                Ok(sums) => Ok(self.pool.sums(&sums.into())),
                Err(text) => Err(text.into()),
            },
        )
    }

    /// Calls the component about objects, as far as the breaker admits.
    fn call<'a, R, T>(
        &self,
        objects: impl ExactSizeIterator<Item = Called<'a>>,
        call: impl FnOnce(&[Arc<dyn AccountedObject>]) -> Vec<Result<R, Fault>>,
        read: impl Fn(R) -> Result<T, Arc<str>>,
    ) -> Vec<(Result<T, Arc<str>>, bool)> {
        let mut admitted = Vec::with_capacity(objects.len());
        let mut called = Vec::with_capacity(objects.len());
        for Called { namespace, object, is_large } in objects {
            let owner = Owner::object(namespace);
            let admission = self.breaker.admit(&owner);
            called.extend(admission.is_ok().then_some(object));
            admitted.push((owner, is_large, admission));
        }
        self.calls.fetch_add(called.len() as u64, Ordering::Relaxed);
        let mut said = call(&called).into_iter();
        let outcome = |(owner, is_large, admission): (Owner<'_>, bool, Result<Admitted<'_>, Fault>)| {
            let admitted = match admission {
                Err(fault) => return (Err(fault.to_string().into()), false),
                Ok(admitted) => admitted,
            };
            // There is one for each object.
            match said.next() {
                Some(Ok(said)) => {
                    self.end(&owner, is_large, admitted, None);
                    (read(said), true)
                }
                Some(Err(fault)) => {
                    self.end(&owner, is_large, admitted, Some(&fault));
                    (Err(fault.to_string().into()), fault.kind.is_of_predicate())
                }
                None => (Err(Arc::from("it was not called")), false),
            }
        };
        admitted.into_iter().map(outcome).collect()
    }

    /// A call has ended. Faults open the breaker only where they follow one another, about objects of several namespaces: what the
    /// component fails for in one of them must not keep it from the others. That it has too little time or memory for a large pod says
    /// nothing about others.
    fn end(&self, owner: &Owner<'_>, is_large: bool, admitted: Admitted<'_>, fault: Option<&Fault>) {
        let is_of_object = is_large && fault.is_some_and(is_by_size);
        let in_a_row = match fault {
            None => {
                self.faults_in_a_row.store(0, Ordering::Relaxed);
                0
            }
            Some(_) if is_of_object => 0,
            Some(fault) if fault.kind.is_of_predicate() => self.faults_in_a_row.fetch_add(1, Ordering::Relaxed) + 1,
            Some(_) => 0,
        };
        if !admitted.is_retry() && in_a_row < ACCOUNTING_FAULTS_IN_A_ROW {
            return;
        }
        let blame = if is_of_object { Blame::Pod } else { Blame::Predicate };
        match admitted.end(owner, fault, blame) {
            Change::None | Change::SetAside(_) => {}
            Change::Opened => tracing::warn!(
                faults = in_a_row,
                fault = fault.map(tracing::field::display),
                "accounting component quarantined: it fails for everything, and is hardly called"
            ),
            Change::Closed => tracing::info!("accounting component called again"),
        }
    }
}

impl Accountant for ActiveAccounting {
    fn sums(&self) -> &[Arc<str>] {
        &self.component.needs().sums
    }

    fn watermarks(&self) -> &[Watermark] {
        &self.settings.watermarks
    }

    fn keeps_last(&self) -> bool {
        self.settings.on_error != OnAccountError::Standard
    }

    fn pods(&self, pods: &[&Arc<PodFacts>]) -> Vec<Accounted> {
        match pods.len() {
            0..=ACCOUNTING_BATCH => self.batch(pods),
            _ => pods.chunks(ACCOUNTING_BATCH).flat_map(|pods| self.batch(pods)).collect(),
        }
    }

    fn nodes(&self, nodes: &[AccountedNode]) -> Vec<Result<Sums, Arc<str>>> {
        let said = self.known.nodes(nodes);
        let missing = nodes.iter().zip(&said).filter(|(_, said)| said.is_none()).map(|(node, _)| node);
        let missing: Vec<&AccountedNode> = missing.collect();
        let called: Vec<_> = missing.chunks(ACCOUNTING_BATCH).flat_map(|nodes| self.call_nodes(nodes)).collect();
        self.known.add_nodes(missing.iter().zip(&called).filter(|(_, (_, is_lasting))| *is_lasting));
        let mut called = called.into_iter();
        let next = |said: Option<_>| said.or_else(|| called.next().map(|(said, _)| said));
        said.into_iter().map(next).map(|said| said.unwrap_or_else(|| Ok(Sums::default()))).collect()
    }

    fn forget_pod(&self, pod: &Arc<PodFacts>) {
        self.known.forget_pod(pod);
    }

    fn forget_node(&self, node: &AccountedNode) {
        self.known.forget_node(node);
    }
}
