//! Answers of external parties as facts: which verdicts cease to be valid where an answer changes, and which do not.

use nodesift_negotiation::{Subject, Suitability};

use super::*;

impl World {
    /// The party says of node n1 that it does not suit the pod of this UID.
    fn refuse_for(&mut self, pod: &str) {
        let said = [("n1".into(), Suitability::Unsuitable("full".into()))];
        assert!(self.writer.set_party_answers(&"lab".into(), &Subject::Pod(pod.into()), &said));
    }
}

pub(super) fn case() -> (&'static str, Ask, Change) {
    case!("node-parties.unsuitable", |facts| facts.unsuitable(), |world| world.refuse_for("p"))
}

#[test]
fn labels_of_nodes_and_of_the_pod_decide_what_a_party_decides_about() {
    let ask: Ask = |facts| format!("{:?}", facts.unsuitable());
    let changes: [Change; 2] = [
        |world| {
            let mut node = node("n1");
            node["metadata"]["labels"]["zone"] = json!("b");
            world.apply(node);
        },
        |world| world.pod["metadata"]["labels"]["color"] = json!("red"),
    ];
    for (change, pointwise) in changes.into_iter().flat_map(|change| [(change, true), (change, false)]) {
        let mut world = World::new();
        let (_, tree, before) = cached(&world.context(), pointwise, ask);
        change(&mut world);
        let after = world.context();
        assert_ne!(ask(&*after), before);
        assert!(!is_valid(&tree, &after, pointwise), "pointwise {pointwise}");
    }
}

#[test]
fn for_a_pod_about_which_no_party_decides_nothing_that_they_say_is_read() {
    let ask: Ask = |facts| format!("{:?}", facts.unsuitable());
    for pointwise in [true, false] {
        let mut world = World::new();
        world.pod["metadata"]["labels"]["color"] = json!("red");
        let (_, tree, answer) = cached(&world.context(), pointwise, ask);
        assert_eq!(answer, "[]");
        world.refuse_for("p");
        assert!(is_valid(&tree, &world.context(), pointwise), "pointwise {pointwise}");
    }
}

#[test]
fn what_is_said_about_another_subject_changes_no_value() {
    let ask: Ask = |facts| format!("{:?}", facts.unsuitable());
    let mut world = World::new();
    let (_, tree, answer) = cached(&world.context(), false, ask);
    world.refuse_for("other");
    let after = world.context();
    assert_eq!(ask(&*after), answer);
    assert!(is_valid(&tree, &after, false));
}
