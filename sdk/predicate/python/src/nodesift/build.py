"""Builds a predicate or a scorer into a component. Start at `main`.

pyproject.toml names the module (`[tool.nodesift] module`, by default `predicate`) and the version. componentize-py puts it into
CPython, in a world that imports what the predicate `reads` and nothing else, and exports `scorer` where it scores.
"""

import argparse
import importlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from ._predicate import Predicate
from ._scorer import Scorer
from .world import imports_of, narrowed

_HERE = Path(__file__).parent
_INSTALL = "python3 -m venv .venv && .venv/bin/pip install 'componentize-py==0.25.1'"
_ENTRY = "nodesift_component"

_BUILD_ONLY = ("build.py", "testing", "__main__.py", "world.py", "predicate.wit", "py.typed", "__pycache__")
"""Files of this package that a component does not need."""


class BuildError(Exception):
    """What the author has to mend; shown without a traceback."""


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m nodesift", description="Makes a component of a predicate.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("build", help="make a component")
    command.add_argument("folder", nargs="?", default=".", type=Path, help="the folder with pyproject.toml")
    command.add_argument("-o", "--output", type=Path, help="the component [default: predicate.wasm in the folder]")
    given = parser.parse_args(arguments)
    try:
        project = given.folder.resolve()
        output = (given.output or project / "predicate.wasm").resolve()
        predicate, version = build(project, output)
        print(f"{predicate.name} {version}: {output.stat().st_size} bytes")
        return 0
    except BuildError as failed:
        print(f"error: {failed}", file=sys.stderr)
        return 1


def build(project: Path, output: Path) -> tuple[Predicate, str]:
    """Makes a component of the predicate in a folder, and returns the predicate and its version."""
    module, version = _manifest(project)
    predicate, name, files = _definition(project, module)
    wit = (_HERE / "predicate.wit").read_text()
    try:
        imports = imports_of(wit, predicate.reads)
    except ValueError as unknown:
        raise BuildError(str(unknown)) from None
    scores = isinstance(predicate, Scorer)
    with tempfile.TemporaryDirectory(prefix="nodesift-predicate-") as scratch:
        root = Path(scratch, "app")
        for file, place in files:
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, root / place)
        sdk = Path(scratch, "sdk")
        shutil.copytree(_HERE, sdk / "nodesift", ignore=shutil.ignore_patterns(*_BUILD_ONLY))
        (sdk / f"{_ENTRY}.py").write_text(
            "from nodesift import _sandbox, guest\n\n"
            "_sandbox.enter()\n"
            f"import {module}\n\n"
            f"_ROOT = {module}.__file__.removesuffix({_place(module, files)!r}).rstrip('/')\n"
            f"Predicate = guest.component({module}.{name}, {version!r}, {imports!r}, _ROOT)\n"
            + (f"Scorer = guest.scoring({module}.{name}, Predicate)\n" if scores else "")
            + "_sandbox.close()\n"
        )
        world = Path(scratch, "predicate.wit")
        world.write_text(narrowed(wit, imports, ["predicate", "scorer"] if scores else ["predicate"]))
        _componentize(world, [root, sdk], output)
    return predicate, version


def _place(module: str, files: list[tuple[Path, Path]]) -> str:
    """Where the file of a module is below the folder of the author's files."""
    base = module.replace(".", "/")
    return next(str(place) for _, place in files if str(place) in (f"{base}.py", f"{base}/__init__.py"))


def _manifest(project: Path) -> tuple[str, str]:
    file = project / "pyproject.toml"
    try:
        manifest = tomllib.loads(file.read_text())
    except FileNotFoundError:
        raise BuildError(f"{file} is not here: the folder of a predicate has one") from None
    except tomllib.TOMLDecodeError as wrong:
        raise BuildError(f"{file}: {wrong}") from None
    module = manifest.get("tool", {}).get("nodesift", {}).get("module", "predicate")
    return module, manifest.get("project", {}).get("version", "0.0.0")


def _definition(project: Path, module: str) -> tuple[Predicate, str, list[tuple[Path, Path]]]:
    """The predicate, its name in its module, and the author's files with their places below the component's root."""
    source = project / "src" if (project / "src").is_dir() else project
    sys.path.insert(0, str(source))
    sys.dont_write_bytecode = True
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise BuildError(f"{source}: {missing}; pyproject.toml names the module: [tool.nodesift] module") from None
    found = [(name, value) for name, value in vars(loaded).items() if isinstance(value, Predicate)]
    if len(found) != 1:
        raise BuildError(f"{module} must define one predicate or scorer, not {len(found)}: use a decorator of nodesift once")
    name, predicate = found[0]
    files = []
    for other in list(sys.modules.values()):
        file = getattr(other, "__file__", None)
        if file is not None and Path(file).is_relative_to(source) and not Path(file).is_relative_to(sys.prefix):
            files.append((Path(file), Path(file).relative_to(source)))
    return predicate, name, files


def _componentize(world: Path, folders: list[Path], output: Path) -> None:
    beside = Path(sys.executable).with_name("componentize-py")
    program = str(beside) if beside.exists() else shutil.which("componentize-py")
    if program is None:
        raise BuildError(f"componentize-py is not installed; {_INSTALL}")
    paths = [part for folder in folders for part in ("-p", str(folder))]
    command = [program, "-q", "-d", str(world), "-w", "guest", "componentize", "--stub-wasi", *paths, _ENTRY, "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"componentize-py failed:\n{done.stderr.strip() or done.stdout.strip()}")
