// Watchers: many streams of WatchService.Watch at once, whose messages are counted.
//
// Messages stay bytes, unless somebody looks. Thread-safe.
#ifndef BERTH_TESTS_BENCH_WATCHERS_H_
#define BERTH_TESTS_BENCH_WATCHERS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace berth::bench {

struct WatchCounts {
  int64_t messages = 0;
  int64_t bytes = 0;
  int64_t ended = 0;  // streams that the server ended
  std::string first_end;
};

class Watchers {
 public:
  // Opens a stream for each of `requests`, over `connections`. `look` may be empty; it is called
  // from gRPC's threads.
  Watchers(const std::string& address, int connections, const std::vector<std::string>& requests,
           std::function<void(absl::string_view message)> look);
  // Ends them.
  ~Watchers();

  WatchCounts counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::bench

#endif  // BERTH_TESTS_BENCH_WATCHERS_H_
