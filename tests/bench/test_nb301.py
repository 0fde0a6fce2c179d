"""NAS-Bench-301: genotypes into the surrogate's inputs, and what its answers are worth."""

import json
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from support import real_data

from harness.base.errors import HarnessError
from harness.base.files import sha256_of
from harness.bench import catalogue, nb301, seconds, truth, truths
from harness.spaces import darts

DARTS_V2 = (
    "Genotype(normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('sep_conv_3x3', 1), "
    "('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 0), ('dil_conv_3x3', 2)], "
    "normal_concat=[2, 3, 4, 5], "
    "reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('skip_connect', 2), "
    "('max_pool_3x3', 1), ('max_pool_3x3', 0), ('skip_connect', 2), "
    "('skip_connect', 2), ('max_pool_3x3', 1)], reduce_concat=[2, 3, 4, 5])"
)
OPS = ["#na#", *sorted(darts.OPS)]
PAIRS = {3: ["0_1", "0_2", "1_2"], 4: ["0_1", "0_2", "0_3", "1_2", "1_3", "2_3"]}
PAIRS[5] = [f"{a}_{b}" for a in range(5) for b in range(a + 1, 5)]


def codes():
    made = {}
    for name in nb301.inputs():
        choices = OPS if name.startswith("edge") else ["#na#", *PAIRS[int(name[-1])]]
        made[nb301.PREFIX + name] = {choice: code for code, choice in enumerate(choices)}
    return made


def decoded(arch):
    row = nb301.encode(darts.parse(arch), codes())[0]
    return {
        name: list(codes()[nb301.PREFIX + name])[code] for name, code in zip(nb301.inputs(), row, strict=True)
    }


def test_a_genotype_becomes_edges_and_input_pairs():
    found = decoded(DARTS_V2)
    assert len(found) == 34
    normal = {name: v for name, v in found.items() if "normal" in name and v != "#na#"}
    assert normal == {
        "edge_normal_0": "sep_conv_3x3",  # 0 -> 2
        "edge_normal_1": "sep_conv_3x3",  # 1 -> 2
        "edge_normal_2": "sep_conv_3x3",  # 0 -> 3
        "edge_normal_3": "sep_conv_3x3",  # 1 -> 3
        "edge_normal_5": "skip_connect",  # 0 -> 4
        "edge_normal_6": "sep_conv_3x3",  # 1 -> 4
        "edge_normal_9": "skip_connect",  # 0 -> 5
        "edge_normal_11": "dil_conv_3x3",  # 2 -> 5
        "inputs_node_normal_3": "0_1",
        "inputs_node_normal_4": "0_1",
        "inputs_node_normal_5": "0_2",
    }
    reduce = {name: v for name, v in found.items() if "reduce" in name and v != "#na#"}
    assert reduce["edge_reduce_4"] == "skip_connect" and reduce["inputs_node_reduce_3"] == "1_2"


def test_the_order_of_a_node_s_edges_does_not_matter():
    turned = DARTS_V2.replace(
        "('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 0)",
        "('skip_connect', 0), ('sep_conv_3x3', 1), ('skip_connect', 0)",
    )
    assert turned != DARTS_V2 and decoded(turned) == decoded(DARTS_V2)


def test_random_genotypes_use_sixteen_edges():
    for arch in darts.SPACE.sample(20, np.random.default_rng(0)):
        found = decoded(arch)
        assert sum(name.startswith("edge") and v != "#na#" for name, v in found.items()) == 16


def test_without_files_both_ways_are_named(made):
    with pytest.raises(
        HarnessError, match="nb301-ensemble: install nasbench301.*or nb301-onnx: put new_model"
    ):
        truth("darts", DARTS_V2, "cifar10", 98, "val", "mean")
    with pytest.raises(HarnessError, match="no source holds darts cifar10 test accuracy"):
        truth("darts", DARTS_V2, "cifar10", 98, "test", "mean")


def test_damaged_surrogate_files_are_one_error(made):
    folder = made / "benchmarks/nb301"
    folder.mkdir(parents=True)
    (folder / "new_model.onnx").write_bytes(b"no network")
    (folder / "encoding.json").write_text(json.dumps(codes()))
    with pytest.raises(HarnessError, match="new_model.onnx is no readable ONNX network"):
        truth("darts", DARTS_V2, "cifar10", 98, "val", "mean")


def test_an_encoding_of_something_else_is_one_error(onnx, made):
    folder = made / "benchmarks/nb301"
    folder.mkdir(parents=True)
    (folder / "new_model.onnx").symlink_to(onnx)
    for content in ("{}", "[1]", "no json", json.dumps({name: {} for name in codes()})):
        (folder / "encoding.json").write_text(content)
        with pytest.raises(HarnessError, match="encoding.json"):
            truth("darts", DARTS_V2, "cifar10", 98, "val", "mean")


# The official ensemble, by a stand-in package that only records how it is asked


@pytest.fixture
def ensemble(made, tmp_path, monkeypatch):
    package = tmp_path / "packages" / "nasbench301"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        textwrap.dedent(
            """
            class Api:
                def predict(self, config, representation, with_noise=True):
                    assert representation == "genotype" and not with_noise
                    return 90 + len([op for op, _ in config.normal if op == "sep_conv_3x3"])

            def load_ensemble(folder):
                return Api()
            """
        )
    )
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.delitem(sys.modules, "nasbench301", raising=False)
    member = made / nb301.ENSEMBLE / "0"
    member.mkdir(parents=True)
    (member / "surrogate_model.model").write_bytes(b"a pickle")
    yield made / nb301.ENSEMBLE
    sys.modules.pop("nasbench301", None)


def test_the_ensemble_loads_only_files_that_its_user_vouched_for(ensemble):
    with pytest.raises(HarnessError, match="has no SHA256SUMS: its models are pickles"):
        truth("darts", DARTS_V2, "cifar10", 98, "val", "mean")
    model = ensemble / "0" / "surrogate_model.model"
    (ensemble / nb301.SUMS).write_text(f"{sha256_of(model)}  ./0/surrogate_model.model\n")
    found = truth("darts", DARTS_V2, "cifar10", 98, "val", "mean")
    assert found.value == 95 and found.identity.source == "nb301-ensemble"
    assert "VALIDATION" in found.identity.policy and "without noise" in found.identity.policy
    model.write_bytes(b"another pickle")
    with pytest.raises(HarnessError, match="surrogate_model.model is not as SHA256SUMS lists it"):
        truth("darts", DARTS_V2, "cifar10", 98, "val", "mean")
    model.write_bytes(b"a pickle")
    (ensemble / "0" / "new.model").write_bytes(b"unlisted")
    with pytest.raises(HarnessError, match="new.model is not as SHA256SUMS lists it"):
        truth("darts", DARTS_V2, "cifar10", 98, "val", "mean")


def test_without_the_package_the_ensemble_is_not_here(ensemble, monkeypatch):
    absent = replace(nb301.ENSEMBLES, needs="no_such_package")
    monkeypatch.setattr(catalogue, "SOURCES", (absent, nb301.ONNX))
    with pytest.raises(HarnessError, match="nb301-ensemble is not here: install nasbench301"):
        truth("darts", DARTS_V2, "cifar10", 98, "val", "mean", source="nb301-ensemble")


# Real files


@pytest.fixture
def onnx(real):
    pytest.importorskip("onnxruntime")
    return real_data("benchmarks/nb301/new_model.onnx")


def test_identity_says_that_it_is_a_predicted_validation_accuracy(onnx):
    found = truth("darts", DARTS_V2, "cifar10", 98, "val", "mean", source="nb301-onnx")
    assert 90 < found.value < 97
    assert "predicted VALIDATION accuracy after 98 epochs" in found.identity.policy
    early = truth("darts", DARTS_V2, "cifar10", 5, "val", "mean", source="nb301-onnx")
    assert early.value < found.value
    cost = seconds("darts", DARTS_V2, "cifar10", 98, source="nb301-onnx").values[0]
    assert 1_000 < cost < 20_000
    for epochs in (0, 99):
        with pytest.raises(HarnessError, match=rf"at {epochs} epochs.*val at 1..98 epochs \(mean\)"):
            truth("darts", DARTS_V2, "cifar10", epochs, "val", "mean", source="nb301-onnx")
    with pytest.raises(HarnessError, match="has no rows: ask it with genotypes"):
        truths("darts", [1, 2], "cifar10", 98, "val", "mean", source="nb301-onnx")
    with pytest.raises(HarnessError, match="darts genotype"):
        truth("darts", "Genotype()", "cifar10", 98, "val", "mean", source="nb301-onnx")


def test_rank_correlation_with_the_official_predictions(onnx):
    """Against 500 noisy official predictions: .905 Spearman, .739 Kendall, 1.3 points above."""
    from scipy.stats import kendalltau, spearmanr

    path = real_data("benchmarks/nb301/reference_500_cells.json")
    reference = json.loads(path.read_text())["nasbench301"]["cifar10"]
    archs = [darts.from_pairs(pairs) for pairs in reference]
    official = np.array([one["val_accuracy"] for one in reference.values()])
    ours = truths("darts", archs, "cifar10", 98, "val", "mean", source="nb301-onnx").values
    params = np.array([one["params"] for one in reference.values()])
    rho, tau = spearmanr(ours, official)[0], kendalltau(ours, official)[0]
    assert 0.88 < rho < 0.93 and 0.71 < tau < 0.77
    assert rho > spearmanr(params, official)[0] + 0.05
    assert 1.0 < np.mean(ours - official) < 1.6  # a constant offset: never mix the two sources


def test_the_reference_answers_only_for_what_it_holds():
    real_data("benchmarks/nb301/reference_500_cells.json")
    held = nb301.reference_cells()
    assert len(held) == 500
    answers = truths("darts", held, "cifar10", 98, "val", "mean", source="nb301-reference").values
    assert 88 < answers.min() < answers.max() < 95
    other = next(a for a in darts.SPACE.sample(5, np.random.default_rng(0)) if darts.canonical(a) not in held)
    with pytest.raises(HarnessError, match="500 architectures and not"):
        truths("darts", [other], "cifar10", 98, "val", "mean", source="nb301-reference")
