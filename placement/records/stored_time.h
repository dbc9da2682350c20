// Times of records as the messages of the ledger have them: whole microseconds.
#ifndef BERTH_PLACEMENT_RECORDS_STORED_TIME_H_
#define BERTH_PLACEMENT_RECORDS_STORED_TIME_H_

#include "absl/time/time.h"

namespace google::protobuf {
class Timestamp;
}  // namespace google::protobuf

namespace berth::placement {

// REQUIRES: the time is in the years 1 to 9999.
google::protobuf::Timestamp TimestampOf(absl::Time time);

// Returns false, and leaves `to` as it is, if the time is not in the years 1 to 9999.
bool ReadTime(const google::protobuf::Timestamp& time, absl::Time* to);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RECORDS_STORED_TIME_H_
