//! Servers to which a registry redirects: none of them gets the credentials of the registry, whatever it asks for.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use nodesift_tests::data::digest;
use nodesift_tests::guest::Guest;
use nodesift_tests::sidecar::run;
use serde_json::json;

use crate::server::command;

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
    let mut command = command();
    command.env("DOCKER_CONFIG", folder.path());
    command.args(["module", "pull", &format!("oci://{registry}/team/own:1.0"), "-o", to.to_str().unwrap()]);
    let output = run(&mut command);
    assert_ne!(output.code, Some(0), "{}", output.stdout);
    output.stderr
}

#[test]
fn a_server_that_a_blob_is_redirected_to_gets_no_credentials_and_asks_for_none() {
    let (foreign, seen) = greedy();
    let component = Guest::healthy().component();
    let layer = json!({"mediaType": "application/wasm", "digest": digest(&component), "size": component.len()});
    let config = json!({"mediaType": "application/vnd.wasm.config.v0+json", "digest": digest(b"{}"), "size": 2});
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": [layer]}).to_string();
    let (registry, own) = serve("127.0.0.1", move |_, first, has_credentials| match () {
        () if !has_credentials => (401, "www-authenticate: Basic realm=\"own\"\r\n".to_owned(), Vec::new()),
        () if first.contains("/blobs/") => (307, format!("location: http://{foreign}/blob\r\n"), Vec::new()),
        () => (
            200,
            "content-type: application/vnd.oci.image.manifest.v1+json\r\n".to_owned(),
            manifest.clone().into_bytes(),
        ),
    });
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
    let (registry, _) = serve("127.0.0.1", move |own, first, _| match () {
        () if first.contains("/token") => (307, format!("location: http://{foreign}/steal\r\n"), Vec::new()),
        () => (401, format!("www-authenticate: Bearer realm=\"http://{own}/token\",service=\"own\"\r\n"), Vec::new()),
    });
    for entry in [json!({"identitytoken": "REFRESH-SECRET"}), json!({"auth": SECRET})] {
        pulled(registry, &entry);
    }
    assert_eq!(*seen.lock().unwrap(), [""; 0]);
}

#[test]
fn tokens_and_blobs_are_not_asked_for_at_plain_addresses_off_this_machine() {
    // A documentation address: nothing is there, and nothing must be sent.
    let (registry, _) = serve("127.0.0.1", move |_, _, _| {
        (401, "www-authenticate: Bearer realm=\"http://192.0.2.2/token\",service=\"own\"\r\n".to_owned(), Vec::new())
    });
    let error = pulled(registry, &json!({"auth": SECRET}));
    assert!(error.contains("192.0.2.2") && error.contains("which is not asked: it has no TLS"), "{error}");
}
