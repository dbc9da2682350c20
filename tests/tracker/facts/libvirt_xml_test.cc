// Documents of libvirt, captured and written, as values.
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/facts/test_data.h"
#include "tracker/facts/capabilities.h"
#include "tracker/facts/cpu_info.h"
#include "tracker/facts/domain_capabilities.h"
#include "tracker/facts/domain_xml.h"
#include "tracker/facts/node_devices.h"

namespace berth::tracker {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

TEST(Capabilities, DescribeTheHostCpu) {
  const Capabilities host = *ParseCapabilities(TestData("capabilities_kvm_numa.xml"));
  EXPECT_EQ(host.cpu.arch, "x86_64");
  EXPECT_EQ(host.cpu.model, "Cascadelake-Server-noTSX");
  EXPECT_EQ(host.cpu.vendor, "Intel");
  EXPECT_EQ(host.cpu.threads, 2);
  EXPECT_EQ(host.cpu.maxphysaddr_bits, 46);
  EXPECT_THAT(host.cpu.features, ElementsAre("acpi", "avx512vnni", "ds", "vmx"));
  EXPECT_THAT(host.cpu_xml, HasSubstr("<signature"));
}

TEST(Capabilities, DescribeCells) {
  const Capabilities host = *ParseCapabilities(TestData("capabilities_kvm_numa.xml"));
  ASSERT_EQ(host.cells.size(), 2u);
  EXPECT_EQ(host.cells[0].memory_kib, 98765432);
  EXPECT_EQ(host.cells[0].pages_by_size_kib.at(2048), 4096);
  ASSERT_EQ(host.cells[1].cpus.size(), 8u);
  EXPECT_EQ(host.cells[1].cpus[0].siblings.ToString(), "4,12");
  EXPECT_EQ(host.cells[1].cpus[0].socket, 1);
}

// A set of siblings has a core's threads. A larger one is not believed: it would cost memory for
// each of the host's CPUs.
TEST(Capabilities, ACpuHasNoMoreSiblingsThanACoreHasThreads) {
  const auto siblings_of = [](const std::string& set) {
    return ParseCapabilities(
               "<capabilities><host><topology><cells num='1'><cell id='0'><cpus>"
               "<cpu id='7' siblings='" +
               set + "'/></cpus></cell></cells></topology></host></capabilities>")
        ->cells.at(0)
        .cpus.at(0)
        .siblings.ToString();
  };
  EXPECT_EQ(siblings_of("0-255"), "0-255");
  EXPECT_EQ(siblings_of("0-256"), "7");
  EXPECT_EQ(siblings_of("what"), "7");
}

TEST(Capabilities, ListSupportedInstancesInCanonicalWords) {
  const Capabilities host = *ParseCapabilities(TestData("capabilities_kvm_numa.xml"));
  // T-92: unknown architectures are skipped, the others kept.
  EXPECT_THAT(
      host.supported_instances,
      ElementsAre(SupportedInstance{"i686", "qemu", "hvm"}, SupportedInstance{"i686", "kvm", "hvm"},
                  SupportedInstance{"x86_64", "qemu", "hvm"},
                  SupportedInstance{"x86_64", "kvm", "hvm"},
                  SupportedInstance{"x86_64", "xen", "xen"},
                  SupportedInstance{"x86_64", "parallels", "exe"}));
  EXPECT_THAT(host.guest_archs[1].machine_aliases, ElementsAre("q35"));
}

// Written after libvirt's description: no machine with encrypted memory was at hand.
TEST(DomainCapabilities, TellHowManyGuestsCanBeEncrypted) {  // T-208
  const auto offer = [](const std::string& features) {
    return CombineOffers(
        {*ParseDomainCapabilities("<domainCapabilities><arch>x86_64</arch><features>" + features +
                                  "</features></domainCapabilities>")},
        "x86_64");
  };
  const std::string sev =
      "<sev supported='yes'><cbitpos>51</cbitpos><reducedPhysBits>1</reducedPhysBits>"
      "<maxGuests>410</maxGuests><maxESGuests>99</maxESGuests></sev>";
  EXPECT_EQ(offer(sev).sev_guests_max, 410);
  EXPECT_EQ(offer(sev).sev_es_guests_max, 99);
  EXPECT_FALSE(offer(sev).sev_snp);
  EXPECT_TRUE(offer(sev + "<launchSecurity supported='yes'><enum name='sectype'><value>sev</value>"
                          "<value>sev-snp</value></enum></launchSecurity>")
                  .sev_snp);
  EXPECT_EQ(offer("<sev supported='no'/>").sev_guests_max, 0);
  const DomainCapabilities captured =
      *ParseDomainCapabilities(TestData("domain_capabilities_pc.xml"));
  EXPECT_EQ(captured.sev_guests_max, 0);
  DomainCapabilities other;
  other.arch = "aarch64";
  other.sev_guests_max = 7;
  EXPECT_EQ(CombineOffers({other}, "x86_64").sev_guests_max, 0);
}

TEST(Capabilities, ReadACapturedHost) {
  const Capabilities host = *ParseCapabilities(TestData("capabilities_qemu_tcg.xml"));
  EXPECT_EQ(host.cells.size(), 1u);
  EXPECT_THAT(host.cpu.features, IsSupersetOf({"avx512f", "sha-ni"}));
  EXPECT_THAT(host.guest_archs[1].machine_aliases, IsSupersetOf({"pc", "q35"}));
}

TEST(Capabilities, RefuseOtherTexts) {
  EXPECT_FALSE(ParseCapabilities("").ok());
  EXPECT_FALSE(ParseCapabilities("<capabilities>").ok());
  EXPECT_FALSE(ParseCapabilities("<domain/>").ok());
  EXPECT_FALSE(ParseCapabilities("<capabilities><host><topology><cells><cell id='0'><cpus>"
                                 "<cpu id='-3'/></cpus></cell></cells></topology></host>"
                                 "</capabilities>")
                   .ok());
  EXPECT_TRUE(ParseCapabilities("<capabilities/>").ok());
}

TEST(CpuFeatures, LeaveOutDisabledOnes) {
  EXPECT_THAT(*ParseCpuFeatures("<cpu><feature policy='require' name='b'/><feature name='a'/>"
                                "<feature policy='disable' name='c'/></cpu>"),
              ElementsAre("a", "b"));
  EXPECT_FALSE(ParseCpuFeatures("<capabilities/>").ok());
}

TEST(CpuInfo, IsStableText) {  // T-90
  CpuDescription cpu;
  cpu.arch = "x86_64";
  cpu.features = {"sse", "aes"};
  EXPECT_EQ(CpuInfoJson(cpu, 0),
            R"({"arch":"x86_64","features":["aes","sse"],"model":null,)"
            R"("topology":{"cells":1,"cores":null,"sockets":null,"threads":null},"vendor":null})");
  cpu.maxphysaddr_mode = "emulate";
  cpu.maxphysaddr_bits = 46;
  const nlohmann::json info = nlohmann::json::parse(CpuInfoJson(cpu, 2));
  EXPECT_EQ(info["maxphysaddr"]["bits"], 46);
  EXPECT_EQ(info["topology"]["cells"], 2);
}

TEST(DomainCapabilities, TellWhatAnEmulatorOffers) {
  const DomainCapabilities pc = *ParseDomainCapabilities(TestData("domain_capabilities_pc.xml"));
  EXPECT_EQ(pc.arch, "x86_64");
  EXPECT_EQ(pc.machine, "pc-i440fx-7.2");
  EXPECT_THAT(pc.disk_buses, ElementsAre("fdc", "ide", "sata", "scsi", "usb", "virtio"));
  EXPECT_THAT(pc.video_models, Contains("bochs"));
  EXPECT_FALSE(pc.secure_boot);
  EXPECT_FALSE(pc.tpm_emulator);
  EXPECT_THAT(pc.cpu_modes, Not(Contains("host-passthrough")));
  EXPECT_THAT(pc.cpu_models, Contains("Penryn"));
  EXPECT_THAT(pc.cpu_models, Not(Contains("EPYC")));
}

constexpr char kSecure[] =
    "<domainCapabilities><arch>x86_64</arch><os><loader supported='yes'><enum name='secure'>"
    "<value>yes</value></enum></loader></os><devices><tpm supported='yes'><enum name='model'>"
    "<value>tpm-crb</value></enum><enum name='backendModel'><value>emulator</value></enum>"
    "<enum name='backendVersion'><value>2.0</value></enum></tpm></devices></domainCapabilities>";

TEST(DomainCapabilities, AddUpOverEmulators) {
  const DomainCapabilities pc = *ParseDomainCapabilities(TestData("domain_capabilities_pc.xml"));
  const DomainCapabilities secure = *ParseDomainCapabilities(kSecure);
  EXPECT_TRUE(secure.secure_boot);
  const EmulatorOffer offer = CombineOffers({pc, secure}, "x86_64");
  EXPECT_THAT(offer.archs, ElementsAre("x86_64"));
  EXPECT_TRUE(offer.secure_boot);
  EXPECT_TRUE(offer.tpm_emulator);
  EXPECT_TRUE(offer.tpm_versions_told);
  EXPECT_THAT(offer.tpm_models,
              ElementsAre("tpm-crb"));  // pc has no swtpm: its models do not count
  EXPECT_FALSE(CombineOffers({secure}, "aarch64").secure_boot);  // E-4: of the host's architecture
  EXPECT_FALSE(ParseDomainCapabilities("<capabilities/>").ok());
}

TEST(GuestDefinition, TellsSizeAndDisks) {
  const GuestDefinition guest = *ParseGuestDefinition(
      "<domain type='kvm'><name>a</name><uuid>6695eb01-f6a4-8304-79aa-97f2502e193f</uuid>"
      "<memory unit='GiB'>2</memory><currentMemory unit='MiB'>1024</currentMemory>"
      "<vcpu current='2'>4</vcpu><devices>"
      "<disk type='file'><driver type='qcow2'/><source file='/d'/><target dev='vda'/></disk>"
      "<disk type='block' device='lun'><source dev='/dev/x'/><target dev='vdb'/></disk>"
      "<disk type='network'><source protocol='rbd' name='p/v'/><target dev='vdc'/></disk>"
      "<filesystem><source dir='/f'/></filesystem></devices></domain>");
  EXPECT_EQ(guest.memory_max_kib, 2048 * 1024);
  EXPECT_EQ(guest.vcpus_max, 4);
  EXPECT_EQ(guest.vcpus, 2);
  EXPECT_EQ(guest.memory_kib, 1024 * 1024);
  ASSERT_EQ(guest.disks.size(), 3u);
  EXPECT_EQ(guest.disks[0].format, "qcow2");
  EXPECT_EQ(guest.disks[0].device, "disk");
  EXPECT_EQ(guest.disks[1].path, "/dev/x");
  EXPECT_EQ(guest.disks[2].path, "");
  // Not rounded: the sum of all guests is.
  EXPECT_EQ(ParseGuestDefinition("<domain><memory>1025</memory></domain>")->memory_kib,
            1025);  // T-80
  EXPECT_FALSE(ParseGuestDefinition("<network/>").ok());
  EXPECT_FALSE(ParseGuestDefinition("<domain").ok());
}

TEST(GuestDefinition, TellsTheDevicesOfTheHost) {  // T-256
  const GuestDefinition guest = *ParseGuestDefinition(
      "<domain type='kvm'><devices>"
      "<hostdev mode='subsystem' type='pci'><source>"
      "<address domain='0x0000' bus='0x3b' slot='0x02' function='0x1'/></source>"
      "<address type='pci' domain='0x0000' bus='0x07' slot='0x00' function='0x0'/></hostdev>"
      "<hostdev mode='subsystem' type='usb'><source><address bus='1' "
      "device='2'/></source></hostdev>"
      "<interface type='hostdev'><source>"
      "<address type='pci' domain='0x0001' bus='0xAF' slot='0x1f' function='0x7'/></source>"
      "</interface>"
      "<disk type='nvme' device='disk'><source type='pci' managed='yes' namespace='1'>"
      "<address domain='0x0000' bus='0x01' slot='0x00' function='0x0'/></source></disk>"
      "</devices></domain>");
  EXPECT_THAT(guest.devices,
              testing::ElementsAre("0000:3b:02.1", "0001:af:1f.7", "0000:01:00.0"));  // T-256
}

TEST(GuestDefinition, OfParallelsKeepsFileSystems) {
  const GuestDefinition guest = *ParseGuestDefinition(
      "<domain type='parallels'><devices><filesystem type='file'><driver type='ploop'/>"
      "<source file='/vz/root'/><target dir='/'/></filesystem></devices></domain>");
  ASSERT_EQ(guest.disks.size(), 1u);  // T-84
  EXPECT_EQ(guest.disks[0].path, "/vz/root");
}

// The recorded documents that can be parsed.
const std::vector<NodeDevice>& SriovDocuments() {
  static const auto* const kDocuments = [] {
    auto* const documents = new std::vector<NodeDevice>;
    const std::string text = TestData("node_devices_sriov.txt");
    for (const absl::string_view one : absl::StrSplit(text, "---\n")) {
      const absl::StatusOr<NodeDevice> read = ParseNodeDevice(one);
      if (read.ok()) documents->push_back(*read);
    }
    return documents;
  }();
  return *kDocuments;
}

std::vector<const NodeDevice*> Pointers(const std::vector<NodeDevice>& documents) {
  std::vector<const NodeDevice*> pointers;
  for (const NodeDevice& document : documents) pointers.push_back(&document);
  return pointers;
}

std::vector<PciDevice> SriovDevices() { return LinkDevices(Pointers(SriovDocuments())); }

TEST(NodeDevices, RefuseOtherDocuments) {
  EXPECT_EQ(ParseNodeDevice("<domain/>").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseNodeDevice("no XML").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(NodeDevices, NameThePhysicalFunctionsOfNewVirtualOnes) {
  const std::vector<const NodeDevice*> all = Pointers(SriovDocuments());
  std::set<std::string> found;
  for (const NodeDevice* const device : all) {
    const std::set<std::string> parents = PhysicalFunctionsOf({device}, all);
    const bool is_function = device->pci && device->pci->dev_type == "type-VF";
    EXPECT_TRUE(is_function || parents.empty()) << device->name;
    found.insert(parents.begin(), parents.end());
  }
  EXPECT_EQ(found, std::set<std::string>{"pci_0000_3b_00_0"});
  EXPECT_TRUE(PhysicalFunctionsOf({}, all).empty());
}

TEST(NodeDevices, TellFunctionsApart) {
  const std::vector<PciDevice> devices = SriovDevices();
  ASSERT_EQ(devices.size(), 5u);
  struct Row {
    const char* address;
    const char* type;
    const char* product;
  };
  const Row kRows[] = {
      {"0000:00:1f.2", "type-PCI", "2922"},  // T-97: an empty phys_function is none
      {"0000:3b:00.0", "type-PF", "1572"},
      {"0000:3b:02.0", "type-VF", "154c"},
      {"0000:3b:02.1", "vdpa", "154c"},
      {"0000:3b:0a.0", "type-VF", "154c"}};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(devices[i].address, kRows[i].address);
    EXPECT_EQ(devices[i].dev_type, kRows[i].type) << kRows[i].address;
    EXPECT_EQ(devices[i].product_id, kRows[i].product);
    EXPECT_EQ(devices[i].label, std::string("label_8086_") + kRows[i].product);  // T-97
  }
}

TEST(NodeDevices, LinkVirtualFunctionsToTheirPhysicalOne) {
  const std::vector<PciDevice> devices = SriovDevices();
  const PciDevice& pf = devices[1];
  EXPECT_EQ(pf.numa_node, 1);
  EXPECT_EQ(pf.mac_address, "3c:fd:fe:00:00:10");
  EXPECT_THAT(pf.network_features, ElementsAre("rx", "tso"));
  const PciDevice& vf = devices[2];
  EXPECT_EQ(vf.numa_node, std::nullopt);  // T-97: -1 is none
  EXPECT_EQ(vf.parent_address, "0000:3b:00.0");
  EXPECT_EQ(vf.parent_interface, "ens1f0");
  EXPECT_EQ(vf.pf_mac_address, "3c:fd:fe:00:00:10");
  EXPECT_EQ(vf.vf_number, 0);
  EXPECT_EQ(vf.card_serial_number, "MT2113X00000");  // T-97: falls back to its PF's
  EXPECT_EQ(devices[3].vf_number, 1);
  EXPECT_EQ(devices[4].parent_interface, std::nullopt);  // T-98: kept without its PF
}

TEST(NodeDevices, ArePrintedAsJson) {
  const nlohmann::json list = nlohmann::json::parse(PciDumpJson(SriovDevices()));
  ASSERT_EQ(list.size(), 5u);
  EXPECT_TRUE(list[0]["numa_node"].is_null());
  EXPECT_FALSE(list[0].contains("capabilities"));
  EXPECT_EQ(list[2]["capabilities"]["sriov"]["vf_num"], 0);
  EXPECT_EQ(list[1]["capabilities"]["vpd"]["card_serial_number"], "MT2113X00000");
}

}  // namespace
}  // namespace berth::tracker
