//! Neon: an example of accounting. Virtual machines run in pods and grow and shrink while they run, so that what they take is in
//! annotations and not in their containers. The rules are those of Neon's scheduler plugin (neondatabase/autoscaling, `pkg/plugin`).
//!
//! ```text
//! role       a virtual machine's pod, and its part in a migration, by owners
//! scaling    annotations → what is approved, requested and overcommitted
//! quantity   amounts as Kubernetes writes them
//! ```
//!
//! Start at [`Neon::pod`](Accounting::pod).

mod quantity;
mod role;
mod scaling;

use nodesift_sdk::accounting::{Account, Accounting, Amounts, Needs, Object, Ruling};
use serde::Deserialize;

use role::Role;
use scaling::{Pair, Scaling};

/// Sums of the amounts that migrations will take away from the node, with overcommit: processors, then memory.
pub const MIGRATING: [&str; 2] = ["neon.migrating-cpu", "neon.migrating-memory"];

/// Sums of the amounts approved for virtual machines, without overcommit, and requested by the containers of other pods: processors, then
/// memory.
pub const COMMITTED: [&str; 2] = ["neon.committed-cpu", "neon.committed-memory"];

/// Sums of the amounts that virtual machines have requested beyond the approved ones, without overcommit: processors, then memory.
pub const WANTED: [&str; 2] = ["neon.wanted-cpu", "neon.wanted-memory"];

/// Sums of the amounts of a node that may be used before virtual machines are to move away: processors, then memory.
pub const WATERMARK: [&str; 2] = ["neon.watermark-cpu", "neon.watermark-memory"];

/// The resources that are accounted for.
const RESOURCES: [&str; 2] = ["cpu", "memory"];

/// The arguments that a policy gives.
#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Args {
    /// The part of a node that may be used before virtual machines are to move away, in thousandths of it; 900 is nine tenths.
    pub watermark_per_mille: i64,
}

impl Default for Args {
    fn default() -> Self {
        Self { watermark_per_mille: 900 }
    }
}

/// Accounts for virtual machines by their annotations, and for other pods by the requests of their containers.
#[derive(Debug)]
pub struct Neon(Args);

impl Accounting for Neon {
    type Args = Args;

    fn new(args: Args) -> Result<Self, String> {
        if !(0..=1_000).contains(&args.watermark_per_mille) {
            return Err(format!("watermarkPerMille: {} is not from 0 to 1000", args.watermark_per_mille));
        }
        Ok(Self(args))
    }

    fn needs(&self) -> Needs {
        let sums = [MIGRATING, COMMITTED, WANTED, WATERMARK].concat();
        Needs {
            annotations: scaling::ANNOTATIONS.map(String::from).to_vec(),
            sums: sums.into_iter().map(String::from).collect(),
        }
    }

    fn pod(&self, pod: &Object) -> Ruling {
        let account = match Role::from_owners(&pod.owners()) {
            None => container_account(pod),
            Some(role) => machine_account(pod, role),
        };
        account.map_or_else(Ruling::Broken, Ruling::Account)
    }

    fn node(&self, node: &Object) -> Result<Amounts, String> {
        let allocatable = node.standard();
        let watermark = |resource: &str| {
            let total = i128::from(allocatable.get(resource).copied().unwrap_or(0));
            i64::try_from(total * i128::from(self.0.watermark_per_mille) / 1_000).unwrap_or(i64::MAX)
        };
        Ok(WATERMARK
            .into_iter()
            .zip(RESOURCES)
            .map(|(name, resource)| (name.to_owned(), watermark(resource)))
            .collect())
    }
}

/// A pod that runs no virtual machine takes what its containers request.
fn container_account(pod: &Object) -> Result<Account, String> {
    let containers = pod.containers();
    let of = |resource: &str| containers.get(resource).copied().unwrap_or(0);
    let taken = Pair { cpu: of("cpu"), memory: of("memory") };
    Ok(Account {
        requests: replaced(pod.standard(), taken),
        usage: replaced(pod.usage(), taken),
        sums: sums([(COMMITTED, taken)]),
        flags: Vec::new(),
    })
}

/// A virtual machine takes what is approved, divided by its overcommit.
fn machine_account(pod: &Object, role: Role) -> Result<Account, String> {
    let Scaling { approved, wanted, taken } = Scaling::read(pod)?;
    let mut all = vec![(COMMITTED, approved), (WANTED, wanted)];
    if role == Role::Source {
        all.push((MIGRATING, taken));
    }
    let flag = match role {
        Role::Alone => None,
        Role::Source => Some("migration-source"),
        Role::Target => Some("migration-target"),
    };
    Ok(Account {
        requests: replaced(pod.standard(), taken),
        usage: replaced(pod.usage(), taken),
        sums: sums(all),
        flags: flag.map(String::from).into_iter().collect(),
    })
}

/// Replaces processors and memory in the amounts that the API states.
fn replaced(mut amounts: Amounts, taken: Pair) -> Amounts {
    amounts.extend(RESOURCES.into_iter().map(String::from).zip([taken.cpu, taken.memory]));
    amounts
}

/// Sums of processors and memory; those of 0 are left out.
fn sums(all: impl IntoIterator<Item = ([&'static str; 2], Pair)>) -> Amounts {
    let named = all.into_iter().flat_map(|(names, pair)| names.into_iter().zip([pair.cpu, pair.memory]));
    named.filter(|(_, amount)| *amount != 0).map(|(name, amount)| (name.to_owned(), amount)).collect()
}

nodesift_sdk::export_accounting!(Neon);

#[cfg(test)]
mod tests;
