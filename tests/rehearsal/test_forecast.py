"""Hours, memory and energy of rehearsed runs, and the error of such forecasts."""

import pytest
import tiny

from harness.base.errors import HarnessError
from harness.published import rehearsed
from harness.rehearsal import forecast
from harness.runs.forecast import Past

V100 = forecast.device("v100-16gb")


def row(scale="paper", run="mini/noise/strong/low", **more):
    counts = {"flops": 1e15, "bytes": 1e13, "kernels": 1e5, "memory": 3e9, "records": 500}
    return {"scale": scale, "run": run, **counts, **more}


def keep(root, *rows):
    rehearsed.write({(one["scale"], one["run"]): one for one in rows}, root)


@pytest.fixture
def root(tmp_path):
    return tiny.project(tmp_path)


def test_a_gpu_reaches_of_its_peaks_what_a_published_training_did():
    """NVIDIA's 367 and 938 images of ResNet-50 per second, forecast by the same arithmetic."""
    data, _ = forecast.read_with_lines(forecast.DEVICES)
    image = {**data["reference"], "kernels": 0}
    for name, gpu in forecast.devices().items():
        assert 1 / gpu.seconds(image) == pytest.approx(data["devices"][name]["images_per_second"])
        assert 0.3 < gpu.reached < 0.9
        assert data["devices"][name]["sources"]


def test_many_small_operations_take_as_long_as_it_takes_to_launch_them():
    assert V100.seconds(row(kernels=1e8)) == pytest.approx(5900)
    assert V100.seconds(row()) == pytest.approx((1e15 / 15.67e12 + 1e13 / 897e9) / V100.reached)


def test_an_unknown_gpu_is_refused_with_the_nearest():
    with pytest.raises(HarnessError, match="did you mean 'v100-16gb'"):
        forecast.device("v100")


def test_plan_takes_a_rehearsed_run_and_its_other_seeds_as_forecast(root):
    keep(root, row(), row(run="mini/noise/weak/low", flops="", note="failed"))
    known = forecast.expected(Past({}, {}), "paper", V100, root)
    assert known.seconds == {("paper", "mini/noise/strong/low/s0"): V100.seconds(row())}
    assert known.size == {("paper", "mini/noise/strong/low/s0"): 500}


def test_what_trains_on_a_processor_is_not_forecast_by_a_gpu():
    """Rows of scale cpu tell the error of forecasts. Once plan took them for a GPU's."""
    run = next(run for scale, run in forecast.counted() if scale == "cpu")
    assert ("cpu", f"{run}/s0") not in forecast.expected(Past({}, {}), "cpu", V100).seconds


def test_a_run_of_a_processor_takes_what_the_same_took_at_another_scale(root):
    """Where its config is the same."""
    known = Past({("cpu", "mini/noise/strong/low/s0"): 12.0, ("cpu", "mini/noise/gone/low/s0"): 3.0}, {})
    same = forecast._specs("cpu", root)["mini/noise/strong/low/s0"].config == (
        forecast._specs("paper", root)["mini/noise/strong/low/s0"].config
    )
    found = forecast.expected(known, "paper", V100, root).seconds
    assert (found.get(("paper", "mini/noise/strong/low/s0")) == 12.0) is same
    assert ("paper", "mini/noise/gone/low/s0") not in found


def test_errors_are_of_rates_that_the_other_experiments_give(root):
    """Runs that keep to three rates are foretold; one that takes twice as long shows."""
    rows, seconds = [], {}
    for number, experiment in enumerate(("a", "b", "c", "d")):
        for i in range(3):
            run = f"mini/{experiment}/m{i}/s"
            one = row("cpu", run, flops=1e12 * (i + 1), bytes=1e11 * (number + 1), kernels=1e5 * (5 - i))
            rows.append(one)
            took = one["flops"] / 1e11 + one["bytes"] / 1e10 + one["kernels"] * 1e-5
            seconds["cpu", f"{run}/s0"] = took * (2 if experiment == "d" else 1)
    keep(root, *rows)
    found = {error.experiment: error for error in forecast.errors(Past(seconds, {}), "cpu", root)}
    assert found["mini/d"].factor == pytest.approx(0.5, rel=0.05) and found["mini/d"].kinds == 3
    calm = forecast.errors(Past({k: v for k, v in seconds.items() if "/d/" not in k[1]}, {}), "cpu", root)
    assert all(error.worst == pytest.approx(1.0, rel=0.01) for error in calm)


def test_a_job_on_a_cluster_gets_thrice_the_forecast_of_the_slowest_gpu(root):
    from harness.spec.experiments import paper

    spec = next(paper("mini", root).experiments["noise"].runs("paper"))
    assert forecast.minutes(spec, root) == forecast.DAY
    keep(root, row(run=rehearsed.kind(spec), kernels=1e8))
    spec.config["device"] = "cuda"
    try:
        assert forecast.minutes(spec, root) == 30 + 295
    finally:
        del spec.config["device"]
