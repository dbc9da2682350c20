#include "tests/processes/test_host.h"

#include <libvirt/virterror.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace berth::fault {
namespace {

constexpr int64_t kKibPerMib = 1024;

}  // namespace

std::unique_ptr<TestHost> TestHost::Start(std::string* why) {
  std::unique_ptr<tracker::LibvirtDaemon> daemon = tracker::LibvirtDaemon::Start(why);
  if (daemon == nullptr) return nullptr;
  const virConnectPtr connection = virConnectOpen(daemon->TestUri().c_str());
  if (connection == nullptr) {
    *why = "libvirt does not open its test driver";
    return nullptr;
  }
  std::unique_ptr<TestHost> host(new TestHost(std::move(daemon), connection));
  while (!host->Running().empty()) host->StopGuest(0);  // the driver comes with one
  return host;
}

TestHost::~TestHost() { virConnectClose(connection_); }

void TestHost::StartGuest(uint64_t random) {
  const std::string definition =
      absl::StrCat("<domain type='test'><name>guest", ++guests_, "</name><memory unit='MiB'>",
                   64 * (1 + random % 3), "</memory><vcpu>", 1 + random / 3 % 3,
                   "</vcpu><os><type>hvm</type></os></domain>");
  const virDomainPtr domain = virDomainCreateXML(connection_, definition.c_str(), 0);
  ASSERT_NE(domain, nullptr) << virGetLastErrorMessage();
  virDomainFree(domain);
}

void TestHost::StopGuest(uint64_t random) {
  const std::vector<virDomainPtr> domains = Domains();
  ASSERT_FALSE(domains.empty());
  EXPECT_EQ(virDomainDestroy(domains[random % domains.size()]), 0) << virGetLastErrorMessage();
  for (const virDomainPtr domain : domains) virDomainFree(domain);
}

std::vector<virDomainPtr> TestHost::Domains() const {
  virDomainPtr* list = nullptr;
  const int count = virConnectListAllDomains(connection_, &list, VIR_CONNECT_LIST_DOMAINS_ACTIVE);
  EXPECT_GE(count, 0) << virGetLastErrorMessage();
  std::vector<virDomainPtr> domains(list, list + std::max(count, 0));
  std::free(list);  // NOLINT: libvirt's own
  return domains;
}

std::vector<RunningGuest> TestHost::Running() const {
  std::vector<RunningGuest> running;
  for (const virDomainPtr domain : Domains()) {
    char uuid[VIR_UUID_STRING_BUFLEN];
    virDomainInfo info = {};
    EXPECT_EQ(virDomainGetUUIDString(domain, uuid), 0);
    EXPECT_EQ(virDomainGetInfo(domain, &info), 0);
    running.push_back({uuid, info.nrVirtCpu, static_cast<int64_t>(info.maxMem) / kKibPerMib});
    virDomainFree(domain);
  }
  std::sort(running.begin(), running.end(),
            [](const RunningGuest& a, const RunningGuest& b) { return a.uuid < b.uuid; });
  return running;
}

std::string TestHost::name() const {
  char* const text = virConnectGetHostname(connection_);
  const std::string name = text == nullptr ? "" : text;
  std::free(text);
  return name;
}

int64_t TestHost::cpus() const {
  unsigned int online = 0;
  EXPECT_GT(virNodeGetCPUMap(connection_, nullptr, &online, 0), 0) << virGetLastErrorMessage();
  return online;
}

int64_t TestHost::memory_mib() const {
  virNodeInfo info = {};
  EXPECT_EQ(virNodeGetInfo(connection_, &info), 0) << virGetLastErrorMessage();
  return static_cast<int64_t>(info.memory) / kKibPerMib;
}

}  // namespace berth::fault
