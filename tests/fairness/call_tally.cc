#include "tests/fairness/call_tally.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth::fairness {

void CallTally::Add(const grpc::Status& status, absl::Duration took) {
  ++figures_.calls;
  took_ms_.push_back(absl::ToDoubleMilliseconds(took));
  if (status.ok()) return;
  ++(status.error_code() == grpc::StatusCode::UNAVAILABLE ? figures_.refused : figures_.failed);
  if (!figures_.first_failure.empty()) return;
  figures_.first_failure = absl::StrCat("code ", status.error_code(), ": ", status.error_message());
}

CallFigures CallTally::Take() {
  CallFigures taken = std::exchange(figures_, CallFigures());
  std::vector<double> took_ms = std::exchange(took_ms_, {});
  if (took_ms.empty()) return taken;
  std::sort(took_ms.begin(), took_ms.end());
  taken.p50_ms = took_ms[took_ms.size() / 2];
  taken.p99_ms = took_ms[took_ms.size() * 99 / 100];
  taken.max_ms = took_ms.back();
  return taken;
}

}  // namespace berth::fairness
