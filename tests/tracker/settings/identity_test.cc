// A node's identity: the file, and the comparison with placement's records.
#include "tracker/settings/identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tracker/ground/uuid.h"
#include "tracker/settings/state_directory.h"

namespace berth::tracker {
namespace {

constexpr char kUuid[] = "6695eb01-f6a4-8304-79aa-97f2502e193f";
constexpr char kOther[] = "11111111-2222-4333-8444-555555555555";

// A directory of its own for each test.
class IdentityFile : public testing::Test {
 protected:
  IdentityFile() {
    char path[] = "/tmp/berth-identity-XXXXXX";
    root_ = mkdtemp(path);
  }
  ~IdentityFile() override { std::filesystem::remove_all(root_); }

  std::string Directory(const std::string& name) const {
    std::filesystem::create_directories(root_ + "/" + name);
    return root_ + "/" + name;
  }
  std::string With(const std::string& name, const std::string& text) const {
    const std::string directory = Directory(name);
    std::ofstream(directory + "/compute_id") << text;
    return directory;
  }
  std::string root_;
};

TEST_F(IdentityFile, IsSearchedInOrder) {  // T-15, T-16
  const std::string missing = root_ + "/none";
  const std::string empty = Directory("empty");
  EXPECT_EQ(*FindIdentity({missing, empty}), std::nullopt);
  const std::string first = With("a", absl::StrCat("  ", kUuid, "\n"));
  const std::string second = With("b", kUuid);
  const NodeIdentity identity = **FindIdentity({missing, first, second});
  EXPECT_EQ(identity.uuid.ToString(), kUuid);
  EXPECT_EQ(identity.path, first + "/compute_id");
  EXPECT_FALSE(identity.created);
}

TEST_F(IdentityFile, IsRefusedWhenUnclear) {  // T-16
  const std::string good = With("a", kUuid);
  const std::string other = With("b", kOther);
  const absl::Status disagree = FindIdentity({good, other}).status();
  EXPECT_EQ(disagree.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(disagree.message().find(good), std::string::npos);
  EXPECT_NE(disagree.message().find(other), std::string::npos);
  for (const char* const text : {"", "not a uuid", "6695eb01-f6a4-8304-79aa"}) {
    const absl::Status bad = FindIdentity({With("c", text)}).status();
    EXPECT_EQ(bad.code(), absl::StatusCode::kFailedPrecondition) << text;
    EXPECT_NE(bad.message().find("/c/compute_id"), std::string::npos);
  }
  // T-15: no more than 40 characters are read.
  EXPECT_FALSE(FindIdentity({With("d", absl::StrCat(std::string(10, ' '), kUuid))}).ok());
}

TEST_F(IdentityFile, IsMadeOnceAndKept) {  // T-17
  const std::string state = root_ + "/state";
  const NodeIdentity made = *EnsureIdentity({Directory("etc"), state});
  EXPECT_TRUE(made.created);
  EXPECT_EQ(made.path, state + "/compute_id");
  const NodeIdentity again = *EnsureIdentity({Directory("etc"), state});
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.uuid, made.uuid);
  // T-19: nothing is left beside it.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(state), {}), 1);
}

TEST_F(IdentityFile, IsNeverOverwritten) {  // T-17, T-19
  const std::string state = With("state", kUuid);
  EXPECT_EQ(WriteIdentity(state, ShortUuid(kOther)).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ((*FindIdentity({state}))->uuid.ToString(), kUuid);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(state), {}), 1);
  EXPECT_EQ(WriteIdentity(root_ + "/none", ShortUuid(kOther)).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(IdentityFile, OfANodeIsSoughtWhereItCanBe) {  // T-15 as decided
  using Paths = std::vector<std::string>;
  const std::string state = Directory("state");
  const std::string own = state + "/nodes/n";
  const std::string etc = Directory("etc");
  const auto directories = [&](bool several) {
    return IdentityDirectories({etc}, state, "n", several);
  };
  EXPECT_EQ(*directories(false), (Paths{etc, own, state}));
  EXPECT_EQ(*directories(true), (Paths{own}));
  With("etc", kUuid);  // it could be that of any node of several
  EXPECT_EQ(*directories(false), (Paths{etc, own, state}));
  const absl::Status unclear = directories(true).status();
  EXPECT_EQ(unclear.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(unclear.message().find(etc + "/compute_id"), std::string::npos) << unclear;
  EXPECT_NE(unclear.message().find(own + "/compute_id"), std::string::npos) << unclear;
  EXPECT_NE(unclear.message().find(state + "/added_traits.json"), std::string::npos) << unclear;
  ASSERT_TRUE(WriteIdentityOwner(state, "n").ok());
  EXPECT_EQ(*directories(false), (Paths{etc, own, state}));
  EXPECT_EQ(*directories(true), (Paths{etc, own, state}));
  ASSERT_TRUE(WriteIdentityOwner(state, "m").ok());
  EXPECT_EQ(*directories(false), (Paths{etc, own, state}));  // m has become n: T-20 d
  EXPECT_EQ(*directories(true), (Paths{own}));
  With("state/nodes/n", kOther);
  EXPECT_EQ(*directories(false), (Paths{own}));
  EXPECT_EQ(*directories(true), (Paths{own}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(state), {}), 2);  // T-19
}

TEST_F(IdentityFile, OfANodeNeedsANameForADirectory) {
  const std::string state = Directory("state");
  for (const char* const name : {"", ".", "..", "a/b"}) {
    EXPECT_EQ(IdentityDirectories({}, state, name, true).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
    EXPECT_EQ(*IdentityDirectories({}, state, name, false), std::vector<std::string>{state});
  }
}

TEST_F(IdentityFile, OfTheOnlyNodeIsKeptWhenTheTrackerGetsAnother) {  // T-15, T-40
  const std::string state = Directory("state");
  const auto start = [&](const std::string& name, bool several) {
    const NodeIdentity identity = *EnsureIdentity(*IdentityDirectories({}, state, name, several));
    const bool shared = NodeDirectory(identity, state) == state;
    EXPECT_EQ(NodeDirectory(identity, state) + "/compute_id", identity.path);
    EXPECT_TRUE(several || !shared || WriteIdentityOwner(state, name).ok());
    return identity.uuid;
  };
  const Uuid first = start("a", false);
  EXPECT_EQ(start("a", true), first);
  const Uuid second = start("b", true);
  EXPECT_NE(second, first);
  EXPECT_EQ(FindRetired(state, {first, second}, true), std::vector<Uuid>{});
  EXPECT_EQ(start("a", false), first);
  EXPECT_EQ(FindRetired(state, {first}, true), std::vector<Uuid>{second});
  EXPECT_EQ(start("b", false), second);
  EXPECT_EQ(FindRetired(state, {second}, true), std::vector<Uuid>{first});
  EXPECT_EQ(start("a", true), first);
  EXPECT_EQ(start("b", true), second);
}

TEST_F(IdentityFile, OfANodeOfSeveralIsKeptWhenItIsTheOnlyOneLeft) {  // T-15, T-40
  const std::string state = Directory("state");
  With("state/nodes/a", kUuid);
  With("state/nodes/b", kOther);
  EXPECT_EQ((*EnsureIdentity(*IdentityDirectories({}, state, "a", false))).uuid.ToString(), kUuid);
  With("state", kOther);  // T-16: two files of one node with different uuids
  const absl::Status unclear = EnsureIdentity(*IdentityDirectories({}, state, "a", false)).status();
  EXPECT_EQ(unclear.code(), absl::StatusCode::kFailedPrecondition);
}

TEST(IdentityCheck, ComparesWithRecords) {  // T-20
  struct Case {
    const char* what;
    bool created;
    bool several;
    std::vector<NodeRecord> records;
    const char* refusal;  // empty: accepted
    size_t warnings;
  };
  const Case kCases[] = {
      {"first start", true, false, {}, "", 1},  // f; T-39, T-48: a warning only
      {"known", false, false, {{ShortUuid(kUuid), "n", "h"}}, "", 0},
      {"renamed", false, false, {{ShortUuid(kUuid), "m", "h"}}, "possible rename", 0},    // d
      {"other host", false, false, {{ShortUuid(kUuid), "n", "g"}}, "on host g", 0},       // e
      {"other host, several", false, true, {{ShortUuid(kUuid), "n", "g"}}, "", 1},        // e
      {"name taken", false, false, {{ShortUuid(kOther), "n", "g"}}, "name conflict", 0},  // T-12
      {"lost state", true, false, {{ShortUuid(kOther), "n", "h"}}, "lost state", 0},      // a; T-18
      {"lost state, renamed", true, false, {{ShortUuid(kOther), "m", "h"}}, "lost state", 0},
      {"new node of several", true, true, {{ShortUuid(kOther), "m", "h"}}, "", 1},
      {"asked again", true, false, {{ShortUuid(kUuid), "n", "h"}}, "", 0},
      {"another node of the host",
       false,
       false,
       {{ShortUuid(kUuid), "n", "h"}, {ShortUuid(kOther), "m", "h"}},
       "",
       0},
  };
  for (const Case& test : kCases) {
    const NodeIdentity identity{ShortUuid(kUuid), "/s/compute_id", test.created};
    const absl::StatusOr<IdentityCheck> check =
        CheckIdentity(identity, "n", "h", test.several, test.records);
    if (*test.refusal == '\0') {
      ASSERT_TRUE(check.ok()) << test.what << ": " << check.status();
      EXPECT_EQ(check->warnings.size(), test.warnings) << test.what;
    } else {
      EXPECT_EQ(check.status().code(), absl::StatusCode::kFailedPrecondition) << test.what;
      EXPECT_NE(check.status().message().find(test.refusal), std::string::npos) << check.status();
    }
  }
}

TEST_F(IdentityFile, StateDirectoryHasOneOwner) {
  const std::string path = root_ + "/state/deep";
  absl::StatusOr<std::unique_ptr<StateDirectory>> first = StateDirectory::Open(path);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = StateDirectory::Open(path).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(second.message().find(std::to_string(getpid())), std::string::npos) << second;
  EXPECT_FALSE(MachineId(**first)->empty());
  EXPECT_EQ(*MachineId(**first), *MachineId(**first));
  first->reset();
  EXPECT_TRUE(StateDirectory::Open(path).ok());
  EXPECT_FALSE(StateDirectory::Open("/proc/berth").ok());
}

}  // namespace
}  // namespace berth::tracker
