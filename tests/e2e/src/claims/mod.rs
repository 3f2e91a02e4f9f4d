//! Pods with claims on devices, placed by a small core: no device may be given away twice, although the sidecar is killed meanwhile.
//!
//! More is asked for than there is. Four workers place pods at the same time, bound pods end and give their devices back, claims are
//! written by somebody else as well, and the sidecar is killed and started again. At the end the API server's objects are counted:
//! whatever is allocated, for the pods that wait, and, once all have ended, whether the sidecar holds anything that nobody has.
//!
//! Start at [`run`]. [`scene`] makes the objects, [`core`] places pods, [`ledger`] writes claims, [`recount`] counts.

mod core;
mod ledger;
mod recount;
mod scene;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use nodesift_fixtures::json::{list, text};
use nodesift_fixtures::{Cluster, Rng};
use nodesift_tests::http;
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::timeout;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use self::core::Core;
use crate::Args;
use crate::api::{Api, Write};
use crate::kinds::{COLLECTIONS, NODES, collection, path};
use crate::progress::{Progress, seconds};
use scene::NAMESPACE;

const PODS: usize = 500;
const WORKERS: u64 = 4;

/// Pods that are bound in a round before the sidecar is killed, in the first round and in the second.
const BOUND_BEFORE_DEATH: [usize; 2] = [150, 10];

/// Pods that end before the second round, and during it.
const ENDED: usize = 30;

/// Claims of a hundred that somebody else writes after the core has read them.
const RELABELLED_PERCENT: usize = 10;

/// Rounds after which no pod finds a node any more. One is enough, unless placements of the last one were given up.
const ROUNDS_AT_MOST: usize = 10;

/// Pods of one request for explanations.
const EXPLAINED_AT_ONCE: usize = 10;

/// Fewer pods that are bound or wait at the end would show too little.
const BOUND_AT_LEAST: usize = 250;
const WAITING_AT_LEAST: usize = 20;

/// State of the part: arguments, API client and the running sidecar.
struct Part<'a> {
    args: &'a Args,
    api: &'a Api,
    kubeconfig: &'a Path,
    progress: Progress,
    rng: Rng,
    sidecar: Sidecar,
    /// Output of the sidecar processes that were killed before.
    log: String,
    marks: usize,
}

/// Runs it, on a cluster that has neither nodes nor pods before and after it.
pub(crate) async fn run(args: &Args, api: &Api, kubeconfig: &Path, progress: Progress) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut rng = Rng::with_seed(args.seed);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    api.done(&Write::create(collection(&namespace), namespace)).await?;
    let scene = scene::objects(&mut rng, PODS);
    for objects in [scene.cluster, scene.claims, scene.pods] {
        api.done_all(creations(objects)).await?;
    }
    progress.say(format!("claims: {PODS} pods made in {}", seconds(started.elapsed())));

    let sidecar = start(args, kubeconfig)?;
    let mut part = Part { args, api, kubeconfig, progress, rng, sidecar, log: String::new(), marks: 0 };
    let outcome = part.steps().await;
    part.log += &part.sidecar.output();
    if outcome.is_err() {
        progress.say(format!("the log of the sidecar:\n{}", part.log));
    }
    outcome?;
    ensure!(!part.log.contains("panicked"), "a panic is in the log:\n{}", part.log);
    part.clear().await?;
    progress.say(format!("claims: all of it took {}", seconds(started.elapsed())));
    Ok(())
}

fn start(args: &Args, kubeconfig: &Path) -> anyhow::Result<Sidecar> {
    let command = sidecar::command(&args.sidecar()?, &args.cache()?);
    let kubeconfig = kubeconfig.to_str().context("a path that is not UTF-8")?;
    tokio::task::block_in_place(|| Ok(Sidecar::start(command, &["--kubeconfig", kubeconfig])))
}

fn creations(objects: Vec<Value>) -> Vec<Write> {
    objects.into_iter().map(|object| Write::create(collection(&object), object)).collect()
}

impl Part<'_> {
    async fn steps(&mut self) -> anyhow::Result<()> {
        let claims = self.list("ResourceClaim").await?;
        let pods = self.list("Pod").await?;
        let core = Arc::new(Core::new(self.api, self.sidecar.tcp(), claims.clone(), pods));
        let relabelled = claims.iter().filter(|_| self.rng.chance(RELABELLED_PERCENT));
        let label = json!({"metadata": {"labels": {"team": "other"}}});
        self.api.done_all(relabelled.map(|claim| Write::patch(path(claim), label.clone())).collect()).await?;

        let started = Instant::now();
        for (round, bound) in BOUND_BEFORE_DEATH.into_iter().enumerate() {
            if round > 0 {
                self.end(&core, ENDED).await?;
                core.retry_waiting();
            }
            let mut workers = self.workers(&core);
            let before = core.counts().bound;
            let mut done = core.done();
            tokio::select! {
                _ = done.wait_for(|done| *done >= before + bound) => {}
                Some(worker) = workers.join_next() => worker??,
            }
            self.restart(&core).await?;
            if round > 0 {
                self.end(&core, ENDED).await?;
            }
            finished(&core, workers).await?;
            self.say(&core, "the sidecar was killed, and all pods were tried");
        }
        for round in 1.. {
            ensure!(round <= ROUNDS_AT_MOST, "there is still room after {ROUNDS_AT_MOST} rounds");
            let before = core.counts();
            self.mark().await?;
            core.retry_waiting();
            finished(&core, self.workers(&core)).await?;
            let now = core.counts();
            if (now.bound, now.given_up) == (before.bound, before.given_up) {
                break;
            }
        }
        self.say(
            &core,
            &format!("no pod finds a node any more, {} after the first attempt", seconds(started.elapsed())),
        );
        let counts = core.counts();
        ensure!(
            counts.unanswered > 0 && counts.given_up > 0 && core.ledger.conflicts() > 0,
            "nothing went wrong: {counts:?}"
        );

        self.mark().await?;
        let cluster = self.cluster().await?;
        let count = recount::check(&cluster)?;
        self.progress.say(format!("claims: recount: {count}"));
        ensure!(count.bound >= BOUND_AT_LEAST && count.waiting >= WAITING_AT_LEAST, "too few pods are bound or wait");
        let waiting = recount::waiting(&cluster);
        let explained = self.explained(&waiting)?;
        recount::check_waiting(&cluster, &waiting, &explained)?;
        self.progress.say(format!("claims: {} explanations of waiting pods agree with the reference", waiting.len()));
        self.everything_is_free(&core).await
    }

    fn workers(&mut self, core: &Arc<Core>) -> JoinSet<anyhow::Result<()>> {
        let mut workers = JoinSet::new();
        for _ in 0..WORKERS {
            let (core, seed) = (Arc::clone(core), self.rng.number());
            workers.spawn(async move { core.work(seed).await });
        }
        workers
    }

    /// Kills the sidecar while the workers go on, and starts it again.
    async fn restart(&mut self, core: &Core) -> anyhow::Result<()> {
        self.log += &self.sidecar.output();
        self.sidecar.signal("KILL");
        self.sidecar = start(self.args, self.kubeconfig)?;
        core.replace(self.sidecar.tcp(), async || self.mark().await).await
    }

    /// Ends some of the bound pods.
    async fn end(&mut self, core: &Core, pods: usize) -> anyhow::Result<()> {
        for _ in 0..pods {
            let pod = core.take_bound(&mut self.rng).context("too few pods are bound")?;
            core.ledger.end(&pod).await?;
        }
        Ok(())
    }

    /// Waits until the sidecar has seen all pods and claims as they are now. The watch of a kind shows changes in their order, so it
    /// has seen them once it has seen a pod and a claim that are newer.
    async fn mark(&mut self) -> anyhow::Result<()> {
        self.marks += 1;
        let name = format!("mark-{}", self.marks);
        let claim = scene::claim(&name, &json!({}));
        let pod = scene::pod(&name, 0, std::slice::from_ref(&name));
        self.api.done_all(creations(vec![claim.clone()])).await?;
        let made = self.api.done(&Write::create(collection(&pod), pod.clone())).await?;
        let question = json!({"pods": [{"uid": text(&made, "metadata.uid")}], "limit": 1});
        let seen = tokio::task::block_in_place(|| {
            timeout::until(|| {
                let answer = http::post(&self.sidecar.tcp(), "/v1/filter", question.to_string()).ok()?;
                let fits = |answer: Value| list(&answer, "pods").iter().any(|pod| !list(pod, "feasible").is_empty());
                (answer.status == 200 && fits(answer.json())).then_some(())
            })
        });
        seen.context("the sidecar does not see a new pod and its claim")?;
        self.api.done_all(vec![Write::delete(path(&pod), Some(0)), Write::delete(path(&claim), None)]).await
    }

    /// Explanations of pods, in their order.
    fn explained(&self, pods: &[&Value]) -> anyhow::Result<Vec<Value>> {
        let uids: Vec<Value> = pods.iter().map(|pod| json!({"uid": text(pod, "metadata.uid")})).collect();
        let mut explained = Vec::new();
        for uids in uids.chunks(EXPLAINED_AT_ONCE) {
            let answer = tokio::task::block_in_place(|| {
                http::post(&self.sidecar.tcp(), "/v1/explain", json!({"pods": uids}).to_string())
            });
            let answer = answer.map_err(anyhow::Error::msg)?;
            ensure!(answer.status == 200, "{}: {}", answer.status, answer.body);
            explained.extend(list(&answer.json(), "pods").to_vec());
        }
        Ok(explained)
    }

    /// Ends all pods, and asks for all devices of each class: a device that the sidecar still holds would be missed.
    async fn everything_is_free(&mut self, core: &Core) -> anyhow::Result<()> {
        while let Some(pod) = core.take_bound(&mut self.rng) {
            core.ledger.end(&pod).await?;
        }
        let mut probes = Vec::new();
        for class in scene::CLASSES {
            let name = format!("all-{}", class.name);
            let all = json!({"deviceClassName": class.name, "allocationMode": "All"});
            let claim = scene::claim(&name, &json!({"requests": [{"name": "r", "exactly": all}]}));
            self.api.done(&Write::create(collection(&claim), claim)).await?;
            probes.push((class, scene::pod(&name, 0, std::slice::from_ref(&name))));
        }
        self.mark().await?;
        let cluster = self.cluster().await?;
        for (class, pod) in probes {
            let answer = http::ask(
                &self.sidecar.tcp(),
                "/v1/filter",
                &json!({"pods": [{"object": pod}], "detail": "DETAIL_NODES"}),
            );
            let answer = list(&answer, "pods").first().context("no answer")?;
            let nodes = recount::nodes_with(&cluster, &class);
            ensure!(
                nodes > 0 && answer["feasibleCount"] == nodes,
                "{} is not free on all of {nodes} nodes: {answer:#}",
                class.name
            );
        }
        self.progress.say("claims: all pods ended, and nothing is in flight: all devices are free");
        Ok(())
    }

    /// The objects of a kind.
    async fn list(&self, kind: &str) -> anyhow::Result<Vec<Value>> {
        Ok(self.cluster().await?.all(kind).cloned().collect())
    }

    /// All objects that the sidecar reads.
    async fn cluster(&self) -> anyhow::Result<Cluster> {
        let mut cluster = Cluster::default();
        for collection in COLLECTIONS {
            self.api.list(collection).await?.items.into_iter().for_each(|object| cluster.apply(object));
        }
        Ok(cluster)
    }

    fn say(&self, core: &Core, what: &str) {
        let (counts, conflicts) = (core.counts(), core.ledger.conflicts());
        self.progress.say(format!("claims: {what}: {counts:?}, {conflicts} conflicts"));
    }

    /// Deletes all pods, claims, slices, classes and nodes.
    async fn clear(&self) -> anyhow::Result<()> {
        let group = "/apis/resource.k8s.io/v1";
        let claims = format!("{group}/namespaces/{NAMESPACE}/resourceclaims");
        let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
        for collection in
            [pods, claims, format!("{group}/resourceslices"), format!("{group}/deviceclasses"), NODES.to_owned()]
        {
            self.api.done(&Write::delete(collection, Some(0))).await?;
        }
        Ok(())
    }
}

/// Waits until the workers have tried all pods.
async fn finished(core: &Core, mut workers: JoinSet<anyhow::Result<()>>) -> anyhow::Result<()> {
    let all = async {
        while let Some(worker) = workers.join_next().await {
            worker??;
        }
        anyhow::Ok(())
    };
    let in_time = tokio::time::timeout(timeout::limit(), all).await;
    in_time.with_context(|| format!("pods are tried again and again: {:?}", core.counts()))?
}
