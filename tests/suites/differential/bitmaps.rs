//! Answers as bitmaps compared with answers by name. Clients that follow the node index through random histories decode the
//! same nodes from a bitmap, whatever the age of their index and of the answer's snapshot.

use std::sync::Arc;

use nodesift_api::{Age, response};
use nodesift_cache::Snapshot;
use nodesift_engine::{Engine, Options, PodRef, Query};
use nodesift_fixtures::random::History;
use nodesift_proto::RowNames;
use nodesift_proto::v1::{Bitmaps, Detail, FilterResponse};

use crate::mirror::{self, Mirror};
use crate::seeds::Seeds;
use crate::{FIXED_PART, cases_from_environment, default_policy, engine};

/// Default number of clusters: some seconds of one core.
const CLUSTERS: u64 = 16;

/// Rounds of events in each cluster's history, each followed by queries.
const ROUNDS: usize = 8;

/// Pods per round, each queried by one of the clients.
const PODS: usize = 4;

/// Clients, whose node indexes have different ages.
const CLIENTS: usize = 3;

#[test]
fn bitmaps_and_names_say_the_same_whatever_table_a_client_has() {
    let count = cases_from_environment("NODESIFT_BITMAP_CLUSTERS", CLUSTERS);
    let seeds = Seeds::for_run(count / FIXED_PART);
    let policy = default_policy();
    let (mut feasible, mut whole, mut parts, mut back) = (0, 0, 0, 0);
    for seed in seeds.take(count) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut history = History::new(seed);
        let mut mirror = Mirror::new(policy.scheduler_names.clone());
        mirror.load(history.cluster.objects());
        let engine = engine(&policy, &mirror);
        let mut clients: Vec<RowNames> = vec![RowNames::default(); CLIENTS];
        let mut snapshots: Vec<Arc<Snapshot>> = vec![engine.snapshot()];
        for _ in 0..ROUNDS {
            mirror.follow(&history.advance());
            snapshots.push(engine.snapshot());
            for _ in 0..PODS {
                let pod = history.asked_pod();
                let query = Query::new([PodRef::Whole(Box::new(mirror::pod(&pod)))]);
                // Sometimes from an earlier snapshot, like an answer that is overtaken by a publication.
                let age = if random.u8(0..4) == 0 { random.usize(0..snapshots.len()) } else { 0 };
                let snapshot = &snapshots[snapshots.len() - 1 - age];
                let client = &mut clients[random.usize(0..CLIENTS)];
                let known = client.known();
                let named = ask(&engine, snapshot, &query, None);
                let mapped = ask(&engine, snapshot, &query, Some(known));
                let told = mapped.rows.as_ref().expect("bitmaps come with a node index");
                whole += u64::from(told.whole);
                parts += u64::from(!told.whole && !told.changes.is_empty());
                back += u64::from(!told.whole && told.generation < known.generation);
                *client = client.with(told);
                assert_eq!(client.len(), snapshot.node_count(), "seed {seed}");
                feasible += compare(&named, &mapped, client, seed);
            }
        }
    }
    println!(
        "{feasible} feasible nodes; node index {whole} times whole, {parts} times as a difference, {back} times older"
    );
    assert!(count < CLUSTERS || [feasible, whole, parts, back].iter().all(|times| *times > 0), "a case does not occur");
}

fn ask(engine: &Engine, snapshot: &Arc<Snapshot>, query: &Query, bitmaps: Option<Bitmaps>) -> FilterResponse {
    let answer = engine.answer(query, Options::on(snapshot)).expect("an answer");
    response::filter(&answer, Age::default(), Detail::Nodes, bitmaps.as_ref())
}

/// Compares the two forms of one answer. Returns the number of feasible nodes.
fn compare(named: &FilterResponse, mapped: &FilterResponse, rows: &RowNames, seed: u64) -> u64 {
    let decode = |bitmap: &Option<Vec<u8>>| {
        let mut names: Vec<String> = rows.decode(bitmap.as_deref().expect("a bitmap")).map(str::to_owned).collect();
        names.sort();
        names
    };
    let (named, mapped) = (&named.pods[0], &mapped.pods[0]);
    assert_eq!((&named.feasible_rows, &mapped.feasible), (&None, &Vec::new()), "one form at a time");
    assert_eq!(decode(&mapped.feasible_rows), named.feasible, "seed {seed}");
    assert_eq!((named.feasible_count as usize, mapped.feasible_count), (named.feasible.len(), named.feasible_count));
    assert_eq!((&named.message, named.cycle, named.nodes), (&mapped.message, mapped.cycle, mapped.nodes));
    assert_eq!(named.failures.len(), mapped.failures.len());
    for (named, mapped) in named.failures.iter().zip(&mapped.failures) {
        assert_eq!((&named.node_rows, &mapped.nodes), (&None, &Vec::new()), "one form at a time");
        assert_eq!(decode(&mapped.node_rows), named.nodes, "seed {seed}");
        assert_eq!((&named.predicate, &named.code, &named.reasons), (&mapped.predicate, &mapped.code, &mapped.reasons));
        assert_eq!((named.count as usize, mapped.count), (named.nodes.len(), named.count));
    }
    u64::from(named.feasible_count)
}
