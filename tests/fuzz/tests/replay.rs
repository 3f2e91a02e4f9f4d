//! Every committed input of every fuzz target holds: those that mutation starts from, and those that once found something.
#![allow(missing_docs, reason = "tests are named as sentences")]

use nodesift_fuzz::{TARGETS, corpus, unit};

/// Bytes of all committed inputs together.
const BYTES: usize = 200_000;

/// Generated inputs per target.
const GENERATED: usize = 4;

#[test]
fn every_committed_input_holds() {
    let mut wrong = Vec::new();
    for target in &TARGETS {
        let inputs = corpus::inputs(target);
        assert!(!inputs.is_empty(), "{} has no inputs", target.name);
        for (path, input) in inputs {
            if let Err(finding) = unit::run(target, &input).outcome {
                wrong.push(format!("{}: {finding}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn generated_inputs_hold() {
    let mut random = fastrand::Rng::with_seed(nodesift_seed::seed());
    for target in &TARGETS {
        for input in std::iter::repeat_with(|| (target.generate)(&mut random)).take(GENERATED) {
            let unit = unit::run(target, &input);
            assert!(unit.outcome.is_ok(), "{}: {:?}\n{}", target.name, unit.outcome, String::from_utf8_lossy(&input));
        }
    }
}

#[test]
fn the_committed_inputs_are_few() {
    let bytes: usize = TARGETS.iter().flat_map(corpus::inputs).map(|(_, input)| input.len()).sum();
    assert!(bytes <= BYTES, "{bytes} bytes");
}
