//! Pods whose negotiations have ended without an allocation because of parties, so that whoever negotiates for them hears when one of these
//! parties may say something else. Start at [`Refused`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::kept::Key;
use crate::limits::REFUSED_PODS;
use crate::request::Owner;
use crate::subject::Subject;

/// Pods that parties keep waiting, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    pods: BTreeMap<u64, Pod>,
    numbers: BTreeMap<(Arc<str>, Owner), u64>,
    by_party: BTreeMap<Arc<str>, BTreeSet<u64>>,
    last: u64,
}

#[derive(Debug)]
struct Pod {
    uid: Arc<str>,
    owner: Owner,
    /// The parties that decide about it, and what their answers are about.
    keys: Vec<Key>,
}

impl Refused {
    /// A pod waits for parties. With [`REFUSED_PODS`] others, the oldest is forgotten.
    pub(crate) fn add(&mut self, uid: &Arc<str>, owner: &Owner, keys: Vec<Key>) {
        self.remove(uid, owner);
        if self.pods.len() >= REFUSED_PODS
            && let Some(first) = self.pods.keys().next().copied()
        {
            self.take(first);
        }
        self.last += 1;
        for (party, _) in &keys {
            self.by_party.entry(party.clone()).or_default().insert(self.last);
        }
        self.numbers.insert((uid.clone(), owner.clone()), self.last);
        self.pods.insert(self.last, Pod { uid: uid.clone(), owner: owner.clone(), keys });
    }

    /// A pod waits no more.
    pub(crate) fn remove(&mut self, uid: &Arc<str>, owner: &Owner) {
        if let Some(number) = self.numbers.get(&(uid.clone(), owner.clone())).copied() {
            self.take(number);
        }
    }

    /// A pod waits no more for anybody.
    pub(crate) fn remove_for_all(&mut self, uid: &Arc<str>) {
        let first = (uid.clone(), Owner::default());
        let of_pod = self.numbers.range(first..).take_while(|((of, _), _)| of == uid);
        for number in of_pod.map(|(_, number)| *number).collect::<Vec<_>>() {
            self.take(number);
        }
    }

    /// A party may say something else, of one subject or of all. Returns the pods that have waited for it, by whom they were negotiated
    /// for, at most so many; they wait no more.
    pub(crate) fn wake(
        &mut self,
        party: &str,
        subject: Option<&Subject>,
        most: usize,
    ) -> BTreeMap<Owner, Vec<Arc<str>>> {
        let is_meant = |number: &&u64| {
            let Some(subject) = subject else { return true };
            let keys = self.pods.get(*number).map(|pod| pod.keys.as_slice()).unwrap_or_default();
            keys.iter().any(|(of, about)| **of == *party && about == subject)
        };
        let waiting = self.by_party.get(party).into_iter().flatten();
        let woken: Vec<u64> = waiting.filter(is_meant).take(most).copied().collect();
        let mut pods: BTreeMap<Owner, Vec<Arc<str>>> = BTreeMap::new();
        for pod in woken.into_iter().filter_map(|number| self.take(number)) {
            pods.entry(pod.owner).or_default().push(pod.uid);
        }
        pods
    }

    fn take(&mut self, number: u64) -> Option<Pod> {
        let pod = self.pods.remove(&number)?;
        self.numbers.remove(&(pod.uid.clone(), pod.owner.clone()));
        for (party, _) in &pod.keys {
            if let Some(numbers) = self.by_party.get_mut(party) {
                numbers.remove(&number);
                if numbers.is_empty() {
                    self.by_party.remove(party);
                }
            }
        }
        Some(pod)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::request::Class;

    fn text(text: &str) -> Arc<str> {
        text.into()
    }

    fn owner(name: &str) -> Owner {
        Owner { class: Class::Local, identity: name.into() }
    }

    #[test]
    fn a_word_of_a_party_wakes_the_pods_that_it_concerns_once_the_oldest_first() {
        let mut refused = Refused::default();
        let key = |party: &str, template: &str| (text(party), Subject::Template(text(template)));
        refused.add(&text("p"), &owner("x"), vec![key("a", "t"), key("b", "t")]);
        refused.add(&text("q"), &owner("y"), vec![key("a", "u")]);
        refused.add(&text("r"), &owner("x"), vec![key("a", "t")]);
        let woken = |woken: BTreeMap<Owner, Vec<Arc<str>>>| -> Vec<String> {
            woken.iter().map(|(owner, pods)| format!("{} {}", owner.identity, pods.join(","))).collect()
        };
        assert_eq!(woken(refused.wake("c", None, 9)), Vec::<String>::new());
        assert_eq!(woken(refused.wake("a", Some(&key("a", "t").1), 1)), ["x p"]);
        assert_eq!(woken(refused.wake("b", None, 9)), Vec::<String>::new(), "it waits no more");
        refused.add(&text("p"), &owner("x"), vec![key("a", "t")]);
        refused.remove(&text("r"), &owner("y"));
        refused.remove_for_all(&text("q"));
        assert_eq!(woken(refused.wake("a", None, 9)), ["x r,p"]);
        assert!(refused.pods.is_empty() && refused.numbers.is_empty() && refused.by_party.is_empty());
    }

    #[test]
    fn with_many_the_oldest_is_forgotten() {
        let mut refused = Refused::default();
        for number in 0..=REFUSED_PODS {
            refused.add(&text(&number.to_string()), &owner("x"), vec![(text("a"), Subject::Pod(text("u")))]);
        }
        let woken = refused.wake("a", None, usize::MAX);
        let pods = woken.get(&owner("x")).unwrap();
        assert_eq!((pods.len(), pods.first()), (REFUSED_PODS, Some(&text("1"))));
    }
}
