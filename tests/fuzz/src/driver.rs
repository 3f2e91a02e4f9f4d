//! Runs a target on mutated inputs for some time. Start at [`fuzz`].
//!
//! The driver knows nothing of the code under test but the [`Behaviour`] that a target returns: inputs with a new one are
//! mutated further. What it finds is minimised and written to a file; committed under `regressions/<target>`, it is replayed
//! by every run of the tests.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nodesift_tests::timeout;

use crate::mutate::Mutator;
use crate::unit::{self, Finding};
use crate::{Behaviour, Target, corpus};

/// Inputs that are mutated. Once there are as many, a new one replaces any that is not committed.
const INPUTS: usize = 4096;

/// One input in this many is generated where the target has a generator.
const GENERATED_PART: u32 = 4;

/// Different findings after which a run ends: they mostly have one cause.
const FINDINGS: usize = 8;

/// Time to minimise one finding.
const MINIMISE_TIME: Duration = Duration::from_secs(5);

/// Time after which a unit is stuck. The process then ends, since no thread can be ended.
const STUCK_TIME: Duration = Duration::from_secs(60);

/// Exit code of a process with a stuck unit.
pub const STUCK: i32 = 70;

/// The result of a run.
#[derive(Debug)]
pub struct Summary {
    /// Units that were run.
    pub executions: u64,
    /// Number of different behaviours that inputs had.
    pub behaviours: usize,
    /// Inputs that were mutated at the end.
    pub inputs: usize,
    /// Time of the longest unit.
    pub slowest: Duration,
    /// Findings, each with the file of its input.
    pub findings: Vec<(Finding, PathBuf)>,
}

/// Runs a target for some time. Inputs with findings are written to `folder`, and so is the input that runs at the moment.
///
/// # Errors
///
/// Where a file cannot be written.
pub fn fuzz(target: &Target, time: Duration, seed: u64, folder: &Path) -> std::io::Result<Summary> {
    fuzz_up_to(FINDINGS, target, time, seed, folder)
}

/// Runs a target like [`fuzz`], up to so many findings.
fn fuzz_up_to(findings: usize, target: &Target, time: Duration, seed: u64, folder: &Path) -> std::io::Result<Summary> {
    fs::create_dir_all(folder)?;
    // What a target does once, it does before its units are timed.
    for (_, input) in corpus::inputs(target).iter().take(1) {
        unit::run(target, input);
    }
    let mut run = Run::new(target, seed, folder);
    run.watch();
    let started = Instant::now();
    for (path, input) in corpus::inputs(target) {
        run.execute(&input, Some(&path))?;
    }
    run.committed = run.inputs.len();
    let mutator = Mutator::new(target.form, run.inputs.iter().map(Vec::as_slice));
    while started.elapsed() < time && run.findings.len() < findings {
        let input = run.next(&mutator);
        run.execute(&input, None)?;
    }
    // It tells of a process that has not ended by itself.
    fs::remove_file(run.running_file()).or_else(|error| if run.executions == 0 { Ok(()) } else { Err(error) })?;
    Ok(Summary {
        executions: run.executions,
        behaviours: run.behaviours.len(),
        inputs: run.inputs.len(),
        slowest: run.slowest,
        findings: run.findings,
    })
}

/// The file with the input that runs, in a target's folder.
pub fn running(folder: &Path) -> PathBuf {
    folder.join("running")
}

struct Run<'a> {
    target: &'a Target,
    folder: &'a Path,
    random: fastrand::Rng,
    inputs: Vec<Vec<u8>>,
    /// The first inputs, which are never replaced.
    committed: usize,
    behaviours: HashSet<Behaviour>,
    executions: u64,
    slowest: Duration,
    findings: Vec<(Finding, PathBuf)>,
    classes: HashMap<String, u64>,
    /// When the unit that runs has begun.
    began: Arc<Mutex<Option<Instant>>>,
}

impl<'a> Run<'a> {
    fn new(target: &'a Target, seed: u64, folder: &'a Path) -> Self {
        Self {
            target,
            folder,
            random: fastrand::Rng::with_seed(seed),
            inputs: Vec::new(),
            committed: 0,
            behaviours: HashSet::new(),
            executions: 0,
            slowest: Duration::ZERO,
            findings: Vec::new(),
            classes: HashMap::new(),
            began: Arc::default(),
        }
    }

    fn running_file(&self) -> PathBuf {
        running(self.folder)
    }

    /// A generated or mutated input.
    fn next(&mut self, mutator: &Mutator) -> Vec<u8> {
        let generated = (self.target.generate)(&mut self.random);
        if !generated.is_empty() && (self.inputs.is_empty() || self.random.u32(..GENERATED_PART) == 0) {
            return generated;
        }
        if self.inputs.is_empty() {
            return mutator.mutate(b"", b"", &mut self.random);
        }
        let [input, other] = [0, 1].map(|_| self.random.usize(..self.inputs.len()));
        mutator.mutate(&self.inputs[input], &self.inputs[other], &mut self.random)
    }

    fn execute(&mut self, input: &[u8], committed: Option<&Path>) -> std::io::Result<()> {
        // What ends the process leaves the input behind.
        fs::write(self.running_file(), input)?;
        *self.began.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        let unit = unit::run(self.target, input);
        *self.began.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.executions += 1;
        self.slowest = self.slowest.max(unit.time);
        match unit.outcome {
            Ok(behaviour) => {
                if self.behaviours.insert(behaviour) || committed.is_some() {
                    self.keep(input);
                }
            }
            Err(finding) => {
                let seen = self.classes.entry(finding.class()).or_default();
                *seen += 1;
                if *seen == 1 {
                    let smallest = minimised(self.target, input, &finding);
                    let path = match committed {
                        Some(path) => path.to_owned(),
                        None => self.write(&smallest)?,
                    };
                    self.findings.push((finding, path));
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, input: &[u8]) {
        if self.inputs.len() < INPUTS {
            self.inputs.push(input.to_vec());
        } else {
            let at = self.random.usize(self.committed..self.inputs.len());
            self.inputs[at] = input.to_vec();
        }
    }

    fn write(&self, input: &[u8]) -> std::io::Result<PathBuf> {
        let path = self.folder.join(name(input));
        fs::write(&path, input)?;
        Ok(path)
    }

    /// Ends the process where a unit does not end.
    fn watch(&self) {
        let (began, file, target) = (Arc::clone(&self.began), self.running_file(), self.target.name);
        std::thread::spawn(move || {
            loop {
                std::thread::park_timeout(Duration::from_secs(1));
                let since = *began.lock().unwrap_or_else(PoisonError::into_inner);
                if since.is_some_and(|since| since.elapsed() > timeout::scaled(STUCK_TIME)) {
                    report_stuck(target, &file);
                    std::process::exit(STUCK);
                }
            }
        });
    }
}

#[allow(clippy::print_stderr, reason = "the process ends")]
fn report_stuck(target: &str, file: &Path) {
    eprintln!("{target}: a unit has been running for {} s: {}", timeout::scaled(STUCK_TIME).as_secs(), file.display());
}

/// The name of an input's file, by its content.
pub fn name(input: &[u8]) -> String {
    let mut name = String::new();
    for byte in Behaviour::new(input).0.to_be_bytes() {
        let _infallible = write!(name, "{byte:02x}");
    }
    name
}

/// A smaller input with the same finding: pieces are removed as long as it stays.
fn minimised(target: &Target, input: &[u8], finding: &Finding) -> Vec<u8> {
    let due = Instant::now() + MINIMISE_TIME;
    let has_it = |input: &[u8]| unit::run(target, input).outcome.is_err_and(|found| found.class() == finding.class());
    let mut smallest = input.to_vec();
    let mut piece = smallest.len().div_ceil(2);
    while piece > 0 && matches!(finding, Finding::Panic { .. }) {
        let mut at = 0;
        while at < smallest.len() && Instant::now() < due {
            let end = (at + piece).min(smallest.len());
            let without = [&smallest[..at], &smallest[end..]].concat();
            if has_it(&without) {
                smallest = without;
            } else {
                at = end;
            }
        }
        piece /= 2;
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::Form;

    /// A target that panics where `needle` occurs.
    fn needle(input: &[u8]) -> Behaviour {
        assert!(!input.windows(2).any(|pair| pair == b"[["), "two brackets");
        Behaviour::new(input.iter().filter(|byte| **byte == b'[').count())
    }

    #[test]
    fn a_planted_panic_is_found_minimised_and_written() {
        let time = Duration::from_secs(1);
        let target = Target { name: "planted", form: Form::Bytes, run: needle, generate: crate::nothing, time };
        let folder = std::env::temp_dir().join(format!("nodesift-fuzz-planted-{}", std::process::id()));
        let summary = fuzz_up_to(1, &target, timeout::limit(), 1, &folder);
        let summary = summary.expect("files can be written");
        let found = summary.findings.iter().map(|(_, path)| fs::read(path).expect("the input")).collect::<Vec<_>>();
        fs::remove_dir_all(&folder).expect("the folder");
        assert_eq!(found, [b"[[".to_vec()], "{summary:?}");
    }
}
