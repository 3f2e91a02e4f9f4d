//! `Headroom`: how much more a pod may take of its node. Start at [`Headroom`].

use nodesift_proto::v1::{Consistency, HeadroomRequest, HeadroomResponse, NamedAmount, ResourceHeadroom};

use super::driver::Call;
use super::{request, response};
use crate::admission::deadline::Deadline;
use crate::admission::staleness::Staleness;
use crate::error::at_most;
use crate::{Error, limits};
use nodesift_engine::{self as engine, Engine, PodRef};

/// Marker type of the call `Headroom`.
pub(crate) enum Headroom {}

/// Checked request of `Headroom`.
pub(crate) struct Parsed {
    pod: PodRef,
    /// Amounts by resource, each above or equal to zero.
    amounts: Vec<(String, i64)>,
}

impl Call for Headroom {
    type Request = HeadroomRequest;
    type Parsed = Parsed;
    type Response = HeadroomResponse;

    fn consistency(request: &HeadroomRequest) -> Option<&Consistency> {
        request.consistency.as_ref()
    }

    fn timeout_ms(request: &HeadroomRequest) -> Option<u32> {
        request.timeout_ms
    }

    fn held_bytes(request: &HeadroomRequest) -> usize {
        request.amounts.len().saturating_mul(limits::NAME_BYTES)
    }

    fn is_small(_: &HeadroomRequest) -> bool {
        true
    }

    fn parse(request: HeadroomRequest) -> Result<Parsed, Error> {
        at_most("amounts", request.amounts.len(), limits::REQUEST_AMOUNTS)?;
        let pod = request::pod_ref("pod", request.pod.unwrap_or_default())?;
        let amount = |(at, NamedAmount { name, amount }): (usize, NamedAmount)| match amount {
            0.. => Ok((name, amount)),
            _ => Err(Error::invalid(
                format!("amounts[{at}].amount"),
                "is below zero: ask for an increase, a decrease always fits",
            )),
        };
        let amounts = request.amounts.into_iter().enumerate().map(amount).collect::<Result<_, Error>>()?;
        Ok(Parsed { pod, amounts })
    }

    fn answer(
        engine: &Engine,
        staleness: &Staleness,
        _: Deadline,
        parsed: &mut Parsed,
    ) -> Result<HeadroomResponse, Error> {
        let found = engine.headroom(&parsed.pod, &parsed.amounts, &engine.snapshot())?;
        let engine::Headroom { snapshot, policy_generation, pod, node, resources } = found;
        Ok(HeadroomResponse {
            version: Some(response::version(&snapshot, policy_generation, staleness.age())),
            pod: format!("{}/{}", pod.namespace, pod.name),
            node: node.to_string(),
            resources: resources.into_iter().map(resource).collect(),
        })
    }
}

fn resource(resource: engine::ResourceHeadroom) -> ResourceHeadroom {
    let engine::ResourceHeadroom { name, allocatable, taken, free, fits } = resource;
    ResourceHeadroom { name, allocatable, taken, free, fits }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use nodesift_cache as cache;
    use nodesift_cache::metadata::{Account, PodRecord, node, pod_record};
    use nodesift_engine::ActivePolicy;
    use nodesift_proto::v1::{self, pod};
    use nodesift_sandbox::Runtime;
    use serde_json::json;

    use super::*;
    use crate::calls::testing::patient;

    const RESOURCES: [&str; 4] = ["cpu", "memory", "example.com/gpu", "example.com/nowhere"];
    const NODES: usize = 1_000;
    const PODS: usize = 3_000;

    /// A pod of the twin: its node, and what it takes by resource.
    type Taken = (Option<String>, BTreeMap<&'static str, i64>);

    fn amounts(random: &mut fastrand::Rng, most: i64) -> BTreeMap<&'static str, i64> {
        let mut amounts = BTreeMap::new();
        for name in RESOURCES {
            if random.bool() {
                amounts.insert(name, random.i64(0..most));
            }
        }
        amounts
    }

    /// A cluster of the cache and the same as plain lists. Some pods have an account in the place of what they request.
    fn random(random: &mut fastrand::Rng) -> (Engine, Vec<BTreeMap<&'static str, i64>>, Vec<Taken>) {
        let (mut writer, reader) = cache::new();
        let nodes: Vec<BTreeMap<&str, i64>> = (0..NODES)
            .map(|_| {
                let mut has = amounts(random, 100);
                has.remove("example.com/nowhere");
                has
            })
            .collect();
        for (at, has) in nodes.iter().enumerate() {
            let has: BTreeMap<_, _> = has
                .iter()
                .map(|(name, amount)| (*name, if *name == "cpu" { format!("{amount}m") } else { amount.to_string() }))
                .collect();
            let object = json!({"metadata": {"name": format!("n{at}")}, "status": {"allocatable": has}});
            writer.apply(node(&serde_json::from_str(&object.to_string()).unwrap()));
        }
        let mut pods = Vec::new();
        for at in 0..PODS {
            let on = (random.u8(0..10) > 0).then(|| format!("n{}", random.usize(0..NODES + 2)));
            let taken = amounts(random, 40);
            let text = |amount: &i64, name: &str| if name == "cpu" { format!("{amount}m") } else { amount.to_string() };
            let is_accounted = random.u8(0..3) == 0;
            let asked = if is_accounted { amounts(random, 40) } else { taken.clone() };
            let requests: BTreeMap<_, _> = asked.iter().map(|(name, amount)| (*name, text(amount, name))).collect();
            let object = json!({"metadata": {"name": format!("p{at}"), "namespace": "ns", "uid": format!("u{at}")},
                "spec": {"nodeName": on.clone().unwrap_or_default(), "containers": [{"name": "c", "resources": {"requests": requests}}]}});
            let mut record = pod_record(&serde_json::from_str(&object.to_string()).unwrap(), &[]);
            if is_accounted {
                let usage: Vec<(Arc<str>, i64)> =
                    taken.iter().map(|(name, amount)| (Arc::from(*name), *amount)).collect();
                let account = Account::new(usage.clone(), usage, Vec::new(), Vec::new());
                record = PodRecord { account: Some(Arc::new(account)), ..record };
            }
            writer.apply(record);
            pods.push((on, taken));
        }
        writer.publish();
        let policy = ActivePolicy::new(vec!["default-scheduler".to_owned()], Vec::new());
        (Engine::new(reader, policy, Runtime::start(None).unwrap()), nodes, pods)
    }

    fn ask(engine: &Engine, uid: &str, amounts: Vec<NamedAmount>) -> Result<HeadroomResponse, Error> {
        let pod = Some(v1::Pod::from(pod::Pod::Uid(uid.to_owned())));
        let mut parsed = Headroom::parse(HeadroomRequest { pod, amounts, ..HeadroomRequest::default() })?;
        Headroom::answer(engine, &Staleness::default(), patient(), &mut parsed)
    }

    #[test]
    fn headroom_is_what_is_left_when_everything_is_added_up() {
        let seed = nodesift_seed::seed();
        let mut random_numbers = fastrand::Rng::with_seed(seed);
        let (engine, nodes, pods) = random(&mut random_numbers);
        let (mut parts, mut without_node) = (0, 0);
        for (at, (on, taken)) in pods.iter().enumerate() {
            let asked: Vec<(&str, i64)> = RESOURCES.iter().map(|name| (*name, random_numbers.i64(0..80))).collect();
            let request = asked.iter().map(|(name, amount)| NamedAmount { name: (*name).to_owned(), amount: *amount });
            let found = ask(&engine, &format!("u{at}"), request.collect());
            let number = on.as_ref().and_then(|on| on.strip_prefix('n')?.parse::<usize>().ok());
            let Some(node) = number.and_then(|number| nodes.get(number)) else {
                let error = found.unwrap_err();
                assert_eq!(error.status().0, tonic::Code::NotFound, "seed {seed}: {error}");
                without_node += 1;
                continue;
            };
            let found = found.unwrap();
            assert_eq!((&found.pod, Some(&found.node)), (&format!("ns/p{at}"), on.as_ref()), "seed {seed}");
            for (found, (name, wanted)) in found.resources.iter().zip(asked) {
                let beside = pods.iter().filter(|(other, _)| other == on);
                let sum: i64 = beside.map(|(_, taken)| taken.get(name).copied().unwrap_or(0)).sum();
                let has = node.get(name).copied().unwrap_or(0);
                let fits = wanted.min((has - sum).max(0));
                let own = taken.get(name).copied().unwrap_or(0);
                assert_eq!(
                    (&*found.name, found.allocatable, found.taken, found.fits),
                    (name, has, own, fits),
                    "seed {seed}: p{at} on {on:?}"
                );
                parts += usize::from(fits > 0 && fits < wanted);
            }
        }
        assert!(parts > 50 && without_node > 50, "seed {seed}: {parts} {without_node}");
    }

    #[test]
    fn a_decrease_and_a_pod_that_is_not_there_are_refused() {
        let (engine, _, _) = random(&mut fastrand::Rng::with_seed(7));
        let amount = |amount| vec![NamedAmount { name: "cpu".to_owned(), amount }];
        let error = ask(&engine, "u1", amount(-1)).unwrap_err();
        assert_eq!(error.status().0, tonic::Code::InvalidArgument);
        assert!(error.text().starts_with("amounts[0].amount"), "{error}");
        assert_eq!(ask(&engine, "nobody", amount(1)).unwrap_err().status().0, tonic::Code::NotFound);
        let amounts = (0..=limits::REQUEST_AMOUNTS).flat_map(|_| amount(1)).collect();
        let many = ask(&engine, "u1", amounts).unwrap_err();
        assert_eq!(many.status().0, tonic::Code::ResourceExhausted);
    }
}
