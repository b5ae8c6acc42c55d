// The members of the event of ROOT's tutorial: a header, tracks in a TClonesArray, references to some of them, and a
// histogram that the event owns.

#include <TBits.h>
#include <TClonesArray.h>
#include <TH1.h>
#include <TObject.h>
#include <TRandom3.h>
#include <TRef.h>
#include <TRefArray.h>
#include <TTree.h>
#include <TFile.h>

class EventHeader {
public:
   Int_t fEvtNum = 0, fRun = 0, fDate = 0;
   virtual ~EventHeader() {}
   ClassDef(EventHeader, 1)
};

class Track : public TObject {
public:
   Float_t fPx = 0, fPy = 0, fPz = 0;
   Float16_t fMass2 = 0;
   Double32_t fCharge = 0;     //[-1,1,2]
   Double32_t fVertex[3] = {}; //[-30,30,16]
   Short_t fValid = 0;
   Int_t fNsp = 0;
   Double32_t *fPointValue = nullptr; //[fNsp][0,3]
   TBits fTriggerBits;
   virtual ~Track() { delete[] fPointValue; }
   ClassDef(Track, 1)
};

class Event : public TObject {
public:
   char fType[20] = {};
   char *fEventName = nullptr;
   Int_t fNtrack = 0, fNvertex = 0;
   UInt_t fFlag = 0;
   Double32_t fTemperature = 0;
   Int_t fMeasures[10] = {};
   Double32_t fMatrix[4][4] = {};
   Double32_t *fClosestDistance = nullptr; //[fNvertex]
   EventHeader fEvtHdr;
   TClonesArray *fTracks = nullptr;  //->
   TRefArray *fHighPt = nullptr;     // tracks of this event
   TRef fLastTrack, fWebHistogram;
   TH1F *fH = nullptr; //->
   TBits fTriggerBits;
   Bool_t fIsValid = false;

   Event()
      : fEventName(new char[20]()), fTracks(new TClonesArray("Track", 8)), fHighPt(new TRefArray),
        fH(new TH1F("hstat", "", 10, 0, 1))
   {
      fH->SetDirectory(nullptr);
   }
   virtual ~Event()
   {
      delete[] fEventName;
      delete[] fClosestDistance;
      delete fTracks;
      delete fHighPt;
      delete fH;
   }

   void build(int number)
   {
      TRandom3 random(number + 1);
      fTracks->Clear("C");
      fHighPt->Clear();
      fNtrack = 3 + number % 4, fNvertex = number % 3, fFlag = number, fTemperature = 20 + number;
      snprintf(fType, 20, "type%d", number % 5), snprintf(fEventName, 20, "Event%d", number);
      fEvtHdr.fEvtNum = number, fEvtHdr.fRun = 200, fIsValid = number % 2;
      for (int i = 0; i < 10; i++)
         fMeasures[i] = i * number;
      for (auto &row : fMatrix)
         for (auto &cell : row)
            cell = random.Rndm();
      delete[] fClosestDistance;
      fClosestDistance = fNvertex ? new Double32_t[fNvertex] : nullptr;
      for (int i = 0; i < fNvertex; i++)
         fClosestDistance[i] = i + number;
      fTriggerBits.Clear(), fTriggerBits.SetBitNumber(number % 64);
      for (int i = 0; i < fNtrack; i++) {
         auto track = static_cast<Track *>(fTracks->ConstructedAt(i));
         track->fPx = random.Gaus(), track->fPy = random.Gaus(), track->fPz = random.Gaus();
         track->fMass2 = 0.5, track->fCharge = i % 3 - 1, track->fVertex[i % 3] = i, track->fValid = i % 2;
         track->fNsp = i % 3;
         delete[] track->fPointValue;
         track->fPointValue = track->fNsp ? new Double32_t[track->fNsp] : nullptr;
         for (int j = 0; j < track->fNsp; j++)
            track->fPointValue[j] = j;
         track->fTriggerBits.Clear(), track->fTriggerBits.SetBitNumber(i);
         fH->Fill(random.Rndm());
         if (i % 2)
            fHighPt->Add(track);
         fLastTrack = track;
      }
      fWebHistogram = fH;
   }
   ClassDef(Event, 1)
};

// Writes events of some numbers.
void fill(const char *path, int first, int last, int split)
{
   TFile file(path, "RECREATE");
   TTree tree("T", "events");
   auto event = new Event;
   tree.Branch("event", &event, 2000, split);
   for (int number = first; number < last; number++) {
      event->build(number);
      tree.Fill();
   }
   tree.Write();
}

// What each entry says, and what its references lead to.
std::vector<std::string> said(const char *path)
{
   TFile file(path);
   auto tree = file.Get<TTree>("T");
   Event *event = nullptr;
   tree->SetBranchAddress("event", &event);
   std::vector<std::string> all;
   for (Long64_t entry = 0; entry < tree->GetEntries(); entry++) {
      tree->GetEntry(entry);
      double sum = event->fH->GetEntries() + event->fMatrix[3][2] + event->fMeasures[9];
      for (auto one : *event->fTracks) {
         auto track = static_cast<Track *>(one);
         sum += track->fPx + 3 * track->fPz + track->fVertex[1] + track->fTriggerBits.CountBits() + track->fCharge;
         for (int i = 0; i < track->fNsp; i++)
            sum += track->fPointValue[i];
      }
      double led = 0;
      for (int i = 0; i < event->fHighPt->GetEntriesFast(); i++)
         led += static_cast<Track *>(event->fHighPt->At(i))->fPy;
      auto last = static_cast<Track *>(event->fLastTrack.GetObject());
      auto histogram = event->fWebHistogram.GetObject();
      all.push_back(Form("%s %s %d %d %.17g %.17g %.17g %s", event->fType, event->fEventName, event->fEvtHdr.fEvtNum,
                         event->fNtrack, sum, led, last ? last->fPx : -1., histogram ? histogram->GetName() : "none"));
   }
   delete event;
   return all;
}

#ifdef __ROOTCLING__
#pragma link C++ class EventHeader+;
#pragma link C++ class Track+;
#pragma link C++ class Event+;
#pragma link C++ function fill;
#pragma link C++ function said;
#endif
