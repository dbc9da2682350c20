#include "placement/values/faults.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "placement/values/catalog.h"

namespace berth::placement {
namespace {

constexpr double kRatioMax = 3.40282e38;

void AmountField(Faults& faults, const std::string& field, absl::string_view name, Amount value,
                 Amount min, const std::string& resource_class) {
  if (value >= min && value <= kAmountMax) return;
  faults.Add(kInvalidField, absl::StrCat(field, ".", name),
             absl::StrCat("must be ", min, " to ", kAmountMax, ", but is ", value),
             {{"resource_class", resource_class}});
}

}  // namespace

int64_t CodePoints(absl::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
}

void Faults::Add(absl::string_view reason, std::string field, absl::string_view why,
                 FaultItem metadata) {
  if (found_.size() >= kItemsMax) {
    ++more_;
    return;
  }
  std::string message = absl::StrCat(field, " ", why);
  metadata["field"] = std::move(field);
  found_.push_back({std::string(reason), std::move(message), std::move(metadata)});
}

void Faults::Length(absl::string_view field, absl::string_view text, int64_t min, int64_t max) {
  const int64_t length = CodePoints(text);
  if (length >= min && length <= max) return;
  Add(kInvalidField, std::string(field),
      absl::StrCat("must have ", min, " to ", max, " characters, but has ", length));
}

void Faults::Line(absl::string_view field, absl::string_view text) {
  const bool breaks = std::any_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
  if (breaks) Add(kInvalidField, std::string(field), "must have no control characters");
}

void Faults::UpperName(absl::string_view field, absl::string_view name) {
  if (IsUpperName(name)) return;
  Add(kInvalidField, std::string(field),
      "must consist of 1 to 255 capital letters, digits and underscores");
}

absl::Status Faults::status() const {
  if (found_.empty()) return absl::OkStatus();
  const std::string& reason = found_.front().reason;
  std::vector<FaultItem> items;
  for (const Found& found : found_) {
    if (found.reason == reason) items.push_back(found.item);
  }
  std::string message = found_.front().message;
  const size_t others = found_.size() - 1 + more_;
  if (others > 0) absl::StrAppend(&message, "; ", others, " more fields are at fault");
  return Refuse(absl::StatusCode::kInvalidArgument, reason, message, items);
}

bool AtMostField(Faults& faults, absl::string_view field, size_t count, size_t max) {
  if (count <= max) return true;
  faults.Add(kInvalidField, std::string(field),
             absl::StrCat("must name ", max, " at most, but names ", count));
  return false;
}

void AtMostBytes(Faults& faults, absl::string_view field, absl::string_view bytes, size_t max) {
  if (bytes.size() <= max) return;
  faults.Add(kInvalidField, std::string(field),
             absl::StrCat("must have ", max, " bytes at most, has ", bytes.size()));
}

void RequireGenerationField(Faults& faults, bool present) {
  if (!present) {
    faults.Add(kGenerationRequired, "expected_generation",
               "is required: give the generation that the provider had when it was last read");
  }
}

void InventoryFields(Faults& faults, const std::string& field, const NamedInventory& named) {
  faults.UpperName(absl::StrCat(field, ".resource_class"), named.resource_class);
  const Inventory& inventory = named.inventory;
  AmountField(faults, field, "total", inventory.total, 1, named.resource_class);
  AmountField(faults, field, "reserved", inventory.reserved, 0, named.resource_class);
  AmountField(faults, field, "min_unit", inventory.min_unit, 1, named.resource_class);
  AmountField(faults, field, "max_unit", inventory.max_unit, 1, named.resource_class);
  AmountField(faults, field, "step_size", inventory.step_size, 1, named.resource_class);
}

absl::Status CheckInventories(const std::vector<NamedInventory>& inventories,
                              const FaultItem& metadata) {
  std::vector<FaultItem> items;
  std::string message;
  const auto fault = [&](const NamedInventory& named, absl::string_view field,
                         const std::string& why) {
    if (message.empty()) message = absl::StrCat(named.resource_class, ": ", why);
    FaultItem& item = items.emplace_back(metadata);
    item["resource_class"] = named.resource_class;
    item["field"] = std::string(field);
  };
  for (const NamedInventory& named : inventories) {
    const Inventory& inventory = named.inventory;
    if (inventory.reserved > inventory.total) {
      fault(named, "reserved",
            absl::StrCat("reserved is ", inventory.reserved, ", which is more than the total of ",
                         inventory.total));
    }
    // Written in this way, the comparison also refuses a NaN.
    if (!(inventory.allocation_ratio > 0 && inventory.allocation_ratio <= kRatioMax)) {
      fault(named, "allocation_ratio",
            absl::StrCat("allocation_ratio must be a number above 0 and at most ", kRatioMax,
                         ", but is ", inventory.allocation_ratio));
    }
  }
  if (items.empty()) return absl::OkStatus();
  return Refuse(absl::StatusCode::kInvalidArgument, "INVALID_INVENTORY", message, items);
}

}  // namespace berth::placement
