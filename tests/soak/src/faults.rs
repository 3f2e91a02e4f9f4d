//! Faults, one class after the other in random order, until the run ends. Start at [`inject`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use nodesift_tests::apiserver::{Fault, Verb};
use nodesift_tests::http::{self, Endpoint};
use nodesift_tests::wire::Wire;
use serde_json::json;

use crate::load::Shared;
use crate::wait;

/// Time from one fault to the next, in a run of ten minutes. Shorter runs have as many.
const PERIOD: Duration = Duration::from_secs(30);

/// Faults of a run, at least.
const LEAST: u32 = 20;

/// Silent peers, and connections of a flood.
const PEERS: usize = 50;
const FLOOD: usize = 300;

/// Malformed requests of one fault.
const MALFORMED: u32 = 200;

/// Parts of the time of a fault that pass between two hostile pods.
const POD_PAUSES: u32 = 8;

/// Injects a fault; a time is how long those last that have a duration.
type Inject = fn(&Shared, Duration, &mut fastrand::Rng);

/// Classes of faults by name, each with its function.
const CLASSES: [(&str, Inject); 12] = [
    ("watches are cut", cut),
    ("versions have expired (410)", expired),
    ("a watch falls silent", silent_watch),
    ("the API server answers 500", broken),
    ("the API server asks for patience (429)", patience),
    ("the API server is down", down),
    ("lists and watches come twice, in pieces, late", odd),
    ("silent peers that announce bodies", silent_peers),
    ("malformed bodies", malformed),
    ("a flood of connections", flood),
    ("hostile whole pods", hostile),
    ("huge answers that nobody reads", unread),
];

/// Injects faults for some time. Returns how often each class has happened.
pub(crate) fn inject(seed: u64, shared: &Arc<Shared>, time: Duration) -> JoinHandle<BTreeMap<&'static str, usize>> {
    let shared = Arc::clone(shared);
    let period = PERIOD.min(time / LEAST);
    std::thread::spawn(move || {
        let mut random = fastrand::Rng::with_seed(seed ^ 3);
        let mut happened = BTreeMap::new();
        loop {
            let mut classes = CLASSES;
            random.shuffle(&mut classes);
            for (name, fault) in classes {
                wait(period / 2, &shared.stop);
                if shared.stop.load(Ordering::Relaxed) {
                    shared.living.server.clear_faults();
                    return happened;
                }
                fault(&shared, period / 2, &mut random);
                shared.living.server.clear_faults();
                *happened.entry(name).or_default() += 1;
            }
        }
    })
}

fn cut(shared: &Shared, time: Duration, random: &mut fastrand::Rng) {
    for _ in 0..4 {
        if random.bool() {
            shared.living.server.cut()
        } else {
            shared.living.server.cut_watches("Pod")
        }
        wait(time / 4, &shared.stop);
    }
}

fn expired(shared: &Shared, time: Duration, random: &mut fastrand::Rng) {
    let server = &shared.living.server;
    for kind in ["Pod", "Node"] {
        server.next(
            kind,
            Verb::Watch,
            if random.bool() { Fault::expired() } else { Fault::ExpiredAfter(random.usize(..5)) },
        );
        server.next(kind, Verb::List(1), Fault::expired());
        server.cut_watches(kind);
    }
    wait(time, &shared.stop);
}

fn silent_watch(shared: &Shared, time: Duration, random: &mut fastrand::Rng) {
    let server = &shared.living.server;
    server.next("Pod", Verb::Watch, Fault::SilentAfter(random.usize(..10)));
    server.cut_watches("Pod");
    wait(time, &shared.stop);
    // A real connection that has died is found within 45 s; the run goes on before.
    server.cut();
}

fn broken(shared: &Shared, time: Duration, _: &mut fastrand::Rng) {
    let server = &shared.living.server;
    server.script(|script| script.always(None, None, Fault::broken()));
    server.cut();
    wait(time, &shared.stop);
}

fn patience(shared: &Shared, time: Duration, _: &mut fastrand::Rng) {
    let server = &shared.living.server;
    server.script(|script| script.always(None, None, Fault::too_many_requests(1)));
    server.cut();
    wait(time, &shared.stop);
}

fn down(shared: &Shared, time: Duration, _: &mut fastrand::Rng) {
    shared.living.server.go_down();
    wait(time, &shared.stop);
    shared.living.server.come_up();
}

fn odd(shared: &Shared, time: Duration, random: &mut fastrand::Rng) {
    let server = &shared.living.server;
    let (pieces, bytes) = (random.usize(1..50), random.usize(..20_000));
    server.script(|script| {
        script.always(None, Some(Verb::Watch), Fault::Twice);
        script.always(None, Some(Verb::Watch), Fault::Chunks(pieces));
        script.always(None, Some(Verb::List(1)), Fault::Late(Duration::from_millis(100)));
    });
    server.next("Pod", Verb::Watch, Fault::Cut(bytes));
    server.cut();
    wait(time, &shared.stop);
}

fn endpoint<'a>(shared: &'a Shared, random: &mut fastrand::Rng) -> &'a Endpoint {
    if random.bool() { &shared.unix } else { &shared.tcp }
}

fn silent_peers(shared: &Shared, time: Duration, random: &mut fastrand::Rng) {
    let head = "POST /v1/filter HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 3145728\r\n\r\n{";
    let peers: Vec<Wire> = (0..PEERS).filter_map(|_| Wire::open(endpoint(shared, random)).ok()).collect();
    let mut silent = Vec::new();
    for mut peer in peers {
        if peer.send(head).is_ok() {
            silent.push(peer);
        }
    }
    wait(time, &shared.stop);
}

fn malformed(shared: &Shared, time: Duration, random: &mut fastrand::Rng) {
    const PATHS: [&str; 5] = ["/v1/filter", "/v1/explain", "/v1/assume", "/v1/forget", "/extender/filter"];
    let good = json!({"pods": [{"object": shared.living.whole.first()}]}).to_string().into_bytes();
    for _ in 0..MALFORMED {
        let mut body = good.clone();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(..body.len());
            body[at] = random.u8(..);
        }
        body.truncate(random.usize(1..=body.len()));
        let path = random.choice(PATHS).unwrap_or("/v1/filter");
        if let Ok(answer) = http::post(endpoint(shared, random), path, &body) {
            shared.fault_answer("malformed", answer.status, &answer.body);
        }
        wait(time / (2 * MALFORMED), &shared.stop);
    }
}

fn flood(shared: &Shared, time: Duration, random: &mut fastrand::Rng) {
    let connections: Vec<Wire> = (0..FLOOD).filter_map(|_| Wire::open(endpoint(shared, random)).ok()).collect();
    wait(time, &shared.stop);
    drop(connections);
}

fn hostile(shared: &Shared, time: Duration, random: &mut fastrand::Rng) {
    let many = |count: usize, item: &dyn Fn(usize) -> serde_json::Value| (0..count).map(item).collect::<Vec<_>>();
    let labels: serde_json::Map<_, _> = (0..20_000).map(|n| (format!("key-{n}"), json!("v"))).collect();
    let terms =
        many(300, &|n| json!({"topologyKey": format!("k{n}"), "labelSelector": {"matchLabels": {"a": n.to_string()}}}));
    let constraints = many(
        300,
        &|n| json!({"maxSkew": 1, "topologyKey": format!("k{n}"), "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}),
    );
    let values = many(30_000, &|n| json!(n.to_string()));
    let deep = (0..200).fold(json!({}), |inner, _| json!({"a": inner}));
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let pods = [
        json!({"metadata": {"name": "labels", "labels": labels}, "spec": {}}),
        json!({"metadata": {"name": "terms"}, "spec": {"affinity": {"podAntiAffinity": {required: terms}}}}),
        json!({"metadata": {"name": "spread"}, "spec": {"topologySpreadConstraints": constraints}}),
        json!({"metadata": {"name": "values"}, "spec": {"affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "NotIn", "values": values}]}]}}}}}),
        json!({"metadata": {"name": "deep"}, "spec": {"x": deep}}),
        json!({"metadata": {"name": "n".repeat(1 << 20)}, "spec": {}}),
        json!({"metadata": {"name": "huge"}, "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "9".repeat(1000)}}}]}}),
    ];
    for pod in &pods {
        for path in ["/v1/filter", "/v1/explain"] {
            if let Ok(answer) =
                http::post(endpoint(shared, random), path, json!({"pods": [{"object": pod}]}).to_string())
            {
                shared.fault_answer("hostile", answer.status, &answer.body);
            }
        }
        wait(time / POD_PAUSES, &shared.stop);
    }
}

fn unread(shared: &Shared, time: Duration, random: &mut fastrand::Rng) {
    let pods: Vec<_> = shared.living.whole.iter().cycle().take(300).map(|pod| json!({"object": pod})).collect();
    let body = json!({"pods": pods}).to_string();
    let request = format!(
        "POST /v1/explain HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut open = Vec::new();
    for _ in 0..4 {
        if let Ok(mut wire) = Wire::open(endpoint(shared, random))
            && wire.send(&request).is_ok()
        {
            open.push(wire);
        }
    }
    wait(time, &shared.stop);
}
