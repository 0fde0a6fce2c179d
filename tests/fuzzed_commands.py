"""Words at random for every command, here in this process; run in a copy of the project."""

import contextlib
import io
import os
import random
import subprocess
import sys
import traceback
import urllib.error
import urllib.request

from harness.campaign import campaign
from harness.cli import commands

COMMANDS = {
    "find": 1, "plan": 2, "status": 0, "run": 1, "check": 0, "accept": 2, "records": 2,
    "reproduced": 0, "published": 0, "data": 2, "bench": 2, "fetch": 1, "make": 1, "report": 0,
}  # fmt: skip
OPTIONS = (
    "--scale", "--paper", "--threads", "--reason", "--once", "--from", "--source", "--help", "--", "-",
    "-x",
)  # fmt: skip
GOOD = (
    "mini", "mini/table_1", "mini_table_1", "mini/noise/strong/low/s0", "Table 1", "smoke", "cpu", "paper",
    "1", "keep", "lay-out", "list", "fetch", "verify", "convert", "query", "nb201", "nb201-pypi", "darts",
    "nb101", "nb301-onnx", "cifar10", "mnist", "digits", "200", "val", "mean", "best", "registry", "0",
)  # fmt: skip
BAD = (
    "", " ", "\n", "\t\r", "..", "../..", "../../etc/passwd", "/", "/etc/passwd", ".", "~", "*", "[", "]",
    "(?P<", "%s", "%n", "{}", "{0.__class__}", "$(touch gone)", "; touch gone", "'", '"', "\\", "-1", "-0",
    "1.5", "1e9", "9" * 5000, "inf", "nan", "none", "null", "²", "١٢", "0x10", "x" * 5000, "x/" * 2000,
    "s0", "mini/", "/mini", "mini//table_1", "mini/table_1/", "mini/../mini/table_1",
    "mini/noise/strong/low/s00", "mini/noise/strong/low/s-1", "tables", "harness",
    "mini/noise/strong/low/s" + "9" * 5000, "\u202e", "\x1b[2J", "é", "e\u0301", "🙂", "\udcff",
    "mini\udcff", "=1+1", "<script>", "&amp;", "|a~0|", "|nor_conv_3x3~0|" * 500, "Genotype(" * 300,
    "0" * 32, "[" * 5000, "Table", "1" * 19,
)  # fmt: skip


class Ended(subprocess.CompletedProcess):
    """What a program answers that is not there."""


def no_program(words, **_) -> Ended:
    return Ended(words, 1, "", "")


def no_network(*_, **__):
    raise urllib.error.URLError("no network")


def words(chance: random.Random) -> list[str]:
    """A command, about as many words as it takes, options anywhere; now and then nothing of that."""
    name = chance.choice(list(COMMANDS))
    mix = GOOD + GOOD + BAD if chance.random() < 0.7 else BAD
    line = [chance.choice(mix) for _ in range(max(0, COMMANDS[name] + chance.choice((-1, 0, 0, 0, 1))))]
    if name in ("records", "data", "bench") and chance.random() < 0.8:
        line[:1] = [chance.choice({"records": GOOD[9:11], "data": GOOD[11:14], "bench": GOOD[14:16]}[name])]
        if line[0] == "query":
            line = ["query", chance.choice(GOOD[16:20]), *(chance.choice(mix) for _ in range(5))]
    if name == "accept" and chance.random() < 0.8:
        line += ["--reason", chance.choice(mix)]
    for _ in range(chance.choice((0, 0, 1, 2))):
        line.insert(chance.randint(0, len(line)), chance.choice(OPTIONS))
        if chance.random() < 0.7:
            line.insert(chance.randint(0, len(line)), chance.choice(mix))
    return [name, *line] if chance.random() < 0.97 else [chance.choice(mix), *line]


def tried(line: list[str]) -> str:
    """What is wrong with how it ended, or ''."""
    said = io.TextIOWrapper(io.BytesIO(), "utf-8")
    told = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")  # as Python opens the two
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
            commands.main(line)
    except SystemExit as end:
        if isinstance(end.code, str):
            good = end.code.startswith("harness: ") and "\n" not in end.code.strip()
            return "" if good else f"no sentence: {end.code[:300]!r}"
        return "" if end.code in (0, 1, 2, None) else f"exit {end.code}"
    except BaseException:
        return traceback.format_exc()[-1500:]
    finally:
        for file in campaign._held:
            file.close()
        campaign._held.clear()
    return "did not end"


def main(cases: int, seed: int) -> int:
    # Nothing is fetched, and no other program is started.
    subprocess.run, urllib.request.urlopen = no_program, no_network
    chance, wrong = random.Random(seed), 0
    for _ in range(cases):
        line = words(chance)
        if problem := tried(line):
            wrong += 1
            print(
                ascii([word[:60] for word in line]),
                problem.encode("ascii", "replace").decode(),
                sep="\n",
                flush=True,
            )
    return wrong


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(min(main(int(sys.argv[1]), int(sys.argv[2])), 100))
