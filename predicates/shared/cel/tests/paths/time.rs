//! A new expression over many devices: how often it is evaluated and what matches is checked; times are printed, to be read of
//! `cargo test --release -p nodesift-cel --test paths -- time --nocapture`.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use nodesift_cel::{Attribute, Device, Program, key_of};

const DEVICES: usize = 40_000;

/// Runs, of which the fastest counts; a debug build, whose times say nothing, needs one.
const RUNS: usize = if cfg!(debug_assertions) { 1 } else { 5 };

const OF_FEW: &str = "device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].model == 'h100' \
    && device.attributes['gpu.example.com'].numa < 2 \
    && device.capacity['gpu.example.com'].memory.compareTo(quantity('40Gi')) >= 0";
const OF_ALL: &str =
    "device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].uuid.startsWith('GPU-00001')";
const OF_ALL_BY_PATTERN: &str = "device.attributes['gpu.example.com'].uuid.matches('^GPU-00001')";
const WITH_ERRORS: &str = "device.attributes['gpu.example.com'].none == device.attributes['gpu.example.com'].model";
const WITHOUT_PATHS: &str = "device.attributes['gpu.example.com'].exists(k, v, k == 'numa' && v == 1)";

/// Measurements of one expression over all devices.
struct Measured {
    took: Duration,
    evaluated: usize,
    matching: usize,
}

#[test]
fn a_new_expression_over_40_000_devices() {
    let devices: Vec<Device> = (0..DEVICES).map(device).collect();
    // Once per device, whatever is asked.
    let began = Instant::now();
    let faults: Vec<Option<String>> = devices.iter().map(Device::fault).collect();
    println!("faults: {:.1} ms", millis(began.elapsed()));
    assert!(faults.iter().all(Option::is_none));
    let uuids: HashSet<String> = devices.iter().map(|device| format!("{:?}", device.attributes[0])).collect();
    assert_eq!(uuids.len(), DEVICES);
    for (name, text, evaluated, matching) in [
        ("8 tuples", OF_FEW, 8, DEVICES / 4),
        ("40,000 tuples", OF_ALL, DEVICES, 4_096),
        ("40,000 tuples, a pattern", OF_ALL_BY_PATTERN, DEVICES, 4_096),
        ("without paths", WITHOUT_PATHS, DEVICES, DEVICES / 4),
        ("2 tuples, an error each", WITH_ERRORS, 2, 0),
    ] {
        let best = (0..RUNS).map(|_| measure(text, &devices, &faults)).min_by_key(|run| run.took).unwrap();
        println!("{name}: {:.1} ms, {} evaluated, {} match", millis(best.took), best.evaluated, best.matching);
        assert_eq!(best.evaluated, evaluated, "{name}");
        assert_eq!(best.matching, matching, "{name}");
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn measure(text: &str, devices: &[Device], faults: &[Option<String>]) -> Measured {
    let began = Instant::now();
    let program = Program::compile(text).unwrap();
    let (mut matching, mut evaluated) = (0, 0);
    if let Some(paths) = program.paths() {
        let mut known = HashMap::new();
        for (device, fault) in devices.iter().zip(faults) {
            let key = key_of(&paths, device, fault.as_deref());
            let outcome = known.entry(key).or_insert_with(|| program.matches(device));
            matching += usize::from(*outcome == Ok(true));
        }
        evaluated = known.len();
    } else {
        for device in devices {
            matching += usize::from(program.matches(device) == Ok(true));
            evaluated += 1;
        }
    }
    Measured { took: began.elapsed(), evaluated, matching }
}

/// Makes a device as drivers of GPUs publish them: ten attributes, two capacities. There are two models and four NUMA nodes; each device
/// has a UUID of its own.
fn device(at: usize) -> Device {
    let text = |text: &str| Attribute::String(text.to_owned());
    let model = if at.is_multiple_of(2) { "h100" } else { "l4" };
    let memory = if at.is_multiple_of(2) { "80Gi" } else { "24Gi" };
    let attributes = vec![
        ("uuid".to_owned(), text(&format!("GPU-{at:08x}-0000-4000-8000-{:012x}", at * 7_919))),
        ("model".to_owned(), text(model)),
        ("numa".to_owned(), Attribute::Int(i64::try_from(at / 2 % 4).unwrap())),
        ("driverVersion".to_owned(), Attribute::Version("560.35.3".to_owned())),
        ("cudaComputeCapability".to_owned(), Attribute::Version("9.0.0".to_owned())),
        ("architecture".to_owned(), text("Hopper")),
        ("brand".to_owned(), text("Nvidia")),
        ("type".to_owned(), text("gpu")),
        ("index".to_owned(), Attribute::Int(i64::try_from(at % 8).unwrap())),
        ("resource.kubernetes.io/pcieRoot".to_owned(), text(&format!("pci0000:{:02x}", at % 8))),
    ];
    Device {
        driver: "gpu.example.com".to_owned(),
        allow_multiple_allocations: false,
        attributes,
        capacity: vec![("memory".to_owned(), memory.to_owned()), ("cores".to_owned(), "132".to_owned())],
    }
}
