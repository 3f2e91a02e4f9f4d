//! Pending pods in groups, from answers about each or as a sidecar lists them. Start at [`Grouped`].

use std::collections::BTreeMap;

use nodesift_proto::v1;
use serde::Serialize;
use serde_json::Value;

use crate::args::GroupBy;

/// Pods that a group names.
const NAMED: usize = 3;

/// Pending pods that have something in common.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Group {
    /// Number of its pods.
    pub(crate) count: u64,
    /// The trait that they have in common.
    pub(crate) key: String,
    /// A sentence about one of them.
    pub(crate) headline: String,
    /// The first of them, as namespace/name.
    pub(crate) pods: Vec<String>,
}

/// Pending pods, and the groups in which they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Grouped {
    /// Number of the pods. A pod may be in no group, and by predicate in several.
    pub(crate) pods: u64,
    /// The groups, those with the most pods first.
    pub(crate) groups: Vec<Group>,
}

/// Groups of the answers about pods.
pub(crate) fn grouped(answers: &[v1::WhyResponse], by: GroupBy) -> Grouped {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for answer in answers {
        let cause = answer.cause.clone().unwrap_or_default();
        let keys = match by {
            GroupBy::Answer => vec![format!("{}: {}", cause.name, cause.headline)],
            GroupBy::Cause => vec![cause.name],
            GroupBy::Namespace => vec![answer.pod.split('/').next().unwrap_or_default().to_owned()],
            GroupBy::Predicate if answer.feasible_count > 0 => Vec::new(),
            GroupBy::Predicate => {
                let rejecting = answer.funnel.iter().filter(|step| step.rejected > 0);
                rejecting.map(|step| step.predicate.clone()).collect()
            }
        };
        for key in keys {
            let group = groups.entry(key.clone()).or_insert_with(|| Group { key, ..Group::default() });
            group.count += 1;
            if group.headline.is_empty() {
                group.headline.clone_from(&cause.headline);
            }
            if group.pods.len() < NAMED {
                group.pods.push(answer.pod.clone());
            }
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    // Stable, so that groups of one size are in the order of their keys.
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    Grouped { pods: answers.len() as u64, groups }
}

/// Groups as a sidecar lists them.
pub(crate) fn listed(document: &Value) -> Grouped {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let group = |group: &Value| Group {
        count: group["count"].as_u64().unwrap_or(0),
        key: text(&group["key"]),
        headline: text(&group["headline"]),
        pods: group["pods"].as_array().into_iter().flatten().map(text).take(NAMED).collect(),
    };
    let groups: Vec<Group> = document["groups"].as_array().into_iter().flatten().map(group).collect();
    Grouped { pods: document["matching"].as_u64().unwrap_or(0), groups }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(pod: &str, cause: &str, headline: &str, rejecting: &[&str]) -> v1::WhyResponse {
        let step =
            |predicate: &&str| v1::FunnelStep { predicate: (*predicate).to_owned(), rejected: 1, ..Default::default() };
        v1::WhyResponse {
            pod: pod.into(),
            cause: Some(v1::PendingCause { name: cause.into(), headline: headline.into(), ..Default::default() }),
            funnel: rejecting.iter().map(step).collect(),
            ..Default::default()
        }
    }

    #[test]
    fn pods_are_counted_by_what_they_have_in_common() {
        let answers = [
            answer("a/x", "NoRoom", "full", &["P", "Q"]),
            answer("b/y", "NoRoom", "full", &["Q"]),
            answer("a/z", "NeverFits", "no", &["P", "Q"]),
        ];
        let counts = |by| -> Vec<(u64, String)> {
            grouped(&answers, by).groups.into_iter().map(|group| (group.count, group.key)).collect()
        };
        let expected = |counts: &[(u64, &str)]| -> Vec<(u64, String)> {
            counts.iter().map(|(count, key)| (*count, (*key).to_owned())).collect()
        };
        assert_eq!(counts(GroupBy::Answer), expected(&[(2, "NoRoom: full"), (1, "NeverFits: no")]));
        assert_eq!(counts(GroupBy::Cause), expected(&[(2, "NoRoom"), (1, "NeverFits")]));
        assert_eq!(counts(GroupBy::Predicate), expected(&[(3, "Q"), (2, "P")]));
        assert_eq!(counts(GroupBy::Namespace), expected(&[(2, "a"), (1, "b")]));
    }

    #[test]
    fn pods_that_fit_are_in_no_group_by_predicate_and_count() {
        let fits = v1::WhyResponse { feasible_count: 1, ..answer("a/x", "Fits", "fits", &["P"]) };
        assert_eq!(grouped(&[fits], GroupBy::Predicate), Grouped { pods: 1, groups: Vec::new() });
        let document = serde_json::json!({"total": 120, "matching": 94, "groups": []});
        assert_eq!(listed(&document), Grouped { pods: 94, groups: Vec::new() });
    }
}
