//! The last good policy over restarts (R-09), a folder that cannot be written (P-07), and files that cannot be read (R-11).

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nodesift_policy::limits::RELOAD_RETRY;
use nodesift_tests::data::digest;
use nodesift_tests::guest::Guest;
use nodesift_tests::http::{ask, get, post};
use nodesift_tests::machine::beside_others;
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::{timeout, timing};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::running::{Folder, Reloading, command, generation, policy};

const BROKEN: &str = "kind: Nothing\n";

/// A sidecar whose policy is in a folder, and that remembers the last good one in another.
struct Remembering {
    folder: Option<Folder>,
    state: TempDir,
}

impl Remembering {
    fn new() -> Self {
        Self { folder: Some(Folder::new()), state: tempfile::tempdir().unwrap() }
    }

    fn folder(&self) -> &Folder {
        self.folder.as_ref().unwrap()
    }

    /// Starts with the policy of the folder, runs `check`, and ends it once the active policy is remembered.
    fn run<T>(&mut self, check: impl FnOnce(&Reloading) -> T) -> T {
        let folder = self.folder.take().unwrap();
        let path = folder.path("policy.yaml");
        let arguments = ["--policy", path.to_str().unwrap(), "--state-folder", self.state.path().to_str().unwrap()];
        let reloading = Reloading { sidecar: Sidecar::start(command(), &arguments), folder };
        let result = check(&reloading);
        remembered(self.state.path(), &reloading.status()["document"]);
        let Reloading { folder, sidecar } = reloading;
        sidecar.kill();
        self.folder = Some(folder);
        result
    }

    /// The names of the modules that are remembered.
    fn modules(&self) -> Vec<String> {
        modules(self.state.path())
    }
}

/// Waits until this document is remembered, and returns the remembered file.
fn remembered(state: &Path, document: &Value) -> Value {
    let read = || {
        let found: Value = serde_json::from_slice(&fs::read(state.join("policy.json")).ok()?).ok()?;
        (found["document"] == *document).then_some(found)
    };
    timeout::until(read).expect("the policy is remembered")
}

fn modules(state: &Path) -> Vec<String> {
    let names = fs::read_dir(state.join("modules")).unwrap();
    names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn own(predicate: &str) -> String {
    policy(&["name: NodeName", &format!("{{name: Own, module: {{path: own.wasm}}{predicate}}}")])
}

fn answer(reloading: &Reloading) -> Value {
    let mut answer = ask(&reloading.sidecar.unix(), "/v1/filter", &json!({"pending": true}));
    answer.as_object_mut().unwrap().remove("version");
    answer
}

/// R-09 of the reliability plan: the last good policy over restarts.
#[test]
fn a_start_with_a_broken_policy_serves_the_last_good_one_with_the_bytes_of_its_modules_and_says_so() {
    let _beside = beside_others();
    let mut remembering = Remembering::new();
    let good = own("");
    remembering.folder().put("own.wasm", Guest::healthy().component());
    remembering.folder().put("policy.yaml", &good);
    let before = remembering.run(|reloading| {
        assert_eq!(reloading.status()["remembered"], false);
        assert_eq!(reloading.metric("nodesift_policy_remembered"), 0.0);
        answer(reloading)
    });
    let found = remembered(remembering.state.path(), &json!(good));
    assert_eq!(found["modules"]["Own"], digest(&Guest::healthy().component()));
    // Document and module are both gone.
    for broken in [Some(BROKEN), None] {
        remembering.folder().put("own.wasm", "garbage");
        match broken {
            Some(broken) => remembering.folder().put("policy.yaml", broken),
            None => fs::remove_file(remembering.folder().path("policy.yaml")).unwrap(),
        }
        let mended = own(", args: {a: 1}");
        let state = remembering.state.path().to_owned();
        remembering.run(|reloading| {
            assert_eq!(answer(reloading), before);
            let status = reloading.when("why the named one is broken", |status| status["lastFailure"].is_object());
            assert_eq!((&status["remembered"], &status["document"]), (&json!(true), &json!(good)));
            assert_eq!(generation(&status), 1);
            assert_eq!(reloading.metric("nodesift_policy_remembered"), 1.0);
            let ready = get(&reloading.sidecar.unix(), "/readyz").unwrap();
            assert!(ready.status == 200 && ready.body.contains("remembered"), "{}", ready.body);
            assert!(reloading.sidecar.output().contains("last good"), "{}", reloading.sidecar.output());
            let server = format!("unix:{}", reloading.sidecar.socket.display());
            let printed = sidecar::run(command().args(["policy", "status", "--server", &server]));
            assert!(printed.stdout.contains("remembered"), "{}", printed.stdout);
            // Once it is mended it is active, and nothing is remembered any more that is not.
            reloading.folder.put("own.wasm", Guest::asking(8, 1).component());
            reloading.put(&mended);
            let status = reloading.becomes(&mended);
            assert_eq!(status["remembered"], false);
            let ready = || Some(get(&reloading.sidecar.unix(), "/readyz").unwrap().body).filter(|body| body == "ok\n");
            assert!(timeout::until(ready).is_some());
            let name = digest(&Guest::asking(8, 1).component()).replace("sha256:", "") + ".wasm";
            assert!(timeout::until(|| (modules(&state) == [name.clone()]).then_some(())).is_some());
        });
        // As at the beginning.
        remembering.folder().put("own.wasm", Guest::healthy().component());
        remembering.folder().put("policy.yaml", &good);
        remembering.run(|_| ());
    }
}

/// R-09 of the reliability plan: a start without a good policy.
#[test]
fn a_start_with_a_broken_policy_and_none_remembered_is_live_and_not_ready_until_the_policy_is_mended() {
    let _beside = beside_others();
    let damaged = |state: &Path, content: &str| {
        fs::create_dir_all(state.join("modules")).unwrap();
        fs::write(state.join("policy.json"), content).unwrap();
    };
    let cases: [&dyn Fn(&Path); 3] = [&|_| (), &|state| damaged(state, "{"), &|state| {
        damaged(state, r#"{"source": "a", "document": "b", "documentDigest": "sha256:00", "modules": {}}"#)
    }];
    for (number, prepare) in cases.iter().enumerate() {
        let (folder, state) = (Folder::new(), tempfile::tempdir().unwrap());
        prepare(state.path());
        folder.put("policy.yaml", BROKEN);
        let path = folder.path("policy.yaml");
        let arguments = ["--policy", path.to_str().unwrap(), "--state-folder", state.path().to_str().unwrap()];
        let sidecar = Sidecar::launch(command(), &arguments);
        let unix = sidecar.unix();
        let wait_for = |path: &str, status: u16, word: &str| {
            let seen = || get(&unix, path).ok().filter(|seen| seen.status == status && seen.body.contains(word));
            timeout::until(seen)
                .unwrap_or_else(|| panic!("{number} {path}: {:?}\n{}", get(&unix, path), sidecar.output()))
        };
        wait_for("/livez", 200, "ok");
        wait_for("/readyz", 503, "Nothing");
        assert!(wait_for("/readyz", 503, "a valid policy").body.contains("policy.yaml"));
        wait_for("/metrics", 200, "process_resident_memory_bytes");
        let refused = post(&unix, "/v1/filter", json!({"pending": true}).to_string()).unwrap();
        assert!(refused.status == 503 && refused.body.contains("a valid policy"), "{}", refused.body);
        // Broken in another way.
        folder.put("policy.yaml", policy(&["name: NodeNmae"]));
        wait_for("/readyz", 503, "NodeNmae");
        wait_for("/livez", 200, "ok");
        folder.put("policy.yaml", policy(&["name: NodeName"]));
        wait_for("/readyz", 200, "ok");
        let answer = ask(&unix, "/v1/filter", &json!({"pending": true}));
        assert_eq!(answer["version"]["policyGeneration"], "1");
        let output = sidecar.output();
        assert!(output.contains("not ready until it is mended"), "{output}");
        assert_eq!(number > 0, output.contains("cannot be used"), "{output}");
    }
    // Without the option it does not start.
    let folder = Folder::new();
    folder.put("policy.yaml", BROKEN);
    let socket = folder.path("s.sock");
    let output = sidecar::run(
        command()
            .args(["serve", "--sample", "--no-tcp", "--socket"])
            .arg(socket)
            .arg("--policy")
            .arg(folder.path("policy.yaml")),
    );
    assert_eq!(output.code, Some(64), "{}", output.stderr);
}

#[test]
fn a_module_that_was_damaged_in_the_state_folder_is_not_served() {
    let _beside = beside_others();
    let mut remembering = Remembering::new();
    remembering.folder().put("own.wasm", Guest::healthy().component());
    remembering.folder().put("policy.yaml", own(""));
    remembering.run(|_| ());
    let module = remembering.state.path().join("modules").join(&remembering.modules()[0]);
    // As sound as the one before, and not it.
    fs::write(&module, Guest::asking(8, 1).component()).unwrap();
    remembering.folder().put("policy.yaml", BROKEN);
    let path = remembering.folder().path("policy.yaml");
    let arguments = ["--policy", path.to_str().unwrap(), "--state-folder", remembering.state.path().to_str().unwrap()];
    let sidecar = Sidecar::launch(command(), &arguments);
    let ready = get(&sidecar.unix(), "/readyz").unwrap();
    assert_eq!(ready.status, 503, "{}", ready.body);
    assert!(sidecar.output().contains("digest"), "{}", sidecar.output());
}

/// P-07 of the reliability plan: a folder that cannot be written.
#[test]
fn a_state_folder_that_cannot_be_written_is_told_once_and_everything_else_goes_on() {
    let _beside = beside_others();
    let (folder, full) = (Folder::new(), tempfile::tempdir().unwrap());
    fs::write(folder.path("a-file"), "").unwrap();
    // What is written beside goes to a device without room; the name is free after that.
    std::os::unix::fs::symlink("/dev/full", full.path().join("policy.new")).unwrap();
    // A file where the folder should be, a file system that takes no folder, and a disk that is full for once.
    let cases = [(folder.path("a-file/state"), false), ("/proc/state".into(), false), (full.path().to_owned(), true)];
    for (state, has_room_later) in cases {
        let folder = Folder::new();
        folder.put("own.wasm", Guest::healthy().component());
        folder.put("policy.yaml", own(""));
        let (path, state_folder) = (folder.path("policy.yaml"), state.to_str().unwrap());
        let arguments = ["--policy", path.to_str().unwrap(), "--state-folder", state_folder];
        let reloading = Reloading { sidecar: Sidecar::start(command(), &arguments), folder };
        let told = || reloading.sidecar.output().matches("the policy is not remembered").count();
        timeout::until(|| (told() == 1).then_some(())).unwrap_or_else(|| panic!("{}", reloading.sidecar.output()));
        assert!(!state.join("policy.json").exists());
        for number in 0..3 {
            let next = own(&format!(", args: {{a: {number}}}"));
            reloading.put(&next);
            reloading.becomes(&next);
            answer(&reloading);
            if has_room_later {
                remembered(&state, &json!(next));
            }
        }
        assert_eq!(reloading.status()["lastFailure"], Value::Null);
        assert_eq!(told(), 1, "{state:?}: {}", reloading.sidecar.output());
        assert_eq!(state.join("policy.json").exists(), has_room_later);
    }
}

/// R-11 of the reliability plan: files that cannot be read.
#[test]
fn a_file_that_cannot_be_read_is_tried_again_after_a_while_and_not_all_the_time() {
    let _beside = beside_others();
    let good = policy(&["name: NodeName"]);
    let reloading = Reloading::start(&good);
    let refused = || reloading.metric("nodesift_policy_reloads_total{result=\"refused\"}");
    let since = Instant::now();
    reloading.put(&own(""));
    let (failure, _) = reloading.refuses("a module that is not there", since);
    assert_eq!(failure["step"], "read", "{failure}");
    timeout::until(|| (refused() >= 3.0).then_some(())).unwrap_or_else(|| panic!("tried {} times", refused()));
    let took = since.elapsed();
    println!("3 attempts within {took:?}");
    assert!(took >= RELOAD_RETRY * 2, "tried again after {took:?}");
    timing::at_most("tried again", took, RELOAD_RETRY * 2 + Duration::from_secs(5));
    // Told once; each attempt is counted.
    assert_eq!(reloading.sidecar.output().matches("policy refused").count(), 1, "{}", reloading.sidecar.output());
    assert_eq!(reloading.generation(), 1);
    // What is there is read at once: other contents are a change, which waits for no retry.
    let since = Instant::now();
    reloading.folder.put("own.wasm", Guest::healthy().component());
    reloading.becomes(&own(""));
    timing::figure("a module that is there, instead of a retry", since.elapsed(), RELOAD_RETRY);
}
