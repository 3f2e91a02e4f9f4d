//! Consistency: the minimum versions of a request, and the wait for a snapshot that shows them.
//!
//! A wait holds neither a thread nor an evaluation slot. Start at [`MinimumVersions::parse`]; [`next_publication`] is the
//! same kind of wait for whichever snapshot comes next.

use std::cmp::Ordering;
use std::time::Duration;

use nodesift_proto::v1;
use tokio::time::{Instant, timeout, timeout_at};

use crate::{Error, limits};
use nodesift_cache::{Generation, Reader, Snapshot};
use nodesift_object::version;

/// What a snapshot must show at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MinimumVersions {
    generation: Option<u64>,
    nodes: Option<String>,
    pods: Option<String>,
    deadline: Duration,
}

impl MinimumVersions {
    /// The minimum versions of a request; none where it sets none.
    ///
    /// # Errors
    ///
    /// Names the field that is no version, or whose deadline is too long.
    pub(crate) fn parse(consistency: Option<&v1::Consistency>) -> Result<Option<Self>, Error> {
        let Some(consistency) = consistency else { return Ok(None) };
        let deadline = match consistency.deadline_ms {
            None => limits::CONSISTENCY_WAIT,
            Some(milliseconds) => Duration::from_millis(milliseconds.into()),
        };
        if deadline > limits::CONSISTENCY_WAIT_MAX {
            let most = limits::CONSISTENCY_WAIT_MAX.as_millis();
            return Err(Error::invalid("consistency.deadline_ms", format!("at most {most}")));
        }
        let version = |field: &str, text: &str| match text {
            "" => Ok(None),
            _ if version::is_number(text) => Ok(Some(text.to_owned())),
            _ => Err(Error::invalid(format!("consistency.{field}"), "is no decimal number, and cannot be compared")),
        };
        Ok(Some(Self {
            generation: consistency.min_generation,
            nodes: version("min_nodes_resource_version", &consistency.min_nodes_resource_version)?,
            pods: version("min_pods_resource_version", &consistency.min_pods_resource_version)?,
            deadline,
        }))
    }

    /// Whether a snapshot shows all of them.
    pub(crate) fn are_met(&self, snapshot: &Snapshot) -> bool {
        self.generation.is_none_or(|wanted| snapshot.generation().0 >= wanted)
            && self.nodes.as_ref().is_none_or(|wanted| has_reached(snapshot.nodes_resource_version(), wanted))
            && self.pods.as_ref().is_none_or(|wanted| has_reached(snapshot.pods_resource_version(), wanted))
    }

    /// Waits until a published snapshot shows all of them. Later snapshots do so too.
    ///
    /// # Errors
    ///
    /// [`Error::NotSeen`] once the deadline has passed.
    pub(crate) async fn wait(&self, reader: &Reader) -> Result<(), Error> {
        if self.are_met(&reader.snapshot()) {
            return Ok(());
        }
        let met = reader.snapshot_when(|snapshot| self.are_met(snapshot));
        match timeout(self.deadline, met).await {
            Ok(_) => Ok(()),
            Err(_) => Err(self.not_seen(&reader.snapshot())),
        }
    }

    /// Names each minimum version, and what the snapshot has of it.
    fn not_seen(&self, snapshot: &Snapshot) -> Error {
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
        Error::NotSeen { waited: self.deadline, wanted: wanted.join(", "), found: found.join(", ") }
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
        let waiting = tokio::spawn(async move { minimum.wait(&reader).await.map(|()| reader.snapshot().node_count()) });
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
        let error = minimum.wait(&reader).await.unwrap_err();
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
        let error = minimum.wait(&reader).await.unwrap_err();
        assert!(error.text().starts_with("waited 0 ms for generation 1, and have generation 0"), "{}", error.text());
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
            async move { minimum.wait(&reader).await }
        });
        tokio::task::yield_now().await;
        // The same node at another version changes no generation.
        shows(&mut writer, "a", "11");
        writer.publish();
        waiting.await.unwrap().unwrap();
        assert_eq!(reader.snapshot().generation(), generation);
    }
}
