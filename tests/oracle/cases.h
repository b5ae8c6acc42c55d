// Classes of the oracle cases: one of each kind of member that ROOT can stream. The dictionary is built by ACLiC from
// cases.C; nothing here is ever linked into Sapwood.
#ifndef SAPWOOD_ORACLE_CASES
#define SAPWOOD_ORACLE_CASES

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "TArrayI.h"
#include "TBits.h"
#include "TClonesArray.h"
#include "TDatime.h"
#include "TList.h"
#include "TLorentzVector.h"
#include "TMatrixD.h"
#include "TNamed.h"
#include "TObjArray.h"
#include "TObjString.h"
#include "TObject.h"
#include "TRef.h"
#include "TRefArray.h"
#include "TString.h"
#include "TTimeStamp.h"
#include "TVector3.h"

// A foreign class: no ClassDef, so its instances carry a checksum instead of a version.
struct Plain {
   int i = 0;
   float f = 0;
   double d = 0;
   bool operator<(const Plain &o) const { return i < o.i; }
};

struct Corner {
   short s = 0;
   Plain p;
   unsigned char u[3] = {0, 0, 0};
};

enum Colour { kPale = 0, kBright = 5, kNegative = -3 };
enum class Small : unsigned char { kA = 1, kB = 200 };

class Base1 {
public:
   int fB1 = 0;
   std::vector<short> fB1v;
   virtual ~Base1() {}
   ClassDef(Base1, 3)
};

class Base2 : public Base1 {
public:
   Double32_t fB2 = 0;
   std::string fB2s;
   ClassDef(Base2, 2)
};

// Everything of fixed length: splits to the last member.
class Numbers : public TObject {
public:
   Bool_t fBool = false;
   Char_t fChar = 0;
   UChar_t fUChar = 0;
   Short_t fShort = 0;
   UShort_t fUShort = 0;
   Int_t fInt = 0;
   UInt_t fUInt = 0;
   Long_t fLong = 0;
   ULong_t fULong = 0;
   Long64_t fLong64 = 0;
   ULong64_t fULong64 = 0;
   Float_t fFloat = 0;
   Double_t fDouble = 0;
   int8_t fI8 = 0;
   uint64_t fU64 = 0;
   Colour fColour = kPale;
   Small fSmall = Small::kA;
   Int_t fA3[3] = {0, 0, 0};
   Double_t fM23[2][3] = {};
   Bool_t fBools[4] = {};
   Char_t fText[12] = {};
   Float16_t fF16 = 0;
   Float16_t fF16a = 0;    //[0,100]
   Float16_t fF16b = 0;    //[-10,10,11]
   Float16_t fF16c = 0;    //[0,0,10]
   Float16_t fF16d[4] = {}; //[0,50,14]
   Double32_t fD32 = 0;
   Double32_t fD32a = 0;    //[0,100]
   Double32_t fD32b = 0;    //[-10,10,20]
   Double32_t fD32c = 0;    //[0,0,14]
   Double32_t fD32d = 0;    //[-pi,pi,16]
   Double32_t fD32e[3] = {}; //[-1,1,9]
   Double32_t fD32f[2][2] = {}; //[0,0,6]
   ClassDef(Numbers, 4)
};

class Counted : public TObject {
public:
   Int_t fN = 0;
   Float_t *fFloats = nullptr;   //[fN]
   Short_t *fShorts = nullptr;   //[fN]
   Bool_t *fFlags = nullptr;     //[fN]
   Double32_t *fD32s = nullptr;  //[fN]
   Double32_t *fD32r = nullptr;  //[fN][0,10,12]
   Float16_t *fF16s = nullptr;   //[fN][-5,5,10]
   Int_t fNtwo = 0;
   Long64_t *fLongs = nullptr;   //[fNtwo]
   Double_t *fTwice[2] = {nullptr, nullptr}; //[fN]
   virtual ~Counted() { clear(); }
   void clear();
   void resize(int n, int two);
   ClassDef(Counted, 1)
};

class Strings : public TNamed {
public:
   TString fTString;
   std::string fString;
   TObjString fObjString;
   TString fTwo[2];
   std::string fThree[3];
   std::vector<std::string> fStrings;
   std::vector<TString> fTStrings;
   Char_t *fCharStar = nullptr;
   virtual ~Strings() { delete[] fCharStar; }
   ClassDef(Strings, 1)
};

class Hit {
public:
   int fId = 0;
   float fX = 0, fY = 0;
   Double32_t fE = 0; //[0,1000,16]
   virtual ~Hit() {}
   bool operator<(const Hit &o) const { return fId < o.fId; }
   ClassDef(Hit, 2)
};

class Track : public TObject {
public:
   Float_t fPx = 0, fPy = 0, fPz = 0;
   Int_t fCharge = 0;
   Int_t fIdx[3] = {0, 0, 0};
   Plain fPlain;
   Double32_t fMass = 0;
   Float16_t fChi2 = 0;
   Int_t fNp = 0;
   Float_t *fPoints = nullptr; //[fNp]
   Track() {}
   Track(const Track &o);
   Track &operator=(const Track &o);
   virtual ~Track() { delete[] fPoints; }
   void points(int n);
   ClassDef(Track, 5)
};

// A track with collections of its own: what cannot be split further inside a collection.
class Deep {
public:
   int fId = 0;
   std::vector<float> fValues;
   std::vector<std::vector<int>> fNested;
   std::map<int, std::string> fNames;
   std::string fWord;
   std::vector<Plain> fPlains;
   virtual ~Deep() {}
   ClassDef(Deep, 1)
};

class Collections {
public:
   std::vector<int> fVi;
   std::vector<bool> fVb;
   std::vector<double> fVd;
   std::vector<std::vector<float>> fVvf;
   std::vector<Plain> fVplain;
   std::vector<Hit> fVhit;
   std::vector<Track> fVtrack;
   std::vector<Deep> fVdeep;
   std::vector<Corner> fVcorner;
   std::vector<std::vector<Hit>> fVvhit;
   std::list<Hit> fLhit;
   std::deque<float> fDq;
   std::set<int> fSet;
   std::set<Plain> fSetPlain;
   std::multiset<short> fMset;
   std::unordered_set<int> fUset;
   std::map<int, double> fMid;
   std::map<std::string, int> fMsi;
   std::map<int, Hit> fMhit;
   std::map<std::string, std::vector<int>> fMsv;
   std::map<int, std::map<int, float>> fMm;
   std::multimap<int, float> fMulti;
   std::unordered_map<std::string, float> fUmap;
   std::pair<int, float> fPair;
   std::pair<std::string, std::vector<int>> fPairsv;
   std::vector<std::pair<int, double>> fVpair;
   std::bitset<19> fBits;
   std::array<int, 4> fArr;
   std::array<Plain, 2> fArrPlain;
   std::vector<int> fVtwo[2];
   std::array<std::vector<int>, 2> fArrv;
   std::vector<std::array<int, 2>> fVarr;          //|| ROOT 6.40 writes nothing of an array that it splits
   std::vector<std::array<Plain, 2>> fVarrPlain;   //||
   std::map<int, std::array<float, 2>> fMarr;      //||
   virtual ~Collections() {}
   ClassDef(Collections, 1)
};

class Pointers : public TObject {
public:
   Track *fNull = nullptr;
   Track *fTrack = nullptr;
   Track *fSame = nullptr; // the same object as fTrack
   Hit *fHit = nullptr;
   TObject *fAny = nullptr; // an object of another class in each entry
   std::vector<Track *> fTracks;
   std::vector<Hit *> fHits;
   TObjArray fArray;
   TList fList;
   TRef fRef;
   TRefArray fRefs;
   Int_t fN = 0;
   Plain *fLoop = nullptr;   //[fN]
   Hit *fLoopHit = nullptr;  //[fN]
   virtual ~Pointers();
   void clear();
   ClassDef(Pointers, 1)
};

// What pointers lead to that is more than numbers: wide and repeated keys, objects as keys, objects that lead to further ones.
class Node {
public:
   ULong64_t fWide = 0;
   UShort_t fSmall = 0;
   std::multimap<int, float> fMulti;
   std::map<Plain, ULong64_t> fByPlain;
   std::vector<ULong64_t> fWides;
   Hit *fHit = nullptr;
   Node *fNext = nullptr; // a list of nodes
   virtual ~Node()
   {
      delete fHit;
      delete fNext;
   }
   ClassDef(Node, 1)
};

// A member of a family points back at those that point at it.
class Relative : public TObject {
public:
   Int_t fId = 0;
   Relative *fParent = nullptr;
   std::vector<Relative *> fChildren;
   ClassDef(Relative, 1)
};

class Web : public TObject {
public:
   Node *fNode = nullptr;
   std::map<int, Hit *> fHitOf;
   std::vector<Node *> fNodes;
   Relative *fFamily = nullptr;
   virtual ~Web() { clear(); }
   void clear();
   ClassDef(Web, 1)
};

class Parts : public TObject {
public:
   TVector3 fV3;
   TLorentzVector fLv;
   TDatime fDate;
   TTimeStamp fStamp;
   TArrayI fArrayI;
   TBits fTBits;
   TMatrixD fMatrix;
   TNamed fNamed;
   Corner fCorner;
   Corner fCorners[2];
   Int_t fTransient = 7; //! not streamed
   ClassDef(Parts, 1)
};

// Its columns have frames even where there is no object.
class Strung : public TObject {
public:
   std::string fWord;
   std::vector<float> fValues;
   ClassDef(Strung, 1)
};

class Clones : public TObject {
public:
   Int_t fId = 0;
   TClonesArray *fTracks = nullptr;
   TClonesArray fInside;
   TClonesArray fStrung;
   Clones();
   virtual ~Clones();
   ClassDef(Clones, 1)
};

// Simple enough for the branches of ROOT 2 and 3: TBranchObject and, for the pointer below, TBranchClones.
class OldTrack : public TObject {
public:
   Int_t fA = 0;
   Float_t fB = 0;
   Double_t fC = 0;
   ClassDef(OldTrack, 1)
};

class OldEvent : public TObject {
public:
   Int_t fId = 0;
   Float_t fX[3] = {0, 0, 0};
   TClonesArray *fTracks = nullptr;
   OldEvent();
   virtual ~OldEvent();
   ClassDef(OldEvent, 1)
};

// The usual event: a header, several bases, tracks.
class Event : public TObject, public Base2 {
public:
   Int_t fRun = 0;
   Long64_t fNumber = 0;
   Numbers fNumbers;
   Strings fStrings;
   std::vector<Track> fTracks;
   Track fBest;
   Plain fPlain;
   Float_t fCov[2][2] = {};
   std::map<std::string, float> fWeights;
   ClassDef(Event, 7)
};

#endif
