//! Warnings about a policy that is valid, and whose predicates will miss facts. Start at [`ActivePolicy::warnings`].

use nodesift_sandbox::Interface;

use super::ActivePolicy;

impl ActivePolicy {
    /// Facts that predicates import, of which a policy has to name those that may be read, where it names none: one sentence each, in
    /// the order of the predicates. Such a predicate finds everything absent, which no verdict shows.
    pub fn warnings(&self) -> Vec<String> {
        let settings = &self.settings;
        let named = [
            (
                Interface::PodAnnotations,
                "annotations of pods",
                "facts.annotations",
                settings.annotation_keys.is_empty(),
            ),
            (
                Interface::NodeAnnotations,
                "annotations of nodes",
                "facts.annotations",
                settings.annotation_keys.is_empty(),
            ),
            (Interface::ConfigMaps, "ConfigMaps", "facts.configMaps", settings.config_maps.is_empty()),
            (Interface::NodeParties, "answers of parties", "parties", settings.parties.is_empty()),
        ];
        let warnings = self.predicates.iter().flat_map(|predicate| {
            named
                .iter()
                .filter(|(interface, .., names_none)| *names_none && predicate.module.imports().contains(interface))
                .map(|(_, facts, field, _)| {
                    format!(
                        "{} imports {facts}, and spec.{field} names none: all of them read as absent",
                        predicate.name
                    )
                })
        });
        warnings.collect()
    }
}
