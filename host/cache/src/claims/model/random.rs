//! Random claims, pods and devices; with few names, so that they meet.

use serde_json::{Value, json};

/// One of the UIDs that the claim of a key may have; no other claim has one of them.
fn claim_uid(random: &mut fastrand::Rng, key: &str) -> String {
    random.choice([String::new(), format!("{key} first"), format!("{key} second")]).unwrap()
}

/// A UID of which something may be in flight.
pub(super) fn random_uid(random: &mut fastrand::Rng, key: &str) -> String {
    match (random.u8(0..4), claim_uid(random, key)) {
        (0, _) => format!("pod{}", random.u8(0..2)),
        (_, uid) if uid.is_empty() => key.to_owned(),
        (_, uid) => uid,
    }
}

pub(super) fn random_results(random: &mut fastrand::Rng) -> Vec<Value> {
    let device = |random: &mut fastrand::Rng| {
        let mut device = json!({"driver": "d", "pool": "p", "device": format!("d{}", random.u8(0..4))});
        match random.u8(0..4) {
            0 => device["adminAccess"] = json!(true),
            1 => {
                device["shareID"] = json!("share");
                device["consumedCapacity"] = json!({"m": random.u8(1..3).to_string()});
            }
            _ => {}
        }
        device
    };
    (0..random.u8(0..3)).map(|_| device(random)).collect()
}

pub(super) fn random_claim(random: &mut fastrand::Rng, key: &str) -> Value {
    let (namespace, name) = key.split_once('/').unwrap();
    let pod = random.u8(0..2);
    let mut claim = json!({
        "metadata": {"name": name, "namespace": namespace, "uid": claim_uid(random, key)},
        "spec": {"devices": {}},
    });
    if random.bool() {
        let owner = |is_controller: bool| json!({"name": format!("p{pod}"), "uid": format!("pod{pod}"), "controller": is_controller});
        claim["metadata"]["ownerReferences"] = json!([owner(false), owner(random.u8(0..4) > 0)]);
    }
    if random.bool() {
        claim["metadata"]["annotations"] = json!({"resource.kubernetes.io/extended-resource-claim": "true"});
    }
    if random.u8(0..8) == 0 {
        claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    let class =
        |random: &mut fastrand::Rng| if random.u8(0..6) == 0 { String::new() } else { format!("c{}", random.u8(0..3)) };
    claim["spec"]["devices"]["requests"] = match random.u8(0..5) {
        0 => json!(null),
        1 => json!([{"name": "r"}]),
        2 => {
            json!([{"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": class(random)}, {"name": "b", "deviceClassName": class(random)}]}])
        }
        _ => json!([{"name": "r", "exactly": {"deviceClassName": class(random)}, "firstAvailable": [{"name": "a"}]}]),
    };
    if random.u8(0..3) == 0 {
        claim["status"] = json!({"allocation": {"devices": {"results": random_results(random)}}});
        let operator = random.choice(["Exists", "DoesNotExist", "Like"]).unwrap();
        if random.bool() {
            let terms = json!([{"matchExpressions": [{"key": "zone", "operator": operator}]}]);
            claim["status"]["allocation"]["nodeSelector"] = json!({"nodeSelectorTerms": terms});
        }
    }
    claim
}

pub(super) fn random_pod(random: &mut fastrand::Rng) -> Value {
    let entry = |random: &mut fastrand::Rng, name: &str| match random.u8(0..12) {
        0 => json!({"name": name}),
        1..7 => json!({"name": name, "resourceClaimName": format!("c{}", random.u8(0..5))}),
        _ => json!({"name": name, "resourceClaimTemplateName": "t"}),
    };
    let status = |random: &mut fastrand::Rng, name: &str| match random.u8(0..3) {
        0 => json!({"name": name}),
        _ => json!({"name": name, "resourceClaimName": format!("c{}", random.u8(0..4))}),
    };
    let number = random.u8(0..2);
    let resource =
        random.choice(["x.io/gpu", "x.io/fpga", "y.io/none", "deviceclass.resource.kubernetes.io/c0"]).unwrap();
    let names = ["a", "b"];
    json!({
        "metadata": {"name": format!("p{number}"), "namespace": format!("ns{}", random.u8(0..2)), "uid": format!("pod{number}")},
        "spec": {
            "resourceClaims": (0..random.usize(0..3)).map(|at| entry(random, names[at])).collect::<Vec<_>>(),
            "containers": [{"resources": {"requests": {resource: random.choice(["0", "1"]).unwrap(), "cpu": "1"}}}],
        },
        "status": {"resourceClaimStatuses": (0..random.usize(0..3)).map(|at| status(random, names[at])).collect::<Vec<_>>()},
    })
}

pub(super) fn random_class(random: &mut fastrand::Rng) -> Value {
    let created = [json!(null), json!("2026-01-01T00:00:00Z"), json!("2026-01-02T00:00:00Z")];
    let served = [json!(null), json!(""), json!("x.io/gpu"), json!("x.io/gpu"), json!("x.io/fpga")];
    json!({
        "metadata": {"name": format!("c{}", random.u8(0..3)), "creationTimestamp": random.choice(created)},
        "spec": {"extendedResourceName": random.choice(served)},
    })
}
