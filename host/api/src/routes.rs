//! The table of everything that is served: each call with its name, its class, its paths and its handlers.
//!
//! Router, rights, metrics and the help of a 404 follow from it. So a new call is its messages in the proto, its row here, and its
//! handler. Rooms below the handlers are given [`Paths`], and know no handler. Start at [`ROUTES`].

use axum::routing::{MethodRouter, get, post};
use prost::Message;
use serde::de::DeserializeOwned;

use crate::Service;
use crate::admin::{
    access, events, index, metrics, node_columns, object, parties, pending, pod_history, policy, policy_history,
    probes, shadow, state, version, why,
};
use crate::calls::capabilities::Capabilities;
use crate::calls::decision::{Assume, Decision, Forget, Release};
use crate::calls::driver;
use crate::calls::filter::Filter;
use crate::calls::headroom::Headroom;
use crate::calls::reprieve::Reprieve;
use crate::calls::yunikorn::{PreFilterPredicates, Predicates, PreemptionPredicates};
use crate::paths::{Call, Class, Grpc, Http, MANIFESTS, NEGOTIATION, NODESIFT, OPERATORS, PARTIES, Paths};
use crate::protocols::answers::Encode;
use crate::protocols::{extender, grpc, json};

/// A call with its handlers: a row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    call: Call,
    /// Makes the handler over gRPC, which refuses a message of more than so many bytes.
    grpc: Option<fn(usize) -> MethodRouter<Service>>,
    /// Makes the handler of JSON over HTTP.
    http: Option<fn() -> MethodRouter<Service>>,
}

/// Every call, in the order in which the help of a 404 names them. The most frequent one comes first.
pub(crate) static ROUTES: &[Route] = &[
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
    answered::<Headroom>("Headroom", "/v1/headroom"),
    call("Capabilities", Class::Read)
        .grpc(NODESIFT, grpc::decided::<Capabilities>)
        .post("/v1/capabilities", || post(json::decided::<Capabilities>)),
    call("Negotiate", Class::Decide).grpc(NEGOTIATION, grpc::negotiate),
    call("Select", Class::Decide).grpc(NEGOTIATION, grpc::select),
    decided::<Release>(NEGOTIATION, "Release"),
    call("Follow", Class::Decide).grpc(NEGOTIATION, grpc::follow),
    call("Attend", Class::Attend).grpc_stream(PARTIES, grpc::attend),
    call("State", Class::Operate).get("/v1/state", || get(state::state)),
    call("Nodes", Class::Read).get("/v1/nodes", || get(node_columns::nodes)),
    call("Node", Class::Operate).get("/v1/nodes/{node}", || get(state::node)),
    // Its GET is about a pod of the cache.
    call("Why", Class::Read).grpc(OPERATORS, grpc::why).post(MANIFESTS, || post(why::why).get(why::why_of_pod)),
    call("Pending", Class::Read).get("/v1/pending", || get(pending::pending)),
    call("NodeObject", Class::Read).get("/v1/nodes/{node}/object", || get(object::node)),
    call("Pod", Class::Read).get("/v1/pods/{namespace}/{pod}", || get(object::pod)),
    call("PodHistory", Class::Operate).get("/v1/pods/{namespace}/{pod}/history", || get(pod_history::pod_history)),
    call("Events", Class::Operate).get("/v1/events", || get(events::events)),
    call("Negotiations", Class::Operate).get("/v1/negotiations", || get(parties::overview)),
    call("Policy", Class::Operate).get("/v1/policy", || get(policy::policy)),
    call("PolicyHistory", Class::Operate).get("/v1/policy/history", || get(policy_history::history)),
    call("PolicyShadow", Class::Operate).get("/v1/policy/shadow", || get(shadow::shadow)),
    call("ExtenderFilter", Class::Read).post("/extender/filter", || post(extender::filter::filter)),
    call("ExtenderPrioritize", Class::Read).post("/extender/prioritize", || post(extender::prioritize::prioritize)),
    call("ExtenderPreempt", Class::Read).post("/extender/preempt", || post(extender::preempt::preempt)),
    probe("Livez", "/livez", || get(probes::livez)),
    probe("Readyz", "/readyz", || get(probes::readyz)),
    probe("Metrics", "/metrics", || get(metrics::metrics)),
    call("Access", Class::Probe).get("/v1/access", || get(access::access)),
    call("Version", Class::Probe).get("/version", || get(version::version)),
    call("Index", Class::Probe).get("/", || get(index::index)),
];

/// Where every call is, for those who serve none.
pub(crate) fn paths() -> Paths {
    ROUTES.iter().map(|route| route.call).collect()
}

/// A call that is not served yet.
const fn call(name: &'static str, class: Class) -> Route {
    Route { call: Call { name, class, grpc: None, http: None }, grpc: None, http: None }
}

/// A call that is answered from a snapshot, in both protocols.
const fn answered<C>(name: &'static str, path: &'static str) -> Route
where
    C: driver::Call<Request: Message + Default + DeserializeOwned, Response: Encode>,
{
    call(name, Class::Read).grpc(NODESIFT, grpc::answered::<C>).post(path, || post(json::answered::<C>))
}

/// A call that is carried out once, over gRPC.
const fn decided<D: Decision>(service: &'static str, name: &'static str) -> Route {
    call(name, Class::Decide).grpc(service, grpc::decided::<D>)
}

/// A probe, which the listener that anybody may reach has too.
const fn probe(name: &'static str, path: &'static str, handler: fn() -> MethodRouter<Service>) -> Route {
    call(name, Class::Probe).json(Http { method: "GET", path, is_probe: true }, handler)
}

impl Route {
    const fn grpc(self, service: &'static str, handler: fn(usize) -> MethodRouter<Service>) -> Self {
        let call = Call { grpc: Some(Grpc { service, is_stream: false }), ..self.call };
        Self { call, grpc: Some(handler), ..self }
    }

    const fn grpc_stream(self, service: &'static str, handler: fn(usize) -> MethodRouter<Service>) -> Self {
        let call = Call { grpc: Some(Grpc { service, is_stream: true }), ..self.call };
        Self { call, grpc: Some(handler), ..self }
    }

    const fn post(self, path: &'static str, handler: fn() -> MethodRouter<Service>) -> Self {
        self.json(Http { method: "POST", path, is_probe: false }, handler)
    }

    const fn get(self, path: &'static str, handler: fn() -> MethodRouter<Service>) -> Self {
        self.json(Http { method: "GET", path, is_probe: false }, handler)
    }

    const fn json(self, http: Http, handler: fn() -> MethodRouter<Service>) -> Self {
        Self { call: Call { http: Some(http), ..self.call }, http: Some(handler), ..self }
    }

    /// Its path and its handler over gRPC. The handler refuses a message of more than so many bytes.
    pub(crate) fn over_grpc(&self, max_message_bytes: usize) -> Option<(String, MethodRouter<Service>)> {
        let (grpc, handler) = self.call.grpc.zip(self.grpc)?;
        Some((format!("{}{}", grpc.service, self.call.name), handler(max_message_bytes)))
    }

    /// Its path and its handler as JSON over HTTP.
    pub(crate) fn over_http(&self) -> Option<(&'static str, MethodRouter<Service>)> {
        let (http, handler) = self.call.http.zip(self.http)?;
        Some((http.path, handler()))
    }

    /// The call, for those who choose some of the table.
    pub(crate) fn call(&self) -> Call {
        self.call
    }

    /// Whether it is a probe, which needs no room.
    pub(crate) fn is_probe(&self) -> bool {
        self.call.is_probe()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use axum::body::Body;
    use axum::extract::Request;

    use super::*;
    use crate::Error;
    use crate::access::Access;
    use crate::paths::is_grpc;

    const ATTEND: &str = "/nodesift.v1.Parties/Attend";

    #[test]
    fn what_changes_the_cache_is_a_decision_in_every_protocol() {
        for path in ["/v1/assume", "/v1/forget", "/nodesift.v1.Nodesift/Assume", "/nodesift.v1.Nodesift/Forget"] {
            assert_eq!(paths().class_of(path), Class::Decide, "{path}");
        }
        for path in ["/v1/filter", "/extender/filter", "/nodesift.v1.Nodesift/FilterStream"] {
            assert_eq!(paths().class_of(path), Class::Read, "{path}");
        }
    }

    #[test]
    fn cores_negotiate_by_the_right_to_decide_and_parties_attend_by_their_own() {
        for path in ["Negotiate", "Release", "Follow"].map(|call| format!("/nodesift.v1.Negotiation/{call}")) {
            assert_eq!(paths().class_of(&path), Class::Decide, "{path}");
        }
        assert_eq!(paths().class_of(ATTEND), Class::Attend);
        assert!(
            is_grpc(ATTEND) && paths().is_stream(ATTEND) && !paths().is_stream("/nodesift.v1.Negotiation/Negotiate")
        );
    }

    #[test]
    fn a_path_that_nobody_has_listed_is_not_open_to_all() {
        for path in [
            "",
            "//",
            "/v1/assume/",
            "/v1/%61ssume",
            "/v1/policies",
            "/nodesift.v1.Nodesift/",
            "/livez/x",
            "/nodesift.v1.Parties/x",
            "/nodesift.v1.Negotiation/",
            "/v1/nodes/",
            "/v1/nodes/a/b",
        ] {
            assert_eq!(paths().class_of(path), Class::Operate, "{path}");
        }
    }

    #[test]
    fn paths_that_clients_invent_have_one_name_in_metrics() {
        let paths = paths();
        assert!((0..1_000).all(|at| paths.name_of(&format!("/v1/{at}")) == "other"));
        assert!((0..1_000).all(|at| paths.name_of(&format!("/v1/nodes/{at}")) == "Node"));
        assert_eq!((paths.name_of("/v1/filter"), paths.name_of("/nodesift.v1.Nodesift/Filter")), ("Filter", "Filter"));
    }

    #[test]
    fn a_body_that_is_posted_says_that_it_is_json_on_every_path_but_those_of_grpc() {
        let access = Access::default();
        let posts = ROUTES
            .iter()
            .filter_map(|route| route.call.http)
            .filter(|http| http.method == "POST")
            .map(|http| http.path);
        let check = |path: &str, content_type: Option<&str>, body: &'static str| {
            let mut request = Request::post(path).header("host", "localhost");
            if let Some(content_type) = content_type {
                request = request.header("content-type", content_type);
            }
            access.check(&request.body(Body::from(body)).unwrap(), paths().class_of(path))
        };
        for path in posts {
            assert!(check(path, Some("application/json"), "{}").is_ok(), "{path}");
            assert!(check(path, None, "").is_ok(), "{path}: the handler says what it misses");
            for other in [None, Some("text/plain"), Some("application/grpc")] {
                assert!(matches!(check(path, other, "{}"), Err(Error::MediaType { .. })), "{path}: {other:?}");
            }
        }
        assert!(check("/nodesift.v1.Nodesift/Filter", Some("application/grpc"), "x").is_ok());
    }
}
