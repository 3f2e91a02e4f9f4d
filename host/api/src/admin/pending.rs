//! `GET /v1/pending`: the kept list of pending pods with their causes: counts by cause, groups, and a page of pods.
//!
//! Nothing is evaluated here. A client that has the newest list is answered 304, so that it may ask once a second. Start at [`pending`].

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use serde::Serialize;
use tonic::Code;

use super::etag::ETag;
use super::pending_groups::{By, Groups, name};
use super::query::{parameters, unescaped};
use super::time::{rfc3339, rfc3339_of_seconds};
use crate::admission::scope::RequestScope;
use crate::protocols::document::Encoded;
use crate::protocols::json::codec;
use crate::{Error, Service, limits};
use nodesift_engine::pending::{Cause, Listed, PendingPod};

/// Answers `GET /v1/pending`, with the parameters `namespace`, `cause`, `predicate` and `q` that select pods, `by` for groups, and `limit`
/// and `after` for the page.
///
/// # Errors
///
/// [`Error::NotReady`] before the first list, [`Error::Refused`] where none is kept, [`Error::InvalidField`], [`Error::Edge`],
/// [`Error::Overloaded`].
pub(crate) async fn pending(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    scope.until_read().await?;
    let query = unescaped(query)?;
    Wanted::try_new(query.as_deref())?;
    let listed = listed(&service)?;
    let is_stale = service.staleness().age().stale;
    let tag = ETag::new(service.reader().snapshot().epoch().0.get(), &[listed.version, is_stale.into()]);
    if let Some(known) = tag.known(&headers) {
        return Ok(aged(known, &listed));
    }
    // Tens of thousands of pods take milliseconds, in which the I/O thread would answer no core.
    let of_document = Arc::clone(&listed);
    let encode = move |_: &Service| {
        let wanted = Wanted::try_new(query.as_deref())?;
        codec::encode(&Document::new(&of_document, &wanted, is_stale))
    };
    let text = service.read_locked(scope.class, encode).await?;
    Ok(aged(tag.on(Encoded::from_text(text).respond(scope.unsent.as_ref())?), &listed))
}

/// The answer with the age of the list, in whole seconds: a client that is answered 304 sees no `ageMs`.
fn aged(mut response: Response, listed: &Listed) -> Response {
    response.headers_mut().insert(header::AGE, listed.age().as_secs().into());
    response
}

/// The last list.
///
/// # Errors
///
/// [`Error::NotReady`] before the first one, [`Error::Refused`] where none is kept.
pub(super) fn listed(service: &Service) -> Result<Arc<Listed>, Error> {
    service.readiness().check()?;
    let list = service.engine().pending();
    if !list.is_kept() {
        let reason = "this process keeps no list of pending pods: it was started with --no-pending-list".to_owned();
        return Err(Error::Refused { code: Code::FailedPrecondition, reason });
    }
    list.listed().ok_or_else(|| Error::NotReady { waiting: "the first list of pending pods".to_owned() })
}

/// The parameters of a request.
struct Wanted<'a> {
    namespace: Option<&'a str>,
    cause: Option<Cause>,
    predicate: Option<&'a str>,
    /// A part of `NAMESPACE/NAME` of the pods.
    part: Option<&'a str>,
    by: By,
    limit: usize,
    /// Namespace and name of the last pod of the page before.
    after: Option<(&'a str, &'a str)>,
}

impl<'a> Wanted<'a> {
    fn try_new(query: Option<&'a str>) -> Result<Self, Error> {
        let names = ["namespace", "cause", "predicate", "q", "by", "limit", "after"];
        let [namespace, cause, predicate, part, by, limit, after] = parameters(query, names)?;
        let cause = cause.map(|cause| {
            let known = || Cause::ALL.map(Cause::name).join(", ");
            Cause::from_name(cause).ok_or_else(|| Error::invalid("query", format!("cause is one of {}", known())))
        });
        let limit = limit.map(|limit| {
            let most = limits::PENDING_PAGE_MOST;
            let limit = limit.parse::<usize>().ok().filter(|limit| *limit <= most);
            limit.ok_or_else(|| Error::invalid("query", format!("limit is a number of pods, {most} at most")))
        });
        let after = after.map(|after| {
            let none = || Error::invalid("query", "after is none: send next of the answer before");
            after.split_once('/').ok_or_else(none)
        });
        Ok(Self {
            namespace,
            cause: cause.transpose()?,
            predicate,
            part,
            by: By::try_new(by)?,
            limit: limit.transpose()?.unwrap_or(limits::PENDING_PAGE),
            after: after.transpose()?,
        })
    }

    fn selects(&self, pod: &PendingPod) -> bool {
        self.namespace.is_none_or(|namespace| *pod.record.namespace == *namespace)
            && self.cause.is_none_or(|cause| pod.reason.cause == cause)
            && self.predicate.is_none_or(|predicate| {
                pod.answered.as_deref().is_some_and(|answered| answered.is_rejected_by(predicate))
            })
            && self.part.is_none_or(|part| name(pod).contains(part))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    list: List,
    /// Pods in the list.
    total: usize,
    /// Pods of the list by cause; every cause is there.
    causes: BTreeMap<&'static str, usize>,
    /// Pods of the list that the parameters select.
    matching: usize,
    /// Of the selected pods.
    #[serde(flatten)]
    groups: Groups,
    /// A page of the selected pods, by namespace and name.
    pods: Vec<Pod<'a>>,
    /// The parameter `after` for the next page; empty where there is none.
    next: String,
}

/// The list as it was made.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List {
    version: String,
    generation: String,
    policy_generation: String,
    /// When it was published, in RFC 3339.
    time: String,
    /// How long ago the pod was looked at that has waited longest for that.
    age_ms: u64,
    /// How long it took to make it so far, rests included.
    took_ms: u64,
    /// Pending pods that are not in it: it has no room for them, or has not come to them yet.
    unlisted: usize,
    /// Whether the source of the cluster has been silent for too long.
    stale: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Pod<'a> {
    uid: &'a str,
    namespace: &'a str,
    name: &'a str,
    cause: &'static str,
    /// The cause in one sentence.
    headline: String,
    /// Gates, the scheduler, predicates, missing objects or the node.
    subjects: Vec<&'a str>,
    /// Since when it has the cause, in RFC 3339.
    since: String,
    /// When it was created, or listed for the first time where that is not known, in RFC 3339.
    created: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<Owner<'a>>,
    scheduler: &'a str,
    priority: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    nominated_node: Option<&'a str>,
    /// The answer about all nodes; absent where the pod was not evaluated.
    #[serde(flatten)]
    answer: Option<Answer<'a>>,
}

#[derive(Serialize)]
struct Owner<'a> {
    kind: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    nodes: usize,
    feasible_count: usize,
    /// kube-scheduler's message; absent where some node fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    /// Predicates that are the first to reject some node.
    rejects: Vec<Rejects<'a>>,
}

#[derive(Serialize)]
struct Rejects<'a> {
    predicate: &'a str,
    nodes: usize,
}

impl<'a> Document<'a> {
    fn new(listed: &'a Listed, wanted: &Wanted<'_>, is_stale: bool) -> Self {
        let selected: Vec<&Arc<PendingPod>> = listed.pods.iter().filter(|pod| wanted.selects(pod)).collect();
        let key = |pod: &&Arc<PendingPod>| {
            wanted.after.is_some_and(|after| (&*pod.record.namespace, &*pod.record.name) <= after)
        };
        let rest = selected.get(selected.partition_point(key)..).unwrap_or_default();
        let page = rest.get(..wanted.limit).unwrap_or(rest);
        let has_more = page.len() < rest.len();
        Self {
            list: List::new(listed, is_stale),
            total: listed.pods.len(),
            causes: listed.causes().map(|(cause, of_cause)| (cause.name(), of_cause.count)).collect(),
            matching: selected.len(),
            groups: Groups::new(&selected, wanted.by),
            pods: page.iter().map(|pod| Pod::new(pod)).collect(),
            next: page.last().filter(|_| has_more).map(|pod| name(pod)).unwrap_or_default(),
        }
    }
}

impl List {
    fn new(listed: &Listed, stale: bool) -> Self {
        let milliseconds = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            version: listed.version.to_string(),
            generation: listed.generation.to_string(),
            policy_generation: listed.policy_generation.to_string(),
            time: rfc3339(listed.at),
            age_ms: milliseconds(listed.age()),
            took_ms: milliseconds(listed.took),
            unlisted: listed.unlisted,
            stale,
        }
    }
}

impl<'a> Pod<'a> {
    fn new(pod: &'a PendingPod) -> Self {
        let record = &pod.record;
        let controller = record.pending.as_ref().and_then(|pending| pending.controller.as_ref());
        Self {
            uid: record.object_uid(),
            namespace: &record.namespace,
            name: &record.name,
            cause: pod.reason.cause.name(),
            headline: pod.headline(),
            subjects: pod.reason.subjects.iter().map(|subject| &**subject).collect(),
            since: rfc3339(pod.since()),
            created: rfc3339_of_seconds(pod.created()),
            owner: controller.map(|(kind, name)| Owner { kind, name }),
            scheduler: &record.facts.scheduler_name,
            priority: record.priority,
            nominated_node: record.nominated_node.as_deref(),
            answer: pod.answered.as_deref().map(|answered| Answer {
                nodes: answered.nodes,
                feasible_count: answered.feasible,
                message: answered.message.as_deref(),
                rejects: answered
                    .rejects
                    .iter()
                    .map(|(predicate, nodes)| Rejects { predicate, nodes: *nodes })
                    .collect(),
            }),
        }
    }
}

#[cfg(test)]
mod tests;
