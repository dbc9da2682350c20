// Formats providers as text for people. Pure: takes messages, returns text.
#ifndef BERTH_SERVICES_CLI_TEXT_PROVIDER_VIEW_H_
#define BERTH_SERVICES_CLI_TEXT_PROVIDER_VIEW_H_

#include <string>
#include <vector>

#include "berth/placement/v1/inventory.pb.h"
#include "berth/placement/v1/provider.pb.h"
#include "berth/placement/v1/report.pb.h"
#include "google/protobuf/map.h"
#include "google/protobuf/repeated_field.h"
#include "services/cli/text/screen.h"
#include "services/cli/text/table.h"

namespace berth::cli {

using Inventories = google::protobuf::Map<std::string, placement::v1::Inventory>;
using Providers = google::protobuf::RepeatedPtrField<placement::v1::Provider>;

// One line for each provider.
Table ProviderTable(const Providers& providers);

// One line for each class.
Table InventoryTable(const Inventories& inventories);

// Everything about one provider, in the full view.
std::string ProviderPage(const placement::v1::Provider& provider, const Screen& screen);

// A sentence for each inventory of which more is allocated than its capacity.
std::vector<std::string> OvercommitNotes(
    const google::protobuf::RepeatedPtrField<placement::v1::ProviderOvercommit>& overcommitted);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_PROVIDER_VIEW_H_
