//! Stances of external parties on the nodes for a pod, as a table of `explain`. Start at [`parties`].

use comfy_table::{Cell, CellAlignment, Color};
use nodesift_proto::v1;
use nodesift_proto::wkt::Timestamp;

use crate::terminal::{Paint, escaped, render, table};

/// Table of each party's stance, the number of its nodes, and the time since when it has held at `now`, in seconds since
/// 1970-01-01T00:00:00Z. Empty without parties.
pub(super) fn parties(stances: &[v1::PartyStance], now: i64, paint: Paint) -> String {
    let mut table = table(paint, &["party", "said", "nodes", "since"], &[2, 3]);
    for stance in stances {
        let (said, colour) = match stance.said.as_str() {
            "Accepted" => ("accepted", Color::Green),
            "Refused" => ("refused", Color::Red),
            "Silent" => ("silent", Color::Yellow),
            "NotAsked" => ("not asked", Color::Yellow),
            "Allocating" => ("allocating", Color::Yellow),
            "Allocated" => ("allocated", Color::Green),
            other => (other, Color::Reset),
        };
        let said = if stance.reason.is_empty() { said.to_owned() } else { format!("{said}: {}", stance.reason) };
        let since = stance.since.as_ref().map(|since| elapsed(since, now)).unwrap_or_default();
        table.add_row([
            Cell::new(escaped(&stance.party)),
            paint.cell(escaped(&said), colour),
            Cell::new(stance.nodes).set_alignment(CellAlignment::Right),
            Cell::new(since).set_alignment(CellAlignment::Right),
        ]);
    }
    if table.is_empty() { String::new() } else { format!("{}\n", render(&table)) }
}

/// The time from one moment to another, in whole seconds or minutes; none where the clocks disagree.
fn elapsed(since: &Timestamp, now: i64) -> String {
    let seconds = now.saturating_sub(since.seconds).max(0);
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds / 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parties_are_listed_with_what_they_have_said_and_for_how_long() {
        let now = 10_000;
        let stance = |party: &str, said: &str, reason: &str, nodes, since: Option<i64>| v1::PartyStance {
            party: party.into(),
            said: said.into(),
            reason: reason.into(),
            nodes,
            since: since.map(|seconds| Timestamp { seconds, nanos: 999_000_000 }),
        };
        let stances = [
            stance("licences", "Refused", "no free\rlicence", 12, Some(9_988)),
            stance("licences", "Accepted", "", 1, Some(9_000)),
            stance("uplink", "Silent", "", 1, Some(10_001)),
            stance("disk", "NotAsked", "it does not attend", 13, None),
        ];
        let expected = [
            " party     said                           nodes   since",
            "───────────────────────────────────────────────────────",
            " licences  refused: no free\\u{d}licence      12    12 s",
            " licences  accepted                           1  16 min",
            " uplink    silent                             1     0 s",
            " disk      not asked: it does not attend     13",
            "",
        ];
        assert_eq!(parties(&stances, now, Paint::PLAIN), expected.join("\n"));
        assert_eq!(parties(&[], now, Paint::PLAIN), "");
    }
}
