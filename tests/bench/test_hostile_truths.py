"""Benchmark files that lie about what they hold, or were made to harm: one sentence that names the file."""

import gzip
import io
import json
import random
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from bench.made import ARCHS, nb201_rows, write_nats, write_nb201_csv, write_pickle, write_wheel

from harness import bounded, files
from harness.bench import catalogue, nats, nb201_table, nb301, truth, wheel
from harness.errors import HarnessError
from harness.spaces import darts

NATS = "benchmarks/nb201/NATS-tss-v1_0-3ffb9-simple"
TABLE = "benchmarks/nb201/nb201.csv.gz"
NB101 = ("nb101_archs_by_hash.npz", "nb101_table.npz")


def refusal(name: str, paths: list[Path]) -> str:
    """What a conversion says; nothing of it stays."""
    with pytest.raises(HarnessError) as caught:
        catalogue.open_store(catalogue.named(name), paths, say=lambda _: None)
    told = str(caught.value)
    assert told.startswith(str(paths[0].parent)) and "\n" not in told and len(told) < 600, told
    stores = files.cache_dir() / "stores"
    assert not [path for path in stores.iterdir() if path.suffix != ".lock"]
    return told


@pytest.mark.parametrize("archs", [[], list(range(15_625)), [None], [ARCHS], "abc", None])
def test_a_meta_file_that_lists_no_architectures_is_not_converted(made, archs):
    """Numbers, or none, were once converted as if the archive were whole."""
    folder = write_nats(made / NATS, [1])
    write_pickle(folder / "meta.pickle.pbz2", {"meta_archs": archs})
    assert "meta.pickle.pbz2 lists no architectures" in refusal("nb201-nats", [folder])


@pytest.mark.parametrize("record", [None, 7, {}, {"200": 4}])
def test_a_record_of_another_shape_is_told(made, record):
    folder = write_nats(made / NATS, [1])
    write_pickle(folder / "000001.pickle.pbz2", record)
    assert "000001.pickle.pbz2 is no complete record" in refusal("nb201-nats", [folder])


def test_a_record_without_a_number_is_told(made):
    folder = write_nats(made / NATS, [1])
    (folder / "000001.pickle.pbz2").rename(folder / "first.pickle.pbz2")
    assert "first.pickle.pbz2 is no complete record" in refusal("nb201-nats", [folder])


def test_packed_bombs_are_refused_at_the_limit(made, monkeypatch):
    monkeypatch.setattr(nats, "NATS_RECORD", 1 << 20)
    monkeypatch.setattr(nb201_table, "NB201_TABLE", 1 << 20)
    monkeypatch.setattr(bounded, "LARGEST", 1 << 20)
    monkeypatch.setattr(files.read_within, "__defaults__", (1 << 20,))
    folder = write_nats(made / NATS, [])
    write_pickle(folder / "meta.pickle.pbz2", bytes(2 << 20))
    assert "unpacks to more than 1 MB" in refusal("nb201-nats", [folder])
    table = made / "nb201.csv.gz"
    table.write_bytes(gzip.compress(b"idx,arch_str\n" * (1 << 18)))
    assert "unpacks to more than 1 MB" in refusal("nb201-table", [table])
    known = write_wheel(made / "bomb.whl")
    with zipfile.ZipFile(made / "bomb.whl", "w", zipfile.ZIP_DEFLATED) as box:
        box.writestr(wheel.INSIDE + known["cifar10"][0], bytes(2 << 20))
    assert "cifar10.pkl unpacks to more than 1 MB" in refusal("nb201-pypi", [made / "bomb.whl"])
    arrays = [made / name for name in NB101]
    for path in arrays:
        np.savez_compressed(path, hash=np.zeros(2 << 20, np.uint8))
    assert "nb101_archs_by_hash.npz unpacks to more than 1 MB" in refusal("nb101-table", arrays)


def test_an_array_that_says_it_has_a_quadrillion_elements(made):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    arrays = [made / name for name in NB101]
    for path in arrays:
        with zipfile.ZipFile(path, "w") as box:
            box.writestr("hash.npy", header.getvalue())
    assert "are not the compiled arrays" in refusal("nb101-table", arrays)


def _no_number(row: dict) -> None:
    row["cifar10_val_acc_0"] = "=1+1"


def _no_seed(row: dict) -> None:
    row |= {f"cifar10_val_acc_{k}": "" for k in range(3)}


def _not_ascii(row: dict) -> None:
    row["arch_str"] = "|nor_conv_3×3~0|"


@pytest.mark.parametrize("spoil", [_no_number, _no_seed, _not_ascii])
def test_a_table_with_a_wrong_field_is_told(made, spoil):
    rows = nb201_rows(30)
    spoil(rows[7])
    path = write_nb201_csv(made / TABLE, rows)
    assert f"{path} cannot be converted as nb201-table" in refusal("nb201-table", [path])


@pytest.mark.parametrize("text", ["abc", "abc \n", f"{'0' * 64}\nb", "\xff"])
def test_a_list_of_hashes_with_a_line_of_one_word_is_told(tmp_path, text):
    (tmp_path / nb301.SUMS).write_bytes(text.encode("latin1"))
    (tmp_path / "model").write_bytes(b"")
    with pytest.raises(
        HarnessError, match=f"{nb301.SUMS} is no list of hashes and names, one of each a line"
    ):
        nb301.check_sums(tmp_path)


ENCODINGS = [
    "[" * 10**5,
    "7",
    json.dumps({nb301.PREFIX + name: 7 for name in nb301.inputs()}),
    json.dumps({nb301.PREFIX + name: {"a": 1, "b": 2, "c": 3, "d": 4} for name in nb301.inputs()}),
    json.dumps({nb301.PREFIX + name: dict.fromkeys(["#na#", *"0123"], "x") for name in nb301.inputs()}),
]


def surrogate(made: Path, model: bytes, encoding: str) -> str:
    folder = made / "benchmarks" / "nb301"
    folder.mkdir(parents=True)
    (folder / "new_model.onnx").write_bytes(model)
    (folder / "encoding.json").write_text(encoding)
    arch = darts.SPACE.sample(1, np.random.default_rng(0))[0]
    with pytest.raises(HarnessError, match=f"^{folder}") as caught:
        truth("darts", arch, "cifar10", 98, "val", "mean", source="nb301-onnx")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_encoding_of_another_shape_is_told(made, encoding, monkeypatch):
    monkeypatch.setattr(nb301, "_session", lambda *_: lambda feed: [[0.5]])
    assert "encoding.json" in surrogate(made, b"", encoding)


@pytest.mark.parametrize(
    "model", [b"", b"no network", struct.pack("<Q", 10**15) * 9, b"\x3a\xff\xff\xff\xff\x0f"]
)
def test_a_surrogate_that_is_no_network_is_told(made, model):
    assert "new_model.onnx is no readable ONNX network" in surrogate(made, model, ENCODINGS[-1])


def test_a_network_that_answers_otherwise_is_told(made, monkeypatch):
    """Of NAS-Bench-301's name and of another's inputs."""
    monkeypatch.setattr(nb301, "_session", lambda *_: lambda feed: [])
    encoding = (
        {"#na#": 0} | {name: 1 for name in darts.OPS} | {f"{a}_{b}": 1 for a in range(5) for b in range(5)}
    )
    every = json.dumps({nb301.PREFIX + name: encoding for name in nb301.inputs()})
    assert "new_model.onnx does not take what encoding.json names" in surrogate(made, b"", every)


def test_mutated_bench_files_are_converted_or_told(made, monkeypatch):
    """Some hundred bytes changed, wherever: in the table as it is packed and unpacked, in the archive."""
    chance, folder = random.Random(2021), write_nats(made / NATS, [1])
    table = write_nb201_csv(made / TABLE, nb201_rows(3))
    text = gzip.decompress(table.read_bytes())
    trials = {
        "nb201-nats": (
            folder / "meta.pickle.pbz2",
            (folder / "meta.pickle.pbz2").read_bytes(),
            bytes,
            folder,
        ),
        "nb201-table": (table, text, lambda data: gzip.compress(data, 1), table),
    }
    refused = 0
    for name, (path, whole, pack, named) in trials.items():
        for _ in range(60):
            data = bytearray(whole)
            for _ in range(chance.randint(1, 3)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            path.write_bytes(pack(bytes(data)))
            try:
                catalogue.open_store(catalogue.named(name), [named], say=lambda _: None)
            except HarnessError as error:
                assert str(error).startswith(str(named)) and "\n" not in str(error), error
                refused += 1
        path.write_bytes(pack(whole))
    assert 30 < refused < 120
