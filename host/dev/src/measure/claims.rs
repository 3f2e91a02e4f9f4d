//! Pods with claims over all nodes of a cluster with devices: cold, warm, and after a claim was allocated; and the time of an
//! expression that is new. Start at [`ClaimBed`].

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::pods::{self, Rounds};
use super::rounds::timed;
use super::testbed::{STRIDE, TestbedError};
use nodesift::cluster::compiler_of;
use nodesift_cache::metadata::{self, ClaimRecord};
use nodesift_cache::{Device, Identity, Reader, Row, SharedWriter, Writer};
use nodesift_engine::selectors::{Answer, Selectors};
use nodesift_engine::{ActivePolicy, Engine, Error, Options, PodRef, Query};
use nodesift_fixtures::synthetic::devices::{DRIVER, DeviceShape, PENDING, PendingPod, class_json};
use nodesift_object::{Kind, Object, ResourceClaim};
use nodesift_source::Loader;

/// Replicas of a pending pod for so many devices: all of them can be placed.
const DEVICES_OF_REPLICA: u32 = 8;
/// The most replicas of a pending pod.
const REPLICAS: u32 = 1_000;

/// The claim that [`ClaimBed::allocate`] allocates.
const ALLOCATED: &str = "bench-allocated";

/// A cluster with devices, and pending pods with claims.
#[derive(Debug)]
pub struct ClaimBed {
    writer: SharedWriter,
    reader: Reader,
    shape: DeviceShape,
    held: usize,
    /// Claims that [`Self::allocate`] allocates, one per round.
    more: Vec<ClaimRecord>,
}

/// Medians for one pod.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaimTimes {
    /// Number of nodes that fit.
    pub(crate) feasible: usize,
    /// Every predicate is evaluated over every node. What the pod's expressions say of each device is known.
    pub(crate) cold: Duration,
    /// A claim was allocated since the last evaluation: one device of one node is not free any more.
    pub(crate) allocated: Duration,
    /// Nothing has changed since the last evaluation: every verdict is cached.
    pub(crate) warm: Duration,
}

/// Attributes that a new expression reads of each device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Values that many devices have in common.
    Common,
    /// Values that no two devices have in common.
    Distinct,
}

impl ClaimBed {
    /// A synthetic cluster with replicas of [`PENDING`], in an empty cache. `applied` is called after every object of the
    /// cluster.
    ///
    /// # Errors
    ///
    /// If a synthetic object does not decode, which is a defect of this program.
    pub fn synthetic(
        mut writer: Writer,
        policy: &ActivePolicy,
        shape: DeviceShape,
        mut applied: impl FnMut(),
    ) -> Result<Self, TestbedError> {
        let compiler = compiler_of(policy, &mut writer);
        let mut loader = Loader::new(&compiler, &mut writer);
        let mut held = 0;
        for json in shape.nodes() {
            loader.apply(&Object::Node(serde_json::from_str(&json)?));
            applied();
        }
        loader.apply(&Object::DeviceClass(serde_json::from_str(&class_json())?));
        for json in shape.slices() {
            loader.apply(&Object::ResourceSlice(serde_json::from_str(&json)?));
            applied();
        }
        for json in shape.claims() {
            loader.apply(&Object::ResourceClaim(serde_json::from_str(&json)?));
            held += 1;
        }
        for pod in &PENDING {
            for replica in 0..replicas(shape) {
                loader.apply(&Object::ResourceClaim(serde_json::from_str(&pod.claim_json(replica))?));
                loader.apply(&Object::Pod(serde_json::from_str(&pod.pod_json(replica))?));
            }
        }
        loader.publish();
        let more = (0..shape.nodes).map(|node| shape.claim_on(ALLOCATED, node));
        let more = more.map(|json| Ok(metadata::resource_claim(&serde_json::from_str::<ResourceClaim>(&json)?)));
        let more = more.collect::<Result<_, serde_json::Error>>()?;
        Ok(Self { reader: writer.reader(), writer: Arc::new(Mutex::new(writer)), shape, held, more })
    }

    /// Returns the writer of the cache.
    pub(crate) fn writer(&self) -> &SharedWriter {
        &self.writer
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.shape.nodes as usize
    }

    /// Returns the number of devices.
    pub fn devices(&self) -> usize {
        self.nodes() * self.shape.devices_per_node as usize
    }

    /// Number of devices that claims hold.
    pub fn held(&self) -> usize {
        self.held
    }

    /// The names of the nodes, in the order of their rows.
    pub(crate) fn node_names(&self) -> Vec<String> {
        let snapshot = self.reader.snapshot();
        (0..self.shape.nodes).map(|row| snapshot.node_name(Row(row)).to_owned()).collect()
    }

    /// UIDs of the replicas of a pending pod.
    pub(crate) fn uids(&self, pod: &PendingPod) -> Vec<String> {
        (0..replicas(self.shape)).map(|replica| pod.uid(replica)).collect()
    }

    /// Allocates a claim and publishes. Each `round` takes another node. [`Self::release`] removes the claim.
    pub(crate) fn allocate(&self, round: usize) {
        let node = round.wrapping_mul(STRIDE).checked_rem(self.more.len());
        let Some(record) = node.and_then(|node| self.more.get(node)) else { return };
        let mut writer = self.writer.lock();
        writer.apply(record.clone());
        writer.publish();
    }

    /// Removes the claim that [`Self::allocate`] has allocated, and publishes.
    pub(crate) fn release(&self) {
        let mut writer = self.writer.lock();
        writer.remove(&Identity::new(Kind::ResourceClaim, &format!("bench/{ALLOCATED}")));
        writer.publish();
    }

    /// Returns all devices that nodes see, in the order of rows.
    fn all_devices(&self) -> Vec<Arc<Device>> {
        let snapshot = self.reader.snapshot();
        let seen = (0..self.shape.nodes).filter_map(|row| snapshot.devices().seen_by(Row(row)).ok());
        let of_pools = |pools: nodesift_cache::SeenPools| -> Vec<Arc<Device>> {
            pools.iter().flat_map(|pool| pool.devices.iter().map(|seen| Arc::clone(&seen.device))).collect()
        };
        seen.flat_map(of_pools).collect()
    }
}

fn replicas(shape: DeviceShape) -> u32 {
    (shape.nodes.saturating_mul(shape.devices_per_node) / DEVICES_OF_REPLICA).clamp(1, REPLICAS)
}

/// The evaluation that is measured: which nodes fit a pod, and which predicate rejects each of the others.
pub fn question(pod: &PendingPod) -> Query {
    Query::new([PodRef::Uid(pod.uid(0))])
}

/// Measures one pod. `uncached` reuses no verdicts, `caching` does; both read the cache of the cluster.
///
/// # Errors
///
/// If an evaluation fails.
pub(crate) fn measure(
    bed: &ClaimBed,
    uncached: &Engine,
    caching: &Engine,
    pod: &PendingPod,
    rounds: Rounds,
) -> Result<ClaimTimes, Error> {
    let question = question(pod);
    let answer = uncached.answer(&question, Options::default())?;
    let feasible = answer.pods.first().map_or(0, |pod| pod.feasible.len());
    let cold = pods::time(uncached, &question, rounds.cold)?;
    pods::evaluate(caching, &question)?;
    let warm = pods::time(caching, &question, rounds.warm)?;
    let allocated = timed(
        rounds.changed,
        |round| {
            // Before each round the cluster is as at the start, and the engine has verdicts about it.
            bed.release();
            pods::evaluate(caching, &question)?;
            bed.allocate(round);
            Ok(())
        },
        |()| pods::evaluate(caching, &question),
    );
    bed.release();
    Ok(ClaimTimes { feasible, cold: cold.median(), allocated: allocated?.median(), warm: warm.median() })
}

/// The median time until it is known what an expression that is new says of each device.
///
/// # Errors
///
/// Why an expression says nothing of a device.
pub(crate) fn new_expression(
    bed: &ClaimBed,
    selectors: &Selectors,
    reads: Reads,
    rounds: usize,
) -> Result<Duration, Arc<str>> {
    let devices = bed.all_devices();
    let times = timed(
        rounds,
        |round| {
            Ok(match reads {
                Reads::Common => format!(
                    "device.attributes['{DRIVER}'].model != 'round-{round}' && device.attributes['{DRIVER}'].numa < 1"
                ),
                Reads::Distinct => format!("device.attributes['{DRIVER}'].uuid != 'round-{round}'"),
            })
        },
        |expression| {
            let answers = selectors.outcomes(&[expression], devices.iter(), Duration::MAX);
            let answers = black_box(answers.map_err(|none| Arc::from(none.to_string()))?);
            let error = answers.into_iter().find_map(|answer| match answer {
                Answer::Error(error) => Some(error),
                Answer::No | Answer::Yes => None,
            });
            error.map_or(Ok(()), Err)
        },
    );
    times.map(|times| times.median())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use nodesift::cluster;
    use nodesift_cache as cache;

    fn bed(uuids: bool) -> (ClaimBed, Engine) {
        let (writer, reader) = cache::new();
        let engine = cluster::engine(reader, &cluster::PolicyArgs::default()).unwrap();
        let shape = DeviceShape { nodes: 20, devices_per_node: 8, uuids, seed: 1 };
        let bed = ClaimBed::synthetic(writer, &engine.policy(), shape, || ()).unwrap();
        assert_eq!((bed.nodes(), bed.devices(), bed.all_devices().len()), (20, 160, 160));
        assert!(bed.held() > 20 && bed.held() < 80, "{}", bed.held());
        (bed, engine)
    }

    #[test]
    fn every_figure_is_measured_for_every_pod_with_claims() {
        let (bed, caching) = bed(true);
        let reader = bed.reader.clone();
        let uncached = cluster::engine(reader, &cluster::PolicyArgs::default()).unwrap();
        let uncached = uncached.with_reuse(nodesift_engine::Reuse::Off);
        for pod in &PENDING {
            let times = measure(&bed, &uncached, &caching, pod, Rounds { cold: 2, warm: 2, changed: 2 }).unwrap();
            assert!([times.cold, times.warm, times.allocated].iter().all(|time| !time.is_zero()), "{times:?}");
            assert!(times.feasible > 0 && times.feasible < bed.nodes(), "{times:?}");
        }
    }

    #[test]
    fn one_device_of_one_node_is_allocated_at_a_time() {
        let (bed, _) = bed(true);
        let free = || -> Vec<usize> {
            let snapshot = bed.reader.snapshot();
            let of_row = |row| {
                snapshot.devices().seen_by(Row(row)).unwrap()[0].devices.iter().filter(|seen| !seen.exclusive()).count()
            };
            (0..20).map(of_row).collect()
        };
        let before = free();
        assert_eq!(before.iter().sum::<usize>(), bed.devices() - bed.held());
        for round in 0..20 {
            bed.allocate(round);
            let fewer: Vec<usize> = before.iter().zip(free()).map(|(before, now)| before - now).collect();
            assert_eq!(fewer.iter().sum::<usize>(), 1);
            assert_eq!(fewer[round * STRIDE % 20], 1);
        }
        bed.release();
        assert_eq!(free(), before);
    }

    #[test]
    fn new_expressions_are_evaluated_and_a_broken_one_is_an_error() {
        let new = |uuids: bool, reads: Reads, rounds: usize| {
            let (bed, engine) = bed(uuids);
            new_expression(&bed, engine.policy().selectors.as_ref().unwrap(), reads, rounds)
        };
        for reads in [Reads::Common, Reads::Distinct] {
            assert!(!new(true, reads, 2).unwrap().is_zero());
        }
        assert!(new(false, Reads::Distinct, 1).unwrap_err().contains("uuid"));
    }
}
