// A tree of split objects, what ROOT's importer makes of it, and the schema and values of an RNTuple as text.
#include <TClonesArray.h>
#include <TFile.h>
#include <TObject.h>
#include <TTree.h>
#include <ROOT/RNTupleImporter.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace splits {

struct Point { float x = 0; double y[2] = {0, 0}; };
struct Empty {};
struct Hit { int id = 0; Point at; std::vector<short> adc; std::string name; };
struct Base { int run = 0; Point origin; virtual ~Base() = default; ClassDef(Base, 3) };
// It has a member of the same name as the other base.
struct Other { long long run = 0; virtual ~Other() = default; ClassDef(Other, 2) };
struct Event : public Base, public Other {
   float weight = 0;
   Point vertex;
   std::vector<Hit> hits;
   std::vector<float> w;
   std::string label;
   std::array<int, 3> three{};
   short grid[2][3] = {};
   std::vector<Point> none;
   std::map<int, float> m;
   Empty empty;
   std::vector<std::vector<Point>> deep;
   int transient = 5; //!
   ClassDefOverride(Event, 7)
};
struct Track : public TObject { float pt = 0; Point p; int h[2] = {1, 2}; ClassDefOverride(Track, 1) };
struct Foreign : public Point { int k = 0; Hit best; };

Hit hit(int i, int k)
{
   Hit one;
   one.id = 10 * i + k;
   one.at.x = k + .5f;
   one.at.y[0] = i;
   one.at.y[1] = k;
   one.adc.assign(k, i);
   one.name = std::string(k, 'a' + i % 26);
   return one;
}

void set(Event &event, int i)
{
   event.Base::run = i;
   event.origin.x = i + .25f;
   event.Other::run = 100 + i;
   event.weight = i * .5f;
   event.vertex.y[1] = 7 * i;
   event.hits.clear();
   for (int k = 0; k < i % 4; k++)
      event.hits.push_back(hit(i, k));
   event.w.assign(i % 3, i);
   event.label = std::to_string(i);
   event.three = {i, i + 1, i + 2};
   event.grid[1][2] = i;
   event.m.clear();
   if (i % 2)
      event.m[i] = i;
   event.deep.assign(i % 3, std::vector<Point>(i % 2));
}

// The trees `t`, and `clones`, which ROOT's importer refuses.
void write(const char *path, int entries)
{
   TFile file(path, "RECREATE");
   TTree t("t", "objects"), clones("clones", "a TClonesArray");
   Event dotted, plain;
   Foreign foreign;
   Track track;
   std::vector<Hit> hits;
   std::vector<Track> tracks;
   TClonesArray array("splits::Track");
   t.Branch("dotted.", &dotted, 32000, 99);
   t.Branch("plain", &plain, 32000, 99);
   t.Branch("shallow.", &dotted, 32000, 1);
   t.Branch("whole", &dotted, 32000, 0);
   t.Branch("foreign", &foreign, 32000, 99);
   t.Branch("hits", &hits, 32000, 99);
   t.Branch("track", &track, 32000, 99);
   t.Branch("tracks", &tracks, 32000, 99);
   clones.Branch("array", &array, 32000, 99);
   for (int i = 0; i < entries; i++) {
      set(dotted, i);
      set(plain, i + 1);
      hits = plain.hits;
      foreign.k = foreign.x = i;
      foreign.best = hit(i, 2);
      track.pt = track.p.x = i;
      track.SetUniqueID(i + 1);
      tracks.assign(i % 3, track);
      array.Clear();
      for (int k = 0; k < i % 3; k++)
         static_cast<Track *>(array.ConstructedAt(k))->pt = i + k;
      t.Fill();
      clones.Fill();
   }
   file.Write();
}

void import_tree(const char *from, const char *to)
{
   auto importer = ROOT::Experimental::RNTupleImporter::Create(from, "t", to);
   importer->SetIsQuiet(true);
   importer->SetConvertDotsInBranchNames(true);
   importer->Import();
}

// Names, types, versions and checksums of all fields; then the values.
void dump(const char *path, const char *into)
{
   auto reader = ROOT::RNTupleReader::Open("t", path);
   const auto &schema = reader->GetDescriptor();
   std::ofstream out(into);
   std::function<void(ROOT::DescriptorId_t, std::string)> walk = [&](ROOT::DescriptorId_t id, std::string above) {
      for (const auto &field : schema.GetFieldIterable(id)) {
         auto path = above + "/" + field.GetFieldName();
         out << path << " " << field.GetTypeName() << " " << field.GetTypeVersion();
         out << " " << field.GetTypeChecksum().value_or(0) << "\n";
         walk(field.GetId(), path);
      }
   };
   walk(schema.GetFieldZeroId(), "");
   for (auto entry : *reader)
      reader->Show(entry, out);
}

// What an entry of our own file is as an object of the class.
bool is_event(const char *path, const char *field, int entry, int value)
{
   auto reader = ROOT::RNTupleReader::Open("t", path);
   auto view = reader->GetView<Event>(field);
   const Event &got = view(entry);
   Event event;
   set(event, value);
   bool same = got.Base::run == event.Base::run && got.Other::run == event.Other::run && got.label == event.label;
   same = same && got.vertex.y[1] == event.vertex.y[1] && got.m == event.m && got.hits.size() == event.hits.size();
   for (size_t k = 0; k < event.hits.size(); k++)
      same = same && got.hits[k].name == event.hits[k].name && got.hits[k].at.y[1] == event.hits[k].at.y[1];
   return same && got.deep.size() == event.deep.size() && got.transient == 5;
}

} // namespace splits

#ifdef __CLING__
#pragma link C++ namespace splits;
#pragma link C++ class splits::Point+;
#pragma link C++ class splits::Empty+;
#pragma link C++ class splits::Hit+;
#pragma link C++ class splits::Base+;
#pragma link C++ class splits::Other+;
#pragma link C++ class splits::Event+;
#pragma link C++ class splits::Track+;
#pragma link C++ class splits::Foreign+;
#pragma link C++ class std::vector<splits::Hit>+;
#pragma link C++ class std::vector<splits::Point>+;
#pragma link C++ class std::vector<splits::Track>+;
#pragma link C++ class std::vector<std::vector<splits::Point>>+;
#pragma link C++ class std::map<int, float>+;
#endif
