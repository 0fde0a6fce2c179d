"""The TFRecord container without TensorFlow: length, masked crc32c, payload, masked crc32c."""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness.base.errors import HarnessError

BATCH = 4096


def _crc_table() -> np.ndarray:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0x82F63B78), table >> 1)  # Castagnoli, reflected
    return table.astype(np.uint32)


TABLE = _crc_table()


def masked_crc32c(payloads: list[bytes]) -> np.ndarray:
    """Of many byte strings at once: one step per byte position, so that the batch shares Python's cost."""
    lengths = np.array([len(p) for p in payloads])
    order = np.argsort(-lengths, kind="stable")
    width = int(lengths.max(initial=0))
    block = b"".join(payloads[i].ljust(width, b"\0") for i in order)
    bytes_at = np.ascontiguousarray(np.frombuffer(block, np.uint8).reshape(len(payloads), width).T)
    active = np.searchsorted(-lengths[order], -np.arange(width), side="left")
    crc = np.full(len(payloads), 0xFFFFFFFF, np.uint32)
    for position, count in enumerate(active):
        now = crc[:count]
        crc[:count] = TABLE[(now ^ bytes_at[position, :count]) & 0xFF] ^ (now >> np.uint32(8))
    crc ^= np.uint32(0xFFFFFFFF)
    masked = ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(0xA282EAD8)
    found = np.empty_like(masked)
    found[order] = masked
    return found


def read(path: Path) -> Iterator[list[bytes]]:
    """Batches of checked payloads, in order; a damaged record is one error that names it."""
    if path.stat().st_size == 0:
        raise HarnessError(f"{path} is empty: fetch it again")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        offset, number = 0, 0
        while offset < len(data):
            headers, payloads, sums = [], [], []
            short = None
            while offset < len(data) and len(payloads) < BATCH and short is None:
                header = data[offset : offset + 12]
                length = struct.unpack_from("<Q", header)[0] if len(header) == 12 else 0
                end = offset + 12 + length
                if len(header) < 12 or end + 4 > len(data):
                    short = header
                    break
                headers.append(header)
                payloads.append(data[offset + 12 : end])
                sums.append(struct.unpack_from("<I", data, end)[0])
                offset = end + 4
            _check(path, number, headers, payloads, sums)
            if short is not None:
                whole = len(short) == 12 and _length_ok([short])[0]
                cause = "is cut off" if whole or len(short) < 12 else "has a damaged length"
                raise HarnessError(f"{path}: record {number + len(payloads)} {cause}: fetch the file again")
            number += len(payloads)
            yield payloads


def _length_ok(headers: list[bytes]) -> np.ndarray:
    stated = np.array([struct.unpack_from("<I", header, 8)[0] for header in headers], np.uint32)
    return masked_crc32c([header[:8] for header in headers]) == stated


def _check(path: Path, first: int, headers: list[bytes], payloads: list[bytes], sums: list[int]) -> None:
    if not headers:
        return
    lengths = _length_ok(headers)
    contents = masked_crc32c(payloads) == np.array(sums, np.uint32)
    bad = np.flatnonzero(~(lengths & contents))
    if len(bad):
        what = "content" if lengths[bad[0]] else "length"
        raise HarnessError(
            f"{path}: record {first + bad[0]} has a damaged {what} (crc32c): fetch the file again"
        )
