//! The first evaluation: what the first question needs is there before anybody asks, so that it takes no longer than those after it.
//! Readiness waits for it, as long as [`WARM_UP_TIME`](nodesift_engine::limits::WARM_UP_TIME) and [`WARM_UP_SPARES`] at most. Start at
//! [`start`].

use std::sync::Arc;
use std::time::Instant;

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::sleep;

use crate::limits::{WARM_UP_LOOK, WARM_UP_SPARES};
use nodesift_api::{Latch, Readiness};
use nodesift_engine::{ActivePredicate, Engine, WarmUp};
use nodesift_sandbox::Lifetime;

/// Evaluates once everything else that readiness waits for is there; then readiness waits no longer. A process that ends meanwhile does
/// not wait for it.
pub(super) fn start(engine: &Arc<Engine>, readiness: &Readiness) -> JoinHandle<()> {
    let (engine, latch) = (Arc::clone(engine), readiness.wait_for("the first evaluation"));
    tokio::spawn(evaluate(engine, latch))
}

/// A panic drops the latch, too: then the first questions evaluate.
async fn evaluate(engine: Arc<Engine>, latch: Latch) {
    latch.until_last().await;
    let (started, evaluating) = (Instant::now(), Arc::clone(&engine));
    // Not on a thread that serves: it calls guests.
    let Ok(WarmUp { pods, is_cut }) = spawn_blocking(move || evaluating.warm_up()).await else { return };
    spares(&engine).await;
    let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    if is_cut {
        tracing::info!(pods, ms, "the first evaluation was cut: a predicate or the machine is slow");
    } else {
        tracing::debug!(pods, ms, "the first evaluation has ended");
    }
    drop(latch);
}

/// Waits until predicates whose instances are made for each call have one again: a thread makes them beside the calls.
async fn spares(engine: &Engine) {
    let until = Instant::now() + WARM_UP_SPARES;
    let lacks_one = |predicate: &ActivePredicate| {
        predicate.module.grants().lifetime != Lifetime::Reused && predicate.module.waiting() == 0
    };
    while engine.policy().components().any(lacks_one) && Instant::now() < until {
        sleep(WARM_UP_LOOK).await;
    }
}
