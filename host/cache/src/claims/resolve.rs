//! The claims of a pod, before any node is looked at. Start at [`Claims::resolve`].
//!
//! Source: `PreFilter` in dynamicresources.go and extendeddynamicresources.go of kube-scheduler 1.36's plugin.

use std::sync::Arc;

use super::Claims;
use crate::metadata::{ClaimRecord, ClaimReference, PodClaims, PodFacts, quoted};
use nodesift_object::claim::DeviceRequest;

/// The claims of a pod that can be allocated somewhere, or are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Claims that the pod names, in its order; one that it names twice is here twice.
    pub named: Vec<Arc<ClaimRecord>>,
    /// Claim for the pod's extended resources; none where no class serves one of them.
    pub extended: Option<ExtendedClaim>,
}

/// The claim for a pod's extended resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtendedClaim {
    /// Existing claim, made in an earlier scheduling cycle.
    Known(Arc<ClaimRecord>),
    /// No claim exists yet; one has to be created.
    ToBeMade,
}

/// Why the claims of a pod cannot be allocated anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimObstacle {
    /// The reason, in kube-scheduler's words.
    pub text: String,
    /// Whether kube-scheduler treats it as an error, which ends the cycle.
    pub is_error: bool,
}

impl ClaimObstacle {
    fn unresolvable(text: String) -> Self {
        Self { text, is_error: false }
    }

    fn error(text: String) -> Self {
        Self { text, is_error: true }
    }
}

impl Resolved {
    /// All claims that exist.
    pub fn known(&self) -> impl Iterator<Item = &Arc<ClaimRecord>> {
        let extended = self.extended.iter().filter_map(|extended| match extended {
            ExtendedClaim::Known(claim) => Some(claim),
            ExtendedClaim::ToBeMade => None,
        });
        self.named.iter().chain(extended)
    }

    /// Claims whose allocation keeps the pod from nodes, and that nobody but the pod of this UID uses: taken back, they could be
    /// allocated elsewhere. `keeps_away` says whether a claim cannot be used on some node that matters. Each claim once.
    pub fn releasable(&self, pod_uid: &str, keeps_away: impl Fn(&ClaimRecord) -> bool) -> Vec<Arc<ClaimRecord>> {
        let mut releasable: Vec<Arc<ClaimRecord>> = Vec::new();
        for claim in self.known().filter(|claim| claim.is_free_for(pod_uid) && keeps_away(claim)) {
            if !releasable.iter().any(|known| known.uid == claim.uid) {
                releasable.push(Arc::clone(claim));
            }
        }
        releasable
    }
}

impl Claims {
    /// The claims of the pod of this name and UID, as its object has them; none where there is nothing to do for it.
    ///
    /// # Errors
    /// They cannot be allocated on any node: a claim does not exist, is deleted, belongs to another pod, is being allocated, or asks
    /// for a class that does not exist; or a claim is broken.
    pub fn resolve(&self, pod: &PodFacts, name: &str, uid: &str) -> Result<Option<Resolved>, ClaimObstacle> {
        let Some(claims) = &pod.claims else { return Ok(None) };
        let named = self.named(claims, &pod.namespace, name, uid).map_err(ClaimObstacle::unresolvable)?;
        let extended = self.extended(claims, name, uid);
        if named.is_empty() && extended.is_none() {
            return Ok(None);
        }
        for claim in &named {
            self.check_state(claim)?;
            if claim.allocation.is_none() {
                self.check_requests(claim)?;
            }
        }
        // The one for extended resources gets its requests node by node.
        if let Some(ExtendedClaim::Known(claim)) = &extended {
            self.check_state(claim)?;
        }
        Ok(Some(Resolved { named, extended }))
    }

    /// The claims that the pod names, or why one of them cannot be used.
    fn named(
        &self,
        claims: &PodClaims,
        namespace: &str,
        pod: &str,
        pod_uid: &str,
    ) -> Result<Vec<Arc<ClaimRecord>>, String> {
        let pod_key = || format!("{namespace}/{pod}");
        let mut named = Vec::with_capacity(claims.named.len());
        for entry in claims.named.iter() {
            let (name, is_made) = match &entry.claim {
                ClaimReference::Named(name) => (name, false),
                ClaimReference::Made(name) => (name, true),
                ClaimReference::NotNeeded => continue,
                ClaimReference::NotMade => {
                    return Err(format!("pod {}: ResourceClaim not created yet", quoted(&pod_key())));
                }
                ClaimReference::Unknown => {
                    let (pod, entry) = (quoted(&pod_key()), quoted(&entry.name));
                    return Err(format!("pod {pod}, spec.resourceClaim {entry}: none of the supported fields are set"));
                }
            };
            let key = format!("{namespace}/{name}");
            let Some(claim) = self.claim(&key) else {
                return Err(format!("could not find ResourceClaim {}", quoted(&key)));
            };
            if claim.deleting {
                return Err(format!("resourceclaim {} is being deleted", quoted(name)));
            }
            if is_made && claim.controller_uid.as_deref() != Some(pod_uid) {
                let (kind, pod) = (if self.rules.owner_in_lower_case { "pod" } else { "Pod" }, pod_key());
                return Err(format!("ResourceClaim {key} was not created for {kind} {pod} ({kind} is not owner)"));
            }
            named.push(Arc::clone(claim));
        }
        Ok(named)
    }

    fn extended(&self, claims: &PodClaims, pod: &str, pod_uid: &str) -> Option<ExtendedClaim> {
        let is_served = claims.resources.iter().any(|resource| self.class_serving(resource).is_some());
        let claim = || self.made_for(pod, pod_uid).map(Arc::clone);
        is_served.then(|| claim().map_or(ExtendedClaim::ToBeMade, ExtendedClaim::Known))
    }

    /// Whether a claim is allocated, or can be now.
    fn check_state(&self, claim: &ClaimRecord) -> Result<(), ClaimObstacle> {
        match &claim.allocation {
            Some(allocation) => match allocation.nodes.as_ref().and_then(|nodes| nodes.error()) {
                Some(error) => Err(ClaimObstacle::error(error.to_owned())),
                None => Ok(()),
            },
            None if self.is_in_flight(&claim.uid) => Err(ClaimObstacle::unresolvable(format!(
                "resource claim {} is in the process of being allocated",
                claim.key()
            ))),
            None => Ok(()),
        }
    }

    fn check_requests(&self, claim: &ClaimRecord) -> Result<(), ClaimObstacle> {
        for request in claim.spec.requests.iter().flatten() {
            let DeviceRequest { name, exactly, first_available } = request;
            if let Some(fields) = exactly {
                self.check_class(name, &fields.device_class_name)?;
            } else if first_available.is_empty() {
                let claim = claim.key();
                let text = format!("resource claim {claim}, request {name}: unknown request type");
                return Err(ClaimObstacle::unresolvable(text));
            } else {
                for fields in first_available {
                    self.check_class(&format!("{name}/{}", fields.name), &fields.device_class_name)?;
                }
            }
        }
        Ok(())
    }

    fn check_class(&self, request: &str, class: &str) -> Result<(), ClaimObstacle> {
        if class.is_empty() {
            return Err(ClaimObstacle::error(format!("request {request}: unsupported request type")));
        }
        if self.class(class).is_none() {
            let text = format!("request {request}: device class {class} does not exist");
            return Err(ClaimObstacle::unresolvable(text));
        }
        Ok(())
    }
}
