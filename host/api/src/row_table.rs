//! The table of rows on the wire: what differs from the table that a core has, and `NodeIndex`, which follows it.
//!
//! Start at [`row_table`] for what comes with an answer, at [`follow`] for the stream.

use std::num::NonZero;
use std::sync::Arc;

use futures_util::{Stream, stream};
use nodesift_proto::v1;
use tokio::sync::OwnedSemaphorePermit;

use super::service::Service;
use super::{Error, Readiness};
use crate::limits;
use nodesift_cache::{Epoch, Generation, Reader, Row, Snapshot};

/// A table that a core has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    epoch: Epoch,
    generation: Generation,
}

impl Known {
    /// The table of which a request speaks; none where the core has none.
    fn of(known: &v1::Bitmaps) -> Option<Self> {
        let epoch = Epoch(NonZero::new(known.epoch)?);
        Some(Self { epoch, generation: Generation(known.generation) })
    }

    /// The table of a snapshot.
    fn by(snapshot: &Snapshot) -> Self {
        Self { epoch: snapshot.epoch(), generation: snapshot.node_index_generation() }
    }
}

/// Rows to tell, and whether they are all there are.
#[derive(Debug)]
struct Changes {
    rows: Vec<Row>,
    whole: bool,
}

impl Changes {
    /// What makes the snapshot's table of the one that is known, from an empty one where nothing shorter does.
    fn since(known: Option<Known>, snapshot: &Snapshot) -> Self {
        let same_epoch = known.filter(|known| known.epoch == snapshot.epoch());
        match same_epoch.and_then(|known| snapshot.node_index_difference(known.generation)) {
            Some(rows) => Self { rows, whole: false },
            None => Self { rows: (0..count(snapshot)).map(Row).collect(), whole: true },
        }
    }
}

/// The table that an answer's bitmaps refer to, as what is different from the one that the core has.
pub(super) fn row_table(snapshot: &Snapshot, known: &v1::Bitmaps) -> v1::RowTable {
    let changes = Changes::since(Known::of(known), snapshot);
    message(snapshot, &changes.rows, changes.whole)
}

fn message(snapshot: &Snapshot, rows: &[Row], whole: bool) -> v1::RowTable {
    let table = Known::by(snapshot);
    let change = |row: &Row| v1::RowName { row: row.0, node: snapshot.node_name(*row).to_owned() };
    v1::RowTable {
        epoch: table.epoch.0.get(),
        generation: table.generation.0,
        count: count(snapshot),
        whole,
        changes: rows.iter().map(change).collect(),
    }
}

/// Rows are u32, so their number always fits.
fn count(snapshot: &Snapshot) -> u32 {
    u32::try_from(snapshot.node_count()).unwrap_or(u32::MAX)
}

/// `NodeIndex`: what is different from the table that the core has, then every change, until the core or the process ends.
pub(super) fn follow(
    service: &Service,
    request: v1::NodeIndexRequest,
) -> Result<impl Stream<Item = v1::NodeIndexResponse> + Send + use<>, Error> {
    service.check()?;
    let follower = Follower {
        reader: service.reader().clone(),
        readiness: service.readiness().clone(),
        known: Known::of(&request.known.unwrap_or_default()),
        telling: None,
        has_told: false,
        _place: service.stream_permit()?,
    };
    Ok(stream::unfold(follower, |mut follower| async move {
        let message = follower.next().await?;
        Some((message, follower))
    }))
}

/// One stream.
struct Follower {
    reader: Reader,
    readiness: Readiness,
    /// The table that the core has once it has read everything so far.
    known: Option<Known>,
    telling: Option<Telling>,
    /// Whether the core has been told of any table: the first message comes even where nothing is different.
    has_told: bool,
    _place: OwnedSemaphorePermit,
}

/// A table that is being told, in messages of a bounded size.
struct Telling {
    snapshot: Arc<Snapshot>,
    changes: Changes,
    told: usize,
}

impl Follower {
    /// The next message; none once the process is about to end. What is published while the core reads is told together.
    async fn next(&mut self) -> Option<v1::NodeIndexResponse> {
        let mut telling = match self.telling.take() {
            Some(telling) => telling,
            None => {
                let (known, has_told) = (self.known, self.has_told);
                let is_news = |snapshot: &Snapshot| !has_told || known != Some(Known::by(snapshot));
                let snapshot = tokio::select! {
                    () = self.readiness.drained() => return None,
                    snapshot = self.reader.snapshot_when(is_news) => snapshot,
                };
                let changes = Changes::since(known, &snapshot);
                Telling { snapshot, changes, told: 0 }
            }
        };
        let (message, is_last) = telling.next();
        if is_last {
            self.known = Some(Known::by(&telling.snapshot));
            self.has_told = true;
        } else {
            self.telling = Some(telling);
        }
        Some(v1::NodeIndexResponse { rows: Some(message), complete: is_last })
    }
}

impl Telling {
    /// The next part, and whether it is the last. Only the first can say that what was known before is void.
    fn next(&mut self) -> (v1::RowTable, bool) {
        let rest = self.changes.rows.get(self.told..).unwrap_or_default();
        let part = rest.get(..limits::ROW_TABLE_PART).unwrap_or(rest);
        let message = message(&self.snapshot, part, self.changes.whole && self.told == 0);
        self.told += part.len();
        (message, part.len() == rest.len())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use nodesift_cache as cache;
    use nodesift_cache::metadata;

    #[test]
    fn a_large_table_comes_in_parts_of_which_the_first_voids_what_was_known() {
        let (mut writer, reader) = cache::new();
        let nodes = limits::ROW_TABLE_PART * 2 + 1;
        for node in 0..nodes {
            let json = format!(r#"{{"metadata":{{"name":"node-{node}"}}}}"#);
            writer.apply_node(&metadata::node(&serde_json::from_str(&json).unwrap()));
        }
        writer.publish();
        let snapshot = reader.snapshot();
        let changes = Changes::since(None, &snapshot);
        let mut telling = Telling { snapshot, changes, told: 0 };
        let parts: Vec<(v1::RowTable, bool)> = (0..3).map(|_| telling.next()).collect();
        let form: Vec<(bool, usize, bool)> =
            parts.iter().map(|(rows, last)| (rows.whole, rows.changes.len(), *last)).collect();
        let part = limits::ROW_TABLE_PART;
        assert_eq!(form, [(true, part, false), (false, part, false), (false, 1, true)]);
        let told = parts.iter().flat_map(|(rows, _)| &rows.changes);
        for (row, told) in told.enumerate() {
            assert_eq!((told.row as usize, told.node.as_str()), (row, format!("node-{row}").as_str()));
        }
    }

    #[test]
    fn a_table_of_another_epoch_is_void_and_the_same_table_is_no_news() {
        let (mut writer, reader) = cache::new();
        writer.apply_node(&metadata::node(&serde_json::from_str(r#"{"metadata":{"name":"a"}}"#).unwrap()));
        writer.publish();
        let snapshot = reader.snapshot();
        let told = row_table(&snapshot, &v1::Bitmaps::default());
        assert!(told.epoch != 0 && told.whole && told.count == 1 && told.changes.len() == 1, "{told:?}");
        let known = v1::Bitmaps { epoch: told.epoch, generation: told.generation };
        let again = row_table(&snapshot, &known);
        assert!(!again.whole && again.changes.is_empty() && again.generation == told.generation, "{again:?}");
        let other = v1::Bitmaps { epoch: told.epoch ^ 1, ..known };
        assert_eq!(row_table(&snapshot, &other), told);
    }
}
