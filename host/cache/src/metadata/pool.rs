//! The pool: equal texts, label sets and facts of pods of one template are kept once.
//!
//! A pod whose template was compiled recently is not compiled again: its facts are found by [`template::with_content`].
//! Start at [`Pool::pod_record`] and [`Pool::node`]. The results equal those of [`super::pod_record`] and [`super::node`];
//! only the memory behind them is shared.

use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::account::{Account, Sums};
use super::facts::{NodeFacts, PodFacts, PodRecord};
use super::labels::{self, Labels};
use super::selection::Selection;
use super::{compile, template};
use crate::limits::{POOL_SWEEP_MIN, RECENT_TEMPLATES};
use nodesift_object::{self as object, Node, Pod};

/// Keeps equal parts of compiled objects once; clones share one pool, on any number of threads.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    texts: Shared<str>,
    labels: Shared<[(Arc<str>, Arc<str>)]>,
    facts: Shared<PodFacts>,
    accounts: Shared<Account>,
    sums: Shared<[(Arc<str>, i64)]>,
    recent: Recent,
}

impl Pool {
    /// Compiles the record of a pod, with parts that equal those of other objects shared.
    pub fn pod_record(&self, pod: &Pod, own_schedulers: &[String], selection: &Selection) -> PodRecord {
        let (facts, node_name) = template::with_content(pod, selection, |content| {
            let (recent, node_name) = {
                let mut kept = self.kept.lock();
                kept.sweep_if_due();
                let node_name = compile::node_name(pod).map(|name| kept.text(name));
                (kept.recent.get(content), node_name)
            };
            let facts = recent.unwrap_or_else(|| {
                // Compiled outside the lock, so that other threads do not wait.
                let facts = compile::shared(pod, selection);
                let mut kept = self.kept.lock();
                let facts = kept.facts(facts);
                kept.recent.insert(content, &facts);
                facts
            });
            (facts, node_name)
        });
        compile::keeping_object(compile::record_with(pod, own_schedulers, facts, node_name), pod, selection)
    }

    /// Compiles the facts of a node, with parts that equal those of other objects shared.
    pub fn node(&self, node: &Node, selection: &Selection) -> NodeFacts {
        let mut facts = compile::node_selecting(node, selection);
        let mut kept = self.kept.lock();
        kept.sweep_if_due();
        facts.name = kept.texts.keep(facts.name);
        facts.labels = kept.labels(&facts.labels);
        facts.annotations = kept.labels(&facts.annotations);
        facts.info = kept.labels(&facts.info);
        facts.images = kept.labels(&facts.images);
        for (resource, _) in &mut facts.allocatable {
            *resource = kept.texts.keep(Arc::clone(resource));
        }
        facts
    }

    /// The kept account that equals this one.
    pub fn account(&self, account: Account) -> Arc<Account> {
        let mut kept = self.kept.lock();
        kept.sweep_if_due();
        kept.account(account)
    }

    /// The kept sums that equal these, which are sorted by name and have each name once: for [`NodeFacts::sums`].
    pub fn sums(&self, sums: &Sums) -> Sums {
        let mut kept = self.kept.lock();
        kept.sweep_if_due();
        kept.sums(sums)
    }

    /// Labels of any other object.
    pub fn labels(&self, object: &object::Labels) -> Labels {
        let mut kept = self.kept.lock();
        kept.sweep_if_due();
        kept.labels(&labels::labels(object))
    }
}

impl Kept {
    fn text(&mut self, text: &str) -> Arc<str> {
        self.texts.get(text).unwrap_or_else(|| self.texts.keep(Arc::from(text)))
    }

    /// Sweeps values of all types at once, since facts hold labels and labels hold texts, accounts hold sums and sums hold texts.
    fn sweep_if_due(&mut self) {
        let of_accounts = self.accounts.is_sweep_due() || self.sums.is_sweep_due();
        if of_accounts || self.facts.is_sweep_due() || self.labels.is_sweep_due() || self.texts.is_sweep_due() {
            self.accounts.sweep();
            self.sums.sweep();
            self.facts.sweep();
            self.labels.sweep();
            self.texts.sweep();
        }
    }

    fn labels(&mut self, labels: &Labels) -> Labels {
        if let Some(known) = self.labels.get(labels) {
            return known;
        }
        let texts = &mut self.texts;
        let pair = |(key, value): &(Arc<str>, Arc<str>)| (texts.keep(Arc::clone(key)), texts.keep(Arc::clone(value)));
        let pooled = labels.iter().map(pair).collect();
        self.labels.keep(pooled)
    }

    fn account(&mut self, mut account: Account) -> Arc<Account> {
        if let Some(known) = self.accounts.get(&account) {
            return known;
        }
        for (resource, _) in account.requests.iter_mut().chain(&mut account.usage) {
            *resource = self.texts.keep(Arc::clone(resource));
        }
        account.flags = account.flags.iter().map(|flag| self.texts.keep(Arc::clone(flag))).collect();
        account.sums = self.sums(&account.sums);
        self.accounts.keep(Arc::new(account))
    }

    fn sums(&mut self, sums: &Sums) -> Sums {
        if let Some(known) = self.sums.get(sums) {
            return known;
        }
        let texts = &mut self.texts;
        let pooled = sums.iter().map(|(name, amount)| (texts.keep(Arc::clone(name)), *amount)).collect();
        self.sums.keep(pooled)
    }

    /// The kept facts that equal these; new ones are kept with shared parts.
    fn facts(&mut self, mut facts: PodFacts) -> Arc<PodFacts> {
        if let Some(known) = self.facts.get(&facts) {
            return known;
        }
        self.sweep_if_due();
        facts.namespace = self.texts.keep(facts.namespace);
        facts.scheduler_name = self.texts.keep(facts.scheduler_name);
        facts.labels = self.labels(&facts.labels);
        facts.annotations = self.labels(&facts.annotations);
        facts.node_selector = self.labels(&facts.node_selector);
        let usages = facts.usages.as_mut().map(|usages| Arc::make_mut(usages).iter_mut().flatten());
        let amounts = facts.requests.iter_mut().chain(&mut facts.usage).chain(&mut facts.non_zero_requests);
        for (resource, _) in amounts.chain(usages.into_iter().flatten()) {
            *resource = self.texts.keep(Arc::clone(resource));
        }
        self.facts.keep(Arc::new(facts))
    }
}

/// Values in use, each kept once.
#[derive(Debug)]
pub(crate) struct Shared<T: ?Sized> {
    values: FxHashSet<Arc<T>>,
    sweep_at: usize,
}

impl<T: ?Sized> Default for Shared<T> {
    fn default() -> Self {
        Self { values: FxHashSet::default(), sweep_at: POOL_SWEEP_MIN }
    }
}

impl<T: ?Sized + Eq + Hash> Shared<T> {
    /// The kept one of equal values, if there is one.
    pub(crate) fn get(&self, value: &T) -> Option<Arc<T>> {
        self.values.get(value).map(Arc::clone)
    }

    /// The kept one of equal values.
    pub(crate) fn keep(&mut self, value: Arc<T>) -> Arc<T> {
        if let Some(known) = self.get(&value) {
            return known;
        }
        self.values.insert(Arc::clone(&value));
        value
    }

    /// How many values are kept.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it has grown by a quarter since the last sweep, and has at least [`POOL_SWEEP_MIN`] values.
    pub(crate) fn is_sweep_due(&self) -> bool {
        self.values.len() >= self.sweep_at
    }

    /// Drops values that have no other reference.
    pub(crate) fn sweep(&mut self) {
        self.values.retain(|value| Arc::strong_count(value) > 1);
        self.sweep_at = (self.values.len() + self.values.len() / 4).max(POOL_SWEEP_MIN);
    }
}

/// The facts of recent templates. A template that was not used while as many others were new is dropped.
#[derive(Debug, Default)]
struct Recent {
    newer: FxHashMap<Box<[u8]>, Arc<PodFacts>>,
    older: FxHashMap<Box<[u8]>, Arc<PodFacts>>,
}

impl Recent {
    fn get(&mut self, content: &[u8]) -> Option<Arc<PodFacts>> {
        if let Some(facts) = self.newer.get(content) {
            return Some(Arc::clone(facts));
        }
        let (content, facts) = self.older.remove_entry(content)?;
        self.insert(content, &facts);
        Some(facts)
    }

    fn insert(&mut self, content: impl Into<Box<[u8]>>, facts: &Arc<PodFacts>) {
        if self.newer.len() >= RECENT_TEMPLATES / 2 {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(content.into(), Arc::clone(facts));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::limits::PENDING_OBJECT_BYTES;
    use nodesift_fixtures::synthetic::Shape;

    fn pod(json: &str) -> Pod {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn pooled_records_equal_those_compiled_alone() {
        let seed = nodesift_seed::seed();
        let own = ["default-scheduler".to_owned()];
        let pool = Pool::default();
        let shape = Shape { nodes: 200, pods_per_node: 20, seed };
        let pods: Vec<Pod> = shape.pods().map(|json| pod(&json)).collect();
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..3 * pods.len() {
            let pod = &pods[random.usize(0..pods.len())];
            assert_eq!(pool.pod_record(pod, &own, &Selection::default()), compile::pod_record(pod, &own));
        }
        for json in shape.nodes() {
            let node: Node = serde_json::from_str(&json).unwrap();
            assert_eq!(pool.node(&node, &Selection::default()), compile::node(&node));
        }
    }

    #[test]
    fn the_object_of_a_pod_without_a_node_is_kept_and_read_as_the_same_pod() {
        let seed = nodesift_seed::seed();
        let (pool, mut kept) = (Pool::default(), 0);
        for history in 0..20 {
            let mut history = nodesift_fixtures::random::History::new(seed.wrapping_add(history));
            for _ in 0..50 {
                let Ok(pod) = serde_json::from_str::<Pod>(&history.asked_pod().to_string()) else { continue };
                let keys: Vec<String> = pod.metadata.annotations.iter().map(|(key, _)| key.to_owned()).collect();
                let whole = pod.to_json(&keys).unwrap();
                assert_eq!(serde_json::from_str::<Pod>(&whole).unwrap(), pod, "seed {seed}: {whole}");
                let written = pod.to_json(&[]).unwrap();
                let read: Pod = serde_json::from_str(&written).unwrap();
                assert!(read.metadata.annotations.is_empty() && read.spec == pod.spec, "seed {seed}: {written}");
                let record = pool.pod_record(&pod, &[], &Selection::default());
                let is_pending = record.node_name.is_none();
                assert_eq!(record.object().map(|text| &**text), is_pending.then_some(&*written), "seed {seed}");
                kept += usize::from(is_pending);
            }
        }
        assert!(kept > 100, "seed {seed}: {kept}");
        let mut large = pod(r#"{"metadata":{"name":"p","labels":{"a":"b"}}}"#);
        large.spec.scheduler_name = "s".repeat(PENDING_OBJECT_BYTES);
        assert!(pool.pod_record(&large, &[], &Selection::default()).object().is_none());
    }

    #[test]
    fn pods_of_one_template_share_their_facts_and_labels() {
        let pool = Pool::default();
        let with = |name: &str, cpu: &str| {
            let pod = pod(&format!(
                r#"{{"metadata":{{"name":"{name}","labels":{{"app":"a"}}}},
                    "spec":{{"nodeName":"n","containers":[{{"resources":{{"requests":{{"cpu":"{cpu}"}}}}}}]}}}}"#
            ));
            pool.pod_record(&pod, &[], &Selection::default())
        };
        let (a, b, other) = (with("a", "1"), with("b", "1"), with("c", "2"));
        assert!(Arc::ptr_eq(&a.facts, &b.facts) && !Arc::ptr_eq(&a.facts, &other.facts));
        assert!(Arc::ptr_eq(&a.facts.labels, &other.facts.labels));
        assert!(Arc::ptr_eq(a.node_name.as_ref().unwrap(), other.node_name.as_ref().unwrap()));
        // What is written in another way and comes to the same is one, too.
        assert!(Arc::ptr_eq(&a.facts, &with("d", "1000m").facts));
    }

    #[test]
    fn what_only_some_policies_read_keeps_pods_apart_only_for_those() {
        let with = |name: &str, uid: &str, priority: i32, image: &str| {
            pod(&format!(
                r#"{{"metadata":{{"name":"{name}","ownerReferences":[
                    {{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"other"}},
                    {{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"{uid}","controller":true}}]}},
                    "spec":{{"priority":{priority},"serviceAccountName":"s","priorityClassName":"","hostNetwork":true,
                    "containers":[{{"image":"{image}"}},{{"image":"b"}},{{}}],"initContainers":[{{"image":"b"}}]}}}}"#
            ))
        };
        let pods = [with("a", "1", 0, "a"), with("b", "2", 0, "a"), with("c", "1", 7, "a"), with("d", "1", 0, "c")];
        let spec = Selection { pod_spec: true, ..Selection::default() };
        let owner = Selection { pod_owner: true, ..Selection::default() };
        let images = Selection { pod_images: true, ..Selection::default() };
        let non_zero = Selection { non_zero_requests: true, ..Selection::default() };
        for (selection, templates) in [
            (Selection::default(), 1),
            (spec.clone(), 3),
            (owner.clone(), 2),
            (spec.with(&owner), 4),
            (images.clone(), 2),
            (non_zero.with(&images), 2),
            (non_zero.clone(), 1),
        ] {
            let pool = Pool::default();
            let records = pods.each_ref().map(|pod| pool.pod_record(pod, &[], &selection));
            for (record, pod) in records.iter().zip(&pods) {
                assert_eq!(*record, compile::pod_record_selecting(pod, &[], &selection));
            }
            let facts: FxHashSet<_> = records.iter().map(|record| Arc::as_ptr(&record.facts)).collect();
            assert_eq!(facts.len(), templates, "{selection:?}");
        }
        let facts = compile::pod_selecting(&pods[3], &images.with(&non_zero));
        let names: Vec<&str> =
            facts.images.iter().flat_map(|images| images.containers.iter()).map(|name| &**name).collect();
        assert_eq!(names, ["b:latest", "c:latest", "b:latest", ":latest"]);
        assert_eq!(facts.non_zero_usage.unwrap().counted.cpu, 300);
        let facts = compile::pod_selecting(&pods[3], &spec.with(&owner));
        assert!(facts.images.is_none() && facts.non_zero_usage.is_none() && facts.non_zero_requests.is_empty());
        let (spec, owner) = (facts.spec.unwrap(), facts.owner.unwrap());
        assert_eq!((spec.priority, &spec.priority_class, spec.host_network), (0, &None, true));
        assert_eq!((spec.service_account.as_deref(), &spec.runtime_class), (Some("s"), &None));
        assert_eq!(spec.images.iter().map(|image| &**image).collect::<Vec<_>>(), ["b", "c"]);
        assert_eq!(
            [&owner.api_version, &owner.kind, &owner.name, &owner.uid].map(|text| &**text),
            ["batch/v1", "Job", "j", "1"]
        );
    }

    #[test]
    fn pods_of_a_daemon_set_share_their_facts_and_keep_their_affinity() {
        let pool = Pool::default();
        let with = |node: &str, terms: &str| {
            let affinity =
                format!(r#"{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":{terms}}}}}"#);
            let spec = format!(r#"{{"nodeName":"{node}","affinity":{{"nodeAffinity":{affinity}}}}}"#);
            let json = format!(r#"{{"metadata":{{"name":"a"}},"spec":{spec}}}"#);
            let (pod, record) = (pod(&json), pool.pod_record(&pod(&json), &[], &Selection::default()));
            let elsewhere = record.on_node(Some("elsewhere".into()));
            for record in [&record, &elsewhere, &record.on_node(None), &elsewhere.on_node(Some(node.into()))] {
                assert_eq!(*record.whole_facts(), compile::pod(&pod), "{json}");
            }
            record.facts
        };
        let named =
            |node: &str| format!(r#"{{"matchFields":[{{"key":"metadata.name","operator":"In","values":[{node}]}}]}}"#);
        let pinned = with("a", &format!("[{}]", named(r#""a""#)));
        assert!(pinned.is_pinned && Arc::ptr_eq(&pinned, &with("b", &format!("[{}]", named(r#""b""#)))));
        let others = [
            (named(r#""b""#), "another node"),
            (named(r#""a","b""#), "two names"),
            (named(""), "no name"),
            (format!("{0},{0}", named(r#""a""#)), "two terms"),
            (named(r#""a""#).replace("In", "NotIn"), "another operator"),
            (named(r#""a""#).replace("metadata.name", "metadata.uid"), "another field"),
            (named(r#""a""#).replace("matchFields", "matchExpressions"), "a label"),
            (
                named(r#""a""#).replace("}]}", r#"}],"matchExpressions":[{"key":"k","operator":"Exists"}]}"#),
                "a label as well",
            ),
        ];
        for (terms, what) in others {
            assert!(!with("a", &format!("[{terms}]")).is_pinned, "{what}");
        }
        assert!(!with("", &format!("[{}]", named("\"\""))).is_pinned, "not bound");
    }

    #[test]
    fn unused_values_do_not_pile_up() {
        let pool = Pool::default();
        let mut held = Vec::new();
        for round in 0..6 * POOL_SWEEP_MIN {
            let name = format!("p{round}");
            let json = format!(
                r#"{{"metadata":{{"name":"{name}","labels":{{"pod":"{name}"}}}},"spec":{{"nodeName":"{name}"}}}}"#
            );
            let record = pool.pod_record(&pod(&json), &[], &Selection::default());
            if round % 100 == 0 {
                held.push(record);
            }
        }
        let kept = pool.kept.lock();
        // A quarter more than what is in use, and by then a new one of each sort.
        let most = (RECENT_TEMPLATES + held.len() + 2) * 5 / 4 + 1;
        let sizes = [kept.facts.values.len(), kept.labels.values.len(), kept.texts.values.len() / 2];
        assert!(sizes.iter().all(|size| *size <= most), "{sizes:?}");
        assert!(kept.recent.newer.len() + kept.recent.older.len() <= RECENT_TEMPLATES);
        for record in &held {
            assert!(Arc::ptr_eq(&record.facts, &kept.facts.get(&record.facts).unwrap()));
        }
    }

    #[test]
    fn equal_accounts_are_one_and_unused_ones_do_not_pile_up() {
        let pool = Pool::default();
        let account = |number: i64| {
            let amounts = |name: &str| vec![(Arc::from(name), number)];
            Account::new(amounts("cpu"), amounts("memory"), amounts("s"), vec![Arc::from("f")])
        };
        let (first, other) = (pool.account(account(1)), pool.account(account(2)));
        assert!(Arc::ptr_eq(&first, &pool.account(account(1))) && !Arc::ptr_eq(&first, &other));
        assert_eq!((&*first, &*other), (&account(1), &account(2)));
        // Their parts are shared as well.
        assert!(Arc::ptr_eq(&first.requests[0].0, &other.requests[0].0));
        assert!(Arc::ptr_eq(&first.flags[0], &other.flags[0]));
        assert!(Arc::ptr_eq(&first.sums, &pool.sums(&account(1).sums)));
        for number in 3..i64::try_from(4 * POOL_SWEEP_MIN).unwrap() {
            pool.account(account(number));
        }
        let kept = pool.kept.lock();
        assert!(kept.accounts.values.len() <= POOL_SWEEP_MIN && kept.sums.values.len() <= POOL_SWEEP_MIN);
        assert!(Arc::ptr_eq(&first, &kept.accounts.get(&account(1)).unwrap()));
    }
}
