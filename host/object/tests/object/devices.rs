//! Tests of reading devices and claims on them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use nodesift_object::claim::ResourceClaim;
use nodesift_object::device::{Attribute, DeviceTaintEffect, ResourceSlice, WrittenQuantity};
use nodesift_object::elements::Elements;
use nodesift_object::{DeviceClass, Kind, Object, decode};

fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_str(&value.to_string()).unwrap()
}

#[test]
fn a_slice_keeps_what_decides_about_its_devices() {
    let slice: ResourceSlice = read(&json!({
    "metadata": {"name": "s"},
    "spec": {
        "driver": "d.example.com", "pool": {"name": "p", "generation": 3, "resourceSliceCount": 2}, "nodeName": "n",
        "devices": [{
            "name": "d-0",
            "attributes": {
                "i": {"int": -1}, "b": {"bool": false}, "d.example.com/s": {"string": ""}, "v": {"version": "1.0.0"},
                "list": {"strings": ["a"]}, "none": {"ints": []}, "null": {"int": null},
            },
            "capacity": {
                "m": {"value": "8Gi", "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi", "step": "512Mi"}}},
                "n": {"value": 2, "requestPolicy": {"validValues": ["1", "2"]}},
            },
            "consumesCounters": [{"counterSet": "c", "counters": {"memory": {"value": "4"}}}],
            "taints": [
                {"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
                {"key": "k", "effect": "None"},
            ],
            "bindsToNode": true, "bindingConditions": [], "bindingFailureConditions": ["F"],
            "allowMultipleAllocations": true, "allNodes": true,
        }],
        "sharedCounters": [{"name": "c", "counters": {"memory": {"value": "8"}}}],
    }}));
    let spec = &slice.spec;
    assert_eq!((spec.driver.as_str(), spec.pool.name.as_str(), spec.pool.generation), ("d.example.com", "p", 3));
    assert_eq!((spec.pool.resource_slice_count, spec.node_name.as_deref(), spec.all_nodes), (2, Some("n"), false));
    assert_eq!(spec.shared_counters[0].counters.get("memory").unwrap().value, "8".parse().unwrap());
    let device = &spec.devices[0];
    let attributes: Vec<_> = device.attributes.iter().map(|(name, value)| (name, value.clone())).collect();
    assert_eq!(
        attributes,
        [
            ("b", Attribute::Bool(false)),
            ("d.example.com/s", Attribute::String(String::new())),
            ("i", Attribute::Int(-1)),
            ("list", Attribute::List(Elements::from_strings(&["a".to_owned()]))),
            ("none", Attribute::List(Elements::default())),
            ("null", Attribute::Unsupported),
            ("v", Attribute::Version("1.0.0".to_owned())),
        ]
    );
    let memory = device.capacity.get("m").unwrap();
    let policy = memory.request_policy.as_ref().unwrap();
    let value = WrittenQuantity { text: "8Gi".to_owned(), quantity: "8Gi".parse().unwrap() };
    assert_eq!((&memory.value, policy.default), (&value, Some("1Gi".parse().unwrap())));
    assert_eq!(device.capacity.get("n").unwrap().value.text, "2");
    let range = policy.valid_range.as_ref().unwrap();
    assert_eq!(
        (range.min, range.max, range.step),
        (Some("1Gi".parse().unwrap()), None, Some("512Mi".parse().unwrap()))
    );
    assert_eq!(device.capacity.get("n").unwrap().request_policy.as_ref().unwrap().valid_values.len(), 2);
    assert_eq!(device.consumes_counters[0].counter_set, "c");
    let effects: Vec<_> = device.taints.iter().map(|taint| taint.effect).collect();
    assert_eq!(effects, [DeviceTaintEffect::NoExecute, DeviceTaintEffect::Other]);
    assert_eq!((device.binding_conditions.as_deref(), device.binds_to_node), (Some(&[][..]), true));
    assert_eq!((device.allow_multiple_allocations, device.all_nodes), (true, true));
}

#[test]
fn a_claim_keeps_what_it_asks_for_and_what_it_has() {
    let claim: ResourceClaim = read(&json!({
    "metadata": {"name": "c", "namespace": "dev", "ownerReferences": [{"uid": "u", "controller": true}]},
    "spec": {"devices": {
        "requests": [
            {"name": "r", "exactly": {
                "deviceClassName": "gpu", "allocationMode": "All", "adminAccess": true,
                "selectors": [{"cel": {"expression": "true"}}, {}],
                "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 3}],
                "capacity": {"requests": {"m": "2Gi"}}, "derivedAttributes": [{"name": "a", "expression": "1"}],
            }},
            {"name": "s", "firstAvailable": [{"name": "a", "deviceClassName": "x", "allocationMode": "ExactCount", "count": 2}]},
        ],
        "constraints": [{"requests": ["r"], "matchAttribute": "d/x"}, {"distinctAttribute": "d/y"}, {}],
        "config": [{"requests": ["r"], "opaque": {"driver": "d", "parameters": {"b": 1, "a": [0.10, null]}}}, {"opaque": null}],
    }},
    "status": {
        "allocation": {
            "devices": {"results": [{
                "request": "r", "driver": "d", "pool": "p", "device": "d-0", "adminAccess": null, "shareID": "share",
                "consumedCapacity": {"m": "1Gi"}, "bindingConditions": ["Ready"],
            }]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]},
            "allocationTimestamp": "2026-01-01T00:00:00Z",
        },
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "pod"}],
        "devices": [{"driver": "d", "pool": "p", "device": "d-0", "conditions": [{"type": "Ready", "status": "True"}]}],
    }}));
    assert_eq!((claim.metadata.namespaced(), claim.metadata.controller_uid()), ("dev/c".to_owned(), Some("u")));
    let requests = claim.spec.devices.requests.as_ref().unwrap();
    let exactly = requests[0].exactly.as_ref().unwrap();
    assert_eq!((exactly.device_class_name.as_str(), exactly.allocation_mode.as_str()), ("gpu", "All"));
    assert!(exactly.admin_access && exactly.selectors[0].cel.is_some() && exactly.selectors[1].cel.is_none());
    assert!(exactly.derives && !requests[1].first_available[0].derives);
    assert_eq!(exactly.tolerations[0].operator, "Exists");
    assert_eq!(exactly.capacity.requests.get("m"), Some(&"2Gi".parse().unwrap()));
    assert_eq!((requests[1].first_available[0].name.as_str(), requests[1].first_available[0].count), ("a", 2));
    let constraints = &claim.spec.devices.constraints;
    assert_eq!(constraints[0].match_attribute.as_deref(), Some("d/x"));
    assert_eq!(
        (constraints[1].distinct_attribute.as_deref(), constraints[2].match_attribute.as_deref()),
        (Some("d/y"), None)
    );
    let [config, none] = claim.spec.devices.config.as_slice() else { panic!("{:?}", claim.spec.devices.config) };
    assert_eq!((config.requests.as_slice(), &none.opaque), (&["r".to_owned()][..], &None));
    let opaque: Value = serde_json::from_str(&config.opaque.as_ref().unwrap().0).unwrap();
    assert_eq!(opaque, json!({"driver": "d", "parameters": {"b": 1, "a": [0.10, null]}}));
    assert_eq!(exactly.tolerations[0].toleration_seconds, Some(3));
    let allocation = claim.status.allocation.as_ref().unwrap();
    let device = &allocation.devices.results[0];
    assert_eq!((device.share_id.as_deref(), device.admin_access), (Some("share"), false));
    assert_eq!(
        (&device.binding_conditions[..], allocation.allocation_timestamp.0),
        (&["Ready".to_owned()][..], Some(1_767_225_600))
    );
    assert_eq!(allocation.node_selector.as_ref().unwrap().node_selector_terms.len(), 1);
    assert_eq!((claim.status.reserved_for[0].uid.as_str(), claim.status.devices[0].conditions.len()), ("pod", 1));
}

#[test]
fn absent_null_and_empty_differ_only_where_it_matters() {
    let claim = |spec: Value| read::<ResourceClaim>(&json!({"metadata": {"name": "c"}, "spec": spec, "status": null}));
    assert_eq!(claim(Value::Null), claim(json!({"devices": {"requests": null, "constraints": null}})));
    assert_ne!(claim(Value::Null), claim(json!({"devices": {"requests": []}})));
    let slice = |spec: Value| read::<ResourceSlice>(&json!({"metadata": {"name": "s"}, "spec": spec}));
    assert_eq!(
        slice(Value::Null),
        slice(json!({"devices": null, "nodeName": null, "pool": null, "sharedCounters": null}))
    );
    let class: DeviceClass =
        read(&json!({"metadata": {"name": "g"}, "spec": {"selectors": [{"cel": {"expression": "true"}}]}}));
    assert_eq!(class.spec.selectors.len(), 1);
}

#[test]
fn configurations_stay_as_they_are_written() {
    let opaque = r#"{ "driver":"d", "parameters": {"b":1.10,"a":18446744073709551616} }"#;
    let json = format!(r#"{{"metadata":{{"name":"c"}},"spec":{{"config":[{{"opaque":{opaque}}}]}}}}"#);
    let Ok(Object::DeviceClass(class)) = decode::decode(Kind::DeviceClass, &json) else { panic!("{json}") };
    assert_eq!(class.spec.config[0].opaque.as_ref().map(|opaque| opaque.0.as_str()), Some(opaque));
    let wrong = r#"{"metadata":{"name":"c"},"spec":{"config":[{"opaque":{}},{"requests":7}]}}"#;
    assert_eq!(decode::decode(Kind::DeviceClass, wrong).unwrap_err().field, "spec.config[1].requests");
}

/// `value` in one of several cases, nothing in the others.
fn maybe(random: &mut fastrand::Rng, fields: &mut Map<String, Value>, name: &str, value: Value) {
    if random.bool() {
        fields.insert(name.to_owned(), value);
    }
}

fn object(fields: Map<String, Value>) -> Value {
    Value::Object(fields)
}

/// Random fields that a request or an alternative of `v1` may have.
fn random_fields(random: &mut fastrand::Rng) -> Map<String, Value> {
    let mut fields = Map::new();
    let count = random.i64(1..4);
    maybe(random, &mut fields, "selectors", json!([{"cel": {"expression": format!("device.driver == 'd{count}'")}}]));
    maybe(random, &mut fields, "allocationMode", json!("All"));
    maybe(random, &mut fields, "count", json!(count));
    maybe(random, &mut fields, "adminAccess", json!(count > 1));
    maybe(random, &mut fields, "tolerations", json!([{"key": "k", "operator": "Exists", "tolerationSeconds": count}]));
    maybe(random, &mut fields, "capacity", json!({"requests": {"memory": format!("{count}Gi")}}));
    maybe(random, &mut fields, "derivedAttributes", json!(vec![json!({"name": "a"}); usize::from(count > 1)]));
    fields.insert("deviceClassName".to_owned(), json!("class"));
    fields
}

/// A request of `v1`, and the same of `v1beta1`.
fn random_request(random: &mut fastrand::Rng) -> (Value, Value) {
    if random.bool() {
        let fields = random_fields(random);
        let mut inline = fields.clone();
        inline.insert("name".to_owned(), json!("r"));
        return (json!({"name": "r", "exactly": fields}), object(inline));
    }
    let alternatives = [random_fields(random), random_fields(random)].map(|mut fields| {
        fields.remove("adminAccess");
        fields.insert("name".to_owned(), json!(format!("a{}", random.u8(..))));
        fields
    });
    let request = json!({"name": "r", "firstAvailable": alternatives});
    (request.clone(), request)
}

/// A device of `v1`, and the same of `v1beta1`.
fn random_device(random: &mut fastrand::Rng) -> (Value, Value) {
    let mut fields = Map::new();
    let number = random.i64(1..9);
    let terms =
        json!({"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]});
    maybe(
        random,
        &mut fields,
        "attributes",
        json!({"a": {"int": number}, "d.io/b": {"string": "s"}, "c": {"bool": true}}),
    );
    maybe(
        random,
        &mut fields,
        "capacity",
        json!({"memory": {"value": format!("{number}Gi"), "requestPolicy": {"default": "1Gi"}}}),
    );
    maybe(random, &mut fields, "consumesCounters", json!([{"counterSet": "c", "counters": {"m": {"value": number}}}]));
    maybe(random, &mut fields, "nodeName", json!("n"));
    maybe(random, &mut fields, "nodeSelector", terms);
    maybe(random, &mut fields, "allNodes", json!(true));
    maybe(random, &mut fields, "taints", json!([{"key": "k", "value": "v", "effect": "NoSchedule"}]));
    maybe(random, &mut fields, "bindsToNode", json!(true));
    maybe(random, &mut fields, "bindingConditions", json!(if number > 4 { vec!["C"] } else { vec![] }));
    maybe(random, &mut fields, "bindingFailureConditions", json!(["F"]));
    maybe(random, &mut fields, "allowMultipleAllocations", json!(true));
    let nested = json!({"name": "d", "basic": fields});
    fields.insert("name".to_owned(), json!("d"));
    (object(fields), nested)
}

/// Against the types and conversions of Kubernetes: requests of `v1beta1` have the fields of `exactly` beside their name, devices
/// have theirs in `basic`. `NODESIFT_SEED` repeats a run.
#[test]
fn what_is_written_in_the_form_of_v1beta1_is_read_as_the_same_in_v1() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    for kind in ["ResourceClaim", "ResourceSlice", "DeviceClass"] {
        for version in ["v1", "v1beta2", "v1beta1"] {
            let known = Kind::from_type_meta(&format!("resource.k8s.io/{version}"), kind);
            assert_eq!(known.map(Kind::name), Some(kind), "{version}");
        }
    }
    for _ in 0..2_000 {
        let (new, old): (Vec<_>, Vec<_>) = (0..random.usize(0..4)).map(|_| random_request(&mut random)).unzip();
        let claim = |requests: &[Value]| {
            let config = json!([{"requests": ["r"], "opaque": {"driver": "d.io", "parameters": {"a": 1}}}]);
            let results = json!([{"request": "r", "driver": "d.io", "pool": "p", "device": "d"}]);
            read::<ResourceClaim>(&json!({"metadata": {"name": "c", "namespace": "ns"},
                "spec": {"devices": {"requests": requests, "constraints": [{"matchAttribute": "d.io/a"}], "config": config}},
                "status": {"allocation": {"devices": {"results": results}}}}))
        };
        assert_eq!(claim(&new), claim(&old), "{new:?}");

        let (new, old): (Vec<_>, Vec<_>) = (0..random.usize(0..4)).map(|_| random_device(&mut random)).unzip();
        let slice = |devices: &[Value], node: Value| {
            let pool = json!({"name": "p", "generation": 1, "resourceSliceCount": 1});
            let spec = json!({"driver": "d.io", "pool": pool, "nodeName": node, "devices": devices});
            read::<ResourceSlice>(&json!({"metadata": {"name": "s"}, "spec": spec}))
        };
        assert_eq!(slice(&new, Value::Null), slice(&old, json!("")), "{new:?}");
    }
    // Requests that say nothing have no `exactly` in either form.
    let empty: ResourceClaim =
        read(&json!({"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"name": "r"}]}}}));
    assert_eq!(empty.spec.devices.requests.unwrap()[0].exactly, None);
}
