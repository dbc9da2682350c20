// The hosts, nodes and records of the world of peer scripts, by name.
#ifndef BERTH_TESTS_FUZZ_PEER_NAMES_H_
#define BERTH_TESTS_FUZZ_PEER_NAMES_H_

#include <cstdint>

namespace berth::fuzz {

// The honest host, and the one whose tracker sends the script's session messages.
inline constexpr char kHonestHost[] = "honest";
inline constexpr char kHostileHost[] = "hostile";
inline constexpr char kHonestNode[] = "11111111-1111-4111-8111-11111111111a";
inline constexpr char kHostileNode[] = "22222222-2222-4222-8222-22222222222a";
// The hostile tracker's provider below its node.
inline constexpr char kHostileChild[] = "22222222-2222-4222-8222-22222222222c";

// Instances that are on no host. They hold something on the honest node.
inline constexpr char kPlain[] = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa1";
inline constexpr char kPinned[] = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa2";
// An instance that is on no host, and holds something on the hostile node.
inline constexpr char kHostile[] = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa3";
// An instance that the honest host has claimed, with a CPU of its own.
inline constexpr char kAnchor[] = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbb1";
// An instance that moves to the honest host, and its migration.
inline constexpr char kMoving[] = "cccccccc-cccc-4ccc-8ccc-ccccccccccc1";
inline constexpr char kMigration[] = "dddddddd-dddd-4ddd-8ddd-ddddddddddd1";

// Stands in a script for a generation or a sequence as it is when the step runs.
inline constexpr int64_t kPresent = 1'000'001;

}  // namespace berth::fuzz

#endif  // BERTH_TESTS_FUZZ_PEER_NAMES_H_
