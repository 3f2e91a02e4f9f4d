//! `NodeIndex`: the node index as a stream of differences, until the core or the process ends.
//!
//! A stream holds no thread. What is published while the core reads comes in one difference. Start at [`follow`].

use std::sync::Arc;

use futures_util::{Stream, stream};
use nodesift_proto::v1;

use super::node_index::{Difference, IndexVersion, message};
use crate::{Error, Readiness, Service, limits};
use nodesift_cache::{Reader, Snapshot};
use nodesift_edge::places::Place;

/// Streams the difference from the index that the core knows, then every later one.
///
/// # Errors
///
/// [`Error::NotReady`], [`Error::Stale`].
pub(crate) fn follow(
    service: &Service,
    request: v1::NodeIndexRequest,
    place: Place,
) -> Result<impl Stream<Item = v1::NodeIndexResponse> + Send + use<>, Error> {
    service.check()?;
    let state = NodeIndexStream {
        reader: service.reader().clone(),
        readiness: service.readiness().clone(),
        known: IndexVersion::known(&request.known.unwrap_or_default()),
        partial: None,
        has_sent: false,
        place,
    };
    Ok(stream::unfold(state, |mut state| async move {
        let message = state.next().await?;
        Some((message, state))
    }))
}

/// The state of one stream.
struct NodeIndexStream {
    reader: Reader,
    readiness: Readiness,
    /// The index that the core knows once it has read everything so far.
    known: Option<IndexVersion>,
    partial: Option<PartialUpdate>,
    /// Whether an index has been sent: the first message comes even where nothing differs.
    has_sent: bool,
    place: Place,
}

/// A difference that is sent in messages of a bounded size.
struct PartialUpdate {
    snapshot: Arc<Snapshot>,
    difference: Difference,
    /// Rows that have been sent.
    sent: usize,
}

impl NodeIndexStream {
    /// The next message; none once the process drains.
    async fn next(&mut self) -> Option<v1::NodeIndexResponse> {
        let mut update = match self.partial.take() {
            Some(update) => update,
            None => {
                let (known, has_sent) = (self.known, self.has_sent);
                let differs = |snapshot: &Snapshot| !has_sent || known != Some(IndexVersion::new(snapshot));
                let snapshot = tokio::select! {
                    () = self.readiness.drained() => return None,
                    () = self.place.dismissed() => return None,
                    snapshot = self.reader.snapshot_when(differs) => snapshot,
                };
                let difference = Difference::between(known, &snapshot);
                PartialUpdate { snapshot, difference, sent: 0 }
            }
        };
        self.place.activity().touch();
        let (message, is_last) = update.next();
        if is_last {
            self.known = Some(IndexVersion::new(&update.snapshot));
            self.has_sent = true;
        } else {
            self.partial = Some(update);
        }
        Some(v1::NodeIndexResponse { rows: Some(message), complete: is_last })
    }
}

impl PartialUpdate {
    /// The next part, and whether it is the last. Only the first part can replace what was known.
    fn next(&mut self) -> (v1::RowTable, bool) {
        let rest = self.difference.rows.get(self.sent..).unwrap_or_default();
        let part = rest.get(..limits::NODE_INDEX_PART).unwrap_or(rest);
        let message = message(&self.snapshot, part, self.difference.whole && self.sent == 0);
        let is_last = part.len() == rest.len();
        self.sent += part.len();
        (message, is_last)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use nodesift_cache::{self as cache, metadata};

    #[test]
    fn a_large_index_comes_in_parts_of_which_the_first_replaces_what_was_known() {
        let (mut writer, reader) = cache::new();
        let nodes = limits::NODE_INDEX_PART * 2 + 1;
        for node in 0..nodes {
            let json = format!(r#"{{"metadata":{{"name":"node-{node}"}}}}"#);
            writer.apply(metadata::node(&serde_json::from_str(&json).unwrap()));
        }
        writer.publish();
        let snapshot = reader.snapshot();
        let difference = Difference::between(None, &snapshot);
        let mut update = PartialUpdate { snapshot, difference, sent: 0 };
        let parts: Vec<(v1::RowTable, bool)> = (0..3).map(|_| update.next()).collect();
        let form: Vec<(bool, usize, bool)> =
            parts.iter().map(|(rows, last)| (rows.whole, rows.changes.len(), *last)).collect();
        let part = limits::NODE_INDEX_PART;
        assert_eq!(form, [(true, part, false), (false, part, false), (false, 1, true)]);
        let sent = parts.iter().flat_map(|(rows, _)| &rows.changes);
        for (row, sent) in sent.enumerate() {
            assert_eq!((sent.row as usize, sent.node.as_str()), (row, format!("node-{row}").as_str()));
        }
    }
}
