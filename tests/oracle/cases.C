// Writes the awkward cases with real ROOT, and dumps what ROOT itself reads back from them, as JSON.
// Built by ACLiC (generate.py does it); each function below writes one file.
#include "cases.h"
#include "dump.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>

#include "TBranchElement.h"
#include "TBranchObject.h"
#include "TBufferJSON.h"
#include "TChain.h"
#include "TClass.h"
#include "TEntryList.h"
#include "TError.h"
#include "TEventList.h"
#include "TFile.h"
#include "TKey.h"
#include "TLeaf.h"
#include "TList.h"
#include "TNtuple.h"
#include "TNtupleD.h"
#include "TROOT.h"
#include "TSystem.h"
#include "TTree.h"
#include "TVirtualStreamerInfo.h"
#include "ROOT/TIOFeatures.hxx"

#ifdef __ROOTCLING__
#pragma link C++ struct Plain+;
#pragma link C++ struct Corner+;
#pragma link C++ enum Colour;
#pragma link C++ enum Small;
#pragma link C++ class Base1+;
#pragma link C++ class Base2+;
#pragma link C++ class Numbers+;
#pragma link C++ class Counted+;
#pragma link C++ class Strings+;
#pragma link C++ class Hit+;
#pragma link C++ class Track+;
#pragma link C++ class Deep+;
#pragma link C++ class Collections+;
#pragma link C++ class Pointers+;
#pragma link C++ class Node+;
#pragma link C++ class Relative+;
#pragma link C++ class Web+;
#pragma link C++ class std::map<Plain, ULong64_t>+;
#pragma link C++ class std::map<int, Hit*>+;
#pragma link C++ class std::vector<Node*>+;
#pragma link C++ class std::vector<Relative*>+;
#pragma link C++ class Parts+;
#pragma link C++ class Strung+;
#pragma link C++ class Clones+;
#pragma link C++ class OldTrack+;
#pragma link C++ class OldEvent+;
#pragma link C++ class Event+;
#pragma link C++ class std::vector<Plain>+;
#pragma link C++ class std::vector<Corner>+;
#pragma link C++ class std::vector<Hit>+;
#pragma link C++ class std::vector<Track>+;
#pragma link C++ class std::vector<Deep>+;
#pragma link C++ class std::vector<Track*>+;
#pragma link C++ class std::vector<Hit*>+;
#pragma link C++ class std::vector<TString>+;
#pragma link C++ class std::vector<TLorentzVector>+;
#pragma link C++ class std::vector<std::vector<Hit>>+;
#pragma link C++ class std::vector<std::vector<bool>>+;
#pragma link C++ class std::vector<std::vector<short>>+;
#pragma link C++ class std::vector<std::vector<int>>+;
#pragma link C++ class std::vector<std::vector<float>>+;
#pragma link C++ class std::vector<std::vector<double>>+;
#pragma link C++ class std::vector<std::vector<std::string>>+;
#pragma link C++ class std::vector<std::vector<std::vector<int>>>+;
#pragma link C++ class std::vector<std::pair<int, double>>+;
#pragma link C++ class std::vector<std::set<int>>+;
#pragma link C++ class std::vector<std::map<int, float>>+;
#pragma link C++ class std::list<Hit>+;
#pragma link C++ class std::list<float>+;
#pragma link C++ class std::list<std::string>+;
#pragma link C++ class std::deque<float>+;
#pragma link C++ class std::deque<double>+;
#pragma link C++ class std::forward_list<int>+;
#pragma link C++ class std::set<int>+;
#pragma link C++ class std::set<std::string>+;
#pragma link C++ class std::set<Plain>+;
#pragma link C++ class std::multiset<int>+;
#pragma link C++ class std::multiset<short>+;
#pragma link C++ class std::unordered_set<int>+;
#pragma link C++ class std::unordered_multiset<int>+;
#pragma link C++ class std::map<int, double>+;
#pragma link C++ class std::map<int, float>+;
#pragma link C++ class std::map<int, std::string>+;
#pragma link C++ class std::map<int, Hit>+;
#pragma link C++ class std::map<int, std::vector<double>>+;
#pragma link C++ class std::map<int, std::map<int, float>>+;
#pragma link C++ class std::map<std::string, int>+;
#pragma link C++ class std::map<std::string, float>+;
#pragma link C++ class std::map<std::string, std::vector<int>>+;
#pragma link C++ class std::map<std::string, std::vector<std::string>>+;
#pragma link C++ class std::map<std::string, std::string>+;
#pragma link C++ class std::multimap<int, float>+;
#pragma link C++ class std::multimap<int, double>+;
#pragma link C++ class std::unordered_map<std::string, float>+;
#pragma link C++ class std::unordered_map<int, float>+;
#pragma link C++ class std::unordered_multimap<int, float>+;
#pragma link C++ class std::pair<int, float>+;
#pragma link C++ class std::pair<int, double>+;
#pragma link C++ class std::pair<int, Hit>+;
#pragma link C++ class std::pair<std::string, std::vector<int>>+;
#pragma link C++ class std::vector<std::array<int, 2>>+;
#pragma link C++ class std::vector<std::array<Plain, 2>>+;
#pragma link C++ class std::map<int, std::array<float, 2>>+;
#pragma link C++ class std::map<Small, float>+;
#pragma link C++ class std::bitset<19>+;
#pragma link C++ class std::bitset<17>+;
#endif

// ---- values: a small generator of its own, so that files are the same on every machine

struct Gen {
   uint64_t s;
   explicit Gen(uint64_t seed) : s(seed * 2862933555777941757ULL + 3037000493ULL) {}
   uint64_t bits()
   {
      s ^= s << 13, s ^= s >> 7, s ^= s << 17;
      return s;
   }
   int below(int n) { return n <= 0 ? 0 : int((bits() >> 33) % uint64_t(n)); }
   double real(double lo, double hi) { return lo + (hi - lo) * double(bits() >> 11) / 9007199254740992.0; }
   template <class T>
   T any()
   {
      if constexpr (std::is_same_v<T, bool>)
         return bits() & 4096;
      else if constexpr (std::is_integral_v<T>)
         return T(bits() >> 7);
      else
         return T(real(-1000, 1000));
   }
   std::string word(int longest)
   {
      std::string w;
      for (int n = below(longest + 1); n > 0; --n)
         w += char('a' + below(26));
      return w;
   }
};

// Now and then a length above 255 (the first byte of a string is then 255 and four more hold the length).
static std::string text(Gen &g, int i)
{
   return i % 17 == 9 ? std::string(300 + i % 7, char('A' + i % 26)) : g.word(12);
}

void Counted::clear()
{
   delete[] fFloats, delete[] fShorts, delete[] fFlags, delete[] fD32s, delete[] fD32r, delete[] fF16s, delete[] fLongs;
   delete[] fTwice[0], delete[] fTwice[1];
   fFloats = nullptr, fShorts = nullptr, fFlags = nullptr, fD32s = nullptr, fD32r = nullptr, fF16s = nullptr;
   fLongs = nullptr, fTwice[0] = fTwice[1] = nullptr;
}

void Counted::resize(int n, int two)
{
   clear();
   fN = n, fNtwo = two;
   if (n) {
      fFloats = new Float_t[n], fShorts = new Short_t[n], fFlags = new Bool_t[n], fD32s = new Double32_t[n];
      fD32r = new Double32_t[n], fF16s = new Float16_t[n], fTwice[0] = new Double_t[n], fTwice[1] = new Double_t[n];
   }
   if (two)
      fLongs = new Long64_t[two];
}

Track::Track(const Track &o) : TObject(o) { *this = o; }

Track &Track::operator=(const Track &o)
{
   if (this == &o)
      return *this;
   TObject::operator=(o);
   fPx = o.fPx, fPy = o.fPy, fPz = o.fPz, fCharge = o.fCharge, fPlain = o.fPlain, fMass = o.fMass, fChi2 = o.fChi2;
   memcpy(fIdx, o.fIdx, sizeof fIdx);
   points(o.fNp);
   for (int i = 0; i < fNp; ++i)
      fPoints[i] = o.fPoints[i];
   return *this;
}

void Track::points(int n)
{
   delete[] fPoints;
   fNp = n, fPoints = n ? new Float_t[n] : nullptr;
}

Pointers::~Pointers() { clear(); }

void Pointers::clear()
{
   delete fTrack;
   delete fHit;
   delete fAny;
   for (auto t : fTracks)
      delete t;
   for (auto h : fHits)
      delete h;
   delete[] fLoop;
   delete[] fLoopHit;
   fNull = fTrack = fSame = nullptr, fHit = nullptr, fAny = nullptr, fLoop = nullptr, fLoopHit = nullptr;
   fTracks.clear(), fHits.clear(), fArray.Delete(), fList.Delete(), fRefs.Clear(), fN = 0;
}

void Web::clear()
{
   delete fNode;
   for (auto &pair : fHitOf)
      delete pair.second;
   for (auto node : fNodes)
      delete node;
   if (fFamily)
      for (auto child : fFamily->fChildren)
         delete child;
   delete fFamily;
   fNode = nullptr, fFamily = nullptr, fHitOf.clear(), fNodes.clear();
}

Clones::Clones() : fTracks(new TClonesArray("Track", 4)), fInside("Track", 2), fStrung("Strung", 2) {}
Clones::~Clones()
{
   fTracks->Delete();
   delete fTracks;
   fInside.Delete();
   fStrung.Delete();
}

OldEvent::OldEvent() : fTracks(new TClonesArray("OldTrack", 4)) {}
OldEvent::~OldEvent()
{
   fTracks->Delete();
   delete fTracks;
}

static Plain plain(Gen &g)
{
   Plain p;
   p.i = g.below(2000) - 1000, p.f = float(g.real(-5, 5)), p.d = g.real(-1e9, 1e9);
   return p;
}

static Corner corner(Gen &g)
{
   Corner c;
   c.s = short(g.bits()), c.p = plain(g);
   for (auto &u : c.u)
      u = (unsigned char)(g.bits() >> 9);
   return c;
}

static Hit hit(Gen &g, int id)
{
   Hit h;
   h.fId = id, h.fX = float(g.real(-1, 1)), h.fY = float(g.real(-100, 100)), h.fE = g.real(0, 1000);
   return h;
}

static void fill(Track &t, Gen &g)
{
   t.fPx = float(g.real(-50, 50)), t.fPy = float(g.real(-50, 50)), t.fPz = float(g.real(-500, 500));
   t.fCharge = g.below(3) - 1, t.fPlain = plain(g), t.fMass = g.real(0, 2), t.fChi2 = float(g.real(0, 20));
   for (auto &i : t.fIdx)
      i = g.below(100000);
   t.points(g.below(4));
   for (int i = 0; i < t.fNp; ++i)
      t.fPoints[i] = float(g.real(0, 1));
}

static Track track(Gen &g)
{
   Track t;
   fill(t, g);
   return t;
}

static Deep deep(Gen &g, int id)
{
   Deep d;
   d.fId = id, d.fWord = text(g, id);
   for (int n = g.below(5); n > 0; --n)
      d.fValues.push_back(float(g.real(-1, 1)));
   for (int n = g.below(4); n > 0; --n) {
      d.fNested.emplace_back();
      for (int m = g.below(4); m > 0; --m)
         d.fNested.back().push_back(g.below(1000));
   }
   for (int n = g.below(3); n > 0; --n)
      d.fNames[g.below(50)] = g.word(9);
   for (int n = g.below(3); n > 0; --n)
      d.fPlains.push_back(plain(g));
   return d;
}

static void fill(Numbers &o, Gen &g, int i)
{
   o.fBool = g.any<bool>(), o.fChar = g.any<Char_t>(), o.fUChar = g.any<UChar_t>(), o.fShort = g.any<Short_t>();
   o.fUShort = g.any<UShort_t>(), o.fInt = g.any<Int_t>(), o.fUInt = g.any<UInt_t>(), o.fLong = g.any<Long_t>();
   o.fULong = g.any<ULong_t>(), o.fLong64 = g.any<Long64_t>(), o.fULong64 = g.any<ULong64_t>() << 7;
   o.fFloat = g.any<Float_t>(), o.fDouble = g.any<Double_t>(), o.fI8 = g.any<int8_t>(), o.fU64 = g.any<uint64_t>();
   o.fColour = i % 3 == 0 ? kPale : i % 3 == 1 ? kBright : kNegative, o.fSmall = i % 2 ? Small::kA : Small::kB;
   for (auto &a : o.fA3)
      a = g.below(1000) - 500;
   for (auto &m : o.fM23)
      for (auto &x : m)
         x = g.real(-1, 1);
   for (auto &b : o.fBools)
      b = g.any<bool>();
   strncpy(o.fText, g.word(11).c_str(), sizeof o.fText);
   o.fText[11] = 0;
   o.fF16 = float(g.real(-100, 100)), o.fF16a = float(g.real(0, 100)), o.fF16b = float(g.real(-10, 10));
   o.fF16c = float(g.real(-1e6, 1e6)), o.fD32 = g.real(-1e6, 1e6), o.fD32a = g.real(0, 100), o.fD32b = g.real(-10, 10);
   o.fD32c = g.real(-1e3, 1e3), o.fD32d = g.real(-3.14, 3.14);
   for (auto &x : o.fF16d)
      x = float(g.real(0, 50));
   for (auto &x : o.fD32e)
      x = g.real(-1, 1);
   for (auto &m : o.fD32f)
      for (auto &x : m)
         x = g.real(-1e4, 1e4);
}

static void fill(Counted &o, Gen &g, int i)
{
   o.resize(i % 5 == 0 ? 0 : g.below(7), i % 4 == 1 ? 0 : g.below(5));
   for (int j = 0; j < o.fN; ++j) {
      o.fFloats[j] = g.any<float>(), o.fShorts[j] = g.any<short>(), o.fFlags[j] = g.any<bool>();
      o.fD32s[j] = g.real(-1, 1), o.fD32r[j] = g.real(0, 10), o.fF16s[j] = float(g.real(-5, 5));
      o.fTwice[0][j] = g.real(0, 1), o.fTwice[1][j] = g.real(-1, 0);
   }
   for (int j = 0; j < o.fNtwo; ++j)
      o.fLongs[j] = g.any<Long64_t>();
}

static void fill(Strings &o, Gen &g, int i)
{
   o.SetNameTitle(g.word(8).c_str(), text(g, i).c_str());
   o.fTString = text(g, i + 1).c_str(), o.fString = text(g, i + 2), o.fObjString.SetString(g.word(5).c_str());
   for (auto &s : o.fTwo)
      s = g.word(6).c_str();
   for (auto &s : o.fThree)
      s = g.word(6);
   o.fStrings.clear(), o.fTStrings.clear();
   for (int n = g.below(4); n > 0; --n)
      o.fStrings.push_back(text(g, n + i)), o.fTStrings.push_back(g.word(5).c_str());
   delete[] o.fCharStar;
   auto w = g.word(10);
   o.fCharStar = new char[w.size() + 1];
   strcpy(o.fCharStar, w.c_str());
}

template <class C, class F>
static void some(Gen &g, C &c, int most, F make)
{
   c.clear();
   for (int n = g.below(most + 1), i = 0; i < n; ++i)
      c.insert(c.end(), make(i));
}

static void fill(Collections &o, Gen &g)
{
   some(g, o.fVi, 5, [&](int) { return g.below(1000); });
   some(g, o.fVb, 5, [&](int) { return g.any<bool>(); });
   some(g, o.fVd, 5, [&](int) { return g.real(-1, 1); });
   some(g, o.fVvf, 4, [&](int) {
      std::vector<float> v;
      some(g, v, 3, [&](int) { return float(g.real(0, 9)); });
      return v;
   });
   some(g, o.fVplain, 4, [&](int) { return plain(g); });
   some(g, o.fVhit, 4, [&](int i) { return hit(g, i); });
   some(g, o.fVtrack, 4, [&](int) { return track(g); });
   some(g, o.fVdeep, 3, [&](int i) { return deep(g, i); });
   some(g, o.fVcorner, 3, [&](int) { return corner(g); });
   some(g, o.fVvhit, 3, [&](int) {
      std::vector<Hit> v;
      some(g, v, 3, [&](int i) { return hit(g, i); });
      return v;
   });
   some(g, o.fLhit, 3, [&](int i) { return hit(g, i); });
   some(g, o.fDq, 4, [&](int) { return float(g.real(0, 9)); });
   some(g, o.fSet, 4, [&](int) { return g.below(50); });
   some(g, o.fSetPlain, 3, [&](int) { return plain(g); });
   some(g, o.fMset, 4, [&](int) { return short(g.below(5)); });
   some(g, o.fUset, 4, [&](int) { return g.below(50); });
   some(g, o.fMid, 4, [&](int) { return std::make_pair(g.below(99), g.real(0, 1)); });
   some(g, o.fMsi, 4, [&](int) { return std::make_pair(g.word(6), g.below(99)); });
   some(g, o.fMhit, 3, [&](int i) { return std::make_pair(g.below(99), hit(g, i)); });
   some(g, o.fMsv, 3, [&](int) {
      std::vector<int> v;
      some(g, v, 3, [&](int) { return g.below(9); });
      return std::make_pair(g.word(6), v);
   });
   some(g, o.fMm, 3, [&](int) {
      std::map<int, float> m;
      some(g, m, 3, [&](int) { return std::make_pair(g.below(9), float(g.real(0, 1))); });
      return std::make_pair(g.below(99), m);
   });
   some(g, o.fMulti, 4, [&](int) { return std::make_pair(g.below(3), float(g.real(0, 1))); });
   some(g, o.fUmap, 3, [&](int) { return std::make_pair(g.word(4), float(g.real(0, 1))); });
   o.fPair = {g.below(99), float(g.real(0, 1))};
   o.fPairsv.first = g.word(5);
   some(g, o.fPairsv.second, 3, [&](int) { return g.below(9); });
   some(g, o.fVpair, 3, [&](int) { return std::make_pair(g.below(9), g.real(0, 1)); });
   o.fBits = std::bitset<19>(g.bits() >> 20);
   for (auto &x : o.fArr)
      x = g.below(99);
   for (auto &x : o.fArrPlain)
      x = plain(g);
   for (auto &v : o.fVtwo)
      some(g, v, 3, [&](int) { return g.below(9); });
   for (auto &v : o.fArrv)
      some(g, v, 3, [&](int) { return g.below(9); });
   some(g, o.fVarr, 3, [&](int i) { return std::array<int, 2>{i, g.below(9)}; });
   some(g, o.fVarrPlain, 3, [&](int) { return std::array<Plain, 2>{plain(g), plain(g)}; });
   some(g, o.fMarr, 3, [&](int i) { return std::make_pair(i, std::array<float, 2>{float(i), float(g.real(0, 1))}); });
}

static void fill(Pointers &o, Gen &g, int i)
{
   o.clear();
   if (i % 3) {
      o.fTrack = new Track(track(g));
      o.fSame = i % 2 ? o.fTrack : nullptr;
   }
   if (i % 4)
      o.fHit = new Hit(hit(g, i));
   if (i % 5 == 1)
      o.fAny = new TNamed(g.word(5).c_str(), g.word(5).c_str());
   else if (i % 5 == 2)
      o.fAny = new Track(track(g));
   else if (i % 5 == 3)
      o.fAny = new TObjString(g.word(9).c_str());
   for (int n = g.below(4); n > 0; --n)
      o.fTracks.push_back(n == 2 ? nullptr : new Track(track(g)));
   for (int n = g.below(4); n > 0; --n)
      o.fHits.push_back(new Hit(hit(g, n)));
   for (int n = g.below(3); n > 0; --n)
      o.fArray.Add(new Track(track(g))), o.fList.Add(new TObjString(g.word(5).c_str()), "option");
   if (o.fArray.GetEntriesFast()) {
      o.fRef = o.fArray.At(0);
      for (auto t : o.fArray)
         o.fRefs.Add(t);
   } else
      o.fRef = nullptr;
   o.fN = g.below(4);
   if (o.fN)
      o.fLoop = new Plain[o.fN], o.fLoopHit = new Hit[o.fN];
   for (int j = 0; j < o.fN; ++j)
      o.fLoop[j] = plain(g), o.fLoopHit[j] = hit(g, j);
}

static Node *node(Gen &g, int i, int chain)
{
   auto n = new Node;
   n->fWide = ~ULong64_t(0) - i, n->fSmall = 65535 - i;
   for (int j = g.below(4); j > 0; --j)
      n->fMulti.insert({j / 2, float(j)}), n->fByPlain[plain(g)] = ~ULong64_t(0) - j;
   some(g, n->fWides, 3, [&](int) { return g.bits(); });
   n->fHit = i % 3 ? new Hit(hit(g, i)) : nullptr;
   n->fNext = chain ? node(g, i, chain - 1) : nullptr;
   return n;
}

static void fill(Web &o, Gen &g, int i)
{
   o.clear();
   o.fNode = i % 4 ? node(g, i, i % 6) : nullptr;
   for (int n = g.below(4); n > 0; --n)
      o.fHitOf[n] = n == 2 ? nullptr : new Hit(hit(g, n)), o.fNodes.push_back(n == 3 ? nullptr : node(g, n, 0));
   if (i % 2) {
      o.fFamily = new Relative;
      o.fFamily->fId = i;
      for (int n = 1 + g.below(3); n > 0; --n) {
         auto child = new Relative;
         child->fId = n, child->fParent = o.fFamily;
         o.fFamily->fChildren.push_back(child);
      }
   }
}

static void fill(Parts &o, Gen &g, int i)
{
   o.fV3.SetXYZ(g.real(-1, 1), g.real(-1, 1), g.real(-1, 1));
   o.fLv.SetPxPyPzE(g.real(-1, 1), g.real(-1, 1), g.real(-1, 1), g.real(0, 9));
   o.fDate.Set(2001 + i % 20, 1 + i % 12, 1 + i % 28, i % 24, i % 60, (i * 7) % 60);
   o.fStamp.SetSec(1000000000 + i), o.fStamp.SetNanoSec(g.below(1000000000));
   o.fArrayI.Set(g.below(5));
   for (int j = 0; j < o.fArrayI.GetSize(); ++j)
      o.fArrayI[j] = g.below(1000);
   o.fTBits.Clear();
   for (int j = 0; j < 40; ++j)
      o.fTBits.SetBitNumber(j, g.any<bool>());
   o.fMatrix.ResizeTo(2, 2 + i % 2);
   for (int r = 0; r < o.fMatrix.GetNrows(); ++r)
      for (int c = 0; c < o.fMatrix.GetNcols(); ++c)
         o.fMatrix(r, c) = g.real(-1, 1);
   o.fNamed.SetNameTitle(g.word(5).c_str(), g.word(5).c_str());
   o.fCorner = corner(g);
   for (auto &c : o.fCorners)
      c = corner(g);
}

static void fill(TClonesArray &a, Gen &g)
{
   a.Clear("C");
   for (int n = g.below(5), j = 0; j < n; ++j)
      fill(*(Track *)a.ConstructedAt(j), g);
}

static void fill(Event &e, Gen &g, int i)
{
   e.fB1 = i * 3, e.fB2 = g.real(-5, 5), e.fB2s = text(g, i);
   some(g, e.fB1v, 4, [&](int) { return g.any<short>(); });
   e.fRun = 1 + i / 50, e.fNumber = (Long64_t(i) << 33) + i, fill(e.fNumbers, g, i), fill(e.fStrings, g, i);
   some(g, e.fTracks, 5, [&](int) { return track(g); });
   fill(e.fBest, g), e.fPlain = plain(g);
   for (auto &m : e.fCov)
      for (auto &x : m)
         x = float(g.real(0, 1));
   some(g, e.fWeights, 3, [&](int) { return std::make_pair(g.word(4), float(g.real(0, 1))); });
}

// ---- trees of leaves

// Sets what every case shares: small baskets, so that each branch has many, and clusters whose borders differ from them.
static void many_baskets(TTree *t, int bytes, Long64_t flush)
{
   t->SetAutoFlush(flush);
   t->SetAutoSave(0);
   t->SetBasketSize("*", bytes);
}

void leaves(const char *path, int compression, bool offset_map)
{
   TFile f(path, "RECREATE", "", compression);
   TTree *t = new TTree("t", "every kind of leaf");
   if (offset_map) {
      ROOT::TIOFeatures features;
      features.Set("kGenerateOffsetMap");
      t->SetIOFeatures(features);
   }
   const int kMost = 9;
   int n = 0;
   short ns = 0;
   unsigned char nu = 0;
   Long64_t nl = 0;
   t->Branch("n", &n, "n/I");
   t->Branch("ns", &ns, "ns/S");
   t->Branch("nu", &nu, "nu/b");
   t->Branch("nl", &nl, "nl/L");
   std::vector<std::function<void(Gen &, int)>> fillers;
   // one scalar, one array, one matrix, one counted array, one counted matrix of each type
   auto add = [&](auto zero, const std::string &name, const std::string &code, auto value) {
      using T = decltype(zero);
      struct Row {
         T one, three[3], six[2][3], many[kMost], pairs[kMost][2];
      };
      auto r = new Row();
      t->Branch(name.c_str(), &r->one, (name + "/" + code).c_str());
      t->Branch((name + "_3").c_str(), r->three, (name + "_3[3]/" + code).c_str());
      t->Branch((name + "_23").c_str(), r->six, (name + "_23[2][3]/" + code).c_str());
      t->Branch((name + "_n").c_str(), r->many, (name + "_n[n]/" + code).c_str());
      t->Branch((name + "_n2").c_str(), r->pairs, (name + "_n2[n][2]/" + code).c_str());
      fillers.push_back([r, value](Gen &g, int i) {
         r->one = T(value(g, i));
         for (auto &x : r->three)
            x = T(value(g, i));
         for (auto &m : r->six)
            for (auto &x : m)
               x = T(value(g, i));
         for (auto &x : r->many)
            x = T(value(g, i));
         for (auto &m : r->pairs)
            for (auto &x : m)
               x = T(value(g, i));
      });
   };
   auto real = [](double lo, double hi) { return [lo, hi](Gen &g, int) { return g.real(lo, hi); }; };
   add(Char_t(), "B", "B", [](Gen &g, int) { return g.any<Char_t>(); });
   add(UChar_t(), "b", "b", [](Gen &g, int) { return g.any<UChar_t>(); });
   add(Short_t(), "S", "S", [](Gen &g, int) { return g.any<Short_t>(); });
   add(UShort_t(), "s", "s", [](Gen &g, int) { return g.any<UShort_t>(); });
   add(Int_t(), "I", "I", [](Gen &g, int) { return g.any<Int_t>(); });
   add(UInt_t(), "i", "i", [](Gen &g, int) { return g.any<UInt_t>(); });
   add(Long64_t(), "L", "L", [](Gen &g, int) { return g.any<Long64_t>(); });
   add(ULong64_t(), "l", "l", [](Gen &g, int) { return g.any<ULong64_t>() << 7; });
   add(Long_t(), "G", "G", [](Gen &g, int) { return g.any<Long_t>(); });
   add(ULong_t(), "g", "g", [](Gen &g, int) { return g.any<ULong_t>() << 7; });
   add(Bool_t(), "O", "O", [](Gen &g, int) { return g.any<bool>(); });
   add(Float_t(), "F", "F", [](Gen &g, int i) {
      const float odd[] = {std::numeric_limits<float>::infinity(), -0.f, 1e-42f, std::numeric_limits<float>::quiet_NaN()};
      return i % 40 == 7 ? odd[g.below(4)] : float(g.real(-1e3, 1e3));
   });
   add(Double_t(), "D", "D", [](Gen &g, int i) {
      const double odd[] = {-std::numeric_limits<double>::infinity(), 5e-324, 1e308, std::numeric_limits<double>::quiet_NaN()};
      return i % 40 == 9 ? odd[g.below(4)] : g.real(-1e3, 1e3);
   });
   add(Float16_t(), "f", "f", real(-100, 100));
   add(Float16_t(), "f_range", "f[0,100]", real(0, 100));
   add(Float16_t(), "f_bits", "f[-10,10,11]", real(-10, 10));
   add(Float16_t(), "f_mantissa", "f[0,0,10]", real(-1e5, 1e5));
   add(Double32_t(), "d", "d", real(-1e5, 1e5));
   add(Double32_t(), "d_range", "d[0,100]", real(0, 100));
   add(Double32_t(), "d_bits", "d[-10,10,20]", real(-10, 10));
   add(Double32_t(), "d_mantissa", "d[0,0,14]", real(-1e5, 1e5));
   add(Double32_t(), "d_pi", "d[-pi,pi,16]", real(-3.14, 3.14));
   add(Double32_t(), "d_twopi", "d[0,twopi]", real(0, 6.28));
   // counters of other types, several arrays on one counter, a counter counted itself
   static float by_ns[kMost];
   static double by_nu[kMost];
   static int by_nl[kMost];
   static char C[400], C2[40], C3[64];
   t->Branch("by_ns", by_ns, "by_ns[ns]/F");
   t->Branch("by_nu", by_nu, "by_nu[nu]/D");
   t->Branch("by_nl", by_nl, "by_nl[nl]/I");
   t->Branch("C", C, "C/C");
   t->Branch("C2", C2, "C2/C");
   // leaf lists: mixed widths, arrays inside, strings at the end
   static struct {
      int a;
      float b;
      double c;
      short d;
   } list1;
   static struct {
      double x, y[2];
      int z;
      char q[3];
   } list2;
   t->Branch("list1", &list1.a, "a/I:b/F");
   t->Branch("list2", &list2, "x/D:y[2]/D:z/I:q[3]/B");
   t->Branch("list3", C3, "w/C");
   many_baskets(t, offset_map ? 1500 : 700, offset_map ? 97 : 149);
   Gen g(1);
   for (int i = 0; i < 250; ++i) {
      n = i % 11 == 0 ? 0 : g.below(kMost + 1), ns = short(g.below(kMost + 1)), nu = (unsigned char)g.below(kMost + 1);
      nl = i % 3 ? g.below(kMost + 1) : 0;
      for (auto &fill_row : fillers)
         fill_row(g, i);
      for (int j = 0; j < kMost; ++j)
         by_ns[j] = g.any<float>(), by_nu[j] = g.any<double>(), by_nl[j] = g.any<int>();
      strcpy(C, text(g, i).c_str()), strcpy(C2, i % 5 ? g.word(30).c_str() : ""), strcpy(C3, g.word(20).c_str());
      list1.a = g.any<int>(), list1.b = g.any<float>();
      list2.x = g.real(0, 1), list2.y[0] = g.real(1, 2), list2.y[1] = g.real(2, 3), list2.z = g.any<int>();
      for (auto &q : list2.q)
         q = g.any<char>();
      t->Fill();
   }
   t->Write();
   f.Close();
}

void ntuples(const char *path)
{
   TFile f(path, "RECREATE", "", 101);
   TNtuple a("ntuple", "floats", "x:y:z");
   TNtupleD b("ntupled", "doubles", "px:py:pz:e");
   many_baskets(&a, 600, 100), many_baskets(&b, 900, 170);
   Gen g(2);
   for (int i = 0; i < 1000; ++i) {
      a.Fill(float(i), float(g.real(0, 1)), float(g.real(-1, 0)));
      b.Fill(g.real(0, 1), g.real(0, 1), g.real(0, 1), i);
   }
   a.Write(), b.Write();
   f.Close();
}

// Trees whose bookkeeping is out of the ordinary.
void odd(const char *path)
{
   TFile f(path, "RECREATE", "", 101);
   Gen g(3);
   int a = 0, b = 0;
   { // branches of different entry counts: one filled alone, one added late, one empty
      TTree t("uneven", "");
      TBranch *bb = nullptr;
      t.Branch("a", &a, "a/I");
      many_baskets(&t, 300, 0);
      for (int i = 0; i < 300; ++i) {
         a = i;
         t.Fill();
      }
      bb = t.Branch("late", &b, "late/I");
      for (int i = 0; i < 300; ++i) {
         b = 2 * i;
         bb->Fill();
      }
      bb = t.Branch("half", &b, "half/I");
      for (int i = 0; i < 150; ++i) {
         b = 3 * i;
         bb->Fill();
      }
      t.Branch("never", &b, "never/I");
      t.Write();
   }
   { // no entry at all
      TTree t("empty", "");
      std::vector<int> v;
      t.Branch("a", &a, "a/I");
      t.Branch("v", &v);
      t.Write();
   }
   { // no branch at all
      TTree t("bare", "");
      t.Write();
   }
   { // baskets that stay inside the tree's own record
      TTree *t = new TTree("embedded", "");
      std::vector<float> v;
      char s[50];
      int n = 0;
      float x[8];
      t->Branch("a", &a, "a/I");
      t->Branch("v", &v);
      t->Branch("s", s, "s/C");
      t->Branch("n", &n, "n/I");
      t->Branch("x", x, "x[n]/F");
      many_baskets(t, 700, 0);
      for (int i = 0; i < 130; ++i) {
         a = i;
         some(g, v, 4, [&](int) { return float(g.real(0, 1)); });
         strcpy(s, g.word(20).c_str());
         n = g.below(8);
         for (auto &y : x)
            y = float(g.real(0, 1));
         t->Fill();
      }
      f.WriteObjectAny(t, "TTree", "embedded");
      t->SetDirectory(nullptr);
      delete t;
   }
   { // the same tree saved again and again: cycles
      TTree t("cycles", "");
      t.Branch("a", &a, "a/I");
      many_baskets(&t, 300, 0);
      for (int i = 0; i < 200; ++i) {
         a = 7 * i;
         t.Fill();
         if (i % 60 == 59)
            t.Write(); // keeps the earlier cycle
      }
      t.Write();
   }
   { // clusters that grow, baskets that are larger than them, a branch with another compression, one without
      TTree t("clusters", "");
      float x = 0;
      std::vector<double> v;
      t.Branch("a", &a, "a/I", 100000);
      t.Branch("x", &x, "x/F", 200)->SetCompressionSettings(505);
      t.Branch("v", &v)->SetCompressionSettings(0);
      t.SetAutoSave(0);
      for (int i = 0; i < 1500; ++i) {
         if (i == 0 || i == 300 || i == 900)
            t.SetAutoFlush(i == 0 ? 50 : i == 300 ? 211 : 70);
         a = i, x = float(i) / 2;
         some(g, v, 3, [&](int) { return g.real(0, 1); });
         t.Fill();
      }
      t.Write();
   }
   { // only the last entries are kept
      TTree t("circular", "");
      t.Branch("a", &a, "a/I");
      t.SetCircular(100);
      for (int i = 0; i < 1234; ++i) {
         a = i;
         t.Fill();
      }
      t.Write();
   }
   { // names that paths do not like
      TTree t("odd names; here", "");
      t.Branch("a.b", &a, "a.b/I");
      t.Branch("c/d", &a, "cd/I");
      t.Branch("e:f", &a, "ef/I");
      t.Branch("g h", &a, "gh/I");
      for (int i = 0; i < 5; ++i) {
         a = i;
         t.Fill();
      }
      t.Write();
   }
   f.Close();
}

// One basket above 16 MiB: its payload is a chain of several compressed blocks.
void large(const char *path, int compression)
{
   TFile f(path, "RECREATE", "", compression);
   TTree t("t", "");
   std::vector<int> v;
   int n = 0;
   t.Branch("v", &v, 32000, 0);
   t.Branch("n", &n, "n/I", 60000000);
   t.SetAutoFlush(0);
   Gen g(4);
   for (int i = 0; i < 3; ++i) {
      v.resize(i == 1 ? 4500000 : 3);
      for (size_t j = 0; j < v.size(); ++j)
         v[j] = int(j / 7) * (i + 1);
      n = i;
      t.Fill();
   }
   t.Write();
   f.Close();
}

// A file as it is while somebody writes it: saved once, never closed. `copy` must be made by the caller of `and_then`.
void unclosed(const char *path, const char *copy)
{
   TFile *f = new TFile(path, "RECREATE", "", 101);
   TTree *t = new TTree("t", "");
   int a = 0;
   std::vector<float> v;
   t->Branch("a", &a, "a/I");
   t->Branch("v", &v);
   many_baskets(t, 400, 50);
   Gen g(5);
   for (int i = 0; i < 400; ++i) {
      a = i;
      some(g, v, 4, [&](int) { return float(g.real(0, 1)); });
      t->Fill();
      if (i == 249)
         t->AutoSave("SaveSelf");
   }
   f->Flush();
   gSystem->CopyFile(path, copy, true);
   delete f;
}

// ---- collections as branches of their own

template <class T>
struct Column {
   T value;
   T *address = &value;
};

void collections(const char *path, int split, bool memberwise, int compression)
{
   TVirtualStreamerInfo::SetStreamMemberWise(memberwise);
   TFile f(path, "RECREATE", "", compression);
   TTree *t = new TTree("t", "collections");
   std::vector<std::function<void(Gen &, int)>> fillers;
   auto add = [&](auto zero, const char *name, auto make) {
      auto c = new Column<decltype(zero)>();
      t->Branch(name, &c->address, 2000, split);
      fillers.push_back([c, make](Gen &g, int i) { make(g, i, c->value); });
   };
   auto each = [](auto make) {
      return [make](Gen &g, int i, auto &c) {
         c.clear();
         for (int n = i % 13 == 0 ? 0 : g.below(6), j = 0; j < n; ++j)
            c.insert(c.end(), make(g, j));
      };
   };
   auto front = [](auto make) {
      return [make](Gen &g, int, auto &c) {
         c.clear();
         for (int n = g.below(6), j = 0; j < n; ++j)
            c.push_front(make(g, j));
      };
   };
#define NUMBERS(T, name) add(std::vector<T>(), name, each([](Gen &g, int) { return g.any<T>(); }))
   NUMBERS(bool, "v_bool");
   NUMBERS(char, "v_char");
   NUMBERS(signed char, "v_schar");
   NUMBERS(unsigned char, "v_uchar");
   NUMBERS(short, "v_short");
   NUMBERS(unsigned short, "v_ushort");
   NUMBERS(int, "v_int");
   NUMBERS(unsigned int, "v_uint");
   NUMBERS(long, "v_long");
   NUMBERS(unsigned long, "v_ulong");
   NUMBERS(Long64_t, "v_long64");
   NUMBERS(ULong64_t, "v_ulong64");
   NUMBERS(float, "v_float");
   NUMBERS(double, "v_double");
#undef NUMBERS
   add(std::string(), "string", [](Gen &g, int i, std::string &s) { s = text(g, i); });
   add(TString(), "tstring", [](Gen &g, int i, TString &s) { s = text(g, i).c_str(); });
   add(std::vector<std::string>(), "v_string", each([](Gen &g, int i) { return text(g, i); }));
   auto few_ints = [](Gen &g) {
      std::vector<int> v;
      some(g, v, 3, [&](int) { return g.below(99); });
      return v;
   };
   add(std::vector<std::vector<int>>(), "vv_int", each([=](Gen &g, int) { return few_ints(g); }));
   add(std::vector<std::vector<bool>>(), "vv_bool", each([](Gen &g, int) {
          std::vector<bool> v;
          some(g, v, 3, [&](int) { return g.any<bool>(); });
          return v;
       }));
   add(std::vector<std::vector<float>>(), "vv_float", each([](Gen &g, int) {
          std::vector<float> v;
          some(g, v, 3, [&](int) { return float(g.real(0, 1)); });
          return v;
       }));
   add(std::vector<std::vector<std::string>>(), "vv_string", each([](Gen &g, int) {
          std::vector<std::string> v;
          some(g, v, 3, [&](int i) { return text(g, i + 7); });
          return v;
       }));
   add(std::vector<std::vector<std::vector<int>>>(), "vvv_int", each([=](Gen &g, int) {
          std::vector<std::vector<int>> v;
          some(g, v, 3, [&](int) { return few_ints(g); });
          return v;
       }));
   add(std::vector<std::set<int>>(), "v_set", each([](Gen &g, int) {
          std::set<int> s;
          some(g, s, 3, [&](int) { return g.below(9); });
          return s;
       }));
   add(std::vector<std::map<int, float>>(), "v_map", each([](Gen &g, int) {
          std::map<int, float> m;
          some(g, m, 3, [&](int) { return std::make_pair(g.below(9), float(g.real(0, 1))); });
          return m;
       }));
   add(std::list<float>(), "list", each([](Gen &g, int) { return float(g.real(0, 1)); }));
   add(std::list<std::string>(), "list_string", each([](Gen &g, int) { return g.word(5); }));
   add(std::deque<double>(), "deque", each([](Gen &g, int) { return g.real(0, 1); }));
   add(std::forward_list<int>(), "forward_list", front([](Gen &g, int) { return g.below(99); }));
   add(std::set<int>(), "set", each([](Gen &g, int) { return g.below(99); }));
   add(std::set<std::string>(), "set_string", each([](Gen &g, int) { return g.word(5); }));
   add(std::multiset<int>(), "multiset", each([](Gen &g, int) { return g.below(4); }));
   add(std::unordered_set<int>(), "unordered_set", each([](Gen &g, int) { return g.below(99); }));
   add(std::unordered_multiset<int>(), "unordered_multiset", each([](Gen &g, int) { return g.below(4); }));
   add(std::map<int, double>(), "map_id", each([](Gen &g, int) { return std::make_pair(g.below(99), g.real(0, 1)); }));
   add(std::map<Small, float>(), "map_small",
       each([](Gen &g, int i) { return std::make_pair(i % 2 ? Small::kA : Small::kB, float(g.real(0, 1))); }));
   add(std::map<std::string, int>(), "map_si", each([](Gen &g, int) { return std::make_pair(g.word(5), g.below(9)); }));
   add(std::map<std::string, std::string>(), "map_ss",
       each([](Gen &g, int i) { return std::make_pair(g.word(5), text(g, i + 7)); }));
   add(std::map<int, std::vector<double>>(), "map_iv", each([](Gen &g, int) {
          std::vector<double> v;
          some(g, v, 3, [&](int) { return g.real(0, 1); });
          return std::make_pair(g.below(99), v);
       }));
   add(std::map<std::string, std::vector<std::string>>(), "map_svs", each([](Gen &g, int) {
          std::vector<std::string> v;
          some(g, v, 3, [&](int) { return g.word(3); });
          return std::make_pair(g.word(5), v);
       }));
   add(std::map<int, Hit>(), "map_hit", each([](Gen &g, int i) { return std::make_pair(g.below(99), hit(g, i)); }));
   add(std::multimap<int, double>(), "multimap", each([](Gen &g, int) { return std::make_pair(g.below(3), g.real(0, 1)); }));
   add(std::unordered_map<int, float>(), "unordered_map",
       each([](Gen &g, int) { return std::make_pair(g.below(99), float(g.real(0, 1))); }));
   add(std::unordered_multimap<int, float>(), "unordered_multimap",
       each([](Gen &g, int) { return std::make_pair(g.below(3), float(g.real(0, 1))); }));
   add(std::pair<int, float>(), "pair", [](Gen &g, int, std::pair<int, float> &p) { p = {g.below(9), float(g.real(0, 1))}; });
   add(std::vector<std::pair<int, double>>(), "v_pair",
       each([](Gen &g, int) { return std::make_pair(g.below(9), g.real(0, 1)); }));
   add(std::bitset<17>(), "bitset", [](Gen &g, int, std::bitset<17> &b) { b = std::bitset<17>(g.bits() >> 30); });
   add(std::vector<Plain>(), "v_plain", each([](Gen &g, int) { return plain(g); }));
   add(std::vector<Corner>(), "v_corner", each([](Gen &g, int) { return corner(g); }));
   add(std::vector<Hit>(), "v_hit", each([](Gen &g, int i) { return hit(g, i); }));
   add(std::vector<Track>(), "v_track", each([](Gen &g, int) { return track(g); }));
   add(std::vector<Deep>(), "v_deep", each([](Gen &g, int i) { return deep(g, i); }));
   add(std::vector<TLorentzVector>(), "v_lorentz", each([](Gen &g, int) {
          return TLorentzVector(g.real(-1, 1), g.real(-1, 1), g.real(-1, 1), g.real(0, 9));
       }));
   add(std::vector<std::vector<Hit>>(), "vv_hit", each([](Gen &g, int) {
          std::vector<Hit> v;
          some(g, v, 3, [&](int i) { return hit(g, i); });
          return v;
       }));
   add(std::list<Hit>(), "list_hit", each([](Gen &g, int i) { return hit(g, i); }));
   add(std::set<Plain>(), "set_plain", each([](Gen &g, int) { return plain(g); }));
   // pointers are only split with TTree::kSplitCollectionOfPointers (100 added to the level)
   static std::vector<Track *> pointers;
   static auto address = &pointers;
   t->Branch("v_pointer", &address, 2000, split ? split + TTree::kSplitCollectionOfPointers : 0);
   fillers.push_back([](Gen &g, int) {
      for (auto p : pointers)
         delete p;
      some(g, pointers, 3, [&](int) { return new Track(track(g)); });
   });
   t->SetAutoFlush(37);
   t->SetAutoSave(0);
   Gen g(6);
   for (int i = 0; i < 90; ++i) {
      for (auto &fill_row : fillers)
         fill_row(g, i);
      t->Fill();
   }
   t->Write();
   f.Close();
   TVirtualStreamerInfo::SetStreamMemberWise(true);
}

// ---- classes

template <class T, class F>
static void one_class(TTree *t, const char *name, int split, std::vector<std::function<void(Gen &, int)>> &fillers, F fill_it)
{
   auto c = new Column<T *>();
   c->value = new T();
   t->Branch(name, &c->value, 2000, split);
   fillers.push_back([c, fill_it](Gen &g, int i) { fill_it(*c->value, g, i); });
}

void classes(const char *path, int split, bool memberwise, bool bypass, int compression)
{
   TVirtualStreamerInfo::SetStreamMemberWise(memberwise);
   TFile f(path, "RECREATE", "", compression);
   std::vector<std::function<void(Gen &, int)>> fillers;
   auto write = [&](const char *name, auto make) {
      TTree *t = new TTree(name, name);
      fillers.clear();
      make(t);
      t->SetAutoFlush(29);
      t->SetAutoSave(0);
      Gen g(7);
      for (int i = 0; i < 70; ++i) {
         for (auto &fill_row : fillers)
            fill_row(g, i);
         t->Fill();
      }
      t->Write();
   };
   // the dot at the end makes ROOT put the branch's name before each sub-branch's name
   write("plain", [&](TTree *t) {
      one_class<Plain>(t, "plain", split, fillers, [](Plain &o, Gen &g, int) { o = plain(g); });
      one_class<Corner>(t, "corner.", split, fillers, [](Corner &o, Gen &g, int) { o = corner(g); });
      one_class<Hit>(t, "hit.", split, fillers, [](Hit &o, Gen &g, int i) { o = hit(g, i); });
   });
   write("numbers", [&](TTree *t) {
      one_class<Numbers>(t, "numbers", split, fillers, [](Numbers &o, Gen &g, int i) { fill(o, g, i); });
   });
   write("counted", [&](TTree *t) {
      one_class<Counted>(t, "counted.", split, fillers, [](Counted &o, Gen &g, int i) { fill(o, g, i); });
   });
   write("strings", [&](TTree *t) {
      one_class<Strings>(t, "strings", split, fillers, [](Strings &o, Gen &g, int i) { fill(o, g, i); });
   });
   write("collections", [&](TTree *t) {
      one_class<Collections>(t, "c.", split, fillers, [](Collections &o, Gen &g, int) { fill(o, g); });
   });
   write("pointers", [&](TTree *t) {
      one_class<Pointers>(t, "p.", split, fillers, [](Pointers &o, Gen &g, int i) { fill(o, g, i); });
      t->BranchRef();
   });
   write("web", [&](TTree *t) {
      one_class<Web>(t, "w.", split, fillers, [](Web &o, Gen &g, int i) { fill(o, g, i); });
   });
   write("parts", [&](TTree *t) {
      one_class<Parts>(t, "parts.", split, fillers, [](Parts &o, Gen &g, int i) { fill(o, g, i); });
   });
   write("clones", [&](TTree *t) {
      one_class<Clones>(t, "clones.", split, fillers, [bypass](Clones &o, Gen &g, int i) {
         o.fTracks->BypassStreamer(bypass), o.fInside.BypassStreamer(bypass), o.fStrung.BypassStreamer(bypass);
         o.fId = i, fill(*o.fTracks, g), fill(o.fInside, g);
         o.fStrung.Clear("C");
         for (int n = g.below(3), j = 0; j < n; ++j) {
            auto s = (Strung *)o.fStrung.ConstructedAt(j);
            s->fWord = g.word(6);
            some(g, s->fValues, 3, [&](int) { return float(g.real(0, 1)); });
         }
      });
      auto c = new Column<TClonesArray *>();
      c->value = new TClonesArray("Track", 5);
      c->value->BypassStreamer(bypass);
      t->Branch("tracks", &c->value, 2000, split);
      fillers.push_back([c](Gen &g, int) { fill(*c->value, g); });
   });
   write("event", [&](TTree *t) {
      one_class<Event>(t, "event", split, fillers, [](Event &o, Gen &g, int i) { fill(o, g, i); });
   });
   write("event_dot", [&](TTree *t) {
      one_class<Event>(t, "event.", split, fillers, [](Event &o, Gen &g, int i) { fill(o, g, i); });
   });
   f.Close();
   TVirtualStreamerInfo::SetStreamMemberWise(true);
}

// TBranchObject and TBranchClones: what ROOT wrote before TBranchElement came.
void old_branches(const char *path, int split)
{
   TFile f(path, "RECREATE", "", 101);
   TTree *t = new TTree("t", "old branches");
   Track *track_address = new Track();
   TClonesArray *tracks = new TClonesArray("Track", 5);
   TNamed *named = new TNamed("", "");
   OldEvent *event = new OldEvent();
   t->BranchOld("event", "OldEvent", &event, 2000, split);
   t->BranchOld("track", "Track", &track_address, 2000, split);
   t->BranchOld("tracks", "TClonesArray", &tracks, 2000, split);
   t->BranchOld("named.", "TNamed", &named, 2000, split);
   Gen g(8);
   for (int i = 0; i < 100; ++i) {
      event->fId = i;
      for (auto &x : event->fX)
         x = float(g.real(0, 1));
      event->fTracks->Clear();
      for (int n = g.below(5), j = 0; j < n; ++j) {
         auto o = (OldTrack *)event->fTracks->ConstructedAt(j);
         o->fA = g.below(1000), o->fB = float(g.real(0, 1)), o->fC = g.real(-1, 1);
      }
      fill(*track_address, g), fill(*tracks, g), named->SetNameTitle(g.word(6).c_str(), text(g, i).c_str());
      t->Fill();
   }
   t->Write();
   f.Close();
}

// ---- what ROOT reads back: two members that TBufferJSON shows wrongly, and pointers that are shared

static std::string right_members(const void *obj, const TClass *cl, std::string json)
{
   // the first of an array of TString for all, and no arrays of counted arrays
   std::ostringstream right;
   std::string member, name = cl->GetName();
   if (name == "Strings" || name == "Event") {
      auto s = name == "Strings" ? (const Strings *)obj : &((const Event *)obj)->fStrings;
      member = "\"fTwo\":[", right << '[';
      quoted(right, s->fTwo[0].Data()), right << ',', quoted(right, s->fTwo[1].Data()), right << ']';
   } else if (name == "Counted") {
      auto c = (const Counted *)obj;
      member = "\"fTwice\":[", right << '[';
      for (int k = 0; k < 2; ++k) {
         right << (k ? ",[" : "[");
         for (int i = 0; i < c->fN; ++i)
            right << (i ? "," : ""), number(right, c->fTwice[k][i]);
         right << ']';
      }
      right << ']';
   }
   auto at = member.empty() ? std::string::npos : json.find(member);
   if (at != std::string::npos) {
      at += member.size() - 1;
      json.replace(at, json.find(']', at) + 1 - at, right.str());
   }
   return json;
}

static void forget_pointers(void *obj, const std::string &class_name)
{
   if (class_name == "Pointers")
      ((Pointers *)obj)->clear(); // ROOT would delete an object once for each pointer to it
}

static bool hooks = (put_right = right_members, before_entry = forget_pointers, true);
