// Traits that the tracker owns, and how they meet those of others.
#include "tracker/traits.h"

#include <random>

#include "gtest/gtest.h"
#include "tests/tracker/node_fixture.h"
#include "tests/tracker/test_data.h"
#include "tracker/standard_data.h"
#include "tracker/trait_tables.h"
#include "tracker/version.h"

namespace berth::tracker {
namespace {

using Set = std::set<std::string>;

TEST(Traits, MergeWithThoseOfOthers) {  // C-13, T-211
  OwnedTraits owned = {{"HW_CPU_X86_SSE", true},  {"HW_CPU_X86_SSE2", true},
                       {"HW_CPU_X86_AVX", false}, {"COMPUTE_NODE", true},
                       {"OWNER_NOVA", true},      {"COMPUTE_STATUS_DISABLED", false}};
  const Set current = {"CUSTOM_A", "HW_CPU_X86_AVX", "HW_CPU_X86_SSE"};
  EXPECT_EQ(EffectiveTraits(current, owned),
            (Set{"COMPUTE_NODE", "CUSTOM_A", "HW_CPU_X86_SSE", "HW_CPU_X86_SSE2", "OWNER_NOVA"}));
  owned["COMPUTE_STATUS_DISABLED"] = true;
  EXPECT_EQ(EffectiveTraits(current, owned).count("COMPUTE_STATUS_DISABLED"), 1u);
}

TEST(Traits, MergingTwiceChangesNothing) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 200; ++round) {
    Set current;
    OwnedTraits owned;
    for (int i = 0; i < 20; ++i) {
      const std::string name = "CUSTOM_" + std::to_string(random() % 15);
      if (random() % 2 == 0) current.insert(name);
      if (random() % 2 == 0) owned[name] = random() % 2 == 0;
    }
    const Set once = EffectiveTraits(current, owned);
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

TEST(Traits, OfEveryTableRowAreKnown) {
  // Younger than the compiled-in list.
  const Set younger = {"HW_CPU_X86_AMXBF16", "HW_CPU_X86_AMXINT8", "HW_CPU_X86_AMXTILE"};
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

TEST(Traits, TellThatTheServiceIsDisabled) {  // T-212
  const Facts facts = OrdinaryFacts();
  const NodeConfiguration node;
  EXPECT_TRUE(DescribeRootTraits(facts, node, true).at("COMPUTE_STATUS_DISABLED"));
  EXPECT_FALSE(DescribeRootTraits(facts, node, false).at("COMPUTE_STATUS_DISABLED"));
  EXPECT_EQ(DescribeRootTraits(facts, node, std::nullopt).count("COMPUTE_STATUS_DISABLED"), 0u);
}

}  // namespace
}  // namespace berth::tracker
