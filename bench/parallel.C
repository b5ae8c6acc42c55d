// ROOT's way to fill one file from many threads: `ROOT::TBufferMerger`, a tree a thread, merged cluster by cluster.
double fill(const char *path, int threads, int branches, long rows, int clusters, int compression);

#ifndef __CLING__

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "ROOT/TBufferMerger.hxx"
#include "TROOT.h"
#include "TString.h"
#include "TTree.h"

double fill(const char *path, int threads, int branches, long rows, int clusters, int compression)
{
   ROOT::EnableThreadSafety();
   std::vector<std::vector<float>> columns(branches, std::vector<float>(rows));
   std::uint64_t x = 88172645463325252ull;
   for (auto &column : columns)
      for (auto &value : column) {
         x ^= x << 13;
         x ^= x >> 7;
         x ^= x << 17;
         value = 1.f + float(x >> 52) / 4096.f;
      }
   auto begin = std::chrono::steady_clock::now();
   {
      ROOT::TBufferMerger merger(path, "RECREATE", compression);
      auto work = [&](int thread) {
         auto file = merger.GetFile();
         auto tree = new TTree("tree", "rows");
         tree->SetAutoFlush(rows);
         std::vector<float> row(branches);
         for (int b = 0; b < branches; b++)
            tree->Branch(TString::Format("b%d", b), &row[b], TString::Format("b%d/F", b))->SetBasketSize(4 * rows + 1000);
         for (int cluster = thread; cluster < clusters; cluster += threads) {
            for (long r = 0; r < rows; r++) {
               for (int b = 0; b < branches; b++)
                  row[b] = columns[b][r];
               tree->Fill();
            }
            file->Write();
         }
      };
      std::vector<std::thread> workers;
      for (int t = 0; t < threads; t++)
         workers.emplace_back(work, t);
      for (auto &worker : workers)
         worker.join();
   }
   return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
#endif
