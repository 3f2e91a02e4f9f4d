//! The zone and region labels of volumes and nodes, and the requirements that the labels of a volume make.

/// The keys of the zone and region labels, the beta ones first.
pub(crate) const LABELS: [&str; 4] = [BETA_ZONE, BETA_REGION, ZONE, REGION];

const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";

/// The separator between the zones of a volume that is in several zones.
const DELIMITER: &str = "__";

/// A requirement of a volume on nodes: the value of the label is one of these.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    pub(crate) key: &'static str,
    pub(crate) values: Vec<String>,
}

/// The requirements of a volume with these labels. A label with an empty zone is ignored.
pub(crate) fn requirements(labels: &[(String, String)]) -> Vec<Requirement> {
    let requirement = |key: &'static str| {
        let (_, value) = labels.iter().find(|(known, _)| known == key)?;
        let values: Vec<String> = value.split(DELIMITER).map(|part| part.trim().to_owned()).collect();
        values.iter().all(|value| !value.is_empty()).then_some(Requirement { key, values })
    };
    LABELS.into_iter().filter_map(requirement).collect()
}

/// The stable key that replaces a beta key; any other key unchanged.
pub(crate) fn stable_key(key: &str) -> &str {
    match key {
        BETA_ZONE => ZONE,
        BETA_REGION => REGION,
        other => other,
    }
}
