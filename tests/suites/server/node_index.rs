//! `NodeIndex`: the stream of the node index of a changing cluster.

use futures_util::future::{join_all, select_all};
use nodesift_proto::RowNames;
use nodesift_proto::v1::nodesift_client::NodesiftClient;
use nodesift_proto::v1::{Bitmaps, FilterRequest, NodeIndexRequest, NodeIndexResponse, Pod, RowTable, pod as pod_of};
use nodesift_tests::apiserver::ApiServer;
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::timeout;
use serde_json::{Value, json};
use tonic::Streaming;
use tonic::transport::Channel;

use crate::agreement::grpc;
use crate::decisions::node;
use crate::running::{command, sample};

/// Changes of the cluster at random, from a seed that is printed.
const CHANGES: usize = 120;

/// Streams that may be open at once.
const STREAMS: usize = 16;

/// A sidecar that follows a server with some nodes.
fn following(nodes: &[&str]) -> (ApiServer, Sidecar) {
    let server = ApiServer::start();
    server.change(|store| {
        for name in nodes {
            store.apply(node(name, "1"));
        }
    });
    let sidecar = Sidecar::launch(command(), &["--kubeconfig", server.kubeconfig().to_str().unwrap()]);
    sidecar.wait_until_ready();
    (server, sidecar)
}

async fn follow(client: &mut NodesiftClient<Channel>, known: Option<Bitmaps>) -> Streaming<NodeIndexResponse> {
    client.node_index(NodeIndexRequest { known }).await.unwrap().into_inner()
}

/// The next node index, which must be complete in one message.
async fn next(stream: &mut Streaming<NodeIndexResponse>) -> RowTable {
    let message = tokio::time::timeout(timeout::limit(), stream.message()).await.expect("a message in time");
    let message = message.unwrap().expect("the stream is open");
    assert!(message.complete, "a small table comes in one message");
    message.rows.unwrap()
}

fn names(rows: &RowNames) -> Vec<&str> {
    let mut names: Vec<&str> = rows.decode(&[0xff; 64]).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_stream_tells_the_whole_table_first_and_then_each_change() {
    let (server, sidecar) = following(&["a", "b", "c"]);
    grpc(&sidecar.unix(), |mut client| async move {
        let mut stream = follow(&mut client, None).await;
        let first = next(&mut stream).await;
        assert!(first.whole && first.epoch != 0 && first.count == 3, "{first:?}");
        let rows = RowNames::default().with(&first);
        assert_eq!(names(&rows), ["a", "b", "c"]);

        server.apply(node("d", "1"));
        let added = next(&mut stream).await;
        assert!(!added.whole && added.epoch == first.epoch && added.generation > first.generation, "{added:?}");
        assert_eq!(added.changes.len(), 1, "{added:?}");
        let rows = rows.with(&added);
        assert_eq!(names(&rows), ["a", "b", "c", "d"]);

        // A changed node that keeps its row is not sent; a removed one is.
        server.apply(node("a", "2"));
        server.delete("Node", "b");
        let removed = next(&mut stream).await;
        let last = rows.with(&removed);
        assert_eq!(names(&last), ["a", "c", "d"]);
        assert!(removed.changes.len() <= 1, "at most the last row has moved: {removed:?}");

        // A client that sends its index gets the differences, and nothing if there are none.
        let mut same = follow(&mut client, Some(last.known())).await;
        let nothing = next(&mut same).await;
        assert!(!nothing.whole && nothing.changes.is_empty(), "{nothing:?}");
        let mut behind = follow(&mut client, Some(rows.known())).await;
        let difference = next(&mut behind).await;
        assert!(!difference.whole, "{difference:?}");
        assert_eq!(rows.with(&difference), last);
        server.apply(node("e", "1"));
        for stream in [&mut stream, &mut same, &mut behind] {
            assert_eq!(names(&last.with(&next(stream).await)), ["a", "c", "d", "e"]);
        }
        let mut stranger = follow(&mut client, Some(Bitmaps { epoch: first.epoch ^ 1, generation: 1 })).await;
        assert!(next(&mut stranger).await.whole);
    });
}

#[test]
fn tables_of_stream_and_answers_are_the_same_while_nodes_come_and_go() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let (server, sidecar) = following(&["n0", "n1", "n2"]);
    let whole: Value = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "10m"}}}]}});
    grpc(&sidecar.unix(), |mut client| async move {
        let mut stream = follow(&mut client, None).await;
        let mut streamed = RowNames::default().with(&next(&mut stream).await);
        let mut answered = RowNames::default();
        for _ in 0..CHANGES {
            let (name, goes) = (format!("n{}", random.u8(0..12)), random.bool());
            let before = server.look(|store| store.now("Node").contains_key(&name));
            if goes && before {
                server.delete("Node", &name);
            } else {
                server.apply(node(&name, if random.u8(0..8) == 0 { "0" } else { "1" }));
            }
            // The answer may be from a newer snapshot; the stream then delivers its index.
            let request = FilterRequest {
                pods: vec![Pod::from(pod_of::Pod::Json(whole.to_string()))],
                bitmaps: Some(answered.known()),
                ..FilterRequest::default()
            };
            let answer = client.filter(request.clone()).await.unwrap().into_inner();
            answered = answered.with(&answer.rows.unwrap());
            while streamed.known().generation < answered.known().generation {
                streamed = streamed.with(&next(&mut stream).await);
            }
            if streamed.known() == answered.known() {
                assert_eq!(streamed, answered);
            }
            let by_name = client.filter(FilterRequest { bitmaps: None, ..request }).await.unwrap().into_inner();
            if by_name.version.unwrap().generation == answer.version.unwrap().generation
                && by_name.pods[0].faults.is_empty()
                && answer.pods[0].faults.is_empty()
            {
                let bitmap = answer.pods[0].feasible_rows.clone().unwrap();
                let mut feasible: Vec<&str> = answered.decode(&bitmap).collect();
                feasible.sort_unstable();
                assert_eq!(feasible, by_name.pods[0].feasible);
            }
        }
        let there: Vec<String> = server.look(|store| store.now("Node").keys().cloned().collect());
        while names(&streamed) != there {
            streamed = streamed.with(&next(&mut stream).await);
        }
    });
}

#[test]
fn streams_are_few_and_end_with_the_process() {
    let sidecar = sample(&[]);
    let process = &sidecar;
    grpc(&sidecar.unix(), |client| async move {
        let open = join_all((0..STREAMS).map(|_| {
            let mut client = client.clone();
            async move { follow(&mut client, None).await }
        }));
        let mut open = open.await;
        for stream in &mut open {
            assert_eq!(next(stream).await.count, 298);
        }
        // Another one takes the place of the one that is idle longest.
        let mut another = follow(&mut client.clone(), None).await;
        assert_eq!(next(&mut another).await.count, 298);
        let (ended, at) = {
            let ends = select_all(open.iter_mut().map(|stream| Box::pin(stream.message())));
            let (ended, at, _) = tokio::time::timeout(timeout::limit(), ends).await.expect("one of them ends");
            (ended.unwrap(), at)
        };
        assert_eq!(ended, None, "it ends without an error");
        open[at] = another;
        process.signal("TERM");
        for stream in &mut open {
            assert_eq!(stream.message().await.unwrap(), None, "the stream ends without an error");
        }
    });
    let (status, output) = sidecar.wait();
    assert!(status.success() && !output.contains("cut off"), "{output}");
}
