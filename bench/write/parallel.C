// ROOT's way to fill one file from many threads: `ROOT::TBufferMerger`, a tree a thread, merged cluster by cluster; and RDataFrame's
// Snapshot of a file that has the values uncompressed. `fill_files`: the same rows in as many files as threads. `fill_costs`: what the parts of
// a cluster cost one thread.
#include <vector>

double fill(const char *kind, const char *path, int threads, int branches, long rows, int clusters, int compression);
double fill_files(const char *kind, const char *path, int threads, int branches, long rows, int clusters, int compression);
double snapshot(const char *source, const char *path, int threads, int compression);
std::vector<double> fill_costs(const char *kind, const char *path, int branches, long rows, int clusters, int compression);

#include "event.h"

#ifndef __CLING__

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "ROOT/RDataFrame.hxx"
#include <time.h>

#include "ROOT/TBufferMerger.hxx"
#include "TBufferFile.h"
#include "TFileMerger.h"
#include "TMemFile.h"
#include "TROOT.h"
#include "TString.h"
#include "TTree.h"

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin)
{
   return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Random {
   std::uint64_t x = 88172645463325252ull;
   float next()
   {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      return 1.f + float(x >> 52) / 4096.f;
   }
};

BenchEvent event(long number, Random &random)
{
   BenchEvent e;
   e.fRun = 1;
   e.fNumber = number;
   e.fTemperature = random.next();
   e.fTracks.resize(600);
   int count = 0;
   for (auto &t : e.fTracks) {
      for (float *f : {&t.fPx, &t.fPy, &t.fPz, &t.fRandom, &t.fMass2, &t.fBx, &t.fBy, &t.fMeanCharge})
         *f = random.next();
      for (double *d : {&t.fXfirst, &t.fXlast, &t.fYfirst, &t.fYlast, &t.fZfirst, &t.fZlast, &t.fCharge})
         *d = random.next();
      t.fNpoint = count % 60;
      t.fValid = count++ % 2;
   }
   return e;
}

// The rows of a cluster: of one kind.
struct Rows {
   bool jagged, events;
   long rows;
   std::vector<std::vector<float>> columns;
   std::vector<int> counts;
   std::vector<BenchEvent> list;

   Rows(const char *kind, int branches, long rows)
      : jagged(!std::strcmp(kind, "jagged")), events(!std::strcmp(kind, "event")), rows(rows)
   {
      Random random;
      if (events) {
         for (long r = 0; r < rows; ++r)
            list.push_back(event(r, random));
         return;
      }
      long items = 0;
      for (long r = 0; r < rows; ++r) {
         counts.push_back(jagged ? 7 * r % 5 : 1);
         items += counts.back();
      }
      columns.assign(branches, std::vector<float>(items));
      for (auto &column : columns)
         for (auto &value : column)
            value = random.next();
   }

   // The buffers of one thread, and its tree.
   struct Filler {
      const Rows &rows;
      std::vector<float> row;
      int n = 0;
      BenchEvent event, *pointer = &event;
      TTree *tree;

      explicit Filler(const Rows &r) : rows(r), row(8 * r.columns.size()), tree(new TTree("tree", "rows"))
      {
         tree->SetAutoFlush(rows.rows);
         if (rows.events)
            tree->Branch("event", &pointer, 32000, 99);
         if (rows.jagged)
            tree->Branch("n", &n, "n/I");
         for (size_t b = 0; b < rows.columns.size(); ++b) {
            auto leaf = TString::Format(rows.jagged ? "b%zu[n]/F" : "b%zu/F", b);
            tree->Branch(TString::Format("b%zu", b), &row[8 * b], leaf)->SetBasketSize(8 * rows.columns[b].size() + 1000);
         }
      }

      void cluster()
      {
         for (auto &e : rows.list) {
            pointer = const_cast<BenchEvent *>(&e);
            tree->Fill();
         }
         long at = 0;
         for (long r = 0; !rows.events && r < rows.rows; ++r) {
            n = rows.counts[r];
            for (size_t b = 0; b < rows.columns.size(); ++b)
               for (int k = 0; k < n; ++k)
                  row[8 * b + k] = rows.columns[b][at + k];
            at += n;
            tree->Fill();
         }
      }
   };
};

// Runs `work` in so many threads, each with its number.
template <class W>
void in_threads(int threads, W work)
{
   std::vector<std::thread> workers;
   for (int t = 0; t < threads; t++)
      workers.emplace_back(work, t);
   for (auto &worker : workers)
      worker.join();
}

} // namespace

double fill(const char *kind, const char *path, int threads, int branches, long rows, int clusters, int compression)
{
   ROOT::EnableThreadSafety();
   Rows values(kind, branches, rows);
   auto begin = Clock::now();
   {
      ROOT::TBufferMerger merger(path, "RECREATE", compression);
      auto work = [&](int thread) {
         auto file = merger.GetFile();
         Rows::Filler filler(values);
         for (int cluster = thread; cluster < clusters; cluster += threads) {
            filler.cluster();
            file->Write();
         }
      };
      in_threads(threads, work);
   }
   return since(begin);
}

double fill_files(const char *kind, const char *path, int threads, int branches, long rows, int clusters, int compression)
{
   ROOT::EnableThreadSafety();
   Rows values(kind, branches, rows);
   auto begin = Clock::now();
   auto work = [&](int thread) {
      TFile file(TString::Format("%s_%d.root", path, thread), "RECREATE", "", compression);
      Rows::Filler filler(values);
      for (int cluster = thread; cluster < clusters; cluster += threads)
         filler.cluster();
      file.Write();
   };
   in_threads(threads, work);
   return since(begin);
}

// CPU seconds of one thread: a cluster filled and compressed; merged from the tree of its thread, as where no thread has the merger's lock; copied into
// a buffer, as where one has; merged from such a buffer; and what is left for the end.
std::vector<double> fill_costs(const char *kind, const char *path, int branches, long rows, int clusters, int compression)
{
   auto now = [] {
      timespec t;
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
      return t.tv_sec + 1e-9 * t.tv_nsec;
   };
   ROOT::EnableThreadSafety();
   Rows values(kind, branches, rows);
   double filled = 0, merged = 0, copied = 0, queued = 0, ended = 0;
   {
      auto merger = std::make_unique<ROOT::TBufferMerger>(path, "RECREATE", compression);
      {
         auto file = merger->GetFile();
         Rows::Filler filler(values);
         for (int cluster = 0; cluster < clusters; ++cluster) {
            const double begin = now();
            filler.cluster();
            filler.tree->FlushBaskets();
            const double middle = now();
            file->Write();
            filled += middle - begin;
            merged += now() - middle;
         }
      }
      const double begin = now();
      merger.reset();
      ended = now() - begin;
   }
   {
      TFileMerger merger(false, false);
      merger.SetPrintLevel(0);
      merger.OutputFile(path, "RECREATE", compression);
      TMemFile file(path, "RECREATE", "", compression);
      Rows::Filler filler(values);
      for (int cluster = 0; cluster < clusters; ++cluster) {
         filler.cluster();
         filler.tree->FlushBaskets();
         const double begin = now();
         file.SetCompressionLevel(0);
         file.Write();
         file.SetCompressionSettings(compression);
         auto buffer = std::make_unique<TBufferFile>(TBuffer::kWrite, file.GetSize());
         file.CopyTo(*buffer);
         buffer->SetReadMode();
         file.ResetAfterMerge(nullptr);
         const double middle = now();
         merger.AddAdoptFile(new TMemFile(path, std::move(buffer)));
         merger.PartialMerge(TFileMerger::kAll | TFileMerger::kIncremental | TFileMerger::kDelayWrite | TFileMerger::kKeepCompression);
         merger.Reset();
         copied += middle - begin;
         queued += now() - middle;
      }
   }
   return {filled / clusters, merged / clusters, copied / clusters, queued / clusters, ended};
}

double snapshot(const char *source, const char *path, int threads, int compression)
{
   if (threads > 1)
      ROOT::EnableImplicitMT(threads);
   auto begin = Clock::now();
   ROOT::RDataFrame frame("tree", source);
   ROOT::RDF::RSnapshotOptions options;
   options.fCompressionAlgorithm = ROOT::RCompressionSetting::EAlgorithm::EValues(compression / 100);
   options.fCompressionLevel = compression % 100;
   frame.Snapshot("tree", path, "", options);
   return since(begin);
}
#endif

#ifdef __ROOTCLING__
#pragma link C++ class BenchTrack+;
#pragma link C++ class std::vector<BenchTrack>+;
#pragma link C++ class BenchEvent+;
#endif
