//! Predicates that read the distinct values of all nodes: a value that comes or goes concerns every row.

use nodesift_cache::{Identity, metadata};
use nodesift_tests::guest::Guest;
use nodesift_tests::machine::beside_others;
use serde_json::json;

use super::world::{NODES, World, gold_rows};

/// Lists that a guest reads to learn which rows are gold: the distinct values of all nodes, and a column of codes.
#[derive(Debug, Clone, Copy)]
enum Listed {
    Dictionary(&'static str),
    Integers(&'static str),
    Taints,
    Features,
}

impl Listed {
    const ALL: [Self; 6] = [
        Self::Dictionary("node-labels"),
        Self::Dictionary("node-annotations"),
        Self::Integers("node-labels"),
        Self::Integers("node-annotations"),
        Self::Taints,
        Self::Features,
    ];

    /// A predicate that fits every node while no value is gold, and the nodes with that value alone where one is.
    fn guest(self) -> Guest {
        let (interface, list, by_key) = match self {
            Self::Dictionary(interface) => (interface, "dictionary", true),
            Self::Integers(interface) => (interface, "integers", true),
            Self::Taints => ("node-taints", "sets", false),
            Self::Features => ("node-features", "sets", false),
        };
        // Every list has entries of eight bytes: texts and sets are an address and a length.
        let entry = "(i32.add (i32.load (i32.const 2080)) (i32.shl (local.get $j) (i32.const 3)))";
        let is_gold = match self {
            Self::Dictionary(_) => format!(
                "(if (result i32) (i32.eq (i32.load offset=4 {entry}) (i32.const 4))
                   (then (i32.eq (i32.load (i32.load {entry})) (i32.load (i32.const 2052))))
                   (else (i32.const 0)))"
            ),
            Self::Integers(_) => format!("(i64.eq (i64.load {entry}) (i64.const 77))"),
            Self::Taints | Self::Features => format!("(i32.ne (i32.load offset=4 {entry}) (i32.const 0))"),
        };
        let (parameters, key) =
            if by_key { ("(param i32 i32 i32)", "(i32.const 2048) (i32.const 4)") } else { ("(param i32)", "") };
        Guest::healthy()
            .imports(format!(
                r#"(import "nodesift:predicate/{interface}@0.2.0" "{list}" (func $list {parameters}))
                   (import "nodesift:predicate/{interface}@0.2.0" "column" (func $column {parameters}))"#
            ))
            .definitions(r#"(data (i32.const 2048) "tiergold")"#)
            .filter(format!(
                "(call $list {key} (i32.const 2080))
                 (i32.store (i32.const 2064) (i32.const 0))
                 (block $end (loop $entry
                   (br_if $end (i32.ge_u (local.get $j) (i32.load (i32.const 2084))))
                   (if {is_gold} (then
                     (i32.store (i32.const 2064) (i32.const 1))
                     (i32.store (i32.const 2068) (local.get $j))))
                   (local.set $j (i32.add (local.get $j) (i32.const 1)))
                   (br $entry)))
                 (if (i32.eqz (i32.load (i32.const 2064))) (then (return (call $fits_all))))
                 (call $column {key} (i32.const 2072))
                 {}",
                gold_rows()
            ))
    }

    fn apply(self, world: &mut World, number: usize, is_gold: bool) {
        let name = format!("n{number}");
        let tier = match (self, is_gold) {
            (_, false) => "silver",
            (Self::Integers(_), true) => "77",
            (_, true) => "gold",
        };
        let node = match self {
            Self::Dictionary("node-labels") | Self::Integers("node-labels") => return world.node(number, tier),
            Self::Dictionary(_) | Self::Integers(_) => return world.annotated_node(number, "tier", tier),
            Self::Taints => {
                let taints = if is_gold { json!([{"key": "gold", "effect": "NoSchedule"}]) } else { json!([]) };
                json!({"metadata": {"name": name}, "spec": {"taints": taints}})
            }
            Self::Features => {
                let features = if is_gold { json!(["Gold"]) } else { json!([]) };
                json!({"metadata": {"name": name}, "status": {"declaredFeatures": features}})
            }
        };
        world.writer.apply(metadata::node(&serde_json::from_value(node).unwrap()));
    }
}

#[test]
fn a_value_that_comes_into_a_list_of_all_values_or_leaves_it_changes_the_verdict_of_other_nodes() {
    let _beside = beside_others();
    for listed in Listed::ALL {
        println!("{listed:?}");
        let mut world = World::new(&listed.guest());
        (0..NODES).for_each(|number| listed.apply(&mut world, number, false));
        world.writer.publish();
        assert_eq!(world.fits().len(), NODES);
        listed.apply(&mut world, 3, true);
        world.writer.publish();
        assert_eq!(world.fits(), ["n3"]);
        // The same list, another row.
        let before = world.patched();
        listed.apply(&mut world, 5, true);
        world.writer.publish();
        assert_eq!(world.fits(), ["n3", "n5"]);
        assert_eq!(world.patched(), before + 1, "the verdict was not patched");
        listed.apply(&mut world, 3, false);
        world.writer.remove(&Identity::node("n5"));
        world.writer.publish();
        assert_eq!(world.fits().len(), NODES - 1, "no node is gold any more, and no list says so");
    }
}
