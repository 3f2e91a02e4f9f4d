//! Random devices, and random changes of them.

use nodesift_cel::{Attribute, Device, Path};
use nodesift_fixtures::rng::Rng;

use crate::expressions::{ATTRIBUTES, CAPACITIES, DOMAINS};

/// Names in a change that makes a device large.
const MANY: usize = 30;

/// Names for random devices: those that expressions read, and more.
pub(crate) struct Vocabulary {
    drivers: Vec<String>,
    /// Domain and name of each attribute.
    attributes: Vec<(String, String)>,
    capacities: Vec<(String, String)>,
}

impl Vocabulary {
    pub(crate) fn new() -> Self {
        let pairs = |names: &[&str]| -> Vec<(String, String)> {
            DOMAINS
                .iter()
                .flat_map(|domain| names.iter().map(|name| ((*domain).to_owned(), (*name).to_owned())))
                .collect()
        };
        Self {
            drivers: ["d", "e", "x"].map(str::to_owned).to_vec(),
            attributes: pairs(&ATTRIBUTES),
            capacities: pairs(&CAPACITIES),
        }
    }

    /// With everything that these paths name.
    pub(crate) fn from_paths(paths: &[Path]) -> Self {
        let mut all = Self::new();
        for path in paths {
            match path {
                Path::Driver | Path::AllowMultipleAllocations => {}
                Path::Attribute { domain, name } => all.attributes.push((domain.clone(), name.clone())),
                Path::AttributeDomain { domain } => all.attributes.push((domain.clone(), "model".to_owned())),
                Path::Capacity { domain, name } => all.capacities.push((domain.clone(), name.clone())),
                Path::CapacityDomain { domain } => all.capacities.push((domain.clone(), "mem".to_owned())),
            }
            if let Path::Attribute { domain, .. } | Path::Capacity { domain, .. } = path {
                all.drivers.push(domain.clone());
            }
        }
        all
    }

    /// Makes a random device with names of the vocabulary.
    pub(crate) fn device(&self, rng: &mut Rng) -> Device {
        let mut device = Device {
            driver: rng.pick(&self.drivers).clone(),
            allow_multiple_allocations: rng.chance(50),
            ..Device::default()
        };
        for _ in 0..rng.between(0, 8) {
            device.attributes.push(self.attribute(rng, &device.driver));
        }
        for _ in 0..rng.between(0, 3) {
            device.capacity.push(self.capacity(rng, &device.driver));
        }
        // Most of what is read is there.
        for (domain, name) in self.attributes.iter().rev().take(2) {
            device.attributes.push((named(rng, domain, name, &device.driver), value(rng)));
        }
        device
    }

    /// The device with one to three changes, some of which change nothing that an expression could see.
    pub(crate) fn changed(&self, rng: &mut Rng, device: &Device) -> Device {
        let mut device = device.clone();
        for _ in 0..rng.between(1, 3) {
            self.change(rng, &mut device);
        }
        device
    }

    fn change(&self, rng: &mut Rng, device: &mut Device) {
        let (attributes, capacities) = (device.attributes.len(), device.capacity.len());
        match rng.below(16) {
            0..=2 if attributes > 0 => device.attributes[rng.below(attributes)].1 = value(rng),
            3..=4 if attributes > 0 => drop(device.attributes.remove(rng.below(attributes))),
            5 => device.attributes.push(self.attribute(rng, &device.driver)),
            6 => device.attributes.insert(0, self.attribute(rng, &device.driver)),
            7 => rng.shuffle(&mut device.attributes),
            8 => device.driver = rng.pick(&self.drivers).clone(),
            9 => device.allow_multiple_allocations = !device.allow_multiple_allocations,
            10 if capacities > 0 => device.capacity[rng.below(capacities)].1 = amount(rng),
            11 if capacities > 0 => drop(device.capacity.remove(rng.below(capacities))),
            12 => device.capacity.push(self.capacity(rng, &device.driver)),
            13..=14 => {
                // All of a domain.
                let of = rng.word(&DOMAINS);
                let driver = device.driver.clone();
                let stays = |name: &str| name.split_once('/').map_or(driver.as_str(), |(domain, _)| domain) != of;
                device.attributes.retain(|(name, _)| stays(name));
                device.capacity.retain(|(name, _)| stays(name));
            }
            _ => {
                // A name with its domain instead of one without, or the other way round.
                let driver = device.driver.clone();
                for (name, _) in &mut device.attributes {
                    *name = match name.split_once('/') {
                        None => format!("{driver}/{name}"),
                        Some((domain, rest)) if domain == driver => rest.to_owned(),
                        Some(_) => continue,
                    };
                }
                if rng.chance(20) {
                    device.attributes.extend((0..MANY).map(|at| (format!("d/x{at}"), Attribute::Int(1))));
                }
            }
        }
    }

    fn attribute(&self, rng: &mut Rng, driver: &str) -> (String, Attribute) {
        let (domain, name) = rng.pick(&self.attributes).clone();
        (named(rng, &domain, &name, driver), value(rng))
    }

    fn capacity(&self, rng: &mut Rng, driver: &str) -> (String, String) {
        let (domain, name) = rng.pick(&self.capacities).clone();
        (named(rng, &domain, &name, driver), amount(rng))
    }
}

fn named(rng: &mut Rng, domain: &str, name: &str, driver: &str) -> String {
    if domain == driver && rng.chance(70) { name.to_owned() } else { format!("{domain}/{name}") }
}

fn value(rng: &mut Rng) -> Attribute {
    match rng.below(100) {
        0 => Attribute::Unsupported,
        1 => Attribute::Version("v1".to_owned()),
        2..=34 => Attribute::Int([0, 1, 2][rng.below(3)]),
        35..=64 => Attribute::Bool(rng.chance(50)),
        65..=89 => Attribute::String(rng.word(&["h100", "a", "d", "a,b,c", "GPU-1", "1.2.3"]).to_owned()),
        _ => Attribute::Version(rng.word(&["1.0.0", "1.2.3", "1.2.3+build"]).to_owned()),
    }
}

fn amount(rng: &mut Rng) -> String {
    if rng.chance(1) { "none".to_owned() } else { rng.word(&["1Gi", "1024Mi", "2", "80Gi", "1500m"]).to_owned() }
}
