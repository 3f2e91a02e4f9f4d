//! Servers to which a registry sends others: none of them gets the credentials of the registry, whatever it asks for, but a server of
//! tokens, and none is asked without TLS beyond this machine.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use nodesift_tests::data::digest;
use nodesift_tests::guest::Guest;
use nodesift_tests::sidecar::run;
use nodesift_tests::timeout;
use serde_json::json;

use crate::server::{command, developer};
use crate::sidecar::{Folders, policy};

/// The secret of the registry, as a header has it: `robot:s3cr3t`.
const SECRET: &str = "cm9ib3Q6czNjcjN0";

/// Requests that a server has had, each with its headers and body.
type Seen = Arc<Mutex<Vec<String>>>;

/// A server that answers as a function says, by the first line of a request and whether it has an `authorization`: status, headers and
/// body. It ends with the process of the tests.
fn serve(
    host: &str,
    answer: impl Fn(SocketAddr, &str, bool) -> (u16, String, Vec<u8>) + Send + 'static,
) -> (SocketAddr, Seen) {
    let listener = TcpListener::bind((host, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Seen::default();
    let all = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).is_err() || line.len() <= 2 {
                    break;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                head += &line;
            }
            let mut body = vec![0; length];
            let _closed = reader.read_exact(&mut body);
            let first = head.lines().next().unwrap_or_default().to_owned();
            let (status, headers, body_of_answer) =
                answer(address, &first, head.to_lowercase().contains("authorization:"));
            write!(head, "{}", String::from_utf8_lossy(&body)).unwrap();
            all.lock().unwrap().push(head);
            let head = format!(
                "HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
                body_of_answer.len()
            );
            let _closed = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body_of_answer));
        }
    });
    (address, seen)
}

/// A server that asks everybody for credentials, at its own server of tokens.
fn greedy() -> (SocketAddr, Seen) {
    serve("127.0.0.2", |own, _, _| {
        (401, format!("www-authenticate: Bearer realm=\"http://{own}/token\",service=\"cdn\"\r\n"), Vec::new())
    })
}

/// Pulls from a registry with an entry in docker's configuration, and returns what is printed as an error.
fn pulled(registry: SocketAddr, entry: &serde_json::Value) -> String {
    let folder = tempfile::tempdir().unwrap();
    let config = json!({"auths": {registry.to_string(): entry}});
    fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    let to = folder.path().join("own.wasm");
    let mut command = developer();
    command.env("DOCKER_CONFIG", folder.path());
    command.args(["module", "pull", &format!("oci://{registry}/team/own:1.0"), "-o", to.to_str().unwrap()]);
    let output = run(&mut command);
    assert_ne!(output.code, Some(0), "{}", output.stdout);
    output.stderr
}

/// A registry with one module for whoever has credentials, which it asks for by a challenge; its blobs may be elsewhere. Returns the digest
/// of the component as well.
fn having(challenge: &str, blobs: Option<String>) -> (SocketAddr, Seen, String) {
    let component = Guest::healthy().component();
    let digest_of_it = digest(&component);
    let layer = json!({"mediaType": "application/wasm", "digest": digest_of_it, "size": component.len()});
    let config = json!({"mediaType": "application/vnd.wasm.config.v0+json", "digest": digest(b"{}"), "size": 2});
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": [layer]}).to_string();
    let challenge = format!("www-authenticate: {challenge}\r\n");
    let (registry, seen) = serve("127.0.0.1", move |_, first, has_credentials| match &blobs {
        _ if !has_credentials => (401, challenge.clone(), Vec::new()),
        Some(elsewhere) if first.contains("/blobs/") => (307, format!("location: {elsewhere}\r\n"), Vec::new()),
        None if first.contains("/blobs/") => (200, String::new(), component.clone()),
        _ => (
            200,
            "content-type: application/vnd.oci.image.manifest.v1+json\r\n".to_owned(),
            manifest.clone().into_bytes(),
        ),
    });
    (registry, seen, digest_of_it)
}

/// How many requests a server has had whose first line has these words.
fn count(seen: &Seen, words: &str) -> usize {
    seen.lock().unwrap().iter().filter(|request| request.lines().next().unwrap_or_default().contains(words)).count()
}

#[test]
fn a_server_that_a_blob_is_redirected_to_gets_no_credentials_and_asks_for_none() {
    let (foreign, seen) = greedy();
    let (registry, own, _) = having("Basic realm=\"own\"", Some(format!("http://{foreign}/blob")));
    let error = pulled(registry, &json!({"auth": SECRET}));
    assert!(own.lock().unwrap().iter().any(|request| request.contains(SECRET)), "the registry itself has them");
    let seen = seen.lock().unwrap();
    assert!(!seen.is_empty(), "{error}");
    for request in &*seen {
        assert!(!request.to_lowercase().contains("authorization") && !request.contains("/token"), "{request}");
    }
}

#[test]
fn a_request_for_a_token_follows_no_redirect() {
    let (foreign, seen) = greedy();
    let (registry, own) = serve("127.0.0.1", move |own, first, _| match () {
        () if first.contains("/token") => (307, format!("location: http://{foreign}/steal\r\n"), Vec::new()),
        () => (401, format!("www-authenticate: Bearer realm=\"http://{own}/token\",service=\"own\"\r\n"), Vec::new()),
    });
    for entry in [json!({"identitytoken": "REFRESH-SECRET"}), json!({"auth": SECRET})] {
        let before = count(&own, "/token");
        let error = pulled(registry, &entry);
        assert!(count(&own, "/token") > before, "it is asked for a token, and redirects: {error}");
    }
    let secrets = |request: &&String| request.contains("REFRESH-SECRET") || request.contains(SECRET);
    assert!(own.lock().unwrap().iter().filter(secrets).count() >= 2, "the server of tokens itself has them");
    assert_eq!(*seen.lock().unwrap(), [""; 0]);
}

#[test]
fn tokens_and_blobs_are_not_asked_for_at_plain_addresses_off_this_machine() {
    // A documentation address: nothing is there, and nothing must be sent.
    let tokens = "Bearer realm=\"http://192.0.2.2/token\",service=\"own\"";
    let blobs = ("Basic realm=\"own\"", Some("http://192.0.2.2/blob".to_owned()));
    for (challenge, blobs) in [(tokens, None), blobs] {
        let (registry, _, _) = having(challenge, blobs);
        let error = pulled(registry, &json!({"auth": SECRET}));
        assert!(error.contains("192.0.2.2") && error.contains("which is not asked: it has no TLS"), "{error}");
    }
}

#[test]
fn a_server_of_tokens_on_another_host_is_named_in_the_log_with_its_port() {
    let (tokens, asked) = serve("127.0.0.2", |_, _, _| {
        (200, "content-type: application/json\r\n".to_owned(), br#"{"token": "t0ken"}"#.to_vec())
    });
    let challenge = format!("Bearer realm=\"http://{tokens}/token\",service=\"own\"");
    let (registry, _, digest) = having(&challenge, None);
    let config = tempfile::tempdir().unwrap();
    let entry = json!({"auths": {registry.to_string(): {"auth": SECRET}}});
    fs::write(config.path().join("config.json"), entry.to_string()).unwrap();
    let folders = Folders::new();
    folders.put("policy.yaml", policy(&format!("{registry}/team/own:1.0"), &digest, &[]));
    let mut command = command();
    command.env("DOCKER_CONFIG", config.path());
    let serving = folders.serve_with(command);
    assert!(asked.lock().unwrap().iter().any(|request| request.contains(SECRET)), "it gets the credentials");
    let line = timeout::until(|| {
        let output = serving.0.output();
        output.lines().find(|line| line.contains("has its tokens from another server")).map(str::to_owned)
    });
    let line = line.unwrap_or_else(|| panic!("it is not said: {}", serving.0.output()));
    assert!(line.contains(&tokens.to_string()) && line.contains(&registry.to_string()), "{line}");
    let output = serving.0.output();
    assert!(![SECRET, "s3cr3t", "t0ken"].iter().any(|secret| output.contains(secret)), "{output}");
}
