//! The answer for all rows: each distinct situation is searched once. Start at [`filter`].

use crate::facts::{Broken, Devices, Facts, Query, Situation};
use crate::fit::Fits;
use crate::layout::Layout;
use crate::picks::Given;
use crate::plan::Plan;
use crate::pod::{Pod, Task};
use crate::problem::Problem;
use crate::search::{Ending, Search};
use crate::switches::Switches;
use crate::verdict::{Codes, Failure, Verdict};

/// The verdict, and what it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filtered {
    /// Verdict of the pod on all rows.
    pub verdict: Verdict,
    /// Work that the searches for the verdict took.
    pub effort: Effort,
}

/// Work of the searches for one pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Number of situations that were searched.
    pub searches: u32,
    /// Steps in all of them.
    pub steps: u64,
    /// Steps in the one with most.
    pub most_steps: u32,
}

/// Which rows can give the pod the devices of its claims.
///
/// # Errors
/// The host's facts contradict themselves.
pub fn filter(facts: &impl Facts, rows: usize, switches: &Switches) -> Result<Filtered, Broken> {
    let mut effort = Effort::default();
    let pod = match Pod::resolve(facts, rows, switches)? {
        Ok(pod) if pod.is_without_claims() => return Ok(Filtered { verdict: Verdict::FitsAll, effort }),
        Ok(pod) => pod,
        Err(obstacle) => {
            return Ok(Filtered { verdict: Verdict::FitsNone(Failure::before_rows(obstacle)), effort });
        }
    };
    let mut failures = Codes::default();
    let mut codes = vec![0; rows];
    let mut searched: Vec<(usize, usize)> = Vec::new();
    for (row, code) in codes.iter_mut().enumerate() {
        match pod.task(row) {
            Task::Nothing | Task::Use => {}
            Task::Reject(text) => *code = failures.code(Failure::Unresolvable(text.to_owned())),
            Task::Allocate(plan) => searched.push((row, plan)),
        }
    }
    if !searched.is_empty() {
        let (plans, mut query) = pod.plans(switches)?;
        let (failures, effort) = (&mut failures, &mut effort);
        let answers = &mut Answers { facts, plans: &plans, switches, rows, failures, effort };
        let nameless = answers.search(&query, &searched, &mut codes)?;
        if !nameless.is_empty() {
            query.names = true;
            if !answers.search(&query, &nameless, &mut codes)?.is_empty() {
                return Err(Broken::Names);
            }
        }
    }
    let mut unavailable = None;
    for (row, code) in codes.iter_mut().enumerate() {
        // The text of a search counts first; where there is nothing to do, nothing is looked at.
        if *code == 0 && pod.task(row) != Task::Nothing && !pod.is_available(row) {
            let text = "resourceclaim not available on the node";
            *code = *unavailable.get_or_insert_with(|| failures.code(Failure::Unresolvable(text.to_owned())));
        }
    }
    Ok(Filtered { verdict: Verdict::ByRow { codes, failures: failures.into_failures() }, effort })
}

/// Searches for the rows of a pod, with the failures found so far.
struct Answers<'a, F> {
    facts: &'a F,
    plans: &'a [Plan<'a>],
    switches: &'a Switches,
    rows: usize,
    failures: &'a mut Codes,
    effort: &'a mut Effort,
}

/// Answer that is known for a situation.
#[derive(Debug, Clone, Copy)]
enum Known {
    Nothing,
    Code(u32),
    /// Its text names pools or devices, which were not asked for.
    Nameless,
}

impl<F: Facts> Answers<'_, F> {
    /// Searches for rows with their plans. Returns those whose texts need names.
    fn search(
        &mut self,
        query: &Query,
        searched: &[(usize, usize)],
        codes: &mut [u32],
    ) -> Result<Vec<(usize, usize)>, Broken> {
        let mut devices = self.facts.devices(query);
        devices.hide(query, self.switches);
        let layout = Layout::try_new(&devices, query, self.rows)?;
        let mut nameless = Vec::new();
        for (number, plan) in self.plans.iter().enumerate() {
            let fits = Fits::new(plan, &devices)?;
            let given =
                Given { plan, devices: &devices, layout: &layout, fits: &fits, attributes: query.attributes.len() };
            let mut search = Search::without_picks(given);
            let mut known = vec![Known::Nothing; devices.situations.len()];
            for (row, _) in searched.iter().filter(|(_, plan)| *plan == number) {
                let situation = situation_of(&devices, *row)?;
                let known = known.get_mut(situation).ok_or(Broken::Situations)?;
                if let Known::Nothing = known {
                    *known = self.answer(&mut search, given, situation, query.names)?;
                }
                match known {
                    Known::Code(code) => *codes.get_mut(*row).ok_or(Broken::Rows)? = *code,
                    Known::Nameless | Known::Nothing => nameless.push((*row, number)),
                }
            }
        }
        Ok(nameless)
    }

    fn answer(
        &mut self,
        search: &mut Search<'_>,
        given: Given<'_>,
        situation: usize,
        named: bool,
    ) -> Result<Known, Broken> {
        search.continue_after(self.effort.steps);
        let failure = match search_one(search, given.devices, situation)? {
            Outcome::Gathering(error) => Failure::in_filter(&format!("gather pool information: {error}")),
            Outcome::Searched(ending) => {
                self.effort.searches += 1;
                self.effort.steps += u64::from(search.steps());
                self.effort.most_steps = self.effort.most_steps.max(search.steps());
                match ending {
                    Ending::Found => return Ok(Known::Code(0)),
                    Ending::NotFound => Failure::Unresolvable("cannot allocate all claims".to_owned()),
                    Ending::InvalidPools => Failure::Unresolvable("invalid resource pools were encountered".to_owned()),
                    Ending::Problem(Problem::Steps) if !self.switches.timeout_is_error => {
                        Failure::Unresolvable(Problem::TIMED_OUT.to_owned())
                    }
                    Ending::Problem(problem) => match problem.text(given, named, self.facts)? {
                        Some(text) => Failure::in_filter(&text),
                        None => return Ok(Known::Nameless),
                    },
                }
            }
        };
        Ok(Known::Code(self.failures.code(failure)))
    }
}

/// Outcome of one situation: the ending of its search, or the error in gathering its pools.
pub(crate) enum Outcome<'a> {
    /// Its pools could not be gathered.
    Gathering(&'a str),
    /// The situation was searched.
    Searched(Ending),
}

/// Searches in one situation.
///
/// # Errors
/// It does not exist, or facts contradict themselves.
pub(crate) fn search_one<'a>(
    search: &mut Search<'_>,
    devices: &'a Devices,
    situation: usize,
) -> Result<Outcome<'a>, Broken> {
    match devices.situations.get(situation).ok_or(Broken::Situations)? {
        Situation::Error(error) => Ok(Outcome::Gathering(error)),
        Situation::Pools(_) => Ok(Outcome::Searched(search.run(situation)?)),
    }
}

/// The number of a row's situation.
///
/// # Errors
/// The row has none.
pub(crate) fn situation_of(devices: &Devices, row: usize) -> Result<usize, Broken> {
    Ok(*devices.codes.get(row).ok_or(Broken::Rows)? as usize)
}
