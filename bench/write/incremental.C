// ROOT's producers for `bench/write/incremental.py`: threads that make events and write them, each to a file of its own or all through
// `ROOT::TBufferMerger`.
double produce_files(const char *folder, int producers, int pieces, long rows, int columns, int compression);
double produce_merged(const char *path, int producers, int pieces, long rows, int columns, int compression);

#ifndef __CLING__ // the interpreter only needs to know the names above

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "ROOT/TBufferMerger.hxx"
#include "TFile.h"
#include "TROOT.h"
#include "TString.h"
#include "TTree.h"

namespace {

using Clock = std::chrono::steady_clock;

// Normal numbers, two at a time.
struct Normal {
   std::uint64_t x;
   float other = 0;
   bool has_other = false;

   explicit Normal(int seed) : x(88172645463325252ull + 7919 * seed)
   {
      for (int k = 0; k < 100; ++k)
         next();
   }
   std::uint64_t next()
   {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      return x;
   }
   float operator()()
   {
      if (has_other) {
         has_other = false;
         return other;
      }
      const float u = (1 + (next() >> 40)) / 16777217.f, v = (next() >> 40) / 16777216.f;
      const float r = std::sqrt(-2 * std::log(u)), angle = 6.2831853f * v;
      other = r * std::sin(angle);
      has_other = true;
      return r * std::cos(angle);
   }
};

// Makes the events of a producer; `piece_done` follows each piece.
void make(int producer, int pieces, long rows, int columns, const std::function<void()> &piece_done)
{
   auto tree = new TTree("tree", "rows"); // of the current file
   std::vector<float> row(columns);
   for (int k = 0; k < columns; ++k)
      tree->Branch(TString::Format("x%d", k), &row[k], TString::Format("x%d/F", k));
   Normal normal(producer);
   for (int piece = 0; piece < pieces; ++piece) {
      for (long r = 0; r < rows; ++r) {
         for (auto &value : row)
            value = normal();
         tree->Fill();
      }
      piece_done();
   }
}

double all(int producers, const std::function<void(int)> &work)
{
   ROOT::EnableThreadSafety();
   auto begin = Clock::now();
   std::vector<std::thread> threads;
   for (int p = 0; p < producers; ++p)
      threads.emplace_back(work, p);
   for (auto &thread : threads)
      thread.join();
   return std::chrono::duration<double>(Clock::now() - begin).count();
}

} // namespace

double produce_files(const char *folder, int producers, int pieces, long rows, int columns, int compression)
{
   return all(producers, [=](int p) {
      TFile file(TString::Format("%s/%d.root", folder, p), "RECREATE", "", compression);
      make(p, pieces, rows, columns, [] {});
      file.Write();
   });
}

double produce_merged(const char *path, int producers, int pieces, long rows, int columns, int compression)
{
   auto begin = Clock::now();
   {
      ROOT::EnableThreadSafety();
      ROOT::TBufferMerger merger(path, "RECREATE", compression);
      all(producers, [&](int p) {
         auto file = merger.GetFile();
         make(p, pieces, rows, columns, [&] { file->Write(); });
      });
   }
   return std::chrono::duration<double>(Clock::now() - begin).count();
}
#endif

#ifdef __ROOTCLING__
#pragma link C++ function produce_files;
#pragma link C++ function produce_merged;
#endif
