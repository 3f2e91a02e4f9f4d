//! Objects of one kind that this process makes, replaces and deletes. Every write names the version that it replaces, so that of several
//! writers the first wins. Start at [`StoredObjects`].
//!
//! While the server does not answer, requests wait for the back-off of all of them: what is to be written is with the caller, who may give
//! up on a request at any time.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout};

use super::failure::{Failure, plain};
use super::kinds::Resource;
use super::reflector::backoff::Backoff;
use super::server::{Objects, Server, Verb};
use crate::limits::{LIST_PAGES, OBJECT_REQUESTS, OBJECT_TIME, STORED_BYTES, STORED_OBJECTS};

/// The HTTP status where an object exists already, or has another version than the request names.
const CONFLICT: u16 = 409;

/// Answer of the server to a request about one object, where it is no failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// It is done: the object as it is now. After a deletion it may be a `Status` in its place.
    Done(Bytes),
    /// Nothing is done: an object of the name exists, or has another version.
    Conflict,
    /// There is no such object; or, where one was to be made, no such namespace or kind.
    Absent,
}

/// Objects of one kind in all namespaces, on a server.
#[derive(Debug)]
pub struct StoredObjects<S> {
    server: Arc<S>,
    resource: Resource,
    places: Semaphore,
    pace: Mutex<Pace>,
}

/// When the server may be asked again.
#[derive(Debug)]
struct Pace {
    backoff: Backoff,
    until: Option<Instant>,
}

impl Pace {
    fn note<T>(&mut self, outcome: &Result<T, Failure>, now: Instant) {
        match outcome {
            Err(failure) if failure.is_temporary() => {
                // Requests that fail together are one failure.
                if self.until.is_some_and(|until| now < until) {
                    return;
                }
                let wait = self.backoff.after_failure(failure.class(), now);
                self.until = Some(now + failure.retry_after().map_or(wait, |asked| asked.max(wait)));
            }
            _ => {
                self.backoff.succeeded();
                self.until = None;
            }
        }
    }
}

impl<S: Server + Objects> StoredObjects<S> {
    /// Objects of a namespaced kind, of the first of its versions.
    pub fn new(server: Arc<S>, resource: Resource) -> Self {
        let pace = Pace { backoff: Backoff::new(fastrand::Rng::new()), until: None };
        Self { server, resource, places: Semaphore::new(OBJECT_REQUESTS), pace: Mutex::new(pace) }
    }

    /// Returns all objects of the kind, each as JSON.
    ///
    /// # Errors
    ///
    /// The failure of the first page that cannot be read; [`Failure::Malformed`] for more than [`STORED_OBJECTS`] objects or
    /// [`STORED_BYTES`] of them.
    pub async fn list(&self) -> Result<Vec<Box<RawValue>>, Failure> {
        self.list_within(STORED_BYTES).await
    }

    async fn list_within(&self, most_bytes: usize) -> Result<Vec<Box<RawValue>>, Failure> {
        let (mut all, mut bytes, mut next) = (Vec::new(), 0, None::<String>);
        for _ in 0..LIST_PAGES {
            let uri = self.resource.list_uri(0, next.as_deref());
            // A page has a timeout of its own.
            let (items, following) = page(&self.server.list_page(&uri).await?)?;
            bytes += items.iter().map(|item| item.get().len()).sum::<usize>();
            if all.len() + items.len() > STORED_OBJECTS || bytes > most_bytes {
                break;
            }
            all.extend(items);
            if following.is_none() {
                return Ok(all);
            }
            next = following;
        }
        let plural = self.resource.plural;
        Err(Failure::Malformed(format!("more than {STORED_OBJECTS} {plural}, or {most_bytes} bytes of them")))
    }

    /// Reads one object.
    ///
    /// # Errors
    ///
    /// [`Failure`], as for every request.
    pub async fn get(&self, namespace: &str, name: &str) -> Result<Answered, Failure> {
        self.request(Verb::Get, &self.resource.namespaced_uri(0, namespace, Some(name)), "").await
    }

    /// Makes an object, unless there is one of its name.
    ///
    /// # Errors
    ///
    /// [`Failure`], as for every request: after one that [is temporary](Failure::is_temporary) it may have been made.
    pub async fn create(&self, namespace: &str, object: &str) -> Result<Answered, Failure> {
        self.request(Verb::Create, &self.resource.namespaced_uri(0, namespace, None), object).await
    }

    /// Replaces an object that still has the `metadata.resourceVersion` that the new one names.
    ///
    /// # Errors
    ///
    /// [`Failure`], as for every request: after one that [is temporary](Failure::is_temporary) it may have been replaced.
    pub async fn update(&self, namespace: &str, name: &str, object: &str) -> Result<Answered, Failure> {
        self.request(Verb::Update, &self.resource.namespaced_uri(0, namespace, Some(name)), object).await
    }

    /// Deletes an object that fits the preconditions of a `DeleteOptions`.
    ///
    /// # Errors
    ///
    /// [`Failure`], as for every request: after one that [is temporary](Failure::is_temporary) it may have been deleted.
    pub async fn delete(&self, namespace: &str, name: &str, options: &str) -> Result<Answered, Failure> {
        self.request(Verb::Delete, &self.resource.namespaced_uri(0, namespace, Some(name)), options).await
    }

    async fn request(&self, verb: Verb, uri: &str, body: &str) -> Result<Answered, Failure> {
        // It is never closed.
        let _place = self.places.acquire().await.map_err(|error| Failure::Transport(error.to_string()))?;
        let until = self.pace.lock().until;
        if let Some(until) = until {
            sleep_until(until).await;
        }
        let outcome = timeout(OBJECT_TIME, self.server.request(verb, uri, body)).await;
        let outcome = outcome.unwrap_or(Err(Failure::Silent(OBJECT_TIME)));
        self.pace.lock().note(&outcome, Instant::now());
        match outcome {
            Ok(object) => Ok(Answered::Done(object)),
            Err(Failure::Refused { status: CONFLICT, .. }) => Ok(Answered::Conflict),
            Err(Failure::NotServed { .. }) => Ok(Answered::Absent),
            Err(failure) => Err(failure),
        }
    }
}

/// The objects of a page, and the token of the next one.
fn page(body: &[u8]) -> Result<(Vec<Box<RawValue>>, Option<String>), Failure> {
    #[derive(Deserialize, Default)]
    struct Metadata {
        #[serde(default)]
        r#continue: String,
    }
    #[derive(Deserialize)]
    struct List {
        #[serde(default)]
        metadata: Metadata,
        items: Option<Vec<Box<RawValue>>>,
    }
    let List { metadata, items } =
        serde_json::from_slice(body).map_err(|error| Failure::Malformed(plain(&error.to_string())))?;
    Ok((items.unwrap_or_default(), Some(metadata.r#continue).filter(|next| !next.is_empty())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::VecDeque;
    use std::time::Duration;

    use futures_util::stream::Empty;

    use super::*;

    const LEASES: Resource = Resource {
        kind: "Lease",
        group: "coordination.k8s.io",
        versions: &["v1"],
        plural: "leases",
        namespaced: true,
        optional: false,
    };

    /// A server that answers by a script, and then with empty objects.
    #[derive(Debug, Default)]
    struct Script {
        answers: Mutex<VecDeque<Result<String, Failure>>>,
        asked: Mutex<Vec<(Instant, String)>>,
    }

    impl Script {
        fn new(answers: impl IntoIterator<Item = Result<String, Failure>>) -> Arc<Self> {
            Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() })
        }

        fn answer(&self, asked: String) -> Result<Bytes, Failure> {
            self.asked.lock().push((Instant::now(), asked));
            self.answers.lock().pop_front().unwrap_or_else(|| Ok("{}".to_owned())).map(Bytes::from)
        }
    }

    impl Server for Script {
        type Chunks = Empty<Result<Bytes, Failure>>;

        async fn list_page(&self, uri: &str) -> Result<Bytes, Failure> {
            self.answer(uri.to_owned())
        }

        async fn watch(&self, _uri: &str) -> Result<Self::Chunks, Failure> {
            Err(Failure::Transport("no watch".to_owned()))
        }
    }

    impl Objects for Script {
        async fn request(&self, verb: Verb, uri: &str, body: &str) -> Result<Bytes, Failure> {
            self.answer(format!("{verb:?} {uri} {body}"))
        }
    }

    fn status(code: u16) -> Result<String, Failure> {
        Err(Failure::from_status(code, None, b"no"))
    }

    #[tokio::test]
    async fn requests_have_the_paths_of_the_kind_and_answers_tell_who_was_first() {
        let script = Script::new([Ok("{}".to_owned()), status(409), status(404), status(403)]);
        let leases = StoredObjects::new(Arc::clone(&script), LEASES);
        assert_eq!(leases.create("a", "{}").await, Ok(Answered::Done("{}".into())));
        assert_eq!(leases.update("a", "b", "{}").await, Ok(Answered::Conflict));
        assert_eq!(leases.get("a", "b").await, Ok(Answered::Absent));
        assert!(leases.delete("a", "b", "{}").await.is_err());
        let asked: Vec<String> = script.asked.lock().iter().map(|(_, asked)| asked.clone()).collect();
        let path = "/apis/coordination.k8s.io/v1/namespaces/a/leases";
        let expected = [
            format!("Create {path} {{}}"),
            format!("Update {path}/b {{}}"),
            format!("Get {path}/b "),
            format!("Delete {path}/b {{}}"),
        ];
        assert_eq!(asked, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_answer_is_asked_less_and_less_and_a_refusal_delays_nothing() {
        let answers = [status(403), status(500), status(500), status(500)];
        let script = Script::new(answers);
        let leases = StoredObjects::new(Arc::clone(&script), LEASES);
        for _ in 0..5 {
            let _answered = leases.get("a", "b").await;
        }
        let asked = script.asked.lock();
        let waits: Vec<Duration> = asked.windows(2).map(|two| two[1].0 - two[0].0).collect();
        assert_eq!(waits[0], Duration::ZERO, "{waits:?}");
        assert!(waits[1] >= Duration::from_millis(500) && waits[2] > waits[1] && waits[3] > waits[2], "{waits:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_fail_together_are_one_failure() {
        let script = Script::new((0..OBJECT_REQUESTS).map(|_| status(500)));
        let leases = StoredObjects::new(Arc::clone(&script), LEASES);
        let failed = futures_util::future::join_all((0..OBJECT_REQUESTS).map(|_| leases.get("a", "b"))).await;
        assert!(failed.iter().all(Result::is_err));
        let before = Instant::now();
        assert!(leases.get("a", "b").await.is_ok());
        // The script answers at once: the first request fails alone, and those that have waited for it together. Each for itself would
        // double the wait.
        assert!(before.elapsed() <= Duration::from_millis(2_100), "the second wait, give or take its jitter");
    }

    #[tokio::test]
    async fn a_list_has_all_pages_and_no_more_objects_than_it_may() {
        let first = r#"{"metadata":{"continue":"next"},"items":[{"a":1},{"a":2}]}"#;
        let script = Script::new([Ok(first.to_owned()), Ok(r#"{"metadata":{},"items":[{"a":3}]}"#.to_owned())]);
        let leases = StoredObjects::new(Arc::clone(&script), LEASES);
        let texts: Vec<String> = leases.list().await.unwrap().iter().map(|object| object.get().to_owned()).collect();
        assert_eq!(texts, [r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a":3}"#]);
        assert!(script.asked.lock()[1].1.contains("continue=next"));

        let many = format!(r#"{{"metadata":{{}},"items":[{}]}}"#, vec!["{}"; STORED_OBJECTS + 1].join(","));
        let script = Script::new([Ok(many), Ok("[]".to_owned())]);
        let leases = StoredObjects::new(Arc::clone(&script), LEASES);
        assert!(leases.list().await.unwrap_err().to_string().contains("more than 100000 leases"));
        assert!(matches!(leases.list().await.unwrap_err(), Failure::Malformed(_)));

        let page = |next: &str| Ok(format!(r#"{{"metadata":{{"continue":"{next}"}},"items":[{{"a":1}},{{"a":2}}]}}"#));
        for (most, is_taken) in [(28, true), (27, false)] {
            let leases = StoredObjects::new(Script::new([page("next"), page("")]), LEASES);
            assert_eq!(leases.list_within(most).await.is_ok(), is_taken, "28 bytes of at most {most}");
        }
    }
}
