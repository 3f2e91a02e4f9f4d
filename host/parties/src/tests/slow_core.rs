//! A core that does not read the events of its negotiation.

use nodesift_negotiation::OnSilence;
use nodesift_proto::v1;
use nodesift_proto::v1::negotiation_event::Event;
use nodesift_proto::v1::party_call::Call;
use tonic::Code;

use super::sidecar::{Attending, Sidecar, node, party, request};

/// Nodes of which each is a round of its own. Each round is an event that names all parties, about a kilobyte: several times what the
/// transport and the queue take.
const ROUNDS: usize = 2_000;

/// Bytes of events that the transport of the core takes although nobody reads them: the default of HTTP/2.
const WINDOW: u32 = 65_535;

/// A party that refuses everything for the first pod, and nothing for others.
fn refusing(mut party: Attending) {
    tokio::spawn(async move {
        loop {
            if let Call::Ask(ask) = party.call().await {
                let asked = ask.nodes.iter().chain(&ask.recheck);
                let refused: Vec<String> = asked.filter(|_| ask.subject == "pod:p0").cloned().collect();
                party.refuse(&ask, &refused, 0);
            }
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_core_that_does_not_read_is_cut_off_with_words_and_others_negotiate_on() {
    let party_names: Vec<String> = (0..16).map(|at| format!("{at:0>63}")).collect();
    let parties = party_names.iter().map(|name| party(name, OnSilence::Wait)).collect();
    let sidecar = Sidecar::start(ROUNDS, 2, parties).await;
    for name in &party_names {
        refusing(sidecar.party(name).await);
    }
    let (mut slow, mut other) = (sidecar.core_with_window(WINDOW).await, sidecar.core().await);
    let order: Vec<String> = (0..ROUNDS).map(node).collect();
    let one_by_one = v1::NegotiateRequest { candidates: 1, order, ..request("p0") };
    let mut unread = slow.negotiate(one_by_one).await.unwrap();
    // Others are not kept waiting, and what the slow one does not read is bounded: its negotiation is given up before its nodes are
    // exhausted.
    let (id, nodes) = other.agree(v1::NegotiateRequest { candidates: 4, ..request("p1") }).await;
    assert_eq!(nodes.len(), 4);
    other.release(id).await.unwrap();
    sidecar.until(|overview| overview["negotiations"].as_array().unwrap().is_empty()).await;
    let mut rounds = 0;
    let status = loop {
        match unread.try_next().await {
            Ok(Some(Event::Asked(asked))) => {
                assert_eq!(asked.parties.len(), 16);
                rounds += 1;
            }
            Ok(other) => panic!("expected to be cut off: {other:?}"),
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(status.message().contains("not read"), "{status}");
    assert!(rounds < ROUNDS / 2, "{rounds} rounds were waiting");
    // The pod may be negotiated again, by whoever reads.
    let mut events = other.negotiate(request("p0")).await.unwrap();
    assert_eq!(events.end().await.end(), v1::End::Exhausted);
}
