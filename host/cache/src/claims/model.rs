//! The model of claims: lists of plain objects, which are gone through anew for every answer. Random histories compare the cache with
//! it after every event. A test prints its seed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::needless_pass_by_value, reason = "tests")]

mod random;
mod texts;

use std::collections::BTreeMap;
use std::sync::Arc;

use random::{random_claim, random_class, random_pod, random_results, random_uid};
use serde_json::{Value, json};

use super::{ClaimObstacle, InFlightError};
use crate::devices::SeenDevice;
use crate::metadata::{self, Hold, PodFacts, Selection, SliceRecord};
use crate::write::model::rounds;
use crate::{Claims, ExtendedClaim, Generation, Identity, Row, Snapshot, Writer, new};
use nodesift_object::Kind;
use nodesift_object::claim::AllocatedDevice;

/// The objects: claims by `namespace/name`, classes by name, devices in flight by UID.
#[derive(Default)]
struct Model {
    claims: BTreeMap<String, Value>,
    classes: BTreeMap<String, Value>,
    in_flight: BTreeMap<String, Vec<Value>>,
}

/// Claims of a pod: keys of those that it names, and the one for extended resources, as a key or `to be made`; none where it has no claims.
/// The error is the obstacle's text, and whether kube-scheduler treats it as an error.
type Found = Result<Option<(Vec<String>, Option<String>)>, (String, bool)>;

fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], |list| list)
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

fn is_set(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer).is_some_and(|value| !value.is_null())
}

fn uid(claim: &Value) -> String {
    match text(claim, "/metadata/uid") {
        "" => format!("{}/{}", text(claim, "/metadata/namespace"), text(claim, "/metadata/name")),
        uid => uid.to_owned(),
    }
}

/// UIDs of the pods for which a claim serves extended resources.
fn pods_of(claim: &Value) -> Vec<(String, String)> {
    let is_extended = claim["metadata"]["annotations"]["resource.kubernetes.io/extended-resource-claim"] == "true";
    let owners = list(claim, "/metadata/ownerReferences").iter();
    let owners = owners.filter(|owner| is_extended && owner["controller"] == true);
    owners.map(|owner| (text(owner, "/name").to_owned(), text(owner, "/uid").to_owned())).collect()
}

/// The UIDs under which something may be in flight for a claim.
fn uids_of(claim: &Value) -> Vec<String> {
    pods_of(claim).into_iter().map(|(_, pod)| pod).chain([uid(claim)]).collect()
}

/// Returns the device that a result holds, and the capacity `m` that a share of it consumes; none with admin access.
fn holding(result: &Value) -> Option<(&str, Option<&str>)> {
    let share = is_set(result, "/shareID").then(|| text(result, "/consumedCapacity/m"));
    (result["adminAccess"] != true).then(|| (text(result, "/device"), share))
}

impl Model {
    /// Puts a claim in the place of another.
    fn set(&mut self, key: &str, claim: Option<Value>) {
        let old = self.claims.remove(key);
        let gone = old.filter(|old| claim.as_ref().is_none_or(|claim| uid(claim) != uid(old)));
        if let Some(gone) = &gone {
            uids_of(gone).iter().for_each(|uid| drop(self.in_flight.remove(uid)));
        }
        if let Some(claim) = claim.as_ref().filter(|claim| is_set(claim, "/status/allocation")) {
            let shown: Vec<_> = list(claim, "/status/allocation/devices/results").iter().filter_map(holding).collect();
            let is_shown = |held: &Vec<Value>| held.iter().filter_map(holding).all(|hold| shown.contains(&hold));
            for uid in uids_of(claim) {
                if self.in_flight.get(&uid).is_some_and(is_shown) {
                    self.in_flight.remove(&uid);
                }
            }
        }
        self.claims.extend(claim.map(|claim| (key.to_owned(), claim)));
    }

    fn hold(&mut self, uid_held: &str, devices: &[Value]) -> Result<(), InFlightError> {
        let is_meant = |claim: &&Value| uid(claim) == uid_held || pods_of(claim).iter().any(|(_, pod)| pod == uid_held);
        if self.claims.values().filter(is_meant).any(|claim| is_set(claim, "/status/allocation")) {
            return Err(InFlightError::Allocated);
        }
        if self.in_flight.contains_key(uid_held) {
            return Err(InFlightError::InFlight);
        }
        self.in_flight.insert(uid_held.to_owned(), devices.to_vec());
        Ok(())
    }

    /// Devices in use: whether a claim has the device for itself, and what shares of it take.
    fn held(&self) -> BTreeMap<String, (bool, Option<i128>)> {
        let of_claims = self.claims.values().flat_map(|claim| list(claim, "/status/allocation/devices/results"));
        let mut held: BTreeMap<String, (bool, Option<i128>)> = BTreeMap::new();
        for device in of_claims.chain(self.in_flight.values().flatten()).filter(|device| device["adminAccess"] != true)
        {
            let (is_exclusive, shared) = held.entry(text(device, "/device").to_owned()).or_default();
            if is_set(device, "/shareID") {
                let takes: i128 = text(device, "/consumedCapacity/m").parse().unwrap();
                *shared = Some(shared.unwrap_or(0) + takes * 1_000_000_000);
            } else {
                *is_exclusive = true;
            }
        }
        held
    }

    fn class_serving<'a>(&'a self, resource: &'a str) -> Option<&'a str> {
        if let Some(class) = resource.strip_prefix("deviceclass.resource.kubernetes.io/") {
            return self.classes.contains_key(class).then_some(class);
        }
        let named = self.classes.values().filter(|class| text(class, "/spec/extendedResourceName") == resource);
        let mut named: Vec<&Value> = named.collect();
        named.sort_by_key(|class| text(class, "/metadata/name"));
        // The sort is stable.
        named.sort_by_key(|class| std::cmp::Reverse(text(class, "/metadata/creationTimestamp")));
        named.first().map(|class| text(class, "/metadata/name"))
    }

    fn resolve(&self, pod: &Value) -> Found {
        let (namespace, pod_name) = (text(pod, "/metadata/namespace"), text(pod, "/metadata/name"));
        let fail = |text: String| Err((text, false));
        let mut named = Vec::new();
        for entry in list(pod, "/spec/resourceClaims") {
            let statuses = list(pod, "/status/resourceClaimStatuses");
            let status = statuses.iter().find(|status| status["name"] == entry["name"]);
            let is_made = !is_set(entry, "/resourceClaimName");
            let claim = match (is_made, status) {
                (false, _) => text(entry, "/resourceClaimName"),
                (true, _) if !is_set(entry, "/resourceClaimTemplateName") => {
                    let entry = &entry["name"];
                    return fail(format!(
                        r#"pod "{namespace}/{pod_name}", spec.resourceClaim {entry}: none of the supported fields are set"#
                    ));
                }
                (true, None) => return fail(format!(r#"pod "{namespace}/{pod_name}": ResourceClaim not created yet"#)),
                (true, Some(status)) if !is_set(status, "/resourceClaimName") => continue,
                (true, Some(status)) => text(status, "/resourceClaimName"),
            };
            let key = format!("{namespace}/{claim}");
            let Some(object) = self.claims.get(&key) else {
                return fail(format!(r#"could not find ResourceClaim "{key}""#));
            };
            if is_set(object, "/metadata/deletionTimestamp") {
                return fail(format!(r#"resourceclaim "{claim}" is being deleted"#));
            }
            let controller = list(object, "/metadata/ownerReferences").iter().find(|owner| owner["controller"] == true);
            if is_made && controller.map(|owner| &owner["uid"]) != Some(&pod["metadata"]["uid"]) {
                return fail(format!(
                    "ResourceClaim {key} was not created for Pod {namespace}/{pod_name} (Pod is not owner)"
                ));
            }
            named.push(key);
        }
        let asked =
            list(pod, "/spec/containers").iter().flat_map(|container| container["resources"]["requests"].as_object());
        let mut asked = asked.flatten().filter(|(_, amount)| **amount != "0");
        let owner = (pod_name.to_owned(), text(pod, "/metadata/uid").to_owned());
        let extended = asked.any(|(resource, _)| self.class_serving(resource).is_some()).then(|| {
            let known = self.claims.iter().find(|(_, claim)| pods_of(claim).contains(&owner));
            known.map_or("to be made".to_owned(), |(key, _)| key.clone())
        });
        if named.is_empty() && extended.is_none() {
            return Ok(None);
        }
        let known = extended.iter().filter(|key| *key != "to be made");
        for (key, is_named) in named.iter().map(|key| (key, true)).chain(known.map(|key| (key, false))) {
            self.check(key, is_named)?;
        }
        Ok(Some((named, extended)))
    }

    fn check(&self, key: &str, has_requests: bool) -> Result<(), (String, bool)> {
        let claim = &self.claims[key];
        if is_set(claim, "/status/allocation") {
            let terms = list(claim, "/status/allocation/nodeSelector/nodeSelectorTerms").iter();
            return match terms.flat_map(|term| list(term, "/matchExpressions")).any(|it| it["operator"] == "Like") {
                true => Err((
                    "nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: \"Like\": \
                     not a valid selector operator"
                        .to_owned(),
                    true,
                )),
                false => Ok(()),
            };
        }
        if self.in_flight.contains_key(&uid(claim)) {
            return Err((format!("resource claim {key} is in the process of being allocated"), false));
        }
        for request in list(claim, "/spec/devices/requests").iter().filter(|_| has_requests) {
            let name = text(request, "/name");
            let mut asked = Vec::new();
            if is_set(request, "/exactly") {
                asked.push((name.to_owned(), text(request, "/exactly/deviceClassName")));
            } else {
                let alternatives = list(request, "/firstAvailable").iter();
                asked.extend(
                    alternatives.map(|it| (format!("{name}/{}", text(it, "/name")), text(it, "/deviceClassName"))),
                );
            }
            if asked.is_empty() {
                return Err((format!("resource claim {key}, request {name}: unknown request type"), false));
            }
            for (request, class) in asked {
                if class.is_empty() {
                    return Err((format!("request {request}: unsupported request type"), true));
                }
                if !self.classes.contains_key(class) {
                    return Err((format!("request {request}: device class {class} does not exist"), false));
                }
            }
        }
        Ok(())
    }
}

/// Returns the claims of a pod as the cache resolves them, in the model's form.
fn resolved(claims: &Claims, pod: &Value) -> Found {
    let facts = facts(pod);
    match claims.resolve(&facts, text(pod, "/metadata/name"), text(pod, "/metadata/uid")) {
        Err(ClaimObstacle { text, is_error }) => Err((text, is_error)),
        Ok(None) => Ok(None),
        Ok(Some(resolved)) => {
            let extended = resolved.extended.map(|extended| match extended {
                ExtendedClaim::Known(claim) => claim.key(),
                ExtendedClaim::ToBeMade => "to be made".to_owned(),
            });
            Ok(Some((resolved.named.iter().map(|claim| claim.key()).collect(), extended)))
        }
    }
}

fn facts(pod: &Value) -> PodFacts {
    let selection = Selection { pod_claims: true, ..Selection::default() };
    metadata::pod_selecting(&serde_json::from_value(pod.clone()).unwrap(), &selection)
}

fn record(claim: &Value) -> metadata::ClaimRecord {
    metadata::resource_claim(&serde_json::from_value(claim.clone()).unwrap())
}

/// Kinds of outcomes that the model has.
const OUTCOMES: usize = 16;

#[test]
fn random_histories_leave_claims_equal_to_a_recount() {
    let seed = nodesift_seed::seed();
    let mut outcomes: BTreeMap<String, u32> = BTreeMap::new();
    // Until every kind of outcome was met.
    for round in 0..rounds(12) * 30 {
        if round >= rounds(12) && outcomes.len() == OUTCOMES {
            break;
        }
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(round));
        let (mut writer, reader) = new();
        let mut model = Model::default();
        writer.apply(metadata::node(&serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap()));
        writer.apply(slice());
        writer.publish();
        let (mut published, mut changed) = (reader.snapshot().generation(), Generation::default());
        for _ in 0..120 {
            event(&mut random, &mut writer, &mut model);
            writer.publish();
            let snapshot = reader.snapshot();
            let claims = snapshot.claims();
            assert!(claims.changed() == changed || claims.changed() > published);
            (published, changed) = (snapshot.generation(), claims.changed());
            assert_eq!(held_in(&snapshot), model.held());
            for uid in ["pod0", "pod1", "ns0/c0", "ns0/c0 first", "ns1/c3 second"] {
                assert_eq!(claims.is_in_flight(uid), model.in_flight.contains_key(uid), "{uid}");
            }
            for (key, claim) in &model.claims {
                assert_eq!(**claims.claim(key).unwrap(), record(claim));
            }
            for resource in ["x.io/gpu", "x.io/fpga", "deviceclass.resource.kubernetes.io/c0"] {
                assert_eq!(claims.class_serving(resource).map(|class| &*class.name), model.class_serving(resource));
            }
            let pod = random_pod(&mut random);
            let expected = model.resolve(&pod);
            assert_eq!(resolved(claims, &pod), expected, "{pod}");
            *outcomes.entry(kind_of(&expected)).or_default() += 1;
            assert_eq!(writer.audit_devices(), []);
            if random.u8(0..8) == 0 {
                let broken = break_uses(&mut random, &mut writer, claims);
                writer.publish();
                assert_eq!(writer.audit_devices().is_empty(), !broken);
                writer.publish();
                assert_eq!(held_in(&reader.snapshot()), model.held());
                assert_eq!(writer.audit_devices(), []);
            }
        }
    }
    assert_eq!(outcomes.len(), OUTCOMES, "{outcomes:?}");
}

/// Has devices in use that no claim holds, or frees those that claims hold, as a defect would; whether that changes anything.
fn break_uses(random: &mut fastrand::Rng, writer: &mut Writer, claims: &Claims) -> bool {
    if random.bool() {
        let held: Vec<AllocatedDevice> = serde_json::from_value(random_results(random).into()).unwrap();
        let held: Vec<Hold> = held.iter().filter_map(Hold::compile).collect();
        writer.hold_devices(&held);
        !held.is_empty()
    } else {
        writer.release_devices(claims.held());
        claims.held().next().is_some()
    }
}

fn kind_of(outcome: &Found) -> String {
    match outcome {
        Ok(None) => "nothing".to_owned(),
        Ok(Some((_, extended))) => match extended.as_deref() {
            Some("to be made") => "to be made".to_owned(),
            extended => format!("claims, extended: {}", extended.is_some()),
        },
        Err((text, _)) => {
            text.split(' ').filter(|word| !word.contains(['"', '/', '0', '1', '2', '3'])).collect::<Vec<_>>().join(" ")
        }
    }
}

/// The devices that the claims may hold, for all nodes.
fn slice() -> SliceRecord {
    let devices: Vec<Value> = (0..4).map(|number| json!({"name": format!("d{number}")})).collect();
    let pool = json!({"name": "p", "generation": 1, "resourceSliceCount": 1});
    let spec = json!({"driver": "d", "pool": pool, "allNodes": true, "devices": devices});
    SliceRecord::compile(&serde_json::from_value(json!({"metadata": {"name": "s"}, "spec": spec})).unwrap())
}

/// The devices in use as the one node sees them.
fn held_in(snapshot: &Snapshot) -> BTreeMap<String, (bool, Option<i128>)> {
    let pools = snapshot.devices().seen_by(Row(0)).unwrap();
    let devices = pools.iter().flat_map(|pool| &pool.devices);
    let in_use = devices.filter(|seen| seen.exclusive() || seen.shared().is_some());
    let sum = |seen: &SeenDevice| seen.shared().map(|shared| shared.iter().map(|(_, amount)| amount).sum());
    in_use.map(|seen| (seen.device.name.to_string(), (seen.exclusive(), sum(seen)))).collect()
}

/// One event in the cache and in the model.
fn event(random: &mut fastrand::Rng, writer: &mut Writer, model: &mut Model) {
    let key = format!("ns{}/c{}", random.u8(0..2), random.u8(0..4));
    match random.u8(0..12) {
        0..5 => {
            let mut claim = random_claim(random, &key);
            let decided = uids_of(&claim).into_iter().find_map(|uid| model.in_flight.get(&uid));
            if let Some(decided) = decided.filter(|_| is_set(&claim, "/status/allocation") && random.bool()) {
                claim["status"]["allocation"]["devices"]["results"] = decided.clone().into();
            }
            writer.apply(record(&claim));
            model.set(&key, Some(claim));
        }
        5 => {
            writer.remove(&Identity::new(Kind::ResourceClaim, &key));
            model.set(&key, None);
        }
        6..9 => {
            let (uid, results) = (random_uid(random, &key), random_results(random));
            let devices: Vec<AllocatedDevice> = serde_json::from_value(results.clone().into()).unwrap();
            assert_eq!(writer.hold_in_flight(&uid, &devices), model.hold(&uid, &results));
        }
        9 => {
            let uid = random_uid(random, &key);
            writer.release_in_flight(&uid);
            model.in_flight.remove(&uid);
        }
        10 => {
            let class = random_class(random);
            let name = text(&class, "/metadata/name").to_owned();
            writer.apply(metadata::device_class(&serde_json::from_value(class.clone()).unwrap()));
            model.classes.insert(name, class);
        }
        _ => {
            let name = format!("c{}", random.u8(0..3));
            writer.remove(&Identity::new(Kind::DeviceClass, &name));
            model.classes.remove(&name);
        }
    }
}

#[test]
fn an_old_snapshot_never_changes() {
    let (mut writer, reader) = new();
    let claim = |uid: &str| json!({"metadata": {"name": "c", "namespace": "ns", "uid": uid}});
    writer.apply(record(&claim("u1")));
    writer.hold_in_flight("u1", &[]).unwrap();
    writer.publish();
    let old = Arc::clone(reader.snapshot().claims());
    writer.release_in_flight("u1");
    writer.remove(&Identity::new(Kind::ResourceClaim, "ns/c"));
    writer.publish();
    assert!(old.is_in_flight("u1") && old.claim("ns/c").is_some());
    let claims = Arc::clone(reader.snapshot().claims());
    assert!(!claims.is_in_flight("u1") && claims.claim("ns/c").is_none());
    // Nothing new: the same claims, at no cost.
    writer.remove(&Identity::new(Kind::ResourceClaim, "ns/c"));
    writer.release_in_flight("u1");
    writer.publish();
    assert!(Arc::ptr_eq(&claims, reader.snapshot().claims()));
}
