//! Messages over gRPC: a byte that chooses the call, then the message.
//!
//! A message that does not decode is refused as invalid. One that does is the same after it was encoded again, in protobuf and
//! in JSON, and has the same answer in both.

use std::fmt::Debug;

use nodesift_proto::v1;
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::http::{Api, Response};
use crate::{Behaviour, magnitude};

/// Code INVALID_ARGUMENT of gRPC.
const INVALID: u32 = 3;

/// Codes that tell of a defect of the server: UNKNOWN, INTERNAL, DATA_LOSS.
const DEFECTS: [u32; 3] = [2, 13, 15];

/// Part of prost's error text for a message that nests too deep.
const RECURSION: &str = "recursion limit";

/// A call in both protocols.
struct Call {
    name: &'static str,
    path: &'static str,
    /// Sends a message, and compares the answer with that to the same message in JSON.
    send: fn(&Api, &Call, &[u8]) -> Behaviour,
    /// Sends a body in JSON as a message, and compares the answer with the one given.
    repeat: fn(&Api, &Call, &[u8], &Response),
}

/// A request or response.
trait Both: Message + Default + PartialEq + Clone + Debug + Serialize + DeserializeOwned {}

impl<M: Message + Default + PartialEq + Clone + Debug + Serialize + DeserializeOwned> Both for M {}

/// A message of which one field does not matter here.
trait Timeless {
    /// Removes what depends on the time.
    fn timeless(self) -> Self;
}

macro_rules! timeless {
    ($($answer:ty),*) => { $(impl Timeless for $answer {
        fn timeless(mut self) -> Self {
            if let Some(version) = &mut self.version {
                version.staleness_ms = None;
            }
            self
        }
    })* };
}
timeless!(
    v1::FilterResponse,
    v1::ExplainResponse,
    v1::AssumeResponse,
    v1::ForgetResponse,
    v1::PredicatesResponse,
    v1::PreFilterPredicatesResponse,
    v1::PreemptionPredicatesResponse,
    v1::ReprieveResponse,
    v1::HeadroomResponse
);

/// A request, which may name versions to wait for, and a time to be answered in.
trait Waiting {
    /// Does not wait for versions that never come, and has the same time in both protocols.
    fn without_waiting(&mut self);
}

macro_rules! waiting {
    ($($request:ty $(: $time:ident)?),*) => { $(impl Waiting for $request {
        fn without_waiting(&mut self) {
                $(self.$time = None;)?
            if let Some(consistency) = &mut self.consistency {
                consistency.deadline_ms = Some(consistency.deadline_ms.unwrap_or(1).min(1));
            }
        }
    })* };
}
waiting!(
    v1::FilterRequest: timeout_ms,
    v1::ExplainRequest: timeout_ms,
    v1::PredicatesRequest,
    v1::PreFilterPredicatesRequest,
    v1::PreemptionPredicatesRequest,
    v1::ReprieveRequest: timeout_ms,
    v1::HeadroomRequest: timeout_ms
);

impl Waiting for v1::AssumeRequest {
    fn without_waiting(&mut self) {}
}

impl Waiting for v1::ForgetRequest {
    fn without_waiting(&mut self) {}
}

macro_rules! call {
    ($name:literal, $path:literal, $request:ty, $answer:ty) => {
        Call { name: $name, path: $path, send: send::<$request, $answer>, repeat: repeat::<$request, $answer> }
    };
}

const CALLS: [Call; 9] = [
    call!("Filter", "/v1/filter", v1::FilterRequest, v1::FilterResponse),
    call!("Explain", "/v1/explain", v1::ExplainRequest, v1::ExplainResponse),
    call!("Assume", "/v1/assume", v1::AssumeRequest, v1::AssumeResponse),
    call!("Forget", "/v1/forget", v1::ForgetRequest, v1::ForgetResponse),
    call!("Predicates", "/v1/predicates", v1::PredicatesRequest, v1::PredicatesResponse),
    call!(
        "PreFilterPredicates",
        "/v1/prefilterpredicates",
        v1::PreFilterPredicatesRequest,
        v1::PreFilterPredicatesResponse
    ),
    call!(
        "PreemptionPredicates",
        "/v1/preemptionpredicates",
        v1::PreemptionPredicatesRequest,
        v1::PreemptionPredicatesResponse
    ),
    call!("Reprieve", "/v1/reprieve", v1::ReprieveRequest, v1::ReprieveResponse),
    call!("Headroom", "/v1/headroom", v1::HeadroomRequest, v1::HeadroomResponse),
];

/// The message of the call.
pub fn run(input: &[u8]) -> Behaviour {
    let Some((choice, message)) = input.split_first() else { return Behaviour::new("empty") };
    let call = &CALLS[usize::from(*choice) % CALLS.len()];
    (call.send)(&Api::take(), call, message)
}

fn send<Q: Both + Waiting, A: Both + Timeless>(api: &Api, call: &Call, message: &[u8]) -> Behaviour {
    let Ok(mut request) = Q::decode(message) else {
        let refused = api.call::<A>(call.name, message).expect_err("a message that does not decode");
        assert_eq!(refused.code, INVALID, "{}: {refused:?}", call.name);
        return Behaviour::error(&refused.message);
    };
    request.without_waiting();
    let encoded = request.encode_to_vec();
    assert_eq!(Q::decode(encoded.as_slice()).as_ref(), Ok(&request), "encoded and decoded");
    let json = serde_json::to_vec(&request);
    let answer = api.call::<A>(call.name, &encoded);
    undo(api, call, &answer);
    // Enums and objects may hold what JSON cannot say.
    if let Ok(json) = json
        && let Ok(again) = serde_json::from_slice::<Q>(&json)
    {
        // A value of an object that says nothing becomes null, which is a value of its own.
        let is_same = again == request || serde_json::to_vec(&again).ok().as_ref() == Some(&json);
        assert!(is_same, "through JSON: {again:?}, of {request:?}");
        undo_placements(api, call.path, &json);
        let response = api.post(call.path, &json);
        undo_json(api, call, &response);
        undo_placements(api, call.path, &json);
        same(call, &answer, &response);
    }
    match answer {
        Ok(answer) => Behaviour::new((call.name, magnitude(answer.encoded_len()))),
        Err(error) => {
            assert!(!DEFECTS.contains(&error.code), "{}: {error:?}", call.name);
            Behaviour::error(&error.message)
        }
    }
}

fn repeat<Q: Both, A: Both + Timeless>(api: &Api, call: &Call, body: &[u8], response: &Response) {
    let Ok(request) = serde_json::from_slice::<Q>(body) else {
        assert!(response.status.as_u16() >= 400, "{} takes what does not decode", call.path);
        return;
    };
    let encoded = request.encode_to_vec();
    match Q::decode(encoded.as_slice()) {
        Ok(decoded) => assert_eq!(decoded, request, "encoded and decoded"),
        // JSON may nest deeper than protobuf may: an object has three messages per level.
        Err(error) => return assert!(error.to_string().contains(RECURSION), "{error} in {request:?}"),
    }
    let json = serde_json::to_vec(&request).expect("what came from JSON has a form in JSON");
    assert_eq!(serde_json::from_slice::<Q>(&json).expect("our own JSON"), request, "through JSON");
    let answer = api.call::<A>(call.name, &encoded);
    undo(api, call, &answer);
    undo_placements(api, call.path, &json);
    same(call, &answer, response);
}

/// Asserts that the answer is the same in both protocols.
fn same<A: Both + Timeless>(call: &Call, over_grpc: &Result<A, super::http::GrpcError>, over_http: &Response) {
    let text = String::from_utf8_lossy(&over_http.body);
    let has_outcomes =
        |answer: Value| ["assumed", "forgotten"].iter().any(|list| answer[*list] != serde_json::json!([]));
    // The second of two changes meets another state.
    if matches!(call.name, "Assume" | "Forget")
        || call.name == "Filter" && serde_json::from_str(&text).is_ok_and(has_outcomes)
    {
        return;
    }
    match over_grpc {
        Ok(answer) => {
            assert_eq!(over_http.status.as_u16(), 200, "{}: gRPC answers, HTTP says {text}", call.name);
            let decoded: A = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
            assert_eq!(decoded.timeless(), answer.clone().timeless(), "{}: JSON and gRPC", call.name);
        }
        Err(error) => {
            assert!(over_http.status.as_u16() >= 400, "{}: gRPC says {error:?}, HTTP answers {text}", call.name);
        }
    }
}

/// Takes back what was assumed, so that units do not depend on each other.
fn undo<A: Both>(api: &Api, call: &Call, answer: &Result<A, super::http::GrpcError>) {
    if let ("Assume", Ok(answer)) = (call.name, answer) {
        let answer = serde_json::to_value(answer).expect("an answer has a form in JSON");
        forget(api, &answer);
    }
}

fn undo_json(api: &Api, call: &Call, response: &Response) {
    if call.name == "Assume" && response.status.as_u16() == 200 {
        forget(api, &serde_json::from_slice(&response.body).expect("JSON"));
    }
}

/// Takes back what a Filter request has assumed, whether it was answered or not.
pub(super) fn undo_placements(api: &Api, path: &str, request: &[u8]) {
    let Ok(request) = serde_json::from_slice::<Value>(request) else { return };
    for assumed in request["assume"].as_array().into_iter().flatten().filter(|_| path == "/v1/filter") {
        // One that was refused may name no pod.
        api.post("/v1/forget", serde_json::json!({"pod": assumed["pod"]}).to_string().as_bytes());
    }
}

fn forget(api: &Api, assumed: &Value) {
    let request = serde_json::json!({"pod": {"uid": assumed["uid"]}});
    let response = api.post("/v1/forget", request.to_string().as_bytes());
    assert_eq!(response.status.as_u16(), 200, "{}", String::from_utf8_lossy(&response.body));
}

/// Sends a request in JSON over gRPC too, and compares the answers.
pub(super) fn same_over_grpc(api: &Api, path: &str, body: &[u8], response: &Response) {
    if let Some(call) = CALLS.iter().find(|call| call.path == path) {
        (call.repeat)(api, call, body, response);
    }
}
