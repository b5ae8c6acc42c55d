"""ROOT's classes of vectors with the methods of the package `vector`, beside what real ROOT says of them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
pytest.importorskip("vector")

from support import rootrun  # noqa: E402

WRITE = r"""
import os
os.chdir(os.path.dirname(sys.argv[1]))
ROOT.gErrorIgnoreLevel = ROOT.kError
ROOT.gInterpreter.GenerateDictionary("vector<TLorentzVector>;vector<ROOT::Math::PtEtaPhiMVector>", "vector;TLorentzVector.h;Math/Vector4D.h")
ROOT.gInterpreter.Declare('''
#include "Math/Vector4D.h"
#include "Math/Vector3D.h"
#include "Math/Vector2D.h"
#include "Math/Point3D.h"
#include "TLorentzVector.h"
#include "TVector3.h"
#include "TVector2.h"
#include "TClonesArray.h"
#include "TTree.h"
#include "TFile.h"
using namespace ROOT::Math;
template <class T> T* branch(TTree& t, const char* name, int split) { auto made = new T; t.Branch(name, made, 32000, split); return made; }
void vectors(const char* path) {
  TFile f(path, "recreate");
  for (int split : {0, 99}) {
    TTree t(split ? "split" : "whole", "");
    auto lv = branch<TLorentzVector>(t, "lv", split); auto v3 = branch<TVector3>(t, "v3", split); auto v2 = branch<TVector2>(t, "v2", split);
    auto pem = branch<PtEtaPhiMVector>(t, "pem", split); auto pee = branch<PtEtaPhiEVector>(t, "pee", split);
    auto xyzt = branch<PxPyPzEVector>(t, "xyzt", split); auto pxm = branch<PxPyPzMVector>(t, "pxm", split);
    auto small = branch<LorentzVector<PtEtaPhiM4D<float>>>(t, "small", split);
    auto xyz = branch<XYZVector>(t, "xyz", split); auto point = branch<XYZPoint>(t, "point", split);
    auto ree = branch<RhoEtaPhiVector>(t, "ree", split); auto rzp = branch<RhoZPhiVector>(t, "rzp", split);
    auto polar = branch<Polar3DVector>(t, "polar", split);
    auto xy = branch<XYVector>(t, "xy", split); auto polar2 = branch<Polar2DVector>(t, "polar2", split);
    auto lvs = branch<std::vector<TLorentzVector>>(t, "lvs", split);
    auto pems = branch<std::vector<PtEtaPhiMVector>>(t, "pems", split);
    auto xyzs = branch<std::vector<XYZVector>>(t, "xyzs", split);
    auto clones = new TClonesArray("TLorentzVector"); t.Branch("clones", &clones, 32000, split);
    for (int k = 1; k < 6; ++k) {
      *lv = TLorentzVector(k, 2 * k, -k, 5 * k); *v3 = TVector3(k, -k, 3); *v2 = TVector2(k, -2 * k);
      *pem = PtEtaPhiMVector(k, 0.5 * k, -0.3 * k, 0.1); *pee = PtEtaPhiEVector(k, 0.1, 0.2, 9 * k);
      *xyzt = PxPyPzEVector(k, 2, 3, 9 * k); *pxm = PxPyPzMVector(k, 2, 3, 0.5);
      *small = LorentzVector<PtEtaPhiM4D<float>>(k, 0.5f, 0.25f, 0.125f);
      *xyz = XYZVector(k, 2, 3); *point = XYZPoint(k, 2, 3); *ree = RhoEtaPhiVector(k, 0.5, 0.2);
      *rzp = RhoZPhiVector(k, 0.5, 0.2); *polar = Polar3DVector(k, 0.5, 0.2); *xy = XYVector(k, 2); *polar2 = Polar2DVector(k, 0.2);
      lvs->assign(k % 3, *lv); pems->assign(k % 3, *pem); xyzs->assign(k % 3, *xyz);
      clones->Clear(); for (int n = 0; n < k % 3; ++n) new ((*clones)[n]) TLorentzVector(*lv);
      t.Fill();
    }
    t.Write();
  }
}
''')
ROOT.vectors(sys.argv[1])
rows = []
for k in range(1, 6):
    f = ROOT.Math
    made = {
        "lv": ROOT.TLorentzVector(k, 2 * k, -k, 5 * k), "v3": ROOT.TVector3(k, -k, 3),
        "pem": f.PtEtaPhiMVector(k, 0.5 * k, -0.3 * k, 0.1), "pee": f.PtEtaPhiEVector(k, 0.1, 0.2, 9 * k),
        "xyzt": f.PxPyPzEVector(k, 2, 3, 9 * k), "pxm": f.PxPyPzMVector(k, 2, 3, 0.5),
        "small": f.PtEtaPhiMVector(k, 0.5, 0.25, 0.125),
        "xyz": f.XYZVector(k, 2, 3), "point": f.XYZPoint(k, 2, 3), "ree": f.RhoEtaPhiVector(k, 0.5, 0.2),
        "rzp": f.RhoZPhiVector(k, 0.5, 0.2), "polar": f.Polar3DVector(k, 0.5, 0.2),
        "xy": f.XYVector(k, 2), "polar2": f.Polar2DVector(k, 0.2), "v2": ROOT.TVector2(k, -2 * k),
    }
    row = {}
    for name, one in made.items():
        is_four = hasattr(one, "M")
        row[name] = {"x": one.X(), "y": one.Y()}
        if name not in ("xy", "polar2", "v2"):
            row[name] |= {"z": one.Z(), "eta": one.Eta(), "phi": one.Phi()}
        if is_four:
            row[name] |= {"pt": one.Pt(), "E": one.E(), "mass": one.M()}
    rows.append(row)
answer(rows)
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: Any) -> tuple[Any, list[dict[str, dict[str, float]]]]:
    path = tmp_path_factory.mktemp("vectors") / "vectors.root"
    rows = rootrun.root(WRITE, path)
    return sapwood.open(path), rows


@pytest.mark.parametrize("how", ["whole", "split"])
def test_vectors_are_those_of_root(stored: Any, how: str) -> None:
    file, rows = stored
    tree = file[how]
    for name in rows[0]:
        array = sapwood.vectors(tree[name].array())
        for key in rows[0][name]:
            assert getattr(array, key).tolist() == pytest.approx(
                [row[name][key] for row in rows], rel=1e-6
            ), (name, key)
    for name, one in (("lvs", "lv"), ("pems", "pem"), ("xyzs", "xyz"), ("clones", "lv")):
        if name == "clones" and how == "split":
            branch = tree["clones"]
            found = ak.zip({key: branch[f"clones.{key}"].array() for key in ("fE", "fP")}, depth_limit=1)
            array = sapwood.vectors(found)
        else:
            array = sapwood.vectors(tree[name].array())
        for key in rows[0][one]:
            expected = [[row[one][key]] * (k % 3) for k, row in enumerate(rows, 1)]
            found = getattr(array, key).tolist()
            assert [len(row) for row in found] == [len(row) for row in expected], (name, key)
            assert np.concatenate(found) == pytest.approx(np.concatenate(expected), rel=1e-6), (name, key)


def test_arrays_of_a_class_have_the_methods(stored: Any) -> None:
    file, rows = stored
    tree = file["whole"]
    p4, many = tree["lv"].array(), tree["lvs"].array()
    assert p4.pt.tolist() == pytest.approx([row["lv"]["pt"] for row in rows])
    assert p4[0].mass == pytest.approx(rows[0]["lv"]["mass"]) and p4.fE.tolist() == [
        5.0 * k for k in range(1, 6)
    ]
    assert (p4 + p4).mass.tolist() == pytest.approx([2 * row["lv"]["mass"] for row in rows])
    assert (p4 - tree["xyzt"].array()).x.tolist() == [0.0] * 5
    assert (2.0 * p4).E.tolist() == [10.0 * k for k in range(1, 6)]
    assert many.deltaR(many).tolist() == [[0.0] * (k % 3) for k in range(1, 6)]
    assert tree["v3"].array().deltaphi(p4).tolist() == pytest.approx(
        [row["v3"]["phi"] - row["lv"]["phi"] for row in rows], rel=1e-9
    )
    assert not hasattr(p4, "nothing_of_that_name")
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        p4.nothing_of_that_name
    # As they were: names and types of uproot.
    assert (
        str(p4.type) == "5 * TLorentzVector[fP: TVector3[fX: float64, fY: float64, fZ: float64], fE: float64]"
    )


def test_numbers_are_shared(stored: Any) -> None:
    tree = stored[0]["whole"]
    array = tree["lvs"].array()
    found = sapwood.vectors(array)
    assert np.shares_memory(ak.flatten(found.t), ak.flatten(array.fE))
    whole = sapwood.vectors(tree.arrays(["lv", "pem"]))
    assert whole.fields == ["lv", "pem"] and whole.pem.eta.tolist()[0] == 0.5


def test_behaviors_of_others_count() -> None:
    from sapwood._read import vectors

    class Theirs(ak.Array):  # type: ignore[misc]
        pass

    name = "ROOT::Math::LorentzVector<ROOT::Math::PxPyPzE4D<long double> >"
    ak.behavior["*", name] = Theirs
    try:
        vectors.register(name)
        assert ak.behavior["*", name] is Theirs
    finally:
        del ak.behavior["*", name]
    vectors.register("TVectorT<double>")
    assert ("*", "TVectorT<double>") not in ak.behavior


def test_what_is_no_vector_stays() -> None:
    plain = ak.Array([{"fX": 1.0, "fY": 2.0, "v": [1]}])
    assert str(sapwood.vectors(plain).type) == str(plain.type)
    named = ak.Array([{"fX": 1.0, "fY": 2.0}], with_name="Hit")
    assert str(sapwood.vectors(named).type) == str(named.type)
    with pytest.raises(sapwood.errors.MismatchError, match="library='ak'"):
        sapwood.vectors(np.zeros(3))


def test_a_missing_package_gives_its_install_line(stored: Any) -> None:
    path = stored[0].file_path
    code = (
        "import sys; sys.modules['vector'] = None\n"
        f"import sapwood\narray = sapwood.open({str(path)!r})['whole/lv'].array()\n"
        "assert array.fE.tolist() == [5.0, 10.0, 15.0, 20.0, 25.0] and not hasattr(array, 'pt')\n"
        "try:\n    sapwood.vectors(array)\nexcept ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "sapwood.vectors() needs the package 'vector': pip install vector"
