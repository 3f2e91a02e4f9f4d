//! The command `nodesift-dev module inspect`.

use nodesift_tests::data;
use nodesift_tests::guest::Guest;
use serde_json::{Value, json};

use crate::new_workshop;

const DATA: i32 = 65;
const NO_INPUT: i32 = 66;

#[test]
fn a_module_is_told_by_what_it_can_read_and_what_it_needs() {
    let workshop = new_workshop();
    let example = nodesift_bundle_examples::EXAMPLES.iter().find(|example| example.name == "TeamIsolation").unwrap();
    workshop.write("team.wasm", example.bytes);
    let document: Value =
        serde_json::from_str(&workshop.answer(&["module", "inspect", "team.wasm", "-o", "json"])).unwrap();
    assert_eq!(document["digest"], json!(data::digest(example.bytes)));
    assert_eq!(document["sizeBytes"], json!(example.bytes.len()));
    assert_eq!(document["name"], "TeamIsolation");
    assert_eq!(document["clusterWide"], json!(false));
    let interfaces: Vec<&str> =
        document["imports"].as_array().unwrap().iter().map(|import| import["interface"].as_str().unwrap()).collect();
    assert_eq!(interfaces, ["pod-labels", "node-labels", "log"]);
    let producers: Vec<&str> =
        document["producers"].as_array().unwrap().iter().map(|producer| producer.as_str().unwrap()).collect();
    assert!(producers.iter().any(|producer| producer.starts_with("wit-component")), "{producers:?}");
    let memory = document["memoryBytes"].as_u64().unwrap();
    assert!(memory >= 65_536 && memory.is_multiple_of(65_536), "{memory}");
    let text = workshop.answer(&["module", "inspect", "team.wasm"]);
    for expected in [
        "TeamIsolation",
        "sha256:",
        "allow      [pod-labels, node-labels]",
        "The pod's namespace and labels",
        "node by node",
        "made with",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {text}");
    }
    // Of a built-in that reads the whole cluster.
    let builtin = nodesift_bundle::BUILTINS.iter().find(|builtin| builtin.name == "InterPodAffinity").unwrap();
    workshop.write("affinity.wasm", builtin.bytes);
    let text = workshop.answer(&["module", "inspect", "affinity.wasm"]);
    assert!(
        text.contains("over all nodes at once") && text.contains("cluster-affinity") && text.contains("SIMD"),
        "{text}"
    );
}

/// `configure` and `filter` of an inspected module do not run, and memory beyond what a policy grants by default is told.
#[test]
fn nothing_of_a_module_runs_but_its_description() {
    let workshop = new_workshop();
    let deadly = "(loop $forever (br $forever)) (unreachable)";
    let guest = Guest::healthy().configure(deadly).filter(deadly).memory(r#"(memory (export "memory") 512)"#);
    workshop.write("own.wasm", guest.component());
    let text = workshop.answer(&["module", "inspect", "own.wasm"]);
    assert!(text.contains("32768 KiB: more than the 16 MiB without limits.memory"), "{text}");
}

#[test]
fn a_hostile_module_is_refused_with_the_limit_that_it_exceeds() {
    let workshop = new_workshop();
    let component = Guest::healthy().component();
    // In the middle of its last section: what ends between two sections is a component, with less in it.
    let truncated = &component[..component.len() - 1];
    for (what, bytes, named) in [
        (
            "an endless description",
            Guest::healthy().describe("(loop $forever (br $forever)) (unreachable)").component(),
            "describe: Deadline",
        ),
        ("a trap", Guest::healthy().describe("(unreachable)").component(), "describe: "),
        ("300 MiB", Guest::healthy().memory(r#"(memory (export "memory") 4800)"#).component(), "instantiate"),
        ("a truncated file", truncated.to_vec(), "does not compile"),
        ("an empty file", Vec::new(), "empty"),
        ("a core module", b"\0asm\x01\0\0\0".to_vec(), "core wasm module"),
        ("a text", b"hello".to_vec(), "not a WebAssembly component"),
        ("no predicate", b"\0asm\x0d\0\x01\0".to_vec(), "does not fit the contract"),
    ] {
        workshop.write("own.wasm", bytes);
        println!("{what}");
        workshop.fails_naming(DATA, &["module", "inspect", "own.wasm"], &["own.wasm", named]);
    }
    // Sparse: one byte more than a component may have.
    let large = std::fs::File::create(workshop.path("own.wasm")).unwrap();
    large.set_len(nodesift_sandbox::limits::COMPONENT_BYTES as u64 + 1).unwrap();
    workshop.fails_naming(DATA, &["module", "inspect", "own.wasm"], &["own.wasm", "more than"]);
    workshop.fails_naming(NO_INPUT, &["module", "inspect", "none.wasm"], &["none.wasm"]);
    // Names and texts of a module are printed as one line each, whatever they hold.
    let text = workshop_text("\u{1b}[2J\nforged: yes");
    assert!(!text.contains('\u{1b}') && !text.contains("\nforged"), "{text}");
}

/// Output of `module inspect` about a module with this summary.
fn workshop_text(summary: &str) -> String {
    let workshop = new_workshop();
    let escaped: String = summary.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let guest = Guest::healthy().definitions(format!(r#"(data (i32.const 4096) "{escaped}")"#)).describe(format!(
        "(call $text (i32.const 112) (i32.const 4096) (i32.const {0}))
         (call $text (i32.const 120) (i32.const 4096) (i32.const {0}))
         (call $text (i32.const 128) (i32.const 4096) (i32.const {0}))
         (i32.const 112)",
        summary.len()
    ));
    workshop.write("own.wasm", guest.component());
    workshop.answer(&["module", "inspect", "own.wasm"])
}
