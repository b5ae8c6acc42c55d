// Writes the inputs of the benchmark: deterministic values that look like physics (rounded mantissas, falling spectra,
// counters, a few constants), so that codecs find what they find in real files.
#include "event.h"
#include "values.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "TFile.h"
#include "TString.h"
#include "TTree.h"

#ifdef __ROOTCLING__
#pragma link C++ class BenchTrack+;
#pragma link C++ class std::vector<BenchTrack>+;
#pragma link C++ class BenchEvent+;
#endif

using namespace bench;

namespace {

void close(TFile &f, TTree *t)
{
   t->Write();
   f.Close();
}

} // namespace

void gen_flat(const char *path, int compression, long entries)
{
   TFile f(path, "RECREATE", "", compression);
   TTree *t = new TTree("tree", "20 flat branches");
   float x[10];
   double d[5];
   int n[5];
   for (int k = 0; k < 10; ++k)
      t->Branch(Form("f%d", k), &x[k], Form("f%d/F", k));
   for (int k = 0; k < 5; ++k)
      t->Branch(Form("d%d", k), &d[k], Form("d%d/D", k));
   for (int k = 0; k < 5; ++k)
      t->Branch(Form("i%d", k), &n[k], Form("i%d/I", k));
   Source s(1);
   for (long e = 0; e < entries; ++e) {
      x[0] = keep(s.bell(), 12), x[1] = keep(s.bell(), 12), x[2] = keep(s.falling(20), 12), x[3] = keep(10 + 2 * s.bell(), 12);
      x[4] = keep(50 * std::fabs(s.bell()), 12), x[5] = keep(0.01 * s.bell(), 12), x[6] = keep(6.2831853 * s.flat() - 3.1415927, 12);
      x[7] = keep(91.2 + 2.5 * s.bell(), 12), x[8] = keep(1000 * s.bell(), 12), x[9] = s.bits() & 0x70 ? -999.f : keep(s.flat(), 12);
      d[0] = keep_double(1e5 * s.bell(), 24), d[1] = 1.6e9 + double(e) * 1e-3, d[2] = keep_double(s.falling(1), 24);
      d[3] = keep_double(s.bell(), 24), d[4] = keep_double(s.flat(), 24);
      n[0] = 350000 + int(e / 100000), n[1] = int(e), n[2] = int(8 * std::fabs(s.bell())), n[3] = s.bits() & 256 ? 1 : -1;
      n[4] = int(s.bits() >> 40 & s.bits() >> 20 & 255);
      t->Fill();
   }
   close(f, t);
}

void gen_jagged(const char *path, int compression, long entries)
{
   TFile f(path, "RECREATE", "", compression);
   TTree *t = new TTree("tree", "counted arrays in the manner of NanoAOD");
   const int kMuons = 16, kJets = 40;
   int run = 0, event = 0, muons = 0, jets = 0, charge[kMuons];
   float mu[4][kMuons], jet[6][kJets];
   t->Branch("run", &run, "run/I");
   t->Branch("event", &event, "event/I");
   t->Branch("nMuon", &muons, "nMuon/I");
   const char *of_muons[] = {"pt", "eta", "phi", "mass"}, *of_jets[] = {"pt", "eta", "phi", "mass", "btag", "area"};
   for (int k = 0; k < 4; ++k)
      t->Branch(Form("Muon_%s", of_muons[k]), mu[k], Form("Muon_%s[nMuon]/F", of_muons[k]));
   t->Branch("Muon_charge", charge, "Muon_charge[nMuon]/I");
   t->Branch("nJet", &jets, "nJet/I");
   for (int k = 0; k < 6; ++k)
      t->Branch(Form("Jet_%s", of_jets[k]), jet[k], Form("Jet_%s[nJet]/F", of_jets[k]));
   Source s(2);
   for (long e = 0; e < entries; ++e) {
      run = 350000 + int(e / 100000), event = int(e);
      muons = std::min(s.steps(1.4), kMuons), jets = std::clamp(int(5.5 + 2.5 * s.bell()), 0, kJets);
      for (int k = 0; k < muons; ++k) {
         mu[0][k] = keep(3 + s.falling(20), 10), mu[1][k] = keep(1.2 * s.bell(), 10), mu[2][k] = keep(6.2831853 * s.flat() - 3.1415927, 10);
         mu[3][k] = 0.10566f, charge[k] = s.bits() & 64 ? 1 : -1;
      }
      std::sort(mu[0], mu[0] + muons, std::greater<float>());
      for (int k = 0; k < jets; ++k) {
         jet[0][k] = keep(15 + s.falling(30), 10), jet[1][k] = keep(2 * s.bell(), 10), jet[2][k] = keep(6.2831853 * s.flat() - 3.1415927, 10);
         jet[3][k] = keep(5 + 2 * std::fabs(s.bell()), 10), jet[4][k] = keep(s.flat(), 10), jet[5][k] = keep(0.5 + 0.02 * s.bell(), 10);
      }
      std::sort(jet[0], jet[0] + jets, std::greater<float>());
      t->Fill();
   }
   close(f, t);
}

void gen_vectors(const char *path, int compression, long entries)
{
   TFile f(path, "RECREATE", "", compression);
   TTree *t = new TTree("tree", "vectors");
   std::vector<float> vf;
   std::vector<int> vi;
   std::vector<std::vector<float>> vvf;
   std::string text;
   t->Branch("vf", &vf);
   t->Branch("vi", &vi);
   t->Branch("vvf", &vvf);
   t->Branch("text", &text);
   const char *words[] = {"muon", "electron", "jet", "photon", "tau", "met", "track", "vertex"};
   Source s(3);
   for (long e = 0; e < entries; ++e) {
      vf.resize(std::min(s.steps(6.5), 60)), vi.resize(std::min(s.steps(4.5), 60)), vvf.resize(std::min(s.steps(3.5), 30));
      for (auto &x : vf)
         x = keep(10 * s.bell(), 12);
      for (auto &x : vi)
         x = int(s.bits() >> 20 & 1023);
      for (auto &v : vvf) {
         v.resize(std::min(s.steps(4.5), 60));
         for (auto &x : v)
            x = keep(s.bell(), 12);
      }
      text = words[s.bits() >> 30 & 7];
      text += "_" + std::to_string(e % 1000);
      t->Fill();
   }
   close(f, t);
}

void gen_event(const char *path, int compression, long entries, int split)
{
   TFile f(path, "RECREATE", "", compression);
   TTree *t = new TTree("tree", "events of 600 tracks");
   auto event = new BenchEvent();
   t->Branch("event", &event, 32000, split);
   Source s(4);
   for (long e = 0; e < entries; ++e) {
      event->fRun = 200, event->fNumber = e, event->fTemperature = float(20 + s.bell());
      for (auto &m : event->fMeasures)
         m = int(10 * std::fabs(s.bell()));
      for (auto &row : event->fMatrix)
         for (auto &m : row)
            m = keep(s.bell(), 12);
      event->fTracks.resize(std::max(1, int(600 + 100 * s.bell())));
      for (auto &k : event->fTracks) {
         double x = s.bell(), y = s.bell(), z = 8 * s.bell();
         k.fPx = float(x), k.fPy = float(y), k.fPz = float(std::sqrt(x * x + y * y + z * z)), k.fRandom = float(1000 * s.flat());
         k.fMass2 = s.bits() & 32 ? 0.13957f : 0.4936f, k.fBx = float(0.15 * s.bell()), k.fBy = float(0.15 * s.bell());
         k.fMeanCharge = keep(0.01 * s.flat(), 12), k.fXfirst = keep(10 * s.flat(), 16), k.fXlast = keep(k.fXfirst + 10 * s.flat(), 16);
         k.fYfirst = keep(10 * s.flat(), 16), k.fYlast = keep(k.fYfirst + 10 * s.flat(), 16), k.fZfirst = keep(50 + 5 * s.bell(), 16);
         k.fZlast = keep(200 + 10 * s.bell(), 16), k.fCharge = int(3 * s.flat()) - 1, k.fNpoint = int(60 + 10 * s.flat());
         k.fValid = s.flat() < 0.6;
      }
      t->Fill();
   }
   close(f, t);
}

// `flush` entries in each cluster (0: ROOT's default of 30 MB); small baskets where many branches must share the memory.
void gen_wide(const char *path, int compression, long entries, int branches, long flush)
{
   TFile f(path, "RECREATE", "", compression);
   TTree *t = new TTree("tree", "many branches");
   std::vector<float> x(branches);
   int basket = flush ? std::max<long>(100, 8 * flush) : 32000;
   for (int k = 0; k < branches; ++k)
      t->Branch(Form("b%05d", k), &x[k], Form("b%05d/F", k), basket);
   if (flush) {
      t->SetAutoFlush(flush);
      t->SetAutoSave(0);
   }
   Source s(5);
   for (long e = 0; e < entries; ++e) {
      for (int k = 0; k < branches; ++k)
         x[k] = k % 5 == 0 ? float(k) : keep((k % 7 + 1) * s.bell(), 10);
      t->Fill();
   }
   close(f, t);
}
