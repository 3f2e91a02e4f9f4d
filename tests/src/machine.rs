//! Locks the machine among all test programs: tests that measure run alone, all others beside each other.
//!
//! `.ci/tests` runs several programs at once, so the locks are those of files. A test that waits to run alone holds the first of the two,
//! the gate, so that it does not wait for ever while others come and go.

use std::fs::{File, OpenOptions};

/// A lock that ends when this is dropped.
#[must_use = "dropping it unlocks the machine"]
#[derive(Debug)]
pub struct Locked(#[expect(dead_code, reason = "closing the file unlocks it")] [File; 1]);

/// Exclusive lock, for a test that measures time, memory or files, or that loads the machine.
pub fn alone() -> Locked {
    let gate = open("gate");
    gate.lock().expect("the gate can be locked");
    let machine = open("machine");
    machine.lock().expect("the machine can be locked");
    Locked([machine])
}

/// Shared lock, for a test that may run beside others.
pub fn beside_others() -> Locked {
    let gate = open("gate");
    gate.lock_shared().expect("the gate can be locked");
    let machine = open("machine");
    machine.lock_shared().expect("the machine can be locked");
    Locked([machine])
}

/// A file of this user, whoever else runs tests on this machine.
fn open(name: &str) -> File {
    let path =
        std::env::temp_dir().join(format!("nodesift-tests-{name}-{}", std::env::var("USER").unwrap_or_default()));
    OpenOptions::new().create(true).truncate(false).write(true).open(path).expect("a file in the temporary folder")
}
