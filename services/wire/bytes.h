// WireWriter: writes protobuf fields as bytes, without the messages that would hold them.
//
// For large answers only: building and freeing hundreds of small messages costs several times what
// their bytes do. Owns the bytes until they are released. Not thread-safe.
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

// The fields of every map entry.
inline constexpr int kMapKey = 1;
inline constexpr int kMapValue = 2;

struct WireBytes {
  std::unique_ptr<char[]> data;
  size_t size = 0;

  absl::string_view view() const { return {data.get(), size}; }
};

class WireWriter {
 public:
  // Takes room for `bytes_expected` at once; more comes as it is needed.
  explicit WireWriter(size_t bytes_expected = 0);

  // An integer or bool, but no sint.
  void Number(int field, int64_t value);
  void Text(int field, absl::string_view value);
  // A uuid in its canonical text.
  void Id(int field, const placement::Uuid& value);
  // A message, whose fields `fill` appends to this same writer. It may be any size, and is written
  // fastest where that is about what was expected.
  void Message(int field, absl::FunctionRef<void()> fill, size_t bytes_expected = 0);
  // The head of a message of `bytes`, which the caller appends: cheaper where they are known.
  void Head(int field, size_t bytes);
  // Numbers as one packed field; none, where there are none.
  void Packed(int field, absl::Span<const int64_t> values);
  // The 16 bytes of a uuid, of those that a Head has announced.
  void RawId(const placement::Uuid& value);
  // What such fields take.
  static size_t NumberSize(int field, int64_t value);
  static size_t TextSize(int field, size_t bytes);

  // Where the text of every Id begins that is written from now on, in order. Null: not asked for.
  void NoteIds(std::vector<size_t>* places) { id_places_ = places; }
  // Appends a copy of `length` bytes written at `begin`.
  void Repeat(size_t begin, size_t length);
  // Writes another uuid over the one whose text begins at `place`.
  void OverwriteId(size_t place, const placement::Uuid& value);

  size_t size() const { return size_; }
  // What was written; the writer is of no use afterwards.
  WireBytes Release();

 private:
  static constexpr size_t kUuidTextSize = 36;  // below 0x80: its length is one byte

  // Where the next `bytes` may be written.
  char* Room(size_t bytes);
  void WriteId(const placement::Uuid& value, char* to);
  void Grow(size_t bytes);

  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
  std::vector<size_t>* id_places_ = nullptr;
  // The last uuid and its text: most stand several times in a row.
  placement::Uuid last_id_;
  std::array<char, kUuidTextSize> last_text_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_BYTES_H_
