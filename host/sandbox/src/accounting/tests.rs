//! Calls of a component whose rulings follow from the first letter of the annotation `k`, and from that of its arguments.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use super::*;
use crate::Runtime;
use crate::limits::{ACCOUNTING_CALLS, REUSED_CALLS};

/// Annotations: `t` traps, `l` does not end, `g` takes memory, `x` reads what is not needed, `n`, `f`, `u`, `h` and `v` return what the
/// contract does not allow, `b` and `o` are broken; any other gives what can be read.
const COMPONENT: &str = include_str!("tests/component.wat");

/// An object with this annotation `k`, and amounts that follow from a number.
struct Object(Option<&'static str>, i64);

fn amounts(amounts: &[(&str, i64)]) -> Vec<Amount> {
    amounts.iter().map(|(resource, value)| Amount { resource: (*resource).into(), value: *value }).collect()
}

impl AccountedObject for Object {
    fn annotation(&self, key: &str) -> Option<Arc<str>> {
        assert_eq!(key, "k");
        self.0.map(Arc::from)
    }

    fn owners(&self) -> Vec<ObjectOwner> {
        let owner = |uid: &str| ObjectOwner {
            api_version: "v1".into(),
            kind: "Kind".into(),
            name: "name".into(),
            uid: uid.into(),
            controller: true,
        };
        vec![owner("the first"), owner("the second")]
    }

    fn standard(&self) -> Vec<Amount> {
        amounts(&[("cpu", self.1), ("memory", 2)])
    }

    fn usage(&self) -> Vec<Amount> {
        amounts(&[("cpu", self.1 + 1)])
    }

    fn containers(&self) -> Vec<Amount> {
        amounts(&[("gpu", self.1 + 2)])
    }
}

fn objects(objects: impl IntoIterator<Item = (&'static str, i64)>) -> Vec<Arc<dyn AccountedObject>> {
    let object = |(text, number)| Arc::new(Object(Some(text), number)) as Arc<dyn AccountedObject>;
    objects.into_iter().map(object).collect()
}

fn grants() -> AccountingGrants {
    AccountingGrants { annotations: vec!["other".to_owned(), "k".to_owned()], ..AccountingGrants::default() }
}

fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

fn accounting() -> (Runtime, Accounting) {
    let runtime = Runtime::start(None).unwrap();
    let accounting = runtime.load_accounting(&component(COMPONENT), grants()).unwrap();
    (runtime, accounting)
}

fn listed(amounts: &[(&str, i64)]) -> Vec<(Arc<str>, i64)> {
    amounts.iter().map(|(name, amount)| (Arc::from(*name), *amount)).collect()
}

/// Ruling of the component about an object whose annotation begins with any other letter.
fn whole(number: i64) -> Ruling {
    Ruling::Account(Account {
        requests: listed(&[("cpu", number), ("memory", 2)]),
        usage: listed(&[("cpu", number + 1)]),
        sums: listed(&[("s", 7)]),
        flags: vec!["m".into()],
    })
}

#[test]
fn accounts_and_sums_cross() {
    let (_runtime, accounting) = accounting();
    let needs = Needs { annotations: vec!["k".into()], sums: vec!["s".into()] };
    assert_eq!(*accounting.needs(), needs);
    assert_eq!(accounting.imports(), ObjectInterface::ALL);
    assert_eq!(accounting.contract(), "0.1.0");
    let none: Arc<dyn AccountedObject> = Arc::new(Object(None, 1));
    assert_eq!(accounting.pods(&[Arc::clone(&none)]), [Ok(Ruling::Standard)]);
    assert_eq!(accounting.pods(&[]), []);
    let answers = accounting.pods(&objects([("a", 3), ("b", 3), ("o", 3), ("c", 3)]));
    let broken = |text: &str| Ok(Ruling::Broken(text.to_owned()));
    assert_eq!(answers[..3], [Ok(whole(3)), broken("bad"), broken("the first")]);
    let Ok(Ruling::Account(account)) = &answers[3] else { panic!("{answers:?}") };
    assert_eq!(account.usage, listed(&[("gpu", 5)]));
    let answers = accounting.nodes(&[&[none][..], &objects([("b", 1), ("t", 1), ("a", i64::MIN)])].concat());
    assert_eq!(answers[0], Ok(Ok(listed(&[("s", 1)]))));
    assert_eq!(answers[1], Ok(Err("bad".to_owned())));
    assert_eq!(answers[2].as_ref().unwrap_err().kind, FaultKind::Trap);
    assert_eq!(answers[3], Ok(Ok(listed(&[("s", i64::MIN)]))));
}

/// Annotation of an object, the fault that it causes, and a part of the fault's detail.
const FAULTS: [(&str, FaultKind, &str); 9] = [
    ("t", FaultKind::Trap, "unreachable"),
    ("l", FaultKind::Deadline, "more than 5 ms"),
    ("g", FaultKind::Memory, "more than 16 MiB"),
    ("x", FaultKind::Trap, "the annotation x is not among those"),
    ("n", FaultKind::MalformedVerdict, "usage: -1 of cpu"),
    ("f", FaultKind::MalformedVerdict, "utf-8"),
    ("u", FaultKind::MalformedVerdict, "\"u\" is not among those"),
    ("h", FaultKind::OutputTooLarge, "fuel"),
    ("v", FaultKind::MalformedVerdict, "discriminant"),
];

#[test]
fn a_fault_of_one_object_changes_nothing_for_the_others() {
    let (_runtime, accounting) = accounting();
    for (text, kind, detail) in FAULTS {
        let answers = accounting.pods(&objects([("a", 1), (text, 2), ("a", 3)]));
        assert_eq!(answers[0], Ok(whole(1)), "before {text}");
        let fault = answers[1].as_ref().unwrap_err();
        assert_eq!(fault.kind, kind, "{text}: {fault}");
        assert!(fault.detail.contains(detail), "{fault}");
        assert_eq!(answers[2], Ok(whole(3)), "after {text}");
        assert_eq!(accounting.component.waiting(), 1, "the instance after {text} is kept");
        // The last one leaves none.
        assert_eq!(accounting.pods(&objects([(text, 1)]))[0].as_ref().unwrap_err().kind, kind);
        assert_eq!(accounting.component.waiting(), 0);
    }
}

#[test]
fn in_any_mixture_each_object_has_what_it_has_alone() {
    let seed = nodesift_seed::seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let (_runtime, accounting) = accounting();
    for _ in 0..10 {
        let texts = (0..random.usize(0..2 * ACCOUNTING_BATCH)).map(|_| match random.u8(0..4) {
            0 => FAULTS[random.usize(0..FAULTS.len())].0,
            1 => "b",
            _ => "a",
        });
        let texts: Vec<(&str, i64)> = texts.zip(1..).collect();
        let answers = accounting.pods(&objects(texts.iter().copied()));
        assert_eq!(answers.len(), texts.len());
        for ((text, number), answer) in texts.iter().zip(&answers) {
            match FAULTS.iter().find(|(fault, ..)| fault == text) {
                Some((_, kind, _)) => assert_eq!(answer.as_ref().unwrap_err().kind, *kind, "{text} {number}"),
                None if *text == "b" => assert_eq!(*answer, Ok(Ruling::Broken("bad".to_owned()))),
                None => assert_eq!(*answer, Ok(whole(*number))),
            }
        }
    }
}

#[test]
fn many_threads_have_at_most_as_many_instances_as_turns() {
    let (_runtime, accounting) = accounting();
    std::thread::scope(|scope| {
        for thread in 0..3 * i64::from(ACCOUNTING_CALLS) {
            let accounting = &accounting;
            scope.spawn(move || {
                for number in 0..50 {
                    let number = thread * 100 + number;
                    assert_eq!(accounting.pods(&objects([("a", number), ("t", 0)]))[0], Ok(whole(number)));
                    assert_eq!(accounting.pods(&objects([("a", number)])), [Ok(whole(number))]);
                }
            });
        }
    });
    assert!((1..=ACCOUNTING_CALLS as usize).contains(&accounting.component.waiting()));
}

#[test]
fn an_instance_is_called_a_bounded_number_of_times() {
    let (_runtime, accounting) = accounting();
    let calls = |accounting: &Accounting| accounting.component.lock().first().map(Instance::calls);
    let batch = objects((0..64).map(|number| ("a", number)));
    let batches = REUSED_CALLS.div_ceil(64);
    for number in 1..batches {
        accounting.pods(&batch);
        assert_eq!(calls(&accounting), Some(64 * number));
    }
    accounting.pods(&batch);
    assert_eq!(calls(&accounting), None);
}

#[test]
fn no_call_is_made_while_nothing_could_end_it() {
    let (runtime, accounting) = accounting();
    runtime.pulse().suspend(true);
    for answer in accounting.pods(&objects([("a", 1), ("a", 2)])) {
        assert_eq!(answer.unwrap_err().kind, FaultKind::ClockStopped);
    }
    runtime.pulse().suspend(false);
    assert_eq!(accounting.pods(&objects([("a", 1)])), [Ok(whole(1))]);
}

#[test]
fn what_configure_does_decides_about_loading() {
    let runtime = Runtime::start(None).unwrap();
    let bytes = component(COMPONENT);
    let load = |args: &str| {
        let grants = AccountingGrants { args: args.to_owned(), ..grants() };
        runtime.load_accounting(&bytes, grants).unwrap_err().to_string()
    };
    assert_eq!(load("e"), "configure: bad");
    assert!(load("l").starts_with("configure: Deadline: "), "{}", load("l"));
    assert!(load("t").starts_with("configure: Trap: "), "{}", load("t"));
    assert!(load("r").contains("can only be read while `pod` or `node` runs"), "{}", load("r"));
    assert_eq!(load("y"), "the component reads the annotations x, which `annotations` does not list");
}

#[test]
fn only_what_is_granted_is_linked() {
    let runtime = Runtime::start(None).unwrap();
    let granted = |allow: &[ObjectInterface]| AccountingGrants { allow: Some(allow.to_vec()), ..grants() };
    let load = |text: &str, grants| runtime.load_accounting(&component(text), grants);
    assert!(load(COMPONENT, granted(&ObjectInterface::ALL)).is_ok());
    let refused = |text: &str, grants| load(text, grants).unwrap_err().to_string();
    assert_eq!(
        refused(COMPONENT, granted(&[ObjectInterface::Annotations])),
        "the component imports object-owners, object-requests, which `allow` does not list"
    );
    assert!(refused(COMPONENT, AccountingGrants::default()).contains("annotations k, which"));
    let predicate = r#"(component (instance $i) (export "nodesift:accounting/accounting@0.1.0" (instance $i))
        (import "nodesift:predicate/node-labels@0.2.0" (instance (export "f" (func)))))"#;
    assert!(refused(predicate, grants()).contains("offer for accounting: nodesift:predicate/node-labels@0.2.0"));
    let wasi = predicate.replace("nodesift:predicate/node-labels", "wasi:clocks/wall-clock");
    assert!(refused(&wasi, grants()).contains("offer for accounting: wasi:clocks/wall-clock@0.2.0"));
    assert!(
        refused("(component)", grants())
            .ends_with("no export nodesift:accounting/accounting@0.1.0; it exports nothing")
    );
    let other = COMPONENT.replace(r#"(case "broken" string)"#, r#"(case "odd" string)"#);
    assert_ne!(other, COMPONENT);
    assert!(refused(&other, grants()).contains("does not fit the contract nodesift:accounting 0.1.0"));
}

#[test]
fn every_patch_of_the_served_version_is_served_and_nothing_else() {
    let runtime = Runtime::start(None).unwrap();
    let of = |version: &str| {
        let text = COMPONENT.replace("@0.1.0", &format!("@{version}"));
        runtime.load_accounting(&component(&text), grants())
    };
    assert_eq!(of("0.1.7").unwrap().contract(), "0.1.7");
    for version in ["0.2.0", "1.0.0", "0.1.0-rc.1"] {
        match of(version) {
            Err(AccountingError::ContractVersion { built_for }) => assert_eq!(built_for, version),
            other => panic!("{version}: {other:?}"),
        }
    }
}
