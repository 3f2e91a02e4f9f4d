//! The targets, one file each. A target's `run` takes bytes, panics where something does not hold, and returns what it has
//! seen. Start at [`TARGETS`]; `world` has what several of them use.

pub mod component_bytes;
pub mod grpc;
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
mod world;

use crate::mutate::Form;
use crate::{Target, nothing};

/// All targets.
pub const TARGETS: [Target; 12] = [
    Target {
        name: "component_bytes",
        form: Form::Bytes,
        run: component_bytes::run,
        generate: component_bytes::generate,
    },
    Target { name: "grpc", form: Form::Protobuf, run: grpc::run, generate: nothing },
    Target { name: "history", form: Form::Bytes, run: history::run, generate: history::generate },
    Target { name: "host_calls", form: Form::Bytes, run: host_calls::run, generate: host_calls::generate },
    Target { name: "objects", form: Form::Document, run: objects::run, generate: objects::generate },
    Target { name: "pods", form: Form::Document, run: pods::run, generate: pods::generate },
    Target { name: "policy_document", form: Form::Document, run: policy_document::run, generate: nothing },
    Target { name: "quantity", form: Form::Bytes, run: quantity::run, generate: quantity::generate },
    Target { name: "request_json", form: Form::Request, run: request_json::run, generate: nothing },
    Target { name: "selector", form: Form::Document, run: selector::run, generate: nothing },
    Target { name: "verdict", form: Form::Bytes, run: verdict::run, generate: verdict::generate },
    Target { name: "watch_stream", form: Form::JsonLines, run: watch_stream::run, generate: watch_stream::generate },
];
