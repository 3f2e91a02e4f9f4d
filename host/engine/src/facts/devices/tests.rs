//! Columns of random clusters against what each row sees, written out device by device.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use cpu_time::ThreadTime;
use fastrand::Rng;
use nodesift_cache::metadata::{self, Selection, SliceRecord};
use nodesift_cache::{Device, Identity, Row, Writer, new};
use nodesift_object::Kind;
use nodesift_object::device::AttributeRef;
use nodesift_sandbox::Facts as _;
use nodesift_sandbox::device_selector::{Outcome, Path, SelectedDevice, SelectedValue};
use nodesift_sandbox::fault::{Fault, FaultKind};
use nodesift_sandbox::limits::FILTER_TIME_WEIGHT;
use serde_json::{Value, json};

use super::*;
use crate::facts::Batch;
use crate::limits::{THROTTLE_FROM, THROTTLE_MOST};
use crate::selectors::{Evaluator, Selectors};
use crate::throttle::{CallTimer, Throttle};

const SEEDS: u64 = 30;
const ROUNDS: usize = 6;
const NODES: usize = 9;
const EXPRESSIONS: [&str; 3] = ["model", "d/text", "none"];

/// An expression is the name of an attribute: it matches numbers, fails for versions, and for all else does not match.
#[derive(Debug)]
struct ByName;

impl Evaluator for ByName {
    fn paths(&self, _: &str) -> Result<Result<Option<Vec<Path>>, String>, Fault> {
        Ok(Ok(None))
    }

    fn matches(&self, expression: &str, devices: &[SelectedDevice<'_>]) -> Result<Vec<Outcome>, Fault> {
        let said = |device: &SelectedDevice<'_>| match device
            .attributes
            .iter()
            .find(|(name, _)| *name == expression)
            .map(|(_, value)| value)
        {
            Some(SelectedValue::Int(_)) => Outcome::Yes,
            Some(SelectedValue::Version(text)) => Outcome::Error((*text).to_owned()),
            _ => Outcome::No,
        };
        Ok(devices.iter().map(said).collect())
    }

    fn admits_fault_line(&self) -> bool {
        false
    }
}

/// Takes a third of the time that all expressions of a pod have for each device, and counts those that it was asked about alone.
#[derive(Debug, Default)]
struct Slow(AtomicUsize);

impl Evaluator for Arc<Slow> {
    fn paths(&self, _: &str) -> Result<Result<Option<Vec<Path>>, String>, Fault> {
        Ok(Ok(None))
    }

    fn matches(&self, _: &str, devices: &[SelectedDevice<'_>]) -> Result<Vec<Outcome>, Fault> {
        if devices.len() > 1 {
            return Err(Fault::new(FaultKind::Deadline, "too many devices"));
        }
        let started = ThreadTime::now();
        while started.elapsed() < SELECTORS_TIME / 3 {
            std::hint::spin_loop();
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(devices.iter().map(|_| Outcome::Yes).collect())
    }

    fn admits_fault_line(&self) -> bool {
        false
    }
}

fn said(list: &[String], device: &Device) -> wire::Answer {
    for (number, expression) in list.iter().enumerate() {
        match device.attributes().find(|(name, _)| ***name == **expression).map(|(_, value)| value) {
            Some(AttributeRef::Int(_)) => {}
            Some(AttributeRef::Version(text)) => {
                return wire::Answer::Error(format!("selector #{number}: CEL runtime error: {text}").into());
            }
            _ => return wire::Answer::No,
        }
    }
    wire::Answer::Yes
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_str(&value.to_string()).unwrap()
}

fn attribute(random: &mut Rng) -> Value {
    match random.u8(..9) {
        0..4 => json!({"int": random.u8(..2)}),
        4 => json!({"version": "1.0.0"}),
        5 => json!({"string": "a"}),
        6 => json!({"bool": true}),
        7 => json!({"ints": [random.u8(..2)]}),
        _ => json!({}),
    }
}

fn device(number: usize, random: &mut Rng) -> Value {
    let mut attributes = json!({"uuid": {"string": format!("{}", random.u16(..))}, "model": {"int": 1}});
    for name in ["model", "d/text", "text", "e/text"] {
        if random.u8(..3) == 0 {
            attributes[name] = attribute(random);
        }
    }
    let mut device = json!({"name": format!("g{number}"), "attributes": attributes});
    if random.u8(..3) == 0 {
        device["capacity"] = json!({"m": {"value": "8"}, "n": {"value": "2"}});
        device["allowMultipleAllocations"] = json!(random.bool());
    }
    if random.u8(..4) == 0 {
        device["taints"] = json!([{"key": "k", "effect": "NoSchedule"}]);
    }
    if random.u8(..4) == 0 {
        device["consumesCounters"] = json!([{"counterSet": "c", "counters": {"x": {"value": "1"}}}]);
    }
    device
}

fn driver_of(pool: usize) -> &'static str {
    ["d", "e"][pool % 2]
}

/// A pool for one node or for all, its counters in a slice of their own.
fn apply_pool(writer: &mut Writer, number: usize, random: &mut Rng) {
    let has_counters = random.u8(..3) > 0;
    let mut spec = json!({"driver": driver_of(number), "pool": {"name": format!("p{number}"), "generation": 1,
        "resourceSliceCount": 1 + usize::from(has_counters)}});
    match number {
        0 => spec["allNodes"] = json!(true),
        _ => spec["nodeName"] = json!(format!("n{}", number % NODES)),
    }
    let mut counters = spec.clone();
    counters["sharedCounters"] = json!([{"name": "c", "counters": {"x": {"value": "3"}}}]);
    let count = if random.u8(..8) == 0 { 40 } else { random.usize(..4) };
    spec["devices"] = (0..count).map(|number| device(number, random)).collect();
    if number == 0 && random.bool() {
        spec.as_object_mut().unwrap().remove("allNodes");
        spec["perDeviceNodeSelection"] = json!(true);
        for device in spec["devices"].as_array_mut().unwrap() {
            match random.bool() {
                true => device["nodeName"] = json!(format!("n{}", random.usize(..NODES))),
                false => device["allNodes"] = json!(true),
            }
        }
    }
    let slice =
        |name: String, spec: &Value| SliceRecord::compile(&read(&json!({"metadata": {"name": name}, "spec": spec})));
    writer.apply(slice(format!("s{number}"), &spec));
    match has_counters {
        true => writer.apply(slice(format!("c{number}"), &counters)),
        false => writer.remove(&Identity::new(Kind::ResourceSlice, &format!("c{number}"))),
    }
}

fn hold(writer: &mut Writer, random: &mut Rng) {
    let uid = format!("u{}", random.u8(..30));
    writer.release_in_flight(&uid);
    let number = random.usize(..2 * NODES);
    let mut result = json!({"request": "r", "driver": driver_of(number), "pool": format!("p{number}"),
        "device": format!("g{}", random.u8(..4))});
    if random.bool() {
        result["shareID"] = json!("share");
        result["consumedCapacity"] = json!({"m": format!("{}", random.u8(..3))});
    }
    let _ = writer.hold_in_flight(&uid, &[read(&result)]);
}

/// A device as text, but for its values.
type Written = String;

/// Devices that a row sees, as text and values, read from the columns.
fn from_columns(columns: &wire::Devices, query: &Query, row: usize) -> (Vec<Written>, Vec<u32>) {
    let count =
        |situation: &wire::Situation| if let wire::Situation::Pools(count) = situation { *count as usize } else { 0 };
    let code = columns.codes[row] as usize;
    let pool = columns.situations[..code].iter().map(count).sum::<usize>();
    let pools = &columns.pools[pool..pool + count(&columns.situations[code])];
    let before = &columns.pools[..pool];
    let mut device = before.iter().map(|pool| pool.devices as usize).sum::<usize>();
    let mut counter = before.iter().map(|pool| pool.counters as usize).sum::<usize>();
    let first = device;
    let mut written = Vec::new();
    for (number, pool) in (pool..).zip(pools) {
        let driver = &columns.drivers[pool.driver as usize];
        let name = if query.names { &columns.pool_names[number] } else { "" };
        let counters = &columns.counters[counter..counter + pool.counters as usize];
        written.push(format!("{driver} {name} {:?} {counters:?}", pool.state));
        counter += counters.len();
        for at in device..device + pool.devices as usize {
            let kind = &columns.kinds[columns.device_kinds[at] as usize];
            let taints = &columns.taints[kind.taints as usize];
            let held: Vec<_> = columns.held.iter().filter(|held| held.device as usize == at).collect();
            let held: Vec<_> = held.iter().map(|held| (held.capacity, held.amount)).collect();
            let name = if query.names { &columns.names[at] } else { "" };
            let kind = wire::Kind { taints: 0, ..kind.clone() };
            written.push(format!("{kind:?} {} {taints:?} {held:?} {name}", columns.in_use[at]));
        }
        device += pool.devices as usize;
    }
    let attributes = query.attributes.len();
    (written, columns.values[first * attributes..device * attributes].to_vec())
}

/// Devices that a row sees, as text and values, read from the cache.
fn from_row(context: &Context, query: &Query, row: Row) -> (Vec<Written>, Vec<u32>) {
    let (mut written, mut values) = (Vec::new(), Vec::new());
    let pools = context.snapshot().devices().seen_by(row).unwrap();
    let mut met: Vec<Vec<AttributeRef<'_>>> = vec![Vec::new(); query.attributes.len()];
    for pool in pools.iter() {
        let name = if query.names { &*pool.name.name } else { "" };
        let counters = pool.counters.iter();
        let counters: Vec<_> =
            counters.map(|it| wire::Counter { total: it.total.into(), held: it.held.into() }).collect();
        let state = format!("{:?}", pool.state);
        written.push(format!("{} {name} {state} {counters:?}", pool.name.driver));
        for seen in &pool.devices {
            let traits = &seen.device.traits().content;
            let capacity = |it: &metadata::DeviceCapacity| wire::Capacity {
                name: Arc::clone(&it.name),
                value: crate::facts::claims::amount(it.value),
                default: None,
                valid_values: Vec::new(),
                valid_range: None,
            };
            let kind = wire::Kind {
                matches: query.selector_lists.iter().map(|list| said(list, &seen.device)).collect(),
                reaches: if *seen.reaches() == Ok(true) { wire::Answer::Yes } else { wire::Answer::No },
                taints: 0,
                multiple_allocations: traits.multiple_allocations,
                capacities: traits.capacities.iter().map(capacity).collect(),
                consumes: seen.consumes().iter().map(|(counter, amount)| (*counter, (*amount).into())).collect(),
            };
            let in_use = u8::from(seen.exclusive()) + if seen.shared().is_some() { SHARED } else { 0 };
            let taint = |it: &nodesift_object::device::DeviceTaint| wire::Taint {
                key: it.key.as_str().into(),
                value: it.value.as_str().into(),
                effect: "NoSchedule".into(),
            };
            let taints: Arc<[wire::Taint]> = traits.taints.iter().map(taint).collect();
            let held: BTreeMap<&str, i128> =
                seen.shared().into_iter().flat_map(|held| held.iter()).map(|(name, held)| (&**name, *held)).collect();
            let held =
                (0_u32..).zip(&traits.capacities).filter_map(|(number, it)| Some((number, *held.get(&*it.name)?)));
            let held: Vec<_> = held.filter(|(_, it)| *it > 0).map(|(number, it)| (number, wire_amount(it))).collect();
            let name = if query.names { &*seen.device.name } else { "" };
            written.push(format!("{kind:?} {in_use} {taints:?} {held:?} {name}"));
            for (attribute, met) in query.attributes.iter().zip(&mut met) {
                values.push(match seen.device.attribute(attribute) {
                    None => 0,
                    Some(AttributeRef::List(_) | AttributeRef::Unsupported) => wire::UNKNOWN_TYPE,
                    Some(value) => {
                        if !met.contains(&value) {
                            met.push(value);
                        }
                        u32::try_from(met.iter().position(|known| *known == value).unwrap() + 1).unwrap()
                    }
                });
            }
        }
    }
    (written, values)
}

fn wire_amount(amount: i128) -> nodesift_sandbox::wire::claims::NanoUnits {
    amount.into()
}

fn query(random: &mut Rng) -> Query {
    let list = |random: &mut Rng| (0..random.usize(..3)).map(|_| EXPRESSIONS[random.usize(..3)].to_owned()).collect();
    let attributes = ["d/model", "e/text", "d/uuid", "d/text"].map(str::to_owned).to_vec();
    let names = random.u8(..4) == 0;
    let count = random.usize(..3);
    Query {
        selector_lists: (0..count).map(|_| list(random)).collect(),
        attributes: attributes.into_iter().filter(|_| random.bool()).collect(),
        names,
    }
}

#[test]
fn columns_say_what_each_row_sees_and_rows_that_see_the_same_have_one_situation() {
    let (mut shared, mut distinct) = (0, 0);
    for seed in 0..SEEDS {
        let mut random = Rng::with_seed(seed);
        let (mut writer, reader) = new();
        for node in 0..NODES {
            writer.apply(metadata::node(&read(&json!({"metadata": {"name": format!("n{node}")}}))));
        }
        let selectors = Arc::new(Selectors::from_evaluator(Box::new(ByName)));
        let pod = read(&json!({"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {}}));
        let pod = Arc::new(metadata::pod_selecting(&pod, &Selection::default()));
        for round in 0..ROUNDS {
            for _ in 0..random.usize(1..20) {
                apply_pool(&mut writer, random.usize(..2 * NODES), &mut random);
            }
            (0..random.usize(..20)).for_each(|_| hold(&mut writer, &mut random));
            writer.publish();
            let query = query(&mut random);
            let context = Context::new(reader.snapshot(), Arc::clone(&pod), None, Batch::All);
            let context = context.with_selectors(Some(Arc::clone(&selectors)));
            let columns = context.devices_for(&query);
            let mut rows: Vec<Row> = Vec::new();
            context.for_each_row(|_, row| rows.push(row));
            let mut codes: BTreeMap<(Vec<Written>, Vec<u32>), u32> = BTreeMap::new();
            for (place, row) in rows.iter().enumerate() {
                let found = from_columns(&columns, &query, place);
                assert_eq!(
                    found,
                    from_row(&context, &query, *row),
                    "seed {seed}, round {round}, row {place}, {query:?}"
                );
                let code = *codes.entry(found).or_insert(columns.codes[place]);
                assert_eq!(code, columns.codes[place], "seed {seed}, round {round}, row {place}: one situation");
            }
            assert_eq!(codes.len(), columns.situations.len(), "seed {seed}, round {round}");
            shared += rows.len() - codes.len();
            distinct += codes.len();
        }
    }
    assert!(shared > 100 && distinct > 500, "{shared} rows share {distinct} situations");
}

#[test]
fn nothing_is_said_of_devices_before_all_expressions_are_evaluated() {
    const CALLS: usize = 5;
    // Many expressions about one device, and one about many.
    for (lists, devices) in [(CALLS, 1), (1, CALLS)] {
        let (mut writer, reader) = new();
        writer.apply(metadata::node(&read(&json!({"metadata": {"name": "n0"}}))));
        let each =
            (0..devices).map(|device| json!({"name": format!("g{device}"), "attributes": {"uuid": {"int": device}}}));
        let spec = json!({"driver": "d", "nodeName": "n0", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": each.collect::<Vec<_>>()});
        writer.apply(SliceRecord::compile(&read(&json!({"metadata": {"name": "s"}, "spec": spec}))));
        writer.publish();
        let slow = Arc::new(Slow::default());
        let selectors = Arc::new(Selectors::from_evaluator(Box::new(Arc::clone(&slow))));
        let pod = read(&json!({"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {}}));
        let pod = Arc::new(metadata::pod_selecting(&pod, &Selection::default()));
        let query =
            Query { selector_lists: (0..lists).map(|list| vec![list.to_string()]).collect(), ..Query::default() };
        let throttle = Arc::default();
        let asked_of = |query: &Query| {
            let context = Context::new(reader.snapshot(), Arc::clone(&pod), None, Batch::All).with_throttle(&throttle);
            context.with_selectors(Some(Arc::clone(&selectors))).devices_in_time(query)
        };
        let asked = || asked_of(&query);
        assert_eq!(asked().err(), Some(NoValue::Deadline));
        assert_eq!(slow.0.load(Ordering::Relaxed), 3, "calls in the time for all of them");
        let seen = asked().unwrap();
        assert!(seen.kinds.iter().all(|kind| kind.matches[..] == vec![wire::Answer::Yes; lists]));
        assert_eq!(slow.0.load(Ordering::Relaxed), CALLS, "what was found was kept");
        // A throttled namespace has what is known, and nothing is evaluated for it.
        throttle.charge("ns", THROTTLE_MOST);
        assert_eq!(asked().unwrap().kinds.len(), seen.kinds.len());
        let new = Query { selector_lists: vec![vec!["new".to_owned()]], ..Query::default() };
        assert_eq!(asked_of(&new).err(), Some(NoValue::Deadline));
        assert_eq!(slow.0.load(Ordering::Relaxed), CALLS);
    }
}

#[test]
fn long_calls_that_fail_or_are_about_large_pods_are_debts_and_throttled_pods_have_the_time_of_small_ones() {
    let (mut writer, reader) = new();
    writer.publish();
    let context = |labels: usize, throttle: &Arc<Throttle>| {
        let labels: BTreeMap<_, _> = (0..labels).map(|label| (format!("key-{label}"), "value")).collect();
        let pod = json!({"metadata": {"name": "p", "namespace": "ns"}, "spec": {"nodeSelector": labels}});
        let pod = Arc::new(metadata::pod_selecting(&read(&pod), &Selection::default()));
        Context::new(reader.snapshot(), pod, None, Batch::All).with_throttle(throttle)
    };
    let debts_after = |labels: usize, has_failed: bool, takes: Duration| {
        let throttle = Arc::<Throttle>::default();
        // With so many others in debt the least debt throttles, and is paid off in a minute at the earliest.
        (0..1_000).for_each(|other| throttle.charge(&other.to_string(), THROTTLE_MOST));
        let (timer, began) = (CallTimer::start(), ThreadTime::now());
        while began.elapsed() < takes {
            std::hint::spin_loop();
        }
        context(labels, &throttle).charge(&timer, timer.elapsed(), has_failed);
        context(labels, &throttle).is_throttled()
    };
    const LARGE: usize = 1_000;
    let long = 2 * THROTTLE_FROM;
    assert!(debts_after(1, true, long) && debts_after(LARGE, false, long));
    assert!(!debts_after(1, false, long) && !debts_after(LARGE, true, Duration::from_micros(100)));
    let throttle = Arc::default();
    let before = context(LARGE, &throttle);
    throttle.charge("ns", THROTTLE_MOST);
    let after = context(LARGE, &throttle);
    assert!(before.weight() > FILTER_TIME_WEIGHT && after.weight() == 0);
    assert!(before.may_take_more() && !after.may_take_more());
    let deadline = Fault::new(FaultKind::Deadline, "late");
    assert!(after.explain(deadline.clone()).detail.contains("the namespace ns"));
    assert_eq!(before.explain(deadline).detail, "late");
    assert_eq!(after.explain(Fault::new(FaultKind::Memory, "much")).detail, "much");
}
