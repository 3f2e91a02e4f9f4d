//! Pulls from a scripted server that does what a registry should not, and an upload that it sends elsewhere; of signatures in [`signatures`].
//! Other pushes and a real registry are in the suite `registry`.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use super::*;
use crate::artifact::TITLE;
use crate::hosts::{Host, Hosts};

mod signatures;

/// Scripted HTTP response of the server.
#[derive(Clone)]
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// Value of the `content-length` header, which may differ from the body.
    length: usize,
}

impl Answer {
    fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self { status, headers: Vec::new(), length: body.len(), body }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Scripted responses by path, in the order in which they are sent.
type Answers = HashMap<String, Vec<Answer>>;

/// Requests, with what they say of who asks.
type Asked = Vec<(String, Option<String>)>;

/// Answers by path, one after the other for a path that has several. Ends with the test's process.
struct Server {
    address: Address,
    port: u16,
    answers: Arc<Mutex<Answers>>,
    asked: Arc<Mutex<Asked>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = Address::parse(&format!("127.0.0.1:{port}/team/own:1"), false).unwrap();
        let server = Self { address, port, answers: Arc::default(), asked: Arc::default() };
        let (answers, asked) = (Arc::clone(&server.answers), Arc::clone(&server.asked));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (answers, asked) = (Arc::clone(&answers), Arc::clone(&asked));
                thread::spawn(move || serve(stream.unwrap(), &answers, &asked));
            }
        });
        server
    }

    /// With an artifact, whose descriptor is returned.
    fn with_artifact(component: &[u8]) -> (Self, Artifact) {
        let server = Self::start();
        let annotations = [(TITLE.to_owned(), "own.wasm".to_owned())].into();
        let (artifact, _) = Artifact::from_component(component, annotations);
        server.put("manifests/1", Answer::new(200, artifact.manifest.clone()));
        server.put(
            &format!("manifests/{}", digest_text(&artifact.digest())),
            Answer::new(200, artifact.manifest.clone()),
        );
        server.put(&format!("blobs/{}", artifact.component.digest), Answer::new(200, component));
        (server, artifact)
    }

    /// Answers a path of the repository so, from now on.
    fn put(&self, path: &str, answer: Answer) {
        self.put_all(path, vec![answer]);
    }

    fn put_all(&self, path: &str, answers: Vec<Answer>) {
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/v2/team/own/{path}") };
        self.answers.lock().unwrap().insert(path, answers);
    }

    fn pull(&self, wanted: Wanted) -> Result<Pulled, RegistryError> {
        pull(&self.address, wanted, None, &|| false)
    }

    fn refusal(&self) -> String {
        self.pull(Wanted::default()).unwrap_err().to_string()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(path, _)| path.clone()).collect()
    }
}

fn serve(mut stream: TcpStream, answers: &Mutex<Answers>, asked: &Mutex<Asked>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut lines, mut line) = (Vec::new(), String::new());
        while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
            lines.push(std::mem::take(&mut line).trim().to_owned());
        }
        let Some(path) = lines.first().and_then(|line| line.split(' ').nth(1)) else { return };
        let header = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let length: u64 = header("content-length: ").map_or(0, |length| length.parse().unwrap());
        let mut body = Vec::new();
        (&mut reader).take(length).read_to_end(&mut body).unwrap();
        asked.lock().unwrap().push((path.to_owned(), header("authorization: ")));
        let path = path.split('?').next().unwrap();
        let answer = match answers.lock().unwrap().get_mut(path) {
            Some(answers) if answers.len() > 1 => answers.remove(0),
            Some(answers) => answers[0].clone(),
            None => Answer::new(404, r#"{"errors": [{"code": "MANIFEST_UNKNOWN"}]}"#),
        };
        let mut head = format!("HTTP/1.1 {} x\r\ncontent-length: {}\r\n", answer.status, answer.length);
        answer.headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        let is_whole = answer.length == answer.body.len();
        if stream.write_all(format!("{head}\r\n").as_bytes()).and_then(|()| stream.write_all(&answer.body)).is_err()
            || !is_whole
        {
            return;
        }
    }
}

fn wanted(digest: Digest) -> Wanted {
    Wanted { digest: Some(digest), signatures: false }
}

#[test]
fn a_component_is_pulled_by_tag_and_by_the_digest_of_manifest_or_component() {
    let (server, artifact) = Server::with_artifact(b"component");
    for wanted in [Wanted::default(), wanted(artifact.digest()), wanted(digest_of(b"component"))] {
        let pulled = server.pull(wanted).unwrap();
        assert_eq!((&pulled.artifact, &*pulled.component), (&artifact, &b"component"[..]));
    }
    // The tag has moved on: the digest of the manifest still leads to it, that of the component does not.
    server.put("manifests/1", Answer::new(200, Artifact::from_component(b"other", BTreeMap::new()).0.manifest));
    assert!(server.pull(wanted(artifact.digest())).is_ok());
    for status in [404, 500] {
        server.put(&format!("manifests/{}", artifact.component.digest), Answer::new(status, ""));
        let refusal = server.pull(wanted(digest_of(b"component"))).unwrap_err().to_string();
        assert!(refusal.contains("the tag has moved on"), "{refusal}");
    }
    // It is gone.
    server.put("manifests/1", Answer::new(404, ""));
    assert!(server.pull(wanted(artifact.digest())).is_ok());
    let refusal = server.pull(wanted(digest_of(b"component"))).unwrap_err().to_string();
    assert!(refusal.contains("does not have the manifest 1"), "{refusal}");
}

#[test]
fn content_without_its_digest_is_not_taken() {
    let (server, artifact) = Server::with_artifact(b"component");
    let blob = format!("blobs/{}", artifact.component.digest);
    for (body, said, words) in [
        (&b"componenT"[..], 9, "does not have the digest"),
        (b"component and more", 18, "more than 9 bytes"),
        (b"compo", 5, "ended the connection"),
        (b"compo", 9, "ended the connection"),
    ] {
        server.put(&blob, Answer { length: said, ..Answer::new(200, body) });
        assert!(server.refusal().contains(words), "{words}: {}", server.refusal());
    }
    server.put("manifests/1", Answer::new(404, ""));
    server.put(&format!("manifests/{}", digest_text(&artifact.digest())), Answer::new(200, &b"{}"[..]));
    let refusal = server.pull(wanted(artifact.digest())).unwrap_err().to_string();
    assert!(refusal.contains("does not have the digest"), "{refusal}");
}

#[test]
fn each_refusal_says_what_to_do() {
    let (server, artifact) = Server::with_artifact(b"component");
    let denied = r#"{"errors": [{"code": "DENIED", "message": "not yours"}]}"#;
    for (status, words) in [
        (401, "without saying which credentials"),
        (403, "forbids it for team/own (not yours): ask its owner"),
        (404, "check the name"),
        (405, "is it a registry"),
        (429, "try again later"),
        (500, "try again once it is well"),
    ] {
        server.put("manifests/1", Answer::new(status, denied));
        assert!(server.refusal().contains(words), "{status}: {}", server.refusal());
    }
    server.put("manifests/1", Answer::new(200, &b"hello"[..]));
    assert!(server.refusal().contains("no artifact of a module"), "{}", server.refusal());
    server.put("manifests/1", Answer { length: 5 << 20, ..Answer::new(200, &b"{"[..]) });
    assert!(server.refusal().contains("more than 4194304 bytes"), "{}", server.refusal());
    let large = artifact.manifest.replace("\"size\":9", "\"size\":68719476736");
    server.put("manifests/1", Answer::new(200, large));
    assert!(server.refusal().contains("more than 67108864 bytes"), "{}", server.refusal());
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address = Address::parse(&format!("{nobody}/a:1"), false).unwrap();
    let refusal = pull(&address, Wanted::default(), None, &|| false).unwrap_err().to_string();
    assert!(refusal.contains("cannot be reached"), "{refusal}");
}

#[test]
fn what_passes_is_tried_again_and_what_does_not_is_not() {
    let (server, artifact) = Server::with_artifact(b"component");
    let good = Answer::new(200, artifact.manifest);
    server.put_all("manifests/1", vec![Answer::new(503, ""), Answer::new(429, "").with("retry-after", "1"), good]);
    assert!(server.pull(Wanted::default()).is_ok());
    assert_eq!(server.asked().iter().filter(|path| path.contains("manifests")).count(), 3);
    server.put("manifests/1", Answer::new(403, ""));
    server.refusal();
    assert_eq!(server.asked().iter().filter(|path| path.contains("manifests")).count(), 4);
}

#[test]
fn a_pull_ends_once_nobody_waits_for_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::parse(&format!("{}/a:1", listener.local_addr().unwrap()), false).unwrap();
    let started = Instant::now();
    let outcome = pull(&address, Wanted::default(), None, &|| started.elapsed() > LOOK);
    assert!(matches!(outcome, Err(RegistryError::Over)), "{outcome:?}");
}

#[test]
fn redirects_are_followed_a_few_times() {
    let (server, artifact) = Server::with_artifact(b"component");
    let blob = format!("blobs/{}", artifact.component.digest);
    server.put("/elsewhere", Answer::new(200, &b"component"[..]));
    let elsewhere = format!("http://127.0.0.1:{}/elsewhere", server.port);
    server.put(&blob, Answer::new(307, "").with("location", elsewhere));
    assert!(server.pull(Wanted::default()).is_ok());
    server.put("/elsewhere", Answer::new(307, "").with("location", "/elsewhere"));
    assert!(server.refusal().contains("one redirect too many"), "{}", server.refusal());
}

#[test]
fn a_token_is_read_by_either_name_and_an_empty_one_is_none() {
    let (server, artifact) = Server::with_artifact(b"component");
    let challenge = format!("Negotiate, Bearer realm=\"http://127.0.0.1:{}/token\"", server.port);
    let refused = Answer::new(401, "").with("www-authenticate", challenge);
    let good = Answer::new(200, artifact.manifest);
    for (token, expected) in [
        (r#"{"token": "", "access_token": "t"}"#, Ok("Bearer t")),
        (r#"{"token": null, "access_token": "t"}"#, Ok("Bearer t")),
        (r#"{"token": 5, "access_token": "t"}"#, Ok("Bearer t")),
        (r#"{"token": "t", "access_token": ""}"#, Ok("Bearer t")),
        (r#"{"token": ""}"#, Err("neither `token` nor `access_token`")),
        (r#"{"token": 5}"#, Err("neither `token` nor `access_token`")),
        ("t", Err("it is no JSON")),
    ] {
        server.put("/token", Answer::new(200, token));
        server.put_all("manifests/1", vec![refused.clone(), good.clone()]);
        let outcome = server.pull(Wanted::default()).map_err(|error| error.to_string());
        let sent = server.asked.lock().unwrap().last().unwrap().1.clone();
        match expected {
            Ok(expected) => assert_eq!((outcome.is_ok(), sent.as_deref()), (true, Some(expected)), "{token}"),
            Err(words) => assert!(outcome.is_err_and(|error| error.contains(words)), "{token}"),
        }
    }
}

#[test]
fn where_a_registry_leads_and_why_that_fails_is_told_without_what_may_be_secret() {
    let (server, artifact) = Server::with_artifact(b"component");
    let stranger = Server::start();
    let host = format!("localhost:{}", stranger.port);
    let blob = format!("blobs/{}", artifact.component.digest);
    for (to, words) in [
        ("http://192.0.2.2/x?X-Amz-Signature=secret", "leads to http://192.0.2.2, which is not asked: it has no TLS"),
        ("https://a:secret@10.0.0.1:5000/x", "leads to https://10.0.0.1:5000, which is not asked: it is an address of"),
        ("ftp://127.0.0.1/x?secret", "leads to ftp://127.0.0.1, which is not asked: it has no TLS"),
    ] {
        server.put(&blob, Answer::new(307, "").with("location", to));
        let refusal = server.refusal();
        assert!(refusal.contains(words) && !refusal.contains("secret"), "{to}: {refusal}");
    }
    // An upload.
    server.put("blobs/uploads/", Answer::new(202, "").with("location", "http://192.0.2.2/x?X-Amz-Signature=secret"));
    let refusal = push(&server.address, b"another", BTreeMap::new(), None, None).unwrap_err().to_string();
    assert!(refusal.contains("leads to http://192.0.2.2, which") && !refusal.contains("secret"), "{refusal}");
    // Another host fails, and not the credentials for the registry.
    server.put(&blob, Answer::new(307, "").with("location", format!("http://{host}/elsewhere?secret")));
    for status in [401, 403, 500, 503] {
        stranger.put("/elsewhere", Answer::new(status, ""));
        let refusal = server.refusal();
        let words = format!("leads to {host}, which answered with status {status}: check");
        assert!(refusal.contains(&words) && !refusal.contains("secret"), "{refusal}");
    }
}

#[test]
fn nothing_that_another_host_says_is_repeated_and_it_is_named() {
    let (server, artifact) = Server::with_artifact(b"component");
    // It does not speak TLS, which the error of the library says in its words; the other is not there.
    let stranger = Server::start();
    let absent = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let blob = format!("blobs/{}", artifact.component.digest);
    for port in [stranger.port, absent] {
        let host = format!("localhost:{port}");
        server.put(&blob, Answer::new(307, "").with("location", format!("https://{host}/elsewhere")));
        let by_redirect = server.refusal();
        let challenge = format!("Bearer realm=\"https://{host}/token\"");
        let good = Answer::new(200, artifact.manifest.clone());
        server.put("manifests/1", Answer::new(401, "").with("www-authenticate", challenge));
        let by_realm = server.refusal();
        server.put("manifests/1", good);
        for refusal in [by_redirect, by_realm] {
            assert!(refusal.contains(&format!("leads to {host}, which cannot be reached: check")), "{refusal}");
        }
    }
}

#[test]
fn a_token_is_asked_for_once_and_sent_to_the_registry_alone() {
    let (server, artifact) = Server::with_artifact(b"component");
    let realm = format!("http://127.0.0.1:{}/token", server.port);
    let challenge = format!("Bearer realm=\"{realm}\",service=\"own\",scope=\"repository:team/own:pull\"");
    let good = Answer::new(200, artifact.manifest);
    server.put_all("manifests/1", vec![Answer::new(401, "").with("www-authenticate", challenge.clone()), good]);
    server.put("/token", Answer::new(200, r#"{"access_token": "secret"}"#));
    let stranger = Server::start();
    stranger.put("/elsewhere", Answer::new(200, &b"component"[..]));
    // Another host by its name, which is the same machine.
    let elsewhere = format!("http://localhost:{}/elsewhere", stranger.port);
    let blob = format!("blobs/{}", artifact.component.digest);
    server.put(&blob, Answer::new(307, "").with("location", elsewhere));
    server.pull(Wanted::default()).unwrap();
    let asked = server.asked.lock().unwrap().clone();
    let paths: Vec<&str> = asked.iter().map(|(path, _)| path.as_str()).collect();
    let token = "/token?scope=repository%3Ateam%2Fown%3Apull&service=own";
    assert_eq!(paths[..3], ["/v2/team/own/manifests/1", token, "/v2/team/own/manifests/1"]);
    assert_eq!(asked[3].1.as_deref(), Some("Bearer secret"));
    assert_eq!(stranger.asked.lock().unwrap()[..], [("/elsewhere".to_owned(), None)]);
    // It is refused all the same.
    server.put("manifests/1", Answer::new(401, "").with("www-authenticate", challenge));
    assert!(server.refusal().contains("docker login"), "{}", server.refusal());
}

#[test]
fn an_upload_to_another_host_gets_no_token() {
    let (server, stranger) = (Server::start(), Server::start());
    let (artifact, config) = Artifact::from_component(b"component", BTreeMap::new());
    let config: Bytes = config.into();
    let challenge = format!("Bearer realm=\"http://127.0.0.1:{}/token\"", server.port);
    let refused = Answer::new(401, "").with("www-authenticate", challenge);
    // Answers to HEAD have no body.
    let missing = Answer::new(404, "");
    server.put_all(&format!("blobs/{}", digest_text(&digest_of(&config))), vec![refused, missing.clone()]);
    server.put(&format!("blobs/{}", artifact.component.digest), missing);
    server.put("/token", Answer::new(200, r#"{"token": "secret"}"#));
    // Another host by its name, which is the same machine.
    let elsewhere = format!("http://localhost:{}/upload", stranger.port);
    server.put("blobs/uploads/", Answer::new(202, "").with("location", elsewhere));
    server.put("manifests/1", Answer::new(201, ""));
    stranger.put("/upload", Answer::new(201, ""));
    push(&server.address, b"component", BTreeMap::new(), None, None).unwrap();
    let there = stranger.asked.lock().unwrap().clone();
    assert!(there.len() == 2 && there.iter().all(|(_, authorization)| authorization.is_none()), "{there:?}");
    let here = server.asked.lock().unwrap().clone();
    let begun = here.iter().filter(|(path, _)| path.ends_with("/blobs/uploads/"));
    assert_eq!(
        begun.filter(|(_, authorization)| authorization.as_deref() == Some("Bearer secret")).count(),
        2,
        "{here:?}"
    );
}

#[test]
fn nothing_that_a_server_of_tokens_on_another_host_says_is_repeated() {
    let (server, stranger) = (Server::start(), Server::start());
    let challenge = format!("Bearer realm=\"http://localhost:{}/token\"", stranger.port);
    server.put("manifests/1", Answer::new(401, "").with("www-authenticate", challenge));
    for status in [401, 403, 404, 429, 500] {
        let said = r#"{"errors": [{"code": "DENIED", "message": "words of another host"}]}"#;
        stranger.put("/token", Answer::new(status, said));
        let refusal = server.refusal();
        assert!(!refusal.contains("DENIED") && !refusal.contains("words of"), "{status}: {refusal}");
    }
    assert!(stranger.asked().len() >= 5, "{:?}", stranger.asked());
}

#[test]
fn with_listed_hosts_nothing_leads_to_another_one() {
    let (server, artifact) = Server::with_artifact(b"component");
    let stranger = Server::start();
    stranger.put("/elsewhere", Answer::new(200, &b"component"[..]));
    stranger.put("/token", Answer::new(200, r#"{"token": "secret"}"#));
    let own = format!("127.0.0.1:{}", server.port);
    let other = format!("localhost:{}", stranger.port);
    let limited = |hosts: &[&str]| {
        let hosts: Vec<Host> = hosts.iter().map(|host| host.parse().unwrap()).collect();
        server.address.clone().limited_to(&Hosts::new(&hosts))
    };
    for hosts in [&[][..], &["127.0.0.1"], &[other.as_str()], &["localhost"]] {
        assert_eq!(limited(hosts), None, "{hosts:?}");
    }
    let blob = format!("blobs/{}", artifact.component.digest);
    let content = Answer::new(200, &b"component"[..]);
    let (away, good) = (format!("http://{other}/elsewhere"), Answer::new(200, artifact.manifest));
    let challenge = format!("Bearer realm=\"http://{other}/token\"");
    let refused = Answer::new(401, "").with("www-authenticate", challenge);
    for leads in ["redirect", "token"] {
        let lead = || match leads {
            "redirect" => server.put(&blob, Answer::new(307, "").with("location", away.clone())),
            _ => {
                server.put(&blob, content.clone());
                server.put_all("manifests/1", vec![refused.clone(), good.clone()]);
            }
        };
        lead();
        let address = limited(&[&own]).unwrap();
        let error = pull(&address, Wanted::default(), None, &|| false).unwrap_err();
        assert!(matches!(&error, RegistryError::Unlisted { host, .. } if *host == other), "{leads}: {error}");
        assert_eq!(stranger.asked(), Vec::<String>::new(), "{leads}");
        lead();
        let address = limited(&[&own, &other]).unwrap();
        assert!(pull(&address, Wanted::default(), None, &|| false).is_ok(), "{leads}");
        assert_eq!(stranger.asked().len(), 1, "{leads}");
        stranger.asked.lock().unwrap().clear();
    }
}
