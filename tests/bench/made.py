"""Small benchmark files, written by the tests in the publishers' formats."""

import base64
import bz2
import csv
import gzip
import hashlib
import io
import json
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np

from harness.bench import nats, wheel
from harness.bench.nb201_table import DATASETS
from harness.spaces.nb201 import SPACE, digits

ARCHS = list(SPACE.enumerate())
TWO_SEEDS = 3  # every third cell of the made table has two seeds


def value(row: int, *what: object) -> float:
    """A number that no other row and column has, as reproducible as a hash."""
    return int(hashlib.md5(repr((row, *what)).encode()).hexdigest()[:8], 16) / 2**32 * 90 + 5


def seeds(row: int) -> int:
    return 2 if row % TWO_SEEDS == 0 else 3


def nb201_rows(count: int = len(ARCHS)) -> list[dict[str, object]]:
    rows = []
    for row, arch in enumerate(ARCHS[:count]):
        made: dict[str, object] = {"idx": row, "arch_str": arch}
        for data in DATASETS.values():
            for k in range(3):
                held = k < seeds(row)
                made[f"{data}_val_acc_{k}"] = value(row, data, "val", k) if held else ""
                made[f"{data}_test_acc_{k}"] = value(row, data, "test", k) if held else ""
            for name in ("test_acc_mean", "oritest_acc_mean", "test_acc_1seed", "test_acc_12ep"):
                made[f"{data}_{name}"] = value(row, data, name)
            made[f"{data}_train_time_200ep_s"] = value(row, data, "seconds")
        rows.append(made)
    return rows


def write_nb201_csv(path: Path, rows: list[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_wheel(path: Path, count: int = 40) -> dict[str, tuple[str, str]]:
    """A zip like the wheel's; returns the pickles' names and sha256s as `wheel.PICKLES` lists them."""
    known = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        for dataset, (name, _) in wheel.PICKLES.items():
            content = {
                digits(arch): {
                    "val_acc": [value(row, DATASETS[dataset], "val", k) for k in range(seeds(row))],
                    "train_time": [value(row, DATASETS[dataset], "seconds")] * seeds(row),
                    "model_size": [0.0] * seeds(row),
                }
                for row, arch in enumerate(ARCHS[:count])
            }
            data = pickle.dumps(content)
            file.writestr(wheel.INSIDE + name, data)
            known[dataset] = (name, hashlib.sha256(data).hexdigest())
    return known


def nats_record(row: int) -> dict[str, object]:
    """The state that nats-bench pickles for one cell: both schedules, four runs."""
    record = {}
    for hp, names in (("12", ["111", "777"]), ("200", ["777", "888", "999"])):
        results, listed, epochs = {}, {}, int(hp)
        for run in nats.RUNS:
            mine = names[:1] if hp == "12" and run != "cifar10-valid" else names
            mine = mine[: seeds(row)]
            listed[run] = [int(name) for name in mine]
            for name in listed[run]:
                results[run, name] = nats_run(row, run, name, epochs)
        record[hp] = {
            "arch_index": row,
            "arch_str": ARCHS[row],
            "all_results": results,
            "dataset_seed": listed,
            "clear_net_done": True,
        }
    return record


def nats_run(row: int, run: str, name: int, epochs: int) -> dict[str, object]:
    sets = {"cifar10-valid": ["x-valid", "ori-test"], "cifar10": ["ori-test"]}
    accuracies, losses, times = {}, {}, {}
    for part in sets.get(run, ["x-valid", "x-test", "ori-test"]):
        # Of the long schedule the archive keeps every epoch on one set only, the last epoch on the others.
        whole = epochs == 12 or part == ("x-valid" if run == "cifar10-valid" else "ori-test")
        kept = range(epochs) if whole else [epochs - 1]
        for epoch in kept:
            accuracies[f"{part}@{epoch}"] = value(row, run, name, epochs, part, epoch)
            losses[f"{part}@{epoch}"] = value(row, run, name, epochs, part, epoch, "loss")
        times |= {f"{part}@{epoch}": 1.5 for epoch in range(epochs)}
    return {
        "name": run,
        "train_acc1es": {e: value(row, run, name, epochs, "train_acc", e) for e in range(epochs)},
        "train_acc5es": None,
        "train_losses": {e: value(row, run, name, epochs, "train_loss", e) for e in range(epochs)},
        "train_times": OrderedDict((e, 2.0 + row) for e in range(epochs)),
        "arch_config": {"channel": 16, "num_cells": 5, "arch_str": ARCHS[row], "class_num": 10},
        "params": np.float64(0.1),
        "flop": 15.6,
        "seed": f"0{name}",
        "epochs": epochs,
        "latency": [np.float64(0.01)],
        "eval_names": sets.get(run, ["x-valid", "x-test", "ori-test"]),
        "eval_acc1es": accuracies,
        "eval_times": times,
        "eval_losses": losses,
        "net_state_dict": None,
    }


def write_nats(folder: Path, rows: list[int]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    meta = {
        "meta_archs": ARCHS,
        "total_archs": len(ARCHS),
        "arch2infos": None,
        "evaluated_indexes": set(),
    }
    write_pickle(folder / "meta.pickle.pbz2", meta)
    for row in rows:
        write_pickle(folder / f"{row:06d}.pickle.pbz2", nats_record(row))
    return folder


def write_pickle(path: Path, content: object) -> None:
    path.write_bytes(bz2.compress(pickle.dumps(content, protocol=4), 1))


def crc32c(data: bytes) -> int:
    """Bit by bit, as the polynomial is defined: nothing in common with the table of the reader."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def tfrecord(payloads: list[bytes]) -> bytes:
    file = io.BytesIO()
    for payload in payloads:
        length = struct.pack("<Q", len(payload))
        file.write(length + masked(length) + payload + masked(payload))
    return file.getvalue()


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def evaluation(epoch: float, seconds: float, train: float, val: float, test: float) -> bytes:
    doubles = [epoch, seconds, train, val, test]
    message = b"".join(bytes([n << 3 | 1]) + struct.pack("<d", v) for n, v in enumerate(doubles, start=1))
    return message + bytes([6 << 3 | 2]) + varint(5) + b"model"  # the checkpoint path, of no use here


def nb101_row(name: str, epochs: int, bits: str, ops: str, val: float, test: float, seconds: float) -> bytes:
    ends = [
        evaluation(e, s, 0.5, v, t)
        for e, s, v, t in (
            (0.0, 0.0, 0.1, 0.1),
            (epochs / 2, seconds / 2, val / 2, test / 2),
            (epochs, seconds, val, test),
        )
    ]
    message = b"".join(b"\x0a" + varint(len(one)) + one for one in ends)
    message += b"\x10" + varint(8_555_530) + b"\x19" + struct.pack("<d", 2 * seconds)
    return json.dumps([name, epochs, bits, ops, base64.encodebytes(message).decode()]).encode()
