// Collisions as events of old experiments are: a TClonesArray of tracks, references to them, a histogram behind a pointer,
// counted arrays, packed numbers, bits. test_collisions.py builds it by ACLiC.

#include <TClonesArray.h>
#include <TFile.h>
#include <TH1F.h>
#include <TObject.h>
#include <TRef.h>
#include <TRefArray.h>
#include <TTree.h>
#include <TRandom3.h>
#include <TString.h>

#include <vector>

class Header {
public:
   Int_t fNumber = 0;
   Int_t fRun = 0;
   Int_t fDate = 0;
   virtual ~Header() {}
   ClassDef(Header, 1)
};

class Trace : public TObject {
public:
   Float_t fPx = 0, fPy = 0, fPz = 0;
   Double32_t fMass2 = 0; //[0,20,16]
   Float16_t fCharge = 0; //[-1,1,2]
   Float_t fVertex[3] = {0, 0, 0};
   Int_t fPoints = 0;
   Short_t fValid = 0;
   Int_t fSp = 0;
   Double32_t *fDistances = nullptr; //[fSp]
   TBits fTrigger;
   ~Trace() override { delete[] fDistances; }
   ClassDefOverride(Trace, 1)
};

class Collision : public TObject {
public:
   char fType[20];
   char *fName = nullptr;
   Int_t fTraces = 0, fSegments = 0;
   UInt_t fFlag = 0;
   Double32_t fTemperature = 0;
   Int_t fMeasures[10] = {0};
   Double32_t fMatrix[4][4] = {{0}};
   Double32_t *fClosest = nullptr; //[fSegments]
   Header fHeader;
   TClonesArray *fList;
   TRefArray *fHighPt;
   TRefArray *fMuons;
   TRef fLast;
   TRef fWeb;
   TH1F *fHistogram;
   TBits fTriggers;
   Bool_t fIsValid = true;
   Collision() : fList(new TClonesArray("Trace", 100)), fHighPt(new TRefArray), fMuons(new TRefArray),
      fHistogram(new TH1F("traces", "traces", 20, 0, 60)) { fHistogram->SetDirectory(nullptr); fType[0] = 0; }
   ~Collision() override { delete fList; delete fHighPt; delete fMuons; delete fHistogram; delete[] fName; delete[] fClosest; }
   void Fill(Int_t number, TRandom3 &random);
   ClassDefOverride(Collision, 1)
};

void Collision::Fill(Int_t number, TRandom3 &random)
{
   UInt_t saved = TProcessID::GetObjectCount();
   fList->Clear("C"); fHighPt->Delete(); fMuons->Delete(); fHistogram->Reset();
   snprintf(fType, 20, "type%d", number % 5);
   delete[] fName; fName = new char[20]; snprintf(fName, 20, "Event%d", number);
   fHeader.fNumber = number; fHeader.fRun = 200; fHeader.fDate = 960312;
   fTraces = number % 7; fSegments = number % 4; fFlag = random.Integer(1 << 30); fTemperature = 20 + random.Rndm();
   delete[] fClosest; fClosest = fSegments ? new Double32_t[fSegments] : nullptr;
   for (int i = 0; i < fSegments; ++i) fClosest[i] = random.Gaus(1, 1);
   for (int i = 0; i < 10; ++i) fMeasures[i] = Int_t(random.Gaus(i, i + 1));
   for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) fMatrix[i][j] = random.Gaus(i * j, 1);
   for (int i = 0; i < fTraces; ++i) {
      Trace *trace = static_cast<Trace *>(fList->ConstructedAt(i));
      trace->fPx = random.Gaus(); trace->fPy = random.Gaus(); trace->fPz = 2 * random.Gaus();
      trace->fMass2 = 5 * random.Rndm(); trace->fCharge = i % 3 - 1; trace->fPoints = i; trace->fValid = i % 2;
      for (int j = 0; j < 3; ++j) trace->fVertex[j] = random.Gaus();
      trace->fSp = i % 3;
      delete[] trace->fDistances; trace->fDistances = trace->fSp ? new Double32_t[trace->fSp] : nullptr;
      for (int j = 0; j < trace->fSp; ++j) trace->fDistances[j] = j + i;
      trace->fTrigger.Clear(); trace->fTrigger.SetBitNumber(number % 32 + i);
      if (trace->fPz > 1) fHighPt->Add(trace);
      if (i % 2) fMuons->Add(trace);
      fLast = trace;
      fHistogram->Fill(i);
   }
   if (fTraces == 0) fLast = nullptr;
   fTriggers.Clear(); fTriggers.SetBitNumber(number % 64);
   fWeb = fHistogram;
   TProcessID::SetObjectCount(saved);
}

void write(const char *name, Int_t split, Int_t first, Int_t count, Int_t compression, Int_t basket)
{
   TRandom3 random(first + 1);
   TFile file(name, "RECREATE", "", compression);
   TTree tree("T", "collisions");
   tree.SetAutoFlush(200);
   auto event = new Collision;
   auto *branch = tree.Branch("event", &event, basket, split);
   (void)branch;
   tree.BranchRef();
   for (int i = first; i < first + count; ++i) { event->Fill(i, random); tree.Fill(); }
   tree.Write();
   delete event;
}

// Sums that say whether a file has the same values.
std::vector<double> digest(const char *name)
{
   TFile file(name);
   auto tree = file.Get<TTree>("T");
   auto event = new Collision;
   tree->SetBranchAddress("event", &event);
   double sum = 0; Long64_t refs = 0, hist = 0, lost = 0;
   for (Long64_t i = 0; i < tree->GetEntries(); ++i) {
      tree->GetEntry(i);
      sum += event->fHeader.fNumber + event->fTemperature + event->fMatrix[1][2] + event->fTriggers.CountBits() + strlen(event->fName);
      for (int k = 0; k < event->fSegments; ++k) sum += event->fClosest[k];
      for (int k = 0; k < event->fList->GetEntriesFast(); ++k) {
         auto trace = static_cast<Trace *>(event->fList->UncheckedAt(k));
         sum += trace->fPx + trace->fMass2 + trace->fCharge + trace->fVertex[2] + trace->fTrigger.CountBits();
         for (int j = 0; j < trace->fSp; ++j) sum += trace->fDistances[j];
      }
      refs += event->fHighPt->GetEntriesFast() + event->fMuons->GetEntriesFast();
      for (int k = 0; k < event->fMuons->GetEntriesFast(); ++k) if (!event->fMuons->At(k)) ++lost;
      if (event->fTraces && !event->fLast.GetObject()) ++lost;
      hist += event->fHistogram->GetEntries();
   }
   return {double(tree->GetEntries()), sum, double(refs), double(hist), double(lost)};
}
