//! `FilterStream`: several requests are worked on at once, answers come in their order.
//!
//! A task of its own reads the requests. hyper takes nothing from a response while the client's window is closed, and neither
//! the deadline of a message that arrives nor the room that it has or waits for may depend on that. Start at [`filter_stream`].

use std::future::Future;
use std::panic::AssertUnwindSafe;

use axum::body::Bytes;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::MethodRouter;
use futures_util::future::FutureExt as _;
use futures_util::stream;
use nodesift_proto::v1::{FilterRequest, FilterStreamRequest};
use tokio::sync::mpsc;
use tonic::Status;

use super::spawned::Spawned;
use super::{frame, message, scope_of, split, streaming};
use crate::admission::scope::{RequestScope, StreamScope};
use crate::calls::driver::{self, Call as _, Stage};
use crate::calls::filter::Filter;
use crate::{Error, Service, limits};
use nodesift_edge::places::Activity;

/// `FilterStream`: answers requests until the client, the stream's place or the process ends it.
pub(crate) fn filter_stream(max_message_bytes: usize) -> MethodRouter<Service> {
    streaming(move |service, request| answers(service, max_message_bytes, request))
}

/// The answers to the requests of a stream.
///
/// # Errors
///
/// [`Error::TooMany`], [`Error::ContentCoding`].
async fn answers(service: Service, max: usize, request: Request) -> Result<Response, Status> {
    let scope = scope_of::<StreamScope>(&request)?;
    let place = service.enter_request_stream(&scope).await?;
    let requests = split::messages::<FilterStreamRequest>(request, max)?;
    let (drained, closing, dismissed) = (service.readiness().drained(), scope.peer.closing(), place.dismissed());
    let endless = scope.peer.endless();
    // One more is taken from the channel and waited for.
    let (answers, begun) = mpsc::channel(limits::STREAM_REQUESTS - 1);
    let reader = Reader { service, scope, activity: place.activity().clone(), answers };
    let reading = Spawned::new(async move {
        tokio::select! {
            () = drained => {}
            () = closing => {}
            () = dismissed => {}
            () = reader.read(requests) => {}
        }
    });
    let answers = stream::unfold((begun, (place, endless, reading)), |(mut begun, held)| async move {
        let answer: Answer = begun.recv().await?;
        Some((answer.done().await, (begun, held)))
    });
    Ok(frame::replies(answers))
}

/// State of the task that reads the requests.
struct Reader {
    service: Service,
    scope: StreamScope,
    /// Last sign of life of the stream, for the limit on places.
    activity: Activity,
    answers: mpsc::Sender<Answer>,
}

impl Reader {
    /// Reads one request after the other and begins to work on each.
    async fn read(self, mut requests: split::Messages<FilterStreamRequest>) {
        // The next request is begun once the client has read most of the answers that it has.
        let place = async || {
            let place = self.answers.reserve().await;
            if let Some(unsent) = &self.scope.unsent {
                unsent.until_read().await;
            }
            place
        };
        while let Ok(place) = requests.while_waiting(place()).await {
            let Some(request) = requests.next().await else { return };
            let scope = self.scope.next();
            place.send(match request {
                Ok(FilterStreamRequest { id, filter }) => {
                    let admitted = self.admitted(scope, filter.unwrap_or_default());
                    let (scope, stage) = requests.while_waiting(admitted).await;
                    Answer::begin(self.answer(id, scope, stage))
                }
                Err(status) => Answer::Done(Err(status)),
            });
        }
    }

    /// Makes the changes of a request, where it has any: those that follow on the stream see them.
    async fn admitted(
        &self,
        scope: Result<RequestScope, Error>,
        request: FilterRequest,
    ) -> (Result<RequestScope, Error>, Result<Stage<Filter>, Error>) {
        match scope {
            Ok(mut scope) if Filter::has_changes(&request) => {
                let _work = self.activity.work();
                let admitted = driver::admit(&self.service, &mut scope, request).await;
                (Ok(scope), admitted)
            }
            scope => (scope, Ok(Stage::Decoded(request))),
        }
    }

    /// The work of one request, which holds its part of the stream's room.
    fn answer(
        &self,
        id: u64,
        scope: Result<RequestScope, Error>,
        stage: Result<Stage<Filter>, Error>,
    ) -> impl Future<Output = Result<Bytes, Status>> + Send + use<> {
        let (service, unsent, work) = (self.service.clone(), self.scope.unsent.clone(), self.activity.work());
        async move {
            let _work = work;
            let answer = async {
                let answer = match scope.and_then(|scope| Ok((scope, stage?))) {
                    Ok((scope, stage)) => {
                        driver::run(&service, scope, stage, |response| message::encode(&response)).await
                    }
                    Err(error) => Err(error),
                };
                // One that finds no room is an error of its request, which is small.
                frame::held(message::filter_stream(id, answer), unsent.as_ref())
                    .unwrap_or_else(|error| message::filter_stream(id, Err(error)).into())
            };
            // A panic would end the stream.
            let answer = AssertUnwindSafe(answer).catch_unwind().await;
            Ok(answer.unwrap_or_else(|_| message::filter_stream(id, Err(service.panicked_in_stream())).into()))
        }
    }
}

/// The answer of one request.
enum Answer {
    Done(Result<Bytes, Status>),
    /// It goes on by itself: a client that does not read the answers of its stream must not keep the requests that came with it.
    Begun(Spawned<Result<Bytes, Status>>),
}

impl Answer {
    /// Begins work at once; what is cached is done at once too.
    fn begin(work: impl Future<Output = Result<Bytes, Status>> + Send + 'static) -> Self {
        let mut work = Box::pin(work);
        match work.as_mut().now_or_never() {
            Some(done) => Self::Done(done),
            None => Self::Begun(Spawned::new(work)),
        }
    }

    async fn done(self) -> Result<Bytes, Status> {
        match self {
            Self::Done(done) => done,
            Self::Begun(work) => work.await.unwrap_or_else(|_| Err(Error::Internal.into())),
        }
    }
}
