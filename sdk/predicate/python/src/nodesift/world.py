"""The world of a module: the contract, with the imports that the module reads and nothing else, and with what it exports."""

import re
from collections.abc import Iterable

_ALWAYS = ("row-sets", "log")
"""What every predicate imports: neither gives facts."""

_WORLD = re.compile(r"^world guest \{\n.*?^\}", re.MULTILINE | re.DOTALL)


def imports_of(wit: str, reads: Iterable[str]) -> list[str]:
    """The imports of a predicate that reads these interfaces, in the order of the contract."""
    known = re.findall(r"^\s*import ([a-z-]+);", _world(wit), re.MULTILINE)
    wanted = set(reads)
    unknown = sorted(wanted.difference(known))
    if unknown:
        raise ValueError(f"reads: the contract has no interface {', '.join(unknown)}; it has {', '.join(known)}")
    return [name for name in known if name in wanted or name in _ALWAYS]


def narrowed(wit: str, imports: Iterable[str], exports: Iterable[str]) -> str:
    """The contract with a world that has these imports and exports."""
    names = [*(f"    import {name};" for name in imports), *(f"    export {name};" for name in exports)]
    lines = ["world guest {", *names, "}"]
    return wit.replace(_world(wit), "\n".join(lines))


def _world(wit: str) -> str:
    found = _WORLD.search(wit)
    if found is None:
        raise ValueError("the contract has no world `guest`")
    return found[0]
