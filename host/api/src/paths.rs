//! Paths and classes of the calls, for rooms that serve none: rights, metrics, limits. They follow from the table of
//! [`routes`](crate::routes). Start at [`Paths`].

use std::sync::Arc;

/// Class of a call by its effect. A client needs the right to the class; see [`Rights`](crate::access::Rights).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Tells nothing about nodes or pods: probes, metrics, version, gRPC health and reflection. Needs no right.
    Probe,
    /// Sends the explorer's page, which holds nothing of the cluster. Needs no right, and a link of another site may lead to it.
    Page,
    /// Asks about pods and nodes.
    Read,
    /// Changes what the cache counts: `Assume` and `Forget`; and what leads to it: negotiation.
    Decide,
    /// Answers as an external party.
    Attend,
    /// Serves operators: dumps, events and the policy.
    Operate,
}

/// A call, by name, class and paths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    /// Its name in metrics; over gRPC it is that of the proto.
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    pub(crate) grpc: Option<Grpc>,
    pub(crate) http: Option<Http>,
}

/// Where a call is over gRPC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grpc {
    /// The prefix of its path, before its name.
    pub(crate) service: &'static str,
    /// Whether its requests are a stream without an end.
    pub(crate) is_stream: bool,
}

/// Where a call is as JSON over HTTP.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Http {
    /// The method that it takes. GET includes HEAD.
    pub(crate) method: &'static str,
    /// Its path. Segments in braces, such as `{node}`, stand for one name each.
    pub(crate) path: &'static str,
    /// Whether it needs no room, and anybody may call it: a full budget must not look like a dead process.
    pub(crate) is_probe: bool,
}

/// The prefix of the paths of a core's calls over gRPC.
pub(crate) const NODESIFT: &str = "/nodesift.v1.Nodesift/";

/// The prefix of the paths of the calls by which cores negotiate.
pub(crate) const NEGOTIATION: &str = "/nodesift.v1.Negotiation/";

/// The prefix of the paths of the calls that operators make over gRPC.
pub(crate) const OPERATORS: &str = "/nodesift.v1.Operators/";

/// The path whose bodies may be manifests.
pub(crate) const MANIFESTS: &str = "/v1/why";

/// The prefix of the paths of the streams of parties.
pub(crate) const PARTIES: &str = "/nodesift.v1.Parties/";

/// The prefixes of the paths of this API over gRPC.
const SERVICES: [&str; 4] = [NODESIFT, OPERATORS, NEGOTIATION, PARTIES];

/// The prefixes of the paths of the services of gRPC itself, which tell nothing about nodes or pods, with their names in metrics.
const GRPC_SERVICES: [(&str, &str); 2] = [("/grpc.health.v1.Health/", "Health"), ("/grpc.reflection.", "Reflection")];

/// All calls that are served; clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paths(Arc<[Call]>);

impl FromIterator<Call> for Paths {
    fn from_iter<I: IntoIterator<Item = Call>>(calls: I) -> Self {
        Self(calls.into_iter().collect())
    }
}

impl Call {
    /// Whether it is the call at a path, in either protocol.
    fn is_at(&self, path: &str) -> bool {
        self.grpc.is_some_and(|grpc| path.strip_prefix(grpc.service) == Some(self.name)) || self.is_json_at(path)
    }

    fn is_json_at(&self, path: &str) -> bool {
        self.http.is_some_and(|http| is_like(http.path, path))
    }

    /// Whether it is a probe, which needs no room.
    pub(crate) fn is_probe(&self) -> bool {
        self.http.is_some_and(|http| http.is_probe)
    }
}

impl Paths {
    /// Every call, in the order of the table.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Call> {
        self.0.iter()
    }

    /// The call at a path, in either protocol.
    fn find(&self, path: &str) -> Option<&Call> {
        self.0.iter().find(|call| call.is_at(path))
    }

    /// Whether the request at a path is a stream without an end, whose messages are limited one by one.
    pub(crate) fn is_stream(&self, path: &str) -> bool {
        self.find(path).is_some_and(|call| call.grpc.is_some_and(|grpc| grpc.is_stream))
    }

    /// Whether any call is served over gRPC.
    pub(crate) fn has_grpc(&self) -> bool {
        self.0.iter().any(|call| call.grpc.is_some())
    }

    /// Whether a path is one of JSON over HTTP.
    pub(crate) fn is_json(&self, path: &str) -> bool {
        self.0.iter().any(|call| call.is_json_at(path))
    }

    /// Whether a path is that of a probe, which needs no room.
    pub(crate) fn is_probe(&self, path: &str) -> bool {
        self.find(path).is_some_and(Call::is_probe)
    }

    /// The class of a path. A path without a call has the class with the fewest clients, so that none is open to all by mistake.
    pub(crate) fn class_of(&self, path: &str) -> Class {
        let other = || if grpc_service(path).is_some() { Class::Probe } else { Class::Operate };
        self.find(path).map_or_else(other, |call| call.class)
    }

    /// The name in metrics of the call at a path: the same for both protocols, and one for all paths that clients invent.
    pub(crate) fn name_of(&self, path: &str) -> &'static str {
        self.find(path).map(|call| call.name).or_else(|| grpc_service(path)).unwrap_or("other")
    }

    /// `POST /v1/filter, POST /v1/explain, …`.
    pub(crate) fn help(&self) -> String {
        let paths = self.0.iter().filter_map(|call| call.http).map(|http| format!("{} {}", http.method, http.path));
        paths.collect::<Vec<_>>().join(", ")
    }
}

/// Whether a path is the one of a pattern, in which a segment in braces stands for one that is not empty.
fn is_like(pattern: &str, path: &str) -> bool {
    let (mut expected, mut found) = (pattern.split('/'), path.split('/'));
    loop {
        match (expected.next(), found.next()) {
            (None, None) => return true,
            (Some(name), Some(text)) if is_name(name) && !text.is_empty() => {}
            (Some(expected), Some(text)) if expected == text => {}
            _ => return false,
        }
    }
}

/// Whether a segment of a pattern stands for a name.
pub(crate) fn is_name(segment: &str) -> bool {
    segment.starts_with('{')
}

/// The name in metrics of a service of gRPC itself.
fn grpc_service(path: &str) -> Option<&'static str> {
    GRPC_SERVICES.iter().find(|(prefix, _)| path.starts_with(prefix)).map(|(_, name)| *name)
}

/// Whether a path is one of gRPC, whose bodies have a type of their own.
pub(crate) fn is_grpc(path: &str) -> bool {
    SERVICES.iter().any(|service| path.starts_with(service)) || grpc_service(path).is_some()
}
