//! What a request wants to have been seen before it is answered, and the wait for it.
//!
//! Nobody who waits holds a thread or an evaluation slot. Start at [`Wanted::of`].

use std::cmp::Ordering;
use std::time::Duration;

use nodesift_proto::v1;
use tokio::time::timeout;

use super::Error;
use super::request::invalid;
use crate::limits;
use nodesift_cache::{Reader, Snapshot};
use nodesift_object::version;

/// What a snapshot must show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    generation: Option<u64>,
    nodes: Option<String>,
    pods: Option<String>,
    patience: Duration,
}

impl Wanted {
    /// What a request wants; none where it wants nothing.
    pub fn of(consistency: Option<&v1::Consistency>) -> Result<Option<Self>, Error> {
        let Some(consistency) = consistency else { return Ok(None) };
        let patience = match consistency.deadline_ms {
            None => limits::CONSISTENCY_WAIT,
            Some(milliseconds) => Duration::from_millis(milliseconds.into()),
        };
        if patience > limits::CONSISTENCY_WAIT_MAX {
            let most = limits::CONSISTENCY_WAIT_MAX.as_millis();
            return Err(invalid("consistency.deadline_ms", &format!("at most {most}")));
        }
        let version = |field: &str, text: &str| match text {
            "" => Ok(None),
            _ if version::is_number(text) => Ok(Some(text.to_owned())),
            _ => Err(invalid(&format!("consistency.{field}"), "is no decimal number, and cannot be compared")),
        };
        Ok(Some(Self {
            generation: consistency.min_generation,
            nodes: version("min_nodes_resource_version", &consistency.min_nodes_resource_version)?,
            pods: version("min_pods_resource_version", &consistency.min_pods_resource_version)?,
            patience,
        }))
    }

    /// Whether a snapshot shows all of it.
    pub fn is_met(&self, snapshot: &Snapshot) -> bool {
        self.generation.is_none_or(|wanted| snapshot.generation().0 >= wanted)
            && self.nodes.as_ref().is_none_or(|wanted| has_reached(snapshot.nodes_resource_version(), wanted))
            && self.pods.as_ref().is_none_or(|wanted| has_reached(snapshot.pods_resource_version(), wanted))
    }

    /// Waits until a published snapshot shows all of it. Later snapshots do so too.
    pub async fn wait(&self, reader: &Reader) -> Result<(), Error> {
        if self.is_met(&reader.snapshot()) {
            return Ok(());
        }
        let met = reader.snapshot_when(|snapshot| self.is_met(snapshot));
        match timeout(self.patience, met).await {
            Ok(_) => Ok(()),
            Err(_) => Err(self.not_seen(&reader.snapshot())),
        }
    }

    /// Names what is wanted, and of each what there is.
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
        Error::NotSeen { waited: self.patience, wanted: wanted.join(", "), found: found.join(", ") }
    }
}

fn shown(version: &str) -> String {
    if version.is_empty() { "none".to_owned() } else { version.to_owned() }
}

/// Whether one resource version is as new as another; what is no number has reached nothing.
fn has_reached(version: &str, wanted: &str) -> bool {
    version::compare(version, wanted).is_some_and(Ordering::is_ge)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;
    use nodesift_cache::metadata;
    use nodesift_cache::{self as cache, Writer};
    use nodesift_object::Kind;

    fn wanted(consistency: &v1::Consistency) -> Wanted {
        Wanted::of(Some(consistency)).unwrap().unwrap()
    }

    fn shows(writer: &mut Writer, name: &str, version: &str) {
        let json = format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"{version}"}}}}"#);
        writer.apply_node(&metadata::node(&serde_json::from_str(&json).unwrap()));
        writer.observe_version(Kind::Node, &Arc::from(version));
    }

    #[test]
    fn what_is_no_number_and_what_takes_too_long_is_refused_by_field() {
        let version = v1::Consistency { min_nodes_resource_version: "007".into(), ..Default::default() };
        let text = Wanted::of(Some(&version)).unwrap_err().text();
        assert!(text.starts_with("consistency.min_nodes_resource_version: "), "{text}");
        let long = v1::Consistency { deadline_ms: Some(30_001), ..Default::default() };
        assert_eq!(Wanted::of(Some(&long)).unwrap_err().text(), "consistency.deadline_ms: at most 30000");
        assert_eq!(Wanted::of(None).unwrap(), None);
    }

    #[tokio::test]
    async fn a_wait_ends_with_the_snapshot_that_shows_what_is_wanted() {
        let (mut writer, reader) = cache::new();
        let wanted = wanted(&v1::Consistency {
            min_nodes_resource_version: "10".into(),
            deadline_ms: Some(30_000),
            ..Default::default()
        });
        let waiting = tokio::spawn(async move { wanted.wait(&reader).await.map(|()| reader.snapshot().node_count()) });
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
    async fn past_the_deadline_both_sides_are_named() {
        let (mut writer, reader) = cache::new();
        shows(&mut writer, "a", "9");
        writer.publish();
        let wanted = wanted(&v1::Consistency {
            min_generation: Some(1_000_000),
            min_pods_resource_version: "7".into(),
            deadline_ms: Some(20),
            ..Default::default()
        });
        let start = Instant::now();
        let error = wanted.wait(&reader).await.unwrap_err();
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
        let wanted = wanted(&v1::Consistency { min_generation: Some(1), deadline_ms: Some(0), ..Default::default() });
        let error = wanted.wait(&reader).await.unwrap_err();
        assert!(error.text().starts_with("waited 0 ms for generation 1, and have generation 0"), "{}", error.text());
    }

    #[tokio::test]
    async fn a_version_alone_wakes_who_waits_for_it() {
        let (mut writer, reader) = cache::new();
        shows(&mut writer, "a", "9");
        writer.publish();
        let generation = reader.snapshot().generation();
        let wanted = wanted(&v1::Consistency {
            min_nodes_resource_version: "11".into(),
            deadline_ms: Some(30_000),
            ..Default::default()
        });
        let reader = Arc::new(reader);
        let waiting = tokio::spawn({
            let reader = Arc::clone(&reader);
            async move { wanted.wait(&reader).await }
        });
        tokio::task::yield_now().await;
        // The same node at another version changes no generation.
        shows(&mut writer, "a", "11");
        writer.publish();
        waiting.await.unwrap().unwrap();
        assert_eq!(reader.snapshot().generation(), generation);
    }
}
