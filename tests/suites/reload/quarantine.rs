//! Quarantine: a predicate that keeps failing is not called, its failure policy answers, and it comes back (H-02, H-23, R-07).

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nodesift_engine::limits::{QUARANTINE_FAULTS, QUARANTINE_RETRY_FIRST, QUARANTINE_RETRY_MOST};
use nodesift_tests::guest::Guest;
use nodesift_tests::http::{Client, ask};
use nodesift_tests::machine::beside_others;
use nodesift_tests::{sidecar, timeout, timing};
use serde_json::{Value, json};

use crate::load::{Ending, Sample, ask_until, length, noise, p99, ratio};
use crate::running::{Folder, Reloading, command, generation, policy};

pub(crate) const TRAP: &str = "(unreachable)";
const LOOP: &str = "(loop $forever (br $forever)) (unreachable)";

/// A guest that does this for pods with the label `bad`, and rejects odd rows for all others. It reads the label `n` as well, so
/// that pods with another one share no verdict.
pub(crate) fn failing(how: &str) -> Guest {
    Guest::healthy()
        .imports(r#"(import "nodesift:predicate/pod-labels@0.2.0" "label" (func $label (param i32 i32 i32)))"#)
        .definitions(r#"(data (i32.const 2048) "nbad")"#)
        .filter(format!(
            "(call $label (i32.const 2048) (i32.const 1) (i32.const 2064))
             (call $label (i32.const 2049) (i32.const 3) (i32.const 2064))
             (if (i32.load8_u (i32.const 2064)) (then {how}))
             (call $reject_odd (local.get $rows) (i32.const 4096))"
        ))
}

fn serving(how: &str, own: &str) -> Reloading {
    let folder = Folder::new();
    folder.put("own.wasm", failing(how).component());
    Reloading::with(folder, &with(own))
}

fn with(own: &str) -> String {
    policy(&["name: NodeName", &format!("{{name: Own, module: {{path: own.wasm}}, {own}}}")])
}

/// A request about a pod that only this number tells from others. Three namespaces take turns: pods of one alone open no breaker.
pub(crate) fn about(number: usize, is_bad: bool) -> Value {
    let mut labels = json!({"n": number.to_string()});
    if is_bad {
        labels["bad"] = json!("yes");
    }
    json!({"pods": [{"object": {"metadata": {"name": "p", "namespace": format!("team-{}", number % 3), "labels": labels}}}]})
}

/// The answer without the pod's name, which has its namespace.
fn asked(reloading: &Reloading, number: usize, is_bad: bool) -> Value {
    let mut answer = ask(&reloading.sidecar.unix(), "/v1/filter", &about(number, is_bad))["pods"][0].clone();
    answer.as_object_mut().expect("an object").remove("pod");
    answer
}

/// The fault of the answer, if any.
fn fault(answer: &Value) -> Option<&str> {
    answer["faults"][0]["fault"].as_str()
}

fn feasible(answer: &Value) -> usize {
    answer["feasible"].as_array().map_or(0, Vec::len)
}

fn own(status: &Value) -> &Value {
    &status["predicates"][1]
}

fn is_open(status: &Value) -> bool {
    own(status)["breaker"]["state"] == "open"
}

/// Asks about bad pods until the breaker is open and its first retry, which is made at once, has failed. Returns how many calls have
/// failed.
fn open(reloading: &Reloading, first: usize) -> usize {
    let mut faults = 0;
    while fault(&asked(reloading, first + faults, true)) == Some("Trap") {
        faults += 1;
        assert!(faults <= 100, "it never opens: {}", reloading.status());
    }
    faults
}

/// H-23 of the reliability plan: faults by size about large pods do not open the circuit breaker.
#[test]
fn faults_by_size_about_large_pods_are_those_of_the_pods() {
    let _beside = beside_others();
    let reloading = serving(LOOP, "onError: Reject");
    let large = |number: usize| {
        let mut about = about(number, true);
        let labels = about["pods"][0]["object"]["metadata"]["labels"].as_object_mut().unwrap();
        labels.extend((0..300).map(|label| (format!("tenant.example.com/label-{label}"), json!("x".repeat(60)))));
        about
    };
    for number in 0..3 * QUARANTINE_FAULTS {
        let answer = ask(&reloading.sidecar.unix(), "/v1/filter", &large(number))["pods"][0].clone();
        assert_eq!(fault(&answer), Some("Deadline"), "{answer}");
    }
    let answer = asked(&reloading, 1_000, false);
    assert_eq!(fault(&answer), None, "{answer}");
    assert_eq!(own(&reloading.status())["breaker"]["opened"], 0);
    // Faults about small ones are those of the predicate.
    (2_000..2_000 + QUARANTINE_FAULTS).for_each(|number| _ = asked(&reloading, number, true));
    assert_eq!(own(&reloading.status())["breaker"]["opened"], 1);
}

#[test]
fn a_predicate_that_fails_for_some_pods_only_is_called_for_others_all_the_time() {
    let _beside = beside_others();
    let reloading = serving(TRAP, "onError: Reject");
    for round in 0..3 {
        let first = round * 100;
        (first..first + QUARANTINE_FAULTS).for_each(|number| _ = asked(&reloading, number, true));
        let status = reloading.status();
        assert!(is_open(&status), "{status}");
        // The first retry is due at once, and it is good: no pod that it does not fail for notices.
        let answer = asked(&reloading, first, false);
        assert_eq!(fault(&answer), None, "{answer}");
        assert!(!is_open(&reloading.status()), "{}", reloading.status());
    }
    assert_eq!(own(&reloading.status())["breaker"]["opened"], 3);
}

#[test]
fn h23_the_fifth_fault_opens_the_breaker_and_every_place_that_shows_it_says_so() {
    let _beside = beside_others();
    for (on_error, effect) in [("Reject", "Rejected"), ("Ignore", "Ignored")] {
        let reloading = serving(TRAP, &format!("onError: {on_error}"));
        let good = asked(&reloading, 0, false);
        assert_eq!(fault(&good), None, "{good}");
        let nodes = feasible(&asked(&reloading, 0, false)) * 2;
        for number in 0..QUARANTINE_FAULTS {
            assert_eq!(fault(&asked(&reloading, number, true)), Some("Trap"), "fault {number}");
            assert_eq!(is_open(&reloading.status()), number + 1 == QUARANTINE_FAULTS, "after fault {number}");
        }
        // The first retry is made at once, for the next pod that has not failed.
        assert_eq!(fault(&asked(&reloading, QUARANTINE_FAULTS, true)), Some("Trap"));
        // A pod that nothing is known about.
        let answer = asked(&reloading, 1, false);
        assert_eq!(fault(&answer), Some("Quarantined"), "{answer}");
        assert_eq!(answer["faults"][0]["effect"], effect);
        assert!(answer["faults"][0]["detail"].as_str().unwrap().contains("Trap"), "{answer}");
        match on_error {
            "Reject" => {
                assert_eq!(feasible(&answer), 0, "{answer}");
                let reason = answer["failures"][0]["reasons"][0].as_str();
                assert_eq!(reason, Some("predicate \"Own\" failed: Quarantined"), "{answer}");
            }
            _ => assert!(feasible(&answer) >= nodes - 1, "{answer}"),
        }
        // What is known of another is as good as before.
        assert_eq!(asked(&reloading, 0, false), good);
        let status = reloading.status();
        let breaker = &own(&status)["breaker"];
        assert_eq!(breaker["opened"], 1);
        assert!(breaker["lastFault"].as_str().unwrap().starts_with("Trap"), "{breaker}");
        assert!(breaker["retryInMs"].as_u64().unwrap() <= 1_000, "{breaker}");
        assert_eq!(own(&status)["faults"]["Trap"], QUARANTINE_FAULTS + 1);
        assert!(own(&status)["faults"]["Quarantined"].as_u64().unwrap() >= 1, "{status}");
        assert_eq!(reloading.metric("nodesift_predicate_quarantined{predicate=\"Own\"}"), 1.0);
        assert_eq!(reloading.metric("nodesift_predicate_quarantined{predicate=\"NodeName\"}"), 0.0);
        assert_eq!(reloading.metric("nodesift_predicate_quarantines_total{predicate=\"Own\"}"), 1.0);
        let printed = sidecar::run(
            command()
                .args(["policy", "status", "--server"])
                .arg(format!("unix:{}", reloading.sidecar.socket.display())),
        );
        assert!(printed.stdout.contains("Own is in quarantine"), "{}", printed.stdout);
        assert!(reloading.sidecar.output().contains("predicate quarantined"), "{}", reloading.sidecar.output());
    }
}

/// The calls before the second retry, by looks at the time, the calls so far, and whether it is open.
fn calls_at_first(looks: &[(Instant, u64, bool)]) -> Option<u64> {
    let (opened, ..) = looks.iter().find(|(_, _, is_open)| *is_open)?;
    Some(looks.iter().rfind(|(at, ..)| *at < *opened + QUARANTINE_RETRY_FIRST / 2)?.1)
}

/// H-23. `NODESIFT_SECONDS=60` runs it at length.
#[test]
fn h23_under_load_it_is_called_at_most_once_a_second_with_growing_waits_and_a_good_reload_ends_that() {
    const CLIENTS: usize = 4;
    /// Between two looks at the status.
    const LOOK: Duration = Duration::from_millis(20);
    let time = length(Duration::from_secs(3));
    let _beside = beside_others();
    let reloading = serving(TRAP, "onError: Ignore");
    let ends = AtomicBool::new(false);
    let (looks, answers) = thread::scope(|scope| {
        let ending = Ending(&ends);
        let load = |client: usize| {
            let mut connection = Client::connect(&reloading.sidecar.unix()).unwrap();
            let mut answers = 0;
            while !ends.load(Ordering::Relaxed) {
                let body = about(client * 1_000_000 + answers, true).to_string();
                let answer = connection.post("/v1/filter", body.as_bytes()).expect("an answer");
                assert_eq!(answer.status, 200, "{}", answer.body);
                let answer = answer.json();
                let fault = fault(&answer["pods"][0]);
                assert!(matches!(fault, Some("Trap" | "Quarantined")), "{answer}");
                answers += 1;
            }
            answers
        };
        let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(move || load(client))).collect();
        let (start, mut looks) = (Instant::now(), Vec::<(Instant, u64, bool)>::new());
        // On a busy machine the retries may come later.
        let is_retried = |looks: &[(Instant, u64, bool)]| {
            calls_at_first(looks).is_some_and(|first| looks.last().is_some_and(|(_, calls, _)| *calls >= first + 2))
        };
        while start.elapsed() < time || !is_retried(&looks) {
            assert!(start.elapsed() < time + timeout::limit(), "{}", reloading.status());
            let status = reloading.status();
            looks.push((Instant::now(), own(&status)["calls"].as_u64().unwrap(), is_open(&status)));
            thread::park_timeout(LOOK);
        }
        drop(ending);
        (looks, clients.into_iter().map(|client| client.join().unwrap()).sum::<usize>())
    });
    let (opened, ..) = *looks.iter().find(|(_, _, is_open)| *is_open).expect("it opens");
    assert!(looks.iter().all(|(at, _, is_open)| *at < opened || *is_open), "it closes though every call fails");
    // Calls that had begun when the fifth fault came end after it, and the first retry is made at once.
    let most_at_first = (QUARANTINE_FAULTS + CLIENTS) as u64;
    // The sidecar has counted a call before a look sees it, and it may have opened any time since the look before.
    let unseen = looks.iter().rfind(|(at, ..)| *at < opened).map_or(opened, |(at, ..)| *at);
    let (mut wait, mut due, mut retries) = (QUARANTINE_RETRY_FIRST, unseen + QUARANTINE_RETRY_FIRST, 0);
    for (at, calls, _) in &looks {
        // However late a look is: one call for each wait that can be over, and each wait is twice as long.
        while *at >= due {
            retries += 1;
            wait = (wait * 2).min(QUARANTINE_RETRY_MOST);
            due += wait;
        }
        assert!(*calls <= most_at_first + retries, "{calls} calls, {retries} waits are over");
    }
    let (first, calls) = (calls_at_first(&looks).unwrap(), looks.last().unwrap().1);
    println!(
        "{answers} answers of {CLIENTS} clients; open after {first} calls, {calls} in all, {retries} waits are over"
    );
    assert!(first >= QUARANTINE_FAULTS as u64 && calls >= first + 2, "{first} calls, then {calls}");
    // A module that is mended.
    let since = Instant::now();
    reloading.folder.put("own.wasm", Guest::healthy().component());
    let found = timeout::until(|| fault(&asked(&reloading, 0, true)).is_none().then(|| since.elapsed()));
    let recovered = found.unwrap_or_else(|| panic!("{}", reloading.status()));
    println!("answers again {recovered:?} after the module was written");
    timing::at_most("recovered from quarantine", recovered, Duration::from_secs(1));
    assert!(!is_open(&reloading.status()));
}

#[test]
fn three_good_calls_end_a_quarantine_and_nothing_that_the_failure_policy_said_is_kept() {
    const PODS: usize = 40;
    const TIMES: usize = 2;
    let _beside = beside_others();
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    for on_error in ["Reject", "Ignore"] {
        let reloading = serving(TRAP, &format!("onError: {on_error}"));
        // What the guest says of every pod that is not bad.
        let good = asked(&reloading, PODS, false);
        let all = asked(&serving(TRAP, "onError: Ignore"), 0, true);
        assert_eq!((fault(&good), fault(&all)), (None, Some("Trap")));
        let mut known = [false; PODS];
        // Checks one answer. Returns whether the failure policy gave it.
        let mut check = |number: usize, is_bad: bool| {
            let answer = asked(&reloading, number, is_bad);
            let Some(fault) = fault(&answer) else {
                assert!(!is_bad, "a verdict about a pod that it always fails on: {answer}");
                assert_eq!(answer, good, "pod {number}");
                known[number] = true;
                return false;
            };
            assert!(fault == "Quarantined" || is_bad && fault == "Trap", "{answer}");
            assert!(is_bad || !known[number], "the verdict about pod {number} is cached: {answer}");
            let expected = if on_error == "Ignore" { feasible(&all) } else { 0 };
            assert_eq!(feasible(&answer), expected, "{answer}");
            true
        };
        let mut by_policy = 0;
        for round in 0..TIMES {
            let opened = |status: &Value| own(status)["breaker"]["opened"].as_u64().unwrap();
            while opened(&reloading.status()) <= round as u64 {
                by_policy += usize::from(check(random.usize(..PODS / 2), random.u8(..3) > 0));
            }
            // The first retry fails. Then good pods only, new ones among them: three retries end the quarantine.
            assert!(check(PODS + round, true));
            let fresh = PODS / 2 + round * PODS / 4;
            let since = Instant::now();
            let mut next = 0;
            timeout::until(|| {
                by_policy += usize::from(check(fresh + next % (PODS / 4), false));
                by_policy += usize::from(check(random.usize(..PODS / 2), false));
                next += 1;
                (!is_open(&reloading.status())).then_some(())
            })
            .unwrap_or_else(|| panic!("it stays open: {}", reloading.status()));
            println!("{on_error}: closed after {:?}", since.elapsed());
            // Retries are a second apart, and were not all for one pod.
            assert!(since.elapsed() + Duration::from_millis(500) >= QUARANTINE_RETRY_FIRST * 2);
        }
        println!("{on_error}: {by_policy} answers of the failure policy");
        assert!(by_policy > 0);
        // All that it said is forgotten.
        for number in 0..PODS {
            assert!(!check(number, false), "pod {number}");
        }
    }
}

/// H-02. Healthy clients ask for the phase `allocate`; a predicate of the phase `reserve` never ends for the pods of another
/// client. In the control it does end, and that client asks just as much.
#[test]
fn h02_a_predicate_that_never_ends_hardly_delays_healthy_clients_and_after_it_is_quarantined_not_at_all() {
    const CLIENTS: usize = 8;
    const WINDOW: Duration = Duration::from_millis(300);
    let rounds = timing::rounds(2, 30);
    let _beside = beside_others();
    let hog = |round: usize| with(&format!("phases: [reserve], args: {{round: {round}}}"));
    let folder = Folder::new();
    folder.put("own.wasm", failing(LOOP).component());
    let reloading = Reloading::with(folder, &hog(0));
    let unix = reloading.sidecar.unix();
    let ends = AtomicBool::new(false);
    let reserve = |number: usize, is_bad: bool| {
        let mut request = about(number, is_bad);
        request["phase"] = json!("PHASE_RESERVE");
        request.to_string()
    };
    let healthy = json!({"pending": true, "pageSize": 1});
    // By round: control, before the breaker opens, and after.
    let mut windows: Vec<[(Instant, Instant); 3]> = Vec::new();
    let samples = thread::scope(|scope| {
        let ending = Ending(&ends);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| ask_until(&unix, "/v1/filter", &healthy, || ends.load(Ordering::Relaxed))))
            .collect();
        let mut client = Client::connect(&unix).unwrap();
        let mut fault_of = |number: usize, is_bad: bool| -> Option<String> {
            let answer = client.post("/v1/filter", reserve(number, is_bad).as_bytes()).expect("an answer");
            assert_eq!(answer.status, 200, "{}", answer.body);
            fault(&answer.json()["pods"][0]).map(str::to_owned)
        };
        for round in 0..rounds {
            if round > 0 {
                // A predicate with other arguments has a new breaker.
                let before = reloading.generation();
                reloading.put(&hog(round));
                reloading.when("the next round", |status| generation(status) > before);
            }
            let control = Instant::now();
            while control.elapsed() < WINDOW {
                assert_eq!(fault_of(0, false), None);
            }
            let before = Instant::now();
            let mut faults = 0;
            let after = loop {
                match fault_of(0, true).as_deref() {
                    Some("Deadline") => faults += 1,
                    Some("Quarantined") => break Instant::now(),
                    other => panic!("{other:?}"),
                }
            };
            assert_eq!(faults, QUARANTINE_FAULTS, "faults until it opens");
            while after.elapsed() < WINDOW {
                assert_eq!(fault_of(0, true).as_deref(), Some("Quarantined"));
            }
            windows.push([(control, before), (before, after), (after, Instant::now())]);
        }
        drop(ending);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<Sample>>()
    });
    let within = |place: usize, rounds: &dyn Fn(usize) -> bool| -> Vec<Sample> {
        let chosen: Vec<_> =
            windows.iter().enumerate().filter(|(at, _)| rounds(*at)).map(|(_, all)| all[place]).collect();
        let is_in = |sample: &&Sample| chosen.iter().any(|(from, to)| (*from..*to).contains(&sample.began));
        samples.iter().filter(is_in).copied().collect()
    };
    let [control, before, after] = [0, 1, 2].map(|place| within(place, &|_| true));
    // How much two halves of the control differ says what a ratio means on this machine.
    let [even, odd] = [0, 1].map(|half| within(0, &|round| round % 2 == half));
    let noise = noise(&even, &odd);
    let [slow, then] = [&before, &after].map(|samples| ratio(p99(samples), p99(&control)));
    println!(
        "p99 of {} requests: control {:?}, before the breaker opens {:?} ({slow:.2} times, {} requests), after {:?} ({then:.2} times, {} \
         requests); two halves of the control differ by {noise:.2}",
        samples.len(),
        p99(&control),
        p99(&before),
        before.len(),
        p99(&after),
        after.len()
    );
    // Each answer was one: nobody is kept waiting for the predicate that never ends.
    assert!(!before.is_empty() && !after.is_empty(), "{} answers before it opens, {} after", before.len(), after.len());
    timing::number("p99 beside a predicate that never ends, of the control", slow, 3.0 * noise);
    timing::number("p99 beside a predicate in quarantine, of the control", then, 1.2 * noise);
}

#[test]
fn a_reload_that_does_not_change_the_predicate_does_not_end_its_quarantine() {
    let _beside = beside_others();
    let reloading = serving(TRAP, "onError: Reject");
    assert_eq!(open(&reloading, 0), QUARANTINE_FAULTS + 1);
    let other = with("onError: Ignore").replace("name: NodeName", "name: NodePorts");
    reloading.put(&other);
    let status = reloading.becomes(&other);
    assert!(is_open(&status), "{status}");
    assert_eq!(fault(&asked(&reloading, 0, false)), Some("Quarantined"));
    let changed = with("onError: Ignore, args: {a: 1}");
    reloading.put(&changed);
    let status = reloading.becomes(&changed);
    assert!(!is_open(&status), "{status}");
    assert_eq!(fault(&asked(&reloading, 0, false)), None);
}

/// R-07 of the reliability plan: rollback on quarantine.
#[test]
fn r07_a_module_that_goes_bad_in_service_is_rolled_back_within_a_second_if_the_policy_says_so() {
    let _beside = beside_others();
    let state = tempfile::tempdir().unwrap();
    let folder = Folder::new();
    folder.put("own.wasm", failing(TRAP).component());
    let rolling = |predicates: &[&str]| policy(predicates).replace("spec:", "spec:\n  rollbackOnQuarantine: true");
    let good = rolling(&["name: NodeName", "name: NodePorts"]);
    let bad = rolling(&["name: NodeName", "{name: Own, module: {path: own.wasm}}"]);
    folder.put("policy.yaml", &good);
    let path = folder.path("policy.yaml");
    let arguments = ["--policy", path.to_str().unwrap(), "--state-folder", state.path().to_str().unwrap()];
    let reloading = Reloading { sidecar: sidecar::Sidecar::start(command(), &arguments), folder };
    let expected = asked(&reloading, 0, true);
    let remembered = |document: &str| {
        let read = || serde_json::from_slice::<Value>(&std::fs::read(state.path().join("policy.json")).ok()?).ok();
        timeout::until(|| read().filter(|found| found["document"] == document)).expect("it is remembered");
    };
    remembered(&good);
    reloading.put(&bad);
    reloading.becomes(&bad);
    remembered(&bad);
    // Pods that it does not fail on.
    for number in 0..20 {
        assert_eq!(fault(&asked(&reloading, number, false)), None);
    }
    let mut faults = 0;
    let since = timeout::until(|| match fault(&asked(&reloading, faults, true)) {
        Some("Trap") => {
            faults += 1;
            None
        }
        _ => Some(Instant::now()),
    })
    .expect("it is put in quarantine");
    // Unless it was rolled back before, there was a retry.
    assert!((QUARANTINE_FAULTS..=QUARANTINE_FAULTS + 1).contains(&faults), "{faults} faults");
    let answer = timeout::until(|| Some(asked(&reloading, 0, true)).filter(|answer| fault(answer).is_none()));
    let took = since.elapsed();
    println!("rolled back {took:?} after the fifth fault");
    timing::at_most("rolled back", took, Duration::from_secs(1));
    assert_eq!(answer.unwrap(), expected);
    let status = reloading.status();
    assert_eq!((generation(&status), &status["document"]), (3, &json!(good)));
    assert_eq!(status["lastReload"]["result"], "rolledBack", "{status}");
    let failure = &status["lastFailure"];
    assert_eq!((&failure["step"], &failure["predicate"]), (&json!("quarantine"), &json!("Own")), "{failure}");
    assert!(failure["reason"].as_str().unwrap().contains("Trap"), "{failure}");
    let counted = || reloading.metric("nodesift_policy_reloads_total{result=\"rolledBack\"}") == 1.0;
    assert!(timeout::until(|| counted().then_some(())).is_some());
    assert_eq!(reloading.metric("nodesift_policy_last_reload_successful"), 0.0);
    remembered(&good);
    assert!(reloading.sidecar.output().contains("policy rolled back"), "{}", reloading.sidecar.output());
    // The file still has the bad one, which is not tried again until it changes.
    let mended = bad.replace("own.wasm", "mended.wasm");
    reloading.folder.put("mended.wasm", Guest::healthy().component());
    reloading.put(&mended);
    assert_eq!(generation(&reloading.becomes(&mended)), 4);
    assert_eq!(fault(&asked(&reloading, 0, true)), None);
}

/// The tenant decides nothing about the policy, whatever its pods are.
#[test]
fn pods_of_one_namespace_roll_no_policy_back() {
    let _beside = beside_others();
    let rolling = |policy: String| policy.replace("spec:", "spec:\n  rollbackOnQuarantine: true");
    let reloading = Reloading::start(&rolling(policy(&["name: NodeName"])));
    reloading.folder.put("own.wasm", failing(TRAP).component());
    let failing = rolling(with("onError: Reject"));
    reloading.put(&failing);
    reloading.becomes(&failing);
    // Every third is of the same namespace.
    for number in 0..3 * QUARANTINE_FAULTS {
        assert_eq!(fault(&asked(&reloading, 3 * number, true)), Some("Trap"), "{}", reloading.status());
    }
    let status = reloading.status();
    assert_eq!((&own(&status)["breaker"]["opened"], generation(&status)), (&json!(0), 2), "{status}");
    // The next policy is looked at after what the faults lead to.
    let other = failing.replace("name: NodeName", "name: NodePorts");
    reloading.put(&other);
    assert_eq!(generation(&reloading.becomes(&other)), 3);
    assert_eq!(reloading.metric("nodesift_policy_reloads_total{result=\"rolledBack\"}"), 0.0);
}

/// R-07 of the reliability plan: quarantine without rollback.
#[test]
fn r07_without_the_option_and_for_a_predicate_that_the_policy_before_has_too_nothing_is_rolled_back() {
    let _beside = beside_others();
    let rolling = |policy: String| policy.replace("spec:", "spec:\n  rollbackOnQuarantine: true");
    // The bad predicate comes without the option; then a policy with the option changes another one.
    let reloading = Reloading::start(&policy(&["name: NodePorts"]));
    reloading.folder.put("own.wasm", failing(TRAP).component());
    reloading.put(&with("onError: Reject"));
    reloading.becomes(&with("onError: Reject"));
    assert_eq!(open(&reloading, 0), QUARANTINE_FAULTS + 1);
    let other = rolling(with("onError: Reject").replace("name: NodeName", "name: NodePorts"));
    reloading.put(&other);
    let status = reloading.becomes(&other);
    assert!(is_open(&status) && generation(&status) == 3, "{status}");
    // A retry, and with it some looks for what is to be rolled back.
    let retried = timeout::until(|| (fault(&asked(&reloading, 0, true)) == Some("Trap")).then_some(()));
    assert!(retried.is_some());
    assert_eq!(reloading.generation(), 3);
    assert_eq!(reloading.metric("nodesift_policy_reloads_total{result=\"rolledBack\"}"), 0.0);
}

/// R-07 of the reliability plan: rollback past a policy that was active for a moment.
#[test]
fn r07_a_policy_that_was_active_for_a_moment_is_not_gone_back_to() {
    let _beside = beside_others();
    let state = tempfile::tempdir().unwrap();
    let rolling = |predicates: &[&str]| policy(predicates).replace("spec:", "spec:\n  rollbackOnQuarantine: true");
    let bad = "{name: Own, module: {path: own.wasm}}";
    let documents =
        [rolling(&["name: NodeName"]), rolling(&["name: NodeName", bad]), rolling(&["name: NodePorts", bad])];
    let folder = Folder::new();
    folder.put("own.wasm", failing(TRAP).component());
    folder.put("policy.yaml", &documents[0]);
    let path = folder.path("policy.yaml");
    let arguments = ["--policy", path.to_str().unwrap(), "--state-folder", state.path().to_str().unwrap()];
    let reloading = Reloading { sidecar: sidecar::Sidecar::start(command(), &arguments), folder };
    for document in &documents[1..] {
        reloading.put(document);
        reloading.becomes(document);
    }
    open(&reloading, 0);
    let status = reloading.becomes(&documents[0]);
    assert_eq!(generation(&status), 4, "{status}");
    let remembered = || {
        let found: Value = serde_json::from_slice(&std::fs::read(state.path().join("policy.json")).ok()?).ok()?;
        (found["document"] == documents[0]).then_some(())
    };
    timeout::until(remembered).expect("it is remembered");
}
