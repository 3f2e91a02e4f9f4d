//! Servers that know only older versions than those seen: an etcd that was restored from a backup, and one of several API servers
//! that lags. The first is found out and believed in the end; the second is waited out.

use nodesift_tests::apiserver::{ApiServer, Fault, Verb};
use nodesift_tests::http::{get, post};
use nodesift_tests::machine::beside_others;
use nodesift_tests::timeout;

use crate::oracle::{AnswerPoller, probes, question};
use crate::world::{World, fill, node, pod};

/// Whether an answer says that it is stale, and the resourceVersion of its pods.
fn answer(world: &World) -> (bool, String) {
    let answer = post(&world.sidecar.unix(), "/v1/filter", question(&probes())).unwrap();
    let version = &answer.json()["version"];
    (version["stale"] == true, version["podsResourceVersion"].as_str().unwrap_or_default().to_owned())
}

fn lines(world: &World, text: &str) -> usize {
    world.sidecar.output().lines().filter(|line| line.contains(text)).count()
}

/// The API server starts again over the backup, keeps watches open from versions that it does not know, and ends them in order.
#[test]
fn a_cluster_that_is_restored_from_a_backup_is_stale_and_then_answered_as_it_is() {
    let _beside = beside_others();
    let server = ApiServer::start();
    fill(&server, 6, 4);
    // The least that leaves a quiet cluster fresh; its lists are believed after 20 s.
    let world = World::started(server, &["--stale-after", "15s"]);
    world.is_followed("Pod");
    let backup = world.server.look(|store| store.version());
    world.server.change(|store| {
        for name in ["x", "y", "z"] {
            store.apply(pod(name, "n1", 2_000));
        }
        store.delete("Pod", "default/p2");
        store.delete("Node", "n5");
        store.apply(node(9));
    });
    world.converges();
    world.server.change(|store| store.restore(backup));
    world.server.cut();
    // Nothing has come of it yet, and nothing is known to be as it was.
    timeout::until(|| (lines(&world, "outage: the API server knows only older versions") > 0).then_some(()))
        .expect("it is said that the server knows only older versions");
    let ready = get(&world.sidecar.unix(), "/readyz").unwrap();
    assert!(ready.body.contains("API server knows only older versions"), "{}", ready.body);
    let (_, seen) = timeout::until(|| Some(answer(&world)).filter(|(is_stale, _)| *is_stale))
        .expect("answers say that they are stale");
    assert!(seen.parse::<u64>().is_ok_and(|seen| seen > backup), "answers are of what was known: {seen}");
    timeout::until(|| (lines(&world, "the cluster was restored from a backup; its lists") > 0).then_some(()))
        .expect("it is taken for restored");
    world.converges();
    timeout::until(|| (!answer(&world).0).then_some(())).expect("answers are fresh again");
    // Versions begin anew: what comes now is followed, and answers name it.
    let pods = world.lists("Pod");
    world.server.change(|store| {
        store.apply(pod("after", "n2", 1_000));
        store.delete("Pod", "default/p1");
        store.apply(node(7));
    });
    world.converges();
    let version = world.server.look(|store| store.version());
    timeout::until(|| {
        answer(&world).1.parse::<u64>().is_ok_and(|seen| seen >= backup && seen <= version).then_some(())
    })
    .unwrap_or_else(|| panic!("answers name {}, of {backup} to {version}", answer(&world).1));
    assert_eq!(world.lists("Pod"), pods, "the watch goes on");
    assert_eq!(lines(&world, "the cluster was restored from a backup; its lists"), 1, "{}", world.sidecar.output());
    assert_eq!(lines(&world, "outage over"), 1, "{}", world.sidecar.output());
}

/// The server that answers a probe lags, and another one answers the lists.
#[test]
fn a_server_that_lags_for_a_while_takes_nothing_back() {
    let _beside = beside_others();
    let world = World::with(6, 4);
    world.is_followed("Pod");
    let before = world.server.look(|store| store.version());
    let poller = AnswerPoller::start(&world.sidecar);
    world.server.change(|store| {
        store.apply(pod("newer", "n1", 9_000));
        store.delete("Pod", "default/p2");
    });
    world.converges();
    let (lists, asked) =
        world.server.script(|script| (script.count("Pod", Verb::List(1)), script.count("Pod", Verb::Probe)));
    world.server.script(|script| {
        script.at("Pod", Verb::Probe, asked..asked + 1, Fault::Stale(before));
        script.at("Pod", Verb::List(1), lists..lists + 2, Fault::Stale(before));
    });
    // Nothing happens in the cluster, so a watch that ends has said nothing.
    world.sees("Pod", Verb::Probe, asked + 1);
    world.sees("Pod", Verb::List(1), lists + 3);
    world.is_followed("Pod");
    world.converges();
    assert_eq!(lines(&world, "restored from a backup; its lists"), 0, "{}", world.sidecar.output());
    poller.check(&world.server);
}

/// A quiet cluster costs a small list for each kind and watch, and stays fresh.
#[test]
fn a_quiet_cluster_is_confirmed_by_probes() {
    let _beside = beside_others();
    let world = World::with(4, 3);
    world.is_followed("Pod");
    world.sees("Pod", Verb::Probe, 2);
    world.sees("Node", Verb::Probe, 1);
    assert!(!answer(&world).0);
    assert_eq!((world.lists("Pod"), world.lists("Node")), (1, 1));
    let probes = world.server.count(|request| request.verb == Verb::Probe);
    let watches = world.server.count(|request| request.verb == Verb::Watch);
    assert!(probes <= watches, "{probes} probes, {watches} watches");
}
