//! The score of a pod on all rows: how early in their lists the alternatives are that its requests get. Start at [`score`].

use crate::facts::{Broken, Facts};
use crate::filter::{Outcome, search_one, situation_of};
use crate::fit::Fits;
use crate::layout::Layout;
use crate::picks::Given;
use crate::plan::Plan;
use crate::pod::{Pod, Task};
use crate::search::{Ending, Search};
use crate::switches::Switches;

/// Alternatives that a request may list, and the worth of the first one. Source: `FirstAvailableDeviceRequestMaxSize` of the API.
const FIRST: i64 = 8;

/// Per row the sum, over requests with alternatives, of 8 for the first alternative, 7 for the second, and so on. Alternatives that
/// allocated claims have got before count as well, but only on rows where another claim gets devices: 0 where nothing is to be allocated.
/// Each distinct situation is searched once, as by [`filter`](crate::filter()), and none where no claim that is to be allocated lists
/// alternatives: what a row has that cannot give the pod its devices does not matter.
///
/// # Errors
/// The host's facts contradict themselves.
pub fn score(facts: &impl Facts, rows: usize, switches: &Switches) -> Result<Vec<i64>, Broken> {
    let mut scores = vec![0; rows];
    let Ok(pod) = Pod::resolve(facts, rows, switches)? else { return Ok(scores) };
    let open = |row: &usize| matches!(pod.task(*row), Task::Allocate(_));
    if !(0..rows).any(|row| open(&row)) {
        return Ok(scores);
    }
    let chosen = pod.allocated().flat_map(|claim| facts.chosen(claim));
    // Of what the host says of a status, which a driver may write.
    let before = chosen.fold(0_i64, |sum, alternative| sum.saturating_add((FIRST - i64::from(alternative)).max(0)));
    if !pod.has_alternatives() {
        scores.iter_mut().enumerate().filter(|(row, _)| open(row)).for_each(|(_, score)| *score = before);
        return Ok(scores);
    }
    let (plans, query) = pod.plans(switches)?;
    let mut devices = facts.devices(&query);
    devices.hide(&query, switches);
    let layout = Layout::try_new(&devices, &query, rows)?;
    let mut steps = 0;
    for (number, plan) in plans.iter().enumerate() {
        let fits = Fits::new(plan, &devices)?;
        let given = Given { plan, devices: &devices, layout: &layout, fits: &fits, attributes: query.attributes.len() };
        let mut search = Search::new(given);
        let mut known: Vec<Option<i64>> = vec![None; devices.situations.len()];
        for (row, score) in scores.iter_mut().enumerate().filter(|(row, _)| pod.task(*row) == Task::Allocate(number)) {
            let situation = situation_of(&devices, row)?;
            let known = known.get_mut(situation).ok_or(Broken::Situations)?;
            if known.is_none() {
                search.continue_after(steps);
                let outcome = search_one(&mut search, &devices, situation)?;
                let is_found = matches!(outcome, Outcome::Searched(Ending::Found));
                steps += u64::from(search.steps());
                *known = Some(if is_found { before.saturating_add(worth(plan, &search)) } else { 0 });
            }
            *score = known.unwrap_or(0);
        }
    }
    Ok(scores)
}

/// The worth of the alternatives that a search has picked: each that has a device counts, and there can be several of one request.
fn worth(plan: &Plan<'_>, search: &Search<'_>) -> i64 {
    let alternatives = plan.requests.iter().filter(|request| request.has_alternatives);
    let chosen = alternatives.flat_map(|request| request.asked.clone());
    let chosen = chosen.filter(|asked| search.picks().iter().any(|pick| pick.asked == *asked));
    chosen.filter_map(|asked| plan.asked.get(asked)).map(|asked| FIRST - i64::from(asked.alternative)).sum()
}
