//! TeamIsolation with wit-bindgen: a pod with the label runs only on nodes that have the same label with the same value.

use std::cell::RefCell;

wit_bindgen::generate!({ path: "../wit", world: "team-isolation", generate_all });

use exports::nodesift::predicate::predicate::{Descriptor, Failure, Guest, Outcome, Status, Verdict};
use nodesift::predicate::{node_labels, pod_labels};

thread_local! {
    static KEY: RefCell<String> = RefCell::new("example.com/team".into());
}

struct TeamIsolation;

impl Guest for TeamIsolation {
    fn describe() -> Descriptor {
        Descriptor {
            name: "TeamIsolation".into(),
            version: "0.1.0".into(),
            summary: "rejects nodes that belong to another team than the pod".into(),
        }
    }

    /// Takes `{}` and `{"label": "key"}`; a real predicate has a parser of JSON.
    fn configure(args: String) -> Result<(), String> {
        let inside = args.trim().strip_prefix('{').and_then(|args| args.strip_suffix('}')).ok_or("not an object")?;
        if inside.trim().is_empty() {
            return Ok(());
        }
        let (name, value) = inside.split_once(':').ok_or("not an object")?;
        let name = name.trim().trim_matches('"');
        if name != "label" {
            return Err(format!("{name}: unknown field"));
        }
        let key = value.trim().strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        match key {
            Some(key) if key.contains(['"', '\\']) => {
                Err("label: has an escape, or an unknown field comes after it".into())
            }
            Some(key) if !key.is_empty() => {
                KEY.set(key.into());
                Ok(())
            }
            _ => Err("label: must be a text that is not empty".into()),
        }
    }

    fn filter(_rows: u32) -> Verdict {
        let key = KEY.with_borrow(String::clone);
        let Some(team) = pod_labels::label(&key) else { return Verdict::FitsAll };
        // A column has a code per row, and equal texts have equal codes. No code: no node has it.
        let wanted = node_labels::code(&key, &team);
        let codes = node_labels::column(&key).iter().map(|code| u16::from(Some(*code) != wanted)).collect();
        let reasons = vec!["node(s) didn't belong to the pod's team".into()];
        let failures = vec![Failure { status: Status::UnschedulableAndUnresolvable, reasons }];
        Verdict::ByRow(Outcome { codes, failures })
    }
}

export!(TeamIsolation);
