//! The labels that say where a volume and a node are, and what a volume asks by them.

/// The labels that count, the older ones first.
pub(crate) const LABELS: [&str; 4] = [BETA_ZONE, BETA_REGION, ZONE, REGION];

const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";

/// What joins the zones of a volume that is in several.
const DELIMITER: &str = "__";

/// What a volume asks of nodes: the value of a label is one of these.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    pub(crate) key: &'static str,
    pub(crate) values: Vec<String>,
}

/// What a volume with these labels asks. A label with an empty part says nothing.
pub(crate) fn requirements(labels: &[(String, String)]) -> Vec<Requirement> {
    let requirement = |key: &'static str| {
        let (_, value) = labels.iter().find(|(known, _)| known == key)?;
        let values: Vec<String> = value.split(DELIMITER).map(|part| part.trim().to_owned()).collect();
        values.iter().all(|value| !value.is_empty()).then_some(Requirement { key, values })
    };
    LABELS.into_iter().filter_map(requirement).collect()
}

/// The label that has replaced another.
pub(crate) fn newer(key: &str) -> &str {
    match key {
        BETA_ZONE => ZONE,
        BETA_REGION => REGION,
        other => other,
    }
}
