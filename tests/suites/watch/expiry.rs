//! Expired versions, relists, and lagging servers: the state is replaced as a whole or not at all, and never goes back.

use std::time::Duration;

use nodesift_tests::apiserver::{ApiServer, Fault, Verb};
use nodesift_tests::machine::beside_others;
use nodesift_tests::timing;
use serde_json::json;

use crate::oracle::AnswerPoller;
use crate::start_up::five_pages;
use crate::world::{World, node, pod};

/// Limit on the time until the sidecar's state is right after a fault.
const RECOVERY: Duration = Duration::from_secs(2);

/// W-01 of the reliability list: 410 as an event.
#[test]
fn an_error_event_410_leads_to_one_new_list() {
    let _beside = beside_others();
    let world = World::with(6, 4);
    let poller = AnswerPoller::start(&world.sidecar);
    for (kind, object) in [("Node", node(7)), ("Pod", pod("late", "n1", 700))] {
        let lists = world.lists(kind);
        world.next_watch_meets(kind, Fault::ExpiredAfter(0));
        world.server.apply(object);
        world.sees(kind, Verb::List(1), lists + 1);
        let took = world.converges();
        timing::at_most("recovered from an expired version", took, RECOVERY);
        assert_eq!(world.lists(kind), lists + 1);
    }
    poller.check(&world.server);
}

/// W-01 of the reliability list: 410 as a status.
#[test]
fn a_status_410_leads_to_one_new_list() {
    let _beside = beside_others();
    let world = World::with(6, 4);
    let poller = AnswerPoller::start(&world.sidecar);
    for (kind, object) in [("Node", node(8)), ("Pod", pod("late", "n2", 700))] {
        world.is_followed(kind);
        world.next_watch_meets(kind, Fault::expired());
        world.server.apply(object);
        world.sees(kind, Verb::List(1), 2);
        let took = world.converges();
        timing::at_most("recovered from an expired version", took, RECOVERY);
        assert_eq!(world.lists(kind), 2);
    }
    poller.check(&world.server);
}

/// W-01: the old rows are served during the relist, and no partial list is ever visible.
#[test]
fn a_list_that_expires_on_page_2_of_5_begins_anew_and_shows_nothing_partial() {
    let _beside = beside_others();
    let world = World::new(five_pages());
    world.is_followed("Pod");
    let poller = AnswerPoller::start(&world.sidecar);
    for round in 0..2 {
        let lists = world.lists("Pod");
        world.server.next("Pod", Verb::List(2), Fault::expired());
        world.server.next("Pod", Verb::List(3), Fault::Late(Duration::from_millis(300)));
        world.next_watch_meets("Pod", Fault::expired());
        world.server.apply(pod(&format!("late{round}"), "n3", 500));
        world.sees("Pod", Verb::List(1), lists + 2);
        world.sees("Pod", Verb::Watch, world.watches("Pod"));
        world.converges();
        assert_eq!(world.lists("Pod"), lists + 2);
    }
    poller.check(&world.server);
}

/// W-01: the versions since the disconnect have been compacted by etcd.
#[test]
fn a_compacted_history_leads_to_a_new_list_that_drops_what_is_gone() {
    let _beside = beside_others();
    let world = World::with(6, 4);
    world.is_followed("Pod");
    let poller = AnswerPoller::start(&world.sidecar);
    world.server.go_down();
    world.server.change(|store| {
        store.delete("Pod", "default/p1");
        store.apply(pod("new", "n1", 400));
        store.delete("Node", "n5");
        store.compact();
    });
    world.server.come_up();
    world.converges();
    assert_eq!(world.lists("Pod"), 2);
    poller.check(&world.server);
}

/// W-08 of the reliability list: lagging lists.
#[test]
fn a_new_list_from_a_server_that_lags_is_refused_and_retried() {
    let _beside = beside_others();
    let world = World::with(6, 4);
    world.is_followed("Node");
    world.is_followed("Pod");
    let before = world.server.look(|store| store.version());
    let poller = AnswerPoller::start(&world.sidecar);
    world.server.change(|store| {
        let mut relabelled = node(1);
        relabelled["metadata"]["labels"]["generation"] = json!("2");
        store.apply(relabelled);
        store.apply(pod("newer", "n1", 9_000));
        store.delete("Pod", "default/p2");
    });
    world.converges();
    for kind in ["Node", "Pod"] {
        let lists = world.lists(kind);
        world.server.script(|script| script.at(kind, Verb::List(1), lists..lists + 2, Fault::Stale(before)));
        world.next_watch_meets(kind, Fault::expired());
        // Two lists are older than the known state; the third is current.
        world.sees(kind, Verb::List(1), lists + 3);
        world.converges();
    }
    poller.check(&world.server);
}

/// W-08: a list at the known version is not older.
#[test]
fn a_new_list_of_the_same_version_is_taken() {
    let _beside = beside_others();
    let server = ApiServer::start();
    crate::world::fill(&server, 6, 4);
    server.script(|script| script.at("Pod", Verb::Watch, 0..2, Fault::ExpiredAfter(0)));
    let world = World::new(server);
    world.sees("Pod", Verb::Watch, 3);
    world.converges();
    assert_eq!(world.lists("Pod"), 3);
}
