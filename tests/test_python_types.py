"""On every file that both can read, `tree.arrays()` has the fields and types that uproot gives.

Where uproot is mistaken on purpose of ours, the branch is listed below with the reason; the list must be
exact for the branches that are looked at.
"""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")
uproot = pytest.importorskip("uproot")
ak = pytest.importorskip("awkward")

AsGrouped = uproot.interpretation.grouped.AsGrouped
UnknownInterpretation = uproot.interpretation.identify.UnknownInterpretation

HERE = Path(__file__).resolve().parent
CORPUS = Path(os.environ.get("SAPWOOD_CORPUS") or HERE.parent.parent / "shared" / "corpus")
FILES = sorted(path.name for path in CORPUS.glob("*.root")) if CORPUS.is_dir() else []
TREES = {"TTree", "TNtuple", "TNtupleD", "TChain"}
MOST_BRANCHES = 600
UPROOT_SECONDS = 5

# (file, field): why our type is another one.
BETTER = {
    (
        "skhep__uproot-issue-1610.root",
        "covMatrixOfTurn",
    ): "fNelems of a TMatrixT is an Int_t; uproot takes counters as unsigned",
    (
        "skhep__uproot-issue433-splitlevel2.root",
        "vector<KM3NETDAQ::JDAQSuperFrame>",
    ): "the file does not describe JDAQHit: its bytes, where uproot gives records without fields",
    (
        "roottest__ROOT9975.root",
        "b",
    ): "a group and a leaf have the same name; uproot gives the group in the leaf's place",
    **{
        ("roottest__pluto_newpers.root", name): "uproot reads the first string of each entry's many"
        for name in (
            "fKineParts.fProdProcessName",
            "fKineParts.fEndProcessName",
            "fMCInfo.fCheckPoints.fCheckPointName",
            "fMCInfo.fCheckPoints.fPreStepName",
            "fMCInfo.fCheckPoints.fPostStepName",
            "fAnalysisInfo.fAnalyzerList.fAnalyzerName.fString",
        )
    },
}


@pytest.mark.skipif(not FILES, reason=f"no corpus of real files in {CORPUS}")
@pytest.mark.parametrize(
    "name, branch, typename",
    [
        ("skhep__uproot-issue31.root", "data/TObject", "TObject"),
        ("roottest__Event1.root", "event/TObject", "TObject"),
        ("roottest__Event1.root", "event/fEventName", "char*"),
    ],
)
def test_bases_and_plain_strings_have_the_names_of_their_types(name: str, branch: str, typename: str) -> None:
    file = sapwood.open(CORPUS / name)
    tree = next(file[key] for key, classname in file.classnames().items() if classname in TREES)
    assert tree[branch].typename == typename and "BASE" not in tree.typenames().values()


class TooLong(BaseException):
    pass


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """uproot takes minutes for some files."""

    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def row_type(array: Any) -> str:
    return str(array.type).partition(" * ")[2]


def unread_by_uproot(tree: Any) -> set[str]:
    """Names of branches whose type uproot does not know."""
    names = set()
    for branch in tree.itervalues():
        try:
            found = branch.interpretation
        except Exception:
            found = None
        if found is None or isinstance(found, UnknownInterpretation):
            names.add(branch.name)
        elif isinstance(found, AsGrouped):
            names.update(
                one.name
                for one in branch.itervalues()
                if isinstance(one.interpretation, UnknownInterpretation)
            )
    return names


@pytest.mark.skipif(not FILES, reason=f"no corpus of real files in {CORPUS}")
@pytest.mark.parametrize("name", FILES)
def test_arrays_have_the_types_of_uproot(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = str(CORPUS / name)
        try:
            theirs = uproot.open(path)
            classnames = theirs.classnames()
        except Exception as error:
            pytest.skip(f"uproot cannot open it: {type(error).__name__}")
        ours = sapwood.open(path)
        assert ours.keys() == theirs.keys()
        assert ours.classnames() == classnames
        for key, classname in classnames.items():
            if classname in TREES:
                compare(name, theirs, ours, key)


def compare(name: str, theirs: Any, ours: Any, key: str) -> None:
    try:
        with at_most(UPROOT_SECONDS):
            tree = theirs[key]
            keys = tree.keys()
            few = min(2, tree.num_entries)
            if len(keys) > MOST_BRANCHES:
                return
            expected = tree.arrays(entry_stop=few)
    except (Exception, TooLong):
        # Some branch gives no Awkward Array there: nothing to compare with.
        return
    mine = ours[key]
    assert mine.keys() == keys
    found = mine.arrays(entry_stop=few)
    extra = [field for field in found.fields if field not in expected.fields]
    missing = [field for field in expected.fields if field not in found.fields]
    assert not extra or not set(extra) - unread_by_uproot(tree), f"{key}: fields that uproot has not: {extra}"
    short = [branch.name for branch in tree.itervalues() if branch.num_entries < few]
    assert not set(missing) - set(short), f"{key}: fields that only uproot has: {missing}"
    for field in found.fields:
        if field in expected.fields:
            same = row_type(found[field]) == row_type(expected[field])
            if (name, field) in BETTER:
                assert not same, f"{key}: {field} is the same now: strike it off the list"
            else:
                assert same, (
                    f"{key}: {field} is {row_type(found[field])}, in uproot {row_type(expected[field])}"
                )
