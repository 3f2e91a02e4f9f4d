//! Steps and time on 500 nodes of 10 devices. Steps are checked; times are printed, for a release build to be read.

use std::time::{Duration, Instant};

use nodesift_dynamic_resources::Filtered;
use nodesift_dynamic_resources::facts::{Answer, Claim, ConstraintKind, Devices, EXCLUSIVE, Request};
use nodesift_dynamic_resources::verdict::Verdict;
use nodesift_fixtures::Rng;

use crate::made::{Device, Made, claim, filter, kind, request, rows};

const NODES: usize = 500;
const DEVICES: usize = 10;

/// Runs, of which the median is printed.
const RUNS: usize = 101;

/// Nodes whose devices are in use with this chance, in percent. Devices are of two kinds and on one of so many roots.
fn nodes(rng: &mut Rng, in_use: usize, roots: usize) -> Vec<Vec<Device>> {
    let mut device = || {
        let use_of = if rng.chance(in_use) { EXCLUSIVE } else { 0 };
        (u32::from(rng.chance(50)), use_of, u32::try_from(rng.below(roots)).unwrap() + 1)
    };
    (0..NODES).map(|_| (0..DEVICES).map(|_| device()).collect()).collect()
}

/// Whether some root has so many free devices of the selected kind, and with one root asked for, any has.
fn fits(node: &[Device], wanted: usize, same_root: bool) -> bool {
    let free = |root: Option<u32>| {
        let is_free = |device: &&Device| device.0 == 1 && device.1 == 0 && root.is_none_or(|root| root == device.2);
        node.iter().filter(is_free).count()
    };
    if same_root { (1..).take(DEVICES).any(|root| free(Some(root)) >= wanted) } else { free(None) >= wanted }
}

fn measure(name: &str, of: &Claim, devices: &Devices) -> Filtered {
    let mut times: Vec<Duration> = Vec::new();
    let mut last = None;
    for _ in 0..RUNS {
        let made = Made::new(of.clone(), std::slice::from_ref(devices));
        let start = Instant::now();
        last = Some(filter(&made, NODES).unwrap());
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let filtered = last.unwrap();
    let effort = filtered.effort;
    println!(
        "{name:40} {:>9.1} µs, least {:>9.1} µs, {} situations, {} steps, at most {}",
        times[RUNS / 2].as_secs_f64() * 1e6,
        times[0].as_secs_f64() * 1e6,
        effort.searches,
        effort.steps,
        effort.most_steps
    );
    filtered
}

fn codes(filtered: &Filtered) -> Vec<bool> {
    match &filtered.verdict {
        Verdict::ByRow { codes, .. } => codes.iter().map(|code| *code == 0).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn five_hundred_nodes_take_few_steps() {
    let kinds = [kind(Answer::No), kind(Answer::Yes)];
    let one = claim(vec![request("r", 1)], None);
    let root = ConstraintKind::Match("resource.kubernetes.io/pcieRoot".to_owned());
    let of_four = claim(vec![request("r", 4)], Some(root.clone()));
    let four: Vec<Request> = ["a", "b", "c", "d"].iter().map(|name| request(name, 1)).collect();
    let four = claim(four, Some(root));
    let mut rng = Rng::with_seed(1);
    // Two roots of five devices each, all of them selected; on most nodes one of them is in use.
    let plain = |node: usize| {
        let device = |number: usize| {
            let use_of = if number == node % (DEVICES + 1) { EXCLUSIVE } else { 0 };
            (1, use_of, if number < DEVICES / 2 { 1 } else { 2 })
        };
        (0..DEVICES).map(device).collect()
    };
    let made: Vec<Vec<Device>> = (0..NODES).map(plain).collect();
    let filtered = measure("one request, halves", &one, &rows(&made, &kinds, 0));
    // Devices for one request are counted.
    assert!(codes(&filtered).iter().all(|fits| *fits) && filtered.effort.steps == 0, "{:?}", filtered.effort);
    let filtered = measure("four requests, halves", &four, &rows(&made, &kinds, 1));
    assert!(codes(&filtered).iter().all(|fits| *fits) && filtered.effort.most_steps <= 20, "{:?}", filtered.effort);
    for (in_use, most_of_four) in [(0, 40), (30, 40), (50, 30), (90, 5)] {
        let made = nodes(&mut rng, in_use, 2);
        let filtered = measure(&format!("one request, {in_use} % in use"), &one, &rows(&made, &kinds, 0));
        assert_eq!(codes(&filtered), made.iter().map(|node| fits(node, 1, false)).collect::<Vec<_>>());
        assert_eq!(filtered.effort.steps, 0, "{:?}", filtered.effort);

        let filtered = measure(&format!("one request for four, {in_use} % in use"), &of_four, &rows(&made, &kinds, 1));
        assert_eq!(codes(&filtered), made.iter().map(|node| fits(node, 4, true)).collect::<Vec<_>>());
        assert_eq!(filtered.effort.steps, 0, "{:?}", filtered.effort);

        let filtered = measure(&format!("four requests, {in_use} % in use"), &four, &rows(&made, &kinds, 1));
        assert_eq!(codes(&filtered), made.iter().map(|node| fits(node, 4, true)).collect::<Vec<_>>());
        assert!(filtered.effort.steps < (NODES * most_of_four) as u64, "{:?}", filtered.effort);
    }
    // As drivers see equal nodes: one situation.
    let mut same = rows(&nodes(&mut rng, 0, 2)[..1], &kinds, 1);
    same.codes = vec![0; NODES];
    assert_eq!(measure("four requests, equal nodes", &four, &same).effort.searches, 1);
}
