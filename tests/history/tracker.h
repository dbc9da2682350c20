// Tracker: the tracker of one host, which reports its node and keeps what placement pushes, whatever
// fails; everything is recorded.
//
// It opens a stream to either process, says Hello, and sends snapshots and deltas of the node's root
// and of the root's child. After a while, or if an answer does not come, it opens another stream,
// sometimes as a new process that knows nothing. One thread.
#ifndef BERTH_TESTS_HISTORY_TRACKER_H_
#define BERTH_TESTS_HISTORY_TRACKER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "berth/placement/v1/report.pb.h"
#include "tests/history/client.h"
#include "tests/history/history.h"
#include "tests/history/tracker_stream.h"
#include "tests/history/tracker_wire.h"

namespace berth::history {

class Tracker {
 public:
  // `index`: of its operations among those of all clients.
  Tracker(uint64_t seed, uint16_t host, uint16_t index, Run* run, ClientLog* log, PushLog* pushes);

  // Reports until run->stop. Then writes a record of the host, and waits for its push.
  void Work();

 private:
  // A report that is not settled.
  struct Open {
    uint32_t number = 0;  // of its operation
    int64_t sequence = 0;
    placement::v1::SessionRequest message;
    int64_t sent_ns = 0;
    bool is_sent_again = false;
  };

  void Begin();
  // Uses one stream until it ends, `turns` have passed, or a push of the revision `wanted` has come.
  void Follow(int turns, int64_t wanted);
  bool AwaitWelcome(TrackerStream* stream);
  void TakeWelcome(const placement::v1::SessionResponse& response, TrackerStream* stream);
  void SendReport(TrackerStream* stream);
  void SendAgain(TrackerStream* stream);
  void Take(const placement::v1::SessionResponse& response);
  void TakeAnswer(const placement::v1::SessionResponse& response);
  void TakePush(const placement::v1::SessionResponse& response);
  void Settle();
  bool IsAnswered(const placement::v1::SessionResponse& response) const;
  Operation& OpenOperation() { return log_->operations[open_->number]; }

  uint64_t Upto(uint64_t count) { return random_() % count; }

  std::mt19937_64 random_;
  const uint16_t host_;
  const uint16_t index_;
  Run* const run_;
  ClientLog* const log_;
  PushLog* const pushes_;
  TrackerName name_;
  int process_ = 0;                          // that the stream leads to
  bool must_snapshot_ = true;                // the next report has to be a snapshot
  bool may_report_ = false;                  // placement does not want the tracker to wait
  int64_t applied_ = 0;                      // the number of the last report that was applied
  int64_t used_ = 0;                         // the highest number that no other report may have
  std::string digest_;                       // of the last report that was acknowledged
  std::optional<Open> open_;                 // the report that waits for its answer
  std::map<uint16_t, int64_t> generations_;  // of providers, as last told
  std::optional<placement::v1::Revision> pushed_;  // of the last push
  std::optional<Push> push_;                       // whose last slice has not come
  bool restarts_ = true;                           // no push has come since the process started
  int64_t beats_ = 0;
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_TRACKER_H_
