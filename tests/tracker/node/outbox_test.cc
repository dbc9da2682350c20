// What is told of a node, and when.
#include "tracker/node/outbox.h"

#include <cstdint>
#include <random>

#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/facts/test_data.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/uplink/backoff.h"

namespace berth::tracker {
namespace {

std::shared_ptr<const Audit> AuditWith(int64_t memory_mib) {
  auto audit = std::make_shared<Audit>();
  audit->report.node_uuid = "n"_uuid;
  Facts facts = OrdinaryFacts();
  facts.memory_mib = memory_mib;
  audit->report.facts_digest = FactsDigest(facts);
  audit->report.facts = std::make_shared<const Facts>(std::move(facts));
  audit->digest = DigestOf(audit->report);
  return audit;
}

// An outbox whose session asked for everything.
struct Fresh {
  Outbox outbox;
  Fresh() { outbox.Welcome(Standing::kSendAll, 0); }
  void Settle(int64_t memory_mib) {
    outbox.Offer(AuditWith(memory_mib), true, false);
    EXPECT_TRUE(outbox.Acknowledge(outbox.Next()->sequence));
  }
};

TEST(Outbox, SendsNothingWithoutASession) {
  Outbox outbox;
  outbox.Offer(AuditWith(1), true, false);
  EXPECT_FALSE(outbox.Next().has_value());
  for (const Standing standing :
       {Standing::kWait, Standing::kStandby, Standing::kRefused, Standing::kNone}) {
    outbox.Welcome(standing, 0);
    EXPECT_FALSE(outbox.Next().has_value());  // T-14, T-20
  }
  outbox.Welcome(Standing::kWait, 0);
  outbox.OrderSnapshot();
  EXPECT_TRUE(outbox.Next().has_value());
}

TEST(Outbox, SendsASnapshotFirstAndDeltasAfter) {  // T-226
  Fresh fresh;
  fresh.outbox.Offer(AuditWith(1), true, false);
  const Outbox::Outgoing first = *fresh.outbox.Next();
  EXPECT_TRUE(first.snapshot);
  EXPECT_EQ(first.sequence, 1);
  EXPECT_TRUE(fresh.outbox.Acknowledge(1));
  fresh.outbox.Offer(AuditWith(2), true, false);
  const Outbox::Outgoing second = *fresh.outbox.Next();
  EXPECT_FALSE(second.snapshot);
  EXPECT_EQ(second.sequence, 2);
  EXPECT_EQ(second.base->report.facts->memory_mib, 1);
}

TEST(Outbox, SendsNothingForAnUnchangedWorld) {  // T-227, T-393
  Fresh fresh;
  fresh.Settle(1);
  std::weak_ptr<const Audit> before;
  for (int pass = 0; pass < 10; ++pass) {
    const std::shared_ptr<const Audit> audit = AuditWith(1);
    fresh.outbox.Offer(audit, true, false);
    EXPECT_FALSE(fresh.outbox.Next().has_value());  // C-15
    EXPECT_TRUE(before.expired()) << "of audits that tell the same, only the newest is kept";
    before = audit;
  }
  EXPECT_EQ(fresh.outbox.reports_sent(), 1);  // C-15
  EXPECT_TRUE(fresh.outbox.settled());
}

TEST(Outbox, KeepsTheNewestAndOneInFlight) {  // T-227, T-231
  Fresh fresh;
  fresh.outbox.Offer(AuditWith(1), true, false);
  const int64_t first = fresh.outbox.Next()->sequence;
  for (int64_t i = 2; i < 100; ++i) {
    fresh.outbox.Offer(AuditWith(i), true, false);
    EXPECT_FALSE(fresh.outbox.Next().has_value());
  }
  EXPECT_TRUE(fresh.outbox.Acknowledge(first));
  EXPECT_EQ(fresh.outbox.Next()->audit->report.facts->memory_mib, 99);
  EXPECT_EQ(fresh.outbox.reports_coalesced(), 97);
}

TEST(Outbox, TriesFourTimesInARow) {  // T-229
  Fresh fresh;
  fresh.outbox.Offer(AuditWith(1), true, false);
  for (int i = 0; i < 4; ++i) {
    const std::optional<Outbox::Outgoing> report = fresh.outbox.Next();
    ASSERT_TRUE(report.has_value());  // C-15: a conflict causes one more attempt
    EXPECT_EQ(report->sequence, 1);   // a refused number was not applied
    EXPECT_TRUE(fresh.outbox.Reject(report->sequence, ReportRefusal::kAgain));
    fresh.outbox.Offer(AuditWith(1), false, false);
  }
  EXPECT_FALSE(fresh.outbox.Next().has_value());  // C-15: four conflicts are the end
  fresh.outbox.Offer(AuditWith(1), true, false);
  EXPECT_TRUE(fresh.outbox.Next().has_value());  // C-15: until the next pass
}

// A daily limit lasts longer than four tries, and a node need not have periodic passes.
TEST(Outbox, TriesAsOftenAsTheCallerAsksAfterARefusalUntilLater) {
  for (const bool repair : {false, true}) {
    Fresh fresh;
    if (repair) fresh.Settle(1);
    fresh.outbox.Offer(AuditWith(1), true, repair);
    for (int i = 0; i < 10; ++i) {
      const std::optional<Outbox::Outgoing> report = fresh.outbox.Next();
      ASSERT_TRUE(report.has_value()) << i;
      EXPECT_EQ(report->repairs, repair);
      EXPECT_TRUE(fresh.outbox.Reject(report->sequence, ReportRefusal::kLater));
    }
    // The other refusals are counted as before.
    for (int i = 0; i < 4; ++i) {
      const std::optional<Outbox::Outgoing> report = fresh.outbox.Next();
      if (!report) break;
      EXPECT_TRUE(fresh.outbox.Reject(report->sequence, ReportRefusal::kAgain));
    }
    EXPECT_FALSE(fresh.outbox.Next().has_value());
  }
}

TEST(Outbox, WaitsForAPassAfterARefusal) {
  Fresh fresh;
  fresh.outbox.Offer(AuditWith(1), true, false);
  EXPECT_TRUE(fresh.outbox.Reject(fresh.outbox.Next()->sequence, ReportRefusal::kForGood));
  fresh.outbox.Offer(AuditWith(2), false, false);
  EXPECT_FALSE(fresh.outbox.Next().has_value());
  fresh.outbox.Offer(AuditWith(2), true, false);
  EXPECT_TRUE(fresh.outbox.Next().has_value());  // T-24: the next pass tries again
}

TEST(Outbox, RepairsWhatOthersChanged) {
  Fresh fresh;
  fresh.Settle(1);
  int sent = 0;
  for (int i = 0; i < 10; ++i) {
    fresh.outbox.Offer(AuditWith(1), false, true);
    const std::optional<Outbox::Outgoing> report = fresh.outbox.Next();
    if (!report) break;
    ++sent;
    EXPECT_TRUE(fresh.outbox.Acknowledge(report->sequence));
  }
  EXPECT_EQ(sent, 4);  // two that repair each other do not spin
}

TEST(Outbox, TakesAnOrderForTheAnswerToADelta) {  // T-229
  Fresh fresh;
  fresh.Settle(1);
  fresh.outbox.Offer(AuditWith(2), true, false);
  EXPECT_FALSE(fresh.outbox.Next()->snapshot);
  fresh.outbox.OrderSnapshot();
  const Outbox::Outgoing snapshot = *fresh.outbox.Next();
  EXPECT_TRUE(snapshot.snapshot);
  EXPECT_EQ(snapshot.sequence, 3);
  EXPECT_FALSE(fresh.outbox.Acknowledge(2));
  EXPECT_TRUE(fresh.outbox.Acknowledge(3));
}

TEST(Outbox, PassesOverAnswersThatAreNotAwaited) {
  Fresh fresh;
  EXPECT_FALSE(fresh.outbox.Acknowledge(1));
  EXPECT_FALSE(fresh.outbox.Reject(1, ReportRefusal::kAgain));
  fresh.outbox.Offer(AuditWith(1), true, false);
  EXPECT_EQ(fresh.outbox.Next()->sequence, 1);
  EXPECT_FALSE(fresh.outbox.Acknowledge(2));
  fresh.outbox.Disconnect();
  EXPECT_FALSE(fresh.outbox.Acknowledge(1));
}

TEST(Outbox, TakesUpAfterADisconnect) {
  struct Case {
    const char* what;
    bool in_flight;
    Standing standing;
    int64_t last_sequence;
    bool sends;
    bool snapshot;
    int64_t sequence;
  };
  const Case kCases[] = {
      {"nothing happened", false, Standing::kKnown, 1, false, false, 0},
      {"placement forgot", false, Standing::kSendAll, 0, true, true, 2},
      {"the report was applied", true, Standing::kSendAll, 2, true, true, 3},
      {"the report was lost", true, Standing::kKnown, 1, true, true, 3},
  };
  for (const Case& test : kCases) {
    Fresh fresh;
    fresh.Settle(1);
    if (test.in_flight) {
      fresh.outbox.Offer(AuditWith(2), true, false);
      EXPECT_TRUE(fresh.outbox.Next().has_value());
    }
    fresh.outbox.Disconnect();
    EXPECT_FALSE(fresh.outbox.Next().has_value());
    fresh.outbox.Welcome(test.standing, test.last_sequence);
    const std::optional<Outbox::Outgoing> report = fresh.outbox.Next();
    ASSERT_EQ(report.has_value(), test.sends) << test.what;
    if (!report) continue;
    EXPECT_EQ(report->snapshot, test.snapshot) << test.what;
    EXPECT_EQ(report->sequence, test.sequence) << test.what;
  }
}

TEST(Outbox, IgnoresANumberThatNoReportHasHad) {
  for (const int64_t odd : {int64_t{2}, INT64_MAX, int64_t{-1}, INT64_MIN}) {
    Fresh fresh;
    fresh.Settle(1);
    fresh.outbox.Disconnect();
    fresh.outbox.Welcome(Standing::kSendAll, odd);
    for (int i = 0; i < 2; ++i) {
      const std::optional<Outbox::Outgoing> report = fresh.outbox.Next();
      ASSERT_TRUE(report.has_value()) << odd;
      EXPECT_TRUE(report->snapshot) << odd;
      EXPECT_EQ(report->sequence, 2) << odd;
      EXPECT_TRUE(fresh.outbox.Reject(2, ReportRefusal::kAgain));
    }
    EXPECT_EQ(fresh.outbox.sequence(), 1);
  }
}

// Placement applies a report, cannot say so, and refuses it. The report then has its number.
TEST(Outbox, SkipsTheNumberOfAReportThatWasRefusedAndApplied) {
  Fresh fresh;
  fresh.Settle(1);
  fresh.outbox.Offer(AuditWith(2), true, false);
  EXPECT_TRUE(fresh.outbox.Reject(fresh.outbox.Next()->sequence, ReportRefusal::kAgain));
  fresh.outbox.Disconnect();
  fresh.outbox.Welcome(Standing::kKnown, 2);
  EXPECT_EQ(fresh.outbox.Next()->sequence, 3);
}

// A placement that applies, refuses, forgets and disconnects as it likes.
TEST(Outbox, EndsWithTheNewestAppliedOnce) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 200; ++round) {
    Outbox outbox;
    int64_t applied_sequence = 0;
    int64_t applied_memory = -1;
    int64_t newest = 0;
    const auto connect = [&] {
      outbox.Welcome(random() % 4 == 0 ? Standing::kSendAll : Standing::kKnown, applied_sequence);
      if (applied_memory < 0) outbox.OrderSnapshot();
    };
    connect();
    const auto step = [&](bool kind) {
      const std::optional<Outbox::Outgoing> report = outbox.Next();
      if (!report) return;
      EXPECT_GT(report->sequence, applied_sequence);  // T-398
      if (!report->snapshot) {
        EXPECT_EQ(report->sequence, applied_sequence + 1);
      }
      const uint64_t fate = kind ? 0 : random() % 4;
      if (fate == 1) {
        EXPECT_TRUE(outbox.Reject(
            report->sequence, random() % 2 == 0 ? ReportRefusal::kAgain : ReportRefusal::kForGood));
        return;
      }
      if (fate != 3) {
        applied_sequence = report->sequence;
        applied_memory = *report->audit->report.facts->memory_mib;
      }
      if (fate == 0) {
        EXPECT_TRUE(outbox.Acknowledge(report->sequence));
      } else {
        outbox.Disconnect();
        connect();
      }
    };
    for (int i = 0; i < 40; ++i) {
      if (random() % 2 == 0) {
        newest = static_cast<int64_t>(random() % 5) + 1;
        outbox.Offer(AuditWith(newest), true, false);
      }
      step(false);
    }
    outbox.Offer(AuditWith(newest + 100), true, false);
    step(true);
    step(true);
    EXPECT_EQ(applied_memory, newest + 100);  // T-399
    EXPECT_TRUE(outbox.settled());
  }
}

TEST(Backoff, SpreadsOverTheWholeSpan) {  // T-230
  std::vector<int64_t> firsts;
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    Backoff backoff({}, seed);
    int64_t limit_ms = 1000;
    for (int attempt = 0; attempt < 10; ++attempt) {
      const int64_t wait_ms = backoff.Next(std::chrono::hours(1)).count();
      EXPECT_GE(wait_ms, 0);
      EXPECT_LE(wait_ms, limit_ms);
      if (attempt == 7) firsts.push_back(wait_ms);
      limit_ms = std::min<int64_t>(60000, limit_ms * 2);
    }
  }
  std::sort(firsts.begin(), firsts.end());
  // After a minute of absence 10,000 trackers come back over more than 30 s, evenly.
  EXPECT_GT(firsts[9000] - firsts[1000], 40000);
  EXPECT_NEAR(static_cast<double>(firsts[5000]), 30000, 2000);
}

TEST(Backoff, BeginsAnewAfterASuccess) {
  Backoff backoff({}, 1);
  for (int i = 0; i < 100; ++i) EXPECT_LE(backoff.Next(std::chrono::hours(1)).count(), 60000);
  backoff.Reset();
  EXPECT_LE(backoff.Next(std::chrono::hours(1)).count(), 1000);
}

// Of 10,000 trackers some draw five short waits in five seconds.
TEST(Backoff, NoTrackerStaysAwayForMuchLongerThanPlacement) {  // T-230
  constexpr std::chrono::milliseconds kAway(5000);
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    Backoff backoff({}, seed);
    std::chrono::milliseconds now(0);
    while (now < kAway) now += backoff.Next(now);
    EXPECT_LE(now, 3 * kAway) << seed;
  }
}

}  // namespace
}  // namespace berth::tracker
