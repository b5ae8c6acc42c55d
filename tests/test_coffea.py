"""Events of coffea that Sapwood reads, beside those that coffea reads with uproot: every column of every
collection."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
uproot = pytest.importorskip("uproot")
ak = pytest.importorskip("awkward")
nanoevents = pytest.importorskip("coffea.nanoevents")

from coffea.nanoevents import NanoEventsFactory, schemas  # noqa: E402
from sapwood import errors  # noqa: E402
from sapwood._read import nano_mapping  # noqa: E402
from sapwood._tools import events  # noqa: E402

from support import rootrun  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
schemas.NanoAODSchema.warn_missing_crossrefs = False

#: Samples of coffea's own tests, where a clone of its repository is at hand: files, trees, schemas, and what
#: its own reader gets wrong or cannot read.
SAMPLES = [
    ("nano_dy.root", "Events", "nanoaod", ()),
    ("nano_dimuon.root", "Events", "nanoaod", ()),
    ("nano_tt_v12.root", "Events", "nanoaod", ()),
    ("nano_tt_v15.root", "Events", "nanoaod", ()),
    ("nano_dy_rntuple.root", "Events", "nanoaod", ()),
    ("pfnano.root", "Events", "pfnanoaod", ()),
    ("pfnano_rntuple.root", "Events", "pfnanoaod", ()),
    ("scouting_nano.root", "Events", "scoutingnanoaod", ()),
    # uproot reads these members of a base class as if they were stored object by object.
    ("PHYSLITE_example.root", "CollectionTree", "physlite", ("METAssoc_MET.jetLink.m_pers",)),
    ("test_FCC_Spring2021.root", "events", "fcc", ()),
    ("p8_ee_WW_ecm240_edm4hep.root", "events", "fccedm4hep1", ()),
    ("treemaker.root", "PreSelection", "treemaker", ()),
    ("treemaker_rntuple.root", "PreSelection", "treemaker", ()),
]
CORPUS = [
    ("skhep__nanoAOD_2015_CMS_Open_Data_ttbar.root", "Events", "nanoaod"),
    ("laurelin__nano_tree.root", "Events", "nanoaod"),
    ("skhep__uproot-HZZ.root", "events", "base"),
    ("skhep__uproot-HZZ.root", "events", "treemaker"),
]

DELPHES = r"""
ROOT.gInterpreter.Declare('''
#include "TObject.h"
class Jet : public TObject { public: Float_t PT; Float_t Eta; Float_t Phi; Float_t Mass; UInt_t BTag; ClassDefOverride(Jet, 1) };
class HepMCEvent : public TObject { public: Long64_t Number; Float_t Weight; ClassDefOverride(HepMCEvent, 1) };
class MissingET : public TObject { public: Float_t MET; Float_t Eta; Float_t Phi; ClassDefOverride(MissingET, 1) };
void delphes(const char* path) {
  TFile f(path, "recreate"); TTree t("Delphes", "Analysis tree");
  auto jets = new TClonesArray("Jet"), events = new TClonesArray("HepMCEvent"), mets = new TClonesArray("MissingET");
  Int_t njets, nevents = 1, nmets = 1;
  t.Branch("Event", &events, 64000, 99); t.Branch("Event_size", &nevents, "Event_size/I");
  t.Branch("Jet", &jets, 64000, 99); t.Branch("Jet_size", &njets, "Jet_size/I");
  t.Branch("MissingET", &mets, 64000, 99); t.Branch("MissingET_size", &nmets, "MissingET_size/I");
  for (int k = 0; k < 50; ++k) {
    jets->Clear(); events->Clear(); mets->Clear();
    njets = k % 4;
    for (int n = 0; n < njets; ++n) { auto j = new ((*jets)[n]) Jet; j->PT = 20 + k - n; j->Eta = 0.1f * n; j->Phi = 0.2f; j->Mass = 5; j->BTag = n; }
    auto e = new ((*events)[0]) HepMCEvent; e->Number = k; e->Weight = 0.5f * k;
    auto m = new ((*mets)[0]) MissingET; m->MET = k; m->Eta = 0; m->Phi = 0.1f * k;
    t.Fill();
  }
  t.Write();
}
''')
ROOT.delphes(sys.argv[1])
answer(True)
"""


TREEMAKER = r"""
import os
os.chdir(os.path.dirname(sys.argv[1]))
ROOT.gErrorIgnoreLevel = ROOT.kError
kind = "vector<ROOT::Math::LorentzVector<ROOT::Math::PtEtaPhiE4D<double>>>"
ROOT.gInterpreter.GenerateDictionary(kind + ";vector<vector<int>>", "vector;Math/Vector4D.h")
ROOT.gInterpreter.Declare('''
#include "Math/Vector4D.h"
#include "TTree.h"
#include "TFile.h"
using P = ROOT::Math::LorentzVector<ROOT::Math::PtEtaPhiE4D<double>>;
void treemaker(const char* path) {
  TFile f(path, "recreate"); TTree t("PreSelection", "");
  auto jets = new std::vector<P>; auto tags = new std::vector<double>; auto nested = new std::vector<std::vector<int>>;
  double met; UInt_t run = 1;
  t.Branch("RunNum", &run, "RunNum/i"); t.Branch("MET", &met, "MET/D");
  t.Branch("Jets", &jets, 32000, 99); t.Branch("Jets_bTag", &tags); t.Branch("Jets_ids", &nested);
  for (int k = 0; k < 40; ++k) {
    jets->clear(); tags->clear(); nested->clear(); met = 10 * k;
    for (int n = 0; n < k % 4; ++n) {
      jets->emplace_back(30 + k - n, 0.1 * n, 0.2, 90 + k); tags->push_back(n); nested->push_back(std::vector<int>(n, k));
    }
    t.Fill();
  }
  t.Write();
}
''')
ROOT.treemaker(sys.argv[1])
answer(True)
"""


EDM4HEP = r"""
import os
folder = os.path.dirname(sys.argv[1])
os.chdir(folder)
with open("edm4hep.h", "w") as header:
    header.write('''
#pragma once
#include <vector>
namespace edm4hep {
struct Vector3d { double x{}, y{}, z{}; };
struct MCParticleData {
  int PDG{}, generatorStatus{}, simulatorStatus{};
  float charge{}, time{};
  double mass{};
  Vector3d vertex, endpoint, momentum, momentumAtEndpoint;
  unsigned int parents_begin{}, parents_end{}, daughters_begin{}, daughters_end{};
};
}
namespace podio { struct ObjectID { int index{}, collectionID{}; }; }
''')
ROOT.gErrorIgnoreLevel = ROOT.kError
ROOT.gInterpreter.AddIncludePath(folder)
ROOT.gInterpreter.GenerateDictionary("vector<edm4hep::MCParticleData>;vector<podio::ObjectID>", "edm4hep.h")
ROOT.gInterpreter.Declare('''
#include "edm4hep.h"
#include "TTree.h"
#include "TFile.h"
void edm4hep_file(const char* path) {
  TFile f(path, "recreate"); TTree t("events", "");
  auto particles = new std::vector<edm4hep::MCParticleData>;
  auto parents = new std::vector<podio::ObjectID>, daughters = new std::vector<podio::ObjectID>;
  t.Branch("MCParticles", &particles, 32000, 99);
  t.Branch("_MCParticles_parents", &parents, 32000, 99);
  t.Branch("_MCParticles_daughters", &daughters, 32000, 99);
  for (int k = 0; k < 30; ++k) {
    particles->clear(); parents->clear(); daughters->clear();
    for (unsigned n = 0; n < k % 4u; ++n) {
      edm4hep::MCParticleData p;
      p.PDG = 11 + n; p.mass = 0.5; p.momentum = {1. * n, 2., 3.};
      p.parents_begin = p.daughters_begin = n; p.parents_end = p.daughters_end = n + 1;
      particles->push_back(p); parents->push_back({0, 1}); daughters->push_back({int(n), 1});
    }
    t.Fill();
  }
  t.Write();
}
''')
ROOT.edm4hep_file(sys.argv[1])
answer(True)
"""


def theirs(path: Any, tree: str, schema: Any, **options: Any) -> Any:
    found, _ = events.schema_of(schema)
    return NanoEventsFactory.from_root(
        {str(path): tree}, schemaclass=found, mode="virtual", **options
    ).events()


def differing(ours: Any, other: Any, path: str = "") -> Iterator[str]:
    """Columns that are not the same; of records, those in them."""
    for name in other.fields:
        try:
            wanted = other[name]
        except ValueError:
            continue  # vectors with too many coordinates, which coffea refuses
        found = ours[name]
        if wanted.fields:
            yield from differing(found, wanted, f"{path}{name}.")
            continue
        try:
            values = ak.to_list(wanted)
        except Exception:
            continue  # what uproot cannot read
        # uproot writes this class with its namespace in RNTuples alone.
        kinds = (str(one.type).replace("ROOT::VecOps::", "") for one in (found, wanted))
        if repr(ak.to_list(found)) != repr(values) or len(set(kinds)) > 1:
            yield path + name


@pytest.mark.parametrize(("file", "tree", "schema", "known"), SAMPLES, ids=[row[0] for row in SAMPLES])
def test_samples_of_coffea(file: str, tree: str, schema: str, known: tuple[str, ...]) -> None:
    clone = os.environ.get("SAPWOOD_COFFEA")
    if not clone:
        pytest.skip("SAPWOOD_COFFEA names no clone of coffea's repository")
    path = Path(clone) / "tests/samples" / file
    ours, other = sapwood.nanoevents(path, schema), theirs(path, tree, schema)
    assert set(ours.fields) == set(other.fields)
    assert [name for name in differing(ours, other) if not name.startswith(known or "!")] == []


@pytest.mark.parametrize(("file", "tree", "schema"), CORPUS)
def test_columns_are_those_of_uproot(file: str, tree: str, schema: str) -> None:
    corpus = Path(
        os.environ.get("SAPWOOD_CORPUS") or Path(__file__).resolve().parents[2] / "shared" / "corpus"
    )
    if not (corpus / file).exists():
        pytest.skip("the corpus of real files is not here (set SAPWOOD_CORPUS)")
    ours, other = sapwood.nanoevents(corpus / file, schema), theirs(corpus / file, tree, schema)
    assert ours.fields == other.fields
    assert list(differing(ours, other)) == []
    assert len(ours) == len(other)


def test_delphes(tmp_path: Path) -> None:
    path = tmp_path / "delphes.root"
    rootrun.root(DELPHES, path)
    ours, other = sapwood.nanoevents(path, "delphes"), theirs(path, "Delphes", "delphes")
    assert {"Event", "Jet", "MissingET"} <= set(ours.fields)
    assert set(ours.fields) == set(other.fields) and list(differing(ours, other)) == []
    assert ours.Jet.pt[3].tolist() == [23.0, 22.0, 21.0] and ours.Jet.mass[1].tolist() == [5.0]


def test_treemaker(tmp_path: Path) -> None:
    path = tmp_path / "treemaker.root"
    rootrun.root(TREEMAKER, path)
    ours, other = sapwood.nanoevents(path, "treemaker"), theirs(path, "PreSelection", "treemaker")
    assert {"RunNum", "MET", "Jets"} == set(ours.fields) == set(other.fields)
    assert list(differing(ours, other)) == []
    assert ours.Jets.pt[3].tolist() == [33.0, 32.0, 31.0] and ours.Jets.bTag[2].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("schema", ["edm4hep", "fccedm4hep1"])
def test_edm4hep(tmp_path: Path, schema: str) -> None:
    path = tmp_path / "edm4hep.root"
    rootrun.root(EDM4HEP, path)
    ours, other = sapwood.nanoevents(path, schema), theirs(path, "events", schema)
    assert ours.fields == other.fields == ["MCParticles"]
    assert list(differing(ours, other)) == []
    assert ours.MCParticles.PDG[3].tolist() == [11, 12, 13]
    assert ours.MCParticles.px[3].tolist() == [0.0, 1.0, 2.0]


def test_physlite(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {
        "EventInfoAuxDyn.runNumber": np.ones(50, "u4"),
        "EventInfoAuxDyn.eventNumber": np.arange(50, dtype="u8"),
    }
    for name in ("AnalysisJets", "AnalysisMuons", "AnalysisElectrons"):
        counts = rng.poisson(2, 50)
        for field in ("pt", "eta", "phi", "m"):
            values = rng.exponential(20, int(counts.sum())).astype("f4")
            columns[f"{name}AuxDyn.{field}"] = ak.unflatten(values, counts)
    path = tmp_path / "physlite.root"
    types = {
        name: "vector<float>" if name.startswith("Analysis") else array.dtype.name
        for name, array in columns.items()
    }
    with sapwood.recreate(path) as file, file.mktree("CollectionTree", types) as tree:
        tree.extend(columns)
    ours, other = sapwood.nanoevents(path, "physlite"), theirs(path, "CollectionTree", "physlite")
    assert ours.fields == other.fields == ["EventInfo", "Jets", "Muons", "Electrons"]
    assert list(differing(ours, other)) == []
    assert ak.to_list(ours.Jets.pt) == columns["AnalysisJetsAuxDyn.pt"].tolist()


def write_nano(path: Path, entries: int = 100, *, more: bool = True) -> None:
    rng = np.random.default_rng(3)

    def jagged(counts: Any) -> Any:
        return ak.unflatten(rng.exponential(20, int(counts.sum())).astype("f4"), counts)

    muons, jets = rng.poisson(1.5, entries), rng.poisson(3, entries)
    columns = {
        "run": np.ones(entries, "u4"),
        "luminosityBlock": np.ones(entries, "u4"),
        "event": np.arange(entries, dtype="u8"),
        **{f"Muon_{name}": jagged(muons) for name in ("pt", "eta", "phi", "mass", "charge")},
        **{f"Jet_{name}": jagged(jets) for name in ("pt", "eta", "phi", "mass", "charge")},
        "MET_pt": rng.exponential(30, entries).astype("f4"),
        "MET_phi": rng.uniform(-3, 3, entries).astype("f4"),
    }
    columns["Muon_jetIdx"] = ak.values_astype(ak.zeros_like(columns["Muon_pt"]) - 1, "int32")
    if more:
        columns["Jet_extra"] = jagged(jets)
    with sapwood.recreate(path) as file:
        with file.mktree(
            "Events", columns, counter_name=lambda name: "n" + name.split("_")[0], auto_flush=30
        ):
            pass
        file["Runs"] = {"run": [1]}


@pytest.fixture()
def nano(tmp_path: Path) -> Path:
    write_nano(tmp_path / "nano.root")
    return tmp_path / "nano.root"


@pytest.fixture()
def reads(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The plans that are read: names of columns."""
    found: list[list[str]] = []
    load = nano_mapping.reading.load

    def noted(branches: Any, selection: Any, show: Any = None) -> Any:
        if branches and len(selection):
            found.append(sorted(branch.name for branch in branches))
        return load(branches, selection, show)

    monkeypatch.setattr(nano_mapping.reading, "load", noted)
    return found


def test_modes(nano: Path, reads: list[list[str]]) -> None:
    other = theirs(nano, "Events", "nanoaod")
    lazy = sapwood.nanoevents(nano)
    assert reads == []
    assert lazy.Muon.pt.tolist() == other.Muon.pt.tolist() and sum(reads, []) == ["nMuon", "Muon_pt"]
    reads.clear()
    whole = sapwood.nanoevents(nano, mode="eager")
    assert len(reads) == 1 and len(reads[0]) >= 18
    assert list(differing(whole, other)) == list(differing(lazy, other)) == [] and len(whole) == 100
    assert whole.Muon.nearest(whole.Jet).pt.tolist() == other.Muon.nearest(other.Jet).pt.tolist()
    part = sapwood.nanoevents(nano, entry_start=30, entry_stop=-10)
    assert part.event.tolist() == list(range(30, 90))
    steps = {str(nano): {"object_path": "Events", "steps": [[3, 7]]}}
    assert sapwood.nanoevents(steps).event.tolist() == [3, 4, 5, 6]
    assert (
        sapwood.nanoevents(sapwood.open(nano)["Events"], schemas.NanoAODSchema, metadata={"a": 1}).metadata[
            "a"
        ]
        == 1
    )
    assert "Muon" not in sapwood.nanoevents(nano, filter_name="/(?!.?n?Muon).*/").fields
    log: list[Any] = []
    sapwood.nanoevents(nano, access_log=log).MET.pt.tolist()
    assert [one.branch for one in log] == ["MET_pt"]


def test_columns_that_are_looked_at_together_are_read_together(nano: Path, reads: list[list[str]]) -> None:
    named = sapwood.nanoevents(nano, preload=["nJet", "Jet_pt", "Jet_eta", "nothing"])
    named.Jet.pt.tolist(), named.Jet.eta.tolist()
    assert reads == [["Jet_eta", "Jet_pt", "nJet"]]
    reads.clear()
    tree = sapwood.open(nano)["Events"]
    found = []
    for start in range(0, 100, 25):
        events = sapwood.nanoevents(tree, entry_start=start, entry_stop=start + 25)
        found += events.Muon.pt.tolist()
        events.MET.phi.tolist()
    assert reads[:3] == [["nMuon"], ["Muon_pt"], ["MET_phi"]] and reads[3:] == 3 * [
        ["MET_phi", "Muon_pt", "nMuon"]
    ]
    assert found == tree["Muon_pt"].array().tolist()


def test_dask(nano: Path, tmp_path: Path, reads: list[list[str]]) -> None:
    dask = pytest.importorskip("dask")
    pytest.importorskip("dask_awkward")
    write_nano(tmp_path / "other.root", 40)
    files = [str(nano), str(tmp_path / "other.root")]
    events = sapwood.nanoevents(files, mode="dask", step_size=30)
    assert events.npartitions == 6 and events.divisions == (0, 30, 60, 90, 100, 130, 140) and reads == []
    other = [theirs(path, "Events", "nanoaod") for path in files]
    with dask.config.set(scheduler="sync"):
        selected = events.Muon.pt[events.Muon.eta > 10]
        computed = selected.compute()
        assert "??" not in str(computed), "read by the worker"
        assert computed.tolist() == sum((one.Muon.pt[one.Muon.eta > 10].tolist() for one in other), [])
        # Each partition is read in one plan, and only what is needed.
        assert reads == 6 * [["Muon_eta", "Muon_pt", "nMuon"]]
        near = events.Muon.nearest(events.Jet).mass
        assert near.compute().tolist() == sum((one.Muon.nearest(one.Jet).mass.tolist() for one in other), [])
        jets = events.Muon.matched_jet.pt
        assert jets.compute().tolist() == sum((one.Muon.matched_jet.pt.tolist() for one in other), [])
        assert dask.compute(events.event, events.MET.pt)[0].tolist() == [*range(100), *range(40)]
    layer = next(iter(events.dask.layers.values()))
    assert pickle.loads(pickle.dumps(layer.io_func)).form == layer.io_func.form
    with pytest.raises(errors.MismatchError, match="entry_start, entry_stop and access_log"):
        sapwood.nanoevents(files, mode="dask", entry_start=1)
    with pytest.raises(errors.MismatchError, match="takes paths of files"):
        sapwood.nanoevents(sapwood.open(nano)["Events"], mode="dask")


def test_events_of_dask_go_to_other_processes(nano: Path) -> None:
    dask = pytest.importorskip("dask")
    pytest.importorskip("dask_awkward")
    events = sapwood.nanoevents(nano, mode="dask", step_size=50)
    with dask.config.set(scheduler="processes", num_workers=2):
        assert events.Muon.pt.compute().tolist() == sapwood.open(nano)["Events/Muon_pt"].array().tolist()


def test_what_goes_wrong_says_so(nano: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no schema 'nanoadd'; nearest: 'nanoaod'"):
        sapwood.nanoevents(nano, "nanoadd")
    with pytest.raises(TypeError, match="a schema is a name or a class"):
        sapwood.nanoevents(nano, 5)
    with pytest.raises(ValueError, match='mode is "virtual", "eager" or "dask", not \'fast\''):
        sapwood.nanoevents(nano, mode="fast")
    with pytest.raises(errors.MismatchError, match='2 files cannot be one array.*mode="dask"'):
        sapwood.nanoevents([nano, nano])
    with pytest.raises(errors.MissingFileError, match="no file"):
        sapwood.nanoevents(tmp_path / "no.root")
    with pytest.raises(KeyError, match="Muons"):
        sapwood.nanoevents(f"{nano}:Muons")
    with pytest.raises(ValueError, match="has several trees.*say which"):
        sapwood.nanoevents(nano, "physlite")
    # The first file has a column that the second lacks.
    write_nano(tmp_path / "less.root", more=False)
    pytest.importorskip("dask_awkward")
    events = sapwood.nanoevents([nano, tmp_path / "less.root"], mode="dask")
    with pytest.raises(KeyError, match="Jet_extra"):
        events.Jet.extra.compute(scheduler="sync")


def test_another_file_at_the_same_path_says_so(nano: Path) -> None:
    events = sapwood.nanoevents(nano)
    mapping = pickle.loads(pickle.dumps(events.attrs["@events_factory"]._mapping.__class__))
    assert mapping is nano_mapping.Columns
    opener = events.attrs["@events_factory"]._mapping._fileopener
    uuid = next(iter(opener._uuid_pfnmap))
    assert opener.open_uuid(uuid)["Events"].num_entries == 100
    write_nano(nano, 10)
    with pytest.raises(errors.MismatchError, match="another file than the events are from"):
        opener.open_uuid(uuid)


def test_a_missing_package_gives_its_install_line(nano: Path) -> None:
    code = (
        "import sys; sys.modules['coffea'] = None\nimport sapwood\n"
        f"try:\n    sapwood.nanoevents({str(nano)!r})\nexcept ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "sapwood.nanoevents() needs the package 'coffea': pip install coffea"
