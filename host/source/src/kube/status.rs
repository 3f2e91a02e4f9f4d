//! Writes the status of one object by server-side apply: the newest that is wanted, again with backoff where that fails. Start at
//! [`StatusWriter`].
//!
//! A server that refuses it harms nothing else: it is logged once, and [`StatusTrouble`] tells it until a write succeeds.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::failure::Failure;
use super::reflector::backoff::Backoff;
use super::server::Apply;
use crate::limits::{STATUS_RELEASE_LOOK, STATUS_TIME};

/// The HTTP status of what does not fit its schema.
const INVALID: u16 = 422;

/// A status to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Path and query of the request.
    pub uri: String,
    /// The fields that the writer wants to own, as JSON.
    pub body: String,
    /// Statuses that are written after this one has been, each attempted once, in their order. [`StatusWriter::finish`] writes them only
    /// where the server finds this one invalid, before it attempts this one again.
    pub after: Vec<Wanted>,
}

/// Why the status cannot be written at present; clones share it.
#[derive(Debug, Clone, Default)]
pub struct StatusTrouble(Arc<Mutex<Option<String>>>);

impl StatusTrouble {
    /// In one line; `None` while writes succeed.
    pub fn report(&self) -> Option<String> {
        self.0.lock().clone()
    }

    fn failed(&self, failure: &Failure) {
        let text = failure.to_string();
        let known = self.0.lock().replace(text.clone());
        match known {
            Some(known) if known == text => tracing::debug!(failure = text, "the status is still not written"),
            _ => tracing::warn!(
                failure = text,
                "the status of the policy's object is not written: everything else goes on; retrying"
            ),
        }
    }

    fn ended(&self) {
        if self.0.lock().take().is_some() {
            tracing::info!("the status of the policy's object is written again");
        }
    }
}

/// Writes in a task of its own. Dropping it ends the task.
#[derive(Debug)]
pub struct StatusWriter<S> {
    server: Arc<S>,
    wanted: watch::Sender<Option<Wanted>>,
    task: JoinSet<()>,
}

impl<S: Apply> StatusWriter<S> {
    /// Nothing is written yet. Must be called within a tokio runtime.
    pub fn start(server: &Arc<S>, trouble: &StatusTrouble) -> Self {
        let (wanted, asked) = watch::channel(None);
        let mut task = JoinSet::new();
        task.spawn(write(Arc::clone(server), asked, trouble.clone()));
        Self { server: Arc::clone(server), wanted, task }
    }

    /// Wants this to be written, instead of what was wanted before. Does not wait.
    pub fn write(&self, wanted: Wanted) {
        self.wanted.send_replace(Some(wanted));
    }

    /// Ends the task and writes this, within a time. Where the server finds that invalid, its `after` is written first: what the writer
    /// gives up may be what others need and have not written themselves, which they do once they see that.
    ///
    /// # Errors
    ///
    /// Why it is not written.
    pub async fn finish(self, last: &Wanted, within: Duration) -> Result<(), Failure> {
        let Self { server, wanted, mut task } = self;
        drop(wanted);
        let written = async {
            // A write that is under way ends first. A server that has received it applies it even if nobody waits for the answer, and
            // that could be after the last one.
            while task.join_next().await.is_some() {}
            let mut before = last.after.iter();
            loop {
                match server.apply(&last.uri, &last.body).await {
                    Err(Failure::Refused { status: INVALID, .. }) => {}
                    outcome => return outcome,
                }
                for Wanted { uri, body, .. } in before.by_ref() {
                    server.apply(uri, body).await?;
                }
                sleep(STATUS_RELEASE_LOOK).await;
            }
        };
        timeout(within, written).await.unwrap_or(Err(Failure::Silent(within)))
    }
}

/// Ends once nothing more will be wanted.
async fn closed(mut asked: watch::Receiver<Option<Wanted>>) {
    while asked.changed().await.is_ok() {}
}

async fn write<S: Apply>(server: Arc<S>, mut asked: watch::Receiver<Option<Wanted>>, trouble: StatusTrouble) {
    let mut backoff = Backoff::new(fastrand::Rng::new());
    loop {
        let wanted = asked.borrow_and_update().clone();
        if let Some(Wanted { uri, body, after }) = wanted {
            let outcome = timeout(STATUS_TIME, server.apply(&uri, &body)).await;
            match outcome.unwrap_or(Err(Failure::Silent(STATUS_TIME))) {
                Ok(()) => {
                    trouble.ended();
                    backoff.succeeded();
                    for Wanted { uri, body, .. } in after {
                        let outcome = timeout(STATUS_TIME, server.apply(&uri, &body)).await;
                        if let Err(failure) = outcome.unwrap_or(Err(Failure::Silent(STATUS_TIME))) {
                            tracing::debug!(%failure, uri, "not written");
                        }
                    }
                }
                // The object is gone, or another one has its name. A watch event says so too, and something else is wanted then.
                Err(failure @ (Failure::NotServed { .. } | Failure::Refused { status: 409, .. })) => {
                    tracing::debug!(%failure, "no object to write a status of");
                }
                Err(failure) => {
                    trouble.failed(&failure);
                    let wait = backoff.after_failure(failure.class(), Instant::now());
                    let wait = failure.retry_after().map_or(wait, |asked| asked.max(wait));
                    if timeout(wait, closed(asked.clone())).await.is_ok() {
                        return;
                    }
                    continue;
                }
            }
        }
        if asked.changed().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::VecDeque;

    use tokio::time::sleep;

    use super::*;

    /// A server that answers by a script, and well at its end.
    #[derive(Default)]
    struct Script {
        answers: Mutex<VecDeque<Failure>>,
        seen: Mutex<Vec<(Instant, String)>>,
    }

    impl Script {
        fn new(answers: impl IntoIterator<Item = Failure>) -> Arc<Self> {
            Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), seen: Mutex::default() })
        }

        fn bodies(&self) -> Vec<String> {
            self.seen.lock().iter().map(|(_, body)| body.clone()).collect()
        }
    }

    impl Apply for Script {
        async fn apply(&self, _uri: &str, body: &str) -> Result<(), Failure> {
            self.seen.lock().push((Instant::now(), body.to_owned()));
            self.answers.lock().pop_front().map_or(Ok(()), Err)
        }
    }

    fn wanted(body: &str) -> Wanted {
        Wanted { uri: "/status".to_owned(), body: body.to_owned(), after: Vec::new() }
    }

    fn status(code: u16) -> Failure {
        Failure::from_status(code, None, b"no")
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_status_is_written_again_with_backoff_and_told_until_it_is_written() {
        let (script, trouble) = (Script::new([status(403), status(403), status(500)]), StatusTrouble::default());
        let writer = StatusWriter::start(&script, &trouble);
        writer.write(wanted("a"));
        sleep(Duration::from_millis(1)).await;
        assert_eq!(trouble.report().as_deref(), Some("403: no"));
        sleep(Duration::from_secs(60)).await;
        assert_eq!(script.bodies(), ["a"; 4]);
        assert_eq!(trouble.report(), None);
        let seen = script.seen.lock();
        let waits: Vec<_> = seen.windows(2).map(|two| two[1].0 - two[0].0).collect();
        assert!(waits[0] >= Duration::from_millis(600) && waits[1] > waits[0], "{waits:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_newest_status_is_written_after_a_failure_and_none_twice() {
        let script = Script::new([status(500)]);
        let writer = StatusWriter::start(&script, &StatusTrouble::default());
        writer.write(wanted("a"));
        sleep(Duration::from_millis(1)).await;
        writer.write(wanted("b"));
        writer.write(wanted("c"));
        sleep(Duration::from_secs(600)).await;
        assert_eq!(script.bodies(), ["a", "c"]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_is_gone_is_no_trouble_and_is_not_asked_for_again() {
        for gone in [404, 409] {
            let (script, trouble) = (Script::new([status(gone)]), StatusTrouble::default());
            let writer = StatusWriter::start(&script, &trouble);
            writer.write(wanted("a"));
            sleep(Duration::from_secs(600)).await;
            assert_eq!((script.bodies().len(), trouble.report()), (1, None), "{gone}");
            writer.write(wanted("b"));
            sleep(Duration::from_secs(1)).await;
            assert_eq!(script.bodies(), ["a", "b"]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_after_a_status_is_written_once_and_only_after_it() {
        let (script, trouble) = (Script::new([status(500)]), StatusTrouble::default());
        let writer = StatusWriter::start(&script, &trouble);
        writer.write(Wanted { after: vec![wanted("b"), wanted("c")], ..wanted("a") });
        sleep(Duration::from_secs(600)).await;
        assert_eq!(script.bodies(), ["a", "a", "b", "c"]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_status_is_written_once_at_the_end() {
        let script = Script::new([status(403)]);
        let writer = StatusWriter::start(&script, &StatusTrouble::default());
        writer.write(wanted("a"));
        sleep(Duration::from_millis(1)).await;
        writer.finish(&wanted("end"), Duration::from_secs(1)).await.unwrap();
        sleep(Duration::from_secs(600)).await;
        assert_eq!(script.bodies(), ["a", "end"]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_others_need_is_given_up_once_they_have_written_it() {
        let script = Script::new([status(422)]);
        let writer = StatusWriter::start(&script, &StatusTrouble::default());
        let last = Wanted { after: vec![wanted("without the entry")], ..wanted("end") };
        writer.finish(&last, Duration::from_secs(1)).await.unwrap();
        assert_eq!(script.bodies(), ["end", "without the entry", "end"]);
        // Nobody else is there.
        let script = Script::new((0..100).filter(|number| *number != 1).map(|_| status(422)));
        let writer = StatusWriter::start(&script, &StatusTrouble::default());
        assert!(writer.finish(&last, Duration::from_secs(1)).await.is_err());
        assert_eq!(script.bodies()[..2], ["end", "without the entry"]);
    }

    /// A server that applies what it has received, whether or not anybody waits; the first body takes it longer than the others.
    #[derive(Default)]
    struct Slow {
        received: Mutex<usize>,
        applied: Arc<Mutex<Vec<String>>>,
    }

    impl Apply for Slow {
        async fn apply(&self, _uri: &str, body: &str) -> Result<(), Failure> {
            let earlier = std::mem::replace(&mut *self.received.lock(), 1);
            let (applied, body) = (Arc::clone(&self.applied), body.to_owned());
            let time = Duration::from_millis(if earlier == 0 { 100 } else { 1 });
            let work = tokio::spawn(async move {
                sleep(time).await;
                applied.lock().push(body);
            });
            work.await.map_err(|_| Failure::Silent(time))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_status_is_applied_after_one_that_is_under_way() {
        let slow = Arc::new(Slow::default());
        let writer = StatusWriter::start(&slow, &StatusTrouble::default());
        writer.write(wanted("a"));
        sleep(Duration::from_millis(1)).await;
        writer.finish(&wanted("end"), Duration::from_secs(1)).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(*slow.applied.lock(), ["a", "end"]);
    }
}
