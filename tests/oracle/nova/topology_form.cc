#include "tests/oracle/nova/topology_form.h"

#include <array>
#include <utility>

namespace berth::oracle::nova {
namespace {

using tracker::CpuPolicy;
using tracker::CpuThreadPolicy;
using tracker::EmulatorThreadsPolicy;

constexpr std::array<std::pair<const char*, CpuPolicy>, 3> kCpuPolicies = {
    {{"shared", CpuPolicy::kShared},
     {"dedicated", CpuPolicy::kDedicated},
     {"mixed", CpuPolicy::kMixed}}};
constexpr std::array<std::pair<const char*, CpuThreadPolicy>, 3> kThreadPolicies = {
    {{"prefer", CpuThreadPolicy::kPrefer},
     {"isolate", CpuThreadPolicy::kIsolate},
     {"require", CpuThreadPolicy::kRequire}}};
constexpr std::array<std::pair<const char*, EmulatorThreadsPolicy>, 2> kEmulatorPolicies = {
    {{"share", EmulatorThreadsPolicy::kShare}, {"isolate", EmulatorThreadsPolicy::kIsolate}}};

template <typename Words>
auto ValueOf(const Words& words, const Json& word) {
  std::optional<typename Words::value_type::second_type> value;
  if (word.is_null()) return value;
  for (const auto& [name, named] : words) {
    if (word == name) value = named;
  }
  if (!value) throw nlohmann::json::other_error::create(501, "no policy: " + word.dump(), nullptr);
  return value;
}

template <typename Words, typename Value>
Json WordOf(const Words& words, const std::optional<Value>& value) {
  for (const auto& [name, named] : words) {
    if (value == named) return name;
  }
  return nullptr;
}

Json PageSize(int64_t size_kib) {
  return size_kib == tracker::kNoPageSize ? Json(nullptr) : Json(size_kib);
}

}  // namespace

tracker::CpuSet CpusOf(const Json& cpus) {
  tracker::CpuSet set;
  if (cpus.is_null()) return set;
  for (const int cpu : cpus) set.Insert(cpu);
  return set;
}

std::optional<tracker::GuestTopology> GuestOf(const Json& guest, bool placed) {
  if (guest.is_null()) return std::nullopt;
  tracker::GuestTopology topology;
  topology.emulator_threads_policy =
      ValueOf(kEmulatorPolicies, guest.at("emulator_threads_policy"));
  for (const Json& from : guest.at("cells")) {
    tracker::GuestCell cell;
    if (placed) cell.host_cell = from.at("id").get<int>();
    cell.shared_cpus = CpusOf(from.at("cpuset"));
    cell.pinned_cpus = CpusOf(from.at("pcpuset"));
    cell.memory_mib = from.at("memory");
    if (!from.at("pagesize").is_null()) cell.page_size_kib = from.at("pagesize");
    cell.cpu_policy = ValueOf(kCpuPolicies, from.at("cpu_policy"));
    cell.cpu_thread_policy = ValueOf(kThreadPolicies, from.at("cpu_thread_policy"));
    if (from.contains("cpu_pinning") && !from.at("cpu_pinning").is_null()) {
      for (const auto& [vcpu, cpu] : from.at("cpu_pinning").items()) {
        cell.pinning[std::stoi(vcpu)] = cpu;
      }
    }
    if (from.contains("cpuset_reserved")) cell.reserved_cpus = CpusOf(from.at("cpuset_reserved"));
    topology.cells.push_back(std::move(cell));
  }
  return topology;
}

std::vector<tracker::HostCell> HostOf(const Json& host) {
  std::vector<tracker::HostCell> cells;
  for (const Json& from : host.at("cells")) {
    tracker::HostCell cell;
    cell.offer.id = from.at("id");
    if (!from.at("socket").is_null()) cell.offer.socket = from.at("socket").get<int>();
    cell.offer.cpus = CpusOf(from.at("cpuset"));
    cell.offer.dedicated_cpus = CpusOf(from.at("pcpuset"));
    cell.offer.memory_mib = from.at("memory");
    for (const Json& set : from.at("siblings")) cell.offer.siblings.push_back(CpusOf(set));
    for (const Json& pages : from.at("mempages")) {
      cell.offer.pages.push_back({pages.at("size_kb"), pages.at("total"), 0, pages.at("reserved")});
      cell.usage.pages_by_size_kib[pages.at("size_kb")] = pages.at("used");
    }
    cell.usage.shared_cpus = from.at("cpu_usage");
    cell.usage.memory_mib = from.at("memory_usage");
    cell.usage.pinned_cpus = CpusOf(from.at("pinned_cpus"));
    if (from.contains("network")) {
      from.at("network").at("physnets").get_to(cell.offer.networks.physnets);
      cell.offer.networks.tunneled = from.at("network").at("tunneled");
    }
    cells.push_back(std::move(cell));
  }
  return cells;
}

Json Printed(const std::optional<tracker::GuestTopology>& guest) {
  if (!guest) return nullptr;
  Json cells = Json::array();
  for (const tracker::GuestCell& cell : guest->cells) {
    cells.push_back({{"id", cells.size()},
                     {"cpuset", cell.shared_cpus.Cpus()},
                     {"pcpuset", cell.pinned_cpus.Cpus()},
                     {"memory", cell.memory_mib},
                     {"pagesize", PageSize(cell.page_size_kib)},
                     {"cpu_policy", WordOf(kCpuPolicies, cell.cpu_policy)},
                     {"cpu_thread_policy", WordOf(kThreadPolicies, cell.cpu_thread_policy)}});
  }
  return {{"emulator_threads_policy", WordOf(kEmulatorPolicies, guest->emulator_threads_policy)},
          {"cells", cells}};
}

Json PrintedPlaces(const std::optional<tracker::GuestTopology>& guest) {
  if (!guest) return nullptr;
  Json cells = Json::array();
  for (const tracker::GuestCell& cell : guest->cells) {
    Json pinning = Json::object();
    for (const auto& [vcpu, cpu] : cell.pinning) pinning[std::to_string(vcpu)] = cpu;
    cells.push_back({{"id", cell.host_cell ? Json(*cell.host_cell) : Json(nullptr)},
                     {"cpu_pinning", pinning},
                     {"cpuset_reserved",
                      cell.reserved_cpus.empty() ? Json(nullptr) : Json(cell.reserved_cpus.Cpus())},
                     {"pagesize", PageSize(cell.page_size_kib)}});
  }
  return cells;
}

Json PrintedUsage(const std::vector<tracker::HostCell>& host) {
  Json cells = Json::array();
  for (const tracker::HostCell& cell : host) {
    Json pages = Json::object();
    for (const auto& [size_kib, used] : cell.usage.pages_by_size_kib) {
      pages[std::to_string(size_kib)] = used;
    }
    cells.push_back({{"id", cell.offer.id},
                     {"cpu_usage", cell.usage.shared_cpus},
                     {"memory_usage", cell.usage.memory_mib},
                     {"pinned_cpus", cell.usage.pinned_cpus.Cpus()},
                     {"pages_used", pages}});
  }
  return cells;
}

}  // namespace berth::oracle::nova
