"""Random search and regularised evolution on a table: Table 4.6's protocol, step by step."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from harness.runs.record import Run
from harness.spaces import nb201
from harness.spec.experiments import RunSpec
from reproduce.sotl import query_search
from reproduce.sotl.query_search import Answers, Config, mutate, random_search, regularised_evolution

SIZE = nb201.SPACE.size
SEARCHES = {"random": random_search, "evolution": regularised_evolution}


def config(**changed) -> Config:
    answers = Answers(12, "val", "mean")
    given = {"dataset": "cifar10", "source": "a-table", "search": "evolution", "reward": answers}
    given |= {"final": answers, "cost_epochs": 12, "timed_epochs": 200, "budget": 100.0, "repeats": 3}
    return Config(**given | changed)


class Seen(np.ndarray):
    """An array of rewards that remembers which of them were asked, in order."""

    asked: list[int]

    def __getitem__(self, index):
        self.asked.append(int(index))
        return float(np.asarray(self)[index])


def seen(values: np.ndarray) -> Seen:
    array = values.view(Seen)
    array.asked = []
    return array


def digits(arch: int) -> str:
    return np.base_repr(arch, 5).zfill(6)


def test_the_index_is_the_cells_digits():
    archs = list(nb201.SPACE.enumerate())
    for index in (0, 1, 5, 777, SIZE - 1):
        assert nb201.digits(archs[index]) == digits(index)


def test_a_mutation_changes_exactly_one_edge():
    rng = np.random.default_rng(0)
    for arch in rng.integers(SIZE, size=2000):
        child = mutate(int(arch), rng)
        assert 0 <= child < SIZE
        assert sum(a != b for a, b in zip(digits(arch), digits(child), strict=True)) == 1


def test_a_node_is_drawn_first_and_then_one_of_its_edges():
    rng = np.random.default_rng(1)
    places, ops, n = Counter(), Counter(), 12_000
    for _ in range(n):
        before, after = digits(7_777), digits(mutate(7_777, rng))
        (place,) = [i for i in range(6) if before[i] != after[i]]
        places[place] += 1
        ops[place, after[place]] += 1
    for place, (_, target) in enumerate(nb201.EDGES):
        share = 1 / (3 * target)  # a third per node, shared by its 1, 2 or 3 edges
        assert abs(places[place] - n * share) < 4 * np.sqrt(n * share * (1 - share))
        others = [ops[place, op] for op in "01234" if op != digits(7_777)[place]]
        assert len(others) == 4 and min(others) > 0.8 * max(others)
        assert ops[place, digits(7_777)[place]] == 0


@pytest.mark.parametrize("name", SEARCHES)
def test_the_best_is_the_best_of_what_was_asked(name):
    rng = np.random.default_rng(2)
    values = rng.normal(size=SIZE)
    reward = seen(values)
    best, asked = SEARCHES[name](reward, np.full(SIZE, 1.0), config(budget=300.0), rng)
    everything = set(reward.asked)
    assert best == max(everything, key=lambda a: values[a])
    assert asked == 300 and len(everything) <= 300


@pytest.mark.parametrize("name", SEARCHES)
def test_the_budget_stops_the_search_with_the_first_query_beyond_it(name):
    reward, cost = np.zeros(SIZE), np.full(SIZE, 7.0)
    for budget, queries in ((100.0, 15), (98.0, 14), (98.1, 15), (7.0 * 40, 40)):
        assert SEARCHES[name](reward, cost, config(budget=budget), np.random.default_rng(0))[1] == queries


def test_random_search_pays_what_each_architecture_costs():
    cost = np.random.default_rng(3).uniform(1, 50, SIZE)
    _, asked = random_search(np.zeros(SIZE), cost, config(budget=5000.0), np.random.default_rng(4))
    rng = np.random.default_rng(4)
    drawn = [int(rng.integers(SIZE)) for _ in range(asked)]
    assert cost[drawn].sum() >= 5000 > cost[drawn[:-1]].sum()


def test_evolution_pays_for_its_first_population():
    reward, cost = np.zeros(SIZE), np.full(SIZE, 10.0)
    _, asked = regularised_evolution(
        reward, cost, config(budget=100.0, population=10), np.random.default_rng(0)
    )
    assert asked == 10
    _, asked = regularised_evolution(
        reward, cost, config(budget=50.0, population=10), np.random.default_rng(0)
    )
    assert asked == 10  # it is trained whole, as the published script does


def test_evolution_ages_out_the_oldest_even_when_it_is_the_best(monkeypatch):
    """Parents come from the last ten: the best of the first population cannot be one after ten children."""
    parents: list[int] = []

    def spy(arch: int, rng: np.random.Generator) -> int:
        parents.append(arch)
        return 1000 + len(parents)

    monkeypatch.setattr(query_search, "mutate", spy)
    rng = np.random.default_rng(5)
    first = [int(a) for a in np.random.default_rng(5).integers(SIZE, size=10)]
    values = np.zeros(SIZE)
    values[first] = 100.0  # far better than any child
    best, _ = regularised_evolution(values, np.ones(SIZE), config(budget=40.0), rng)
    assert best in first  # the best ever seen is kept although it has died
    born = [*first, *(1001 + i for i in range(30))]
    for i, parent in enumerate(parents):
        assert parent in born[i : i + 10]
    assert set(parents[:8]) <= set(first) and not set(parents[10:]) & set(first)


def test_evolution_takes_the_best_of_its_tournament(monkeypatch):
    """With a tournament of many draws each parent is the best of its population, with one draw it is any."""
    values = np.random.default_rng(6).normal(size=SIZE)
    born: list[int] = []
    parents: list[int] = []

    def spy(arch: int, rng: np.random.Generator) -> int:
        parents.append(arch)
        born.append(mutate(arch, rng))
        return born[-1]

    mutate = query_search.mutate
    monkeypatch.setattr(query_search, "mutate", spy)

    def best_of_ten(tournament: int) -> list[bool]:
        born[:] = [int(arch) for arch in np.random.default_rng(7).integers(SIZE, size=10)]
        parents.clear()
        asked = config(budget=60.0, tournament=tournament)
        regularised_evolution(values, np.ones(SIZE), asked, np.random.default_rng(7))
        assert len(parents) == 50
        return [parent == max(born[i : i + 10], key=values.__getitem__) for i, parent in enumerate(parents)]

    assert all(best_of_ten(100)) and not all(best_of_ten(1))


def test_evolution_beats_random_search_on_a_smooth_table():
    archs = np.arange(SIZE)
    values = sum((archs // 5**i % 5 == 3).astype(float) for i in range(6))
    found = {}
    for name, search in SEARCHES.items():
        best = [
            search(values, np.ones(SIZE), config(budget=200.0), np.random.default_rng(s))[0]
            for s in range(30)
        ]
        found[name] = values[best].mean()
    assert found["evolution"] > found["random"] + 0.5


def test_the_budget_of_all_image_sets_takes_precedence():
    assert config().seconds == 100.0
    assert config(budget_everywhere=20_000.0).seconds == 20_000.0


def test_a_run_leaves_every_repeat(monkeypatch, tmp_path):
    """On an invented table: accuracies are the choice's under `final`, the cost is scaled by epochs."""
    rng = np.random.default_rng(10)
    tables = {"val": rng.normal(size=SIZE), "test": rng.normal(size=SIZE)}

    def truths(space, archs, dataset, epochs, split, trials, *, source):
        assert (space, len(archs), dataset, source) == ("nb201", SIZE, "cifar10", "a-table")
        return SimpleNamespace(values=tables[split], identity=SimpleNamespace(split=split, epochs=epochs))

    def seconds(space, archs, dataset, epochs, *, source):
        assert epochs == 200
        return SimpleNamespace(values=np.full(SIZE, 200.0))

    monkeypatch.setattr("harness.runs.ground_truth.truths", truths)
    monkeypatch.setattr(query_search, "seconds", seconds)
    spec = RunSpec("sotl", "query_search", "rea", "cifar10", 0, "smoke", {}, {}, "")
    given = config(search="random", final=Answers(200, "test", "mean"), budget=1200.0, repeats=4)
    tested = []
    for name in ("one", "other"):
        run = Run(spec, tmp_path / name)
        query_search.run(run, given)
        tested.append((tmp_path / name / "repeats.csv").read_text())
        assert [t["split"] for t in run.truths] == ["val", "test"]
    assert tested[0] == tested[1]
    lines = [line.split(",") for line in tested[0].splitlines()]
    assert lines[0] == ["repeat", "accuracy", "queries"] and [x[0] for x in lines[1:]] == list("0123")
    assert {line[2] for line in lines[1:]} == {"100"}  # 1200 s of 12 s each
    assert all(float(line[1]) in tables["test"] for line in lines[1:])
    assert len({line[1] for line in lines[1:]}) > 1  # each repeat has its own stream
