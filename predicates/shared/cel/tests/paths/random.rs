//! Random expressions and devices: devices with equal keys have equal outcomes.
//!
//! Half of the seeds are the same in every run; `NODESIFT_SEED` sets the only one, and a failure names its own.

use std::collections::{BTreeMap, BTreeSet};

use nodesift_cel::{Device, Path, Program, key_of};
use nodesift_fixtures::rng::Rng;

use crate::devices::Vocabulary;
use crate::documents;
use crate::expressions::{FORMS, expression};

/// Random expressions of a run, one per seed.
const EXPRESSIONS: u64 = 2_400;

/// Devices per expression, each with a changed one.
const PAIRS: usize = 6;
const PAIRS_OF_DOCUMENTS: usize = 40;

/// Minimum counts of a run, so that nothing degenerates unnoticed.
const LEAST: Counts = Counts {
    triples: 12_000,
    with_paths: 7_500,
    equal_keys: 2_400,
    faults: 150,
    yes: 600,
    no: 600,
    errors: 600,
    apart: 600,
};

/// Expressions with a form, and triples in which the outcomes of two devices differ by one path alone.
const LEAST_OF_A_FORM: usize = 6;
const LEAST_OF_A_PATH: usize = 3;

#[derive(Debug, Default)]
struct Counts {
    triples: usize,
    with_paths: usize,
    /// Of different devices, without a fault.
    equal_keys: usize,
    faults: usize,
    /// Outcomes where there are paths.
    yes: usize,
    no: usize,
    errors: usize,
    /// Pairs of devices with different outcomes.
    apart: usize,
}

#[derive(Debug, Default)]
struct Run {
    counts: Counts,
    /// Triples by the kind of a path without which they would have equal keys and different outcomes.
    needed: BTreeMap<&'static str, usize>,
}

#[test]
fn devices_with_equal_keys_have_equal_outcomes() {
    let mut run = Run::default();
    let mut forms: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in seeds() {
        let mut rng = Rng::with_seed(seed);
        let made = expression(&mut rng);
        for form in made.forms {
            *forms.entry(form).or_default() += 1;
        }
        run.triples(&mut rng, &format!("seed {seed}: {}", made.text), &made.program, PAIRS);
        if let Some(text) = documents::pick(&mut rng)
            && let Ok(program) = Program::compile(text)
        {
            run.triples(&mut rng, &format!("seed {seed}: {text}"), &program, 1);
        }
    }
    let seldom: BTreeSet<_> = FORMS.iter().filter(|form| forms.get(*form) < Some(&LEAST_OF_A_FORM)).collect();
    println!("{:?}\npaths needed: {:?}\nforms: {forms:?}", run.counts, run.needed);
    if nodesift_seed::repeated().is_some() {
        return;
    }
    assert!(seldom.is_empty(), "forms that are seldom or never made: {seldom:?}");
    run.counts.assert_at_least(&LEAST);
    assert_eq!(run.needed.len(), 6, "{:?}", run.needed);
    assert!(run.needed.values().all(|count| *count >= LEAST_OF_A_PATH), "{:?}", run.needed);
}

#[test]
fn the_expressions_of_the_documents_hold_it_too() {
    let (mut run, mut compiled) = (Run::default(), 0);
    for (seed, text) in documents::expressions().iter().enumerate() {
        let Ok(program) = Program::compile(text) else { continue };
        compiled += 1;
        let mut rng = Rng::with_seed(u64::try_from(seed).unwrap());
        run.triples(&mut rng, text, &program, PAIRS_OF_DOCUMENTS);
    }
    println!("{compiled} expressions, {:?}", run.counts);
    assert!(compiled >= 220, "{compiled}");
    assert!(run.counts.equal_keys >= 1_000 && run.counts.apart >= 500, "{:?}", run.counts);
}

impl Run {
    fn triples(&mut self, rng: &mut Rng, of: &str, program: &Program, pairs: usize) {
        let paths = program.paths();
        let vocabulary = paths.as_deref().map_or_else(Vocabulary::new, Vocabulary::from_paths);
        for _ in 0..pairs {
            let device = vocabulary.device(rng);
            let changed = vocabulary.changed(rng, &device);
            self.counts.triples += 1;
            for device in [&device, &changed, &device] {
                // A copy knows no device that was asked about before.
                assert_eq!(program.matches(device), program.clone().matches(device), "{of}\n{device:?}");
            }
            if let Some(paths) = &paths {
                self.triple(of, program, paths, &device, &changed);
            }
        }
    }

    fn triple(&mut self, of: &str, program: &Program, paths: &[Path], device: &Device, changed: &Device) {
        let outcomes = [device, changed].map(|device| program.matches(device));
        let counts = &mut self.counts;
        counts.with_paths += 1;
        for outcome in &outcomes {
            match outcome {
                Ok(true) => counts.yes += 1,
                Ok(false) => counts.no += 1,
                Err(_) => counts.errors += 1,
            }
        }
        let faults = [device.fault(), changed.fault()];
        let equal = |paths: &[Path]| {
            let [fault, other] = &faults;
            key_of(paths, device, fault.as_deref()) == key_of(paths, changed, other.as_deref())
        };
        let is_fault = faults.iter().any(Option::is_some);
        counts.faults += usize::from(is_fault);
        let differ = outcomes[0] != outcomes[1];
        counts.apart += usize::from(differ);
        if equal(paths) {
            counts.equal_keys += usize::from(!is_fault && device != changed);
            let [one, other] = outcomes;
            assert_eq!(one, other, "{of}\npaths {paths:?}\n{device:?}\n{changed:?}");
        } else if differ && !is_fault {
            for left_out in paths {
                let others: Vec<Path> = paths.iter().filter(|path| *path != left_out).cloned().collect();
                if equal(&others) {
                    *self.needed.entry(kind(left_out)).or_default() += 1;
                }
            }
        }
    }
}

impl Counts {
    fn assert_at_least(&self, least: &Self) {
        let all = |of: &Self| [of.triples, of.with_paths, of.equal_keys, of.faults, of.yes, of.no, of.errors, of.apart];
        assert!(all(self).into_iter().zip(all(least)).all(|(count, least)| count >= least), "{self:?}, not {least:?}");
    }
}

fn kind(path: &Path) -> &'static str {
    match path {
        Path::Driver => "driver",
        Path::AllowMultipleAllocations => "allowMultipleAllocations",
        Path::Attribute { .. } => "attribute",
        Path::AttributeDomain { .. } => "domain of attributes",
        Path::Capacity { .. } => "capacity",
        Path::CapacityDomain { .. } => "domain of capacities",
    }
}

fn seeds() -> Vec<u64> {
    if let Some(seed) = nodesift_seed::repeated() {
        return vec![seed];
    }
    let first = nodesift_seed::fresh();
    println!("seeds 0 to {} and {first} to {}", EXPRESSIONS / 2 - 1, first + EXPRESSIONS / 2 - 1);
    (0..EXPRESSIONS / 2).chain(first..first + EXPRESSIONS / 2).collect()
}
