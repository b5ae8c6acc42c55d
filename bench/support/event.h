// The event of the benchmark: a header and about 600 tracks of 17 members.
#ifndef SAPWOOD_BENCH_EVENT
#define SAPWOOD_BENCH_EVENT

#include <vector>

#include "Rtypes.h"

class BenchTrack {
public:
   Float_t fPx = 0, fPy = 0, fPz = 0, fRandom = 0;
   Float_t fMass2 = 0, fBx = 0, fBy = 0, fMeanCharge = 0;
   Double32_t fXfirst = 0, fXlast = 0, fYfirst = 0, fYlast = 0, fZfirst = 0, fZlast = 0, fCharge = 0;
   Int_t fNpoint = 0;
   Short_t fValid = 0;
   virtual ~BenchTrack() {}
   ClassDef(BenchTrack, 1)
};

class BenchEvent {
public:
   Int_t fRun = 0;
   Long64_t fNumber = 0;
   Float_t fTemperature = 0;
   Int_t fMeasures[10] = {};
   Float_t fMatrix[4][4] = {};
   std::vector<BenchTrack> fTracks;
   virtual ~BenchEvent() {}
   ClassDef(BenchEvent, 1)
};

#endif
