//! Accounts of pods and sums of nodes, by the accountant of the policy. Another policy may have another one.
//!
//! The accountant is asked where an object is compiled, without the writer's lock. The writer asks once more about what it applies, and
//! mostly gets the same answer at once: so an object that was compiled before the accountant was replaced counts like all others. Start at
//! [`Writer::set_accountant`]; another accountant is set in `recount`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::Writer;
use crate::columns::Row;
use crate::columns::change_log::NodeInterface;
use crate::metadata::{Account, Accountant, Accounted, AccountedNode, NodeFacts, PodFacts, PodRecord, Sums};
use crate::pods::PodIndex;
use crate::semantics::Semantics;
use nodesift_object::Kind;

/// The accountant of the policy, shared by the writer and those who compile objects for it. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct CurrentAccountant(Arc<RwLock<Option<Arc<dyn Accountant>>>>);

impl CurrentAccountant {
    /// The accountant; none where the policy has none.
    pub fn get(&self) -> Option<Arc<dyn Accountant>> {
        self.0.read().clone()
    }

    fn set(&self, accountant: Option<Arc<dyn Accountant>>) {
        *self.0.write() = accountant;
    }
}

/// Objects of which no account is known, each with the reason.
#[derive(Debug, Clone, Default)]
pub struct UnknownAccounts {
    /// Reasons for pods, by UID.
    pub pods: BTreeMap<Arc<str>, Arc<str>>,
    /// Reasons for nodes, by name.
    pub nodes: BTreeMap<Arc<str>, Arc<str>>,
}

impl UnknownAccounts {
    /// Returns one of the objects: the UID of a pod, or the name of a node; `None` where there is none.
    pub fn any(&self) -> Option<(Kind, Arc<str>)> {
        let pod = self.pods.keys().next().map(|uid| (Kind::Pod, Arc::clone(uid)));
        pod.or_else(|| self.nodes.keys().next().map(|name| (Kind::Node, Arc::clone(name))))
    }
}

/// The present accountant, and objects whose accounts are not known.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    current: CurrentAccountant,
    /// Whether there has been an accountant; otherwise objects count as they were compiled.
    is_decided: bool,
    unknown: UnknownAccounts,
}

impl Accounts {
    /// Replaces the accountant, and forgets which accounts are unknown.
    pub(super) fn replace(&mut self, accountant: Option<Arc<dyn Accountant>>) {
        self.current.set(accountant);
        self.is_decided = true;
        self.unknown = UnknownAccounts::default();
    }

    /// Returns a pod with the account by which it counts. `earlier` gives the pod as it counts so far.
    fn attach_account<'a>(
        &self,
        pod: &'a Arc<PodRecord>,
        earlier: impl FnOnce() -> Option<Arc<PodRecord>>,
    ) -> Cow<'a, Arc<PodRecord>> {
        if !self.is_decided {
            return Cow::Borrowed(pod);
        }
        let last = || earlier().and_then(|earlier| earlier.account.clone());
        let account = self.current.get().and_then(|accountant| {
            let said = accountant.pods(&[&pod.facts]).pop()?;
            account_of(&*accountant, &pod.facts, said, last)
        });
        match (&account, &pod.account) {
            (None, None) => Cow::Borrowed(pod),
            (Some(account), Some(known)) if Arc::ptr_eq(account, known) => Cow::Borrowed(pod),
            _ => Cow::Owned(Arc::new(pod.accounted(account))),
        }
    }

    /// The accounts of pods that count, in their order.
    pub(super) fn pod_accounts(&self, pods: &[Arc<PodRecord>]) -> Vec<Option<Arc<Account>>> {
        let Some(accountant) = self.current.get() else { return vec![None; pods.len()] };
        let said = accountant.pods(&pods.iter().map(|pod| &pod.facts).collect::<Vec<_>>());
        let account =
            |(pod, said): (&Arc<PodRecord>, _)| account_of(&*accountant, &pod.facts, said, || pod.account.clone());
        pods.iter().zip(said).map(account).collect()
    }

    /// Returns the sums that a node adds. `earlier` is what it adds so far. The error has the sums that count instead, and the reason why
    /// its own are not known.
    fn node_sums(&self, node: &AccountedNode, earlier: Option<&Sums>) -> Result<Sums, (Sums, Arc<str>)> {
        let Some(accountant) = self.current.get() else { return Ok(Sums::default()) };
        let said = accountant.nodes(std::slice::from_ref(node)).pop().unwrap_or_else(|| Ok(Sums::default()));
        said.map_err(|text| (earlier.filter(|_| accountant.keeps_last()).cloned().unwrap_or_default(), text))
    }

    /// Removes a node from those with unknown sums.
    fn forget_node(&mut self, name: &str) {
        self.unknown.nodes.remove(name);
    }
}

/// Returns a pod as it counts by the accountant and the rules for resizes.
fn count_pod<'a>(
    accounts: &Accounts,
    semantics: Semantics,
    pods: &PodIndex,
    pod: &'a Arc<PodRecord>,
) -> Cow<'a, Arc<PodRecord>> {
    let earlier = || pods.by_uid(&pod.uid);
    match pod.resized_by(semantics.resize) {
        Some(resized) => Cow::Owned(accounts.attach_account(&Arc::new(resized), earlier).into_owned()),
        None => accounts.attach_account(pod, earlier),
    }
}

/// Returns the account that counts for a pod, by the answer of the accountant. `last` is its last account.
fn account_of(
    accountant: &dyn Accountant,
    facts: &PodFacts,
    said: Accounted,
    last: impl FnOnce() -> Option<Arc<Account>>,
) -> Option<Arc<Account>> {
    said.unwrap_or_else(|text| {
        let last = if accountant.keeps_last() { last() } else { None };
        Some(Arc::new(Account::unknown(facts, last.as_deref().filter(|last| last.is_given()), &text)))
    })
}

/// Access to the accountant.
impl Writer {
    /// Sets the first accountant, before anything is applied.
    pub fn set_accountant(&mut self, accountant: Option<Arc<dyn Accountant>>) {
        if let Some(accountant) = accountant {
            self.declare_sums(accountant.sums());
            self.watermarks.replace(accountant.watermarks(), self.nodes.len());
            self.accounts.current.set(Some(accountant));
            self.accounts.is_decided = true;
        }
    }

    /// The accountant, for those who compile objects.
    pub fn accountant(&self) -> &CurrentAccountant {
        &self.accounts.current
    }
}

/// Accounts of single pods.
impl Writer {
    /// Returns a pod as it counts: with the usage by the rules for resizes, or with what the accountant says that it takes.
    pub(super) fn as_counted<'a>(&self, pod: &'a Arc<PodRecord>) -> Cow<'a, Arc<PodRecord>> {
        count_pod(&self.accounts, self.semantics, &self.pods, pod)
    }

    /// Accounts for assumed pods as the watch shows them, for one or all.
    pub(super) fn account_for_shown(&mut self, uid: Option<&str>) {
        let (accounts, semantics, pods) = (&self.accounts, self.semantics, &self.pods);
        self.assumed.recount_shown(|shown| match uid.is_none_or(|uid| *shown.uid == *uid) {
            true => Some(count_pod(accounts, semantics, pods, shown).into_owned()),
            false => None,
        });
    }

    /// Notes whether the account of a pod that counts is known.
    pub(super) fn note_pod(&mut self, pod: &PodRecord) {
        let fault = pod.account.as_ref().and_then(|account| account.fault.as_ref());
        if let Some(fault) = fault {
            self.accounts.unknown.pods.insert(Arc::clone(&pod.uid), Arc::clone(&fault.text));
        } else if !self.accounts.unknown.pods.is_empty() {
            self.accounts.unknown.pods.remove(&pod.uid);
        }
    }

    /// Returns a function that has the accountant account anew for the pod of this UID. It needs no lock, and may take as long as a call of
    /// a component; afterwards [`Self::account_again`] has the outcome count. `None` where there is nothing to do.
    pub fn forgetting_pod(&self, uid: &str) -> Option<Box<dyn FnOnce() + Send>> {
        let (accountant, pod) = (self.accounts.current.get()?, self.pods.by_uid(uid)?);
        Some(Box::new(move || {
            accountant.forget_pod(&pod.facts);
            accountant.pods(&[&pod.facts]);
        }))
    }

    /// Applies the account that the accountant gives a pod now.
    pub fn account_again(&mut self, uid: &str) {
        if let Some(pod) = self.pods.by_uid(uid) {
            let next = self.as_counted(&pod).into_owned();
            self.put_pod(&next);
            self.account_for_shown(Some(uid));
        }
    }
}

/// Sums of single nodes.
impl Writer {
    /// Applies the sums that the accountant gives the node of a row now.
    pub(super) fn account_for_row(&mut self, row: Row) {
        let Some((name, node)) = self.accounted_node(row) else { return };
        let sums = self.node_sums(&name, &node, row);
        if self.nodes.set_own_sums(row, &sums) {
            self.record(NodeInterface::Resources, row);
        }
    }

    /// Returns the facts of each node that an accountant reads.
    pub fn accounted_nodes(&self) -> Vec<AccountedNode> {
        let rows = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        (0..rows).filter_map(|row| self.accounted_node(Row(row))).map(|(_, node)| node).collect()
    }

    /// The name of the node of a row, and what an accountant reads of it.
    fn accounted_node(&self, row: Row) -> Option<(Arc<str>, AccountedNode)> {
        let name = Arc::clone(self.nodes.index().name(row)?);
        let annotations = self.nodes.annotations().rows().get(row).cloned().unwrap_or_default();
        let allocatable = self.advertised.get(&name).to_vec();
        Some((name, AccountedNode { annotations, allocatable }))
    }

    /// Returns the sums that the node of a row adds, and notes whether they are known.
    pub(super) fn sums_of(&mut self, node: &NodeFacts, row: Row) -> Sums {
        match self.accounts.is_decided {
            true => self.node_sums(&node.name, &AccountedNode::new(node), row),
            false => Arc::clone(&node.sums),
        }
    }

    fn node_sums(&mut self, name: &Arc<str>, node: &AccountedNode, row: Row) -> Sums {
        match self.accounts.node_sums(node, self.nodes.named_sums().own(row)) {
            Ok(sums) => {
                self.accounts.forget_node(name);
                sums
            }
            Err((sums, text)) => {
                self.accounts.unknown.nodes.insert(Arc::clone(name), text);
                sums
            }
        }
    }

    /// Whether a node adds this to sums, as far as it is known.
    pub(super) fn holds_sums(&self, node: &NodeFacts, row: Row) -> bool {
        let held = self.nodes.named_sums().own(row);
        if !self.accounts.is_decided {
            return held == Some(&node.sums);
        }
        let said = self.accounts.node_sums(&AccountedNode::new(node), held);
        let is_known = !self.accounts.unknown.nodes.contains_key(&node.name);
        said.is_ok() == is_known && held == Some(&said.unwrap_or_else(|(sums, _)| sums))
    }

    /// Returns a function like [`Self::forgetting_pod`], for the node of this name; [`Self::account_for_node_again`] has the outcome count.
    pub fn forgetting_node(&self, name: &str) -> Option<Box<dyn FnOnce() + Send>> {
        let accountant = self.accounts.current.get()?;
        let (_, node) = self.accounted_node(self.nodes.row(name)?)?;
        Some(Box::new(move || {
            accountant.forget_node(&node);
            accountant.nodes(std::slice::from_ref(&node));
        }))
    }

    /// Applies the sums that the accountant gives a node now.
    pub fn account_for_node_again(&mut self, name: &str) {
        if let Some(row) = self.nodes.row(name) {
            self.account_for_row(row);
        }
    }
}

/// Objects whose accounts are not known.
impl Writer {
    /// Nodes of which it is not known what they add to sums, each with the reason.
    pub(super) fn unknown_sums(&self) -> &BTreeMap<Arc<str>, Arc<str>> {
        &self.accounts.unknown.nodes
    }

    /// Notes that a pod counts no more.
    pub(super) fn note_removed_pod(&mut self, uid: &str) {
        self.accounts.unknown.pods.remove(uid);
    }

    /// Notes that a node counts no more.
    pub(super) fn note_removed_node(&mut self, name: &str) {
        self.accounts.forget_node(name);
    }

    /// How many objects there are of which no account is known.
    pub fn unknown_account_count(&self) -> usize {
        self.accounts.unknown.pods.len() + self.accounts.unknown.nodes.len()
    }

    /// Objects of which no account is known.
    pub fn unknown_accounts(&self) -> &UnknownAccounts {
        &self.accounts.unknown
    }
}
