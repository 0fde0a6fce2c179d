"""Downloads against a server on this machine that resumes, ignores, truncates, lies and hangs."""

import errno
import hashlib
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest

from harness.base.errors import HarnessError
from harness.data import download as module
from harness.data.download import download

BODY = np.random.default_rng(0).bytes(300_000)
SHA, MD5 = hashlib.sha256(BODY).hexdigest(), hashlib.md5(BODY).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """What the server does is its `how`; what was asked of it is in `seen`."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        how, asked = self.server.how, self.headers.get("Range")
        self.server.seen.append(asked)
        body = self.server.body
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and how.get("range", True) else 0
        if start and start >= len(body):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(body)}")
            self.end_headers()
            return
        if how.get("status"):
            self.send_error(how["status"])
            return
        part = body[start:]
        self.send_response(206 if start else 200)
        if start:
            shifted = start + how.get("shift", 0)
            self.send_header("Content-Range", f"bytes {shifted}-{len(body) - 1}/{len(body)}")
        if how.get("length", True):
            self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        if "hang" in how:
            self.wfile.write(part[: how["hang"].pop(0)])
            self.server.released.wait(20)
            return
        cuts = how.get("cut", [])
        self.wfile.write(part[: cuts.pop(0)] if cuts else part)


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.how, server.seen, server.body, server.released = {}, [], BODY, threading.Event()
        server.url = f"http://127.0.0.1:{server.server_port}/set.bin"
        thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01), daemon=True)
        thread.start()
        yield server
        server.released.set()
        server.shutdown()
        thread.join()


def left(folder):
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("known", [{}, {"size": len(BODY)}, {"sha256": SHA}, {"md5": MD5, "size": len(BODY)}])
def test_a_download_is_whole_and_alone(server, tmp_path, known):
    calls = []
    got = download(server.url, tmp_path / "new" / "set.bin", progress=lambda *a: calls.append(a), **known)
    assert got.read_bytes() == BODY
    assert left(got.parent) == ["set.bin"]
    assert calls[-1] == (server.url, len(BODY), len(BODY))


@pytest.mark.parametrize("came", [0, 1000])
def test_a_server_that_hangs_is_not_waited_for(server, tmp_path, came):
    server.how = {"hang": [came, 0]}
    with pytest.raises(HarnessError, match=r"cannot be reached \(timed out\): check the network"):
        download(server.url, tmp_path / "set.bin", timeout=0.2)
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [came] * (came > 0)  # to go on from


def test_what_is_there_and_right_is_not_fetched_again_and_what_is_wrong_is(server, tmp_path):
    target = tmp_path / "set.bin"
    target.write_bytes(BODY)
    download(server.url, target, sha256=SHA)
    assert server.seen == []
    target.write_bytes(b"x" * len(BODY))
    assert download(server.url, target, sha256=SHA).read_bytes() == BODY


def test_a_part_is_continued_by_range(server, tmp_path):
    (tmp_path / "set.bin.part").write_bytes(BODY[:1000])
    assert download(server.url, tmp_path / "set.bin", sha256=SHA).read_bytes() == BODY
    assert server.seen == ["bytes=1000-"]


def test_a_server_that_ignores_ranges_still_gives_the_right_file(server, tmp_path):
    server.how["range"] = False
    (tmp_path / "set.bin.part").write_bytes(BODY[:1000])
    assert download(server.url, tmp_path / "set.bin", sha256=SHA).read_bytes() == BODY
    assert server.seen == ["bytes=1000-"]


def test_a_connection_that_breaks_is_continued(server, tmp_path):
    server.how["cut"] = [100_000, 50_000]
    assert download(server.url, tmp_path / "set.bin", sha256=SHA).read_bytes() == BODY
    assert server.seen == [None, "bytes=100000-", "bytes=150000-"]


def test_a_connection_that_always_breaks_leaves_a_part_to_continue(server, tmp_path):
    server.how["cut"] = [1000] * 99
    with pytest.raises(HarnessError, match="broke off after 4000 of 300000 bytes"):
        download(server.url, tmp_path / "set.bin", sha256=SHA)
    assert left(tmp_path) == ["set.bin.part"]
    server.how.clear()
    assert download(server.url, tmp_path / "set.bin", sha256=SHA).read_bytes() == BODY
    assert server.seen[-1] == "bytes=4000-"


def test_a_short_answer_without_a_length_is_caught_by_the_known_size(server, tmp_path):
    server.how |= {"length": False, "cut": [1000]}
    got = download(server.url, tmp_path / "set.bin", size=len(BODY))
    assert got.read_bytes() == BODY and len(server.seen) == 2


@pytest.mark.parametrize("known", [{"sha256": SHA}, {"md5": MD5}])
def test_wrong_bytes_are_named_and_nothing_is_left(server, tmp_path, known):
    server.body = bytes([BODY[0] ^ 1]) + BODY[1:]
    found = hashlib.new("sha256" if "sha256" in known else "md5", server.body).hexdigest()
    with pytest.raises(HarnessError) as caught:
        download(server.url, tmp_path / "set.bin", **known)
    said = str(caught.value)
    assert server.url in said and found in said and next(iter(known.values())) in said and "\n" not in said
    assert left(tmp_path) == []


def test_a_part_of_an_older_file_is_thrown_away_and_begun_again(server, tmp_path):
    (tmp_path / "set.bin.part").write_bytes(b"old" * 100)
    assert download(server.url, tmp_path / "set.bin", sha256=SHA).read_bytes() == BODY
    assert server.seen == ["bytes=300-", None]


def test_a_part_that_is_whole_needs_no_request_and_one_that_is_too_long_is_begun_again(server, tmp_path):
    part = tmp_path / "set.bin.part"
    part.write_bytes(BODY)
    assert download(server.url, tmp_path / "set.bin", size=len(BODY), sha256=SHA).read_bytes() == BODY
    assert server.seen == []
    (tmp_path / "set.bin").unlink()
    part.write_bytes(BODY)
    assert download(server.url, tmp_path / "set.bin", sha256=SHA).read_bytes() == BODY
    (tmp_path / "set.bin").unlink()
    part.write_bytes(BODY + b"x")
    assert download(server.url, tmp_path / "set.bin", sha256=SHA).read_bytes() == BODY


def test_more_than_was_expected_is_stopped(server, tmp_path):
    with pytest.raises(HarnessError, match="more than the 1000 bytes"):
        download(server.url, tmp_path / "set.bin", size=1000, sha256=SHA)
    assert left(tmp_path) == []


def test_another_range_than_was_asked_for_is_refused(server, tmp_path):
    server.how["shift"] = 5
    (tmp_path / "set.bin.part").write_bytes(BODY[:1000])
    with pytest.raises(HarnessError, match="another part"):
        download(server.url, tmp_path / "set.bin", sha256=SHA)


def test_a_refusal_is_one_sentence(server, tmp_path):
    server.how["status"] = 404
    with pytest.raises(HarnessError, match=r"was refused \(404 Not Found\)"):
        download(server.url, tmp_path / "set.bin", sha256=SHA)


def test_no_network_is_one_sentence(server, tmp_path):
    url = server.url
    server.server_close()
    with pytest.raises(HarnessError, match="cannot be reached .*check the network"):
        download(url, tmp_path / "set.bin", timeout=2)
    assert left(tmp_path) == []
    with pytest.raises(HarnessError, match="only http and https"):
        download("file:///etc/passwd", tmp_path / "set.bin")


def test_a_full_disk_is_one_sentence(server, tmp_path, monkeypatch):
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(HarnessError, match="10 bytes left where .* needs 300000"):
        download(server.url, tmp_path / "set.bin")
    monkeypatch.undo()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "_copy", full)
    with pytest.raises(HarnessError, match="is full: make room or set NAS_CACHE"):
        download(server.url, tmp_path / "set.bin")


def test_a_folder_that_cannot_be_written_is_one_sentence(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(HarnessError, match="cannot be written: set NAS_CACHE"):
        download(server.url, tmp_path / "file" / "set.bin")


def test_two_processes_do_not_write_one_part(server, tmp_path):
    with module._only_one(tmp_path / "set.bin.part"), pytest.raises(HarnessError, match="by another process"):
        download(server.url, tmp_path / "set.bin")
