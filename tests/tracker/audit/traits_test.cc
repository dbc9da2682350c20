// Traits that the tracker owns, and how they meet those of others.
#include "tracker/audit/traits.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/tracker/facts/test_data.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/audit/standard_data.h"
#include "tracker/audit/trait_tables.h"
#include "tracker/facts/version.h"

namespace berth::tracker {
namespace {

using Names = std::set<std::string>;

TEST(Traits, MergeWithThoseOfOthers) {  // C-13, T-211
  OwnedTraits owned = {{"HW_CPU_X86_SSE", true},  {"HW_CPU_X86_SSE2", true},
                       {"HW_CPU_X86_AVX", false}, {"COMPUTE_NODE", true},
                       {"OWNER_NOVA", true},      {"COMPUTE_STATUS_DISABLED", false}};
  const Names current = {"CUSTOM_A", "HW_CPU_X86_AVX", "HW_CPU_X86_SSE"};
  EXPECT_EQ(EffectiveTraits(current, owned),
            (Names{"COMPUTE_NODE", "CUSTOM_A", "HW_CPU_X86_SSE", "HW_CPU_X86_SSE2", "OWNER_NOVA"}));
  owned["COMPUTE_STATUS_DISABLED"] = true;
  EXPECT_EQ(EffectiveTraits(current, owned).count("COMPUTE_STATUS_DISABLED"), 1u);
}

TEST(Traits, MergingTwiceChangesNothing) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 200; ++round) {
    Names current;
    OwnedTraits owned;
    for (int i = 0; i < 20; ++i) {
      const std::string name = "CUSTOM_" + std::to_string(random() % 15);
      if (random() % 2 == 0) current.insert(name);
      if (random() % 2 == 0) owned[name] = random() % 2 == 0;
    }
    const Names once = EffectiveTraits(current, owned);
    EXPECT_EQ(EffectiveTraits(once, owned), once);
    for (const std::string& trait : current) {
      if (owned.count(trait) == 0) {
        EXPECT_EQ(once.count(trait), 1u);  // T-211: others' traits stay
      }
    }
  }
}

TEST(Traits, FollowCpuFeatures) {  // E-1
  Facts facts = OrdinaryFacts();
  facts.cpu_features = {{"vmx", "avx2", "pni", "sse4.1"}};
  const OwnedTraits owned = DescribeRootTraits(facts, NodeConfiguration(), std::nullopt);
  for (const char* const trait : {"HW_CPU_X86_VMX", "HW_CPU_X86_INTEL_VMX", "HW_CPU_X86_AVX2",
                                  "HW_CPU_X86_SSE3", "HW_CPU_X86_SSE41"}) {
    EXPECT_TRUE(owned.at(trait)) << trait;
  }
  EXPECT_FALSE(owned.at("HW_CPU_X86_SVM"));  // T-214: false is owned as well
  facts.cpu_features.reset();
  const OwnedTraits unreported = DescribeRootTraits(facts, NodeConfiguration(), std::nullopt);
  EXPECT_EQ(unreported.count("HW_CPU_X86_AVX2"), 0u);  // T-214, T-215
}

// Appendix E-1, feature by feature.
constexpr const char* kCpuTable[][2] = {
    {"3dnow", "3DNOW"},
    {"abm", "ABM"},
    {"aes", "AESNI"},
    {"amx-bf16", "AMXBF16"},
    {"amx-int8", "AMXINT8"},
    {"amx-tile", "AMXTILE"},
    {"avx", "AVX"},
    {"avx2", "AVX2"},
    {"avx512-vpopcntdq", "AVX512VPOPCNTDQ"},
    {"avx512bitalg", "AVX512BITALG"},
    {"avx512bw", "AVX512BW"},
    {"avx512cd", "AVX512CD"},
    {"avx512dq", "AVX512DQ"},
    {"avx512er", "AVX512ER"},
    {"avx512f", "AVX512F"},
    {"avx512ifma", "AVX512IFMA"},
    {"avx512pf", "AVX512PF"},
    {"avx512vbmi", "AVX512VBMI"},
    {"avx512vbmi2", "AVX512VBMI2"},
    {"avx512vl", "AVX512VL"},
    {"avx512vnni", "AVX512VNNI"},
    {"bmi1", "BMI"},
    {"bmi2", "BMI2"},
    {"f16c", "F16C"},
    {"fma", "FMA3"},
    {"fma4", "FMA4"},
    {"gfni", "AVX512GFNI"},
    {"mmx", "MMX"},
    {"mpx", "MPX"},
    {"pclmuldq", "CLMUL"},
    {"pclmulqdq", "CLMUL"},
    {"pni", "SSE3"},
    {"sha-ni", "SHA"},
    {"sse", "SSE"},
    {"sse2", "SSE2"},
    {"sse3", "SSE3"},
    {"sse4.1", "SSE41"},
    {"sse4.2", "SSE42"},
    {"sse4a", "SSE4A"},
    {"ssse3", "SSSE3"},
    {"svm", "AMD_SVM SVM"},
    {"tbm", "TBM"},
    {"vaes", "AVX512VAES"},
    {"vmx", "INTEL_VMX VMX"},
    {"vpclmulqdq", "AVX512VPCLMULQDQ"},
    {"xop", "XOP"},
};

TEST(Traits, FollowEachRowOfTheCpuTable) {
  Facts facts = OrdinaryFacts();
  for (const auto& [feature, traits] : kCpuTable) {
    facts.cpu_features = Names{feature};
    std::string seen;
    for (const auto& [trait, value] : DescribeRootTraits(facts, NodeConfiguration(), {})) {
      if (!value || trait.rfind("HW_CPU_X86_", 0) != 0) continue;
      seen += (seen.empty() ? "" : " ") + trait.substr(sizeof("HW_CPU_X86_") - 1);
    }
    const bool younger = std::string(traits).rfind("AMX", 0) == 0 && seen.empty();
    if (!younger) {
      EXPECT_EQ(seen, traits) << feature;  // E-1, T-214
    }
  }
  EXPECT_EQ(CpuFeatureTraits().size(), std::size(kCpuTable) + 2);  // two have two
}

TEST(Traits, OfEveryTableRowAreKnown) {
  // Younger than the compiled-in list.
  const Names younger = {"HW_CPU_X86_AMXBF16", "HW_CPU_X86_AMXINT8", "HW_CPU_X86_AMXTILE"};
  for (const CpuFeatureTrait& row : CpuFeatureTraits()) {
    EXPECT_TRUE(IsStandardTrait(row.trait) || younger.count(row.trait) != 0)
        << row.feature << ' ' << row.trait;
  }
  EXPECT_GE(CpuFeatureTraits().size(), 46u);
}

TEST(Traits, AreAllStandard) {  // T-213
  Facts facts = OrdinaryFacts();
  facts.cpu_features.emplace();
  for (const auto& [trait, value] : DescribeRootTraits(facts, NodeConfiguration(), true)) {
    EXPECT_TRUE(IsStandardTrait(trait)) << trait << value;
  }
}

// One trait as it shall be after a change of an ordinary node.
struct Case {
  const char* trait;
  bool want;
  void (*change)(Facts*, NodeConfiguration*);
};

void Nothing(Facts* /*facts*/, NodeConfiguration* /*node*/) {}

void CheckEach(std::initializer_list<Case> cases) {
  for (const Case& test : cases) {
    if (!IsStandardTrait(test.trait)) continue;  // younger than the compiled-in list
    Facts facts = OrdinaryFacts();
    NodeConfiguration node;
    test.change(&facts, &node);
    const OwnedTraits owned = DescribeRootTraits(facts, node, std::nullopt);
    ASSERT_EQ(owned.count(test.trait), 1u) << test.trait;
    EXPECT_EQ(owned.at(test.trait), test.want) << test.trait;
  }
}

TEST(Traits, FollowTheHost) {
  CheckEach({
      {"COMPUTE_NODE", true, Nothing},
      {"OWNER_NOVA", true, Nothing},
      {"HW_CPU_HYPERTHREADING", false, Nothing},
      {"HW_CPU_HYPERTHREADING", true,  // E-2
       [](Facts* facts, NodeConfiguration*) { facts->hyperthreading = true; }},
      {"HW_ARCH_X86_64", true, Nothing},  // E-2
      {"HW_ARCH_AARCH64", false, Nothing},
      {"COMPUTE_ARCH_AARCH64", true,  // E-2
       [](Facts* facts, NodeConfiguration*) { facts->emulators.archs = {"aarch64"}; }},
      {"COMPUTE_VIOMMU_MODEL_SMMUV3", true,  // E-3
       [](Facts* facts, NodeConfiguration*) { facts->emulators.archs = {"aarch64"}; }},
      {"COMPUTE_VIOMMU_MODEL_INTEL", false, Nothing},
      {"COMPUTE_STORAGE_BUS_SATA", true,  // E-3
       [](Facts* facts, NodeConfiguration*) { facts->emulators.disk_buses = {"sata"}; }},
      {"COMPUTE_STORAGE_BUS_LXC", true,
       [](Facts* facts, NodeConfiguration*) { facts->virt_type = "lxc"; }},
      {"COMPUTE_STORAGE_BUS_SCSI", true,
       [](Facts* facts, NodeConfiguration*) { facts->virt_type = "parallels"; }},
      {"COMPUTE_GRAPHICS_MODEL_QXL", true,
       [](Facts* facts, NodeConfiguration*) { facts->emulators.video_models = {"qxl"}; }},
      {"COMPUTE_NET_VIF_MODEL_VIRTIO", true, Nothing},
      {"COMPUTE_NET_VIF_MODEL_VIRTIO", false,
       [](Facts* facts, NodeConfiguration*) { facts->virt_type = "lxc"; }},
      {"COMPUTE_NET_VIF_MODEL_PCNET", false,
       [](Facts* facts, NodeConfiguration*) { facts->virt_type = "parallels"; }},
  });
}

TEST(Traits, FollowFirmwareAndOptions) {
  CheckEach({
      {"COMPUTE_SECURITY_TPM_2_0", false, Nothing},
      {"COMPUTE_SECURITY_TPM_1_2", true,  // E-3: versions not told
       [](Facts* facts, NodeConfiguration*) { facts->emulators.tpm_emulator = true; }},
      {"COMPUTE_SECURITY_TPM_1_2", false,
       [](Facts* facts, NodeConfiguration*) {
         facts->emulators.tpm_emulator = true;
         facts->emulators.tpm_versions_told = true;
         facts->emulators.tpm_versions = {"2.0"};
       }},
      {"COMPUTE_SECURITY_TPM_CRB", true,
       [](Facts* facts, NodeConfiguration*) {
         facts->emulators.tpm_emulator = true;
         facts->emulators.tpm_models = {"tpm-crb"};
       }},
      {"COMPUTE_SECURITY_UEFI_SECURE_BOOT", true,  // E-4
       [](Facts* facts, NodeConfiguration*) { facts->emulators.secure_boot = true; }},
      {"COMPUTE_IMAGE_TYPE_QCOW2", true, Nothing},
      {"COMPUTE_IMAGE_TYPE_QCOW2", false,
       [](Facts*, NodeConfiguration* node) {
         node->disk_backend = DiskBackend::kLvm;
         node->force_raw_images = false;
       }},
      {"COMPUTE_IMAGE_TYPE_ISO", false,
       [](Facts*, NodeConfiguration* node) { node->image_type_exclude_list = {"iso"}; }},
      {"COMPUTE_IMAGE_TYPE_VMDK", false, Nothing},
      {"COMPUTE_MEM_BACKING_FILE", true,
       [](Facts*, NodeConfiguration* node) { node->file_backed_memory_mib = 4096; }},
      {"COMPUTE_SAME_HOST_COLD_MIGRATE", false, Nothing},
      {"COMPUTE_SECURITY_STATELESS_FIRMWARE", true,
       [](Facts* facts, NodeConfiguration*) { facts->library_version = EncodeVersion(9, 0, 0); }},
      {"COMPUTE_SECURITY_STATELESS_FIRMWARE", false,
       [](Facts* facts, NodeConfiguration*) { facts->library_version = EncodeVersion(8, 5, 9); }},
  });
}

struct Family {
  const char* rule;
  const char* prefix;
  const char* present;  // of an ordinary node with KVM, by name
  const char* absent;
  void (*change)(Facts*);
};

void Unchanged(Facts* /*facts*/) {}

const Family kFamilies[] = {
    {"E-3", "COMPUTE_STORAGE_BUS_", "IDE SCSI", "FDC LXC SATA USB VIRTIO UML XEN",
     [](Facts* facts) {
       facts->emulators.disk_buses = {"ide", "scsi"};
     }},
    {"E-3", "COMPUTE_GRAPHICS_MODEL_", "NONE VMVGA", "BOCHS CIRRUS GOP QXL VGA VIRTIO XEN",
     [](Facts* facts) {
       facts->emulators.video_models = {"none", "vmvga"};
     }},
    {"E-3", "COMPUTE_NET_VIF_MODEL_",
     "E1000 E1000E NE2K_PCI PCNET RTL8139 SPAPR_VLAN VIRTIO VMXNET3", "LAN9118", Unchanged},
    {"E-3", "COMPUTE_NET_VIF_MODEL_", "LAN9118 VIRTIO", "",
     [](Facts* facts) { facts->virt_type = "qemu"; }},
    {"E-3", "COMPUTE_NET_VIF_MODEL_", "VIRTIO RTL8139 E1000", "E1000E NE2K_PCI VMXNET3 LAN9118",
     [](Facts* facts) { facts->virt_type = "parallels"; }},
    {"E-3", "COMPUTE_NET_VIF_MODEL_", "IGB", "",
     [](Facts* facts) {
       facts->library_version = EncodeVersion(9, 3, 0);
       facts->hypervisor_version = EncodeVersion(8, 0, 0);
     }},
    {"E-3", "COMPUTE_NET_VIF_MODEL_", "", "IGB",
     [](Facts* facts) {
       facts->library_version = EncodeVersion(9, 3, 0);
       facts->hypervisor_version = EncodeVersion(7, 99, 0);
     }},
    {"E-3", "COMPUTE_NET_VIRTIO_", "PACKED", "", Unchanged},
    {"E-3", "COMPUTE_VIOMMU_MODEL_", "AUTO VIRTIO", "INTEL SMMUV3",
     [](Facts* facts) { facts->library_version = EncodeVersion(8, 3, 0); }},
    {"E-3", "COMPUTE_VIOMMU_MODEL_", "AUTO INTEL", "SMMUV3 VIRTIO",
     [](Facts* facts) {
       facts->library_version = EncodeVersion(8, 2, 9);
       facts->emulators.archs = {"x86_64"};
     }},
    {"E-3", "COMPUTE_SOUND_MODEL_", "SB16 ES1370 PCSPK AC97 ICH6 ICH9 USB", "VIRTIO", Unchanged},
    {"E-3", "COMPUTE_SOUND_MODEL_", "VIRTIO", "",
     [](Facts* facts) {
       facts->library_version = EncodeVersion(10, 4, 0);
       facts->hypervisor_version = EncodeVersion(8, 2, 0);
     }},
    {"E-4", "COMPUTE_NET_ATTACH_", "INTERFACE INTERFACE_WITH_TAG", "", Unchanged},
    {"E-4", "COMPUTE_",
     "DEVICE_TAGGING VOLUME_ATTACH_WITH_TAG VOLUME_EXTEND VOLUME_MULTI_ATTACH TRUSTED_CERTS "
     "ACCELERATORS RESCUE_BFV SOCKET_PCI_NUMA_AFFINITY STORAGE_VIRTIO_FS",
     "SAME_HOST_COLD_MIGRATE MEM_BACKING_FILE", Unchanged},
    {"E-4", "COMPUTE_IMAGE_TYPE_", "AKI AMI ARI ISO RAW QCOW2", "PLOOP VDI VHD VHDX VMDK",
     Unchanged},
    {"E-4", "COMPUTE_IMAGE_TYPE_", "PLOOP", "",
     [](Facts* facts) { facts->virt_type = "parallels"; }},
    {"E-4", "COMPUTE_ADDRESS_SPACE_", "PASSTHROUGH EMULATED", "",
     [](Facts* facts) { facts->library_version = EncodeVersion(8, 7, 0); }},
    {"E-4", "COMPUTE_ADDRESS_SPACE_", "", "PASSTHROUGH EMULATED",
     [](Facts* facts) { facts->library_version = EncodeVersion(8, 6, 9); }},
    {"E-5", "", "COMPUTE_NODE OWNER_NOVA", "", Unchanged},
};

TEST(Traits, ComeInWholeFamilies) {
  for (const Family& family : kFamilies) {
    Facts facts = OrdinaryFacts();
    family.change(&facts);
    const OwnedTraits owned = DescribeRootTraits(facts, NodeConfiguration(), {});
    for (const bool want : {true, false}) {
      for (const absl::string_view name :
           absl::StrSplit(want ? family.present : family.absent, ' ', absl::SkipEmpty())) {
        const std::string trait = absl::StrCat(family.prefix, name);
        if (!IsStandardTrait(trait)) continue;  // younger than the compiled-in list
        ASSERT_EQ(owned.count(trait), 1U) << family.rule << trait;
        EXPECT_EQ(owned.at(trait), want) << family.rule << ' ' << trait;  // E-3, E-4, E-5, T-214
      }
    }
  }
}

TEST(Traits, TellThatTheServiceIsDisabled) {  // T-212
  const Facts facts = OrdinaryFacts();
  const NodeConfiguration node;
  EXPECT_TRUE(DescribeRootTraits(facts, node, true).at("COMPUTE_STATUS_DISABLED"));
  EXPECT_FALSE(DescribeRootTraits(facts, node, false).at("COMPUTE_STATUS_DISABLED"));
  EXPECT_EQ(DescribeRootTraits(facts, node, std::nullopt).count("COMPUTE_STATUS_DISABLED"), 0u);
}

}  // namespace
}  // namespace berth::tracker
