//! Named sums and accounts: whatever order things come in, columns show what a count of the last states gives.

use super::*;

impl Model {
    /// Declares some names, in the model and in a cache.
    pub(super) fn declare_sums(&mut self, random: &mut fastrand::Rng, writer: &mut Writer) {
        let names: BTreeSet<Arc<str>> = SUMS.into_iter().filter(|_| random.u8(0..4) > 0).map(text).collect();
        let changes = names != self.sum_names;
        assert_eq!(writer.declare_sums(&names.iter().cloned().collect::<Vec<_>>()), changes);
        self.sum_names = names;
    }
}

/// Random histories, and events in each.
const ROUNDS: u64 = 20;
const EVENTS: usize = 500;

const NODES: usize = 12;
const PODS: usize = 60;

/// A state of an object, by the number of the object; none where it is gone.
#[derive(Clone)]
enum Event {
    Node(usize, Option<Box<NodeFacts>>),
    Pod(usize, Option<Box<PodRecord>>),
    Names(Vec<Arc<str>>),
}

impl Event {
    fn random(random: &mut fastrand::Rng) -> Self {
        match random.u8(0..20) {
            0..4 => {
                let number = random.usize(0..NODES);
                let state = (random.u8(0..5) > 0).then(|| Box::new(random_node(random, &format!("n{number}"))));
                Self::Node(number, state)
            }
            4 => Self::Names(SUMS.into_iter().filter(|_| random.bool()).map(text).collect()),
            _ => {
                let number = random.usize(0..PODS);
                let node = (random.u8(0..8) > 0).then(|| text(&format!("n{}", random.usize(0..NODES))));
                let pod = random_pod(random, &format!("p{number}"), node);
                let (uid, ownership) = (text(&format!("p{number}")), Ownership::Own);
                Self::Pod(number, (random.u8(0..5) > 0).then(|| Box::new(PodRecord { uid, ownership, ..pod })))
            }
        }
    }

    /// Returns the number of the object that the event is about.
    fn object(&self) -> usize {
        match self {
            Self::Node(number, _) => *number,
            Self::Pod(number, _) => NODES + number,
            Self::Names(_) => NODES + PODS,
        }
    }

    fn apply(&self, writer: &mut Writer) {
        match self {
            Self::Node(_, Some(node)) => writer.apply(NodeFacts::clone(node)),
            Self::Node(number, None) => writer.remove(&Identity::node(&format!("n{number}"))),
            Self::Pod(_, Some(pod)) => writer.apply((**pod).clone()),
            Self::Pod(number, None) => writer.remove(&Identity::pod(&format!("p{number}"))),
            Self::Names(names) => drop(writer.declare_sums(names)),
        }
    }
}

/// Another order of the same events, in which those of one object keep theirs.
fn permuted(events: &[Event], random: &mut fastrand::Rng) -> Vec<Event> {
    let mut objects: Vec<usize> = events.iter().map(Event::object).collect();
    random.shuffle(&mut objects);
    let mut waiting: BTreeMap<usize, Vec<&Event>> = BTreeMap::new();
    events.iter().rev().for_each(|event| waiting.entry(event.object()).or_default().push(event));
    objects.iter().map(|object| waiting.get_mut(object).unwrap().pop().unwrap().clone()).collect()
}

/// Sums and resources that a snapshot shows, by node; of a resource the free and the requested amount.
type Amounted = BTreeMap<String, (BTreeMap<String, i64>, BTreeMap<String, (i64, i64)>)>;

fn shown(snapshot: &Snapshot) -> Amounted {
    let of = |name: &str| {
        let row = snapshot.node_row(name).unwrap();
        let view = view_of(snapshot, row);
        let amounts = view.resources.iter().map(|(name, (allocatable, requested, _))| {
            (name.clone(), (allocatable.wrapping_sub(*requested), *requested))
        });
        (name.to_owned(), (view.sums, amounts.collect()))
    };
    snapshot.names().iter().map(|name| of(name)).collect()
}

/// Counts sums and resources by node from the last state of each object and nothing else.
fn counted(events: &[Event]) -> Amounted {
    let (mut nodes, mut pods, mut names) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for event in events {
        match event.clone() {
            Event::Node(number, state) => drop(nodes.insert(number, state)),
            Event::Pod(number, state) => drop(pods.insert(number, state)),
            Event::Names(declared) => names = declared,
        }
    }
    let pods: Vec<PodRecord> = pods.into_values().flatten().map(|pod| *pod).collect();
    let of = |node: &NodeFacts| {
        let own = names.iter().map(|name| (name.to_string(), amount_of(&node.sums.to_vec(), name)));
        let mut sums: BTreeMap<String, i64> = own.collect();
        let mut resources: BTreeMap<String, (i64, i64)> =
            node.allocatable.iter().map(|(name, amount)| (name.to_string(), (*amount, 0))).collect();
        for pod in pods.iter().filter(|pod| pod.node_name.as_ref() == Some(&node.name)) {
            for (name, amount) in pod.account.iter().flat_map(|account| account.sums.iter()) {
                sums.entry(name.to_string()).and_modify(|sum| *sum = sum.wrapping_add(*amount));
            }
            for (name, amount) in usage_of(pod) {
                let (free, requested) = resources.entry(name.to_string()).or_default();
                (*free, *requested) = (*free - amount, *requested + amount);
            }
        }
        resources.retain(|_, amounts| *amounts != (0, 0));
        (node.name.to_string(), (sums, resources))
    };
    nodes.values().flatten().map(|node| of(node)).collect()
}

#[test]
fn histories_in_any_order_show_what_a_fresh_count_gives() {
    let seed = nodesift_seed::seed();
    let mut accounted = 0;
    let rounds = rounds(ROUNDS);
    for round in 0..rounds {
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(round));
        let events: Vec<Event> = (0..EVENTS).map(|_| Event::random(&mut random)).collect();
        let expected = counted(&events);
        accounted += expected.values().filter(|(sums, _)| sums.values().any(|sum| *sum != 0)).count();
        for events in [permuted(&events, &mut random), events] {
            let (mut writer, reader) = new();
            for event in events {
                event.apply(&mut writer);
                if random.u8(0..10) == 0 {
                    writer.publish();
                }
            }
            writer.publish();
            assert_eq!(shown(&reader.snapshot()), expected, "seed {seed} round {round}");
            assert_eq!(writer.audit(0..u32::MAX), []);
        }
    }
    assert!(accounted > rounds as usize, "{accounted} nodes with sums");
}

/// A pod on node `n` that uses 1 of `cpu`, with an account.
fn pod_with(account: Option<Account>) -> PodRecord {
    let pod = random_pod(&mut fastrand::Rng::with_seed(4), "p", Some(text("n")));
    let facts =
        Arc::new(PodFacts { requests: vec![(text("cpu"), 1)], usage: vec![(text("cpu"), 1)], ..PodFacts::default() });
    PodRecord { ownership: Ownership::Own, facts, account: account.map(Arc::new), ..pod }
}

fn account(usage: i64, sum: i64) -> Account {
    let amounts = |name: &str, amount| vec![(text(name), amount)];
    Account::new(amounts("memory", 7), amounts("cpu", usage), amounts("s", sum), Vec::new())
}

fn node_with(sum: i64) -> NodeFacts {
    let allocatable = vec![(text("cpu"), 10)];
    NodeFacts { name: text("n"), allocatable, sums: [(text("s"), sum)].into(), ..NodeFacts::default() }
}

#[test]
fn an_account_takes_the_place_of_requests_and_usage() {
    let without = pod_with(None);
    assert_eq!(without.usage(), &without.facts.usage);
    assert!(without.sums().is_empty() && Arc::ptr_eq(&without.whole_facts(), &without.facts));
    let with = pod_with(Some(account(4, 2)));
    let facts = with.whole_facts();
    assert_eq!((&facts.requests, &facts.usage), (&vec![(text("memory"), 7)], &vec![(text("cpu"), 4)]));
    assert_eq!((with.requests(), with.usage()), (&facts.requests, &facts.usage));
    // What the account does not say is as in the facts, and these stay as they are on another node.
    assert_eq!(PodFacts { requests: Amounts::new(), usage: Amounts::new(), ..(*facts).clone() }, PodFacts::default());
    let moved = with.on_node(Some(text("m")));
    assert_eq!((&moved.facts, &moved.account), (&with.facts, &with.account));
    assert!(with.memory_bytes() > without.memory_bytes());
}

#[test]
fn a_new_account_of_a_pod_is_a_change_of_resources() {
    let (mut writer, reader) = new();
    let shown = |writer: &mut Writer| {
        writer.publish();
        let snapshot = reader.snapshot();
        let sum = snapshot.named_sum("s").map(|column| *column.get(Row(0)).unwrap());
        (*snapshot.resource("cpu").unwrap().free.get(Row(0)).unwrap(), sum)
    };
    writer.apply(node_with(100));
    writer.apply(pod_with(Some(account(4, 2))));
    assert_eq!(shown(&mut writer), (6, None));
    let mut since = reader.snapshot().generation();
    let mut changed = || {
        let snapshot = reader.snapshot();
        let rows = snapshot.rows_changed(NodeInterface::Resources, since).unwrap();
        assert!(snapshot.rows_changed(NodeInterface::Labels, since).unwrap().is_empty());
        since = snapshot.generation();
        rows
    };
    assert!(writer.declare_sums(&[text("s")]) && !writer.declare_sums(&[text("s")]));
    assert_eq!(shown(&mut writer), (6, Some(102)));
    assert_eq!(changed(), [Row(0)]);
    writer.apply(pod_with(Some(account(4, 3))));
    assert_eq!(shown(&mut writer), (6, Some(103)));
    assert_eq!(changed(), [Row(0)]);
    // The same again is no change.
    writer.apply(pod_with(Some(account(4, 3))));
    writer.apply(node_with(100));
    assert_eq!(shown(&mut writer), (6, Some(103)));
    assert_eq!(changed(), []);
    writer.apply(pod_with(None));
    assert_eq!(shown(&mut writer), (9, Some(100)));
    assert_eq!(changed(), [Row(0)]);
    writer.apply(node_with(-1));
    assert!(writer.holds_node(&node_with(-1)) && !writer.holds_node(&node_with(100)));
    assert_eq!(shown(&mut writer), (9, Some(-1)));
    assert_eq!(changed(), [Row(0)]);
    assert!(writer.declare_sums(&[]));
    assert_eq!(shown(&mut writer), (9, None));
    assert_eq!(changed(), [Row(0)]);
}

#[test]
fn overlays_and_strips_show_accounts() {
    let (mut writer, reader) = new();
    writer.declare_sums(&[text("s")]);
    writer.apply(node_with(100));
    let pod = Arc::new(pod_with(Some(account(4, 2))));
    writer.apply(Arc::clone(&pod));
    writer.publish();
    let shown = |snapshot: &Snapshot| {
        let (cpu, sum) = (snapshot.resource("cpu").unwrap(), snapshot.named_sum("s").unwrap());
        (cpu.free.flat().to_vec(), sum.flat().to_vec())
    };
    let snapshot = reader.snapshot();
    let other = PodRecord { uid: text("q"), name: text("q"), ..pod_with(Some(account(5, 1_000))) };
    let overlay = Overlay {
        nodes: vec![node_with(50)],
        removed: vec![Arc::clone(&pod.uid)],
        added: vec![(Arc::new(other), text("n"))],
    };
    assert_eq!(shown(&snapshot.with(reader.pods(), &overlay).unwrap()), (vec![5], vec![1_050]));
    assert_eq!(shown(&snapshot.without_one_by_one(Row(0), &[None, Some(pod)], 0)), (vec![6, 10], vec![102, 100]));
    assert_eq!(shown(&snapshot), (vec![6], vec![102]));
}
