"""How long the commands that only answer take here: `python benchmarks/bench_questions.py`.

Processor seconds of a new process, the least of three, beside a process that imports numpy and PyYAML alone.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = ("find Table", "plan", "status", "data list", "bench list", "check")


def seconds(words: list[str]) -> float:
    taken = []
    for _ in range(3):
        begun = sum(os.times()[2:4])  # of ended children
        done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True)
        assert done.returncode in (0, 1), done.stderr.decode()  # 1: check found something, or has no results
        taken.append(sum(os.times()[2:4]) - begun)
    return min(taken)


if __name__ == "__main__":
    alone = seconds(["-c", "import numpy, yaml"])
    print(f"{'numpy and PyYAML':20}{alone:6.2f} s")
    for question in QUESTIONS:
        taken = seconds(["-m", "harness", *question.split()])
        print(f"{question:20}{taken:6.2f} s, {taken / alone:.1f} times that")
