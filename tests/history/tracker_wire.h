// Tracker wire: the messages of a tracker's session, made from records of a history, and turned into
// them. Pure.
#ifndef BERTH_TESTS_HISTORY_TRACKER_WIRE_H_
#define BERTH_TESTS_HISTORY_TRACKER_WIRE_H_

#include <cstdint>
#include <string>

#include "berth/placement/v1/report.pb.h"
#include "tests/history/history.h"
#include "tests/history/wire.h"

namespace berth::history {

// A tracker process, as its Hello names it.
struct TrackerName {
  uint16_t host = 0;
  std::string incarnation;
};

// `digest`: of the last report that was acknowledged. `pushed`: of the last push; null: there is none.
placement::v1::SessionRequest HelloOf(const TrackerName& name, const std::string& digest,
                                      const placement::v1::Revision* pushed);
// The report with the parts of `operation`. Its request id is the digest.
placement::v1::SessionRequest ReportOf(const ClientLog& log, const Operation& operation,
                                       int64_t sequence, placement::v1::ReportKind kind);
// Writes an Ack into the record.
void TakeAck(const placement::v1::SessionResponse& response, ClientLog* log, Operation* operation);
// What a Reject says.
Verdict VerdictOf(const placement::v1::Reject& reject);
// Adds what one slice of a push for the tracker of `host` has.
void TakeSlice(const placement::v1::Push& slice, PushLog* log, Push* push);

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_TRACKER_WIRE_H_
