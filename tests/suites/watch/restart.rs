//! Kill and restart: nothing is lost, because the whole state comes from the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nodesift_tests::apiserver::ApiServer;
use nodesift_tests::http::{get, post};
use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use serde_json::Value;

use crate::oracle::{self, question};
use crate::random::RandomChanges;
use crate::world::{self, launch};

/// Number of times that a sidecar is killed.
const KILLS: usize = 12;

/// Kinds that are listed at the start.
const LISTS: usize = 15;

/// P-03 of the reliability list: killed and restarted.
#[test]
fn killed_at_random_points_it_says_the_same_as_one_that_never_was() {
    let _beside = beside_others();
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let server = Arc::new(ApiServer::start());
    world::fill(&server, 8, 4);
    let steady = launch(&server, &[]);
    steady.wait_until_ready();

    for round in 0..KILLS {
        // The cluster changes while a sidecar starts and is killed before, while or after it reads its lists.
        let over = Arc::new(AtomicBool::new(false));
        let changing = {
            let (server, over, mut changes) =
                (Arc::clone(&server), Arc::clone(&over), RandomChanges::new(random.u64(..), 8));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    changes.step(&server);
                    std::thread::park_timeout(std::time::Duration::from_micros(500));
                }
            })
        };
        let lists = server.count(|request| request.is_list());
        let doomed = launch(&server, &[]);
        let lists = lists + random.usize(0..2 * LISTS);
        let point = || {
            let is_ready = get(&doomed.unix(), "/readyz").is_ok_and(|ready| ready.status == 200);
            (is_ready || server.count(|request| request.is_list()) >= lists).then_some(())
        };
        timeout::until(point).expect("a list is requested");
        doomed.kill();
        over.store(true, Ordering::Relaxed);
        changing.join().unwrap();

        // All sidecars give the same answer for one state of the cluster.
        let fresh = launch(&server, &[]);
        fresh.wait_until_ready();
        oracle::converges(&server, &steady);
        oracle::converges(&server, &fresh);
        // A list names the newest version of all kinds, a watch that of its own kind's last event. Bookmarks make them equal.
        let [nodes, pods] = server.change(|store| ["Node", "Pod"].map(|kind| store.bookmark(kind)));
        // A watch that has ended meanwhile names a later version of the same state.
        let answers = [&steady, &fresh].map(|sidecar| {
            let has_seen = |answer: &(u64, u64, String)| answer.0 >= nodes && answer.1 >= pods;
            let answer = timeout::until(|| Some(pods_of(sidecar)).filter(has_seen));
            answer.unwrap_or_else(|| panic!("round {round}: versions {nodes} and {pods} are not reached")).2
        });
        assert_eq!(answers[0], answers[1], "round {round}");
    }
}

/// The answer about the usual probes as text, with the versions of nodes and pods from which it was computed.
fn pods_of(sidecar: &Sidecar) -> (u64, u64, String) {
    let text = timeout::until(|| {
        let answer = post(&sidecar.unix(), "/v1/explain", question(&oracle::probes())).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        (!answer.body.contains("Deadline")).then_some(answer.body)
    });
    let text = text.unwrap();
    let (version, pods) = text.split_once(r#","pods":"#).unwrap();
    let version: Value = serde_json::from_str(&format!("{version}}}")).unwrap();
    let seen = |kind: &str| version["version"][kind].as_str().and_then(|seen| seen.parse().ok()).unwrap_or(0);
    (seen("nodesResourceVersion"), seen("podsResourceVersion"), pods.to_owned())
}
