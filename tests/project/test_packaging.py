"""Names, versions and files of the package, and the commands of the README."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ngdt
import ngdt._core

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_public_names_exist():
    for name in ngdt.__all__:
        assert hasattr(ngdt, name)


def test_sources_that_are_not_built_say_so(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"ngdt is not built in .* or build it there"):
        runpy.run_path(ngdt._core.__file__)


def test_version_is_the_same_everywhere():
    assert PROJECT["project"]["version"] == ngdt.__version__
    for file, line in (("CHANGELOG.md", "## {} ("), ("CITATION.cff", "version: {}\n"),
                       ("conda/meta.yaml", '{{% set version = "{}" %}}')):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"\n{line.format(ngdt.__version__)}" in text, file


def test_conda_recipe_asks_for_what_the_package_asks_for():
    recipe = (ROOT / "conda/meta.yaml").read_text(encoding="utf-8")

    def listed(section, until):
        part = recipe.partition(f"  {section}:\n")[2].partition(f"\n{until}")[0]
        return set(re.findall(r"- (\S+) (\S+)", part))

    def asked(requirements):
        return {re.fullmatch(r"([\w-]+)(.*)", each.lower()).groups() for each in requirements}

    assert listed("run", "test") == asked(PROJECT["project"]["dependencies"])
    assert listed("host", "  run") == asked(PROJECT["build-system"]["requires"])
    assert f"  summary: {PROJECT['project']['description']}\n" in recipe
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=").replace(".", "")
    assert f"  skip: true  # [win or py<{oldest}]\n" in recipe
    assert PROJECT["project"]["scripts"] == dict(re.findall(r"^    - (\S+) = (\S+)$", recipe, re.M))


def test_supported_pythons_and_platforms_are_those_of_the_wheels():
    page = (ROOT / "docs/install.rst").read_text(encoding="utf-8")
    workflow = (ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8")
    table = page.split("\nPlatform ")[1].partition("\n\n")[0]
    assert set(re.findall(r"tag: ([a-z]+)", workflow)) == set(re.findall("``([a-z]+)", table))
    pythons = re.findall(r"cp3(\d+)\b", re.search(r"python: \[(.*)\]", workflow)[1])
    assert f"CPython 3.{pythons[0]} to 3.{pythons[-1]} and" in page
    assert [f"Programming Language :: Python :: 3.{each}" for each in pythons] == [
        each for each in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", each)]


@pytest.mark.parametrize(
    "command",
    [
        'python -m pip install ".[plot,cli]" && ngdt demo',
        'python -m pip install -e ".[test]" && python -m pytest',
        'python -m pip install ".[docs]" && sphinx-build docs docs/_build/html',
    ],
)
def test_readme_has_the_commands(command):
    # .ci/run takes them from there, as the lines that match.
    assert re.findall(f"^{re.escape(command)}$", README, flags=re.MULTILINE) == [command]


def test_readme_is_read_to_its_end():
    lines = README.splitlines()
    assert len(lines) <= 150
    assert sum(line.startswith("python -m pip install") for line in lines[:40]) == 2


def test_links_of_the_readme_are_absolute_and_lead_somewhere():
    # Relative links would be dead on PyPI. Where absolute ones lead has to exist here.
    links = re.findall(r"\]\(([^)#]+)\)", README) + re.findall(r'src="([^"]+)"', README)
    assert [link for link in links if not link.startswith("https://")] == []
    text = "\n".join(links)
    files = re.findall(r"https://github\.com/ngdt/ngdt/(?:blob|tree)/main/(.+)", text)
    pictures = re.findall(r"https://raw\.githubusercontent\.com/ngdt/ngdt/main/(.+)", text)
    pages = re.findall(r"https://ngdt\.readthedocs\.io/en/latest/(.+)\.html", text)
    assert files
    assert pages
    assert pictures
    targets = files + pictures + [f"docs/{page}.rst" for page in pages]
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_a_source_folder_that_is_not_built_says_so(tmp_path):
    # Where a newcomer starts Python after the first commands of the README.
    shutil.copytree(ROOT / "ngdt", tmp_path / "ngdt", ignore=shutil.ignore_patterns(
        "*.so", "*.pyd", "__pycache__"))
    done = subprocess.run([sys.executable, "-c", "import ngdt"], cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True)
    *_, last = done.stderr.splitlines()
    assert last == (
        f"ImportError: ngdt is not built in {tmp_path}: start Python in another folder, or "
        "build it there by python -m pip install -e .")


def test_typed_modules_have_their_stubs():
    assert (ROOT / "ngdt/py.typed").exists()
    for module in ("_core/tree", "_core/loss"):
        assert (ROOT / f"ngdt/{module}.pyi").exists()


def test_the_papers_equations_keep_their_numbers():
    # Sphinx numbers equations as they come, and the page promises the paper's numbers for 1 to 14.
    text = (ROOT / "docs/theory/bound.rst").read_text(encoding="utf-8")
    labels = re.findall(r":label: (\S+)", text)
    assert labels[:14] == [f"eq-{number}" for number in range(1, 15)]
    assert len(set(labels)) == len(labels)
    text = (ROOT / "docs/theory/tao.rst").read_text(encoding="utf-8")
    labels = re.findall(r":label: (\S+)", text)
    assert labels[:4] == [f"tao-{number}" for number in range(1, 5)]


def test_code_cites_equations_that_exist():
    cited = set()
    for path in (ROOT / "ngdt").rglob("*.py*"):
        if path.suffix in (".py", ".pyx", ".pxd"):
            text = path.read_text(encoding="utf-8")
            cited |= {int(number) for number in re.findall(r"eqs?\. \((\d+)\)", text)}
    assert {7, 13} <= cited
    assert cited <= set(range(1, 15))
