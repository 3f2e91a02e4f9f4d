//! The way through a proxy to a server without TLS. As in Go, the proxy is sent the requests themselves, with whole addresses: many proxies
//! connect only to ports of TLS. Start at [`Forward`].

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use tower::{BoxError, Service};

/// Makes connections to a proxy, whatever the server is.
#[derive(Debug, Clone)]
pub(super) struct Forward<C> {
    /// The address of the proxy.
    pub(super) proxy: Uri,
    /// Connects to the address of the proxy.
    pub(super) connector: C,
}

impl<C> Service<Uri> for Forward<C>
where
    C: Service<Uri>,
    C::Response: 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    type Response = Forwarding<C::Response>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Forwarding<C::Response>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, _server: Uri) -> Self::Future {
        let connecting = self.connector.call(self.proxy.clone());
        Box::pin(async move { Ok(Forwarding(connecting.await.map_err(Into::into)?)) })
    }
}

/// A connection to a proxy on which requests have whole addresses.
#[derive(Debug)]
pub(super) struct Forwarding<S>(S);

impl<S: Connection> Connection for Forwarding<S> {
    fn connected(&self) -> Connected {
        self.0.connected().proxy(true)
    }
}

impl<S: Read + Unpin> Read for Forwarding<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<Result<(), io::Error>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: Write + Unpin> Write for Forwarding<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, io::Error>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
