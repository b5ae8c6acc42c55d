// The Event of ROOT's own test program, as its page of 1997 has it: TObject below events and tracks, a TClonesArray of tracks of 17 members, a
// header, references and a histogram.
#include "TClonesArray.h"
#include "TH1F.h"
#include "TObject.h"
#include "TRef.h"
#include "TRefArray.h"
#include <vector>

class OldTrack : public TObject {
public:
   Float_t fPx = 0, fPy = 0, fPz = 0, fRandom = 0, fMass2 = 0, fBx = 0, fBy = 0, fMeanCharge = 0, fXfirst = 0, fXlast = 0, fYfirst = 0, fYlast = 0,
           fZfirst = 0, fZlast = 0, fCharge = 0;
   Int_t fNpoint = 0;
   Short_t fValid = 0;
   ClassDefOverride(OldTrack, 1)
};

class OldHeader {
public:
   Int_t fEvtNum = 0, fRun = 0, fDate = 0;
   virtual ~OldHeader() {}
   ClassDef(OldHeader, 1)
};

class OldEvent : public TObject {
public:
   Char_t fType[20] = {};
   Int_t fNtrack = 0, fNseg = 0, fNvertex = 0;
   UInt_t fFlag = 0;
   Float_t fTemperature = 0;
   OldHeader fEvtHdr;
   TClonesArray *fTracks; //->
   TRefArray *fHighPt;    //->
   TRefArray *fMuons;     //->
   TRef fLastTrack;
   TH1F *fH = nullptr; //->
   OldEvent() : fTracks(new TClonesArray("OldTrack", 1000)), fHighPt(new TRefArray), fMuons(new TRefArray) {}
   ~OldEvent() override { delete fTracks, delete fHighPt, delete fMuons; }
   ClassDefOverride(OldEvent, 1)
};

void old_make(long entries);
void old_write(const char *path, int compression, int split);
double old_read(const char *path);
double old_rows(const char *path, const std::vector<long> &entries);
double old_sample(const char *path);

#ifdef __ROOTCLING__
#pragma link C++ class OldTrack+;
#pragma link C++ class OldHeader+;
#pragma link C++ class OldEvent+;
#endif

#ifndef __CLING__ // the interpreter only needs to know the names above

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "TBranch.h"
#include "TFile.h"
#include "TRandom3.h"
#include "TTree.h"

namespace {

std::vector<std::unique_ptr<OldEvent>> gOlds;
std::unique_ptr<TH1F> gHistogram;

// `wanted` says of each entry whether the whole of it is read. Without a list, these are all entries in their order.
template <class W>
double read(const char *path, W wanted, const std::vector<long> *entries = nullptr)
{
   TH1::AddDirectory(false);
   std::unique_ptr<TFile> file(TFile::Open(path));
   auto tree = file->Get<TTree>("T");
   OldEvent *event = nullptr;
   tree->SetBranchAddress("event", &event);
   double total = 0;
   const Long64_t count = entries ? entries->size() : tree->GetEntries();
   for (Long64_t k = 0; k < count; ++k) {
      const Long64_t e = entries ? (*entries)[k] : k;
      if (!wanted(tree, e, event))
         continue;
      tree->GetEntry(e);
      for (int i = 0; i < event->fTracks->GetEntriesFast(); ++i)
         total += static_cast<OldTrack *>(event->fTracks->UncheckedAt(i))->fPz;
   }
   tree->ResetBranchAddresses();
   delete event->fH;
   delete event;
   return total;
}

} // namespace

void old_make(long entries)
{
   TH1::AddDirectory(false);
   TRandom3 r(7);
   gOlds.clear();
   gHistogram = std::make_unique<TH1F>("hstat", "Event Histogram", 100, 0, 1);
   for (long n = 0; n < entries; ++n) {
      gOlds.push_back(std::make_unique<OldEvent>());
      auto &e = *gOlds.back();
      std::strcpy(e.fType, "type0"), e.fType[4] = char('0' + n % 5);
      e.fNtrack = std::max(1, int(r.Gaus(600, 100))), e.fNseg = 10 * e.fNtrack, e.fNvertex = 1 + int(r.Integer(20)), e.fFlag = r.Integer(2);
      e.fTemperature = float(r.Gaus(20, 1)), e.fEvtHdr.fEvtNum = int(n), e.fEvtHdr.fRun = 200, e.fEvtHdr.fDate = 960312;
      gHistogram->Fill(double(n) / entries), e.fH = gHistogram.get();
      for (int i = 0; i < e.fNtrack; ++i) {
         auto &k = *static_cast<OldTrack *>(e.fTracks->ConstructedAt(i));
         k.fPx = float(r.Gaus()), k.fPy = float(r.Gaus()), k.fPz = std::sqrt(k.fPx * k.fPx + k.fPy * k.fPy);
         k.fRandom = float(1000 * r.Rndm()), k.fMass2 = r.Rndm() < 0.5 ? 0.13957f : 0.4936f;
         k.fBx = float(0.15 * r.Gaus()), k.fBy = float(0.15 * r.Gaus()), k.fMeanCharge = float(0.01 * r.Rndm());
         k.fXfirst = float(10 * r.Rndm()), k.fXlast = k.fXfirst + 10, k.fYfirst = float(10 * r.Rndm()), k.fYlast = k.fYfirst + 10;
         k.fZfirst = float(r.Gaus(50, 5)), k.fZlast = float(r.Gaus(200, 10)), k.fCharge = float(int(3 * r.Rndm()) - 1);
         k.fNpoint = int(60 + 10 * r.Rndm()), k.fValid = r.Rndm() < 0.6;
         if (k.fPz > 3)
            e.fHighPt->Add(&k);
         if (k.fMass2 < 0.2f && r.Rndm() < 0.02)
            e.fMuons->Add(&k);
         if (i + 1 == e.fNtrack)
            e.fLastTrack = &k;
      }
   }
}

void old_write(const char *path, int compression, int split)
{
   std::unique_ptr<TFile> file(TFile::Open(path, "RECREATE", "", compression));
   auto tree = new TTree("T", "events");
   OldEvent *event = nullptr;
   tree->Branch("event", &event, 64000, split);
   for (auto &one : gOlds) {
      event = one.get();
      tree->Fill();
   }
   tree->ResetBranchAddresses();
   file->Write();
   file->Close();
}

double old_read(const char *path)
{
   return read(path, [](auto...) { return true; });
}

double old_rows(const char *path, const std::vector<long> &entries)
{
   return read(path, [](auto...) { return true; }, &entries);
}

double old_sample(const char *path)
{
   TBranch *count = nullptr;
   return read(path, [&](TTree *tree, Long64_t e, OldEvent *&event) {
      if (!count)
         count = tree->GetBranch("fNtrack");
      if (!count)
         return true; // in one branch, the whole event has to be read
      count->GetEntry(e);
      return event->fNtrack < 585;
   });
}

#endif
