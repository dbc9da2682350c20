// Faults: everything that is wrong with the form of a command, found without the state.
//
// Every rule collects the faults first, in the order of the request. The refusal carries the reason
// of the first fault and lists all faults with that reason. Only the first kItemsMax faults are
// kept. The others are only counted, since a request may be wrong in millions of places. A local
// value of one decision.
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

// The reasons with which a malformed command is refused.
inline constexpr absl::string_view kInvalidField = "INVALID_FIELD";
inline constexpr absl::string_view kDuplicateParameter = "DUPLICATE_PARAMETER";
inline constexpr absl::string_view kGenerationRequired = "GENERATION_REQUIRED";
inline constexpr absl::string_view kInvalidName = "INVALID_NAME";

// The number of characters of `text`, counted in Unicode code points (P-10). REQUIRES: `text` is
// valid UTF-8.
int64_t CodePoints(absl::string_view text);

class Faults {
 public:
  // Adds a fault. `field` is the path of the field in the protos. `why` completes the sentence that
  // begins with `field`, e.g. "must be positive".
  void Add(absl::string_view reason, std::string field, absl::string_view why,
           FaultItem metadata = {});
  // Adds INVALID_FIELD unless `text` has `min`..`max` characters.
  void Length(absl::string_view field, absl::string_view text, int64_t min, int64_t max);
  // Adds INVALID_FIELD if `text` has a control character, which would break the lines of tables and
  // logs.
  void Line(absl::string_view field, absl::string_view text);
  // Adds INVALID_FIELD unless `name` may be the name of a class or a trait (P-21).
  void UpperName(absl::string_view field, absl::string_view name);

  // OK if there are no faults, else INVALID_ARGUMENT.
  absl::Status status() const;

 private:
  struct Found {
    std::string reason;
    std::string message;
    FaultItem item;
  };
  std::vector<Found> found_;  // the first faults, at most kItemsMax
  size_t more_ = 0;           // how many more faults there are
};

// Adds a fault if a list has more than `max` elements. Returns whether the list has at most `max`
// elements. If not, the caller should not check the elements.
bool AtMostField(Faults& faults, absl::string_view field, size_t count, size_t max);
// Adds a fault if `bytes` is longer than `max`.
void AtMostBytes(Faults& faults, absl::string_view field, absl::string_view bytes, size_t max);

// The maximum numbers of characters: of a provider's name (P-10), of a consumer's project and user,
// and of most texts of a service, node, instance or migration (T-1).
inline constexpr int64_t kProviderNameMax = 200;
inline constexpr int64_t kOwnerMax = 255;
inline constexpr int64_t kTextMax = 255;
// The maximum size in bytes of a node's facts. The facts list every PCI device of the host: a network
// card has up to 256 virtual functions, of up to 300 bytes each.
inline constexpr size_t kFactsBytesMax = 1 << 20;
// The maximum size in bytes of a node's account (fleet.h).
inline constexpr size_t kAccountBytesMax = 64 << 10;
// The maximum size in bytes of an instance's details (instance.h).
inline constexpr size_t kRecordBytesMax = 64 << 10;
// The maximum numbers of traits, of aggregates and of inventories that one provider may have.
inline constexpr size_t kTraitsMax = 1024;
inline constexpr size_t kAggregatesMax = 1024;
inline constexpr size_t kInventoriesMax = 256;
// The maximum numbers of any-of sets in one list of a query, and of names and uuids in a query.
inline constexpr size_t kTermsMax = 64;
inline constexpr size_t kQueryNamesMax = 4096;

// Adds GENERATION_REQUIRED if `present` is false (P-96).
void RequireGenerationField(Faults& faults, bool present);

// Checks each field of `inventory` by itself (P-7, P-14, P-15). CheckInventories checks whether the
// fields agree with each other. `field`: the path of the inventory.
void InventoryFields(Faults& faults, const std::string& field, const NamedInventory& inventory);

// Checks that reserved, total and ratio of each inventory agree with each other (P-16, P-17). Fails
// with INVALID_ARGUMENT / INVALID_INVENTORY, with one item for each wrong inventory. Each item also
// contains `metadata`. REQUIRES: InventoryFields found no fault.
absl::Status CheckInventories(const std::vector<NamedInventory>& inventories,
                              const FaultItem& metadata = {});

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_FAULTS_H_
