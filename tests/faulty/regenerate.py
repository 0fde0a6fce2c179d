"""Write the faulty paper's records anew, when their format changes: `python tests/faulty/regenerate.py`."""

import math
import shutil
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS.parent), str(TESTS)]

import numpy as np  # noqa: E402
from sealed import seal  # noqa: E402

from harness.base.layout import Layout  # noqa: E402

ACCURACY = {
    "accuracy/above": (93.1, 93.2, 93.0, 93.4, 93.3),
    "accuracy/below": (90.9, 90.7, 90.8, 91.0, 90.6),
    "accuracy/close": (92.1, 91.9, 92.3, 92.0, 92.2),
    "accuracy/broken": (92.1, 91.9, math.nan, 92.0, 92.2),
    "accuracy/wide": (1.0, 9.0, 3.0, 8.0, 2.0),
    "few/one": (93.5,),
    "pair/two": (92.0, 92.4),
}

if __name__ == "__main__":
    layout = Layout("smoke", TESTS / "faulty" / "project")
    shutil.rmtree(layout.results, ignore_errors=True)
    for name, values in ACCURACY.items():
        for seed, value in enumerate(values):
            metrics = {"accuracy": value} | ({"count": 718_426} if name == "accuracy/above" else {})
            seal(layout, f"faulty/{name}/a/s{seed}", metrics)
    for method, effect in (("weak", 0.4), ("strong", 2.0)):
        rng = np.random.default_rng(3)
        truth = rng.normal(90, 1, 200).round(3)
        score = (effect * (truth - 90) + rng.normal(size=200)).round(3)
        scores = {"score": score.tolist(), "truth": truth.tolist()}
        seal(layout, f"faulty/ranking/{method}/a/s0", tables={"scores": scores})
