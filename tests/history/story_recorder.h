// StoryRecorder: reads the ledger's own log and tables out of PostgreSQL, with its own SQL.
//
// Reads the log while it grows, because old rows are deleted. One thread at a time.
#ifndef BERTH_TESTS_HISTORY_STORY_RECORDER_H_
#define BERTH_TESTS_HISTORY_STORY_RECORDER_H_

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "placement/ground/uuid.h"
#include "placement/store/database.h"
#include "tests/history/history.h"

namespace berth::ledger::v1 {
class Change;
class Command;
class Consumer;
class Id;
class Node;
class Provider;
class ProviderUse;
}  // namespace berth::ledger::v1

namespace berth::history {

class StoryRecorder {
 public:
  // Reads the database at `url` into `story`, beginning after the row that is the newest now.
  StoryRecorder(std::string url, Story* story);

  // Reads new rows. Fails if the database is not available, and keeps what was read before.
  absl::Status Follow();
  // The content of the tables at the newest row, with `providers` providers.
  absl::Status Read(int providers, Dump* dump);

 private:
  absl::Status Connect();
  absl::Status LearnClasses();
  absl::Status ReadRecords(Dump* dump);
  void Take(const ledger::v1::Command& command, int64_t revision);
  void Take(const ledger::v1::Change& change, Step* step);
  // Whether `put` stores another report than the node had before.
  bool IsNewReport(const ledger::v1::Node& put);
  // What consumer `id` holds afterwards; an empty `put`: nothing.
  void TakeConsumer(const placement::Uuid& id, const ledger::v1::Consumer& put, Step* step);
  // The same for a record, from its message, and for any consumer or record; generation 0: it is gone.
  template <typename Message>
  void TakeRecord(const std::string& bytes, Step* step);
  void TakePart(uint64_t number, int64_t generation, const std::vector<Row>& rows, Step* step);
  void TakeUse(const ledger::v1::ProviderUse& used, Step* step);
  void TakeConfig(const ledger::v1::Provider& put, Step* step);

  const std::string url_;
  Story* const story_;
  std::unique_ptr<placement::Database> database_;
  std::array<uint32_t, kClasses> class_ids_{};
  int64_t last_ = 0;
  std::string last_batch_;
  std::map<uint64_t, std::string> digests_;  // of the last report of each node
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_STORY_RECORDER_H_
