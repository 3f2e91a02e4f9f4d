//! Assumptions in the model: a plain list beside what the watch has shown. What counts is computed anew from both after
//! every event.

use std::time::{Duration, Instant};

use super::*;
use crate::limits::OVERDUE_NAMED;
use crate::write::metrics::{Ended, Reason};

/// Assumption about one pod in the model.
#[derive(Clone)]
pub(super) struct Decision {
    node: String,
    until: Instant,
    /// The pod as the core gave it, where the watch has not shown it.
    whole: Option<PodRecord>,
}

impl Model {
    /// Computes what counts: pods that the watch has shown, on their assumed nodes, and pods that only the core has sent.
    pub(super) fn recount(&mut self) {
        let placed = |pod: &PodRecord, node: &str| PodRecord { node_name: Some(text(node)), ..pod.clone() };
        self.pods = self.shown.clone();
        for (uid, decision) in &self.decisions {
            match self.shown.values().find(|pod| *pod.uid == **uid) {
                Some(pod) => {
                    assert!(pod.node_name.is_none(), "bound pods are not assumed");
                    self.pods.insert(pod.name.to_string(), placed(pod, &decision.node));
                }
                None => {
                    let pod = decision.whole.as_ref().unwrap();
                    self.pods.insert(pod.name.to_string(), placed(pod, &decision.node));
                }
            }
        }
        self.settle_in_flight();
    }

    pub(super) fn apply_pod(&mut self, mut pod: PodRecord) {
        // Whose pod it is, is decided when it is shown first.
        if let Some(shown) = self.shown.values().find(|shown| shown.uid == pod.uid) {
            pod.ownership = shown.ownership;
        }
        // The name is this pod's now: another pod that had it is removed, with its assumption.
        let others: Vec<String> =
            self.pods.values().filter(|known| known.name == pod.name).map(|known| known.uid.to_string()).collect();
        for uid in others.iter().filter(|uid| ***uid != *pod.uid || pod.node_name.is_some()) {
            self.decisions.remove(uid);
        }
        let replaced = self.shown.values().filter(|shown| shown.name == pod.name && shown.uid != pod.uid);
        self.gone.extend(replaced.map(|shown| shown.uid.to_string()));
        self.gone.remove(&*pod.uid);
        if let Some(decision) = self.decisions.get_mut(&*pod.uid) {
            decision.whole = None;
        }
        self.shown.insert(pod.name.to_string(), pod);
        self.recount();
    }

    /// Makes a pod one that a core has decided on, bound as it decided; of random pods hardly one ever is.
    pub(super) fn bind_as_decided(&self, random: &mut fastrand::Rng, pod: &mut PodRecord) {
        let Some((uid, decision)) = self.decisions.iter().nth(random.usize(0..self.decisions.len().max(1))) else {
            return;
        };
        let (name, _) = uid.split_once('-').unwrap();
        (pod.uid, pod.name) = (text(uid), text(name));
        (pod.node_name, pod.nominated_node) = (Some(text(&decision.node)), None);
    }

    pub(super) fn remove_pod(&mut self, uid: &str) {
        self.shown.retain(|_, pod| *pod.uid != *uid);
        self.decisions.remove(uid);
        self.gone.insert(uid.to_owned());
        self.recount();
    }

    pub(super) fn remove_node(&mut self, name: &str) {
        self.nodes.remove(name);
        self.decisions.retain(|_, decision| decision.node != name);
        self.recount();
    }

    /// Decides something at random, in the model and in the cache; both must say the same of it.
    pub(super) fn decide(&mut self, random: &mut fastrand::Rng, writer: &mut Writer, now: Instant) {
        // Often about a pod that was decided about before, and the same as before: by chance that would hardly happen.
        let before = random.choice(&self.decisions).filter(|_| random.u8(0..3) == 0);
        let uid = before.map_or_else(|| format!("p{}-{}", random.u8(0..30), random.u8(0..2)), |(uid, _)| uid.clone());
        let name = uid.rsplit_once('-').unwrap().0.to_owned();
        let node = match before {
            Some((_, decision)) if random.bool() => decision.node.clone(),
            _ => format!("n{}", random.u8(0..12)),
        };
        let until = now + Duration::from_secs(random.u64(0..20));
        match random.u8(0..10) {
            0..5 => {
                let expected = self.assume(&uid, &node, until);
                assert_eq!(writer.assume(&uid, &node, until), expected, "{uid} on {node}");
                self.note(&expected);
            }
            5..8 => {
                let pod = PodRecord { uid: text(&uid), ..random_pod(random, &name, None) };
                let expected = self.assume_whole(&pod, &node, until);
                assert_eq!(writer.assume_whole(&pod, &node, until), expected, "{uid} whole on {node}");
                self.note(&expected);
            }
            8 => {
                let was_assumed = self.decisions.remove(&uid).is_some();
                assert_eq!(writer.forget(&uid), was_assumed, "{uid}");
            }
            _ => {
                let before = self.decisions.len();
                self.decisions.retain(|_, decision| decision.until > now);
                let expired = writer.expire(now);
                assert_eq!(expired.count, before - self.decisions.len());
                assert_eq!(expired.names.len(), expired.count.min(OVERDUE_NAMED));
            }
        }
        self.recount();
        assert_eq!(writer.assumed_pods(), self.decisions.len());
        let assumed: BTreeSet<String> = writer.pods().assumed().iter().map(ToString::to_string).collect();
        assert!(assumed.iter().eq(self.decisions.keys()), "{assumed:?}");
        for (uid, decision) in &self.decisions {
            let found = writer.assumption(uid).unwrap();
            assert_eq!((&*found.node, found.until), (decision.node.as_str(), decision.until), "{uid}");
            let counted = self.pods.values().find(|pod| *pod.uid == **uid).unwrap();
            assert_eq!(writer.was_shown(counted), decision.whole.is_none(), "{uid}");
        }
    }

    /// Counts that an outcome was met, by its name.
    fn note(&mut self, outcome: &Result<Placed, AssumeError>) {
        let outcome = format!("{outcome:?}");
        *self.met.entry(outcome.split(' ').next().unwrap_or_default().to_owned()).or_default() += 1;
    }

    fn assume(&mut self, uid: &str, node: &str, until: Instant) -> Result<Placed, AssumeError> {
        let Some(pod) = self.pods.values().find(|pod| *pod.uid == *uid).cloned() else {
            let pod = uid.to_owned();
            let is_gone = self.gone.contains(uid);
            return Err(if is_gone { AssumeError::Gone { pod } } else { AssumeError::UnknownPod { pod } });
        };
        let bound = pod.node_name.clone().filter(|_| !self.decisions.contains_key(uid));
        if let Some(bound) = bound {
            let error = AssumeError::Bound { pod: format!("ns/{}", pod.name), node: Arc::clone(&bound) };
            return if *bound == *node { Ok(Placed::AlreadyBound) } else { Err(error) };
        }
        if !self.nodes.contains_key(node) {
            return Err(AssumeError::UnknownNode { node: node.to_owned() });
        }
        let old = self.decisions.get(uid).cloned();
        let placed = match &old {
            Some(old) if old.node == node => Placed::Renewed,
            Some(_) => Placed::Moved,
            None => Placed::Assumed,
        };
        let whole = old.and_then(|old| old.whole);
        self.decisions.insert(uid.to_owned(), Decision { node: node.to_owned(), until, whole });
        Ok(placed)
    }

    fn assume_whole(&mut self, pod: &PodRecord, node: &str, until: Instant) -> Result<Placed, AssumeError> {
        if self.shown.values().any(|shown| shown.uid == pod.uid) {
            return self.assume(&pod.uid, node, until);
        }
        if self.gone.contains(&*pod.uid) {
            return Err(AssumeError::Gone { pod: format!("ns/{}", pod.name) });
        }
        if let Some(other) = self.pods.get(&*pod.name).filter(|other| other.uid != pod.uid) {
            return Err(AssumeError::OtherPod { pod: format!("ns/{}", pod.name), uid: Arc::clone(&other.uid) });
        }
        if !self.nodes.contains_key(node) {
            return Err(AssumeError::UnknownNode { node: node.to_owned() });
        }
        let decision = Decision { node: node.to_owned(), until, whole: Some(pod.clone()) };
        Ok(match self.decisions.insert(pod.uid.to_string(), decision) {
            Some(old) if old.node == node => Placed::Renewed,
            Some(_) => Placed::Moved,
            None => Placed::Assumed,
        })
    }

    /// Compares what pending pods are nominated for.
    pub(super) fn check_nominated(&self, snapshot: &Snapshot) {
        for node in (0..12).map(|number| format!("n{number}")) {
            let mut found: Vec<&str> = snapshot.nominated(&node).iter().map(|pod| &*pod.uid).collect();
            found.sort_unstable();
            let pending = self.pods.values().filter(|pod| pod.node_name.is_none());
            let nominated = pending.filter(|pod| pod.nominated_node.as_deref() == Some(&*node));
            let mut recount: Vec<&str> = nominated.map(|pod| &*pod.uid).collect();
            recount.sort_unstable();
            assert_eq!(found, recount, "{node}");
        }
        let nominated = |pod: &&PodRecord| pod.node_name.is_none() && pod.nominated_node.is_some();
        let highest = self.pods.values().filter(nominated).map(|pod| pod.priority).max();
        assert_eq!(snapshot.highest_nominated(), highest);
    }

    /// Which pod counts on which node that is known.
    fn allocations(&self) -> BTreeMap<String, String> {
        let on_node = |pod: &PodRecord| {
            let node = pod.node_name.as_deref().filter(|node| self.nodes.contains_key(*node))?;
            Some((pod.uid.to_string(), node.to_owned()))
        };
        self.pods.values().filter_map(on_node).collect()
    }
}

/// Outcomes that no history has had, which tests nothing of them.
pub(super) fn unmet(met: &BTreeMap<String, u32>, metrics: &Metrics) -> Vec<String> {
    let outcomes = [
        "Ok(Assumed)",
        "Ok(Renewed)",
        "Ok(Moved)",
        "Ok(AlreadyBound)",
        "Err(Bound",
        "Err(Gone",
        "Err(OtherPod",
        "Err(UnknownNode",
        "Err(UnknownPod",
        "held",
        "held: Allocated",
        "held: InFlight",
        "held: UnknownPod",
        "held again",
        "held no more",
    ];
    assert!(met.keys().all(|known| outcomes.contains(&known.as_str())), "{met:?}");
    let reasons = [Reason::Confirmed, Reason::Conflict, Reason::Expired, Reason::Forgotten, Reason::NodeRemoved];
    let has_ended = |reason: Reason| metrics.assumptions_ended.get_or_create(&Ended { reason }).get() > 0;
    let reasons = reasons.into_iter().filter(|reason| !has_ended(*reason)).map(|reason| format!("{reason:?}"));
    let outcomes = outcomes.into_iter().filter(|outcome| !met.contains_key(*outcome)).map(str::to_owned);
    outcomes.chain(reasons).collect()
}

/// Follows the stream of allocations, and keeps what it says.
pub(super) struct Follower {
    events: EventReader,
    generation: Generation,
    allocations: BTreeMap<String, String>,
    /// UIDs of pods that are only assumed.
    assumed: BTreeSet<String>,
}

impl Follower {
    pub(super) fn new(writer: &mut Writer) -> Self {
        let Following { start, events, .. } = writer.follow_allocations(None);
        Self { events, generation: start, allocations: BTreeMap::new(), assumed: BTreeSet::new() }
    }

    /// Reads what was published, and compares.
    pub(super) fn check(&mut self, model: &Model, snapshot: &Snapshot) {
        let mut events = Vec::new();
        loop {
            let read = self.events.read().unwrap();
            if read.is_empty() {
                break;
            }
            events.extend(read);
        }
        for event in events {
            let Event::Allocation(event) = &*event else { continue };
            assert!(event.generation > self.generation && event.generation <= snapshot.generation());
            let (uid, node) = (event.pod.uid.to_string(), event.pod.node.to_string());
            let known = self.allocations.get(&uid);
            match event.change {
                AllocationChange::Added => {
                    assert_eq!(known, None, "{uid} is added once");
                    self.allocations.insert(uid.clone(), node);
                }
                AllocationChange::Updated => assert_eq!(known, Some(&node), "{uid} is where it was"),
                AllocationChange::Removed => {
                    assert_eq!(known, Some(&node), "{uid} leaves where it was");
                    self.allocations.remove(&uid);
                }
            }
            self.assumed.remove(&uid);
            if event.assumed && event.change != AllocationChange::Removed {
                self.assumed.insert(uid);
            }
        }
        self.generation = snapshot.generation();
        assert_eq!(self.allocations, model.allocations());
        assert!(self.assumed.iter().eq(model.decisions.keys()), "{:?}", self.assumed);
    }
}
