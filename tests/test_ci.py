"""The checks on a clean machine: the workflow calls what .ci/run calls, and nothing that is not there."""

import re
from typing import Any

import pytest
import yaml

from harness.base.files import ROOT
from harness.base.layout import Layout

WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"


@pytest.fixture(scope="module")
def steps() -> list[dict[str, Any]]:
    (job,) = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"].values()
    return job["steps"]


def made(script: str) -> set[str]:
    """The targets that the lines of a script make; every other line must be known as harmless."""
    lines = [line for line in script.splitlines() if line.strip() and not line.startswith("#")]
    called = [line for line in lines if line.split()[0] == "make"]
    assert set(lines) - set(called) <= {"set -euo pipefail", 'cd "$(dirname "$0")/.."'}, lines
    return {word for line in called for word in line.split()[1:]}


def test_the_workflow_makes_targets_that_exist_and_all_that_the_submission_makes(steps):
    phony = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    called = set.union(*(made(step["run"]) for step in steps if "run" in step))
    assert called <= set(phony[1].split())
    assert called == made((ROOT / ".ci" / "run").read_text(encoding="utf-8"))


def test_the_report_is_kept_whatever_fails(steps):
    last = steps[-1]
    assert last["uses"].startswith("actions/upload-artifact@") and last["if"] == "always()"
    assert ROOT / last["with"]["path"] == Layout("smoke").report


def test_python_and_its_packages(steps):
    (python,) = [step["with"] for step in steps if "setup-python" in step.get("uses", "")]
    assert python["python-version"] == "3.11" and python["cache"] == "pip"
    assert (ROOT / python["cache-dependency-path"]).is_file()


def test_the_workflow_knows_no_host_and_no_secret():
    text = WORKFLOW.read_text(encoding="utf-8")
    assert "://" not in text and "secrets" not in text
