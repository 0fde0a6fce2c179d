"""Plain data comes back whole; anything that could run is refused before it runs."""

import io
import os
import pickle

import numpy as np
import pytest

from harness.data import plain_pickle
from harness.errors import HarnessError


class Hostile:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.system, (f"touch {self.path}",))


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.uint8).reshape(3, 4),
        np.arange(6, dtype=">f4").reshape(2, 3).T,
        np.array(["a", "bc"]),
        np.array([b"x", b"yz"]),
        np.array([True, False]),
        np.zeros((0, 3)),
    ],
    ids=str,
)
def test_arrays_of_every_protocol_come_back_equal(array, protocol):
    got = plain_pickle.load(pickle.dumps({"a": array}, protocol=protocol), "x")["a"]
    np.testing.assert_array_equal(np.asarray(got), array)
    assert np.asarray(got).dtype.newbyteorder("=") == array.dtype.newbyteorder("=")


@pytest.mark.parametrize("protocol", range(6))
def test_plain_containers_and_scalars_come_back_equal(protocol):
    data = {
        "n": [1, 2.5, None, True],
        "t": ("x", b"y\xff"),
        "f": np.float64(0.25),
    }
    assert plain_pickle.load(pickle.dumps(data, protocol=protocol), "x") == data


def test_a_python_2_batch_is_read_with_bytes_keys():
    # the opcodes that Python 2 wrote: protocol 2, SHORT_BINSTRING, numpy.core.multiarray
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01K\x02\x85"
        b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        b"U\x02\x07\x09tb"
    )
    got = plain_pickle.load(b"\x80\x02}U\x04data" + array + b"s.", "x", encoding="bytes")
    assert list(got) == [b"data"]
    assert np.asarray(got[b"data"]).tolist() == [7, 9]


@pytest.mark.parametrize("protocol", range(6))
def test_a_hostile_pickle_does_not_run(tmp_path, protocol):
    mark = tmp_path / "ran"
    blob = pickle.dumps({"data": Hostile(mark)}, protocol=protocol)
    with pytest.raises(HarnessError, match="system"):
        plain_pickle.load(blob, "x")
    assert not mark.exists()
    pickle.loads(blob)
    assert mark.exists(), "the test's own payload must be one that works"


@pytest.mark.parametrize(
    "blob",
    [
        b"cbuiltins\neval\n(V1\ntR.",
        b"cbuiltins\ngetattr\n.",
        b"cnumpy\nload\n.",
        b"cnumpy.core.multiarray\nfromfile\n.",
        b"c_codecs\nencode\n(Vx\nVrot13\ntR.",
        b"cnumpy\nndarray\n(I1000000000000\ntR.",
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I1000000000\ntVb\ntR.",
        b"cnumpy\ndtype\n(VV16\nI0\nI1\ntR.",
        b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(VO\ntRC\x08abcdefghtR.",
    ],
)
def test_functions_raw_memory_and_structures_are_refused(blob):
    with pytest.raises(HarnessError):
        plain_pickle.load(blob, "x")


def test_a_truncated_pickle_is_one_sentence_with_its_name():
    with pytest.raises(HarnessError, match="data_batch_1 cannot be read"):
        plain_pickle.load(pickle.dumps({"data": np.zeros(100)})[:-30], "data_batch_1")


def test_an_object_by_reference_is_refused():
    out = io.BytesIO()

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return "elsewhere" if obj == 5 else None

    Pickler(out).dump([5])
    with pytest.raises(HarnessError, match="outside"):
        plain_pickle.load(out.getvalue(), "x")
