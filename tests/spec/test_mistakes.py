"""Mistakes in experiments.yaml and in an artefact's YAML: one sentence each, with the file and the line."""

import pytest
import tiny

from harness.base.errors import HarnessError
from harness.spec import artefacts, experiments

EXPERIMENTS = "reproduce/mini/experiments.yaml"
TABLE = "tables/mini/table_1.yaml"

# what is written instead of what, the line of it, and what the user is told
EXPERIMENT_MISTAKES = [
    ("year: 2021", "yaer: 2021", 4, "unknown key 'yaer' in the file: did you mean 'year'?"),
    ("year: 2021\n", "", 1, "the file lacks the key 'year'"),
    ("year: 2021", "year: MMXXI", 4, "year: 'MMXXI' is not of type 'integer'"),
    ("paper: mini", "paper: Mini", 1, "paper: 'Mini' does not match"),
    ("    methods:", "    method:", 9, "unknown key 'method' in experiments.noise: did you mean 'methods'?"),
    ("    seeds: [0, 1, 2]\n", "", 6, "experiments.noise lacks the key 'seeds'"),
    ("seeds: [0, 1, 2]", "seeds: [0, -1]", 15, "experiments.noise.seeds.1"),
    ("seeds: [0, 1, 2]", "seeds: [0, 0]", 15, "non-unique"),
    ("seeds: [0, 1, 2]", "seeds: []", 15, "experiments.noise.seeds"),
    ("strong: {}", "strong: 3", 10, "experiments.noise.methods.strong"),
    ("strong: {}", "Strong: {}", 10, "'Strong' does not match"),
    (
        "      smoke:",
        "      smok:",
        19,
        "unknown key 'smok' in experiments.noise.scales: did you mean 'smoke'?",
    ),
    (
        "        skip:",
        "        skp:",
        18,
        "unknown key 'skp' in experiments.noise.scales.cpu: did you mean 'skip'?",
    ),
    (
        "this method takes longer than anybody would wait",
        "later",
        18,
        "experiments.noise.scales.cpu.skip.weak",
    ),
    (
        "skip: {weak:",
        "skip: {week:",
        18,
        "'week', which is no method or setting of noise: did you mean 'weak'?",
    ),
    (
        "    seeds:",
        "    resources: {gpus: 1}\n    seeds:",
        15,
        "unknown key 'gpus' in experiments.noise.resources",
    ),
    ("paper: mini", "paper: maxi", 1, "paper is 'maxi', not 'mini'"),
    ("effect: 2.0", "effect: .nan", 8, "config.effect is no finite number"),
    ("effect: 2.0", "effect: 1e999", 8, "config.effect is no finite number"),
    ("effect: 2.0", f"effect: 1{'0' * 400}", 8, "config.effect is no finite number"),
    ("effect: 2.0", "effect: 2021-01-02", 8, "config.effect is a date: quote it if it is text"),
    ("effect: 2.0", "effect: !!set {a, b}", 8, "config.effect is a set"),
    ("effect: 2.0", "1: 2.0", 8, "noise.config.1: 1 is not of type 'string'"),
    ("strong: {}", "1: {}", 10, "noise.methods.1: 1 is not of type 'string'"),
    ("strong: {}", '"strong\\n": {}', 10, "does not match"),
    ("strong: {}", f"{'x' * 300}: {{}}", 10, "too long"),
    ("  noise:\n", "  ../noise:\n", 6, "'../noise' does not match"),
    ("seeds: [0, 1, 2]", f"seeds: [{10**30}]", 15, "maximum"),
    ("    seeds:", "    needs: [CIFAR 10]\n    seeds:", 15, "does not match"),
    ("    seeds:", "    module: ../../x\n    seeds:", 15, "does not match"),
]


@pytest.mark.parametrize("old, new, line, told", EXPERIMENT_MISTAKES)
def test_mistakes_in_experiments(tmp_path, old, new, line, told):
    root = tiny.project(tmp_path)
    path = tiny.edit(root, EXPERIMENTS, old, new)
    with pytest.raises(HarnessError) as caught:
        experiments.paper("mini", root)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert told in str(caught.value) and "\n" not in str(caught.value)


TWICE = tiny.TABLE[tiny.TABLE.index("  - id: high-above-low") :]
ARTEFACT_MISTAKES = [
    ("title:", "titel:", 3, "unknown key 'titel' in the file: did you mean 'title'?"),
    ("title: Means and correlations\n", "", 1, "the file lacks the key 'title'"),
    (
        "comparable_from: smoke",
        "comparable_from: smoky",
        4,
        "'smoky', which does not exist: did you mean 'smoke'?",
    ),
    (
        "{name: low, setting",
        "{name: low, seting",
        9,
        "unknown key 'seting' in rows.0: did you mean 'setting'?",
    ),
    (
        "cells: {experiment",
        "cells: {experimant",
        7,
        "unknown key 'experimant' in cells: did you mean 'experiment'?",
    ),
    (
        "reduce: spearman",
        "reduce: speerman",
        14,
        "'speerman', which does not exist: did you mean 'spearman'?",
    ),
    ("spread: sample_sd", "spread: sample_std", 15, "did you mean 'sample_sd'?"),
    ("{runs: 3", "{rums: 3", 15, "unknown key 'rums' in reported: did you mean 'runs'?"),
    ("where: section 1\n    tests", "wo: section 1\n    tests", 23, "unknown key 'wo' in claims.0"),
    ("    where: section 1\n    tests", "    tests", 21, "claims.0 lacks the key 'where'"),
    (
        "strong > low",
        "strong >= low",
        24,
        "'high | strong >= low | strong' is no test: write",
    ),
    (
        "[high | strong > low | strong]",
        "[spread(high | strong) = spread(low | strong)]",
        24,
        "is no test: write",
    ),
    (
        "[high | strong > low | strong]",
        "[high | strong > low | strong ± 1]",
        24,
        "column 'strong ± 1' does not exist: did",
    ),
    (
        "[high | strong > low | strong]",
        "[high > low]",
        24,
        "'high > low' is no test: write",
    ),
    (
        "[high | strong > low | strong]",
        "['{a} | strong > 3']\n    over: {b: [1]}",
        25,
        "nothing in the claim has",
    ),
    ("deviations: [D1]", "deviations: [E1]", 5, "deviations.0"),
    # names that no schema can know
    ("deviations: [D1]", "deviations: [D2]", 5, "deviation 'D2' does not exist: did you mean 'D1'?"),
    ("artefact: mini/table_1", "artefact: mini/table_2", 1, "artefact must be 'mini/table_1'"),
    ("experiment: noise", "experiment: nose", 7, "experiment 'nose' does not exist: did you mean 'noise'?"),
    ("setting: low}", "setting: lo}", 9, "setting 'lo' does not exist: did you mean 'low'?"),
    ("method: weak", "method: week", 13, "method 'week' does not exist: did you mean 'weak'?"),
    (
        "  | high | 5",
        "  | hihg | 5",
        19,
        "printed row 'hihg' does not exist: did you mean 'high'?",
    ),
    (
        "  |      | strong",
        "  |      | strnog",
        17,
        "printed column 'strnog' does not exist: did",
    ),
    ("  |      | strong", "  | rows | strong", 17, "and nothing above rows"),
    ("| weak      |", "| strong    |", 17, "above a printed table stand its columns, each once"),
    ("| 5.0 (0.2) | 5.0 (0.2) |", "| 5.0 (0.2) |", 19, "printed row 'high' has 1 cells below 2 columns"),
    ("| 5.0 (0.2) | 5.0 (0.2) |", "| 5.0 (0.2) | 5.0 (0.2)", 19, "begins and ends with a bar"),
    ("  | high | 5", "  | low  | 5", 19, "low / strong is printed twice: remove one of the two"),
    (
        "{name: low, setting: low}",
        "{name: low, setting: low, columns: [weak]}",
        18,
        "the row has no such column",
    ),
    (
        "{name: low, setting: low}",
        "{name: low, setting: low, columns: [wek]}",
        9,
        "column 'wek' of a row does",
    ),
    (
        "{name: low, setting: low}",
        "{name: low, setting: low, k: '{y}'}",
        9,
        "k is {y}: write how many",
    ),
    ("{name: low, setting: low}", "{x: [1, 3, ..., 10]}", 9, "steps of 2 from 3 never reach 10"),
    (
        "{name: low, setting: low}",
        "{x: [..., 10]}",
        9,
        "'...' stands between whole numbers: [0",
    ),
    ("[high | strong", "[hgh | strong", 24, "row 'hgh' does not exist: did you mean 'high'?"),
    ("[high | strong", "[high | strog", 24, "column 'strog' does not exist: did you mean 'strong'?"),
    ('format: ".2f"', 'format: ".2fE"', 6, "format '.2fE' prints no number"),
    ('format: ".2f"', 'format: "999999999f"', 6, "prints no number"),
    ("{name: low, setting: low}", "{name: low, setting: low, format: d}", 9, "format 'd' prints no number"),
    ("cells: {experiment: noise}\n", "", 17, "low / strong is printed and is of no experiment: add"),
    (TWICE, TWICE * 2, 25, "a claim's id 'high-above-low' is empty or stands twice"),
    ("id: high-above-low", "id: '{}'", 21, "a claim's id '' is empty or stands twice"),
    (
        "tests: [high | strong > low | strong]",
        "tests: [rising(low; high | strong)]",
        24,
        "a trend needs three points",
    ),
    ("{name: low, setting: low}", "{name: low, setting: low, k: .inf}", 9, "rows.0.k is no finite number"),
]


@pytest.mark.parametrize("old, new, line, told", ARTEFACT_MISTAKES)
def test_mistakes_in_an_artefact(tmp_path, old, new, line, told):
    root = tiny.project(tmp_path)
    path = tiny.edit(root, TABLE, old, new)
    with pytest.raises(HarnessError) as caught:
        artefacts.artefacts(root)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert told in str(caught.value) and "\n" not in str(caught.value)
