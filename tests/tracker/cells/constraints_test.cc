// Which NUMA topology a flavor and an image ask for.
#include "tracker/cells/constraints.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/tracker/cells/guest_text.h"
#include "tracker/cells/guest_fault.h"

namespace berth::tracker {
namespace {

using Kind = GuestFaultKind;

// Reads settings from `NAME=value NAME=value`. A value may not have blanks.
SettingsByName Settings(absl::string_view text) {
  SettingsByName settings;
  for (const absl::string_view item : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(item, absl::MaxSplits('=', 1));
    settings[parts.first] = parts.second;
  }
  return settings;
}

GuestWishes Wishes(absl::string_view flavor, absl::string_view image = "", int vcpus = 4,
                   int64_t memory_mib = 1024) {
  return {vcpus, memory_mib, Settings(flavor), Settings(image)};
}

struct TextCase {
  const char* flavor;
  const char* image;
  const char* want;
};

void ExpectTexts(const std::vector<TextCase>& cases) {
  for (const TextCase& test : cases) {
    const auto guest = ReadGuestTopology(Wishes(test.flavor, test.image));
    ASSERT_TRUE(guest.ok()) << test.flavor << " | " << test.image << ": " << guest.status();
    EXPECT_EQ(GuestText(*guest), test.want) << test.flavor << " | " << test.image;
  }
}

struct FaultCase {
  const char* flavor;
  const char* image;
  Kind kind;
  const char* field;
};

void ExpectFaults(const std::vector<FaultCase>& cases) {
  for (const FaultCase& test : cases) {
    const auto guest = ReadGuestTopology(Wishes(test.flavor, test.image));
    ASSERT_FALSE(guest.ok()) << test.flavor << " | " << test.image << ": " << GuestText(*guest);
    EXPECT_EQ(guest.status().code(), absl::StatusCode::kInvalidArgument);
    const std::optional<GuestFault> fault = FaultOf(guest.status());
    ASSERT_TRUE(fault.has_value()) << guest.status();
    EXPECT_EQ(fault->kind, test.kind) << guest.status();
    EXPECT_EQ(fault->field, test.field) << guest.status();
    EXPECT_EQ(guest.status().message().substr(0, fault->field.size() + 2), fault->field + ": ");
  }
}

TEST(Constraints, SayWhetherThereIsATopology) {
  ExpectTexts({
      {"", "", "none"},
      {"hw:cpu_policy=shared", "", "none"},
      {"hw:numa_nodes=1", "", "0-3+ 1024"},  // T-269
      {"", "hw_numa_nodes=1", "0-3+ 1024"},
      {"hw:mem_page_size=2048", "", "0-3+ 1024 2048"},  // T-269
      {"hw:pmem=4GB", "", "0-3+ 1024"},                 // T-269
      {"hw:pmem=,", "", "none"},
      {"hw:cpu_policy=dedicated", "", "+0-3 1024"},  // T-269
      {"", "hw_cpu_policy=dedicated", "+0-3 1024"},
      {"hw:cpu_policy=mixed hw:cpu_dedicated_mask=1,3", "", "0,2+1,3 1024"},  // T-269
      {"resources:PCPU=4", "", "+0-3 1024"},                                  // T-269
      {"resources2:PCPU=4", "", "+0-3 1024"},
      {"resources:PCPU=x", "", "none"},
      {"resources:PCPU=+4", "", "none"},
      {"resources:VCPU=4", "", "none"},
      {"hw:emulator_threads_policy=isolate resources:PCPU=5", "", "+0-3 1024"},
      {"hw:numa_cpus.0=0-3 hw:numa_mem.0=1024", "", "none"},  // lists alone ask for no topology
  });
}

TEST(Constraints, DivideTheGuest) {
  ExpectTexts({
      {"hw:numa_nodes=2", "", "0-1+ 512; 2-3+ 512"},  // T-269
      {"hw:numa_nodes=4 hw:cpu_policy=mixed hw:cpu_dedicated_mask=^0", "",
       "0+ 256; +1 256; +2 256; +3 256"},
      {"hw:numa_nodes=2 hw:numa_cpus.0=0,2-3 hw:numa_cpus.1=1 hw:numa_mem.0=1000 hw:numa_mem.1=24",
       "", "0,2-3+ 1000; 1+ 24"},  // T-269
      {"", "hw_numa_nodes=2 hw_numa_cpus.0=0 hw_numa_cpus.1=1-3 hw_numa_mem.0=0 hw_numa_mem.1=1024",
       "0+ 0; 1-3+ 1024"},
      {"hw:numa_nodes=2 hw:numa_cpus.0=0 hw:numa_cpus.1=1-3", "hw_numa_mem.0=24 hw_numa_mem.1=1000",
       "0+ 24; 1-3+ 1000"},
  });
}

TEST(Constraints, RefuseCellsThatDoNotAddUp) {  // T-269
  const char* const two = "hw_numa_nodes=2 hw_numa_mem.0=512 hw_numa_mem.1=512";
  ExpectFaults({
      {"hw:numa_nodes=0", "", Kind::kNodesInvalid, "hw:numa_nodes"},
      {"hw:numa_nodes=-1", "", Kind::kNodesInvalid, "hw:numa_nodes"},
      {"hw:numa_nodes=two", "", Kind::kNodesInvalid, "hw:numa_nodes"},
      {"hw:numa_nodes=02", "", Kind::kNodesInvalid, "hw:numa_nodes"},
      {"hw:numa_nodes=+2", "", Kind::kNodesInvalid, "hw:numa_nodes"},
      {"", "hw_numa_nodes=+2", Kind::kUnparsable, "hw_numa_nodes"},
      {"hw:numa_nodes=1 hw:numa_cpus.0=0-3 hw:numa_mem.0=+1024", "", Kind::kUnparsable,
       "hw:numa_mem.0"},
      {"hw:numa_nodes=1 hw:numa_cpus.0=0-3 hw:numa_mem.0=1024.", "", Kind::kUnparsable,
       "hw:numa_mem.0"},
      {"hw:numa_nodes=99999999999999999999", "", Kind::kNodesInvalid, "hw:numa_nodes"},
      {"", "hw_numa_nodes=0", Kind::kNodesInvalid, "hw_numa_nodes"},
      {"", "hw_numa_nodes=x", Kind::kUnparsable, "hw_numa_nodes"},
      {"hw:numa_nodes=2", "hw_numa_nodes=2", Kind::kNumaForbidden, "hw_numa_nodes"},
      {"hw:numa_nodes=3", "", Kind::kAsymmetric, "hw:numa_nodes"},
      {"hw:numa_nodes=5", "", Kind::kAsymmetric, "hw:numa_nodes"},
      {"hw:numa_nodes=1000000000000", "", Kind::kNodesInvalid, "hw:numa_nodes"},
      {"hw:numa_cpus.0=0-3", two, Kind::kIncomplete, "hw:numa_cpus"},
      {"hw:numa_cpus.0=0-3 hw:numa_nodes=1", "", Kind::kIncomplete, "hw:numa_mem"},
      {"hw:numa_cpus.0=0-1 hw:numa_cpus.2=2-3", two, Kind::kIncomplete, "hw:numa_cpus"},
      {"hw:numa_cpus.0=0-1 hw:numa_cpus.1=2-4", two, Kind::kCpuOutOfRange, "hw:numa_cpus.1"},
      {"hw:numa_cpus.0=0-1 hw:numa_cpus.1=1-3", two, Kind::kCpuDuplicate, "hw:numa_cpus.1"},
      {"hw:numa_cpus.0=0-1 hw:numa_cpus.1=3", two, Kind::kCpusUnassigned, "hw:numa_cpus"},
      {"hw:numa_cpus.0=0-1 hw:numa_cpus.1=q", two, Kind::kUnparsable, "hw:numa_cpus.1"},
      {"hw:numa_mem.0=512 hw:numa_mem.1=512", two, Kind::kNumaForbidden, "hw_numa_mem"},
      {"hw:numa_nodes=1 hw:numa_mem.0=x", "", Kind::kUnparsable, "hw:numa_mem.0"},
      {"hw:numa_nodes=1 hw:numa_cpus.0=0-3 hw:numa_mem.0=1023", "", Kind::kMemoryOutOfRange,
       "hw:numa_mem"},
      {"hw:numa_nodes=2 hw:numa_cpus.0=0-1 hw:numa_cpus.1=2-3 hw:numa_mem.0=9223372036854775807 "
       "hw:numa_mem.1=9223372036854775807",
       "", Kind::kMemoryOutOfRange, "hw:numa_mem"},
      {"hw:numa_nodes=2 hw:numa_cpus.0=0-1 hw:numa_cpus.1=2-3 hw:numa_mem.0=1025 hw:numa_mem.1=-1",
       "", Kind::kMemoryOutOfRange, "hw:numa_mem"},
      {"", "hw_numa_cpus.0=q", Kind::kUnparsable, "hw_numa_cpus.0"},
      {"", "hw_numa_mem.0=q", Kind::kUnparsable, "hw_numa_mem.0"},
  });
}

TEST(Constraints, RefuseAFlavorWithoutVcpusOrMemory) {
  EXPECT_EQ(FaultOf(ReadGuestTopology(Wishes("", "", 0)).status())->field, "vcpus");
  EXPECT_EQ(FaultOf(ReadGuestTopology(Wishes("", "", 65537)).status())->field, "vcpus");
  EXPECT_EQ(FaultOf(ReadGuestTopology(Wishes("", "", 1, -1)).status())->field, "memory_mib");
  EXPECT_TRUE(ReadGuestTopology(Wishes("hw:cpu_policy=dedicated", "", 65536)).ok());
}

// A guest of 65,536 cells would take 270 MB.
TEST(Constraints, BoundTheNumberOfCells) {
  const auto most = ReadGuestTopology(Wishes("hw:numa_nodes=128", "", 65536, 65536));
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_EQ((*most)->cells.size(), 128);
  for (const char* nodes : {"129", "65536"}) {
    const std::string flavor = absl::StrCat("hw:numa_nodes=", nodes);
    const int vcpus = 65536 / 129 * 129;
    const auto guest =
        ReadGuestTopology(Wishes(flavor, "", nodes[0] == '1' ? vcpus : 65536, 129 * 65536));
    ASSERT_FALSE(guest.ok()) << nodes;
    EXPECT_EQ(FaultOf(guest.status())->kind, Kind::kNodesInvalid);  // T-275
  }
}

TEST(Constraints, FollowTheCpuPolicy) {
  ExpectTexts({
      {"hw:cpu_policy=dedicated", "hw_cpu_policy=shared", "+0-3 1024"},  // T-271
      {"hw:cpu_policy=mixed hw:cpu_dedicated_mask=0", "hw_cpu_policy=shared", "1-3+0 1024"},
      {"hw:cpu_policy=", "hw_cpu_policy=dedicated", "+0-3 1024"},
      {"hw:cpu_policy=mixed hw:cpu_realtime=yes hw:cpu_realtime_mask=^0-1", "", "0-1+2-3 1024"},
      {"hw:cpu_policy=mixed hw:cpu_realtime=yes hw:cpu_realtime_mask=0", "hw_cpu_realtime_mask=3",
       "0-2+3 1024"},
      {"hw:cpu_policy=dedicated hw:cpu_dedicated_mask=", "", "+0-3 1024"},
  });
  ExpectFaults({
      {"hw:cpu_policy=Dedicated", "", Kind::kCpuPolicyUnknown, "hw:cpu_policy"},  // T-271
      {"", "hw_cpu_policy=pinned", Kind::kUnparsable, "hw_cpu_policy"},
      {"hw:cpu_policy=shared", "hw_cpu_policy=dedicated", Kind::kCpuPolicyForbidden,
       "hw_cpu_policy"},  // T-271
      {"hw:cpu_policy=shared", "hw_cpu_policy=mixed", Kind::kCpuPolicyForbidden, "hw_cpu_policy"},
      {"hw:cpu_policy=mixed hw:cpu_dedicated_mask=0", "hw_cpu_policy=dedicated",
       Kind::kCpuPolicyForbidden, "hw_cpu_policy"},
      {"hw:cpu_policy=mixed", "", Kind::kMixedNeedsOneMask, "hw:cpu_policy"},  // T-271
      {"hw:cpu_policy=mixed hw:cpu_dedicated_mask=0 hw:cpu_realtime=1 hw:cpu_realtime_mask=1", "",
       Kind::kMixedNeedsOneMask, "hw:cpu_policy"},
      {"hw:cpu_policy=mixed hw:cpu_dedicated_mask=0-3", "", Kind::kDedicatedMaskInvalid,
       "hw:cpu_dedicated_mask"},  // T-271
      {"hw:cpu_policy=mixed hw:cpu_dedicated_mask=0,^0", "", Kind::kDedicatedMaskInvalid,
       "hw:cpu_dedicated_mask"},
      {"hw:cpu_policy=mixed hw:cpu_dedicated_mask=3-4", "", Kind::kDedicatedMaskInvalid,
       "hw:cpu_dedicated_mask"},
      {"hw:cpu_policy=mixed hw:cpu_dedicated_mask=1-0", "", Kind::kUnparsable,
       "hw:cpu_dedicated_mask"},
      {"hw:cpu_policy=dedicated hw:cpu_dedicated_mask=0", "", Kind::kDedicatedMaskNeedsMixed,
       "hw:cpu_dedicated_mask"},
      {"resources:PCPU=3", "", Kind::kResourcesConflict, "resources:PCPU"},
      {"hw:emulator_threads_policy=isolate resources:PCPU=4", "", Kind::kResourcesConflict,
       "resources:PCPU"},
      {"resources:VCPU=4 resources:PCPU=4", "", Kind::kResourcesConflict, "resources:PCPU"},
      {"hw:cpu_policy=shared resources:VCPU=4", "", Kind::kResourcesConflict, "resources:VCPU"},
  });
}

TEST(Constraints, TakeThePolicyOfThreads) {  // T-271
  const struct {
    const char* flavor;
    const char* image;
    std::optional<CpuThreadPolicy> want;
  } kCases[] = {
      {"", "", std::nullopt},
      {"hw:cpu_thread_policy=require", "", CpuThreadPolicy::kRequire},
      {"", "hw_cpu_thread_policy=isolate", CpuThreadPolicy::kIsolate},
      {"hw:cpu_thread_policy=prefer", "hw_cpu_thread_policy=isolate", CpuThreadPolicy::kPrefer},
      {"hw:cpu_thread_policy=isolate", "hw_cpu_thread_policy=isolate", CpuThreadPolicy::kIsolate},
      {"trait:HW_CPU_HYPERTHREADING=required", "", CpuThreadPolicy::kRequire},
      {"trait:HW_CPU_HYPERTHREADING=forbidden", "", CpuThreadPolicy::kIsolate},
      {"trait2:HW_CPU_HYPERTHREADING=forbidden", "", CpuThreadPolicy::kIsolate},
      {"trait:HW_CPU_HYPERTHREADING=maybe", "", std::nullopt},
      {"", "trait:HW_CPU_HYPERTHREADING=required", CpuThreadPolicy::kRequire},
  };
  for (const auto& test : kCases) {
    const std::string flavor = absl::StrCat("hw:cpu_policy=dedicated ", test.flavor);
    const auto guest = ReadGuestTopology(Wishes(flavor, test.image));
    ASSERT_TRUE(guest.ok()) << guest.status();
    EXPECT_EQ((*guest)->cells[0].cpu_thread_policy, test.want) << flavor << test.image;
    EXPECT_EQ((*guest)->cells[0].cpu_policy, CpuPolicy::kDedicated);
  }
  const char* const pinned = "hw_cpu_policy=dedicated";
  ExpectFaults({
      {"hw:cpu_thread_policy=avoid", pinned, Kind::kThreadPolicyUnknown, "hw:cpu_thread_policy"},
      {"hw:cpu_thread_policy=", pinned, Kind::kThreadPolicyUnknown, "hw:cpu_thread_policy"},
      {"hw:cpu_thread_policy=isolate hw:cpu_policy=dedicated", "hw_cpu_thread_policy=require",
       Kind::kThreadPolicyForbidden, "hw_cpu_thread_policy"},
      {"hw:cpu_thread_policy=prefer", "", Kind::kThreadPolicyNeedsPinnedCpus,
       "hw:cpu_thread_policy"},
      {"trait:HW_CPU_HYPERTHREADING=required", "", Kind::kThreadPolicyNeedsPinnedCpus,
       "hw:cpu_thread_policy"},
      {"hw:cpu_thread_policy=prefer trait:HW_CPU_HYPERTHREADING=required", pinned,
       Kind::kResourcesConflict, "trait:HW_CPU_HYPERTHREADING"},
  });
  EXPECT_EQ(*ReadGuestTopology(Wishes("hw:cpu_thread_policy=")), std::nullopt);
}

TEST(Constraints, TakeThePolicyOfEmulatorThreads) {  // T-271
  const auto guest =
      ReadGuestTopology(Wishes("hw:cpu_policy=dedicated hw:emulator_threads_policy=isolate"));
  ASSERT_TRUE(guest.ok());
  EXPECT_EQ((*guest)->emulator_threads_policy, EmulatorThreadsPolicy::kIsolate);  // T-270
  EXPECT_EQ((*guest)->cells[0].host_cell, std::nullopt);                          // T-270
  const auto shared = ReadGuestTopology(Wishes("hw:numa_nodes=1 hw:emulator_threads_policy=share"));
  EXPECT_EQ((*shared)->emulator_threads_policy, EmulatorThreadsPolicy::kShare);
  ExpectFaults({
      {"hw:emulator_threads_policy=float", "", Kind::kEmulatorPolicyUnknown,
       "hw:emulator_threads_policy"},
      {"hw:emulator_threads_policy=isolate", "", Kind::kEmulatorPolicyNeedsPinnedCpus,
       "hw:emulator_threads_policy"},
  });
}

TEST(Constraints, LeaveAVcpuThatIsNotRealtime) {  // T-271
  const std::string realtime = "hw:cpu_policy=dedicated hw:cpu_realtime=true";
  const std::string mask = realtime + " hw:cpu_realtime_mask=";
  const char* const name = "hw:cpu_realtime_mask";
  ExpectTexts({
      {(mask + "^0").c_str(), "", "+0-3 1024"},
      {"hw:cpu_policy=dedicated hw:cpu_realtime=maybe hw:cpu_realtime_mask=q", "", "+0-3 1024"},
      {(realtime + " hw:emulator_threads_policy=share").c_str(), "", "+0-3 1024"},
  });
  ExpectFaults({
      {realtime.c_str(), "", Kind::kRealtimeMaskInvalid, name},
      {(mask + "0-3").c_str(), "", Kind::kRealtimeMaskInvalid, name},
      {(mask + "^0-3").c_str(), "", Kind::kRealtimeMaskInvalid, name},
      {realtime.c_str(), "hw_cpu_realtime_mask=4", Kind::kRealtimeMaskInvalid,
       "hw_cpu_realtime_mask"},
      {realtime.c_str(), "hw_cpu_realtime_mask=q", Kind::kUnparsable, "hw_cpu_realtime_mask"},
      {"hw:cpu_realtime=true hw:cpu_realtime_mask=0", "", Kind::kRealtimeNeedsPinnedCpus,
       "hw:cpu_realtime"},
  });
}

TEST(Constraints, TakeThePageSize) {  // T-272
  ExpectTexts({
      {"hw:mem_page_size=small", "", "0-3+ 1024 -1"},
      {"hw:mem_page_size=large", "", "0-3+ 1024 -2"},
      {"hw:mem_page_size=any", "", "0-3+ 1024 -3"},
      {"hw:mem_page_size=64", "", "0-3+ 1024 64"},
      {"hw:mem_page_size=2MB", "", "0-3+ 1024 2048"},
      {"hw:mem_page_size=1.5MB", "", "0-3+ 1024 1536"},
      {"hw:mem_page_size=1Gb", "", "0-3+ 1024 131072"},
      {"hw:mem_page_size=1Gbit", "", "0-3+ 1024 131072"},
      {"hw:mem_page_size=0", "", "none"},
      {"hw:mem_page_size=0 hw:numa_nodes=1", "", "0-3+ 1024"},
      {"hw:mem_page_size=any", "hw_mem_page_size=1GB", "0-3+ 1024 1048576"},
      {"hw:mem_page_size=large", "hw_mem_page_size=small", "0-3+ 1024 -1"},
  });
  for (const char* text :
       {"huge", "2M", "-1", "1B", "infGB", "9999999999999PB", "99999999999999999999", "B", ".",
        "1.2.3KB", "2.MB", ".MB", "+2MB", "+2048", "2048.", "MB"}) {
    const std::string flavor = absl::StrCat("hw:mem_page_size=", text);
    ExpectFaults({{flavor.c_str(), "", Kind::kPageSizeInvalid, "hw:mem_page_size"}});
  }
}

TEST(Constraints, LetTheImageChooseThePageSizeOnlyIfTheFlavorAllowsIt) {
  const char* const image = "hw_mem_page_size";
  ExpectFaults({
      {"hw:mem_page_size=any", "hw_mem_page_size=foo", Kind::kPageSizeInvalid, image},
      {"", "hw_mem_page_size=2048", Kind::kPageSizeForbidden, image},  // T-272
      {"hw:mem_page_size=2048", "hw_mem_page_size=2048", Kind::kPageSizeForbidden, image},
      {"hw:mem_page_size=small", "hw_mem_page_size=2048", Kind::kPageSizeForbidden, image},
  });
}

TEST(Constraints, LockMemoryOnlyWithAPageSize) {
  ExpectFaults({
      {"hw:locked_memory=yes", "", Kind::kLockedMemoryNeedsPageSize, "hw:locked_memory"},
      {"", "hw_locked_memory=yes", Kind::kLockedMemoryNeedsPageSize, "hw_locked_memory"},
      {"hw:locked_memory=no hw:mem_page_size=4", "hw_locked_memory=yes",
       Kind::kLockedMemoryConflict, "hw_locked_memory"},
  });
  EXPECT_TRUE(ReadGuestTopology(Wishes("hw:locked_memory=true hw:mem_page_size=4")).ok());
  EXPECT_TRUE(ReadGuestTopology(Wishes("hw:locked_memory=no", "hw_locked_memory=0")).ok());
}

TEST(Constraints, TellTheirFaultsFromOthers) {
  EXPECT_EQ(FaultOf(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(FaultOf(absl::InvalidArgumentError("hw:numa_nodes: other")), std::nullopt);
}

}  // namespace
}  // namespace berth::tracker
