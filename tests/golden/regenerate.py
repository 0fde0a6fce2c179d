"""Write the expected files anew: `python tests/golden/regenerate.py`, then read their diff line by line.

With --records the run records are written anew, too; they are made of the numbers in tests/gold.py only.
"""

import shutil
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS.parent), str(TESTS)]

from gold import EXPECTED, PROJECT, build, compared, write_records  # noqa: E402

if __name__ == "__main__":
    if "--records" in sys.argv:
        shutil.rmtree(PROJECT / "results", ignore_errors=True)
        write_records(PROJECT)
    shutil.rmtree(EXPECTED, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in compared(build(Path(scratch), limits=True).results).items():
            (EXPECTED / name).parent.mkdir(parents=True, exist_ok=True)
            (EXPECTED / name).write_bytes(content)
            print(EXPECTED.name, name, sep="/")
