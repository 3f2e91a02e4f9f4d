//! One answer on one screen. Start at [`screen`].

use comfy_table::{Cell, CellAlignment, ContentArrangement};
use nodesift_proto::v1;

use super::amount::{amount, grouped, nodes};
use super::details::{details, listed};
use super::lines::{Lines, safe};
use crate::terminal::{Paint, render, table};

/// Facts in a line of the funnel, nodes in that of the nearest, and edits in that of what would help.
const SHOWN: usize = 3;

/// Number of each where everything is asked for: the answer itself is bounded.
const ALL: usize = usize::MAX;

/// Columns of a predicate's name at most, so that a long one does not push the others aside.
const NAME_COLUMNS: usize = 28;

/// How a screen is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    /// Columns of the terminal; none where each line stays whole.
    pub(crate) width: Option<usize>,
    /// Colours of lines, or none.
    pub(crate) paint: Paint,
    /// Time of the answer in seconds since 1970.
    pub(crate) now: i64,
    /// Everything that the answer has.
    pub(crate) is_wide: bool,
    /// When a core last asked about the pod; empty where nobody knows.
    pub(crate) asked: &'a str,
    /// Predicates that were left out, which every answer repeats.
    pub(crate) skipped: &'a [String],
}

/// The answer about a pod: cause, funnel, what would help, and kube-scheduler's message.
pub(crate) fn screen(answer: &v1::WhyResponse, view: View<'_>) -> String {
    let shown = if view.is_wide { ALL } else { SHOWN };
    let mut lines = Lines::new(view.width);
    lines.add_painted("", &line(answer, view.now), &|line| view.paint.bold(line));
    for fault in &answer.faults {
        lines.add_painted("! ", &fault_text(fault), &|line| view.paint.bad(line));
    }
    funnel(answer, shown, view, &mut lines);
    lines.raw(&groups(answer, view));
    let near = near(answer, shown);
    for (heading, text) in [
        ("nearest", near),
        ("would help", help(&answer.help, shown)),
        ("", untried(answer)),
        ("devices", devices(&answer.devices, shown)),
        ("parties", parties(&answer.parties, shown)),
        ("account", answer.account.as_ref().map(|account| safe(&account.error)).unwrap_or_default()),
        ("unknown", unknown(&answer.unknown_nodes)),
        ("asked", safe(view.asked)),
        ("message", answer.message.as_deref().map(safe).unwrap_or_default()),
    ] {
        if !text.is_empty() {
            lines.add(&format!("{heading:<12} "), &text);
        }
    }
    if view.is_wide {
        lines.raw(&alone(answer, view.paint));
    }
    if !view.skipped.is_empty() {
        lines.add("without      ", &format!("{}: not evaluated", safe(&view.skipped.join(", "))));
    }
    lines.add_painted("", &version(answer), &|line| view.paint.dim(line));
    lines.finish()
}

/// The pod, its cause and since when it has it, in one line.
pub(crate) fn line(answer: &v1::WhyResponse, now: i64) -> String {
    let cause = answer.cause.clone().unwrap_or_default();
    let since = cause.since.as_ref().map(|since| format!("  {}", elapsed(now.saturating_sub(since.seconds))));
    let headline = if cause.headline.is_empty() { String::new() } else { format!(": {}", safe(&cause.headline)) };
    format!("{}{}  {}{headline}", safe(&answer.pod), since.unwrap_or_default(), safe(&cause.name))
}

/// A time in its largest unit; none where clocks disagree.
fn elapsed(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

fn funnel(answer: &v1::WhyResponse, shown: usize, view: View<'_>, lines: &mut Lines) {
    let steps: Vec<&v1::FunnelStep> = answer.funnel.iter().filter(|step| step.rejected > 0 || view.is_wide).collect();
    let counts = grouped(answer.nodes).len();
    let name = |step: &&v1::FunnelStep| safe(&step.predicate);
    let names = steps.iter().map(|step| name(step).chars().count().min(NAME_COLUMNS)).max().unwrap_or(0);
    lines.add("  ", &nodes(answer.nodes));
    for step in steps {
        let rejected = grouped(step.rejected);
        let heading = format!("  −{rejected:>counts$}  ");
        let why = if step.rejected > 0 { details(answer, step, shown) } else { String::new() };
        // A name that is too long has the line for itself and its text.
        match name(&step) {
            name if name.chars().count() <= names => lines.add(&format!("{heading}{name:<names$}  "), &why),
            name => lines.add(&heading, &format!("{name}  {why}")),
        }
    }
    let fit = grouped(answer.feasible_count);
    let named: Vec<String> = answer.feasible.iter().take(shown).map(|node| safe(node)).collect();
    let more = (answer.feasible_count as usize).saturating_sub(named.len());
    let more = if named.is_empty() || more == 0 { String::new() } else { format!(", {more} more") };
    let fits = format!("{}{more}", named.join(", "));
    let is_none = answer.feasible_count == 0;
    let paint = |line: &str| if is_none { view.paint.bad(line) } else { view.paint.good(line) };
    lines.add_painted(&format!("  ={fit:>counts$}  "), &fits, &paint);
}

/// The nodes with one obstacle: what each lacks.
fn near(answer: &v1::WhyResponse, shown: usize) -> String {
    let mut named: Vec<(String, String)> = Vec::new();
    for (node, what) in answer.nearest.iter().take(shown).map(near_parts) {
        match named.last_mut() {
            // Nodes that are rejected for the same reason share it.
            Some((nodes, same)) if *same == what && what.starts_with(':') => *nodes = format!("{nodes}, {node}"),
            _ => named.push((node, what)),
        }
    }
    let mut texts: Vec<String> = named.into_iter().map(|(nodes, what)| format!("{nodes}{what}")).collect();
    let all: u64 = answer.alone.iter().map(|alone| u64::from(alone.only_reason)).sum();
    let more = all.saturating_sub(answer.nearest.len().min(shown) as u64);
    if !texts.is_empty() && more > 0 {
        let verb = if more == 1 { "has" } else { "have" };
        texts.push(format!("{} more {verb} one obstacle", grouped(i64::try_from(more).unwrap_or(i64::MAX))));
    }
    texts.join(" · ")
}

pub(super) fn near_node(near: &v1::NearNode) -> String {
    let (node, what) = near_parts(near);
    format!("{node}{what}")
}

/// The name of a node with one obstacle, and what it lacks.
fn near_parts(near: &v1::NearNode) -> (String, String) {
    let node = safe(&near.node);
    if !near.missing.is_empty() {
        let missing: Vec<String> = near.missing.iter().map(|of| amount(&safe(&of.name), of.amount)).collect();
        return (node, format!(" lacks {}", missing.join(", ")));
    }
    if !near.taints.is_empty() {
        return (node, format!(" has {}", safe(&near.taints.join(", "))));
    }
    let reasons = near.reasons.join(", ");
    let reason = safe(if reasons.is_empty() { &near.predicate } else { &reasons });
    (node, format!(": {reason}"))
}

/// The edits that help, as they are typed.
pub(super) fn help(edits: &[v1::HelpfulEdit], shown: usize) -> String {
    let edit = |edit: &v1::HelpfulEdit| {
        let caveat = if edit.caveat.is_empty() { String::new() } else { format!(" ({})", safe(&edit.caveat)) };
        format!("--try {}: +{}{caveat}", safe(&edit.edit), nodes(edit.gained))
    };
    let mut texts: Vec<String> = edits.iter().take(shown).map(edit).collect();
    let more = edits.len().saturating_sub(shown);
    if more > 0 {
        texts.push(format!("{more} more with -o wide"));
    }
    texts.join(" · ")
}

/// How many edits were not tried; empty where all were.
pub(super) fn untried(answer: &v1::WhyResponse) -> String {
    match answer.help_unevaluated {
        0 => String::new(),
        1 => "1 edit was not tried".to_owned(),
        edits => format!("{} edits were not tried", grouped(edits)),
    }
}

/// For each request of the pod's claims, what there is.
fn devices(requested: &[v1::RequestedDevices], shown: usize) -> String {
    let text = |of: &v1::RequestedDevices| {
        let (claim, request) = (safe(&of.claim), safe(&of.request));
        if of.allocated {
            return format!("{claim}: allocated, on {}", nodes(of.nodes));
        }
        let wanted = if of.wanted == 0 { "all".to_owned() } else { of.wanted.to_string() };
        let held =
            if of.holders.is_empty() { String::new() } else { format!(", held by {}", safe(&of.holders.join(", "))) };
        let counts =
            format!("{} of class {}, {} selected, {} free", of.of_class, safe(&of.device_class), of.matching, of.free);
        format!("{claim} {request} wants {wanted}: {counts}{held}")
    };
    listed(&requested.iter().map(text).collect::<Vec<_>>(), shown, "; ")
}

fn parties(stances: &[v1::PartyStance], shown: usize) -> String {
    let text = |of: &v1::PartyStance| {
        let reason = if of.reason.is_empty() { String::new() } else { format!(" ({})", safe(&of.reason)) };
        format!("{} {} {}{reason}", safe(&of.party), safe(&of.said), grouped(of.nodes))
    };
    listed(&stances.iter().map(text).collect::<Vec<_>>(), shown, "; ")
}

fn unknown(nodes: &[String]) -> String {
    let nodes: Vec<String> = nodes.iter().map(|node| safe(node)).collect();
    if nodes.is_empty() { String::new() } else { format!("no such node: {}", listed(&nodes, SHOWN, ", ")) }
}

pub(super) fn fault_text(fault: &v1::Fault) -> String {
    let effect = match fault.effect.as_str() {
        "Rejected" => "it counts as rejecting every node",
        "Ignored" => "it is ignored",
        other => other,
    };
    safe(&format!("{} failed ({}: {}); {effect}", fault.predicate, fault.fault, fault.detail))
}

/// Snapshot and policy of the answer, and how old what it is about may be.
fn version(answer: &v1::WhyResponse) -> String {
    let version = answer.version.clone().unwrap_or_default();
    let stale = match (version.stale, version.staleness_ms) {
        (true, Some(ms)) => format!(", STALE: the API server has been silent for {} s", ms / 1_000),
        (true, None) => ", STALE".to_owned(),
        (false, _) => String::new(),
    };
    format!("generation {}, policy {}{stale}", version.generation, version.policy_generation)
}

/// Nodes by the values of a label, as a table.
fn groups(answer: &v1::WhyResponse, view: View<'_>) -> String {
    let Some(groups) = &answer.groups else { return String::new() };
    let by = safe(&groups.by);
    let mut rows = table(view.paint, &[by.as_str(), "nodes", "fit", "first rejected by"], &[1, 2]);
    // The screen has a width of its own, whatever terminal there is.
    match view.width.and_then(|width| u16::try_from(width).ok()) {
        Some(width) => rows.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
        None => rows.force_no_tty(),
    };
    let number = |number: u32| Cell::new(grouped(number)).set_alignment(CellAlignment::Right);
    let rest = groups.rest.iter().map(|rest| (format!("{} more", grouped(groups.rest_groups)), rest));
    let named = groups.groups.iter().map(|group| {
        let value = group.value.as_deref().map_or_else(|| "(without)".to_owned(), safe);
        (value, group)
    });
    for (value, group) in named.chain(rest) {
        let rejected = group.rejected.iter().zip(&answer.funnel).filter(|(nodes, _)| **nodes > 0);
        let by: Vec<String> =
            rejected.map(|(nodes, step)| format!("{} {}", safe(&step.predicate), grouped(*nodes))).collect();
        rows.add_row([Cell::new(value), number(group.nodes), number(group.feasible), Cell::new(by.join(", "))]);
    }
    if rows.is_empty() { String::new() } else { format!("{}\n", render(&rows)) }
}

/// Each predicate by itself, as a table.
fn alone(answer: &v1::WhyResponse, paint: Paint) -> String {
    let mut rows = table(paint, &["predicate", "rejects", "only reason"], &[1, 2]);
    rows.force_no_tty();
    let number = |number: u32| Cell::new(grouped(number)).set_alignment(CellAlignment::Right);
    for alone in answer.alone.iter().filter(|alone| alone.rejects > 0) {
        rows.add_row([Cell::new(safe(&alone.predicate)), number(alone.rejects), number(alone.only_reason)]);
    }
    if rows.is_empty() { String::new() } else { format!("{}\n", render(&rows)) }
}
