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
  // Allocates memory for `bytes_expected` bytes at once, and more memory if more bytes are written.
  explicit WireWriter(size_t bytes_expected = 0);

  // Writes a field of an integer type or of type bool. Cannot write fields of a sint or fixed type.
  void Number(int field, int64_t value);
  void Text(int field, absl::string_view value);
  // Writes a uuid as text.
  void Id(int field, const placement::Uuid& value);
  // Writes a field that is a message; `fill` writes the fields of this message with this same
  // writer. The length of a message is written before its fields, and `bytes_expected` is a guess
  // of this length. A wrong guess does no harm, but if the true length takes more or fewer bytes
  // than the guess, the fields must be moved.
  void Message(int field, absl::FunctionRef<void()> fill, size_t bytes_expected = 0);
  // Writes the tag and the length of a message of exactly `bytes` bytes. The caller then writes
  // these bytes. Faster than Message, if the size is known.
  void Head(int field, size_t bytes);
  // Writes numbers as one packed field; no field if `values` is empty.
  void Packed(int field, absl::Span<const int64_t> values);
  // Writes the 16 bytes of a uuid without a tag, as part of a field that Head began.
  void RawId(const placement::Uuid& value);
  // Return the size of a field written by Number, and of a field written by Text with `bytes`
  // bytes.
  static size_t NumberSize(int field, int64_t value);
  static size_t TextSize(int field, size_t bytes);

  // Makes each later call of Id append the offset of its uuid text to `places`. Null stops this.
  void NoteIds(std::vector<size_t>* places) { id_places_ = places; }
  // Writes a copy of the `length` bytes that begin at offset `begin`.
  void Repeat(size_t begin, size_t length);
  // Replaces the uuid whose text begins at offset `place`.
  void OverwriteId(size_t place, const placement::Uuid& value);

  size_t size() const { return size_; }
  // Hands over the bytes written. No other call may follow.
  WireBytes Release();

 private:
  static constexpr size_t kUuidTextSize = 36;  // less than 0x80, so that its length is one byte

  // Makes sure that there is memory for `bytes` more bytes, and returns the address of the first.
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
