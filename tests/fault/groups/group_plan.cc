#include "tests/fault/groups/group_plan.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "placement/ground/check.h"

namespace berth::fault {

std::string PlanPath(const std::string& directory) { return directory + "/plan.json"; }

std::string ProgressPath(const std::string& directory) { return directory + "/progress"; }

std::string ReportPath(const std::string& directory, int number) {
  return absl::StrCat(directory, "/report_", number);
}

std::string AddressIn(const std::string& address_file) {
  std::ifstream file(address_file);
  std::string address;
  std::getline(file, address);
  return address;
}

void WritePlan(const GroupPlan& plan, const std::string& path) {
  nlohmann::json json;
  json["address_files"] = plan.address_files;
  json["groups"] = plan.groups;
  json["node_of_host"] = plan.node_of_host;
  json["members"] = plan.members;
  json["until"] = absl::ToUnixMillis(plan.until);
  std::ofstream file(path);
  file << json;
  file.close();
  BERTH_CHECK(file.good());
}

GroupPlan ReadPlan(const std::string& path) {
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  BERTH_CHECK(json.is_object());
  GroupPlan plan;
  plan.address_files = json["address_files"].get<std::array<std::string, kGroupServers>>();
  plan.groups = json["groups"].get<std::vector<std::string>>();
  plan.node_of_host = json["node_of_host"].get<std::map<std::string, std::string>>();
  plan.members = json["members"];
  plan.until = absl::FromUnixMillis(json["until"]);
  return plan;
}

GroupProgress::GroupProgress(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  BERTH_CHECK(file >= 0);
  BERTH_CHECK(ftruncate(file, sizeof(GroupCounts)) == 0);  // what is new holds zeros
  void* const memory =
      mmap(nullptr, sizeof(GroupCounts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  BERTH_CHECK(memory != MAP_FAILED);
  close(file);
  counts_ = static_cast<GroupCounts*>(memory);
}

GroupProgress::~GroupProgress() { munmap(counts_, sizeof(GroupCounts)); }

}  // namespace berth::fault
