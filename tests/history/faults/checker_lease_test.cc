// The checker on short histories of one lease: lawful ones pass, and each fault is found.
#include <gtest/gtest.h>

#include <string>

#include "tests/history/checker/checker.h"

namespace berth::history {
namespace {

constexpr uint64_t kConsumer = 7;
constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kLeased = 100 * kSecond;  // when the lease began
constexpr int32_t kLeaseSeconds = 3;

// A consumer that holds 2 of provider 0 gets a lease at revision 11. At revision 12, `seconds`
// later, the ledger releases it.
History ReleasedAfter(int64_t seconds) {
  History history;
  history.begin.revision = 10;
  history.begin.command_count = 10;
  history.begin.providers = {{5, 6, {8, 8}, {2, 0}}};
  history.begin.consumers = {{kConsumer, 9, {{0, 0, 2}}}};
  history.clients.resize(1);
  ClientLog& log = history.clients[0];
  log.parts.push_back({kConsumer, kAny, 10});
  Operation lease;
  lease.kind = Kind::kLease;
  lease.lease_s = kLeaseSeconds;
  lease.begin_ns = 1;
  lease.end_ns = 2;
  lease.parts = 1;
  lease.revision = 11;
  lease.epoch = 1;
  lease.outcome = Outcome::kDone;
  log.operations.push_back(lease);

  Story& story = history.story;
  story.rows = {{0, 0, 2}};
  story.parts = {{kConsumer, 0, 10, 0, 1, kLeased + kLeaseSeconds * kSecond}, {kConsumer}};
  story.uses = {{0, 7, {0, 0}}};
  Step given;
  given.revision = 11;
  given.client = 0;
  given.parts = 1;
  Step ended;
  ended.revision = 12;
  ended.expires = true;
  ended.first_part = 1;
  ended.parts = 1;
  ended.uses = 1;
  story.steps = {given, ended};
  story.revisions = {{11, 1, 11, 1, kLeased}, {12, 1, 12, 2, kLeased + seconds * kSecond}};
  history.end.revision = 12;
  history.end.providers = {{5, 7, {8, 8}, {0, 0}}};
  return history;
}

void ExpectFinding(const History& history, const std::string& words) {
  const std::string text = Check(history).ToString();
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

TEST(CheckerLease, MayEndTheConsumer) {
  EXPECT_TRUE(Check(ReleasedAfter(kLeaseSeconds)).empty());
  EXPECT_TRUE(Check(ReleasedAfter(kLeaseSeconds + 5)).empty());
}

TEST(CheckerLease, MayNotEndTheConsumerEarly) {
  ExpectFinding(ReleasedAfter(kLeaseSeconds - 1),
                "rule 2: was done at revision 12 and should be "
                "refused (the lease has not ended)");
}

TEST(CheckerLease, LastsAsLongAsAskedFor) {
  History history = ReleasedAfter(kLeaseSeconds);
  history.story.parts[0].lease_end_us -= kSecond;
  ExpectFinding(history, "rule 2: left consumers at revision 11 with other amounts or leases");
}

TEST(CheckerLease, FreesWhatTheConsumerHeld) {
  History history = ReleasedAfter(kLeaseSeconds);
  history.story.uses[0].used[0] = 1;
  ExpectFinding(history, "rule 2: left providers at revision 12 with other amounts");
}

TEST(CheckerLease, MustEnd) {
  History history = ReleasedAfter(kLeaseSeconds);
  history.story.steps.pop_back();
  history.story.revisions.pop_back();
  ExpectFinding(history, "rule 2: the ledger did not end the lease of consumer 7");
}

TEST(CheckerLease, IsInTheTables) {
  History history = ReleasedAfter(kLeaseSeconds);
  history.clients[0].operations[0].lease_s = 0;
  history.story.parts[0].lease_end_us = 0;
  history.story.steps.pop_back();
  history.story.revisions.pop_back();
  history.end.revision = 11;
  history.end.providers = history.begin.providers;
  history.end.consumers = {{kConsumer, 10, {{0, 0, 2}}}};
  EXPECT_TRUE(Check(history).empty()) << Check(history).ToString();
  history.end.consumers[0].lease_end_us = kLeased + kLeaseSeconds * kSecond;
  ExpectFinding(history, "rule 9: in the end consumer 7 is not as the ledger tells");
}

// A confirmed consumer has no lease that could end.
TEST(CheckerLease, MayNotEndAConsumerWithoutOne) {
  History history = ReleasedAfter(kLeaseSeconds);
  history.clients[0].operations[0].lease_s = 0;
  history.story.parts[0].lease_end_us = 0;
  ExpectFinding(history, "refused (the lease has not ended)");
}

}  // namespace
}  // namespace berth::history
