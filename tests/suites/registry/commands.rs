//! `nodesift-dev module push`, `pull` and `inspect`.

use std::fs;
use std::process::Command;

use nodesift_tests::data::digest;
use nodesift_tests::guest::Guest;
use nodesift_tests::sidecar::{Output, run};
use serde_json::Value;

use crate::server::{Keys, Registry, USER, developer};

#[test]
fn what_is_pushed_is_pulled_with_the_same_bytes_and_digest() {
    let Some(registry) = Registry::start(false) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.wasm");
    let component = Guest::healthy().component();
    fs::write(&file, &component).unwrap();
    let pushed = registry.push(&file, "team/own:1.0", None);
    assert_eq!(registry.push(&file, "team/own:1.0", None), pushed);
    for reference in ["team/own:1.0".to_owned(), format!("team/own@{pushed}")] {
        let reference = format!("oci://{}", registry.reference(&reference));
        let Output { code, stdout, stderr } =
            run(developer().args(["module", "pull", &reference]).current_dir(&folder));
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stdout.contains(&pushed) && stdout.contains("in a policy"), "{stdout}");
        assert_eq!(fs::read(folder.path().join("own.wasm")).unwrap(), component);
        let inspected = run(developer().args(["module", "inspect", "-o", "json", &reference]));
        let inspected: Value = serde_json::from_str(&inspected.stdout).unwrap();
        assert_eq!(inspected["artifact"]["manifest"], *pushed);
        assert_eq!(inspected["artifact"]["signatures"], 0);
        assert_eq!(inspected["digest"], digest(&component));
    }
}

#[test]
fn signatures_are_added_verified_and_missed() {
    let Some(registry) = Registry::start(false) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.wasm");
    fs::write(&file, Guest::healthy().component()).unwrap();
    let (first, second, stranger) = (Keys::new(), Keys::new(), Keys::new());
    let reference = format!("oci://{}", registry.reference("team/own:1.0"));
    let out = folder.path().join("pulled.wasm");
    let pull = |keys: &[&Keys]| {
        let mut pull = developer();
        pull.args(["module", "pull", &reference, "-o"]).arg(&out);
        for keys in keys {
            pull.arg("--verify").arg(&keys.public);
        }
        run(&mut pull)
    };
    registry.push(&file, "team/own:1.0", None);
    let refused = pull(&[&first]);
    assert!(refused.code == Some(65) && refused.stderr.contains("it is not signed"), "{refused:?}");
    // Each signs once, beside the other.
    for (keys, signatures) in [(&first, 1), (&first, 1), (&second, 2)] {
        registry.push(&file, "team/own:1.0", Some(&keys.private));
        let pulled = pull(&[&stranger, keys]);
        let counted = if signatures == 1 { "1 signature\n" } else { "2 signatures\n" };
        assert!(pulled.code == Some(0) && pulled.stdout.contains(counted), "{pulled:?}");
        fs::remove_file(&out).unwrap();
    }
    let refused = pull(&[&stranger]);
    assert!(refused.code == Some(65) && refused.stderr.contains("none of its 2 signatures"), "{refused:?}");
    assert!(!out.exists());
    let wrong = run(developer().args(["module", "pull", &reference, "--verify"]).arg(&first.private));
    assert!(wrong.code == Some(64) && wrong.stderr.contains("must stay secret"), "{wrong:?}");
}

/// Verifies a signature like cosign: the payload and its signature as they are in the registry, and openssl.
#[test]
fn what_is_in_the_registry_is_verified_by_others() {
    let Some(registry) = Registry::start(false) else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("own.wasm"), Guest::healthy().component()).unwrap();
    let keys = Keys::new();
    let digest = registry.push(&at("own.wasm"), "team/own:1.0", Some(&keys.private));
    let verify = r#"
set -eu
base=http://$1/v2/team/own manifest=application/vnd.oci.image.manifest.v1+json
curl -sf -H "Accept: $manifest" "$base/manifests/$(echo "$2" | tr : -).sig" > manifest
python3 - <<'END'
import base64, json
layer = json.load(open("manifest"))["layers"][0]
assert layer["mediaType"] == "application/vnd.dev.cosign.simplesigning.v1+json"
open("signature", "wb").write(base64.b64decode(layer["annotations"]["dev.cosignproject.cosign/signature"]))
open("digest", "w").write(layer["digest"])
END
curl -sf "$base/blobs/$(cat digest)" > payload
openssl dgst -sha256 -verify "$3" -signature signature payload
python3 - "$2" "$1/team/own" <<'END'
import json, sys
critical = json.load(open("payload"))["critical"]
assert critical["image"]["docker-manifest-digest"] == sys.argv[1]
assert critical["identity"]["docker-reference"] == sys.argv[2]
assert critical["type"] == "cosign container image signature"
END"#;
    let mut check = Command::new("bash");
    check.args(["-c", verify, "verify", &registry.address.to_string(), &digest]).arg(&keys.public).current_dir(&folder);
    let checked = check.output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
fn a_registry_that_asks_gets_dockers_credentials_and_a_refusal_says_how() {
    let Some(registry) = Registry::start(true) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.wasm");
    fs::write(&file, Guest::healthy().component()).unwrap();
    let reference = format!("oci://{}", registry.reference("team/own:1.0"));
    let push = |config: Option<Value>| {
        let mut push = developer();
        push.args(["module", "push"]).arg(&file).arg(&reference);
        if let Some(config) = config {
            fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
            push.env("DOCKER_CONFIG", folder.path());
        }
        run(&mut push)
    };
    let [user, password] = USER;
    let entry = |password: &str| {
        let host = registry.address.to_string();
        Some(serde_json::json!({"auths": {host: {"username": user, "password": password}}}))
    };
    let nobody = push(None);
    assert!(nobody.code == Some(69) && nobody.stderr.contains("docker login"), "{nobody:?}");
    let wrong = push(entry("wrong"));
    assert!(wrong.code == Some(69) && wrong.stderr.contains("refuses the credentials"), "{wrong:?}");
    assert!(!wrong.stderr.contains("wrong"), "{wrong:?}");
    let right = push(entry(password));
    assert_eq!(right.code, Some(0), "{right:?}");
}

#[test]
fn what_cannot_be_pushed_or_pulled_is_refused_with_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.wasm");
    fs::write(&file, Guest::healthy().component()).unwrap();
    let garbage = folder.path().join("garbage.wasm");
    fs::write(&garbage, "garbage").unwrap();
    let digest = format!("oci://127.0.0.1:1/a@sha256:{}", "0".repeat(64));
    let (file, garbage) = (file.to_str().unwrap(), garbage.to_str().unwrap());
    for (arguments, code, words) in [
        (&["push", file, "oci://127.0.0.1:1/a:1"][..], 69, "127.0.0.1:1 cannot be reached"),
        (&["push", garbage, "oci://127.0.0.1:1/a:1"], 65, "garbage.wasm"),
        (&["push", "/proc/none", "oci://127.0.0.1:1/a:1"], 66, "/proc/none"),
        (&["push", file, "oci://A:1"], 64, "REGISTRY/REPOSITORY:TAG"),
        (&["push", file, &digest], 64, "push under a tag"),
        (&["push", file, "oci://127.0.0.1:1/a:1", "--sign", garbage], 64, "openssl genpkey"),
        (&["pull", "oci://127.0.0.1:1/a:1"], 69, "127.0.0.1:1 cannot be reached"),
        (&["pull", "oci://"], 64, "REGISTRY/REPOSITORY:TAG"),
        (&["inspect", "oci://127.0.0.1:1/a:1"], 69, "127.0.0.1:1 cannot be reached"),
    ] {
        let output = run(developer().arg("module").args(arguments));
        assert!(output.code == Some(code) && output.stderr.contains(words), "{arguments:?}: {output:?}");
    }
}
