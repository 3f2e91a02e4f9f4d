//! Half-written files, and every way in which files are replaced: never is a part of a policy active.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::thread;
use std::time::{Duration, Instant};

use nodesift_policy::limits::RELOAD_QUIET_UNENDED;
use nodesift_tests::data::digest;
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::beside_others;
use serde_json::Value;

use crate::running::{Folder, Reloading, generation, policy};

/// Longer than the time without a change after which files are read.
const PAUSE: Duration = Duration::from_millis(260);

/// How many places a document is cut at.
const CUTS: usize = 100;

/// Writers at the same time, each with a sidecar of its own.
const WRITERS: usize = 4;

fn documents() -> [String; 2] {
    let first =
        ["name: NodeUnschedulable", "name: NodeName", "name: TaintToleration", "name: NodeAffinity", "name: NodePorts"];
    let second =
        ["name: NodePorts", "{name: NodeResourcesFit, args: {ignoredResources: [example.com/a]}}", "name: NodeName"];
    [policy(&first), policy(&second)]
}

/// The pause of a writer that stops in the middle of a file: a fault, and no wait for a result.
pub(crate) fn stall() {
    let end = Instant::now() + PAUSE;
    while let Some(rest) = end.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) {
        thread::park_timeout(rest);
    }
}

#[test]
fn a_file_that_is_written_in_two_parts_is_read_whole_wherever_it_is_cut() {
    let _beside = beside_others();
    let write = |writer: usize| {
        let [first, second] = documents();
        let reloading = Reloading::start(&first);
        for cut in (writer..CUTS).step_by(WRITERS) {
            let next = if (cut / WRITERS).is_multiple_of(2) { &second } else { &first };
            let before = reloading.status();
            let (start, end) = next.as_bytes().split_at(next.len() * cut / CUTS);
            let began = Instant::now();
            let mut file =
                OpenOptions::new().write(true).truncate(true).open(reloading.folder.path("policy.yaml")).unwrap();
            file.write_all(start).unwrap();
            stall();
            let status = reloading.status();
            assert_eq!(status["document"], before["document"], "cut at {cut}");
            // On a machine that is so slow, the first part is what the file has come to be.
            let failure = if began.elapsed() < RELOAD_QUIET_UNENDED { &Value::Null } else { &status["lastFailure"] };
            assert_eq!(
                (&status["generation"], &status["lastFailure"]),
                (&before["generation"], failure),
                "cut at {cut}"
            );
            file.write_all(end).unwrap();
            drop(file);
            let status = reloading.becomes(next);
            assert_eq!(generation(&status), generation(&before) + 1, "cut at {cut}");
        }
    };
    thread::scope(|scope| (0..WRITERS).for_each(|writer| drop(scope.spawn(move || write(writer)))));
}

#[test]
fn a_file_that_ends_in_the_middle_of_a_line_is_waited_for_though_it_is_closed() {
    let _beside = beside_others();
    let [first, second] = documents();
    let reloading = Reloading::start(&first);
    // A policy of fewer predicates, with a name that is not cut.
    let end = second.find("}}").unwrap() + 2;
    let unended = format!("{}\n  - name: NodeName", &second[..end]);
    let file = reloading.folder.path("policy.yaml");
    fs::write(&file, &unended).unwrap();
    stall();
    assert_eq!(reloading.status()["document"], first);
    let mut rest = OpenOptions::new().append(true).open(&file).unwrap();
    rest.write_all(b"\n  - name: NodeAffinity\n").unwrap();
    drop(rest);
    let whole = format!("{unended}\n  - name: NodeAffinity\n");
    assert_eq!(generation(&reloading.becomes(&whole)), 2);
    // After a while it is taken for an editor's habit.
    fs::write(&file, &unended).unwrap();
    assert_eq!(generation(&reloading.becomes(&unended)), 3);
}

#[test]
fn a_file_is_replaced_by_renaming_by_writing_in_place_and_by_its_folder() {
    let _beside = beside_others();
    let [first, second] = documents();
    let reloading = Reloading::start(&first);
    reloading.put(&second);
    assert_eq!(generation(&reloading.becomes(&second)), 2);
    fs::write(reloading.folder.path("policy.yaml"), &first).unwrap();
    assert_eq!(generation(&reloading.becomes(&first)), 3);
    fs::remove_file(reloading.folder.path("policy.yaml")).unwrap();
    reloading.put(&second);
    reloading.becomes(&second);
}

/// A ConfigMap as kubelet mounts it: files are links to `..data`, which is replaced as a whole.
fn config_map(folder: &Folder, version: usize, policy: &str, guest: &[u8]) {
    let name = format!("..{version}");
    fs::create_dir(folder.path(&name)).unwrap();
    fs::write(folder.path(&name).join("policy.yaml"), policy).unwrap();
    fs::write(folder.path(&name).join("own.wasm"), guest).unwrap();
    symlink(&name, folder.path("..data_tmp")).unwrap();
    fs::rename(folder.path("..data_tmp"), folder.path("..data")).unwrap();
}

#[test]
fn a_config_map_is_replaced_as_a_whole_whether_its_file_or_its_folder_is_named() {
    let _beside = beside_others();
    let guests = [Guest::healthy().component(), Guest::asking(8, 1).component()];
    let document = |version: usize| {
        let guest = &guests[version % 2];
        policy(&["name: NodeName", &format!("{{name: Own, module: {{path: own.wasm, digest: {}}}}}", digest(guest))])
    };
    for named in ["policy.yaml", "."] {
        let folder = Folder::new();
        config_map(&folder, 0, &document(0), &guests[0]);
        for name in ["policy.yaml", "own.wasm"] {
            symlink(format!("..data/{name}"), folder.path(name)).unwrap();
        }
        let path = folder.path(named);
        let reloading = Reloading::serving(folder, &path);
        for version in 1..6 {
            config_map(&reloading.folder, version, &document(version), &guests[version % 2]);
            let status = reloading.becomes(&document(version));
            assert_eq!(status["predicates"][1]["digest"], digest(&guests[version % 2]), "{named} {version}");
            assert_eq!(generation(&status), version as u64 + 1, "{named}");
            fs::remove_dir_all(reloading.folder.path(&format!("..{}", version - 1))).unwrap();
        }
        assert_eq!(reloading.status()["lastFailure"], Value::Null);
    }
}

#[test]
fn a_module_beside_the_policy_is_followed_too_and_waited_for_while_it_is_written() {
    let _beside = beside_others();
    let guests = [Guest::healthy().component(), Guest::asking(8, 1).component()];
    let folder = Folder::new();
    folder.put("own.wasm", &guests[0]);
    let document = policy(&["name: NodeName", "{name: Own, module: {path: own.wasm}}"]);
    let reloading = Reloading::with(folder, &document);
    let has = |number: usize| move |status: &Value| status["predicates"][1]["digest"] == digest(&guests[number]);
    let own = reloading.folder.path("own.wasm");
    let mut file = OpenOptions::new().write(true).truncate(true).open(&own).unwrap();
    let next = Guest::asking(8, 1).component();
    file.write_all(&next[..next.len() / 2]).unwrap();
    stall();
    let status = reloading.status();
    assert_eq!((generation(&status), &status["lastFailure"]), (1, &Value::Null));
    file.write_all(&next[next.len() / 2..]).unwrap();
    drop(file);
    reloading.when("the second module", has(1));
    assert_eq!(reloading.generation(), 2);
}

#[test]
fn a_permission_that_is_lost_is_told_and_changes_nothing() {
    let _beside = beside_others();
    let [first, second] = documents();
    let reloading = Reloading::start(&first);
    let file = reloading.folder.path("policy.yaml");
    fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
    let may_read_all = fs::read(&file).is_ok();
    let status = reloading.when("the permission is lost", |status| {
        status["lastFailure"].is_object() || may_read_all && generation(status) == 2
    });
    assert_eq!(status["document"], first);
    if !may_read_all {
        assert_eq!(status["lastFailure"]["step"], "read");
    }
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    reloading.put(&second);
    assert_eq!(reloading.becomes(&second)["lastFailure"], Value::Null);
}
