#include "tests/tracker/devices/naive_devices.h"

#include <algorithm>
#include <tuple>

namespace berth::tracker::naive {
namespace {

bool IsFunction(const Device& device) { return device.type == "type-VF" || device.type == "vdpa"; }

std::string Lower(std::string text) {
  for (char& letter : text) letter = static_cast<char>(tolower(letter));
  return text;
}

bool Offers(const Texts& offered, const Texts& wanted) {
  for (const auto& [key, value] : wanted) {
    const auto found = offered.find(key);
    if (found == offered.end() || Lower(found->second) != Lower(value)) return false;
  }
  return true;
}

bool AsksFor(const Request& request, const std::string& key, const std::string& value) {
  for (const Texts& wanted : request.wanted) {
    const auto found = wanted.find(key);
    if (found != wanted.end() && found->second == value) return true;
  }
  return false;
}

bool Serves(const Texts& offered, const Request& request) {
  for (const char* const type : {"type-PF", "vdpa"}) {
    if (offered.at("dev_type") == type && !AsksFor(request, "dev_type", type)) return false;
  }
  for (const Texts& wanted : request.wanted) {
    if (Offers(offered, wanted)) return true;
  }
  return false;
}

}  // namespace

const Spec* World::SpecOf(const Device& device) const {
  for (const Spec& spec : specs) {
    if (!spec.vendor.empty() && spec.vendor != device.vendor) continue;
    if (!spec.product.empty() && spec.product != device.product) continue;
    if (!spec.address.empty() && spec.address != device.address && spec.address != device.parent) {
      continue;
    }
    return &spec;
  }
  return nullptr;
}

Texts World::PropertiesOf(const Device& device) const {
  Texts texts = SpecOf(device)->tags;
  texts["vendor_id"] = device.vendor;
  texts["product_id"] = device.product;
  texts["dev_type"] = device.type;
  texts["address"] = IsFunction(device) ? device.parent : device.address;
  if (device.type != "type-PCI") texts["remote_managed"] = "false";
  return texts;
}

std::vector<std::string> World::RelativesOf(const std::string& address) const {
  std::vector<std::string> found;
  const Device& device = tracked.at(address);
  for (const auto& [other, with] : tracked) {
    if (with.parent == address || (device.parent == other && with.type == "type-PF")) {
      found.push_back(other);
    }
  }
  return found;
}

bool World::IsFree(const std::string& address) const {
  if (owners.count(address) != 0 || SpecOf(tracked.at(address)) == nullptr) return false;
  for (const std::string& relative : RelativesOf(address)) {
    if (owners.count(relative) != 0) return false;
  }
  return true;
}

void World::Sync() {
  std::map<std::string, Device> next;
  for (const auto& [address, device] : tracked) {
    if (owners.count(address) != 0) next[address] = device;
  }
  for (const auto& [address, device] : listed) {
    if (SpecOf(device) != nullptr) next.emplace(address, device);
  }
  tracked = next;
}

void World::Free(const std::string& address) {
  owners.erase(address);
  tracked.erase(address);
  const auto found = listed.find(address);
  if (found != listed.end() && SpecOf(found->second) != nullptr) tracked[address] = found->second;
}

std::optional<std::vector<std::string>> World::Choose(const std::vector<Request>& requests,
                                                      const std::set<int>& cells,
                                                      bool relatives) const {
  std::set<std::string> gone;
  std::vector<std::string> chosen;
  for (const Request& request : requests) {
    std::set<int> near = cells, wide;
    for (const int cell : cells) {
      for (const auto& [other, socket] : sockets) {
        if (socket == sockets.at(cell)) wide.insert(other);
      }
    }
    std::vector<std::string> all, strict, on_socket, legacy;
    for (const auto& [address, device] : tracked) {
      if (gone.count(address) != 0 || !IsFree(address)) continue;
      if (!Serves(PropertiesOf(device), request)) continue;
      all.push_back(address);
      if (near.count(device.node) != 0) strict.push_back(address);
      if (wide.count(device.node) != 0) on_socket.push_back(address);
      if (near.count(device.node) != 0 || device.node == -1) legacy.push_back(address);
    }
    const auto enough = [&](const std::vector<std::string>& list) {
      return static_cast<int>(list.size()) >= request.count;
    };
    std::vector<std::string> take = all;
    if (!cells.empty()) {
      if (request.policy == "required" || enough(strict)) {
        take = strict;
      } else if (request.policy == "socket") {
        take = on_socket;
      } else if (request.policy == "legacy" || enough(legacy)) {
        take = legacy;
      }
    }
    if (!enough(take)) return std::nullopt;
    const bool anywhere = !cells.empty() && take == all && take != legacy && take != strict;
    const auto rank = [&](const std::string& address) {
      const Device& device = tracked.at(address);
      const Texts texts = PropertiesOf(device);
      const bool far = anywhere && request.policy == "preferred" && device.node != -1 &&
                       near.count(device.node) == 0;
      return std::make_tuple(far, texts.size(), texts, device.node, address);
    };
    std::sort(take.begin(), take.end(),
              [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
    int missing = request.count;
    for (const std::string& address : take) {
      if (missing == 0) break;
      if (!gone.insert(address).second) continue;
      chosen.push_back(address);
      --missing;
      if (!relatives) continue;
      for (const std::string& relative : RelativesOf(address)) gone.insert(relative);
    }
    if (missing > 0) return std::nullopt;
  }
  return chosen;
}

}  // namespace berth::tracker::naive
