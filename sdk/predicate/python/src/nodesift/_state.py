"""Facts that are about neither the pod nor a node: moments that have passed, and entries of ConfigMaps."""

from ._host import facts


def passed(at: int) -> bool:
    """Whether a moment, in seconds since 1970, has passed. Reads `time`.

    No clock can be read: the answer is the same for the whole call, and a cached verdict expires at the moment.
    """
    return facts("time", "passed(…)").passed(at)


def config_entry(config_map: str, key: str) -> str | None:
    """The value of a key of a ConfigMap, `namespace/name`. Reads `config-maps`.

    None where there is no such entry, and where the policy does not list the ConfigMap in `spec.facts.configMaps`.
    """
    return facts("config-maps", "config_entry(…)").entry(config_map, key)
