//! A live cluster behind `serve`: what to follow, and what readiness waits for.

use std::sync::Arc;

use prometheus_client::registry::Registry;

use crate::api::Readiness;
use crate::cache::SharedWriter;
use crate::cli::exit::Failure;
use crate::engine::Engine;
use crate::source::change::Compiler;
use crate::source::feed::Feed;
use crate::source::freshness::Freshness;
use crate::source::kube::connection::{self, ConnectError, Connection, Origin};
use crate::source::kube::kinds::{self, Resource};
use crate::source::kube::{self, Deliver, Following, Metrics};

/// Prepares the connection. Whether anybody answers is seen later: a sidecar may well start before its API server.
pub(super) async fn connect(origin: &Origin) -> Result<Connection, Failure> {
    connection::open(origin).await.map_err(|error| match error {
        ConnectError::Nowhere(_) => Failure::Usage(format!("{error}; give --kubeconfig FILE")),
        error => Failure::Data(error.into()),
    })
}

/// Follows every kind that the engine's policy reads. Readiness waits until each has been listed whole and applied.
pub(super) fn follow(
    connection: &Connection,
    engine: &Engine,
    writer: SharedWriter,
    readiness: &Readiness,
    freshness: &Freshness,
) -> Following {
    let policy = engine.policy();
    let imports = policy.predicates.iter().flat_map(|predicate| predicate.module.imports().iter().copied());
    let kinds = kinds::needed(imports);
    let feed = Feed::new(writer);
    for kind in &kinds {
        let latch = readiness.wait_for(&format!("the list of {}", Resource::of(*kind).plural));
        feed.hold_until_whole(*kind, Box::new(latch));
    }
    let deliver: Deliver = Arc::new(move |change| feed.deliver(change));
    let metrics = Metrics::register(&mut Registry::default(), freshness);
    let compiler = Compiler::new(&policy.scheduler_names);
    kube::follow(&Arc::new(connection.server.clone()), &kinds, &compiler, &deliver, freshness, &metrics)
}
