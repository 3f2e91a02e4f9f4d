//! `GET /v1/pods/NAMESPACE/NAME/history`: the causes that a pending pod had, also where it has left the list, and when which core last asked
//! about it. Start at [`pod_history`].

use std::time::SystemTime;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;

use super::names::Names;
use super::pending::listed;
use super::time::rfc3339;
use crate::admission::scope::RequestScope;
use crate::protocols::document::Encoded;
use crate::protocols::json::codec;
use crate::{Error, Service};
use nodesift_engine as engine;
use nodesift_engine::pending::{LastQuestion, PendingPod};

/// Answers `GET /v1/pods/NAMESPACE/NAME/history`.
///
/// # Errors
///
/// [`Error::Engine`] where no list of late has had the pod, [`Error::NotReady`] before the first list, [`Error::Refused`] where none is
/// kept, [`Error::Edge`], [`Error::Overloaded`].
pub(crate) async fn pod_history(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
    Names((namespace, name)): Names<(String, String)>,
) -> Result<Response, Error> {
    scope.until_read().await?;
    let listed = listed(&service)?;
    let key = [namespace.as_str(), "/", &name].concat();
    let document = match listed.pod(&namespace, &name) {
        Some(pod) => History::new(&key, pod, None),
        None => {
            let gone = service.engine().pending().gone(&namespace, &name);
            let gone = gone.ok_or_else(|| engine::Error::UnknownPod { pod: key.clone() })?;
            let now = service.reader().pods().by_name(&namespace, &name);
            let node = now.and_then(|pod| pod.node_name.as_deref().map(str::to_owned));
            History { node, ..History::new(&key, &gone.pod, Some(gone.at)) }
        }
    };
    let asked = service.engine().asked().last(&key).map(|question| Asked::new(&question));
    Encoded::from_text(codec::encode(&History { asked, ..document })?).respond(scope.unsent.as_ref())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct History {
    /// The pod as `NAMESPACE/NAME`.
    pod: String,
    uid: String,
    /// Whether it is in the list.
    pending: bool,
    /// When it left the list, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<String>,
    /// The node that it is on now, where it has left the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// The last cause, in one sentence.
    headline: String,
    /// The causes that it had, the oldest first; the last is that of now, or that with which it left.
    causes: Vec<Past>,
    /// The last question of a core; null where none is known.
    asked: Option<Asked>,
}

#[derive(Serialize)]
struct Past {
    cause: &'static str,
    /// Since when, in RFC 3339.
    since: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    /// Seconds since then, whole ones.
    seconds_ago: u64,
    /// The listener, and the user or the names in the certificate of whoever asked.
    by: String,
    /// `fits`, `unschedulable` or `error`.
    result: &'static str,
    /// Questions about the pod so far, about.
    count: u32,
}

impl History {
    fn new(key: &str, pod: &PendingPod, left: Option<SystemTime>) -> Self {
        let past = pod.history.iter().map(|past| Past { cause: past.cause.name(), since: rfc3339(past.since) });
        Self {
            pod: key.to_owned(),
            uid: pod.record.object_uid().to_owned(),
            pending: left.is_none(),
            left: left.map(rfc3339),
            node: None,
            headline: pod.headline(),
            causes: past.collect(),
            asked: None,
        }
    }
}

impl Asked {
    fn new(question: &LastQuestion) -> Self {
        let LastQuestion { ago, by, result, count } = question;
        Self { seconds_ago: ago.as_secs(), by: by.to_string(), result: result.name(), count: *count }
    }
}
