// How much memory changes and scopes take, counted block by block.
//
// The count is the sum of the sizes of all heap blocks that a value owns, rounded like in glibc's
// malloc; those of what an instance holds are guessed. A shared value counts in full, even if a
// State or another batch holds it as well. The only exception is an Owner: it counts only if nobody
// else holds it, because most consumers share a few owners.
#ifndef BERTH_PLACEMENT_LOG_CHANGE_BYTES_H_
#define BERTH_PLACEMENT_LOG_CHANGE_BYTES_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "placement/log/concerned.h"
#include "placement/log/scope.h"
#include "placement/values/change.h"

namespace berth::placement {

// The size of the heap block that malloc uses for `bytes`; 0 if `bytes` is 0.
inline size_t BlockBytes(size_t bytes) {
  return bytes == 0 ? 0 : std::max<size_t>(32, (bytes + 8 + 15) / 16 * 16);
}
template <typename T>
size_t BlockBytes(const std::vector<T>& vector) {
  return BlockBytes(vector.capacity() * sizeof(T));
}
// The size of the heap block of `positions`. A few positions are stored within the object and have
// no block.
inline size_t BlockBytes(const Positions& positions) {
  const bool is_inline = positions.capacity() <= Positions().capacity();
  return is_inline ? 0 : BlockBytes(positions.capacity() * sizeof(int32_t));
}
// The size of the heap block of `text`. A short text is stored within the string object and has no
// block.
inline size_t BlockBytes(const std::string& text) {
  return text.capacity() < sizeof(std::string) / 2 ? 0 : BlockBytes(text.capacity() + 1);
}

// The size of all blocks that `changes` own, with the block of the vector itself.
size_t BytesOf(const Changes& changes);
// The size of all blocks that `scope` owns, without the Scope object itself.
size_t BytesOf(const Scope& scope);
// The size of all blocks that `concerned` owns, without the object itself.
size_t BytesOf(const Concerned& concerned);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOG_CHANGE_BYTES_H_
