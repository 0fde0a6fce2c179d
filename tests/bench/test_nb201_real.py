"""NAS-Bench-201 on the real files: the sources against nats-bench and against each other."""

import csv
import gzip
import hashlib
import itertools
from collections import defaultdict

import numpy as np
import pytest
from support import real_data

from harness.base.errors import HarnessError
from harness.bench import catalogue, curve, nats, nb201_table, truth, truths, wheel
from harness.bench import seconds as training_seconds
from harness.bench.identity import QUANTITIES

NATS = "benchmarks/nb201/NATS-tss-v1_0-3ffb9-simple"
TABLE = "benchmarks/nb201/nb201.csv.gz"
REAL_CELLS = [0, 11, 284]
REAL_SHA256 = {
    "000000": "0103573dc07d29661807b7952fa0930a53203dc8aa6759ff0c5e0e1111300185",
    "000011": "9e70770646c83f824f0a51422aaa7e89afca861a257ec285cdfada7264345276",
    "000284": "a4f558e5e754d3987c6a6a4d3335e9027f88aeb59cba7da039406d909aa3a2d6",
    "meta": "7ecc7932fabec6b80551e07b845346de99d83c673f67a1891d619576b3fa053c",
}


def test_real_records_are_what_nats_bench_itself_answers(real):
    """The package reads the verified files itself here, and must say what our way of reading says."""
    import nats_bench

    folder = real_data(NATS)
    for name, sha in REAL_SHA256.items():
        assert hashlib.sha256((folder / f"{name}.pickle.pbz2").read_bytes()).hexdigest() == sha
    api = nats_bench.create(str(folder), "tss", fast_mode=True, verbose=False)
    checked = 0
    for cell in REAL_CELLS:
        arch = api.arch(cell)
        for dataset, splits in nats.SPLITS.items():
            for epochs in (12, 200):
                for split in splits:
                    run, _ = nats.run_and_set(dataset, split)
                    theirs = api.get_more_info(cell, run, hp=str(epochs), is_random=False)
                    ours = truth("nb201", arch, dataset, epochs, split, "mean", source="nb201-nats").value
                    assert ours == theirs[nats.ANSWER[split]]
                    trials = api.query_by_index(cell, run, hp=str(epochs))
                    for k, name in enumerate(sorted(trials)):
                        theirs = api.get_more_info(cell, run, hp=str(epochs), is_random=name)
                        ours = truth("nb201", arch, dataset, epochs, split, k, source="nb201-nats").value
                        assert ours == theirs[nats.ANSWER[split]]
                        checked += 1
    assert checked == 3 * (8 * 3 + 7 + 2)  # 8 splits of 3 seeds; at 12 epochs one seed, two for cifar10 val


def test_real_records_and_table_agree(real):
    """Everything that both hold, for the three cells of which there are records."""
    real_data(NATS)
    table = catalogue.named("nb201-table")
    real_data(TABLE)
    archs = [truth("nb201", cell, "cifar10", 200, "val", 0).architecture for cell in REAL_CELLS]
    checked = 0
    for key in (column.key for column in table.columns):
        if key.trials == "one":
            continue
        arguments = (key.dataset, key.epochs, key.split, key.trials)
        if key.what == "seconds":
            ours = training_seconds("nb201", archs, key.dataset, key.epochs, source="nb201-nats")
            theirs = training_seconds("nb201", archs, key.dataset, key.epochs, source="nb201-table")
        else:
            ours = truths("nb201", archs, *arguments, source="nb201-nats")
            theirs = truths("nb201", archs, *arguments, source="nb201-table")
        # the table writes the per-seed test accuracies with five decimals
        rounding = 5.1e-6 if key.split == "test" and key.trials in (0, 1, 2) and key.epochs == 200 else 1e-9
        np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=rounding, err_msg=str(key))
        checked += 1
    assert checked == 8 + 2 * 12


def test_real_table_and_wheel_agree_on_every_cell(real, real_wheel):
    real_data(TABLE)
    theirs = catalogue.open_store(wheel.SOURCE, [real_wheel])
    ours = catalogue.open_store(nb201_table.SOURCE, catalogue.find(nb201_table.SOURCE)[1])
    np.testing.assert_array_equal(theirs.array("names"), ours.array("names"))
    for column in wheel.COLUMNS:
        one = theirs.array("values")[catalogue.column(wheel.SOURCE, column.key)]
        other = ours.array("values")[catalogue.column(nb201_table.SOURCE, column.key)]
        if column.key.what == "accuracy" and column.key.trials != "mean":
            np.testing.assert_array_equal(one, other)  # the same seeds in the same order, bit for bit
            assert np.isnan(one).sum() == (7456 if column.key.trials == 2 else 0)
        else:
            np.testing.assert_allclose(one, other, rtol=1e-15)
    assert ours.meta.cells == theirs.meta.cells == 15_625


def test_real_curves_are_the_flattened_ones(real):
    """nats_sample_curves.csv.gz was flattened from the same records, by other code; its gaps are theirs."""
    real_data(NATS)
    runs = defaultdict(list)
    with gzip.open(real_data("benchmarks/nb201/nats_sample_curves.csv.gz"), "rt") as file:
        for row in sorted(csv.DictReader(file), key=lambda row: int(row["epoch"])):
            runs[int(row["arch_index"]), row["dataset"], int(row["hp"])].append(row)
    same = refused = 0
    for cell, (dataset, splits), epochs in itertools.product(REAL_CELLS, nats.SPLITS.items(), (12, 200)):
        for split, quantity in itertools.product(splits, QUANTITIES):
            run, part = nats.run_and_set(dataset, split)
            column = quantity if quantity.startswith("train") else f"{quantity}_{part}"
            rows = runs[cell, run, epochs]
            for trial, name in enumerate(sorted({row["seed"] for row in rows})):
                theirs = [row[column] for row in rows if row["seed"] == name]
                assert len(theirs) == epochs and theirs[-1]
                asked = (cell, dataset, epochs, split, trial, quantity)
                if all(theirs):
                    np.testing.assert_array_equal(curve("nb201", *asked).values, [float(v) for v in theirs])
                    same += 1
                else:
                    assert not any(theirs[:-1])  # the last epoch only
                    with pytest.raises(HarnessError, match=f"no per-epoch {quantity} of {dataset} {split}"):
                        curve("nb201", *asked)
                    refused += 1
    # Per cell: 8 splits of 3 seeds, and 9 of 12 epochs; no accuracy and loss of 2 sets' val and test at 200.
    assert refused == 3 * (2 * 2 * 3 * 2) and same + refused == 3 * (8 * 3 + 9) * len(QUANTITIES)
