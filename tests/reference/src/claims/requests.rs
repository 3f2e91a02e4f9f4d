//! Requests of a claim: one, or alternatives of which one is enough.

use nodesift_fixtures::json::{at, flag, list, text};
use serde_json::Value;

/// One request, or one alternative.
#[derive(Debug, Clone)]
pub(super) struct Request<'a> {
    /// The name of the request in the claim.
    pub(super) base: &'a str,
    /// The name of the alternative, if it is one.
    pub(super) alternative: Option<&'a str>,
    /// The fields: `exactly`, or the alternative itself.
    pub(super) fields: &'a Value,
}

impl<'a> Request<'a> {
    /// The requests of a claim, each with its alternatives; a plain one has one, itself.
    pub(super) fn from_claim(claim: &'a Value) -> Vec<Vec<Self>> {
        let of_request = |request: &'a Value| {
            let base = text(request, "name");
            let alternatives = list(request, "firstAvailable");
            if alternatives.is_empty() {
                return vec![Self { base, alternative: None, fields: at(request, "exactly") }];
            }
            let one = |fields| Self { base, alternative: Some(text(fields, "name")), fields };
            alternatives.iter().map(one).collect()
        };
        list(claim, "spec.devices.requests").iter().map(of_request).collect()
    }

    /// The name alone, without that of the request that an alternative belongs to.
    pub(super) fn own_name(&self) -> &'a str {
        self.alternative.unwrap_or(self.base)
    }

    /// The name as allocations have it.
    pub(super) fn full_name(&self) -> String {
        match self.alternative {
            Some(alternative) => format!("{}/{alternative}", self.base),
            None => self.base.to_owned(),
        }
    }

    /// Whether a list of names, such as that of a constraint, means this request; an empty one means all.
    pub(super) fn is_named_by(&self, names: &[String]) -> bool {
        names.is_empty() || names.iter().any(|name| name == self.base || *name == self.full_name())
    }

    pub(super) fn class(&self) -> &'a str {
        text(self.fields, "deviceClassName")
    }

    pub(super) fn mode(&self) -> &'a str {
        text(self.fields, "allocationMode")
    }

    pub(super) fn count(&self) -> i64 {
        at(self.fields, "count").as_i64().unwrap_or(0)
    }

    /// Alternatives cannot ask for admin access.
    pub(super) fn admin_access(&self) -> bool {
        self.alternative.is_none() && flag(self.fields, "adminAccess")
    }

    pub(super) fn selectors(&self) -> &'a [Value] {
        list(self.fields, "selectors")
    }

    pub(super) fn derived_attributes(&self) -> &'a [Value] {
        list(self.fields, "derivedAttributes")
    }

    pub(super) fn tolerations(&self) -> &'a [Value] {
        list(self.fields, "tolerations")
    }
}
