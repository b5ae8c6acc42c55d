// Deterministic values that look like physics: rounded mantissas, falling spectra, counters.
#ifndef BENCH_VALUES
#define BENCH_VALUES

#include <cmath>
#include <cstdint>
#include <cstring>

namespace bench {

class Source {
   uint64_t fState;

public:
   explicit Source(uint64_t seed) : fState((seed + 1) * 0x9E3779B97F4A7C15ULL)
   {
      for (int i = 0; i < 8; ++i)
         bits();
   }
   uint64_t bits()
   {
      fState ^= fState >> 12, fState ^= fState << 25, fState ^= fState >> 27;
      return fState * 0x2545F4914F6CDD1DULL;
   }
   double flat() { return (double(bits() >> 12) + 0.5) / 4503599627370496.0; }
   // the sum of four flat numbers is near enough to a bell, and cheap
   double bell() { return (flat() + flat() + flat() + flat() - 2) * 1.7320508; }
   double falling(double mean) { return -mean * std::log(flat()); }
   int steps(double mean) { return int(falling(mean)); }
};

// Keeps that many bits of the mantissa, as experiments do before they store.
inline float keep(double x, int bits)
{
   float f = float(x);
   uint32_t u;
   std::memcpy(&u, &f, 4);
   u &= ~uint32_t(0) << (23 - bits);
   std::memcpy(&f, &u, 4);
   return f;
}

inline double keep_double(double x, int bits)
{
   uint64_t u;
   std::memcpy(&u, &x, 8);
   u &= ~uint64_t(0) << (52 - bits);
   std::memcpy(&x, &u, 8);
   return x;
}

} // namespace bench

#endif
