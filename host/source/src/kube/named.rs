//! One object that is followed by its name, for as long as the process needs it. Start at [`follow_named`].

use std::sync::Arc;

use tokio::task::JoinSet;

use super::health::Health;
use super::kinds::Resource;
use super::metrics::Metrics;
use super::reflector::named::{Named, Seen};
use super::reflector::task::{ReflectorTask, forever};
use super::server::Server;

/// The task that lists and watches one object. Dropping it ends it.
#[derive(Debug)]
#[must_use = "dropping it ends the watch"]
pub struct FollowingNamed {
    _tasks: JoinSet<()>,
}

/// Lists and watches one object by its name, and delivers what is known of it: at first, and whenever that changes. `deliver`
/// must not block. Must be called within a tokio runtime.
pub fn follow_named<S: Server>(
    server: &Arc<S>,
    resource: Resource,
    name: &str,
    deliver: impl Fn(Seen) + Send + Sync + 'static,
    health: &Health,
    metrics: &Metrics,
) -> FollowingNamed {
    let (server, name, deliver) = (Arc::clone(server), Arc::<str>::from(name), Arc::new(deliver));
    let (health, metrics) = (health.clone(), metrics.clone());
    let mut tasks = JoinSet::new();
    tasks.spawn(forever(resource, move || {
        let named = Named::new(resource, Arc::clone(&name), deliver.clone(), health.clone(), metrics.clone());
        ReflectorTask::new(resource, Arc::clone(&server), named, metrics.clone()).with_name(&name)
    }));
    FollowingNamed { _tasks: tasks }
}
