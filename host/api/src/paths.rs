//! The table of everything that is served: each call with its name, its class, its paths and its handlers.
//!
//! Router, rights, metrics and the help of a 404 follow from it. So a new call is its messages in the proto, its row here, and its
//! handler. Rooms below the handlers look paths up here, and know no more of the handlers. Start at [`CALLS`].

use axum::routing::{MethodRouter, get, post};
use prost::Message;
use serde::de::DeserializeOwned;

use crate::Service;
use crate::admin::{events, metrics, negotiations, policy, shadow, state, version};
use crate::calls::decision::{Assume, Decision, Forget, Release};
use crate::calls::driver;
use crate::calls::filter::Filter;
use crate::calls::reprieve::Reprieve;
use crate::calls::yunikorn::{PreFilterPredicates, Predicates, PreemptionPredicates};
use crate::protocols::answers::Encode;
use crate::protocols::{extender, grpc, json};
use crate::router::{livez, readyz};

/// Class of a call by its effect. A client needs the right to the class; see [`Rights`](crate::access::Rights).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Tells nothing about nodes or pods: probes, metrics, version, gRPC health and reflection. Needs no right.
    Probe,
    /// Asks about pods and nodes.
    Read,
    /// Changes what the cache counts: `Assume` and `Forget`; and what leads to it: negotiation.
    Decide,
    /// Answers as an external party.
    Attend,
    /// Serves operators: dumps, events and the policy.
    Operate,
}

/// A call: a row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    /// Its name in metrics; over gRPC it is that of the proto.
    name: &'static str,
    class: Class,
    grpc: Option<Grpc>,
    http: Option<Http>,
}

/// How a call is served over gRPC.
#[derive(Debug, Clone, Copy)]
struct Grpc {
    /// The prefix of its path, before its name.
    service: &'static str,
    /// Whether its requests are a stream without an end.
    is_stream: bool,
    /// Makes its handler, which refuses a message of more than so many bytes.
    handler: fn(usize) -> MethodRouter<Service>,
}

/// How a call is served as JSON over HTTP.
#[derive(Debug, Clone, Copy)]
struct Http {
    /// The method that it takes. GET includes HEAD.
    method: &'static str,
    path: &'static str,
    /// Whether it needs no room, and anybody may call it: a full budget must not look like a dead process.
    is_probe: bool,
    handler: fn() -> MethodRouter<Service>,
}

/// The prefix of the paths of a core's calls over gRPC.
const NODESIFT: &str = "/nodesift.v1.Nodesift/";

/// The prefix of the paths of the calls by which cores negotiate.
const NEGOTIATION: &str = "/nodesift.v1.Negotiation/";

/// The prefix of the paths of the streams of parties.
const PARTIES: &str = "/nodesift.v1.Parties/";

/// The prefixes of the paths of this API over gRPC.
const SERVICES: [&str; 3] = [NODESIFT, NEGOTIATION, PARTIES];

/// The prefixes of the paths of the services of gRPC itself, which tell nothing about nodes or pods, with their names in metrics.
const GRPC_SERVICES: [(&str, &str); 2] = [("/grpc.health.v1.Health/", "Health"), ("/grpc.reflection.", "Reflection")];

/// Every call, in the order in which the help of a 404 names them. The most frequent one comes first.
pub(crate) static CALLS: &[Call] = &[
    answered::<Filter>("Filter", "/v1/filter"),
    call("FilterStream", Class::Read).grpc_stream(NODESIFT, grpc::filter_stream),
    call("Explain", Class::Read).grpc(NODESIFT, grpc::explain).post("/v1/explain", || post(json::explain)),
    call("NodeIndex", Class::Read).grpc(NODESIFT, grpc::node_index),
    decided::<Assume>(NODESIFT, "Assume").post("/v1/assume", || post(json::decided::<Assume>)),
    decided::<Forget>(NODESIFT, "Forget").post("/v1/forget", || post(json::decided::<Forget>)),
    answered::<Predicates>("Predicates", "/v1/predicates"),
    answered::<PreFilterPredicates>("PreFilterPredicates", "/v1/prefilterpredicates"),
    answered::<PreemptionPredicates>("PreemptionPredicates", "/v1/preemptionpredicates"),
    answered::<Reprieve>("Reprieve", "/v1/reprieve"),
    call("Negotiate", Class::Decide).grpc(NEGOTIATION, grpc::negotiate),
    call("Select", Class::Decide).grpc(NEGOTIATION, grpc::select),
    decided::<Release>(NEGOTIATION, "Release"),
    call("Attend", Class::Attend).grpc_stream(PARTIES, grpc::attend),
    call("State", Class::Operate).get("/v1/state", || get(state::state)),
    call("Events", Class::Operate).get("/v1/events", || get(events::events)),
    call("Negotiations", Class::Operate).get("/v1/negotiations", || get(negotiations::negotiations)),
    call("Policy", Class::Operate).get("/v1/policy", || get(policy::policy)),
    call("PolicyShadow", Class::Operate).get("/v1/policy/shadow", || get(shadow::shadow)),
    call("ExtenderFilter", Class::Read).post("/extender/filter", || post(extender::filter::filter)),
    call("ExtenderPreempt", Class::Read).post("/extender/preempt", || post(extender::preempt::preempt)),
    probe("Livez", "/livez", || get(livez)),
    probe("Readyz", "/readyz", || get(readyz)),
    probe("Metrics", "/metrics", || get(metrics::metrics)),
    call("Version", Class::Probe).get("/version", || get(version::version)),
];

/// A call that is not served yet.
const fn call(name: &'static str, class: Class) -> Call {
    Call { name, class, grpc: None, http: None }
}

/// A call that is answered from a snapshot, in both protocols.
const fn answered<C>(name: &'static str, path: &'static str) -> Call
where
    C: driver::Call<Request: Message + Default + DeserializeOwned, Response: Encode>,
{
    call(name, Class::Read).grpc(NODESIFT, grpc::answered::<C>).post(path, || post(json::answered::<C>))
}

/// A call that is carried out once, over gRPC.
const fn decided<D: Decision>(service: &'static str, name: &'static str) -> Call {
    call(name, Class::Decide).grpc(service, grpc::decided::<D>)
}

/// A probe, which the listener that anybody may reach has too.
const fn probe(name: &'static str, path: &'static str, handler: fn() -> MethodRouter<Service>) -> Call {
    Call { http: Some(Http { method: "GET", path, is_probe: true, handler }), ..call(name, Class::Probe) }
}

impl Call {
    const fn grpc(self, service: &'static str, handler: fn(usize) -> MethodRouter<Service>) -> Self {
        Self { grpc: Some(Grpc { service, is_stream: false, handler }), ..self }
    }

    const fn grpc_stream(self, service: &'static str, handler: fn(usize) -> MethodRouter<Service>) -> Self {
        Self { grpc: Some(Grpc { service, is_stream: true, handler }), ..self }
    }

    const fn post(self, path: &'static str, handler: fn() -> MethodRouter<Service>) -> Self {
        Self { http: Some(Http { method: "POST", path, is_probe: false, handler }), ..self }
    }

    const fn get(self, path: &'static str, handler: fn() -> MethodRouter<Service>) -> Self {
        Self { http: Some(Http { method: "GET", path, is_probe: false, handler }), ..self }
    }

    /// Whether it is the call at a path, in either protocol.
    fn is_at(&self, path: &str) -> bool {
        self.grpc.is_some_and(|grpc| path.strip_prefix(grpc.service) == Some(self.name)) || self.is_json_at(path)
    }

    fn is_json_at(&self, path: &str) -> bool {
        self.http.is_some_and(|http| http.path == path)
    }

    /// Its path and its handler over gRPC. The handler refuses a message of more than so many bytes.
    pub(crate) fn grpc_route(&self, max_message_bytes: usize) -> Option<(String, MethodRouter<Service>)> {
        self.grpc.map(|grpc| (format!("{}{}", grpc.service, self.name), (grpc.handler)(max_message_bytes)))
    }

    /// Its path and its handler as JSON over HTTP.
    pub(crate) fn http_route(&self) -> Option<(&'static str, MethodRouter<Service>)> {
        self.http.map(|http| (http.path, (http.handler)()))
    }

    /// Whether it is a probe, which needs no room.
    pub(crate) fn is_probe(&self) -> bool {
        self.http.is_some_and(|http| http.is_probe)
    }
}

/// The call at a path, in either protocol.
fn find(path: &str) -> Option<&'static Call> {
    CALLS.iter().find(|call| call.is_at(path))
}

/// The name in metrics of a service of gRPC itself.
fn grpc_service(path: &str) -> Option<&'static str> {
    GRPC_SERVICES.iter().find(|(prefix, _)| path.starts_with(prefix)).map(|(_, name)| *name)
}

/// Whether the request at a path is a stream without an end, whose messages are limited one by one.
pub(crate) fn is_stream(path: &str) -> bool {
    find(path).is_some_and(|call| call.grpc.is_some_and(|grpc| grpc.is_stream))
}

/// Whether a path is one of gRPC, whose bodies have a type of their own.
pub(crate) fn is_grpc(path: &str) -> bool {
    SERVICES.iter().any(|service| path.starts_with(service)) || grpc_service(path).is_some()
}

/// Whether a path is one of JSON over HTTP.
pub(crate) fn is_json(path: &str) -> bool {
    CALLS.iter().any(|call| call.is_json_at(path))
}

/// Whether a path is that of a probe, which needs no room.
pub(crate) fn is_probe(path: &str) -> bool {
    find(path).is_some_and(Call::is_probe)
}

/// The class of a path. A path without a call has the class with the fewest clients, so that none is open to all by mistake.
pub(crate) fn class_of(path: &str) -> Class {
    let other = || if grpc_service(path).is_some() { Class::Probe } else { Class::Operate };
    find(path).map_or_else(other, |call| call.class)
}

/// The name in metrics of the call at a path: the same for both protocols, and one for all paths that clients invent.
pub(crate) fn name_of(path: &str) -> &'static str {
    find(path).map(|call| call.name).or_else(|| grpc_service(path)).unwrap_or("other")
}

/// `POST /v1/filter, POST /v1/explain, …`.
pub(crate) fn help() -> String {
    let paths = CALLS.iter().filter_map(|call| call.http).map(|http| format!("{} {}", http.method, http.path));
    paths.collect::<Vec<_>>().join(", ")
}

/// The paths of JSON over HTTP that take a body.
#[cfg(test)]
pub(crate) fn posts() -> impl Iterator<Item = &'static str> {
    CALLS.iter().filter_map(|call| call.http).filter(|http| http.method == "POST").map(|http| http.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATTEND: &str = "/nodesift.v1.Parties/Attend";

    #[test]
    fn what_changes_the_cache_is_a_decision_in_every_protocol() {
        for path in ["/v1/assume", "/v1/forget", "/nodesift.v1.Nodesift/Assume", "/nodesift.v1.Nodesift/Forget"] {
            assert_eq!(class_of(path), Class::Decide, "{path}");
        }
        for path in ["/v1/filter", "/extender/filter", "/nodesift.v1.Nodesift/FilterStream"] {
            assert_eq!(class_of(path), Class::Read, "{path}");
        }
    }

    #[test]
    fn cores_negotiate_by_the_right_to_decide_and_parties_attend_by_their_own() {
        for path in ["/nodesift.v1.Negotiation/Negotiate", "/nodesift.v1.Negotiation/Release"] {
            assert_eq!(class_of(path), Class::Decide, "{path}");
        }
        assert_eq!(class_of(ATTEND), Class::Attend);
        assert!(is_grpc(ATTEND) && is_stream(ATTEND) && !is_stream("/nodesift.v1.Negotiation/Negotiate"));
    }

    #[test]
    fn a_path_that_nobody_has_listed_is_not_open_to_all() {
        for path in [
            "",
            "/",
            "/v1/assume/",
            "/v1/%61ssume",
            "/v1/policies",
            "/nodesift.v1.Nodesift/",
            "/livez/x",
            "/nodesift.v1.Parties/x",
            "/nodesift.v1.Negotiation/",
        ] {
            assert_eq!(class_of(path), Class::Operate, "{path}");
        }
    }
}
