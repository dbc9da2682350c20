// The bare RPC that answers are measured against.
#ifndef BERTH_TESTS_BENCH_ECHO_H_
#define BERTH_TESTS_BENCH_ECHO_H_

#include <string>

#include "absl/strings/string_view.h"

namespace berth::bench {

inline constexpr char kEchoMethod[] = "/berth.bench.EchoService/Echo";

// A serialized Payload of `bytes` bytes in all, give or take one where its length prefix grows.
std::string EchoPayload(size_t bytes);
// Reads `reply` as its receiver would; whether it is a Payload.
bool IsEchoPayload(absl::string_view reply);

// Serves answers of `answer_bytes` on a port of its own choice, prints "HOST:PORT", and ends when
// standard input does.
void ServeEcho(size_t answer_bytes);

}  // namespace berth::bench

#endif  // BERTH_TESTS_BENCH_ECHO_H_
