// Objects in the class structures of two more experiments, whole in their branches: of ALICE's ESD (the corpus of ROOT has the infos:
// AliESDtrack, AliESDv0, AliESDCaloCluster), with TObject below everything, TClonesArrays and arrays of fixed length; and of ATLAS' xAOD,
// whose containers are structures of vectors, with links to elements of others. CMS' are in streaming.C.
#include <string>
#include <vector>

#include "TClonesArray.h"
#include "TObject.h"

class VParticle : public TObject {
public:
   ClassDefOverride(VParticle, 1)
};
class VTrack : public VParticle {
public:
   ClassDefOverride(VTrack, 1)
};
class ExternalParam : public VTrack {
public:
   Double32_t fX = 0, fAlpha = 0, fP[5] = {}, fC[15] = {};
   ClassDefOverride(ExternalParam, 8)
};
class EsdTrack : public ExternalParam {
public:
   ULong64_t fFlags = 0;
   Int_t fID = 0, fLabel = 0, fITSLabel = 0, fITSModule[12] = {}, fTPCLabel = 0, fTRDLabel = 0, fTOFLabel[3] = {}, fTOFCalChannel = 0, fTOFindex = 0,
         fHMPIDqn = 0, fHMPIDcluIdx = 0, fEMCALindex = 0, fKinkIndexes[3] = {}, fV0Indexes[3] = {};
   Double32_t fR[5] = {}, fITSr[5] = {}, fTPCr[5] = {}, fTRDr[5] = {}, fTOFr[5] = {}, fHMPIDr[5] = {};
   Double32_t fHMPIDtrkTheta = 0, fHMPIDtrkPhi = 0, fHMPIDsignal = 0, fTrackTime[5] = {}, fTrackLength = 0, fdTPC = 0, fzTPC = 0, fCddTPC = 0,
              fCdzTPC = 0, fCzzTPC = 0, fCchi2TPC = 0, fD = 0, fZ = 0, fCdd = 0, fCdz = 0, fCzz = 0, fCchi2 = 0, fITSchi2 = 0, fTPCchi2 = 0,
              fTRDchi2 = 0, fTOFchi2 = 0, fHMPIDchi2 = 0, fITSsignal = 0, fTPCsignal = 0, fTPCsignalS = 0, fTPCPoints[4] = {}, fTRDsignal = 0,
              fTRDQuality = 0, fTRDBudget = 0, fTOFsignal = 0, fTOFsignalToT = 0, fTOFsignalRaw = 0, fTOFsignalDz = 0, fHMPIDtrkX = 0,
              fHMPIDtrkY = 0, fHMPIDmipX = 0, fHMPIDmipY = 0;
   UShort_t fTPCncls = 0, fTPCnclsF = 0, fTPCsignalN = 0;
   Char_t fITSncls = 0;
   UChar_t fITSClusterMap = 0, fTRDncls = 0, fTRDncls0 = 0, fTRDpidQuality = 0;
   Int_t fTRDnSlices = 0;
   Char_t fTRDTimBin[6] = {};
   ClassDefOverride(EsdTrack, 46)
};
class EsdV0 : public VParticle {
public:
   ExternalParam fParamN, fParamP;
   Double32_t fEffMass = 0, fDcaV0Daughters = 0, fChi2V0 = 0, fPos[3] = {}, fPosCov[6] = {}, fNmom[3] = {}, fPmom[3] = {}, fNormDCAPrim[2] = {},
              fRr = 0, fDistSigma = 0, fChi2Before = 0, fChi2After = 0, fCausality[4] = {}, fAngle[3] = {}, fPointAngleFi = 0, fPointAngleTh = 0,
              fPointAngle = 0;
   Int_t fPdgCode = 0, fNidx = 0, fPidx = 0;
   Short_t fStatus = 0, fNBefore = 0, fNAfter = 0;
   Bool_t fOnFlyStatus = false;
   ClassDefOverride(EsdV0, 5)
};
class EsdCluster : public TObject {
public:
   Double32_t fGlobalPos[3] = {}, fEnergy = 0, fDispersion = 0, fChi2 = 0, fM20 = 0, fM02 = 0, fEmcCpvDistance = 0, fDistToBadChannel = 0, fPID[10] = {};
   Int_t fID = 0;
   UChar_t fNExMax = 0;
   Char_t fClusterType = 0;
   Double32_t fTOF = 0;
   ClassDefOverride(EsdCluster, 8)
};
class EsdVzero : public TObject {
public:
   UInt_t fBBtriggerV0A = 0, fBGtriggerV0A = 0, fBBtriggerV0C = 0, fBGtriggerV0C = 0;
   Short_t fMultiplicity[64] = {}, fAdc[64] = {}, fTime[64] = {}, fWidth[64] = {};
   Bool_t fBBFlag[64] = {}, fBGFlag[64] = {};
   ClassDefOverride(EsdVzero, 5)
};
class Esd : public TObject {
public:
   EsdVzero fVzero;
   TClonesArray *fTracks;   //->
   TClonesArray *fV0s;      //->
   TClonesArray *fClusters; //->
   Esd() : fTracks(new TClonesArray("EsdTrack", 200)), fV0s(new TClonesArray("EsdV0", 20)), fClusters(new TClonesArray("EsdCluster", 40)) {}
   ~Esd() override { delete fTracks, delete fV0s, delete fClusters; }
   ClassDefOverride(Esd, 1)
};

namespace atlas {

struct LinkBase {
   UInt_t m_persKey, m_persIndex;
};
struct Link : LinkBase {};
struct Tracks {
   std::vector<float> d0, z0, phi, theta, qOverP, vz, chiSquared, numberDoF;
   std::vector<std::vector<float>> definingParametersCovMatrix;
   std::vector<UChar_t> numberOfPixelHits, numberOfSCTHits, numberOfTRTHits, numberOfPixelHoles, numberOfSCTHoles, expectInnermostPixelLayerHit;
   std::vector<UInt_t> hitPattern;
   std::vector<Link> vertexLink;
};
struct Jets {
   std::vector<float> pt, eta, phi, m;
   std::vector<std::vector<Link>> constituentLinks;
   std::vector<std::vector<float>> constituentWeights, EnergyPerSampling;
   std::vector<std::vector<Int_t>> NumTrkPt500;
   std::vector<std::string> origin;
};
struct Event {
   UInt_t runNumber;
   ULong64_t eventNumber;
   Tracks tracks;
   Jets jets;
};

} // namespace atlas

void esd_make(long entries);
void esd_write(const char *path, int compression);
double esd_read(const char *path);
void xaod_make(long entries);
void xaod_write(const char *path, int compression);
double xaod_read(const char *path);

#ifdef __ROOTCLING__
#pragma link C++ class VParticle+;
#pragma link C++ class VTrack+;
#pragma link C++ class ExternalParam+;
#pragma link C++ class EsdTrack+;
#pragma link C++ class EsdV0+;
#pragma link C++ class EsdCluster+;
#pragma link C++ class EsdVzero+;
#pragma link C++ class Esd+;
#pragma link C++ struct atlas::LinkBase+;
#pragma link C++ struct atlas::Link+;
#pragma link C++ struct atlas::Tracks+;
#pragma link C++ struct atlas::Jets+;
#pragma link C++ struct atlas::Event+;
#pragma link C++ class std::vector<atlas::Link>+;
#pragma link C++ class std::vector<std::vector<atlas::Link>>+;
#endif

#ifndef __CLING__ // the interpreter only needs to know the names above

#include <cmath>
#include <memory>

#include "TFile.h"
#include "TRandom3.h"
#include "TTree.h"

namespace {

std::vector<std::unique_ptr<Esd>> gEsds;
std::vector<std::unique_ptr<atlas::Event>> gXaods;

template <class T>
void write(std::vector<std::unique_ptr<T>> &events, const char *path, int compression)
{
   std::unique_ptr<TFile> file(TFile::Open(path, "RECREATE", "", compression));
   auto tree = new TTree("tree", "events");
   T *event = nullptr;
   tree->Branch("event", &event, 256000, 0);
   for (auto &one : events) {
      event = one.get();
      tree->Fill();
   }
   tree->ResetBranchAddresses();
   file->Write();
   file->Close();
}

template <class T, class S>
double read(const char *path, S sum)
{
   std::unique_ptr<TFile> file(TFile::Open(path));
   auto tree = file->Get<TTree>("tree");
   T *event = nullptr;
   tree->SetBranchAddress("event", &event);
   double total = 0;
   for (Long64_t e = 0; e < tree->GetEntries(); ++e) {
      tree->GetEntry(e);
      total += sum(*event);
   }
   tree->ResetBranchAddresses();
   delete event;
   return total;
}

template <std::size_t n>
void gaus(double (&x)[n], TRandom3 &r)
{
   for (auto &v : x)
      v = r.Gaus();
}

void fill(ExternalParam &p, TRandom3 &r)
{
   p.fX = 100 * r.Rndm(), p.fAlpha = r.Uniform(-3.1416, 3.1416);
   gaus(p.fP, r), gaus(p.fC, r);
}

} // namespace

void esd_make(long entries)
{
   TRandom3 r(10);
   gEsds.clear();
   for (long e = 0; e < entries; ++e) {
      gEsds.push_back(std::make_unique<Esd>());
      auto &esd = *gEsds.back();
      for (int i = 0; i < 64; ++i)
         esd.fVzero.fAdc[i] = short(r.Exp(30)), esd.fVzero.fMultiplicity[i] = short(r.Poisson(2)), esd.fVzero.fTime[i] = short(r.Gaus(110, 3));
      int tracks = r.Poisson(150), v0s = r.Poisson(10), clusters = r.Poisson(30);
      for (int i = 0; i < tracks; ++i) {
         auto &t = *static_cast<EsdTrack *>(esd.fTracks->ConstructedAt(i));
         fill(t, r);
         t.fFlags = r.Integer(1u << 30), t.fID = i, t.fLabel = t.fTPCLabel = t.fITSLabel = int(r.Integer(1000)), t.fEMCALindex = -1;
         gaus(t.fTPCr, r), gaus(t.fTrackTime, r), gaus(t.fTPCPoints, r);
         for (auto &v : t.fR)
            v = 0.2;
         t.fTPCchi2 = r.Exp(100), t.fITSchi2 = r.Exp(4), t.fTPCsignal = r.Landau(50, 5), t.fD = r.Gaus(), t.fZ = r.Gaus(), t.fTrackLength = 300 + r.Gaus();
         t.fTPCncls = t.fTPCnclsF = UShort_t(160 * std::sqrt(r.Rndm())), t.fITSncls = Char_t(r.Integer(7)), t.fITSClusterMap = UChar_t(r.Integer(64));
      }
      for (int i = 0; i < v0s; ++i) {
         auto &v = *static_cast<EsdV0 *>(esd.fV0s->ConstructedAt(i));
         fill(v.fParamN, r), fill(v.fParamP, r), gaus(v.fPos, r), gaus(v.fPosCov, r), gaus(v.fNmom, r), gaus(v.fPmom, r);
         v.fEffMass = 0.49 + 0.01 * r.Gaus(), v.fChi2V0 = r.Exp(1), v.fNidx = int(r.Integer(150)), v.fPidx = int(r.Integer(150)), v.fPdgCode = 310;
      }
      for (int i = 0; i < clusters; ++i) {
         auto &c = *static_cast<EsdCluster *>(esd.fClusters->ConstructedAt(i));
         gaus(c.fGlobalPos, r), c.fEnergy = r.Exp(1), c.fDispersion = r.Rndm(), c.fM20 = r.Rndm(), c.fM02 = r.Rndm(), c.fTOF = 6e-7 * r.Rndm(), c.fID = i;
      }
   }
}

void esd_write(const char *path, int compression) { write(gEsds, path, compression); }

double esd_read(const char *path)
{
   return read<Esd>(path, [](const Esd &e) { return e.fTracks->GetEntriesFast(); });
}

void xaod_make(long entries)
{
   TRandom3 r(11);
   gXaods.clear();
   for (long e = 0; e < entries; ++e) {
      gXaods.push_back(std::make_unique<atlas::Event>());
      auto &event = *gXaods.back();
      event.runNumber = 284500, event.eventNumber = e;
      auto &t = event.tracks;
      for (int i = 0, n = r.Poisson(250); i < n; ++i) {
         for (auto *x : {&t.d0, &t.z0, &t.phi, &t.theta, &t.qOverP, &t.vz, &t.chiSquared})
            x->push_back(float(r.Gaus()));
         t.numberDoF.push_back(float(20 + r.Integer(20)));
         t.definingParametersCovMatrix.emplace_back(15);
         for (auto &x : t.definingParametersCovMatrix.back())
            x = float(r.Gaus());
         for (auto *x : {&t.numberOfPixelHits, &t.numberOfSCTHits, &t.numberOfTRTHits, &t.numberOfPixelHoles, &t.numberOfSCTHoles, &t.expectInnermostPixelLayerHit})
            x->push_back(UChar_t(r.Integer(9)));
         t.hitPattern.push_back(r.Integer(1u << 20));
         t.vertexLink.push_back({{0x1234abcd, r.Integer(20)}});
      }
      auto &j = event.jets;
      for (int i = 0, n = r.Poisson(15); i < n; ++i) {
         for (auto *x : {&j.pt, &j.eta, &j.phi, &j.m})
            x->push_back(float(r.Gaus()));
         int parts = r.Poisson(30);
         j.constituentLinks.emplace_back(parts, atlas::Link{{0x2345bcde, 0}}), j.constituentWeights.emplace_back(parts, 1.f);
         for (auto &link : j.constituentLinks.back())
            link.m_persIndex = r.Integer(1000);
         j.EnergyPerSampling.emplace_back(24), j.NumTrkPt500.emplace_back(20);
         for (auto &x : j.EnergyPerSampling.back())
            x = float(r.Exp(1));
         for (auto &x : j.NumTrkPt500.back())
            x = int(r.Integer(4));
         j.origin.push_back(i % 2 ? "EMTopo" : "EMPFlow");
      }
   }
}

void xaod_write(const char *path, int compression) { write(gXaods, path, compression); }

double xaod_read(const char *path)
{
   return read<atlas::Event>(path, [](const atlas::Event &e) { return e.tracks.d0.size(); });
}

#endif
