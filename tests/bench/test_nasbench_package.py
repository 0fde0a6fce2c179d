"""NAS-Bench-101's own package, where it is installed, beside our reader on the same official records."""

import numpy as np
import pytest
from support import real_data

from harness.bench import nb101_tfrecord, seconds, truths


def test_the_package_and_our_reader_say_the_same(real, tmp_path, monkeypatch):
    api = pytest.importorskip("nasbench.api", reason="needs nasbench and the TensorFlow 1 below it")
    path = real_data("benchmarks/nb101/official_91_cells.tfrecord")
    (tmp_path / "nasbench_full.tfrecord").symlink_to(path)
    monkeypatch.setenv("NAS_DATA", str(tmp_path))
    theirs = api.NASBench(str(path))
    hashes = sorted(theirs.hash_iterator())
    assert len(hashes) == 91
    for epochs in nb101_tfrecord.EPOCHS:
        runs = [theirs.get_metrics_from_hash(name)[1][epochs] for name in hashes]
        assert {len(one) for one in runs} == {1}, "one repeat of each cell is in this file"
        for split, key in (("val", "final_validation_accuracy"), ("test", "final_test_accuracy")):
            expected = [100 * run[0][key] for run in runs]
            for trials in ("mean", 0):
                ours = truths("nb101", hashes, "cifar10", epochs, split, trials, source="nb101-tfrecord")
                np.testing.assert_array_equal(ours.values, expected)
        ours = seconds("nb101", hashes, "cifar10", epochs, source="nb101-tfrecord")
        np.testing.assert_array_equal(ours.values, [run[0]["final_training_time"] for run in runs])
