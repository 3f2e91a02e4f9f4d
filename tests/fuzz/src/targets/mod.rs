//! The targets, one file each. A target's `run` takes bytes, panics where something does not hold, and returns what it has
//! seen. Start at [`TARGETS`]; `world` has what several of them use.

pub mod component_bytes;
pub mod grpc;
pub mod heavy;
pub mod history;
pub mod host_calls;
mod http;
pub mod objects;
pub mod pods;
pub mod policy_document;
pub mod quantity;
pub mod request_json;
pub mod selector;
pub mod verdict;
pub mod watch_stream;
pub(crate) mod world;

use std::time::Duration;

use crate::mutate::Form;
use crate::{Target, nothing};

/// Time of one unit. A request has 2 s by default, and no input of a few kilobytes should need half of it.
const TIME: Duration = Duration::from_secs(1);

/// Time of one unit of megabytes, which the reference evaluates as well.
const HEAVY_TIME: Duration = Duration::from_secs(30);

/// All targets, by name.
pub const TARGETS: [Target; 13] = [
    Target {
        name: "component_bytes",
        form: Form::Bytes,
        run: component_bytes::run,
        generate: component_bytes::generate,
        time: TIME,
    },
    Target { name: "grpc", form: Form::Protobuf, run: grpc::run, generate: nothing, time: TIME },
    Target { name: "heavy", form: Form::Bytes, run: heavy::run, generate: heavy::generate, time: HEAVY_TIME },
    Target { name: "history", form: Form::Bytes, run: history::run, generate: history::generate, time: TIME },
    Target { name: "host_calls", form: Form::Bytes, run: host_calls::run, generate: host_calls::generate, time: TIME },
    Target { name: "objects", form: Form::Document, run: objects::run, generate: objects::generate, time: TIME },
    Target { name: "pods", form: Form::Document, run: pods::run, generate: pods::generate, time: TIME },
    Target { name: "policy_document", form: Form::Document, run: policy_document::run, generate: nothing, time: TIME },
    Target { name: "quantity", form: Form::Bytes, run: quantity::run, generate: quantity::generate, time: TIME },
    Target { name: "request_json", form: Form::Request, run: request_json::run, generate: nothing, time: TIME },
    Target { name: "selector", form: Form::Document, run: selector::run, generate: nothing, time: TIME },
    Target { name: "verdict", form: Form::Bytes, run: verdict::run, generate: verdict::generate, time: TIME },
    Target {
        name: "watch_stream",
        form: Form::JsonLines,
        run: watch_stream::run,
        generate: watch_stream::generate,
        time: TIME,
    },
];
