//! Random changes of the cluster: random steps, several concurrently on different objects, counted by kind and by the server's
//! reply.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, ensure};
use futures_util::StreamExt as _;
use futures_util::stream;
use nodesift_fixtures::Rng;
use nodesift_fixtures::json::{key, text};
use nodesift_fixtures::live::{self, nodes, pods, storage};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::api::{AT_ONCE, Api, Reply, Write};
use crate::kinds::collection;
use crate::steps::{self, Effect, STEPS, Scene, Step};
use crate::world::{SENTINEL, World};

/// Maximum number of pods, in percent of the initial number.
const PODS_AT_MOST: usize = 110;

/// Initial pods that are bound, in percent.
const BOUND_AT_FIRST: usize = 80;

/// Results of the steps of one kind.
#[derive(Debug, Default, Clone)]
pub(crate) struct Count {
    done: usize,
    refused: usize,
    /// The server's first refusal.
    refusal: String,
}

/// Random history of the cluster.
pub(crate) struct History {
    api: Api,
    rng: Rng,
    /// Current objects, from which steps are chosen.
    pub(crate) world: World,
    /// Initial number of pods.
    pods: usize,
    next_pod: usize,
    counts: BTreeMap<&'static str, Count>,
    done: watch::Sender<usize>,
}

impl History {
    /// A history without events.
    pub(crate) fn new(api: Api, seed: u64, pods: usize) -> Self {
        let done = watch::channel(0).0;
        let rng = Rng::with_seed(seed);
        Self { api, rng, world: World::default(), pods, next_pod: 0, counts: BTreeMap::new(), done }
    }

    /// The number of completed steps, to wait on.
    pub(crate) fn done(&self) -> watch::Receiver<usize> {
        self.done.subscribe()
    }

    /// Creates the initial objects: nodes, and pods, most of them bound.
    pub(crate) async fn begin(&mut self, nodes: usize) -> anyhow::Result<()> {
        let mut first = live::foundation(&mut self.rng);
        first.extend(storage::objects(&mut self.rng, nodes / 2));
        let names = (0..nodes).map(nodes::name).chain([SENTINEL.to_owned()]);
        let made: Vec<(Value, Value)> =
            names.map(|name| (nodes::node(&mut self.rng, &name), nodes::status(&mut self.rng))).collect();
        // Namespaces before the objects in them.
        let (namespaces, rest) = first.into_iter().partition(|object| text(object, "kind") == "Namespace");
        self.create(namespaces).await?;
        self.create(rest).await?;
        self.create(made.iter().map(|(node, _)| node.clone()).collect()).await?;
        let statuses = made
            .into_iter()
            .map(|(node, status)| Write::patch(format!("{}/status", crate::kinds::path(&node)), status));
        self.api.done_all(statuses.collect()).await?;

        let mut sentinel = pods::pending(&mut self.rng, 0);
        sentinel["metadata"]["name"] = json!(SENTINEL);
        sentinel["metadata"]["namespace"] = json!(live::NAMESPACES[0]);
        let pods = (0..self.pods).map(|number| pods::pending(&mut self.rng, number)).chain([sentinel]).collect();
        self.next_pod = self.pods;
        self.create(pods).await?;
        self.world.refresh(&self.api).await?;
        let nodes = self.world.node_names();
        let mut bindings = Vec::new();
        for pod in self.world.pods.values() {
            if self.rng.chance(BOUND_AT_FIRST)
                && let Some(node) = self.rng.choose(&nodes)
            {
                bindings.push(steps::binding(pod, node));
            }
        }
        self.api.done_all(bindings).await?;
        self.world.refresh(&self.api).await
    }

    async fn create(&self, objects: Vec<Value>) -> anyhow::Result<()> {
        self.api.done_all(objects.into_iter().map(|object| Write::create(collection(&object), object)).collect()).await
    }

    /// Performs some steps. Fails if the server does not answer; refusals are counted.
    pub(crate) async fn go_on(&mut self, steps: usize) -> anyhow::Result<()> {
        let mut left = steps;
        while left > 0 {
            let batch = self.batch(left.min(AT_ONCE));
            ensure!(!batch.is_empty(), "no step is possible");
            left -= batch.len();
            let api = &self.api;
            let outcomes: Vec<_> =
                stream::iter(batch).map(|step| perform(api, step)).buffer_unordered(AT_ONCE).collect().await;
            for outcome in outcomes {
                let (step, reply) = outcome?;
                self.learn(&step, reply);
            }
        }
        Ok(())
    }

    /// Steps on different objects.
    fn batch(&mut self, size: usize) -> Vec<Step> {
        /// A choice may have no possible step, or an object that is already chosen.
        const TRIES_PER_STEP: usize = 20;
        let mut targets = BTreeSet::new();
        let mut batch = Vec::new();
        for _ in 0..size * TRIES_PER_STEP {
            let scene = Scene { world: &self.world, pods: self.pods * PODS_AT_MOST / 100, next_pod: self.next_pod };
            self.next_pod += 1;
            if let Some(step) = steps::choose(&mut self.rng, &scene).filter(|step| targets.insert(step.target.clone()))
            {
                batch.push(step);
            }
            if batch.len() == size {
                break;
            }
        }
        batch
    }

    fn learn(&mut self, step: &Step, reply: Reply) {
        let count = self.counts.entry(step.name).or_default();
        self.done.send_modify(|done| *done += 1);
        if !reply.is_done() {
            count.refused += 1;
            if count.refusal.is_empty() {
                count.refusal = format!("{} {}", reply.status, text(&reply.body, "message"));
            }
            return;
        }
        count.done += 1;
        let world = &mut self.world;
        match &step.effect {
            Effect::There if text(&reply.body, "kind") == "Node" => {
                world.gone.retain(|name| *name != step.target);
                world.nodes.insert(step.target.clone(), reply.body);
            }
            Effect::There if text(&reply.body, "kind") == "Pod" => {
                world.pods.insert(key(&reply.body), reply.body);
            }
            Effect::Bound(node) => {
                if let Some(pod) = world.pods.get_mut(&step.target) {
                    pod["spec"]["nodeName"] = json!(node);
                }
            }
            Effect::PodGone => {
                world.pods.remove(&step.target);
            }
            Effect::NodeGone => {
                world.nodes.remove(&step.target);
                world.gone.push(step.target.clone());
                world.gone.sort();
            }
            Effect::ClaimBound => {
                world.claims.remove(step.target.trim_start_matches("claim "));
            }
            Effect::There | Effect::Nothing => {}
        }
    }

    /// Reads all objects again after requests with an unknown result.
    pub(crate) async fn reload(&mut self) -> anyhow::Result<()> {
        self.world.refresh(&self.api).await
    }

    /// Shuffles a list, with the run's seed.
    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        self.rng.shuffle(things);
    }

    /// Updates the sentinels and returns the versions of the node and of the pod. A client that has seen both has seen every
    /// earlier change.
    pub(crate) async fn mark(&mut self) -> anyhow::Result<(u64, u64)> {
        let note = json!({"metadata": {"annotations": {"example.com/mark": self.rng.number().to_string()}}});
        let namespace = live::NAMESPACES[0];
        let mut versions = [0, 0];
        let paths = [format!("/api/v1/nodes/{SENTINEL}"), format!("/api/v1/namespaces/{namespace}/pods/{SENTINEL}")];
        for (version, path) in versions.iter_mut().zip(paths) {
            let marked = self.api.done(&Write::patch(path, note.clone())).await?;
            *version = text(&marked, "metadata.resourceVersion").parse().context("a version is not a number")?;
        }
        Ok(versions.into())
    }

    /// Counts per kind of step, one line each. An error if a kind of step never occurred, or if the server refused so many steps
    /// that this is not the intended history.
    pub(crate) fn account(&self) -> anyhow::Result<Vec<String>> {
        /// In percent. Some refusals come from intended races.
        const REFUSED_AT_MOST: usize = 5;
        let (mut lines, mut wrong) = (Vec::new(), Vec::new());
        for (name, _, _) in STEPS {
            let Count { done, refused, refusal } = self.counts.get(name).cloned().unwrap_or_default();
            let refusals = if refused > 0 { format!(", {refused} refused ({refusal})") } else { String::new() };
            let line = format!("{name}: {done}{refusals}");
            if done == 0 || refused * 100 > (done + refused) * REFUSED_AT_MOST {
                wrong.push(line.clone());
            }
            lines.push(line);
        }
        ensure!(wrong.is_empty(), "not the intended history: {}", wrong.join("; "));
        Ok(lines)
    }
}

/// Sends the writes of a step; a refusal ends it.
async fn perform(api: &Api, step: Step) -> anyhow::Result<(Step, Reply)> {
    let mut last = None;
    for write in &step.writes {
        let reply = api.write(write).await?;
        let is_done = reply.is_done();
        last = Some(reply);
        if !is_done {
            break;
        }
    }
    let reply = last.context("a step without a write")?;
    Ok((step, reply))
}
