//! Times that tests see. A busy machine makes any of them longer, so only [`at_most`] fails a test by one, and only where the
//! guarantee itself is a time; every other time is a [`figure`], and a ratio, a share or a rate is a [`number`], which fail nothing.
//!
//! With `NODESIFT_FIGURES=FILE` each also appends a line to the file: test, name, value, aim, and `s` where both are seconds or `-`
//! where they are numbers, with tabs between them. `make perf` makes a table of them.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

use crate::timeout;

/// Names the file to which times are appended.
pub const FIGURES: &str = "NODESIFT_FIGURES";

/// How far a promise may be exceeded before a test fails, times the factor of timeouts. A thread of a machine with more to do than it
/// has cores can wait for seconds; what a promise is there to exclude (a deadline that is not applied, a retry that is not made, a wait
/// without a limit) takes longer.
const SLACK: Duration = Duration::from_secs(2);

/// Records a time and what it is to be at most. It never fails a test.
pub fn figure(name: &str, time: Duration, aim: Duration) {
    record(name, time.as_secs_f64(), aim.as_secs_f64(), "s");
}

/// Records what is no time and does not depend on the pace of the machine alone, such as a ratio of two times, and what it is to be at
/// most. It never fails a test.
pub fn number(name: &str, value: f64, aim: f64) {
    record(name, value, aim, "-");
}

/// Rounds of a test that measures: `most` where figures are recorded, `few` where only what is counted decides.
pub fn rounds(few: usize, most: usize) -> usize {
    if std::env::var_os(FIGURES).is_some() { most } else { few }
}

#[expect(clippy::print_stdout, reason = "what a test prints is shown where it fails or with --nocapture")]
fn record(name: &str, value: f64, aim: f64, unit: &str) {
    println!("figure: {name}: {value:.6} {unit}, aim {aim:.6}");
    let Ok(path) = std::env::var(FIGURES) else { return };
    let current = std::thread::current();
    let test = current.name().unwrap_or("-");
    let line = format!("{test}\t{name}\t{value:.6}\t{aim:.6}\t{unit}\n");
    // One write: test programs may append beside each other.
    let file = OpenOptions::new().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the file of figures can be written");
}

/// Asserts a promise in seconds: a time limit, the end after a signal, a retry.
///
/// # Panics
/// Where the time is more than the promise and the slack, both times [`timeout::FACTOR`].
#[track_caller]
pub fn at_most(name: &str, time: Duration, promise: Duration) {
    figure(name, time, promise);
    let most = timeout::scaled(promise + SLACK);
    assert!(time <= most, "{name}: {time:?}, promised within {promise:?}, at most {most:?} on this machine");
}
