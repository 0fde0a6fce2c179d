"""Image sets in their publishers' formats: cards with hashes, readers, downloads, splits as data."""

from harness.data.images import Card, Identity, Images, load
from harness.data.manage import Check, Row, Verified, fetch, list_sets, verify
from harness.data.sources import Source, all_sources, source
from harness.data.splits import Split, split

__all__ = [
    "Card",
    "Check",
    "Identity",
    "Images",
    "Row",
    "Source",
    "Split",
    "Verified",
    "all_sources",
    "fetch",
    "list_sets",
    "load",
    "source",
    "split",
    "verify",
]
