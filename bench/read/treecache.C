// What `bench/read/treecache.py` lets ROOT do: write trees of many branches in layouts old and new, and read them entry by entry through TTreeCache.
#include <string>
#include <vector>

#include "Rtypes.h"

/// What a branch of an unsplit tree holds: the values of many branches of the split one.
class CacheBlock {
public:
   Int_t number = 0;
   std::vector<Float_t> values;
   virtual ~CacheBlock() {}
   ClassDef(CacheBlock, 1)
};

const int CACHE_BLOCKS = 203;

void cache_write(const char *path, const char *kind, int trees, int branches, long entries, long flush, int compression,
                 int basket);
std::vector<double> cache_read(const char *path, const std::vector<std::string> &trees, const std::vector<std::string> &names,
                               const std::vector<long> &entries, long cache, long readahead, int list);

#ifndef __CLING__ // the interpreter only needs to know the names above

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "TBranch.h"
#include "TEntryList.h"
#include "TEventList.h"
#include "TFile.h"
#include "TFileCacheRead.h"
#include "TLeaf.h"
#include "TString.h"
#include "TTree.h"

namespace {

struct Random {
   std::uint64_t x = 88172645463325252ull;
   std::uint64_t next()
   {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      return x;
   }
   // One of 4,096 values from 1 to 2, so that there is something to compress.
   float value() { return 1.f + float(next() >> 52) / 4096.f; }
};

// Numbers an entry of branch `k`: few have many, most have one or four.
int width(int k)
{
   if (k % 100 == 0)
      return 400;
   switch (k % 10) {
   case 5: return 60;
   case 2:
   case 7: return 12;
   case 1:
   case 4:
   case 8: return 4;
   default: return 1;
   }
}

// The branches of one tree while it is filled.
struct Filler {
   TTree *tree;
   std::string kind;
   std::vector<std::vector<float>> columns;
   std::vector<int> counts;
   std::vector<CacheBlock> blocks;
   std::vector<CacheBlock *> pointers;

   Filler(const char *name, const char *kind, int branches, long flush, int basket) : tree(new TTree(name, "many branches")), kind(kind)
   {
      if (flush <= 0)
         tree->SetAutoFlush(flush);
      if (flush == 0)
         tree->SetAutoSave(0); // the first one makes ROOT 6 give the branches larger baskets, which trees of the talk's time did not get
      const bool lists = this->kind == "lists";
      counts.resize(branches);
      for (int k = 0; k < branches; ++k)
         columns.emplace_back(lists ? 8 * width(k / 10) : width(k));
      if (this->kind == "objects") {
         blocks.resize(CACHE_BLOCKS);
         for (auto &block : blocks)
            pointers.push_back(&block);
         for (int b = 0; b < CACHE_BLOCKS; ++b)
            tree->Branch(TString::Format("e%03d", b), &pointers[b], 32000, 0);
         return;
      }
      Random chance;
      for (int k = 0; k < branches; ++k) {
         auto column = TString::Format("b%05d", k);
         const int size = basket > 0 ? basket / 2 + int(chance.next() % basket) : 32000;
         if (lists && k % 10 == 0)
            tree->Branch(column, &counts[k], column + "/I", size);
         else if (lists)
            tree->Branch(column, columns[k].data(), TString::Format("b%05d[b%05d]/F", k, k / 10 * 10), size);
         else if (columns[k].size() == 1)
            tree->Branch(column, columns[k].data(), column + "/F", size);
         else
            tree->Branch(column, columns[k].data(), TString::Format("b%05d[%d]/F", k, int(columns[k].size())), size);
      }
   }

   void fill(long entry, Random &random)
   {
      const bool lists = kind == "lists";
      int count = 0;
      for (int k = 0; k < int(columns.size()); ++k) {
         if (lists && k % 10 == 0)
            count = counts[k] = random.next() % (columns[k].size() + 1);
         else
            for (int n = lists ? count : columns[k].size(), i = 0; i < n; ++i)
               columns[k][i] = random.value();
      }
      for (int b = 0; b < int(blocks.size()); ++b) {
         blocks[b].number = entry;
         blocks[b].values.clear();
         for (int k = b; k < int(columns.size()); k += CACHE_BLOCKS)
            blocks[b].values.insert(blocks[b].values.end(), columns[k].begin(), columns[k].end());
      }
      tree->Fill();
   }
};

double cpu_seconds()
{
   rusage spent;
   getrusage(RUSAGE_SELF, &spent);
   auto seconds = [](const timeval &t) { return t.tv_sec + 1e-6 * t.tv_usec; };
   return seconds(spent.ru_utime) + seconds(spent.ru_stime);
}

// Where the values of a branch of a tree that is read come to.
struct Value {
   TLeaf *leaf;
   std::vector<float> floats;
   int whole = 0;
   CacheBlock *block = nullptr;
};

} // namespace

// Trees `t0`, `t1` and so on, filled in step. `flush`: 0 for none, below as many bytes, above ROOT's default. `basket`: 0 for 32,000 bytes, above:
// each branch has a size of its own from half to one and a half of it, so that branches of the same width flush at different entries.
void cache_write(const char *path, const char *kind, int trees, int branches, long entries, long flush, int compression, int basket)
{
   TFile file(path, "RECREATE", "", compression);
   std::vector<std::unique_ptr<Filler>> fillers;
   for (int t = 0; t < trees; ++t)
      fillers.push_back(std::make_unique<Filler>(TString::Format("t%d", t), kind, branches, flush, basket));
   Random random;
   for (long entry = 0; entry < entries; ++entry)
      for (auto &filler : fillers)
         filler->fill(entry, random);
   file.Write();
   file.Close();
}

// Reads these entries, or all, of trees in step. Branches are named to the cache; no names are all branches. Gives the sum of all values, that of
// the first ones of each branch, seconds, CPU seconds, read calls, bytes of these, bytes that were read and not wanted, reads past the cache,
// and the bytes of the caches' memory in the end. `list`: the trees are told of the entries by a TEntryList (1), or a TEventList (2); otherwise
// none is.
std::vector<double> cache_read(const char *path, const std::vector<std::string> &names_of_trees, const std::vector<std::string> &names,
                               const std::vector<long> &entries, long cache, long readahead, int list)
{
   const auto begin = std::chrono::steady_clock::now();
   const double cpu = cpu_seconds();
   TFile::SetReadaheadSize(readahead);
   std::unique_ptr<TFile> file(TFile::Open(path));
   std::vector<TTree *> trees;
   std::vector<std::vector<std::unique_ptr<Value>>> values;
   for (auto &name : names_of_trees)
      trees.push_back(file->Get<TTree>(name.c_str()));
   const long calls = file->GetReadCalls(), bytes = file->GetBytesRead();
   for (auto tree : trees) {
      values.emplace_back();
      tree->SetCacheSize(cache);
      if (!names.empty())
         tree->SetBranchStatus("*", false);
      for (auto &branch : names)
         tree->SetBranchStatus(branch.c_str(), true);
      for (auto *object : *tree->GetListOfBranches()) {
         auto branch = static_cast<TBranch *>(object);
         if (branch->TestBit(kDoNotProcess))
            continue;
         auto value = std::make_unique<Value>();
         value->leaf = static_cast<TLeaf *>(branch->GetListOfLeaves()->At(0));
         auto counter = value->leaf->GetLeafCount();
         if (branch->GetName()[0] == 'e')
            branch->SetAddress(&value->block);
         else if (std::string(value->leaf->GetTypeName()) == "Int_t")
            branch->SetAddress(&value->whole);
         else {
            value->floats.resize((counter ? counter->GetMaximum() : 1) * value->leaf->GetLenStatic());
            branch->SetAddress(value->floats.data());
         }
         values.back().push_back(std::move(value));
      }
      if (cache > 0) {
         if (names.empty())
            tree->AddBranchToCache("*", true);
         for (auto &branch : names)
            tree->AddBranchToCache(branch.c_str(), true);
         tree->StopCacheLearningPhase();
      }
   }
   TEntryList entry_list;
   TEventList event_list;
   for (auto tree : trees) {
      for (long entry : entries) {
         if (list == 1)
            entry_list.Enter(entry, tree);
         else if (list == 2)
            event_list.Enter(entry);
      }
      if (list == 1)
         tree->SetEntryList(&entry_list);
      else if (list == 2)
         tree->SetEventList(&event_list);
   }
   double sum = 0, first = 0;
   const long count = entries.empty() ? trees[0]->GetEntries() : entries.size();
   for (long i = 0; i < count; ++i) {
      for (size_t t = 0; t < trees.size(); ++t) {
         trees[t]->GetEntry(list ? trees[t]->GetEntryNumber(i) : entries.empty() ? i : entries[i]);
         for (auto &value : values[t]) {
            if (value->block) {
               sum += value->block->number;
               for (float x : value->block->values)
                  sum += x;
               first += value->block->values[0];
            } else if (value->floats.empty()) {
               sum += value->whole;
               first += value->whole;
            } else {
               const int n = value->leaf->GetLen();
               for (int k = 0; k < n; ++k)
                  sum += value->floats[k];
               first += n ? value->floats[0] : 0;
            }
         }
      }
   }
   const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
   double misses = 0, held = 0;
   for (auto tree : trees) {
      tree->SetEntryList(nullptr);
      if (auto read = file->GetCacheRead(tree)) {
         misses += read->GetNoCacheReadCalls();
         held += read->GetBufferSize();
      }
   }
   return {sum, first, seconds, cpu_seconds() - cpu, double(file->GetReadCalls() - calls), double(file->GetBytesRead() - bytes),
           double(file->GetBytesReadExtra()), misses, held};
}
#endif

#ifdef __ROOTCLING__
#pragma link C++ class CacheBlock+;
#pragma link C++ function cache_write;
#pragma link C++ function cache_read;
#endif
