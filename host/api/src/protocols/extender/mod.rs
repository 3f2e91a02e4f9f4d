//! kube-scheduler's extender protocol, as `k8s.io/kube-scheduler/extender/v1` has it.
//!
//! Its Go types have no JSON tags: names are Go's field names, any case is taken, absent pointers are explicit nulls.
//! [`filter`], [`prioritize`] and [`preempt`] are calls of the [`driver`](crate::calls::driver) like all others; they decode and encode in
//! the slot, because their bodies hold whole pods. Start with [`filter`].

pub(crate) mod filter;
mod go_object;
pub(crate) mod preempt;
pub(crate) mod prioritize;

use serde_json::value::RawValue;

use crate::Error;
use crate::calls::request;
use nodesift_object::Pod;

/// The pod of a request.
fn whole_pod(raw: Option<&RawValue>) -> Result<Pod, Error> {
    let raw = raw.ok_or_else(|| Error::invalid("Pod", "is missing"))?;
    request::from_text("Pod", raw.get())
}
