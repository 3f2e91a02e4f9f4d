//! Signatures that are pulled from a scripted server: what is found, and what hides nothing.

use super::*;
use crate::bundle::{BUNDLE, SIGNED};
use crate::limits::{BUNDLE_BYTES, REFERRER_BYTES};
use crate::referrers::PREDICATE_TYPE;

#[test]
fn signatures_are_read_and_bounded() {
    let (server, artifact) = Server::with_artifact(b"component");
    let wanted = Wanted { digest: None, signatures: true };
    assert_eq!(server.pull(wanted).unwrap().signatures, Signatures::default());
    let payload = |index: usize| format!("payload {index}");
    let layer = |index: usize| {
        let mut layer = Descriptor::new(sign::PAYLOAD, payload(index).as_bytes());
        layer.annotations.insert(sign::SIGNATURE.to_owned(), format!("signature {index}"));
        server.put(&format!("blobs/{}", layer.digest), Answer::new(200, payload(index)));
        layer
    };
    let layers: Vec<Descriptor> = (0..SIGNATURES + 3).map(layer).collect();
    let config = Descriptor::new("x", b"");
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
    server.put(&format!("manifests/{}", sign::tag(&artifact.digest())), Answer::new(200, manifest.to_string()));
    let bundle = list(&[attach(&server, &artifact, "bundle")]);
    server.put(&format!("referrers/{}", digest_text(&artifact.digest())), Answer::new(200, bundle));
    let signatures = server.pull(wanted).unwrap().signatures;
    assert_eq!((signatures.payloads.len(), signatures.bundles.len(), signatures.beyond), (SIGNATURES, 1, 3));
    assert_eq!(signatures.payloads[1], Signature { payload: payload(1), signature: "signature 1".to_owned() });
}

#[test]
fn a_blob_whose_name_is_no_digest_is_not_asked_for_and_the_name_is_cut() {
    let (server, artifact) = Server::with_artifact(b"component");
    let mut layer = Descriptor::new(sign::PAYLOAD, b"payload");
    layer.annotations.insert(sign::SIGNATURE.to_owned(), "signature".to_owned());
    layer.digest = format!("../../../{}", "x".repeat(1 << 20));
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": layer, "layers": [layer]});
    server.put(&format!("manifests/{}", sign::tag(&artifact.digest())), Answer::new(200, manifest.to_string()));
    let unread = server.pull(Wanted { digest: None, signatures: true }).unwrap().signatures.unread;
    assert!(unread[0].contains("is no SHA-256") && unread[0].len() < 1000, "{} bytes", unread[0].len());
    assert!(server.asked().iter().all(|path| path.starts_with("/v2/team/own/")), "{:?}", server.asked());
}

/// A bundle, as a blob and as a referrer of the artifact; its entry in a list.
fn attach(server: &Server, artifact: &Artifact, text: &str) -> serde_json::Value {
    let layer = Descriptor::new(BUNDLE, text.as_bytes());
    server.put(&format!("blobs/{}", layer.digest), Answer::new(200, text));
    let subject = Descriptor::new(MANIFEST, artifact.manifest.as_bytes());
    let config = Descriptor::new("application/vnd.oci.empty.v1+json", b"{}");
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": BUNDLE, "config": config, "layers": [layer], "subject": subject,
    });
    let manifest = manifest.to_string();
    let entry = Descriptor::new(MANIFEST, manifest.as_bytes());
    server.put(&format!("manifests/{}", entry.digest), Answer::new(200, manifest));
    json!({"mediaType": MANIFEST, "digest": entry.digest, "size": entry.size, "artifactType": BUNDLE})
}

fn list(entries: &[serde_json::Value]) -> String {
    json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).to_string()
}

#[test]
fn bundles_are_found_in_the_list_of_referrers_or_under_its_tag() {
    let (server, artifact) = Server::with_artifact(b"component");
    let wanted = Wanted { digest: None, signatures: true };
    let pulled = || server.pull(wanted).unwrap().signatures;
    let referrers = format!("referrers/{}", digest_text(&artifact.digest()));
    let tag = format!("manifests/sha256-{}", crate::artifact::hex(&artifact.digest()));
    let (first, second) = (attach(&server, &artifact, "first"), attach(&server, &artifact, "second"));
    server.put(&referrers, Answer::new(200, list(std::slice::from_ref(&first))));
    server.put(&tag, Answer::new(200, list(std::slice::from_ref(&second))));
    assert_eq!(pulled(), Signatures { bundles: vec!["first".to_owned()], ..Signatures::default() });
    assert!(server.asked().iter().any(|path| path.contains("artifactType=application%2Fvnd.dev.sigstore.bundle.v0.3")));
    // Registries without lists.
    for answer in [
        Answer::new(404, ""),
        Answer::new(400, ""),
        Answer::new(403, ""),
        Answer::new(501, ""),
        Answer::new(200, "<html>"),
    ] {
        server.put(&referrers, answer);
        assert_eq!(pulled(), Signatures { bundles: vec!["second".to_owned()], ..Signatures::default() });
    }
    server.put(&tag, Answer::new(404, ""));
    assert_eq!(pulled(), Signatures::default());
    // A list that cannot be read is told.
    server.put(&tag, Answer::new(200, "{"));
    assert!(pulled().unread[0].contains("the list of referrers"), "{:?}", pulled());
    let mut layer = Descriptor::new(sign::PAYLOAD, b"payload");
    layer.annotations.insert(sign::SIGNATURE.to_owned(), "signature".to_owned());
    server.put(&format!("blobs/{}", layer.digest), Answer::new(200, "payload"));
    let config = Descriptor::new("x", b"");
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
    server.put(&format!("manifests/{}", sign::tag(&artifact.digest())), Answer::new(200, manifest.to_string()));
    let found = pulled();
    assert_eq!((found.payloads.len(), found.unread.len()), (1, 1), "{found:?}");
}

#[test]
fn a_module_that_cosign_has_signed_is_pulled_and_verified() {
    let made: serde_json::Value = serde_json::from_str(include_str!("../../bundle/cosign.json")).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let server = Server::start();
    let manifest = text(&made["manifest"]);
    let digest = crate::artifact::hex(&digest_of(manifest.as_bytes()));
    server.put("manifests/1", Answer::new(200, manifest));
    server.put(&format!("blobs/{}", digest_text(&digest_of(b"component"))), Answer::new(200, &b"component"[..]));
    server.put(&format!("manifests/sha256-{digest}"), Answer::new(200, text(&made["list"])));
    for referrer in made["referrers"].as_array().unwrap() {
        for (kind, content) in [("manifests", text(&referrer["manifest"])), ("blobs", text(&referrer["bundle"]))] {
            server.put(&format!("{kind}/{}", digest_text(&digest_of(content.as_bytes()))), Answer::new(200, content));
        }
    }
    let pulled = server.pull(Wanted { digest: None, signatures: true }).unwrap();
    let verify = |key| sign::verify(&pulled.signatures, pulled.artifact.manifest.as_bytes(), &[key]);
    assert_eq!(verify(PublicKey::from_pem(&text(&made["key"])).unwrap()), Ok(()));
    assert_eq!(verify(sign::generated().public()), Err(sign::VerifyError::Stranger(2)));
}

#[test]
fn referrers_are_bounded_and_one_that_is_bad_hides_no_other() {
    let (server, artifact) = Server::with_artifact(b"component");
    let wanted = Wanted { digest: None, signatures: true };
    let referrers = format!("referrers/{}", digest_text(&artifact.digest()));
    let put = |entries: &[serde_json::Value]| server.put(&referrers, Answer::new(200, list(entries)));
    let pulled = || server.pull(wanted).unwrap().signatures;
    let good = attach(&server, &artifact, "good");
    let large = attach(&server, &artifact, &"x".repeat(usize::try_from(BUNDLE_BYTES).unwrap() + 1));
    let gone = json!({"mediaType": MANIFEST, "digest": format!("sha256:{}", "0".repeat(64)), "size": 2, "artifactType": BUNDLE});
    let odd = json!({"mediaType": MANIFEST, "digest": "../../x", "size": 2, "artifactType": BUNDLE});
    let manifest = "x".repeat(usize::try_from(REFERRER_BYTES).unwrap() + 1);
    let long = Descriptor::new(MANIFEST, manifest.as_bytes());
    server.put(&format!("manifests/{}", long.digest), Answer::new(200, manifest));
    put(&[large, gone, odd, json!(long), good.clone()]);
    let found = pulled();
    assert_eq!((found.bundles.as_slice(), found.unread.len()), (&["good".to_owned()][..], 4), "{found:?}");
    assert!(found.unread.iter().any(|reason| reason.contains("more than 131072 bytes")), "{:?}", found.unread);
    assert!(server.asked().iter().all(|path| path.starts_with("/v2/team/own/")), "{:?}", server.asked());
    // Other things that are attached are not asked for.
    let mut scan = attach(&server, &artifact, "scan");
    scan["annotations"] = json!({PREDICATE_TYPE: "https://slsa.dev/provenance/v1"});
    let mut sbom = attach(&server, &artifact, "sbom");
    sbom["artifactType"] = json!("application/spdx+json");
    put(&[scan.clone(), sbom, good.clone()]);
    let asked = server.asked().len();
    assert_eq!(pulled().bundles, ["good"]);
    let scan = scan["digest"].as_str().unwrap();
    assert!(server.asked()[asked..].iter().all(|path| !path.contains(scan)));
    // Those that say that they are signatures come first.
    let many: Vec<_> =
        (0..SIGNATURES + 3).map(|index| attach(&server, &artifact, &format!("bundle {index}"))).collect();
    let mut said = good;
    said["annotations"] = json!({PREDICATE_TYPE: SIGNED});
    put(&[many, vec![said]].concat());
    let found = pulled();
    assert_eq!((found.bundles.len(), found.bundles[0].as_str(), found.beyond), (SIGNATURES, "good", 4));
    server.put(&referrers, Answer { length: 5 << 20, ..Answer::new(200, "{") });
    assert!(pulled().unread[0].contains("more than 4194304 bytes"), "{:?}", pulled());
}

/// Pulls, and compares what is found with a key.
fn verified(server: &Server, key: &SigningKey) -> Result<(), String> {
    let (wanted, keys) = (Wanted { digest: None, signatures: true }, [key.public()]);
    let pulled = pull_signed(&server.address, wanted, &keys, None, &|| false).map_err(|error| error.to_string())?;
    sign::verify(&pulled.signatures, pulled.artifact.manifest.as_bytes(), &keys).map_err(|error| error.to_string())
}

/// The text of a bundle by a key.
fn signed(key: &SigningKey, artifact: &Artifact) -> String {
    let signature = key.signature(artifact.manifest.as_bytes()).unwrap();
    json!({"verificationMaterial": {}, "messageSignature": {"signature": signature}}).to_string()
}

#[test]
fn a_good_bundle_is_found_behind_other_parts_of_the_list_and_entries_that_are_odd_or_by_strangers() {
    let (server, artifact) = Server::with_artifact(b"component");
    let key = sign::generated();
    let referrers = format!("referrers/{}", digest_text(&artifact.digest()));
    let good = attach(&server, &artifact, &signed(&key, &artifact));
    let stranger = sign::generated();
    let strangers: Vec<_> =
        (0..SIGNATURES * 2).map(|_| attach(&server, &artifact, &signed(&stranger, &artifact))).collect();
    server.put(&referrers, Answer::new(200, list(&[strangers.clone(), vec![good.clone()]].concat())));
    assert_eq!(verified(&server, &key), Ok(()));
    let (mut no_size, mut no_annotations, mut number) = (good.clone(), good.clone(), good.clone());
    no_size.as_object_mut().unwrap().remove("size");
    no_annotations["annotations"] = json!(null);
    number["annotations"] = json!({"x": 1, PREDICATE_TYPE: 5});
    for odd in [json!(null), json!("x"), json!({}), json!({"digest": 5}), no_size, no_annotations, number] {
        for entries in [vec![odd.clone(), good.clone()], vec![odd.clone()]] {
            server.put(&referrers, Answer::new(200, list(&entries)));
            let is_good = entries.len() == 2 || odd["digest"] == good["digest"];
            assert_eq!(verified(&server, &key).is_ok(), is_good, "{odd}");
        }
    }
    let more = |to: &str| format!("<{to}>; rel=\"next\"");
    let first = |to: &str| Answer::new(200, list(&strangers)).with("link", more(to));
    server.put(&referrers, first("/more?last=1"));
    server.put("/more", Answer::new(200, list(std::slice::from_ref(&good))));
    assert_eq!(verified(&server, &key), Ok(()));
    // A list without an end, one that goes on elsewhere, and one whose second part is gone.
    server.put("/more", Answer::new(200, list(&[])).with("link", more("/more")));
    let refusal = verified(&server, &key).unwrap_err();
    assert!(refusal.contains("more than 16 parts") && refusal.contains("one is by another key, 16 times"), "{refusal}");
    server.put(&referrers, first("http://localhost:1/more"));
    assert!(verified(&server, &key).unwrap_err().contains("another host"), "{:?}", verified(&server, &key));
    server.put(&referrers, first("/gone"));
    assert!(verified(&server, &key).unwrap_err().contains("does not have"), "{:?}", verified(&server, &key));
}

#[test]
fn signatures_that_cannot_be_had_hide_none_that_is_good_and_fail_no_pull_without_keys() {
    let (server, artifact) = Server::with_artifact(b"component");
    let (key, stranger) = (sign::generated(), sign::generated());
    let referrers = format!("referrers/{}", digest_text(&artifact.digest()));
    let sign_tag = format!("manifests/{}", sign::tag(&artifact.digest()));
    let list_tag = format!("manifests/sha256-{}", crate::artifact::hex(&artifact.digest()));
    let good = list(&[attach(&server, &artifact, &signed(&key, &artifact))]);
    let layer = |key: &SigningKey| {
        let Signature { payload, signature } = key.sign("r/x", &artifact.digest()).unwrap();
        let mut layer = Descriptor::new(sign::PAYLOAD, payload.as_bytes());
        layer.annotations.insert(sign::SIGNATURE.to_owned(), signature);
        server.put(&format!("blobs/{}", layer.digest), Answer::new(200, payload));
        layer
    };
    let config = Descriptor::new("x", b"");
    let payloads = |layers: &[Descriptor]| {
        let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
        Answer::new(200, manifest.to_string())
    };
    let away = Answer::new(307, "").with("location", "http://192.0.2.2/x");
    for broken in
        [Answer::new(500, ""), Answer::new(502, ""), Answer::new(429, ""), away.clone(), Answer::new(200, "{")]
    {
        // The signature under the tag is good.
        server.put(&sign_tag, payloads(&[layer(&key)]));
        server.put(&referrers, broken.clone());
        assert_eq!(verified(&server, &key), Ok(()), "{}", broken.status);
        // Nobody asks for one.
        assert!(server.pull(Wanted { digest: None, signatures: true }).is_ok(), "{}", broken.status);
        if broken.status != 429 {
            // The bundle is under the tag for lists.
            server.put(&sign_tag, Answer::new(404, ""));
            server.put(&list_tag, Answer::new(200, good.clone()));
            assert_eq!(verified(&server, &key), Ok(()), "{}", broken.status);
            server.put(&list_tag, Answer::new(404, ""));
        }
    }
    // Bundles are good, and what is under the tag is broken, is of a stranger, or has no content.
    server.put(&referrers, Answer::new(200, good));
    let absent = Descriptor { digest: digest_text(&[7; 32]), ..layer(&stranger) };
    for tagged in [Answer::new(200, "{"), Answer::new(403, ""), away, payloads(&[absent.clone(), layer(&stranger)])] {
        server.put(&sign_tag, tagged);
        assert_eq!(verified(&server, &key), Ok(()));
    }
    server.put(&referrers, Answer::new(404, ""));
    server.put(&sign_tag, payloads(&[absent, layer(&stranger), layer(&key)]));
    assert_eq!(verified(&server, &key), Ok(()));
}
