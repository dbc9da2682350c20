// The tracker's settings: where they come from, what they make together, what is refused and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "services/tracker/settings.h"

namespace berth::services {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tracker::NodeConfiguration;
using tracker::OrphanPolicy;

class TrackerOptionsTest : public ::testing::Test {
 protected:
  TrackerOptionsTest() {
    char path[] = "/tmp/berth-options-XXXXXX";
    directory_ = mkdtemp(path);
    file_ = directory_ + "/tracker.toml";
    WriteFile("");
    for (const char* name : kVariables) unsetenv(name);
  }
  ~TrackerOptionsTest() override {
    for (const char* name : kVariables) unsetenv(name);
    std::filesystem::remove_all(directory_);
  }

  void WriteFile(const std::string& content) { std::ofstream(file_) << content; }

  absl::StatusOr<TrackerSettings> Read(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"berth-tracker", "--config=" + file_});
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    return ReadTrackerSettings(static_cast<int>(argv.size()), argv.data());
  }
  // The nodes that good settings make.
  std::vector<NodeConfiguration> Nodes(const std::vector<std::string>& arguments) {
    const absl::StatusOr<TrackerSettings> settings = Read(arguments);
    EXPECT_TRUE(settings.ok()) << settings.status();
    return settings.ok() ? settings->configuration.nodes : std::vector<NodeConfiguration>();
  }

  static constexpr const char* kVariables[] = {
      "BERTH_CONFIG", "BERTH_PLACEMENT",      "BERTH_RESERVED_HOST_MEMORY_MB",
      "BERTH_HOST",   "BERTH_CPU_SHARED_SET", "BERTH_HYPERVISOR",
  };
  std::string directory_;
  std::string file_;
};

TEST_F(TrackerOptionsTest, HaveDefaults) {
  const absl::StatusOr<TrackerSettings> settings = Read({});
  ASSERT_TRUE(settings.ok()) << settings.status();
  const tracker::Configuration& made = settings->configuration;
  EXPECT_EQ(settings->next, Config::Next::kStart);
  EXPECT_FALSE(made.host.empty());  // T-2: the system's name
  EXPECT_FALSE(made.my_address.empty());
  ASSERT_EQ(made.nodes.size(), 1U);
  EXPECT_EQ(made.nodes[0].uri, "qemu:///system");
  EXPECT_EQ(made.nodes[0].reserved_host_memory_mib, 512);                // T-200
  EXPECT_EQ(made.nodes[0].initial_cpu_allocation_ratio, 4.0);            // T-205
  EXPECT_EQ(made.nodes[0].orphans, OrphanPolicy::kWithhold);             // T-138
  EXPECT_EQ(tracker::PassInterval(made), absl::Seconds(60));             // T-44
  EXPECT_EQ(made.periodic_fuzzy_delay_seconds, 60);                      // T-29
  EXPECT_EQ(made.startup_driver_timeout, absl::Seconds(300));            // T-38
  EXPECT_EQ(made.driver_timeout, absl::Seconds(60));                     // T-70
  EXPECT_THAT(made.configuration_directories, ElementsAre(directory_));  // T-15
  EXPECT_THAT(settings->warnings, IsEmpty());
}

TEST_F(TrackerOptionsTest, FlagBeforeEnvironmentBeforeFile) {
  struct Case {
    bool flag, environment, file;
    int64_t reserve;
    const char* host;
  };
  for (const Case& sources :
       {Case{false, false, true, 1, "file"}, Case{false, true, true, 2, "env"},
        Case{true, true, true, 3, "flag"}, Case{true, false, false, 3, "flag"}}) {
    SCOPED_TRACE(sources.reserve);
    WriteFile(sources.file ? "host = 'file'\nreserved-host-memory-mb = 1\ncpu-shared-set = '0-1'\n"
                           : "");
    sources.environment ? setenv("BERTH_RESERVED_HOST_MEMORY_MB", "2", 1)
                        : unsetenv("BERTH_RESERVED_HOST_MEMORY_MB");
    sources.environment ? setenv("BERTH_HOST", "env", 1) : unsetenv("BERTH_HOST");
    std::vector<std::string> arguments;
    if (sources.flag) arguments = {"--reserved-host-memory-mb=3", "--host=flag"};
    const absl::StatusOr<TrackerSettings> settings = Read(arguments);
    ASSERT_TRUE(settings.ok()) << settings.status();
    EXPECT_EQ(settings->configuration.host, sources.host);
    EXPECT_EQ(settings->configuration.nodes[0].reserved_host_memory_mib, sources.reserve);
    EXPECT_EQ(settings->configuration.nodes[0].cpu_shared_set.has_value(), sources.file);
  }
}

TEST_F(TrackerOptionsTest, ATableSpeaksOfItsHypervisor) {
  WriteFile(R"(
reserved_host_memory_mb = 100
cpu_allocation_ratio = 8.0
[[hypervisor]]
name = "a"
uri = "test:///default"
cpu_shared_set = ["0-3", "^2"]
reserved_host_memory_mb = 200
orphans = "report"
mediated-types = ['{"type": "nvidia-63", "max_instances": 4}', '{"type": "b", "addresses": ["0000:84:00.0"]}']
sev-guests-max = 0
pmem-namespaces = ["128G:ns0|ns1", "MEDIUM:ns2"]
ratio-mode = "api"
rbd-report-usable = false
image_cache_path = "/var/cache/images"
reserve_hugepages_in_memory_mb = true
reserved_huge_pages = ["node:0,size:2048,count:64", "node:1,size:1GB,count:1"]
physical_network_cells = ["public:0", "storage:0-1"]
tunnel_cells = "1"
monitors = ["virt_driver"]
[[hypervisor]]
uri = "test:///other"
disk-allocation-ratio = 1.5
)");
  const std::vector<NodeConfiguration> nodes = Nodes({});
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].name, "a");
  EXPECT_EQ(nodes[0].uri, "test:///default");
  EXPECT_EQ(nodes[0].cpu_shared_set, tracker::CpuSet::Parse("0,1,3").value());  // T-72
  EXPECT_EQ(nodes[0].reserved_host_memory_mib, 200);
  EXPECT_EQ(nodes[0].cpu_allocation_ratio, 8.0);
  EXPECT_EQ(nodes[0].orphans, OrphanPolicy::kReport);
  EXPECT_EQ(nodes[0].ratio_mode, tracker::RatioMode::kApi);  // T-354
  EXPECT_TRUE(nodes[0].reserve_hugepages_in_memory_mib);     // T-355
  EXPECT_FALSE(nodes[0].rbd_report_usable);
  ASSERT_EQ(nodes[0].mediated_types.size(), 2U);
  EXPECT_EQ(nodes[0].mediated_types[0].max_instances, 4);  // T-207
  EXPECT_EQ(nodes[0].sev_guests_max, 0);                   // T-208
  EXPECT_EQ(nodes[1].sev_guests_max, std::nullopt);
  EXPECT_EQ(nodes[0].pmem_namespaces.size(), 2U);
  EXPECT_TRUE(nodes[1].rbd_report_usable);  // T-357
  EXPECT_EQ(nodes[0].image_cache_path, "/var/cache/images");
  ASSERT_EQ(nodes[0].reserved_huge_pages.size(), 2U);
  EXPECT_EQ(nodes[0].reserved_huge_pages[1].size_kib, 1048576);
  EXPECT_EQ(nodes[0].physical_network_cells.at("storage"), (tracker::CpuSet{0, 1}));
  EXPECT_EQ(nodes[0].tunnel_cells, tracker::CpuSet{1});
  EXPECT_EQ(nodes[0].monitors, std::vector<std::string>{"virt_driver"});
  EXPECT_EQ(nodes[1].name, "");
  EXPECT_EQ(nodes[1].reserved_host_memory_mib, 100);
  EXPECT_EQ(nodes[1].disk_allocation_ratio, 1.5);
  EXPECT_FALSE(nodes[1].cpu_shared_set.has_value());
}

TEST_F(TrackerOptionsTest, SayWhichDevicesGuestsMayGet) {
  WriteFile(R"(
pack_numa_cells = true
[[hypervisor]]
uri = "test:///default"
pci_device_spec = ['{"vendor_id": "8086"}', '[{"address": "81:00.*"}]']
pci_alias = ['{"name": "nic", "vendor_id": "8086"}', '{"name": "gpu", "vendor_id": "10de"}']
)");
  const std::vector<NodeConfiguration> nodes = Nodes({});
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].pci_device_specs.size(), 2U);  // T-233
  EXPECT_EQ(nodes[0].pci_aliases.size(), 2U);       // T-244
  EXPECT_TRUE(nodes[0].pack_numa_cells);
  WriteFile("");
  EXPECT_EQ(Nodes({R"(--pci-device-spec={"vendor_id": "8086"})"})[0].pci_device_specs.size(), 1U);
  const absl::Status spec = Read({"--pci-device-spec={vendor}"}).status();
  EXPECT_THAT(spec.message(), HasSubstr("pci-device-spec: device_spec[0]"));  // T-233
  const std::string once = R"(--pci-device-spec={"vendor_id": "8086", "one_time_use": true})";
  EXPECT_THAT(Read({once}).status().message(), HasSubstr("report_in_placement"));           // T-236
  EXPECT_TRUE(Nodes({once, "--pci-report-in-placement=true"})[0].pci_report_in_placement);  // T-258
  EXPECT_THAT(Read({R"(--pci-device-spec={"devname": "ens1"})", "--pci-report-in-placement=true"})
                  .status()
                  .message(),
              HasSubstr("device_spec[0].devname"));  // T-259
  const absl::Status alias = Read({R"(--pci-alias={"vendor_id": "8086"})"}).status();
  EXPECT_THAT(alias.message(), HasSubstr("pci-alias: "));  // T-244
}

TEST_F(TrackerOptionsTest, FlagsNameTheHypervisorsAndTablesDescribeThem) {
  WriteFile(R"(
[[hypervisor]]
name = "b"
uri = "test:///ignored"
reserved_host_cpus = 2
[[hypervisor]]
uri = "test:///c"
name = "sea"
)");
  const std::vector<NodeConfiguration> nodes =
      Nodes({"--hypervisor=a=test:///a?x=y", "--hypervisor=b=test:///b", "--hypervisor=test:///c"});
  ASSERT_EQ(nodes.size(), 3U);  // the second table's URI is no fourth
  EXPECT_EQ(nodes[0].name, "a");
  EXPECT_EQ(nodes[0].uri, "test:///a?x=y");
  EXPECT_EQ(nodes[1].uri, "test:///b");
  EXPECT_EQ(nodes[1].reserved_host_cpus, 2);  // by its name
  EXPECT_EQ(nodes[2].name, "sea");            // by its URI
}

TEST_F(TrackerOptionsTest, AreRefusedWithTheFieldAtFault) {
  struct Case {
    std::vector<std::string> arguments;
    const char* file;
    const char* said;
  };
  const Case cases[] = {
      {{"--colour=red"}, "", "--colour"},
      {{}, "colour = 'red'", "unknown setting 'colour'"},
      {{}, "[[hypervisor]]\nuri='test:///x'\ncolour='red'", "'colour' in [[hypervisor]]"},
      {{"--cpu-shared-set=3-1"}, "", "cpu-shared-set"},  // T-72
      {{"--cpu-dedicated-set=a"}, "", "cpu-dedicated-set"},
      {{"--reserved-host-memory-mb=much"}, "", "reserved-host-memory-mb"},
      {{"--reserved-host-memory-mb=-1"}, "", "reserved_host_disk_mb must not be negative"},
      {{"--cpu-allocation-ratio=x"}, "", "cpu-allocation-ratio"},
      {{"--cpu-allocation-ratio=-1"}, "", "ratio must not be negative"},
      {{"--cpu-power-management=perhaps"}, "", "cpu-power-management"},
      {{"--cpu-mode=fast"}, "", "cpu-mode: 'fast' is not valid: it must be one of custom"},
      {{"--images-type=tape"}, "", "images-type"},
      {{"--images-type=lvm"}, "", "images_volume_group"},
      {{"--orphans=kill"}, "", "orphans"},
      {{"--mediated-types={}"}, "", "mediated-types: text 1: type is missing"},
      {{"--sev-es-guests-max=-1"}, "", "sev-es-guests-max: '-1' is not valid"},
      {{"--pmem-namespaces=ns0"}, "", "pmem-namespaces: 'ns0' must be LABEL"},
      {{"--reserved-huge-pages=node:0"}, "", "reserved-huge-pages"},
      {{"--physical-network-cells=public"}, "", "physical-network-cells: 'public' must be NAME"},
      {{"--monitors=thermometer"}, "", "there is no monitor cpu.thermometer"},
      {{}, "[[hypervisor]]\nuri='test:///x'\norphans='kill'", "orphans"},
      {{"--placement="}, "", "placement"},
      {{"--driver-timeout=0s"}, "", "driver-timeout"},
      {{"--driver-timeout=5"}, "", "driver-timeout"},
      {{"--listen=0.0.0.0:7312"}, "", "--insecure-listen"},
      {{"--log-level=loud"}, "", "log-level"},
      {{"--hypervisor=a=test:///1", "--hypervisor=a=test:///2"},
       "",
       "two hypervisors have this name"},  // T-5
      {{"--hypervisor=test:///1", "--hypervisor=test:///1"}, "", "two hypervisors have this URI"},
      {{}, "[[hypervisor]]\nname='n'", "the URI is missing"},
      // T-73
      {{"--cpu-dedicated-set=0-3", "--cpu-shared-set=3-4"}, "", "cpu_dedicated_set"},
      {{"--cpu-shared-set=0", "--reserved-host-cpus=1"}, "", "reserved_host_cpus"},
      {{"--vcpu-pin-set=0", "--cpu-dedicated-set=1"}, "", "vcpu_pin_set"},
      {{"--file-backed-memory=1024", "--virt-type=xen"}, "", "file_backed_memory"},  // T-79
      {{}, "host = 'never closed", "tracker.toml"},
  };
  for (const Case& mistake : cases) {
    WriteFile(mistake.file);
    const absl::StatusOr<TrackerSettings> settings = Read(mistake.arguments);
    ASSERT_FALSE(settings.ok()) << ::testing::PrintToString(mistake.arguments) << mistake.file;
    EXPECT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(settings.status().message(), HasSubstr(mistake.said));
  }
}

TEST_F(TrackerOptionsTest, WarnsOfWhatOnlyLooksWrong) {  // T-73
  const absl::StatusOr<TrackerSettings> settings = Read({"--vcpu-pin-set=0", "--cpu-shared-set=1"});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_THAT(settings->warnings,
              ElementsAre(HasSubstr("guests get their VCPU from vcpu_pin_set")));
}

TEST_F(TrackerOptionsTest, GiveProviderFilesToEveryNode) {  // T-217
  const std::string flag = "--provider-config-location=" + directory_ + "/providers";
  EXPECT_THAT(Read({flag})->notes, ElementsAre(HasSubstr("/providers has no provider")));
  std::filesystem::create_directory(directory_ + "/providers");
  std::ofstream(directory_ + "/providers/a.yaml")
      << "meta: {schema_version: '1.1'}\nproviders:\n"
         "- {identification: {uuid: $COMPUTE_NODE}, traits: {additional: [CUSTOM_A]}}\n";
  const absl::StatusOr<TrackerSettings> settings =
      Read({flag, "--hypervisor=test:///a", "--hypervisor=test:///b"});
  ASSERT_TRUE(settings.ok()) << settings.status();
  for (const NodeConfiguration& node : settings->configuration.nodes) {
    ASSERT_EQ(node.provider_entries.size(), 1u);
    EXPECT_THAT(node.provider_entries[0].traits, ElementsAre("CUSTOM_A"));
  }
  EXPECT_THAT(settings->warnings, ElementsAre(HasSubstr("a.yaml:1: schema version 1.1")));
  EXPECT_THAT(settings->notes, IsEmpty());
  std::ofstream(directory_ + "/providers/a.yaml") << "meta: {}";
  EXPECT_THAT(Read({flag}).status().message(),
              HasSubstr("/providers/a.yaml:1: meta.schema_version: is missing"));
}

TEST_F(TrackerOptionsTest, TellWhatWaitsForARestart) {
  const TrackerOptions running;
  TrackerOptions read;
  EXPECT_THAT(WaitingForRestart(running, read), IsEmpty());
  read.log_level = "debug";
  read.node_defaults["reserved-host-cpus"] = "2";
  EXPECT_THAT(WaitingForRestart(running, read), IsEmpty());
  read.host = "other";
  read.placement = "elsewhere:1";
  read.drain_max = absl::Seconds(1);
  EXPECT_THAT(WaitingForRestart(running, read), ElementsAre("placement", "host", "drain-max"));
}

TEST_F(TrackerOptionsTest, OfANodeTakeOverWhatMayChange) {  // T-63
  NodeConfiguration running;
  running.uri = "test:///default";
  NodeConfiguration read = running;
  read.cpu_shared_set = tracker::CpuSet::Parse("0-1").value();
  read.reserved_host_memory_mib = 9;
  read.cpu_allocation_ratio = 2.0;
  read.orphans = OrphanPolicy::kReport;
  EXPECT_THAT(TakeReloadable(read, &running), IsEmpty());
  EXPECT_EQ(running.cpu_shared_set, read.cpu_shared_set);
  EXPECT_EQ(running.reserved_host_memory_mib, 9);
  EXPECT_EQ(running.cpu_allocation_ratio, 2.0);
  EXPECT_EQ(running.orphans, OrphanPolicy::kReport);
  read.virt_type = "qemu";
  read.instances_path = "/elsewhere";
  read.reserved_host_memory_mib = 10;
  EXPECT_THAT(TakeReloadable(read, &running), ElementsAre("virt-type", "instances-path"));
  EXPECT_EQ(running.virt_type, "");
  EXPECT_EQ(running.instances_path, "");
  EXPECT_EQ(running.reserved_host_memory_mib, 10);
}

}  // namespace
}  // namespace berth::services
