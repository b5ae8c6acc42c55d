// Whole objects decoded value by value, as ROOT did before it compiled its streamer actions: a class is a tree of members, each call loops
// over so many objects, and the type of each value is looked up when it comes to it. Baskets are inflated by libdeflate, as Sapwood does, and
// the answer has Sapwood's columns: in memory that is used again, or `fresh` in each run.
//
//    plain INDEX REPEAT [fresh]
//
// INDEX has the file, the members in preorder and the baskets, written by streaming_plain.py. Prints one JSON line: CPU seconds of each run
// after one that sizes the columns, and the sum of all values.
#include <fcntl.h>
#include <libdeflate.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

enum Kind { kInt8, kUInt8, kInt16, kUInt16, kInt32, kUInt32, kInt64, kUInt64, kFloat, kDouble, kDouble32, kTObject, kObject, kBase, kString, kTString, kList, kClones };
const int kWidths[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8};

struct Column {
   char *memory = nullptr;
   std::size_t used = 0, room = 0;

   template <class T>
   void push(T value)
   {
      if (used + sizeof value > room)
         memory = static_cast<char *>(std::realloc(memory, room = 2 * room + 4096));
      std::memcpy(memory + used, &value, sizeof value);
      used += sizeof value;
   }
   // Empty, in the same memory or in new one of the size that is needed; answers are kept.
   void again(bool fresh)
   {
      if (fresh && used)
         memory = static_cast<char *>(std::malloc(room = used));
      used = 0;
   }
};

struct Node {
   Kind kind;
   int length = 1;   // of an array
   bool framed = true; // objects, strings and collections: behind a byte count and a version
   std::vector<std::unique_ptr<Node>> members;
   Column values, ends; // ends of lists and strings, or the bits of a TObject
   std::int64_t end = 0;
};

struct Buffer {
   const unsigned char *at, *stop;

   void need(std::size_t n)
   {
      if (std::size_t(stop - at) < n)
         throw std::runtime_error("a basket is too short");
   }
   template <class T>
   T get()
   {
      need(sizeof(T));
      T x = 0;
      if constexpr (sizeof(T) == 1)
         x = T(*at);
      else if constexpr (sizeof(T) == 2)
         x = T(__builtin_bswap16(*reinterpret_cast<const std::uint16_t *>(at)));
      else if constexpr (sizeof(T) == 4)
         x = T(__builtin_bswap32(*reinterpret_cast<const std::uint32_t *>(at)));
      else
         x = T(__builtin_bswap64(*reinterpret_cast<const std::uint64_t *>(at)));
      at += sizeof(T);
      return x;
   }
   float getFloat()
   {
      auto bits = get<std::uint32_t>();
      float x;
      std::memcpy(&x, &bits, 4);
      return x;
   }
   // The version of a frame, and the checksum of a class that has none.
   int frame(bool ofClass)
   {
      int version = 0;
      need(2);
      if (at[0] & 0x40)
         get<std::uint32_t>();
      version = get<std::int16_t>();
      if (ofClass && version <= 0)
         get<std::uint32_t>();
      return version;
   }
   std::pair<const unsigned char *, std::size_t> text()
   {
      std::size_t n = get<std::uint8_t>();
      if (n == 255)
         n = get<std::uint32_t>();
      need(n);
      at += n;
      return {at - n, n};
   }
};

void read(Node &node, Buffer &from, std::size_t n, bool columns);

void members(Node &node, Buffer &from, std::size_t n, bool columns)
{
   for (auto &member : node.members)
      read(*member, from, n, columns);
}

void value(Node &node, Buffer &from)
{
   switch (node.kind) {
   case kInt8: node.values.push(from.get<std::int8_t>()); break;
   case kUInt8: node.values.push(from.get<std::uint8_t>()); break;
   case kInt16: node.values.push(from.get<std::int16_t>()); break;
   case kUInt16: node.values.push(from.get<std::uint16_t>()); break;
   case kInt32: node.values.push(from.get<std::int32_t>()); break;
   case kUInt32: node.values.push(from.get<std::uint32_t>()); break;
   case kInt64: node.values.push(from.get<std::int64_t>()); break;
   case kUInt64: node.values.push(from.get<std::uint64_t>()); break;
   case kFloat: node.values.push(from.getFloat()); break;
   case kDouble: node.values.push(from.get<std::uint64_t>()); break;
   case kDouble32: node.values.push(double(from.getFloat())); break;
   default: throw std::runtime_error("no value");
   }
}

// The items of one collection, item by item.
void items(Node &item, Buffer &from, std::size_t count)
{
   if (item.kind < kTObject)
      return read(item, from, count, false);
   for (std::size_t i = 0; i < count; ++i)
      read(item, from, 1, false);
}

void read(Node &node, Buffer &from, std::size_t n, bool columns)
{
   switch (node.kind) {
   case kTObject:
      for (std::size_t i = 0; i < n; ++i) {
         from.frame(false);
         node.values.push(from.get<std::uint32_t>());
         auto bits = from.get<std::uint32_t>();
         node.ends.push(bits);
         if (bits & (1u << 4)) // referenced
            from.get<std::uint16_t>();
      }
      break;
   case kBase:
      if (columns)
         return members(node, from, n, true);
      [[fallthrough]];
   case kObject:
      for (std::size_t i = 0; i < n; ++i) {
         if (node.framed)
            from.frame(true);
         members(node, from, 1, false);
      }
      break;
   case kString:
      if (node.framed)
         from.frame(false);
      [[fallthrough]];
   case kTString:
      for (std::size_t i = 0; i < n; ++i) {
         auto [text, length] = from.text();
         for (std::size_t k = 0; k < length; ++k)
            node.values.push(text[k]);
         node.ends.push(node.end += length);
      }
      break;
   case kList: {
      bool memberWise = false;
      if (node.framed) {
         int version = from.frame(false);
         memberWise = version & 0x4000;
         if (memberWise && from.get<std::int16_t>() <= 0)
            from.get<std::uint32_t>();
      }
      auto &item = *node.members.front();
      for (std::size_t i = 0; i < n; ++i) {
         std::size_t count = from.get<std::uint32_t>();
         if (!memberWise)
            items(item, from, count);
         else if (count)
            members(item, from, count, true);
         node.ends.push(node.end += count);
      }
      break;
   }
   case kClones:
      for (std::size_t i = 0; i < n; ++i) {
         from.frame(false);
         from.at += 10; // TObject
         from.text(), from.text(); // the name, and the class with its version
         std::size_t count = from.get<std::uint32_t>();
         from.get<std::uint32_t>(); // the lower bound
         if (count)
            members(*node.members.front(), from, count, true);
         node.ends.push(node.end += count);
      }
      break;
   default:
      for (std::size_t i = 0; i < n; ++i)
         for (int k = 0; k < node.length; ++k)
            value(node, from);
   }
}

std::unique_ptr<Node> parse(std::istream &in)
{
   auto node = std::make_unique<Node>();
   int kind = 0, framed = 0, count = 0;
   in >> kind >> node->length >> framed >> count;
   node->kind = Kind(kind), node->framed = framed;
   for (int i = 0; i < count; ++i)
      node->members.push_back(parse(in));
   return node;
}

template <class T>
double sum(const Column &c)
{
   double total = 0;
   for (std::size_t at = 0; at < c.used; at += sizeof(T)) {
      T x;
      std::memcpy(&x, c.memory + at, sizeof x);
      total += double(x);
   }
   return total;
}

double total(const Node &node)
{
   double all = 0;
   switch (node.kind) {
   case kInt8: all = sum<std::int8_t>(node.values); break;
   case kUInt8: all = sum<std::uint8_t>(node.values); break;
   case kInt16: all = sum<std::int16_t>(node.values); break;
   case kUInt16: all = sum<std::uint16_t>(node.values); break;
   case kInt32: all = sum<std::int32_t>(node.values); break;
   case kUInt32: all = sum<std::uint32_t>(node.values); break;
   case kInt64: all = sum<std::int64_t>(node.values); break;
   case kUInt64: all = sum<std::uint64_t>(node.values); break;
   case kFloat: all = sum<float>(node.values); break;
   case kDouble:
   case kDouble32: all = sum<double>(node.values); break;
   case kTObject: all = sum<std::uint32_t>(node.values) + sum<std::uint32_t>(node.ends); break;
   case kString:
   case kTString: all = double(node.values.used); break;
   default: break;
   }
   for (auto &member : node.members)
      all += total(*member);
   return all;
}

void again(Node &node, bool fresh)
{
   node.values.again(fresh), node.ends.again(fresh), node.end = 0;
   for (auto &member : node.members)
      again(*member, fresh);
}

double cpu()
{
   rusage u;
   getrusage(RUSAGE_SELF, &u);
   return double(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * double(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

struct Basket {
   std::size_t seek, nbytes, keylen, objlen, border, entries;
};
struct Branch {
   std::unique_ptr<Node> node;
   std::vector<Basket> baskets;
};

} // namespace

int main(int argc, char **argv)
{
   std::ifstream in(argv[1]);
   std::string word, path;
   std::vector<Branch> branches;
   std::size_t largest = 0;
   while (in >> word) {
      if (word == "file")
         in >> path;
      else if (word == "branch")
         branches.push_back({parse(in), {}});
      else {
         Basket b;
         in >> b.seek >> b.nbytes >> b.keylen >> b.objlen >> b.border >> b.entries;
         largest = std::max(largest, b.objlen);
         branches.back().baskets.push_back(b);
      }
   }
   int file = open(path.c_str(), O_RDONLY);
   struct stat status;
   fstat(file, &status);
   auto map = static_cast<const unsigned char *>(mmap(nullptr, status.st_size, PROT_READ, MAP_SHARED, file, 0));
   auto inflater = libdeflate_alloc_decompressor();
   std::vector<unsigned char> scratch(largest + 16);
   int repeat = std::atoi(argv[2]);
   bool fresh = argc > 3;
   std::string times;
   double all = 0;
   for (int run = 0; run <= repeat; ++run) {
      double before = cpu();
      for (auto &branch : branches) {
         again(*branch.node, fresh);
         for (auto &b : branch.baskets) {
            auto payload = map + b.seek + b.keylen;
            if (b.nbytes - b.keylen < b.objlen) {
               std::size_t done = 0;
               while (done < b.objlen) {
                  auto three = [&](int i) { return std::size_t(payload[i] | payload[i + 1] << 8 | payload[i + 2] << 16); };
                  std::size_t packed = three(3), whole = three(6);
                  if (libdeflate_zlib_decompress(inflater, payload + 9, packed, scratch.data() + done, whole, nullptr))
                     throw std::runtime_error("a block cannot be inflated");
                  payload += 9 + packed, done += whole;
               }
               payload = scratch.data();
            }
            Buffer from{payload, payload + b.border};
            for (std::size_t i = 0; i < b.entries; ++i)
               members(*branch.node, from, 1, false);
            if (from.at != from.stop)
               throw std::runtime_error("a basket has bytes left");
         }
      }
      if (run)
         times += (times.empty() ? "" : ", ") + std::to_string(cpu() - before);
   }
   for (auto &branch : branches)
      all += total(*branch.node);
   std::printf("{\"cpu\": [%s], \"sum\": %.17g}\n", times.c_str(), all);
}
