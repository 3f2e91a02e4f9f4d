//! The claims as the core writes them: which devices they have and which pods they are reserved for. It does what kube-scheduler and
//! the controller of claims do.
//!
//! Start at [`Ledger::reserve`]. A write is based on the version that was read last, so what somebody else has written meanwhile is
//! noticed, and read again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, ensure};
use nodesift_fixtures::json::{at, is_set, key, list, name, namespace, text};
use serde_json::{Value, json};

use super::scene::claim;
use crate::api::{Api, Write};
use crate::kinds::{collection, path};

/// Attempts for one write. Each one that fails is a write of somebody else.
const ATTEMPTS: usize = 20;

/// Whether the claims of a pod were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// All claims of the pod were written.
    All,
    /// One of them was not as the sidecar had it. Those before it were written.
    Refused,
}

/// Claims as they were read or written last.
pub(crate) struct Ledger {
    api: Api,
    /// Claims by `namespace/name`, as they were read or written last.
    known: Mutex<BTreeMap<String, Value>>,
    conflicts: AtomicUsize,
}

impl Ledger {
    /// Begins with these claims.
    pub(crate) fn new(api: Api, claims: Vec<Value>) -> Self {
        let known = Mutex::new(claims.into_iter().map(|claim| (key(&claim), claim)).collect());
        Self { api, known, conflicts: AtomicUsize::new(0) }
    }

    /// Writes that the API server refused, because somebody else had written.
    pub(crate) fn conflicts(&self) -> usize {
        self.conflicts.load(Ordering::Relaxed)
    }

    /// Gives the claims that a pod names what the sidecar has chosen on a node, and reserves all of them for the pod.
    pub(crate) async fn reserve(&self, pod: &Value, node: &str, allocations: &[Value]) -> anyhow::Result<Written> {
        for name in names(pod) {
            let chosen = allocations.iter().find(|allocation| text(allocation, "claim") == name);
            let allocation: Option<Value> =
                chosen.map(|chosen| serde_json::from_str(text(chosen, "allocation"))).transpose()?;
            let uid = chosen.map(|chosen| text(chosen, "uid"));
            let reserve = |claim: &Value| {
                // One that is allocated may have lost its devices meanwhile, and got others on another node.
                let is_as_known = is_set(claim, "status.allocation") != allocation.is_some()
                    && is_for(claim, node)
                    && uid.is_none_or(|uid| uid == text(claim, "metadata.uid"));
                let mut reserved = list(claim, "status.reservedFor").to_vec();
                reserved.push(
                    json!({"resource": "pods", "name": text(pod, "metadata.name"), "uid": text(pod, "metadata.uid")}),
                );
                let mut status = json!({"reservedFor": reserved});
                if let Some(allocation) = &allocation {
                    status["allocation"] = allocation.clone();
                }
                is_as_known.then_some(status)
            };
            if !self.change(&name, reserve).await? {
                return Ok(Written::Refused);
            }
        }
        Ok(Written::All)
    }

    /// Makes the claim that serves the extended resources of a pod, if it has one, and names it in the status of the pod.
    pub(crate) async fn serve_extended(&self, pod: &Value, allocations: &[Value]) -> anyhow::Result<()> {
        let Some(chosen) = allocations.iter().find(|allocation| text(allocation, "claim").is_empty()) else {
            return Ok(());
        };
        let json =
            |field| serde_json::from_str::<Value>(text(chosen, field)).with_context(|| format!("{field} in {chosen}"));
        let owner = json!({
            "apiVersion": "v1", "kind": "Pod", "name": name(pod), "uid": text(pod, "metadata.uid"), "controller": true,
        });
        let mut made = claim(&extended_name(pod), &Value::Null);
        made["spec"] = json("spec")?;
        made["metadata"]["ownerReferences"] = json!([owner]);
        made["metadata"]["annotations"] = json!({"resource.kubernetes.io/extended-resource-claim": "true"});
        let status_path = format!("{}/status", path(&made));
        self.api.done(&Write::create(collection(&made), made)).await?;
        let reserved = json!([{"resource": "pods", "name": name(pod), "uid": text(pod, "metadata.uid")}]);
        let status = json!({"allocation": json("allocation")?, "reservedFor": reserved});
        self.api.done(&Write::patch(status_path, json!({"status": status}))).await?;
        let mappings = json("requestMappings")?;
        let named = json!({"resourceClaimName": extended_name(pod), "requestMappings": mappings});
        let status = json!({"status": {"extendedResourceClaimStatus": named}});
        self.api.done(&Write::patch(format!("{}/status", path(pod)), status)).await?;
        Ok(())
    }

    /// Ends a pod that is bound, and releases its claims.
    pub(crate) async fn end(&self, pod: &Value) -> anyhow::Result<()> {
        let ended = json!({"status": {"phase": "Succeeded"}});
        let reply = self.api.done(&Write::patch(format!("{}/status", path(pod)), ended)).await?;
        self.release(pod).await?;
        let claim = text(&reply, "status.extendedResourceClaimStatus.resourceClaimName");
        if !claim.is_empty() {
            self.api.done(&Write::delete(claim_path(namespace(pod), claim), None)).await?;
        }
        Ok(())
    }

    /// Takes a pod out of the claims that it names. A claim that is left to nobody gives its devices back.
    pub(crate) async fn release(&self, pod: &Value) -> anyhow::Result<()> {
        for name in names(pod) {
            let release = |claim: &Value| {
                let mut reserved = list(claim, "status.reservedFor").to_vec();
                reserved.retain(|holder| text(holder, "uid") != text(pod, "metadata.uid"));
                let was_reserved = reserved.len() < list(claim, "status.reservedFor").len();
                let status = match reserved.is_empty() {
                    true => json!({"reservedFor": null, "allocation": null}),
                    false => json!({"reservedFor": reserved}),
                };
                was_reserved.then_some(status)
            };
            // It was not reserved for the pod otherwise.
            let _released = self.change(&name, release).await?;
        }
        Ok(())
    }

    /// Changes the status of a claim; false where nothing is to be changed in what the API server has.
    async fn change(&self, name: &str, change: impl Fn(&Value) -> Option<Value>) -> anyhow::Result<bool> {
        let mut known = self.known().get(name).cloned();
        let mut is_read = false;
        for _ in 0..ATTEMPTS {
            let claim = match known.take() {
                Some(claim) => claim,
                None => {
                    is_read = true;
                    let (namespace, name) = name.split_once('/').context("a claim without a namespace")?;
                    let reply = self.api.get(&claim_path(namespace, name)).await?;
                    ensure!(reply.is_done(), "{name}: {} {}", reply.status, text(&reply.body, "message"));
                    reply.body
                }
            };
            let Some(status) = change(&claim) else {
                if is_read {
                    return Ok(false);
                }
                continue;
            };
            let version = text(&claim, "metadata.resourceVersion");
            let patch = json!({"metadata": {"resourceVersion": version}, "status": status});
            let write = Write::patch(format!("{}/status", path(&claim)), patch);
            let reply = self.api.write(&write).await?;
            if reply.is_done() {
                self.known().insert(name.to_owned(), reply.body);
                return Ok(true);
            }
            ensure!(reply.status == 409, "{}: {} {}", write.path, reply.status, text(&reply.body, "message"));
            self.conflicts.fetch_add(1, Ordering::Relaxed);
        }
        anyhow::bail!("{name} cannot be written: somebody else always has")
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Value>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the devices that a claim has, if any, are those of a node, or of all nodes.
fn is_for(claim: &Value, node: &str) -> bool {
    let selector = at(claim, "status.allocation.nodeSelector");
    selector.is_null() || selector["nodeSelectorTerms"][0]["matchFields"][0]["values"] == json!([node])
}

/// `namespace/name` of the claims that a pod names.
pub(crate) fn names(pod: &Value) -> Vec<String> {
    list(pod, "spec.resourceClaims")
        .iter()
        .map(|claim| format!("{}/{}", namespace(pod), text(claim, "resourceClaimName")))
        .collect()
}

fn extended_name(pod: &Value) -> String {
    format!("{}-extended-resources", name(pod))
}

/// The path of a claim.
pub(crate) fn claim_path(namespace: &str, name: &str) -> String {
    format!("/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}")
}
