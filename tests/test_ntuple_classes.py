"""RNTuples whose fields are classes: written from dataclasses, read as objects of them, by ROOT and here."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
import sapwood

from support.ntuples import DUMP, rows_of
from support.rootrun import root


@dataclasses.dataclass
class Base:
    fBase: np.int32
    fName: str
    __root_name__ = "ntuples::Base"


@dataclasses.dataclass
class Other:
    fOther: np.float32
    __root_name__ = "ntuples::Other"


@dataclasses.dataclass
class Derived(Base, Other):
    fValues: list[float]
    fThree: Annotated[np.int16, 3]
    fMember: Base
    __root_name__ = "ntuples::Derived"


def derived(value: dict[str, Any]) -> Derived:
    """What ROOT's dump has as an object."""
    values = {name: float(one) if one == "inf" else one for name, one in value.items()}
    values["fValues"] = [float(one) for one in values["fValues"]]
    return Derived(**{**values, "fMember": Base(**values["fMember"])})


def test_root_reads_dataclasses(ntuples_made: Any, ntuple_library: Path, tmp_path: Path) -> None:
    _, values = ntuples_made("small pages")
    objects = {
        "object": [Base(**row) for row in values["object"]],
        "derived": [derived(row) for row in values["derived"]],
        "objects": [[derived(one) for one in row] for row in values["objects"]],
        "lists_of_objects": [
            [[Base(**one) for one in row] for row in rows] for rows in values["lists_of_objects"]
        ],
        "map_of_objects": [{key: Base(**one) for key, one in row} for row in values["map_of_objects"]],
        "object_pointer": [row and Base(**row) for row in values["object_pointer"]],
    }
    kinds: dict[str, Any] = {
        "object": Base,
        "derived": Derived,
        "objects": list[Derived],
        "lists_of_objects": list[list[Base]],
        "map_of_objects": dict[np.int32, Base],
        "object_pointer": Base | None,
    }
    ours = tmp_path / "objects.root"
    with sapwood.recreate(ours) as file:
        ntuple = file.mkrntuple("all", kinds, cluster_bytes=4000, page_bytes=300)
        ntuple.extend({name: column[:100] for name, column in objects.items()})
        ntuple.extend({name: column[100:] for name, column in objects.items()})
    root(DUMP, ntuple_library, ours, *kinds)
    dumped = json.loads(Path(f"{ours}.json").read_text())
    again = sapwood.open(ours)["all"]
    assert len(again.clusters) > 3
    for name, kind in kinds.items():
        assert dumped[name] == values[name], name
        assert rows_of(again[name].array(), name) == values[name], name
        assert list(again[name].objects(kind)) == objects[name], name
    theirs = sapwood.open(ntuples_made("small pages")[0])["all"]
    for name, kind in kinds.items():
        assert list(theirs[name].objects(kind, 20, 290)) == objects[name][20:290], name


def test_classes_of_fields_become_dataclasses(ntuples_made: Any) -> None:
    path, values = ntuples_made("small pages")
    source = sapwood.makeproject(path)
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102
    found = list(sapwood.open(path)["all"]["derived"].objects(names["Derived"]))
    assert [dataclasses.asdict(one) for one in found] == [
        dataclasses.asdict(derived(row)) for row in values["derived"]
    ]


def test_the_anchor_of_an_rntuple_has_members(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    with sapwood.recreate(tmp_path / "a.root") as file:
        file.mkrntuple("n", {"x": [1, 2]})
    ours, theirs = (module.open(tmp_path / "a.root")["n"] for module in (sapwood, uproot))
    names = [
        "fVersionEpoch",
        "fVersionPatch",
        "fSeekHeader",
        "fNBytesHeader",
        "fLenHeader",
        "fSeekFooter",
        "fNBytesFooter",
    ]
    for name in [*names, "fLenFooter", "fMaxKeySize"]:
        assert ours.member(name) == theirs.member(name), name
    with pytest.raises(KeyError, match="fSeekHeader"):
        ours.member("fSeekHeder")
