"""Records come back as they were; whatever could run is refused before it runs."""

import builtins
import os
import pickle
from collections import OrderedDict

import numpy as np
import pytest

from harness.errors import HarnessError
from harness.safe_pickle import load_plain


class Hostile:
    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


@pytest.mark.parametrize("protocol", range(2, 6))
def test_containers_and_numpy_numbers_come_back_equal(protocol):
    record = {
        "times": OrderedDict([(0, 7.25), (1, 7.5)]),
        ("cifar10", 777): [np.float64(0.1), np.float32(0.5), np.int64(-3), None, True],
        "seen": {1, 2},
        "raw": b"\x00\xff",
    }
    got = load_plain(pickle.dumps(record, protocol), "x")
    assert got == record
    assert type(got["times"]) is OrderedDict
    assert [type(v) for v in got["cifar10", 777][:3]] == [np.float64, np.float32, np.int64]


def test_byte_order_of_a_numpy_number_is_kept():
    # Opcodes by hand: numpy itself always pickles its numbers in native order.
    raw = np.array([1.5], ">f8").tobytes()
    dtype = b"cnumpy\ndtype\n(X\x02\x00\x00\x00f8K\x00K\x01tR(K\x03X\x01\x00\x00\x00>NNNK\x00K\x00K\x00tb"
    data = b"\x80\x03cnumpy.core.multiarray\nscalar\n(" + dtype + b"C\x08" + raw + b"tR."
    assert load_plain(data, "x") == 1.5


@pytest.mark.parametrize("protocol", range(6))
def test_a_hostile_pickle_does_not_run(tmp_path, protocol):
    touched = tmp_path / "touched"
    hostile = {"a": [Hostile(os.system, f"touch {touched}")]}
    with pytest.raises(HarnessError, match="evil.pickle asks for .*system, .*nothing of it was run"):
        load_plain(pickle.dumps(hostile, protocol), "evil.pickle")
    assert not touched.exists()
    pickle.loads(pickle.dumps(hostile, protocol))  # the same bytes do run where they are trusted
    assert touched.exists()


@pytest.mark.parametrize(
    "value",
    [
        Hostile(eval, "1"),
        Hostile(getattr, 1, "real"),
        Hostile(builtins.__import__, "os"),
        np.array([1.0, 2.0], dtype=object),
        np.dtype("O"),
        np.dtype([("a", "f8")]),
        np.load,
        HarnessError,
    ],
    ids=lambda value: getattr(value, "__name__", None) or type(value).__name__,
)
def test_other_names_are_refused(value):
    with pytest.raises(HarnessError, match="asks for"):
        load_plain(pickle.dumps(value), "x")


def test_damaged_pickles_are_one_error():
    whole = pickle.dumps({"a": [1.5] * 50, "b": np.float64(2)})
    for length in range(len(whole)):
        with pytest.raises(HarnessError, match="^x "):
            load_plain(whole[:length], "x")
    with pytest.raises(HarnessError, match="no readable pickle"):
        load_plain(b"not a pickle at all", "x")
    wrong = pickle.dumps(np.float64(2)).replace(np.float64(2).tobytes(), b"\0" * 8)
    assert load_plain(wrong, "x") == 0
