#include "tracker/hypervisor/device_reader.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace berth::tracker {

absl::StatusOr<std::vector<PciDevice>> DeviceReader::Read(absl::Time now, absl::Duration interval,
                                                          std::vector<std::string>* warnings) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<ListedDevice> listed, hypervisor_->Devices());
  std::map<std::string, int64_t> run_by_name;
  for (const ListedDevice& device : listed) run_by_name[device.name] = 0;
  const std::vector<std::string> wanted = documents_.Plan(run_by_name, now, interval);
  BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> added,
                         ReadDocuments(listed, wanted, warnings));
  std::set<std::string> parents = PhysicalFunctionsOf(Parsed(added), Parsed());
  for (const std::string& name : wanted) parents.erase(name);
  documents_.Outdate(parents);
  BERTH_RETURN_IF_ERROR(ReadDocuments(listed, {parents.begin(), parents.end()}, warnings).status());
  for (const auto& [name, document] : documents_.contents()) {
    if (!document.ok()) warnings->push_back(std::string(document.status().message()));
  }
  return LinkDevices(Parsed());
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
    if (texts[i].ok()) {
      if (documents_.Find(name) == nullptr) added.push_back(name);
      documents_.Store(name, 0, ParseNodeDevice(*texts[i]));
    } else if (absl::IsNotFound(texts[i].status())) {
      documents_.Forget(name);
    } else {
      warnings->push_back(std::string(texts[i].status().message()));
    }
  }
  return added;
}

std::vector<const NodeDevice*> DeviceReader::Parsed(const std::vector<std::string>& names) {
  std::vector<const NodeDevice*> devices;
  for (const std::string& name : names) {
    const absl::StatusOr<NodeDevice>* const document = documents_.Find(name);
    if (document->ok()) devices.push_back(&**document);
  }
  return devices;
}

std::vector<const NodeDevice*> DeviceReader::Parsed() const {
  std::vector<const NodeDevice*> devices;
  for (const auto& [name, document] : documents_.contents()) {
    if (document.ok()) devices.push_back(&*document);
  }
  return devices;
}

}  // namespace berth::tracker
