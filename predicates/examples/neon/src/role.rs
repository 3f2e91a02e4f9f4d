//! Whether a pod runs a virtual machine, and its part in a migration. Start at [`Role::from_owners`].
//!
//! NeonVM says both by owners alone, which cannot disagree with labels: a migration owns the pod that it moves and the pod that it
//! moves to, and is the controller of the latter until that is done.

use nodesift_sdk::accounting::Owner;

/// The API group of virtual machines and migrations.
const GROUP: &str = "vm.neon.tech";

/// The part that a virtual machine's pod has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It is in no migration.
    Alone,
    /// A migration is to take the virtual machine away from it.
    Source,
    /// A migration brings the virtual machine to it.
    Target,
}

impl Role {
    /// That of a pod with these owners; none where it runs no virtual machine.
    pub(super) fn from_owners(owners: &[Owner]) -> Option<Self> {
        let of_kind = |kind: &str| owners.iter().find(|owner| owner.kind == kind && is_of_group(&owner.api_version));
        let _machine = of_kind("VirtualMachine")?;
        Some(match of_kind("VirtualMachineMigration") {
            None => Self::Alone,
            Some(Owner { controller: true, .. }) => Self::Target,
            Some(_) => Self::Source,
        })
    }
}

fn is_of_group(api_version: &str) -> bool {
    api_version.split_once('/').is_some_and(|(group, _)| group == GROUP)
}
