// A file that ROOT opens, near or far.

#pragma once

#include <cstring>
#include <memory>

#include "TFile.h"
#include "TWebFile.h"

inline std::unique_ptr<TFile> opened(const char *url)
{
   // ROOT 6.40's `TFile::Open` does not find its own class for http: "method ROOT::Deprecated::TWebFile not found".
   return std::unique_ptr<TFile>(strncmp(url, "http", 4) ? TFile::Open(url) : new TWebFile(url));
}
