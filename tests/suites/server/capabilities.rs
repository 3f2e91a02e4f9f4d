//! Capabilities: one call that says what else there is, in agreement with what is served.

use std::collections::BTreeSet;

use nodesift_proto::v1::{CapabilitiesRequest, Phase};
use nodesift_tests::http::{get, post};
use serde_json::{Value, json};

use crate::agreement::grpc;
use crate::running::{ask, sample};

#[test]
fn what_is_said_to_be_supported_is_served_and_what_the_policy_has_is_named() {
    let sidecar = sample(&[]);
    let found = ask(&sidecar.unix(), "/v1/capabilities", &json!({}));
    let over_grpc = grpc(&sidecar.unix(), |mut client| async move {
        client.capabilities(CapabilitiesRequest {}).await.unwrap().into_inner()
    });
    assert_eq!(serde_json::to_value(&over_grpc).unwrap(), found);

    let version = get(&sidecar.unix(), "/version").unwrap().json();
    assert_eq!(
        (&found["version"], &found["policy"]["generation"]),
        (&version["version"], &version["policy"]["generation"])
    );
    assert_eq!(found["kubernetesVersion"], version["kubernetes"]["version"]);
    assert!(found["contracts"].as_array().unwrap().contains(&version["contract"]), "{found}");
    let names = |of: &Value| of.as_array().unwrap().iter().map(|one| one["name"].clone()).collect::<Vec<_>>();
    assert_eq!(json!(names(&found["policy"]["predicates"])), version["policy"]["predicates"]);
    assert_eq!(over_grpc.phases, [Phase::Allocate, Phase::Reserve].map(i32::from));
    let limits: BTreeSet<String> = over_grpc.limits.iter().map(|limit| limit.name.clone()).collect();
    assert_eq!(limits.len(), over_grpc.limits.len());
    assert!(over_grpc.limits.iter().all(|limit| limit.amount > 0), "{found}");

    let calls: BTreeSet<String> = over_grpc.calls.iter().map(|call| call.name.clone()).collect();
    assert_eq!(calls.len(), over_grpc.calls.len(), "each is there once");
    for call in ["Filter", "FilterStream", "Capabilities", "Attend", "State", "Readyz"] {
        assert!(calls.contains(call), "{call}: {calls:?}");
    }
    for call in &over_grpc.calls {
        assert!(!call.http.is_empty() || !call.service.is_empty(), "{call:?}");
        if let Some(path) = call.http.strip_prefix("POST ") {
            let status = post(&sidecar.unix(), path, "{}").unwrap().status;
            assert!(![404, 405].contains(&status), "{call:?}: {status}");
        }
    }
}
