//! Layouts that tools write, layouts with one thing wrong, and which signatures in them count.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use nodesift_registry::{BUNDLE, COMPONENT, SigningKey};

const REFERENCE: &str = "registry.example.com/team/isolation:1.2";

/// A layout with one artifact, which can be broken step by step.
struct Layout(TempDir, Vec<Key>);

impl Layout {
    fn new() -> Self {
        let layout = Self(tempfile::tempdir().unwrap(), Vec::new());
        layout.write("oci-layout", json!({"imageLayoutVersion": "1.0.0"}).to_string().as_bytes());
        layout
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Adds a blob. Returns its descriptor.
    fn blob(&self, media_type: &str, bytes: &[u8]) -> Value {
        let digest = hex(&Sha256::digest(bytes).into());
        self.write(&format!("blobs/sha256/{digest}"), bytes);
        json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len()})
    }

    fn manifest(&self, layers: &[Value]) -> Value {
        let config = self.blob("application/vnd.wasm.config.v0+json", b"{}");
        let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
        self.blob(MANIFEST, manifest.to_string().as_bytes())
    }

    /// Writes an index of manifests, each under a name.
    fn index(&self, manifests: &[(&str, &Value)]) {
        let entry = |(name, manifest): &(&str, &Value)| {
            let mut manifest = (*manifest).clone();
            manifest["annotations"] = json!({"org.opencontainers.image.ref.name": name});
            manifest
        };
        let manifests: Vec<Value> = manifests.iter().map(entry).collect();
        let index = json!({"schemaVersion": 2, "manifests": manifests});
        self.write("index.json", index.to_string().as_bytes());
    }

    fn component(&self, digest: &Value) -> Result<Vec<u8>, String> {
        let digest = read_digest(digest.as_str().unwrap()).unwrap();
        let (bytes, proof) =
            component(&self.0.path().into(), REFERENCE, &digest, &self.1).map_err(|error| error.to_string())?;
        // Kept beside a component, it shows the same again.
        proof.artifact(&digest, &keys::read(&self.1).unwrap()).unwrap();
        Ok(bytes)
    }
}

#[test]
fn a_component_is_found_by_its_reference_or_tag_and_by_either_digest() {
    let layout = Layout::new();
    let other = layout.blob("text/plain", b"readme");
    for media_type in COMPONENT {
        let layer = layout.blob(media_type, b"component");
        let manifest = layout.manifest(&[other.clone(), layer.clone()]);
        for name in [REFERENCE, "1.2"] {
            layout.index(&[("0.9", &layout.manifest(&[])), (name, &manifest), (name, &manifest)]);
            for digest in [&layer["digest"], &manifest["digest"]] {
                assert_eq!(layout.component(digest).as_deref(), Ok(&b"component"[..]), "{media_type} {name}");
            }
        }
    }
    // The full name wins over a tag of another artifact.
    let layer = layout.blob(COMPONENT[0], b"full");
    let full = layout.manifest(std::slice::from_ref(&layer));
    let tagged = layout.manifest(&[layout.blob(COMPONENT[0], b"tagged")]);
    layout.index(&[("1.2", &tagged), (REFERENCE, &full)]);
    assert_eq!(layout.component(&layer["digest"]).as_deref(), Ok(&b"full"[..]));
}

#[test]
fn nothing_is_taken_that_does_not_have_its_digest() {
    let layout = Layout::new();
    let layer = layout.blob(COMPONENT[0], b"component");
    let manifest = layout.manifest(std::slice::from_ref(&layer));
    layout.index(&[("1.2", &manifest)]);
    let other = layout.blob(COMPONENT[0], b"other");
    let refused = |digest: &Value| layout.component(digest).unwrap_err();
    assert!(refused(&other["digest"]).contains("has the digest in the policy, sha256:"));
    for (blob, with) in [(&layer, "componenT"), (&layer, "component and more"), (&manifest, "{}")] {
        let digest = blob["digest"].as_str().unwrap().replace("sha256:", "");
        let path = layout.0.path().join("blobs/sha256").join(digest);
        let before = fs::read(&path).unwrap();
        fs::write(&path, with).unwrap();
        assert!(refused(&layer["digest"]).contains("does not have the digest of its name"), "{with}");
        fs::write(&path, before).unwrap();
    }
    assert!(layout.component(&layer["digest"]).is_ok());
}

#[test]
fn a_manifest_that_would_not_be_recalled_is_refused_when_it_is_read() {
    let layout = Layout::new();
    let layer = layout.blob(COMPONENT[0], b"component");
    let manifest = layout.manifest(std::slice::from_ref(&layer));
    let name = manifest["digest"].as_str().unwrap().replace("sha256:", "");
    let text = fs::read_to_string(layout.0.path().join("blobs/sha256").join(name)).unwrap();
    // A byte that is no text, in a field that nobody reads.
    let mut odd = text.replacen('{', r#"{"comment":"?","#, 1).into_bytes();
    odd.iter_mut().filter(|byte| **byte == b'?').for_each(|byte| *byte = 0xff);
    let digits = layer["digest"].as_str().unwrap().replace("sha256:", "");
    let capitals = text.replace(&digits, &digits.to_uppercase()).into_bytes();
    for (bytes, words) in [(odd, "not UTF-8"), (capitals, "is no SHA-256")] {
        let manifest = layout.blob(MANIFEST, &bytes);
        layout.index(&[("1.2", &manifest)]);
        for digest in [&layer["digest"], &manifest["digest"]] {
            let refused = layout.component(digest).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }
}

#[test]
fn a_layout_that_does_not_say_which_component_is_refused_with_what_it_has() {
    let layout = Layout::new();
    let layer = layout.blob(COMPONENT[0], b"component");
    let manifest = layout.manifest(std::slice::from_ref(&layer));
    let refused = || layout.component(&layer["digest"]).unwrap_err();
    assert!(refused().contains("index.json: No such file"), "{}", refused());
    layout.index(&[("0.9", &manifest), ("1.0", &manifest)]);
    assert!(refused().ends_with("its index names 0.9, 1.0"), "{}", refused());
    layout.index(&[("1.2", &manifest), ("1.2", &layout.manifest(&[]))]);
    assert!(refused().contains("2 manifests"), "{}", refused());
    for layers in [vec![], vec![layer.clone(), layer.clone()]] {
        layout.index(&[("1.2", &layout.manifest(&layers))]);
        assert!(refused().contains(&format!("{} layers", layers.len())), "{}", refused());
    }
    layout.index(&[("1.2", &layout.blob("application/vnd.oci.image.index.v1+json", b"{}"))]);
    assert!(refused().contains("media type"), "{}", refused());
    let mut escaping = manifest.clone();
    escaping["digest"] = json!("sha256:../../../../etc/passwd");
    layout.index(&[("1.2", &escaping)]);
    assert!(refused().contains("index.json: "), "{}", refused());
    layout.index(&[("1.2", &manifest)]);
    layout.write("oci-layout", br#"{"imageLayoutVersion": "2.0.0"}"#);
    assert!(refused().contains("\"2.0.0\" is not 1.0.0"), "{}", refused());
    layout.write("oci-layout", b"{");
    assert!(refused().contains("oci-layout: "), "{}", refused());
}

#[test]
fn a_refusal_is_one_short_line_whatever_the_layout_says() {
    let layout = Layout::new();
    let layer = layout.blob(COMPONENT[0], b"component");
    let manifest = layout.manifest(std::slice::from_ref(&layer));
    let long = "\u{1b}[31m\n".repeat(100_000);
    let with = |key: &str, value: Value| {
        let mut changed = manifest.clone();
        changed[key] = value;
        layout.index(&[("1.2", &changed)]);
        layout.component(&layer["digest"]).unwrap_err()
    };
    let mut refusals = vec![with("digest", json!(long)), with("mediaType", json!(long)), with("size", json!(long))];
    layout.index(&[(&long, &manifest)]);
    refusals.push(layout.component(&layer["digest"]).unwrap_err());
    layout.write("oci-layout", json!({"imageLayoutVersion": "x".repeat(4000)}).to_string().as_bytes());
    refusals.push(layout.component(&layer["digest"]).unwrap_err());
    for refusal in refusals {
        assert!(refusal.len() < 1000 && !refusal.contains(char::is_control), "{} bytes", refusal.len());
    }
}

/// A private key, and its public one.
fn keys() -> (SigningKey, Key) {
    let made = std::process::Command::new("openssl")
        .args(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
        .output();
    let key = SigningKey::from_pem(&String::from_utf8(made.unwrap().stdout).unwrap()).unwrap();
    let public = Key::Inline(key.public());
    (key, public)
}

#[test]
fn a_layout_is_taken_only_with_a_signature_by_a_key_of_the_policy_where_that_has_keys() {
    let mut layout = Layout::new();
    let layer = layout.blob(COMPONENT[0], b"component");
    let manifest = layout.manifest(std::slice::from_ref(&layer));
    let digest = read_digest(manifest["digest"].as_str().unwrap()).unwrap();
    let signed = |layout: &Layout, key: &SigningKey, digest: &Digest| {
        let Signature { payload, signature } = key.sign("registry.example.com/team/isolation", digest).unwrap();
        let mut layer = layout.blob("application/vnd.dev.cosign.simplesigning.v1+json", payload.as_bytes());
        layer["annotations"] = json!({"dev.cosignproject.cosign/signature": signature});
        layout.manifest(&[layer])
    };
    let ((key, public), (other, _)) = (keys(), keys());
    layout.index(&[("1.2", &manifest)]);
    assert!(layout.component(&layer["digest"]).is_ok());
    layout.1 = vec![public];
    let refused = layout.component(&layer["digest"]).unwrap_err();
    assert!(refused.contains("in the layout, it is not signed"), "{refused}");
    let tag = registry::signature_tag(&digest);
    let full = format!("registry.example.com/team/isolation:{tag}");
    for (name, signer, of, expected) in [
        (tag.as_str(), &other, digest, Err("none of its 1 signatures")),
        (&tag, &key, [7; 32], Err("one is by a trusted key, of another manifest")),
        ("1.3", &key, digest, Err("it is not signed")),
        (&format!("x{tag}"), &key, digest, Err("it is not signed")),
        (&tag, &key, digest, Ok(())),
        (&full, &key, digest, Ok(())),
    ] {
        layout.index(&[("1.2", &manifest), (name, &signed(&layout, signer, &of))]);
        let outcome = layout.component(&layer["digest"]).map(drop);
        match expected {
            Ok(()) => assert_eq!(outcome, Ok(()), "{name}"),
            Err(words) => {
                assert!(outcome.as_ref().is_err_and(|error| error.contains(words)), "{name}: {outcome:?}")
            }
        }
    }
    let layers: Vec<Value> = (0..100)
        .map(|_| {
            json!({"mediaType": "application/vnd.dev.cosign.simplesigning.v1+json",
        "digest": "sha256:../..", "size": 1, "annotations": {"dev.cosignproject.cosign/signature": "x"}})
        })
        .collect();
    layout.index(&[("1.2", &manifest), (&tag, &layout.manifest(&layers))]);
    let refused = layout.component(&layer["digest"]).unwrap_err();
    assert!(refused.contains("is no SHA-256"), "{refused}");
}

/// The text of a bundle by a key over a manifest, as a manifest that attaches it.
fn attached(layout: &Layout, key: &SigningKey, of: &Value) -> Value {
    let digest = read_digest(of["digest"].as_str().unwrap()).unwrap();
    let bytes = fs::read(layout.0.path().join("blobs/sha256").join(hex(&digest))).unwrap();
    let bundle = json!({"verificationMaterial": {}, "messageSignature": {"signature": key.signature(&bytes).unwrap()}});
    let bundle = layout.blob(BUNDLE, bundle.to_string().as_bytes());
    let config = layout.blob("application/vnd.oci.empty.v1+json", b"{}");
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": BUNDLE, "config": config, "layers": [bundle], "subject": of,
    });
    layout.blob(MANIFEST, manifest.to_string().as_bytes())
}

#[test]
fn nothing_else_in_a_layout_hides_a_signature_that_counts() {
    let mut layout = Layout::new();
    let layer = layout.blob(COMPONENT[0], b"component");
    let manifest = layout.manifest(std::slice::from_ref(&layer));
    let ((key, public), (stranger, _)) = (keys(), keys());
    layout.1 = vec![public];
    let mut named = manifest.clone();
    named["annotations"] = json!({"org.opencontainers.image.ref.name": "1.2"});
    let tag = registry::signature_tag(&read_digest(manifest["digest"].as_str().unwrap()).unwrap());
    let tagged = |mut descriptor: Value| {
        descriptor["annotations"] = json!({"org.opencontainers.image.ref.name": tag});
        descriptor
    };
    let good = attached(&layout, &key, &manifest);
    let absent = |index: usize| json!({"mediaType": MANIFEST, "digest": format!("sha256:{index:064x}"), "size": 2});
    let others = |count: usize| {
        (0..count).map(|index| layout.manifest(&[layout.blob("text/plain", index.to_string().as_bytes())]))
    };
    let empty = json!({"mediaType": "application/vnd.dev.cosign.simplesigning.v1+json", "digest": format!("sha256:{:064x}", 7),
        "size": 1, "annotations": {"dev.cosignproject.cosign/signature": "x"}});
    let before: [(&str, Vec<Value>); 6] = [
        ("others", others(300).collect()),
        ("absent", (0..20).map(absent).collect()),
        ("strangers", (0..40).map(|_| attached(&layout, &stranger, &manifest)).collect()),
        ("malformed", vec![tagged(layout.blob(MANIFEST, b"{"))]),
        ("without a payload", vec![tagged(layout.manifest(&[empty]))]),
        ("odd", vec![json!({"digest": "foo"}), json!(null), json!({"mediaType": MANIFEST, "digest": 5, "size": "x"})]),
    ];
    let write = |before: &[Value], last: Option<&Value>| {
        let manifests: Vec<&Value> = std::iter::once(&named).chain(before).chain(last).collect();
        layout.write("index.json", json!({"schemaVersion": 2, "manifests": manifests}).to_string().as_bytes());
        layout.component(&layer["digest"]).map(drop)
    };
    for (what, before) in &before {
        assert_eq!(write(before, Some(&good)), Ok(()), "{what}");
        let refusal = write(before, None).unwrap_err();
        assert!(refusal.contains("in the layout, "), "{what}: {refusal}");
        assert_eq!(refusal.contains("it is not signed"), *what == "others", "{what}: {refusal}");
    }
    let all: Vec<Value> = before.into_iter().flat_map(|(_, before)| before).collect();
    assert_eq!(write(&all, Some(&good)), Ok(()));
    let refusal = write(&vec![absent(0); OCI_REFERRERS], Some(&good)).unwrap_err();
    assert!(refusal.contains("1 were not looked at, since there are too many"), "{refusal}");
}
