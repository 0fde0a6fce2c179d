"""NAS-Bench-301: predicted VALIDATION accuracies of DARTS genotypes; no number here was ever trained."""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from harness.base.errors import HarnessError
from harness.base.files import sha256_of
from harness.bench.carried import find_data
from harness.bench.identity import Column, Key, Source
from harness.bench.store import hash_of
from harness.spaces.darts import Genotype, canonical, from_pairs, parse

PREFIX = "NetworkSelectorDatasetInfo_COLON_darts_COLON_"
FIRST_EDGE = (
    0,
    2,
    5,
    9,
)  # number of the edge from input 0 to node 2, 3, 4, 5 when edges are counted node by node
LAST_EPOCH = 98
ENSEMBLE = "nb_models_1.0/xgb"
SUMS = "SHA256SUMS"


def inputs() -> list[str]:
    """The 34 categorical inputs in the order of the network: edges by number, not as the JSON sorts them."""
    edges = [f"edge_{cell}_{edge}" for cell in ("normal", "reduce") for edge in range(14)]
    return edges + [f"inputs_node_{cell}_{node}" for cell in ("normal", "reduce") for node in (3, 4, 5)]


def encode(genotype: Genotype, codes: dict[str, dict[str, int]]) -> np.ndarray:
    """The categorical inputs of one genotype; edges that it does not use are `#na#`."""
    chosen = {}
    for name, cell in (("normal", genotype.normal), ("reduce", genotype.reduce)):
        for node, first in enumerate(FIRST_EDGE):
            pair = cell[2 * node : 2 * node + 2]
            chosen |= {f"edge_{name}_{first + source}": op for op, source in pair}
            if node:
                chosen[f"inputs_node_{name}_{node + 2}"] = "_".join(str(source) for _, source in pair)
    row = [codes[PREFIX + name][chosen.get(name, "#na#")] for name in inputs()]
    return np.array([row], dtype=np.int32)


@lru_cache(maxsize=2)
def _session(model: str, mtime_ns: int) -> Callable[[dict[str, np.ndarray]], np.ndarray]:
    import onnxruntime
    from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidGraph, InvalidProtobuf, NoSuchFile
    from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NotImplemented_

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # another number may round differently
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except (Fail, InvalidGraph, InvalidProtobuf, NoSuchFile, NotImplemented_) as error:
        raise HarnessError(f"{model} is no readable ONNX network ({error}): fetch it again") from None
    return lambda feed: session.run(None, feed)[0][0]


def predict_onnx(files: list[Path], archs: Sequence[str], key: Key) -> np.ndarray:
    """One network call per genotype: the network was exported with batch size 1."""
    model, encoding = files
    run = _session(str(model), model.stat().st_mtime_ns)
    try:
        codes = json.loads(encoding.read_text())
        sizes = [len(codes[PREFIX + name]) for name in inputs()]
    except (ValueError, KeyError, TypeError) as error:
        raise HarnessError(
            f"{encoding} is not the encoding of NAS-Bench-301 ({error!r}): fetch it again"
        ) from None
    if min(sizes) < 4:
        raise HarnessError(f"{encoding} lists too few choices: fetch it again")
    epoch = np.array([[key.epochs]], dtype=np.float32)
    place = 1 if key.what == "seconds" else 0
    answers = [run({"x_cat": encode(parse(arch), codes), "x_cont": epoch})[place] for arch in archs]
    return np.array(answers, dtype=float)


def predict_ensemble(files: list[Path], archs: Sequence[str], key: Key) -> np.ndarray:
    """The official ensemble's mean, noise off: its default adds a random draw to every answer."""
    api = _ensemble(files[0])
    answers = []
    for arch in archs:
        genotype = parse(arch)
        cells = SimpleNamespace(normal=list(genotype.normal), reduce=list(genotype.reduce))
        answers.append(float(api.predict(config=cells, representation="genotype", with_noise=False)))
    return np.array(answers)


@lru_cache(maxsize=2)
def _reference(file: str, mtime_ns: int) -> dict[str, float]:
    try:
        cells = json.loads(Path(file).read_text())["nasbench301"]["cifar10"]
        return {canonical(str(from_pairs(text))): float(cell["val_accuracy"]) for text, cell in cells.items()}
    except (ValueError, KeyError, TypeError) as error:
        raise HarnessError(
            f"{file} is no list of NAS-Bench-301 predictions ({error!r}): fetch it again"
        ) from None


def reference_cells() -> list[str]:
    """The genotypes that nb301-reference holds."""
    path = find_data(REFERENCE.files[0][0])
    if path is None:
        raise HarnessError(f"{REFERENCE.files[0][0]} is not there: {REFERENCE.get}")
    return list(_reference(str(path), path.stat().st_mtime_ns))


def predict_reference(files: list[Path], archs: Sequence[str], key: Key) -> np.ndarray:
    known = _reference(str(files[0]), files[0].stat().st_mtime_ns)
    absent = [arch for arch in archs if canonical(arch) not in known]
    if absent:
        raise HarnessError(
            f"nb301-reference holds {len(known)} architectures and not {absent[0]}: ask nb301-onnx for others"
        )
    return np.array([known[canonical(arch)] for arch in archs])


def _ensemble(folder: Path) -> Any:
    check_sums(folder)
    try:
        from nasbench301 import load_ensemble
    except ImportError as error:
        raise HarnessError(
            f"nasbench301 does not import ({error}): see docs/optional-packages.md, or ask nb301-onnx"
        ) from None
    return load_ensemble(str(folder))


def check_sums(folder: Path) -> None:
    """nasbench301 unpickles the models itself: only files that the user's own SHA256SUMS lists."""
    listed = folder / SUMS
    if not listed.is_file():
        raise HarnessError(
            f"{folder} has no {SUMS}: its models are pickles, which can run code when loaded; if you trust "
            f"them, run `find . -type f ! -name {SUMS} -exec sha256sum {{}} + > {SUMS}` in it"
        )
    known = dict(line.split(maxsplit=1)[::-1] for line in listed.read_text().splitlines() if line.strip())
    known = {name.lstrip("*").removeprefix("./"): sha for name, sha in known.items()}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p != listed):
        name = path.relative_to(folder).as_posix()
        if known.get(name) != sha256_of(path):
            raise HarnessError(f"{path} is not as {SUMS} lists it and was not loaded: restore the file")


@lru_cache(maxsize=8)
def hash_once(paths: tuple[str, ...], stamps: tuple[int, ...]) -> str:
    """sha256 of the model files, again only when a time changes."""
    files = [file for p in map(Path, paths) for file in (sorted(p.rglob("*")) if p.is_dir() else [p])]
    return hash_of([file for file in files if file.is_file()])


def _columns(epochs: Sequence[int], how: str, seconds: bool) -> tuple[Column, ...]:
    made = []
    for epoch in epochs:
        policy = (
            f"predicted VALIDATION accuracy after {epoch} epochs ({how}); not trained, not a test accuracy"
        )
        made.append(Column(Key("accuracy", "cifar10", epoch, "val", "mean"), policy))
        if seconds:
            policy = f"predicted training seconds up to epoch {epoch} ({how})"
            made.append(Column(Key("seconds", "cifar10", epoch, "train", "mean"), policy))
    return tuple(made)


ONNX = Source(
    name="nb301-onnx",
    spaces=("darts",),
    holds="NAS-Bench-301 surrogate as a network: predicted validation accuracy and seconds, epochs 1 to 98",
    files=(
        ("benchmarks/nb301/new_model.onnx", "benchmarks/nb301/encoding.json"),
        ("nb301/new_model.onnx", "nb301/encoding.json"),
    ),
    get="put new_model.onnx and encoding.json of YAHPO Gym's nb301 (github.com/slds-lmu/yahpo_data) there",
    columns=_columns(
        range(1, LAST_EPOCH + 1), "YAHPO Gym's network; over-rates cells without parameters", True
    ),
    cells=0,
    predict=predict_onnx,
    version="YAHPO Gym nb301",
)

ENSEMBLES = Source(
    name="nb301-ensemble",
    spaces=("darts",),
    holds="NAS-Bench-301 official XGBoost ensemble: validation accuracy at 98 epochs, predicted, noise off",
    files=((ENSEMBLE,), (f"benchmarks/nb301/{ENSEMBLE}",)),
    get="install nasbench301 and put its models there (docs/optional-packages.md); nb301-onnx works without",
    columns=_columns([LAST_EPOCH], "mean of the official v1.0 XGBoost ensemble, without noise", False),
    cells=0,
    predict=predict_ensemble,
    version="nasbench301 models v1.0, xgb",
    needs="nasbench301",
)

REFERENCE = Source(
    name="nb301-reference",
    spaces=("darts",),
    holds="500 architectures with the official NAS-Bench-301 ensemble's predictions, its noise included",
    files=(("benchmarks/nb301/reference_500_cells.json",), ("nb301/reference_500_cells.json",)),
    get="put the predictions that zero-cost studies published for 500 DARTS cells there",
    columns=_columns([LAST_EPOCH], "official ensemble with its noise, 500 architectures only", False),
    cells=0,
    predict=predict_reference,
    version="NAS-Bench-301 predictions of 500 cells",
)
