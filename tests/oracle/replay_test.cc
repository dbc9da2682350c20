// The project's own recordings against the rules and the search of this process. Those of the
// oracle, where they are given, are replayed against a real process by oracle_test.
#include "tests/oracle/replay.h"

#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"
#include "tests/oracle/state_subject.h"

namespace berth::oracle {
namespace {

TEST(Replay, OwnCases) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(BERTH_ORACLE_CASES)) {
    ++files;
    StateSubject subject;
    const Report report = ReplayFile(subject, entry.path());
    for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
    EXPECT_GT(report.passed, 0) << entry.path();
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace berth::oracle
