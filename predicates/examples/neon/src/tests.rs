#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use nodesift_sdk::accounting::{Owner, configure, ruling};

use super::*;

fn owner(kind: &str, controller: bool) -> Owner {
    Owner {
        api_version: "vm.neon.tech/v1".into(),
        kind: kind.into(),
        name: kind.to_lowercase(),
        uid: String::new(),
        controller,
    }
}

/// A pod of a virtual machine with 2 processors and 4 GiB.
fn machine() -> Object {
    let resources = r#"{"cpus": {"use": "2"}, "memorySlots": {"use": 4}, "memorySlotSize": "1Gi"}"#;
    Object::default()
        .with_owner(owner("VirtualMachine", true))
        .with_annotation("vm.neon.tech/resources", resources)
        .with_request("cpu", 9_000)
        .with_request("example.com/disk", 1)
}

fn account(pod: &Object) -> Account {
    let neon: Neon = configure("{}").unwrap();
    match ruling(&neon, pod) {
        Ruling::Account(account) => account,
        other => panic!("{other:?}"),
    }
}

fn broken(pod: &Object) -> String {
    let neon: Neon = configure("{}").unwrap();
    match ruling(&neon, pod) {
        Ruling::Broken(text) => text,
        other => panic!("{other:?}"),
    }
}

fn amounts(amounts: &[(&str, i64)]) -> Amounts {
    amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect()
}

#[test]
fn a_virtual_machine_takes_what_it_has_until_something_is_approved() {
    let found = account(&machine());
    assert_eq!(found.usage, amounts(&[("cpu", 2_000), ("memory", 4 << 30), ("example.com/disk", 1)]));
    assert_eq!(found.requests, found.usage);
    assert_eq!(found.sums, amounts(&[("neon.committed-cpu", 2_000), ("neon.committed-memory", 4 << 30)]));
    assert!(found.flags.is_empty());
}

#[test]
fn approved_amounts_are_divided_by_overcommit_and_requested_ones_wait() {
    let pod = machine()
        .with_annotation("internal.autoscaling.neon.tech/resources-approved", r#"{"vCPUs": 1, "mem": 3001}"#)
        .with_annotation("internal.autoscaling.neon.tech/resources-requested", r#"{"vCPUs": "1500m", "mem": "2000"}"#)
        .with_annotation("vm.neon.tech/overcommit", r#"{"cpu": "4", "memory": "1.5"}"#);
    let found = account(&pod);
    assert_eq!((found.usage["cpu"], found.usage["memory"]), (250, 2_000));
    let sums = [("neon.committed-cpu", 1_000), ("neon.committed-memory", 3_001), ("neon.wanted-cpu", 500)];
    assert_eq!(found.sums, amounts(&sums));
}

#[test]
fn the_part_in_a_migration_follows_from_owners() {
    let source = account(&machine().with_owner(owner("VirtualMachineMigration", false)));
    assert_eq!(source.flags, ["migration-source"]);
    assert_eq!((source.sums["neon.migrating-cpu"], source.sums["neon.migrating-memory"]), (2_000, 4 << 30));
    let target = account(&machine().with_owner(owner("VirtualMachineMigration", true)));
    assert_eq!(target.flags, ["migration-target"]);
    assert!(!target.sums.contains_key("neon.migrating-cpu"));
    // Of another group it is another kind.
    let other = Owner { api_version: "other/v1".into(), ..owner("VirtualMachineMigration", true) };
    assert!(account(&machine().with_owner(other)).flags.is_empty());
}

#[test]
fn other_pods_take_what_their_containers_request() {
    let found = account(&Object::default().with_request("cpu", 300).with_request("example.com/disk", 1));
    assert_eq!(found.usage, amounts(&[("cpu", 300), ("memory", 0), ("example.com/disk", 1)]));
    assert_eq!(found.sums, amounts(&[("neon.committed-cpu", 300)]));
}

#[test]
fn what_cannot_be_read_is_named() {
    let no_resources = Object::default().with_owner(owner("VirtualMachine", true));
    assert_eq!(broken(&no_resources), "vm.neon.tech/resources: missing");
    for (key, text) in [
        ("vm.neon.tech/resources", "{}"),
        ("vm.neon.tech/resources", "["),
        ("vm.neon.tech/overcommit", r#"{"cpu": "0"}"#),
        ("internal.autoscaling.neon.tech/resources-approved", r#"{"vCPUs": 1}"#),
        ("internal.autoscaling.neon.tech/resources-requested", r#"{"vCPUs": -1, "mem": 1}"#),
    ] {
        assert_eq!(broken(&machine().with_annotation(key, text)), format!("{key}: cannot be read"), "{text}");
    }
    let small = machine().with_annotation("vm.neon.tech/overcommit", r#"{"memory": "1m"}"#);
    assert_eq!(account(&small).usage["memory"], 4_000 << 30);
}

#[test]
fn a_node_has_watermarks() {
    let node = Object::default().with_allocatable("cpu", 1_001).with_allocatable("memory", 10);
    let neon: Neon = configure(r#"{"watermarkPerMille": 500}"#).unwrap();
    assert_eq!(neon.node(&node), Ok(amounts(&[("neon.watermark-cpu", 500), ("neon.watermark-memory", 5)])));
    assert!(configure::<Neon>(r#"{"watermarkPerMille": 1001}"#).unwrap_err().starts_with("watermarkPerMille: "));
    assert!(configure::<Neon>(r#"{"watermark": 1}"#).is_err());
}
