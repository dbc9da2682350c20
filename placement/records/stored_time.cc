#include "placement/records/stored_time.h"

#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/time_util.h>

namespace berth::placement {

using google::protobuf::util::TimeUtil;

google::protobuf::Timestamp TimestampOf(absl::Time time) {
  return TimeUtil::MicrosecondsToTimestamp(absl::ToUnixMicros(time));
}

bool ReadTime(const google::protobuf::Timestamp& time, absl::Time* to) {
  if (time.seconds() < TimeUtil::kTimestampMinSeconds ||
      time.seconds() > TimeUtil::kTimestampMaxSeconds || time.nanos() < 0 ||
      time.nanos() > 999'999'999) {
    return false;
  }
  *to = absl::FromUnixMicros(TimeUtil::TimestampToMicroseconds(time));
  return true;
}

}  // namespace berth::placement
