//! Start to shutdown: readiness, the printed commands, signals, existing sockets.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;

use nodesift_tests::http::{Endpoint, get};
use nodesift_tests::sidecar::{self, Sidecar};
use nodesift_tests::timeout;

use crate::running::{ask, command, pending_pods, request, sample};

#[test]
fn a_ready_sidecar_is_live_and_ready_on_both_sockets() {
    let sidecar = sample(&[]);
    for endpoint in [sidecar.tcp(), sidecar.unix()] {
        for path in ["/livez", "/readyz"] {
            let response = get(&endpoint, path).unwrap();
            assert_eq!((response.status, response.body.trim()), (200, "ok"), "{path}");
        }
    }
    let mode = std::fs::metadata(&sidecar.socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
}

#[test]
fn metrics_are_shown_as_openmetrics_text_with_few_series() {
    let sidecar = sample(&[]);
    ask(&sidecar.unix(), "/v1/filter", &request(&pending_pods()));
    let response = get(&sidecar.tcp(), "/metrics").unwrap();
    assert_eq!(response.status, 200);
    assert!(response.body.ends_with("# EOF\n"), "{}", response.body);
    let series: Vec<&str> = response.body.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(series.iter().any(|line| line.starts_with("process_resident_memory_bytes ")), "{}", response.body);
    assert!(series.len() <= 2_000, "{} series", series.len());
}

#[test]
fn what_the_cache_holds_is_shown() {
    let sidecar = sample(&[]);
    // Memory metrics are omitted while the cache is busy.
    let shown =
        || Some(get(&sidecar.tcp(), "/metrics").unwrap().body).filter(|text| text.contains("nodesift_cache_orphan"));
    let metrics = timeout::until(shown).expect("the memory metrics of the cache");
    let value = |series: &str| {
        let line =
            metrics.lines().find(|line| line.starts_with(series)).unwrap_or_else(|| panic!("{series}: {metrics}"));
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let state = get(&sidecar.tcp(), "/v1/state").unwrap().json();
    let orphans = state["orphans"].as_array().unwrap().len();
    assert!(orphans > 0, "the sample has pods of nodes that are gone");
    assert_eq!(value("nodesift_cache_orphan_pods "), orphans as u64);
    // 298 nodes with a dozen facts of 8 bytes each, and 1,700 pods.
    assert!(value(r#"nodesift_cache_bytes{part="columns"}"#) > 298 * 100, "{metrics}");
    assert!(value(r#"nodesift_cache_bytes{part="pods"}"#) > 1_000 * 100, "{metrics}");
}

#[test]
fn sigusr1_makes_it_check_itself() {
    let sidecar = sample(&[]);
    let runs = || {
        let metrics = get(&sidecar.tcp(), "/metrics").unwrap().body;
        let line = metrics.lines().find(|line| line.starts_with("nodesift_audit_runs_total ")).map(str::to_owned);
        assert!(
            !metrics.lines().any(|line| line.starts_with("nodesift_audit_differences_total{") && !line.ends_with(" 0"))
        );
        line.and_then(|line| line.rsplit(' ').next().unwrap().parse::<u64>().ok()).unwrap_or(0)
    };
    let before = runs();
    sidecar.signal("USR1");
    timeout::until(|| (runs() > before).then_some(())).expect("a self-check ends");
}

#[test]
fn every_line_that_it_prints_to_paste_works() {
    let sidecar = sample(&[]);
    let output = sidecar.output();
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| line.starts_with("curl ")).collect();
    assert!(lines.len() >= 3, "{output}");
    for line in lines {
        let pasted = sidecar::run(Command::new("sh").args(["-c", line]));
        assert_eq!(pasted.code, Some(0), "{line}: {}", pasted.stderr);
        let answer: serde_json::Value = serde_json::from_str(&pasted.stdout).expect(line);
        assert!(answer.get("pods").is_some() || answer.get("NodeNames").is_some(), "{line}: {answer}");
    }
}

#[test]
fn verdicts_that_are_kept_are_counted_and_equal_fresh_ones() {
    let sidecar = sample(&["--verify-reuse"]);
    let question = request(&pending_pods());
    let first = ask(&sidecar.tcp(), "/v1/filter", &question);
    assert_eq!(ask(&sidecar.tcp(), "/v1/filter", &question), first);
    let metrics = get(&sidecar.tcp(), "/metrics").unwrap().body;
    let value = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {metrics}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(value("nodesift_verdicts_total{from=\"kept\"}") > 0.0, "{metrics}");
    assert_eq!(value("nodesift_verdicts_contradicted_total"), 0.0, "{metrics}");
}

#[test]
fn sigterm_and_sigint_end_it_with_0_and_leave_no_socket() {
    for signal in ["TERM", "INT"] {
        let sidecar = sample(&[]);
        let socket = sidecar.socket.clone();
        ask(&sidecar.unix(), "/v1/filter", &request(&pending_pods()));
        sidecar.signal(signal);
        let (status, output) = sidecar.wait();
        assert_eq!(status.code(), Some(0), "SIG{signal}: {output}");
        assert!(!socket.exists(), "SIG{signal}");
    }
}

#[test]
fn requests_under_way_are_answered_before_the_end() {
    let sidecar = sample(&[]);
    let (endpoint, pods) = (sidecar.tcp(), pending_pods());
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (endpoint, request) = (endpoint.clone(), request(&pods));
            std::thread::spawn(move || {
                // Requests until the sidecar accepts no more connections. Every accepted request must be answered completely.
                let mut answered = 0;
                loop {
                    match nodesift_tests::http::post(&endpoint, "/v1/filter", request.to_string()) {
                        // On a busy machine no slot may become free in time.
                        Ok(response) if response.status == 429 => {}
                        Ok(response) => {
                            assert_eq!(response.status, 200, "{}", response.body);
                            assert_eq!(response.json()["pods"].as_array().map_or(0, Vec::len), 94);
                            answered += 1;
                        }
                        Err(error) => return (answered, error),
                    }
                }
            })
        })
        .collect();
    // Waits until the sidecar answers, which shows that the clients' requests are under way.
    ask(&endpoint, "/v1/filter", &request(&pods));
    sidecar.signal("TERM");
    let (status, output) = sidecar.wait();
    assert_eq!(status.code(), Some(0), "{output}");
    for client in clients {
        let (answered, error) = client.join().expect("no answer is truncated");
        assert!(answered > 0, "{error}");
    }
}

#[test]
fn a_stale_socket_is_replaced_and_one_in_use_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sock");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "the socket has no listener");
    let serve = |path: &std::path::Path| {
        let mut command = command();
        command.args(["serve", "--sample", "--no-tcp", "--socket"]).arg(path);
        command
    };
    let mut first =
        serve(&path).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let ready = timeout::until(|| get(&Endpoint::Unix(path.clone()), "/readyz").ok());
    assert_eq!(ready.unwrap().status, 200);

    let second = sidecar::run(&mut serve(&path));
    assert_eq!(second.code, Some(1), "{}", second.stderr);
    assert!(second.stderr.contains(path.to_str().unwrap()), "{}", second.stderr);
    assert!(UnixStream::connect(&path).is_ok(), "the first still serves");
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn a_port_that_is_taken_is_named() {
    let sidecar = sample(&[]);
    let folder = tempfile::tempdir().unwrap();
    let address = sidecar.address.to_string();
    let mut command = command();
    command.args(["serve", "--sample", "--listen", &address, "--socket"]).arg(folder.path().join("s.sock"));
    let output = sidecar::run(&mut command);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stderr.contains(&address), "{}", output.stderr);
}

#[test]
fn answers_survive_a_restart() {
    let answers = [(); 2].map(|()| {
        let sidecar: Sidecar = sample(&[]);
        ask(&sidecar.tcp(), "/v1/explain", &request(&pending_pods()))
    });
    assert_eq!(answers[0], answers[1], "from the same objects and the same policy, generations included");
}
