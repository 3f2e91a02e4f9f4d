//! gRPC calls with messages as raw bytes, for messages that no encoder writes.

use std::future::Future;

use nodesift_tests::http::Endpoint;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::{Bytes, http::uri::PathAndQuery};
use tonic::transport::Channel;
use tonic::{Request, Status};

/// A client of one connection.
#[derive(Clone)]
pub(crate) struct Client(Grpc<Channel>);

impl Client {
    pub(crate) async fn connect(endpoint: &Endpoint) -> Self {
        let url = match endpoint {
            Endpoint::Tcp(address) => format!("http://{address}"),
            Endpoint::Unix(path) => format!("unix:{}", path.display()),
        };
        let channel = tonic::transport::Endpoint::from_shared(url).unwrap().connect().await.unwrap();
        Self(Grpc::new(channel).max_decoding_message_size(256 << 20).max_encoding_message_size(64 << 20))
    }

    /// Sends a message to a call of the core API, and returns the answer undecoded.
    pub(crate) async fn call(&mut self, call: &str, message: impl Into<Bytes>) -> Result<Bytes, Status> {
        let path = PathAndQuery::try_from(format!("/nodesift.v1.Nodesift/{call}")).unwrap();
        self.0.ready().await.map_err(|error| Status::unknown(error.to_string()))?;
        Ok(self.0.unary(Request::new(message.into()), path, Raw).await?.into_inner())
    }
}

/// Runs a client's future to its end.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// A codec that passes bytes unchanged.
#[derive(Debug, Clone, Copy)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        bytes::BufMut::put(buffer, message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        let length = bytes::Buf::remaining(buffer);
        Ok(Some(bytes::Buf::copy_to_bytes(buffer, length)))
    }
}

/// Protobuf's wire format, field by field.
pub(crate) mod wire {
    /// A varint: 7 bits per byte.
    pub(crate) fn varint(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
            number >>= 7;
        }
        bytes.push(u8::try_from(number).unwrap());
        bytes
    }

    /// The tag of a field: its number and wire type.
    pub(crate) fn tag(field: u64, kind: u64) -> Vec<u8> {
        varint(field << 3 | kind)
    }

    /// A length-delimited field: a string, a message, a packed list.
    pub(crate) fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
        [tag(field, 2), varint(content.len() as u64), content.to_vec()].concat()
    }
}
