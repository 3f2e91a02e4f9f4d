//! Memory that negotiations hold, and their owners, over a socket and over TCP.

use futures_util::FutureExt as _;
use nodesift_api::access::Caller;
use nodesift_api::parties::{Outbox, Parties as _};
use nodesift_negotiation::OnSilence;
use nodesift_negotiation::limits::{NAME_BYTES, REMOTE_HELD_BYTES};
use nodesift_proto::v1::negotiation_event::Event;
use nodesift_proto::v1::{self, End, pod};
use serde_json::{Value, json};
use tokio::time::timeout;
use tonic::Code;

use super::sidecar::{Sidecar, TIME, names, party, pod_object, request};
use crate::limits::FOLLOWERS;

/// A request about a whole pod, which the cache does not know.
fn whole(pod: &Value) -> v1::NegotiateRequest {
    v1::NegotiateRequest { pod: Some(v1::Pod::from(pod::Pod::Json(pod.to_string()))), ..Default::default() }
}

async fn held(sidecar: &Sidecar, listener: &str) -> usize {
    let bytes = &sidecar.overview().await["usage"][format!("{listener}Bytes")];
    usize::try_from(bytes.as_u64().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_whole_pod_only_what_predicates_read_is_held_and_counted_until_the_end() {
    let sidecar = Sidecar::start(2, 1, Vec::new()).await;
    let mut core = sidecar.core().await;
    let mut pod = pod_object("new");
    // Nothing reads this: no policy lists the annotation.
    pod["metadata"]["annotations"] = json!({"note": "x".repeat(1 << 20)});
    let (id, _) = core.agree(whole(&pod)).await;
    assert!((100..16 << 10).contains(&held(&sidecar, "local").await), "{}", held(&sidecar, "local").await);
    core.release(id).await.unwrap();
    assert_eq!(held(&sidecar, "local").await, 0);
    // Labels are read by selectors.
    pod["metadata"]["labels"] = json!({"large": "x".repeat(1 << 20)});
    let (id, _) = core.agree(whole(&pod)).await;
    assert!(held(&sidecar, "local").await > 1 << 20);
    core.release(id).await.unwrap();
    assert_eq!(held(&sidecar, "local").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn negotiations_over_tcp_hold_so_many_bytes_and_leave_the_socket_its_own() {
    let sidecar = Sidecar::start(2, 1, vec![party("a", OnSilence::Wait)]).await;
    let mut stranger = sidecar.core_over_tcp().await;
    let (mut open, mut refused) = (Vec::new(), 0);
    for number in 0..40 {
        let mut pod = pod_object(&format!("large{number}"));
        pod["metadata"]["labels"] = json!({"large": "x".repeat(1 << 20)});
        match stranger.negotiate(whole(&pod)).await {
            Ok(events) => open.push(events),
            Err(status) => {
                assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
                refused += 1;
            }
        }
        assert!(held(&sidecar, "remote").await <= REMOTE_HELD_BYTES);
    }
    assert!(refused > 10 && open.len() > 5, "{refused} of 40 are refused");
    let mut core = sidecar.core().await;
    let mut events = core.negotiate(request("p0")).await.unwrap();
    assert!(matches!(events.next().await, Event::Asked(_)));
    drop(open);
    let wanted = |overview: &Value| overview["usage"]["remoteBytes"] == 0;
    sidecar.until(wanted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_an_order_that_no_node_has_are_not_held() {
    let sidecar = Sidecar::start(2, 1, vec![party("a", OnSilence::Wait)]).await;
    let mut core = sidecar.core().await;
    let unknown = (0..10_000).map(|number| format!("{number}-{}", "x".repeat(200)));
    let order = names([1]).into_iter().chain(unknown).collect();
    let mut events = core.negotiate(v1::NegotiateRequest { order, ..request("p0") }).await.unwrap();
    assert!(matches!(events.next().await, Event::Asked(asked) if asked.nodes == 1));
    assert!(held(&sidecar, "local").await < 16 << 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_many_requests_name_is_held_and_counted_once() {
    const NODES: usize = 500;
    let sidecar = Sidecar::start(NODES, 3, vec![party("a", OnSilence::Wait)]).await;
    let mut core = sidecar.core().await;
    let mut negotiated = Vec::new();
    let mut counted = vec![0];
    for pod in ["p0", "p1", "p2"] {
        // By name, from the last: not as by row.
        let order = names((0..NODES).rev());
        // No round ends meanwhile.
        let asked = v1::NegotiateRequest { order, round_ms: 60_000, deadline_ms: 120_000, ..request(pod) };
        let mut events = core.negotiate(asked).await.unwrap();
        assert!(matches!(events.next().await, Event::Asked(_)));
        negotiated.push(events);
        counted.push(held(&sidecar, "local").await);
    }
    let added: Vec<usize> = counted.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!((added[0] - added[1], added[1]), (NODES * NAME_BYTES, added[2]));
    drop(negotiated);
    sidecar.until(|overview| overview["usage"]["localBytes"] == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn to_another_client_a_negotiation_is_not_there() {
    let sidecar = Sidecar::start(2, 1, Vec::new()).await;
    let (mut core, mut stranger) = (sidecar.core().await, sidecar.core_over_tcp().await);
    let (id, nodes) = core.agree(request("p0")).await;
    for near in [id, id.wrapping_add(1), id.wrapping_sub(1)] {
        assert_eq!(stranger.release(near).await.unwrap_err().code(), Code::NotFound);
        assert_eq!(stranger.select(near, nodes.clone()).await.err().unwrap().code(), Code::NotFound);
    }
    let supersedes = v1::NegotiateRequest { supersedes: id, ..request("p0") };
    assert_eq!(stranger.negotiate(supersedes).await.err().unwrap().code(), Code::NotFound);
    // Nor is it in the core's way that somebody else negotiates the same pod.
    let (foreign, _) = stranger.agree(request("p0")).await;
    assert!(foreign.abs_diff(id) > 1_000, "{foreign} and {id} are neighbours");
    let mut selected = core.select(id, nodes).await.unwrap();
    loop {
        match selected.try_next().await.unwrap() {
            Some(Event::Allocated(_)) => break,
            Some(_) => {}
            None => panic!("the selection ends without an allocation"),
        }
    }
    assert!(sidecar.node_of("p0").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_with_the_uid_of_another_keeps_no_core_from_it() {
    let sidecar = Sidecar::start(2, 0, vec![party("a", OnSilence::Wait)]).await;
    let mut a = sidecar.party("a").await;
    let (mut core, mut stranger) = (sidecar.core().await, sidecar.core_over_tcp().await);
    let mut forged = pod_object("p0");
    forged["metadata"]["name"] = json!("forged");
    let mut other = stranger.negotiate(whole(&forged)).await.unwrap();
    assert!(matches!(other.next().await, Event::Asked(_)));
    assert_eq!(a.ask().await.pod.unwrap().name, "forged");
    let mut own = core.negotiate(whole(&pod_object("p0"))).await.unwrap();
    assert!(matches!(own.next().await, Event::Asked(_)));
    let ask = a.ask().await;
    assert_eq!(ask.pod.as_ref().unwrap().name, "p0");
    a.refuse(&ask, &[], 0);
    assert_eq!(own.end().await.end(), End::Viable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_core_that_leaves_before_it_hears_that_it_follows_takes_no_place() {
    let sidecar = Sidecar::start(1, 1, Vec::new()).await;
    let core = Caller::ANONYMOUS;
    let follow = || sidecar.parties.follow(&core, Outbox::closed());
    let (mut waiting, mut heard) = (Vec::new(), Vec::new());
    for _ in 0..FOLLOWERS {
        let mut followed = follow();
        match followed.as_mut().now_or_never() {
            // The broker was quick.
            Some(listening) => heard.push(listening.unwrap()),
            None => waiting.push(followed),
        }
        tokio::task::yield_now().await;
    }
    // The broker has answered all of them, in their order, and has no place left.
    assert!(follow().await.is_err());
    drop((waiting, heard));
    let follows_again = async {
        while follow().await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    assert!(timeout(TIME, follows_again).await.is_ok());
}
