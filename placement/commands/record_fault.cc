#include "placement/commands/record_fault.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/values/refusal.h"

namespace berth::placement {

absl::Status AtRecord(RecordNumber record, const absl::Status& status) {
  const std::optional<Refusal> refusal = RefusalOf(status);
  if (!refusal) return status;
  std::vector<FaultItem> items = refusal->items;
  if (items.empty()) items.emplace_back();
  for (FaultItem& item : items) item["record"] = absl::StrCat(record);
  return Refuse(status.code(), refusal->reason,
                absl::StrCat("record ", record, ": ", status.message()), items);
}

}  // namespace berth::placement
