//! Which pods are listed where more are pending than the list has room for: each namespace has a fair share. Start at [`keep_shares`].

use std::collections::BTreeMap;
use std::sync::Arc;

use nodesift_cache::metadata::PodRecord;

/// Keeps as many pods as there is room for, and returns the number of those that it removes. A namespace keeps all its pods where they are no
/// more than its share of what those with fewer have left, so that none pushes out the pods of others. Of one that has more, those stay
/// that `is_listed` says are in the list already, so that nothing goes in and out at the edge; then the first by name.
pub(super) fn keep_shares(
    pods: &mut Vec<Arc<PodRecord>>,
    room: usize,
    is_listed: impl Fn(&PodRecord) -> bool,
) -> usize {
    let all = pods.len();
    if all <= room {
        return 0;
    }
    let mut by_namespace: BTreeMap<Arc<str>, Vec<Arc<PodRecord>>> = BTreeMap::new();
    for pod in pods.drain(..) {
        by_namespace.entry(Arc::clone(&pod.namespace)).or_default().push(pod);
    }
    let mut namespaces: Vec<Vec<Arc<PodRecord>>> = by_namespace.into_values().collect();
    namespaces.sort_by_key(Vec::len);
    let (mut left, mut count) = (room, namespaces.len());
    for mut of_namespace in namespaces {
        let share = left / count.max(1);
        if of_namespace.len() > share {
            of_namespace.sort_by(|a, b| (!is_listed(a), &a.name).cmp(&(!is_listed(b), &b.name)));
            of_namespace.truncate(share);
        }
        left -= of_namespace.len();
        count -= 1;
        pods.append(&mut of_namespace);
    }
    all - pods.len()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use nodesift_cache::metadata::pod_record;

    use super::*;

    fn pod(namespace: &str, number: usize) -> Arc<PodRecord> {
        let json = format!(r#"{{"metadata":{{"name":"p{number:03}","namespace":"{namespace}"}}}}"#);
        Arc::new(pod_record(&serde_json::from_str(&json).unwrap(), &[]))
    }

    fn pods(counts: &[(&str, usize)]) -> Vec<Arc<PodRecord>> {
        counts.iter().flat_map(|(namespace, count)| (0..*count).map(|number| pod(namespace, number))).collect()
    }

    fn kept(pods: &[Arc<PodRecord>]) -> BTreeMap<&str, usize> {
        let mut kept = BTreeMap::new();
        pods.iter().for_each(|pod| *kept.entry(&*pod.namespace).or_default() += 1);
        kept
    }

    #[test]
    fn a_namespace_with_very_many_pods_pushes_out_its_own_alone() {
        let mut listed = pods(&[("a", 100), ("b", 3), ("c", 20)]);
        assert_eq!(keep_shares(&mut listed, 123, |_| false), 0);
        assert_eq!(listed.len(), 123);
        assert_eq!(keep_shares(&mut listed, 30, |_| false), 93);
        assert_eq!(kept(&listed), BTreeMap::from([("a", 14), ("b", 3), ("c", 13)]));
        assert!(listed.iter().all(|pod| *pod.name < *"p014"));
        // Less room than namespaces.
        assert_eq!(keep_shares(&mut listed, 2, |_| false), 28);
        assert_eq!(keep_shares(&mut listed, 0, |_| false), 2);
    }

    #[test]
    fn what_is_listed_stays_where_new_pods_come_before_it() {
        let mut listed = pods(&[("a", 50), ("b", 2)]);
        listed.retain(|pod| *pod.namespace == *"b" || *pod.name >= *"p030");
        keep_shares(&mut listed, 12, |_| false);
        let key = |pod: &PodRecord| format!("{}/{}", pod.namespace, pod.name);
        let names = |pods: &[Arc<PodRecord>]| pods.iter().map(|pod| key(pod)).collect::<BTreeSet<String>>();
        let before = names(&listed);
        let mut more = pods(&[("a", 50), ("b", 2)]);
        assert_eq!(keep_shares(&mut more, 12, |pod| before.contains(&key(pod))), 40);
        assert_eq!(names(&more), before);
    }
}
