//! Every path that is served, and the class of call behind it. It makes the help of a 404 and says which right a path needs.
//!
//! The handlers are in [`router`](crate::router). Start at [`PATHS`].

/// The prefix of the paths of this API's calls over gRPC.
pub(crate) const CALLS: &str = "/nodesift.v1.Nodesift/";

/// The path of the call with a stream of requests.
pub(crate) const FILTER_STREAM: &str = "/nodesift.v1.Nodesift/FilterStream";

/// The prefix of the paths of the calls by which cores negotiate.
pub(crate) const NEGOTIATION: &str = "/nodesift.v1.Negotiation/";

/// The path of the streams of parties.
pub(crate) const ATTEND: &str = "/nodesift.v1.Parties/Attend";

/// The prefixes of all paths that take gRPC only.
const SERVICES: [&str; 5] =
    [CALLS, NEGOTIATION, "/nodesift.v1.Parties/", "/grpc.health.v1.Health/", "/grpc.reflection."];

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

/// A path of JSON over HTTP.
#[derive(Debug)]
pub(crate) struct Path {
    /// The method that it takes. GET includes HEAD.
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) class: Class,
}

const fn post(path: &'static str, class: Class) -> Path {
    Path { method: "POST", path, class }
}

const fn get(path: &'static str, class: Class) -> Path {
    Path { method: "GET", path, class }
}

/// Every path but those of gRPC.
pub(crate) const PATHS: [Path; 19] = [
    post("/v1/filter", Class::Read),
    post("/v1/explain", Class::Read),
    post("/v1/assume", Class::Decide),
    post("/v1/forget", Class::Decide),
    post("/v1/predicates", Class::Read),
    post("/v1/prefilterpredicates", Class::Read),
    post("/v1/preemptionpredicates", Class::Read),
    post("/v1/reprieve", Class::Read),
    get("/v1/state", Class::Operate),
    get("/v1/events", Class::Operate),
    get("/v1/negotiations", Class::Operate),
    get("/v1/policy", Class::Operate),
    get("/v1/policy/shadow", Class::Operate),
    post("/extender/filter", Class::Read),
    post("/extender/preempt", Class::Read),
    get("/livez", Class::Probe),
    get("/readyz", Class::Probe),
    get("/metrics", Class::Probe),
    get("/version", Class::Probe),
];

/// The calls of `nodesift.v1` by name.
const GRPC_CALLS: [(&str, Class); 10] = [
    ("Filter", Class::Read),
    ("FilterStream", Class::Read),
    ("Explain", Class::Read),
    ("NodeIndex", Class::Read),
    ("Predicates", Class::Read),
    ("PreFilterPredicates", Class::Read),
    ("PreemptionPredicates", Class::Read),
    ("Reprieve", Class::Read),
    ("Assume", Class::Decide),
    ("Forget", Class::Decide),
];

/// Whether the request at a path is a stream without an end, whose messages are limited one by one.
pub(crate) fn is_stream(path: &str) -> bool {
    path == FILTER_STREAM || path == ATTEND
}

/// Whether a path is one of gRPC, whose bodies have a type of their own.
pub(crate) fn is_grpc(path: &str) -> bool {
    SERVICES.iter().any(|service| path.starts_with(service))
}

/// Whether a path is one of JSON over HTTP.
pub(crate) fn is_json(path: &str) -> bool {
    PATHS.iter().any(|known| known.path == path)
}

/// The class of a path. A path that is not listed has the class with the fewest clients, so that one that is forgotten here
/// is not open to all.
pub(crate) fn class_of(path: &str) -> Class {
    if let Some(call) = path.strip_prefix(CALLS) {
        return GRPC_CALLS.iter().find(|(name, _)| *name == call).map_or(Class::Operate, |(_, class)| *class);
    }
    if let Some(call) = path.strip_prefix(NEGOTIATION) {
        return if ["Negotiate", "Select", "Release"].contains(&call) { Class::Decide } else { Class::Operate };
    }
    if path.starts_with("/nodesift.v1.Parties/") {
        return if path == ATTEND { Class::Attend } else { Class::Operate };
    }
    // The services of gRPC itself tell nothing about nodes or pods.
    if is_grpc(path) {
        return Class::Probe;
    }
    PATHS.iter().find(|known| known.path == path).map_or(Class::Operate, |known| known.class)
}

/// `POST /v1/filter, POST /v1/explain, …`.
pub(crate) fn help() -> String {
    PATHS.iter().map(|known| format!("{} {}", known.method, known.path)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

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
