//! Subjects of parties' answers, and what an answer says of a node.

use std::sync::Arc;

use crate::request::{Claim, ClaimUid, Concern, Party, Pod, Scope};

/// Subject of an answer: the pods for which it may be used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The pod with this UID.
    Pod(Arc<str>),
    /// The pods of the template with this key.
    Template(Arc<str>),
    /// The pods with these claims of the party, sorted.
    Claims(Arc<[ClaimUid]>),
}

impl Subject {
    /// The subject of a party's answers about a pod. `claims` are those of the pod about which the party decides.
    pub fn new(scope: Scope, pod: &Arc<str>, template: &Arc<str>, claims: &[ClaimUid]) -> Self {
        match scope {
            Scope::Pod => Self::Pod(pod.clone()),
            Scope::Template => Self::Template(template.clone()),
            Scope::Claims => {
                let mut claims = claims.to_vec();
                claims.sort_unstable();
                claims.dedup();
                Self::Claims(claims.into())
            }
        }
    }
}

impl Party {
    /// Returns the subject of the party's answers about a pod, and the claims of the pod about which it decides, none for a party that
    /// decides about pods; `None` where it does not decide about the pod. `selected_by` are the parties with [`Concern::Pods`] whose
    /// selectors match the pod.
    pub fn seat(&self, pod: &Pod, selected_by: &[Arc<str>]) -> Option<(Subject, Vec<ClaimUid>)> {
        let concerns = |claim: &&Claim| match &self.concern {
            Concern::Driver(driver) => claim.drivers.contains(driver),
            Concern::DeviceClass(class) => claim.classes.contains(class),
            Concern::Pods => false,
        };
        let claims: Vec<ClaimUid> = pod.delayed().filter(concerns).map(|claim| claim.uid.clone()).collect();
        let is_seated = !claims.is_empty() || (self.concern == Concern::Pods && selected_by.contains(&self.name));
        is_seated.then(|| (Subject::new(self.scope, &pod.uid, &pod.template, &claims), claims))
    }
}

/// Answer of a party about one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suitability {
    /// There is no valid answer. Such a node fits, unless the policy rejects on the party's silence.
    Unknown,
    /// The node suits the party.
    Suitable,
    /// The node does not suit the party, with the reason.
    Unsuitable(Arc<str>),
}
