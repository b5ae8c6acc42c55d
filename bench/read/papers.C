// What the old papers measured: the events of the 1997 page (about 600 tracks of 17 members), and tracks that hold hits, for streaming
// member by member or object by object.
#include <algorithm>
#include <cmath>
#include <vector>

#include "Rtypes.h"

struct PageTrack {
   Float_t fPx, fPy, fPz, fRandom, fMass2, fBx, fBy, fMeanCharge, fXfirst, fXlast, fYfirst, fYlast, fZfirst, fZlast, fCharge;
   Int_t fNpoint;
   Short_t fValid;
};

struct PageEvent {
   Int_t fNtrack, fRun;
   Float_t fTemperature;
   std::vector<PageTrack> fTracks;
};

struct Hit {
   Float_t x, y, z;
   Short_t adc;
};

struct HitTrack {
   Float_t px, py, pz;
   Int_t charge;
   std::vector<Hit> hits;
};

struct HitEvent {
   Int_t number;
   std::vector<HitTrack> tracks;
};

void page_make(long entries);
void page_write(const char *path, int compression, int split);
double page_read(const char *path);
double page_sample(const char *path);
void hits_make(long entries);
void hits_write(const char *path, int compression, int split);
double hits_read(const char *path);

#ifdef __ROOTCLING__
#pragma link C++ struct PageTrack+;
#pragma link C++ class std::vector<PageTrack>+;
#pragma link C++ struct PageEvent+;
#pragma link C++ struct Hit+;
#pragma link C++ class std::vector<Hit>+;
#pragma link C++ struct HitTrack+;
#pragma link C++ class std::vector<HitTrack>+;
#pragma link C++ struct HitEvent+;
#endif

#ifndef __CLING__ // the interpreter only needs to know the names above

#include <memory>

#include "TBranch.h"
#include "TFile.h"
#include "TRandom3.h"
#include "TTree.h"

namespace {

std::vector<PageEvent> gPages;
std::vector<HitEvent> gHits;

template <class T>
void write(std::vector<T> &events, const char *path, int compression, int split)
{
   std::unique_ptr<TFile> file(TFile::Open(path, "RECREATE", "", compression));
   auto tree = new TTree("tree", "events");
   T *event = nullptr;
   tree->Branch("event", &event, 32000, split);
   for (auto &one : events) {
      event = &one;
      tree->Fill();
   }
   tree->ResetBranchAddresses();
   file->Write();
   file->Close();
}

// `wanted` says of each entry whether the whole of it is read.
template <class T, class W, class S>
double read(const char *path, W wanted, S sum)
{
   std::unique_ptr<TFile> file(TFile::Open(path));
   auto tree = file->Get<TTree>("tree");
   T *event = nullptr;
   tree->SetBranchAddress("event", &event);
   double total = 0;
   for (Long64_t e = 0; e < tree->GetEntries(); ++e)
      if (wanted(tree, e, event)) {
         tree->GetEntry(e);
         total += sum(*event);
      }
   tree->ResetBranchAddresses();
   delete event;
   return total;
}

} // namespace

void page_make(long entries)
{
   TRandom3 r(7);
   gPages.assign(entries, {});
   for (auto &e : gPages) {
      e.fNtrack = std::max(1, int(r.Gaus(600, 100))), e.fRun = 200, e.fTemperature = float(r.Gaus(20, 1));
      e.fTracks.resize(e.fNtrack);
      for (auto &k : e.fTracks) {
         k.fPx = float(r.Gaus()), k.fPy = float(r.Gaus()), k.fPz = std::sqrt(k.fPx * k.fPx + k.fPy * k.fPy);
         k.fRandom = float(1000 * r.Rndm()), k.fMass2 = r.Rndm() < 0.5 ? 0.13957f : 0.4936f;
         k.fBx = float(0.15 * r.Gaus()), k.fBy = float(0.15 * r.Gaus()), k.fMeanCharge = float(0.01 * r.Rndm());
         k.fXfirst = float(10 * r.Rndm()), k.fXlast = k.fXfirst + 10, k.fYfirst = float(10 * r.Rndm()), k.fYlast = k.fYfirst + 10;
         k.fZfirst = float(r.Gaus(50, 5)), k.fZlast = float(r.Gaus(200, 10)), k.fCharge = float(int(3 * r.Rndm()) - 1);
         k.fNpoint = int(60 + 10 * r.Rndm()), k.fValid = r.Rndm() < 0.6;
      }
   }
}

void page_write(const char *path, int compression, int split)
{
   write(gPages, path, compression, split);
}

double page_total(const PageEvent &e)
{
   double sum = 0;
   for (auto &k : e.fTracks)
      sum += k.fPz;
   return sum;
}

double page_read(const char *path)
{
   return read<PageEvent>(path, [](auto...) { return true; }, page_total);
}

double page_sample(const char *path)
{
   TBranch *count = nullptr;
   return read<PageEvent>(
      path,
      [&](TTree *tree, Long64_t e, PageEvent *&event) {
         if (!count)
            count = tree->GetBranch("fNtrack");
         count->GetEntry(e);
         return event->fNtrack < 585;
      },
      page_total);
}

void hits_make(long entries)
{
   TRandom3 r(8);
   gHits.assign(entries, {});
   int number = 0;
   for (auto &e : gHits) {
      e.number = number++;
      e.tracks.resize(r.Poisson(20));
      for (auto &k : e.tracks) {
         k.px = float(r.Gaus()), k.py = float(r.Gaus()), k.pz = float(10 * r.Gaus()), k.charge = r.Rndm() < 0.5 ? 1 : -1;
         k.hits.resize(r.Poisson(12));
         float layer = 0;
         for (auto &h : k.hits) {
            layer += 1;
            h.x = float(int(1000 * layer * k.px)) / 1000, h.y = float(int(1000 * layer * k.py)) / 1000, h.z = 10 * layer;
            h.adc = short(r.Landau(50, 10));
         }
      }
   }
}

void hits_write(const char *path, int compression, int split)
{
   write(gHits, path, compression, split);
}

double hits_read(const char *path)
{
   return read<HitEvent>(path, [](auto...) { return true; }, [](const HitEvent &e) {
      double sum = 0;
      for (auto &k : e.tracks)
         for (auto &h : k.hits)
            sum += h.x;
      return sum;
   });
}

#endif
