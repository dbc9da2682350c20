#include "services/cli/session/audit_files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/cli/session/audit_lines.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int64_t kMorning = 1'772'355'600;  // 2026-03-01T09:00:00Z
constexpr int64_t kDay = 24 * 3600;

class Directory {
 public:
  Directory() : path_("/tmp/berth-audit-XXXXXX") { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~Directory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

  std::string Read(const std::string& day) const {
    std::ifstream file(PathOf(day));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void Write(const std::string& day, const std::string& text) const {
    std::ofstream(PathOf(day)) << text;
  }
  std::string PathOf(const std::string& day) const {
    return absl::StrCat(path_, "/audit-", day, ".jsonl");
  }

 private:
  std::string path_;
};

// Revision `number`, which removes a consumer and makes a class.
pb::WatchResponse Revision(int64_t number, int64_t seconds = kMorning) {
  pb::WatchResponse response;
  response.mutable_revision()->set_epoch(1);
  response.mutable_revision()->set_number(number);
  response.mutable_revision()->set_batch(static_cast<uint64_t>(number) + 70);
  response.mutable_committed_at()->set_seconds(seconds);
  response.set_complete(true);
  pb::Change* removed = response.add_changes();
  removed->set_actor("alice");
  removed->set_method("/berth.placement.v1.ConsumerService/ReleaseConsumers");
  removed->set_request_id("r1");
  removed->set_reason("no \"quotes\",\"last\":true}\nneeded");
  removed->mutable_removed()->set_kind(pb::ENTITY_KIND_CONSUMER);
  removed->mutable_removed()->set_key("c1");
  pb::Change* made = response.add_changes();
  made->set_actor("bob");
  made->mutable_present()->mutable_resource_class()->set_name("CUSTOM_X");
  return response;
}

absl::Status Put(AuditFiles& files, const pb::WatchResponse& response) {
  return files.Append(AuditLines(response), response.revision(),
                      absl::FromUnixSeconds(response.committed_at().seconds()),
                      response.complete());
}

TEST(AuditLines, AreReadAsTheyWereWritten) {
  const std::string text = AuditLines(Revision(7));
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 2u) << text;
  EXPECT_EQ(lines[0],
            R"({"revision":"1:7","batch":"77","time":"2026-03-01T09:00:00Z","actor":"alice",)"
            R"("method":"/berth.placement.v1.ConsumerService/ReleaseConsumers","requestId":"r1",)"
            R"("reason":"no \"quotes\",\"last\":true}\nneeded","kind":"consumer","key":"c1",)"
            R"("removed":true})");
  const auto removed = ReadAuditLine(lines[0]);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->revision.ShortDebugString(), Revision(7).revision().ShortDebugString());
  EXPECT_EQ(removed->time, absl::FromUnixSeconds(kMorning));
  EXPECT_EQ(removed->change.actor(), "alice");
  EXPECT_EQ(removed->key, "c1");
  EXPECT_FALSE(removed->change.has_present());
  const auto made = ReadAuditLine(lines[1]);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->change.present().resource_class().name(), "CUSTOM_X");
  EXPECT_FALSE(ReadAuditLine(lines[0].substr(0, 90)).ok());
  EXPECT_FALSE(ReadAuditLine("{}").ok());
}

TEST(AuditLines, AMarkTellsWhatIsMissing) {
  const auto mark =
      ReadAuditLine(MarkLine(AuditMark::kTrimmed, Revision(9).revision(), Revision(4).revision(),
                             absl::FromUnixSeconds(kMorning)));
  ASSERT_TRUE(mark.ok()) << mark.status();
  EXPECT_EQ(mark->mark, "trimmed");
  EXPECT_EQ(mark->after, "1:4");
  EXPECT_EQ(mark->revision.number(), 9);
}

// Whatever part of the last revision a kill has left: the files end with the revision before it.
TEST(AuditFiles, EveryTornEndIsCutOff) {
  const std::string first = AuditLines(Revision(1)), second = AuditLines(Revision(2));
  for (size_t kept = 0; kept <= second.size(); ++kept) {
    const Directory directory;
    directory.Write("2026-03-01", first + second.substr(0, kept));
    const bool whole = kept == second.size();
    auto files = AuditFiles::Open(directory.path());
    ASSERT_TRUE(files.ok()) << files.status();
    ASSERT_TRUE((*files)->position().has_value());
    EXPECT_EQ((*files)->position()->number(), whole ? 2 : 1) << kept;
    EXPECT_EQ((*files)->position()->batch(), whole ? 72u : 71u);
    EXPECT_EQ(directory.Read("2026-03-01"), whole ? first + second : first) << kept;
    if (whole) continue;
    ASSERT_EQ(Put(**files, Revision(2)), absl::OkStatus());
    EXPECT_EQ(directory.Read("2026-03-01"), first + second);
  }
}

TEST(AuditFiles, EachDayHasItsFile) {
  const Directory directory;
  {
    auto files = AuditFiles::Open(directory.path());
    ASSERT_TRUE(files.ok()) << files.status();
    EXPECT_FALSE((*files)->position().has_value());
    ASSERT_EQ(Put(**files, Revision(1)), absl::OkStatus());
    ASSERT_EQ(Put(**files, Revision(2, kMorning + kDay)), absl::OkStatus());
    // The ledger's clock went back: the line stays behind the one before it.
    ASSERT_EQ(Put(**files, Revision(3)), absl::OkStatus());
  }
  EXPECT_EQ(directory.Read("2026-03-01"), AuditLines(Revision(1)));
  EXPECT_EQ(directory.Read("2026-03-02"),
            AuditLines(Revision(2, kMorning + kDay)) + AuditLines(Revision(3)));
  // A kill right after the next day began: its file is empty, the position is in the one before.
  directory.Write("2026-03-03", "");
  auto files = AuditFiles::Open(directory.path());
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ((*files)->position()->number(), 3);
  EXPECT_EQ(AuditFilesIn(directory.path())->size(), 3u);
  EXPECT_EQ(EndOfAuditFile(directory.PathOf("2026-03-01")),
            absl::FromUnixSeconds(kMorning + 15 * 3600));
}

TEST(AuditFiles, ARevisionInPartsIsWholeOrAbsent) {
  const Directory directory;
  auto files = AuditFiles::Open(directory.path());
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(Put(**files, Revision(1)), absl::OkStatus());
  pb::WatchResponse part = Revision(2);
  part.set_complete(false);
  ASSERT_EQ(Put(**files, part), absl::OkStatus());
  EXPECT_EQ((*files)->position()->number(), 1);
  ASSERT_EQ((*files)->CutBack(), absl::OkStatus());  // the stream broke
  EXPECT_EQ(directory.Read("2026-03-01"), AuditLines(Revision(1)));
  ASSERT_EQ(Put(**files, part), absl::OkStatus());
  ASSERT_EQ(Put(**files, Revision(2)), absl::OkStatus());
  EXPECT_EQ((*files)->position()->number(), 2);
}

TEST(AuditFiles, OneProcessHoldsADirectory) {
  const Directory directory;
  auto files = AuditFiles::Open(directory.path());
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(AuditFiles::Open(directory.path()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  files->reset();
  EXPECT_TRUE(AuditFiles::Open(directory.path()).ok());
}

}  // namespace
}  // namespace berth::cli
