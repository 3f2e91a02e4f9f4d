//! Commands that are those of `nodesift-dev` now: whoever types one is told so, in one line.

use crate::new_workshop;

const USAGE: i32 = 64;

#[test]
fn a_command_that_has_moved_is_told_by_one_line() {
    let workshop = new_workshop();
    for (arguments, now) in [
        (&["module", "test", "--watch"][..], "`nodesift-dev module`"),
        (&["module", "--help"], "`nodesift-dev module`"),
        (&["bench", "--quick"], "`nodesift-dev bench`"),
        (&["cluster", "synth", "--out", "-"], "`nodesift-dev cluster`"),
        (&["explain", "--cluster", "cluster.json", "--record", "cases.yaml"], "`nodesift-dev explain --record`"),
    ] {
        let text = workshop.failure(USAGE, arguments);
        assert!(text.contains(now) && text.lines().count() == 1, "{arguments:?}: {text}");
    }
    assert!(workshop.answer(&["--help"]).contains("nodesift-dev"));
}
