//! Consistency: the minimum versions of a request, and the wait for a snapshot that shows them.
//!
//! A wait holds neither a thread nor an evaluation slot. Start at [`MinimumVersions::parse`]; [`next_publication`] is the
//! same kind of wait for whichever snapshot comes next.

use std::cmp::Ordering;
use std::time::Duration;

use nodesift_proto::v1;
use tokio::time::{Instant, timeout_at};

use super::deadline::Deadline;
use super::scope::RequestScope;
use super::version_waiters::VersionWaiters;
use crate::{Error, limits};
use nodesift_cache::{Generation, Reader, Snapshot};
use nodesift_object::version;

/// What a snapshot must show at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MinimumVersions {
    generation: Option<u64>,
    nodes: Option<String>,
    pods: Option<String>,
    /// How long the client lets it wait, where it says so.
    wait: Option<Duration>,
}

/// A version as a number of any length: its digits, sorted by their count first.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number(usize, String);

impl Number {
    fn new(digits: &str) -> Self {
        Self(digits.len(), digits.to_owned())
    }
}

/// A version that a snapshot does not show yet.
#[derive(Debug)]
pub(super) struct Missing {
    /// Its place in [`MinimumVersions::shown_by`].
    pub(super) which: usize,
    pub(super) number: Number,
}

impl MinimumVersions {
    /// The minimum versions of a request; none where it sets none.
    ///
    /// # Errors
    ///
    /// Names the field that is no version, or whose deadline is too long.
    pub(crate) fn parse(consistency: Option<&v1::Consistency>) -> Result<Option<Self>, Error> {
        let Some(consistency) = consistency else { return Ok(None) };
        let wait = consistency.deadline_ms.map(|milliseconds| Duration::from_millis(milliseconds.into()));
        if wait.is_some_and(|wait| wait > limits::CONSISTENCY_WAIT_MAX) {
            let most = limits::CONSISTENCY_WAIT_MAX.as_millis();
            return Err(Error::invalid("consistency.deadline_ms", format!("at most {most}")));
        }
        let version = |field: &str, text: &str| match text {
            "" => Ok(None),
            _ if text.len() > limits::VERSION_DIGITS => {
                let most = limits::VERSION_DIGITS;
                Err(Error::invalid(format!("consistency.{field}"), format!("has more than {most} digits")))
            }
            _ if version::is_number(text) => Ok(Some(text.to_owned())),
            _ => Err(Error::invalid(format!("consistency.{field}"), "is no decimal number, and cannot be compared")),
        };
        Ok(Some(Self {
            generation: consistency.min_generation,
            nodes: version("min_nodes_resource_version", &consistency.min_nodes_resource_version)?,
            pods: version("min_pods_resource_version", &consistency.min_pods_resource_version)?,
            wait,
        }))
    }

    /// Whether a snapshot shows all of them.
    pub(crate) fn are_met(&self, snapshot: &Snapshot) -> bool {
        self.generation.is_none_or(|wanted| snapshot.generation().0 >= wanted)
            && self.nodes.as_ref().is_none_or(|wanted| has_reached(snapshot.nodes_resource_version(), wanted))
            && self.pods.as_ref().is_none_or(|wanted| has_reached(snapshot.pods_resource_version(), wanted))
    }

    /// The first version that a snapshot does not show.
    pub(super) fn missing(&self, snapshot: &Snapshot) -> Option<Missing> {
        let generation = self.generation.filter(|wanted| snapshot.generation().0 < *wanted);
        let nodes = self.nodes.as_ref().filter(|wanted| !has_reached(snapshot.nodes_resource_version(), wanted));
        let pods = self.pods.as_ref().filter(|wanted| !has_reached(snapshot.pods_resource_version(), wanted));
        let missing = [generation.map(|wanted| wanted.to_string()), nodes.cloned(), pods.cloned()];
        let (which, number) = missing.into_iter().enumerate().find_map(|(which, number)| Some((which, number?)))?;
        Some(Missing { which, number: Number::new(&number) })
    }

    /// The versions that a snapshot shows: generation, nodes, pods; none where it has none that can be compared.
    pub(super) fn shown_by(snapshot: &Snapshot) -> [Option<Number>; 3] {
        let number = |text: &str| version::is_number(text).then(|| Number::new(text));
        let generation = snapshot.generation().0.to_string();
        let (nodes, pods) = (snapshot.nodes_resource_version(), snapshot.pods_resource_version());
        [number(&generation), number(nodes), number(pods)]
    }

    /// Waits until a published snapshot shows all of them; later ones do so too. Returns the deadline of what follows: a
    /// wait that the client has asked for does not count.
    ///
    /// # Errors
    ///
    /// [`Error::NotSeen`] once the time for it has passed, [`Error::Overloaded`] where too many wait.
    pub(crate) async fn wait(
        &self,
        waiters: &VersionWaiters,
        reader: &Reader,
        scope: &RequestScope,
    ) -> Result<Deadline, Error> {
        let (start, deadline) = (Instant::now(), scope.deadline);
        let until = match self.wait {
            // Only a deadline that the client has chosen ends such a wait earlier.
            Some(wait) if !deadline.is_chosen() => start + wait,
            Some(wait) => deadline.at().min(start + wait),
            None => deadline.at().min(start + limits::CONSISTENCY_WAIT),
        };
        if !waiters.wait(scope, self, until).await? {
            let waited = until.saturating_duration_since(start);
            return Err(self.not_seen(&reader.snapshot(), waited));
        }
        Ok(if self.wait.is_some() { deadline.extended(start.elapsed()) } else { deadline })
    }

    /// Names each minimum version, and what the snapshot has of it.
    fn not_seen(&self, snapshot: &Snapshot, waited: Duration) -> Error {
        let generation = self.generation.map(|wanted| wanted.to_string());
        let parts = [
            ("generation", &generation, snapshot.generation().0.to_string()),
            ("nodes' resource version", &self.nodes, shown(snapshot.nodes_resource_version())),
            ("pods' resource version", &self.pods, shown(snapshot.pods_resource_version())),
        ];
        let wanted: Vec<String> =
            parts.iter().filter_map(|(what, wanted, _)| Some(format!("{what} {}", wanted.as_ref()?))).collect();
        let found: Vec<String> = parts
            .iter()
            .filter(|(_, wanted, _)| wanted.is_some())
            .map(|(what, _, found)| format!("{what} {found}"))
            .collect();
        Error::NotSeen { waited, wanted: wanted.join(", "), found: found.join(", ") }
    }
}

/// Waits for a snapshot newer than `seen`; false where none is published until then.
pub(crate) async fn next_publication(reader: &Reader, seen: Generation, until: Instant) -> bool {
    timeout_at(until, reader.snapshot_when(|snapshot| snapshot.generation() > seen)).await.is_ok()
}

fn shown(version: &str) -> String {
    if version.is_empty() { "none".to_owned() } else { version.to_owned() }
}

/// Whether one resource version is as new as another; false where the first is no number.
fn has_reached(version: &str, wanted: &str) -> bool {
    version::compare(version, wanted).is_some_and(Ordering::is_ge)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use super::*;
    use nodesift_cache::metadata;
    use nodesift_cache::{self as cache, Writer};
    use nodesift_object::Kind;

    fn minimum(consistency: &v1::Consistency) -> MinimumVersions {
        MinimumVersions::parse(Some(consistency)).unwrap().unwrap()
    }

    async fn wait(minimum: &MinimumVersions, reader: &Reader) -> Result<Deadline, Error> {
        let deadline = Deadline::after(Instant::now(), limits::REQUEST_TIME);
        let scope = RequestScope { deadline, ..RequestScope::detached() };
        minimum.wait(&VersionWaiters::new(reader.clone()), reader, &scope).await
    }

    fn shows(writer: &mut Writer, name: &str, version: &str) {
        let json = format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"{version}"}}}}"#);
        writer.apply_node(&metadata::node(&serde_json::from_str(&json).unwrap()));
        writer.observe_version(Kind::Node, &Arc::from(version));
    }

    #[test]
    fn a_version_that_is_no_number_and_a_deadline_too_long_are_refused_by_field() {
        let version = v1::Consistency { min_nodes_resource_version: "007".into(), ..Default::default() };
        let text = MinimumVersions::parse(Some(&version)).unwrap_err().text();
        assert!(text.starts_with("consistency.min_nodes_resource_version: "), "{text}");
        let long = v1::Consistency { deadline_ms: Some(30_001), ..Default::default() };
        assert_eq!(MinimumVersions::parse(Some(&long)).unwrap_err().text(), "consistency.deadline_ms: at most 30000");
        assert_eq!(MinimumVersions::parse(None).unwrap(), None);
    }

    #[tokio::test]
    async fn a_wait_ends_with_the_snapshot_that_shows_the_minimum_version() {
        let (mut writer, reader) = cache::new();
        let minimum = minimum(&v1::Consistency {
            min_nodes_resource_version: "10".into(),
            deadline_ms: Some(30_000),
            ..Default::default()
        });
        let waiting =
            tokio::spawn(async move { wait(&minimum, &reader).await.map(|_| reader.snapshot().node_count()) });
        tokio::task::yield_now().await;
        shows(&mut writer, "a", "9");
        writer.publish();
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "9 is before 10");
        shows(&mut writer, "b", "10");
        writer.publish();
        assert_eq!(waiting.await.unwrap().unwrap(), 2);
    }

    #[tokio::test]
    async fn past_the_deadline_the_minimum_and_the_newest_version_are_named() {
        let (mut writer, reader) = cache::new();
        shows(&mut writer, "a", "9");
        writer.publish();
        let minimum = minimum(&v1::Consistency {
            min_generation: Some(1_000_000),
            min_pods_resource_version: "7".into(),
            deadline_ms: Some(20),
            ..Default::default()
        });
        let start = Instant::now();
        let error = wait(&minimum, &reader).await.unwrap_err();
        assert!(start.elapsed() >= Duration::from_millis(20));
        assert_eq!(error.status().0, tonic::Code::DeadlineExceeded);
        let generation = reader.snapshot().generation().0;
        assert_eq!(
            error.text(),
            format!(
                "waited 20 ms for generation 1000000, pods' resource version 7, \
                 and have generation {generation}, pods' resource version none: try again"
            )
        );
    }

    #[tokio::test]
    async fn a_deadline_of_zero_does_not_wait() {
        let (_writer, reader) = cache::new();
        let minimum = minimum(&v1::Consistency { min_generation: Some(1), deadline_ms: Some(0), ..Default::default() });
        let error = wait(&minimum, &reader).await.unwrap_err();
        assert!(error.text().starts_with("waited 0 ms for generation 1, and have generation 0"), "{}", error.text());
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_asked_for_outlasts_the_deadline_unless_the_client_has_chosen_it() {
        let (_writer, reader) = cache::new();
        let far =
            |deadline_ms| minimum(&v1::Consistency { min_generation: Some(1), deadline_ms, ..Default::default() });
        let waiters = VersionWaiters::new(reader.clone());
        let deadline = Deadline::after(Instant::now(), limits::REQUEST_TIME);
        let chosen = deadline.shortened(Duration::from_millis(50));
        for (minimum, deadline, millis) in
            [(far(Some(10_000)), deadline, 10_000), (far(Some(10_000)), chosen, 0), (far(None), deadline, 0)]
        {
            let start = Instant::now();
            minimum.wait(&waiters, &reader, &RequestScope { deadline, ..RequestScope::detached() }).await.unwrap_err();
            assert_eq!(start.elapsed(), Duration::from_millis(millis), "{minimum:?}");
        }
    }

    #[tokio::test]
    async fn a_resource_version_alone_ends_the_wait_for_it() {
        let (mut writer, reader) = cache::new();
        shows(&mut writer, "a", "9");
        writer.publish();
        let generation = reader.snapshot().generation();
        let minimum = minimum(&v1::Consistency {
            min_nodes_resource_version: "11".into(),
            deadline_ms: Some(30_000),
            ..Default::default()
        });
        let reader = Arc::new(reader);
        let waiting = tokio::spawn({
            let reader = Arc::clone(&reader);
            async move { wait(&minimum, &reader).await }
        });
        tokio::task::yield_now().await;
        // The same node at another version changes no generation.
        shows(&mut writer, "a", "11");
        writer.publish();
        waiting.await.unwrap().unwrap();
        assert_eq!(reader.snapshot().generation(), generation);
    }
}
