//! The expected answer of a scorer: text → scores of nodes, that it skips the pod, or that the pod cannot be scored. Start at [`wanted`].

use std::collections::{BTreeMap, BTreeSet};

use nodesift_policy::tree::{At, Fields, Reader, Tree};
use nodesift_sandbox::wire::scoring::NO_SCORE;

use super::expected::{WantedScore, WantedScores, unknown};

/// The fields of a case that say so; it has one of them at most.
pub(super) const FIELDS: [&str; 3] = ["scores", "skipped", "error"];

/// The fields of one node's score.
const SCORE: &[&str] = &["raw", "normalized"];

/// The raw score of a node that has none.
const NONE: &str = "none";

/// The best normalized score.
const BEST: i64 = 100;

/// The expected answer of a scorer; `None` where that is nothing, or cannot be read. `nodes` are those of the case.
pub(super) fn wanted(reader: &mut Reader, fields: &Fields<'_>, nodes: &[String]) -> Option<WantedScores> {
    let said: Vec<&str> = FIELDS.into_iter().filter(|name| fields.get(name).0.is_some()).collect();
    if let [first, second, ..] = said.as_slice()
        && let (Some(at), path) = fields.get(second)
    {
        reader.refuse(
            at,
            &path,
            format!("beside {first}: a scorer gives scores, skips the pod, or fails: give one of them"),
        );
        return None;
    }
    match *said.first()? {
        "scores" => scores(reader, fields.get("scores"), nodes).map(WantedScores::Nodes),
        "skipped" => {
            let skipped = reader.flag(fields.get("skipped"))?;
            if !skipped.value {
                reader.refuse(
                    &skipped,
                    &fields.get("skipped").1,
                    "expected true; of a pod that is scored, give scores",
                );
            }
            Some(WantedScores::Skipped)
        }
        _ => reader.text(fields.get("error")).map(|text| WantedScores::Error(text.value)),
    }
}

fn scores(
    reader: &mut Reader,
    field: (Option<&At<Tree>>, String),
    nodes: &[String],
) -> Option<BTreeMap<String, WantedScore>> {
    let (at, path) = (field.0?, field.1.clone());
    let entries = reader.entries(field)?;
    if entries.value.is_empty() {
        reader.refuse(at, &path, "empty; name nodes with their scores");
    }
    let mut wanted = BTreeMap::new();
    for (name, (value, path)) in entries.value {
        if !nodes.contains(&name.value) {
            reader.refuse(name, &path, unknown(&name.value, nodes));
            continue;
        }
        let score = value.and_then(|value| score(reader, value, &path));
        wanted.extend(score.map(|score| (name.value.clone(), score)));
    }
    Some(wanted)
}

/// The score of one node: a number from 0 to 100, or a map with what the module returns.
fn score(reader: &mut Reader, at: &At<Tree>, path: &str) -> Option<WantedScore> {
    if !matches!(at.value, Tree::Map(_)) {
        return Some(WantedScore { raw: None, normalized: Some(normalized(reader, at, path)?) });
    }
    let fields = reader.fields(at, path, SCORE)?;
    let raw = match fields.get("raw") {
        (None, _) => None,
        (Some(raw), path) => Some(self::raw(reader, raw, &path)?),
    };
    let normalized = match fields.get("normalized") {
        (None, _) => None,
        (Some(score), path) => Some(normalized(reader, score, &path)?),
    };
    if matches!(&at.value, Tree::Map(entries) if entries.is_empty()) {
        reader.refuse(at, path, "empty; give raw, normalized, or both");
    }
    Some(WantedScore { raw, normalized })
}

fn raw(reader: &mut Reader, at: &At<Tree>, path: &str) -> Option<i64> {
    let raw = match &at.value {
        Tree::Text(text) if text == NONE => Some(NO_SCORE),
        Tree::Number(number) => number.as_i64(),
        _ => None,
    };
    if raw.is_none() {
        reader.refuse(at, path, "expected a whole number, or none for a node without a score");
    }
    raw
}

fn normalized(reader: &mut Reader, at: &At<Tree>, path: &str) -> Option<i64> {
    let number = if let Tree::Number(number) = &at.value { number.as_i64() } else { None };
    let score = number.filter(|score| (0..=BEST).contains(score));
    if score.is_none() {
        let reason = "expected a score from 0 to 100; what the module returns before that is raw: {raw: 7}";
        reader.refuse(at, path, reason);
    }
    score
}

/// The nodes on which the pod fits by all other predicates; `None` where the case does not say.
pub(super) fn candidates(reader: &mut Reader, fields: &Fields<'_>, nodes: &[String]) -> Option<BTreeSet<String>> {
    let (at, path) = fields.get("candidates");
    at?;
    let mut candidates = BTreeSet::new();
    for name in reader.texts((at, path.clone()))?.value.into_iter().flatten() {
        if !nodes.contains(&name.value) {
            reader.refuse(&name, &path, unknown(&name.value, nodes));
        }
        candidates.insert(name.value);
    }
    Some(candidates)
}
