//! Who may call: what a browser would send is refused over TCP, a body has a type on every path, and clients make the calls
//! that the lists of names allow.

use nodesift_proto::v1::{AssumeRequest, FilterRequest};
use nodesift_tests::http::{Endpoint, get};
use nodesift_tests::sidecar::Sidecar;
use nodesift_tests::wire::{Answer, Wire};
use rcgen::{CertificateParams, DnType, SanType};
use serde_json::{Value, json};

use crate::agreement::grpc;
use crate::running::{pending_pods, request, sample};
use crate::tls::{Authority, Signed};

fn answer(endpoint: &Endpoint, request: &str) -> Answer {
    let mut wire = Wire::open(endpoint).unwrap();
    wire.send(request).unwrap();
    wire.answer().unwrap_or_else(|error| panic!("{error}: {request}"))
}

fn status(endpoint: &Endpoint, request: &str) -> u16 {
    answer(endpoint, request).status
}

/// Paths of every class, with a body that their handlers would at least read.
const POSTS: [&str; 12] = [
    "/v1/filter",
    "/v1/explain",
    "/v1/assume",
    "/v1/forget",
    "/v1/predicates",
    "/v1/prefilterpredicates",
    "/v1/preemptionpredicates",
    "/v1/reprieve",
    "/v1/headroom",
    "/v1/capabilities",
    "/extender/filter",
    "/extender/preempt",
];

fn assumption() -> Value {
    let (namespace, name) = pending_pods().remove(0);
    let node = crate::running::objects("Node").remove(0)["metadata"]["name"].clone();
    json!({"pod": {"name": {"namespace": namespace, "name": name}}, "node": node})
}

#[test]
fn a_body_without_a_type_is_refused_on_every_path_and_changes_nothing() {
    let sidecar = sample(&[]);
    let body = assumption().to_string();
    for endpoint in [sidecar.tcp(), sidecar.unix()] {
        for path in POSTS {
            for media_type in ["", "content-type: text/plain\r\n", "content-type: application/grpc\r\n"] {
                for framing in ["content-length: ", "transfer-encoding: chunked"] {
                    let (framing, body) = match framing {
                        "content-length: " => (format!("content-length: {}", body.len()), body.clone()),
                        chunked => (chunked.to_owned(), format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())),
                    };
                    let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{media_type}{framing}\r\n\r\n");
                    let found = answer(&endpoint, &format!("{head}{body}"));
                    assert_eq!(found.status, 415, "{head}{}", found.text());
                    assert!(found.text().contains("application/json"), "{}", found.text());
                }
            }
        }
    }
    let state = get(&sidecar.unix(), "/v1/state").unwrap().body;
    assert!(!state.contains(r#""assumed":true"#), "nothing was assumed");
}

#[test]
fn a_page_that_calls_the_sidecar_by_a_name_of_its_own_reads_nothing_over_tcp() {
    let sidecar = sample(&[]);
    let (tcp, unix) = (sidecar.tcp(), sidecar.unix());
    let port = sidecar.address.port();
    let get = |host: &str, path: &str| format!("GET {path} HTTP/1.1\r\n{host}connection: close\r\n\r\n");
    for path in ["/v1/state", "/v1/events", "/v1/policy", "/v1/policy/shadow", "/metrics", "/livez", "/nothing"] {
        for host in
            ["evil.example", "evil.example:10270", "127.0.0.1.evil.example", "0.0.0.0", "10.0.0.1", "a@localhost"]
        {
            let found = answer(&tcp, &get(&format!("host: {host}\r\n"), path));
            assert_eq!(found.status, 403, "{host} {path}: {}", found.text());
            assert!(found.text().contains("--allow-host") && found.text().contains("localhost"), "{}", found.text());
        }
    }
    assert_eq!(status(&tcp, &get("", "/v1/state")), 400, "no host");
    assert_eq!(status(&tcp, &get("host: localhost\r\nhost: evil.example\r\n", "/livez")), 403);
    assert_eq!(status(&tcp, "GET http://evil.example/livez HTTP/1.1\r\nhost: localhost\r\n\r\n"), 403);
    for own in ["localhost".to_owned(), format!("127.0.0.1:{port}"), format!("[::1]:{port}"), "LOCALHOST.".to_owned()] {
        assert_eq!(status(&tcp, &get(&format!("host: {own}\r\n"), "/livez")), 200, "{own}");
    }
    // The Unix socket cannot be reached by a page, and clients there name what they like.
    assert_eq!(status(&unix, &get("host: evil.example\r\n", "/livez")), 200);
}

#[test]
fn over_http2_the_authority_counts_and_grpc_gets_its_own_status() {
    let sidecar = sample(&["--allow-host", "nodesift.kube-system.svc"]);
    let ask = |origin: &'static str| {
        let address = sidecar.address;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{address}")).unwrap();
            let channel = endpoint.origin(origin.parse().unwrap()).connect().await.unwrap();
            let mut client = nodesift_proto::v1::nodesift_client::NodesiftClient::new(channel);
            client.filter(FilterRequest { pending: true, ..FilterRequest::default() }).await.map(drop)
        })
    };
    assert!(ask("http://localhost:10270").is_ok());
    assert!(ask("http://nodesift.kube-system.svc:10270").is_ok());
    let refused = ask("http://evil.example").unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused}");
    assert!(refused.message().contains("evil.example"), "{refused}");
}

#[test]
fn requests_of_pages_of_other_origins_are_refused_over_tcp() {
    let sidecar = sample(&[]);
    let port = sidecar.address.port();
    let body = assumption().to_string();
    let post = |headers: &str| {
        format!(
            "POST /v1/assume HTTP/1.1\r\nhost: localhost:{port}\r\n{headers}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    for headers in [
        "origin: http://evil.example".to_owned(),
        "origin: null".to_owned(),
        "origin: http://localhost:3000".to_owned(),
        format!("origin: http://127.0.0.1:{port}"),
        "sec-fetch-site: cross-site".to_owned(),
        "sec-fetch-site: same-site".to_owned(),
    ] {
        let found = answer(&sidecar.tcp(), &post(&headers));
        assert_eq!(found.status, 403, "{headers}: {}", found.text());
    }
    let state = get(&sidecar.unix(), "/v1/state").unwrap().body;
    assert!(!state.contains(r#""assumed":true"#), "nothing was assumed");
    assert_eq!(status(&sidecar.tcp(), &post(&format!("origin: http://localhost:{port}"))), 200);
    assert_eq!(status(&sidecar.unix(), &post("origin: http://evil.example")), 200);
}

/// A client's certificate with a DNS name, a URI or a common name.
fn client(authority: &Authority, names: &[SanType], common_name: Option<&str>) -> Signed {
    let mut params = CertificateParams::default();
    params.subject_alt_names = names.to_vec();
    params.distinguished_name = rcgen::DistinguishedName::new();
    if let Some(name) = common_name {
        params.distinguished_name.push(DnType::CommonName, name);
    }
    authority.sign_params(&params)
}

#[test]
fn each_class_of_call_is_open_to_the_clients_of_its_list_and_to_nobody_else() {
    let authority = Authority::new();
    authority.certify("localhost");
    let sidecar: Sidecar = authority.serve(&[
        "--tls-client-ca",
        "ca.pem",
        "--allow-read",
        "core.example",
        "spiffe://cluster/dashboard",
        "--allow-decide",
        "core.example",
        "--allow-operate",
        "admin",
    ]);
    let dns = |name: &str| SanType::DnsName(name.to_owned().try_into().unwrap());
    let uri = |name: &str| SanType::URI(name.to_owned().try_into().unwrap());
    let filter = request(&pending_pods()[..1]).to_string();
    let assume = assumption().to_string();
    let post = |path: &str, body: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let requests =
        [post("/v1/filter", &filter), post("/v1/assume", &assume), get("/v1/state?node=none"), get("/metrics")];
    let flags = ["--allow-read", "--allow-decide", "--allow-operate"];
    for (who, signed, may) in [
        ("by DNS name", client(&authority, &[dns("core.example")], None), [true, true, false]),
        ("by URI", client(&authority, &[uri("spiffe://cluster/dashboard")], Some("x")), [true, false, false]),
        ("by common name", client(&authority, &[], Some("admin")), [false, false, true]),
        ("with a name among others", client(&authority, &[dns("a"), dns("core.example")], None), [true, true, false]),
        ("a stranger", client(&authority, &[dns("cor.example")], Some("stranger")), [false; 3]),
        ("of another case", client(&authority, &[], Some("ADMIN")), [false; 3]),
        ("without a name", client(&authority, &[], None), [false; 3]),
    ] {
        let found: Vec<String> = requests
            .iter()
            .map(|request| authority.send(sidecar.address, "localhost", Some(&signed), request).expect(who))
            .collect();
        for ((answer, may), flag) in found.iter().zip(may).zip(flags) {
            let refused = answer.starts_with("HTTP/1.1 403 ");
            assert_eq!(refused, !may, "{who}, {flag}: {answer}");
            assert!(!refused || answer.contains(flag) && answer.contains("PERMISSION_DENIED"), "{who}: {answer}");
        }
        let policy = authority.send(sidecar.address, "localhost", Some(&signed), &get("/v1/policy")).expect(who);
        assert_eq!(policy.starts_with("HTTP/1.1 403 "), !may[2], "{who}: {policy}");
        // The same class over gRPC, which has its status in a header.
        let empty = "POST /nodesift.v1.Nodesift/Assume HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                     content-type: application/grpc\r\ncontent-length: 5\r\n\r\n\0\0\0\0\0";
        let answer = authority.send(sidecar.address, "localhost", Some(&signed), empty).expect(who);
        assert_eq!(answer.contains("grpc-status: 7\r\n"), !may[1], "{who}: {answer}");
        // On a stream each request is refused by itself. The message: filter { assume { node: "n" } }.
        let message = "\x12\x05\x7a\x03\x12\x01n";
        let stream = format!(
            "POST /nodesift.v1.Nodesift/FilterStream HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/grpc\r\ncontent-length: {}\r\n\r\n\0\0\0\0\x07{message}",
            5 + message.len()
        );
        let answer = authority.send(sidecar.address, "localhost", Some(&signed), &stream).expect(who);
        let expected = match may {
            [true, true, _] => "assume[0].pod: give one of",
            [true, false, _] => "PERMISSION_DENIED",
            _ => "grpc-status: 7\r\n",
        };
        assert!(answer.contains(expected), "{who}: {answer}");
        // A request to read that also decides needs both rights, in every protocol.
        let mut both = request(&pending_pods()[..1]);
        both["assume"] = json!([assumption()]);
        let answer = authority
            .send(sidecar.address, "localhost", Some(&signed), &post("/v1/filter", &both.to_string()))
            .expect(who);
        assert_eq!(answer.starts_with("HTTP/1.1 200 "), may[0] && may[1], "{who}: {answer}");
        if may[0] && !may[1] {
            assert!(answer.contains("--allow-decide") && answer.contains("PERMISSION_DENIED"), "{who}: {answer}");
        }
        assert!(found[3].starts_with("HTTP/1.1 200 "), "metrics tell nothing of nodes and pods: {}", found[3]);
    }
    // The right to use the socket is the mode of its file.
    assert_eq!(status(&sidecar.unix(), &get("/v1/state")), 200);
    assert_eq!(status(&sidecar.unix(), &post("/v1/assume", &assume)), 200);
    let assumed = grpc(&sidecar.unix(), |mut client| async move { client.assume(AssumeRequest::default()).await });
    assert_ne!(assumed.unwrap_err().code(), tonic::Code::PermissionDenied);
}

#[test]
fn everybody_is_told_what_it_may_do() {
    let sidecar = sample(&["--replica-name", "left"]);
    let told = |endpoint: &Endpoint| get(endpoint, "/v1/access").unwrap().json();
    let (tcp, unix) = (told(&sidecar.tcp()), told(&sidecar.unix()));
    assert_eq!((&tcp["listener"], &unix["listener"]), (&json!("tcp"), &json!("unix")));
    // Nobody is a party over TCP without being listed.
    assert_eq!(tcp["classes"], json!(["probe", "read", "decide", "operate"]));
    assert_eq!(unix["classes"], json!(["probe", "read", "decide", "attend", "operate"]));
    assert_eq!((&tcp["caller"], &tcp["replica"]), (&json!(""), &json!("left")));
    assert!(unix["caller"].as_str().is_some_and(|name| name.starts_with("uid:")), "{unix}");
}
