#include "services/cli/text/time_text.h"

#include "google/protobuf/util/time_util.h"

namespace berth::cli {

std::string TimeText(google::protobuf::Timestamp time) {
  time.set_nanos(0);
  return google::protobuf::util::TimeUtil::ToString(time);
}

}  // namespace berth::cli
