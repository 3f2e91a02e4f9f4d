//! Tests of the resources that have columns, and of what snapshots show of those that have none.

use super::*;

impl Model {
    /// There are columns of the resources that some node advertises, and of no others.
    pub(super) fn check_advertised(&self, snapshot: &Snapshot) {
        let listed: BTreeSet<&Arc<str>> =
            self.nodes.values().flat_map(|node| &node.allocatable).map(|(name, _)| name).collect();
        assert!(snapshot.resource_names().eq(listed), "{:?}", snapshot.resource_names().collect::<Vec<_>>());
        for name in listed_and_one_more(&self.nodes) {
            for (node, own) in own_of(snapshot, &name) {
                let listed = self.nodes[&node].allocatable.iter().find(|(known, _)| **known == *name);
                let expected = match listed {
                    None => Own::None,
                    Some((_, 0)) => Own::Zero,
                    Some(_) => Own::More,
                };
                assert_eq!(own, expected, "{name} of {node}");
            }
        }
    }
}

fn listed_and_one_more(nodes: &BTreeMap<String, NodeFacts>) -> BTreeSet<Arc<str>> {
    let listed = nodes.values().flat_map(|node| &node.allocatable).map(|(name, _)| Arc::clone(name));
    listed.chain([text("example.com/none")]).collect()
}

/// Per node what a snapshot says of a resource.
fn own_of(snapshot: &Snapshot, resource: &str) -> BTreeMap<String, Own> {
    let rows = || (0..u32::try_from(snapshot.node_count()).unwrap()).map(Row);
    let names = rows().map(|row| snapshot.node_name(row).to_owned());
    names.zip(snapshot.own(resource, rows())).collect()
}

fn node(name: &str, allocatable: &[(&str, i64)]) -> NodeFacts {
    let allocatable = allocatable.iter().map(|(name, amount)| (text(name), *amount)).collect();
    NodeFacts { name: text(name), allocatable, ..NodeFacts::default() }
}

fn pod(name: &str, node: &str, usage: Amounts) -> PodRecord {
    let mut random = fastrand::Rng::with_seed(4);
    let pod = random_pod(&mut random, name, Some(text(node)));
    PodRecord {
        ownership: Ownership::Own,
        facts: Arc::new(PodFacts { usage, ..PodFacts::default() }),
        account: None,
        pending: None,
        ..pod
    }
}

/// Returns the free amounts of a resource by row; `None` where neither nodes nor pods name it.
fn free(reader: &Reader, resource: &str) -> Option<Vec<i64>> {
    reader.snapshot().resource(resource).map(|resource| resource.free.flat().to_vec())
}

#[test]
fn a_pod_that_names_tens_of_thousands_of_resources_makes_no_column() {
    const NODES: usize = 1_100;
    let (mut writer, reader) = new();
    for number in 0..NODES {
        writer.apply(node(&format!("n{number}"), &[("cpu", 4_000)]));
    }
    let usage = (0..40_000).map(|odd| (text(&format!("example.com/{odd:05}")), 3));
    writer.apply(pod("p", "n7", usage.chain([(text("memory"), 5)]).collect()));
    writer.publish();
    assert!(reader.snapshot().resource_names().eq([&text("cpu")]));
    // Its usage is known all the same.
    let row = reader.snapshot().node_row("n7").unwrap();
    let expected: Vec<i64> = (0..NODES).map(|at| if at == row.index() { -3 } else { 0 }).collect();
    for resource in ["example.com/00000", "example.com/39999"] {
        assert_eq!(free(&reader, resource), Some(expected.clone()));
    }
    assert_eq!(free(&reader, "example.com/40000"), None);
    writer.remove(&Identity::pod(&reader.pods().by_name("ns", "p").unwrap().uid));
    writer.publish();
    assert_eq!(free(&reader, "example.com/00000"), None);
}

#[test]
fn usage_becomes_a_column_when_a_node_advertises_the_resource_until_the_last_one_stops() {
    let (mut writer, reader) = new();
    let taken = || vec![(text("gpu"), 2)];
    writer.apply(node("a", &[("cpu", 1)]));
    writer.apply(pod("p", "a", taken()));
    // An orphan, which must not count twice when its node is the first to advertise the resource.
    writer.apply(pod("q", "b", taken()));
    writer.publish();
    assert_eq!(free(&reader, "gpu"), Some(vec![-2]));
    writer.apply(node("b", &[("gpu", 8)]));
    writer.publish();
    assert!(reader.snapshot().is_advertised("gpu"));
    assert_eq!(free(&reader, "gpu"), Some(vec![-2, 6]));
    // Advertised at zero is advertised.
    writer.apply(node("b", &[("gpu", 0)]));
    writer.publish();
    assert!(reader.snapshot().is_advertised("gpu"));
    writer.apply(node("b", &[]));
    writer.publish();
    assert!(!reader.snapshot().is_advertised("gpu"));
    assert_eq!(free(&reader, "gpu"), Some(vec![-2, -2]));
    writer.apply(node("b", &[("gpu", 3)]));
    writer.remove(&Identity::node("b"));
    writer.publish();
    assert!(!reader.snapshot().is_advertised("gpu"));
    assert_eq!(free(&reader, "gpu"), Some(vec![-2]));
    writer.remove(&Identity::node("a"));
    writer.publish();
    assert_eq!(free(&reader, "gpu"), None);
    assert_eq!(writer.audit(0..u32::MAX), []);
}

#[test]
fn a_node_lists_nothing_of_a_resource_or_does_not_list_it() {
    let (mut writer, reader) = new();
    let own = |writer: &mut Writer| {
        writer.publish();
        own_of(&reader.snapshot(), "gpu").into_values().collect::<Vec<_>>()
    };
    for (name, allocatable) in [("a", &[("gpu", 0)][..]), ("b", &[]), ("c", &[("gpu", 2)]), ("d", &[("gpu", 0)])] {
        writer.apply(node(name, allocatable));
    }
    assert_eq!(own(&mut writer), [Own::Zero, Own::None, Own::More, Own::Zero]);
    // The last row takes the place of the first.
    writer.remove(&Identity::node("a"));
    assert_eq!(own(&mut writer), [Own::None, Own::More, Own::Zero]);
    writer.apply(node("c", &[("gpu", 0)]));
    writer.apply(node("d", &[]));
    assert_eq!(own(&mut writer), [Own::None, Own::Zero, Own::None]);
    let overlaid = |listed: &[(&str, i64)]| {
        let overlay = Overlay { nodes: vec![node("c", listed)], ..Overlay::default() };
        let snapshot = reader.snapshot().with(reader.pods(), &overlay).unwrap();
        own_of(&snapshot, "gpu").into_values().collect::<Vec<_>>()
    };
    assert_eq!(overlaid(&[("gpu", 1)]), [Own::None, Own::More, Own::None]);
    assert_eq!(overlaid(&[]), [Own::None, Own::None, Own::None]);
    writer.remove(&Identity::node("c"));
    assert_eq!(own(&mut writer), [Own::None, Own::None]);
    assert_eq!(writer.audit(0..u32::MAX), []);
}
