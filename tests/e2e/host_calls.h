// HostCalls: a test with one host of its own, whose tracker the test plays. Not thread-safe.
#ifndef BERTH_TESTS_E2E_HOST_CALLS_H_
#define BERTH_TESTS_E2E_HOST_CALLS_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/fleet.pb.h"
#include "berth/placement/v1/host.pb.h"
#include "berth/placement/v1/instance.pb.h"
#include "tests/e2e/calls.h"
#include "tests/processes/scripted_tracker.h"

namespace berth::e2e {

class HostCalls : public CallsTest {
 protected:
  // The reason of the refusal, with the field at fault.
  static std::string Refusal(const std::string& method, const Message& request, Message* response) {
    const grpc::Status status = Invoke(method, request, response);
    const auto infos = InfosOf(status);
    if (infos.empty()) return absl::StrCat("code ", status.error_code());
    const auto field = infos[0].metadata().find("field");
    return field == infos[0].metadata().end() ? infos[0].reason()
                                              : infos[0].reason() + " " + field->second;
  }
  static std::vector<pb::Host> Hosts() {
    std::vector<pb::Host> hosts;
    pb::ListHostsRequest list;
    list.set_page_size(2);
    pb::ListHostsResponse page;
    do {
      Do("HostService/ListHosts", list, &page);
      EXPECT_LE(page.hosts_size(), 2);
      for (const pb::Host& host : page.hosts()) hosts.push_back(host);
      list.set_page_token(page.next_page_token());
    } while (!page.next_page_token().empty());
    return hosts;
  }
  bool IsListed() const {
    for (const pb::Host& host : Hosts()) {
      if (host.host() == host_ && host.binary() == "berth-tracker") return true;
    }
    return false;
  }
  pb::Service Service() const {
    pb::ListServicesRequest list;
    list.set_host(host_);
    pb::ListServicesResponse listed;
    Do("FleetService/ListServices", list, &listed);
    return listed.services_size() == 1 ? listed.services(0) : pb::Service();
  }
  pb::DescribeHostResponse Describe() const {
    pb::DescribeHostRequest describe;
    describe.set_host(host_);
    pb::DescribeHostResponse described;
    Do("HostService/DescribeHost", describe, &described);
    return described;
  }
  // A snapshot with an account: `used` of `memory` MiB are promised, 512 of them to the host.
  static pb::SessionRequest Report(Tracker& tracker, int64_t sequence, int64_t used) {
    pb::SessionRequest request = tracker.MakeSnapshot(sequence, 16, std::nullopt);
    pb::Report& report = *request.mutable_report();
    report.mutable_facts()->set_memory_mib(4096);
    report.mutable_facts()->set_disk_gib(100);
    report.mutable_account()->mutable_used()->set_memory_mib(used);
    report.mutable_account()->mutable_used()->set_vcpus(2);
    report.mutable_account()->mutable_reserve()->set_memory_mib(512);
    report.mutable_account()->set_disk_available_least_gib(-7);
    (*report.mutable_account()->mutable_counters())["num_instances"] = 3;
    (*report.mutable_account()->mutable_counters())["num_task_migrating"] = 2;
    (*report.mutable_account()->mutable_counters())["num_task_None"] = 1;
    return request;
  }
  void AddInstance(const std::string& project) const {
    pb::SetInstanceRequest set;
    pb::Instance& instance = *set.mutable_instance();
    instance.set_uuid(Random());
    instance.set_project_id(project);
    instance.set_user_id("u");
    instance.set_host(host_);
    instance.set_node_uuid(node_);
    instance.set_vm_state("active");
    instance.mutable_flavor()->set_vcpus(2);
    instance.mutable_flavor()->set_memory_mib(1024);
    instance.mutable_flavor()->set_root_disk_gib(10);
    instance.mutable_flavor()->set_swap_mib(2048);
    pb::SetInstanceResponse stored;
    Do("InstanceService/SetInstance", set, &stored);
  }

  const std::string node_ = Random();
  const std::string host_ = "host-" + Random();
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_E2E_HOST_CALLS_H_
