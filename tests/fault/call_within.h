// CallWithin: the context of a call that has to be answered within a time.
#ifndef BERTH_TESTS_FAULT_CALL_WITHIN_H_
#define BERTH_TESTS_FAULT_CALL_WITHIN_H_

#include <grpcpp/client_context.h>

#include <memory>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace berth::fault {

inline std::unique_ptr<grpc::ClientContext> CallWithin(absl::Duration limit) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(absl::ToChronoTime(absl::Now() + limit));
  return context;
}

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_CALL_WITHIN_H_
