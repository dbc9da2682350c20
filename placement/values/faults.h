// Faults: everything that is wrong with the form of a command, found before the state is asked.
//
// Every rule begins here. Faults are collected in request order; the refusal carries the reason of
// the first and every fault with that reason, of the first kItemsMax: more are only counted, for a
// request may be wrong in millions of places. A local value of one decision; not shared.
#ifndef BERTH_PLACEMENT_VALUES_FAULTS_H_
#define BERTH_PLACEMENT_VALUES_FAULTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/values/refusal.h"
#include "placement/values/types.h"

namespace berth::placement {

// Reasons of form (section 9.2 of the specification).
inline constexpr absl::string_view kInvalidField = "INVALID_FIELD";
inline constexpr absl::string_view kDuplicateParameter = "DUPLICATE_PARAMETER";
inline constexpr absl::string_view kGenerationRequired = "GENERATION_REQUIRED";
inline constexpr absl::string_view kInvalidName = "INVALID_NAME";

// Characters of `text`, counted in Unicode code points (P-10). REQUIRES: valid UTF-8.
int64_t CodePoints(absl::string_view text);

class Faults {
 public:
  // `field` is the path as the protos write it, `why` continues the sentence "field ...".
  void Add(absl::string_view reason, std::string field, absl::string_view why,
           FaultItem metadata = {});
  // INVALID_FIELD unless `text` has `min`..`max` characters.
  void Length(absl::string_view field, absl::string_view text, int64_t min, int64_t max);
  // INVALID_FIELD where `text` has a control character: it would break the lines it is told in.
  void Line(absl::string_view field, absl::string_view text);
  // INVALID_FIELD unless `name` has the form of any class or trait (P-21).
  void UpperName(absl::string_view field, absl::string_view name);

  // OK where nothing is wrong, else INVALID_ARGUMENT.
  absl::Status status() const;

 private:
  struct Found {
    std::string reason;
    std::string message;
    FaultItem item;
  };
  std::vector<Found> found_;  // kItemsMax at most
  size_t more_ = 0;           // that were found beside those
};

// A fault where a list holds more than `max`; whether it does not. Only then each is worth a look.
bool AtMostField(Faults& faults, absl::string_view field, size_t count, size_t max);

// Characters of a provider's name (P-10), of a consumer's project and user, and of what a service
// or a node says of itself in words (T-1).
inline constexpr int64_t kProviderNameMax = 200;
inline constexpr int64_t kOwnerMax = 255;
inline constexpr int64_t kTextMax = 255;
// Bytes of what a node observed of itself (fleet.h).
inline constexpr size_t kFactsBytesMax = 64 << 10;
// What one provider may have.
inline constexpr size_t kTraitsMax = 1024;
inline constexpr size_t kAggregatesMax = 1024;
inline constexpr size_t kInventoriesMax = 256;
// What one query may ask for: any-of terms in a list, and names and uuids in all of it.
inline constexpr size_t kTermsMax = 64;
inline constexpr size_t kQueryNamesMax = 4096;

// GENERATION_REQUIRED where `present` is false (P-96).
void RequireGenerationField(Faults& faults, bool present);

// The limits of each field of `inventory` alone (P-7, P-14, P-15); `field` names it. What its
// fields must be to each other is CheckInventories'.
void InventoryFields(Faults& faults, const std::string& field, const NamedInventory& inventory);

// The rules of reserved, total and ratio, all inventories that break one (P-16, P-17):
// INVALID_ARGUMENT with INVALID_INVENTORY, each item with `metadata` too. REQUIRES: InventoryFields
// found nothing.
absl::Status CheckInventories(const std::vector<NamedInventory>& inventories,
                              const FaultItem& metadata = {});

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_FAULTS_H_
