//! The predicate on the SDK's fixture: that facts reach the library, and verdicts the host. What the verdicts are is tested there.
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

use nodesift_dynamic_resources::facts::{self, Broken};
use nodesift_dynamic_resources::{self as library, Picked};
use nodesift_sdk::allocator::{Mapping, NewClaim, NewRequest, Pick};
use nodesift_sdk::columns::node_devices::{
    Answer, Capacity, Counter, DeviceColumns, EXCLUSIVE, Held, Kind, Pool, PoolState, Range, Situation, Taint,
};
use nodesift_sdk::columns::pod_claims::{
    Amount, Asked, Claim, Class, Container, ContainerResource, ExtendedClaim, ExtendedResource, ExtendedResources,
    MORE, NONE, NanoUnits, Request, Toleration, Unallocated,
};
use nodesift_sdk::configure;
use nodesift_sdk::native::{Cluster, Node, Pod, take_lines};

use super::*;

const CANNOT: &str = "cannot allocate all claims";

fn asked() -> Asked {
    Asked {
        own_name: "r".into(),
        is_alternative: false,
        class: Class { name: "gpu".into(), selectors: Some(Vec::new()) },
        selectors: vec![Some("device.driver == 'gpu.example.com'".into())],
        mode: "ExactCount".into(),
        count: 1,
        admin_access: false,
        tolerations: Vec::new(),
        capacity: Vec::new(),
    }
}

fn claim(asked: Asked) -> Claim {
    let requests = vec![Request { base: asked.own_name.clone(), alternatives: vec![asked] }];
    Claim::Unallocated(Unallocated { requests, constraints: Vec::new() })
}

fn kind(matches: Vec<Answer>, reaches: Answer) -> Kind {
    Kind { matches, reaches, taints: 0, multiple_allocations: false, capacities: Vec::new(), consumes: Vec::new() }
}

/// Per node: its situation, of one pool each, with the use of each of its devices.
fn devices(codes: &[u32], pools: &[&[u8]], kind: Kind) -> DeviceColumns {
    let in_use: Vec<u8> = pools.concat();
    let pool = |pool: &&[u8]| Pool {
        driver: 0,
        state: PoolState::Ok,
        devices: pool.len().try_into().unwrap_or(u32::MAX),
        counters: 0,
    };
    DeviceColumns {
        codes: codes.to_vec(),
        situations: vec![Situation::Pools(1); pools.len()],
        pools: pools.iter().map(pool).collect(),
        counters: Vec::new(),
        device_kinds: vec![0; in_use.len()],
        held: Vec::new(),
        values: Vec::new(),
        pool_names: vec!["pool".into(); pools.len()],
        names: (0..in_use.len()).map(|number| format!("device-{number}")).collect(),
        in_use,
        kinds: vec![kind],
        drivers: vec!["gpu.example.com".into()],
        taints: vec![Vec::new()],
    }
}

fn cluster(pod: Pod, nodes: usize) -> Cluster {
    (0..nodes).fold(Cluster::new(pod), |cluster, number| cluster.node(Node::new(&format!("node-{number}"))))
}

fn predicate() -> DynamicResources {
    DynamicResources { switches: Switches::default() }
}

#[test]
fn switches_change_verdicts_and_others_are_refused() {
    let pod = Pod::new("default").claim("default/c", claim(asked()));
    let mut tainted = devices(&[0], &[&[0]], kind(vec![Answer::Yes], Answer::Yes));
    tainted.taints = vec![vec![Taint { key: "k".into(), value: String::new(), effect: "NoSchedule".into() }]];
    let cluster = cluster(pod, 1).devices(tainted);
    let failures = |args: &str| cluster.failures(&configure::<DynamicResources>(args).unwrap());
    assert_eq!(failures("{}"), [Some(Failure::unresolvable(CANNOT))]);
    assert_eq!(failures(r#"{"switches":{"DRADeviceTaints":false}}"#), [None]);
    assert!(configure::<DynamicResources>(r#"{"switches":{"A":true}}"#).is_err());
    assert!(configure::<DynamicResources>(r#"{"a":true}"#).is_err());
}

#[test]
fn a_request_that_derives_attributes_is_an_error_where_the_version_knows_them() {
    let pod = Pod::new("default").claim("default/c", claim(asked())).deriving(&[0]);
    let cluster = cluster(pod, 1).devices(devices(&[0], &[&[0]], kind(vec![Answer::Yes], Answer::Yes)));
    assert_eq!(cluster.failures(&predicate()), [None]);
    let refusing = configure::<DynamicResources>(r#"{"switches":{"DerivedAttributesRefused":true}}"#).unwrap();
    let text = "running \"DynamicResources\" filter plugin: claim default/c, request r: cannot handle request with derived \
                attributes, the feature is disabled";
    assert_eq!(cluster.failures(&refusing), [Some(Failure::error(text))]);
}

#[test]
fn a_pod_without_claims_fits_everywhere() {
    assert_eq!(cluster(Pod::new("default"), 2).verdict(&predicate()), Verdict::FitsAll);
}

#[test]
fn a_node_needs_a_device_that_is_free() {
    let pod = Pod::new("default").claim("default/c", claim(asked()));
    let devices = devices(&[1, 0, 1], &[&[EXCLUSIVE], &[EXCLUSIVE, 0]], kind(vec![Answer::Yes], Answer::Yes));
    let failures = cluster(pod, 3).devices(devices).failures(&predicate());
    assert_eq!(failures, [None, Some(Failure::unresolvable(CANNOT)), None]);
}

#[test]
fn an_allocated_claim_can_be_used_on_some_nodes() {
    let pod = Pod::new("default").claim("default/c", Claim::Allocated(vec![0, 1]));
    let failures = cluster(pod, 2).failures(&predicate());
    assert_eq!(failures, [Some(Failure::unresolvable("resourceclaim not available on the node")), None]);
}

#[test]
fn an_obstacle_rejects_the_pod() {
    let pod = |is_error| Pod::new("default").claims_obstacle("no claim", is_error);
    assert_eq!(cluster(pod(false), 2).verdict(&predicate()), Verdict::FitsNone(Failure::unresolvable("no claim")));
    assert_eq!(
        cluster(pod(true), 2).verdict(&predicate()),
        Verdict::FitsNone(Failure::error("running PreFilter plugin \"DynamicResources\": no claim"))
    );
}

#[test]
fn an_error_of_an_expression_names_the_claim_and_ends_the_cycle() {
    let pod = Pod::new("default").claim("default/c", claim(asked()));
    let error = Answer::Error("selector #0: CEL runtime error: no such key: x".into());
    let failures =
        cluster(pod, 1).devices(devices(&[0], &[&[0]], kind(vec![error], Answer::Yes))).failures(&predicate());
    let text =
        "running \"DynamicResources\" filter plugin: claim default/c: selector #0: CEL runtime error: no such key: x";
    assert_eq!(failures, [Some(Failure::error(text))]);
}

#[test]
fn extended_resources_are_given_by_nodes_or_by_devices() {
    let class = Some(Class { name: "gpu".into(), selectors: Some(vec!["true".into()]) });
    let resources = vec![ExtendedResource { class, own: vec![MORE, NONE, NONE] }];
    let resource = ContainerResource { key: 0, resource: 0, count: 1 };
    let container = Container { is_short: false, resources: vec![resource] };
    let claim = ExtendedClaim::ToBeMade(vec![container]);
    let pod = Pod::new("default").extended("default/<extended-resources>", ExtendedResources { claim, resources });
    let devices = devices(&[0, 0, 1], &[&[EXCLUSIVE], &[0]], kind(vec![Answer::Yes], Answer::Yes));
    let failures = cluster(pod, 3).devices(devices).failures(&predicate());
    assert_eq!(failures, [None, Some(Failure::unresolvable(CANNOT)), None]);
}

#[test]
fn facts_that_contradict_themselves_let_no_node_fit() {
    let pod = Pod::new("default").claim("default/c", claim(asked()));
    let mut devices = devices(&[0], &[&[0]], kind(vec![Answer::Yes], Answer::Yes));
    devices.in_use.clear();
    let verdict = cluster(pod, 1).devices(devices).verdict(&predicate());
    assert_eq!(verdict, Verdict::FitsNone(Failure::error(Broken::Devices.to_string())));
}

fn allocated(cluster: &Cluster, row: usize) -> Option<Allocation> {
    cluster.run(|rows| predicate().allocate(rows, row))
}

fn pick(request: u32, device: u32) -> Pick {
    Pick { claim: 0, request, alternative: 0, pool: 0, device, share: None }
}

#[test]
fn the_row_says_which_devices_claims_get() {
    let pod = Pod::new("default").claim("default/c", claim(asked()));
    let devices = devices(&[1, 0, 2], &[&[EXCLUSIVE], &[EXCLUSIVE, 0], &[0, 0]], kind(vec![Answer::Yes], Answer::Yes));
    let cluster = cluster(pod, 3).devices(devices);
    let of_device = |device| Some(Allocation { picks: vec![pick(0, device)], extended: None });
    assert_eq!(allocated(&cluster, 0), of_device(1));
    assert_eq!(allocated(&cluster, 1), None);
    assert_eq!(allocated(&cluster, 2), of_device(0));
    assert_eq!(take_lines(), []);
    // There is no such row.
    assert_eq!(allocated(&cluster, 3), None);
    assert_eq!(take_lines().len(), 1);
}

#[test]
fn without_claims_to_allocate_there_is_nothing_to_give() {
    let nothing = Some(Allocation { picks: Vec::new(), extended: None });
    assert_eq!(allocated(&cluster(Pod::new("default"), 1), 0), nothing);
    let pod = Pod::new("default").claim("default/c", Claim::Allocated(vec![0, 1]));
    let of_row = |row| allocated(&cluster(pod.clone(), 2), row);
    assert_eq!((of_row(0), of_row(1)), (None, nothing));
}

#[test]
fn the_claim_for_extended_resources_is_told() {
    let class = Some(Class { name: "gpu".into(), selectors: Some(vec!["true".into()]) });
    let resources = vec![ExtendedResource { class, own: vec![MORE, NONE] }];
    let resource = ContainerResource { key: 3, resource: 0, count: 2 };
    let containers = vec![
        Container { is_short: false, resources: Vec::new() },
        Container { is_short: false, resources: vec![resource] },
    ];
    let claim = ExtendedClaim::ToBeMade(containers);
    let pod = Pod::new("default").extended("default/<extended-resources>", ExtendedResources { claim, resources });
    let cluster = cluster(pod, 2).devices(devices(&[0, 0], &[&[0, 0, 0]], kind(vec![Answer::Yes], Answer::Yes)));
    let request = "container-1-request-3".to_owned();
    let extended = NewClaim {
        requests: vec![NewRequest { name: request.clone(), class: "gpu".into(), count: 2 }],
        mappings: vec![Mapping { container: 1, resource: 0, request }],
    };
    let picks = vec![pick(0, 0), pick(0, 1)];
    assert_eq!(allocated(&cluster, 1), Some(Allocation { picks, extended: Some(extended) }));
    // The node has what it takes, so no claim is needed.
    assert_eq!(allocated(&cluster, 0), Some(Allocation { picks: Vec::new(), extended: None }));
}

#[test]
fn a_share_is_told_by_capacity() {
    let amount = |low| Amount { nano_units: NanoUnits { high: 1, low }, units: 1 };
    let asked = Asked { capacity: vec![("memory".into(), amount(5))], ..asked() };
    let pod = Pod::new("default").claim("default/c", claim(asked));
    let capacity = |name: &str, default| Capacity {
        name: name.into(),
        value: amount(9),
        default,
        valid_values: Vec::new(),
        valid_range: None,
    };
    let capacities = vec![capacity("cores", Some(amount(2))), capacity("memory", None)];
    let kind = Kind { multiple_allocations: true, capacities, ..kind(vec![Answer::Yes], Answer::Yes) };
    let cluster = cluster(pod, 1).devices(devices(&[0], &[&[0]], kind));
    let taken = |name: &str, low| (name.to_owned(), NanoUnits { high: 1, low });
    let share = Some(vec![taken("cores", 2), taken("memory", 5)]);
    assert_eq!(allocated(&cluster, 0), Some(Allocation { picks: vec![Pick { share, ..pick(0, 0) }], extended: None }));
}

#[test]
fn facts_that_contradict_themselves_give_nothing() {
    let pod = Pod::new("default").claim("default/c", claim(asked()));
    let mut devices = devices(&[0], &[&[0]], kind(vec![Answer::Yes], Answer::Yes));
    devices.in_use.clear();
    assert_eq!(allocated(&cluster(pod, 1).devices(devices), 0), None);
    assert_eq!(take_lines(), [(log::Level::Error, Broken::Devices.to_string())]);
}

#[test]
fn no_number_of_a_pick_takes_the_place_of_another() {
    let share = Some(vec![("memory".to_owned(), facts::NanoUnits { high: -1, low: 6 })]);
    let picked = Picked { claim: 1, request: 2, alternative: 3, pool: 4, device: 5, share };
    let given = allocation::allocation(library::Allocation { picks: vec![picked], special: None });
    let share = Some(vec![("memory".to_owned(), NanoUnits { high: -1, low: 6 })]);
    assert_eq!(given.picks, [Pick { claim: 1, request: 2, alternative: 3, pool: 4, device: 5, share }]);
}

#[test]
fn no_text_or_number_takes_the_place_of_another() {
    let nano = |low| NanoUnits { high: -1, low };
    let amount = |low, units| Amount { nano_units: nano(low), units };
    let fact = |low| facts::NanoUnits { high: -1, low };
    let exact = |low, units| facts::Amount { nano_units: fact(low), units };

    let toleration = Toleration { key: "k".into(), operator: "o".into(), value: "v".into(), effect: "e".into() };
    let expected = facts::Toleration { key: "k".into(), operator: "o".into(), value: "v".into(), effect: "e".into() };
    assert_eq!(toleration.into_fact(), expected);
    let taint = Taint { key: "k".into(), value: "v".into(), effect: "e".into() };
    assert_eq!(taint.into_fact(), facts::Taint { key: "k".into(), value: "v".into(), effect: "e".into() });

    let asked = Asked { mode: "All".into(), capacity: vec![("memory".into(), amount(7, 8))], ..asked() };
    let asked = asked.into_fact();
    assert_eq!((&*asked.own_name, &*asked.class.name, &*asked.mode), ("r", "gpu", "All"));
    assert_eq!(asked.capacity, [("memory".to_owned(), exact(7, 8))]);

    let range = Range { min: Some(amount(1, 2)), max: Some(amount(3, 4)), step: Some(amount(5, 6)) };
    let capacity = Capacity {
        name: "memory".into(),
        value: amount(10, 11),
        default: Some(amount(12, 13)),
        valid_values: vec![amount(14, 15)],
        valid_range: Some(range),
    };
    let range = facts::Range { min: Some(exact(1, 2)), max: Some(exact(3, 4)), step: Some(exact(5, 6)) };
    let expected = facts::Capacity {
        name: "memory".into(),
        value: exact(10, 11),
        default: Some(exact(12, 13)),
        valid_values: vec![exact(14, 15)],
        valid_range: Some(range),
    };
    assert_eq!(capacity.into_fact(), expected);

    let counter = Counter { total: nano(1), held: nano(2) };
    assert_eq!(counter.into_fact(), facts::Counter { total: fact(1), held: fact(2) });
    let held = Held { device: 1, capacity: 2, amount: nano(3) };
    assert_eq!(held.into_fact(), facts::Held { device: 1, capacity: 2, amount: fact(3) });
    let pool = Pool { driver: 1, state: PoolState::Incomplete, devices: 2, counters: 3 };
    let state = facts::PoolState::Incomplete;
    assert_eq!(pool.into_fact(), facts::Pool { driver: 1, state, devices: 2, counters: 3 });
    let found = Kind { taints: 4, consumes: vec![(5, nano(6))], ..kind(vec![Answer::No], Answer::Yes) }.into_fact();
    assert_eq!((found.matches, found.reaches), (vec![facts::Answer::No], facts::Answer::Yes));
    assert_eq!((found.taints, found.consumes), (4, vec![(5, fact(6))]));
    let resource = ContainerResource { key: 1, resource: 2, count: 3 };
    assert_eq!(resource.into_fact(), facts::ContainerResource { key: 1, resource: 2, count: 3 });
}

#[test]
fn more_failures_than_a_verdict_has_room_for_reject_their_rows() {
    let count = 5_000_u32;
    let codes: Vec<u32> = (0..=count).collect();
    let failures = (0..count).map(|number| verdict::Failure::Error(format!("error {number}"))).collect();
    let verdict = by_row(&codes, failures);
    match verdict.failures(codes.len()) {
        Ok(failures) => {
            assert_eq!(failures.iter().filter(|failure| failure.is_none()).count(), 1);
            assert_eq!(failures.get(1), Some(&Some(&Failure::error("error 0"))));
        }
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn alternatives_of_allocated_claims_count_where_another_claim_gets_devices() {
    let allocated = || Pod::new("default").claim("default/a", Claim::Allocated(vec![1, 1])).chosen(&[1]);
    let both = allocated().claim("default/c", claim(asked()));
    assert_eq!(cluster(both, 2).scores(&predicate()), Scores::ByRow(vec![7, 7]));
    assert_eq!(cluster(allocated(), 2).scores(&predicate()), Scores::ByRow(vec![0, 0]));
}
