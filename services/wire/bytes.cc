#include "services/wire/bytes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace berth::services {
namespace {

// The low bits of a tag say how the value after it is encoded.
constexpr uint64_t kVarint = 0;
constexpr uint64_t kWithLength = 2;

constexpr size_t kVarintBytesMax = 10;
constexpr size_t kCapacityMin = 256;
// The two hexadecimal digits of every byte. A table for speed: uuids are two thirds of the bytes of
// a large answer.
constexpr std::array<std::array<char, 2>, 256> kHexPairs = [] {
  constexpr char kDigits[] = "0123456789abcdef";
  std::array<std::array<char, 2>, 256> pairs{};
  for (size_t byte = 0; byte < pairs.size(); ++byte) {
    pairs[byte] = {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return pairs;
}();

uint64_t TagOf(int field, uint64_t kind) { return static_cast<uint64_t>(field) << 3 | kind; }

// Writes `value` as a varint: seven bits a byte, lowest first. Returns the end of these bytes.
char* WriteVarint(uint64_t value, char* to) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}

// Writes `value` with its highest byte first. The compiler makes one instruction of the loop.
void WriteBigEndian(uint64_t value, char* to) {
  for (int at = 0; at < 8; ++at) to[at] = static_cast<char>(value >> (56 - 8 * at));
}

size_t VarintSize(uint64_t value) { return (std::bit_width(value | 1) + 6) / 7; }

void ConvertId(const placement::Uuid& value, char* to) {
  for (int at = 0; at < 16; ++at) {
    if (at == 4 || at == 6 || at == 8 || at == 10) *to++ = '-';
    const uint64_t half = at < 8 ? value.high : value.low;
    const auto byte = static_cast<uint8_t>(half >> (56 - 8 * (at % 8)));
    std::memcpy(to, kHexPairs[byte].data(), 2);
    to += 2;
  }
}

}  // namespace

WireWriter::WireWriter(size_t bytes_expected) {
  Grow(bytes_expected);
  ConvertId(last_id_, last_text_.data());
}

char* WireWriter::Reserve(size_t bytes) {
  if (capacity_ - size_ < bytes) Grow(bytes);
  return data_.get() + size_;
}

void WireWriter::Grow(size_t bytes) {
  const size_t capacity = std::max({kCapacityMin, 2 * capacity_, size_ + bytes});
  std::unique_ptr<char[]> grown(new char[capacity]);  // make_unique would set it to zero
  if (size_ > 0) std::memcpy(grown.get(), data_.get(), size_);
  data_ = std::move(grown);
  capacity_ = capacity;
}

void WireWriter::Number(int field, int64_t value) {
  char* const begin = Reserve(2 * kVarintBytesMax);
  char* to = WriteVarint(TagOf(field, kVarint), begin);
  to = WriteVarint(static_cast<uint64_t>(value), to);
  size_ += to - begin;
}

void WireWriter::Text(int field, absl::string_view value) {
  char* const begin = Reserve(2 * kVarintBytesMax + value.size());
  char* to = WriteVarint(TagOf(field, kWithLength), begin);
  to = WriteVarint(value.size(), to);
  if (!value.empty()) std::memcpy(to, value.data(), value.size());
  size_ += to - begin + value.size();
}

void WireWriter::Id(int field, const placement::Uuid& value) {
  char* const begin = Reserve(kVarintBytesMax + 1 + kUuidTextSize);
  char* to = WriteVarint(TagOf(field, kWithLength), begin);
  *to++ = static_cast<char>(kUuidTextSize);
  if (id_places_ != nullptr) id_places_->push_back(size_ + (to - begin));
  WriteId(value, to);
  size_ += to - begin + kUuidTextSize;
}

void WireWriter::WriteId(const placement::Uuid& value, char* to) {
  if (!(value == last_id_)) {
    ConvertId(value, last_text_.data());
    last_id_ = value;
  }
  std::memcpy(to, last_text_.data(), kUuidTextSize);
}

void WireWriter::Head(int field, size_t bytes) {
  char* const begin = Reserve(2 * kVarintBytesMax);
  size_ += WriteVarint(bytes, WriteVarint(TagOf(field, kWithLength), begin)) - begin;
}

void WireWriter::Packed(int field, absl::Span<const int64_t> values) {
  if (values.empty()) return;
  const auto fill = [&] {
    char* const begin = Reserve(kVarintBytesMax * values.size());
    char* to = begin;
    for (const int64_t value : values) to = WriteVarint(static_cast<uint64_t>(value), to);
    size_ += to - begin;
  };
  Message(field, fill, 2 * values.size());
}

void WireWriter::RawId(const placement::Uuid& value) {
  char* const to = Reserve(16);
  WriteBigEndian(value.high, to);
  WriteBigEndian(value.low, to + 8);
  size_ += 16;
}

size_t WireWriter::NumberSize(int field, int64_t value) {
  return VarintSize(TagOf(field, kVarint)) + VarintSize(static_cast<uint64_t>(value));
}

size_t WireWriter::TextSize(int field, size_t bytes) {
  return VarintSize(TagOf(field, kWithLength)) + VarintSize(bytes) + bytes;
}

// The length of a message comes before its fields, but is known only when the fields are written.
// So space for the length is left free: as many bytes as the expected length takes. If the real
// length takes more or fewer bytes, the fields are moved.
void WireWriter::Message(int field, absl::FunctionRef<void()> fill, size_t bytes_expected) {
  const size_t kept = VarintSize(bytes_expected);
  char* const begin = Reserve(kVarintBytesMax + kept);
  size_ += WriteVarint(TagOf(field, kWithLength), begin) - begin;
  const size_t at = size_;
  size_ += kept;
  fill();
  const size_t length = size_ - at - kept;
  const size_t needed = VarintSize(length);
  if (needed != kept) {
    Reserve(needed);
    std::memmove(data_.get() + at + needed, data_.get() + at + kept, length);
    size_ += needed - kept;
    if (id_places_ != nullptr) {
      for (size_t& place : *id_places_) place += place > at ? needed - kept : 0;
    }
  }
  WriteVarint(length, data_.get() + at);
}

void WireWriter::Repeat(size_t begin, size_t length) {
  char* const to = Reserve(length);
  std::memcpy(to, data_.get() + begin, length);
  size_ += length;
}

void WireWriter::OverwriteId(size_t place, const placement::Uuid& value) {
  WriteId(value, data_.get() + place);
}

WireBytes WireWriter::Release() { return {std::move(data_), std::exchange(size_, 0)}; }

}  // namespace berth::services
