//! Tests of messages about claims, of claims that can be taken back, of allocations that are given up, and of kept configurations.

use super::*;
use crate::limits::CONFIGURATION_BYTES;
use crate::metadata::{ClaimRecord, Labels};
use crate::{ClaimRules, Semantics};

fn world(claims: &[Value], classes: &[&str]) -> Arc<Claims> {
    let (mut writer, reader) = new();
    claims.iter().for_each(|claim| writer.apply(record(claim)));
    for class in classes {
        let class = json!({"metadata": {"name": class}, "spec": {"extendedResourceName": format!("x.io/{class}")}});
        writer.apply(metadata::device_class(&serde_json::from_value(class).unwrap()));
    }
    writer.publish();
    Arc::clone(reader.snapshot().claims())
}

fn pod(spec: Value, status: Value) -> Value {
    json!({"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": spec, "status": status})
}

fn claim(fields: Value) -> Value {
    let mut claim = json!({"metadata": {"name": "c", "namespace": "ns", "uid": "cu"}});
    for (key, value) in fields.as_object().unwrap() {
        match (claim.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
            _ => claim[key] = value.clone(),
        }
    }
    claim
}

#[test]
fn obstacles_have_the_words_of_kube_scheduler() {
    let by_name = || pod(json!({"resourceClaims": [{"name": "a", "resourceClaimName": "c"}]}), json!({}));
    let by_template =
        |status: Value| pod(json!({"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "t"}]}), status);
    let made = || by_template(json!({"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "c"}]}));
    let asks = |request: Value| vec![claim(json!({"spec": {"devices": {"requests": [request]}}}))];
    let cases: [(Vec<Value>, Value, &str, bool); 10] = [
        (vec![], by_name(), r#"could not find ResourceClaim "ns/c""#, false),
        (vec![], by_template(json!({})), r#"pod "ns/p": ResourceClaim not created yet"#, false),
        (
            vec![],
            pod(json!({"resourceClaims": [{"name": "a"}]}), json!({})),
            r#"pod "ns/p", spec.resourceClaim "a": none of the supported fields are set"#,
            false,
        ),
        (
            vec![claim(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}))],
            by_name(),
            r#"resourceclaim "c" is being deleted"#,
            false,
        ),
        (vec![claim(json!({}))], made(), "ResourceClaim ns/c was not created for Pod ns/p (Pod is not owner)", false),
        (asks(json!({"name": "r"})), by_name(), "resource claim ns/c, request r: unknown request type", false),
        (asks(json!({"name": "r", "exactly": {}})), by_name(), "request r: unsupported request type", true),
        (
            asks(json!({"name": "r", "exactly": {"deviceClassName": "x"}})),
            by_name(),
            "request r: device class x does not exist",
            false,
        ),
        (
            asks(
                json!({"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}, {"name": "t", "deviceClassName": "x"}]}),
            ),
            by_name(),
            "request r/t: device class x does not exist",
            false,
        ),
        (
            vec![claim(json!({"status": {"allocation": {"nodeSelector": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "z", "operator": "Like"}]}]}}}}))],
            by_name(),
            "nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: \"Like\": not a valid selector operator",
            true,
        ),
    ];
    for (claims, pod, expected, is_error) in cases {
        assert_eq!(resolved(&world(&claims, &["gpu"]), &pod), Err((expected.to_owned(), is_error)), "{pod}");
    }
    let owner = json!([{"name": "p", "uid": "u", "controller": true}]);
    let claims = world(&[claim(json!({"metadata": {"ownerReferences": owner}}))], &[]);
    assert_eq!(resolved(&claims, &made()), Ok(Some((vec!["ns/c".to_owned()], None))));
    // Without the selection nothing is known of claims.
    let facts = metadata::pod(&serde_json::from_value(by_name()).unwrap());
    assert_eq!(world(&[], &[]).resolve(&facts, "p", "u"), Ok(None));
}

#[test]
fn the_claim_for_extended_resources_is_found_by_its_pod() {
    let asking = |resource: &str| pod(json!({"containers": [{"resources": {"requests": {resource: "1"}}}]}), json!({}));
    let made_for = |name: &str, annotation: &str, controller: bool| {
        let owners = json!([{"name": name, "uid": "u", "controller": controller}]);
        let annotations = json!({"resource.kubernetes.io/extended-resource-claim": annotation});
        claim(json!({"metadata": {"ownerReferences": owners, "annotations": annotations}}))
    };
    let extended = |claims: &[Value], resource: &str| resolved(&world(claims, &["gpu"]), &asking(resource)).unwrap();
    let to_be_made = Some((vec![], Some("to be made".to_owned())));
    let known = Some((vec![], Some("ns/c".to_owned())));
    assert_eq!(extended(&[], "x.io/gpu"), to_be_made);
    assert_eq!(extended(&[], "deviceclass.resource.kubernetes.io/gpu"), to_be_made);
    assert_eq!(extended(&[], "x.io/none"), None);
    assert_eq!(extended(&[made_for("p", "true", true)], "x.io/gpu"), known);
    for other in [made_for("q", "true", true), made_for("p", "yes", true), made_for("p", "true", false)] {
        assert_eq!(extended(&[other], "x.io/gpu"), to_be_made);
    }
}

#[test]
fn a_claim_that_keeps_a_pod_away_can_be_taken_back_where_nobody_else_uses_it() {
    let allocated = |reserved: &[&str]| {
        let reserved: Vec<Value> = reserved.iter().map(|uid| json!({"uid": uid})).collect();
        claim(json!({"status": {"allocation": {}, "reservedFor": reserved}}))
    };
    let twice = json!([{"name": "a", "resourceClaimName": "c"}, {"name": "b", "resourceClaimName": "c"}]);
    let facts = facts(&pod(json!({"resourceClaims": twice}), json!({})));
    let releasable = |claim: Value, keeps_away: bool| {
        let resolved = world(&[claim], &[]).resolve(&facts, "p", "u").unwrap().unwrap();
        resolved.releasable("u", |_| keeps_away).len()
    };
    assert_eq!(releasable(allocated(&[]), true), 1);
    assert_eq!(releasable(allocated(&["u"]), true), 1);
    assert_eq!(releasable(allocated(&["v"]), true), 0);
    assert_eq!(releasable(allocated(&["u", "v"]), true), 0);
    assert_eq!(releasable(allocated(&[]), false), 0);
    assert_eq!(releasable(claim(json!({})), true), 0);
}

/// A claim with two devices: conditions of the first, and of both what drivers report.
fn binding(timestamp: Value, conditions: Value, reported: Value) -> ClaimRecord {
    let mut results = json!([{"driver": "d", "pool": "p", "device": "0"}, {"driver": "d", "pool": "p", "device": "1"}]);
    for (number, conditions) in conditions.as_array().unwrap().iter().enumerate() {
        results[number]["bindingConditions"] = conditions.clone();
        results[number]["bindingFailureConditions"] = json!(["Broken"]);
    }
    let devices = reported.as_array().unwrap().iter().enumerate().map(|(number, reported)| {
        let conditions =
            reported.as_object().unwrap().iter().map(|(kind, status)| json!({"type": kind, "status": status}));
        let conditions: Vec<Value> = conditions.collect();
        json!({"driver": "d", "pool": "p", "device": number.to_string(), "conditions": conditions})
    });
    let devices: Vec<Value> = devices.collect();
    record(&claim(json!({"status": {
        "allocation": {"devices": {"results": results}, "allocationTimestamp": timestamp},
        "devices": devices,
    }})))
}

#[test]
fn an_allocation_is_given_up_when_its_devices_fail_or_take_too_long() {
    let at = json!("1970-01-01T00:01:40Z");
    let (attached, both) = (json!([["Attached"]]), json!([["Attached"], ["Attached"]]));
    let (is_up, is_down, is_broken) =
        (json!({"Attached": "True"}), json!({"Attached": "False"}), json!({"Broken": "True"}));
    let never = |claim: &ClaimRecord| (claim.usable_on(&Labels::default(), "n", i64::MIN), claim.next_change(0));
    for (claim, is_usable) in [
        (binding(at.clone(), json!([]), json!([])), true),
        (binding(at.clone(), attached.clone(), json!([is_up])), true),
        (binding(at.clone(), attached.clone(), json!([is_broken])), false),
        (binding(at.clone(), both.clone(), json!([is_up, is_broken])), false),
        (binding(json!(null), attached.clone(), json!([])), true),
    ] {
        assert_eq!(never(&claim), (is_usable, None), "{claim:?}");
    }
    for claim in [
        binding(at.clone(), attached.clone(), json!([])),
        binding(at.clone(), attached, json!([is_down])),
        // The first device that is not ready decides.
        binding(at, both, json!([is_down, is_broken])),
    ] {
        for now_s in [0, 99, 700, 701, i64::MAX] {
            let usable = |at_s: i64| claim.usable_on(&Labels::default(), "n", at_s);
            assert_eq!(usable(now_s), now_s <= 700, "{now_s}: {claim:?}");
            let later = (1..1_000).map(|after_s| now_s.saturating_add(after_s));
            assert_eq!(claim.next_change(now_s), later.into_iter().find(|at_s| usable(*at_s) != usable(now_s)));
        }
    }
}

#[test]
fn devices_are_not_waited_for_where_binding_conditions_are_off() {
    let is_broken = json!([{"Broken": "True"}]);
    let claim = binding(json!("1970-01-01T00:01:40Z"), json!([["Attached"]]), is_broken);
    let usable = |is_on: bool| {
        let claims = ClaimRules { binding_conditions: is_on, ..ClaimRules::default() };
        let (mut writer, reader) = new();
        writer.set_semantics(Semantics { claims, ..Semantics::default() });
        writer.publish();
        reader.snapshot().claims().is_usable_on(&claim, &Labels::default(), "n", 0)
    };
    assert_eq!([usable(true), usable(false)], [false, true]);
}

#[test]
fn an_allocated_claim_is_for_the_nodes_that_its_selector_matches() {
    let name = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]});
    let zone = json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]});
    let labels = metadata::labels(&serde_json::from_value(json!({"zone": "a"})).unwrap());
    for (terms, expected) in [
        (json!(null), true),
        (json!({"nodeSelectorTerms": []}), false),
        (json!({"nodeSelectorTerms": [name]}), true),
        (json!({"nodeSelectorTerms": [zone]}), true),
    ] {
        let claim = record(&claim(json!({"status": {"allocation": {"nodeSelector": terms}}})));
        assert_eq!(claim.usable_on(&labels, "n", 0), expected, "{terms}");
        let elsewhere = claim.usable_on(&Labels::default(), "m", 0);
        assert_eq!(elsewhere, terms.is_null(), "{terms}");
    }
    assert!(record(&claim(json!({}))).usable_on(&labels, "n", 0), "not allocated");
}

#[test]
fn configurations_are_kept_as_written_and_bounded() {
    let config =
        |bytes: usize| json!([{"requests": ["r"], "opaque": {"driver": "d", "parameters": "x".repeat(bytes)}}]);
    let claim = |bytes: usize| record(&claim(json!({"spec": {"devices": {"config": config(bytes)}}}))).configurations;
    let class = |bytes: usize| {
        let class = json!({"metadata": {"name": "c"}, "spec": {"config": config(bytes)}});
        metadata::device_class(&serde_json::from_value(class).unwrap()).configurations
    };
    for of in [&claim as &dyn Fn(usize) -> metadata::Configurations, &class] {
        let kept = of(3).unwrap();
        assert_eq!((kept.len(), kept[0].requests.as_slice()), (1, &["r".to_owned()][..]));
        assert!(kept[0].opaque.as_ref().unwrap().0.contains(r#""parameters":"xxx""#));
        assert_eq!(of(CONFIGURATION_BYTES), None);
    }
}
