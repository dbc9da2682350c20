#include "services/wire_writer.h"

#include <array>
#include <cstring>

namespace berth::services {
namespace {

// The low bits of a tag: what follows it.
constexpr uint64_t kVarint = 0;
constexpr uint64_t kWithLength = 2;

constexpr size_t kVarintBytesMax = 10;
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

// Writes seven bits a byte, the lowest first; how many bytes.
size_t WriteVarint(uint64_t value, char* to) {
  size_t size = 0;
  while (value >= 0x80) {
    to[size++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  to[size++] = static_cast<char>(value);
  return size;
}

}  // namespace

void WireWriter::Varint(uint64_t value) {
  if (value < 0x80) {  // most tags, lengths and small amounts
    to_->push_back(static_cast<char>(value));
    return;
  }
  char bytes[kVarintBytesMax];
  to_->append(bytes, WriteVarint(value, bytes));
}

void WireWriter::Number(int field, int64_t value) {
  Varint(TagOf(field, kVarint));
  Varint(static_cast<uint64_t>(value));
}

void WireWriter::Text(int field, absl::string_view value) {
  Varint(TagOf(field, kWithLength));
  Varint(value.size());
  to_->append(value.data(), value.size());
}

void WireWriter::Id(int field, const placement::Uuid& value) {
  char bytes[2 * kVarintBytesMax + kUuidTextSize];
  size_t size = WriteVarint(TagOf(field, kWithLength), bytes);
  bytes[size++] = static_cast<char>(kUuidTextSize);
  char* to = bytes + size;
  for (int at = 0; at < 16; ++at) {
    if (at == 4 || at == 6 || at == 8 || at == 10) *to++ = '-';
    const uint64_t half = at < 8 ? value.high : value.low;
    const uint8_t byte = static_cast<uint8_t>(half >> (56 - 8 * (at % 8)));
    std::memcpy(to, kHexPairs[byte].data(), 2);
    to += 2;
  }
  to_->append(bytes, size + kUuidTextSize);
}

void WireWriter::Message(int field, absl::FunctionRef<void()> fill) {
  Varint(TagOf(field, kWithLength));
  // The length comes first and is known last: one byte is kept for it, and more made room for.
  const size_t at = to_->size();
  to_->push_back(0);
  fill();
  const size_t length = to_->size() - at - 1;
  if (length < 0x80) {
    (*to_)[at] = static_cast<char>(length);
    return;
  }
  char bytes[kVarintBytesMax];
  const size_t size = WriteVarint(length, bytes);
  to_->replace(at, 1, bytes, size);
}

}  // namespace berth::services
