//! A cluster behind a Kubernetes API server: lists and watches the kinds that the policy's predicates read, and no others.
//!
//! | file | holds |
//! |---|---|
//! | `reflector/` | one task per kind: list, watch, relist; its state machine and backoff |
//! | `list/` | lists, page by page |
//! | `decode/` | bytes of the server → compiled objects and watch events |
//! | `kinds` | imports → kinds; paths; RBAC rules |
//! | `server` | the two requests that are sent, as a trait, and kube's client behind it |
//! | `health` | which kinds fail at present and why, for log and readiness |
//! | `failure` | why a request failed, by which the reflector decides how to retry |
//! | `connection` | the connection to a server, as it is opened |
//! | `connector` | kubeconfig or service account → a client, again where files change |
//! | `metrics` | counters of the reflectors |
//!
//! kube's own runtime is not used, because it does not give three guarantees that are needed: a server that lags never takes
//! the cache back to an older resourceVersion, a dead watch is found within 20 s, and one object that does not decode stops
//! nothing. Start at [`follow`], then `reflector/`.

pub mod connection;
mod connector;
pub mod decode;
mod failure;
mod health;
pub mod kinds;
mod list;
mod metrics;
mod reflector;
mod server;

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::sleep;

pub use failure::Failure;
pub use health::Health;
pub use list::{Listed, Lister};
pub use metrics::Metrics;
pub use reflector::task::Deliver;
pub use server::{ApiServer, Server};

use crate::change::Compiler;
use crate::freshness::Freshness;
use crate::limits::RETRY_MOST;
use nodesift_object::Kind;
use reflector::task::ReflectorTask;

/// The tasks that list and watch a cluster. Dropping it ends them.
#[derive(Debug)]
#[must_use = "dropping it ends all watches"]
pub struct Following {
    _tasks: JoinSet<()>,
}

/// Lists and watches kinds of a cluster, each in a task of its own, and delivers compiled changes. Must be called within a
/// tokio runtime.
pub fn follow<S: Server>(
    server: &Arc<S>,
    kinds: &BTreeSet<Kind>,
    compiler: &Compiler,
    deliver: &Deliver,
    freshness: &Freshness,
    health: &Health,
    metrics: &Metrics,
) -> Following {
    let mut tasks = JoinSet::new();
    for kind in kinds.iter().copied() {
        let (server, compiler) = (Arc::clone(server), compiler.clone());
        let (deliver, freshness, metrics) = (Arc::clone(deliver), freshness.clone(), metrics.clone());
        let health = health.clone();
        tasks.spawn(async move {
            // A panic is a defect of this program, but a kind that is never watched again would be a worse one.
            loop {
                let (server, deliver) = (Arc::clone(&server), Arc::clone(&deliver));
                let signs = (freshness.clone(), health.clone());
                let reflector = ReflectorTask::new(kind, compiler.clone(), server, deliver, signs, metrics.clone());
                let mut task = JoinSet::new();
                task.spawn(reflector.run());
                task.join_next().await;
                tracing::error!(%kind, "reflector panicked: restarting; please report this");
                sleep(RETRY_MOST).await;
            }
        });
    }
    Following { _tasks: tasks }
}
