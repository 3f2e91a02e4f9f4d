//! A sidecar in this process, and its clients: a core, and parties that a test scripts.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use nodesift_api::access::Access;
use nodesift_api::exposition::Exposition;
use nodesift_api::listen::{self, SocketFile};
use nodesift_api::router::router;
use nodesift_api::server::Server;
use nodesift_api::{BodyLimit, Readiness, Service, Settings, Staleness, limits};
use nodesift_cache::metadata::{self, Labels, PodSelector};
use nodesift_cache::{self as cache, SharedWriter};
use nodesift_engine::{ActivePolicy, Engine, OnError, OnUnknown, PolicyParty, PolicySettings};
use nodesift_negotiation::{Concern, OnSilence, Party, Scope};
use nodesift_policy::Policy;
use nodesift_proto::v1::negotiation_client::NegotiationClient;
use nodesift_proto::v1::negotiation_event::{Ended, Event};
use nodesift_proto::v1::parties_client::PartiesClient;
use nodesift_proto::v1::party_call::Call;
use nodesift_proto::v1::party_message::Message;
use nodesift_proto::v1::{self, pod};
use nodesift_sandbox::Runtime;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};

use crate::limits::FOLLOWER_GRACE;
use crate::record::{NoRecord, Record};
use crate::{BrokeredParties, Metrics};

/// For anything that should happen. A busy machine is slow.
pub(super) const TIME: Duration = Duration::from_secs(30);

pub(super) struct Sidecar {
    pub(super) service: Service,
    pub(super) parties: BrokeredParties,
    pub(super) metrics: Metrics,
    _server: Server,
    tcp: std::net::SocketAddr,
    _file: SocketFile,
    folder: tempfile::TempDir,
}

/// These predicates of the default policy, with time enough for a busy machine.
fn active(predicates: &[&str]) -> (ActivePolicy, Runtime) {
    let builtins: Vec<&str> = nodesift_bundle::BUILTINS.iter().map(|builtin| builtin.name).collect();
    let policy = Policy::read(nodesift_bundle::DEFAULT_POLICY, "the default policy", Path::new(""), &builtins).unwrap();
    let mut policy = policy.select(predicates).unwrap();
    policy.predicates.iter_mut().for_each(|predicate| predicate.limits.time_per_call = Some(TIME));
    // Compiled once for all tests: to compile the predicates of one takes a second.
    let program = std::env::current_exe().unwrap();
    let code = program.ancestors().nth(3).unwrap().join("tmp/nodesift/modules");
    let runtime = Runtime::start(Some(&code)).unwrap();
    (nodesift_policy::activate(&policy, 1, &runtime).unwrap(), runtime)
}

/// A party for all pods.
pub(super) fn party(name: &str, on_silence: OnSilence) -> PolicyParty {
    let party = Party { name: name.into(), concern: Concern::Pods, scope: Scope::Pod, on_silence };
    let pods = PodSelector { namespace_requirements: Some(Vec::new()), ..PodSelector::default() };
    PolicyParty { party, pods, nodes: Labels::default(), on_unknown: OnUnknown::default(), deadline: None }
}

/// A party for claims of the class with its name.
pub(super) fn party_for_claims(name: &str) -> PolicyParty {
    let party = party(name, OnSilence::Wait);
    PolicyParty { party: Party { concern: Concern::DeviceClass(name.into()), ..party.party }, ..party }
}

pub(super) fn node(number: usize) -> String {
    format!("node-{number:03}")
}

pub(super) fn names(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(node).collect()
}

impl Sidecar {
    /// One with so many nodes of one core each, the pods `p0`, `p1`, … that ask for one, and these parties.
    pub(super) async fn start(nodes: usize, pods: usize, parties: Vec<PolicyParty>) -> Self {
        Self::start_with(nodes, pods, parties, Arc::new(NoRecord::default())).await
    }

    /// One that has a record of decisions.
    pub(super) async fn start_with(
        nodes: usize,
        pods: usize,
        parties: Vec<PolicyParty>,
        record: Arc<dyn Record>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::start_in(folder, nodes, pods, parties, record, (FOLLOWER_GRACE, Staleness::default())).await
    }

    /// One that takes a core for lost as soon as it follows no more, where its source is not silent.
    pub(super) async fn start_without_grace(
        nodes: usize,
        pods: usize,
        parties: Vec<PolicyParty>,
        staleness: Staleness,
    ) -> Self {
        let (folder, record) = (tempfile::tempdir().unwrap(), Arc::new(NoRecord::default()));
        Self::start_in(folder, nodes, pods, parties, record, (Duration::ZERO, staleness)).await
    }

    async fn start_in(
        folder: tempfile::TempDir,
        nodes: usize,
        pods: usize,
        parties: Vec<PolicyParty>,
        record: Arc<dyn Record>,
        (grace, staleness): (Duration, Staleness),
    ) -> Self {
        let (mut writer, reader) = cache::new();
        for number in 0..nodes {
            let object = json!({"metadata": {"name": node(number), "labels": {"rack": format!("{}", number % 4)}},
                                "status": {"allocatable": {"cpu": "1", "pods": "110"}}});
            writer.apply(metadata::node(&serde_json::from_value(object).unwrap()));
        }
        for number in 0..pods {
            writer.apply(metadata::pod_record(&decoded(&pod_object(&format!("p{number}"))), &schedulers()));
        }
        writer.publish();
        let (mut active, runtime) = active(&["NodeName", "NodeResourcesFit"]);
        // No predicate here looks at claims: parties do.
        active.settings = Arc::new(PolicySettings {
            parties: parties.into(),
            on_unsupported: OnError::Ignore,
            ..PolicySettings::default()
        });
        let engine = Arc::new(Engine::new(reader, active, runtime));
        let writer = SharedWriter::new(writer.into());
        let service = Service::new(engine, writer, Readiness::default(), Settings { staleness, ..Settings::default() });
        let metrics = Metrics::default();
        let parties = BrokeredParties::with_grace(service.clone(), metrics.clone(), record, grace);
        let service = service.with_parties(Arc::new(parties.clone()));
        let exposition = Exposition::new(Registry::default());
        let router = router(service.clone(), Access::default(), BodyLimit(limits::BODY_BYTES), exposition);
        let (listener, file) = listen::bind_unix(&folder.path().join("n.sock")).await.unwrap();
        let mut server = Server::new(router);
        server.listen_unix(listener).unwrap();
        let listener = listen::bind_tcp("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let tcp = listener.local_addr().unwrap();
        server.listen_tcp(listener, None);
        Self { service, parties, metrics, _server: server, tcp, _file: file, folder }
    }

    /// Another sidecar at the same address, which knows nothing of this one.
    pub(super) async fn restart(self, nodes: usize, pods: usize, parties: Vec<PolicyParty>) -> Self {
        let Self { service, parties: brokered, metrics: _, _server: server, tcp: _, _file: file, folder } = self;
        server.drain(|| service.readiness().drain()).await;
        drop((service, brokered, file));
        let told = (FOLLOWER_GRACE, Staleness::default());
        Self::start_in(folder, nodes, pods, parties, Arc::new(NoRecord::default()), told).await
    }

    fn endpoint(&self) -> Endpoint {
        let path = self.folder.path().join("n.sock");
        Endpoint::from_shared(format!("unix:{}", path.display())).unwrap()
    }

    pub(super) async fn channel(&self) -> Channel {
        self.endpoint().connect().await.unwrap()
    }

    pub(super) async fn core(&self) -> Core {
        Core(NegotiationClient::new(self.channel().await))
    }

    pub(super) async fn channel_over_tcp(&self) -> Channel {
        Endpoint::from_shared(format!("http://{}", self.tcp)).unwrap().connect().await.unwrap()
    }

    /// A core without a certificate.
    pub(super) async fn core_over_tcp(&self) -> Core {
        Core(NegotiationClient::new(self.channel_over_tcp().await))
    }

    /// A core whose transport reads at most so many bytes of a stream ahead.
    pub(super) async fn core_with_window(&self, bytes: u32) -> Core {
        let channel = self.endpoint().initial_stream_window_size(bytes).connect().await.unwrap();
        Core(NegotiationClient::new(channel))
    }

    pub(super) async fn party(&self, name: &str) -> Attending {
        let mut party = Attending::open(self.channel().await).await;
        party.send(Message::Attend(v1::PartyAttend { party: name.to_owned() }));
        self.until(|overview| {
            overview["parties"]
                .as_array()
                .unwrap()
                .iter()
                .any(|known| known["party"] == name && known["attends"] == true)
        })
        .await;
        party
    }

    pub(super) async fn overview(&self) -> Value {
        serde_json::to_value(self.parties.ask_for_overview().await).unwrap()
    }

    /// Waits until an overview is as wanted.
    pub(super) async fn until(&self, is_wanted: impl Fn(&Value) -> bool) {
        let waiting = async {
            while !is_wanted(&self.overview().await) {
                tokio::task::yield_now().await;
            }
        };
        if timeout(TIME, waiting).await.is_err() {
            panic!("still {}", self.overview().await);
        }
    }

    /// The node on which a pod counts.
    pub(super) fn node_of(&self, pod: &str) -> Option<String> {
        self.service.reader().pods().by_uid(pod).and_then(|pod| pod.node_name.as_ref().map(ToString::to_string))
    }

    /// Changes the cache, as a watch does.
    pub(super) fn write(&self, change: impl FnOnce(&mut cache::Writer)) {
        let mut writer = self.service.writer().lock();
        change(&mut writer);
        writer.publish();
    }
}

pub(super) fn schedulers() -> Vec<String> {
    vec!["default-scheduler".to_owned()]
}

pub(super) fn decoded<T: serde::de::DeserializeOwned>(object: &Value) -> T {
    serde_json::from_value(object.clone()).unwrap()
}

/// A pod that asks for half a core and something more, so that a node has room for one.
pub(super) fn pod_object(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "ns", "uid": name, "labels": {"app": "web"}},
           "spec": {"containers": [{"resources": {"requests": {"cpu": "600m"}}}]}})
}

pub(super) fn request(pod: &str) -> v1::NegotiateRequest {
    v1::NegotiateRequest { pod: Some(v1::Pod::from(pod::Pod::Uid(pod.to_owned()))), ..Default::default() }
}

/// Client of the calls of a core.
#[derive(Clone)]
pub(super) struct Core(NegotiationClient<Channel>);

impl Core {
    pub(super) async fn negotiate(&mut self, request: v1::NegotiateRequest) -> Result<Events, Status> {
        Ok(Events { stream: self.0.negotiate(request).await?.into_inner(), id: 0 })
    }

    pub(super) async fn select(&mut self, id: u64, nodes: Vec<String>) -> Result<Events, Status> {
        let request = v1::SelectRequest { id, nodes, ..Default::default() };
        Ok(Events { stream: self.0.select(request).await?.into_inner(), id })
    }

    pub(super) async fn release(&mut self, id: u64) -> Result<(), Status> {
        self.0.release(v1::ReleaseRequest { id }).await.map(drop)
    }

    /// Follows what parties say, for as long as what is returned is there.
    pub(super) async fn follow(&mut self) -> Streaming<v1::PartyWord> {
        self.0.follow(v1::FollowRequest {}).await.unwrap().into_inner()
    }

    /// Negotiates to the agreement, and returns the id and the nodes.
    pub(super) async fn agree(&mut self, request: v1::NegotiateRequest) -> (u64, Vec<String>) {
        let mut events = self.negotiate(request).await.unwrap();
        let viable = loop {
            match events.next().await {
                Event::Viable(viable) => break viable.nodes,
                Event::Asked(_) => {}
                other => panic!("expected an agreement: {other:?}"),
            }
        };
        assert_eq!(events.end().await.end(), v1::End::Viable);
        (events.id, viable)
    }
}

/// The events of a negotiation.
pub(super) struct Events {
    stream: Streaming<v1::NegotiationEvent>,
    pub(super) id: u64,
}

impl Events {
    pub(super) async fn next(&mut self) -> Event {
        let event = timeout(TIME, self.stream.message()).await.unwrap().unwrap();
        let event = event.unwrap();
        assert!(event.id != 0 && event.version.is_some(), "{event:?}");
        self.id = event.id;
        event.event.unwrap()
    }

    /// The next event, if the stream goes on; or the status with which it fails.
    pub(super) async fn try_next(&mut self) -> Result<Option<Event>, Status> {
        let event = timeout(TIME, self.stream.message()).await.unwrap()?;
        Ok(event.map(|event| event.event.unwrap()))
    }

    /// How the stream ends, once everything before it is read.
    pub(super) async fn end(&mut self) -> Ended {
        loop {
            if let Event::Ended(ended) = self.next().await {
                assert!(self.stream.message().await.unwrap().is_none(), "nothing follows the end");
                return ended;
            }
        }
    }

    pub(super) async fn status(&mut self) -> Option<Status> {
        loop {
            match timeout(TIME, self.stream.message()).await.unwrap() {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(status) => return Some(status),
            }
        }
    }
}

/// Client at the other end of a party's stream.
pub(super) struct Attending {
    say: mpsc::UnboundedSender<v1::PartyMessage>,
    pub(super) calls: Streaming<v1::PartyCall>,
}

impl Attending {
    pub(super) async fn open(channel: Channel) -> Self {
        let (say, said) = mpsc::unbounded_channel();
        let said = stream::unfold(said, |mut said| async move { Some((said.recv().await?, said)) });
        let calls = PartiesClient::new(channel).attend(said).await.unwrap();
        Self { say, calls: calls.into_inner() }
    }

    pub(super) fn send(&mut self, message: Message) {
        // Where the stream has ended, the test sees that in its calls.
        let _ended = self.say.send(v1::PartyMessage { message: Some(message) });
    }

    pub(super) async fn call(&mut self) -> Call {
        let call = timeout(TIME, self.calls.message()).await.unwrap().unwrap();
        call.unwrap().call.unwrap()
    }

    pub(super) async fn status(&mut self) -> Option<Status> {
        loop {
            match timeout(TIME, self.calls.message()).await.unwrap() {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(status) => return Some(status),
            }
        }
    }

    /// Returns the next question, and skips withdrawals.
    pub(super) async fn ask(&mut self) -> v1::Ask {
        loop {
            match self.call().await {
                Call::Ask(ask) => return ask,
                Call::Withdraw(_) => {}
                other => panic!("expected a question: {other:?}"),
            }
        }
    }

    pub(super) async fn allocate(&mut self) -> v1::Allocate {
        loop {
            match self.call().await {
                Call::Allocate(allocate) => return allocate,
                Call::Withdraw(_) => {}
                other => panic!("expected a call to allocate: {other:?}"),
            }
        }
    }

    pub(super) async fn deallocate(&mut self) -> v1::Deallocate {
        loop {
            match self.call().await {
                Call::Deallocate(deallocate) => return deallocate,
                Call::Withdraw(_) => {}
                other => panic!("expected a call to deallocate: {other:?}"),
            }
        }
    }

    /// Returns the next call to deallocate of a party that may be told of bound pods again.
    pub(super) async fn deallocate_after_bound(&mut self) -> v1::Deallocate {
        loop {
            match self.call().await {
                Call::Deallocate(deallocate) => return deallocate,
                Call::Bound(_) | Call::Withdraw(_) => {}
                other => panic!("expected a call to deallocate: {other:?}"),
            }
        }
    }

    /// Answers that these nodes do not suit, for a time.
    pub(super) fn refuse(&mut self, ask: &v1::Ask, nodes: &[String], valid_ms: u32) {
        let asked: BTreeSet<&String> = ask.nodes.iter().chain(&ask.recheck).collect();
        let nodes = nodes.iter().filter(|node| asked.contains(node));
        let nodes =
            nodes.map(|node| v1::Unsuitable { node: node.clone(), reason: "full".into(), claim: String::new() });
        self.send(Message::Answer(v1::Answer { id: ask.id, nodes: nodes.collect(), valid_ms, ..Default::default() }));
    }

    pub(super) fn allocated(&mut self, allocate: &v1::Allocate, nodes: &[String]) {
        let claims = allocate.claims.iter().map(|claim| claim.uid.clone()).collect();
        self.send(Message::Allocated(v1::PartyAllocated { id: allocate.id, claims, nodes: nodes.to_vec() }));
    }
}
