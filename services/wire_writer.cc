#include "services/wire_writer.h"

namespace berth::services {
namespace {

// The low bits of a tag: what follows it.
constexpr uint64_t kVarint = 0;
constexpr uint64_t kWithLength = 2;

constexpr size_t kVarintBytesMax = 10;

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
  static constexpr char kDigits[] = "0123456789abcdef";
  char text[36];
  char* to = text;
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) *to++ = '-';
    const uint64_t half = digit < 16 ? value.high : value.low;
    *to++ = kDigits[half >> (60 - 4 * (digit % 16)) & 15];
  }
  Text(field, absl::string_view(text, sizeof(text)));
}

void WireWriter::Message(int field, absl::FunctionRef<void()> fill) {
  Varint(TagOf(field, kWithLength));
  // The length comes first and is known last: one byte is kept for it, and more made room for.
  const size_t at = to_->size();
  to_->push_back(0);
  fill();
  char bytes[kVarintBytesMax];
  const size_t size = WriteVarint(to_->size() - at - 1, bytes);
  to_->replace(at, 1, bytes, size);
}

}  // namespace berth::services
