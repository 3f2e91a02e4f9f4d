//! Two answers about one pod compared: as it is, and with edits. Start at [`changes`].

use nodesift_proto::v1;

use super::amount::grouped;
use super::lines::{Lines, safe};
use super::screen::{View, line};

/// Tells the changes that edits make: nodes that fit, cause, and the counts of predicates that reject other nodes than before.
pub(crate) fn changes(before: &v1::WhyResponse, after: &v1::WhyResponse, edits: &[String], view: View<'_>) -> String {
    let mut lines = Lines::new(view.width);
    lines.add_painted("as it is     ", &line(before, view.now), &|line| view.paint.bold(line));
    lines.add_painted("with edits   ", &line(after, view.now), &|line| view.paint.bold(line));
    for edit in edits {
        lines.add("  --try      ", &safe(edit));
    }
    let gained = i64::from(after.feasible_count) - i64::from(before.feasible_count);
    let fit = format!("{} → {} ({})", grouped(before.feasible_count), grouped(after.feasible_count), signed(gained));
    let paint = |line: &str| if gained > 0 { view.paint.good(line) } else { line.to_owned() };
    lines.add_painted("nodes fit    ", &fit, &paint);
    if before.nodes != after.nodes {
        lines.add("nodes        ", &format!("{} → {}", grouped(before.nodes), grouped(after.nodes)));
    }
    for (before, after) in before.alone.iter().zip(&after.alone) {
        // Both answers are by one policy, unless it changed between them.
        if before.predicate == after.predicate && before.rejects != after.rejects {
            let text =
                format!("{} rejects {} → {}", safe(&before.predicate), grouped(before.rejects), grouped(after.rejects));
            lines.add("             ", &text);
        }
    }
    if before.version.as_ref().map(|version| version.policy_generation)
        != after.version.as_ref().map(|version| version.policy_generation)
    {
        lines.add("             ", "the policy changed between the two: ask again");
    }
    if generation(before) != generation(after) {
        let (from, to) = (generation(before), generation(after));
        lines.add("             ", &format!("the cluster changed between the two (generation {from} → {to})"));
    }
    lines.finish()
}

/// Generation of the snapshot that an answer is about.
pub(crate) fn generation(answer: &v1::WhyResponse) -> u64 {
    answer.version.as_ref().map_or(0, |version| version.generation)
}

fn signed(number: i64) -> String {
    if number > 0 { format!("+{}", grouped(number)) } else { grouped(number) }
}
