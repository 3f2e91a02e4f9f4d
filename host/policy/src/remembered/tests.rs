//! Tests of which policies are recalled: by whom the files were written, and what they say of themselves.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::json;

use super::*;
use nodesift_registry::{COMPONENT, MANIFEST, Signature, Signatures, SigningKey};

/// Writes a policy whose document pins `pinned`, with a module that has `kept`, by the same hand: every digest but the pin fits.
fn forged(folder: &Path, pinned: &Digest, kept: &Digest) {
    let document = format!(
        r#"{{"apiVersion": "nodesift.dev/v1alpha1", "kind": "PredicatePolicy", "spec": {{"schedulerNames": ["s"], "predicates":
           [{{"name": "Own", "module": {{"path": "own.wasm", "digest": "{}"}}}}]}}}}"#,
        digest_text(pinned)
    );
    remember(folder, document, kept);
}

/// Writes `policy.json` with this document and digest of the predicate `Own`.
fn remember(folder: &Path, document: String, kept: &Digest) {
    let document_digest = digest_text(&Sha256::digest(&document).into());
    let modules = BTreeMap::from([("Own".to_owned(), digest_text(kept))]);
    let (source, accounting, kubernetes) = ("policy.yaml".to_owned(), None, None);
    let scorers = BTreeMap::new();
    let manifest = Manifest { source, document, document_digest, modules, scorers, accounting, kubernetes };
    fs::write(folder.join(ACTIVE), serde_json::to_vec(&manifest).unwrap()).unwrap();
}

#[test]
fn a_module_that_is_not_the_one_that_the_document_pins_is_not_recalled() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateFolder::new(folder.path(), &PulledFolder::none());
    forged(folder.path(), &[1; 32], &[1; 32]);
    assert!(state.recall(&[], &Auto::Newest).unwrap().is_some());
    forged(folder.path(), &[1; 32], &[2; 32]);
    let error = state.recall(&[], &Auto::Newest).unwrap_err();
    assert!(matches!(&error, RecallError::Pinned { name, .. } if name == "Own"), "{error}");
}

#[test]
fn a_policy_that_is_invalid_under_the_version_of_now_is_recalled_under_that_of_then() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateFolder::new(folder.path(), &PulledFolder::none());
    let kept = digest_text(&[1; 32]);
    let document = format!(
        r#"{{"apiVersion": "nodesift.dev/v1alpha1", "kind": "PredicatePolicy", "spec": {{"schedulerNames": ["s"], "featureGates":
           {{"VolumeLimitScaling": true}}, "predicates": [{{"name": "Own", "module": {{"path": "own.wasm", "digest": "{kept}"}}}}]}}}}"#
    );
    let release = |minor| {
        let git_version = format!("v1.{minor}.9").into();
        Release { minor: crate::kubernetes::MinorVersion { major: 1, minor }, git_version }
    };
    let keep = |then: Option<&Release>| {
        let document_digest = digest_text(&Sha256::digest(&document).into());
        let kubernetes =
            then.map(|then| Followed { version: then.minor.to_string(), server: then.git_version.to_string() });
        let (source, document, modules) =
            ("policy.yaml".to_owned(), document.clone(), BTreeMap::from([("Own".to_owned(), kept.clone())]));
        let scorers = BTreeMap::new();
        let manifest = Manifest { source, document, document_digest, modules, scorers, accounting: None, kubernetes };
        fs::write(folder.path().join(ACTIVE), serde_json::to_vec(&manifest).unwrap()).unwrap();
    };
    let version = |auto: &Auto| {
        let recalled = state.recall(&[], auto).map(Option::unwrap);
        recalled.map(|recalled| recalled.policy.settings.kubernetes.version.to_string()).map_err(drop)
    };
    keep(None);
    assert_eq!(version(&Auto::Server(release(37))), Ok("1.37".to_owned()));
    assert_eq!(version(&Auto::Server(release(34))), Err(()), "1.34 has no such gate");
    keep(Some(&release(36)));
    assert_eq!(version(&Auto::Server(release(37))), Ok("1.37".to_owned()));
    assert_eq!(version(&Auto::Server(release(34))), Ok("1.36".to_owned()));
    assert_eq!(version(&Auto::Argument(release(34).minor)), Err(()), "what the command line says holds");
}

#[test]
fn a_folder_that_others_may_write_to_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateFolder::new(folder.path(), &PulledFolder::none());
    forged(folder.path(), &[1; 32], &[1; 32]);
    for mode in [0o777, 0o770, 0o720, 0o1707, 0o757] {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        let error = state.recall(&[], &Auto::Newest).unwrap_err();
        assert!(matches!(error, RecallError::Exposed { source: Exposed::Mode { .. }, .. }), "{mode:o}: {error}");
    }
    for mode in [0o700, 0o755, 0o2700] {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        assert!(state.recall(&[], &Auto::Newest).unwrap().is_some(), "{mode:o}");
    }
    let file = folder.path().join(ACTIVE);
    for (mode, is_used) in [(0o666, false), (0o620, false), (0o644, true), (0o600, true)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let recalled = state.recall(&[], &Auto::Newest);
        let is_exposed = matches!(recalled, Err(RecallError::Exposed { source: Exposed::Mode { .. }, .. }));
        assert_eq!((recalled.is_ok(), is_exposed), (is_used, !is_used), "{mode:o}");
    }
    let elsewhere = folder.path().join("elsewhere.json");
    fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    assert!(matches!(state.recall(&[], &Auto::Newest), Err(RecallError::Read { .. })));
    let absent = StateFolder::new(&folder.path().join("absent"), &PulledFolder::none());
    assert!(absent.recall(&[], &Auto::Newest).unwrap().is_none());
}

/// Only root gives folders away; for others those of root are somebody else's.
#[test]
fn a_folder_of_another_user_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    forged(folder.path(), &[1; 32], &[1; 32]);
    let is_root = rustix::process::geteuid().is_root();
    let path = if is_root { folder.path() } else { Path::new("/") };
    if is_root {
        std::os::unix::fs::chown(path, Some(1), None).unwrap();
    }
    let error = StateFolder::new(path, &PulledFolder::none()).recall(&[], &Auto::Newest).unwrap_err();
    assert!(matches!(error, RecallError::Exposed { source: Exposed::Owner { .. }, .. }), "{error}");
}

/// A manifest with one component.
fn artifact(component: &Digest) -> String {
    let layer = json!({"mediaType": COMPONENT[0], "digest": digest_text(component), "size": 1});
    json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": {"mediaType": "x", "digest": "x", "size": 2}, "layers": [layer]})
        .to_string()
}

/// A private key, and its public one in PEM.
fn key() -> (SigningKey, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.pem");
    let openssl = |arguments: &[&str]| {
        let made = Command::new("openssl").args(arguments).args([&path]).output().unwrap();
        String::from_utf8(made.stdout).unwrap()
    };
    openssl(&["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out"]);
    let public = openssl(&["pkey", "-pubout", "-in"]);
    (SigningKey::from_pem(&fs::read_to_string(&path).unwrap()).unwrap(), public)
}

#[test]
fn an_artifact_is_recalled_only_with_what_shows_that_it_is_the_one_that_the_document_names() {
    let (folder, (trusted, pem), (stranger, _)) = (tempfile::tempdir().unwrap(), key(), key());
    let state = StateFolder::new(folder.path(), &PulledFolder::none());
    fs::create_dir(folder.path().join(MODULES)).unwrap();
    let component: Digest = [1; 32];
    let manifest = artifact(&component);
    let pinned: Digest = Sha256::digest(&manifest).into();
    let signed = |key: &SigningKey, digest: &Digest| vec![key.sign("registry.example.com/team/own", digest).unwrap()];
    let keep = |manifest: &str, payloads: Vec<Signature>| {
        let proof = Proof::new(manifest, Signatures { payloads, ..Signatures::default() });
        fs::write(state.proof(&pinned), serde_json::to_vec(&proof).unwrap()).unwrap();
    };
    for module in ["oci: registry.example.com/team/own:1", "oci: registry.example.com/team/own:1, layout: /layout"] {
        for keys in [String::new(), format!("  modules: {{keys: [{{pem: {}}}]}}\n", json!(pem))] {
            let document = |digest: &Digest| {
                format!(
                    "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [s]\n{keys}  \
                     predicates:\n    - {{name: Own, module: {{{module}, digest: '{}'}}}}\n",
                    digest_text(digest)
                )
            };
            let refused = |kept: &Digest| {
                remember(folder.path(), document(&pinned), kept);
                let refused = state.recall(&[], &Auto::Newest).map(drop);
                assert!(matches!(&refused, Ok(()) | Err(RecallError::Unproven { .. })), "{refused:?}");
                refused.err().map(|error| error.to_string())
            };
            let _absent = fs::remove_file(state.proof(&pinned));
            assert!(refused(&component).is_some_and(|text| text.contains("is not kept here")));
            keep(&manifest, signed(&trusted, &pinned));
            assert_eq!(refused(&component), None);
            assert!(refused(&[2; 32]).is_some_and(|text| text.contains("has the digest in the policy")));
            keep(&artifact(&[2; 32]), signed(&trusted, &pinned));
            assert!(refused(&[2; 32]).is_some_and(|text| text.contains("has the digest in the policy")));
            for signatures in [vec![], signed(&stranger, &pinned), signed(&trusted, &[7; 32])] {
                keep(&manifest, signatures);
                assert_eq!(refused(&component).is_some(), !keys.is_empty(), "{keys}");
            }
        }
    }
}
