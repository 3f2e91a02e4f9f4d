"""The component: what the host calls. `python -m nodesift build` makes the module that uses this.

Modules of the world exist in a component only, so nothing else imports this module.
"""

import gc
import importlib
import sys
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

from componentize_py_types import Err
from wit_world.exports import predicate as contract

from ._host import bind, write
from ._limits import ERROR_LENGTH, PLACES, SOURCE_LENGTH
from ._predicate import Predicate
from ._sandbox import NotInSandbox, finish
from ._scorer import Failed, Scorer, Scores, Skip
from ._verdict import ByRow, Failure
from .args import ArgumentError


def component(predicate: Predicate, version: str, imports: Sequence[str], root: str) -> type:
    """The class that the component exports. `root` is the folder of the author's files."""
    # While the component is made, files can be read; in the sidecar there are none.
    sources = _sources(root)
    bind({name: _functions(name) for name in imports})

    class Component:
        _args: tuple[Any, ...] = ()
        _sources = sources

        def describe(self) -> Any:
            return contract.Descriptor(predicate.name, version, predicate.summary)

        def configure(self, args: str) -> None:
            try:
                Component._args = predicate.configure(args)
            except ArgumentError as refused:
                raise Err(str(refused)) from None
            except BaseException as raised:
                raise Err(_described(raised, sources)) from None

        def filter(self, rows: int) -> Any:
            return _called(lambda: _verdict(predicate.run(Component._args, rows)), sources)

    # What is here now lives as long as the instance: no collection has to look at it.
    gc.collect()
    gc.freeze()
    return Component


def scoring(scorer: Scorer, component: Any) -> type:
    """The class that a component of a scorer exports as well. `component` is what the function of this name has returned."""
    module = importlib.import_module("wit_world.exports.scorer")

    class Scoring:
        def normalize_by(self) -> Any:
            return module.Normalization[scorer.normalization.upper().replace("-", "_")]

        def score(self, rows: int) -> Any:
            return _called(lambda: _scores(module, scorer.score_rows(component._args, rows)), component._sources)

    return Scoring


def _called(call: Callable[[], Any], sources: dict[str, tuple[str, list[str]]]) -> Any:
    """What a call returns; where it raises, with a line in the log."""
    try:
        return call()
    except BaseException as raised:
        finish()
        if isinstance(raised, SystemExit):
            # The runtime would end the process, which says nothing.
            raised = NotInSandbox("SystemExit", "exit").with_traceback(raised.__traceback__)
        write("error", _described(raised, sources))
        # Ends the call: the runtime has no other answer to an exception.
        raise raised from None
    finally:
        finish()


def _functions(name: str) -> Any:
    module = importlib.import_module(f"wit_world.imports.{name.replace('-', '_')}")
    if name == "log":
        levels = {level.name.lower(): level for level in module.Level}
        return SimpleNamespace(write=lambda level, text: module.write(levels[level], str(text)))
    if name == "row-sets":
        return SimpleNamespace(
            all=module.all,
            and_=module.and_,
            or_=module.or_,
            not_=module.not_,
            count=module.count,
            reject=lambda rows, failure: module.reject(rows, _failure(module, failure)),
        )
    if name == "node-info":
        fields = {field.name.lower().replace("_", "-"): field for field in module.Field}
        return SimpleNamespace(
            column=lambda field: module.column(fields[field]),
            code=lambda field, text: module.code(fields[field], text),
            dictionary=lambda field: module.dictionary(fields[field]),
        )
    return module


def _failure(module: ModuleType, failure: Failure) -> Any:
    return module.Failure(module.Status[failure.status.name], list(failure.reasons))


def _verdict(verdict: ByRow | Failure | None) -> Any:
    if verdict is None:
        return contract.Verdict_FitsAll()
    if isinstance(verdict, Failure):
        return contract.Verdict_FitsNone(_failure(contract, verdict))
    failures = [_failure(contract, failure) for failure in verdict.failures]
    return contract.Verdict_ByRow(contract.Outcome(verdict.codes, failures))


def _scores(module: ModuleType, scores: Scores) -> Any:
    if isinstance(scores, Skip):
        return module.Scores_Skip()
    if isinstance(scores, Failed):
        return module.Scores_Failed(scores.reason)
    return module.Scores_ByRow(scores)


def _sources(root: str) -> dict[str, tuple[str, list[str]]]:
    """The author's files by the name that tracebacks have: the name to show, and the lines."""
    found = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file is not None and file.startswith(root + "/"):
            with open(file, encoding="utf-8") as source:
                found[file] = (file[len(root) + 1 :], source.read().splitlines())
    return found


def _described(raised: BaseException, sources: dict[str, tuple[str, list[str]]]) -> str:
    """One line about an exception: its text, then the places in the author's files, the innermost first."""
    places = []
    step = raised.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename in sources:
            file, lines = sources[code.co_filename]
            places.append((f"{file}:{step.tb_lineno} in {code.co_name}", lines[step.tb_lineno - 1 : step.tb_lineno]))
        step = step.tb_next
    places.reverse()
    message = str(raised)
    # `MemoryError` and others come without a message.
    texts = [f"{type(raised).__name__}: {message}" if message else type(raised).__name__]
    for index, (place, source) in enumerate(places[:PLACES]):
        texts.append(f"{place}: {source[0].strip()[:SOURCE_LENGTH]}" if index == 0 and source else place)
    return ", at ".join(texts)[:ERROR_LENGTH]
