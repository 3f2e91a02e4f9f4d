import re
from importlib.resources import files

import pytest
from nodesift.world import imports_of, narrowed

OWN = files("nodesift").joinpath("predicate.wit").read_text()


def test_a_world_imports_what_is_read_and_the_interfaces_that_give_no_facts() -> None:
    imports = imports_of(OWN, ["node-labels", "pod-labels"])
    assert imports == ["pod-labels", "node-labels", "row-sets", "log"]
    for exports in (["predicate"], ["predicate", "scorer"]):
        world = narrowed(OWN, imports, exports).split("world guest {")[1].split("}")[0]
        assert re.findall("import (.*);", world) == imports
        assert re.findall("export (.*);", world) == exports


def test_an_interface_that_the_contract_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="reads: the contract has no interface node-label; it has pod-labels"):
        imports_of(OWN, ["node-label"])
