#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "placement/form.h"
#include "placement/inventory_write.h"
#include "placement/report_plan.h"

namespace berth::placement {
namespace {

constexpr size_t kProvidersMax = 2000;  // of one node, and of what it says has gone

using Ids = absl::flat_hash_set<ProviderId>;

// Where entry `at` stands: a snapshot tells each parent before its children, a delta may lean on
// what stands. `before` holds the entries before it.
void ParentField(Form& form, const std::string& field, const ApplyReport& report,
                 const ReportedProvider& provider, const Ids& before) {
  if (provider.id == report.node) {
    if (provider.parent) form.Fault(kInvalidField, field, "must be empty for the node's root");
  } else if (!provider.parent || *provider.parent == provider.id) {
    form.Fault(kInvalidField, field, "must name another provider");
  } else if (report.complete && !before.contains(*provider.parent)) {
    form.Fault(kInvalidField, field, "must name a provider that stands earlier in the report");
  }
}

void TraitFields(Form& form, const std::string& field, const std::vector<std::string>& traits) {
  if (!AtMostField(form, field, traits.size(), kTraitsMax)) return;
  for (const std::string& trait : traits) form.UpperName(field, trait);
}

void ProviderFields(Form& form, size_t at, const ApplyReport& report, const Ids& before) {
  const ReportedProvider& provider = report.providers[at];
  const std::string field = absl::StrCat("providers[", at, "]");
  form.Length(absl::StrCat(field, ".name"), provider.name, 1, kProviderNameMax);
  if (provider.id == report.node && provider.name != report.node_name) {
    form.Fault(kInvalidField, absl::StrCat(field, ".name"), "must be the node's name");
  }
  if (before.contains(provider.id)) {
    form.Fault(kDuplicateParameter, absl::StrCat(field, ".uuid"),
               absl::StrCat("names ", provider.id.ToString(), " again"),
               {{"provider", provider.id.ToString()}});
  }
  ParentField(form, absl::StrCat(field, ".parent"), report, provider, before);
  InventoryListFields(form, absl::StrCat(field, ".inventories"), provider.inventories);
  TraitFields(form, absl::StrCat(field, ".traits_present"), provider.traits_present);
  TraitFields(form, absl::StrCat(field, ".traits_absent"), provider.traits_absent);
}

// A snapshot says what goes by not naming it; a delta names it, and nothing else about it.
void RemovedFields(Form& form, const ApplyReport& report, const Ids& reported) {
  if (report.complete && !report.removed.empty()) {
    form.Fault(kInvalidField, "removed", "must be empty in a snapshot");
  }
  Ids before;
  for (const ProviderId id : report.removed) {
    if (id == report.node || reported.contains(id)) {
      form.Fault(kInvalidField, "removed", absl::StrCat("must not name ", id.ToString()),
                 {{"provider", id.ToString()}});
    } else if (!before.insert(id).second) {
      form.Fault(kDuplicateParameter, "removed", absl::StrCat("names ", id.ToString(), " twice"),
                 {{"provider", id.ToString()}});
    }
  }
}

void NamesOnce(Form& form, const std::vector<ReportedProvider>& providers) {
  absl::flat_hash_set<absl::string_view> names;
  for (size_t i = 0; i < providers.size(); ++i) {
    if (names.insert(providers[i].name).second) continue;
    form.Fault(kDuplicateParameter, absl::StrCat("providers[", i, "].name"),
               absl::StrCat("has the name ", providers[i].name, " again"));
  }
}

}  // namespace

absl::Status CheckForm(const ApplyReport& report) {
  Form form;
  AtMostField(form, "providers", report.providers.size(), kProvidersMax);
  AtMostField(form, "removed", report.removed.size(), kProvidersMax);
  if (absl::Status status = form.status(); !status.ok()) return status;
  form.Length("host", report.host, 1, kTextMax);
  form.Length("node_name", report.node_name, 1, kProviderNameMax);
  form.Line("host", report.host);
  form.Line("node_name", report.node_name);
  form.Length("digest", report.digest, 0, kTextMax);
  if (report.facts && report.facts->size() > kFactsBytesMax) {
    form.Fault(
        kInvalidField, "facts",
        absl::StrCat("must have ", kFactsBytesMax, " bytes at most, has ", report.facts->size()));
  }
  if (report.complete && (report.providers.empty() || report.providers.front().id != report.node)) {
    form.Fault(kInvalidField, "providers", "must begin with the node's root");
  }
  Ids before;
  for (size_t i = 0; i < report.providers.size(); ++i) {
    ProviderFields(form, i, report, before);
    before.insert(report.providers[i].id);
  }
  NamesOnce(form, report.providers);
  RemovedFields(form, report, before);
  return form.status();
}

}  // namespace berth::placement
