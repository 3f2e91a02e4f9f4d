//! Devices that the rows of a batch see, gathered once for all questions of a call: which rows see the same pools, their devices,
//! and the results of selectors on them. Start at [`Gathered::new`].

use std::sync::Arc;
use std::time::Duration;

use cpu_time::ThreadTime;
use nodesift_cache::{Devices, Row, SeenDevice, SeenPool};
use nodesift_sandbox::NoValue;
use nodesift_sandbox::wire::devices::Answer;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::lists::{Lists, number};
use crate::selectors::{self, Selectors};

/// The answer where no expressions can be evaluated. No policy has a predicate that asks without them.
const NO_SELECTORS: &str = "selector #0: CEL runtime error: expressions are not evaluated by this policy";

/// The answer of expressions that could not be evaluated now. No guest sees it: its call ends.
const LEFT_OUT: &str = "selector #0: CEL runtime error: the expressions of the pod's claims are not evaluated yet";

/// The pools that a row sees: the number of a list of pools, or the reason why they cannot be gathered.
pub(super) type Sight = Result<u32, Arc<str>>;

/// The pools that rows see, and the answers of selectors about their devices. A device has as many places as there are pools that
/// it is seen in.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Per row the number of its sight.
    pub(super) seen: Vec<u32>,
    /// Each once; some may be equal.
    pub(super) sights: Vec<Sight>,
    /// Lists of numbers of pools.
    listed: Lists,
    /// Each once; some may be equal.
    pub(super) pools: Vec<GatheredPool>,
    device_count: usize,
    answers: Mutex<FxHashMap<Vec<String>, Arc<Answers>>>,
    /// Processor time that expressions may take, and what they have taken of it.
    time: Duration,
    evaluated: Mutex<Duration>,
    /// Why expressions were left out, if any were.
    left_out: Mutex<Option<NoValue>>,
}

/// A pool that rows see.
#[derive(Debug)]
pub(super) struct GatheredPool {
    pub(super) pool: Arc<SeenPool>,
    /// The place of its first device.
    first: usize,
}

/// Outcomes of a list of expressions for all devices.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answers {
    distinct: Vec<Answer>,
    /// By place of a device, which of these.
    pub(super) codes: Vec<u32>,
}

impl Gathered {
    /// Gathers the pools that rows see. `time` is the processor time for expressions whose outcomes for the devices are not known.
    pub(super) fn new(table: &Devices, rows: &[Row], time: Duration) -> Self {
        let (seen, listed) = (Vec::with_capacity(rows.len()), Lists::with_capacity(rows.len()));
        let mut gathered = Self { seen, listed, time, ..Self::default() };
        let mut by_address: FxHashMap<usize, u32> = FxHashMap::default();
        let mut by_pool: FxHashMap<usize, u32> = FxHashMap::default();
        for map in [&mut by_address, &mut by_pool] {
            map.reserve(rows.len());
        }
        // By number of a list.
        let mut by_list: Vec<u32> = Vec::with_capacity(rows.len());
        let mut numbers: Vec<u32> = Vec::new();
        for row in rows {
            let sight = table.pools_of(*row);
            // Errors are no lists, but are elsewhere.
            let address = match &sight {
                Ok(pools) => pools.as_ptr().addr(),
                Err(error) => error.as_ptr().addr(),
            };
            if let Some(known) = by_address.get(&address) {
                gathered.seen.push(*known);
                continue;
            }
            let next = number(gathered.sights.len());
            let sight =
                match sight {
                    Ok(pools) => {
                        numbers.clear();
                        numbers.extend(pools.iter().map(|pool| {
                            *by_pool.entry(Arc::as_ptr(pool).addr()).or_insert_with(|| gathered.add(pool))
                        }));
                        let (list, is_new) = gathered.listed.number_of(&numbers);
                        if is_new {
                            gathered.sights.push(Ok(list));
                            by_list.push(next);
                        }
                        by_list.get(list as usize).copied().unwrap_or(next)
                    }
                    Err(error) => {
                        gathered.sights.push(Err(Arc::clone(error)));
                        next
                    }
                };
            by_address.insert(address, sight);
            gathered.seen.push(sight);
        }
        gathered
    }

    fn add(&mut self, pool: &Arc<SeenPool>) -> u32 {
        self.pools.push(GatheredPool { pool: Arc::clone(pool), first: self.device_count });
        self.device_count += pool.devices.len();
        number(self.pools.len() - 1)
    }

    /// How many places of devices there are.
    pub(super) fn device_count(&self) -> usize {
        self.device_count
    }

    /// The numbers of the pools of a sight, in kube-scheduler's order.
    pub(super) fn numbers_of(&self, list: u32) -> &[u32] {
        self.listed.get(list)
    }

    /// The pools of a sight, in kube-scheduler's order.
    pub(super) fn pools_of(&self, list: u32) -> impl Iterator<Item = &GatheredPool> {
        self.numbers_of(list).iter().filter_map(|pool| self.pools.get(*pool as usize))
    }

    /// Whether all expressions that were asked for are answered.
    ///
    /// # Errors
    ///
    /// [`NoValue::Deadline`] where some were left out because all of them take more than their time; [`NoValue::Overloaded`] where
    /// others evaluate meanwhile.
    pub(super) fn in_time(&self) -> Result<(), NoValue> {
        (*self.left_out.lock()).map_or(Ok(()), Err)
    }

    /// Outcomes that are one error for each device.
    fn all(&self, error: &str) -> Answers {
        Answers { distinct: vec![Answer::Error(error.into())], codes: vec![0; self.device_count] }
    }

    /// Outcomes of a list of expressions for each device.
    pub(super) fn answers(&self, selectors: Option<&Arc<Selectors>>, list: &[String]) -> Arc<Answers> {
        if let Some(known) = self.answers.lock().get(list) {
            return Arc::clone(known);
        }
        let answers = Arc::new(match selectors {
            Some(selectors) => {
                let devices = self.pools.iter().flat_map(|pool| &pool.pool.devices);
                match selectors.known(list, devices.clone().map(SeenDevice::id)) {
                    Some(matches) => Answers::from_matches(&matches),
                    None => {
                        let left = self.time.saturating_sub(*self.evaluated.lock());
                        // A thread that waits for a processor is no reason to set the pod aside.
                        let started = ThreadTime::now();
                        let answers = selectors.outcomes(list, devices.map(|seen| &seen.device), left);
                        *self.evaluated.lock() += started.elapsed();
                        answers.map(Answers::new).unwrap_or_else(|none| {
                            self.left_out.lock().get_or_insert(none);
                            self.all(LEFT_OUT)
                        })
                    }
                }
            }
            None => self.all(NO_SELECTORS),
        });
        self.answers.lock().insert(list.to_vec(), Arc::clone(&answers));
        answers
    }
}

impl GatheredPool {
    /// The pool's devices, each with its place among all gathered devices.
    pub(super) fn devices(&self) -> impl Iterator<Item = (usize, &SeenDevice)> {
        (self.first..).zip(&self.pool.devices)
    }
}

impl Answers {
    /// The answers without an error, indexed by code.
    const WITHOUT_ERRORS: [Answer; 2] = [Answer::No, Answer::Yes];

    fn from_matches(matches: &[bool]) -> Self {
        let codes = matches.iter().map(|matches| u32::from(*matches)).collect();
        Self { distinct: Self::WITHOUT_ERRORS.to_vec(), codes }
    }

    fn new(answers: Vec<selectors::Answer>) -> Self {
        let mut distinct = Self::WITHOUT_ERRORS.to_vec();
        let mut errors: FxHashMap<Arc<str>, u32> = FxHashMap::default();
        let code = |answer| match answer {
            selectors::Answer::No => 0,
            selectors::Answer::Yes => 1,
            selectors::Answer::Error(error) => *errors.entry(error).or_insert_with_key(|error| {
                distinct.push(Answer::Error(Arc::clone(error)));
                number(distinct.len() - 1)
            }),
        };
        let codes = answers.into_iter().map(code).collect();
        Self { distinct, codes }
    }

    /// Outcome for the device at a place.
    pub(super) fn at(&self, place: usize) -> Option<&Answer> {
        self.distinct.get(*self.codes.get(place)? as usize)
    }
}
