// ROOT's way to write a tree: `TTree::Fill`. The rows are read into memory beforehand (`load_*`), so that only writing is measured.
#include <string>

void load_flat(const char *path);
void load_jagged(const char *path);
void load_event(const char *path);
void write_flat(const char *path, int compression, long entries);
void write_jagged(const char *path, int compression, long entries);
void write_event(const char *path, int compression, long entries, int split);

#ifndef __CLING__ // the interpreter only needs to know the names above

#include "event.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "TFile.h"
#include "TString.h"
#include "TTree.h"

namespace {

struct Flat {
   float x[10];
   double d[5];
   int n[5];
};

struct Jagged {
   int run = 0, event = 0, muons = 0, jets = 0;
   float muon[4][16], jet[6][40];
   int charge[16];
};

std::vector<Flat> gFlat;
std::vector<BenchEvent> gEvents;

std::vector<Jagged> gJagged;

const char *kMuon[] = {"pt", "eta", "phi", "mass"}, *kJet[] = {"pt", "eta", "phi", "mass", "btag", "area"};

struct Source {
   std::unique_ptr<TFile> file;
   TTree *tree;
   explicit Source(const char *path) : file(TFile::Open(path)), tree(file->Get<TTree>("tree")) {}
};

struct Target {
   std::unique_ptr<TFile> file;
   TTree *tree;
   Target(const char *path, int compression)
      : file(TFile::Open(path, "RECREATE", "", compression)), tree(new TTree("tree", "rows"))
   {
   }
   ~Target()
   {
      file->Write();
      file->Close();
   }
};

// All rows of a tree whose branches fill `row`.
template <class Row> void load_rows(Source &s, Row &row, std::vector<Row> &rows)
{
   long entries = s.tree->GetEntries();
   rows.reserve(entries);
   for (long e = 0; e < entries; ++e) {
      s.tree->GetEntry(e);
      rows.push_back(row);
   }
}

} // namespace

void load_flat(const char *path)
{
   Source s(path);
   Flat row;
   for (int k = 0; k < 10; ++k)
      s.tree->SetBranchAddress(Form("f%d", k), &row.x[k]);
   for (int k = 0; k < 5; ++k)
      s.tree->SetBranchAddress(Form("d%d", k), &row.d[k]), s.tree->SetBranchAddress(Form("i%d", k), &row.n[k]);
   load_rows(s, row, gFlat);
}

void write_flat(const char *path, int compression, long entries)
{
   Target t(path, compression);
   Flat row;
   for (int k = 0; k < 10; ++k)
      t.tree->Branch(Form("f%d", k), &row.x[k], Form("f%d/F", k));
   for (int k = 0; k < 5; ++k)
      t.tree->Branch(Form("d%d", k), &row.d[k], Form("d%d/D", k));
   for (int k = 0; k < 5; ++k)
      t.tree->Branch(Form("i%d", k), &row.n[k], Form("i%d/I", k));
   for (long e = 0; e < std::min<long>(entries, gFlat.size()); ++e) {
      row = gFlat[e];
      t.tree->Fill();
   }
}

void load_jagged(const char *path)
{
   Source s(path);
   Jagged row;
   s.tree->SetBranchAddress("run", &row.run), s.tree->SetBranchAddress("event", &row.event);
   s.tree->SetBranchAddress("nMuon", &row.muons), s.tree->SetBranchAddress("nJet", &row.jets);
   for (int k = 0; k < 4; ++k)
      s.tree->SetBranchAddress(Form("Muon_%s", kMuon[k]), row.muon[k]);
   s.tree->SetBranchAddress("Muon_charge", row.charge);
   for (int k = 0; k < 6; ++k)
      s.tree->SetBranchAddress(Form("Jet_%s", kJet[k]), row.jet[k]);
   load_rows(s, row, gJagged);
}

void write_jagged(const char *path, int compression, long entries)
{
   Target t(path, compression);
   Jagged row;
   t.tree->Branch("run", &row.run, "run/I");
   t.tree->Branch("event", &row.event, "event/I");
   t.tree->Branch("nMuon", &row.muons, "nMuon/I");
   for (int k = 0; k < 4; ++k)
      t.tree->Branch(Form("Muon_%s", kMuon[k]), row.muon[k], Form("Muon_%s[nMuon]/F", kMuon[k]));
   t.tree->Branch("Muon_charge", row.charge, "Muon_charge[nMuon]/I");
   t.tree->Branch("nJet", &row.jets, "nJet/I");
   for (int k = 0; k < 6; ++k)
      t.tree->Branch(Form("Jet_%s", kJet[k]), row.jet[k], Form("Jet_%s[nJet]/F", kJet[k]));
   for (long e = 0; e < std::min<long>(entries, gJagged.size()); ++e) {
      auto &from = gJagged[e];
      row.run = from.run, row.event = from.event, row.muons = from.muons, row.jets = from.jets;
      for (int k = 0; k < 4; ++k)
         std::copy_n(from.muon[k], from.muons, row.muon[k]);
      std::copy_n(from.charge, from.muons, row.charge);
      for (int k = 0; k < 6; ++k)
         std::copy_n(from.jet[k], from.jets, row.jet[k]);
      t.tree->Fill();
   }
}

void load_event(const char *path)
{
   Source s(path);
   auto event = new BenchEvent();
   s.tree->SetBranchAddress("event", &event);
   for (long e = 0; e < s.tree->GetEntries(); ++e) {
      s.tree->GetEntry(e);
      gEvents.push_back(*event);
   }
   s.tree->ResetBranchAddresses();
   delete event;
}

void write_event(const char *path, int compression, long entries, int split)
{
   Target t(path, compression);
   BenchEvent *event = nullptr;
   t.tree->Branch("event", &event, 32000, split);
   for (long e = 0; e < std::min<long>(entries, gEvents.size()); ++e) {
      event = &gEvents[e];
      t.tree->Fill();
   }
   t.tree->ResetBranchAddresses();
}

#endif
