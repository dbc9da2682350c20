#include "tracker/hypervisor/device_reader.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth::tracker {
namespace {

std::vector<const NodeDevice*> All(const DocumentCache<NodeDevice>& documents) {
  std::vector<const NodeDevice*> devices;
  for (const auto& [name, device] : documents.contents()) devices.push_back(&device);
  return devices;
}

}  // namespace

absl::StatusOr<std::vector<PciDevice>> DeviceReader::Read(MonotonicTime now,
                                                          absl::Duration interval,
                                                          std::vector<std::string>* warnings) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<ListedDevice> listed, hypervisor_->Devices());
  std::map<std::string, int64_t> run_by_name;
  for (const ListedDevice& device : listed) run_by_name[device.name] = 0;
  std::set<std::string> offering;
  for (const NodeDevice* const device : All(documents_)) {
    if (!device->mediated_types.empty()) offering.insert(device->name);
  }
  // No event says that a device can make more or fewer mediated devices than before.
  documents_.Outdate(offering);
  const std::vector<std::string> wanted = documents_.Plan(run_by_name, now, interval);
  BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> added,
                         ReadDocuments(listed, wanted, warnings));
  std::vector<const NodeDevice*> added_devices;
  added_devices.reserve(added.size());
  for (const std::string& name : added) added_devices.push_back(documents_.Find(name));
  std::set<std::string> parents = PhysicalFunctionsOf(added_devices, All(documents_));
  for (const std::string& name : wanted) parents.erase(name);
  documents_.Outdate(parents);
  BERTH_RETURN_IF_ERROR(ReadDocuments(listed, {parents.begin(), parents.end()}, warnings).status());
  return LinkDevices(All(documents_));
}

std::vector<MediatedParent> DeviceReader::mediated_parents() const {
  return FindMediatedParents(All(documents_));
}

absl::StatusOr<std::vector<std::string>> DeviceReader::ReadDocuments(
    const std::vector<ListedDevice>& listed, const std::vector<std::string>& names,
    std::vector<std::string>* warnings) {
  std::vector<ListedDevice> asked;
  for (const ListedDevice& device : listed) {
    if (std::binary_search(names.begin(), names.end(), device.name)) asked.push_back(device);
  }
  BERTH_ASSIGN_OR_RETURN(const DocumentTexts texts, hypervisor_->DeviceDocuments(asked));
  std::vector<std::string> added;
  for (size_t i = 0; i < asked.size(); ++i) {
    const std::string& name = asked[i].name;
    if (absl::IsNotFound(texts[i].status())) {
      documents_.Forget(name);
      continue;
    }
    absl::StatusOr<NodeDevice> parsed =
        texts[i].ok() ? ParseNodeDevice(*texts[i]) : texts[i].status();
    if (!parsed.ok()) {
      warnings->push_back(absl::StrCat("device ", name, ": ", parsed.status().message()));
      continue;
    }
    if (documents_.Find(name) == nullptr) added.push_back(name);
    documents_.Store(name, 0, *std::move(parsed));
  }
  return added;
}

}  // namespace berth::tracker
