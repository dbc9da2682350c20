// WireWriter: appends protobuf fields to a string, without the messages that would hold them.
//
// For large answers only: building and freeing hundreds of small messages costs several times what
// their bytes do. Not thread-safe.
#ifndef BERTH_SERVICES_WIRE_WRITER_H_
#define BERTH_SERVICES_WIRE_WRITER_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "placement/uuid.h"

namespace berth::services {

class WireWriter {
 public:
  explicit WireWriter(std::string* to) : to_(to) {}

  // An integer or bool, but no sint.
  void Number(int field, int64_t value);
  void Text(int field, absl::string_view value);
  // A uuid in its canonical text.
  void Id(int field, const placement::Uuid& value);
  // A message, whose fields `fill` appends to this same writer.
  void Message(int field, absl::FunctionRef<void()> fill);

 private:
  void Varint(uint64_t value);

  std::string* const to_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_WRITER_H_
