"""Plain data comes back whole; whatever could run is refused before it runs."""

import builtins
import io
import os
import pickle
from collections import OrderedDict

import numpy as np
import pytest
from support import calling

from harness.base.errors import HarnessError
from harness.base.safe_pickle import load_plain

EVERY = pytest.mark.parametrize("protocol", range(6))
BIG_FLOAT = b"cnumpy\ndtype\n(X\x02\x00\x00\x00f8K\x00K\x01tR(K\x03X\x01\x00\x00\x00>NNNK\x00K\x00K\x00tb"


@EVERY
@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.uint8).reshape(3, 4),
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.array(["a", "bc"]),
        np.array([b"x", b"yz"]),
        np.array([True, False]),
        np.array([1 + 2j]),
        np.zeros((0, 3)),
        np.array(7.5),
    ],
    ids=str,
)
def test_arrays_of_every_protocol_come_back_equal(array, protocol):
    got = load_plain(pickle.dumps({"a": array}, protocol), "x")["a"]
    np.testing.assert_array_equal(np.asarray(got), array, strict=True)


@EVERY
@pytest.mark.parametrize("kind", [">f4", ">f8", ">i2", ">u8", ">U3", "<i4"])
def test_byte_order_of_an_array_is_kept(kind, protocol):
    array = np.array([1, 2, 258, 3], dtype=kind)
    got = np.asarray(load_plain(pickle.dumps(array, protocol), "x"))
    assert got.tolist() == array.tolist()
    native = np.asarray(load_plain(pickle.dumps(array.astype(array.dtype.newbyteorder("=")), protocol), "x"))
    assert native.tolist() == array.tolist(), "the same type in native order must not be touched by the first"


def test_byte_order_of_a_numpy_number_is_kept():
    # Opcodes by hand: numpy itself always pickles its numbers in native order.
    raw = np.array([1.5], ">f8").tobytes()
    data = b"\x80\x03cnumpy.core.multiarray\nscalar\n(" + BIG_FLOAT + b"C\x08" + raw + b"tR."
    assert load_plain(data, "x") == 1.5


@EVERY
def test_containers_and_numpy_numbers_come_back_equal(protocol):
    record = {
        "times": OrderedDict([(0, 7.25), (1, 7.5)]),
        ("cifar10", 777): [np.float64(0.1), np.float32(0.5), np.int64(-3), np.bool_(True), None, True],
        "seen": {1, 2},
        "fixed": frozenset({"a", (1, 2)}),
        "raw": (b"\x00\xff", b"", "é"),
    }
    got = load_plain(pickle.dumps(record, protocol), "x")
    assert got == record
    assert [type(got[k]) for k in ("times", "seen", "fixed")] == [OrderedDict, set, frozenset]
    assert [type(v) for v in got["cifar10", 777][:3]] == [np.float64, np.float32, np.int64]


def test_a_python_2_batch_is_read_with_bytes_keys():
    # the opcodes that Python 2 wrote: protocol 2, SHORT_BINSTRING, numpy.core.multiarray
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01K\x02\x85"
        b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        b"U\x02\xc7\x09tb"
    )
    batch = b"\x80\x02}U\x04data" + array + b"s."
    got = load_plain(batch, "x", encoding="bytes")
    assert list(got) == [b"data"]
    assert np.asarray(got[b"data"]).tolist() == [0xC7, 9]
    with pytest.raises(HarnessError, match="^x is no readable pickle"):
        load_plain(batch, "x")


@EVERY
@pytest.mark.parametrize("encoding", ["ASCII", "bytes"])
def test_a_hostile_pickle_does_not_run(tmp_path, protocol, encoding):
    touched = tmp_path / "touched"
    hostile = pickle.dumps({"a": [calling(os.system, f"touch {touched}")]}, protocol)
    with pytest.raises(HarnessError, match="evil.pickle asks for .*system, .*nothing of it was run"):
        load_plain(hostile, "evil.pickle", encoding=encoding)
    assert not touched.exists()
    pickle.loads(hostile)
    assert touched.exists(), "the test's own payload must be one that works"


@pytest.mark.parametrize(
    "value",
    [
        calling(eval, "1"),
        calling(getattr, 1, "real"),
        calling(builtins.__import__, "os"),
        np.array([1.0, 2.0], dtype=object),
        np.dtype("O"),
        np.dtype([("a", "f8")]),
        np.zeros(2, dtype=[("a", "f8"), ("b", "i4")]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.load,
        HarnessError,
    ],
    ids=lambda value: getattr(value, "__name__", None) or type(value).__name__,
)
def test_other_names_are_refused(value):
    with pytest.raises(HarnessError, match="^x asks for"):
        load_plain(pickle.dumps(value), "x")


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
        b"cnumpy.core.multiarray\n_reconstruct\n(cbuiltins\nset\n(I0\ntVb\ntR.",
        b"cnumpy\ndtype\n(VV16\nI0\nI1\ntR.",
        b"cnumpy\ndtype\n(VU0\nI0\nI1\ntR.",
        b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(VO\ntRC\x08abcdefghtR.",
        b"\x80\x03cnumpy.core.multiarray\nscalar\n(" + BIG_FLOAT + b"C\x10abcdefghabcdefghtR.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        b"\x80\x04\x8c\x08builtins\x8c\x0fset.__class__.x\x93.",
    ],
)
def test_functions_raw_memory_and_structures_are_refused(blob):
    with pytest.raises(HarnessError, match="^x "):
        load_plain(blob, "x")


@pytest.mark.parametrize("shape", ["I3\n", "I-2\n", "I-1\nI-2\n", "I9223372036854775807\nI4\n"])
def test_a_shape_that_its_bytes_do_not_fill_is_refused(shape):
    state = f"(I1\n({shape}tcnumpy\ndtype\n(Vu1\nI0\nI1\ntRI0\nC\x02abtb.".encode()
    array = b"\x80\x03cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\ntR"
    with pytest.raises(HarnessError, match="^x is no readable pickle"):
        load_plain(array + state, "x")
    assert len(load_plain(array + state.replace(shape.encode(), b"I2\n"), "x")) == 2


def test_an_array_is_no_buffer_for_another():
    array = pickle.dumps(np.arange(4, dtype=np.uint8), 3)[:-1]
    dtype = b"cnumpy\ndtype\n(Vu1\nI0\nI1\ntR"
    view = b"\x80\x03cnumpy.core.numeric\n_frombuffer\n(" + array[2:] + dtype + b"(I4\ntVC\ntR."
    with pytest.raises(HarnessError, match="contents are no bytes"):
        load_plain(view, "x")


@pytest.mark.parametrize("protocol", range(1, 6))  # 0 spells its bytes in another way
def test_characters_that_do_not_exist_are_refused(protocol):
    for value in (np.array(["ab", "c"]), np.str_("ab")):
        damaged = pickle.dumps(value, protocol).replace(b"a\x00\x00\x00b\x00\x00", b"a\x00\x00\x00b\x00\x7f")
        with pytest.raises(HarnessError, match="characters that do not exist"):
            load_plain(damaged, "x")


def test_an_object_by_reference_is_refused():
    out = io.BytesIO()

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return "elsewhere" if obj == 5 else None

    Pickler(out).dump([5])
    with pytest.raises(HarnessError, match="outside"):
        load_plain(out.getvalue(), "x")


@EVERY
def test_every_truncation_is_one_sentence_with_the_name(protocol):
    content = {"a": [1.5] * 20, "b": np.float64(2), "c": np.arange(6.0), "d": {1, 2}, "e": b"\xff"}
    whole = pickle.dumps(content, protocol)
    for length in range(len(whole)):
        with pytest.raises(HarnessError, match=r"^data_batch_1 .*: get it again$"):
            load_plain(whole[:length], "data_batch_1")
    with pytest.raises(HarnessError, match="no readable pickle"):
        load_plain(b"not a pickle at all", "x")


def test_only_the_bytes_make_the_value():
    wrong = pickle.dumps(np.float64(2)).replace(np.float64(2).tobytes(), b"\0" * 8)
    assert load_plain(wrong, "x") == 0
