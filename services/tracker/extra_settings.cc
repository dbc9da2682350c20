#include "services/tracker/extra_settings.h"

#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tracker/ground/status_macros.h"
#include "tracker/settings/mediated_types.h"
#include "tracker/settings/pmem_namespaces.h"

namespace berth::services {
namespace {

using tracker::NodeConfiguration;

absl::Status SetMediatedTypes(const Texts& texts, NodeConfiguration* node) {
  BERTH_ASSIGN_OR_RETURN(node->mediated_types, tracker::ParseMediatedTypes(texts));
  return absl::OkStatus();
}

absl::Status SetPmemNamespaces(const Texts& texts, NodeConfiguration* node) {
  BERTH_ASSIGN_OR_RETURN(node->pmem_namespaces, tracker::ParsePmemNamespaces(texts));
  return absl::OkStatus();
}

std::function<absl::Status(const Texts&, NodeConfiguration*)> GuestLimit(
    std::optional<int64_t> NodeConfiguration::*field) {
  return [field](const Texts& texts, NodeConfiguration* node) {
    int64_t value = 0;
    if (texts.size() != 1 || !absl::SimpleAtoi(texts[0], &value) || value < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", absl::StrJoin(texts, ","),
                       "' is not valid: it must be a whole number that is not negative"));
    }
    node->*field = value;
    return absl::OkStatus();
  };
}

}  // namespace

std::vector<NodeSetting> ExtraSettings() {
  using Node = NodeConfiguration;
  return {
      {"mediated-types",
       "Virtual GPUs that guests may get: JSON, such as {\"type\": \"nvidia-35\"}, also with "
       "addresses, resource_class and max_instances",
       SetMediatedTypes},
      {"sev-guests-max", "How many guests may have memory that AMD SEV encrypts",
       GuestLimit(&Node::sev_guests_max)},
      {"sev-es-guests-max", "How many guests may have memory that AMD SEV-ES encrypts",
       GuestLimit(&Node::sev_es_guests_max)},
      {"sev-snp-guests-max",
       "How many of the guests with SEV-ES may have SEV-SNP instead; default 0",
       GuestLimit(&Node::sev_snp_guests_max)},
      {"pmem-namespaces",
       "Namespaces of persistent memory for guests, such as 128G:ns0|ns1,MEDIUM:ns2",
       SetPmemNamespaces},
  };
}

}  // namespace berth::services
