// The format of the log, as an operator raises it.

#include <gtest/gtest.h>

#include <string>

#include "placement/ledger/ledger.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

// Every release writes what the log's format allows, so an older log is all that it takes.
TEST(LedgerFormat, IsRaisedInTheLogAndStays) {
  const std::string url = NewDatabase();
  {
    LedgerRunner first(OptionsFor(url));
    MakeProviders(first, 1, 100, 1024);
  }
  ASSERT_TRUE(ConnectOrDie(url)->Run("UPDATE log SET format = 0", nullptr).ok());
  {
    LedgerRunner runner(OptionsFor(url));
    LedgerRunner other(OptionsFor(url));
    EXPECT_EQ(runner.ledger().Newest()->position().format, 0);
    runner.Must(Claim(1, {1}, 1));
    EXPECT_EQ(runner.ledger().Newest()->position().format, 0);
    runner.Must(SetFormat{1});
    const Position raised = runner.ledger().Newest()->position();
    EXPECT_EQ(raised.format, 1);
    runner.Must(SetFormat{1});  // already there: nothing to write
    EXPECT_EQ(runner.ledger().Newest()->position().revision, raised.revision);
    runner.Must(Claim(2, {1}, 1));
    ASSERT_TRUE(LedgerRunner::Eventually([&] {
      return other.ledger().Newest()->position().revision >
             runner.ledger().Recent(raised.revision)->position().revision;
    }));
    EXPECT_EQ(other.ledger().Newest()->position().format, 1);
    EXPECT_FALSE(other.ledger().health().format_too_new);
    ExpectCleanSelfCheck(runner, url);
  }
  LedgerRunner again(OptionsFor(url));
  EXPECT_EQ(again.ledger().Newest()->position().format, 1);
}

}  // namespace
}  // namespace berth::placement
