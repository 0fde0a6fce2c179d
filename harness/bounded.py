"""To how much a file may unpack. These bounds refuse a file and change no number that is read from one."""

import struct
import zipfile
import zlib
from pathlib import Path

from harness.files import LARGEST, unpacks_to_more

NATS_RECORD = 64 << 20  # bytes; they have about one megabyte
NB201_TABLE = 128 << 20  # it has eleven megabytes


def require_small_mat(data: bytes, name: str) -> None:
    """MATLAB 5: behind the header elements of kind, size and content, of which kind 15 is packed."""
    at = 128
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(f"{'>' if data[126:128] == b'MI' else '<'}II", data, at)
        at += 8 + size
        packed = data[at - size : at] if kind == 15 else b""
        if len(zlib.decompressobj().decompress(packed, LARGEST + 1)) > LARGEST:
            raise unpacks_to_more(name, LARGEST)


def require_small_npz(path: Path) -> None:
    """By the sizes that it declares."""
    with zipfile.ZipFile(path) as box:
        if sum(member.file_size for member in box.infolist()) > LARGEST:
            raise unpacks_to_more(path, LARGEST)
