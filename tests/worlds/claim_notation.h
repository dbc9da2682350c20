// Claims that find their own place, written in a line, for tests.
#ifndef BERTH_TESTS_WORLDS_CLAIM_NOTATION_H_
#define BERTH_TESTS_WORLDS_CLAIM_NOTATION_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "placement/claims/search.h"
#include "placement/values/refusal.h"
#include "tests/worlds/request_notation.h"
#include "tests/worlds/world.h"

namespace berth::placement {

// The consumer as it stands now; `query` is request notation.
inline ClaimMember Member(World& world, absl::string_view consumer, absl::string_view query) {
  ClaimMember member;
  member.consumer = world.consumer(consumer);
  member.expected_generation = world.consumer_generation(consumer);
  member.project = "project";
  member.user = "user";
  member.type = "INSTANCE";
  member.query = ParseRequest(world, query);
  return member;
}

// One claim for each of `consumers`, all of the same query.
inline PlaceClaims Claims(World& world, const std::vector<std::string>& consumers,
                          absl::string_view query, Strategy strategy = Strategy::kFirst,
                          MemberAffinity affinity = MemberAffinity::kNone) {
  PlaceClaims claims;
  for (const std::string& name : consumers) claims.members.push_back(Member(world, name, query));
  claims.order.strategy = strategy;
  claims.affinity = affinity;
  return claims;
}

// The command as it comes to the ledger: with choices found in the world as it is.
inline PlaceClaims Chosen(const World& world, PlaceClaims claims) {
  EXPECT_TRUE(FindChoices(world.state(), {}, &claims).ok());
  return claims;
}

// "" or the reason of the refusal.
inline std::string ReasonOf(const absl::Status& status) {
  return status.ok() ? "" : RefusalOf(status)->reason;
}

// The roots that the claims found, or the reason why there are none.
inline std::vector<std::string> RootsOf(const World& world,
                                        const absl::StatusOr<Outcome>& outcome) {
  if (!outcome.ok()) return {ReasonOf(outcome.status())};
  std::vector<std::string> names;
  for (const Candidate& candidate : outcome->result.candidates) {
    names.push_back(world.state().FindProvider(candidate.root)->config().name);
  }
  return names;
}

inline std::vector<std::string> Place(World& world, const PlaceClaims& claims) {
  return RootsOf(world, world.Do(claims));
}

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_CLAIM_NOTATION_H_
