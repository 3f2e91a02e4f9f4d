//! The policy as an object of the cluster: the definition is applied, then an object, which is changed, broken, mended and deleted,
//! while two replicas follow it. What `kubectl get` would print is printed after each step.
//!
//! Start at [`run`].

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use http::Method;
use nodesift_fixtures::json::{list, text};
use nodesift_tests::http::get;
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::timeout;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::Args;
use crate::api::{Api, Reply, Write};
use crate::programs::{ApiServer, SIDECAR_USER};
use crate::progress::{Progress, seconds};
use crate::run::create;

const POLICIES: &str = "/apis/nodesift.dev/v1alpha1/predicatepolicies";
const POLICY: &str = "/apis/nodesift.dev/v1alpha1/predicatepolicies/default";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/predicatepolicies.nodesift.dev";
const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/nodesift-policy";

/// Time between two looks at the API server.
const LOOK: Duration = Duration::from_millis(50);

/// State of the part: arguments, API client, kubeconfig and progress.
struct Part<'a> {
    args: &'a Args,
    api: &'a Api,
    kubeconfig: &'a Path,
    progress: Progress,
}

/// Runs the part about the policy as an object of the cluster.
pub(crate) async fn run(
    args: &Args,
    api: &Api,
    server: &mut ApiServer,
    kubeconfig: &Path,
    progress: Progress,
) -> anyhow::Result<()> {
    let part = Part { args, api, kubeconfig, progress };
    let first = part.sidecar("nodesift-0")?;
    let outcome = part.steps(server, &first).await;
    if outcome.is_err() {
        progress.say(format!("the log of nodesift-0:\n{}", first.output()));
    }
    outcome
}

impl Part<'_> {
    fn sidecar(&self, replica: &str) -> anyhow::Result<Sidecar> {
        let command = sidecar::command(&self.args.sidecar()?, &self.args.cache()?);
        let kubeconfig = self.kubeconfig.to_str().context("a path that is not UTF-8")?;
        let folder = std::env::temp_dir();
        let folder = folder.to_str().context("a path that is not UTF-8")?;
        let named = ["--kubeconfig", kubeconfig, "--policy-resource", "default", "--module-folder", folder];
        let arguments = [&named[..], &["--replica-name", replica]].concat();
        tokio::task::block_in_place(|| Ok(Sidecar::start(command, &arguments)))
    }

    async fn steps(&self, server: &mut ApiServer, first: &Sidecar) -> anyhow::Result<()> {
        let before = timeout::until(|| policy(first).ok().filter(|shown| shown["lastFailure"].is_object()));
        let before = before.context("the missing definition is not told")?;
        ensure!(text(&before, "source") == "the default policy", "without the kind: {before}");
        self.progress.say(format!("policy: without the definition: {}", text(&before, "lastFailure.reason")));

        create(self.api, include_str!("../../../deploy/crd.yaml")).await.context("deploy/crd.yaml")?;
        self.wait("the definition is established", DEFINITION, |object| condition(object, "Established") == "True")
            .await?;
        let names: Vec<String> = list(&self.api.get(DEFINITION).await?.body, "status.conditions")
            .iter()
            .map(|condition| format!("{}={}", text(condition, "type"), text(condition, "status")))
            .collect();
        self.progress.say(format!("policy: the definition is established: {}", names.join(" ")));

        self.refused_by_the_server().await?;

        let good = json!([{"name": "NodeName"}, {"name": "TaintToleration"}, {"name": "NodeResourcesFit"}]);
        self.done(&self.api.write(&strict(Method::POST, POLICIES, &object(&good))).await?)?;
        self.step("applied", |object| is_active(object, 1)).await?;
        let second = self.sidecar("nodesift-1")?;
        let both = |object: &Value| message(object) == "active in 2 of 2 replicas";
        self.step("followed by a second replica", both).await?;

        self.change(&json!([{"name": "NodeName"}, {"name": "NodeResourcesFit"}])).await?;
        self.step("changed", |object| is_active(object, 2) && both(object)).await?;
        ensure!(predicates(first)? == 2 && predicates(&second)? == 2, "the change is not active");

        let module = std::env::temp_dir().join("none.wasm");
        for (what, predicates, generation, reason) in [
            ("broken: a built-in that there is not", json!([{"name": "NodeNmae"}]), 3, "DocumentFailed"),
            (
                "broken: a module that is not there",
                json!([{"name": "Team", "module": {"path": module}}]),
                4,
                "ReadFailed",
            ),
        ] {
            let started = Instant::now();
            self.change(&predicates).await?;
            let refused = |object: &Value| {
                condition(object, "Accepted") == "False"
                    && object["status"]["observedGeneration"] == generation
                    && message(object).contains("2 of 2")
            };
            let object = self.wait(what, POLICY, refused).await?;
            let took = started.elapsed();
            self.show(&format!("{what} (told by both within {})", seconds(took))).await?;
            ensure!(took <= timeout::scaled(Duration::from_secs(1)), "{what}: told after {}", seconds(took));
            let found = list(&object, "status.conditions").iter().find(|found| text(found, "type") == "Active");
            ensure!(found.is_some_and(|found| text(found, "reason") == reason), "{what}: {object:#}");
        }
        ensure!(predicates(first)? == 2, "the policy before is not active any more");

        self.forbid_statuses(first, &good).await?;
        let log = first.output();
        let told = log.matches("the status of the policy's object is not written").count();
        ensure!(told == 1, "a forbidden status is told {told} times:\n{log}");

        server.kill();
        server.start_again()?;
        server.wait(self.api).await?;
        self.change(&json!([{"name": "NodeName"}])).await?;
        self.step("changed after a restart of the API server", |object| is_active(object, 6) && both(object)).await?;

        second.signal("TERM");
        let (status, _) = tokio::task::block_in_place(|| second.wait());
        ensure!(status.success(), "the second replica ended with {status}");
        self.step("followed by one replica again", |object| message(object) == "active in 1 of 1 replica").await?;

        self.release_the_killed().await?;

        let generation = text(&policy(first)?, "generation").to_owned();
        self.api.done(&Write::delete(POLICY, None)).await?;
        let told = timeout::until(|| {
            let shown = policy(first).ok()?;
            text(&shown, "lastFailure.reason").contains("there is no such object").then_some(shown)
        });
        let told = told.context("the deletion is not told")?;
        ensure!(text(&told, "generation") == generation, "the policy has changed with the deletion: {told}");
        let ready = get(&first.unix(), "/readyz").map_err(anyhow::Error::msg)?;
        self.progress.say(format!("policy: deleted: {}: {}", ready.status, ready.body.trim()));
        self.show("deleted").await?;

        self.done(&self.api.write(&strict(Method::POST, POLICIES, &object(&good))).await?)?;
        self.step("applied again", |object| is_active(object, 1)).await?;
        self.api.done(&Write::delete(POLICY, None)).await?;
        ensure!(!first.output().contains("panicked"), "a panic is in the log:\n{}", first.output());
        Ok(())
    }

    /// Checks that the API server refuses documents that violate the schema of the definition.
    async fn refused_by_the_server(&self) -> anyhow::Result<()> {
        for (what, predicates) in [
            ("a field that is not known", json!([{"name": "NodeName", "onEror": "Ignore"}])),
            ("a predicate that is there twice", json!([{"name": "NodeName"}, {"name": "NodeName"}])),
            ("a choice that is none", json!([{"name": "NodeName", "onError": "Maybe"}])),
            ("a module with two places", json!([{"name": "Own", "module": {"path": "/a", "oci": "b"}}])),
        ] {
            let reply = self.api.write(&strict(Method::POST, POLICIES, &object(&predicates))).await?;
            ensure!((400..500).contains(&reply.status), "{what}: accepted with {}", reply.status);
            self.progress.say(format!("policy: {what}: {} {}", reply.status, text(&reply.body, "message")));
        }
        Ok(())
    }

    /// The entry of a replica that has ended without taking it along.
    async fn release_the_killed(&self) -> anyhow::Result<()> {
        let entry = json!({"name": "nodesift-9", "active": false, "seen": "2020-01-02T03:04:05Z"});
        let applied = json!({
            "apiVersion": "nodesift.dev/v1alpha1", "kind": "PredicatePolicy", "metadata": {"name": "default"},
            "status": {"replicas": [entry]},
        });
        let before = text(&self.api.get(POLICY).await?.body, "metadata.resourceVersion").to_owned();
        self.api.done(&Write::patch(format!("{POLICY}/status?fieldManager=nodesift-9"), applied)).await?;
        let is_gone = |object: &Value| {
            text(object, "metadata.resourceVersion") != before
                && list(object, "status.replicas").len() == 1
                && message(object) == "active in 1 of 1 replica"
        };
        self.step("the entry of a killed replica is taken out", is_gone).await?;
        Ok(())
    }

    /// A server that refuses the status harms nothing else.
    async fn forbid_statuses(&self, first: &Sidecar, good: &Value) -> anyhow::Result<()> {
        let role = self.api.get(ROLE).await?.body;
        let rules: Vec<Value> = list(&role, "rules")
            .iter()
            .filter(|rule| rule["resources"] == json!(["predicatepolicies"]))
            .cloned()
            .collect();
        self.api.done(&Write::patch(ROLE, json!({"rules": rules}))).await?;
        self.wait_until_forbidden().await?;
        self.change(good).await?;
        let wanted = good.as_array().map_or(0, Vec::len);
        let told = timeout::until(|| {
            let shown = policy(first).ok()?;
            let trouble = text(&shown, "statusTrouble").to_owned();
            (list(&shown, "predicates").len() == wanted && !trouble.is_empty()).then_some(trouble)
        });
        let trouble = told.context("the policy does not change, or the forbidden status is not told")?;
        self.progress.say(format!("policy: status forbidden, policy followed all the same: {trouble}"));
        self.api.done(&Write::patch(ROLE, json!({"rules": list(&role, "rules")}))).await?;
        self.step("status allowed again", |object| is_active(object, 5)).await?;
        Ok(())
    }

    /// Waits until the server denies what the role does not grant any more.
    async fn wait_until_forbidden(&self) -> anyhow::Result<()> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": SIDECAR_USER,
                "resourceAttributes": {
                    "verb": "patch", "group": "nodesift.dev", "resource": "predicatepolicies", "subresource": "status",
                },
            },
        });
        let until = Instant::now() + timeout::limit();
        loop {
            let review = Write::create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review.clone());
            if self.api.done(&review).await?["status"]["allowed"] != true {
                return Ok(());
            }
            ensure!(Instant::now() < until, "the server still allows what the role does not grant");
            sleep(LOOK).await;
        }
    }

    /// Replaces the predicates of the policy object.
    async fn change(&self, predicates: &Value) -> anyhow::Result<()> {
        self.done(&self.api.write(&strict(Method::PATCH, POLICY, &json!({"spec": {"predicates": predicates}}))).await?)
    }

    fn done(&self, reply: &Reply) -> anyhow::Result<()> {
        ensure!(reply.is_done(), "{} {}", reply.status, text(&reply.body, "message"));
        Ok(())
    }

    /// Waits until the object is as wanted, and prints it.
    async fn step(&self, what: &str, is_wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let object = self.wait(what, POLICY, is_wanted).await?;
        self.show(what).await?;
        Ok(object)
    }

    async fn wait(&self, what: &str, path: &str, is_wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let until = Instant::now() + timeout::limit();
        loop {
            let object = self.api.get(path).await?.body;
            if is_wanted(&object) {
                return Ok(object);
            }
            ensure!(Instant::now() < until, "not seen: {what}: {object:#}");
            sleep(LOOK).await;
        }
    }

    /// Prints what `kubectl get predicatepolicies -o wide` prints.
    async fn show(&self, what: &str) -> anyhow::Result<()> {
        let table = self.api.table(POLICIES).await?.body;
        let mut lines =
            vec![list(&table, "columnDefinitions").iter().map(|column| text(column, "name").to_uppercase()).collect()];
        lines.extend(list(&table, "rows").iter().map(|row| list(row, "cells").iter().map(cell).collect::<Vec<_>>()));
        let width =
            |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
        self.progress.say(format!("policy: {what}"));
        for line in &lines {
            let padded = line.iter().enumerate().map(|(at, cell)| format!("{cell:<0$}", width(at).unwrap_or(0) + 3));
            self.progress.say(format!("    {}", padded.collect::<String>().trim_end()));
        }
        Ok(())
    }
}

/// A write that fails on fields that are not known, as those of kubectl do.
fn strict(method: Method, path: &str, body: &Value) -> Write {
    Write { method, path: format!("{path}?fieldValidation=Strict"), body: body.clone() }
}

fn object(predicates: &Value) -> Value {
    json!({
        "apiVersion": "nodesift.dev/v1alpha1", "kind": "PredicatePolicy", "metadata": {"name": "default"},
        "spec": {"schedulerNames": ["default-scheduler"], "predicates": predicates},
    })
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let found = list(object, "status.conditions").iter().find(|condition| text(condition, "type") == kind);
    found.map_or("", |condition| text(condition, "status"))
}

/// The message of the condition `Active`.
fn message(object: &Value) -> &str {
    let found = list(object, "status.conditions").iter().find(|condition| text(condition, "type") == "Active");
    found.map_or("", |condition| text(condition, "message"))
}

fn is_active(object: &Value, generation: i64) -> bool {
    condition(object, "Active") == "True" && object["status"]["observedGeneration"] == generation
}

/// Requests `GET /v1/policy` of a sidecar.
fn policy(sidecar: &Sidecar) -> anyhow::Result<Value> {
    let answer = get(&sidecar.unix(), "/v1/policy").map_err(anyhow::Error::msg)?;
    ensure!(answer.status == 200, "{} {}", answer.status, answer.body);
    Ok(answer.json())
}

fn predicates(sidecar: &Sidecar) -> anyhow::Result<usize> {
    Ok(list(&policy(sidecar)?, "predicates").len())
}
