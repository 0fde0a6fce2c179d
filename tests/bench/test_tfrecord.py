"""The container: checksums by the published test vectors, damage named by record."""

import random

import numpy as np
import pytest
from bench.made import crc32c, masked, tfrecord
from support import real_data

from harness.base.errors import HarnessError
from harness.bench import tfrecord as reader

RECORDS = [b"", b"a", b"123456789", bytes(range(256)) * 3, b"last one"]


def read_all(path):
    return [payload for batch in reader.read(path) for payload in batch]


def unmask(value):
    rotated = (int(value) - 0xA282EAD8) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF


def test_crc32c_has_the_published_check_values():
    vectors = {b"123456789": 0xE3069283, b"\0" * 32: 0x8A9136AA, b"\xff" * 32: 0x62A8AB43}
    got = reader.masked_crc32c(list(vectors))
    assert [unmask(one) for one in got] == list(vectors.values())


def test_crc32c_of_a_mixed_batch_equals_the_definition():
    rng = random.Random(0)
    payloads = [rng.randbytes(rng.randrange(90)) for _ in range(64)]
    got = [unmask(one) for one in reader.masked_crc32c(payloads)]
    assert got == [crc32c(one) for one in payloads]


@pytest.mark.parametrize("batch", [1, 2, 4096])
def test_records_come_back_whole_and_in_order(tmp_path, monkeypatch, batch):
    monkeypatch.setattr(reader, "BATCH", batch)
    path = tmp_path / "x.tfrecord"
    path.write_bytes(tfrecord(RECORDS))
    assert read_all(path) == RECORDS


def test_every_truncation_names_the_cut_record(tmp_path):
    data, path = tfrecord(RECORDS), tmp_path / "x.tfrecord"
    ends = np.cumsum([16 + len(record) for record in RECORDS])
    for length in range(1, len(data)):
        if length in ends:
            continue
        path.write_bytes(data[:length])
        number = int(np.searchsorted(ends, length, side="right"))
        with pytest.raises(HarnessError, match=f"x.tfrecord: record {number} is cut off"):
            read_all(path)


def test_every_flipped_bit_is_one_error_that_names_the_record(tmp_path):
    data, path = tfrecord(RECORDS), tmp_path / "x.tfrecord"
    ends = np.cumsum([16 + len(record) for record in RECORDS])
    for position in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        number = int(np.searchsorted(ends, position, side="right"))
        with pytest.raises(HarnessError, match=f"record {number} (has a damaged|is cut off)"):
            read_all(path)


def test_a_damaged_length_in_the_middle_is_not_called_a_truncation(tmp_path):
    path = tmp_path / "x.tfrecord"
    huge = (1 << 40).to_bytes(8, "little")
    path.write_bytes(tfrecord(RECORDS[:3]) + huge + b"\0\0\0\0" + tfrecord(RECORDS))
    with pytest.raises(HarnessError, match="record 3 has a damaged length"):
        read_all(path)
    path.write_bytes(tfrecord(RECORDS[:3]) + huge + masked(huge))
    with pytest.raises(HarnessError, match="record 3 is cut off"):
        read_all(path)


def test_an_empty_file_is_an_error(tmp_path):
    path = tmp_path / "x.tfrecord"
    path.touch()
    with pytest.raises(HarnessError, match="x.tfrecord is empty"):
        read_all(path)


def test_the_official_file_reads_whole():
    records = read_all(real_data("benchmarks/nb101/official_91_cells.tfrecord"))
    assert len(records) == 364 and records[0].startswith(b'["5529e1779433733d1145e20de5d8604e", 4,')
