//! Predicates in the mode `Shadow` and a second policy: they decide nothing, what they would change is what `policy diff` says,
//! and requests stay as fast.

use std::thread;
use std::time::{Duration, Instant};

use nodesift_engine::limits::SHADOW_WAITING;
use nodesift_tests::guest::Guest;
use nodesift_tests::http::{Client, ask, get};
use nodesift_tests::machine::beside_others;
use nodesift_tests::process::{self, processor_time_of};
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::{data, timeout, timing};
use serde_json::{Value, json};

use crate::running::{Folder, Reloading, command, policy};

const SHADOWED: &str = "{name: Own, module: {path: own.wasm}, mode: Shadow}";
const ENFORCED: &str = "{name: Own, module: {path: own.wasm}}";

/// A folder with the guest that rejects odd rows.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.put("own.wasm", Guest::healthy().component());
    folder
}

fn shadow(sidecar: &Sidecar) -> Value {
    let answer = get(&sidecar.unix(), "/v1/policy/shadow").expect("the sidecar answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

/// Answers that were compared.
fn compared(sidecar: &Sidecar) -> u64 {
    shadow(sidecar)["shadows"].as_array().unwrap().iter().map(|shadow| shadow["pods"].as_u64().unwrap()).sum()
}

/// The pending pods of the sample cluster, by name.
fn pending(sidecar: &Sidecar) -> Vec<String> {
    let answer = ask(&sidecar.unix(), "/v1/filter", &json!({"pending": true}));
    answer["pods"].as_array().unwrap().iter().map(|pod| pod["pod"].as_str().unwrap().to_owned()).collect()
}

fn filter(sidecar: &Sidecar, pod: &str) -> Value {
    let (namespace, name) = pod.split_once('/').unwrap();
    ask(&sidecar.unix(), "/v1/filter", &json!({"pods": [{"name": {"namespace": namespace, "name": name}}]}))
}

/// Asks about each pod, and waits until each answer has been compared: nothing is dropped then.
fn ask_one_by_one(sidecar: &Sidecar, pods: &[String], shadows: u64) {
    let before = compared(sidecar);
    for (asked, pod) in (1..).zip(pods) {
        filter(sidecar, pod);
        let done = timeout::until(|| (compared(sidecar) >= before + asked * shadows).then_some(()));
        assert!(done.is_some(), "{pod}: {}", shadow(sidecar));
    }
}

/// Runs `policy diff` between two policies, written to the folder.
fn diff(folder: &Folder, before: &str, after: &str) -> Value {
    folder.put("before.yml", before);
    folder.put("after.yml", after);
    let cluster = data::sample_cluster();
    let output = sidecar::run(
        command()
            .args(["policy", "diff", "-o", "json"])
            .args([folder.path("before.yml"), folder.path("after.yml")])
            .arg("--cluster")
            .arg(cluster),
    );
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

const COUNTS: [&str; 7] =
    ["pods", "differing", "rejectedEverywhere", "newlyPlaceable", "losing", "gaining", "predicates"];

fn counts(value: &Value) -> Vec<Value> {
    COUNTS.map(|field| value[field].clone()).to_vec()
}

#[test]
fn a_shadow_predicate_and_a_second_policy_would_change_what_policy_diff_says() {
    let _beside = beside_others();
    let folder = folder();
    let active = |own: &[&str]| policy(&[&["name: TaintToleration", "name: NodeResourcesFit"][..], own].concat());
    let second = policy(&[
        "name: NodeAffinity",
        "{name: NodeResourcesFit, args: {ignoredResourceGroups: [example.com]}}",
        ENFORCED,
    ]);
    folder.put("policy.yaml", active(&[SHADOWED]));
    folder.put("second.yml", &second);
    let arguments = [folder.path("policy.yaml"), folder.path("second.yml")];
    let [first, other] = arguments.each_ref().map(|path| path.to_str().unwrap());
    let sidecar = Sidecar::start(command(), &["--policy", first, "--shadow-policy", other]);
    let pods = {
        // Asked of another sidecar, so that here each pod is asked about once.
        let plain = Sidecar::start(command(), &[]);
        pending(&plain)
    };
    assert!(pods.len() > 50);
    ask_one_by_one(&sidecar, &pods, 2);
    let status = shadow(&sidecar);
    let shadows = status["shadows"].as_array().unwrap();
    assert_eq!(shadows.len(), 2, "{status}");
    for (found, document, source) in
        [(&shadows[0], active(&[ENFORCED]), "predicates in mode Shadow"), (&shadows[1], second, other)]
    {
        let expected = diff(&folder, &active(&[]), &document);
        assert_eq!(counts(found), counts(&expected), "{source}");
        assert_eq!((found["source"].as_str(), &found["failed"]), (Some(source), &json!(0)));
        assert!(found["differing"].as_u64() > Some(0), "{source}: nothing differs");
        let kept = found["differences"].as_array().unwrap();
        assert_eq!(json!(kept.len()), found["differing"], "{source}: all are kept");
        assert!(kept.iter().all(|one| pods.contains(&one["pod"].as_str().unwrap().to_owned())));
        let verdict = found["verdict"].as_str().unwrap();
        assert!(verdict.starts_with("over ") && verdict.contains(&format!("{} pods: ", pods.len())), "{verdict}");
    }
    assert_eq!(status["dropped"], json!(0));
    let metrics = get(&sidecar.unix(), "/metrics").unwrap().body;
    let rejected = &shadows[0]["predicates"][0];
    assert_eq!(rejected["predicate"], "Own");
    for expected in [
        "nodesift_shadow_dropped_total 0".to_owned(),
        format!("nodesift_shadow_pods_total{{shadow=\"predicates in mode Shadow\"}} {}", pods.len()),
        format!(
            "nodesift_shadow_differences_total{{shadow=\"predicates in mode Shadow\",predicate=\"Own\",would=\"reject\"}} {}",
            rejected["wouldReject"]["pods"]
        ),
    ] {
        assert!(metrics.lines().any(|line| line == expected), "{expected} is not in {metrics}");
    }
    let server = format!("unix:{}", sidecar.socket.display());
    let printed = sidecar::run(command().args(["policy", "shadow", "--server", &server]));
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    for expected in [shadows[0]["verdict"].as_str().unwrap().split_once(", ").unwrap().1, "Own", "reject", other] {
        assert!(printed.stdout.contains(expected), "{expected:?} is not in {}", printed.stdout);
    }
}

#[test]
fn a_shadow_predicate_changes_no_answer_until_it_is_enforced() {
    let _beside = beside_others();
    let plain = policy(&["name: TaintToleration", "name: NodeResourcesFit"]);
    let with = |own: &str| policy(&["name: TaintToleration", "name: NodeResourcesFit", own]);
    let reloading = Reloading::with(folder(), &plain);
    let explained = || ask(&reloading.sidecar.unix(), "/v1/explain", &json!({"pending": true}))["pods"].clone();
    let expected = explained();
    assert_eq!(shadow(&reloading.sidecar)["shadows"], json!([]));
    reloading.put(&with(SHADOWED));
    let status = reloading.becomes(&with(SHADOWED));
    assert_eq!(status["predicates"][2]["mode"], "Shadow");
    assert_eq!(explained(), expected);
    let pod =
        expected[0]["conjunction"]["pod"].as_str().unwrap_or_else(|| expected[0]["pod"].as_str().unwrap()).to_owned();
    // The thread notices the new policy before it compares anything.
    let seen = timeout::until(|| {
        filter(&reloading.sidecar, &pod);
        (compared(&reloading.sidecar) > 0).then_some(())
    });
    assert!(seen.is_some(), "{}", shadow(&reloading.sidecar));
    assert_eq!(shadow(&reloading.sidecar)["policyGeneration"], "2");
    reloading.put(&with(ENFORCED));
    reloading.becomes(&with(ENFORCED));
    assert_ne!(explained(), expected);
    let ended = timeout::until(|| (shadow(&reloading.sidecar)["shadows"] == json!([])).then_some(()));
    assert!(ended.is_some(), "{}", shadow(&reloading.sidecar));
}

/// Two predicates, and these scorers: a flow list.
fn scored(scores: &str) -> String {
    format!("{}  scores: {scores}\n", policy(&["name: TaintToleration", "name: NodeResourcesFit"]))
}

#[test]
fn a_second_policy_with_other_scorers_would_change_the_best_nodes_as_policy_diff_says() {
    let _beside = beside_others();
    let folder = Folder::new();
    let active = scored("[{name: NodeResourcesFit, weight: 2}, {name: TaintToleration, weight: 3}]");
    let most = "[{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]";
    folder.put("policy.yaml", &active);
    folder.put("second.yml", scored(most));
    let arguments = [folder.path("policy.yaml"), folder.path("second.yml")];
    let [first, other] = arguments.each_ref().map(|path| path.to_str().unwrap());
    let sidecar = Sidecar::start(command(), &["--policy", first, "--shadow-policy", other]);
    // Asked of another sidecar, so that here each pod is asked about once with its scores.
    let pods = pending(&Sidecar::start(command(), &[]));
    let mut best = 0;
    for (asked, pod) in (1..).zip(&pods) {
        let (namespace, name) = pod.split_once('/').unwrap();
        let body = json!({"pods": [{"name": {"namespace": namespace, "name": name}}], "scores": {"top": 1}});
        let answer = ask(&sidecar.unix(), "/v1/filter", &body);
        best += answer["pods"][0]["scores"]["best"].as_array().map_or(0, Vec::len) as u64;
        assert!(timeout::until(|| (compared(&sidecar) >= asked).then_some(())).is_some(), "{}", shadow(&sidecar));
    }
    let found = &shadow(&sidecar)["shadows"][0];
    let expected = diff(&folder, &active, &scored(most));
    assert_eq!(counts(found), counts(&expected));
    assert_eq!(found["scores"], expected["scores"]);
    let changed = found["scores"]["bestChanged"].as_u64().unwrap();
    assert!(changed > 0 && found["scores"]["pods"] == json!(best), "{best} pods: {}", found["scores"]);
    let kept = found["differences"].as_array().unwrap();
    assert_eq!(kept.iter().filter(|one| one["best"].is_object()).count() as u64, changed);
    let metrics = get(&sidecar.unix(), "/metrics").unwrap().body;
    let line = format!("nodesift_shadow_best_changes_total{{shadow=\"{other}\"}} {changed}");
    assert!(metrics.lines().any(|found| found == line), "{line} is not in {metrics}");
    let server = format!("unix:{}", sidecar.socket.display());
    let printed = sidecar::run(command().args(["policy", "shadow", "--server", &server])).stdout;
    for expected in [format!("{changed} of {best} scored pods have other best nodes"), "best: ".to_owned()] {
        assert!(printed.contains(&expected), "{expected:?} is not in {printed}");
    }
}

#[test]
fn the_history_of_reloads_has_what_changes_of_scorers() {
    let _beside = beside_others();
    let reloading = Reloading::start(&scored("[{name: NodeResourcesFit, weight: 2}, {name: TaintToleration}]"));
    let after = scored("[{name: NodeResourcesFit, weight: 7}, {name: ImageLocality}]");
    reloading.put(&after);
    reloading.becomes(&after);
    let newest = || get(&reloading.sidecar.unix(), "/v1/policy/history").unwrap().json()["reloads"][0].clone();
    // It is noted after the policy has become active.
    let reload = timeout::until(|| Some(newest()).filter(Value::is_object)).expect("a reload is noted");
    let expected = json!({
        "added": [{"scorer": "ImageLocality", "weight": 1}], "removed": [{"scorer": "TaintToleration", "weight": 1}],
        "replaced": [], "reconfigured": [], "weights": [{"scorer": "NodeResourcesFit", "before": 2, "after": 7}],
    });
    assert_eq!((&reload["result"], &reload["scorers"]), (&json!("active"), &expected));
    let steps: Vec<&Value> = reload["steps"].as_array().unwrap().iter().map(|step| &step["step"]).collect();
    assert_eq!(steps, ["read", "load", "follow", "trial", "switch"], "{reload}");
    assert!(reload["steps"].as_array().unwrap().iter().all(|step| step["tookMs"].is_u64()), "{reload}");
    assert_eq!(["added", "removed", "replaced"].map(|field| &reload[field]), [&json!([]); 3], "{reload}");
}

/// One module in both policies is one object: its calls beside the active policy are reported nowhere.
#[test]
fn what_is_called_beside_the_active_policy_changes_no_count_of_it_and_takes_no_line_of_the_log() {
    let _beside = beside_others();
    let folder = Folder::new();
    let writing = Guest::healthy()
        .imports(r#"(import "nodesift:predicate/log@0.2.0" "write" (func $write (param i32 i32 i32)))"#)
        .filter(
            "(call $write (i32.const 1) (i32.const 0) (i32.const 1))
             (call $reject_odd (local.get $rows) (i32.const 4096))",
        );
    folder.put("own.wasm", writing.component());
    folder.put("policy.yaml", policy(&["name: TaintToleration", ENFORCED]));
    let path = folder.path("policy.yaml");
    let path = path.to_str().unwrap();
    let pods = pending(&Sidecar::start(command(), &[]));
    let plain = Sidecar::start(command(), &["--policy", path]);
    pods.iter().for_each(|pod| _ = filter(&plain, pod));
    let shadowed = Sidecar::start(command(), &["--policy", path, "--shadow-policy", path]);
    ask_one_by_one(&shadowed, &pods, 1);
    let [expected, found] = [&plain, &shadowed].map(|sidecar| {
        let status = get(&sidecar.unix(), "/v1/policy").unwrap().json();
        let own = &status["predicates"][1];
        let lines = ["written", "dropped"].map(|fate| own["log"][fate].as_u64().unwrap()).iter().sum::<u64>();
        (["calls", "rows", "faults", "verdicts", "breaker"].map(|field| own[field].clone()), lines)
    });
    assert_eq!(found, expected);
    let (counts, lines) = found;
    assert!(lines > 0 && counts[0] == json!(lines), "a line for each call: {counts:?}, {lines} lines");
}

#[test]
fn changes_of_the_second_policy_are_followed_and_a_broken_one_is_not() {
    let _beside = beside_others();
    let folder = folder();
    let path = folder.path("second.yml");
    folder.put("second.yml", policy(&["name: NodeName"]));
    let sidecar = Sidecar::start(command(), &["--shadow-policy", path.to_str().unwrap()]);
    let pod = {
        let plain = Sidecar::start(command(), &[]);
        pending(&plain)[0].clone()
    };
    let predicates_of_difference = || {
        filter(&sidecar, &pod);
        shadow(&sidecar)["shadows"][0]["predicates"].to_string()
    };
    let becomes = |named: &str| {
        let seen = timeout::until(|| Some(predicates_of_difference()).filter(|seen| seen.contains(named)));
        assert!(seen.is_some(), "{named}: {}", shadow(&sidecar));
    };
    folder.put("second.yml", policy(&[ENFORCED]));
    becomes("Own");
    // Refused, and the one before goes on; then another is taken.
    folder.put("second.yml", policy(&["name: NodeNmae"]));
    let refused = timeout::until(|| sidecar.output().contains("shadow policy is refused").then_some(()));
    assert!(refused.is_some(), "{}", sidecar.output());
    becomes("Own");
    folder.put("second.yml", nodesift_bundle::DEFAULT_POLICY);
    let same = timeout::until(|| {
        filter(&sidecar, &pod);
        let shadow = &shadow(&sidecar)["shadows"][0];
        (shadow["pods"].as_u64() > Some(0) && shadow["differing"] == json!(0)).then_some(())
    });
    assert!(same.is_some(), "{}", shadow(&sidecar));
}

#[test]
fn a_second_policy_that_cannot_be_evaluated_is_refused_at_the_start() {
    let _beside = beside_others();
    let folder = folder();
    for (document, named) in [
        (policy(&["name: NodeNmae"]), "NodeNmae"),
        (policy(&["name: NodeName"]).replace("default-scheduler", "yunikorn"), "schedulerNames"),
        (policy(&["{name: Own, module: {path: none.wasm}}"]), "none.wasm"),
    ] {
        folder.put("second.yml", document);
        let socket = folder.path("s.sock");
        let output = sidecar::run(
            command()
                .args(["serve", "--sample", "--listen", "127.0.0.1:0", "--socket"])
                .arg(socket)
                .arg("--shadow-policy")
                .arg(folder.path("second.yml")),
        );
        assert!(matches!(output.code, Some(64 | 66)), "{:?}: {}", output.code, output.stderr);
        assert!(output.stderr.contains(named), "{named:?} is not in {}", output.stderr);
    }
}

/// Requests of a round.
const REQUESTS: usize = 3_000;

/// Rounds, and those where figures are recorded.
const FEW: usize = 2;
const ROUNDS: usize = 8;

/// The second policy, all of the default one, keeps no request waiting: what it has no time for is dropped. Figures are the 99th
/// percentiles of two sidecars, asked in turns.
#[test]
fn requests_do_not_wait_for_a_shadow_of_the_whole_default_policy() {
    let _beside = beside_others();
    let folder = folder();
    folder.put("second.yml", nodesift_bundle::DEFAULT_POLICY);
    let second = folder.path("second.yml");
    let sidecars =
        [Sidecar::start(command(), &[]), Sidecar::start(command(), &["--shadow-policy", second.to_str().unwrap()])];
    let pods = pending(&sidecars[0]);
    let bodies: Vec<String> = pods
        .iter()
        .map(|pod| {
            let (namespace, name) = pod.split_once('/').unwrap();
            json!({"pods": [{"name": {"namespace": namespace, "name": name}}]}).to_string()
        })
        .collect();
    let percentile = |sidecar: &Sidecar| {
        let mut client = Client::connect(&sidecar.unix()).unwrap();
        let mut times: Vec<Duration> = (0..REQUESTS)
            .map(|number| {
                let start = Instant::now();
                let answer = client.post("/v1/filter", bodies[number % bodies.len()].as_bytes()).unwrap();
                assert_eq!(answer.status, 200, "{}", answer.body);
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        times[REQUESTS * 99 / 100]
    };
    let rounds = timing::rounds(FEW, ROUNDS);
    let (mut best, mut all) = (f64::MAX, Vec::new());
    for round in 0..rounds {
        // In turns, each first as often as the other.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        let mut times = [Duration::ZERO; 2];
        order.iter().for_each(|at| times[*at] = percentile(&sidecars[*at]));
        let ratio = times[1].as_secs_f64() / times[0].as_secs_f64();
        println!("99th percentile: {:?} without, {:?} with a shadow: {ratio:.2}", times[0], times[1]);
        best = best.min(ratio);
        all.push(ratio);
    }
    all.sort_by(f64::total_cmp);
    println!("median of {rounds} rounds {:.2}, best {best:.2}", all[rounds / 2]);
    let status = shadow(&sidecars[1]);
    let [pods, dropped] = [&status["shadows"][0]["pods"], &status["dropped"]].map(|count| count.as_u64().unwrap());
    println!("{pods} answers compared, {dropped} dropped");
    assert!(pods > 0 && dropped > 0, "{status}");
    // Those that wait, or are being compared, are counted nowhere.
    let answered = (REQUESTS * rounds) as u64;
    assert!((answered - SHADOW_WAITING as u64 - 1..=answered).contains(&(pods + dropped)), "{answered}: {status}");
    assert_eq!(status["shadows"][0]["differing"], json!(0), "the same policy: {status}");
    timing::number("p99 beside a shadow, of the one without", best, 1.1);
}

/// The shadow's thread rests after each comparison while requests come as fast as they can; for how long is tested beside the code.
#[test]
fn a_shadow_rests_after_each_comparison_also_where_others_wait() {
    let _beside = beside_others();
    let folder = folder();
    // Not cached, so that each comparison is work.
    folder.put("second.yml", policy(&["{name: Own, module: {path: own.wasm}}", "name: InterPodAffinity"]));
    let second = folder.path("second.yml");
    let sidecar = Sidecar::start(command(), &["--shadow-policy", second.to_str().unwrap()]);
    let unix = sidecar.unix();
    let time = Duration::from_secs(timing::rounds(2, 5) as u64);
    let start = Instant::now();
    let spent = || processor_time_of(sidecar.id(), "shadow");
    let before = spent();
    let body = json!({"pending": true}).to_string();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = Client::connect(&unix).unwrap();
            while start.elapsed() < time {
                assert_eq!(client.post("/v1/filter", body.as_bytes()).unwrap().status, 200);
            }
        });
    });
    let (spent, time) = (spent() - before, start.elapsed());
    let compared = compared(&sidecar);
    let rests = process::waits_of(sidecar.id(), "shadow");
    println!(
        "{spent:?} of processor time in {time:?}, {compared} answers compared, {rests} rests, {}",
        shadow(&sidecar)["dropped"]
    );
    // With others waiting, nothing else than a rest makes the thread wait.
    assert!(compared > 0 && rests + 1 >= compared, "{compared} comparisons, {rests} rests");
    timing::number("processor time of a shadow, of a core", spent.as_secs_f64() / time.as_secs_f64(), 0.1);
}
