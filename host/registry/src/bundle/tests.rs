//! Bundles as the specification has them, signed here, and those of cosign itself in `data`.

use serde_json::{Value, json};

use super::*;
use crate::limits::WORDS_BYTES;
use crate::sign::{SigningKey, generated};

const MANIFEST: &[u8] = b"manifest";

fn statement(manifest: &[u8]) -> Value {
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {"sha256": hex(&digest_of(manifest))}}],
        "predicateType": SIGNED,
        "predicate": {},
    })
}

/// A bundle with a statement, of which the envelope says the type.
fn enveloped(key: &SigningKey, payload_type: &str, statement: &Value) -> Value {
    let payload = statement.to_string();
    let signature = key.signature(&encoded(payload_type, payload.as_bytes())).unwrap();
    json!({
        "mediaType": BUNDLE,
        "verificationMaterial": {"publicKey": {"hint": "x"}, "tlogEntries": [{"logIndex": "1"}]},
        "dsseEnvelope": {
            "payload": STANDARD.encode(&payload), "payloadType": payload_type, "signatures": [{"sig": signature}],
        },
    })
}

fn messaged(key: &SigningKey, manifest: &[u8]) -> Value {
    json!({
        "mediaType": BUNDLE,
        "verificationMaterial": {"publicKey": {"hint": ""}},
        "messageSignature": {
            "messageDigest": {"algorithm": "SHA2_256", "digest": "AAAA"}, "signature": key.signature(manifest).unwrap(),
        },
    })
}

fn judged(bundle: &Value, keys: &[&SigningKey]) -> Finding {
    let keys: Vec<PublicKey> = keys.iter().map(|key| key.public()).collect();
    judge(&bundle.to_string(), MANIFEST, &keys)
}

#[test]
fn what_is_signed_of_an_envelope_is_that_of_the_specification() {
    let expected = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world";
    assert_eq!(encoded("http://example.com/HelloWorld", b"hello world"), expected);
}

#[test]
fn a_bundle_counts_for_one_manifest_and_by_a_known_key() {
    let (key, stranger) = (generated(), generated());
    for bundle in [enveloped(&key, STATEMENT, &statement(MANIFEST)), messaged(&key, MANIFEST)] {
        assert_eq!(judged(&bundle, &[&stranger, &key]), Finding::Good, "{bundle}");
        assert_eq!(judged(&bundle, &[&stranger]), Finding::Stranger, "{bundle}");
        assert_eq!(judged(&bundle, &[]), Finding::Stranger, "{bundle}");
    }
    assert_eq!(judged(&enveloped(&key, STATEMENT, &statement(b"other")), &[&key]), Finding::OfAnother);
    assert_eq!(judged(&messaged(&key, b"other"), &[&key]), Finding::Stranger);
    let mut old = statement(MANIFEST);
    old["_type"] = json!("https://in-toto.io/Statement/v0.1");
    assert_eq!(judged(&enveloped(&key, STATEMENT, &old), &[&key]), Finding::Good);
    let mut several = enveloped(&key, STATEMENT, &statement(MANIFEST));
    let good = several["dsseEnvelope"]["signatures"][0].clone();
    let many =
        |before: usize| vec![json!({"sig": "AAAA"}); before].into_iter().chain([good.clone()]).collect::<Vec<_>>();
    several["dsseEnvelope"]["signatures"] = json!(many(ENVELOPE_SIGNATURES - 1));
    assert_eq!(judged(&several, &[&key]), Finding::Good);
    several["dsseEnvelope"]["signatures"] = json!(many(ENVELOPE_SIGNATURES));
    assert_eq!(judged(&several, &[&key]), Finding::Stranger);
}

#[test]
fn what_a_key_has_signed_for_something_else_is_no_signature() {
    let key = generated();
    let mut scan = statement(MANIFEST);
    scan["predicateType"] = json!("https://cosign.sigstore.dev/attestation/vuln/v1");
    let said = |kind: &str| Finding::Statement(kind.to_owned());
    let expected = said("https://cosign.sigstore.dev/attestation/vuln/v1");
    assert_eq!(judged(&enveloped(&key, STATEMENT, &scan), &[&key]), expected);
    assert!(expected.to_string().contains("is no signature"), "{expected}");
    let typed = enveloped(&key, "application/json", &statement(MANIFEST));
    assert_eq!(judged(&typed, &[&key]), said("application/json"));
    let mut other = statement(MANIFEST);
    other["_type"] = json!("https://example.com/Statement");
    assert_eq!(judged(&enveloped(&key, STATEMENT, &other), &[&key]), said(SIGNED));
    // The type and the payload are signed together.
    let mut moved = enveloped(&key, "application/json", &statement(MANIFEST));
    moved["dsseEnvelope"]["payloadType"] = json!(STATEMENT);
    assert_eq!(judged(&moved, &[&key]), Finding::Stranger);
    let mut replaced = enveloped(&key, STATEMENT, &statement(b"other"));
    replaced["dsseEnvelope"]["payload"] = json!(STANDARD.encode(statement(MANIFEST).to_string()));
    assert_eq!(judged(&replaced, &[&key]), Finding::Stranger);
}

#[test]
fn certificates_count_for_nothing_and_are_named() {
    let (key, stranger) = (generated(), generated());
    let mut bundle = enveloped(&stranger, STATEMENT, &statement(MANIFEST));
    for material in
        [json!({"certificate": {"rawBytes": "AAAA"}}), json!({"x509CertificateChain": {"certificates": []}})]
    {
        bundle["verificationMaterial"] = material;
        assert_eq!(judged(&bundle, &[&key]), Finding::Certificate);
    }
    assert!(Finding::Certificate.to_string().contains("a bundle with a certificate"));
}

#[test]
fn what_is_no_bundle_is_said_in_a_line_of_bounded_length() {
    let key = generated();
    let good = enveloped(&key, STATEMENT, &statement(MANIFEST));
    let without = |field: &str| {
        let mut bundle = good.clone();
        bundle.as_object_mut().unwrap().remove(field);
        bundle
    };
    let mut both = good.clone();
    both["messageSignature"] = messaged(&key, MANIFEST)["messageSignature"].clone();
    let mut payload = good.clone();
    payload["dsseEnvelope"]["payload"] = json!("!");
    let long = json!({"verificationMaterial": {}, "dsseEnvelope": "\n\u{1b}x".repeat(10_000)});
    let said = enveloped(&key, STATEMENT, &json!("x".repeat(10_000)));
    for bundle in
        [json!(7), json!({}), without("dsseEnvelope"), without("verificationMaterial"), both, payload, long, said]
    {
        let Finding::Malformed(reason) = judged(&bundle, &[&key]) else { unreachable!("{bundle}") };
        assert!(reason.len() <= WORDS_BYTES && !reason.contains(char::is_control), "{reason}");
    }
    assert!(matches!(judge("{", MANIFEST, &[]), Finding::Malformed(_)));
}

#[test]
fn what_cosign_signs_counts_and_what_it_attests_does_not() {
    let made: Value = serde_json::from_str(include_str!("cosign.json")).unwrap();
    let (manifest, key) = (made["manifest"].as_str().unwrap(), made["key"].as_str().unwrap());
    let key = PublicKey::from_pem(key).unwrap();
    let referrers = made["referrers"].as_array().unwrap();
    let found: Vec<Finding> = referrers
        .iter()
        .map(|referrer| {
            let (_, subject) = bundle_of(referrer["manifest"].as_str().unwrap().as_bytes()).unwrap().unwrap();
            assert_eq!(subject, format!("sha256:{}", hex(&digest_of(manifest.as_bytes()))));
            judge(referrer["bundle"].as_str().unwrap(), manifest.as_bytes(), std::slice::from_ref(&key))
        })
        .collect();
    assert_eq!(found, [Finding::Good, Finding::Statement("https://example.com/scan/v1".to_owned())]);
    let signed = referrers[0]["bundle"].as_str().unwrap();
    assert_eq!(judge(signed, manifest.as_bytes(), &[generated().public()]), Finding::Stranger);
    assert_eq!(judge(signed, MANIFEST, &[key]), Finding::OfAnother);
}
