//! The sidecar beside a real etcd and a real kube-apiserver: `make e2e`.
//!
//! A cluster of some hundred nodes and some thousand pods changes at random while faults are injected: the API server is killed,
//! connections are cut or stall, etcd compacts versions that the sidecar has not seen, and is restored from a backup; one of two API
//! servers lags. After each part the sidecar's state must equal a recount from the API server's lists, and its verdicts those over a
//! dump of the cluster.
//!
//! Start at [`run`], which has the parts in order. [`history`] chooses changes from [`steps`]; their objects come from
//! [`nodesift_fixtures::live`]. [`policies`] has the policy as an object of the cluster, [`claims`] pods with claims on devices,
//! [`lagging`] two API servers of which one lags. [`judge`] compares, with [`recount`] and [`state`]; [`asker`] sends requests all
//! the time. [`programs`] starts the servers, [`wire`] is a proxy between two programs, [`balancer`] one before two servers, [`api`]
//! a client.

mod api;
mod asker;
mod balancer;
mod claims;
mod history;
mod judge;
mod kinds;
mod lagging;
mod policies;
mod programs;
mod progress;
mod recount;
mod run;
mod state;
mod steps;
mod wire;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;

use progress::Progress;

/// The sidecar beside a real etcd and a real kube-apiserver.
#[derive(Debug, clap::Parser)]
#[command(max_term_width = 120)]
pub(crate) struct Args {
    /// The etcd to run [default: e2e/etcd beside this program's folder, where `make e2e` builds it]
    #[arg(long, value_name = "PATH", env = "TEST_ASSET_ETCD")]
    etcd: Option<PathBuf>,
    /// The kube-apiserver to run [default: e2e/kube-apiserver, likewise]
    #[arg(long, value_name = "PATH", env = "TEST_ASSET_KUBE_APISERVER")]
    kube_apiserver: Option<PathBuf>,
    /// The sidecar to run [default: nodesift beside this program]
    #[arg(long, value_name = "PATH")]
    sidecar: Option<PathBuf>,
    /// Seed of the random changes
    #[arg(long, env = "NODESIFT_SEED", default_value_t = fastrand::u64(..))]
    pub(crate) seed: u64,
    /// Initial number of nodes
    #[arg(long, default_value_t = 300)]
    pub(crate) nodes: usize,
    /// Initial number of pods
    #[arg(long, default_value_t = 2000)]
    pub(crate) pods: usize,
    /// Run only the part about the policy as an object of the cluster
    #[arg(long)]
    pub(crate) policies_only: bool,
    /// Run only the part about pods with claims on devices
    #[arg(long, conflicts_with = "policies_only")]
    pub(crate) claims_only: bool,
    /// Run only the part about two API servers of which one lags
    #[arg(long, conflicts_with_all = ["policies_only", "claims_only"])]
    pub(crate) lagging_only: bool,
    /// Keep the folder of logs and dumps after a successful run, too
    #[arg(long)]
    keep: bool,
}

impl Args {
    fn etcd(&self) -> anyhow::Result<PathBuf> {
        self.etcd.clone().map_or_else(|| built("../e2e/etcd"), Ok)
    }

    fn kube_apiserver(&self) -> anyhow::Result<PathBuf> {
        self.kube_apiserver.clone().map_or_else(|| built("../e2e/kube-apiserver"), Ok)
    }

    fn sidecar(&self) -> anyhow::Result<PathBuf> {
        self.sidecar.clone().map_or_else(|| built("nodesift"), Ok)
    }

    /// The cache of compiled predicates between runs.
    fn cache(&self) -> anyhow::Result<PathBuf> {
        built("../e2e/cache")
    }
}

/// A path relative to the folder of this program.
fn built(path: &str) -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    Ok(program.parent().context("the path of this program is unknown")?.join(path))
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let progress = Progress::start();
    let folder = match tempfile::Builder::new().prefix("nodesift-e2e-").tempdir() {
        Ok(folder) => folder,
        Err(error) => {
            progress.say(format!("failed: no temporary folder: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let outcome = run::run(&args, folder.path(), progress).await;
    if args.keep || outcome.is_err() {
        progress.say(format!("logs and the last dump are in {}", folder.keep().display()));
    }
    match outcome {
        Ok(()) if args.policies_only => {
            progress.say("the policy objects were followed, and their statuses say so");
            ExitCode::SUCCESS
        }
        Ok(()) if args.claims_only => {
            progress.say("no device was given away twice");
            ExitCode::SUCCESS
        }
        Ok(()) if args.lagging_only => {
            progress.say(
                "nothing went back to what a server that lags knew, and answers went stale where nothing was confirmed",
            );
            ExitCode::SUCCESS
        }
        Ok(()) => {
            progress.say("the sidecar's state and verdicts equal those of the API server's objects");
            ExitCode::SUCCESS
        }
        Err(error) => {
            progress.say(format!("failed: {error:#}"));
            progress.say(format!("to reproduce the history: NODESIFT_SEED={} make e2e", args.seed));
            ExitCode::FAILURE
        }
    }
}
