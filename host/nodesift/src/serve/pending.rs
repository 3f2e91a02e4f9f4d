//! The thread that keeps the list of pending pods: beside requests, with at most a tenth of a core, and at most once a second.
//!
//! What it makes is in the engine's [`PendingList`](nodesift_engine::pending::PendingList). Start at [`start`].

use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use nodesift_api::Readiness;
use nodesift_engine::Engine;
use nodesift_engine::pending::AfterRest;

use crate::limits::{PENDING_LIST_INTERVAL, PENDING_LIST_NICE, PENDING_LIST_PARTLY};

/// Begins to keep the list of an engine's pending pods, for as long as the engine exists. The first list is made once the process is ready:
/// before, pods and nodes may be missing.
///
/// # Errors
///
/// Where the system starts no thread.
pub(super) fn start(engine: &Arc<Engine>, readiness: &Readiness) -> std::io::Result<()> {
    engine.pending().keep();
    let (engine, readiness) = (Arc::downgrade(engine), readiness.clone());
    let run = move || {
        // Requests go first. Where that is refused, the share of a core still binds. It is for good, also where locks are held: a thread
        // without privileges may not take it back.
        let _refused = rustix::process::nice(PENDING_LIST_NICE);
        while let Some(engine) = Weak::upgrade(&engine) {
            engine.asked().advance();
            let began = Instant::now();
            if readiness.check().is_ok() {
                let mut published = began;
                engine.list_pending(&mut |time: Duration| rest(time, &mut published));
            }
            drop(engine);
            thread::sleep(PENDING_LIST_INTERVAL.saturating_sub(began.elapsed()));
        }
    };
    thread::Builder::new().name("pending".to_owned()).spawn(run).map(drop)
}

/// Rests, and goes on: an end of the process does not wait for this thread. What there is of a list that takes long is published meanwhile.
fn rest(time: Duration, published: &mut Instant) -> AfterRest {
    thread::sleep(time);
    if published.elapsed() < PENDING_LIST_PARTLY {
        return AfterRest::GoOn;
    }
    *published = Instant::now();
    AfterRest::Publish
}
