// A host with two NUMA cells and huge pages, as a real libvirt describes it: what guests get of
// each cell, and what is left.
#include <gmock/gmock.h>
#include <sched.h>

#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/e2e/real_host.h"
#include "tests/processes/made_machine.h"
#include "tests/processes/own_mounts.h"

namespace berth::e2e {
namespace {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;

constexpr int64_t kTwoMib = 2 << 10;  // in KiB, as all sizes of pages
constexpr int64_t kOneGib = 1 << 20;
constexpr int64_t kAnyLargeSize = -2;

class MadeHostTest : public RealHost {
 protected:
  void SetUp() override {
    if (const absl::Status separate = SeparateMounts(); !separate.ok()) {
      GTEST_SKIP() << "mounting is not permitted: " << separate;
    }
    machine_ = std::make_unique<MadeMachine>(
        std::vector<MadeCell>{{{0, 2, 4, 6}, 16384, {{kTwoMib, 512}, {kOneGib, 4}}},
                              {{1, 3, 5, 7}, 16384, {{kTwoMib, 1024}, {kOneGib, 2}}}});
    RealHost::SetUp();
  }

  // The record of a new instance with cells of these sizes in MiB, each with `vcpus` virtual CPUs.
  // The caller has to store it once more.
  pb::Instance WithCells(const std::vector<int64_t>& sizes_mib, int vcpus,
                         const std::string& policy) {
    const int cells = static_cast<int>(sizes_mib.size());
    pb::Instance instance =
        Create({vcpus * cells, std::accumulate(sizes_mib.begin(), sizes_mib.end(), int64_t{0})});
    auto& specs = *instance.mutable_flavor()->mutable_extra_specs();
    specs["hw:numa_nodes"] = absl::StrCat(cells);
    specs["hw:cpu_policy"] = policy;
    for (int i = 0; i < cells; ++i) {
      pb::GuestCell& cell = *instance.add_numa_cells();
      cell.set_memory_mib(sizes_mib[static_cast<size_t>(i)]);
      cell.set_cpu_policy(policy);
      auto& cpus =
          *(policy == "dedicated" ? cell.mutable_pinned_cpus() : cell.mutable_shared_cpus());
      for (int vcpu = 0; vcpu < vcpus; ++vcpu) cpus.Add(i * vcpus + vcpu);
      specs[absl::StrCat("hw:numa_cpus.", i)] = absl::StrJoin(cpus, ",");
      specs[absl::StrCat("hw:numa_mem.", i)] = absl::StrCat(cell.memory_mib());
    }
    return instance;
  }
  // An instance with one shared virtual CPU in each cell. `page_size`: of the memory, in the words
  // of a flavor and in those of a record.
  pb::Instance CreateWithPages(const std::vector<int64_t>& sizes_mib, const std::string& page_size,
                               int64_t page_size_kib) {
    pb::Instance instance = WithCells(sizes_mib, 1, "shared");
    (*instance.mutable_flavor()->mutable_extra_specs())["hw:mem_page_size"] = page_size;
    for (pb::GuestCell& cell : *instance.mutable_numa_cells())
      cell.set_page_size_kib(page_size_kib);
    return Store(instance);
  }
  // An instance with dedicated CPUs and one more for the threads of its emulator.
  pb::Instance CreateIsolated(const std::vector<int64_t>& sizes_mib, int vcpus) {
    pb::Instance instance = WithCells(sizes_mib, vcpus, "dedicated");
    (*instance.mutable_flavor()->mutable_extra_specs())["hw:emulator_threads_policy"] = "isolate";
    instance.set_emulator_threads_policy("isolate");
    return Store(instance);
  }
  pb::Instance CreateDedicated(const std::vector<int64_t>& sizes_mib, int vcpus) {
    return Store(WithCells(sizes_mib, vcpus, "dedicated"));
  }

  // The free pages of cell 0 and of cell 1: "512 1024 of 2 MiB, 4 2 of 1 GiB".
  static std::string FreePages(const pb::NodeAccount& account) {
    std::map<int64_t, std::vector<int64_t>> free;
    for (const pb::NumaCellUsage& cell : account.numa_usage()) {
      for (const pb::MemoryPages& pages : cell.pages()) {
        free[pages.size_kib()].push_back(pages.total() - pages.reserved() - pages.used());
      }
    }
    return absl::StrCat(absl::StrJoin(free[kTwoMib], " "), " of 2 MiB, ",
                        absl::StrJoin(free[kOneGib], " "), " of 1 GiB");
  }
  std::string FreePages() { return FreePages(View().account()); }
  // The dedicated CPUs of cell 0 and of cell 1 that guests have: "0,2 | 1".
  std::string Pinned() {
    std::vector<std::string> cells;
    const tracker_pb::GetNodeViewResponse view = View();
    for (const pb::NumaCellUsage& cell : view.account().numa_usage()) {
      cells.push_back(absl::StrJoin(cell.pinned_cpus(), ","));
    }
    return absl::StrJoin(cells, " | ");
  }
  // Where the guest's cell is: "cell 0, vCPU 0 on 2, emulator on 4".
  static std::string PlaceOf(const pb::GuestCell& cell) {
    std::string place = absl::StrCat("cell ", cell.host_cell());
    const std::map<int, int> pinning(cell.pinning().begin(), cell.pinning().end());
    for (const auto& [vcpu, cpu] : pinning) absl::StrAppend(&place, ", vCPU ", vcpu, " on ", cpu);
    if (cell.reserved_cpus_size() == 0) return place;
    return absl::StrCat(place, ", emulator on ", absl::StrJoin(cell.reserved_cpus(), ","));
  }
  static std::string PlaceOf(const tracker_pb::Claim& claim) {
    std::vector<std::string> places;
    for (const pb::GuestCell& cell : claim.numa_cells()) places.push_back(PlaceOf(cell));
    return absl::StrJoin(places, "; ");
  }

  // Starts a guest with one virtual CPU in each cell, pinned as the claim says.
  void StartGuestWithCells(const std::string& uuid, const tracker_pb::Claim& claim) {
    std::string pins, cells;
    for (const pb::GuestCell& cell : claim.numa_cells()) {
      for (const auto& [vcpu, cpu] : cell.pinning()) {
        absl::StrAppend(&pins, "<vcpupin vcpu='", vcpu, "' cpuset='", cpu, "'/>");
        absl::StrAppend(&cells, "<cell id='", vcpu, "' cpus='", vcpu, "' memory='",
                        cell.memory_mib(), "' unit='MiB'/>");
      }
    }
    const std::string path = absl::StrCat(daemon_->directory(), "/", uuid, ".xml");
    std::ofstream(path) << "<domain type='qemu'><name>" << uuid << "</name><uuid>" << uuid
                        << "</uuid><memory unit='MiB'>64</memory><vcpu>2</vcpu><cputune>" << pins
                        << "</cputune><os><type arch='x86_64'>hvm</type></os><cpu><numa>" << cells
                        << "</numa></cpu></domain>";
    Virsh({"create", path});
  }

  std::unique_ptr<MadeMachine> machine_;
};

// Whether this process may run on the CPUs 0 and 1 of the real machine.
bool HasTwoCpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_ISSET(0, &cpus) &&
         CPU_ISSET(1, &cpus);
}

TEST_F(MadeHostTest, HugePagesOfEachCellAreCountedAndGivenBack) {
  ASSERT_NO_FATAL_FAILURE(StartTracker({"--reserved-huge-pages=node:1,size:2M,count:24"}));
  EXPECT_EQ(FreePages(), "512 1000 of 2 MiB, 4 2 of 1 GiB");  // T-266, T-267
  const tracker_pb::Claim wide = Grant(CreateWithPages({256, 512}, "2048", kTwoMib));
  EXPECT_EQ(PlaceOf(wide), "cell 0; cell 1");                // T-274
  EXPECT_EQ(FreePages(), "384 744 of 2 MiB, 4 2 of 1 GiB");  // T-283
  const tracker_pb::Claim deep = Grant(CreateWithPages({3072}, "1048576", kOneGib));
  EXPECT_EQ(PlaceOf(deep), "cell 0");                        // T-277: cell 1 has two pages
  EXPECT_EQ(FreePages(), "384 744 of 2 MiB, 1 2 of 1 GiB");  // T-283
  const pb::Instance loser = CreateWithPages({1024, 1024}, "1048576", kOneGib);
  const pb::Instance winner = CreateWithPages({1024, 1024}, "1048576", kOneGib);
  const tracker_pb::Claim pair = Grant(winner);
  EXPECT_EQ(FreePages(), "384 744 of 2 MiB, 0 1 of 1 GiB");  // T-283
  ExpectRefused(loser);                                      // T-163, T-277
  EXPECT_EQ(FreePages(), "384 744 of 2 MiB, 0 1 of 1 GiB");  // T-156
  Abort(pair);
  EXPECT_EQ(FreePages(), "384 744 of 2 MiB, 1 2 of 1 GiB");  // T-167
  Grant(loser);
  const tracker_pb::Claim any = Grant(CreateWithPages({512}, "large", kAnyLargeSize));
  ASSERT_EQ(any.numa_cells_size(), 1);
  EXPECT_EQ(any.numa_cells(0).page_size_kib(), kTwoMib);  // T-278: half of a page of 1 GiB
  EXPECT_EQ(any.numa_cells(0).host_cell(), 1);            // T-273: more memory is free there
  const std::string last = "384 488 of 2 MiB, 0 1 of 1 GiB";
  EXPECT_EQ(FreePages(), last);  // T-283

  KillTracker();
  RestartTracker();
  EXPECT_TRUE(Eventually([&] { return FreePages() == last; })) << FreePages();  // T-286, T-399
  EXPECT_TRUE(Eventually([&] {
    Audit();
    return FreePages(Node().account()) == last;
  })) << FreePages(Node().account());  // T-392
  Abort(wide);
  EXPECT_EQ(FreePages(), "512 744 of 2 MiB, 0 1 of 1 GiB");  // T-165, T-167
}

TEST_F(MadeHostTest, AnIsolatedEmulatorThreadHasACpuOfTheFirstCell) {
  ASSERT_NO_FATAL_FAILURE(StartTracker({"--cpu-shared-set=6,7", "--cpu-dedicated-set=0-5"}));
  const pb::Instance first = CreateIsolated({32, 32}, 1);
  const tracker_pb::Claim claim = Grant(first);
  EXPECT_EQ(PlaceOf(claim),
            "cell 0, vCPU 0 on 0, emulator on 2; cell 1, vCPU 1 on 1");  // T-276, T-281
  EXPECT_EQ(PlaceOf(Get(first.uuid()).numa_cells(0)),
            "cell 0, vCPU 0 on 0, emulator on 2");  // T-155
  EXPECT_EQ(Pinned(), "0,2 | 1");                   // T-283
  if (HasTwoCpus()) {
    StartGuestWithCells(first.uuid(), claim);
    Audit();
    EXPECT_EQ(View().orphans_size(), 0);  // T-138
    EXPECT_EQ(Pinned(), "0,2 | 1");       // T-105
    Virsh({"destroy", first.uuid()});
  }

  const pb::Instance large = CreateIsolated({32}, 2);
  ExpectRefused(large);  // T-276: no cell has three CPUs left
  const pb::Instance plain = CreateDedicated({32}, 2);
  const tracker_pb::Claim plain_claim = Grant(plain);
  EXPECT_EQ(PlaceOf(plain_claim), "cell 1, vCPU 0 on 3, vCPU 1 on 5");         // T-273
  ExpectRefused(CreateIsolated({32}, 1));                                      // T-276, T-395
  EXPECT_EQ(PlaceOf(Grant(CreateDedicated({32}, 1))), "cell 0, vCPU 0 on 4");  // T-395
  EXPECT_EQ(Pinned(), "0,2,4 | 1,3,5");                                        // T-283

  KillTracker();
  RestartTracker();
  EXPECT_TRUE(Eventually([this] { return Pinned() == "0,2,4 | 1,3,5"; })) << Pinned();  // T-399
  Abort(plain_claim);
  Release(plain.uuid());
  EXPECT_EQ(Pinned(), "0,2,4 | 1");  // T-165
  Delete(first.uuid());
  EXPECT_TRUE(Eventually([this] { return Pinned() == "4 | "; })) << Pinned();  // T-283
  EXPECT_EQ(PlaceOf(Grant(large)),
            "cell 1, vCPU 0 on 1, vCPU 1 on 3, emulator on 5");  // T-276, T-281
}

}  // namespace
}  // namespace berth::e2e
