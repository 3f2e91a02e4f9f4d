//! A live cluster behind `serve`: which kinds are watched, and what readiness waits for. Start at [`follow`].

use std::sync::Arc;

use prometheus_client::registry::Registry;

use crate::exit::Failure;
use nodesift_api::Readiness;
use nodesift_engine::Engine;
use nodesift_object::Kind;
use nodesift_source::audit::List;
use nodesift_source::change::Compiler;
use nodesift_source::feed::Feed;
use nodesift_source::freshness::Freshness;
use nodesift_source::kube::connection::{self, ConnectError, Connection, Origin};
use nodesift_source::kube::kinds::{self, Resource};
use nodesift_source::kube::{self, Deliver, Following, Health, Listed, Lister, Metrics};

/// Prepares the connection. It sends no request yet: a sidecar may start before its API server.
///
/// # Errors
///
/// [`Failure::Usage`] without a kubeconfig, [`Failure::Data`] if it is invalid.
pub(super) async fn connect(origin: &Origin) -> Result<Connection, Failure> {
    connection::open(origin).await.map_err(|error| match error {
        ConnectError::Nowhere(_) => Failure::Usage(format!("{error}; use --kubeconfig FILE")),
        error => Failure::Data(error.into()),
    })
}

/// The tasks that list and watch, the kinds that they watch, and a function that lists a kind for the audit.
pub(super) type Followed = (Option<Following>, Vec<Kind>, List);

/// Lists and watches every kind that the policy's predicates read. Readiness waits until each list is complete and applied.
pub(super) fn follow(
    connection: &Connection,
    engine: &Engine,
    feed: &Feed,
    readiness: &Readiness,
    (freshness, health): (&Freshness, &Health),
    registry: &mut Registry,
) -> Followed {
    let policy = engine.policy();
    let imports = policy.predicates.iter().flat_map(|predicate| predicate.module.imports().iter().copied());
    let kinds = kinds::needed(imports);
    for kind in &kinds {
        let latch = readiness.wait_for(&format!("the list of {}", Resource::of(*kind).plural));
        feed.hold_until_synced(*kind, Box::new(latch));
    }
    let fed = feed.clone();
    let deliver: Deliver = Arc::new(move |changes| fed.deliver(changes));
    let metrics = Metrics::register(registry, freshness);
    let compiler = Compiler::new(&policy.scheduler_names).with_annotations(&policy.annotation_keys);
    let server = Arc::new(connection.server.clone());
    let following = kube::follow(&server, &kinds, &compiler, &deliver, freshness, health, &metrics);
    let lister = Lister::new(server, compiler);
    let list: List = Box::new(move |kind| {
        let lister = lister.clone();
        Box::pin(async move { lister.list_all(kind).await.map_err(Into::into) })
    });
    (Some(following), kinds.into_iter().collect(), list)
}

/// Files are not watched, and there is nothing to list.
pub(super) fn nothing() -> Followed {
    (None, Vec::new(), Box::new(|_| Box::pin(async { Ok(Listed::default()) })))
}
