//! Another accountant: what a recount by node leaves is what a cache shows that has had this accountant from the start.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

/// Random clusters, and recounts of each.
const ROUNDS: u64 = 25;
const RECOUNTS: usize = 4;

/// Says of a pod what follows from its namespace and requests and from a number.
#[derive(Debug)]
struct Numbered {
    seed: u64,
    names: Vec<Arc<str>>,
    keeps_last: bool,
}

impl Numbered {
    fn random(random: &mut fastrand::Rng) -> Arc<Self> {
        // Few numbers, so that some accounts stay as they are.
        let names = SUMS.into_iter().filter(|_| random.u8(0..4) > 0).map(text).collect();
        Arc::new(Self { seed: random.u64(0..3), names, keeps_last: false })
    }

    fn by(&self, amounts: &Amounts) -> fastrand::Rng {
        let number = amounts.iter().fold(self.seed, |number, (name, amount)| {
            number.wrapping_mul(31).wrapping_add(name.len() as u64).wrapping_add(amount.cast_unsigned())
        });
        fastrand::Rng::with_seed(number)
    }
}

impl Accountant for Numbered {
    fn sums(&self) -> &[Arc<str>] {
        &self.names
    }

    fn keeps_last(&self) -> bool {
        self.keeps_last
    }

    fn pods(&self, pods: &[&Arc<PodFacts>]) -> Vec<Accounted> {
        let say = |facts: &&Arc<PodFacts>| {
            let mut random = self.by(&facts.usage);
            match random.u8(0..8) {
                0 => Err(text("broken")),
                // What the API says, but for sums.
                1 => Ok(Some(Arc::new(Account {
                    usage: facts.usage.clone(),
                    sums: random_sums(&mut random).into(),
                    ..Account::default()
                }))),
                _ => Ok(random_account(&mut random)),
            }
        };
        pods.iter().map(say).collect()
    }

    fn nodes(&self, nodes: &[AccountedNode]) -> Vec<Result<Sums, Arc<str>>> {
        let say = |node: &AccountedNode| {
            let mut random = self.by(&node.allocatable);
            if random.u8(0..8) > 0 { Ok(random_sums(&mut random).into()) } else { Err(text("broken")) }
        };
        nodes.iter().map(say).collect()
    }

    fn forget_pod(&self, _: &Arc<PodFacts>) {}

    fn forget_node(&self, _: &AccountedNode) {}
}

/// A cluster: nodes, and pods on these, on others and on none.
struct Cluster {
    nodes: Vec<NodeFacts>,
    pods: Vec<PodRecord>,
}

impl Cluster {
    fn random(random: &mut fastrand::Rng) -> Self {
        let nodes = (0..6).map(|node| random_node(random, &format!("n{node}"))).collect();
        let pod = |number: u8| {
            let node = (random.u8(0..8) > 0).then(|| text(&format!("n{}", random.u8(0..8))));
            PodRecord { uid: text(&format!("u{number}")), ..random_pod(random, &format!("p{number}"), node) }
        };
        Self { nodes, pods: (0..60).map(pod).collect() }
    }

    fn apply(&self, writer: &mut Writer) {
        self.nodes.iter().for_each(|node| writer.apply(node.clone()));
        self.pods.iter().for_each(|pod| writer.apply(pod.clone()));
    }
}

fn accounts(reader: &Reader) -> BTreeMap<String, PodRecord> {
    let pods = reader.pods().all();
    pods.iter()
        .inspect(|pod| assert!(Arc::ptr_eq(pod, &reader.pods().by_name(&pod.namespace, &pod.name).unwrap())))
        .map(|pod| (pod.uid.to_string(), (**pod).clone()))
        .collect()
}

fn nominated(snapshot: &Snapshot) -> Vec<Vec<PodRecord>> {
    let of = |node: u8| {
        let mut pods: Vec<PodRecord> =
            snapshot.nominated(&format!("n{node}")).iter().map(|pod| (**pod).clone()).collect();
        pods.sort_unstable_by(|a, b| a.uid.cmp(&b.uid));
        pods
    };
    (0..8).map(of).collect()
}

/// Whether a recount has more steps than these, after which it is interrupted.
fn interrupts(writer: &mut Writer, steps: u32, accountant: &Option<Arc<dyn Accountant>>) -> bool {
    panic_after(Some(steps));
    let made = catch_unwind(AssertUnwindSafe(|| writer.recount_accounts(accountant.clone())));
    panic_after(None);
    made.is_err()
}

#[test]
fn a_recount_by_node_shows_what_a_fresh_count_of_each_pod_does() {
    let seed = nodesift_seed::seed();
    let (mut all_changed, mut usages_changed, mut interrupted) = (0, 0, 0);
    for round in 0..rounds(ROUNDS) {
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(round));
        let cluster = Cluster::random(&mut random);
        let (mut writer, reader) = new();
        cluster.apply(&mut writer);
        let pods = CountKey { selectors: vec![random_selector(&mut random)], terminating: true };
        let sum = SumKey { pods: pods.clone(), resource: text("cpu") };
        for _ in 0..RECOUNTS {
            writer.publish();
            // The second read finds them maintained.
            let before = reader.snapshot();
            counts_of(&before, &pods);
            sums_of(&before, &sum);
            writer.publish();
            let mut events = writer.follow_allocations(None).events;
            let before = reader.snapshot();
            let held = accounts(&reader);
            let views = views_of(&before);
            let accountant = (random.u8(0..5) > 0).then(|| Numbered::random(&mut random) as Arc<dyn Accountant>);
            let is_interrupted = random.bool() && interrupts(&mut writer, random.u32(0..30), &accountant);
            interrupted += usize::from(is_interrupted);
            let changed = writer.recount_accounts(accountant.clone());
            assert_eq!(views_of(&reader.snapshot()), views, "seed {seed} round {round}: shown before it is published");
            writer.publish();
            assert_eq!(writer.audit(0..u32::MAX), [], "seed {seed} round {round}");
            let snapshot = reader.snapshot();

            let (mut fresh, fresh_reader) = new();
            fresh.recount_accounts(accountant);
            cluster.apply(&mut fresh);
            fresh.publish();
            let expected = fresh_reader.snapshot();
            assert_eq!(views_of(&snapshot), views_of(&expected), "seed {seed} round {round}");
            assert_eq!(accounts(&reader), accounts(&fresh_reader), "seed {seed} round {round}");
            assert_eq!(counts_of(&snapshot, &pods), counts_of(&expected, &pods), "seed {seed} round {round}");
            assert_eq!(sums_of(&snapshot, &sum), sums_of(&expected, &sum), "seed {seed} round {round}");
            assert_eq!(nominated(&snapshot), nominated(&expected), "seed {seed} round {round}");
            let unknown =
                |writer: &Writer| (writer.unknown_accounts().pods.clone(), writer.unknown_accounts().nodes.clone());
            assert_eq!(unknown(&writer), unknown(&fresh), "seed {seed} round {round}");

            if is_interrupted {
                // Some of it was done before.
                continue;
            }
            let now = accounts(&reader);
            let others: Vec<&PodRecord> = now.values().filter(|pod| held[&*pod.uid].account != pod.account).collect();
            assert_eq!(changed, others.len(), "seed {seed} round {round}");
            let mut told = BTreeSet::new();
            loop {
                let read = events.read().unwrap();
                if read.is_empty() {
                    break;
                }
                for event in read {
                    let Event::Allocation(event) = &*event else { continue };
                    assert_eq!(event.change, AllocationChange::Updated);
                    told.insert(event.pod.uid.to_string());
                }
            }
            let on_known =
                |pod: &&&PodRecord| pod.node_name.as_ref().is_some_and(|node| snapshot.node_row(node).is_some());
            let expected: BTreeSet<String> = others.iter().filter(on_known).map(|pod| pod.uid.to_string()).collect();
            assert_eq!(told, expected, "seed {seed} round {round}");
            let rows = snapshot.rows_changed(NodeInterface::Resources, before.generation()).unwrap();
            for row in (0..snapshot.node_count()).map(|row| Row(row as u32)) {
                let differs = view_of(&before, row) != view_of(&snapshot, row);
                assert!(!differs || rows.contains(&row), "seed {seed} round {round}: {row:?} changed unseen");
            }
            all_changed += others.len();
            usages_changed += others.iter().filter(|pod| held[&*pod.uid].usage() != pod.usage()).count();
        }
    }
    assert!(interrupted > 8, "{interrupted} recounts were interrupted");
    assert!(usages_changed > 400 && all_changed > usages_changed + 40, "{usages_changed} of {all_changed}");
}
