//! Picks become allocations: every field of the document, from plain objects.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use nodesift_cache::metadata::{self, Selection, SliceRecord};
use nodesift_cache::{Row, new};
use serde_json::{Value, json};

use super::*;
use crate::facts::{Batch, Context};

/// 2026-01-01T00:00:00Z, in seconds since 1970-01-01T00:00:00Z.
const NOW: i64 = 1_767_225_600;

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_str(&value.to_string()).unwrap()
}

/// The facts of a pod on one node, `n` in zone `a`, among claims, classes and slices.
fn context(pod: Value, claims: &[Value], classes: &[Value], slices: &[Value]) -> Context {
    let (mut writer, reader) = new();
    writer.apply(metadata::node(&read(&json!({"metadata": {"name": "n", "labels": {"zone": "a"}}}))));
    claims.iter().for_each(|claim| writer.apply(metadata::resource_claim(&read(claim))));
    classes.iter().for_each(|class| writer.apply(metadata::device_class(&read(class))));
    slices.iter().for_each(|slice| writer.apply(SliceRecord::compile(&read(slice))));
    writer.publish();
    let selection = Selection { pod_claims: true, ..Selection::default() };
    let mut pod = pod;
    pod["metadata"] = json!({"name": "p", "namespace": "ns", "uid": "u"});
    let facts = Arc::new(metadata::pod_selecting(&read(&pod), &selection));
    Context::new(reader.snapshot(), facts, None, Batch::All).with_owner("p".into(), "u".into()).with_now(NOW)
}

fn claim(name: &str, devices: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "ns", "uid": format!("uid-{name}")}, "spec": {"devices": devices}})
}

fn class(name: &str, config: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"config": config, "extendedResourceName": format!("x.io/{name}")}})
}

/// A slice, which is a pool of its own.
fn slice(name: &str, reach: &Value, devices: &Value) -> Value {
    let mut spec = reach.clone();
    spec["driver"] = json!("d");
    spec["pool"] = json!({"name": name, "generation": 1, "resourceSliceCount": 1});
    spec["devices"] = devices.clone();
    json!({"metadata": {"name": name}, "spec": spec})
}

fn named(claims: &[&str]) -> Value {
    let claims: Vec<Value> = claims.iter().map(|claim| json!({"name": claim, "resourceClaimName": claim})).collect();
    json!({"spec": {"resourceClaims": claims}})
}

fn pick(claim: u32, request: u32, pool: u32, device: u32) -> Pick {
    Pick { claim, request, alternative: 0, pool, device, share: None }
}

fn picks(picks: Vec<Pick>) -> Allocation {
    Allocation { picks, extended: None }
}

fn exactly(name: &str) -> Value {
    json!({"name": name, "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}})
}

fn result_of(allocation: &ClaimAllocation) -> Value {
    serde_json::from_str(&allocation.result).unwrap()
}

/// The node selector of a claim that gets one device of each of these pools.
fn selector(slices: &[Value]) -> Result<Value, AllocationError> {
    let requests: Vec<Value> = (0..slices.len()).map(|number| exactly(&format!("r{number}"))).collect();
    let claims = [claim("c", &json!({"requests": requests}))];
    let context = context(named(&["c"]), &claims, &[class("gpu", &json!([]))], slices);
    let given = (0..).zip(slices).map(|(number, _)| pick(0, number, number, 0)).collect();
    let results = results(&context, Row(0), &picks(given))?;
    Ok(result_of(&results[0])["nodeSelector"].clone())
}

#[test]
fn every_field_of_a_device_is_repeated() {
    let device = json!({"name": "g", "allowMultipleAllocations": true, "capacity": {"m": {"value": "4Gi"}},
        "bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]});
    let slices = [
        slice("a", &json!({"nodeName": "n"}), &json!([device])),
        slice("b", &json!({"allNodes": true}), &json!([{"name": "h"}])),
    ];
    let requests = json!([
        {"name": "r", "firstAvailable": [
            {"name": "x", "deviceClassName": "gpu"},
            {"name": "y", "deviceClassName": "gpu", "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 3}]}]},
        {"name": "s", "exactly": {"deviceClassName": "gpu", "adminAccess": true}},
    ]);
    let context =
        context(named(&["c"]), &[claim("c", &json!({"requests": requests}))], &[class("gpu", &json!([]))], &slices);
    // The pool with binding conditions comes last.
    let shared =
        Pick { alternative: 1, share: Some(vec![("m".to_owned(), 1_500_000_000_i128.into())]), ..pick(0, 0, 1, 0) };
    let results = results(&context, Row(0), &picks(vec![shared, pick(0, 1, 0, 0)])).unwrap();
    let [one] = results.as_slice() else { panic!("{results:?}") };
    let mut result = result_of(one);
    let share = result["devices"]["results"][0]["shareID"].take();
    assert_eq!(
        result,
        json!({
            "devices": {"results": [
                {"request": "r/y", "driver": "d", "pool": "a", "device": "g", "shareID": null, "consumedCapacity": {"m": "1500m"},
                    "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 3}],
                    "bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]},
                {"request": "s", "driver": "d", "pool": "b", "device": "h", "adminAccess": true},
            ]},
            "nodeSelector": {"nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]},
            "allocationTimestamp": "2026-01-01T00:00:00Z",
        })
    );
    assert_eq!(
        (&*one.uid, one.claim.as_ref().map(|claim| claim.key()), &one.extended),
        ("uid-c", Some("ns/c".to_owned()), &None)
    );
    // What is held is what the cache will read of the status.
    let status: Vec<AllocatedDevice> = {
        let mut written = result_of(one)["devices"]["results"].clone();
        written[0]["shareID"] = share;
        read(&written)
    };
    assert_eq!(one.devices, status);
}

#[test]
fn devices_of_one_request_are_named_by_the_alternatives_that_they_were_picked_for() {
    let tolerations = json!([{"key": "k", "operator": "Exists"}]);
    let requests = json!([{"name": "r", "firstAvailable": [
        {"name": "x", "deviceClassName": "gpu"},
        {"name": "y", "deviceClassName": "gpu", "tolerations": tolerations}]}]);
    let slices = [slice("a", &json!({"allNodes": true}), &json!([{"name": "g"}, {"name": "h"}]))];
    let claims = [claim("c", &json!({"requests": requests}))];
    let context = context(named(&["c"]), &claims, &[class("gpu", &json!([]))], &slices);
    let second = Pick { alternative: 1, ..pick(0, 0, 0, 0) };
    let results = results(&context, Row(0), &picks(vec![second, pick(0, 0, 0, 1)])).unwrap();
    let expected = json!([
        {"request": "r/y", "driver": "d", "pool": "a", "device": "g", "tolerations": tolerations},
        {"request": "r/x", "driver": "d", "pool": "a", "device": "h"}]);
    assert_eq!(result_of(&results[0])["devices"]["results"], expected);
    let held: Vec<&str> = results[0].devices.iter().map(|device| device.request.as_str()).collect();
    assert_eq!(held, ["r/y", "r/x"]);
}

#[test]
fn a_claim_is_for_the_nodes_that_all_of_its_devices_are_for() {
    let in_zone = |values: &[&str]| json!({"key": "zone", "operator": "In", "values": values});
    let selected = |name: &str, terms: Value| {
        slice(name, &json!({"nodeSelector": {"nodeSelectorTerms": terms}}), &json!([{"name": "g"}]))
    };
    let everywhere = slice("a", &json!({"allNodes": true}), &json!([{"name": "g"}]));
    let only =
        json!({"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]});
    let zone = |name: &str, values: &[&str]| selected(name, json!([{"matchExpressions": [in_zone(values)]}]));
    let exists =
        selected("c", json!([{"matchExpressions": [{"key": "zone", "operator": "Exists"}, in_zone(&["b", "a"])]}]));
    assert_eq!(selector(std::slice::from_ref(&everywhere)), Ok(Value::Null));
    let merged = json!({"nodeSelectorTerms": [{"matchExpressions": [in_zone(&["a", "b"]), {"key": "zone", "operator": "Exists"}]}]});
    assert_eq!(selector(&[everywhere.clone(), zone("b", &["a", "b"]), exists]), Ok(merged));
    let binding = slice("c", &json!({"allNodes": true}), &json!([{"name": "g", "bindsToNode": true}]));
    assert_eq!(selector(&[zone("b", &["a"]), binding]), Ok(only.clone()));
    let own = json!([{"name": "g", "nodeName": "n"}, {"name": "h", "allNodes": true}]);
    let per_device = slice("d", &json!({"perDeviceNodeSelection": true}), &own);
    assert_eq!(selector(&[everywhere, per_device]), Ok(only));
    let two = selected("b", json!([{"matchExpressions": [in_zone(&["a"])]}, {"matchExpressions": [in_zone(&["b"])]}]));
    assert_eq!(selector(&[two]), Err(AllocationError::Terms { terms: 2 }));
}

#[test]
fn configurations_are_those_of_classes_and_then_of_the_claim() {
    let opaque = |name: &str| json!({"driver": "d", "parameters": {"name": name}});
    let classes = [class("gpu", &json!([{"opaque": opaque("class")}]))];
    let config = json!([
        {"opaque": opaque("all")}, {"requests": ["r", "s"], "opaque": opaque("both")}, {"requests": ["t"], "opaque": opaque("none")}]);
    let claims = [claim("c", &json!({"requests": [exactly("r"), exactly("s")], "config": config}))];
    let slices = [slice("a", &json!({"allNodes": true}), &json!([{"name": "g"}, {"name": "h"}]))];
    let context = context(named(&["c"]), &claims, &classes, &slices);
    let results = results(&context, Row(0), &picks(vec![pick(0, 0, 0, 0), pick(0, 1, 0, 1)])).unwrap();
    let both = json!({"source": "FromClaim", "requests": ["r", "s"], "opaque": opaque("both")});
    let expected = json!([
        {"source": "FromClass", "requests": ["r", "s"], "opaque": opaque("class")},
        {"source": "FromClaim", "opaque": opaque("all")}, both, both]);
    assert_eq!(result_of(&results[0])["devices"]["config"], expected);
}

#[test]
fn the_claim_for_extended_resources_is_given_with_its_mappings() {
    let pod =
        json!({"spec": {"containers": [{"name": "one", "resources": {"requests": {"cpu": "1", "x.io/gpu": "2"}}}]}});
    let slices = [slice("a", &json!({"allNodes": true}), &json!([{"name": "g"}, {"name": "h"}]))];
    let context = context(pod, &[], &[class("gpu", &json!([{"opaque": {"driver": "d"}}]))], &slices);
    let name = "container-0-request-1".to_owned();
    let new = NewClaim {
        requests: vec![NewRequest { name: name.clone(), class: "gpu".to_owned(), count: 2 }],
        mappings: vec![Mapping { container: 0, resource: 0, request: name.clone() }],
    };
    let given = vec![pick(0, 0, 0, 0), pick(0, 0, 0, 1)];
    let allocation = Allocation { picks: given.clone(), extended: Some(new.clone()) };
    let results = results(&context, Row(0), &allocation).unwrap();
    let [one] = results.as_slice() else { panic!("{results:?}") };
    let spec = one.extended.as_ref().unwrap();
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let asked = json!({"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2});
    assert_eq!(parsed(&spec.spec), json!({"devices": {"requests": [{"name": name, "exactly": asked}]}}));
    assert_eq!(
        parsed(&spec.mappings),
        json!([{"containerName": "one", "resourceName": "x.io/gpu", "requestName": name}])
    );
    assert_eq!((&*one.uid, &one.claim, one.devices.len()), ("u", &None, 2));
    let config = json!([{"source": "FromClass", "requests": [name], "opaque": {"driver": "d"}}]);
    assert_eq!(result_of(one)["devices"]["config"], config);
    // Without requests no claim is needed, and then no devices.
    let none = Allocation { picks: Vec::new(), extended: Some(NewClaim::default()) };
    assert_eq!(super::results(&context, Row(0), &none), Ok(Vec::new()));
    let wrong = Allocation { picks: given, extended: None };
    assert_eq!(super::results(&context, Row(0), &wrong), Err(AllocationError::Unknown("claim")));
    let mapping = Mapping { container: 1, resource: 0, request: String::new() };
    let wrong = Allocation { picks: Vec::new(), extended: Some(NewClaim { mappings: vec![mapping], ..new }) };
    assert_eq!(super::results(&context, Row(0), &wrong), Err(AllocationError::Unknown("container")));
}

#[test]
fn picks_of_what_is_not_there_are_refused() {
    let slices = [slice("a", &json!({"allNodes": true}), &json!([{"name": "g"}]))];
    let claims = [claim("c", &json!({"requests": [exactly("r")]}))];
    let context = context(named(&["c"]), &claims, &[class("gpu", &json!([]))], &slices);
    let of = |given: Vec<Pick>| results(&context, Row(0), &picks(given)).map(|results| results.len());
    assert_eq!(of(vec![pick(0, 0, 0, 0)]), Ok(1));
    for (given, what) in [
        (pick(1, 0, 0, 0), "claim"),
        (pick(2, 0, 0, 0), "claim"),
        (pick(0, 1, 0, 0), "request"),
        (pick(0, 0, 1, 0), "pool"),
        (pick(0, 0, 0, 1), "device"),
    ] {
        assert_eq!(of(vec![given]), Err(AllocationError::Unknown(what)));
    }
    let limit = crate::limits::CLAIM_DEVICES;
    assert_eq!(of(vec![pick(0, 0, 0, 0); limit + 1]), Err(AllocationError::TooManyDevices { limit }));
    let share = Some(vec![("m".to_owned(), i128::MAX.into())]);
    let huge = of(vec![Pick { share, ..pick(0, 0, 0, 0) }]);
    assert!(matches!(huge, Ok(1) | Err(AllocationError::Amount(_))), "{huge:?}");
}

#[test]
fn claims_too_large_to_write_are_refused() {
    let slices = [slice("a", &json!({"allNodes": true}), &json!([{"name": "g"}]))];
    let sized = |bytes: usize, names: usize| {
        let names: Vec<String> = (0..names).map(|name| format!("r{name}")).collect();
        let requests: Vec<Value> = names.iter().map(|name| exactly(name)).collect();
        let config = json!([{"requests": names, "opaque": "x".repeat(bytes)}]);
        let claims = [claim("c", &json!({"requests": requests, "config": config}))];
        let context = context(named(&["c"]), &claims, &[class("gpu", &json!([]))], &slices);
        results(&context, Row(0), &picks(vec![pick(0, 0, 0, 0)])).map(|results| results.len())
    };
    assert_eq!(sized(100_000, 8), Ok(1));
    assert!(matches!(sized(500_000, 8), Err(AllocationError::Unwritable { .. })));
    assert!(matches!(sized(600_000, 1), Err(AllocationError::Configurations { .. })));
}

#[test]
fn claims_that_keep_a_pod_away_are_named() {
    let allocated = |name: &str, nodes: &Value| {
        let mut claim = claim(name, &json!({}));
        claim["status"] = json!({"allocation": {"nodeSelector": nodes}});
        claim
    };
    let zone = |zone: &str| json!({"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]});
    let claims = [allocated("here", &zone("a")), allocated("there", &zone("b")), claim("none", &json!({}))];
    let context = context(named(&["here", "there", "none"]), &claims, &[], &[]);
    assert_eq!(context.claims_to_release(), ["ns/there"]);
}
