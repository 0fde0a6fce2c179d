"""One campaign at a time; broken records are told and set aside."""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from snakemake_interface_executor_plugins.settings import ExecMode
from snakemake_interface_logger_plugins.common import LogEvent

from harness.base.errors import HarnessError
from harness.base.files import ROOT
from harness.base.layout import Layout
from harness.campaign import campaign
from harness.campaign.campaign import hold

HOLDER = """
import subprocess, sys
from pathlib import Path
from harness.campaign.campaign import hold
from harness.base.layout import Layout
hold(Layout("smoke", Path(sys.argv[1])))
child = subprocess.Popen(["sleep", "60"])  # a job of the campaign: it must not keep the lock alive
print(child.pid, flush=True)
input()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock, and has started a job."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    child = int(process.stdout.readline())
    yield process
    os.kill(child, signal.SIGKILL)
    process.kill()
    process.communicate()


def test_a_second_campaign_is_refused_and_kill_9_releases(holder, tmp_path):
    layout = Layout("smoke", tmp_path)
    with pytest.raises(
        HarnessError, match=rf"another campaign \(process {holder.pid}\) works in {layout.results}"
    ):
        hold(layout)
    hold(Layout("cpu", tmp_path))  # another scale is another folder
    holder.kill()
    holder.wait()
    hold(layout)
    assert (layout.results / ".campaign").read_text() == str(os.getpid())
    with pytest.raises(HarnessError, match=rf"process {os.getpid()}\)"):
        hold(layout)


@pytest.mark.parametrize(
    "mode, dryrun, words, held",
    [
        ("DEFAULT", False, "all", ["no event", "event"]),
        ("DEFAULT", False, "--list-rules", ["no event"]),  # what lists, draws or explains starts no workflow
        ("DEFAULT", False, "all --delete-all-output", ["parsed"]),
        ("DEFAULT", True, "all -n", []),
        ("REMOTE", False, "all", []),  # a job of a campaign that holds the lock
    ],
)
def test_only_a_workflow_that_starts_is_a_campaign(tmp_path, monkeypatch, mode, dryrun, words, held):
    heard, layout = [], Layout("smoke", tmp_path)
    monkeypatch.setattr(campaign.LOGGER, "addFilter", heard.append)
    monkeypatch.setattr(sys, "argv", ["snakemake", *words.split()])
    workflow = SimpleNamespace(exec_mode=ExecMode[mode], output_settings=SimpleNamespace(dryrun=dryrun))
    campaign.before_planning(workflow, [], layout)
    assert len(heard) == bool(held) and layout.results.exists() == ("parsed" in held)
    if "no event" in held:
        assert heard[0](SimpleNamespace(msg="Building DAG of jobs...")) and not layout.results.exists()
    if "event" in held:
        assert heard[0](SimpleNamespace(event=LogEvent.WORKFLOW_STARTED))
        with pytest.raises(SystemExit, match="^snakemake: another campaign"):
            heard[0](SimpleNamespace(event=LogEvent.WORKFLOW_STARTED))


@pytest.mark.parametrize("asked, holes", [({}, False), ({"holes": True}, True), ({"holes": "true"}, True)])
def test_holes_are_asked_for_by_true(asked, holes):
    """Snakemake hands `true` over as a text."""
    assert campaign.holes_of(asked) is holes
    with pytest.raises(HarnessError, match="holes=yes is neither true nor false: write holes=true"):
        campaign.holes_of({"holes": "yes"})
