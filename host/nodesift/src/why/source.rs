//! Where answers about pending pods come from: a sidecar, or the engine in this process over cluster files or one list.
//!
//! What is typed wins, then what the environment names; without either the sidecar of this machine is asked, and where none listens the
//! kubeconfig's cluster is listed with the user's own rights. stderr says which it was. Start at [`Source::open`].

use std::path::Path;

use anyhow::{Context as _, anyhow};
use nodesift_proto::v1;
use nodesift_proto::v1::operators_client::OperatorsClient;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::groups::{self, Grouped};
use super::known::{self, KnownPod};
use super::near;
use super::nodes::{self, NodeRow};
use super::objects::{FileObjects, KubeObjects, Objects, SidecarObjects};
use super::question::by_name;
use super::subject::Selector;
use crate::args::{GroupBy, PodKey, PolicyArgs, SourceArgs};
use crate::ask::listed::{self, ListedCluster};
use crate::client::{self, Endpoint, Named};
use crate::cluster::{self, Origin};
use crate::exit::Failure;
use crate::{limits, serve, terminal};
use nodesift_api::local;
use nodesift_cache::Row;
use nodesift_engine::Engine;
use nodesift_source::kube::connection;

/// Answers about pending pods, and whole objects.
pub(crate) struct Source {
    answering: Answering,
    objects: Box<dyn Objects>,
}

enum Answering {
    /// In this process, which holds the policy and the cluster.
    Engine(Box<Engine>),
    Sidecar(Box<Sidecar>),
}

/// A sidecar that answers.
struct Sidecar {
    runtime: Runtime,
    client: OperatorsClient<Channel>,
    endpoint: Endpoint,
    url: String,
}

/// The namespace of pods that are named without one: that of the kubeconfig's context, unless the cluster is in files.
pub(super) fn namespace(args: &SourceArgs) -> Option<String> {
    if !args.cluster.is_empty() {
        return None;
    }
    connection::context_namespace(&args.listed.default_origin())
}

impl Source {
    /// Opens the source that arguments and machine name, and says on stderr which that is.
    ///
    /// # Errors
    ///
    /// [`Failure::Unavailable`] if there is none that answers; [`Failure::Data`], [`Failure::Policy`] and [`Failure::Usage`] as for the
    /// other commands.
    pub(crate) fn open(args: &SourceArgs) -> anyhow::Result<Self> {
        Self::opened(args, listed::Say::What)
    }

    /// Opens the source again, as [`Self::open`] does: which it is has been said.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub(crate) fn reopen(args: &SourceArgs) -> anyhow::Result<Self> {
        Self::opened(args, listed::Say::Nothing)
    }

    fn opened(args: &SourceArgs, say: listed::Say) -> anyhow::Result<Self> {
        if !args.cluster.is_empty() {
            return Self::files(args);
        }
        if let Some(origin) = args.listed.origin() {
            return Self::list(&origin, args, say);
        }
        let at = |socket: &Path| Self::sidecar("--socket", &format!("unix:{}", socket.display()));
        // A policy of one's own is none that a sidecar answers by.
        let may_answer = |socket: &Path| socket.exists() && !has_policy(args);
        match Named::find(args.server.as_deref(), args.socket.as_deref()) {
            Some(Named::Server { url, option }) => {
                check_remote(args)?;
                return Self::sidecar(option, &url);
            }
            Some(Named::Socket(socket)) => {
                check_remote(args)?;
                return at(&socket);
            }
            Some(Named::SocketOfEnvironment(socket)) if may_answer(&socket) => return at(&socket),
            Some(Named::SocketOfEnvironment(_)) => {}
            None => {
                if let Some(socket) = serve::socket_path(None).ok().filter(|socket| may_answer(socket)) {
                    match at(&socket) {
                        // Its file outlives a process that was killed.
                        Err(error) => say.note(&format!("{error:#}: the cluster is listed instead")),
                        opened => return opened,
                    }
                }
            }
        }
        Self::list(&args.listed.default_origin(), args, say)
    }

    fn files(args: &SourceArgs) -> anyhow::Result<Self> {
        let opened = cluster::open(&Origin::Files(&args.cluster), &args.policy)?;
        cluster::note_summary(&opened.summary);
        let objects = Box::new(FileObjects(args.cluster.clone()));
        Ok(Self { answering: Answering::Engine(Box::new(opened.engine)), objects })
    }

    fn list(origin: &connection::Origin, args: &SourceArgs, say: listed::Say) -> anyhow::Result<Self> {
        let ListedCluster { engine, runtime, connection, .. } =
            listed::open(origin, &args.policy, &args.listed.skip, say)?;
        let objects = Box::new(KubeObjects::new(runtime, connection));
        Ok(Self { answering: Answering::Engine(Box::new(engine)), objects })
    }

    /// A running sidecar, by a URL and what that is from.
    fn sidecar(option: &str, url: &str) -> anyhow::Result<Self> {
        let endpoint = Endpoint::from_server(option, url)?;
        let channel =
            client::channel(option, url)?.connect_timeout(limits::CLIENT_CONNECT).timeout(limits::CLIENT_ANSWER);
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot start the network client")?;
        let channel = runtime.block_on(channel.connect()).map_err(|error| {
            Failure::Unavailable(anyhow!(error).context(format!("cannot reach a sidecar at {url}")))
        })?;
        let client = OperatorsClient::new(channel).max_decoding_message_size(limits::CLIENT_ANSWER_BYTES);
        terminal::note(&format!("from the sidecar at {url}"));
        let objects = Box::new(SidecarObjects(endpoint.clone()));
        let sidecar = Sidecar { runtime, client, endpoint, url: url.to_owned() };
        Ok(Self { answering: Answering::Sidecar(Box::new(sidecar)), objects })
    }

    /// Whether it shows changes without being opened again.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.answering, Answering::Sidecar(_))
    }

    /// Whole objects, for what-ifs.
    pub(super) fn objects(&mut self) -> &mut dyn Objects {
        &mut *self.objects
    }

    /// Asks why a pod is pending.
    ///
    /// # Errors
    ///
    /// [`Failure::Data`] if the pod, or every node, is not there, the pod has a node, or a field is wrong; [`Failure::Unavailable`] if there
    /// is no answer.
    pub(crate) fn why(&mut self, request: v1::WhyRequest) -> anyhow::Result<v1::WhyResponse> {
        self.ask(request).map_err(Refused::failure)
    }

    /// Asks why a pod is pending, for callers who tell refusals apart.
    ///
    /// # Errors
    ///
    /// The code of gRPC, and the message.
    pub(super) fn ask(&mut self, request: v1::WhyRequest) -> Result<v1::WhyResponse, Refused> {
        match &mut self.answering {
            Answering::Engine(engine) => local::why(engine, request, limits::CLIENT_ANSWER)
                .map_err(|error| Refused { code: error.status().0, error: anyhow!("{}", error.text()) }),
            Answering::Sidecar(sidecar) => {
                let Sidecar { runtime, client, url, .. } = &mut **sidecar;
                let answer = runtime.block_on(client.why(request));
                answer.map(tonic::Response::into_inner).map_err(|status| refused(&status, url))
            }
        }
    }

    /// Asks about a pod by name; where it, or a node of the question, is not there, proposes names that are near, and where the pod is bound
    /// says what to ask instead.
    ///
    /// # Errors
    ///
    /// As [`Self::why`].
    pub(crate) fn why_named(&mut self, key: &PodKey, request: v1::WhyRequest) -> anyhow::Result<v1::WhyResponse> {
        let asked: Vec<String> = request.nodes.iter().flat_map(|subset| subset.names.clone()).collect();
        let refused = match self.ask(request) {
            Err(refused) if matches!(refused.code, Code::NotFound | Code::FailedPrecondition) => refused,
            answer => return answer.map_err(Refused::failure),
        };
        let code = refused.code;
        let error = refused.failure();
        let hint = match code {
            Code::FailedPrecondition => Some(format!(
                "what each predicate says of it, explain --pod {key} shows; whether another pod like it would fit, why -f MANIFEST"
            )),
            _ => self.near(key, &asked),
        };
        match hint {
            Some(hint) => Err(Failure::Data(anyhow!("{error:#}; {hint}")).into()),
            None => Err(error),
        }
    }

    /// The names that may be meant where a pod, or one of these nodes, is not there; none where nothing is like it, or nobody tells.
    fn near(&self, key: &PodKey, asked: &[String]) -> Option<String> {
        let known = self.known().ok()?;
        let (what, near) = match known.iter().any(|pod| pod.key == *key) {
            false => ("pods", near::pods(key, &known)),
            // The pod is there, so that it is a node which is not.
            true => ("nodes", asked.iter().flat_map(|name| self.near_nodes(name)).collect()),
        };
        match near.as_slice() {
            [] if self.nodes().is_ok_and(|nodes| nodes.contains(&key.name)) => {
                Some(format!("it is the name of a node: name a pod, and the node with --node {}", key.name))
            }
            [] => None,
            near => Some(format!("{what} with a name like it: {}", near.join(", "))),
        }
    }

    /// The pods of which the source knows, bound ones too.
    fn known(&self) -> anyhow::Result<Vec<KnownPod>> {
        match &self.answering {
            Answering::Engine(engine) => Ok(known::of_engine(engine)),
            Answering::Sidecar(sidecar) => known::of_sidecar(&sidecar.endpoint),
        }
    }

    /// Names of nodes that are like one that is not there; none where nobody answers.
    pub(super) fn near_nodes(&self, name: &str) -> Vec<String> {
        self.nodes().map(|nodes| near::nodes(name, &nodes)).unwrap_or_default()
    }

    /// Names of the nodes in the order of rows. Of a sidecar those of its first rows.
    fn nodes(&self) -> anyhow::Result<Vec<String>> {
        match &self.answering {
            Answering::Engine(engine) => {
                let snapshot = engine.snapshot();
                let rows = u32::try_from(snapshot.node_count()).unwrap_or(u32::MAX);
                Ok((0..rows).map(|row| snapshot.node_name(Row(row)).to_owned()).collect())
            }
            Answering::Sidecar(sidecar) => {
                let page = client::document(&sidecar.endpoint, "/v1/nodes?columns=name", limits::CLIENT_PENDING_BYTES)?;
                let names = page["columns"]["name"].as_array().into_iter().flatten();
                Ok(names.filter_map(Value::as_str).map(str::to_owned).collect())
            }
        }
    }

    /// Names of cordoned nodes in the order of rows, `most` at most. Of a sidecar those among its first rows.
    ///
    /// # Errors
    ///
    /// [`Failure::Unavailable`] if a sidecar does not answer.
    pub(super) fn cordoned(&self, most: usize) -> anyhow::Result<Vec<String>> {
        match &self.answering {
            Answering::Engine(engine) => {
                let snapshot = engine.snapshot();
                let flags = snapshot.unschedulable().flat();
                let rows = (0_u32..).map(Row).zip(&*flags).filter(|(_, flag)| **flag != 0);
                Ok(rows.take(most).map(|(row, _)| snapshot.node_name(row).to_owned()).collect())
            }
            Answering::Sidecar(sidecar) => {
                let path = "/v1/nodes?columns=name,unschedulable";
                let page = client::document(&sidecar.endpoint, path, limits::CLIENT_PENDING_BYTES)?;
                let column = |name: &str| page["columns"][name].as_array().into_iter().flatten();
                let nodes = column("name").zip(column("unschedulable")).filter(|(_, flag)| flag.as_u64() == Some(1));
                Ok(nodes.filter_map(|(name, _)| name.as_str()).take(most).map(str::to_owned).collect())
            }
        }
    }

    /// When a core last asked about a pod, in words; empty where there is no sidecar, or it does not tell.
    pub(super) fn asked(&self, key: &PodKey) -> String {
        let Answering::Sidecar(sidecar) = &self.answering else { return String::new() };
        let (namespace, name) = (super::objects::encoded(&key.namespace), super::objects::encoded(&key.name));
        let path = format!("/v1/pods/{namespace}/{name}/history");
        // Whoever may ask why need not be allowed to see who asked, and the list of pending pods need not be kept.
        match client::document(&sidecar.endpoint, &path, limits::CLIENT_OBJECT_BYTES) {
            Ok(history) => last_asked(&history["asked"]),
            Err(_) => String::new(),
        }
    }

    /// The pending pods by namespace and name: those of a namespace, with these labels.
    ///
    /// # Errors
    ///
    /// [`Failure::Unavailable`] if a sidecar does not answer, [`Failure::Usage`] if it is to select by labels, which it does not list.
    pub(crate) fn pending(
        &mut self,
        namespace: Option<&str>,
        selector: Option<&Selector>,
    ) -> anyhow::Result<Vec<PodKey>> {
        match &mut self.answering {
            Answering::Engine(engine) => {
                let pods = engine.pending_pods();
                let pods = pods.iter().filter(|pod| {
                    let label = |key: &str| pod.facts.label(key).map(|value| &**value);
                    namespace.is_none_or(|namespace| *pod.namespace == *namespace)
                        && selector.is_none_or(|selector| selector.matches(label))
                });
                Ok(pods.map(|pod| key_of(pod)).collect())
            }
            Answering::Sidecar(_) if selector.is_some() => {
                let text = "a sidecar does not list the labels of pods: name pods, or use -l with --kube";
                Err(Failure::Usage(text.to_owned()).into())
            }
            Answering::Sidecar(sidecar) => pending_of(&sidecar.endpoint, namespace),
        }
    }
}

impl Source {
    /// The pending pods in groups, those with the most pods first.
    ///
    /// # Errors
    ///
    /// As [`Self::pending`], and those of an evaluation; [`Failure::Usage`] if a sidecar is to leave predicates out, which its list does not.
    pub(crate) fn groups(&mut self, by: GroupBy, namespace: Option<&str>, skip: &[String]) -> anyhow::Result<Grouped> {
        if let Answering::Sidecar(sidecar) = &self.answering {
            if !skip.is_empty() {
                let text = "a sidecar counts by its whole policy: leave --skip out, or use --kube";
                return Err(Failure::Usage(text.to_owned()).into());
            }
            let mut path = format!("/v1/pending?limit=0&by={}", by.name());
            if let Some(namespace) = namespace {
                path.push_str(&format!("&namespace={}", super::objects::encoded(namespace)));
            }
            return Ok(groups::listed(&client::document(&sidecar.endpoint, &path, limits::CLIENT_PENDING_BYTES)?));
        }
        let keys = self.pending(namespace, None)?;
        if keys.len() > limits::WHY_PODS {
            terminal::note(&format!("warning: {} pods are pending; the first {} count", keys.len(), limits::WHY_PODS));
        }
        let mut answers = Vec::new();
        for key in keys.iter().take(limits::WHY_PODS) {
            let request = v1::WhyRequest {
                pod: Some(by_name(key)),
                skip: skip.to_vec(),
                nearest: Some(0),
                ..v1::WhyRequest::default()
            };
            answers.push(self.why(request)?);
        }
        Ok(groups::grouped(&answers, by))
    }
}

impl Source {
    /// Amounts of these resources on each node, with the value of a label.
    ///
    /// # Errors
    ///
    /// [`Failure::Unavailable`] if a sidecar does not answer.
    pub(crate) fn node_rows(&self, by: Option<&str>, resources: &[String]) -> anyhow::Result<Vec<NodeRow>> {
        let sidecar = match &self.answering {
            Answering::Engine(engine) => return Ok(nodes::of_snapshot(&engine.snapshot(), by, resources)),
            Answering::Sidecar(sidecar) => sidecar,
        };
        let mut rows: Vec<NodeRow> = Vec::new();
        let (mut of, mut turn) = (Value::Null, 0);
        loop {
            let path = nodes::path(by, resources, rows.len(), limits::NODE_ROWS);
            let page = client::document(&sidecar.endpoint, &path, limits::CLIENT_NODES_BYTES)?;
            // Where a node has gone meanwhile, the last one is in its row: it would be lost, or be there twice.
            let now = [&page["epoch"], &page["nodes"]].map(Value::clone).into_iter().collect::<Value>();
            if !rows.is_empty() && now != of && turn < limits::WHY_REPEATS {
                rows.clear();
                turn += 1;
                continue;
            }
            of = now;
            let mut found = nodes::of_page(&page, by, resources);
            let is_last = found.len() < limits::NODE_ROWS;
            rows.append(&mut found);
            if is_last {
                return Ok(rows);
            }
        }
    }
}

/// The last question of a core, as a sidecar tells it.
fn last_asked(asked: &Value) -> String {
    let number = |field: &str| asked[field].as_u64().unwrap_or(0);
    let text = |field: &str| asked[field].as_str().unwrap_or_default();
    if !asked.is_object() {
        return "by no core that this sidecar knows of".to_owned();
    }
    let times = terminal::counted(usize::try_from(number("count")).unwrap_or(usize::MAX), "time");
    format!("{} s ago by {}, {times}; the answer was {}", number("secondsAgo"), text("by"), text("result"))
}

/// Namespace and name of a pod.
pub(crate) fn key_of(pod: &nodesift_cache::metadata::PodRecord) -> PodKey {
    PodKey { namespace: pod.namespace.to_string(), name: pod.name.to_string() }
}

/// The pending pods of a sidecar, of one namespace or of all: all pages of the list that it keeps.
///
/// # Errors
///
/// [`Failure::Unavailable`] if it does not answer, or keeps no list.
pub(crate) fn pending_of(endpoint: &Endpoint, namespace: Option<&str>) -> anyhow::Result<Vec<PodKey>> {
    let (mut keys, mut after) = (Vec::new(), None::<String>);
    // A list that changes while it is read may have no end.
    while keys.len() <= limits::WHY_PODS {
        let mut path = "/v1/pending?limit=1000".to_owned();
        for (name, value) in [("namespace", namespace), ("after", after.as_deref())] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", super::objects::encoded(value)));
            }
        }
        let page = client::document(endpoint, &path, limits::CLIENT_PENDING_BYTES)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let pods = page["pods"].as_array().into_iter().flatten();
        keys.extend(pods.map(|pod| PodKey { namespace: text(&pod["namespace"]), name: text(&pod["name"]) }));
        match page["next"].as_str().filter(|next| !next.is_empty()) {
            Some(next) if after.as_deref() != Some(next) => after = Some(next.to_owned()),
            _ => break,
        }
    }
    Ok(keys)
}

/// Checks that nothing is asked for which only an engine in this process does.
fn check_remote(args: &SourceArgs) -> Result<(), Failure> {
    if has_policy(args) {
        let text =
            "a sidecar answers by its own policy: leave --policy, --predicates and --kubernetes out, or name a cluster";
        return Err(Failure::Usage(text.to_owned()));
    }
    Ok(())
}

fn has_policy(args: &SourceArgs) -> bool {
    let PolicyArgs { policy, predicates, kubernetes, scored: _ } = &args.policy;
    policy.is_some() || !predicates.is_empty() || kubernetes.is_some()
}

/// A question that was not answered.
pub(super) struct Refused {
    pub(super) code: Code,
    error: anyhow::Error,
}

impl Refused {
    #[cfg(test)]
    pub(super) fn new(code: Code, text: &'static str) -> Self {
        Self { code, error: anyhow!(text) }
    }

    /// The failure that it is for the command.
    pub(super) fn failure(self) -> anyhow::Error {
        match self.code {
            Code::InvalidArgument | Code::NotFound | Code::FailedPrecondition => Failure::Data(self.error).into(),
            Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unimplemented => {
                Failure::Unavailable(self.error).into()
            }
            _ => self.error,
        }
    }
}

fn refused(status: &Status, url: &str) -> Refused {
    let message = match status.code() {
        Code::Unimplemented => anyhow!("it does not know this question: it is of an earlier version"),
        _ => anyhow!("{}", status.message()),
    };
    Refused { code: status.code(), error: message.context(format!("the sidecar at {url}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asked_last_is_told_in_words() {
        let asked = serde_json::json!({"secondsAgo": 3, "by": "unix uid:0", "result": "fits", "count": 2});
        assert_eq!(last_asked(&asked), "3 s ago by unix uid:0, 2 times; the answer was fits");
        assert_eq!(last_asked(&Value::Null), "by no core that this sidecar knows of");
    }
}
