//! Columns of a pod's parties: known answers, missing ones, and the effect of `nodeSelector` and `onSilence`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use nodesift_cache::metadata::{self, Labels, PodSelector, Selection, SliceRecord};
use nodesift_cache::{self as cache, Reader, Writer};
use nodesift_negotiation::{OnSilence, Party, Subject};
use nodesift_object::{Kind, Object, decode};
use serde_json::{Value, json};

use super::*;
use crate::facts::Batch;
use crate::party::OnUnknown;
use crate::policy::{ActivePolicy, PolicySettings};

fn party(name: &str, concern: Concern, scope: Scope) -> PolicyParty {
    let every = PodSelector { namespace_requirements: Some(Vec::new()), ..PodSelector::default() };
    PolicyParty {
        party: Party { name: name.into(), concern, scope, on_silence: OnSilence::Wait },
        pods: every,
        nodes: Labels::default(),
        on_unknown: OnUnknown::default(),
        deadline: None,
    }
}

struct World {
    writer: Writer,
    reader: Reader,
    parties: Vec<PolicyParty>,
}

impl World {
    /// Two nodes, the claims `gpu` of the class `k` and `nic` of the class `n`, whose driver is `nic.io`.
    fn new(parties: Vec<PolicyParty>) -> Self {
        let (writer, reader) = cache::new();
        let mut world = Self { writer, reader, parties };
        for name in ["n0", "n1"] {
            world
                .apply(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"on": name}},
                "spec": {}, "status": {}}));
        }
        world.apply(&class(
            "k",
            &json!({"selectors": [{"cel": {"expression": "device.driver == 'gpu.io' && device.attributes['gpu.io'].cores > 8"}}]}),
        ));
        world.apply(&class("n", &json!({"selectors": [{"cel": {"expression": "device.driver == 'nic.io'"}}]})));
        world.apply(&claim("gpu", "k", &json!({})));
        world.apply(&claim("nic", "n", &json!({})));
        world
    }

    fn apply(&mut self, object: &Value) {
        let text = |field: &str| object[field].as_str().unwrap().to_owned();
        match decode::decode(Kind::from_type_meta(&text("apiVersion"), &text("kind")).unwrap(), &object.to_string())
            .unwrap()
        {
            Object::Node(node) => self.writer.apply(metadata::node(&node)),
            Object::DeviceClass(class) => self.writer.apply(metadata::device_class(&class)),
            Object::ResourceClaim(claim) => self.writer.apply(metadata::resource_claim(&claim)),
            other => assert!(matches!(other, Object::Namespace(_)), "not used here"),
        }
    }

    fn context(&mut self, uid: &str, claims: &[&str]) -> Context {
        self.writer.publish();
        let entries: Vec<Value> =
            claims.iter().map(|claim| json!({"name": claim, "resourceClaimName": claim})).collect();
        let pod =
            json!({"metadata": {"name": uid, "namespace": "ns", "uid": uid}, "spec": {"resourceClaims": entries}});
        let selection = Selection { pod_claims: true, ..Selection::default() };
        let facts = metadata::pod_selecting(&serde_json::from_value(pod).unwrap(), &selection);
        let context = Context::new(self.reader.snapshot(), Arc::new(facts), None, Batch::All);
        let settings = PolicySettings { parties: self.parties.clone().into(), ..PolicySettings::default() };
        context.with_owner(uid.into(), uid.into()).with_settings(Arc::new(settings))
    }

    fn seats(&mut self, uid: &str, claims: &[&str]) -> Vec<(String, Subject)> {
        let context = self.context(uid, claims);
        context.party_seats().iter().map(|seat| (seat.party.to_string(), seat.subject.clone())).collect()
    }
}

fn class(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec})
}

fn claim(name: &str, class: &str, status: &Value) -> Value {
    let request =
        json!({"name": "r", "exactly": {"deviceClassName": class, "allocationMode": "ExactCount", "count": 1}});
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, "namespace": "ns", "uid": name},
        "spec": {"devices": {"requests": [request]}}, "status": status})
}

fn claims(uids: &[&str]) -> Subject {
    Subject::Claims(uids.iter().map(|uid| Arc::from(*uid)).collect())
}

#[test]
fn drivers_classes_and_pod_selectors_decide_which_parties_a_pod_has() {
    let by_driver = |driver: &str| party(driver, Concern::Driver(driver.into()), Scope::Claims);
    let mut world = World::new(vec![
        by_driver("gpu.io"),
        by_driver("nic.io"),
        // Selectors say that it is none of its devices.
        by_driver("no.io"),
        party("class", Concern::DeviceClass("k".into()), Scope::Pod),
        party("pods", Concern::Pods, Scope::Pod),
    ]);
    let of_pods = || ("pods".to_owned(), Subject::Pod("p".into()));
    assert_eq!(world.seats("p", &[]), [of_pods()]);
    assert_eq!(world.seats("p", &["nic"]), [("nic.io".to_owned(), claims(&["nic"])), of_pods()]);
    let of_gpu = [("gpu.io".to_owned(), claims(&["gpu"])), ("class".to_owned(), Subject::Pod("p".into())), of_pods()];
    assert_eq!(world.seats("p", &["gpu"]), of_gpu);
    // Of a class that selects nothing, or that is not there, nothing is known: each of the drivers may decide.
    for class_of_any in ["any", "none"] {
        world.apply(&class("any", &json!({})));
        world.apply(&claim("open", class_of_any, &json!({})));
        assert_eq!(world.seats("p", &["open"]).len(), 4, "{class_of_any}");
    }
    // Nobody decides about what is allocated, or is being so.
    world.writer.hold_in_flight("nic", &[]).unwrap();
    world.apply(&claim("gpu", "k", &json!({"allocation": {"devices": {"results": []}}})));
    assert_eq!(world.seats("p", &["gpu", "nic"]), [of_pods()]);
}

#[test]
fn a_class_is_named_that_no_party_takes_and_of_which_no_device_is_known() {
    let by_class = |class: &str| party(class, Concern::DeviceClass(class.into()), Scope::Pod);
    let named = |parties: Vec<PolicyParty>, slice: Option<&str>| -> Vec<String> {
        let mut world = World::new(parties);
        if let Some(driver) = slice {
            let slice = json!({"metadata": {"name": "s"}, "spec": {"driver": driver, "nodeName": "n0", "devices": [{"name": "d"}],
                "pool": {"name": "n0", "generation": 1, "resourceSliceCount": 1}}});
            world.writer.apply(SliceRecord::compile(&serde_json::from_value(slice).unwrap()));
        }
        world.writer.publish();
        let classes = untaken::untaken_classes(&world.reader.snapshot(), &world.parties);
        classes.iter().map(ToString::to_string).collect()
    };
    assert_eq!(named(vec![by_class("k")], None), ["n"]);
    assert_eq!(named(vec![by_class("K")], None), ["k", "n"], "names are told apart by case");
    assert_eq!(named(vec![by_class("k")], Some("nic.io")), Vec::<String>::new(), "devices of the cluster are of it");
    assert_eq!(named(vec![by_class("k")], Some("gpu.io")), ["n"]);
    let by_driver = party("nic", Concern::Driver("nic.io".into()), Scope::Pod);
    assert_eq!(named(vec![by_driver, by_class("k")], None), Vec::<String>::new());
    // Nobody who is about claims is missing.
    assert_eq!(named(vec![party("pods", Concern::Pods, Scope::Pod)], None), Vec::<String>::new());
}

#[test]
fn no_class_is_named_where_no_predicate_has_resource_slices_watched() {
    let mut world = World::new(vec![party("k", Concern::DeviceClass("k".into()), Scope::Pod)]);
    world.writer.publish();
    let snapshot = world.reader.snapshot();
    assert_eq!(untaken::untaken_classes(&snapshot, &world.parties).len(), 1);
    let mut policy = ActivePolicy::new(Vec::new(), Vec::new());
    policy.settings = Arc::new(PolicySettings { parties: world.parties.clone().into(), ..PolicySettings::default() });
    assert_eq!(policy.cluster_warnings(&snapshot), Vec::<String>::new());
}

#[test]
fn predicates_see_no_claims_that_parties_allocate_until_these_are_allocated() {
    let mut world = World::new(vec![
        party("k", Concern::DeviceClass("k".into()), Scope::Pod),
        // A driver may have devices too.
        party("nic", Concern::Driver("nic.io".into()), Scope::Pod),
    ]);
    let both = json!([{"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "k", "allocationMode": "ExactCount", "count": 1},
        {"name": "b", "deviceClassName": "n", "allocationMode": "ExactCount", "count": 1}]}]);
    let mut mixed = claim("mixed", "k", &json!({}));
    mixed["spec"]["devices"]["requests"] = both;
    world.apply(&mixed);
    let seen = |world: &mut World, claims: &[&str]| world.context("p", claims).device_claims().map(|it| it.len());
    assert_eq!(seen(&mut world, &["gpu"]), Ok(0));
    assert_eq!(seen(&mut world, &["gpu", "nic", "mixed", "gpu"]), Ok(2));
    let context = world.context("p", &["gpu", "nic"]);
    assert_eq!(&*context.name_of_claim(0), "ns/nic", "numbers are those of what is seen");
    // Under another policy.
    let parties = std::mem::take(&mut world.parties);
    assert_eq!(seen(&mut world, &["gpu", "nic"]), Ok(2));
    world.parties = parties;
    // What is being allocated can be used by nobody else, and what is allocated where it is.
    world.writer.hold_in_flight("gpu", &[]).unwrap();
    assert!(seen(&mut world, &["gpu"]).is_err());
    world.apply(&claim("gpu", "k", &json!({"allocation": {"devices": {"results": []}}})));
    assert_eq!(seen(&mut world, &["gpu"]), Ok(1));
}

#[test]
fn pods_of_a_template_and_pods_with_the_same_claims_share_a_subject() {
    let mut world = World::new(vec![
        party("template", Concern::Pods, Scope::Template),
        party("claims", Concern::DeviceClass("k".into()), Scope::Claims),
    ]);
    let (first, second) = (world.seats("p", &["gpu"]), world.seats("q", &["gpu"]));
    assert_eq!(first, second);
    let other = world.seats("q", &["gpu", "nic"]);
    assert_ne!(other[0], first[0], "another template");
    assert_eq!(other[1], first[1], "the same claim of the party");
}

#[test]
fn columns_show_what_stands_for_the_subject_and_which_nodes_are_out_of_reach() {
    let mut only = party("only", Concern::Pods, Scope::Pod);
    only.nodes = [("on".into(), "n1".into())].into();
    only.party.on_silence = OnSilence::Reject;
    let mut world = World::new(vec![party("p", Concern::Pods, Scope::Pod), only]);
    let said = [("n0".into(), Suitability::Unsuitable("full".into())), ("n1".into(), Suitability::Suitable)];
    assert!(world.writer.set_party_answers(&"p".into(), &Subject::Pod("a".into()), &said));
    let context = world.context("a", &[]);
    let shown: Vec<String> = context
        .party_columns()
        .iter()
        .map(|it| format!("{} {:?} {:?} {:?} {}", it.party, it.states, it.reasons, it.texts, it.unknown_fits))
        .collect();
    assert_eq!(
        shown,
        [r#"p [2, 1] [1, 0] ["", "full"] false"#, r#"only [2, 0] [1, 0] ["", "outside its nodeSelector"] false"#]
    );
    // Candidates of a negotiation have yet to be asked about.
    let candidates = world.context("a", &[]).with_negotiated(true);
    assert!(candidates.party_columns().iter().all(|column| column.unknown_fits));
    // Another pod, and other rows.
    assert!(world.context("b", &[]).party_columns()[0].states.iter().all(|state| *state == 0));
    let one = world.context("a", &[]).over(Batch::Rows([nodesift_cache::Row(1)].into()));
    assert_eq!(one.party_columns().iter().map(|column| column.states.to_vec()).collect::<Vec<_>>(), [[1], [0]]);
}

#[test]
fn a_pod_waits_for_a_party_of_which_nothing_is_known_unless_the_policy_says_otherwise_or_it_is_to_be_asked() {
    use OnSilence::{Ignore, Reject, Wait};
    let cases = [
        (Wait, OnUnknown::Wait, false),
        (Reject, OnUnknown::Wait, false),
        (Ignore, OnUnknown::Wait, true),
        (Wait, OnUnknown::Fit, true),
        (Reject, OnUnknown::Fit, true),
        (Ignore, OnUnknown::Fit, true),
    ];
    for (on_silence, on_unknown, expected) in cases {
        // About the pod, and about its claim, which nobody has allocated yet.
        for concern in [Concern::Pods, Concern::DeviceClass("k".into())] {
            let mut party = party("p", concern, Scope::Pod).with_on_unknown(on_unknown);
            party.party.on_silence = on_silence;
            let mut world = World::new(vec![party]);
            for (is_negotiated, expected) in [(false, expected), (true, true)] {
                let context = world.context("a", &["gpu"]).with_negotiated(is_negotiated);
                let fits: Vec<bool> = context.party_columns().iter().map(|it| it.unknown_fits).collect();
                assert_eq!(fits, [expected], "{on_silence:?} {on_unknown:?}, negotiated {is_negotiated}");
            }
        }
    }
}
