// Events in the class structures of five CMS files (the corpus of ROOT has the infos of their classes: CaloTower, CaloJet, PSimHit,
// EmbdSimTrack, digis, edm::Provenance), for streaming member by member and object by object. Each product is a branch.
#include <string>
#include <vector>

#include "Rtypes.h"

namespace cms {

struct Product {
   ULong64_t id_;
};
template <class T>
struct Kept : Product {
   std::vector<T> obj;
};

struct Crystal {
   Float_t e, eta, phi;
};
struct Layer {
   Int_t depth;
   Float_t e;
   Int_t subdetectorIndex;
};
struct Tower {
   std::vector<Crystal> crystals;
   Float_t e, eECal, eHCal, et, eta;
   std::vector<Layer> layers;
   UInt_t nCrystals, nLayers;
   Float_t phi, theta;
   Int_t towerIndex;
};
struct JetData {
   Double_t e, et, eta, m;
   Int_t numberOfConstituents;
   Double_t p, phi, pt, px, py, pz, y;
};
struct Jet {
   JetData data;
   Double_t m_energyFractionInECAL, m_energyFractionInHB, m_energyFractionInHCAL, m_energyFractionInHE, m_energyFractionInHF,
      m_energyFractionInHO, m_maxEInEmTowers, m_maxEInHadTowers;
   Int_t m_n90;
   std::vector<Int_t> m_towerIdxs;
};
struct Three {
   Double_t dx, dy, dz;
};
struct Lorentz {
   Three pp;
   Double_t ee;
};
struct CoreTrack {
   Int_t thePID;
   Lorentz theMomentum;
};
struct Track : CoreTrack {
   Int_t ivert, igenpart;
};
struct CoreVertex {
   Lorentz theVertex;
};
struct Vertex : CoreVertex {
   Int_t itrack;
};
struct Point {
   Float_t theX, theY, theZ;
};
struct Hit {
   Point theEntryPoint, theSegment;
   Float_t thePabs, theEnergyLoss, theThetaAtEntry, thePhiAtEntry, theTof;
   Short_t theParticleType;
   UShort_t theProcessType;
   Int_t theDetUnitId;
   UInt_t theTrackId;
};
struct Digi {
   UInt_t theData;
};
struct CellID {
   UInt_t id;
   Char_t myBase;
};
struct Frame {
   Double_t PUinTimeEnergy;
   Int_t TimeFrame[10];
   Double_t TriggerEnergy;
   CellID mycell;
   UInt_t sz;
};
struct Primitive {
   Float_t et, etWithoutBXID_;
   Bool_t fineGrainVeto_;
   CellID mycell;
};
struct Wire {
   Int_t the5thElectronTime, theAdcCounts, theBeamCrossingTag, theFDTime, theWireGroup;
};
struct Strip {
   Int_t theAdcCounts, theBeamCrossingTag, theComparatorOutput, theComparatorTime, theScaCounts;
   Float_t theScaStartTime;
   Int_t theStripNumber;
};
struct Fed {
   std::vector<UChar_t> data_;
};
struct Module {
   std::string module_label, module_name;
   ULong64_t pass_number;
   std::string process_name;
   ULong64_t version_number;
};
struct Provenance {
   ULong64_t cid;
   std::string friendly_product_type_name;
   Module module;
   std::vector<ULong64_t> parents;
   ULong64_t product_id;
   Int_t status;
};
// Not in the corpus: what pat::Jet adds to a jet, results of taggers by name, and its own towers.
struct Tag {
   std::string first;
   Float_t second;
};
struct PatJet : Jet {
   std::vector<Tag> pairDiscriVector_;
   std::vector<Tower> caloTowers_;
};

} // namespace cms

void streaming_make(const char *kind, long entries);
void streaming_write(const char *path, int compression, int split);
double streaming_read(const char *path, const char *kind);

#ifdef __ROOTCLING__
#pragma link C++ struct cms::Product+;
#pragma link C++ struct cms::Crystal+;
#pragma link C++ struct cms::Layer+;
#pragma link C++ struct cms::Tower+;
#pragma link C++ struct cms::JetData+;
#pragma link C++ struct cms::Jet+;
#pragma link C++ struct cms::Three+;
#pragma link C++ struct cms::Lorentz+;
#pragma link C++ struct cms::CoreTrack+;
#pragma link C++ struct cms::Track+;
#pragma link C++ struct cms::CoreVertex+;
#pragma link C++ struct cms::Vertex+;
#pragma link C++ struct cms::Point+;
#pragma link C++ struct cms::Hit+;
#pragma link C++ struct cms::Digi+;
#pragma link C++ struct cms::CellID+;
#pragma link C++ struct cms::Frame+;
#pragma link C++ struct cms::Primitive+;
#pragma link C++ struct cms::Wire+;
#pragma link C++ struct cms::Strip+;
#pragma link C++ struct cms::Fed+;
#pragma link C++ struct cms::Module+;
#pragma link C++ struct cms::Provenance+;
#pragma link C++ struct cms::Tag+;
#pragma link C++ struct cms::PatJet+;
#pragma link C++ class std::vector<cms::Crystal>+;
#pragma link C++ class std::vector<cms::Layer>+;
#pragma link C++ class std::vector<cms::Tower>+;
#pragma link C++ class std::vector<cms::Jet>+;
#pragma link C++ class std::vector<cms::Track>+;
#pragma link C++ class std::vector<cms::Vertex>+;
#pragma link C++ class std::vector<cms::Hit>+;
#pragma link C++ class std::vector<cms::Digi>+;
#pragma link C++ class std::vector<cms::Frame>+;
#pragma link C++ class std::vector<cms::Primitive>+;
#pragma link C++ class std::vector<cms::Wire>+;
#pragma link C++ class std::vector<cms::Strip>+;
#pragma link C++ class std::vector<cms::Fed>+;
#pragma link C++ class std::vector<cms::Provenance>+;
#pragma link C++ class std::vector<cms::Tag>+;
#pragma link C++ class std::vector<cms::PatJet>+;
#pragma link C++ struct cms::Kept<cms::Tower>+;
#pragma link C++ struct cms::Kept<cms::Jet>+;
#pragma link C++ struct cms::Kept<cms::Track>+;
#pragma link C++ struct cms::Kept<cms::Vertex>+;
#pragma link C++ struct cms::Kept<cms::Hit>+;
#pragma link C++ struct cms::Kept<cms::Digi>+;
#pragma link C++ struct cms::Kept<cms::Frame>+;
#pragma link C++ struct cms::Kept<cms::Primitive>+;
#pragma link C++ struct cms::Kept<cms::Wire>+;
#pragma link C++ struct cms::Kept<cms::Strip>+;
#pragma link C++ struct cms::Kept<cms::Fed>+;
#pragma link C++ struct cms::Kept<cms::Provenance>+;
#pragma link C++ struct cms::Kept<cms::PatJet>+;
#endif

#ifndef __CLING__ // the interpreter only needs to know the names above

#include <array>
#include <cmath>
#include <memory>

#include "TFile.h"
#include "TRandom3.h"
#include "TTree.h"

namespace cms {

// What all kinds of file are made of; a kind has some of the products.
struct Event {
   Kept<Tower> towers;
   Kept<Jet> jets;
   Kept<PatJet> pats;
   Kept<Track> tracks;
   Kept<Vertex> vertices;
   Kept<Hit> hits;
   Kept<Digi> pixels, strips;
   Kept<Frame> frames;
   Kept<Primitive> primitives;
   Kept<Wire> wires;
   Kept<Strip> cathodes;
   Kept<Fed> feds;
   Kept<Provenance> provenance;
};

std::vector<Event> gEvents;
std::string gKind;

template <class F>
void each(const std::string &kind, Event &e, F f)
{
   if (kind == "raw") {
      f("feds.", e.feds), f("pixels.", e.pixels), f("strips.", e.strips), f("frames.", e.frames);
      f("primitives.", e.primitives), f("wires.", e.wires), f("cathodes.", e.cathodes);
      return;
   }
   if (kind == "pat")
      f("jets.", e.pats);
   else
      f("towers.", e.towers), f("jets.", e.jets);
   f("tracks.", e.tracks), f("vertices.", e.vertices);
   if (kind == "reco")
      f("hits.", e.hits);
   if (kind != "aod")
      f("provenance.", e.provenance);
}

// Detectors give numbers of few digits.
float digits(double x, double step) { return float(step * std::round(x / step)); }

Tower tower(TRandom3 &r)
{
   Tower t;
   t.e = digits(r.Exp(3), 0.001), t.eECal = digits(0.6 * t.e, 0.001), t.eHCal = t.e - t.eECal;
   t.towerIndex = int(r.Integer(4176)), t.eta = float(-3 + 0.087 * (t.towerIndex / 72)), t.phi = float(0.0873 * (t.towerIndex % 72));
   t.et = float(t.e / std::cosh(t.eta)), t.theta = float(2 * std::atan(std::exp(-t.eta)));
   t.crystals.resize(r.Poisson(5));
   for (auto &c : t.crystals)
      c.e = digits(r.Exp(1), 0.001), c.eta = float(t.eta + 0.0174 * int(r.Integer(5))), c.phi = float(t.phi + 0.0174 * int(r.Integer(5)));
   t.layers.resize(1 + r.Integer(4));
   int depth = 0;
   for (auto &l : t.layers)
      l.depth = ++depth, l.e = digits(r.Exp(1), 0.001), l.subdetectorIndex = int(1 + r.Integer(4));
   t.nCrystals = t.crystals.size(), t.nLayers = t.layers.size();
   return t;
}

void fill(Jet &j, TRandom3 &r)
{
   auto &d = j.data;
   d.pt = 15 + r.Exp(25), d.eta = r.Gaus(0, 1.5), d.phi = r.Uniform(-3.1416, 3.1416), d.m = 0.1 * d.pt;
   d.px = d.pt * std::cos(d.phi), d.py = d.pt * std::sin(d.phi), d.pz = d.pt * std::sinh(d.eta), d.p = d.pt * std::cosh(d.eta);
   d.e = std::hypot(d.p, d.m), d.et = d.e / std::cosh(d.eta), d.y = 0.5 * std::log((d.e + d.pz) / (d.e - d.pz));
   d.numberOfConstituents = 5 + r.Poisson(15);
   j.m_energyFractionInHCAL = r.Rndm(), j.m_energyFractionInECAL = 1 - j.m_energyFractionInHCAL;
   bool barrel = std::abs(d.eta) < 1.3;
   j.m_energyFractionInHB = barrel ? j.m_energyFractionInHCAL : 0, j.m_energyFractionInHE = barrel ? 0 : j.m_energyFractionInHCAL;
   j.m_energyFractionInHF = j.m_energyFractionInHO = 0, j.m_maxEInEmTowers = r.Exp(10), j.m_maxEInHadTowers = r.Exp(10);
   j.m_n90 = d.numberOfConstituents / 2;
   for (int i = 0; i < d.numberOfConstituents; ++i)
      j.m_towerIdxs.push_back(int(r.Integer(4176)));
}

void make(Event &e, const std::string &kind, TRandom3 &r)
{
   ULong64_t id = 0;
   each(kind, e, [&](const char *, auto &x) { x.id_ = ++id; });
   if (kind == "raw") {
      e.feds.obj.resize(60);
      for (auto &f : e.feds.obj) {
         f.data_.resize(8 * r.Poisson(20));
         for (std::size_t i = 0; i < f.data_.size(); ++i)
            f.data_[i] = i % 4 ? (i % 4 == 3 ? 0x50 : UChar_t(r.Exp(12))) : UChar_t(r.Integer(256));
      }
      e.pixels.obj.resize(r.Poisson(600)), e.strips.obj.resize(r.Poisson(1500));
      unsigned row = 0;
      for (auto *all : {&e.pixels, &e.strips})
         for (auto &d : all->obj)
            row += 1 + r.Integer(40), d.theData = (row % 65536) << 16 | unsigned(r.Exp(60)) % 1024;
      e.frames.obj.resize(r.Poisson(150)), e.primitives.obj.resize(r.Poisson(200));
      for (auto &f : e.frames.obj) {
         f.PUinTimeEnergy = 0, f.TriggerEnergy = digits(r.Exp(2), 0.01), f.sz = 10;
         f.mycell = {0x28000000u | r.Integer(65536), 1};
         for (int i = 0; i < 10; ++i)
            f.TimeFrame[i] = 200 + int(r.Gaus(0, 2)) + (i > 3 ? int(20 * f.TriggerEnergy * std::exp(-0.5 * (i - 4))) : 0);
      }
      for (auto &p : e.primitives.obj)
         p.et = digits(r.Exp(2), 0.5), p.etWithoutBXID_ = p.et, p.fineGrainVeto_ = r.Rndm() < 0.1, p.mycell = {0x22000000u | r.Integer(4096), 2};
      e.wires.obj.resize(r.Poisson(80)), e.cathodes.obj.resize(r.Poisson(120));
      for (auto &w : e.wires.obj)
         w = {int(r.Gaus(500, 20)), int(r.Landau(200, 30)), int(r.Integer(3)), int(r.Gaus(100, 5)), int(r.Integer(112))};
      for (auto &s : e.cathodes.obj)
         s = {int(r.Landau(200, 30)), int(r.Integer(3)), int(r.Integer(2)), int(r.Integer(16)), int(r.Gaus(500, 40)), digits(r.Gaus(50, 3), 0.1), int(r.Integer(80))};
      return;
   }
   if (kind == "pat") {
      e.pats.obj.resize(r.Poisson(8));
      for (auto &j : e.pats.obj) {
         fill(j, r);
         for (auto name : {"trackCountingHighEffBJetTags", "jetProbabilityBJetTags", "simpleSecondaryVertexBJetTags", "softMuonBJetTags"})
            j.pairDiscriVector_.push_back({name, digits(r.Rndm(), 0.001)});
         for (int i = 0; i < j.data.numberOfConstituents; ++i)
            j.caloTowers_.push_back(tower(r));
      }
   } else {
      for (int i = 0, n = int(r.Poisson(150)); i < n; ++i)
         e.towers.obj.push_back(tower(r));
      e.jets.obj.resize(r.Poisson(8));
      for (auto &j : e.jets.obj)
         fill(j, r);
   }
   e.vertices.obj.resize(1 + r.Poisson(20)), e.tracks.obj.resize(r.Poisson(80));
   for (auto &v : e.vertices.obj)
      v.theVertex = {{r.Gaus(0, 0.01), r.Gaus(0, 0.01), r.Gaus(0, 5)}, r.Exp(1)}, v.itrack = int(r.Integer(80));
   for (auto &k : e.tracks.obj) {
      double x = r.Gaus(), y = r.Gaus(), z = 3 * r.Gaus();
      k.theMomentum = {{x, y, z}, std::sqrt(x * x + y * y + z * z + 0.0195)};
      k.thePID = r.Rndm() < 0.5 ? 211 : -211, k.ivert = int(r.Integer(e.vertices.obj.size())), k.igenpart = int(r.Integer(500));
   }
   if (kind == "reco") {
      e.hits.obj.resize(r.Poisson(400));
      for (auto &h : e.hits.obj) {
         h.theEntryPoint = {digits(r.Uniform(-3, 3), 0.0001), digits(r.Uniform(-3, 3), 0.0001), -0.0145f};
         h.theSegment = {digits(r.Gaus(0, 0.01), 0.0001), digits(r.Gaus(0, 0.01), 0.0001), 0.029f};
         h.thePabs = float(r.Exp(1)), h.theEnergyLoss = float(r.Landau(8e-5, 1e-5)), h.theThetaAtEntry = float(r.Rndm()), h.thePhiAtEntry = float(r.Rndm());
         h.theTof = digits(r.Gaus(5, 2), 0.001), h.theParticleType = r.Rndm() < 0.5 ? 211 : -211, h.theProcessType = 2;
         h.theDetUnitId = int(302056964 + 4 * r.Integer(1440)), h.theTrackId = r.Integer(80);
      }
   }
   if (kind != "aod")
      for (int i = 0; i < 20; ++i)
         e.provenance.obj.push_back({ULong64_t(i), "CaloTowerCollection", {"towerMaker" + std::to_string(i), "CaloTowerCandidateCreator", 1, "RECO", 3}, {ULong64_t(i), ULong64_t(i + 1)}, ULong64_t(i), 0});
}

template <class T>
std::size_t size(const Kept<T> &x) { return x.obj.size(); }

} // namespace cms

void streaming_make(const char *kind, long entries)
{
   TRandom3 r(9);
   cms::gKind = kind;
   cms::gEvents.clear();
   cms::gEvents.resize(entries);
   for (auto &e : cms::gEvents)
      cms::make(e, kind, r);
}

void streaming_write(const char *path, int compression, int split)
{
   std::unique_ptr<TFile> file(TFile::Open(path, "RECREATE", "", compression));
   auto tree = new TTree("tree", "events");
   std::array<void *, 16> slots{};
   std::size_t i = 0;
   cms::Event first;
   cms::each(cms::gKind, first, [&](const char *name, auto &x) {
      slots[i] = &x;
      tree->Branch(name, reinterpret_cast<std::remove_reference_t<decltype(x)> **>(&slots[i++]), 32000, split);
   });
   for (auto &e : cms::gEvents) {
      i = 0;
      cms::each(cms::gKind, e, [&](const char *, auto &x) { slots[i++] = &x; });
      tree->Fill();
   }
   tree->ResetBranchAddresses();
   file->Write();
   file->Close();
}

double streaming_read(const char *path, const char *kind)
{
   std::unique_ptr<TFile> file(TFile::Open(path));
   auto tree = file->Get<TTree>("tree");
   std::array<void *, 16> slots{};
   std::size_t i = 0;
   cms::Event one;
   cms::each(kind, one, [&](const char *name, auto &x) {
      slots[i] = &x;
      tree->SetBranchAddress(name, reinterpret_cast<std::remove_reference_t<decltype(x)> **>(&slots[i++]));
   });
   double total = 0;
   for (Long64_t e = 0; e < tree->GetEntries(); ++e) {
      tree->GetEntry(e);
      cms::each(kind, one, [&](const char *, auto &x) { total += cms::size(x); });
   }
   tree->ResetBranchAddresses();
   return total;
}

#endif
