// Whose session is ended because it holds the ledger's lock and its client does not move.

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/store/rows.h"
#include "placement/store/schema.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

struct EndSession {
  void operator()(PGconn* session) const { PQfinish(session); }
};
using Session = std::unique_ptr<PGconn, EndSession>;

std::string LockingSql() { return absl::StrCat("SELECT pg_advisory_xact_lock(", kLedgerLock, ")"); }

// Waits until a session is in `state` and waits for `event`.
bool AwaitHolder(Database& observer, const std::string& state, const std::string& event) {
  const absl::Time until = absl::Now() + absl::Seconds(30);
  while (absl::Now() < until) {
    if (QueryOne(observer, absl::StrCat("SELECT count(*) FROM pg_stat_activity WHERE state = '",
                                        state, "' AND wait_event = '", event,
                                        "' AND datname = current_database() AND pid <> "
                                        "pg_backend_pid()")) == "1") {
      return true;
    }
    std::this_thread::yield();
  }
  return false;
}

// A client that was paused before it has told the server that its message is complete: PostgreSQL
// calls such a session active. This client uses libpq, because the product never sends such a
// message.
TEST(LockHolder, OfAMessageThatIsNotCompleteIsEnded) {
  const std::string url = NewDatabase();
  auto observer = ConnectOrDie(url);
  const Session paused(PQconnectdb(url.c_str()));
  ASSERT_EQ(PQstatus(paused.get()), CONNECTION_OK);
  ASSERT_EQ(PQenterPipelineMode(paused.get()), 1);
  ASSERT_EQ(PQsendQueryParams(paused.get(), LockingSql().c_str(), 0, nullptr, nullptr, nullptr,
                              nullptr, 0),
            1);
  ASSERT_EQ(PQsendFlushRequest(paused.get()), 1);
  ASSERT_EQ(PQflush(paused.get()), 0);
  ASSERT_TRUE(AwaitHolder(*observer, "active", "ClientRead"));
  const absl::StatusOr<bool> ended = EndIdleLockHolder(*observer);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_TRUE(*ended);
}

TEST(LockHolder, ThatIsIdleInItsTransactionIsEnded) {
  const std::string url = NewDatabase();
  auto observer = ConnectOrDie(url);
  auto paused = ConnectOrDie(url);
  ASSERT_TRUE(paused->Run(absl::StrCat("BEGIN; ", LockingSql()), nullptr).ok());
  ASSERT_TRUE(AwaitHolder(*observer, "idle in transaction", "ClientRead"));
  EXPECT_TRUE(*EndIdleLockHolder(*observer));
}

TEST(LockHolder, ThatWorksIsLeftAlone) {
  const std::string url = NewDatabase();
  auto observer = ConnectOrDie(url);
  auto working = ConnectOrDie(url);
  std::thread caller([&] {
    EXPECT_TRUE(
        working->Run(absl::StrCat("BEGIN; ", LockingSql(), "; SELECT pg_sleep(1); COMMIT"), nullptr)
            .ok());
  });
  EXPECT_TRUE(AwaitHolder(*observer, "active", "PgSleep"));
  EXPECT_FALSE(*EndIdleLockHolder(*observer));
  caller.join();
}

}  // namespace
}  // namespace berth::placement
