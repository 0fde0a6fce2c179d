"""Which allocator a process says it has, and that keeping memory keeps it."""

import platform
import subprocess
import sys

import pytest

from harness.runs.allocator import keep_memory

FREED = """
import ctypes, resource
from harness.runs.allocator import keep_memory
print(keep_memory() if {kept} else "as it was")
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
def turn():
    block = libc.malloc(64 << 20)
    ctypes.memset(block, 1, 64 << 20)
    libc.free(block)
turn()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(4):
    turn()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.parametrize("name", ["tcmalloc", "jemalloc", "mimalloc"])
def test_a_preloaded_allocator_is_named_and_left_alone(name, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", f"/usr/lib/lib{name}_minimal.so.4")
    assert keep_memory() == name


def test_other_systems_keep_theirs(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert keep_memory() == "system"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the system's C library is not glibc")
def test_freed_memory_is_not_fetched_page_by_page_again():
    said, faults = {}, {}
    for kept in (False, True):
        done = subprocess.run(
            [sys.executable, "-c", FREED.format(kept=kept)], capture_output=True, text=True, check=True
        )
        said[kept], faults[kept] = done.stdout.splitlines()
    assert said[True] == "glibc, memory kept"
    assert int(faults[True]) < int(faults[False]) / 20
