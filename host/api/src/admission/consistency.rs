//! Consistency: the minimum versions of a request, and which of them a snapshot does not show.
//!
//! Who waits for them is in [`version_waiters`](super::version_waiters); [`next_publication`] waits for whichever snapshot comes
//! next. Start at [`MinimumVersions::parse`].

use std::cmp::Ordering;
use std::time::Duration;

use nodesift_proto::v1;
use tokio::time::{Instant, timeout_at};

use super::deadline::Deadline;
use crate::{Error, limits};
use nodesift_cache::{Generation, Reader, Snapshot};
use nodesift_object::version;

/// Minimum versions that a snapshot must show: of the cache, the nodes and the pods.
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

    /// When a wait for them ends that begins at `start`, and whether the client has asked for it.
    pub(super) fn wait_ends(&self, start: Instant, deadline: Deadline) -> (Instant, bool) {
        let until = match self.wait {
            // Only a deadline that the client has chosen ends such a wait earlier.
            Some(wait) if !deadline.is_chosen() => start + wait,
            Some(wait) => deadline.at().min(start + wait),
            None => deadline.at().min(start + limits::CONSISTENCY_WAIT),
        };
        (until, self.wait.is_some())
    }

    /// Names each minimum version, and what the snapshot has of it.
    pub(super) fn not_seen(&self, snapshot: &Snapshot, waited: Duration) -> Error {
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
    use super::*;

    #[test]
    fn a_version_that_is_no_number_and_a_deadline_too_long_are_refused_by_field() {
        let version = v1::Consistency { min_nodes_resource_version: "007".into(), ..Default::default() };
        let text = MinimumVersions::parse(Some(&version)).unwrap_err().text();
        assert!(text.starts_with("consistency.min_nodes_resource_version: "), "{text}");
        let long = v1::Consistency { deadline_ms: Some(30_001), ..Default::default() };
        assert_eq!(MinimumVersions::parse(Some(&long)).unwrap_err().text(), "consistency.deadline_ms: at most 30000");
        assert_eq!(MinimumVersions::parse(None).unwrap(), None);
    }
}
