// WireWriter: writes the bytes of protobuf fields directly, without building message objects.
//
// For large answers only: to build and free hundreds of small message objects takes several times
// as long as to write their bytes. Owns the bytes until Release. Not thread-safe.
#ifndef BERTH_SERVICES_WIRE_BYTES_H_
#define BERTH_SERVICES_WIRE_BYTES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "placement/ground/uuid.h"

namespace berth::services {

// The field numbers of an entry of a protobuf map.
inline constexpr int kMapKey = 1;
inline constexpr int kMapValue = 2;

struct WireBytes {
  std::unique_ptr<char[]> data;
  size_t size = 0;

  absl::string_view view() const { return {data.get(), size}; }
};

class WireWriter {
 public:
  // Allocates `bytes_expected` bytes at once; grows if more are written.
  explicit WireWriter(size_t bytes_expected = 0);

  // Writes an integer or bool, but not a field of a sint or fixed type.
  void Number(int field, int64_t value);
  void Text(int field, absl::string_view value);
  // Writes a uuid as text.
  void Id(int field, const placement::Uuid& value);
  // Writes a message; `fill` writes its fields with this same writer. The message may have any
  // size, but its bytes need not be moved if its length takes as many bytes as that of
  // `bytes_expected`.
  void Message(int field, absl::FunctionRef<void()> fill, size_t bytes_expected = 0);
  // Writes tag and length of a message of exactly `bytes` bytes, which the caller writes next.
  // Faster than Message if the size is known.
  void Head(int field, size_t bytes);
  // Writes numbers as one packed field; no field if `values` is empty.
  void Packed(int field, absl::Span<const int64_t> values);
  // Writes the 16 bytes of a uuid without a tag, as part of a field that Head began.
  void RawId(const placement::Uuid& value);
  // The sizes of a field of Number, and of a field of Text with `bytes` bytes of text.
  static size_t NumberSize(int field, int64_t value);
  static size_t TextSize(int field, size_t bytes);

  // From now on, appends to `places` the offset of the text of each Id written. Null: stops that.
  void NoteIds(std::vector<size_t>* places) { id_places_ = places; }
  // Writes a copy of `length` bytes that were written at offset `begin`.
  void Repeat(size_t begin, size_t length);
  // Replaces the uuid whose text begins at offset `place`.
  void OverwriteId(size_t place, const placement::Uuid& value);

  size_t size() const { return size_; }
  // Hands over the bytes written. No other call may follow.
  WireBytes Release();

 private:
  static constexpr size_t kUuidTextSize = 36;  // less than 0x80, so that its length is one byte

  // Makes sure that `bytes` more bytes can be written, and returns where.
  char* Reserve(size_t bytes);
  void WriteId(const placement::Uuid& value, char* to);
  void Grow(size_t bytes);

  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
  std::vector<size_t>* id_places_ = nullptr;
  // The last uuid written, and its text: most uuids are written several times in a row.
  placement::Uuid last_id_;
  std::array<char, kUuidTextSize> last_text_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_BYTES_H_
