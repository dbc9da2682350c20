// What counts in the ledger and in the accounts of the trackers, beside each other.
//
// Random records, which callers and trackers move through states, moves, contexts, ends and
// restarts. After each step the ledger's rule of owners and the accounts of the trackers count the
// same. BERTH_SEED repeats a run; BERTH_STEPS sets the number of steps.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/counted/record_life.h"
#include "tests/placement/records/filled_message.h"
#include "tests/worlds/seed.h"

namespace berth::counted {
namespace {

using google::protobuf::FieldDescriptor;

constexpr int kStepsOfALife = 250;

TEST(WhatCounts, LedgerAndAccountsAgreeAfterEachStep) {
  const uint64_t first = placement::Seed();
  const char* const given = std::getenv("BERTH_STEPS");
  const int steps = given != nullptr ? std::atoi(given) : kSanitized ? 500 : 10000;
  std::map<std::string, int> done;
  int lone_writes = 0;
  for (int step = 0; step < steps;) {
    const uint64_t seed = first + static_cast<uint64_t>(step / kStepsOfALife);
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed, " BERTH_STEPS=", kStepsOfALife));
    RecordLife life(seed);
    std::string story;
    do {
      const std::string what = life.Step();
      ++done[what];
      absl::StrAppend(&story, what, "\n");
      life.Compare();
      ASSERT_FALSE(testing::Test::HasFailure()) << story;
    } while (++step % kStepsOfALife != 0 && step < steps);
    lone_writes += life.lone_writes();
  }
  if (steps < 5000) return;
  // The test does what it says.
  for (const char* what :
       {"put an instance", "resume", "delete an instance", "begin a move", "change a move",
        "arrive", "end a move", "claim an instance", "claim a move", "a tracker ends a move",
        "a tracker sets an instance", "restart"}) {
    EXPECT_GT(done[what], 0) << what;
  }
  EXPECT_GT(lone_writes, 0);
}

// A flavor with one amount, for each amount that record.proto has.
TEST(WhatCounts, LedgerAndAccountCountTheSameOfEachAmountOfAFlavor) {
  for (int i = 0; i < pb::Flavor::descriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = pb::Flavor::descriptor()->field(i);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_INT32 &&
        field->cpp_type() != FieldDescriptor::CPPTYPE_INT64) {
      continue;
    }
    SCOPED_TRACE(field->name());
    LedgerSide ledger;
    const Place& place = ledger.nodes().front();
    pb::SetInstanceRequest request;
    pb::Instance& record = *request.mutable_instance();
    record.set_uuid("11111111-1111-4111-8111-111111111111");
    record.set_project_id("p");
    record.set_user_id("u");
    record.set_vm_state("active");
    record.mutable_image();  // without one it starts from a volume
    PutOn(place, &record);
    SetScalar(*record.flavor().GetReflection(), field, record.mutable_flavor());
    ASSERT_EQ(ledger.Do(request), "");
    AccountSide account(place);
    account.Hear(ledger.CompletePush(place));
    const Sizes used = account.Used();
    EXPECT_NE(used, Sizes());                         // T-113
    EXPECT_EQ(ledger.WantedOf(record.uuid()), used);  // T-345
    const bool is_swap = field->number() == pb::Flavor::kSwapMibFieldNumber;
    EXPECT_EQ(ledger.SumOn(place), is_swap ? Sizes() : used);  // T-303
  }
}

}  // namespace
}  // namespace berth::counted
