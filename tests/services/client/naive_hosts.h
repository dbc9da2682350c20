// What Hosts has to say, by the rules alone, read from all entities of a ledger.
#ifndef BERTH_TESTS_SERVICES_CLIENT_NAIVE_HOSTS_H_
#define BERTH_TESTS_SERVICES_CLIENT_NAIVE_HOSTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/client/cpp/filters.h"
#include "services/client/cpp/host_view.h"

namespace berth::client {

struct Promised {
  std::string node, host;
};

// All entities of a ledger, by key; and what a scheduler has taken from each node.
struct Ledger {
  std::map<std::string, pb::Node> nodes;
  std::map<std::string, pb::Service> services;
  std::map<std::string, pb::Provider> providers;
  std::map<std::string, pb::Instance> instances;
  std::map<std::string, pb::ServerGroup> groups;
  std::map<std::string, pb::Aggregate> aggregates;
  std::map<std::string, pb::Node> records;                  // those that the views have
  std::map<std::string, std::vector<HostDemand>> consumed;  // since these records
  std::map<std::string, Promised> promises;                 // by instance, until it has a host
};

// A view, and a group, as text.
std::string InWords(const HostView& host);
std::string InWords(const std::optional<HostGroup>& group);

// Null: the host has no tracker.
const pb::Service* ServiceOf(const Ledger& ledger, const std::string& host);

// What the view of the node has to say. Empty: there is none.
std::string Naive(const Ledger& ledger, const std::string& uuid);
// What the group has to say.
std::string NaiveGroup(const Ledger& ledger, const std::string& uuid);

}  // namespace berth::client

#endif  // BERTH_TESTS_SERVICES_CLIENT_NAIVE_HOSTS_H_
