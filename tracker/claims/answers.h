// ClaimAnswers: the claims that were granted, by the id of the request, so that a repeated request
// gets its first answer again.
//
// Not thread-safe; the node's lock protects it. A repeat of a refused request is tested anew.
#ifndef BERTH_TRACKER_CLAIMS_ANSWERS_H_
#define BERTH_TRACKER_CLAIMS_ANSWERS_H_

#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "tracker/account/open_claim.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

class ClaimAnswers {
 public:
  static constexpr std::chrono::hours kKept{24};
  static constexpr size_t kMax = 10000;

  // Keeps the answer for the time kKept. If there are more than kMax answers, the oldest are
  // dropped. A claim with an empty id is not kept.
  void Keep(const OpenClaim& claim, MonotonicTime now);
  // Returns the answer to the request with this id, instance and body (T-385). Null: there is none.
  // The pointer is valid until the next call of any method.
  //
  // Refused with kRequestIdReused if the id belongs to a request with another instance or body.
  absl::StatusOr<const OpenClaim*> Find(const std::string& id, const Uuid& instance_uuid,
                                        const std::string& body, MonotonicTime now);
  // Forgets the answer about a claim that was given back, or perhaps was: a repeat must not be told
  // that the instance has the claim. `claim_id`: see ClaimIdOf.
  void Forget(const std::string& claim_id);

 private:
  void DropOld(MonotonicTime now);

  std::map<std::string, OpenClaim> claims_;
  std::deque<std::pair<MonotonicTime, std::string>> order_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CLAIMS_ANSWERS_H_
