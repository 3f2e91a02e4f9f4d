//! Policies whose modules a registry does not give as wanted: refused with words, and the active one stays.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use nodesift_tests::data::digest;
use nodesift_tests::guest::Guest;
use serde_json::json;

use crate::server::{Keys, Registry};
use crate::sidecar::{Folders, PLAIN, policy};

#[test]
fn what_is_not_as_the_policy_wants_it_is_refused_and_the_active_policy_stays() {
    let Some(registry) = Registry::start(false) else { return };
    let (folders, keys, stranger) = (Folders::new(), Keys::new(), Keys::new());
    folders.put("own.wasm", Guest::healthy().component());
    let signed = registry.push(&folders.file("own.wasm"), "team/own:1.0", Some(&keys.private));
    folders.put("own.wasm", Guest::asking(8, 1).component());
    let unsigned = registry.push(&folders.file("own.wasm"), "team/own:1.1", None);
    let at = |name: &str| registry.reference(name);
    let zero = format!("sha256:{}", "0".repeat(64));
    let trusted = [json!({"pem": keys.public_text()})];
    folders.put("policy.yaml", PLAIN);
    let serving = folders.serve();
    let generation = serving.status()["generation"].clone();
    for (document, step, words) in [
        (policy(&at("team/own:1.0"), &zero, &[]), "verify", "the tag has moved on, or the digest is mistyped"),
        (policy(&at("team/own:2.0"), &zero, &[]), "pull", "check the name, and that it was pushed"),
        (policy(&at("team/other:1.0"), &zero, &[]), "pull", "check the name, and that it was pushed"),
        (policy(&at("team/own:1.1"), &unsigned, &trusted), "verify", "it is not signed"),
        (
            policy(&at("team/own:1.0"), &signed, &[json!({"pem": stranger.public_text()})]),
            "verify",
            "none of its 1 signatures is by a key that is trusted",
        ),
        (policy(&at("team/own:1.0"), &signed, &[json!({"path": "missing.pub"})]), "read", "missing.pub"),
    ] {
        folders.put("policy.yaml", &document);
        assert_eq!(serving.refuses(words, PLAIN), step, "{words}");
        assert!(folders.pulled().is_empty(), "{words}: {:?}", folders.pulled());
    }
    assert_eq!(serving.status()["generation"], generation);
    let good = policy(&at("team/own:1.0"), &signed, &trusted);
    folders.put("policy.yaml", &good);
    serving.becomes(&good);
}

/// A registry that has one artifact, and sends half of its component.
fn half(component: &[u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let layer = json!({"mediaType": "application/wasm", "digest": digest(component), "size": component.len()});
    let config = json!({"mediaType": "application/vnd.wasm.config.v0+json", "digest": digest(b"{}"), "size": 2});
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": [layer]}).to_string();
    let (blob, length) = (component[..component.len() / 2].to_vec(), component.len());
    // Ends with the process of the tests.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut request, mut line) = (String::new(), String::new());
            let _closed = reader.read_line(&mut request);
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            let (status, body, length) = match () {
                () if request.contains("/blobs/") => (200, blob.as_slice(), length),
                () if request.contains("/manifests/1.0 ") => (200, manifest.as_bytes(), manifest.len()),
                () => (404, &b""[..], 0),
            };
            let head = format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
            let _closed = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        }
    });
    address
}

#[test]
fn half_a_component_is_not_taken() {
    let folders = Folders::new();
    let component = Guest::healthy().component();
    let address = half(&component);
    folders.put("policy.yaml", PLAIN);
    let serving = folders.serve();
    folders.put("policy.yaml", policy(&format!("{address}/team/own:1.0"), &digest(&component), &[]));
    assert_eq!(serving.refuses("ended the connection before all of the component was there", PLAIN), "pull");
    assert!(folders.pulled().is_empty());
}
