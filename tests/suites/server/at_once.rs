//! Answers from cached verdicts are computed without an evaluation slot. They equal evaluated ones.

use nodesift_proto::v1::{Bitmaps, Detail, FilterRequest, Pod, PodAnswer};
use nodesift_tests::http::get;
use nodesift_tests::sidecar::Sidecar;

use crate::agreement::{grpc, named};
use crate::running::{in_time, pending_pods, sample};

/// Up to this many pods are answered without a slot if all verdicts are cached; larger requests take a slot.
const FEW: usize = 8;

fn ask(sidecar: &Sidecar, pods: Vec<Pod>) -> Vec<PodAnswer> {
    let bitmaps = Some(Bitmaps::default());
    let request = FilterRequest { pods, detail: Detail::Nodes.into(), bitmaps, ..FilterRequest::default() };
    grpc(&sidecar.unix(), |mut client| async move { client.filter(request).await.unwrap().into_inner().pods })
}

/// The value of the counter of verdicts from this source.
fn verdicts(sidecar: &Sidecar, from: &str) -> u64 {
    let metrics = get(&sidecar.tcp(), "/metrics").unwrap().body;
    let name = format!("nodesift_verdicts_total{{from=\"{from}\"}} ");
    let value = metrics.lines().find_map(|line| line.strip_prefix(&name));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name}in\n{metrics}"))
}

#[test]
fn few_pods_are_answered_from_what_is_kept_as_many_were() {
    let sidecar = sample(&[]);
    let pods = named(&pending_pods());
    let mut evaluated = Vec::new();
    in_time(|| {
        evaluated = ask(&sidecar, pods.clone());
        format!("{evaluated:?}")
    });
    let (cached_before, evaluated_before) = (verdicts(&sidecar, "kept"), verdicts(&sidecar, "evaluated"));
    let at_once: Vec<PodAnswer> = pods.chunks(FEW).flat_map(|few| ask(&sidecar, few.to_vec())).collect();
    assert_eq!(at_once, evaluated);
    assert_eq!(verdicts(&sidecar, "evaluated"), evaluated_before, "nothing is evaluated again");
    assert_eq!(
        verdicts(&sidecar, "kept"),
        cached_before + 14 * pods.len() as u64,
        "each of fourteen predicates for each pod"
    );
}
