"""Histograms at random, in three files, and what ROOT's ``Merge`` makes of them: run in real ROOT.

Arguments: seed, number of objects, directory. The answer is the names that ROOT refuses to merge.
"""

import random
import sys
from array import array
from typing import Any

import ROOT

ROOT.TH1.AddDirectory(False)
ROOT.gErrorIgnoreLevel = ROOT.kFatal
SEED, COUNT, PLACE = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
chance = random.Random(SEED)
KINDS = ["plain"] * 4 + ["two", "two", "three", "profile", "profile2", "profile3", "edges",
         "labels", "labels", "labels2",
                         "labelled profile", "automatic", "automatic", "automatic2", "extending"]  # fmt: skip


def axis(fit: str, bins: int, low: float, high: float) -> tuple[int, float, float]:
    width = (high - low) / bins
    if fit == "shifted":
        start, count = low + chance.randint(-3, 3) * width, chance.randint(1, 2) * bins
        return count, start, start + count * width
    if fit == "coarse" and bins % 2 == 0:
        return bins // 2, low, high
    if fit == "between":
        return bins, low + 0.3 * width, high + 0.3 * width
    if fit == "finer":
        return bins + 1, low, high
    return bins, low, high


class Case:
    """What three histograms of one name have in common."""

    def __init__(self) -> None:
        self.kind = chance.choice(KINDS)
        self.axis = (
            chance.choice([2, 4, 5, 10]),
            chance.choice([0.0, -1.0, 0.5]),
            chance.choice([1.0, 2.0, 10.0]),
        )
        self.type = chance.choice("CSILFD")
        varied = chance.random() < 0.6
        fits = ["same", "same", "shifted", "coarse", "between", "finer"] if varied else ["same"]
        self.fits = ["same", chance.choice(fits), chance.choice(fits)]
        weighted = [chance.random() < 0.3 for _ in range(3)]
        # Where only some profiles are weighted, ROOT's sums of squared weights are wrong.
        self.weighted = [weighted[0]] * 3 if "profile" in self.kind else weighted
        self.beyond = 0.4 if chance.random() < 0.3 else 0.0
        self.ranged, self.average = chance.random() < 0.1, chance.random() < 0.08
        self.overflows = chance.choice([None, None, None, 0, 1])
        self.set = self.overflows is None and chance.random() < 0.12

    def make(self, name: str, place: int) -> Any:
        kind, own = self.kind, self.axis
        weight = (lambda: chance.choice([0.5, 2.0, 1.5])) if self.weighted[place] else (lambda: 1.0)
        value = lambda: chance.uniform(own[1] - self.beyond, own[2] + self.beyond)  # noqa: E731
        count = 0 if chance.random() < 0.12 else chance.randint(1, 40)
        other = axis(self.fits[place], *own)
        made = lambda dimensions, *axes: getattr(ROOT, f"TH{dimensions}{self.type}")(name, "title", *axes)  # noqa: E731
        if kind == "two":
            hist = made(2, *other, *own)
            for _ in range(count):
                hist.Fill(value(), value(), weight())
        elif kind == "three":
            hist = made(3, *other, *own, *other)
            for _ in range(count):
                hist.Fill(value(), value(), value(), weight())
        elif kind in ("profile", "profile2", "profile3"):
            dimensions = int(kind[7:] or 1)
            class_name = "TProfile" if dimensions == 1 else f"TProfile{dimensions}D"
            hist = getattr(ROOT, class_name)(name, "title", *other, *own * (dimensions - 1))
            if self.weighted[place]:
                hist.Sumw2()
            for _ in range(count):
                hist.Fill(*(value() for _ in range(dimensions)), chance.gauss(1, 2), weight())
        elif kind == "edges":
            hist = made(
                1, 4, array("d", [0, 1, 2.5, 4, 8] if self.fits[place] != "finer" else [0, 1, 2, 3, 8.5])
            )
            for _ in range(count):
                hist.Fill(chance.uniform(-1, 9), weight())
        elif kind == "labels":
            hist = made(1, chance.choice([2, 3, 5]), 0, 5)
            if chance.random() < 0.2:
                for number in range(1, hist.GetNbinsX() + 1):
                    hist.GetXaxis().SetBinLabel(number, chance.choice("abc") + str(number))
                hist.GetXaxis().SetCanExtend(chance.random() < 0.5)
                for _ in range(count):
                    hist.Fill(chance.uniform(0, 5), weight())
            else:
                for _ in range(count):
                    hist.Fill(chance.choice(["a", "b", "c", "dd", "e", "f", "g"]), weight())
                if chance.random() < 0.3:
                    hist.LabelsDeflate()
                if chance.random() < 0.2:
                    hist.LabelsOption("a")
                hist.GetXaxis().SetCanExtend(chance.random() < 0.8)
        elif kind == "labels2":
            hist = made(2, 2, 0, 2, 3, 0, 3)
            numbered = chance.random() < 0.5
            for _ in range(count):
                hist.Fill(
                    chance.choice("abcd"),
                    chance.uniform(0, 3) if numbered else chance.choice("xyzu"),
                    weight(),
                )
        elif kind == "labelled profile":
            hist = ROOT.TProfile(name, "title", 2, 0, 2)
            for _ in range(count):
                hist.Fill(chance.choice("abcd"), chance.gauss(1, 2), weight())
        elif kind == "automatic2":
            hist = made(2, own[0], 0, 0, own[0], 0, 0)
            for _ in range(count):
                hist.Fill(value(), value(), weight())
        else:
            automatic = kind == "automatic" and chance.random() < 0.8
            hist = made(1, own[0], 0, 0) if automatic else made(1, *other)
            if kind == "extending":
                hist.SetCanExtend(ROOT.TH1.kAllAxes)
            if kind == "automatic" and chance.random() < 0.2:
                hist.GetXaxis().SetCanExtend(True)
            if kind == "automatic" and chance.random() < 0.2:
                hist.GetXaxis().SetBit(ROOT.TAxis.kIsInteger)
            if self.overflows is not None:
                hist.SetStatOverflows(self.overflows)
            hist.SetBit(ROOT.TH1.kIsAverage, self.average)
            for _ in range(count):
                hist.Fill(value() * (3 if kind == "extending" else 1), weight())
            for number in (1, 2) if self.set else ():
                hist.SetBinContent(number, chance.randint(1, 120))
        if self.ranged and hist.GetNbinsX() > 3 and "automatic" not in kind:
            hist.GetXaxis().SetRange(2, 3)
        return hist


def merged(name: str, files: list[Any]) -> Any:
    """The sum of all objects of a name, one after the other as hadd adds them; none where ROOT refuses."""
    objects = [found for found in (file.Get(name) for file in files) if found]
    for further in objects[1:]:
        inputs = ROOT.TList()
        inputs.Add(further)
        if objects[0].Merge(inputs) < 0:
            return None
    return objects[0]


inputs = [ROOT.TFile(f"{PLACE}/in{place}.root", "recreate") for place in range(3)]
for number in range(COUNT):
    case = Case()
    for place, file in enumerate(inputs):
        if place and chance.random() < 0.05:
            continue
        file.WriteTObject(case.make(f"o{number}", place))
for file in inputs:
    file.Close()

inputs = [ROOT.TFile(f"{PLACE}/in{place}.root") for place in range(3)]
out = ROOT.TFile(f"{PLACE}/root.root", "recreate")
refused = []
for number in range(COUNT):
    total = merged(f"o{number}", inputs)
    if total is None:
        refused.append(f"o{number}")
    else:
        out.WriteTObject(total)
out.Close()
answer(refused)  # type: ignore[name-defined]  # noqa: F821
