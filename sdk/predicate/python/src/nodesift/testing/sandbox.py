"""The world of a component, for the time in which a unit test runs a predicate: what the sandbox lacks raises when it is called."""

import builtins
import importlib
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any

from .._sandbox import CLOCK_UNLESS_GIVEN, FUNCTIONS, IMPORTED_BY_C, MODULES, NotInSandbox, given, output

for _name in IMPORTED_BY_C:
    importlib.import_module(_name)

_ALIASES = {"posix": "os", "nt": "os", "_io": "io"}
"""Modules under whose names C has what others show."""

_LACKS = {
    f"{owner}.{name}": lack for lack, owners in FUNCTIONS.items() for owner, names in owners.items() for name in names
}
_CHECKED = {
    id(function): given(function, position)
    for function, position in ((getattr(time, name), position) for name, position in CLOCK_UNLESS_GIVEN.items())
}
"""Functions that look at their arguments, which a profiler does not see, by the functions in whose place they are."""

_MODULES = {name: lack for lack, names in MODULES.items() for name in names}


def _called(function: Any) -> str:
    """The name of a function of C: `time.time`, `datetime.datetime.now`."""
    owner, name = getattr(function, "__self__", None), function.__name__
    if owner is None or isinstance(owner, ModuleType):
        module = getattr(function, "__module__", None) or getattr(owner, "__name__", "")
        return f"{_ALIASES.get(module, module)}.{name}"
    kind = owner if isinstance(owner, type) else type(owner)
    return f"{kind.__module__}.{kind.__qualname__}.{name}"


def _watch(frame: FrameType, event: str, function: Any) -> None:
    if event == "c_call":
        name = _called(function)
        if name in _LACKS and "importlib" in frame.f_globals.get("__name__", ""):
            raise NotInSandbox("an import", "import")
        if name in _LACKS:
            raise NotInSandbox(name, _LACKS[name])
        # `random.Random(seed)` is the same everywhere; the generator of the module is seeded by the machine.
        if name.startswith("random.Random.") and function.__self__ is vars(random)["_inst"]:
            raise NotInSandbox("random", "randomness")
    elif event == "call":
        module = frame.f_globals.get("__name__", "")
        if module in _MODULES:
            raise NotInSandbox(module, _MODULES[module])
        if module == "os" and frame.f_code.co_qualname.startswith("_Environ."):
            raise NotInSandbox("os.environ", "environment")


class _Checks:
    """Puts functions that look at their arguments in the place of others, in modules, until they are restored."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._replaced: list[tuple[dict[str, Any], str, Any]] = []

    def put_in(self, names: dict[str, Any]) -> None:
        """Replaces functions in the names of a module, the first time."""
        if id(names) in self._seen:
            return
        self._seen.add(id(names))
        for name, value in list(names.items()):
            if checked := _CHECKED.get(id(value)):
                names[name] = checked
                self._replaced.append((names, name, value))

    def restore(self) -> None:
        for names, name, value in self._replaced:
            names[name] = value


@contextmanager
def sandbox() -> Iterator[None]:
    """Runs what is inside as in a component."""
    imports, profile = builtins.__import__, sys.getprofile()

    def late_import(name: str, globals: Any = None, *others: Any, **named: Any) -> Any:
        importer = str((globals or {}).get("__name__", "")).partition(".")[0]
        if importer in sys.stdlib_module_names or importer == "nodesift" or name in IMPORTED_BY_C:
            return imports(name, globals, *others, **named)
        raise NotInSandbox(f"import {name}", "import")

    checks = _Checks()

    def watch(frame: FrameType, event: str, function: Any) -> None:
        if event == "call" and "importlib" not in frame.f_globals.get("__name__", ""):
            checks.put_in(frame.f_globals)
        _watch(frame, event, function)

    with output():
        checks.put_in(vars(time))
        builtins.__import__ = late_import
        sys.setprofile(watch)
        try:
            yield
        except SystemExit:
            raise NotInSandbox("SystemExit", "exit") from None
        finally:
            sys.setprofile(profile)
            checks.restore()
            builtins.__import__ = imports
