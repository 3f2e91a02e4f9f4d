//! P-08: a handler panics. Its request fails, all others are answered, and it is counted.

use futures_util::StreamExt as _;
use nodesift_proto::v1::filter_stream_response::Outcome;
use nodesift_proto::v1::nodesift_client::NodesiftClient;
use nodesift_proto::v1::{FilterRequest, FilterStreamRequest, Pod, pod};
use nodesift_tests::http::Client;
use nodesift_tests::machine::beside_others;
use nodesift_tests::timeout;

use crate::running::{Breakable, metric, question};

/// Requests of which some panic.
const REQUESTS: usize = 40;
const PANICS: usize = 3;

impl Breakable {
    /// Has some of the next handlers panic.
    pub(crate) fn panics(&self, count: usize) {
        // Renamed into its place, so that it is never seen half written.
        std::fs::write(self.failpoint("handlers.new"), count.to_string()).unwrap();
        std::fs::rename(self.failpoint("handlers.new"), self.failpoint("handlers")).unwrap();
        let taken = || (!self.failpoint("handlers").exists()).then_some(());
        timeout::until(taken).expect("the failpoint is armed");
    }
}

#[test]
fn a_handler_that_panics_fails_its_request_and_no_other() {
    let _beside = beside_others();
    let breakable = Breakable::start(&[]);
    let sidecar = &breakable.sidecar;
    for (endpoint, before) in [(sidecar.unix(), 0), (sidecar.tcp(), PANICS)] {
        breakable.panics(PANICS);
        // All over one connection, which goes on.
        let mut client = Client::connect(&endpoint).unwrap();
        let statuses: Vec<u16> = (0..REQUESTS)
            .map(|number| client.post("/v1/filter", question(number).to_string().as_bytes()).unwrap().status)
            .collect();
        assert_eq!(statuses.iter().filter(|status| **status == 500).count(), PANICS, "{statuses:?}");
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), REQUESTS - PANICS, "{statuses:?}");
        assert_eq!(metric(sidecar, "nodesift_api_panics_total"), (before + PANICS) as f64);
    }
    assert_eq!(metric(sidecar, "nodesift_api_requests_in_flight"), 1.0);
    assert_eq!(metric(sidecar, "nodesift_api_evaluations"), 0.0);
}

#[test]
fn a_panic_in_a_stream_of_requests_fails_one_of_them() {
    let _beside = beside_others();
    let breakable = Breakable::start(&[]);
    breakable.panics(1);
    let url = format!("http://{}", breakable.sidecar.address);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcomes: Vec<Result<Outcome, tonic::Status>> = runtime.block_on(async {
        let channel = tonic::transport::Endpoint::from_shared(url).unwrap().connect().await.unwrap();
        let requests = (0..10).map(|id| {
            let json = question(0)["pods"][0]["object"].to_string();
            let filter = FilterRequest { pods: vec![Pod::from(pod::Pod::Json(json))], ..FilterRequest::default() };
            FilterStreamRequest { id, filter: Some(filter) }
        });
        let requests = futures_util::stream::iter(requests.collect::<Vec<_>>());
        let answers = NodesiftClient::new(channel).filter_stream(requests).await.unwrap().into_inner();
        answers.map(|answer| answer.map(|answer| answer.outcome.unwrap())).collect().await
    });
    let codes: Vec<String> = outcomes
        .into_iter()
        .map(|outcome| match outcome {
            Ok(Outcome::Answer(_)) => "OK".to_owned(),
            Ok(Outcome::Error(error)) => error.code,
            Err(status) => format!("the stream ended: {status}"),
        })
        .collect();
    assert_eq!(codes.iter().filter(|code| *code == "INTERNAL").count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| *code == "OK").count(), 9, "{codes:?}");
}
