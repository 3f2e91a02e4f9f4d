//! Scores over the API: the best nodes where a request asks for them, and nothing of them where it does not.

use nodesift_proto::v1::{ExplainRequest, FilterRequest, PodAnswer, ScoreRequest};
use nodesift_tests::http::{get, post};
use nodesift_tests::sidecar::Sidecar;
use serde_json::{Value, json};

use crate::agreement::{grpc, named};
use crate::running::{ask, in_time, pending_pods, request, sample};

/// The answers to a request over gRPC, in which no call has run out of time.
fn filtered(sidecar: &Sidecar, request: &FilterRequest) -> Vec<PodAnswer> {
    let mut pods = Vec::new();
    in_time(|| {
        let request = request.clone();
        let found =
            grpc(&sidecar.unix(), |mut client| async move { client.filter(request).await.unwrap().into_inner() });
        pods = found.pods;
        format!("{pods:?}")
    });
    pods
}

/// The answer about a pod without what only a request for scores has.
fn without_scores(pod: &PodAnswer) -> PodAnswer {
    PodAnswer { scores: None, ..pod.clone() }
}

#[test]
fn the_best_nodes_come_first_and_the_rest_of_the_answer_is_that_without_scores() {
    let sidecar = sample(&[]);
    let pods = named(&pending_pods());
    let filtered = |scores: Option<ScoreRequest>| {
        filtered(&sidecar, &FilterRequest { pods: pods.clone(), scores, ..FilterRequest::default() })
    };
    let plain = filtered(None);
    assert!(plain.iter().all(|pod| pod.scores.is_none()));
    assert_eq!(filtered(Some(ScoreRequest::default())), plain, "scores of no node");
    let scored = filtered(Some(ScoreRequest { top: 3, seed: None, each: true }));
    let mut compared = 0;
    for (pod, plain) in scored.iter().zip(&plain) {
        assert_eq!(without_scores(pod), *plain);
        let scores = pod.scores.as_ref().unwrap();
        assert_eq!((scores.error.as_str(), scores.faults.len()), ("", 0), "{}", pod.pod);
        assert_eq!(scores.best.len(), pod.feasible.len().min(3), "{}", pod.pod);
        for node in &scores.best {
            assert!(pod.feasible.contains(&node.node) && node.row.is_none());
            assert_eq!(node.each.len(), scores.scorers.len());
            assert_eq!(node.each.iter().map(|score| score.weighted).sum::<i64>(), node.total, "{}", pod.pod);
            for (score, scorer) in node.each.iter().zip(&scores.scorers) {
                let weighted = score.normalized.map_or(0, |normalized| normalized * i64::from(scorer.weight));
                assert_eq!(score.weighted, weighted);
                assert_eq!(score.normalized.is_some(), scorer.outcome == "Scored", "{}", scorer.scorer);
            }
        }
        for pair in scores.best.windows(2) {
            let key = |at: usize| (std::cmp::Reverse(pair[at].total), pair[at].node.clone());
            assert!(key(0) < key(1), "{}: {pair:?}", pod.pod);
        }
        compared += scores.best.len();
    }
    assert!(compared > 100, "{compared} nodes");

    // The same by rows, and as JSON.
    let mut as_json = request(&pending_pods());
    as_json["scores"] = json!({"top": 3, "each": true});
    assert_eq!(ask(&sidecar.tcp(), "/v1/filter", &as_json)["pods"], serde_json::to_value(&scored).unwrap());
    as_json["bitmaps"] = json!({});
    let by_row = ask(&sidecar.tcp(), "/v1/filter", &as_json);
    let names = &by_row["rows"]["changes"];
    for (pod, by_row) in scored.iter().zip(by_row["pods"].as_array().unwrap()) {
        let best = by_row["scores"]["best"].as_array().unwrap();
        let of_row = |node: &Value| {
            assert_eq!(node["node"], "");
            names.as_array().unwrap().iter().find(|change| change["row"] == node["row"]).unwrap()["node"].clone()
        };
        let named: Vec<Value> = best.iter().map(of_row).collect();
        let expected: Vec<&str> = pod.scores.iter().flat_map(|scores| &scores.best).map(|node| &*node.node).collect();
        assert_eq!(json!(named), json!(expected));
    }
}

#[test]
fn a_seed_orders_equal_nodes_otherwise_and_changes_no_total() {
    let sidecar = sample(&[]);
    let pods = named(&pending_pods());
    let best = |seed: Option<u64>| {
        let scores = Some(ScoreRequest { top: 1_000, seed, each: false });
        let request = FilterRequest { pods: pods.clone(), scores, ..FilterRequest::default() };
        let answer = filtered(&sidecar, &request);
        let best = |pod: PodAnswer| pod.scores.unwrap().best.into_iter().map(|node| (node.total, node.node));
        answer.into_iter().map(|pod| best(pod).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let (by_name, one, again, other) = (best(None), best(Some(1)), best(Some(1)), best(Some(2)));
    assert_eq!(one, again);
    assert!(one != by_name && other != by_name && one != other, "no two nodes of any pod are equal");
    let sorted = |best: Vec<Vec<(i64, String)>>| -> Vec<Vec<(i64, String)>> {
        let sort = |mut nodes: Vec<(i64, String)>| {
            nodes.sort();
            nodes
        };
        best.into_iter().map(sort).collect()
    };
    assert_eq!(sorted(one), sorted(by_name));
}

#[test]
fn explain_has_the_score_of_each_scorer_and_operators_see_how_often_they_were_called() {
    let sidecar = sample(&[]);
    let pods = named(&pending_pods());
    let scores = Some(ScoreRequest { top: 1, seed: None, each: false });
    let request = ExplainRequest { pods, scores, ..ExplainRequest::default() };
    let explained =
        grpc(&sidecar.unix(), |mut client| async move { client.explain(request).await.unwrap().into_inner() });
    let conjunctions = explained.pods.iter().filter_map(|pod| pod.conjunction.as_ref());
    let scored: Vec<_> =
        conjunctions.filter(|pod| !pod.feasible.is_empty()).filter_map(|pod| pod.scores.as_ref()).collect();
    assert!(!scored.is_empty());
    for scores in &scored {
        assert!(scores.best.iter().all(|node| node.each.len() == scores.scorers.len()), "{scores:?}");
    }
    let policy = get(&sidecar.unix(), "/v1/policy").unwrap().json();
    let supported = ask(&sidecar.unix(), "/v1/capabilities", &json!({}));
    let metrics = get(&sidecar.unix(), "/metrics").unwrap().body;
    let scorers = policy["scorers"].as_array().unwrap();
    assert_eq!(scorers.len(), scored[0].scorers.len());
    assert_eq!(supported["policy"]["scorers"].as_array().unwrap().len(), scorers.len());
    for (scorer, found) in scorers.iter().zip(&scored[0].scorers) {
        assert_eq!((&scorer["name"], &scorer["weight"]), (&json!(found.scorer), &json!(found.weight)));
        assert!(scorer["calls"].as_u64().unwrap() > 0, "{scorer}");
        let line = format!("nodesift_scorer_calls_total{{scorer=\"{}\"}}", found.scorer);
        assert!(metrics.contains(&line), "{line}");
    }
}

#[test]
fn more_nodes_than_one_request_may_ask_for_are_refused() {
    let sidecar = sample(&[]);
    let mut request = request(&pending_pods());
    for scores in [json!({"top": 16_385}), json!({"top": 1_001, "each": true})] {
        request["scores"] = scores;
        let refused = post(&sidecar.tcp(), "/v1/filter", request.to_string()).unwrap();
        assert!(refused.status >= 400 && refused.body.contains("scored nodes of a pod"), "{}", refused.body);
    }
}
