//! Bookmarks: the version from which a watch resumes.

use nodesift_tests::apiserver::Verb;
use nodesift_tests::machine::beside_others;
use nodesift_tests::timeout;

use crate::oracle::AnswerPoller;
use crate::world::{World, pod};

/// Bookmarks in a row, without an event between them.
const BOOKMARKS: usize = 10_000;

/// W-07 of the reliability list: bookmarks.
#[test]
fn after_10_000_bookmarks_a_watch_goes_on_from_the_last_one_without_a_list() {
    let _beside = beside_others();
    let world = World::with(4, 3);
    world.is_followed("Pod");
    let poller = AnswerPoller::start(&world.sidecar);
    let last = world.server.change(|store| (0..BOOKMARKS).map(|_| store.bookmark("Pod")).last().unwrap());
    // A later event shows that they have been read. The versions before are compacted, so that no watch can resume from them.
    let event = world.server.apply(pod("after", "n1", 2_000));
    world.converges();
    world.server.change(|store| store.compact());
    let watches = world.watches("Pod");
    world.server.cut_watches("Pod");
    world.sees("Pod", Verb::Watch, watches + 1);
    let requests = world.server.requests();
    let resumed = requests.iter().filter(|request| request.kind == "Pod" && request.is_watch()).nth(watches).unwrap();
    assert!(last < event);
    assert_eq!(resumed.parameter("resourceVersion"), event.to_string());
    assert_eq!(world.lists("Pod"), 1);
    world.converges();
    poller.check(&world.server);
}

/// W-07: a kind without events follows the server's version by bookmarks alone.
#[test]
fn a_quiet_kind_goes_on_from_its_bookmark_when_all_before_is_compacted() {
    let _beside = beside_others();
    let world = World::with(4, 3);
    world.is_followed("Node");
    for round in 1..=4 {
        for number in 0..5 {
            world.server.apply(pod(&format!("busy{number}"), "n1", 100 + round));
        }
        // Every watch ends without an error, as on a real server after a bookmark.
        let watches = world.watches("Node");
        world.server.end_watches("Node");
        world.sees("Node", Verb::Watch, watches + 1);
        world.server.change(|store| store.compact());
    }
    assert_eq!(world.lists("Node"), 1, "bookmarks moved the version, so no relist");
    let version = |text: &str| text.parse::<u64>().unwrap();
    let asked: Vec<u64> = world
        .server
        .requests()
        .iter()
        .filter(|request| request.kind == "Node" && request.is_watch())
        .map(|request| version(request.parameter("resourceVersion")))
        .collect();
    assert!(asked.is_sorted(), "{asked:?}");
    world.converges();
}

/// W-07: a bookmark alone advances the version that answers name.
#[test]
fn a_bookmark_is_named_by_answers_as_what_has_been_seen() {
    let _beside = beside_others();
    let world = World::with(3, 2);
    world.is_followed("Pod");
    let version = world.server.change(|store| store.bookmark("Pod"));
    let seen = || {
        let poller = AnswerPoller::start(&world.sidecar);
        timeout::until(|| poller.has_answer().then_some(())).unwrap();
        let records = poller.check(&world.server);
        let answer = records.last()?.answer.clone().ok()?;
        let seen = answer["version"]["podsResourceVersion"].as_str()?.parse::<u64>().ok()?;
        (seen == version).then_some(())
    };
    timeout::until(seen).expect("the bookmark's version is named");
}
