//! Rows compared with what an obvious function gathers from all slices for one node, after random changes. A test prints its seed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "tests")]

mod gather;
mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::gather::{Held, Offers, View, gather, is_relevant, view_of};
use self::random::{random_node, random_result, random_rules, random_slice, random_taint_rule, slice};
use super::{Device, DeviceNodes, PoolState, SeenCounter, SeenPool};
use crate::metadata::{Hold, NodeFacts, SliceRecord, TaintRuleRecord};
use crate::write::model::rounds;
use crate::{DeviceRules, Identity, NodeInterface, Overlay, Row, Semantics, Snapshot, Writer, new};
use nodesift_object::Kind;
use nodesift_object::claim::AllocatedDevice;
use nodesift_object::device::{DeviceTaintRule, ResourceSlice};

type Views = BTreeMap<String, View>;

fn views_of(snapshot: &Snapshot) -> Views {
    let rows = (0..snapshot.node_count()).map(|row| Row(row as u32));
    rows.map(|row| (snapshot.node_name(row).to_owned(), view_of(&snapshot.devices().seen_by(row)))).collect()
}

#[derive(Default)]
struct Model {
    nodes: BTreeMap<String, NodeFacts>,
    slices: BTreeMap<String, ResourceSlice>,
    taint_rules: BTreeMap<String, DeviceTaintRule>,
    rules: DeviceRules,
    results: Vec<AllocatedDevice>,
}

impl Model {
    fn views(&self) -> Views {
        let held = Held::new(&self.results);
        self.nodes.iter().map(|(name, node)| (name.clone(), gather(self.offers(), &held, node))).collect()
    }

    fn offers(&self) -> Offers<'_> {
        Offers { slices: &self.slices, taint_rules: &self.taint_rules, rules: self.rules }
    }

    fn change(&mut self, random: &mut fastrand::Rng, writer: &mut Writer) {
        match random.u8(0..20) {
            16 => {
                let rule = random_taint_rule(random);
                let record = TaintRuleRecord::compile(&rule);
                writer.apply(record.clone());
                assert!(writer.holds(&record.into()));
                self.taint_rules.insert(rule.metadata.name.clone(), rule);
            }
            17 => {
                let name = format!("r{}", random.u8(0..4));
                writer.remove(&Identity::new(Kind::DeviceTaintRule, &name));
                self.taint_rules.remove(&name);
            }
            18 => {
                self.rules = random_rules(random);
                writer.recount_semantics(Semantics { devices: self.rules, ..Semantics::default() });
            }
            0..3 => {
                let node = random_node(random);
                writer.apply(node.clone());
                self.nodes.insert(node.name.to_string(), node);
            }
            3 => {
                let name = format!("n{}", random.u8(0..6));
                writer.remove(&Identity::node(&name));
                self.nodes.remove(&name);
            }
            4..10 => {
                let slice = random_slice(random);
                let record = SliceRecord::compile(&slice);
                writer.apply(record.clone());
                assert!(writer.holds(&record.into()));
                self.slices.insert(slice.metadata.name.clone(), slice);
            }
            10 => {
                let name = format!("s{}", random.u8(0..12));
                writer.remove(&Identity::new(Kind::ResourceSlice, &name));
                self.slices.remove(&name);
            }
            11..14 => {
                let result = random_result(random);
                writer.hold_devices(&Hold::compile(&result));
                self.results.push(result);
            }
            _ if !self.results.is_empty() => {
                let result = self.results.swap_remove(random.usize(0..self.results.len()));
                writer.release_devices(&Hold::compile(&result));
            }
            _ => {}
        }
    }

    /// Every device that a row sees names the nodes that its slice, or the device itself, does.
    fn check_nodes(&self, snapshot: &Snapshot, met: &mut BTreeMap<String, u32>) {
        for (name, node) in &self.nodes {
            let row = snapshot.node_row(name).unwrap();
            let Ok(pools) = snapshot.devices().seen_by(row) else { continue };
            for (pool, seen) in pools.iter().flat_map(|pool| pool.devices.iter().map(move |seen| (pool, seen))) {
                if *seen.reaches() != Ok(true) || pool.state == PoolState::Invalid {
                    continue;
                }
                let found = snapshot.devices().nodes_of(&pool.name, &seen.device, name, &node.labels);
                let mut written = self.written(pool, &seen.device, node);
                written.sort_by_key(|(generation, _)| *generation);
                assert_eq!(found.as_ref(), written.last().map(|(_, nodes)| nodes), "{name}: {pool:?}");
                let kind = found.map_or("no nodes", |nodes| match nodes {
                    DeviceNodes::All => "all nodes",
                    DeviceNodes::One => "one node",
                    DeviceNodes::Selected(_) => "selected nodes",
                });
                *met.entry(kind.to_owned()).or_default() += 1;
            }
        }
    }

    /// Generations of the slices that a node sees and that have a device, with what they say of its nodes.
    fn written(&self, pool: &SeenPool, device: &Device, node: &NodeFacts) -> Vec<(i64, DeviceNodes)> {
        let is_its = |slice: &&ResourceSlice| {
            (&*slice.spec.driver, &*slice.spec.pool.name) == (&*pool.name.driver, &*pool.name.name)
                && is_relevant(slice, node, self.rules) == Ok(true)
        };
        let mut written = Vec::new();
        for slice in self.slices.values().filter(is_its) {
            let spec = &slice.spec;
            let Some(of) = gather::devices(slice, self.rules).iter().find(|of| *of.name == *device.name) else {
                continue;
            };
            let (name, all, selector) = match spec.per_device_node_selection {
                true => (&of.node_name, of.all_nodes, &of.node_selector),
                false => (&spec.node_name, spec.all_nodes, &spec.node_selector),
            };
            let nodes = match selector {
                _ if name.as_ref().is_some_and(|name| !name.is_empty()) => DeviceNodes::One,
                Some(selector) if !all => DeviceNodes::Selected(Arc::new(selector.clone())),
                _ => DeviceNodes::All,
            };
            written.push((spec.pool.generation, nodes));
        }
        written
    }

    /// An overlay that changes the labels of a node shows what the node would see.
    fn check_overlay(&self, random: &mut fastrand::Rng, writer: &Writer, snapshot: &Snapshot) {
        let node = random_node(random);
        let (name, has_error) = (&*node.name, |view: &View| view.is_err());
        // What is offered to a node by name is known of nodes alone that can be told what they see.
        if !self.nodes.contains_key(name) || views_of(snapshot).get(name).is_none_or(has_error) {
            return;
        }
        let overlay = Overlay { nodes: vec![node.clone()], ..Overlay::default() };
        let overlaid = snapshot.with(writer.pods(), &overlay).unwrap();
        let mut expected = self.views();
        expected.insert(name.to_owned(), gather(self.offers(), &Held::new(&self.results), &node));
        assert_eq!(views_of(&overlaid), expected);
    }
}

#[test]
fn random_changes_leave_rows_equal_to_what_is_gathered() {
    let seed = nodesift_seed::seed();
    let all = [
        "error",
        "incomplete",
        "invalid",
        "ok",
        "two pools",
        "drawn",
        "exclusive",
        "shared",
        "not reached",
        "tainted by rule",
    ];
    let rare = ["unknown whether reached", "binding behind others", "held counter"];
    let wanted = || all.into_iter().chain(rare).chain(["all nodes", "one node", "selected nodes"]);
    let mut met: BTreeMap<String, u32> = BTreeMap::new();
    let is_met = |what: &str, met: &BTreeMap<String, u32>| met.get(what).is_some_and(|times| *times > 20);
    // What is rare may take some more rounds.
    for round in 0..1_500 {
        if round >= rounds(40) && wanted().all(|what| is_met(what, &met)) {
            break;
        }
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(round));
        let (mut writer, reader) = new();
        let mut model = Model::default();
        let mut kept: Vec<(Arc<Snapshot>, Views)> = Vec::new();
        for _ in 0..150 {
            model.change(&mut random, &mut writer);
            if random.u8(0..3) == 0 {
                continue;
            }
            writer.publish();
            let (snapshot, expected) = (reader.snapshot(), model.views());
            assert_eq!(views_of(&snapshot), expected);
            model.check_nodes(&snapshot, &mut met);
            expected.values().for_each(|view| note(view, &mut met));
            model.check_overlay(&mut random, &writer, &snapshot);
            if random.u8(0..8) == 0 {
                kept.push((snapshot, expected));
            }
        }
        writer.publish();
        let last = reader.snapshot();
        for (snapshot, views) in &kept {
            assert_eq!(views_of(snapshot), *views, "an old snapshot never changes");
            let changed = last.rows_changed(NodeInterface::NodeDevices, snapshot.generation()).unwrap();
            for row in (0..last.node_count().min(snapshot.node_count())).map(|row| Row(row as u32)) {
                let [before, after] =
                    [snapshot, &last].map(|it| (it.node_name(row), view_of(&it.devices().seen_by(row))));
                assert!(before == after || changed.contains(&row), "{row:?} changed unseen");
            }
        }
    }
    println!("{met:?}");
    for what in wanted() {
        assert!(is_met(what, &met), "{what} was hardly met: {met:?}");
    }
}

/// Counts what a view shows.
fn note(view: &View, met: &mut BTreeMap<String, u32>) {
    let mut note = |what: &str| *met.entry(what.to_owned()).or_default() += 1;
    let Ok(pools) = view else { return note("error") };
    if pools.len() > 1 {
        note("two pools");
    }
    if !pools.is_sorted_by_key(|pool| (&pool.driver, &pool.name)) {
        note("binding behind others");
    }
    for pool in pools {
        note(&pool.state);
        if pool.counters.iter().any(|(_, held)| *held > 0) {
            note("held counter");
        }
        for device in &pool.devices {
            let facts = [
                (!device.consumes.is_empty(), "drawn"),
                (device.exclusive, "exclusive"),
                (!device.taints.is_empty(), "tainted by rule"),
                (device.shared.is_some(), "shared"),
                (device.reaches == Ok(false), "not reached"),
                (device.reaches.is_err(), "unknown whether reached"),
            ];
            facts.iter().filter(|(is_met, _)| *is_met).for_each(|(_, what)| note(what));
        }
    }
}

fn node(name: &str) -> NodeFacts {
    NodeFacts { name: Arc::from(name), ..random_node(&mut fastrand::Rng::with_seed(0)) }
}

fn local(node: &str, model: &str) -> SliceRecord {
    SliceRecord::compile(&slice(&format!(
        r#"{{"metadata":{{"name":"of-{node}"}},"spec":{{"driver":"d","nodeName":"{node}",
            "pool":{{"name":"{node}","generation":1,"resourceSliceCount":1}},
            "devices":[{{"name":"g0","attributes":{{"model":{{"string":"{model}"}}}}}}, {{"name":"g1"}}]}}}}"#
    )))
}

#[test]
fn rows_share_what_did_not_change_and_only_changed_rows_are_logged() {
    let (mut writer, reader) = new();
    for name in ["a", "b"] {
        writer.apply(node(name));
        writer.apply(local(name, "x"));
    }
    writer.publish();
    let before = reader.snapshot();
    let held: AllocatedDevice = serde_json::from_str(r#"{"driver":"d","pool":"b","device":"g1"}"#).unwrap();
    let hold = Hold::compile(&held).unwrap();
    writer.hold_devices([&hold]);
    writer.apply(local("a", "x"));
    writer.publish();
    let after = reader.snapshot();
    let pools = |snapshot: &Snapshot, row| snapshot.devices().seen_by(Row(row)).unwrap();
    assert!(Arc::ptr_eq(&pools(&before, 0), &pools(&after, 0)));
    assert!(pools(&after, 1)[0].devices[1].exclusive() && !pools(&before, 1)[0].devices[1].exclusive());
    assert_eq!(after.rows_changed(NodeInterface::NodeDevices, before.generation()), Some(vec![Row(1)]));

    // What is held twice is in use until it has been released twice, and what is not held is not released.
    writer.hold_devices([&hold]);
    writer.release_devices([&hold]);
    writer.publish();
    assert_eq!(reader.snapshot().generation(), after.generation());
    writer.release_devices([&hold, &hold]);
    writer.publish();
    assert_eq!(views_of(&reader.snapshot()), views_of(&before));
}

#[test]
fn equal_devices_have_one_number_which_no_other_device_gets() {
    let (mut writer, reader) = new();
    for name in ["a", "b"] {
        writer.apply(node(name));
        writer.apply(local(name, "x"));
    }
    let mut numbers = BTreeSet::new();
    for step in 0..5 {
        writer.publish();
        let snapshot = reader.snapshot();
        let devices = |row| snapshot.devices().seen_by(Row(row)).unwrap()[0].devices.clone();
        let ([a, b], same) = ([devices(0), devices(1)], step == 0);
        assert_eq!((Arc::ptr_eq(&a[0].device, &b[0].device), a[1].device.id), (same, b[1].device.id));
        assert!(numbers.insert(a[0].device.id), "given twice");
        assert_eq!(a[0].device.traits().number, b[1].device.traits().number);
        writer.apply(local("a", &format!("y{step}")));
    }
}

#[test]
fn attributes_are_found_by_full_name() {
    let (mut writer, reader) = new();
    writer.apply(node("a"));
    writer.apply(local("a", "x"));
    writer.publish();
    let device = Arc::clone(&reader.snapshot().devices().seen_by(Row(0)).unwrap()[0].devices[0].device);
    for (name, is_found) in [("d/model", true), ("model", true), ("e/model", false), ("d/", false), ("d/x", false)] {
        assert_eq!(device.attribute(name).is_some(), is_found, "{name}");
    }
}

/// A slice of one device or several is split otherwise into what is the model's and what is the device's own.
#[test]
fn a_device_is_the_same_whatever_devices_are_beside_it() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut writer, reader) = new();
    writer.apply(node("a"));
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut met = 0;
    for round in 0..300 {
        let devices: Vec<String> = (0..random.usize(1..4))
            .map(|number| {
                let attributes = ["model", "uuid", "e/x"].into_iter().filter_map(|name| {
                    let value = random.u8(..4);
                    (value < 3).then(|| format!(r#""{name}":{{"int":{value}}}"#))
                });
                let attributes: Vec<String> = attributes.collect();
                format!(r#"{{"name":"g{number}","attributes":{{{}}}}}"#, attributes.join(","))
            })
            .collect();
        let text = format!(
            r#"{{"metadata":{{"name":"s"}},"spec":{{"driver":"d","nodeName":"a","devices":[{}],
                "pool":{{"name":"p","generation":1,"resourceSliceCount":1}}}}}}"#,
            devices.join(",")
        );
        let written = slice(&text);
        // Another slice keeps each device, so that its number lasts.
        let kept = text
            .replace(r#""name":"s""#, &format!(r#""name":"k{round}""#))
            .replace(r#""p""#, &format!(r#""p{round}""#));
        writer.apply(SliceRecord::compile(&slice(&kept)));
        writer.apply(SliceRecord::compile(&written));
        writer.publish();
        let snapshot = reader.snapshot();
        let pools = snapshot.devices().seen_by(Row(0)).unwrap();
        let pool = pools.iter().find(|pool| *pool.name.name == *"p").unwrap();
        for (seen, written) in pool.devices.iter().zip(&written.spec.devices) {
            let attributes: BTreeMap<&str, _> =
                seen.device.attributes().map(|(name, value)| (&**name, value)).collect();
            let of_record = written.attributes.iter().map(|(name, value)| (name, value.borrowed()));
            assert_eq!(attributes, of_record.collect(), "round {round}");
            let text = format!("{} {attributes:?}", seen.device.name);
            met += usize::from(numbers.contains_key(&text));
            assert_eq!(*numbers.entry(text).or_insert(seen.device.id), seen.device.id, "round {round}");
        }
        assert_eq!(pool.devices.len(), written.spec.devices.len());
    }
    let distinct: BTreeSet<u32> = numbers.values().copied().collect();
    assert!(distinct.len() == numbers.len() && numbers.len() > 40 && met > 200, "{} devices, {met}", numbers.len());
}

/// A slice for all nodes.
fn wide() -> SliceRecord {
    let wide = r#"{"metadata":{"name":"wide"},"spec":{"driver":"d","allNodes":true,"devices":[{"name":"g"}],
        "pool":{"name":"wide","generation":1,"resourceSliceCount":1}}}"#;
    SliceRecord::compile(&slice(wide))
}

#[test]
fn rows_that_see_the_same_share_one_list_before_and_after_a_claim_holds_a_device() {
    let (mut writer, reader) = new();
    ["a", "b"].iter().for_each(|name| writer.apply(node(name)));
    writer.apply(wide());
    writer.publish();
    let lists = |snapshot: &Snapshot| [0, 1].map(|row| snapshot.devices().seen_by(Row(row)).unwrap());
    let [a, b] = lists(&reader.snapshot());
    assert!(Arc::ptr_eq(&a, &b) && !a[0].devices[0].exclusive());
    let held: AllocatedDevice = serde_json::from_str(r#"{"driver":"d","pool":"wide","device":"g"}"#).unwrap();
    writer.hold_devices(&Hold::compile(&held));
    writer.apply(node("c"));
    writer.publish();
    let [a, b] = lists(&reader.snapshot());
    assert!(Arc::ptr_eq(&a, &b) && a[0].devices[0].exclusive());
    let c = reader.snapshot().devices().seen_by(Row(2)).unwrap();
    assert!(Arc::ptr_eq(&a[0], &c[0]));
}

#[test]
fn a_new_node_of_an_overlay_sees_what_is_for_all_nodes() {
    let (mut writer, reader) = new();
    writer.apply(wide());
    writer.publish();
    let overlay = Overlay { nodes: vec![node("new")], ..Overlay::default() };
    let overlaid = reader.snapshot().with(writer.pods(), &overlay).unwrap();
    assert_eq!(overlaid.devices().seen_by(Row(0)).unwrap()[0].devices.len(), 1);
    assert_eq!(overlaid.devices().seen_by(Row(1)), Ok(super::SeenPools::default()));
}

#[test]
fn hostile_slices_cost_at_most_their_pool() {
    let (mut writer, reader) = new();
    writer.apply(node("a"));
    writer.apply(local("a", "x"));
    let devices: Vec<String> = (0..10_000)
        .map(|number| {
            format!(
                r#"{{"name":"g{number}","capacity":{{"m":{{"value":"9e30"}}}},"consumesCounters":[{{"counterSet":"c",
                    "counters":{{"x":{{"value":"9e30"}}}}}}],"nodeSelector":{{"nodeSelectorTerms":[{{"matchExpressions":
                    [{{"key":"","operator":"odd"}}]}}]}}}}"#
            )
        })
        .collect();
    let devices = devices.join(",");
    let big = format!(
        r#"{{"metadata":{{"name":"big"}},"spec":{{"driver":"d","allNodes":true,"perDeviceNodeSelection":true,
            "devices":[{devices}],
            "pool":{{"name":"big","generation":9223372036854775807,"resourceSliceCount":2}}}}}}"#
    );
    writer.apply(SliceRecord::compile(&slice(&big)));
    let counters = r#"{"metadata":{"name":"counters"},"spec":{"driver":"d","allNodes":true,"sharedCounters":[{"name":"c",
        "counters":{"x":{"value":"9e30"}}}],"pool":{"name":"big","generation":9223372036854775807,
        "resourceSliceCount":2}}}"#;
    writer.apply(SliceRecord::compile(&slice(counters)));
    for number in 0..3 {
        let held = format!(r#"{{"driver":"d","pool":"big","device":"g{number}"}}"#);
        writer.hold_devices(&Hold::compile(&serde_json::from_str(&held).unwrap()));
    }
    writer.publish();
    let seen = reader.snapshot().devices().seen_by(Row(0)).unwrap();
    let devices: Vec<usize> = seen.iter().map(|pool| pool.devices.len()).collect();
    assert_eq!(devices, [2, 10_000]);
    assert_eq!(*seen[1].counters, [SeenCounter { total: i128::MAX, held: i128::MAX }]);
    assert!(seen[1].devices.iter().all(|seen| seen.reaches().is_err()));
}
