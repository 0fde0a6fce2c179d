"""Whether records can be what they say they are: of this run, of their own seed, with numbers in them."""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from harness.base.errors import HarnessError
from harness.spec.experiments import RunSpec


def require_named(spec: RunSpec, record: dict[str, Any]) -> None:
    """The record of this very run, seed and scale: a folder that was copied over another's is refused."""
    for key, asked in (("run", spec.id), ("seed", spec.seed), ("scale", spec.scale)):
        if record[key] != asked:
            raise HarnessError(
                f"the record in the place of {spec.id} at scale {spec.scale} says that its {key} is"
                f" {record[key]!r}: delete its folder and run it again"
            )


def require_different(records: Iterable[dict[str, Any]]) -> None:
    """Runs of several seeds that left the same numbers to the last digit are one run."""
    found: dict[str, str] = {}
    for record in records:
        left = [[(m["name"], m["value"]) for m in record["metrics"]], record["tables"]]
        key = json.dumps([record["run"].rpartition("/")[0], left], sort_keys=True)
        first = found.setdefault(key, record["run"])
        if first != record["run"]:
            raise HarnessError(
                f"{first} and {record['run']} left the same numbers to the last digit, so that one of them is"
                f" a copy: delete the folder of {record['run']} and run it again"
            )


def require_defined(spec: RunSpec, record: dict[str, Any], tables: dict[str, pd.DataFrame]) -> None:
    """What is no number stands only where experiments.yaml allows it (`undefined`) or a run failed."""
    if record["status"] != "done":
        return
    for name, table in tables.items():
        for column in table.columns.difference(spec.undefined):
            values = table[column]
            numeric = pd.api.types.is_numeric_dtype(values)
            bad = ~np.isfinite(values.astype(float)) if numeric else values.isna()
            if name == "metrics":
                bad &= ~table["name"].isin(spec.undefined)
            if bad.any():
                first = int(bad.to_numpy().argmax())
                where = f"{name}.csv, column {column}, line {first + 2}"
                where = f"metric {table['name'].iloc[first]}" if name == "metrics" else where
                raise HarnessError(
                    f"{spec.id} left what is no number in {where}: run it again; if that may be, name it"
                    f" under 'undefined' of {spec.experiment!r} in reproduce/{spec.paper}/experiments.yaml"
                )
