"""Code as text: the same on every Python."""

import textwrap

import tiny

from harness.code.code_id import code_id, step_id

MODULE = "reproduce.p.experiment"
EXPERIMENT = "reproduce/p/experiment.py"

SYNTAX = """
from __future__ import annotations
import os.path as p, sys
from a.b import (c as d, e)
@decorate(1, *a, k=2, **kw)
class A(B, metaclass=C):
    x: int = 3
    y: "str"
async def f(a, /, b: int = 1, *args, c, d=None, **kw) -> None:
    "told"
    global g
    async for i in x: await y
    async with z as (q, w), v: yield
    l = [i async for i in j if k if l]
def h(*, a, b=1): return a, *b  # type: ignore
u = f"{x}" "a" f"{y!r:>{w}.{v}f}" f"" f"{{}}" f"{z=}" f"{z = !s}" 'b' f"{x:%Y-%m}" f"{'a' 'b'}"
u = f"{x:}{y:{w}}\\n{x!a}\\N{BULLET}" rf"\\d{x}", f"" "" f"", "a" f"{x}" "b" "c" f"d" "e"
u = f"{f'{x!r}'}{(lambda x: 1)}{x:{y}{z}}{x:a{y}b}{x + 1}"
t = u"old", b"a\\x00", "é\\U0001F600\\u0378", 1_000, 0x10, 1e-5, 1e400, 3j, ..., None, True, -1, 10**20
if (n := 10) > 5 and not a or b: del a[1:2, ::3], b.c
elif x is not y: assert x, "m"
else: raise E from e
for a, *b in c: continue
else: once = 1
try: pass
except* (A, B) as e: pass
finally: x @= y
match x:
    case {"a": 1, **r} | [1, *_] | A(b=2) | None | -1.5 | "s" if y: pass
    case _: pass
with (a as b, c): pass
x = a[b, *c], {**d, 'e': f}, {*g}
"""


def test_it_is_the_same_on_every_python(tmp_path):
    """Once records made with one version of Python counted as stale with the next."""
    tiny.write(tmp_path, EXPERIMENT, SYNTAX)
    assert step_id(MODULE, tmp_path) == "318394ad5eeaf182"
    inside = (
        SYNTAX.replace("from __future__ import annotations\n", "").replace(", *_", "").replace(", *b", "")
    )
    tiny.write(tmp_path, EXPERIMENT, f"def run():\n{textwrap.indent(inside, '    ')}")
    tiny.forget()
    assert code_id(MODULE, tmp_path) == "4c6db0b79f1b8f2c"
