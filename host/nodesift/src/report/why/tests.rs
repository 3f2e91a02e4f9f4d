//! Screens, tickets and lines of answers as text, at 80 and 120 columns and without a terminal, with hostile names. Start at the golden texts.

#![allow(clippy::unwrap_used, reason = "tests")]

use nodesift_proto::v1;
use nodesift_proto::wkt::Timestamp;

use super::*;
use crate::terminal::Paint;

fn view(width: Option<usize>) -> View<'static> {
    View { width, paint: Paint::PLAIN, now: 10_000, is_wide: false, asked: "", skipped: &[] }
}

fn step(predicate: &str, before: u32, rejected: u32, reason: &str) -> v1::FunnelStep {
    let reasons = (rejected > 0).then(|| v1::ReasonCount { reason: reason.into(), nodes: rejected });
    v1::FunnelStep {
        predicate: predicate.into(),
        before,
        rejected,
        after: before - rejected,
        reasons: reasons.into_iter().collect(),
        ..Default::default()
    }
}

fn alone(predicate: &str, rejects: u32, only_reason: u32) -> v1::PredicateAlone {
    v1::PredicateAlone { predicate: predicate.into(), rejects, only_reason }
}

/// A pod that no node of 5,000 fits.
fn answer() -> v1::WhyResponse {
    let taint = |key: &str, nodes| v1::TaintEvidence {
        key: key.into(),
        value: "true".into(),
        effect: "NoSchedule".into(),
        nodes,
    };
    let cpu = v1::ResourceEvidence {
        resource: "cpu".into(),
        requested: 16_000,
        largest_free: 12_500,
        largest_free_node: "ip-10-0-3-7".into(),
        largest_allocatable: 32_000,
        ..Default::default()
    };
    let memory = v1::ResourceEvidence { resource: "memory".into(), nodes_enough: 5_000, ..Default::default() };
    let disk =
        v1::ExpressionEvidence { field: "nodeSelector".into(), expression: "disktype in (ssd)".into(), nodes: 3_732 };
    let evidence = |interface: &str, predicate: &str| v1::Evidence {
        interface: interface.into(),
        predicates: vec![predicate.into()],
        ..Default::default()
    };
    let near = |node: &str, cpu| v1::NearNode {
        node: node.into(),
        predicate: "NodeResourcesFit".into(),
        missing: vec![v1::NamedAmount { name: "cpu".into(), amount: cpu }],
        ..Default::default()
    };
    let help = |edit: &str, gained| v1::HelpfulEdit { edit: edit.into(), gained, ..Default::default() };
    v1::WhyResponse {
        version: Some(v1::Version { generation: 5_313, policy_generation: 4, ..Default::default() }),
        pod: "shop/web-0".into(),
        cause: Some(v1::PendingCause {
            name: "NoRoom".into(),
            headline: "no node of 5,000 fits; it fits once pods leave".into(),
            since: Some(Timestamp { seconds: 10_000 - 14 * 60, nanos: 0 }),
            ..Default::default()
        }),
        message: Some("0/5000 nodes are available: 72 node(s) were unschedulable, 3178 Insufficient cpu.".into()),
        nodes: 5_000,
        funnel: vec![
            step("NodeUnschedulable", 5_000, 72, "node(s) were unschedulable"),
            step("NodeName", 4_928, 0, ""),
            step("TaintToleration", 4_928, 482, "node(s) had untolerated taint(s)"),
            step("NodeAffinity", 4_446, 1_268, "node(s) didn't match Pod's node affinity/selector"),
            step("NodeResourcesFit", 3_178, 3_178, "Insufficient cpu"),
        ],
        alone: vec![
            alone("NodeUnschedulable", 72, 0),
            alone("NodeName", 0, 0),
            alone("TaintToleration", 482, 0),
            alone("NodeAffinity", 1_268, 0),
            alone("NodeResourcesFit", 5_000, 3_178),
        ],
        evidence: vec![
            v1::Evidence {
                taints: vec![taint("spot", 82), taint("gpu", 400)],
                ..evidence("taints", "TaintToleration")
            },
            v1::Evidence { expressions: vec![disk], ..evidence("labels", "NodeAffinity") },
            v1::Evidence { resources: vec![memory, cpu], ..evidence("resources", "NodeResourcesFit") },
        ],
        nearest: vec![near("ip-10-0-3-7", 3_500), near("ip-10-0-9-1", 4_000)],
        help: vec![help("cpu=12500m", 212), help("cpu=12", 0)],
        ..Default::default()
    }
}

#[test]
fn edits_that_were_not_tried_are_counted() {
    let mut answer = answer();
    for (unevaluated, text) in [(1, "1 edit was not tried"), (1_200, "1,200 edits were not tried")] {
        answer.help_unevaluated = unevaluated;
        assert!(screen(&answer, view(None)).contains(text));
        assert!(ticket(&answer, view(None)).contains(text));
    }
}

#[test]
fn without_a_terminal_each_line_stays_whole() {
    let expected = "\
shop/web-0  14 min  NoRoom: no node of 5,000 fits; it fits once pods leave
  5,000 nodes
  −   72  NodeUnschedulable  node(s) were unschedulable
  −  482  TaintToleration    gpu=true:NoSchedule 400; spot=true:NoSchedule 82
  −1,268  NodeAffinity       disktype in (ssd): matched by 3,732
  −3,178  NodeResourcesFit   wants 16 cpu; most free on one node: 12.5 (ip-10-0-3-7)
  =    0
nearest      ip-10-0-3-7 lacks 3.5 cpu · ip-10-0-9-1 lacks 4 cpu · 3,176 more have one obstacle
would help   --try cpu=12500m: +212 nodes · --try cpu=12: +0 nodes
message      0/5000 nodes are available: 72 node(s) were unschedulable, 3178 Insufficient cpu.
generation 5313, policy 4
";
    assert_eq!(screen(&answer(), view(None)), expected);
}

#[test]
fn at_80_columns_text_goes_on_below_itself() {
    let expected = "\
shop/web-0  14 min  NoRoom: no node of 5,000 fits; it fits once pods leave
  5,000 nodes
  −   72  NodeUnschedulable  node(s) were unschedulable
  −  482  TaintToleration    gpu=true:NoSchedule 400; spot=true:NoSchedule 82
  −1,268  NodeAffinity       disktype in (ssd): matched by 3,732
  −3,178  NodeResourcesFit   wants 16 cpu; most free on one node: 12.5
                             (ip-10-0-3-7)
  =    0
nearest      ip-10-0-3-7 lacks 3.5 cpu · ip-10-0-9-1 lacks 4 cpu · 3,176 more
             have one obstacle
would help   --try cpu=12500m: +212 nodes · --try cpu=12: +0 nodes
message      0/5000 nodes are available: 72 node(s) were unschedulable, 3178
             Insufficient cpu.
generation 5313, policy 4
";
    assert_eq!(screen(&answer(), view(Some(80))), expected);
}

#[test]
fn at_120_columns_it_is_as_without_a_terminal() {
    assert_eq!(screen(&answer(), view(Some(120))), screen(&answer(), view(None)));
}

#[test]
fn hostile_text_stays_within_its_place() {
    let long = "n".repeat(253);
    let hostile = "\u{1b}[2J\u{1b}]0;title\u{7}\r\n\u{202e}\u{5d0}\u{5d1} | ` $(reboot)";
    let mut answer = answer();
    answer.pod = format!("shop/{long}");
    answer.message = Some(hostile.into());
    answer.funnel[0].predicate = long.clone();
    answer.funnel[0].reasons = vec![v1::ReasonCount { reason: hostile.into(), nodes: 72 }];
    answer.nearest[0].node = long;
    answer.nearest[1].missing.clear();
    answer.nearest[1].reasons = vec![hostile.into()];
    answer.help[0].edit = hostile.into();
    answer.faults.push(v1::Fault { predicate: "P".into(), detail: hostile.into(), ..Default::default() });
    answer.groups = Some(v1::NodeGroups {
        by: hostile.into(),
        groups: vec![v1::NodeGroup { value: Some(hostile.into()), nodes: 1, ..Default::default() }],
        ..Default::default()
    });
    for width in [Some(40), Some(80), Some(120), None] {
        for is_wide in [false, true] {
            let view = View { is_wide, ..view(width) };
            let text = screen(&answer, view);
            let is_hostile = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202e}' | '\u{5d0}' | '\u{5d1}');
            assert!(!text.contains(is_hostile), "{text:?}");
            // Tables that are asked for with everything keep their own width.
            if let (Some(width), false) = (width, is_wide) {
                let longest = text.lines().map(|line| line.chars().count()).max();
                assert!(longest <= Some(width), "{longest:?} of {width}: {text}");
            }
            let ticket = ticket(&answer, view);
            assert!(!ticket.contains(is_hostile), "{ticket:?}");
        }
    }
}

#[test]
fn a_pod_that_fits_names_nodes() {
    let mut answer = answer();
    answer.feasible_count = 30;
    answer.feasible = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    let text = screen(&answer, view(None));
    assert!(text.contains("\n  =   30  a, b, c, 27 more\n"), "{text}");
}

#[test]
fn groups_have_the_rest_in_one_row() {
    let mut answer = answer();
    let group = |value: Option<&str>, nodes, rejected: &[u32]| v1::NodeGroup {
        value: value.map(str::to_owned),
        nodes,
        feasible: 0,
        rejected: rejected.to_vec(),
    };
    answer.groups = Some(v1::NodeGroups {
        by: "zone".into(),
        groups: vec![group(Some("a"), 3_000, &[72, 0, 400]), group(None, 1_000, &[])],
        rest: Some(group(None, 1_000, &[0, 0, 82])),
        rest_groups: 7,
    });
    let text = screen(&answer, view(None));
    let row = |first: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.trim_start().starts_with(first)).unwrap_or_default();
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    assert_eq!(row("a "), ["a", "3,000", "0", "NodeUnschedulable 72, TaintToleration 400"], "{text}");
    assert_eq!(row("(without)"), ["(without)", "1,000", "0"], "{text}");
    assert_eq!(row("7 more"), ["7 more", "1,000", "0", "TaintToleration 82"], "{text}");
}

#[test]
fn changes_are_counted_by_predicate() {
    let (before, mut after) = (answer(), answer());
    after.feasible_count = 212;
    after.alone[4].rejects = 4_788;
    after.cause = Some(v1::PendingCause { name: "Fits".into(), ..Default::default() });
    let text = changes(&before, &after, &["cpu=12".to_owned()], view(None));
    let expected = "\
as it is     shop/web-0  14 min  NoRoom: no node of 5,000 fits; it fits once pods leave
with edits   shop/web-0  Fits
  --try      cpu=12
nodes fit    0 → 212 (+212)
             NodeResourcesFit rejects 5,000 → 4,788
";
    assert_eq!(text, expected);
    after.version = Some(v1::Version { generation: 5_313, policy_generation: 5, ..Default::default() });
    let text = changes(&before, &after, &[], view(None));
    assert!(text.contains("the policy changed") && !text.contains("the cluster changed"), "{text}");
    after.version = Some(v1::Version { generation: 5_314, policy_generation: 4, ..Default::default() });
    let text = changes(&before, &after, &[], view(None));
    assert!(text.contains("             the cluster changed between the two (generation 5313 → 5314)\n"), "{text}");
}

#[test]
fn a_ticket_has_nothing_that_is_markup() {
    let mut answer = answer();
    answer.message = Some("`` a|b <script>".into());
    answer.funnel[0].reasons[0].reason = "a|b".into();
    let text = ticket(&answer, view(None));
    assert!(text.contains("| `NodeUnschedulable` | 72 | 4,928 | `a\\|b` |\n"), "{text}");
    assert!(text.contains("- message: ``` `` a|b <script> ```\n"), "{text}");
    assert!(text.contains("| `NodeResourcesFit` | 3,178 | 0 | `wants 16 cpu; most free"), "{text}");
}

#[test]
fn who_asked_last_is_a_line_of_its_own() {
    let text = screen(&answer(), View { asked: "1 s ago by unix uid:0\u{1b}", ..view(None) });
    assert!(text.contains("asked        1 s ago by unix uid:0\\u{1b}\n"), "{text}");
}

#[test]
fn what_was_left_out_is_repeated() {
    let skipped = ["VolumeBinding".to_owned()];
    let text = screen(&answer(), View { skipped: &skipped, ..view(None) });
    assert!(text.contains("without      VolumeBinding: not evaluated\n"), "{text}");
}

#[test]
fn facts_that_several_predicates_read_are_told_behind_those_of_the_step() {
    let mut answer = answer();
    answer.alone[0].rejects = 72;
    answer.funnel.push(step("PodTopologySpread", 4_000, 148, "node(s) didn't match pod topology spread constraints"));
    answer.alone.push(alone("PodTopologySpread", 148, 0));
    // Taints are read by three predicates, the constraint by one: its nodes all have the key.
    answer.evidence[0].predicates =
        ["NodeUnschedulable", "TaintToleration", "PodTopologySpread"].map(str::to_owned).to_vec();
    let cordoned = v1::FactEvidence { name: "unschedulable".into(), value: "true".into(), nodes: Some(72) };
    answer.evidence[0].facts.push(cordoned);
    let constraint = v1::TopologyEvidence {
        field: "topologySpreadConstraints[0]".into(),
        topology_key: "zone".into(),
        nodes: 5_000,
        domains: 3,
        matching_pods: 7,
        max_skew: 1,
    };
    answer.evidence.push(v1::Evidence {
        interface: "topology".into(),
        predicates: vec!["PodTopologySpread".into()],
        topologies: vec![constraint],
        ..Default::default()
    });
    let text = screen(&answer, view(None));
    assert!(text.contains("−  148  PodTopologySpread  topologySpreadConstraints[0]: 3 domains of zone"), "{text}");
    assert!(text.contains("−   72  NodeUnschedulable  unschedulable on 72 nodes; gpu=true:NoSchedule 400;"), "{text}");
    assert!(text.contains("TaintToleration    gpu=true:NoSchedule 400; spot=true:NoSchedule 82;"), "{text}");
}

#[test]
fn what_excludes_nodes_is_not_said_to_be_on_them() {
    for (name, value, said) in [
        (
            "persistentVolumeClaim",
            "data: bound to disk",
            "persistentVolumeClaim data: bound to disk, which excludes 72 nodes\n",
        ),
        ("nodeName", "n9", "nodeName n9 excludes 72 nodes\n"),
        ("hostPort", "TCP 80", "hostPort TCP 80 on 72 nodes\n"),
    ] {
        let mut answer = answer();
        answer.evidence.push(v1::Evidence {
            predicates: vec!["NodeUnschedulable".into()],
            facts: vec![v1::FactEvidence { name: name.into(), value: value.into(), nodes: Some(72) }],
            ..Default::default()
        });
        let text = screen(&answer, view(None));
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn nodes_with_one_reason_share_it_and_facts_of_others_take_no_place() {
    let mut answer = answer();
    let near = |node: &str| v1::NearNode { node: node.into(), reasons: vec!["no port".into()], ..Default::default() };
    answer.nearest = vec![near("a"), near("b")];
    let text = screen(&answer, view(None));
    assert!(text.contains("nearest      a, b: no port · 3,176 more have one obstacle\n"), "{text}");
    // Taints that are on more nodes than the cordons which this predicate reads beside them.
    let taint = |key: &str, nodes| v1::TaintEvidence {
        key: key.into(),
        effect: "NoSchedule".into(),
        nodes,
        ..Default::default()
    };
    let cordoned = v1::FactEvidence { name: "unschedulable".into(), value: "true".into(), nodes: Some(72) };
    answer.evidence = vec![v1::Evidence {
        predicates: vec!["NodeUnschedulable".into(), "TaintToleration".into()],
        taints: vec![taint("gpu", 400), taint("spot", 82), taint("infra", 80)],
        facts: vec![cordoned],
        ..Default::default()
    }];
    let text = screen(&answer, view(None));
    assert!(text.contains("NodeUnschedulable  unschedulable on 72 nodes\n"), "{text}");
    assert!(text.contains("TaintToleration    gpu:NoSchedule 400; spot:NoSchedule 82; "), "{text}");
}
