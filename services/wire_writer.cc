#include "services/wire_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace berth::services {
namespace {

// The low bits of a tag: what follows it.
constexpr uint64_t kVarint = 0;
constexpr uint64_t kWithLength = 2;

constexpr size_t kVarintBytesMax = 10;
constexpr size_t kCapacityMin = 256;
constexpr size_t kUuidTextSize = 36;  // below 0x80: its length is one byte

// The two digits of every byte: uuids are two thirds of a large answer.
constexpr std::array<std::array<char, 2>, 256> kHexPairs = [] {
  constexpr char kDigits[] = "0123456789abcdef";
  std::array<std::array<char, 2>, 256> pairs{};
  for (size_t byte = 0; byte < pairs.size(); ++byte) {
    pairs[byte] = {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return pairs;
}();

uint64_t TagOf(int field, uint64_t kind) { return static_cast<uint64_t>(field) << 3 | kind; }

// Writes seven bits a byte, the lowest first; returns where they end.
char* WriteVarint(uint64_t value, char* to) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}

char* WriteId(const placement::Uuid& value, char* to) {
  for (int at = 0; at < 16; ++at) {
    if (at == 4 || at == 6 || at == 8 || at == 10) *to++ = '-';
    const uint64_t half = at < 8 ? value.high : value.low;
    const auto byte = static_cast<uint8_t>(half >> (56 - 8 * (at % 8)));
    std::memcpy(to, kHexPairs[byte].data(), 2);
    to += 2;
  }
  return to;
}

}  // namespace

WireWriter::WireWriter(size_t bytes_expected) { Grow(bytes_expected); }

char* WireWriter::Room(size_t bytes) {
  if (capacity_ - size_ < bytes) Grow(bytes);
  return data_.get() + size_;
}

void WireWriter::Grow(size_t bytes) {
  const size_t capacity = std::max({kCapacityMin, 2 * capacity_, size_ + bytes});
  std::unique_ptr<char[]> grown(new char[capacity]);  // not set to zero first
  if (size_ > 0) std::memcpy(grown.get(), data_.get(), size_);
  data_ = std::move(grown);
  capacity_ = capacity;
}

void WireWriter::Number(int field, int64_t value) {
  char* const begin = Room(2 * kVarintBytesMax);
  char* to = WriteVarint(TagOf(field, kVarint), begin);
  to = WriteVarint(static_cast<uint64_t>(value), to);
  size_ += to - begin;
}

void WireWriter::Text(int field, absl::string_view value) {
  char* const begin = Room(2 * kVarintBytesMax + value.size());
  char* to = WriteVarint(TagOf(field, kWithLength), begin);
  to = WriteVarint(value.size(), to);
  if (!value.empty()) std::memcpy(to, value.data(), value.size());
  size_ += to - begin + value.size();
}

void WireWriter::Id(int field, const placement::Uuid& value) {
  char* const begin = Room(kVarintBytesMax + 1 + kUuidTextSize);
  char* to = WriteVarint(TagOf(field, kWithLength), begin);
  *to++ = static_cast<char>(kUuidTextSize);
  if (id_places_ != nullptr) id_places_->push_back(size_ + (to - begin));
  size_ += WriteId(value, to) - begin;
}

void WireWriter::Message(int field, absl::FunctionRef<void()> fill) {
  char* const begin = Room(kVarintBytesMax + 1);
  size_ += WriteVarint(TagOf(field, kWithLength), begin) - begin;
  // The length comes first and is known last: one byte is kept for it, and more made room for.
  const size_t at = size_++;
  fill();
  const size_t length = size_ - at - 1;
  char bytes[kVarintBytesMax];
  const size_t more = WriteVarint(length, bytes) - bytes - 1;
  if (more > 0) {
    Room(more);
    std::memmove(data_.get() + at + 1 + more, data_.get() + at + 1, length);
    size_ += more;
    if (id_places_ != nullptr) {
      for (size_t& place : *id_places_) place += place > at ? more : 0;
    }
  }
  std::memcpy(data_.get() + at, bytes, 1 + more);
}

void WireWriter::Repeat(size_t begin, size_t length) {
  char* const to = Room(length);
  std::memcpy(to, data_.get() + begin, length);
  size_ += length;
}

void WireWriter::OverwriteId(size_t place, const placement::Uuid& value) {
  WriteId(value, data_.get() + place);
}

WireBytes WireWriter::Release() { return {std::move(data_), std::exchange(size_, 0)}; }

}  // namespace berth::services
