"""What missing runs would read that is neither here nor brought by a job of theirs: `plan` tells it."""

from collections import Counter
from collections.abc import Iterable

from harness.base.layout import Layout
from harness.runs.stale import is_there
from harness.spec.experiments import RunSpec


def lines(runs: Iterable[RunSpec], layout: Layout) -> list[str]:
    """A line for each thing that is not here: how many missing runs read it, and how to get it.

    None at scale smoke, where jobs bring all that is read: `plan` answers there without loading numpy.
    """
    if layout.scale == "smoke":
        return []
    from harness.bench.carried import found_as

    with found_as("packed"):
        lacks = Counter(found for run in runs if not is_there(run, layout) for found in _lacks(run))
    return [
        f"{name} is not here, asked by {count} of the missing runs: {get}"
        for (name, get), count in lacks.items()
    ]


def _lacks(spec: RunSpec) -> list[tuple[str, str]]:
    """Names, and what to do: truths that are asked by name, images where a run trains on a device."""
    from harness.bench.catalogue import find, named
    from harness.data import all_sources
    from harness.data.images import locate

    found = []
    asked = spec.config.get("source", spec.config.get("truth_source", "none"))
    if asked not in ("best", "none", *spec.needs) and find(named(asked)) is None:
        places = " and ".join(named(asked).files[0])
        found.append((asked, f"{named(asked).get} ({places} below NAS_DATA)"))
    images = all_sources().get(str(spec.config.get("dataset")))
    if images and "device" in spec.config and images.name not in spec.needs and locate(images) is None:
        found.append((images.name, images.how_to_get()))
    return found
