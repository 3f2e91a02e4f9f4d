//! Host ports that the pod wants, and nodes on which they are in use. Start at [`collect`].

use super::Draft;
use crate::Error;
use crate::limits::WHY_FACTS;
use crate::why::answer::NamedFact;
use crate::why::view::View;
use crate::why::words::Words;

/// Adds one fact for each host port that is in use on some node.
///
/// # Errors
///
/// [`Error::DeadlineExceeded`].
pub(super) fn collect(view: &View<'_>, draft: &mut Draft<'_>) -> Result<(), Error> {
    let (context, batch, rows) = (view.context, &view.rejections.batch, view.rejections.rows);
    let snapshot = context.snapshot();
    let (codes, sets) = (snapshot.port_codes().flat(), snapshot.port_sets().flat());
    let wanted = &context.pod().host_ports;
    draft.evidence.omitted = wanted.len().saturating_sub(WHY_FACTS);
    for port in wanted.iter().take(WHY_FACTS) {
        view.check()?;
        let conflicts: Vec<bool> =
            sets.iter().map(|set| set.iter().any(|(taken, _)| port.conflicts_with(taken))).collect();
        let in_use = Words::from_test(rows, |row| {
            codes.get(row).and_then(|code| conflicts.get(*code as usize)).copied().unwrap_or(false)
        });
        let in_use = in_use.and(batch);
        if !in_use.is_empty() && draft.admits(&in_use) {
            let value = format!("{}:{}/{}", port.ip, port.port, port.protocol);
            draft.evidence.facts.push(NamedFact { name: "hostPort", value, nodes: Some(in_use.count()) });
        }
    }
    Ok(())
}
