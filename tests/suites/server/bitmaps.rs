//! Answers as bitmaps: decoded with the node index that comes with them, they equal answers by name, over gRPC and as JSON.

use nodesift_proto::RowNames;
use nodesift_proto::v1::{Bitmaps, Detail, FilterRequest, FilterResponse};
use nodesift_tests::sidecar::Sidecar;
use serde_json::{Value, json};

use crate::agreement::{grpc, named};
use crate::running::{ask, in_time, pending_pods, request, sample};

/// All pending pods, over gRPC.
fn filtered(sidecar: &Sidecar, detail: Detail, bitmaps: Option<Bitmaps>) -> FilterResponse {
    let pods = named(&pending_pods());
    let mut answer = None;
    in_time(|| {
        let request = FilterRequest { pods: pods.clone(), detail: detail.into(), bitmaps, ..FilterRequest::default() };
        let found =
            grpc(&sidecar.unix(), |mut client| async move { client.filter(request).await.unwrap().into_inner() });
        let text = format!("{found:?}");
        answer = Some(found);
        text
    });
    answer.unwrap()
}

#[test]
fn bitmaps_and_names_are_the_same_nodes() {
    let sidecar = sample(&[]);
    let by_name = filtered(&sidecar, Detail::Nodes, None);
    assert_eq!(by_name.rows, None, "a node index that was not requested");
    let by_row = filtered(&sidecar, Detail::Nodes, Some(Bitmaps::default()));
    let rows = RowNames::default().with(by_row.rows.as_ref().unwrap());
    let decode = |bitmap: &Option<Vec<u8>>| {
        let mut names: Vec<String> = rows.decode(bitmap.as_deref().unwrap()).map(str::to_owned).collect();
        names.sort();
        names
    };
    assert_eq!((by_name.pods.len(), by_row.pods.len()), (94, 94));
    for (by_name, by_row) in by_name.pods.iter().zip(&by_row.pods) {
        assert_eq!(decode(&by_row.feasible_rows), by_name.feasible, "{}", by_name.pod);
        assert_eq!(by_row.feasible_count as usize, by_name.feasible.len());
        assert_eq!(by_name.feasible_count, by_row.feasible_count);
        assert!(by_row.feasible.is_empty() && by_name.feasible_rows.is_none(), "one form at a time");
        for (by_name, by_row) in by_name.failures.iter().zip(&by_row.failures) {
            assert_eq!(decode(&by_row.node_rows), by_name.nodes);
            assert!(by_row.nodes.is_empty() && by_row.count == by_name.count);
        }
    }

    // A client that has the node index gets no part of it again. Failures have rows only if they are requested.
    let again = filtered(&sidecar, Detail::Failures, Some(rows.known()));
    let told = again.rows.as_ref().unwrap();
    assert!(!told.whole && told.changes.is_empty() && told.count as usize == rows.len(), "{told:?}");
    assert_eq!(rows.with(told), rows);
    for (before, again) in by_row.pods.iter().zip(&again.pods) {
        assert_eq!(again.feasible_rows, before.feasible_rows);
        assert!(again.failures.iter().all(|failure| failure.count > 0 && failure.node_rows.is_none()));
    }
}

#[test]
fn bitmaps_are_base64_in_json_and_a_restart_is_another_epoch() {
    let sidecar = sample(&[]);
    let over_grpc = filtered(&sidecar, Detail::Nodes, Some(Bitmaps::default()));
    let over_json = |sidecar: &Sidecar, bitmaps: Value| {
        let mut request = request(&pending_pods());
        request["detail"] = json!("DETAIL_NODES");
        request["bitmaps"] = bitmaps;
        ask(&sidecar.tcp(), "/v1/filter", &request)
    };
    let first = over_json(&sidecar, json!({}));
    assert_eq!(first["pods"], serde_json::to_value(&over_grpc.pods).unwrap());
    assert_eq!(first["rows"], serde_json::to_value(&over_grpc.rows).unwrap());
    assert!(first["pods"][0]["feasibleRows"].is_string() && first["pods"][0]["feasible"] == json!([]));

    let known = json!({"epoch": first["rows"]["epoch"], "generation": first["rows"]["generation"]});
    let again = over_json(&sidecar, known.clone());
    assert_eq!((&again["rows"]["whole"], &again["rows"]["changes"]), (&json!(false), &json!([])));
    drop(sidecar);
    let restarted = over_json(&sample(&[]), known);
    assert_ne!(restarted["rows"]["epoch"], first["rows"]["epoch"]);
    assert_eq!((&restarted["rows"]["whole"], &restarted["rows"]["changes"]), (&json!(true), &first["rows"]["changes"]));
}
