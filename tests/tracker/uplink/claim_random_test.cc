// Claims and their ends in random order, with answers that are lost and copies of writes that come
// late. The test itself does what the uplink does.
#include <deque>
#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/uplink/claim_fixture.h"
#include "tracker/ground/boot_clock.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using Kind = ClaimRefusalKind;

class ClaimRandomTest : public ClaimTest {
 protected:
  ClaimRandomTest() : random_(TestSeed()) {
    for (int i = 0; i < kGuests; ++i) {
      guests_.push_back(absl::StrCat("bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbb", 10 + i));
      ledger_.Create(guests_.back());
    }
    BeginSession();
  }

  int Below(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }

  void BeginSession() {
    session_ = true;
    node_->Reports([](NodeReports* reports) { reports->Welcome(Standing::kKnown, 0); });
    // The changes that the node has missed. A complete push is never older than they are.
    v1::Push all;
    all.set_complete(true);
    all.set_node_uuid(uuid_);
    for (const std::string& guest : guests_) all.MergeFrom(ledger_.PushOf(guest));
    node_->ChangeRecords(
        [&](Records* records, NodeAccount* account) {
          return ApplyPush(all, v1::Revision(), records, account);
        },
        Now());
  }
  void EndSession() {
    session_ = false;
    node_->Disconnect();
    sent_.clear();
  }

  void Claim() {
    const std::string& guest = guests_[Below(kGuests)];
    Begun call{guest, ledger_.Find(guest).generation(), false,
               ClaimTest::Claim(ledger_.Find(guest))};
    // If an earlier claim of this generation was refused, its write is equal to the new one.
    if (*call.call.answers == 0) refused_.erase(call.name());
    calls_.push_back(call);
  }
  void Abort() {
    const std::string& guest = guests_[Below(kGuests)];
    const auto granted = granted_.find(guest);
    if (granted == granted_.end()) return;
    calls_.push_back({guest, 0, true, ClaimTest::Abort(granted->second)});
  }
  std::optional<RecordWrites::Outgoing> NextWrite(MonotonicTime now) {
    return node_->Claims(
        [&](NodeClaims* claims, ClaimReplies* replies) { return claims->NextWrite(now, replies); });
  }
  void Send() {
    const auto write = NextWrite(Now());
    if (!write) return;
    v1::RecordWrite wire = WireWrite(*write, ShortUuid(uuid_));
    if (Below(4) == 0) {
      late_.push_back(wire);  // the stream is cut behind the write, which may come late or never
      if (Below(2) == 0) ledger_.Apply(wire);
      EndSession();
    } else {
      sent_.push_back(wire);
    }
  }
  void Answer() {
    if (sent_.empty()) return;
    const v1::RecordWrite write = sent_.front();
    sent_.pop_front();
    const bool away = Below(6) == 0;
    const grpc::StatusCode code = away ? grpc::StatusCode::UNAVAILABLE : ledger_.Apply(write);
    const v1::RecordAnswer answer = ledger_.Answer(write, code).record_answer();
    node_->ChangeRecords(
        [&](Records*, NodeAccount* account) { return ApplyAnswer(answer, account); }, Now());
    const absl::Status status(static_cast<absl::StatusCode>(code), "x");
    node_->Claims([&](NodeClaims* claims, ClaimReplies* replies) {
      return claims->AnswerWrite(answer.write_id(), {status}, Now(), replies);
    });
  }
  // A copy of an earlier write reaches the ledger.
  void Late() {
    if (late_.empty()) return;
    const v1::RecordWrite& write = late_[Below(static_cast<int>(late_.size()))];
    if (ledger_.Apply(write) != grpc::StatusCode::OK || !Claims(write)) return;
    EXPECT_FALSE(refused_.contains(
        absl::StrCat(write.instance().uuid(), "/", write.instance().generation())))
        << "a refused claim was applied";
  }
  static bool Claims(const v1::RecordWrite& write) {
    return !write.withdraw() && write.instance().host() == "h";
  }
  // Looks at the calls that have been answered since.
  void Check() {
    std::erase_if(calls_, [&](const Begun& call) {
      if (*call.call.answers == 0) return false;
      const bool here = ledger_.Find(call.guest).host() == "h";
      if (!call.call.result->ok()) {
        if (!call.aborts && call.call.refusal() != Kind::kOutcomeUnknown &&
            call.call.refusal() != Kind::kAlreadyClaimed &&
            call.call.refusal() != Kind::kUnsettled) {
          refused_.insert(call.name());
        }
      } else if (call.aborts) {
        granted_.erase(call.guest);
      } else {
        EXPECT_TRUE(here) << "granted, but not recorded";
        granted_[call.guest] = ClaimIdOf((*call.call.result)->claim);
      }
      return true;
    });
  }
  // Nothing is on its way any more: the account has what the ledger has.
  void Settle() {
    for (int i = 0; i < 200; ++i) {
      if (!session_) BeginSession();
      const auto write = NextWrite(Now() + std::chrono::hours(1));
      if (write) sent_.push_back(WireWrite(*write, ShortUuid(uuid_)));
      if (!write && sent_.empty()) break;
      while (!sent_.empty()) Answer();
    }
    // The end of a claim may be applied later than anybody waits for it. A claim may not.
    for (const v1::RecordWrite& write : late_) {
      const grpc::StatusCode code = ledger_.Apply(write);
      EXPECT_TRUE(!Claims(write) || code == grpc::StatusCode::ABORTED) << "a late copy was applied";
    }
    BeginSession();
    Check();
    EXPECT_TRUE(calls_.empty());
    int64_t recorded = 0;
    for (const std::string& guest : guests_) {
      if (ledger_.Find(guest).host() == "h") recorded += 2;
    }
    EXPECT_EQ(Promised().instances.amounts.vcpus, recorded);
    EXPECT_EQ(Promised().claims, Usage());
  }
  static MonotonicTime Now() { return BootClock::now(); }

  struct Begun {
    std::string guest;
    int64_t generation = 0;
    bool aborts = false;
    ClaimCall call;

    std::string name() const { return absl::StrCat(guest, "/", generation); }
  };
  static constexpr int kGuests = 8;
  std::mt19937_64 random_;
  std::vector<std::string> guests_;
  bool session_ = false;
  std::deque<v1::RecordWrite> sent_;
  std::vector<v1::RecordWrite> late_;
  std::vector<Begun> calls_;
  std::map<std::string, std::string> granted_;
  std::set<std::string> refused_;
};

TEST_F(ClaimRandomTest, TheAccountBecomesWhatTheLedgerHas) {
  for (int round = 0; round < 40; ++round) {
    for (int step = 0; step < 60; ++step) {
      switch (Below(8)) {
        case 0:
        case 1:
          Claim();
          break;
        case 2:
          Abort();
          break;
        case 3:
        case 4:
          if (session_) Send();
          break;
        case 5:
          Answer();
          break;
        case 6:
          Late();
          break;
        default:
          if (!session_) BeginSession();
      }
      Check();
      if (HasFailure()) return;
    }
    Settle();  // T-394, T-395
    late_.clear();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace berth::tracker
