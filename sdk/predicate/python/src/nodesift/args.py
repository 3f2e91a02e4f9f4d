"""The arguments that a policy gives, as a dataclass. A field of another name is refused.

A field can be str, int, float, bool, a Literal, an Enum of texts, list[T], dict[str, T], T | None or a dataclass. A field
without a default is required, and null stands for the default. Further checks are those of `__post_init__`: raise a ValueError
whose text begins with the path of the argument.
"""

import dataclasses
import json
import types
import typing
from collections.abc import Callable
from enum import Enum
from typing import Any


class ArgumentError(ValueError):
    """An argument that is refused. The text begins with its path."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)


Check = Callable[[Any, str], Any]
"""A function of a value and its path that returns the argument, or raises `ArgumentError`."""

_SHOWN = 40


def _wrong(path: str, expected: str, value: Any) -> ArgumentError:
    shown = json.dumps(value)
    return ArgumentError(path, f"expected {expected}, not {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'}")


def parser(cls: type) -> Callable[[str], Any]:
    """A function that reads these arguments from the JSON text that a policy gives."""
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"args must be a dataclass, not {cls!r}")
    check = _object(cls)

    def parse(text: str) -> Any:
        try:
            value = json.loads(text)
        except ValueError as cause:
            raise ArgumentError("", f"the arguments are not JSON: {cause}") from None
        return check(value, "")

    return parse


def no_arguments(text: str) -> None:
    """Refuses every argument."""
    if json.loads(text) != {}:
        raise ArgumentError("", "the predicate takes no arguments")


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _object(cls: type) -> Check:
    hints = typing.get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    checks = {name: _check(hints[name]) for name in fields}
    missing = dataclasses.MISSING
    required = [n for n, f in fields.items() if f.default is missing and f.default_factory is missing]

    def check(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(path, "an object", value)
        for key in value:
            if key not in checks:
                expected = f"expected {', '.join(f'`{name}`' for name in checks)}" if checks else "there are no fields"
                raise ArgumentError(_at(path, key), f"unknown field `{key}`, {expected}")
        given = {key: checks[key](item, _at(path, key)) for key, item in value.items() if item is not None}
        for name in required:
            if name not in given:
                raise ArgumentError(_at(path, name), "missing")
        try:
            return cls(**given)
        except ValueError as refused:
            raise refused if isinstance(refused, ArgumentError) else ArgumentError(path, str(refused)) from None

    return check


def _check(of: Any) -> Check:
    origin, parts = typing.get_origin(of), typing.get_args(of)
    if dataclasses.is_dataclass(of) and isinstance(of, type):
        return _object(of)
    if of in _SCALARS:
        return _scalar(of)
    if origin is typing.Literal:
        return _one_of({value: value for value in parts})
    if isinstance(of, type) and issubclass(of, Enum):
        return _one_of({member.value: member for member in of})
    if origin in (typing.Union, types.UnionType) and len(parts) == 2 and type(None) in parts:
        # Null is the default, which the object has handled.
        return _check(next(part for part in parts if part is not type(None)))
    if origin is list:
        return _list(_check(parts[0]))
    if origin is dict and parts[0] is str:
        return _dict(_check(parts[1]))
    raise TypeError(f"an argument cannot be {of!r}: see nodesift.args")


_SCALARS = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}


def _scalar(of: type) -> Check:
    expected = _SCALARS[of]
    accepted = (int, float) if of is float else of

    def check(value: Any, path: str) -> Any:
        if not isinstance(value, accepted) or (isinstance(value, bool) and of is not bool):
            raise _wrong(path, expected, value)
        return value

    return check


def _one_of(values: dict[Any, Any]) -> Check:
    expected = f"one of {', '.join(json.dumps(value) for value in values)}"

    def check(value: Any, path: str) -> Any:
        # A list or an object is no key, and True equals 1.
        found = [made for known, made in values.items() if type(known) is type(value) and known == value]
        if not found:
            raise _wrong(path, expected, value)
        return found[0]

    return check


def _list(of: Check) -> Check:
    def check(value: Any, path: str) -> Any:
        if not isinstance(value, list):
            raise _wrong(path, "a list", value)
        return [of(item, f"{path}[{index}]") for index, item in enumerate(value)]

    return check


def _dict(of: Check) -> Check:
    def check(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(path, "an object", value)
        return {key: of(item, _at(path, key)) for key, item in value.items()}

    return check
