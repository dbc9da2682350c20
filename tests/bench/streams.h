// Streams: many streams of one method at once, whose messages are counted.
//
// Messages stay bytes, unless somebody looks. Thread-safe.
#ifndef BERTH_TESTS_BENCH_STREAMS_H_
#define BERTH_TESTS_BENCH_STREAMS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "grpcpp/security/credentials.h"

namespace berth::bench {

struct StreamCounts {
  int64_t answered = 0;  // streams that have had a message
  int64_t messages = 0;
  int64_t bytes = 0;
  int64_t ended = 0;  // streams that the server ended
  std::string first_end;
};

struct StreamOptions {
  std::string address;
  std::string method;  // /package.Service/Method
  // The streams take turns on them.
  int connections = 1;
  // Of each connection; empty: LoadCredentials for all.
  std::vector<std::shared_ptr<grpc::ChannelCredentials>> credentials;
  // Whether the first message is the last that is sent.
  bool half_close = true;
  // May be empty; called from gRPC's threads.
  std::function<void(absl::string_view message)> look;
};

class Streams {
 public:
  // Opens a stream for each of `requests`, which it sends.
  Streams(const StreamOptions& options, const std::vector<std::string>& requests);
  // Ends them.
  ~Streams();

  StreamCounts counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::bench

#endif  // BERTH_TESTS_BENCH_STREAMS_H_
