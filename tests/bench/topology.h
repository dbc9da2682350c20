// The providers of the bench, as ApplyTopology takes them.
#ifndef BERTH_TESTS_BENCH_TOPOLOGY_H_
#define BERTH_TESTS_BENCH_TOPOLOGY_H_

#include <cstdint>
#include <string>

#include "berth/placement/v1/inventory.pb.h"
#include "google/protobuf/map.h"

namespace berth::bench {

using Inventories = google::protobuf::Map<std::string, placement::v1::Inventory>;

// 64 VCPU at ratio 16, 256 GiB of memory of which 512 MiB are reserved, 4 TiB of disk: room for
// more than a thousand claims. The hot host has a million times as much.
void FillHostInventories(int64_t number, Inventories* to);
inline constexpr char kHostTrait[] = "HW_CPU_X86_AVX2";
inline constexpr char kHostAggregate[] = "aaaaaaaa-0000-4000-8000-000000000001";

// `count` hosts from number `first` on, with that trait and aggregate or without.
std::string HostsTopology(int64_t first, int count, bool with_marks);
// Hosts with room for kBusyPlaces claims of kBusyClaim, and beside them for a few small ones.
std::string BusyHostsTopology(int64_t first, int count);
inline constexpr int kBusyPlaces = 8;

// A host of another kind with devices below it, each a provider with one unit. The host itself has
// nothing to give.
inline constexpr int kDeviceCount = 8;
inline constexpr char kDeviceClass[] = "CUSTOM_BENCH_DEVICE";
std::string DeviceClassRequest();
std::string DevicesTopology();

// Trees of seven providers: a host with disk, two NUMA nodes with processors and memory, an
// accelerator under the first and two under the second, and a graphics device. Only the second NUMA
// node has kTreeTrait.
inline constexpr char kTreeTrait[] = "CUSTOM_BENCH_FAST";
inline constexpr char kTreeRootTrait[] = "COMPUTE_VOLUME_MULTI_ATTACH";
enum class TreePart { kHost, kNuma0, kNuma1, kFpga0, kFpga1, kFpga2, kGraphics };
inline constexpr int kTreeParts = 7;
std::string TreePartUuid(int64_t tree, TreePart part);
std::string TreeTraitRequest();
std::string TreesTopology(int64_t first, int count);

}  // namespace berth::bench

#endif  // BERTH_TESTS_BENCH_TOPOLOGY_H_
