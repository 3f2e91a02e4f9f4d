//! The scripted server from a client's side, as raw bytes where these matter.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;

fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": name}, "spec": {}})
}

/// Sends a request on a new connection.
fn ask(server: &ApiServer, target: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(timeout::limit())).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    BufReader::new(stream)
}

/// The head of an answer as one text.
fn head(reader: &mut BufReader<TcpStream>) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "the connection ends within {head:?}");
    }
    head
}

/// The next chunk; `None` at the end of the body, an error if the connection breaks.
fn chunk(reader: &mut BufReader<TcpStream>) -> Result<Option<String>, String> {
    let mut length = String::new();
    reader.read_line(&mut length).map_err(|error| error.to_string())?;
    let length = usize::from_str_radix(length.trim(), 16).map_err(|_| "broken".to_owned())?;
    let mut bytes = vec![0; length + 2];
    reader.read_exact(&mut bytes).map_err(|error| error.to_string())?;
    bytes.truncate(length);
    Ok((length > 0).then(|| String::from_utf8_lossy(&bytes).into_owned()))
}

fn document(server: &ApiServer, target: &str) -> Value {
    let mut reader = ask(server, target);
    let head = head(&mut reader);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let mut text = String::new();
    while let Some(chunk) = chunk(&mut reader).unwrap() {
        text.push_str(&chunk);
    }
    serde_json::from_str(&text).unwrap()
}

fn watch(server: &ApiServer, query: &str) -> BufReader<TcpStream> {
    let mut reader = ask(server, &format!("/api/v1/pods?watch=1&allowWatchBookmarks=true&{query}"));
    assert!(head(&mut reader).starts_with("HTTP/1.1 200 "));
    reader
}

fn event(reader: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let line = chunk(reader).unwrap()?;
    assert!(line.ends_with('\n') && line.lines().count() == 1, "{line}");
    let event: Value = serde_json::from_str(&line).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some((text(&event["type"]), text(&event["object"]["metadata"]["name"])))
}

fn is(event: &Option<(String, String)>, kind: &str, name: &str) {
    assert_eq!(*event, Some((kind.to_owned(), name.to_owned())));
}

#[test]
fn pages_are_those_of_one_version_whatever_happens_between_them() {
    let server = ApiServer::start();
    for number in 0..5 {
        server.apply(pod(&format!("p{number}")));
    }
    let first = document(&server, "/api/v1/pods?limit=2");
    server.delete("Pod", "default/p3");
    server.apply(pod("p9"));
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    let mut names = Vec::new();
    let mut page = first.clone();
    loop {
        assert_eq!(page["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
        let items = page["items"].as_array().unwrap();
        names.extend(items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()));
        let Some(token) = page["metadata"]["continue"].as_str() else { break };
        page = document(&server, &format!("/api/v1/pods?limit=2&continue={token}"));
    }
    assert_eq!(names, ["p0", "p1", "p2", "p3", "p4"]);
    assert_eq!(
        server.script(|script| (script.count("Pod", Verb::List(1)), script.count("Pod", Verb::List(3)))),
        (1, 1)
    );
}

#[test]
fn a_watch_tells_what_came_after_its_version_and_ends_in_time_with_a_bookmark() {
    let server = ApiServer::start();
    let version = server.apply(pod("before"));
    server.apply(pod("a"));
    server.apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}));
    let time = timeout::scaled(Duration::from_secs(1)).as_secs();
    let mut watch = watch(&server, &format!("resourceVersion={version}&timeoutSeconds={time}"));
    is(&event(&mut watch), "ADDED", "a");
    server.apply(pod("a"));
    server.delete("Pod", "default/before");
    is(&event(&mut watch), "MODIFIED", "a");
    is(&event(&mut watch), "DELETED", "before");
    is(&event(&mut watch), "BOOKMARK", "");
    assert_eq!(chunk(&mut watch), Ok(None), "the watch ends without an error");
}

#[test]
fn a_watch_without_a_version_begins_with_what_there_is() {
    let server = ApiServer::start();
    server.apply(pod("a"));
    let mut watch = watch(&server, "");
    is(&event(&mut watch), "ADDED", "a");
    server.end_watches("Pod");
    is(&event(&mut watch), "BOOKMARK", "");
}

#[test]
fn a_compacted_version_is_answered_by_an_error_event() {
    let server = ApiServer::start();
    let version = server.apply(pod("a"));
    server.apply(pod("b"));
    server.change(Store::compact);
    let mut watch = watch(&server, &format!("resourceVersion={version}"));
    is(&event(&mut watch), "ERROR", "");
    assert_eq!(chunk(&mut watch), Ok(None));
}

#[test]
fn faults_are_met_by_the_requests_that_they_were_written_for() {
    let server = ApiServer::start();
    let version = server.apply(pod("a"));
    server.next("Pod", Verb::List(1), Fault::too_many_requests(7));
    let mut refused = ask(&server, "/api/v1/pods");
    let head = head(&mut refused);
    assert!(head.starts_with("HTTP/1.1 429 ") && head.contains("retry-after: 7\r\n"), "{head}");
    assert_eq!(
        document(&server, "/api/v1/pods")["items"].as_array().unwrap().len(),
        1,
        "the next request has no fault"
    );

    server.apply(pod("b"));
    server.next("Pod", Verb::List(1), Fault::Stale(version));
    assert_eq!(document(&server, "/api/v1/pods")["items"].as_array().unwrap().len(), 1);

    server.next("Pod", Verb::Watch, Fault::Cut(10));
    let mut cut = watch(&server, "resourceVersion=1");
    assert_eq!(chunk(&mut cut).unwrap().unwrap().len(), 10);
    assert!(chunk(&mut cut).is_err(), "the body is truncated");

    server.next("Pod", Verb::Watch, Fault::Chunks(7));
    let mut chunked = watch(&server, "resourceVersion=1");
    assert!((0..10).all(|_| chunk(&mut chunked).unwrap().unwrap().len() == 7));

    server.next("Pod", Verb::Watch, Fault::SilentAfter(1));
    let mut silent = watch(&server, "resourceVersion=1&timeoutSeconds=0");
    is(&event(&mut silent), "ADDED", "a");
    silent.get_ref().set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let began = Instant::now();
    assert!(silent.read(&mut [0]).is_err(), "neither a byte nor a close");
    assert!(began.elapsed() >= Duration::from_millis(200));
    assert_eq!(server.count(Request::is_watch), 3);
}

#[test]
fn what_happens_at_once_can_come_in_one_chunk_and_twice() {
    let server = ApiServer::start();
    server.script(|script| script.always(Some("Pod"), Some(Verb::Watch), Fault::Together));
    server.script(|script| script.always(None, None, Fault::Twice));
    let mut watch = watch(&server, "resourceVersion=1");
    server.change(|store| {
        store.apply(pod("a"));
        store.apply(pod("b"));
    });
    assert_eq!(chunk(&mut watch).unwrap().unwrap().lines().count(), 4);
}

#[test]
fn a_server_that_is_down_refuses_and_comes_back_where_it_was() {
    let server = ApiServer::start();
    server.apply(pod("a"));
    let mut watch = watch(&server, "resourceVersion=1");
    is(&event(&mut watch), "ADDED", "a");
    for _ in 0..3 {
        server.go_down();
        assert!(TcpStream::connect(server.address).is_err());
        server.come_up();
        assert_eq!(document(&server, "/api/v1/pods")["items"].as_array().unwrap().len(), 1);
    }
    assert!(chunk(&mut watch).is_err(), "its connections are closed");
}
