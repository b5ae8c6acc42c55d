// The tree of five branches of the talk of 2010, as ROOT lays it out: `bench/write/layout.py` calls it.
void layout_write(const char *path, long entries, long flush, int basket);

#ifndef __CLING__ // the interpreter only needs to know the name above

#include <cstdint>
#include <vector>

#include "TFile.h"
#include "TString.h"
#include "TTree.h"

namespace {

const int BRANCHES = 5;
// Bytes of an entry, and how far from them one of the branch may be.
const int MIDDLE[BRANCHES] = {400, 2500, 5000, 7500, 10000};
const int SPREAD[BRANCHES] = {0, 50, 500, 2500, 5000};

struct Random {
   std::uint64_t x = 88172645463325252ull;
   std::uint64_t next()
   {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      return x >> 20;
   }
};

} // namespace

// `flush`: 0 for none, below as many bytes. Bytes have one of five values, so that 8,000 of them come to less than 3,000.
void layout_write(const char *path, long entries, long flush, int basket)
{
   TFile file(path, "RECREATE", "", 101);
   TTree *tree = new TTree("tree", "five branches");
   tree->SetAutoFlush(flush);
   std::vector<std::vector<unsigned char>> bytes(BRANCHES);
   unsigned char fixed[400];
   tree->Branch("b1", fixed, "b1[400]/b", basket);
   for (int b = 1; b < BRANCHES; ++b)
      tree->Branch(TString::Format("b%d", b + 1), &bytes[b], basket);
   Random random;
   for (long entry = 0; entry < entries; ++entry) {
      for (int b = 0; b < BRANCHES; ++b) {
         bytes[b].resize(MIDDLE[b] + (SPREAD[b] ? long(random.next() % (2 * SPREAD[b] + 1)) - SPREAD[b] : 0));
         for (auto &byte : bytes[b])
            byte = random.next() % 5;
      }
      std::copy(bytes[0].begin(), bytes[0].end(), fixed);
      tree->Fill();
   }
   file.Write();
   file.Close();
}
#endif

#ifdef __ROOTCLING__
#pragma link C++ function layout_write;
#endif
