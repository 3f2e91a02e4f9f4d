//! Amounts of nodes, row by row, for `top nodes`: of the engine in this process, or as a sidecar lists them. Start at [`NodeRow`].

use nodesift_cache::metadata::requests::PODS;
use nodesift_cache::{Row, Snapshot};
use serde_json::Value;

/// A node, and what it has of the resources that are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NodeRow {
    /// `metadata.name` of the node.
    pub(crate) name: String,
    /// Value of the label that is asked for; none where the node lacks it, or none is asked for.
    pub(crate) value: Option<String>,
    /// The node is cordoned.
    pub(crate) is_cordoned: bool,
    /// Per resource the allocatable amount, and what of it is free: in millicores for `cpu`, else in whole units.
    pub(crate) amounts: Vec<(i64, i64)>,
}

/// Whether a name has only characters that names of labels and resources have.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'))
}

/// The nodes of a snapshot, in the order of rows.
pub(super) fn of_snapshot(snapshot: &Snapshot, by: Option<&str>, resources: &[String]) -> Vec<NodeRow> {
    let columns: Vec<_> = resources.iter().map(|name| snapshot.resource(name)).collect();
    let rows = (0..u32::try_from(snapshot.node_count()).unwrap_or(u32::MAX)).map(Row);
    rows.map(|row| {
        let amounts = resources.iter().zip(&columns).map(|(name, column)| {
            let (allocatable, free) = match column {
                _ if name == PODS => (snapshot.pod_limit().get(row), snapshot.pod_room().get(row)),
                Some(column) => (column.allocatable.get(row), column.free.get(row)),
                None => (None, None),
            };
            (allocatable.copied().unwrap_or(0), free.copied().unwrap_or(0))
        });
        let label = |key: &str| {
            let labels = snapshot.labels().get(row)?;
            labels.iter().find(|(known, _)| **known == *key).map(|(_, value)| value.to_string())
        };
        NodeRow {
            name: snapshot.node_name(row).to_owned(),
            value: by.and_then(label),
            is_cordoned: snapshot.unschedulable().get(row).is_some_and(|flag| *flag != 0),
            amounts: amounts.collect(),
        }
    })
    .collect()
}

/// The path of a page of a sidecar's node table that begins with a row. Names are as [`is_plain`] has them: the API decodes none.
pub(super) fn path(by: Option<&str>, resources: &[String], first: usize, rows: usize) -> String {
    let label = by.map(|key| format!(",label:{key}")).unwrap_or_default();
    let amounts: String = resources.iter().map(|name| format!(",allocatable:{name},free:{name}")).collect();
    let last = first.saturating_add(rows.saturating_sub(1));
    format!("/v1/nodes?columns=name,unschedulable{label}{amounts}&rows={first}-{last}")
}

/// The nodes of such a page.
pub(super) fn of_page(page: &Value, by: Option<&str>, resources: &[String]) -> Vec<NodeRow> {
    let columns = &page["columns"];
    let number = |column: &str, at: usize| columns[column][at].as_i64().unwrap_or(0);
    let label = by.map(|key| &columns[format!("label:{key}").as_str()]);
    let names = columns["name"].as_array().into_iter().flatten().enumerate();
    names
        .map(|(at, name)| {
            let code = label.and_then(|label| usize::try_from(label["codes"][at].as_u64()?).ok());
            let value = label.zip(code).and_then(|(label, code)| label["values"][code].as_str());
            let amounts = resources
                .iter()
                .map(|name| (number(&format!("allocatable:{name}"), at), number(&format!("free:{name}"), at)));
            NodeRow {
                name: name.as_str().unwrap_or_default().to_owned(),
                value: value.map(str::to_owned),
                is_cordoned: number("unschedulable", at) != 0,
                amounts: amounts.collect(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_a_sidecar_is_read_column_by_column() {
        let resources = ["cpu".to_owned(), "example.com/gpu".to_owned()];
        let page = serde_json::json!({"columns": {
            "name": ["a", "b"], "unschedulable": [0, 1], "label:zone": {"values": ["x", null], "codes": [0, 1]},
            "allocatable:cpu": [4000, 2000], "free:cpu": [1000, -5], "allocatable:example.com/gpu": [0, 2], "free:example.com/gpu": [0, 1]}});
        let expected = [
            NodeRow {
                name: "a".into(),
                value: Some("x".into()),
                is_cordoned: false,
                amounts: vec![(4000, 1000), (0, 0)],
            },
            NodeRow { name: "b".into(), value: None, is_cordoned: true, amounts: vec![(2000, -5), (2, 1)] },
        ];
        assert_eq!(of_page(&page, Some("zone"), &resources), expected);
        let path = path(Some("topology.kubernetes.io/zone"), &resources, 0, 10);
        assert!(path.contains("label:topology.kubernetes.io/zone,allocatable:cpu,free:cpu,"), "{path}");
        assert!(path.ends_with("free:example.com/gpu&rows=0-9"), "{path}");
        assert!(
            is_plain("topology.kubernetes.io/zone") && !is_plain("") && !is_plain("a&rows=0-1") && !is_plain("a,b")
        );
    }
}
