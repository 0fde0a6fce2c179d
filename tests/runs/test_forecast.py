"""What the missing runs will take, learnt from past records and from what was published."""

import json

import pytest
import tiny

from harness.base.layout import Layout
from harness.runs import forecast
from harness.runs.forecast import Past, bytes_text, duration
from harness.runs.record import KINDS, digest
from harness.spec import experiments


def spec(run="p/e/m/s/s0", scale="smoke"):
    paper, experiment, method, setting, seed = run.split("/")
    return experiments.RunSpec(
        paper, experiment, method, setting, int(seed[1:]), scale, {}, {"threads": 0}, ""
    )


def known(**seconds) -> Past:
    return Past({("smoke", k.replace("_", "/")): v for k, v in seconds.items()}, {})


def test_the_nearest_past_is_taken():
    """seed → setting → method → experiment, and nothing farther."""
    layers = {
        "p/e/m/s/s0": 1.0,  # the run itself
        "p/e/m/s/s1": 2.0,  # another seed
        "p/e/other/s/s0": 4.0,  # the same setting
        "p/e/m/other/s0": 8.0,  # the same method
        "p/e/other/other/s0": 16.0,  # the experiment
    }
    while layers:
        past = Past({("smoke", run): t for run, t in layers.items()}, {})
        expected = past.expect(spec())
        assert expected == (next(iter(layers.values())), None)
        layers.pop(next(iter(layers)))
    far = {("smoke", "p/other/m/s/s0"): 32.0, ("smoke", "q/e/m/s/s0"): 64.0, ("cpu", "p/e/m/s/s0"): 128.0}
    assert Past(far, {}).expect(spec()) == (None, None)


def test_of_several_the_median_is_taken():
    runs = {("smoke", f"p/e/m/s/s{seed}"): t for seed, t in ((1, 1.0), (2, 3.0), (3, 100.0))}
    size = {("smoke", "p/e/m/s/s1"): 10, ("smoke", "p/e/m/s/s3"): 30}
    assert Past(runs, size).expect(spec()) == (3.0, 20)


def test_runs_that_ended_tell_how_fast_this_machine_is(tmp_path):
    """Times that were recorded on a busy machine once promised an hour for a campaign of ten minutes."""
    layout = Layout("smoke", tmp_path)
    past = Past({("smoke", "p/e/m/s/s0"): 100.0, ("smoke", "p/other/m/s/s0"): 600.0}, {})

    def ended(run, seconds):
        record = json.dumps({"run": run, "seconds": seconds})
        tiny.write(tmp_path, f"results/smoke/runs/{run}/run.json", record)
        return spec(run)

    new = ended("p/new/m/s/s0", 7.0)
    assert forecast.underway(past, [new], layout).expect(spec("p/new/m/s/s1"))[0] == 7.0  # as it is
    assert forecast.underway(past, [new], layout).expect(spec()) == past.expect(spec())
    runs = [new, ended("p/e/m/s/s1", 10.0), ended("p/e/m/s/s2", 20.0)]
    found = forecast.underway(past, runs, layout)
    pace = (forecast.CALM + 30) / (forecast.CALM + 200)
    assert found.expect(spec("p/other/m/s/s0"))[0] == pytest.approx(600 * pace)
    assert found.expect(spec("p/new/m/s/s1"))[0] == 7.0
    tiny.write(tmp_path, "results/smoke/runs/p/e/m/s/s3/run.json", "{")
    assert forecast.underway(past, [spec("p/e/m/s/s3")], layout) == past


def test_a_forecast(tmp_path):
    layout = Layout("smoke", tmp_path)
    runs = [spec(f"p/e/m/s/s{seed}") for seed in range(4)] + [spec("p/new/m/s/s0")]
    record = {key: (kind if isinstance(kind, type) else float)() for key, kind in KINDS.items()}
    record |= {"format": 1, "run": "p/e/m/s/s0", "code": "gone"}
    sealed_record = json.dumps({**record, "digest": digest(record)})
    tiny.write(tmp_path, "results/smoke/runs/p/e/m/s/s0/run.json", sealed_record)
    tiny.write(tmp_path, "results/smoke/runs/p/e/m/s/s1/run.json", sealed_record[:100])  # cut short: missing
    past = Past({("smoke", "p/e/m/s/s0"): 60.0}, {("smoke", "p/e/m/s/s0"): 1000})
    found = forecast.forecast(runs, layout, past)
    assert (found.present, found.missing, found.unknown) == (1, 4, 1)
    assert (found.seconds, found.size) == (180.0, 3000)
    nothing = forecast.forecast(runs, layout, Past({}, {}))
    assert (nothing.seconds, nothing.size, nothing.unknown) == (0.0, 0, 4)


def test_learning_from_this_checkout_and_from_published(tmp_path):
    root = tiny.project(tmp_path)
    layout = tiny.run_all(root)
    runs = [
        {"run": "mini/noise/strong/low/s0", "seconds": 50.0},  # its own record is newer and wins
        {"run": "mini/noise/strong/low/s9", "seconds": 70.0},
    ]
    tiny.write(root, "published/smoke/tables/mini/table_1.provenance.json", json.dumps({"runs": runs}))
    tiny.write(
        root,
        "published/cpu/figures/mini/figure_1.provenance.json",
        json.dumps({"runs": [{"run": "mini/noise/strong/low/s0", "seconds": 7000}]}),
    )
    past = forecast.past(root)
    assert past.seconds["smoke", "mini/noise/strong/low/s0"] < 5
    assert past.seconds["smoke", "mini/noise/strong/low/s9"] == 70.0
    assert past.seconds["cpu", "mini/noise/strong/low/s0"] == 7000
    assert len(past.seconds) == 12 + 1 + 1
    folder = layout.run_folder("mini/noise/weak/high/s1")
    assert past.size["smoke", "mini/noise/weak/high/s1"] == sum(f.stat().st_size for f in folder.iterdir())
    expected, size = past.expect(experiments.find_run("mini/noise/strong/high/s2", "cpu", root))
    assert (expected, size) == (7000, None)  # no other is known at this scale


@pytest.mark.parametrize("text", ["", "[]", "{", '{"seconds": "long"}', '{"runs": [{}, 3]}'])
def test_what_is_broken_teaches_nothing_and_is_left_alone(tmp_path, text):
    record = tiny.write(tmp_path, "results/smoke/runs/p/e/m/s/s0/run.json", text)
    published = tiny.write(tmp_path, "published/smoke/tables/p/t.provenance.json", text)
    assert forecast.past(tmp_path) == Past({}, {})
    assert record.read_text() == published.read_text() == text


@pytest.mark.parametrize(
    "seconds, text",
    [
        (0, "0 s"),
        (89.4, "89 s"),
        (90, "2 min"),
        (3569, "59 min"),
        (3570, "1 h 00 min"),
        (7500, "2 h 05 min"),
        (360000, "100 h 00 min"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_sizes():
    assert [bytes_text(n) for n in (0, 1500, 99_999, 100_000, 2_340_000)] == [
        "0.0 kB",
        "1.5 kB",
        "100.0 kB",
        "0.1 MB",
        "2.3 MB",
    ]
