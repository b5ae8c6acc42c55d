// A framework in small: four workers take events in units, run modules over them, and fill one tree. The units are in the
// tree in the order of their numbers, so that the file is the same whatever the threads do.
//
//   c++ -std=c++17 framework.cpp $(pkg-config --cflags --libs sapwood) -lpthread -o framework && ./framework out.root 2000
#include <sapwood.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

struct Event {
  std::int64_t number = 0;
  std::vector<float> energies;
  double sum = 0;
};

// What a framework runs over each event.
struct Module {
  virtual ~Module() = default;
  virtual void process(Event &event) const = 0;
};

struct Generate : Module {
  void process(Event &event) const override {
    std::uint64_t state = static_cast<std::uint64_t>(event.number) * 0x9E3779B97F4A7C15u + 1;
    event.energies.resize(static_cast<std::size_t>(event.number % 6));
    for (float &energy : event.energies) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      energy = static_cast<float>(state >> 40) / 1024.0f;
    }
  }
};

struct Sum : Module {
  void process(Event &event) const override {
    event.sum = 0;
    for (const float energy : event.energies) event.sum += static_cast<double>(energy);
  }
};

// Rows of a unit, column by column: what the output module of a framework buffers.
struct Rows {
  std::vector<std::int64_t> number, offsets{0};
  std::vector<float> energies;
  std::vector<double> sum;
  std::vector<std::string> label;
  void add(const Event &event) {
    number.push_back(event.number);
    energies.insert(energies.end(), event.energies.begin(), event.energies.end());
    offsets.push_back(static_cast<std::int64_t>(energies.size()));
    sum.push_back(event.sum);
    label.push_back(event.number % 2 == 0 ? "even" : "odd");
  }
};

int main(int argc, char **argv) try {
  constexpr int threads = 4, unit = 100;
  if (argc != 3) {
    std::cerr << "usage: framework FILE EVENTS\n";
    return 2;
  }
  const std::int64_t events = std::atoll(argv[2]);
  std::vector<std::unique_ptr<Module>> modules;
  modules.push_back(std::make_unique<Generate>());
  modules.push_back(std::make_unique<Sum>());

  const sapwood::Session session(threads);
  sapwood::Writer writer(argv[1], SAPWOOD_MODE_RECREATE, "zstd:5", session);
  sapwood::Tree tree = writer.tree("events", {
                                                 sapwood::Branch::number<std::int64_t>("number"),
                                                 sapwood::Branch::list<float>("energy"),
                                                 sapwood::Branch::number<double>("sum"),
                                                 sapwood::Branch::text("label"),
                                             });
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  {
    std::vector<sapwood::Units> sources;
    for (int worker = 0; worker < threads; ++worker) sources.push_back(tree.units());
    const auto work = [&](sapwood::Units source) {
      try {
        for (std::int64_t number = next++; number * unit < events; number = next++) {
          sapwood::Context context = source.begin(static_cast<std::uint64_t>(number));
          Rows rows;
          Event event;
          for (std::int64_t at = number * unit; at < std::min<std::int64_t>(events, (number + 1) * unit); ++at) {
            event.number = at;
            for (const auto &module : modules) module->process(event);
            rows.add(event);
          }
          context.fill({{"number", rows.number},
                        {"energy", rows.offsets, rows.energies},
                        {"sum", rows.sum},
                        sapwood::Values::texts("label", rows.label)});
          context.close();
        }
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        failure = std::current_exception();
      }
    };
    std::vector<std::thread> workers;
    for (auto &source : sources) workers.emplace_back(work, std::move(source));
    for (auto &worker : workers) worker.join();
  }
  if (failure) std::rethrow_exception(failure);
  tree.close();
  writer.close();

  // Read it back.
  const sapwood::File file(argv[1], session);
  double sum = 0;
  std::int64_t expected = 0;
  for (const auto &batch : file.table("events").read()) {
    for (const std::int64_t number : batch.column<std::int64_t>("number")) {
      if (number != expected++) throw std::runtime_error("an event is out of order");
    }
    for (const double value : batch.column<double>("sum")) sum += value;
    if (batch.texts("label")[1] != "odd") throw std::runtime_error("a label is wrong");
  }
  std::cout << expected << " events, sum " << sum << '\n';
  return expected == events ? 0 : 1;
} catch (const std::exception &error) {
  std::cerr << error.what() << '\n';
  return 1;
}
