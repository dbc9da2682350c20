// A second implementation of the rules of PCI devices, for random tests. It looks at single devices
// instead of pools and shares no code with the product.
#ifndef BERTH_TESTS_TRACKER_DEVICES_NAIVE_DEVICES_H_
#define BERTH_TESTS_TRACKER_DEVICES_NAIVE_DEVICES_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace berth::tracker::naive {

using Texts = std::map<std::string, std::string>;

struct Device {
  std::string address, vendor, product, type, parent;
  int node = -1;  // -1: none
};

struct Spec {
  std::string vendor, product, address;  // empty: any
  Texts tags;
};

struct Request {
  int count = 1;
  std::vector<Texts> wanted;
  std::string policy;
};

struct Owner {
  std::string instance;
  bool allocated = false;
};

struct World {
  std::vector<Spec> specs;
  std::map<int, int> sockets;  // by cell
  std::map<std::string, Device> listed;
  std::map<std::string, Device> tracked;
  std::map<std::string, Owner> owners;

  const Spec* SpecOf(const Device& device) const;
  // All that a pool's devices have in common.
  Texts PropertiesOf(const Device& device) const;
  std::vector<std::string> RelativesOf(const std::string& address) const;
  bool IsFree(const std::string& address) const;
  void Sync();
  void Free(const std::string& address);

  // Returns the devices for each request, or nothing. `relatives`: a device that is taken takes its
  // relatives with it.
  std::optional<std::vector<std::string>> Choose(const std::vector<Request>& requests,
                                                 const std::set<int>& cells, bool relatives) const;
};

}  // namespace berth::tracker::naive

#endif  // BERTH_TESTS_TRACKER_DEVICES_NAIVE_DEVICES_H_
