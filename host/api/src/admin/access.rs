//! `GET /v1/access`: who the caller is to this sidecar, which classes of calls it may make, and which replica answers. Start at [`access`].

use axum::Extension;
use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use serde_json::json;

use crate::admission::scope::RequestScope;
use crate::paths::Class;
use crate::{ListenerClass, Service};

/// The classes of calls, with their names in documents.
const CLASSES: [(Class, &str); 5] = [
    (Class::Probe, "probe"),
    (Class::Read, "read"),
    (Class::Decide, "decide"),
    (Class::Attend, "attend"),
    (Class::Operate, "operate"),
];

/// Answers `GET /v1/access`: nothing that the caller does not know of itself, but for the name of the replica.
pub(crate) async fn access(
    State(service): State<Service>,
    Extension(scope): Extension<RequestScope>,
) -> impl IntoResponse {
    let classes = CLASSES.iter().filter(|(class, _)| scope.rights.check(*class).is_ok());
    let classes: Vec<&str> = classes.map(|(_, name)| *name).collect();
    let listener = match scope.class {
        ListenerClass::Unix => "unix",
        ListenerClass::Tcp => "tcp",
        ListenerClass::Explorer => "explorer",
    };
    Json(json!({
        "listener": listener,
        "caller": scope.caller().name(),
        "classes": classes,
        "replica": service.settings().replica,
        "pendingList": service.engine().pending().is_kept(),
    }))
}
