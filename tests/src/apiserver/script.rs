//! The fault script: which request gets which fault.
//!
//! Requests are numbered by kind and [`Verb`] from 0. A [`Rule`] has the range of numbers that get a [`Fault`].

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use serde_json::{Value, json};

use super::store::Version;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// A page of a list, by its number from 1.
    List(usize),
    /// A list of one object, by which a client finds out the server's version.
    Probe,
    /// A watch of a kind.
    Watch,
    /// A server-side apply of a status.
    Apply,
}

/// A fault of a request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Answered only with a status and a `Status` object.
    Status {
        /// HTTP status code of the answer.
        code: u16,
        /// Fields of the `Status` object, which is the body.
        status: Value,
        /// The header `Retry-After`, in seconds.
        retry_after: Option<u32>,
    },
    /// A watch ends with an event of type ERROR and status 410 after this number of events.
    ExpiredAfter(usize),
    /// A list has the objects of an older version.
    Stale(Version),
    /// The connection is cut after this number of bytes of the body.
    Cut(usize),
    /// The body is sent in chunks of this number of bytes.
    Chunks(usize),
    /// A watch sends all pending events in one chunk.
    Together,
    /// A watch sends every event twice.
    Twice,
    /// A watch stops sending after this number of events, without closing the connection.
    SilentAfter(usize),
    /// No answer, and the connection is not closed.
    Hang,
    /// The answer starts after this time.
    Late(Duration),
}

impl Fault {
    /// 410: the version, or the continue token of a list, has expired.
    pub fn expired() -> Self {
        Self::status(410, "Expired", "The provided continue parameter or resource version is too old")
    }

    /// 429, to be retried after this number of seconds.
    pub fn too_many_requests(retry_after: u32) -> Self {
        let mut fault = Self::status(429, "TooManyRequests", "too many requests, please try again later");
        if let Self::Status { retry_after: header, .. } = &mut fault {
            *header = Some(retry_after);
        }
        fault
    }

    /// 403: the client lacks a permission.
    pub fn forbidden() -> Self {
        Self::status(403, "Forbidden", "is forbidden: User \"nodesift\" cannot do this at the cluster scope")
    }

    /// 401: a token that has expired.
    pub fn unauthorized() -> Self {
        Self::status(401, "Unauthorized", "Unauthorized")
    }

    /// 500: an internal error of the server.
    pub fn broken() -> Self {
        Self::status(500, "InternalError", "Internal error occurred: etcdserver: leader changed")
    }

    /// 504 with the cause that tells clients that the server's watch cache lags behind the requested version.
    pub fn too_large_version() -> Self {
        let mut fault = Self::status(504, "Timeout", "Timeout: Too large resource version: 99999, current: 1");
        if let Self::Status { status, .. } = &mut fault {
            let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
            status["details"] = json!({"causes": [cause], "retryAfterSeconds": 1});
        }
        fault
    }

    /// 404: there is no such kind, or no such object.
    pub fn not_found() -> Self {
        Self::status(404, "NotFound", "the server could not find the requested resource")
    }

    fn status(code: u16, reason: &str, message: &str) -> Self {
        Self::Status { code, status: status(code, reason, message), retry_after: None }
    }
}

/// Makes a `Status` object of a failure.
pub(super) fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
           "message": message, "reason": reason, "code": code})
}

/// A fault and the requests that get it.
#[derive(Debug, Clone)]
struct Rule {
    /// `None` means any kind.
    kind: Option<&'static str>,
    verb: Option<Verb>,
    /// Numbers of requests of this kind and verb.
    numbers: Range<usize>,
    fault: Fault,
}

/// The rules, and the number of requests by kind and verb.
#[derive(Debug, Default)]
pub struct Script {
    rules: Vec<Rule>,
    counts: HashMap<(&'static str, Verb), usize>,
}

impl Script {
    /// The next request of this kind and verb gets the fault.
    pub fn next(&mut self, kind: &'static str, verb: Verb, fault: Fault) {
        let number = self.count(kind, verb);
        self.at(kind, verb, number..number + 1, fault);
    }

    /// Requests of this kind and verb get the fault, by number from 0 since the start of the server.
    pub fn at(&mut self, kind: &'static str, verb: Verb, numbers: Range<usize>, fault: Fault) {
        self.rules.push(Rule { kind: Some(kind), verb: Some(verb), numbers, fault });
    }

    /// Every request of this kind and verb gets the fault until [`Self::clear_faults`]; `None` means any.
    pub fn always(&mut self, kind: Option<&'static str>, verb: Option<Verb>, fault: Fault) {
        self.rules.push(Rule { kind, verb, numbers: 0..usize::MAX, fault });
    }

    /// Removes all faults of the script.
    pub fn clear_faults(&mut self) {
        self.rules.clear();
    }

    /// The number of requests of this kind and verb.
    pub fn count(&self, kind: &'static str, verb: Verb) -> usize {
        self.counts.get(&(kind, verb)).copied().unwrap_or_default()
    }

    /// Counts a request, and returns its faults.
    pub(super) fn meet(&mut self, kind: &'static str, verb: Verb) -> Vec<Fault> {
        let count = self.counts.entry((kind, verb)).or_default();
        let number = *count;
        *count += 1;
        let meets = |rule: &&Rule| {
            rule.kind.is_none_or(|of| of == kind)
                && rule.verb.is_none_or(|of| of == verb)
                && rule.numbers.contains(&number)
        };
        self.rules.iter().filter(meets).map(|rule| rule.fault.clone()).collect()
    }
}
