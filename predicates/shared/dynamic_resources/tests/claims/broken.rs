//! Facts that contradict themselves end in a named error, and nothing ends in a panic; limits; what is asked and when.

use nodesift_dynamic_resources::facts::{
    Answer, Broken, Claim, Constraint, ConstraintKind, Devices, EXCLUSIVE, Facts as _, Kind, NanoUnits, Query,
    Situation, UNKNOWN_TYPE,
};
use nodesift_dynamic_resources::limits;
use nodesift_dynamic_resources::verdict::{Failure, Verdict};
use nodesift_fixtures::Rng;
use nodesift_fixtures::random::claims::DeviceCluster;
use nodesift_reference::claims::{Selectors, World};
use nodesift_reference::kubernetes::Switches;

use crate::made::{Made, allocate, claim, filter, kind, request, rows};
use crate::project::{Nodes, Projected};

/// Clusters whose facts are damaged.
const CLUSTERS: u64 = 60;

/// Damaged variants of the facts of each pod.
const DAMAGES: usize = 12;

fn numa() -> Option<ConstraintKind> {
    Some(ConstraintKind::Match("gpu.example.com/numa".to_owned()))
}

fn distinct() -> Option<ConstraintKind> {
    Some(ConstraintKind::Distinct("gpu.example.com/numa".to_owned()))
}

fn failures(made: &Made, rows: usize) -> Vec<Option<String>> {
    match filter(made, rows).unwrap().verdict {
        Verdict::ByRow { codes, failures } => codes
            .iter()
            .map(|code| {
                let failure = failures.get((*code as usize).checked_sub(1)?)?;
                let (Failure::Unresolvable(text) | Failure::Error(text)) = failure;
                Some(text.clone())
            })
            .collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_contradiction_has_its_own_error() {
    let sound = || rows(&[vec![(0, 0, 1), (0, 0, 1)]], &[kind(Answer::Yes)], 1);
    type Damage = fn(&mut Devices);
    let damages: [(Damage, Broken); 12] = [
        (|devices| devices.codes[0] = 7, Broken::Situations),
        (|devices| devices.codes.clear(), Broken::Rows),
        (|devices| devices.situations[0] = Situation::Pools(2), Broken::Pools),
        (|devices| devices.pools[0].devices = 3, Broken::Devices),
        (|devices| devices.pools[0].counters = 1, Broken::Counters),
        (|devices| devices.device_kinds[0] = 1, Broken::Kinds),
        (|devices| devices.kinds[0].matches.clear(), Broken::Kinds),
        (|devices| devices.kinds[0].taints = 1, Broken::Taints),
        (|devices| devices.kinds[0].consumes.push((0, NanoUnits::default())), Broken::Counters),
        (|devices| devices.in_use.truncate(1), Broken::Devices),
        (|devices| devices.values.truncate(1), Broken::Devices),
        (|devices| devices.pools.clear(), Broken::Devices),
    ];
    for (number, (damage, broken)) in damages.into_iter().enumerate() {
        let mut devices = sound();
        damage(&mut devices);
        let made = Made::new(claim(vec![request("r", 2)], numa()), &[devices.clone(), devices]);
        assert_eq!(filter(&made, 1).map(|filtered| filtered.verdict), Err(broken), "damage {number}");
        assert_eq!(allocate(&made, 1, 0), Err(broken), "damage {number}");
    }
    let made = Made::new(claim(vec![request("r", 2)], numa()), &[sound()]);
    assert_eq!(failures(&made, 1), [None]);
    let short = Made::new(Claim::Allocated(vec![1]), &[]);
    assert_eq!(filter(&short, 2), Err(Broken::Rows));
    let mut empty = request("r", 1);
    empty.alternatives.clear();
    assert_eq!(filter(&Made::new(claim(vec![empty], None), &[]), 1), Err(Broken::Alternatives));
}

#[test]
fn damaged_facts_are_answered_somehow() {
    let selectors = Selectors::default();
    let (mut answers, mut errors) = (0, 0);
    for seed in 0..CLUSTERS {
        let made = DeviceCluster::new(seed);
        let switches = Switches::documented();
        let world = World { cluster: &made.cluster, in_flight: &[], now_s: 0, switches: &switches };
        let nodes = Nodes::new(&world, &selectors);
        let mut rng = Rng::with_seed(seed);
        for pod in &made.pods {
            let facts = Projected::new(&nodes, pod);
            let count = nodes.nodes.len();
            let Ok(claims) = facts.claims() else { continue };
            let asked = Asked::default();
            let _ = filter(&Recorded { facts: &facts, asked: &asked }, count);
            for damage in 0..DAMAGES {
                let damaged = |query: &Query| {
                    let mut devices = facts.devices(query);
                    hurt(&mut Rng::with_seed(seed ^ damage as u64), &mut devices);
                    devices
                };
                let queries = asked.0.borrow().clone();
                let devices = queries.iter().rev().map(damaged).collect();
                let made = Made { claims: claims.clone(), extended: facts.extended(), ..Made::default() };
                *made.devices.borrow_mut() = devices;
                // A text may need names only with the damage; then there is no second answer.
                made.devices.borrow_mut().insert(0, Devices::default());
                match filter(&made, count) {
                    Ok(_) => answers += 1,
                    Err(_) => errors += 1,
                }
                *made.devices.borrow_mut() = queries.iter().rev().map(damaged).collect();
                made.devices.borrow_mut().insert(0, Devices::default());
                let _ = allocate(&made, count, rng.below(count));
            }
        }
    }
    println!("{answers} answers, {errors} errors");
    assert!(answers > 500 && errors > 500, "{answers} answers, {errors} errors");
}

/// Remembers what was asked.
#[derive(Default)]
struct Asked(std::cell::RefCell<Vec<Query>>);

struct Recorded<'a> {
    facts: &'a Projected<'a>,
    asked: &'a Asked,
}

impl nodesift_dynamic_resources::facts::Facts for Recorded<'_> {
    fn claims(&self) -> Result<Vec<Claim>, nodesift_dynamic_resources::facts::Obstacle> {
        self.facts.claims()
    }

    fn extended(&self) -> Option<nodesift_dynamic_resources::facts::Extended> {
        self.facts.extended()
    }

    fn claim_name(&self, claim: u32) -> String {
        self.facts.claim_name(claim)
    }

    fn chosen(&self, claim: u32) -> Vec<u32> {
        self.facts.chosen(claim)
    }

    fn deriving(&self, claim: u32) -> Vec<u32> {
        self.facts.deriving(claim)
    }

    fn devices(&self, query: &Query) -> Devices {
        self.asked.0.borrow_mut().push(query.clone());
        self.facts.devices(query)
    }
}

/// Changes one number, or cuts one list short.
fn hurt(rng: &mut Rng, devices: &mut Devices) {
    let number = [0, 1, 2, 5, u32::MAX - 1, u32::MAX][rng.below(6)];
    let at = rng.below(1_000);
    fn some<T>(list: &mut [T], at: usize) -> Option<&mut T> {
        let length = list.len();
        if length == 0 { None } else { list.get_mut(at % length) }
    }
    match rng.below(16) {
        0 => some(&mut devices.codes, at).into_iter().for_each(|code| *code = number),
        1 => some(&mut devices.situations, at).into_iter().for_each(|found| *found = Situation::Pools(number)),
        2 => some(&mut devices.pools, at).into_iter().for_each(|pool| pool.devices = number),
        3 => some(&mut devices.pools, at).into_iter().for_each(|pool| pool.counters = number),
        4 => some(&mut devices.pools, at).into_iter().for_each(|pool| pool.driver = number),
        5 => some(&mut devices.device_kinds, at).into_iter().for_each(|kind| *kind = number),
        6 => some(&mut devices.values, at).into_iter().for_each(|value| *value = number),
        7 => some(&mut devices.in_use, at).into_iter().for_each(|in_use| *in_use = 255),
        8 => some(&mut devices.kinds, at).into_iter().for_each(|kind| kind.taints = number),
        9 => some(&mut devices.kinds, at).into_iter().for_each(|kind| drop(kind.matches.pop())),
        10 => some(&mut devices.kinds, at)
            .into_iter()
            .for_each(|kind| kind.consumes.push((number, NanoUnits { high: i64::MAX, low: 1 }))),
        11 => some(&mut devices.kinds, at).into_iter().for_each(|kind| kind.multiple_allocations ^= true),
        12 => some(&mut devices.held, at).into_iter().for_each(|held| held.capacity = number),
        13 => some(&mut devices.held, at).into_iter().for_each(|held| held.device = number),
        14 => {
            devices.pools.pop();
        }
        _ => {
            devices.kinds.pop();
        }
    }
}

#[test]
fn a_search_of_too_many_steps_is_an_error() {
    // Twelve devices with values of their own, where there are eleven values: three devices have each.
    let row = (0..33).map(|number| (0, 0, number % 11 + 1)).collect();
    let devices = rows(&[row], &[kind(Answer::Yes)], 1);
    let made = Made::new(claim(vec![request("r", 12)], distinct()), &[devices]);
    let filtered = filter(&made, 1).unwrap();
    assert_eq!(filtered.effort.most_steps, limits::SEARCH_STEPS + 1);
    let text = "running \"DynamicResources\" filter plugin: timed out trying to allocate devices".to_owned();
    assert_eq!(filtered.verdict, Verdict::ByRow { codes: vec![1], failures: vec![Failure::Error(text)] });
}

#[test]
fn a_long_search_that_cannot_succeed_ends_soon() {
    // The last request selects nothing; ten of thirty devices could be picked before in thirty million ways.
    let mut last = request("last", 1);
    last.alternatives[0].selectors = vec![Some("false".to_owned())];
    let none = Kind { matches: vec![Answer::Yes, Answer::No], ..kind(Answer::Yes) };
    let devices = rows(&[vec![(0, 0, 1); 30]], &[none], 1);
    let made = Made::new(claim(vec![request("first", 10), last], numa()), &[devices]);
    let filtered = filter(&made, 1).unwrap();
    assert!(filtered.effort.most_steps < 100, "{:?}", filtered.effort);
    let text = "cannot allocate all claims".to_owned();
    assert_eq!(filtered.verdict, Verdict::ByRow { codes: vec![1], failures: vec![Failure::Unresolvable(text)] });
}

#[test]
fn requests_for_more_devices_than_there_are_end_soon_whatever_some_of_them_must_have_in_common() {
    // With values of their own, so that `matchAttribute` leaves no pair of requests a choice.
    let values = |devices: u32| (0..devices).map(|number| (0, 0, number % 3 + 1)).collect::<Vec<_>>();
    let pairs = (0..8).map(|pair| Constraint {
        requests: vec![format!("r{}", 2 * pair), format!("r{}", 2 * pair + 1)],
        kind: numa().unwrap(),
    });
    for (requests, devices, constraints) in [(12, 11, Vec::new()), (17, 16, Vec::new()), (17, 16, pairs.collect())] {
        let asked = (0..requests).map(|number| request(&format!("r{number}"), 1)).collect();
        let devices = rows(&[values(devices)], &[kind(Answer::Yes)], usize::from(!constraints.is_empty()));
        let made = Made::new(Claim::Unallocated { requests: asked, constraints }, &[devices]);
        let filtered = filter(&made, 1).unwrap();
        assert!(filtered.effort.most_steps < 1_000, "{requests} requests: {:?}", filtered.effort);
        let text = "cannot allocate all claims".to_owned();
        assert_eq!(filtered.verdict, Verdict::ByRow { codes: vec![1], failures: vec![Failure::Unresolvable(text)] });
    }
}

#[test]
fn all_searches_of_a_call_share_their_steps() {
    const ROWS: u32 = 200;
    // No two rows see the same, so each is searched; see `a_search_of_too_many_steps_is_an_error`.
    let row = |number: u32| (0..33 + number).map(|number| (0, 0, number % 11 + 1)).collect::<Vec<_>>();
    let devices = rows(&(0..ROWS).map(row).collect::<Vec<_>>(), &[kind(Answer::Yes)], 1);
    let made = Made::new(claim(vec![request("r", 12)], distinct()), &[devices]);
    let filtered = filter(&made, ROWS as usize).unwrap();
    let most = u64::from(limits::SEARCH_STEPS) + u64::from(ROWS) * u64::from(limits::LEAST_STEPS + 1);
    assert!(filtered.effort.steps <= most, "{:?}", filtered.effort);
    let text = "running \"DynamicResources\" filter plugin: timed out trying to allocate devices".to_owned();
    assert_eq!(
        filtered.verdict,
        Verdict::ByRow { codes: vec![1; ROWS as usize], failures: vec![Failure::Error(text)] }
    );
}

#[test]
fn many_claims_do_not_exhaust_the_stack() {
    let devices = rows(&[vec![(0, 0, 1); 3]], &[kind(Answer::Yes)], 1);
    let mut made = Made::new(claim(vec![request("r", 3)], numa()), &[devices]);
    made.claims.splice(0..0, vec![claim(vec![request("none", 0)], None); 100_000]);
    assert_eq!(failures(&made, 1), [None]);
}

#[test]
fn the_class_is_looked_at_before_the_request_and_the_node_last() {
    let error = |of: &str| Answer::Error(format!("selector #0: {of}"));
    let cases = [
        ([error("class"), error("request")], Answer::Error("node".to_owned()), "class gpu: selector #0: class"),
        ([Answer::Yes, error("request")], Answer::Error("node".to_owned()), "claim default/c0: selector #0: request"),
        ([Answer::Yes, Answer::Yes], Answer::Error("node".to_owned()), "node"),
        ([Answer::Yes, Answer::No], Answer::Error("node".to_owned()), "cannot allocate all claims"),
        ([Answer::No, error("request")], Answer::Yes, "cannot allocate all claims"),
    ];
    for (matches, reaches, expected) in cases {
        let kind = Kind { matches: matches.to_vec(), reaches, ..kind(Answer::Yes) };
        let devices = rows(&[vec![(0, 0, 1)]], &[kind], 0);
        let mut asked = request("r", 1);
        asked.alternatives[0].class.selectors = Some(vec!["of the class".to_owned()]);
        let made = Made::new(claim(vec![asked], None), &[devices]);
        let expected = match expected {
            "cannot allocate all claims" => expected.to_owned(),
            error => format!("running \"DynamicResources\" filter plugin: {error}"),
        };
        assert_eq!(failures(&made, 1), [Some(expected)]);
    }
}

#[test]
fn names_are_asked_for_only_where_a_text_has_them() {
    let nameless = rows(&[vec![(0, 0, 1), (0, 0, 2)], vec![(0, 0, 1), (0, 0, 1)]], &[kind(Answer::Yes)], 1);
    let mut named = nameless.clone();
    named.names = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    named.pool_names = vec!["p".to_owned(); named.pools.len()];
    let mut all = request("r", 0);
    "All".clone_into(&mut all.alternatives[0].mode);
    let made = Made::new(claim(vec![all], numa()), &[named, nameless.clone()]);
    let text = "running \"DynamicResources\" filter plugin: claim default/c0, request r: cannot add device \
                gpu.example.com/p/b because a claim constraint would not be satisfied";
    assert_eq!(failures(&made, 2), [Some(text.to_owned()), None]);
    let asked: Vec<bool> = made.queries.borrow().iter().map(|query| query.names).collect();
    assert_eq!(asked, [false, true]);

    let made = Made::new(claim(vec![request("r", 2)], numa()), &[nameless]);
    assert_eq!(failures(&made, 2), [Some("cannot allocate all claims".to_owned()), None]);
    assert_eq!(made.queries.borrow().len(), 1);
}

#[test]
fn a_value_of_unknown_type_may_only_come_first() {
    let cases = [
        (numa(), [UNKNOWN_TYPE, 1], false),
        (numa(), [1, UNKNOWN_TYPE], false),
        (numa(), [UNKNOWN_TYPE, UNKNOWN_TYPE], false),
        (numa(), [1, 1], true),
        (distinct(), [UNKNOWN_TYPE, 1], true),
        (distinct(), [1, UNKNOWN_TYPE], false),
        (distinct(), [UNKNOWN_TYPE, UNKNOWN_TYPE], false),
        (distinct(), [1, 1], false),
        (distinct(), [1, 2], true),
        (distinct(), [1, 0], false),
    ];
    for (constraint, values, fits) in cases {
        let of = format!("{constraint:?} {values:?}");
        let devices = rows(&[values.map(|value| (0, 0, value)).to_vec()], &[kind(Answer::Yes)], 1);
        let made = Made::new(claim(vec![request("r", 2)], constraint), &[devices]);
        assert_eq!(failures(&made, 1)[0].is_none(), fits, "{of}");
    }
}

#[test]
fn devices_in_use_are_passed_over() {
    let row = |in_use: u8| vec![(0, in_use, 1), (0, 0, 1)];
    let devices = rows(&[row(0), row(EXCLUSIVE)], &[kind(Answer::Yes)], 0);
    let made = Made::new(claim(vec![request("r", 2)], None), &[devices.clone(), devices.clone(), devices]);
    assert_eq!(failures(&made, 2), [None, Some("cannot allocate all claims".to_owned())]);
    let picked: Vec<u32> = allocate(&made, 2, 0).unwrap().unwrap().picks.iter().map(|pick| pick.device).collect();
    assert_eq!(picked, [0, 1]);
    assert_eq!(allocate(&made, 2, 1), Ok(None));
}
