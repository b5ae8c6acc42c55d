// The classes of CMS's simulated events as a file of CMSSW describes them (SimTracks, SimVertices and hits in the tracker), a file
// of them, and ROOT's own compression of the baskets of a file.
#include <string>
#include <vector>

#include "Rtypes.h"

namespace CLHEP {
struct Hep3Vector {
   double dx = 0, dy = 0, dz = 0;
};
struct HepLorentzVector {
   Hep3Vector pp;
   double ee = 0;
};
} // namespace CLHEP

struct CoreSimTrack {
   int thePID = 0;
   CLHEP::HepLorentzVector theMomentum;
};

struct EmbdSimTrack : public CoreSimTrack {
   int ivert = -1;
   int igenpart = -1;
};

struct CoreSimVertex {
   CLHEP::HepLorentzVector theVertex;
};

struct EmbdSimVertex : public CoreSimVertex {
   int itrack = -1;
};

struct LocalVector {
   float theX = 0, theY = 0, theZ = 0;
};

struct PSimHit {
   LocalVector theEntryPoint, theSegment;
   float thePabs = 0, theEnergyLoss = 0, theThetaAtEntry = 0, thePhiAtEntry = 0, theTof = 0;
   short theParticleType = 0;
   unsigned short theProcessType = 0;
   int theDetUnitId = 0;
   unsigned int theTrackId = 0;
};

namespace edm {
struct EventID {
   unsigned int run_ = 0, event_ = 0;
};
struct EventAux {
   std::vector<std::string> process_history_;
   EventID id_;
   unsigned long long time_ = 0;
};
struct EmbdSimTrackContainer {
   std::vector<EmbdSimTrack> data;
};
struct EmbdSimVertexContainer {
   std::vector<EmbdSimVertex> data;
};
struct PSimHitContainer {
   std::vector<PSimHit> _data;
};
} // namespace edm

void cms_write(const char *numbers, const char *path, int split);
std::vector<double> cms_zip(const char *path, const std::vector<long> &places, int setting, int rounds);

#ifdef __ROOTCLING__
#pragma link C++ struct CLHEP::Hep3Vector+;
#pragma link C++ struct CLHEP::HepLorentzVector+;
#pragma link C++ struct CoreSimTrack+;
#pragma link C++ struct EmbdSimTrack+;
#pragma link C++ class std::vector<EmbdSimTrack>+;
#pragma link C++ struct CoreSimVertex+;
#pragma link C++ struct EmbdSimVertex+;
#pragma link C++ class std::vector<EmbdSimVertex>+;
#pragma link C++ struct LocalVector+;
#pragma link C++ struct PSimHit+;
#pragma link C++ class std::vector<PSimHit>+;
#pragma link C++ struct edm::EventID+;
#pragma link C++ struct edm::EventAux+;
#pragma link C++ struct edm::EmbdSimTrackContainer+;
#pragma link C++ struct edm::EmbdSimVertexContainer+;
#pragma link C++ struct edm::PSimHitContainer+;
#endif

#ifndef __CLING__ // the interpreter only needs to know the names above

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>

#include "Compression.h"
#include "RZip.h"
#include "TFile.h"
#include "TTree.h"

// Writes the numbers that Python made of Pythia's events: for each event how many tracks, vertices and hits, then their members, all
// as doubles. Without compression, in baskets of 64,000 bytes.
void cms_write(const char *numbers, const char *path, int split)
{
   std::ifstream in(numbers, std::ios::binary);
   auto next = [&in] {
      double value = 0;
      in.read(reinterpret_cast<char *>(&value), sizeof value);
      return value;
   };
   std::unique_ptr<TFile> file(TFile::Open(path, "RECREATE", "", 0));
   auto tree = new TTree("Events", "events of Pythia 8 in classes of CMS");
   auto *aux = new edm::EventAux;
   auto *tracks = new edm::EmbdSimTrackContainer;
   auto *vertices = new edm::EmbdSimVertexContainer;
   auto *hits = new edm::PSimHitContainer;
   const int basket = 64000;
   tree->Branch("EventAux", &aux, basket, split);
   tree->Branch("EmbdSimTrackContainer_r.", &tracks, basket, split);
   tree->Branch("EmbdSimVertexContainer_r.", &vertices, basket, split);
   tree->Branch("PSimHitContainer_r_TrackerHits.", &hits, basket, split);
   const long events = long(next());
   for (long event = 0; event < events; ++event) {
      *aux = edm::EventAux();
      aux->process_history_ = {"HLT", "SIM"};
      aux->id_.run_ = 1;
      aux->id_.event_ = event + 1;
      tracks->data.assign(long(next()), EmbdSimTrack());
      vertices->data.assign(long(next()), EmbdSimVertex());
      hits->_data.assign(long(next()), PSimHit());
      for (auto &track : tracks->data) {
         track.thePID = int(next());
         for (double *to : {&track.theMomentum.pp.dx, &track.theMomentum.pp.dy, &track.theMomentum.pp.dz, &track.theMomentum.ee})
            *to = next();
         track.ivert = int(next());
         track.igenpart = int(next());
      }
      for (auto &vertex : vertices->data) {
         for (double *to : {&vertex.theVertex.pp.dx, &vertex.theVertex.pp.dy, &vertex.theVertex.pp.dz, &vertex.theVertex.ee})
            *to = next();
         vertex.itrack = int(next());
      }
      for (auto &hit : hits->_data) {
         for (float *to : {&hit.theEntryPoint.theX, &hit.theEntryPoint.theY, &hit.theEntryPoint.theZ, &hit.theSegment.theX,
                           &hit.theSegment.theY, &hit.theSegment.theZ, &hit.thePabs, &hit.theEnergyLoss, &hit.theThetaAtEntry,
                           &hit.thePhiAtEntry, &hit.theTof})
            *to = float(next());
         hit.theParticleType = short(next());
         hit.theProcessType = (unsigned short)(next());
         hit.theDetUnitId = int(next());
         hit.theTrackId = (unsigned int)(next());
      }
      tree->Fill();
   }
   tree->Write();
}

static double seconds()
{
   timespec time;
   clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
   return time.tv_sec + 1e-9 * time.tv_nsec;
}

// Compresses and decompresses the baskets of a file with the functions that ROOT's baskets use. Places are the offset of each
// basket, the bytes of its key and those behind it. Gives stored bytes with keys, and the shortest times of both.
std::vector<double> cms_zip(const char *path, const std::vector<long> &places, int setting, int rounds)
{
   std::ifstream in(path, std::ios::binary);
   std::vector<char> raw((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
   long longest = 0;
   for (size_t place = 0; place < places.size(); place += 3)
      longest = std::max(longest, places[place + 2]);
   std::vector<char> packed(2 * longest + 1024), back(longest);
   std::vector<double> least{0, 1e9, 1e9};
   const auto codec = ROOT::RCompressionSetting::EAlgorithm::EValues(setting / 100);
   for (int round = 0; round < rounds; ++round) {
      double bytes = 0, zip = 0, unzip = 0;
      for (size_t place = 0; place < places.size(); place += 3) {
         char *basket = &raw[places[place] + places[place + 1]];
         int length = places[place + 2], room = length, stored = 0, out = 0;
         const double start = seconds();
         R__zipMultipleAlgorithm(setting % 100, &length, basket, &room, packed.data(), &stored, codec);
         const double between = seconds();
         zip += between - start;
         bytes += places[place + 1];
         if (stored <= 0 || stored >= length) {
            bytes += length;
            continue;
         }
         bytes += stored;
         const double before = seconds();
         R__unzip(&stored, reinterpret_cast<unsigned char *>(packed.data()), &length, reinterpret_cast<unsigned char *>(back.data()),
                  &out);
         unzip += seconds() - before;
         if (out != length || !std::equal(back.begin(), back.begin() + length, basket))
            return {};
      }
      least = {bytes, std::min(least[1], zip), std::min(least[2], unzip)};
   }
   return least;
}

#endif
