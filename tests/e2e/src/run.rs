//! The run: a cluster is created, the sidecar starts, and the cluster changes while faults are injected one after the other.
//! After each part the sidecar's state must equal the API server's.
//!
//! Start at [`run`], which has the parts in order.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use nodesift_fixtures::json::text;
use nodesift_tests::http;
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::timeout;
use serde_json::{Value, json};

use crate::Args;
use crate::api::{Api, Write};
use crate::asker::{self, Asker};
use crate::claims;
use crate::history::History;
use crate::judge;
use crate::kinds::{PODS, collection};
use crate::lagging;
use crate::policies;
use crate::programs::{ADMIN_TOKEN, ApiServer, Etcd, SIDECAR_TOKEN};
use crate::progress::{Progress, seconds};
use crate::steps::GONE_NODES;
use crate::wire::{State, Wire};

/// Number of steps without faults.
const STEPS_UNDISTURBED: usize = 1500;

/// Steps around the kill of the API server, and how many of them are done before it.
const STEPS_AROUND_DEATH: usize = 400;
const STEPS_BEFORE_DEATH: usize = 100;

/// Steps while the proxy is cut.
const STEPS_MISSED: usize = 300;

/// Steps that are lost with the data of etcd.
const STEPS_LOST: usize = 1000;

/// Steps after each fault.
const STEPS_AFTER: usize = 200;

/// State of the run: the API client, the history and the sidecar.
pub(crate) struct Stage<'a> {
    pub(crate) args: &'a Args,
    pub(crate) folder: &'a Path,
    pub(crate) progress: Progress,
    pub(crate) api: Api,
    pub(crate) history: History,
    pub(crate) sidecar: Sidecar,
    /// Minor version of the API server, such as `1.36`.
    pub(crate) kubernetes: String,
}

/// Runs all parts in order.
pub(crate) async fn run(args: &Args, folder: &Path, progress: Progress) -> anyhow::Result<()> {
    progress.say(format!("seed {}, folder {}", args.seed, folder.display()));
    let mut etcd = Etcd::start(&args.etcd()?, folder)?;
    let mut server = ApiServer::start(&args.kube_apiserver()?, folder, &etcd)?;
    server.wait_for_certificates()?;
    let wire = Wire::to(server.address).await?;
    let administrators = kubeconfig(folder, "administrator", &server, &server.address.to_string(), ADMIN_TOKEN)?;
    let sidecars = kubeconfig(folder, "sidecar", &server, &wire.address.to_string(), SIDECAR_TOKEN)?;
    let api = Api::connect(&administrators).await?;
    server.wait(&api).await?;
    let version = api.get("/version").await?.body;
    progress.say(format!("kube-apiserver {} is ready", text(&version, "gitVersion")));

    grant(&api).await?;
    if !args.policies_only && !args.lagging_only {
        claims::run(args, &api, &sidecars, progress).await?;
    }
    if args.claims_only {
        return Ok(());
    }
    let started = Instant::now();
    let mut history = History::new(api.clone(), args.seed, args.pods);
    history.begin(args.nodes).await?;
    let (nodes, pods) = (history.world.nodes.len(), history.world.pods.len());
    progress.say(format!("{nodes} nodes and {pods} pods made in {}", seconds(started.elapsed())));

    if args.lagging_only {
        return lagging::run(args, folder, progress, api, history, &mut etcd, &mut server).await;
    }
    policies::run(args, &api, &mut server, &sidecars, progress).await?;
    if args.policies_only {
        return Ok(());
    }

    let started = Instant::now();
    let sidecar = start_sidecar(args, &sidecars, &[])?;
    progress.say(format!("the sidecar is ready after {}", seconds(started.elapsed())));
    let kubernetes = follows_version(&sidecar, &api, progress).await?;
    let mut stage = Stage { args, folder, progress, api, history, sidecar, kubernetes };
    let outcome = scenario(&mut stage, &mut etcd, &mut server, &wire).await;
    // The log matters most after a failure.
    std::fs::write(folder.join("sidecar.log"), stage.sidecar.output())
        .context("the sidecar's log cannot be written")?;
    outcome?;

    for line in stage.history.account()? {
        progress.say(format!("  {line}"));
    }
    stage.sidecar.signal("TERM");
    let (status, _) = tokio::task::block_in_place(|| stage.sidecar.wait());
    ensure!(status.success(), "the sidecar ended with {status}");
    lagging::run(args, folder, progress, stage.api, stage.history, &mut etcd, &mut server).await
}

/// A sidecar whose policy names no version gives the verdicts of the API server's. Returns its minor version.
pub(crate) async fn follows_version(sidecar: &Sidecar, api: &Api, progress: Progress) -> anyhow::Result<String> {
    let server = &api.get("/version").await?.body;
    let response = http::get(&sidecar.tcp(), "/version").map_err(anyhow::Error::msg)?;
    ensure!(response.status == 200, "{}: {}", response.status, response.body);
    let told = response.json();
    let minor = format!("{}.{}", text(server, "major"), text(server, "minor").trim_end_matches('+'));
    let (version, origin) = (text(&told, "kubernetes.version"), text(&told, "kubernetes.origin"));
    ensure!(
        version == minor && origin == "server",
        "the server is of {minor}, and the sidecar says {}",
        told["kubernetes"]
    );
    progress.say(format!("the sidecar gives the verdicts of {}", text(&told, "kubernetes.summary")));
    Ok(minor)
}

/// The parts, once the sidecar runs.
async fn scenario(stage: &mut Stage<'_>, etcd: &mut Etcd, server: &mut ApiServer, wire: &Wire) -> anyhow::Result<()> {
    judge::settled(stage, "the sidecar has listed an existing cluster").await?;
    let asker = Asker::start(stage.sidecar.tcp(), stage.args.nodes.saturating_sub(GONE_NODES));
    let outcome = disturbances(stage, etcd, server, wire).await;
    let report = asker.stop();
    outcome?;
    let report = report?;
    stage.progress.say(format!(
        "{} requests during the run, all answered; the slowest took {}",
        report.asked,
        seconds(report.slowest)
    ));
    // After the requests, which take versions that go back for an error.
    restored(stage, etcd, server).await
}

/// etcd is restored from a backup, as after a disaster. What the sidecar has seen since is of a history that is no more.
async fn restored(stage: &mut Stage<'_>, etcd: &mut Etcd, server: &mut ApiServer) -> anyhow::Result<()> {
    server.kill();
    etcd.back_up()?;
    server.start_again()?;
    server.wait(&stage.api).await?;
    stage.history.reload().await?;
    stage.history.go_on(STEPS_LOST).await?;
    judge::settled(stage, "after a backup of etcd").await?;

    let before = asker::version(&stage.sidecar.tcp())?;
    server.kill();
    etcd.restore()?;
    server.start_again()?;
    server.wait(&stage.api).await?;
    let started = Instant::now();
    let said = |text: &str| {
        let is_said = || stage.sidecar.output().contains(text).then_some(());
        let found = tokio::task::block_in_place(|| timeout::until(is_said));
        found.with_context(|| format!("the sidecar does not say {text:?}"))
    };
    said("the API server knows only older versions")?;
    let lagging = started.elapsed();
    said("the cluster was restored from a backup; its lists")?;
    stage.progress.say(format!(
        "after the backup was restored: the sidecar says that versions are older after {}, and takes them after {}",
        seconds(lagging),
        seconds(started.elapsed())
    ));
    stage.history.reload().await?;
    stage.history.go_on(STEPS_AFTER).await?;
    judge::settled(stage, "after the backup was restored").await?;
    let after = asker::version(&stage.sidecar.tcp())?;
    ensure!(after.pods < before.pods, "the versions did not go back: {before:?} and {after:?}");
    Ok(())
}

async fn disturbances(stage: &mut Stage<'_>, etcd: &Etcd, server: &mut ApiServer, wire: &Wire) -> anyhow::Result<()> {
    stage.history.go_on(STEPS_UNDISTURBED).await?;
    judge::settled(stage, "after a watch without faults").await?;

    let mut done = stage.history.done();
    let kill_at = *done.borrow() + STEPS_BEFORE_DEATH;
    let (interrupted, ()) = tokio::join!(stage.history.go_on(STEPS_AROUND_DEATH), async {
        if done.wait_for(|done| *done >= kill_at).await.is_ok() {
            server.kill();
        }
    });
    ensure!(interrupted.is_err(), "requests to the killed API server succeed");
    server.start_again()?;
    server.wait(&stage.api).await?;
    stage.history.reload().await?;
    stage.history.go_on(STEPS_AFTER).await?;
    judge::settled(stage, "after a restart of the killed API server").await?;

    wire.set(State::Cut);
    stage.history.go_on(STEPS_AFTER).await?;
    wire.set(State::Whole);
    judge::settled(stage, "after cut connections").await?;

    let before = stage.api.list(PODS).await?.version;
    wire.set(State::Cut);
    stage.history.go_on(STEPS_MISSED).await?;
    let now = stage.api.list(PODS).await?.version;
    etcd.compact(now.parse().context("a version is not a number")?)?;
    // The restart also clears the API server's watch cache.
    server.kill();
    server.start_again()?;
    server.wait(&stage.api).await?;
    let refusal = stage.api.watch_refusal(PODS, &before).await?;
    ensure!(refusal == Some(410), "a watch from version {before} is answered {refusal:?}, not 410");
    wire.set(State::Whole);
    stage.history.go_on(STEPS_AFTER).await?;
    judge::settled(stage, "after a compaction of missed versions (410)").await?;

    wire.set(State::Silent);
    stage.history.go_on(STEPS_AFTER).await?;
    // Open connections stay silent; new ones are forwarded.
    wire.set(State::Whole);
    judge::settled(stage, "after silent connections").await
}

/// A kubeconfig for one user.
pub(crate) fn kubeconfig(
    folder: &Path,
    user: &str,
    server: &ApiServer,
    address: &str,
    token: &str,
) -> anyhow::Result<std::path::PathBuf> {
    let path = folder.join(format!("{user}.kubeconfig"));
    // JSON is valid YAML.
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user}}],
        "clusters": [{"name": "e2e", "cluster": {
            "server": format!("https://{address}"), "certificate-authority": server.authority,
        }}],
        "users": [{"name": user, "user": {"token": token}}],
    });
    std::fs::write(&path, format!("{config:#}")).context("a kubeconfig cannot be written")?;
    Ok(path)
}

/// Grants the sidecar exactly the rights of its manifests.
async fn grant(api: &Api) -> anyhow::Result<()> {
    create(api, include_str!("../../../deploy/rbac.yaml")).await.context("deploy/rbac.yaml")
}

/// Creates the objects of a manifest.
pub(crate) async fn create(api: &Api, manifest: &str) -> anyhow::Result<()> {
    let objects: Vec<Value> = serde_saphyr::from_str_multiple(manifest)?;
    for object in objects {
        api.done(&Write::create(collection(&object), object)).await?;
    }
    Ok(())
}

/// Starts the sidecar with a kubeconfig and more arguments, and waits until it is ready.
pub(crate) fn start_sidecar(args: &Args, kubeconfig: &Path, more: &[&str]) -> anyhow::Result<Sidecar> {
    let command = sidecar::command(&args.sidecar()?, &args.cache()?);
    let kubeconfig = kubeconfig.to_str().context("a path that is not UTF-8")?;
    let arguments = [&["--kubeconfig", kubeconfig, "--verify-reuse"][..], more].concat();
    tokio::task::block_in_place(|| Ok(Sidecar::start(command, &arguments)))
}
