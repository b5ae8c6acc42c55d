"""Classes whose own Streamer writes members and no header, as KM3NeT's have it, beside real ROOT and uproot."""

from __future__ import annotations

from pathlib import Path

import pytest
import sapwood
import uproot

from support.rootrun import compiled, root

CODE = r"""
#include <TBuffer.h>
#include <TFile.h>
#include <TTree.h>
#include <vector>
struct Raw { int id = 0; unsigned char ch = 0; float tdc = 0; unsigned char tot = 0; ClassDefNV(Raw, 1) };
inline void Raw::Streamer(TBuffer &b) {
  if (b.IsReading()) b >> id >> ch >> tdc >> tot; else b << id << ch << tdc << tot;
}
// The float comes first: its bits look like a byte count.
struct Base { float first = 0; ClassDefNV(Base, 2) };
inline void Base::Streamer(TBuffer &b) { if (b.IsReading()) b >> first; else b << first; }
struct Derived : Base { short last = 0; ClassDefNV(Derived, 3) };
inline void Derived::Streamer(TBuffer &b) { Base::Streamer(b); if (b.IsReading()) b >> last; else b << last; }
// Its members are described as others than those that it writes.
struct Odd { int id = 0; double value = 0; ClassDefNV(Odd, 7) };
inline void Odd::Streamer(TBuffer &b) { short s = id; if (b.IsReading()) { b >> s; id = s; } else b << s << s << s; }
#ifdef __ROOTCLING__
#pragma link C++ class Raw-;
#pragma link C++ class Base-;
#pragma link C++ class Derived-;
#pragma link C++ class Odd-;
#pragma link C++ class std::vector<Raw>+;
#pragma link C++ class std::vector<Derived>+;
#pragma link C++ class std::vector<Odd>+;
#endif
void write_raw(const char *path) {
  TFile file(path, "RECREATE");
  TTree tree("t", "t");
  auto *v = new std::vector<Raw>; auto *d = new std::vector<Derived>; auto *o = new std::vector<Odd>;
  auto *one = new Derived; int n;
  tree.Branch("v", &v); tree.Branch("d", &d); tree.Branch("o", &o); tree.Branch("one", &one, 32000, 0);
  tree.Branch("n", &n);
  for (n = 0; n < 40; ++n) {
    v->resize(n % 5); d->resize(n % 3); o->resize(n % 4);
    for (auto &r : *v) { r.id = n; r.ch = 7; r.tdc = 1000 + n; r.tot = 200; }
    for (auto &r : *d) { r.first = 2.0f + n; r.last = -n; }
    for (auto &r : *o) r.id = n;
    one->first = n; one->last = 3 * n;
    tree.Fill();
  }
  tree.Write();
}
"""
RAW = [("id", ">i4"), ("ch", "u1"), ("tdc", ">f4"), ("tot", "u1")]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    library = compiled(folder, "raw", CODE)
    root("ROOT.gSystem.Load(sys.argv[1])\nROOT.write_raw(sys.argv[2])", library, folder / "raw.root")
    return folder / "raw.root"


def test_objects_without_headers_are_read_where_their_length_fits(written: Path) -> None:
    tree = sapwood.open(written)["t"]
    expected = [[{"id": n, "ch": 7, "tdc": 1000 + n, "tot": 200}] * (n % 5) for n in range(40)]
    assert tree["v"].array().to_list() == expected
    with uproot.open(written)["t"] as other:
        assert other["v"].array().to_list() == expected
    found = tree["d"].array().to_list()
    assert [[(one["first"], one["last"]) for one in row] for row in found] == [
        [(2.0 + n, -n)] * (n % 3) for n in range(40)
    ]
    assert tree.arrays(["v"], entry_start=38)["v"].to_list() == expected[38:]
    one = tree["one"].array()
    assert (one.first.to_list(), one.last.to_list()) == (list(range(40)), [3 * n for n in range(40)])


def test_the_error_names_a_streamer_of_its_own(written: Path) -> None:
    tree = sapwood.open(written)["t"]
    with pytest.raises(sapwood.errors.UnsupportedError, match="class Odd .* has its own Streamer"):
        tree["o"].array()
    shorts = tree["o"].array(sapwood.AsJagged(sapwood.AsDtype(">i2"), header_bytes=10))
    assert shorts.to_list() == [[n] * (3 * (n % 4)) for n in range(40)]


def test_bytes_are_looked_at_as_uproot_does(written: Path) -> None:
    tree = sapwood.open(written)["t"]
    with uproot.open(written)["t"] as other:
        wanted = uproot.AsJagged(uproot.AsDtype(RAW), header_bytes=10)
        expected = other["v"].array(wanted).to_list()
        for ours in (wanted, sapwood.AsJagged(sapwood.AsDtype(RAW), header_bytes=10)):
            assert tree["v"].array(ours).to_list() == expected
            assert tree["v"].array(ours, entry_start=7, entry_stop=19).to_list() == expected[7:19]
            assert tree["v"].array(ours, entries=[30, 4, 9]).to_list() == [expected[at] for at in (30, 4, 9)]
        rows = tree["v"].array(wanted, library="np")
        assert [row["id"].tolist() for row in rows] == [[n] * (n % 5) for n in range(40)]
    with pytest.raises(
        sapwood.errors.MismatchError, match="entry 0 of 'v' has 10 bytes, which are not 9 and"
    ):
        tree["v"].array(sapwood.AsJagged(sapwood.AsDtype(RAW), header_bytes=9))
    with pytest.raises(sapwood.errors.MismatchError, match="for one branch"):
        tree.arrays({"v": wanted})
