#include "services/cli/text/usage_view.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/bar.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kUsageBarWidth = 10;

// Returns how full a class is, in percent. Without colours, because Table would remove them.
std::string Share(int64_t used, int64_t capacity, const Screen& screen) {
  const double percent =
      capacity <= 0 ? 0 : 100.0 * static_cast<double>(used) / static_cast<double>(capacity);
  const std::string number = absl::StrFormat("%3.0f%%", percent);
  const Screen plain{.bars = screen.bars};
  return screen.bars ? absl::StrCat(Bar(used, capacity, kUsageBarWidth, plain), " ", number)
                     : number;
}

}  // namespace

Table UsageTable(const Inventories& inventories, const Screen& screen) {
  Table table({{"CLASS", Column::Kind::kExact},
               {"USED", Column::Kind::kNumber},
               {"CAPACITY", Column::Kind::kNumber},
               {"FREE", Column::Kind::kNumber},
               {"FULL", Column::Kind::kExact}});
  for (const std::string& name : ClassesOf(inventories)) {
    const pb::Inventory& inventory = inventories.at(name);
    table.Add({name, absl::StrCat(inventory.used()), absl::StrCat(inventory.capacity()),
               absl::StrCat(std::max<int64_t>(0, inventory.capacity() - inventory.used())),
               Share(inventory.used(), inventory.capacity(), screen)});
  }
  return table;
}

Table ProjectUsageTable(const pb::GetUsagesResponse& answer) {
  Table table({{"TYPE", Column::Kind::kText},
               {"CONSUMERS", Column::Kind::kNumber},
               {"CLASS", Column::Kind::kExact},
               {"USED", Column::Kind::kNumber},
               {"SIZE", Column::Kind::kNumber}});
  for (const pb::UsageGroup& group : answer.groups()) {
    for (const std::string& name : ClassesOf(group.resources())) {
      const int64_t used = group.resources().at(name);
      table.Add({group.consumer_type(), absl::StrCat(group.consumer_count()), name,
                 absl::StrCat(used), SizeOf(name, used)});
    }
  }
  return table;
}

Table UsageReportTable(const pb::ReportUsagesResponse& answer, const Screen& screen) {
  Table table({{"NAME", Column::Kind::kText},
               {"CLASS", Column::Kind::kExact},
               {"USED", Column::Kind::kNumber},
               {"CAPACITY", Column::Kind::kNumber},
               {"FREE", Column::Kind::kNumber},
               {"FULL", Column::Kind::kExact}});
  for (const pb::UsageRow& row : answer.rows()) {
    for (const std::string& name : ClassesOf(row.resources())) {
      const pb::ClassUsage& usage = row.resources().at(name);
      table.Add({row.name().empty() ? row.key() : row.name(), name, absl::StrCat(usage.used()),
                 absl::StrCat(usage.capacity()), absl::StrCat(usage.free()),
                 Share(usage.used(), usage.capacity(), screen)});
    }
  }
  return table;
}

}  // namespace berth::cli
