//! The cluster behind a Kubernetes API server: lists and watches the kinds that the policy's predicates read, and no other.
//!
//! ```text
//! connection   kubeconfig, in-cluster, credentials → a client       kinds      imports → kinds, paths, permissions
//! server       the two questions that an API server is asked        failure    why one has no answer
//! follower     one task per kind: asks, delivers, asks again        state      what it does next: a pure state machine
//! list         pages, decoded while the next is read                backoff    how long it waits
//! events       lines → what they tell                               lines      chunks → lines
//! ```
//!
//! Listing and watching are done here and not by kube's own runtime, because three promises need it: what a lagging server
//! says never takes the cache back, a dead watch is found within 45 s, and one object that cannot be read stops nothing.
//! Start at [`follow`].

mod backoff;
pub mod connection;
mod events;
mod failure;
mod follower;
pub mod kinds;
mod lines;
mod list;
pub mod metrics;
#[cfg(test)]
mod script;
mod server;
mod state;

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::sleep;

pub use failure::Failure;
pub use follower::Deliver;
pub use list::{Listed, Lister};
pub use metrics::Metrics;
pub use server::{ApiServer, Server};

use super::change::Compiler;
use super::freshness::Freshness;
use crate::limits::RETRY_MOST;
use follower::Follower;
use nodesift_object::Kind;

/// The tasks that follow a cluster. Dropping it ends them.
#[derive(Debug)]
#[must_use = "nothing is followed once this is dropped"]
pub struct Following {
    _tasks: JoinSet<()>,
}

/// Follows kinds of a cluster, each in a task of its own, and delivers what is seen, compiled. Must be called
/// within a tokio run time.
pub fn follow<S: Server>(
    server: &Arc<S>,
    kinds: &BTreeSet<Kind>,
    compiler: &Compiler,
    deliver: &Deliver,
    freshness: &Freshness,
    metrics: &Metrics,
) -> Following {
    let mut tasks = JoinSet::new();
    for kind in kinds.iter().copied() {
        let (server, compiler) = (Arc::clone(server), compiler.clone());
        let (deliver, freshness, metrics) = (Arc::clone(deliver), freshness.clone(), metrics.clone());
        tasks.spawn(async move {
            // A panic is a defect of ours; one kind that stands still for good would be a worse one.
            loop {
                let (server, deliver) = (Arc::clone(&server), Arc::clone(&deliver));
                let follower =
                    Follower::new(kind, compiler.clone(), server, deliver, freshness.clone(), metrics.clone());
                let mut task = JoinSet::new();
                task.spawn(follower.run());
                task.join_next().await;
                tracing::error!(%kind, "following has ended abnormally: begun anew; please report this");
                sleep(RETRY_MOST).await;
            }
        });
    }
    Following { _tasks: tasks }
}
