// CallTally: counts calls, and how long each took. Not thread-safe.
#ifndef BERTH_TESTS_FAIRNESS_CALL_TALLY_H_
#define BERTH_TESTS_FAIRNESS_CALL_TALLY_H_

#include <grpcpp/support/status.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace berth::fairness {

// What came of calls of one kind.
struct CallFigures {
  int64_t calls = 0;
  int64_t refused = 0;        // UNAVAILABLE: placement says that it did nothing
  int64_t failed = 0;         // with any other code
  std::string first_failure;  // a refusal counts, too; empty: there was none
  // Of all calls, however they ended.
  double p50_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;

  int64_t bad() const { return refused + failed; }
};

class CallTally {
 public:
  void Add(const grpc::Status& status, absl::Duration took);
  // Of the calls so far, and forgets them.
  CallFigures Take();

 private:
  CallFigures figures_;
  std::vector<double> took_ms_;
};

}  // namespace berth::fairness

#endif  // BERTH_TESTS_FAIRNESS_CALL_TALLY_H_
