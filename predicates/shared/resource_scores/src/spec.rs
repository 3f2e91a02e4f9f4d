//! Resources as arguments list them. Start at [`weights`].

use serde::Deserialize;

/// An entry of a list of resources in arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceSpec {
    name: String,
    weight: i64,
}

/// Name and weight of a resource.
pub type Listed = (String, i64);

/// Greatest weight of a resource. Source: `validateResources` of kube-scheduler's configuration.
const GREATEST_WEIGHT: i64 = 100;

/// The listed resources with their weights: a weight that is left out, or 0, is 1, and no list is `cpu` and `memory` with 1 each.
///
/// # Errors
///
/// The first weight that is not from 1 to `greatest`, or to 100 where none is given, with its path; `path` is that of the list.
pub fn weights(listed: Vec<ResourceSpec>, path: &str, greatest: Option<i64>) -> Result<Vec<Listed>, String> {
    if listed.is_empty() {
        return Ok(["cpu", "memory"].map(|name| (name.to_owned(), 1)).to_vec());
    }
    let greatest = greatest.unwrap_or(GREATEST_WEIGHT);
    let weight = |(index, ResourceSpec { name, weight }): (usize, ResourceSpec)| match weight {
        0 => Ok((name, 1)),
        weight if (1..=greatest).contains(&weight) => Ok((name, weight)),
        weight => Err(format!("{path}[{index}].weight: {weight} is not from 1 to {greatest}")),
    };
    listed.into_iter().enumerate().map(weight).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn spec(name: &str, weight: i64) -> ResourceSpec {
        ResourceSpec { name: name.to_owned(), weight }
    }

    #[test]
    fn a_weight_that_is_left_out_is_1() {
        let listed = weights(vec![spec("a", 0), spec("b", 100)], "resources", None).unwrap();
        assert_eq!(listed, [("a".to_owned(), 1), ("b".to_owned(), 100)]);
        assert_eq!(weights(Vec::new(), "resources", None).unwrap().len(), 2);
    }

    #[test]
    fn a_weight_out_of_range_is_refused_with_its_path() {
        let refused = |weight, greatest| weights(vec![spec("a", 1), spec("b", weight)], "r", greatest).unwrap_err();
        assert_eq!(refused(101, None), "r[1].weight: 101 is not from 1 to 100");
        assert_eq!(refused(2, Some(1)), "r[1].weight: 2 is not from 1 to 1");
        assert!(refused(-1, None).starts_with("r[1].weight: "));
    }
}
