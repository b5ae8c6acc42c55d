// What `bench/remote/remote.py` lets ROOT do with a file that is far away: read a few branches of it from entry to entry.
#include <string>
#include <vector>

const double FAR_FAILED = -1e300;
double far_read(const char *url, const std::vector<std::string> &names, long cache);

#ifndef __CLING__ // the interpreter only needs to know the names above

#include <cstring>
#include <memory>

#include "opened.h"

#include "TBranch.h"
#include "TTree.h"

// The sum of all values of float branches, all of which are in memory in the end. `cache` is that of `SetCacheSize`, which is told the branches;
// below 0 it is left as ROOT has it.
double far_read(const char *url, const std::vector<std::string> &names, long cache)
{
   auto file = opened(url);
   if (!file || file->IsZombie())
      return FAR_FAILED;
   auto tree = file->Get<TTree>("tree");
   if (cache >= 0)
      tree->SetCacheSize(cache);
   std::vector<float> now(names.size());
   std::vector<std::vector<float>> values(names.size());
   tree->SetBranchStatus("*", false);
   for (size_t k = 0; k < names.size(); ++k) {
      tree->SetBranchStatus(names[k].c_str(), true);
      tree->SetBranchAddress(names[k].c_str(), &now[k]);
      if (cache > 0)
         tree->AddBranchToCache(names[k].c_str());
      values[k].reserve(tree->GetEntries());
   }
   if (cache > 0)
      tree->StopCacheLearningPhase();
   const long entries = tree->GetEntries();
   double sum = 0;
   for (long e = 0; e < entries; ++e) {
      tree->GetEntry(e);
      for (size_t k = 0; k < names.size(); ++k) {
         values[k].push_back(now[k]);
         sum += now[k];
      }
   }
   return sum;
}

#endif
