// Collections of Double32_t. A dictionary of its own: for C++ they are collections of double, and one source file can
// hold only one of the two.
#include <map>
#include <vector>

#include "dump.h"

#include "TFile.h"
#include "TTree.h"
#include "TVirtualStreamerInfo.h"

class Packed {
public:
   int fId = 0;
   std::vector<Double32_t> fVd;
   std::map<int, Double32_t> fMd;
   virtual ~Packed() {}
   ClassDef(Packed, 1)
};

#ifdef __ROOTCLING__
#pragma link C++ class Packed+;
#pragma link C++ class std::vector<Double32_t>+;
#pragma link C++ class std::map<int, Double32_t>+;
#endif

void packed(const char *path, int split, bool memberwise)
{
   TVirtualStreamerInfo::SetStreamMemberWise(memberwise);
   TFile f(path, "RECREATE", "", 101);
   TTree *t = new TTree("t", "collections of Double32_t");
   auto p = new Packed();
   t->Branch("p.", &p, 2000, split);
   t->SetAutoFlush(31);
   for (int i = 0; i < 100; ++i) {
      p->fId = i, p->fVd.clear(), p->fMd.clear();
      for (int j = 0; j < i % 6; ++j)
         p->fVd.push_back(i + 1 / (j + 3.0)), p->fMd[j * j] = 1.0 / (1 + i);
      t->Fill();
   }
   t->Write();
   f.Close();
   TVirtualStreamerInfo::SetStreamMemberWise(true);
}
