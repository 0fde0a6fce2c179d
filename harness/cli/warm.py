"""A process that has loaded torch, pandas and matplotlib, and forks for every job of a campaign.

A campaign has many short jobs, and loading these libraries takes longer than most of them. Snakemake's main
process starts the server (`start`) and names it in an environment variable; `python -m harness` hands over
its words, folder, environment and streams (`ask`) and waits. The other modules of this project are not loaded
here: a job reads them itself, as they are when it begins. Where there is no server, or other libraries or
threads are asked for, a job starts alone.
"""

import contextlib
import gc
import importlib
import json
import os
import secrets
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.base.errors import INTERRUPTED
from harness.base.threads import THREADS

WHERE = "NAS_WARM"  # the environment that the server's libraries are of, and its socket; "off": start none
FEWEST = 4  # jobs that are worth a server: it takes as long to start as three of them alone
LONGEST = 1 << 15  # bytes of a request, which is read at once
# What jobs load of other projects. An optimiser of torch loads its compiler, though nothing is compiled.
LIBRARIES = (
    "jsonschema",
    "numpy",
    "pandas",
    "scipy.optimize",
    "scipy.stats",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "seaborn",
    "torch",
    "torch._dynamo",
)

_held: list[subprocess.Popen[bytes]] = []  # a server ends when its stdin closes, however this process ends


def start(jobs: Iterable[Any]) -> None:
    """A server for these jobs of Snakemake, where they are many and no GPU is asked for."""
    gpus = [job.resources.get("gpu", 0) for job in jobs]
    # CUDA does not work in a fork of a process that has looked at it.
    if len(gpus) < FEWEST or any(gpus) or os.environ.get(WHERE) == "off" or not _can_wait():
        return
    name = f"nas-warm-{secrets.token_hex(16)}"
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")  # a name that is no file: nothing stays behind
        listener.listen(128)
        server = subprocess.Popen(
            [sys.executable, "-m", "harness.cli.warm", str(listener.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
            env=os.environ | dict.fromkeys(THREADS, "1"),
        )
        _held.append(server)
        os.environ[WHERE] = f"{sys.prefix}:{name}"


def _can_wait() -> bool:
    """Python may know pidfd_open where the kernel, or a container's filter, does not."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def stop() -> None:
    """Wait for the end of the server."""
    os.environ.pop(WHERE, None)
    while _held:
        server = _held.pop()
        server.stdin.close()
        server.wait()


def ask(words: Sequence[str]) -> int | None:
    """Let the server run `python -m harness` with these words: its exit code. None: nothing was begun."""
    prefix, _, name = os.environ.pop(WHERE, "").rpartition(":")
    if not name or prefix != sys.prefix or _threads(words) != "1":
        return None
    request = json.dumps([[*words], os.getcwd(), dict(os.environ)]).encode()
    # A closed stream: the socket would get its number, and be handed over as that stream.
    if len(request) > LONGEST or None in (sys.stdin, sys.stdout, sys.stderr):
        return None
    job = ""

    def interrupt(*_: object) -> None:
        if not job:  # later a terminal's Ctrl-C reaches the job itself, which answers it
            sys.exit(f"harness: {INTERRUPTED}")

    def send(number: int, _: object = None) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(int(job), number)

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupt)
    with socket.socket(socket.AF_UNIX) as server, server.makefile("r") as answers:
        with contextlib.suppress(OSError):
            server.connect(f"\0{name}")
            if _same_user(server):
                socket.send_fds(server, [request], [0, 1, 2])
                job = answers.readline()
        if not job:
            signal.signal(signal.SIGINT, before)
            return None
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, send)
        end = answers.readline()
    if not end:
        send(signal.SIGKILL)
        sys.exit("harness: the campaign that this job belongs to is gone; the same command goes on")
    if int(end) < 0:  # killed: so is this process, for whoever watches it
        with contextlib.suppress(OSError):  # of SIGKILL there is nothing to set
            signal.signal(-int(end), signal.SIG_DFL)
        os.kill(os.getpid(), -int(end))
    return int(end)


def _threads(words: Sequence[str]) -> str:
    """How many a job is to have, as the rule `run` says it; other jobs need one."""
    return words[words.index("--threads") + 1] if "--threads" in words[:-1] else "1"


def _same_user(other: socket.socket) -> bool:
    """Names of such sockets are open to everybody on the machine."""
    _, user, _ = struct.unpack("3i", other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return user == os.getuid()


@dataclass
class Job:
    """A fork, by a descriptor that becomes readable when it ends, and the process that waits for it."""

    pid: int
    ended: int
    client: socket.socket


class Forks:
    """The server's side: a fork for whoever connects, and its exit code when it has ended."""

    def __init__(self, listener: socket.socket, campaign: int) -> None:
        self.listener, self.campaign = listener, campaign
        self.jobs: list[Job] = []
        self.events = selectors.DefaultSelector()
        self.events.register(listener, selectors.EVENT_READ)
        self.events.register(campaign, selectors.EVENT_READ)

    def serve(self) -> list[str] | None:
        """In a fork: the words of its job. In the server: None, when the campaign has ended."""
        while True:
            for key, _ in self.events.select():
                if key.fileobj == self.campaign:
                    for job in self.jobs:
                        os.kill(job.pid, signal.SIGTERM)
                    return None
                if key.fileobj is self.listener:
                    if (words := self._fork()) is not None:
                        return words
                elif key.fileobj == key.data.ended:
                    self._end(key.data)
                elif key.data in self.jobs:  # its client has nothing more to say: it is gone
                    self.events.unregister(key.data.client)
                    os.kill(key.data.pid, signal.SIGKILL)

    def _fork(self) -> list[str] | None:
        client, _ = self.listener.accept()
        request, streams = b"", []
        if _same_user(client):
            request, streams, _, _ = socket.recv_fds(client, LONGEST, 3)
        if not request:  # or killed before it could ask
            client.close()
            return None
        begin, told = os.pipe()
        try:
            pid = os.fork()
        except (
            OSError
        ):  # no room for one more process: the client, which is told nothing, does the job itself
            for each in (begin, told, *streams):
                os.close(each)
            client.close()
            return None
        if pid:
            for each in (begin, *streams):
                os.close(each)
            job = Job(pid, os.pidfd_open(pid), client)
            self.jobs.append(job)
            self.events.register(job.ended, selectors.EVENT_READ, job)
            self.events.register(client, selectors.EVENT_READ, job)
            with contextlib.suppress(OSError):  # gone already: the next event
                client.sendall(b"%d\n" % pid)
            os.write(told, b"!")
            os.close(told)
            return None
        os.close(told)
        if not os.read(begin, 1):  # the server has been killed, and the client, not told, does the job itself
            os._exit(1)
        os.close(begin)
        # What others wait for must not stay open here when the server ends.
        self.events.close()
        for other in (client, self.listener, *(job.client for job in self.jobs)):
            other.close()
        for job in self.jobs:
            os.close(job.ended)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        words, folder, environment = json.loads(request)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        return words

    def _end(self, job: Job) -> None:
        code = os.waitstatus_to_exitcode(os.waitpid(job.pid, 0)[1])
        if job.client in self.events.get_map():
            self.events.unregister(job.client)
            with contextlib.suppress(OSError):  # gone at the same moment
                job.client.sendall(b"%d\n" % code)
        self.events.unregister(job.ended)
        os.close(job.ended)
        job.client.close()
        self.jobs.remove(job)


def main() -> None:
    """`python -m harness.cli.warm <the listening socket's number>`, with the campaign on stdin."""
    before = signal.getsignal(signal.SIGINT)  # ignored where a script says `snakemake … &`
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C: nothing is lost yet, so no traceback
    for library in LIBRARIES:
        with contextlib.suppress(ImportError, OSError):  # the job that needs it will say so
            importlib.import_module(library)
        if select.select([sys.stdin], [], [], 0)[0]:
            return  # the campaign has ended already
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from now on Snakemake's main process decides
    gc.freeze()  # a fork that collects garbage leaves these objects, and so their memory, alone
    words = Forks(socket.socket(fileno=int(sys.argv[1])), sys.stdin.fileno()).serve()
    if words is not None:
        signal.signal(signal.SIGINT, before)
        from harness.cli.commands import main as command

        command(words)


if __name__ == "__main__":
    main()
