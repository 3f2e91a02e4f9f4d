//! Liveness and readiness: values that are held, not flags that are set.
//!
//! Whoever must be done before the first answer holds a [`Latch`]; readiness comes when the last one is dropped. A drain
//! takes readiness away for good, while requests that still arrive are answered.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use tokio_util::sync::CancellationToken;

use super::Error;

/// Whether answers may be given, and whether new requests are welcome. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct Readiness {
    state: Arc<Mutex<State>>,
    drain: CancellationToken,
}

#[derive(Default)]
struct State {
    waiting: Vec<Arc<str>>,
    draining: bool,
    remarks: Vec<Remark>,
}

/// What does not take readiness away, but should be known; none while all is well.
type Remark = Arc<dyn Fn() -> Option<String> + Send + Sync>;

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("waiting", &self.waiting)
            .field("draining", &self.draining)
            .finish_non_exhaustive()
    }
}

/// Something that must be done before the first answer; done when dropped.
#[derive(Debug)]
#[must_use = "readiness waits until this is dropped"]
pub struct Latch {
    what: Arc<str>,
    readiness: Readiness,
}

impl Readiness {
    /// Makes readiness wait until the latch is dropped. `what` names it in `/readyz`, for example `the list of nodes`.
    pub fn wait_for(&self, what: &str) -> Latch {
        let what: Arc<str> = what.into();
        self.locked(|state| state.waiting.push(Arc::clone(&what)));
        Latch { what, readiness: self.clone() }
    }

    /// Has `/readyz` ask for a remark, such as `1 object is retried: Pod web/nginx-0`, whenever it says `ok`.
    pub fn remark(&self, remark: impl Fn() -> Option<String> + Send + Sync + 'static) {
        self.locked(|state| state.remarks.push(Arc::new(remark)));
    }

    /// Takes readiness away: the process is about to end.
    pub fn drain(&self) {
        self.locked(|state| state.draining = true);
        self.drain.cancel();
    }

    /// Ends when the process is about to end: for what would otherwise go on for ever.
    pub fn drained(&self) -> impl Future<Output = ()> + Send + use<> {
        self.drain.clone().cancelled_owned()
    }

    /// Refuses while anything is waited for. A drain does not refuse: requests that made it here are answered.
    pub fn check(&self) -> Result<(), Error> {
        self.locked(|state| match state.waiting.as_slice() {
            [] => Ok(()),
            waiting => Err(Error::NotReady { waiting: waiting.join(", ") }),
        })
    }

    /// Status and text of `/readyz`.
    pub fn report(&self) -> (StatusCode, String) {
        let remarks = self.locked(|state| match (state.draining, state.waiting.as_slice()) {
            (true, _) => Err("shutting down\n".to_owned()),
            (false, []) => Ok(state.remarks.clone()),
            (false, waiting) => Err(format!("waiting for {}\n", waiting.join(", "))),
        });
        match remarks {
            Err(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
            Ok(remarks) => {
                let words: Vec<String> =
                    [String::from("ok")].into_iter().chain(remarks.iter().filter_map(|remark| remark())).collect();
                (StatusCode::OK, format!("{}\n", words.join(", ")))
            }
        }
    }

    fn locked<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        // A panic while holding the lock leaves plain values behind, which are as good as before.
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Latch {
    fn drop(&mut self) {
        self.readiness.locked(|state| {
            if let Some(at) = state.waiting.iter().position(|what| Arc::ptr_eq(what, &self.what)) {
                state.waiting.remove(at);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn readiness_comes_with_the_last_latch_and_says_what_it_waits_for() {
        let readiness = Readiness::default();
        let nodes = readiness.wait_for("the list of nodes");
        let pods = readiness.wait_for("the list of pods");
        assert_eq!(readiness.report().1, "waiting for the list of nodes, the list of pods\n");
        drop(nodes);
        assert_eq!(readiness.check().unwrap_err().text(), "not ready, waiting for the list of pods: try again");
        drop(pods);
        assert_eq!(readiness.report(), (StatusCode::OK, "ok\n".into()));
    }

    #[test]
    fn remarks_are_told_once_ready_and_do_not_take_readiness_away() {
        let readiness = Readiness::default();
        let latch = readiness.wait_for("the list of pods");
        readiness.remark(|| Some("1 object is retried: Pod a/b".to_owned()));
        readiness.remark(|| None);
        assert_eq!(readiness.report().0, StatusCode::SERVICE_UNAVAILABLE);
        drop(latch);
        assert_eq!(readiness.report(), (StatusCode::OK, "ok, 1 object is retried: Pod a/b\n".into()));
    }

    #[test]
    fn a_drain_ends_readiness_but_not_answers() {
        let readiness = Readiness::default();
        readiness.drain();
        assert_eq!(readiness.report().0, StatusCode::SERVICE_UNAVAILABLE);
        assert!(readiness.check().is_ok());
    }
}
