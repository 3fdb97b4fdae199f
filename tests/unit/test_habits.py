"""The workflow, the hooks and CONTRIBUTING.md run the commands of the Makefile."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def parsed(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


def recipe(target: str) -> list[str]:
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert found, f"the Makefile has no target {target}"
    return [line.strip() for line in found[1].splitlines()]


def jobs() -> dict[str, Any]:
    found: dict[str, Any] = parsed(".github/workflows/ci.yml")["jobs"]
    return found


def commands(job: str) -> list[str]:
    return [step["run"] for step in jobs()[job]["steps"] if "run" in step]


def test_the_workflow_runs_targets_of_the_makefile() -> None:
    for job in jobs():
        for command in commands(job):
            make, target, *_ = command.split()
            assert make == "make" and recipe(target)


def test_the_gate_runs_on_every_python_from_the_oldest() -> None:
    versions = jobs()["gate"]["strategy"]["matrix"]["python"]
    assert versions == ["3.11", "3.12", "3.13"]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert [command.split()[1] for command in commands("gate")] == ["check", "test"]


def test_the_whole_suite_runs_against_a_genuine_mongodb() -> None:
    job = jobs()["mongodb"]
    (service,) = job["services"].values()
    assert service["image"] == parsed("docker-compose.yml")["services"]["mongodb"]["image"]
    assert job["env"]["TEST_MONGODB_URI"] == f"mongodb://localhost:{service['ports'][0].split(':')[0]}"
    assert "TEST_MONGODB_URI" in (ROOT / "tests" / "support" / "mongo.py").read_text()
    assert commands("mongodb") == commands("gate")[1:]


def test_wheel_and_sdist_are_built_and_installed() -> None:
    assert commands("package") == ["make package"]
    build, install = recipe("package")[1:]
    assert "build_sdist('dist')" in build and "build_wheel('dist')" in build
    assert "tests/installed.sh $$built" in install


def test_the_hooks_are_the_linters_of_make_check() -> None:
    (repo,) = parsed(".pre-commit-config.yaml")["repos"]
    assert repo["repo"] == "local" and {hook["language"] for hook in repo["hooks"]} == {"system"}
    assert not any(hook["pass_filenames"] for hook in repo["hooks"])
    linters = [line.replace("$(BIN)", ".venv/bin") for line in recipe("check")]
    assert [hook["entry"] for hook in repo["hooks"]] == linters


def test_contributing_fits_on_a_page_and_names_what_there_is() -> None:
    assert len(CONTRIBUTING.splitlines()) <= 60
    for target in re.findall(r"\bmake ([a-z]+)", CONTRIBUTING):
        recipe(target)
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", CONTRIBUTING):
        assert (ROOT / target).exists(), target
    for name in re.findall(
        r"`((?:tests|benchmarks|prompts|nodes|graph|docs|\.github)/[\w./-]*)`", CONTRIBUTING
    ):
        assert (ROOT / name).exists(), name
