"""Functions that were compiled code: real ROOT, in a session that does not have the code, and we find their values
between those that were saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")

from sapwood import errors  # noqa: E402

WRITE = """
ROOT.gInterpreter.Declare('''
double one(double *x, double *p) { return p[0] * x[0] * x[0] * x[0] + p[1]; }
double two(double *x, double *p) { return p[0] * x[0] * x[0] + x[1]; }
double three(double *x, double *p) { return p[0] * x[0] + x[1] * x[2]; }
TF1 *make1(int n) { auto f = new TF1("f", one, 0, 4, 2); f->SetParameters(2, 1); f->SetNpx(n); return f; }
TF2 *make2() { auto f = new TF2("f", two, 0, 4, -1, 1, 1); f->SetParameter(0, 2); f->SetNpx(10); f->SetNpy(8); return f; }
TF3 *make3() {
  auto f = new TF3("f", three, 0, 4, -1, 1, 0, 2, 1);
  f->SetParameter(0, 2); f->SetNpx(5); f->SetNpy(6); f->SetNpz(7);
  return f;
}
''')
file = ROOT.TFile(sys.argv[1], "RECREATE")
ROOT.make1(10).Write("whole")
f = ROOT.make1(10); f.Save(1, 3, 0, 0, 0, 0); f.Write("part")
f = ROOT.make1(10); f.Save(0, 0, 0, 0, 0, 0); f.Write("centres")
ROOT.make2().Write("plane")
f = ROOT.make2(); f.Save(0, 2, -0.5, 0.5, 0, 0); f.Write("part of a plane")
ROOT.make3().Write("space")
h = ROOT.TH1D("h", "", 50, 0, 5); h.GetListOfFunctions().Add(ROOT.make1(100)); h.Write()
file.Close()
"""
READ = """
file = ROOT.TFile(sys.argv[1])
points = json.loads(sys.argv[2])
found = {}
for name in ("whole", "part", "centres", "plane", "part of a plane", "space", "h"):
    f = file.Get(name)
    if name == "h": f = f.GetListOfFunctions()[0]
    found[name] = [f.Eval(*at) for at in points[f.GetNdim() - 1]]
answer(found)
"""
X = [-1, 0, 0.05, 0.5, 1, 1.5, 2.2, 2.999, 3, 3.5, 4, 4.1]
POINTS = [
    [[x] for x in X],
    [[x, y] for x in X for y in (-1.1, -1, -0.3, 0.5, 0.77, 1, 1.2)],
    [[x, y, z] for x in X for y in (-1.5, -1, -0.2, 1) for z in (0, 0.9, 2, 3)],
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("functions") / "functions.root"
    root(WRITE, path)
    return path


def function(path: Path, name: str) -> Any:
    found = sapwood.open(path)[name]
    return found.member("fFunctions")[0] if name == "h" else found


def test_values_are_those_of_real_root(path: Path) -> None:
    wanted = root(READ, path, json.dumps(POINTS))
    for name, values in wanted.items():
        f = function(path, name)
        at = POINTS[{"plane": 2, "part of a plane": 2, "space": 3}.get(name, 1) - 1]
        assert f.formula is None and f.expression == ""
        assert [f(*point) for point in at] == pytest.approx(values, rel=1e-11, abs=1e-11)
        found = f(*np.array(at).T)
        assert found.shape == (len(at),) and found.tolist() == [f(*point) for point in at]


def test_what_is_not_a_number_stays_that(path: Path) -> None:
    assert np.isnan(function(path, "whole")(np.nan))
    assert function(path, "whole")(np.inf) == 0
    grid = function(path, "plane")(np.array([[1.0], [2.0]]), np.array([[0.0, 0.5, np.nan]]))
    assert grid.shape == (2, 3) and np.isnan(grid[:, 2]).all() and not np.isnan(grid[:, :2]).any()


def test_functions_without_values_say_so(path: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.UnsupportedError, match="compiled code of 2 variables: only 1 were given"):
        function(path, "plane")(1.0)
    lines = """
ROOT.gInterpreter.Declare("double one(double *x, double *p) { return x[0]; }"
    "TF1 *make() { return new TF1(\\"f\\", one, 1, 1e6, 0); }")
file = ROOT.TFile(sys.argv[1], "RECREATE")
h = ROOT.TH1D("h", "", 10, 1, 1e6)
f = ROOT.make(); f.SetParent(h); f.SetNpx(4); f.Save(1, 1e6, 0, 0, 0, 0); f.Write("f")
f.SetParent(ROOT.nullptr)
file.Close()
"""
    root(lines, tmp_path / "a.root")
    f = function(tmp_path / "a.root", "f")
    assert f.values()[-1] == f.values()[-2]
    with pytest.raises(
        errors.UnsupportedError, match=r"at the centres of the bins of its histogram \(values\(\)"
    ):
        f(2.0)
