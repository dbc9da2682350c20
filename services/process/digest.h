// Digests of requests: two requests have the same digest if they are equal, in every process and
// every release. Pure functions.
#ifndef BERTH_SERVICES_PROCESS_DIGEST_H_
#define BERTH_SERVICES_PROCESS_DIGEST_H_

#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace berth::services {

// SHA-256 of the type of `message` and of all its fields except those named in `left_out`.
std::string MessageDigest(const google::protobuf::Message& message,
                          std::initializer_list<absl::string_view> left_out);

// SHA-256 of `before` followed by `message`. `before` is the digest of all earlier messages.
std::string ChainedDigest(absl::string_view before, const google::protobuf::Message& message);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_DIGEST_H_
