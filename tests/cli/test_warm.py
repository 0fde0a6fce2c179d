"""Jobs of a campaign that are forks of one process: they do, say and end as jobs that start alone."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import tiny

from harness.base.errors import INTERRUPTED
from harness.base.files import ROOT
from harness.cli import warm

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux' pidfd_open")

# A command line of its own, which says what a job finds and does what a test asks for.
COMMANDS = """
import os, signal, sys, time

def main(words=None):
    words = words or sys.argv[1:]
    word = words[0]
    if word == "say":
        print("out", sys.stdin.read(), "torch" in sys.modules, "harness.other" in sys.modules)
        print("err", file=sys.stderr)
        sys.exit(3)
    if word == "text":
        sys.exit("harness: one sentence")
    if word == "raise":
        raise ValueError("as it comes")
    if word == "die":
        os.kill(os.getpid(), int(words[1]))
    if word == "open":
        paths = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd") if int(n) > 2]
        print(sorted(os.readlink(path) for path in paths if os.path.lexists(path)))  # not that of listdir
    if word == "mark":
        open("marks", "a").write("x")
    if word == "edit":
        print(__import__("harness.other").other.VALUE)
    if word == "wait":
        try:
            print(os.getpid(), flush=True)
            time.sleep(60)
        except KeyboardInterrupt:
            sys.exit("harness: interrupted")
"""


@pytest.fixture(scope="module", autouse=True)
def interrupts() -> Iterator[None]:
    """Heard, whoever started the tests: a command with `&` in a script starts with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def project(interrupts, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    ours = ("harness/__init__.py", "harness/__main__.py", "harness/base/errors.py", "harness/base/threads.py")
    for name in (*ours, "harness/cli/warm.py"):
        tiny.write(folder, name, (ROOT / name).read_text(encoding="utf-8"))
    tiny.write(folder, "harness/cli/commands.py", COMMANDS)
    tiny.write(folder, "harness/other.py", "VALUE = 1\n")
    return folder


@pytest.fixture(scope="module")
def light(project, tmp_path_factory) -> Path:
    """The same with a server that loads nothing and is there at once."""
    folder = tmp_path_factory.mktemp("light") / "project"
    shutil.copytree(project, folder)
    server = "harness/cli/warm.py"
    text = (folder / server).read_text(encoding="utf-8")
    tiny.edit(folder, server, re.search(r"LIBRARIES = \(.*?\n\)\n", text, re.S)[0], "LIBRARIES = ()\n")
    return folder


def jobs(number: int, gpu: int = 0) -> list[SimpleNamespace]:
    return [SimpleNamespace(resources={"gpu": gpu})] * number


@pytest.fixture(scope="module")
def campaign(project) -> Iterator[subprocess.Popen]:
    """The server of a campaign in that folder."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield from started(project, monkeypatch)


def started(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen]:
    monkeypatch.chdir(project)
    monkeypatch.setattr(warm, "_held", held := [])
    monkeypatch.setenv(warm.WHERE, "")  # so that it is what it was afterwards
    monkeypatch.setenv("PYTHONPATH", str(project))
    warm.start(jobs(warm.FEWEST))
    server = held[0]
    yield server
    warm.stop()
    assert server.returncode is not None


def run(*words: str, **changed: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "harness", *words]
    return subprocess.run(command, env=os.environ | changed, capture_output=True, text=True, input="in")


def begun() -> tuple[subprocess.Popen, int]:
    """A job that waits, and its own process."""
    command, pipe = [sys.executable, "-m", "harness", "wait"], subprocess.PIPE
    client = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    return client, int(client.stdout.readline())


def link(path: Path) -> str:
    """What a process that is starting has open, or had."""
    try:
        return os.readlink(path)
    except FileNotFoundError:
        return ""


def gone(pid: int) -> bool:
    for _ in range(300):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.1)
    return False


def test_jobs_do_say_and_end_as_alone_with_libraries_that_are_loaded(campaign):
    for words, code in (
        (("say",), 3),
        (("text",), 1),
        (("raise",), 1),
        (("die", "9"), -9),
        (("die", "11"), -11),
    ):
        alone, forked = run(*words, **{warm.WHERE: ""}), run(*words)
        assert (alone.returncode, forked.returncode) == (code, code), words
        assert forked.stdout.replace("True", "False", 1) == alone.stdout
        assert forked.stderr.splitlines()[-1:] == alone.stderr.splitlines()[-1:]
    assert run("say").stdout == "out in True False\n"
    assert run("say", "--threads", "1").stdout == "out in True False\n"


def test_a_job_reads_the_code_as_it_is_when_it_begins(campaign, project):
    assert run("edit").stdout == "1\n"
    (project / "harness" / "other.py").write_text("VALUE = 22\n")
    assert run("edit").stdout == "22\n"


def test_a_job_keeps_nothing_open_that_is_the_servers_or_another_jobs(campaign):
    other, pid = begun()
    assert run("open").stdout == run("open", **{warm.WHERE: ""}).stdout == "[]\n"
    other.kill()
    assert gone(pid)


def test_many_jobs_at_once(campaign):
    several = [begun() for _ in range(12)]
    assert len({pid for _, pid in several}) == 12
    for client, _ in several:
        client.terminate()
    assert all(gone(pid) for _, pid in several)
    assert {client.wait(30) for client, _ in several} == {-signal.SIGTERM}
    assert run("say").returncode == 3


def test_a_job_with_other_threads_or_of_another_environment_starts_alone(campaign):
    assert run("say", "--threads", "2").stdout == "out in False False\n"
    where = os.environ[warm.WHERE].replace(sys.prefix, "/elsewhere")
    assert run("say", **{warm.WHERE: where}).stdout == "out in False False\n"


def test_a_job_ends_with_the_process_that_waits_for_it(campaign):
    client, pid = begun()
    client.kill()
    assert gone(pid)
    assert run("say").returncode == 3


def test_an_interrupt_reaches_the_job_which_says_how_to_go_on(campaign):
    client, pid = begun()
    client.send_signal(signal.SIGINT)  # a terminal sends it to both
    os.kill(pid, signal.SIGINT)
    assert client.communicate(timeout=30)[1].startswith("harness: interrupted")
    assert client.returncode == 1
    assert gone(pid)


def test_an_interrupt_before_the_job_has_begun_is_answered_by_who_waits(campaign):
    campaign.send_signal(signal.SIGSTOP)  # a server that does not answer yet
    try:
        client = subprocess.Popen(
            [sys.executable, "-m", "harness", "wait"], stderr=subprocess.PIPE, text=True
        )
        opened = Path(f"/proc/{client.pid}/fd")
        while not any(link(each).startswith("socket") for each in opened.iterdir() if int(each.name) > 2):
            time.sleep(0.1)
        client.send_signal(signal.SIGINT)
        said = client.stderr.readline()
    finally:
        campaign.send_signal(signal.SIGCONT)
    assert (said, client.wait(30)) == (f"harness: {INTERRUPTED}\n", 1)
    assert run("say").returncode == 3


@pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-"])
def test_a_job_without_one_of_its_streams_starts_alone(campaign, stream):
    """Else the socket to the server would have its number, and be handed over as that stream."""
    command = f'exec "{sys.executable}" -m harness open {stream}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "" if stream == ">&-" else "[]\n")


def test_where_interrupts_are_ignored_jobs_ignore_them(light, monkeypatch):
    """So it is for `snakemake &` in a script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for server in started(light, monkeypatch):
            client, pid = begun()
            for each in (server.pid, client.pid, pid):
                os.kill(each, signal.SIGINT)
            os.kill(pid, signal.SIGTERM)
            assert client.wait(30) == -signal.SIGTERM
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_killed_server_takes_its_jobs_along_and_they_say_so(light, monkeypatch):
    for server in started(light, monkeypatch):
        client, pid = begun()
        server.kill()
        said = client.communicate(timeout=30)[1]
        assert "the campaign that this job belongs to is gone; the same command goes on" in said
        assert client.returncode == 1
        assert gone(pid)
        assert run("say").stdout == "out in False False\n"  # as nobody listens any more


def test_the_end_of_the_campaign_ends_its_jobs_and_its_server(light, monkeypatch):
    for server in started(light, monkeypatch):
        client, pid = begun()
        client.send_signal(signal.SIGSTOP)  # it hears of it when nothing is left to kill
        server.stdin.close()
        assert server.wait(30) == 0
        assert gone(pid)
        client.send_signal(signal.SIGCONT)
        assert client.communicate(timeout=30)[1].startswith("harness: the campaign that this job belongs to")
        assert client.returncode == 1


def test_a_job_whose_server_is_killed_before_it_answers_is_done_once(light, monkeypatch):
    """The client, which was told nothing, does it itself; the fork must not."""
    answer = 'client.sendall(b"%d\\n" % pid)'
    path = tiny.edit(light, "harness/cli/warm.py", answer, "os.kill(os.getpid(), signal.SIGKILL)")
    for server in started(light, monkeypatch):
        assert run("mark").returncode == 0
        assert server.wait(30) == -signal.SIGKILL
        time.sleep(1)
        assert (light / "marks").read_text() == "x"
    path.write_text(path.read_text().replace("os.kill(os.getpid(), signal.SIGKILL)", answer))


@pytest.mark.parametrize(
    "asked", [jobs(warm.FEWEST - 1), jobs(warm.FEWEST, gpu=1), []], ids=["few", "gpu", "none"]
)
def test_few_jobs_and_jobs_on_a_gpu_start_alone(monkeypatch, asked):
    monkeypatch.setattr(warm, "_held", [])
    monkeypatch.delenv(warm.WHERE, raising=False)
    warm.start(asked)
    assert not warm._held
    assert warm.WHERE not in os.environ


def test_a_kernel_without_pidfds_starts_jobs_alone(monkeypatch):
    monkeypatch.setattr(os, "pidfd_open", lambda pid: os.open("/nowhere", 0))
    monkeypatch.setattr(warm, "_held", [])
    monkeypatch.delenv(warm.WHERE, raising=False)
    warm.start(jobs(warm.FEWEST))
    assert not warm._held


def test_it_can_be_switched_off(project, monkeypatch):
    monkeypatch.chdir(project)
    monkeypatch.setattr(warm, "_held", [])
    monkeypatch.setenv(warm.WHERE, "off")
    warm.start(jobs(warm.FEWEST))
    assert not warm._held
    assert run("say", PYTHONPATH=str(project)).stdout == "out in False False\n"
