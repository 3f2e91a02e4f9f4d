//! Features that clients of other authors expect: health, reflection, the authority of a Unix socket, metrics by call.

use futures_util::stream;
use nodesift_api::limits::{REFLECTION_QUESTION_BYTES, REFLECTION_STREAMS};
use nodesift_tests::http::get;
use nodesift_tests::timeout;
use nodesift_tests::wire::Wire;
use serde_json::json;
use tonic::Code;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::agreement::over;
use crate::running::{ask, pending_pods, request, sample};

fn about(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_owned() }
}

#[test]
fn health_follows_readiness_and_tells_its_watchers_of_a_drain() {
    let sidecar = sample(&[]);
    for endpoint in [sidecar.unix(), sidecar.tcp()] {
        over(&endpoint, |channel| async move {
            let mut health = HealthClient::new(channel);
            for service in ["", "nodesift.v1.Nodesift", "liveness"] {
                let answer = health.check(about(service)).await.unwrap().into_inner();
                assert_eq!(answer.status(), ServingStatus::Serving, "{service:?}");
            }
            let unknown = health.check(about("nodesift.v2.Nodesift")).await.unwrap_err();
            assert_eq!(unknown.code(), Code::NotFound);
            assert!(unknown.message().contains("nodesift.v1.Nodesift"), "{unknown}");
        });
    }
    over(&sidecar.unix(), |channel| async {
        let mut health = HealthClient::new(channel);
        let mut unknown = health.watch(about("nodesift.v2.Nodesift")).await.unwrap().into_inner();
        assert_eq!(unknown.message().await.unwrap().unwrap().status(), ServingStatus::ServiceUnknown);
        let mut watch = health.watch(about("")).await.unwrap().into_inner();
        let mut next = async || -> Option<HealthCheckResponse> {
            tokio::time::timeout(timeout::limit(), watch.message()).await.expect("a message in time").unwrap()
        };
        assert_eq!(next().await.unwrap().status(), ServingStatus::Serving);
        sidecar.signal("TERM");
        assert_eq!(next().await.unwrap().status(), ServingStatus::NotServing);
        assert_eq!(next().await, None, "the drain ends the watch");
    });
}

#[test]
fn reflection_describes_every_service() {
    let sidecar = sample(&[]);
    over(&sidecar.unix(), |channel| async {
        let mut reflection = ServerReflectionClient::new(channel);
        let question =
            |message_request| ServerReflectionRequest { host: String::new(), message_request: Some(message_request) };
        let questions = [
            question(MessageRequest::ListServices(String::new())),
            question(MessageRequest::FileContainingSymbol("nodesift.v1.Nodesift".to_owned())),
            question(MessageRequest::FileByFilename("google/protobuf/struct.proto".to_owned())),
        ];
        let mut answers = reflection.server_reflection_info(stream::iter(questions)).await.unwrap().into_inner();
        let mut next = async || answers.message().await.unwrap().unwrap().message_response.unwrap();
        let MessageResponse::ListServicesResponse(services) = next().await else { panic!("no list of services") };
        let names: Vec<&str> = services.service.iter().map(|service| service.name.as_str()).collect();
        for name in ["nodesift.v1.Nodesift", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"] {
            assert!(names.contains(&name), "{names:?}");
        }
        for _ in 0..2 {
            let MessageResponse::FileDescriptorResponse(files) = next().await else { panic!("no file") };
            assert_eq!(files.file_descriptor_proto.len(), 1);
        }
    });
}

#[test]
fn reflection_takes_short_questions_on_few_streams() {
    let sidecar = sample(&[]);
    over(&sidecar.tcp(), |channel| async {
        let mut reflection = ServerReflectionClient::new(channel);
        let long = ServerReflectionRequest {
            host: "h".repeat(REFLECTION_QUESTION_BYTES),
            message_request: Some(MessageRequest::ListServices(String::new())),
        };
        // The service ends the stream without an answer.
        let answer = match reflection.server_reflection_info(stream::iter([long])).await {
            Ok(answers) => answers.into_inner().message().await,
            Err(status) => Err(status),
        };
        assert!(!matches!(answer, Ok(Some(_))), "{answer:?}");
        let mut open = Vec::new();
        for _ in 0..REFLECTION_STREAMS {
            open.push(reflection.server_reflection_info(stream::pending()).await.unwrap());
        }
        let refused = reflection.server_reflection_info(stream::pending()).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
        drop(open);
        // The places of streams that have ended are free again.
        while reflection.server_reflection_info(stream::pending()).await.is_err() {}
    });
}

#[test]
fn a_plain_request_to_a_grpc_service_is_told_so() {
    let sidecar = sample(&[]);
    for path in ["/grpc.health.v1.Health/Check", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"] {
        let mut wire = Wire::open(&sidecar.tcp()).unwrap();
        let answer = wire.post(path, "{}").unwrap();
        assert_eq!(answer.status, 415, "{path}: {}", answer.text());
    }
}

/// A frame of HTTP/2 on stream `stream`.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// A literal header without Huffman coding, added to the dynamic table.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    [vec![0x40], text(name), text(value)].concat()
}

/// gRPC's C core sends the path of a Unix socket as `:authority`, with the escapes of a URI.
#[test]
fn the_path_of_the_socket_is_an_authority_and_stays_one_for_later_requests() {
    let sidecar = sample(&[]);
    for authority in ["%2Frun%2Fnodesift%2Fnodesift.sock", "/run/nodesift/nodesift.sock", "localhost"] {
        let mut wire = Wire::open(&sidecar.unix()).unwrap();
        let headers = [
            vec![0x83, 0x86],
            literal(":path", "/grpc.health.v1.Health/Check"),
            literal(":authority", authority),
            literal("content-type", "application/grpc"),
            literal("te", "trailers"),
        ];
        // The same headers again, by their places in the dynamic table.
        let again = [0x83, 0x86, 0x80 | 65, 0x80 | 64, 0x80 | 63, 0x80 | 62];
        let check = [0; 5];
        let start = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(4, 0, 0, &[])].concat();
        wire.send(start).unwrap();
        for (stream, headers) in [(1, headers.concat()), (3, again.to_vec())] {
            wire.send([frame(1, 4, stream, &headers), frame(0, 1, stream, &check)].concat()).unwrap();
            let mut answered = false;
            loop {
                let head = wire.receive_exactly(9).unwrap();
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
                wire.receive_exactly(length as usize).unwrap();
                let (kind, flags) = (head[3], head[4]);
                assert_ne!(kind, 3, "the stream of {authority:?} is reset");
                answered |= kind == 0;
                // A response with its trailers.
                if head[8] == stream && flags & 1 == 1 {
                    break;
                }
            }
            assert!(answered, "{authority:?} gets a message");
        }
    }
}

#[test]
fn metrics_count_requests_by_call_and_code_and_the_calls_of_each_predicate() {
    let sidecar = sample(&[]);
    ask(&sidecar.unix(), "/v1/filter", &request(&pending_pods()));
    let mut wire = Wire::open(&sidecar.tcp()).unwrap();
    assert_eq!(wire.post("/v1/filter", json!({"pods": 1}).to_string()).unwrap().status, 400);
    for at in 0..100 {
        assert_eq!(wire.get(&format!("/v1/unknown-{at}")).unwrap().status, 404);
    }
    let metrics = get(&sidecar.tcp(), "/metrics").unwrap().body;
    let value = |series: &str| -> f64 {
        let line = metrics.lines().find(|line| line.starts_with(series));
        line.unwrap_or_else(|| panic!("{series}: {metrics}")).rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(value(r#"nodesift_api_requests_total{protocol="http",call="Filter",code="400"}"#), 1.0);
    assert_eq!(value(r#"nodesift_api_requests_total{protocol="http",call="other",code="404"}"#), 100.0);
    assert!(value(r#"nodesift_api_requests_total{protocol="http",call="Filter",code="200"}"#) >= 1.0);
    assert!(value(r#"nodesift_api_request_duration_seconds_count{protocol="http",call="Filter",code="200"}"#) >= 1.0);
    assert!(value(r#"nodesift_predicate_calls_total{predicate="NodeAffinity"}"#) >= 1.0);
    assert!(value(r#"nodesift_predicate_rows_total{predicate="NodeAffinity"}"#) >= 298.0);
    assert!(value(r#"nodesift_predicate_duration_seconds_count{predicate="NodeAffinity"}"#) >= 1.0);
    assert!(metrics.contains(concat!("nodesift_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"")), "{metrics}");

    let plain = "GET /metrics HTTP/1.1\r\nhost: localhost\r\naccept: text/plain;version=0.0.4\r\n\r\n";
    wire.send(plain).unwrap();
    let plain = wire.answer().unwrap();
    assert_eq!(plain.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(plain.text().contains("# TYPE nodesift_api_requests_total counter\n") && !plain.text().contains("# EOF"));
}
