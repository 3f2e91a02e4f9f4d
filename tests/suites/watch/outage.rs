//! A server that stalls, disappears, is overloaded, or rejects the sidecar: the state is retained and served, and the rate of
//! retries is bounded.

use std::time::{Duration, Instant};

use nodesift_tests::apiserver::{ApiServer, Fault, Request, Verb};
use nodesift_tests::http::{get, post};
use nodesift_tests::machine::beside_others;
use nodesift_tests::{timeout, timing};

use crate::oracle::{AnswerPoller, probes, question};
use crate::world::{World, node, pod};

/// Limit on the time until a stalled watch is detected.
const DEAD_WATCH_FOUND: Duration = Duration::from_secs(20);

/// The time for which the server is gone.
const OUTAGE: Duration = Duration::from_secs(30);

/// The time for which the server only returns errors.
const STORM: Duration = Duration::from_secs(8);

/// The time for which the sidecar is stopped.
const STOPPED: Duration = Duration::from_secs(30);

fn requests_of(world: &World, kind: &str) -> Vec<Request> {
    world.server.requests().into_iter().filter(|request| request.kind == kind).collect()
}

/// Waits in real time: the test asserts that nothing happens meanwhile.
fn pass(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        std::thread::park_timeout(left);
    }
}

/// W-03, in real time.
#[test]
fn a_watch_that_falls_silent_without_an_end_is_found_within_20_s() {
    let _beside = beside_others();
    let world = World::with(4, 3);
    world.is_followed("Pod");
    let poller = AnswerPoller::start(&world.sidecar);
    let silent = world.watches("Pod");
    world.next_watch_meets("Pod", Fault::SilentAfter(0));
    world.sees("Pod", Verb::Watch, silent + 1);
    let asked = Instant::now();
    world.server.apply(pod("unheard", "n1", 6_000));
    world.sees("Pod", Verb::Watch, silent + 2);
    let found = asked.elapsed();
    timing::at_most("a dead watch is found", found, DEAD_WATCH_FOUND + Duration::from_secs(1));
    world.converges();
    assert_eq!(world.lists("Pod"), 1, "the watch is resumed");
    poller.check(&world.server);
}

/// W-09 of the reliability list: versions that are too large.
#[test]
fn a_version_that_is_too_large_for_the_server_is_waited_for_without_a_list() {
    let _beside = beside_others();
    let world = World::with(4, 3);
    world.is_followed("Pod");
    let poller = AnswerPoller::start(&world.sidecar);
    world.next_watch_meets("Pod", Fault::too_large_version());
    world.server.apply(pod("later", "n1", 6_000));
    world.sees("Pod", Verb::Watch, 3);
    world.converges();
    assert_eq!(world.lists("Pod"), 1);
    poller.check(&world.server);
}

/// W-09 of the reliability list: 429 Too Many Requests.
#[test]
fn too_many_requests_are_answered_by_waiting_as_long_as_was_asked() {
    let _beside = beside_others();
    let world = World::with(4, 3);
    world.is_followed("Pod");
    let first = world.watches("Pod");
    world.next_watch_meets("Pod", Fault::too_many_requests(3));
    world.server.apply(pod("later", "n1", 6_000));
    world.sees("Pod", Verb::Watch, first + 2);
    let watches: Vec<Request> = requests_of(&world, "Pod").into_iter().filter(Request::is_watch).collect();
    let waited = watches[first + 1].at - watches[first].at;
    assert!(waited >= Duration::from_secs(3), "retried after {waited:?}");
    world.converges();
    assert_eq!(world.lists("Pod"), 1, "no relist");
}

/// W-09, for a few seconds. The rate at the plateau is tested with a simulated clock.
#[test]
fn a_storm_of_errors_is_met_with_fewer_and_fewer_requests() {
    let _beside = beside_others();
    let world = World::with(4, 3);
    world.is_followed("Pod");
    let poller = AnswerPoller::start(&world.sidecar);
    world.server.script(|script| script.always(None, None, Fault::broken()));
    world.server.cut();
    let began = Instant::now();
    let asked = || -> Vec<Request> {
        requests_of(&world, "Pod")
            .into_iter()
            .filter(|request| request.at >= began && request.at < began + STORM)
            .collect()
    };
    pass(STORM);
    // On a busy machine the second may come later.
    let all = || requests_of(&world, "Pod").into_iter().filter(|request| request.at >= began).count();
    timeout::until(|| (all() >= 2).then_some(())).expect("it is asked again");
    // The first retry is immediate, the next after about 0.8, 1.6 and 3.2 seconds.
    let (asked, probes): (Vec<Request>, Vec<Request>) =
        asked().into_iter().partition(|request| request.verb != Verb::Probe);
    assert!(asked.len() <= 6, "{} requests in {STORM:?}", asked.len());
    let pauses: Vec<Duration> = asked.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    assert!(pauses.iter().skip(1).all(|pause| *pause >= Duration::from_millis(600)), "{pauses:?}");
    // Of the connection that was cut: one, and once more.
    assert!(probes.len() <= 2, "{} probes in {STORM:?}", probes.len());
    world.server.clear_faults();
    world.server.apply(pod("after", "n1", 6_000));
    world.converges();
    assert_eq!(world.lists("Pod"), 1, "the watch is resumed");
    let records = poller.check(&world.server);
    println!("{} answers during and after the storm", records.len());
}

/// W-09: a role is removed, and a token expires, while the sidecar runs.
#[test]
fn what_is_forbidden_later_raises_an_alarm_and_leaves_what_is_known() {
    let _beside = beside_others();
    for (fault, word) in [(Fault::forbidden(), "forbidden"), (Fault::unauthorized(), "unauthorized")] {
        let world = World::with(4, 3);
        world.is_followed("Pod");
        let poller = AnswerPoller::start(&world.sidecar);
        let before = world.verdicts();
        world.server.script(|script| script.always(Some("Pod"), None, fault));
        world.server.end_watches("Pod");
        let alarm = || {
            let output = world.sidecar.output().to_lowercase();
            output.lines().any(|line| line.contains(word) && line.contains("pods")).then_some(())
        };
        timeout::until(alarm).unwrap_or_else(|| panic!("no alarm: {}", world.sidecar.output()));
        world.server.apply(pod("unseen", "n1", 9_000));
        assert_eq!(world.verdicts(), before, "the old pods stay");
        world.server.apply(node(9));
        let nodes_go_on = || (world.verdicts() != before).then_some(());
        timeout::until(nodes_go_on).expect("another kind is still followed");
        poller.check(&world.server);
    }
}

/// W-10 of the reliability list: the server is gone.
#[test]
fn a_server_that_is_gone_leaves_every_question_answered() {
    let _beside = beside_others();
    let world = World::with(6, 4);
    world.is_followed("Pod");
    let poller = AnswerPoller::pausing(&world.sidecar, Duration::from_millis(20));
    world.server.go_down();
    world.server.change(|store| {
        store.apply(pod("meanwhile", "n1", 6_000));
        store.delete("Pod", "default/p2");
        store.delete("Node", "n5");
    });
    pass(OUTAGE);
    let watches = world.watches("Pod");
    world.server.come_up();
    world.sees("Pod", Verb::Watch, watches + 1);
    world.sees("Node", Verb::Watch, 2);
    let took = world.converges();
    timing::at_most("converged after an outage", took, Duration::from_secs(5));
    assert_eq!(world.lists("Pod"), 1, "the watch resumes, without a relist");
    let records = poller.check(&world.server);
    let longest = records.iter().map(|record| record.took).max().unwrap();
    println!("{} requests over {:?}, the longest took {longest:?}", records.len(), records.last().unwrap().asked);
}

/// The age of the data that an answer reports, and whether it reports them as stale.
fn staleness(world: &World) -> (Duration, bool) {
    let answer = post(&world.sidecar.unix(), "/v1/filter", question(&probes()[..1])).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    let version = &answer.json()["version"];
    let milliseconds = version["stalenessMs"].as_str().and_then(|text| text.parse().ok());
    (Duration::from_millis(milliseconds.expect("a followed cluster has an age")), version["stale"] == true)
}

/// Time between two bookmarks of a quiet watch, well below a staleness bound of seconds.
const BOOKMARKED_EVERY: Duration = Duration::from_millis(200);

/// W-12 and W-10 of the reliability list: staleness while the server is gone.
#[test]
fn answers_say_how_old_they_may_be_and_when_that_is_too_old() {
    let _beside = beside_others();
    let server = ApiServer::start();
    crate::world::fill(&server, 3, 2);
    server.bookmark_every(BOOKMARKED_EVERY);
    let bound = timeout::scaled(Duration::from_secs(2));
    let world = World::started(server, &["--stale-after", &format!("{}s", bound.as_secs())]);
    world.server.go_down();
    // The age must not grow faster or slower than the clock.
    let (began, (age, is_stale)) = (Instant::now(), staleness(&world));
    assert!(!is_stale, "{age:?}");
    let (later, passed) = timeout::until(|| {
        let (age, is_stale) = staleness(&world);
        is_stale.then_some((age, began.elapsed()))
    })
    .expect("the answer becomes stale");
    assert!(later >= bound, "{later:?} is not stale");
    assert!(later >= age && later <= age + passed + Duration::from_millis(50), "{age:?}, {passed:?} later {later:?}");
    let ready = get(&world.sidecar.unix(), "/readyz").unwrap();
    assert!(ready.status == 200 && ready.body.starts_with("ok, stale: nothing confirmed for "), "{}", ready.body);
    world.server.come_up();
    timeout::until(|| (!staleness(&world).1).then_some(())).expect("answers are fresh again");
    world.converges();
}

/// W-12: the operator may prefer no answer to a stale one.
#[test]
fn answers_that_are_too_old_are_refused_where_that_is_asked_for() {
    let _beside = beside_others();
    let server = ApiServer::start();
    crate::world::fill(&server, 3, 2);
    server.bookmark_every(BOOKMARKED_EVERY);
    let world = World::started(server, &["--stale-after", "1s", "--refuse-stale"]);
    world.server.go_down();
    let ask = || post(&world.sidecar.unix(), "/v1/filter", question(&probes()[..1])).unwrap();
    let refused = timeout::until(|| Some(ask()).filter(|answer| answer.status != 200)).expect("the request is refused");
    assert_eq!(refused.status, 503, "{}", refused.body);
    world.server.come_up();
    timeout::until(|| (ask().status == 200).then_some(())).expect("it answers again");
}

/// W-13: a process that was stopped resumes its watches, or relists.
#[test]
fn a_sidecar_that_was_stopped_catches_up() {
    let _beside = beside_others();
    let world = World::with(4, 3);
    world.is_followed("Pod");
    world.sidecar.signal("STOP");
    for number in 0..200 {
        world.server.apply(pod(&format!("s{number}"), &format!("n{}", number % 4), 10));
    }
    pass(STOPPED);
    world.sidecar.signal("CONT");
    world.converges();
    assert_eq!(world.lists("Pod"), 1);
}
