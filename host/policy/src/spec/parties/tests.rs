//! Tests of what `parties` of a document mean, and of the message for every way in which one can be wrong.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use super::*;
use crate::spec::Policy;

/// A document with these parties, from line 5 on.
fn document(parties: &str) -> String {
    format!(
        "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [a]\n{parties}\n  predicates: [{{name: Parties}}]\n"
    )
}

fn read(text: &str) -> Result<Policy, String> {
    let builtins = &["NodeName", PREDICATE];
    Policy::read(text, "policy.yaml", Path::new("/etc"), builtins).map_err(|error| error.to_string())
}

#[test]
fn every_field_of_a_party_is_read() {
    let policy = read(&document(
        "  parties:\n  - {name: lic, for: {podSelector: {matchLabels: {app: sim}}}, nodeSelector: {zone: a}, scope: template, onSilence: Reject}\n  \
         - {name: nic, for: {driver: nic.io}, scope: claims, onSilence: Ignore, onUnknown: Wait, deadline: 2s}\n  - {name: gpu, for: {deviceClass: gpu}, onUnknown: Fit}",
    ))
    .unwrap();
    let parties: Vec<Party> = policy.settings.parties.iter().map(|party| party.party.clone()).collect();
    let party = |name: &str, concern, scope, on_silence| Party { name: name.into(), concern, scope, on_silence };
    assert_eq!(
        parties,
        [
            party("lic", Concern::Pods, Scope::Template, OnSilence::Reject),
            party("nic", Concern::Driver("nic.io".into()), Scope::Claims, OnSilence::Ignore),
            party("gpu", Concern::DeviceClass("gpu".into()), Scope::Pod, OnSilence::Wait),
        ]
    );
    let [lic, nic, gpu] = &policy.settings.parties[..] else { panic!("{policy:?}") };
    assert_eq!([lic, nic, gpu].map(|party| party.deadline), [None, Some(std::time::Duration::from_secs(2)), None]);
    assert_eq!([lic, nic, gpu].map(|party| party.on_unknown), [OnUnknown::Wait, OnUnknown::Wait, OnUnknown::Fit]);
    let labels = |labels: &[(&str, &str)]| labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    assert!(lic.reaches(&labels(&[("zone", "a")])) && !lic.reaches(&labels(&[("zone", "b")])));
    assert!(nic.reaches(&labels(&[])));
    assert!(lic.pods.matches("any", &labels(&[("app", "sim")]), |_| None));
    assert!(!lic.pods.matches("any", &labels(&[("app", "web")]), |_| None));
}

#[test]
fn what_is_wrong_with_a_party_is_said_with_its_place() {
    for (parties, expected) in [
        ("  parties: [{name: p}]", "spec.parties[0].for: missing"),
        ("  parties: [{for: {driver: d}}]", "spec.parties[0].name: missing"),
        (
            "  parties: [{name: 'a b', for: {driver: d}}]",
            "spec.parties[0].name: \"a b\" is no name: expected 1 to 63 letters",
        ),
        (
            "  parties: [{name: p, for: {}}]",
            "spec.parties[0].for: give one of `driver`, `deviceClass` and `podSelector`",
        ),
        (
            "  parties: [{name: p, for: {driver: d, deviceClass: c}}]",
            "spec.parties[0].for: give one of `driver`, `deviceClass` and `podSelector`",
        ),
        ("  parties: [{name: p, for: {deviceClass: ''}}]", "spec.parties[0].for.deviceClass: empty"),
        ("  parties: [{name: p, for: {pods: {}}}]", "spec.parties[0].for.pods: unknown field"),
        (
            "  parties: [{name: p, for: {podSelector: {matchLabels: {a: 'b c'}}}}]",
            "spec.parties[0].for.podSelector: is no label selector that Kubernetes accepts",
        ),
        (
            "  parties: [{name: p, for: {podSelector: {matchExpressions: [{key: a, operator: In, valeus: [b]}]}}}]",
            "spec.parties[0].for.podSelector.matchExpressions[0].valeus: unknown field",
        ),
        (
            "  parties: [{name: p, for: {driver: d}, nodeSelector: {a: [b]}}]",
            "spec.parties[0].nodeSelector: is no map of labels that Kubernetes accepts: invalid type",
        ),
        (
            "  parties: [{name: p, for: {driver: d}, scope: node}]",
            "spec.parties[0].scope: \"node\" is not pod or template or claims",
        ),
        (
            "  parties: [{name: p, for: {podSelector: {}}, scope: claims}]",
            "spec.parties[0].scope: a party for a podSelector decides about no claims: pod or template",
        ),
        (
            "  parties: [{name: p, for: {driver: d}, onSilence: wait}]",
            "spec.parties[0].onSilence: \"wait\" is not Wait or Reject or Ignore",
        ),
        (
            "  parties: [{name: p, for: {driver: d}, deadline: 601s}]",
            "spec.parties[0].deadline: \"601s\" is not above zero and at most 600s",
        ),
        (
            "  parties: [{name: p, for: {driver: d}, onUnknown: fits}]",
            "spec.parties[0].onUnknown: \"fits\" is not Wait or Fit",
        ),
        (
            "  parties: [{name: p, for: {driver: d}}, {name: p, for: {driver: e}}]",
            "spec.parties[1].name: \"p\" is there twice",
        ),
    ] {
        let message = read(&document(parties)).map(|policy| panic!("accepted: {policy:?}")).unwrap_err();
        assert!(message.contains(expected), "{parties}: {message}");
        assert!(message.contains("policy.yaml:5:"), "{message}");
    }
    let many: Vec<String> = (0..=PARTIES).map(|number| format!("{{name: p{number}, for: {{driver: d}}}}")).collect();
    let message = read(&document(&format!("  parties: [{}]", many.join(", ")))).unwrap_err();
    assert!(message.contains("spec.parties: 17 parties; at most 16 are allowed"), "{message}");
}

#[test]
fn parties_that_no_predicate_reads_are_refused() {
    let text = document("  parties: [{name: p, for: {driver: d}}]").replace("{name: Parties}", "{name: NodeName}");
    let message = read(&text).unwrap_err();
    assert!(
        message.contains("spec.parties: no predicate reads what they say; name Parties in spec.predicates"),
        "{message}"
    );
    // One's own may read it.
    let own = text.replace("{name: NodeName}", "{name: Own, module: {path: own.wasm}}");
    assert!(read(&own).is_ok());
}
