//! `grpc.health.v1.Health`: readiness and liveness for probes that speak gRPC, such as Envoy's and the kubelet's.
//!
//! The empty service and `nodesift.v1.Nodesift` are serving while `/readyz` answers 200, `liveness` is while `/livez` does.
//! Start at [`server`].

use std::pin::Pin;

use axum::http::StatusCode;
use futures_util::{Stream, StreamExt as _, stream};
use nodesift_proto::v1::nodesift_server;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::access::MayName;
use crate::admission::scope::RequestScope;
use crate::{Error, Service, limits};
use nodesift_edge::places::{self, Place};
use nodesift_edge::unsent::Endless;

/// The service whose status is that of `/livez`.
const LIVENESS: &str = "liveness";

/// The health of one sidecar.
#[derive(Debug)]
pub(crate) struct Probe {
    service: Service,
}

/// gRPC server of the health service.
pub(crate) fn server(service: Service) -> HealthServer<Probe> {
    HealthServer::new(Probe { service })
}

/// Object of a health check, selected by the name of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Liveness,
    Readiness,
}

impl Subject {
    fn named(name: &str) -> Option<Self> {
        match name {
            "" | nodesift_server::SERVICE_NAME => Some(Self::Readiness),
            LIVENESS => Some(Self::Liveness),
            _ => None,
        }
    }

    fn status(self, service: &Service) -> ServingStatus {
        let serves = match self {
            Self::Liveness => service.readiness().is_live(),
            Self::Readiness => service.readiness().report(service.staleness(), MayName(false)).0 == StatusCode::OK,
        };
        if serves { ServingStatus::Serving } else { ServingStatus::NotServing }
    }
}

#[tonic::async_trait]
impl Health for Probe {
    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        let name = request.into_inner().service;
        let subject = Subject::named(&name).ok_or_else(|| unknown(&name))?;
        Ok(Response::new(response(subject.status(&self.service))))
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        // The middleware has put it there.
        let scope = request.extensions().get::<RequestScope>().cloned().ok_or(Error::Internal)?;
        let place = self.service.enter_health_watch(&scope).await?;
        let (dismissed, closing, endless) = (place.dismissed(), scope.peer.closing(), scope.peer.endless());
        let ended = Box::pin(async move {
            tokio::select! {
                () = dismissed => {}
                () = closing => {}
            }
        });
        let mut ticks = interval(limits::HEALTH_TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let subject = Subject::named(&request.into_inner().service);
        let watch = Watch { service: self.service.clone(), subject, sent: None, ticks, _held: (place, endless) };
        let statuses = stream::unfold(watch, |mut watch| async move {
            let status = watch.next().await?;
            Some((Ok(response(status)), watch))
        });
        let statuses = statuses.take_until(ended);
        let mut response: Response<Self::WatchStream> = Response::new(Box::pin(statuses));
        response.extensions_mut().insert(Endless);
        Ok(response)
    }
}

/// The state of one watch.
struct Watch {
    service: Service,
    /// None for an unknown service: the protocol has a status for it, and no error.
    subject: Option<Subject>,
    sent: Option<ServingStatus>,
    ticks: Interval,
    _held: (Place, places::Endless),
}

impl Watch {
    /// The next status that differs from the one before; none after the one that tells of a drain.
    async fn next(&mut self) -> Option<ServingStatus> {
        loop {
            let drained = self.service.readiness().drained();
            let drains = tokio::select! {
                biased;
                () = drained => true,
                _ = self.ticks.tick() => false,
            };
            let status = self.subject.map_or(ServingStatus::ServiceUnknown, |subject| subject.status(&self.service));
            if self.sent != Some(status) {
                self.sent = Some(status);
                return Some(status);
            }
            if drains {
                return None;
            }
        }
    }
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}

fn unknown(name: &str) -> Status {
    let text = format!("no service {name:?}: ask for \"\", {:?} or {LIVENESS:?}", nodesift_server::SERVICE_NAME);
    Status::not_found(text.chars().take(limits::ERROR_BYTES / 4).collect::<String>())
}
