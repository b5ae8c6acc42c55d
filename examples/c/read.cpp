// Columns as std::span, and what was read written again.
//
//   c++ -std=c++20 read.cpp $(pkg-config --cflags --libs sapwood) -o read && ./read examples/data/nano.root out.root
#include <sapwood.hpp>

#include <algorithm>
#include <iostream>

int main(int argc, char **argv) try {
  if (argc != 3) {
    std::cerr << "usage: read FILE OUTPUT\n";
    return 2;
  }
  const sapwood::File file(argv[1]);
  for (const auto &key : file.keys()) std::cout << key.path << ": " << key.class_name << '\n';
  const sapwood::Table events = file.table("Events");

  float hardest = 0;
  std::size_t jets = 0;
  for (const auto &batch : events.read({.columns = {"nJet", "Jet_*"}, .cut = "nJet > 2"})) {
    const auto pt = batch.lists<float>("Jet_pt");
    for (std::size_t entry = 0; entry < batch.size(); ++entry) {
      for (const float value : pt[entry]) hardest = std::max(hardest, value);
    }
    jets += pt.values.size();
    const std::span<const std::uint32_t> counts = batch.column<std::uint32_t>("nJet");
    if (pt[0].size() != counts[0]) return 1;
  }
  std::cout << jets << " jets, the hardest of " << hardest << " GeV\n";

  sapwood::Writer out(argv[2], SAPWOOD_MODE_RECREATE, "lz4");
  const auto entries = out.write("busy", events.read({.columns = {"nJet", "Jet_pt"}, .cut = "nJet > 2"}));
  out.write("h", events.draw("Jet_pt>>h(4, 0, 200)"));
  out.close();
  std::cout << entries << " entries written\n";
  return 0;
} catch (const sapwood::Error &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
