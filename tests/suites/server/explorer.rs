//! The explorer's listener: what browsers, and whoever tricks one, get of it. `ui`, which finds it or serves one of its own.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use nodesift_tests::http::{Endpoint, get, post};
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::wire::{Answer, Wire};
use nodesift_tests::{data, timeout};
use serde_json::{Value, json};

use crate::running::{command, pending_pods, request, sample};
use crate::tls::Authority;

/// Any free port of loopback.
const EXPLORER: [&str; 2] = ["--explorer", "127.0.0.1:0"];

fn answer(endpoint: &Endpoint, request: &str) -> Answer {
    let mut wire = Wire::open(endpoint).unwrap();
    wire.send(request).unwrap();
    // An answer to HEAD has a length and no body.
    let answer = if request.starts_with("HEAD ") { wire.head() } else { wire.answer() };
    answer.unwrap_or_else(|error| panic!("{error}: {}", request.get(..200).unwrap_or(request)))
}

fn assumption() -> Value {
    let (namespace, name) = pending_pods().remove(0);
    let node = crate::running::objects("Node").remove(0)["metadata"]["name"].clone();
    json!({"pod": {"name": {"namespace": namespace, "name": name}}, "node": node})
}

/// A head that ends, for a request without a body.
fn head(line: &str, headers: &[&str]) -> String {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!("{line} HTTP/1.1\r\n{headers}connection: close\r\n\r\n")
}

/// A POST with a body of a media type.
fn with_body(path: &str, headers: &[&str], media_type: &str, body: &str) -> String {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\n{headers}content-type: {media_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Headers of a browser that opens a link of another site.
const CLICKED: [&str; 4] =
    ["host: localhost", "sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: document"];

/// The statuses by which requests are refused.
const BAD: &[u16] = &[400];
const FORBIDDEN: &[u16] = &[403];
const ABSENT: &[u16] = &[404];
const WRONG_METHOD: &[u16] = &[405];
const TOO_LARGE: &[u16] = &[413];
const UNSUPPORTED: &[u16] = &[415];
/// A method of a file that is there only where the page is in the program.
const ABSENT_OR_WRONG_METHOD: &[u16] = &[404, 405];
/// Answered before anything of ours sees it.
const NO_HTTP_OF_OURS: &[u16] = &[400, 414, 431];

/// Requests of attackers: name, request, and the statuses that they may get.
fn attacks(port: u16) -> Vec<(&'static str, String, &'static [u16])> {
    let own = &["host: localhost"];
    let (host, origin) = (format!("host: localhost:{port}"), "origin: http://evil.example");
    let assume = assumption().to_string();
    let mut placing = request(&pending_pods()[..1]);
    placing["assume"] = json!([assumption()]);
    let framed =
        ["host: localhost", "sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: iframe"];
    let script = ["host: localhost", "sec-fetch-site: cross-site", "sec-fetch-mode: no-cors", "sec-fetch-dest: script"];
    let clicked_from = [&CLICKED[..], &["origin: null"]].concat();
    vec![
        ("a name that leads to loopback, for data", head("GET /v1/state", &["host: evil.example"]), FORBIDDEN),
        ("a name that leads to loopback, for the page", head("GET /", &["host: evil.example"]), FORBIDDEN),
        ("two hosts", head("GET /v1/state", &["host: localhost", "host: evil.example"]), FORBIDDEN),
        ("another host in the URI", head("GET http://evil.example/v1/state", own), FORBIDDEN),
        ("no host", head("GET /v1/state", &[]), BAD),
        ("a script of another origin", head("GET /v1/why?pod=a/b", &[&host, origin]), FORBIDDEN),
        ("a sandboxed page, whose origin is null", head("GET /v1/state", &[&host, "origin: null"]), FORBIDDEN),
        (
            "another port of the same machine",
            head("GET /v1/state", &[&host, "origin: http://localhost:3000"]),
            FORBIDDEN,
        ),
        ("data as a script of another site", head("GET /v1/pending", &script), FORBIDDEN),
        ("the page as a script of another site", head("GET /", &script), FORBIDDEN),
        ("the page in a frame", head("GET /", &framed), FORBIDDEN),
        ("a link to data", head("GET /v1/state", &CLICKED), FORBIDDEN),
        ("a link to data with parameters", head("GET /v1/why?pod=core/a", &CLICKED), FORBIDDEN),
        ("a link whose origin is hidden", head("GET /", &clicked_from), FORBIDDEN),
        ("a form of another site", with_body("/", &CLICKED, "application/x-www-form-urlencoded", "a=b"), FORBIDDEN),
        ("a question of another site", with_body("/v1/why", &[&host, origin], "application/json", "{}"), FORBIDDEN),
        ("a body that a form could send", with_body("/v1/why", own, "text/plain", "{}"), UNSUPPORTED),
        (
            "a compressed body",
            with_body("/v1/why", &["host: localhost", "content-encoding: gzip"], "application/json", "x"),
            UNSUPPORTED,
        ),
        (
            "a large body",
            head("POST /v1/why", &["host: localhost", "content-type: application/json", "content-length: 3145728"]),
            TOO_LARGE,
        ),
        ("a placement", with_body("/v1/assume", own, "application/json", &assume), ABSENT),
        ("a placement taken back", with_body("/v1/forget", own, "application/json", &assume), ABSENT),
        (
            "a placement inside of a question",
            with_body("/v1/filter", own, "application/json", &placing.to_string()),
            FORBIDDEN,
        ),
        (
            "a placement over gRPC",
            with_body("/nodesift.v1.Nodesift/Assume", own, "application/grpc", "\0\0\0\0\0"),
            ABSENT,
        ),
        ("a party", with_body("/nodesift.v1.Parties/Attend", own, "application/grpc", "\0\0\0\0\0"), ABSENT),
        ("a core", with_body("/extender/filter", own, "application/json", "{}"), ABSENT),
        ("metrics", head("GET /metrics", own), ABSENT),
        ("a path out of the folder", head("GET /../../../../etc/passwd", own), ABSENT),
        ("the same from a file", head("GET /assets/../../../etc/passwd", own), ABSENT),
        ("the same, escaped", head("GET /assets/%2e%2e/%2e%2e/etc/passwd", own), ABSENT),
        ("the same, escaped twice", head("GET /assets/%252e%252e%252fetc%252fpasswd", own), ABSENT),
        ("a path with a host in it", head("GET //evil.example/v1/state", own), ABSENT),
        ("a placement by a detour", with_body("/v1/why/../assume", own, "application/json", &assume), ABSENT),
        ("a URL of 20 kB", head(&format!("GET /?{}", "a".repeat(20_000)), own), NO_HTTP_OF_OURS),
        ("OPTIONS", head("OPTIONS /v1/why", &[&host, origin, "access-control-request-method: POST"]), FORBIDDEN),
        ("OPTIONS of its own origin", head("OPTIONS /v1/why", own), WRONG_METHOD),
        ("TRACE", head("TRACE /v1/state", own), WRONG_METHOD),
        ("PUT", head("PUT /index.html", own), ABSENT_OR_WRONG_METHOD),
    ]
}

#[test]
fn whoever_tricks_a_browser_gets_nothing_and_places_nothing() {
    let sidecar = sample(&EXPLORER);
    let explorer = sidecar.explorer();
    let Endpoint::Tcp(address) = &explorer else { unreachable!("it listens on TCP") };
    for (name, request, expected) in attacks(address.port()) {
        let found = answer(&explorer, &request);
        assert!(expected.contains(&found.status), "{name}: {} {}", found.status, found.text());
        let lower = found.head.to_ascii_lowercase();
        assert!(!lower.contains("access-control-allow") && !lower.contains("set-cookie"), "{name}: {lower}");
        let text = found.text();
        assert!(!text.contains("root:") && !text.contains("\"nodes\""), "{name}: {text}");
        if !NO_HTTP_OF_OURS.contains(&found.status) {
            assert!(lower.contains("frame-ancestors 'none'") && lower.contains("nosniff"), "{name}: {lower}");
        }
    }
    let state = get(&sidecar.unix(), "/v1/state").unwrap().body;
    assert!(!state.contains(r#""assumed":true"#), "nothing was assumed");
    assert!(!sidecar.output().contains("panicked"), "{}", sidecar.output());
}

#[test]
fn a_link_of_another_site_opens_the_page_whatever_it_carries() {
    let sidecar = sample(&EXPLORER);
    let explorer = sidecar.explorer();
    let page = answer(&explorer, &head("GET /", &["host: localhost"]));
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").is_some_and(|kind| kind.starts_with("text/html")), "{}", page.head);
    // What follows # is not sent by browsers, and is cut off where it is sent.
    for path in ["/", "/index.html", "/?q=%3Cscript%3Ealert(1)%3C/script%3E", "/#/pods/shop/web-0"] {
        let found = answer(&explorer, &head(&format!("GET {path}"), &CLICKED));
        // Without the page in the program, that which says so has no other path.
        if path == "/index.html" && found.status == 404 {
            continue;
        }
        assert_eq!((found.status, found.text()), (200, page.text()), "{path}");
        assert!(
            found.header("content-security-policy").is_some_and(|policy| policy.contains("frame-ancestors 'none'"))
        );
    }
    let of_head = answer(&explorer, &head("HEAD /", &["host: localhost"]));
    assert_eq!(of_head.status, 200);
    // The other listener is as it was.
    assert_eq!(answer(&sidecar.tcp(), &head("GET /", &CLICKED)).status, 403);
}

#[test]
fn the_page_reads_what_cores_and_operators_read_and_is_no_core_that_asks() {
    let sidecar = sample(&EXPLORER);
    let explorer = sidecar.explorer();
    let (namespace, name) = pending_pods().remove(0);
    for path in ["/v1/access", "/version", "/v1/nodes?columns=name", "/v1/state", "/v1/policy", "/v1/policy/history"] {
        assert_eq!(get(&explorer, path).unwrap().status, 200, "{path}");
    }
    let pod = format!("{namespace}/{name}");
    let why = get(&explorer, &format!("/v1/why?pod={pod}")).unwrap();
    assert_eq!(why.status, 200, "{}", why.body);
    let filter = post(&explorer, "/v1/filter", request(&pending_pods()[..1]).to_string()).unwrap();
    assert_eq!(filter.status, 200, "{}", filter.body);
    let path = format!("/v1/pods/{pod}/history");
    let asked = || timeout::until(|| get(&explorer, &path).ok().filter(|found| found.status == 200)).unwrap().json();
    assert_eq!(asked()["asked"], Value::Null, "a person who looks is no core");
    assert_eq!(post(&sidecar.unix(), "/v1/filter", request(&pending_pods()[..1]).to_string()).unwrap().status, 200);
    assert_eq!(asked()["asked"]["count"], 1);
    let told = get(&explorer, "/v1/access").unwrap().json();
    assert_eq!((&told["listener"], &told["classes"]), (&json!("explorer"), &json!(["probe", "read", "operate"])));
}

#[test]
fn every_document_comes_to_its_end_compressed_as_browsers_ask_for_it() {
    let sidecar = sample(&EXPLORER);
    let node = crate::running::objects("Node").remove(0)["metadata"]["name"].as_str().unwrap().to_owned();
    let one = format!("/v1/nodes/{node}");
    for path in ["/v1/state", &one, &format!("{one}/object"), "/v1/nodes?columns=name", "/v1/policy"] {
        // A connection that ends within the answer is an error here.
        let request = head(&format!("GET {path}"), &["host: localhost", "accept-encoding: gzip"]);
        let found = answer(&sidecar.explorer(), &request);
        assert_eq!((found.status, found.header("content-encoding")), (200, Some("gzip")), "{path}: {}", found.head);
    }
    assert!(!sidecar.output().contains("panicked"), "{}", sidecar.output());
}

#[test]
fn every_other_listener_says_where_the_explorer_is() {
    let sidecar = sample(&EXPLORER);
    let Endpoint::Tcp(address) = sidecar.explorer() else { unreachable!("it listens on TCP") };
    let url = format!("http://{address}");
    for endpoint in [sidecar.tcp(), sidecar.unix()] {
        let index = get(&endpoint, "/").unwrap().json();
        assert_eq!((&index["program"], &index["explorer"]), (&json!("nodesift"), &json!(url)));
    }
    let without = sample(&[]);
    assert_eq!(get(&without.unix(), "/").unwrap().json()["explorer"], Value::Null);
    let socket = format!("unix:{}", sidecar.socket.display());
    let printed = sidecar::run(command().args(["ui", "--no-open", "--server", &socket]));
    assert_eq!((printed.code, printed.stdout), (Some(0), format!("{url}/\n")), "{}", printed.stderr);
    let socket = without.socket.to_str().unwrap();
    let printed = sidecar::run(command().args(["ui", "--no-open", "--socket", socket]));
    assert_eq!(printed.code, Some(69), "{}", printed.stderr);
    assert!(printed.stderr.contains("--no-explorer") && printed.stdout.is_empty(), "{}", printed.stderr);
}

#[test]
fn a_port_that_is_taken_costs_the_explorer_and_nothing_else() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let sidecar = sample(&["--explorer", &address]);
    assert!(sidecar.output().contains("no explorer") && sidecar.output().contains(&address), "{}", sidecar.output());
    assert_eq!(get(&sidecar.tcp(), "/readyz").unwrap().status, 200);
    assert_eq!(get(&sidecar.unix(), "/").unwrap().json()["explorer"], Value::Null);
}

#[test]
fn off_loopback_browsers_need_what_cores_need_and_lists_count_for_both() {
    let refused = sidecar::run(command().args(["serve", "--sample", "--no-tcp", "--explorer", "0.0.0.0:0"]));
    assert_eq!(refused.code, Some(64), "{}", refused.stderr);
    assert!(refused.stderr.contains("--tls-cert"), "{}", refused.stderr);
    let authority = Authority::new();
    authority.certify("localhost");
    let clients = ["--tls-client-ca", "ca.pem", "--allow-read", "reader"];
    let sidecar: Sidecar = authority.serve(&[&EXPLORER[..], &clients].concat());
    let Endpoint::Tcp(address) = sidecar.explorer() else { unreachable!("it listens on TCP") };
    let ask = |name: &str, path: &str| {
        let signed = authority.sign(name);
        let request = head(&format!("GET {path}"), &["host: localhost"]);
        authority.send(address, "localhost", Some(&signed), &request).unwrap_or_else(|error| panic!("{error}: {path}"))
    };
    for (name, path, status) in [
        ("reader", "/", "200"),
        ("reader", "/v1/nodes?columns=name", "200"),
        ("reader", "/v1/policy", "403"),
        ("stranger", "/", "200"),
        ("stranger", "/v1/nodes?columns=name", "403"),
    ] {
        let found = ask(name, path);
        assert!(found.starts_with(&format!("HTTP/1.1 {status} ")), "{name} {path}: {found}");
        assert!(found.contains("content-security-policy: "), "{name} {path}: {found}");
    }
    let request = head("GET /", &["host: localhost"]);
    assert!(authority.send(address, "localhost", None, &request).is_err(), "without a certificate nobody comes in");
}

#[test]
fn ui_serves_a_cluster_that_is_read_once_until_it_is_ended() {
    let cluster = data::sample_cluster();
    let mut command: Command = command();
    command.args(["ui", "--local", "--no-open", "--cluster", cluster.to_str().unwrap()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().trim_end_matches('/').strip_prefix("http://").and_then(|address| address.parse().ok());
    let explorer = Endpoint::Tcp(address.unwrap_or_else(|| panic!("no link: {line:?}")));
    let listed = timeout::until(|| {
        let answer = get(&explorer, "/v1/pending?limit=0").ok().filter(|answer| answer.status == 200)?;
        answer.body.contains("causes").then_some(answer)
    });
    let folder = std::env::temp_dir().join(format!("nodesift-ui-{}", child.id()));
    let was_there = folder.is_dir();
    let sent = Command::new("sh").args(["-c", &format!("kill {}", child.id())]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    let ended = timeout::until(|| child.try_wait().unwrap());
    assert!(listed.is_some(), "it answers about the cluster");
    assert!(ended.is_some_and(|status| status.success()), "{ended:?}");
    assert!(was_there && !folder.exists(), "its folder ends with it");
}
