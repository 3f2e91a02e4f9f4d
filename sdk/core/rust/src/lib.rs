//! The API that a scheduler core calls, `nodesift.v1`: messages, gRPC client and gRPC server.
//!
//! [`v1`] is generated from `sdk/core/proto`; the proto files document every field. The messages also implement serde's
//! traits in the protobuf JSON mapping, the format over plain HTTP: camelCase on output, camelCase and snake_case on
//! input, unknown fields refused. [`Object`] is a whole pod or node in a message. [`RowNames`] decodes bitmaps. Start
//! at [`v1::nodesift_client::NodesiftClient`].
//!
//! ```no_run
//! use nodesift_proto::v1::nodesift_client::NodesiftClient;
//! use nodesift_proto::v1::{FilterRequest, Pod, PodName, pod};
//!
//! # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
//! let mut client = NodesiftClient::connect("http://127.0.0.1:10270").await?;
//! let name = PodName { namespace: "default".into(), name: "web-0".into() };
//! let pods = vec![Pod::from(pod::Pod::Name(name))];
//! let answer = client.filter(FilterRequest { pods, ..Default::default() }).await?.into_inner();
//! for pod in answer.pods {
//!     println!("{}: {} of {} nodes fit", pod.pod, pod.feasible.len(), pod.nodes);
//! }
//! # Ok(())
//! # }
//! ```

mod object;
mod rows;
mod timestamp;

pub use object::Object;
pub use rows::RowNames;

/// The types of package `google.protobuf` in the messages, with their JSON mapping.
pub mod wkt {
    pub use pbjson_types::*;

    pub use crate::timestamp::Timestamp;
}

/// The proto files and what they import, with comments, as an encoded `google.protobuf.FileDescriptorSet`: for server
/// reflection, and for clients that call by name.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/nodesift.v1.descriptors"));

/// Messages, client and server of the protobuf package `nodesift.v1`.
#[allow(missing_docs, unused_qualifications, clippy::all, clippy::pedantic, clippy::restriction)]
pub mod v1 {
    // Generated code does not follow the lints of the workspace.
    include!(concat!(env!("OUT_DIR"), "/nodesift.v1.rs"));
    include!(concat!(env!("OUT_DIR"), "/nodesift.v1.serde.rs"));
}

/// Whatever version of it the cache has.
impl From<v1::pod::Pod> for v1::Pod {
    fn from(pod: v1::pod::Pod) -> Self {
        Self { pod: Some(pod), ..Self::default() }
    }
}
