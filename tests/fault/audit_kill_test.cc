// `berth audit follow` over mutual TLS, while it and placement are killed at random under writes of
// every kind: each write that was done is in the audit files once, in the order of the ledger, and
// nothing else is.
//
// BERTH_AUDITED_WRITES says how many writes there are (default 3000); 100000 take some minutes.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/inventory.pb.h"
#include "placement/store/child_process.h"
#include "services/cli/session/audit_files.h"
#include "services/cli/session/audit_lines.h"
#include "tests/e2e/calls.h"
#include "tests/fault/audited_writer.h"
#include "tests/fault/await.h"
#include "tests/processes/client_credentials.h"
#include "tests/processes/identity.h"
#include "tests/processes/placement_server.h"
#include "tests/worlds/seed.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kWriters = 6;
constexpr absl::Duration kFollowedWithin = absl::Minutes(2);
constexpr absl::Duration kWrittenWithin = absl::Minutes(2);  // what is written between two kills
constexpr absl::Duration kEndsWithin = absl::Seconds(30);
constexpr size_t kCutMax = 4000;  // bytes that a kill may cost the files

int64_t WritesWanted() {
  const char* const text = std::getenv("BERTH_AUDITED_WRITES");
  int64_t wanted = 3000;
  EXPECT_TRUE(text == nullptr || absl::SimpleAtoi(text, &wanted)) << text;
  return wanted;
}

// `berth audit follow` into a directory. The process ends with this object.
class Follower {
 public:
  Follower(std::string endpoint, const std::string& directory)
      : endpoint_(std::move(endpoint)),
        files_(directory + "/audit"),
        log_(directory + "/follower") {
    Start();
  }
  ~Follower() { Kill(); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  void Start() {
    placement::ChildOptions options;
    options.arguments = {BERTH_PROGRAM, "--endpoint", endpoint_};
    for (auto& argument : e2e::CertificateArguments("operator/follower")) {
      options.arguments.push_back(argument);
    }
    options.arguments.insert(options.arguments.end(), {"audit", "follow", "--to", files_});
    options.account = {getuid(), getgid()};
    options.output_path = log_;
    options.death_signal = SIGKILL;
    log_before_ = Log().size();
    const auto pid = placement::Spawn(options);
    ASSERT_TRUE(pid.ok()) << pid.status();
    pid_ = *pid;
  }
  bool is_running() const { return pid_ > 0; }
  // Whether it has come so far since its start that it knows SIGTERM.
  bool follows() const { return absl::StrContains(Log().substr(log_before_), "following "); }
  // Ends it as a crash would.
  void Kill() {
    if (is_running()) End(SIGKILL);
  }
  // The exit code.
  int End(int signal) {
    kill(pid_, signal);
    const auto code = placement::WaitForChild(pid_, kEndsWithin);
    EXPECT_TRUE(code.ok()) << code.status();
    pid_ = -1;
    return code.value_or(-1);
  }

  const std::string& files() const { return files_; }
  std::string Log() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  // The last `size` bytes of the newest file.
  std::string Tail(size_t size) const {
    const auto paths = cli::AuditFilesIn(files_);
    if (!paths.ok()) return "";
    std::ifstream file(paths->back(), std::ios::binary | std::ios::ate);
    const auto all = static_cast<size_t>(file.tellg());
    file.seekg(static_cast<std::streamoff>(all - std::min(all, size)));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  // Takes the end of the newest file away, as if it had not been written before the kill. Leaves the
  // line with which the files begin.
  void Cut(size_t bytes) const {
    const auto paths = cli::AuditFilesIn(files_);
    if (!paths.ok()) return;
    std::ifstream file(paths->back());
    std::string first;
    std::getline(file, first);
    const auto size = static_cast<size_t>(std::filesystem::file_size(paths->back()));
    std::filesystem::resize_file(paths->back(),
                                 std::max(first.size() + 1, size - std::min(size, bytes)));
  }

 private:
  const std::string endpoint_, files_, log_;
  pid_t pid_ = -1;
  size_t log_before_ = 0;  // bytes of the log before the last start
};

// What the files say of one write.
struct AuditedWrite {
  int64_t revision = 0;
  std::string actor, method;
  std::set<std::string> entities;  // KIND KEY
};

// Reads files, and tells what is wrong with the order of their lines. A revision has one or more
// writes, whose lines stand one after the other.
class AuditReading {
 public:
  void Read(const std::string& directory) {
    const auto paths = cli::AuditFilesIn(directory);
    ASSERT_TRUE(paths.ok()) << paths.status();
    for (const std::string& path : *paths) {
      std::ifstream file(path);
      for (std::string line; std::getline(file, line);) {
        const auto entry = cli::ReadAuditLine(line);
        ASSERT_TRUE(entry.ok()) << entry.status() << ": " << line;
        entry->mark.empty() ? TakeChange(*entry, line) : TakeMark(*entry, line);
        newest_ = std::max(newest_, entry->revision.number());
      }
    }
    EXPECT_FALSE(open_) << "the last revision is not complete";
  }
  // By request id.
  const std::map<std::string, AuditedWrite>& writes() const { return writes_; }

 private:
  void TakeMark(const cli::AuditEntry& entry, const std::string& line) {
    EXPECT_EQ(entry.mark, newest_ == 0 ? "begin" : "position") << line;
    EXPECT_GE(entry.revision.number(), newest_) << line;
    EXPECT_FALSE(open_) << "before the end of a revision: " << line;
  }
  void TakeChange(const cli::AuditEntry& entry, const std::string& line) {
    const int64_t number = entry.revision.number();
    if (open_) {
      EXPECT_EQ(number, newest_) << "before the end of another revision: " << line;
    } else {
      EXPECT_GT(number, newest_) << "again, or too late: " << line;
      last_id_.clear();
    }
    const std::string& id = entry.change.request_id();
    EXPECT_FALSE(id.empty()) << line;
    AuditedWrite& write = writes_[id];
    EXPECT_EQ(write.revision == 0, id != last_id_) << "in two places: " << line;
    if (write.revision == 0) write = {number, entry.change.actor(), entry.change.method(), {}};
    EXPECT_EQ(entry.change.actor(), write.actor) << line;
    EXPECT_EQ(entry.change.method(), write.method) << line;
    EXPECT_TRUE(write.entities.insert(entry.kind + " " + entry.key).second) << "twice: " << line;
    last_id_ = id;
    open_ = !absl::EndsWith(line + "\n", cli::kLastOfRevision);
  }

  int64_t newest_ = 0;
  bool open_ = false;    // the revision goes on
  std::string last_id_;  // of the line before, if that is of the same revision
  std::map<std::string, AuditedWrite> writes_;
};

class AuditKill : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("BERTH_TEST_CERTIFICATES", "1", 1);
    StartPlacement();
    const std::string host = MakeHost();
    follower_ = std::make_unique<Follower>(socket_, scratch_.path());
    ASSERT_TRUE(AwaitWithin(kFollowedWithin, [this] { return !follower_->Tail(1).empty(); }))
        << follower_->Log();
    for (int i = 0; i < kWriters; ++i) {
      writers_.push_back(std::make_unique<AuditedWriter>(absl::StrCat("admin/writer-", i),
                                                         random_(), host, &endpoint_, &tally_));
    }
  }
  void TearDown() override {
    tally_.stop = true;
    for (std::thread& thread : threads_) thread.join();
  }

  // The follower knows placement by a socket, whose name stays. The writers come over TCP.
  void StartPlacement() {
    placement_.reset();
    placement_ = std::make_unique<e2e::PlacementServer>(
        scratch_.path(),
        std::vector<std::string>{"--database=" + database_, "--listen=" + socket_});
    const absl::Status started = placement_->AwaitAddress();
    ASSERT_TRUE(started.ok()) << started;
    std::ifstream addresses(scratch_.path() + "/placement_address");
    std::string address, of_writers;
    while (addresses >> address) of_writers = address;
    ASSERT_TRUE(absl::StartsWith(of_writers, "127.0.0.1:")) << of_writers;
    endpoint_.Set(of_writers);
  }

  std::string MakeHost() {
    const auto channel = testing::OwnChannel(endpoint_.Get(), e2e::CredentialsOf());
    pb::CreateProviderRequest create;
    create.set_name("host");
    pb::CreateProviderResponse created;
    const grpc::Status status =
        e2e::InvokeOn(channel, "ProviderService/CreateProvider", create, &created);
    EXPECT_TRUE(status.ok()) << status.error_message();
    pb::SetInventoriesRequest set;
    set.set_provider_uuid(created.provider().uuid());
    set.set_expected_generation(created.provider().generation());
    (*set.mutable_inventories())["VCPU"].set_total(1'000'000);
    pb::SetInventoriesResponse done;
    EXPECT_TRUE(e2e::InvokeOn(channel, "InventoryService/SetInventories", set, &done).ok());
    return created.provider().uuid();
  }

  void KillPlacement() {
    ++placement_kills_;
    placement_->Signal(SIGKILL);
    EXPECT_EQ(placement_->AwaitEnd(kEndsWithin), 128 + SIGKILL);
    ASSERT_NO_FATAL_FAILURE(StartPlacement());
  }
  // A follower that is away comes back; one that runs is killed, and perhaps stays away for a while.
  void KillFollower() {
    if (!follower_->is_running()) return follower_->Start();
    ++follower_kills_;
    follower_->Kill();
    if (random_() % 2 == 0) follower_->Cut(random_() % kCutMax);
    if (random_() % 2 == 0) follower_->Start();
  }

  // Kills one or the other again and again, until all is written.
  void KillUnderWrites() {
    const int64_t between = 100 + tally_.goal / 200;
    while (tally_.settled.value() < tally_.goal) {
      const int64_t next = tally_.settled.value() + between / 2 +
                           static_cast<int64_t>(random_() % static_cast<uint64_t>(between));
      ASSERT_TRUE(tally_.settled.Await(std::min(next, tally_.goal), absl::Now() + kWrittenWithin))
          << placement_->Log();
      if (random_() % 2 == 0) {
        ASSERT_NO_FATAL_FAILURE(KillPlacement());
      } else {
        ASSERT_NO_FATAL_FAILURE(KillFollower());
      }
    }
  }

  // Waits until the files have the revision `last`, and ends the follower.
  void AwaitFollower(int64_t last) {
    if (!follower_->is_running()) follower_->Start();
    const auto has_last = [&] {
      const std::string tail = follower_->Tail(1 << 16);
      for (const absl::string_view line : absl::StrSplit(tail, '\n')) {
        if (!absl::StrContains(absl::StrCat(line, "\n"), cli::kLastOfRevision)) continue;
        const auto entry = cli::ReadAuditLine(line);
        if (entry.ok() && entry->revision.number() >= last) return true;
      }
      return false;
    };
    // The files may be complete before a follower that has just begun follows.
    EXPECT_TRUE(AwaitWithin(kFollowedWithin, [&] { return has_last() && follower_->follows(); }))
        << follower_->Log();
    EXPECT_EQ(follower_->End(SIGTERM), 0) << follower_->Log();
  }

  // The last revision that a writer knows.
  int64_t LastRevision() const {
    int64_t last = 0;
    for (const auto& writer : writers_) {
      for (const auto& [id, done] : writer->done()) last = std::max(last, done.revision);
    }
    return last;
  }

  std::mt19937_64 random_{placement::Seed()};
  const placement::ScratchDirectory scratch_;
  const std::string socket_ = absl::StrCat("unix:", scratch_.path(), "/socket");
  const std::string database_ = placement::NewDatabase();
  Endpoint endpoint_;
  std::unique_ptr<e2e::PlacementServer> placement_;
  std::unique_ptr<Follower> follower_;
  WriteTally tally_{WritesWanted()};
  std::vector<std::unique_ptr<AuditedWriter>> writers_;
  std::vector<std::thread> threads_;
  int placement_kills_ = 0, follower_kills_ = 0;
};

// Compares the files with what the writers know. Returns the number of writes that were done.
int64_t ExpectEachWriteOnce(const AuditReading& reading,
                            const std::vector<std::unique_ptr<AuditedWriter>>& writers) {
  std::map<std::string, AuditedWrite> left = reading.writes();
  int64_t done = 0;
  for (const auto& writer : writers) {
    for (const std::string& complaint : writer->complaints()) ADD_FAILURE() << complaint;
    for (const auto& [id, write] : writer->done()) {
      ++done;
      const auto found = left.find(id);
      if (found == left.end()) {
        ADD_FAILURE() << write.method << " of " << writer->identity() << " at revision "
                      << write.revision << " is not in the files";
        continue;
      }
      const AuditedWrite& told = found->second;
      EXPECT_EQ(told.revision, write.revision) << write.method;
      EXPECT_EQ(told.actor, writer->identity()) << write.method;
      EXPECT_TRUE(absl::EndsWith(told.method, "." + write.method)) << told.method;
      left.erase(found);
    }
  }
  for (const auto& [id, told] : left) {
    ADD_FAILURE() << told.method << " of " << told.actor << " with the id " << id
                  << " is in the files at revision " << told.revision << ", but nobody did it";
  }
  return done;
}

TEST_F(AuditKill, EachWriteIsInTheFilesOnce) {
  const absl::Time begin = absl::Now();
  for (const auto& writer : writers_) {
    threads_.emplace_back([one = writer.get()] { one->Run(); });
  }
  ASSERT_NO_FATAL_FAILURE(KillUnderWrites());
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  AwaitFollower(LastRevision());
  AuditReading reading;
  ASSERT_NO_FATAL_FAILURE(reading.Read(follower_->files()));
  const int64_t done = ExpectEachWriteOnce(reading, writers_);
  std::printf(
      "%lld writes done and %lld cancelled in %.0f s; %d kills of placement, %d of the follower; "
      "%lld calls left the outcome open, %lld writes were sent again\n",
      static_cast<long long>(done), static_cast<long long>(tally_.cancelled),
      absl::ToDoubleSeconds(absl::Now() - begin), placement_kills_, follower_kills_,
      static_cast<long long>(tally_.unknown), static_cast<long long>(tally_.repeats));
  EXPECT_GT(placement_kills_ * follower_kills_, 0) << "not both were killed";
  EXPECT_GT(tally_.unknown, 0) << "the kills met no write";
}

}  // namespace
}  // namespace berth::fault
