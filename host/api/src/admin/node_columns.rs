//! `GET /v1/nodes`: the node table by columns, for whoever shows or adds up many nodes: a page of rows, in the order of bitmaps and cells.
//! Start at [`nodes`].

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use nodesift_proto::v1::Version;
use serde::Serialize;

use super::etag::ETag;
use super::query::{parameters, unescaped};
use crate::admission::scope::RequestScope;
use crate::calls::response;
use crate::protocols::document::Encoded;
use crate::protocols::json::codec;
use crate::{Error, Service, limits};
use nodesift_cache::metadata::requests::PODS;
use nodesift_cache::{self as cache, Row, Snapshot};
use nodesift_object::node::{Taint, TaintEffect};

/// Answers `GET /v1/nodes`, with the parameters `columns`, names separated by commas, and `rows`, the first and the last one.
///
/// # Errors
///
/// [`Error::NotReady`], [`Error::InvalidField`], [`Error::Edge`], [`Error::Overloaded`].
pub(crate) async fn nodes(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    service.readiness().check()?;
    scope.until_read().await?;
    let query = unescaped(query)?;
    let [columns, rows] = parameters(query.as_deref(), ["columns", "rows"])?;
    parse_columns(columns.unwrap_or("name"))?;
    let rows = parse_rows(rows)?;
    let columns = columns.unwrap_or("name").to_owned();
    let snapshot = service.reader().snapshot();
    let (policy, age) = (service.engine().policy().generation, service.staleness().age());
    let tag = ETag::new(snapshot.epoch().0.get(), &[snapshot.generation().0, policy, age.stale.into()]);
    if let Some(known) = tag.known(&headers) {
        return Ok(known);
    }
    // Hundreds of thousands of values take milliseconds, in which the I/O thread would answer no core.
    let encode = move |_: &Service| {
        let rows = rows.start.min(snapshot.node_count())..rows.end.min(snapshot.node_count());
        let columns = parse_columns(&columns)?;
        codec::encode(&Document {
            version: response::version(&snapshot, policy, age),
            epoch: snapshot.epoch().0.to_string(),
            nodes: snapshot.node_count(),
            first: rows.start,
            rows: rows.len(),
            columns: columns.iter().map(|column| (column.text, column.values(&snapshot, rows.clone()))).collect(),
        })
    };
    let text = service.read_locked(scope.class, encode).await?;
    Ok(tag.on(Encoded::from_text(text).respond(scope.unsent.as_ref())?))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    version: Version,
    /// The life of the cache: a row is the same node only within one, and there only until a node goes.
    epoch: String,
    /// Number of all nodes.
    nodes: usize,
    /// The first row of the page.
    first: usize,
    /// Number of rows of the page: that of entries of each column.
    rows: usize,
    /// By the name of the column.
    columns: BTreeMap<&'a str, Values>,
}

/// A column of the page: one entry per row.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Values {
    Texts(Vec<String>),
    Numbers(Vec<i64>),
    /// Codes, and the texts that they stand for.
    Coded {
        /// By code; null is the code of rows without the label.
        values: Vec<Option<String>>,
        codes: Vec<usize>,
    },
}

/// A column by its name in a request.
#[derive(Debug, Clone, Copy)]
struct Column<'a> {
    text: &'a str,
    kind: Kind<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind<'a> {
    Name,
    /// 1 where the node is cordoned.
    Unschedulable,
    /// Taints of the node, each as `KEY=VALUE:EFFECT`, or without the value where that is empty, separated by spaces.
    Taints,
    /// The value of a label.
    Label(&'a str),
    /// The amount of a resource in `status.allocatable`.
    Allocatable(&'a str),
    /// The part of that which no pod takes.
    Free(&'a str),
    /// The amount that all pods take.
    Requested(&'a str),
}

fn parse_columns(text: &str) -> Result<Vec<Column<'_>>, Error> {
    let columns: Vec<Column<'_>> = text.split(',').map(Column::try_new).collect::<Result<_, _>>()?;
    if columns.len() > limits::NODE_COLUMNS {
        let most = limits::NODE_COLUMNS;
        return Err(Error::invalid("query", format!("columns has {} names, {most} at most", columns.len())));
    }
    Ok(columns)
}

/// Reads `FIRST-LAST`; absent means as many as there may be from row 0 on.
fn parse_rows(text: Option<&str>) -> Result<Range<usize>, Error> {
    let Some(text) = text else { return Ok(0..limits::NODE_ROWS) };
    let numbers = text.split_once('-').and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    let (first, last): (usize, usize) =
        numbers.ok_or_else(|| Error::invalid("query", "rows is the first and the last row, such as 0-999"))?;
    let end = last.saturating_add(1);
    if first > last || end - first > limits::NODE_ROWS {
        let most = limits::NODE_ROWS;
        return Err(Error::invalid(
            "query",
            format!("rows goes from a row to the same or a later one, {most} at most"),
        ));
    }
    Ok(first..end)
}

impl<'a> Column<'a> {
    fn try_new(text: &'a str) -> Result<Self, Error> {
        let kind = match text.split_once(':') {
            None if text == "name" => Kind::Name,
            None if text == "unschedulable" => Kind::Unschedulable,
            None if text == "taints" => Kind::Taints,
            Some(("label", key)) => Kind::Label(key),
            Some(("allocatable", resource)) => Kind::Allocatable(resource),
            Some(("free", resource)) => Kind::Free(resource),
            Some(("requested", resource)) => Kind::Requested(resource),
            _ => {
                let known = "name, unschedulable, taints, label:KEY, allocatable:RESOURCE, free:RESOURCE and requested:RESOURCE";
                return Err(Error::invalid("query", format!("columns are {known}")));
            }
        };
        Ok(Self { text, kind })
    }

    fn values(&self, snapshot: &Snapshot, rows: Range<usize>) -> Values {
        let rows = rows.filter_map(|row| u32::try_from(row).ok()).map(Row);
        match self.kind {
            Kind::Name => Values::Texts(rows.map(|row| snapshot.node_name(row).to_owned()).collect()),
            Kind::Unschedulable => Values::Numbers(numbers(snapshot.unschedulable(), rows)),
            Kind::Taints => {
                let (codes, sets) = (snapshot.taint_codes(), snapshot.taint_sets());
                coded(rows.map(|row| {
                    let set = codes.get(row).and_then(|code| sets.get(Row(*code)));
                    set.filter(|taints| !taints.is_empty()).map(|taints| taints_text(taints))
                }))
            }
            Kind::Label(key) => coded(rows.map(|row| {
                let labels = snapshot.labels().get(row)?;
                let at = labels.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
                labels.get(at).map(|(_, value)| value.to_string())
            })),
            Kind::Allocatable(resource) => {
                Values::Numbers(amounts(snapshot, resource, rows, |allocatable, _| allocatable))
            }
            Kind::Free(resource) => Values::Numbers(amounts(snapshot, resource, rows, |_, free| free)),
            Kind::Requested(resource) => {
                Values::Numbers(amounts(snapshot, resource, rows, |allocatable, free| allocatable.wrapping_sub(free)))
            }
        }
    }
}

fn numbers<T: Copy + Into<i64>>(column: &cache::Column<T>, rows: impl Iterator<Item = Row>) -> Vec<i64> {
    rows.map(|row| column.get(row).copied().map_or(0, Into::into)).collect()
}

/// An amount of a resource of each row, made of what is allocatable and what of that is free.
fn amounts(
    snapshot: &Snapshot,
    resource: &str,
    rows: impl Iterator<Item = Row>,
    of: impl Fn(i64, i64) -> i64,
) -> Vec<i64> {
    let at = |column: &cache::Column<i64>, row: Row| column.get(row).copied().unwrap_or(0);
    if resource == PODS {
        return rows.map(|row| of(at(snapshot.pod_limit(), row), at(snapshot.pod_room(), row))).collect();
    }
    match snapshot.resource(resource) {
        Some(resource) => rows.map(|row| of(at(&resource.allocatable, row), at(&resource.free, row))).collect(),
        None => rows.map(|_| 0).collect(),
    }
}

/// Codes in the order in which texts are met.
fn coded(texts: impl Iterator<Item = Option<String>>) -> Values {
    let (mut known, mut values) = (HashMap::new(), Vec::new());
    let codes = texts
        .map(|text| {
            *known.entry(text).or_insert_with_key(|text| {
                values.push(text.clone());
                values.len() - 1
            })
        })
        .collect();
    Values::Coded { values, codes }
}

fn taints_text(taints: &[Taint]) -> String {
    let texts = taints.iter().map(|taint| {
        let effect = match taint.effect {
            TaintEffect::NoSchedule => "NoSchedule",
            TaintEffect::PreferNoSchedule => "PreferNoSchedule",
            TaintEffect::NoExecute => "NoExecute",
            TaintEffect::Other => "",
        };
        let sign = if taint.value.is_empty() { "" } else { "=" };
        format!("{}{sign}{}:{effect}", taint.key, taint.value)
    });
    texts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use nodesift_cache::metadata;

    fn snapshot() -> Arc<Snapshot> {
        let (mut writer, reader) = cache::new();
        for (name, labels, spec, cpu) in [
            ("a", json!({"zone": "x", "a": "b"}), json!({"unschedulable": true}), "2"),
            (
                "b",
                json!({}),
                json!({"taints": [{"key": "gpu", "effect": "NoSchedule"}, {"key": "k", "value": "v", "effect": "NoExecute"}]}),
                "1500m",
            ),
            ("c", json!({"zone": "x"}), json!({}), "0"),
            ("d", json!({"zone": "y"}), json!({}), "4"),
        ] {
            let node = json!({"metadata": {"name": name, "labels": labels}, "spec": spec,
                "status": {"allocatable": {"cpu": cpu, "pods": "10"}}});
            writer.apply(metadata::node(&serde_json::from_str(&node.to_string()).unwrap()));
        }
        let pod = json!({"metadata": {"name": "p", "uid": "p"}, "spec": {"nodeName": "d",
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}});
        writer.apply(metadata::pod_record(&serde_json::from_str(&pod.to_string()).unwrap(), &[]));
        writer.publish();
        reader.snapshot()
    }

    fn column(snapshot: &Snapshot, name: &str, rows: Range<usize>) -> Value {
        serde_json::to_value(Column::try_new(name).unwrap().values(snapshot, rows)).unwrap()
    }

    #[test]
    fn columns_have_an_entry_per_row() {
        let snapshot = snapshot();
        let all = 0..4;
        for (name, expected) in [
            ("name", json!(["a", "b", "c", "d"])),
            ("unschedulable", json!([1, 0, 0, 0])),
            ("taints", json!({"values": [null, "gpu:NoSchedule k=v:NoExecute"], "codes": [0, 1, 0, 0]})),
            ("label:zone", json!({"values": ["x", null, "y"], "codes": [0, 1, 0, 2]})),
            ("label:nobody", json!({"values": [null], "codes": [0, 0, 0, 0]})),
            ("allocatable:cpu", json!([2000, 1500, 0, 4000])),
            ("free:cpu", json!([2000, 1500, 0, 3000])),
            ("requested:cpu", json!([0, 0, 0, 1000])),
            ("free:pods", json!([10, 10, 10, 9])),
            ("free:example.com/nothing", json!([0, 0, 0, 0])),
        ] {
            assert_eq!(column(&snapshot, name, all.clone()), expected, "{name}");
        }
        assert_eq!(column(&snapshot, "label:zone", 3..4), json!({"values": ["y"], "codes": [0]}));
        assert_eq!(column(&snapshot, "name", 2..2), json!([]));
    }

    #[test]
    fn what_no_column_and_no_rows_are_is_refused() {
        for columns in ["", "names", "label", "zone:x", "name,", "free"] {
            assert!(matches!(parse_columns(columns), Err(Error::InvalidField { .. })), "{columns:?}");
        }
        assert!(parse_columns(&["name"; limits::NODE_COLUMNS].join(",")).is_ok());
        assert!(parse_columns(&["name"; limits::NODE_COLUMNS + 1].join(",")).is_err());
        for rows in ["", "5", "a-b", "5-4", "-1-2", "0-99999999999999999999999", "0-18446744073709551615"] {
            assert!(matches!(parse_rows(Some(rows)), Err(Error::InvalidField { .. })), "{rows:?}");
        }
        assert_eq!(parse_rows(Some("3-3")).unwrap(), 3..4);
        assert_eq!(parse_rows(None).unwrap().len(), limits::NODE_ROWS);
    }
}
