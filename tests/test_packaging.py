"""What is installed is what was promised: light, typed, pinned, documented."""

import ast
import inspect
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import stopwise

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
HEAVY = {"scipy", "numba", "matplotlib", "sklearn", "pandas", "joblib", "rich", "typer"}


def pins() -> dict[str, str]:
    pairs = [line.split("==") for line in CONSTRAINTS if "==" in line]
    return {canonicalize_name(name): version for name, version in pairs}


def direct_dependencies() -> list[Requirement]:
    project = PROJECT["project"]
    lines = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        lines += extra
    requirements = [Requirement(line) for line in lines]
    return [r for r in requirements if canonicalize_name(r.name) != "stopwise"]


HELP = "sys.argv = ['stopwise', '--help']\nfrom stopwise.cli import main\nmain()"


@pytest.mark.parametrize(("code", "needed"), [("import stopwise", set()), (HELP, {"typer"})])
def test_import_and_help_load_nothing_heavy(code, needed):
    at_exit = "atexit.register(lambda: print(json.dumps(list(sys.modules))))"
    process = subprocess.run(
        [sys.executable, "-c", f"import atexit, json, sys; {at_exit}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    loaded = {name.partition(".")[0] for name in json.loads(process.stdout.splitlines()[-1])}
    assert "stopwise" in loaded
    assert loaded & HEAVY <= needed


def test_types_are_shipped():
    assert files("stopwise").joinpath("py.typed").is_file()


def test_version_has_one_source():
    assert "version" in PROJECT["project"]["dynamic"]
    source = (ROOT / PROJECT["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    declared = re.findall(r'^__version__ = "(\d+\.\d+\.\d+)"$', source, flags=re.MULTILINE)
    assert declared == [stopwise.__version__]


def test_the_citation_names_this_version():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {stopwise.__version__}\n" in cited


def test_all_is_the_union_of_the_optional_features():
    extras = PROJECT["project"]["optional-dependencies"]
    (union,) = (Requirement(line) for line in extras["all"])
    assert union.name == "stopwise"
    assert union.extras == set(extras) - {"all", "dev", "slow", "bench", "docs"}


def test_constraints_are_exact_pins_and_nothing_else():
    pin = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][A-Za-z0-9.]*")
    strangers = [x for x in CONSTRAINTS if x and not x.startswith("#") and not pin.fullmatch(x)]
    assert not strangers
    assert "://" not in "\n".join(CONSTRAINTS)
    names = [x.split("==")[0] for x in CONSTRAINTS if pin.fullmatch(x)]
    assert len({canonicalize_name(name) for name in names}) == len(names)


@pytest.mark.parametrize("requirement", direct_dependencies(), ids=lambda r: r.name)
def test_direct_dependency_is_pinned_within_its_bounds(requirement):
    version = pins().get(canonicalize_name(requirement.name))
    assert version is not None
    assert requirement.specifier.contains(version)


def test_type_checkers_see_the_names_that_are_loaded_lazily():
    source = (ROOT / "src/stopwise/__init__.py").read_text(encoding="utf-8")
    (block,) = [n for n in ast.parse(source).body if isinstance(n, ast.If)]
    imported = {
        alias.name: statement.module
        for statement in block.body
        for alias in statement.names
        if alias.asname == alias.name
    }
    assert imported == {name: f"stopwise.{home}" for name, home in stopwise._HOME.items()}


@pytest.mark.parametrize("name", stopwise.__all__)
def test_public_name_resolves_and_is_documented(name):
    thing = getattr(stopwise, name)
    if not (inspect.ismodule(thing) or callable(thing)):
        return  # a constant has no docstring of its own
    text = inspect.cleandoc(thing.__doc__ or "")
    assert text
    assert not text.startswith(f"{name}("), "the docstring is the one dataclass made up"


@pytest.mark.slow
def test_what_is_built_has_what_users_and_developers_need(tmp_path):
    pytest.importorskip("build")
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", tmp_path, ROOT], check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    (source,) = tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (about,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    assert "stopwise/py.typed" in names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"stopwise"}
    assert "Description-Content-Type: text/markdown" in about
    with tarfile.open(source) as archive:
        files_of_source = {name.partition("/")[2] for name in archive.getnames()}
    git = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(git.stdout.splitlines()) - files_of_source <= {".gitignore"}
