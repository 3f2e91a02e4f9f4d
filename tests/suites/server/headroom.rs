//! Headroom: how much more a pod may take of its node, as others take room beside it.

use nodesift_proto::v1::{self, HeadroomRequest, NamedAmount};
use nodesift_tests::http::post;
use serde_json::{Value, json};

use crate::agreement::grpc;
use crate::decisions::{node, pod, serving};
use crate::running::ask;

#[test]
fn a_pod_may_take_what_no_pod_takes_of_its_node_and_no_more() {
    let cluster = [
        node("n1", "1"),
        node("n2", "1"),
        pod("grows", "200m", &json!({"nodeName": "n1"})),
        pod("beside", "300m", &json!({"nodeName": "n1", "schedulerName": "other"})),
        pod("comes", "400m", &json!({})),
    ];
    let (sidecar, _folder) = serving(&cluster, &[]);
    let request = |amounts: Value| json!({"pod": {"uid": "uid-grows"}, "amounts": amounts});
    let room = |increase: i64| {
        let amounts = json!([{"name": "cpu", "amount": increase}, {"name": "example.com/gpu", "amount": 1}]);
        ask(&sidecar.unix(), "/v1/headroom", &request(amounts))
    };
    let expected = |free: i64, fits: i64| {
        json!([
            {"name": "cpu", "allocatable": "1000", "taken": "200", "free": free.to_string(), "fits": fits.to_string()},
            {"name": "example.com/gpu", "allocatable": "0", "taken": "0", "free": "0", "fits": "0"},
        ])
    };
    let found = room(300);
    assert_eq!((&found["pod"], &found["node"]), (&json!("ns/grows"), &json!("n1")));
    assert_eq!(found["resources"], expected(500, 300));
    assert_eq!(room(800)["resources"], expected(500, 500));

    ask(&sidecar.unix(), "/v1/assume", &json!({"pod": {"uid": "uid-comes"}, "node": "n1"}));
    assert_eq!(room(300)["resources"], expected(100, 100));
    let amounts = vec![NamedAmount { name: "cpu".to_owned(), amount: 300 }];
    let pod = Some(v1::Pod::from(v1::pod::Pod::Uid("uid-grows".to_owned())));
    let over_grpc = grpc(&sidecar.unix(), |mut client| async move {
        let request = HeadroomRequest { pod, amounts, ..HeadroomRequest::default() };
        client.headroom(request).await.unwrap().into_inner()
    });
    assert_eq!((over_grpc.resources[0].free, over_grpc.resources[0].fits), (100, 100));

    for (request, status, text) in [
        (json!({"pod": {"uid": "uid-nobody"}}), 404, "uid-nobody"),
        (request(json!([{"name": "cpu", "amount": -1}])), 400, "amounts[0].amount"),
        (json!({}), 400, "pod: give one of"),
    ] {
        let refused = post(&sidecar.unix(), "/v1/headroom", request.to_string()).unwrap();
        assert!(
            refused.status == status && refused.body.contains(text),
            "{request}: {} {}",
            refused.status,
            refused.body
        );
    }
    ask(&sidecar.unix(), "/v1/forget", &json!({"pod": {"uid": "uid-comes"}}));
    let pending = json!({"pod": {"uid": "uid-comes"}, "amounts": []}).to_string();
    let refused = post(&sidecar.unix(), "/v1/headroom", pending).unwrap();
    assert!(refused.status == 404 && refused.body.contains("is on no node"), "{}", refused.body);
}
