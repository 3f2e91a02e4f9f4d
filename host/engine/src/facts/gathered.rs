//! What the rows of a batch see, gathered once for all questions of a call: which rows see the same, the devices among it, and what
//! selectors say of them. Start at [`Gathered::of`].

use std::sync::Arc;

use nodesift_cache::{Device, Devices, Row, SeenPools};
use nodesift_sandbox::wire::devices::Answer;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::selectors::{self, Selectors};

/// The answer where no expressions can be evaluated. No policy has a predicate that asks without them.
const NO_SELECTORS: &str = "selector #0: CEL runtime error: expressions are not evaluated by this policy";

/// The pools that a row sees, or why they cannot be gathered.
pub(super) type Sight = Result<SeenPools, Arc<str>>;

/// What rows see.
#[derive(Debug)]
pub(super) struct Gathered {
    /// Per row the number of its sight.
    pub(super) seen: Vec<u32>,
    /// Each once; some may be equal.
    pub(super) sights: Vec<Sight>,
    /// The devices in them, each once.
    devices: Vec<Arc<Device>>,
    /// By the address of a device, its place among them.
    places: FxHashMap<usize, u32>,
    /// By list of expressions, one per device.
    answers: Mutex<FxHashMap<Vec<String>, Arc<[Answer]>>>,
}

impl Gathered {
    /// What rows see.
    pub(super) fn of(table: &Devices, rows: &[Row]) -> Self {
        let mut sights: Vec<Sight> = Vec::new();
        let mut known: FxHashMap<Vec<usize>, u32> = FxHashMap::default();
        let mut seen = Vec::with_capacity(rows.len());
        for row in rows {
            let sight = table.seen_by(*row);
            let identity = match &sight {
                Ok(pools) => pools.iter().map(|pool| Arc::as_ptr(pool) as usize).collect(),
                // No pool is at an odd address.
                Err(error) => vec![1, error.as_ptr() as usize],
            };
            seen.push(*known.entry(identity).or_insert_with(|| {
                sights.push(sight);
                number(sights.len() - 1)
            }));
        }
        let mut gathered =
            Self { seen, sights, devices: Vec::new(), places: FxHashMap::default(), answers: Mutex::default() };
        gathered.list_devices();
        gathered
    }

    fn list_devices(&mut self) {
        let mut met: FxHashSet<usize> = FxHashSet::default();
        for pool in self.sights.iter().flatten().flat_map(|pools| pools.iter()) {
            if !met.insert(Arc::as_ptr(pool) as usize) {
                continue;
            }
            for seen in &pool.devices {
                let next = number(self.devices.len());
                if *self.places.entry(Arc::as_ptr(&seen.device) as usize).or_insert(next) == next {
                    self.devices.push(Arc::clone(&seen.device));
                }
            }
        }
    }

    /// How many devices there are.
    pub(super) fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// The place of a device.
    pub(super) fn place(&self, device: &Arc<Device>) -> usize {
        self.places.get(&(Arc::as_ptr(device) as usize)).copied().unwrap_or(0) as usize
    }

    /// What a list of expressions says of each device.
    pub(super) fn answers(&self, selectors: Option<&Arc<Selectors>>, list: &[String]) -> Arc<[Answer]> {
        if let Some(known) = self.answers.lock().get(list) {
            return Arc::clone(known);
        }
        let answers: Arc<[Answer]> = match selectors {
            Some(selectors) => selectors.outcomes(list, self.devices.iter()).into_iter().map(answer).collect(),
            None => vec![Answer::Error(NO_SELECTORS.into()); self.devices.len()].into(),
        };
        self.answers.lock().insert(list.to_vec(), Arc::clone(&answers));
        answers
    }
}

fn answer(answer: selectors::Answer) -> Answer {
    match answer {
        selectors::Answer::No => Answer::No,
        selectors::Answer::Yes => Answer::Yes,
        selectors::Answer::Error(error) => Answer::Error(error),
    }
}

/// A length or place. The cache holds fewer devices than numbers there are.
pub(super) fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
