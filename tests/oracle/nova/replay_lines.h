// Lines of recordings, made by tests of the replay itself.
#ifndef BERTH_TESTS_ORACLE_NOVA_REPLAY_LINES_H_
#define BERTH_TESTS_ORACLE_NOVA_REPLAY_LINES_H_

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/oracle/nova/replay.h"

namespace berth::oracle::nova {

inline Report ReplayLines(const std::vector<Json>& lines) {
  const std::string path = testing::TempDir() + "/nova_replay_test.jsonl";
  std::ofstream file(path);
  for (const Json& line : lines) file << line.dump() << "\n";
  file.close();
  return ReplayFile(path);
}

// Expects that `line` passes, and fails with the change.
inline void ExpectNoticed(const Json& line, const std::function<void(Json&)>& change) {
  const Report before = ReplayLines({line});
  for (const std::string& failure : before.failures) ADD_FAILURE() << failure;
  EXPECT_GT(before.passed, 0);
  Json changed = line;
  change(changed);
  EXPECT_FALSE(ReplayLines({changed}).failures.empty()) << changed.dump();
}

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_REPLAY_LINES_H_
