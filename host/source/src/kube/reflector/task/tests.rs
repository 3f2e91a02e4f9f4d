//! A reflector against a scripted server, on a paused clock: minutes pass at once, and exactly.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use tokio::time::Instant;

use crate::kube::failure::Failure;
use crate::kube::reflector::script::*;
use crate::kube::server::Server;
use crate::limits::{LIST_PAGES, OUTAGE_FAILURES, PROBE_BUSY, RETRY_JITTER, RETRY_MOST, WATCH_SECONDS, WATCH_SILENCE};
use nodesift_object::Kind;

mod chunks;

const EXPIRED_EVENT: &str = r#"{"kind":"Status","code":410,"reason":"Expired","message":"too old"}"#;

#[tokio::test(start_paused = true)]
async fn a_list_and_what_comes_after_it_are_delivered_in_order() {
    let script = Script::default().page("10", &[pod("a", 3), pod("b", 4)]).watch([
        event("ADDED", &pod("c", 11)),
        event("MODIFIED", &pod("a", 12)),
        event("DELETED", &pod("b", 13)),
        bookmark(15),
        Do::Silence,
    ]);
    let seen = reflect(script, seconds(20)).await;
    assert_eq!(
        seen.told(),
        ["replaced by 2 at 10", "applied ns/c 11", "applied ns/a 12", "deleted ns/b", "bookmark 15"]
    );
    assert_eq!(seen.asked[0].1, "/api/v1/pods?limit=500");
    assert_eq!(seen.watches()[0].1, "10");
}

#[tokio::test(start_paused = true)]
async fn pages_are_joined_and_nothing_is_delivered_before_the_last_one() {
    let two = Script::default().list(Answer::Page(page("10", Some("t1"), &[pod("a", 1)]))).list(Answer::Page(page(
        "10",
        Some("t2"),
        &[pod("b", 2)],
    )));
    let seen = reflect(two, seconds(50)).await;
    assert!(seen.told().is_empty(), "{:?}", seen.told());
    let three = Script::default()
        .list(Answer::Page(page("10", Some("t1"), &[pod("a", 1)])))
        .list(Answer::Page(page("10", Some("t2"), &[pod("b", 2)])))
        .list(Answer::Page(page("10", None, &[pod("c", 3)])));
    let seen = reflect(three, seconds(20)).await;
    assert_eq!(seen.told(), ["replaced by 3 at 10"]);
    assert!(seen.asked[1].1.ends_with("continue=t1") && seen.asked[2].1.ends_with("continue=t2"));
}

#[tokio::test(start_paused = true)]
async fn expiry_on_the_second_page_leads_to_a_relist_with_nothing_of_the_first() {
    let script = Script::default()
        .list(Answer::Page(page("10", Some("t1"), &[pod("old", 1)])))
        .list(Answer::No(expired()))
        .page("20", &[pod("new", 15)]);
    let seen = reflect(script, seconds(20)).await;
    assert_eq!(seen.told(), ["replaced by 1 at 20"]);
    assert_eq!(seen.objects.keys().collect::<Vec<_>>(), ["ns/new"]);
}

#[tokio::test(start_paused = true)]
async fn expiry_as_an_event_and_as_a_status_leads_to_a_relist_within_two_seconds() {
    for as_event in [true, false] {
        let script = Script::default().page("10", &[pod("a", 3)]);
        let script = if as_event {
            script.watch([
                event("MODIFIED", &pod("a", 11)),
                event("ERROR", EXPIRED_EVENT),
                event("ADDED", &pod("x", 99)),
            ])
        } else {
            script.refuse_watch(expired())
        };
        let seen = reflect(script.page("30", &[pod("b", 25)]), seconds(2)).await;
        assert_eq!(seen.told().last(), Some(&"replaced by 1 at 30"), "as an event: {as_event}");
        assert_eq!(seen.objects.keys().collect::<Vec<_>>(), ["ns/b"]);
        assert_eq!(seen.watches().last().unwrap().1, "30");
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_bookmarks_and_a_cut_resume_at_the_last_one_without_a_list() {
    let bookmarks = (11..=10_010).map(bookmark).chain([Do::Cut]);
    let seen = reflect(Script::default().page("10", &[]).watch(bookmarks), seconds(15)).await;
    assert_eq!(seen.lists().len(), 1);
    assert_eq!(seen.watches().iter().map(|(_, after)| *after).collect::<Vec<_>>(), ["10", "10010"]);
}

#[tokio::test(start_paused = true)]
async fn a_dead_connection_is_found_within_20_seconds_of_the_last_byte_and_leads_to_no_relist() {
    let script = Script::default().page("10", &[]).watch([Do::Pause(seconds(3)), bookmark(12), Do::Silence]);
    let seen = reflect(script, seconds(60)).await;
    let [first, second, ..] = seen.watches()[..] else { panic!("{:?}", seen.watches()) };
    let longest = seconds(*WATCH_SECONDS.end()) + WATCH_SILENCE;
    assert!(longest <= seconds(20));
    let found = second.0 - first.0;
    assert!(found >= seconds(*WATCH_SECONDS.start()) && found <= longest, "{found:?}");
    assert_eq!((second.1, seen.lists().len()), ("12", 1));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_opens_watches_and_sends_nothing_lets_the_cache_grow_stale() {
    let deaf = (0..50).fold(Script::default().page("10", &[]), |script, _| script.probe(Answer::Hang));
    let seen = reflect(deaf, seconds(300)).await;
    assert!(seen.watches().len() >= 15, "{:?}", seen.watches());
    assert_eq!(seen.staleness, Some(seconds(300)));
}

#[tokio::test(start_paused = true)]
async fn only_a_resource_version_that_the_server_shows_confirms_the_cache() {
    let listed = || Script::default().page("10", &[]);
    let after = |steps: Vec<Do>| async { reflect(listed().watch(steps), seconds(7)).await };
    let bookmarked = after(vec![Do::Pause(seconds(5)), bookmark(10), Do::Silence]).await;
    assert_eq!(bookmarked.staleness, Some(seconds(2)), "a bookmark");
    let lagging = after(vec![Do::Pause(seconds(5)), bookmark(9), event("ADDED", &pod("a", 8)), Do::Silence]).await;
    assert_eq!(lagging.staleness, Some(seconds(7)), "events of a server that lags");
    let ended_at_once = reflect(listed().watch([]).watch([]).probe(Answer::Hang), seconds(9)).await;
    assert_eq!(ended_at_once.staleness, Some(seconds(9)), "nothing at all");
    // The end of a watch that has brought nothing is followed by a probe.
    let quiet = || listed().watch([Do::Pause(seconds(5))]);
    assert_eq!(reflect(quiet(), seconds(7)).await.staleness, Some(seconds(2)), "a probe");
    for (what, answer) in [
        ("no answer", Answer::Hang),
        ("an error", Answer::No(Failure::from_status(500, None, b""))),
        ("an older version", Answer::Page(page("9", None, &[]))),
        ("no list", Answer::Page("{}".to_owned())),
    ] {
        // It is asked once more after an error.
        let script = quiet().probe(answer.clone()).probe(answer);
        assert_eq!(reflect(script, seconds(7)).await.staleness, Some(seconds(7)), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_without_a_version_that_can_be_compared_confirms_nothing_and_is_followed_by_a_probe() {
    for metadata in
        [r#"{}"#, r#"{"resourceVersion":""}"#, r#"{"resourceVersion":"latest"}"#, r#"{"resourceVersion":"0"}"#]
    {
        let vague = event("BOOKMARK", &format!(r#"{{"kind":"Pod","metadata":{metadata}}}"#));
        let watch = [Do::Pause(seconds(5)), vague, Do::Pause(seconds(1))];
        let script = || Script::default().page("10", &[]).watch(watch.clone());
        let seen = reflect(script().probe(Answer::Hang), seconds(8)).await;
        assert_eq!((seen.staleness, seen.probes()), (Some(seconds(8)), vec![seconds(6)]), "{metadata}");
        assert_eq!(seen.watches().last(), Some(&(seconds(6), "10")), "{metadata}");
        assert_eq!(seen.metrics.unordered_count(Kind::Pod, "incomparable"), 1, "{metadata}");
        assert_eq!(reflect(script(), seconds(8)).await.staleness, Some(seconds(2)), "the probe confirms: {metadata}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_list_of_the_kind_empties_nothing_and_confirms_nothing() {
    for answer in [
        r#"{"metadata":{},"items":[]}"#,
        r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":""},"items":[]}"#,
        r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"latest"},"items":[]}"#,
        r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"99"},"items":[]}"#,
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}"#,
        r#"{"status":"ok","metadata":{},"items":[]}"#,
    ] {
        let wrong = || Answer::Page(answer.to_owned());
        let script = Script::default().page("10", &[pod("a", 3)]).refuse_watch(expired());
        let seen = reflect((0..9).fold(script, |script, _| script.list(wrong())), seconds(60)).await;
        assert_eq!(seen.told(), ["replaced by 1 at 10"], "{answer}");
        assert_eq!(seen.staleness, Some(seconds(60)), "{answer}");
        assert!(seen.metrics.failure_count(Kind::Pod, "malformed") > 1, "{answer}");
        let probed = Script::default().page("10", &[]).watch([Do::Pause(seconds(5))]).probe(wrong()).probe(wrong());
        assert_eq!(reflect(probed, seconds(7)).await.staleness, Some(seconds(7)), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_goes_on_without_end_is_given_up_and_its_pages_with_it() {
    let same = || Answer::Page(page("10", Some("again"), &[pod("a", 1)]));
    let script = (0..4).fold(Script::default(), |script, _| script.list(same()));
    let seen = reflect(script.page("12", &[pod("b", 2)]), seconds(60)).await;
    assert_eq!(seen.told(), ["replaced by 1 at 12"], "each page that is followed by itself ends a list");
    assert_eq!(seen.metrics.failure_count(Kind::Pod, "malformed"), 2);
    let next: Vec<String> = (1..=LIST_PAGES).map(|number| number.to_string()).collect();
    let endless = next.iter().map(|next| Answer::Page(page("10", Some(next), &[])));
    let script = endless.fold(Script::default(), Script::list);
    let seen = reflect(script.page("12", &[pod("b", 2)]), seconds(60)).await;
    assert_eq!(seen.told(), ["replaced by 1 at 12"]);
    assert_eq!(seen.metrics.failure_count(Kind::Pod, "malformed"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_probe_is_sent_only_where_a_watch_has_not_said_enough() {
    let quiet = || vec![Do::Pause(seconds(6))];
    let bookmarked = || vec![Do::Pause(seconds(6)), bookmark(10), Do::Pause(seconds(1))];
    let script = Script::default()
        .page("10", &[])
        .watch(bookmarked())
        .watch(quiet())
        .watch(bookmarked())
        .watch([event("ADDED", &pod("a", 11)), Do::Pause(seconds(8))]);
    let seen = reflect(script, seconds(30)).await;
    assert_eq!(seen.probes(), [seconds(13), seconds(28)]);
    assert!(seen.asked.iter().any(|(_, uri)| uri == "/api/v1/pods?limit=1"), "{:?}", seen.asked);
    assert_eq!(seen.lists().len(), 1);
    // A connection that breaks says that something has happened to the server.
    let cut = Script::default().page("10", &[]).watch([Do::Pause(seconds(3)), bookmark(11), Do::Cut]);
    assert_eq!(reflect(cut, seconds(5)).await.probes(), [seconds(3)]);
}

/// Short requests get through and watches bring nothing, as behind some proxies: the cache may have missed anything.
#[tokio::test(start_paused = true)]
async fn a_probe_beside_watches_that_break_or_fall_silent_confirms_nothing() {
    for end in [Do::Cut, Do::Silence] {
        let steps = || [Do::Pause(seconds(3)), end.clone()];
        let script = (0..100).fold(Script::default().page("10", &[]), |script, _| script.watch(steps()));
        let seen = reflect(script, seconds(100)).await;
        assert_eq!(seen.staleness, Some(seconds(100)), "{end:?}");
        assert!(seen.probes().len() > 3, "it may lag all the same");
    }
}

#[tokio::test(start_paused = true)]
async fn a_restored_list_that_cannot_be_read_is_taken_once_it_can() {
    let script = Script::default().page("100", &[pod("a", 90)]).watch([Do::Pause(seconds(6))]);
    let older = || Answer::Page(page("7", None, &[pod("a", 5)]));
    let broken = || Answer::Page(r#"{"metadata":{"resourceVersion":"7"},"items":[{"#.to_owned());
    let script = (0..50).fold(script.probe(older()), |script, _| script.list(broken()));
    let seen = reflect(script.list(older()), seconds(40)).await;
    assert_eq!(seen.told(), ["replaced by 1 at 100"], "nothing that is broken is taken");
    let script = Script::default().page("100", &[pod("a", 90)]).watch([Do::Pause(seconds(6))]).probe(older());
    let script = (0..8).fold(script, |script, _| script.list(broken()));
    let seen = reflect((0..50).fold(script, |script, _| script.list(older())), seconds(120)).await;
    assert_eq!(seen.told(), ["replaced by 1 at 100", "restored to 1 at 7"]);
}

#[tokio::test(start_paused = true)]
async fn events_do_not_wait_for_a_probe() {
    let script = Script::default()
        .page("10", &[])
        .watch([Do::Pause(seconds(6))])
        .probe(Answer::Hang)
        .watch([event("ADDED", &pod("a", 11)), Do::Silence]);
    let seen = reflect(script, seconds(8)).await;
    assert_eq!(seen.changes.last(), Some(&(seconds(6), "applied ns/a 11".to_owned())));
    assert_eq!(seen.probes(), [seconds(6)]);
}

/// A server whose etcd is restored: it knows lower versions only, and keeps a watch from a later one open.
fn restored(script: Script) -> Script {
    let older = || Answer::Page(page("7", None, &[pod("a", 5)]));
    (0..50).fold(script.probe(older()), |script, _| script.list(older()))
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_restored_is_stale_until_its_older_lists_are_taken() {
    let script = Script::default().page("100", &[pod("a", 90), pod("b", 95)]).watch([Do::Pause(seconds(6))]);
    let script = restored(script);
    let early = reflect(script, seconds(20)).await;
    assert_eq!(early.told(), ["replaced by 2 at 100"]);
    assert_eq!(early.staleness, Some(seconds(20)));

    let script = Script::default().page("100", &[pod("a", 90), pod("b", 95)]).watch([Do::Pause(seconds(6))]);
    let script = restored(script).watch([Do::Silence]).watch([event("ADDED", &pod("c", 8)), Do::Silence]);
    let seen = reflect(script, seconds(30)).await;
    assert_eq!(seen.told(), ["replaced by 2 at 100", "restored to 1 at 7", "applied ns/c 8"]);
    let at = seen.changes[1].0;
    assert!(at >= seconds(26) && at <= seconds(27), "{at:?}");
    assert_eq!(seen.watches().last().unwrap().1, "7");
    let objects: Vec<_> = seen.objects.iter().map(|(key, version)| format!("{key} {version}")).collect();
    assert_eq!(objects, ["ns/a 5", "ns/c 8"]);
    assert_eq!(seen.metrics.failure_count(Kind::Pod, "lagging"), seen.lists().len() as u64 - 1);
}

#[tokio::test(start_paused = true)]
async fn a_restored_server_that_refuses_watches_of_later_versions_is_found_out_as_well() {
    let behind = || {
        Failure::from_status(
            504,
            None,
            br#"{"kind":"Status","reason":"Timeout","message":"Too large resource version: 100, current: 7"}"#,
        )
    };
    let script =
        (0..50).fold(Script::default().page("100", &[pod("a", 90)]), |script, _| script.refuse_watch(behind()));
    let seen = reflect(restored(script), seconds(30)).await;
    assert_eq!(seen.told(), ["replaced by 1 at 100", "restored to 1 at 7"]);
}

/// A server whose connections are refused for some time, and that is restored meanwhile: its probes and lists are older than what was seen,
/// and it keeps watches open.
struct Away {
    script: Script,
    until: Instant,
}

impl Server for Away {
    type Chunks = Chunks;

    async fn list_page(&self, uri: &str) -> Result<bytes::Bytes, Failure> {
        self.reached(self.script.asked().is_empty() || Instant::now() >= self.until)?;
        self.script.list_page(uri).await
    }

    async fn watch(&self, uri: &str) -> Result<Chunks, Failure> {
        let is_first = self.script.asked().iter().all(|uri| !uri.contains("watch=1"));
        self.reached(is_first || Instant::now() >= self.until)?;
        Server::watch(&self.script, uri).await
    }
}

impl Away {
    fn reached(&self, is_reached: bool) -> Result<(), Failure> {
        is_reached.then_some(()).ok_or_else(|| Failure::Transport("connection refused".to_owned()))
    }
}

/// Three waits follow each other: that for the server, that for what the first watch shows, and those between the lists that say it.
#[tokio::test(start_paused = true)]
async fn a_restored_server_that_refused_connections_is_said_to_be_one_within_30_seconds() {
    // Wherever in a wait the server comes back.
    for away in (2..200).step_by(2) {
        let script = Script::default().page("100", &[pod("a", 90)]).watch([Do::Pause(seconds(2)), Do::Cut]);
        let until = Instant::now() + seconds(away);
        let server = Away { script: restored(script), until };
        let seen = reflect_server(Kind::Pod, server, |server| &server.script, seconds(away + 30)).await;
        let told = seen.metrics.failure_count(Kind::Pod, "lagging");
        assert!(told >= u64::from(OUTAGE_FAILURES), "{told} failures 30 s after {away} s: {:?}", seen.asked);
    }
}

/// A watch that brings an event a second for as long as a minute, the first with this version.
fn busy(script: Script, first: u32) -> Script {
    (0..10).fold(script, |script, watch| {
        let from = first + 6 * watch;
        script.watch((from..from + 6).flat_map(|version| [Do::Pause(seconds(1)), event("ADDED", &pod("a", version))]))
    })
}

#[tokio::test(start_paused = true)]
async fn a_server_that_lags_steadily_lets_the_cache_grow_stale_although_it_sends_events() {
    let late = |version: u32| Answer::Page(page(&version.to_string(), None, &[]));
    // Half a minute behind.
    let script = busy(Script::default().page("100", &[]).probe(late(141)).probe(late(180)), 101);
    let seen = reflect(script, Duration::from_millis(59_500)).await;
    assert_eq!(seen.objects["ns/a"], "159", "events are taken all the same");
    let stale = seen.staleness.unwrap();
    assert!(stale >= seconds(30), "{stale:?}");
    assert!(seen.metrics.failure_count(Kind::Pod, "lagging") >= 1);
    let probes = seen.probes();
    assert!(probes.windows(2).all(|pair| pair[1] - pair[0] >= PROBE_BUSY), "{probes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_lags_steadily_is_one_outage_until_a_probe_is_reached_soon() {
    // Ten seconds ahead of the events, twice, and then two.
    let shows = |version: u32| Answer::Page(page(&version.to_string(), None, &[]));
    let script = || busy(Script::default().page("100", &[]).probe(shows(121)).probe(shows(131)).probe(shows(133)), 101);
    let lagging = reflect(script(), seconds(32)).await;
    assert_eq!(lagging.probes().len(), 3);
    assert_eq!(lagging.metrics.failure_count(Kind::Pod, "lagging"), 2);
    assert_eq!(lagging.staleness, Some(seconds(11)), "it has reached what the second probe showed");
    let report = lagging.report.unwrap();
    assert!(report.starts_with("API server knows only older versions for 16 s: pods ("), "{report}");
    let seen = reflect(script(), seconds(39)).await;
    assert_eq!((seen.report, seen.staleness), (None, Some(Duration::ZERO)));
}

#[tokio::test(start_paused = true)]
async fn a_busy_watch_that_keeps_up_stays_fresh_at_few_probes() {
    // Each knows what has come just before, and the next event.
    let known = |at: u32| Answer::Page(page(&(101 + at).to_string(), None, &[]));
    let script =
        [10, 20, 30, 40, 50].into_iter().fold(Script::default().page("100", &[]), |script, at| script.probe(known(at)));
    let seen = reflect(busy(script, 101), seconds(59)).await;
    assert!(seen.staleness.unwrap() <= seconds(1), "{:?}", seen.staleness);
    let probes = seen.probes();
    assert!((4..=6).contains(&probes.len()), "{probes:?}");
    assert!(probes.windows(2).all(|pair| pair[1] - pair[0] >= PROBE_BUSY), "{probes:?}");
    assert_eq!((seen.lists().len(), seen.metrics.failure_count(Kind::Pod, "lagging")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_lags_for_a_while_is_waited_out() {
    let older = || Answer::Page(page("99", None, &[]));
    let script = Script::default().page("100", &[pod("a", 90)]).watch([Do::Pause(seconds(6))]).probe(older());
    let script = script.list(older()).list(older()).page("104", &[pod("a", 90), pod("b", 103)]);
    let seen = reflect(script, seconds(20)).await;
    assert_eq!(seen.told(), ["replaced by 1 at 100", "replaced by 2 at 104"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_response_times_out_as_well() {
    struct Deaf(Script);
    impl Server for Deaf {
        type Chunks = Chunks;
        async fn list_page(&self, uri: &str) -> Result<bytes::Bytes, Failure> {
            self.0.list_page(uri).await
        }
        async fn watch(&self, uri: &str) -> Result<Chunks, Failure> {
            let _noted = Server::watch(&self.0, uri).await;
            std::future::pending().await
        }
    }
    let seen = reflect_server(Kind::Pod, Deaf(Script::default().page("10", &[])), |deaf| &deaf.0, seconds(100)).await;
    assert!((5..=8).contains(&seen.watches().len()), "{:?}", seen.watches());
}

#[tokio::test(start_paused = true)]
async fn flow_control_is_obeyed_for_as_long_as_the_server_asks() {
    let busy = Failure::from_status(429, Some("17"), b"");
    let script = Script::default().list(Answer::No(busy.clone())).page("10", &[]).refuse_watch(busy);
    let seen = reflect(script, seconds(60)).await;
    assert_eq!(seen.lists(), [seconds(0), seconds(17)]);
    let watches: Vec<_> = seen.watches().iter().map(|(at, _)| *at).collect();
    assert_eq!(watches[..2], [seconds(17), seconds(34)]);
    assert_eq!(seen.metrics.failure_count(Kind::Pod, "throttled"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_behind_our_version_gets_the_same_request_again() {
    let behind = Failure::from_status(
        504,
        None,
        br#"{"kind":"Status","reason":"Timeout","message":"Too large resource version: 9, current: 5"}"#,
    );
    let script = Script::default().page("10", &[]).refuse_watch(behind).watch([bookmark(12), Do::Silence]);
    let seen = reflect(script, seconds(20)).await;
    assert_eq!(seen.lists().len(), 1);
    assert_eq!(seen.told().last(), Some(&"bookmark 12"));
}

#[tokio::test(start_paused = true)]
async fn errors_for_a_minute_lead_to_a_few_requests_and_then_the_watch_goes_on() {
    let mut script = Script::default().page("10", &[]);
    for _ in 0..7 {
        script = script.refuse_watch(Failure::from_status(500, None, b"boom"));
    }
    let seen = reflect(script.watch([bookmark(12), Do::Silence]), seconds(150)).await;
    let at: Vec<_> = seen.watches().iter().map(|(at, _)| *at).collect();
    assert!((5..=8).contains(&at.iter().filter(|at| **at < seconds(60)).count()), "{at:?}");
    assert_eq!((seen.lists().len(), seen.told().last()), (1, Some(&"bookmark 12")));
}

#[tokio::test(start_paused = true)]
async fn a_list_from_a_lagging_server_is_refused_and_no_version_goes_back() {
    let script = Script::default()
        .page("100", &[pod("a", 90), pod("b", 95)])
        .watch([event("DELETED", &pod("a", 120)), event("ERROR", EXPIRED_EVENT)])
        .page("100", &[pod("a", 90), pod("b", 95)])
        .page("119", &[pod("a", 90), pod("b", 95)])
        .page("120", &[pod("b", 95)]);
    let seen = reflect(script, seconds(20)).await;
    assert_eq!(seen.told(), ["replaced by 2 at 100", "deleted ns/a", "replaced by 1 at 120"]);
    assert_eq!(seen.lists().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_decode_stays_as_it_was_and_stops_nothing() {
    let script = Script::default()
        .page("10", &[pod("a", 1), broken("never", 2), pod("c", 3)])
        .watch([
            event("MODIFIED", &broken("a", 11)),
            event("ADDED", &pod("d", 12)),
            event("DELETED", &broken("c", 13)),
            event("ERROR", EXPIRED_EVENT),
        ])
        .page("20", &[broken("a", 11), pod("d", 12)]);
    let seen = reflect(script, seconds(20)).await;
    assert_eq!(
        seen.told(),
        ["replaced by 3 at 10", "bookmark 11", "applied ns/d 12", "deleted ns/c", "replaced by 2 at 20"]
    );
    let objects: Vec<_> = seen.objects.iter().map(|(key, version)| format!("{key} {version}")).collect();
    assert_eq!(objects, ["ns/a 1", "ns/d 12"]);
    assert_eq!(seen.metrics.unreadable_count(Kind::Pod), 3);
}

#[tokio::test(start_paused = true)]
async fn what_arrives_out_of_order_is_counted_and_the_watch_goes_on_from_the_newest() {
    let script = Script::default().page("10", &[]).watch([
        event("MODIFIED", &pod("a", 15)),
        event("MODIFIED", &pod("b", 12)),
        event("MODIFIED", &pod("b", 12)),
        Do::Cut,
    ]);
    let seen = reflect(script, seconds(20)).await;
    assert_eq!(seen.watches()[1].1, "15");
    assert_eq!(seen.metrics.unordered_count(Kind::Pod, "back"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_is_treated_as_empty_and_requested_every_five_minutes() {
    let missing = || Answer::No(Failure::from_status(404, None, b"404 page not found"));
    let mut script = Script::default();
    for _ in 0..6 {
        script = script.list(missing());
    }
    let script = script.list(Answer::Page(page("7", None, &[])));
    let seen = reflect_kind(Kind::DeviceClass, script, seconds(700)).await;
    assert_eq!(seen.told(), ["replaced by 0 at ", "replaced by 0 at 7"]);
    assert_eq!(seen.lists().iter().map(Duration::as_secs).collect::<Vec<_>>(), [0, 0, 0, 300, 300, 300, 600]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_leads_to_growing_backoff() {
    let mut script = Script::default();
    for _ in 0..20 {
        script = script.list(Answer::No(Failure::from_status(
            403,
            None,
            br#"{"kind":"Status","message":"pods is forbidden"}"#,
        )));
    }
    let seen = reflect(script, seconds(300)).await;
    let lists = seen.lists();
    // Growing waits at first; then the longest, with jitter.
    let least = RETRY_MOST.mul_f64(1.0 - RETRY_JITTER);
    assert!(lists.windows(2).skip(6).all(|pair| pair[1] - pair[0] >= least), "{lists:?}");
    assert!((8..=18).contains(&lists.len()), "{lists:?}");
    assert!(seen.told().is_empty());
}
