#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/transfer_file.h"
#include "services/cli/text/progress.h"
#include "services/cli/text/revision_text.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr char kTrait[] = R"({"trait":{"name":"CUSTOM_A"}})";

std::string MessageOf(absl::string_view text) {
  return std::string(ReadTransfer("f", text, nullptr).status().message());
}

TEST(TransferFile, LinesAreRecordsAfterTheFirstOne) {
  pb::ExportLedgerResponse whole;
  whole.mutable_revision()->set_epoch(2);
  whole.mutable_revision()->set_number(48231);
  whole.set_total_count(2);
  const std::string header = TransferHeader(whole);
  EXPECT_EQ(header,
            "{\"revision\":{\"epoch\":\"2\",\"number\":\"48231\",\"recoveryRequired\":false,"
            "\"batch\":\"0\"},\"totalCount\":\"2\"}\n");
  const std::string text = absl::StrCat(header, kTrait, "\n\n", kTrait);
  int64_t read = 0;
  const auto transfer = ReadTransfer("f", text, [&read](int64_t bytes) { read = bytes; });
  ASSERT_TRUE(transfer.ok()) << transfer.status();
  EXPECT_EQ(transfer->lines, (std::vector<int64_t>{2, 4}));
  ASSERT_EQ(transfer->messages.size(), 1u);
  EXPECT_EQ(transfer->messages[0].total_count(), 2);
  EXPECT_EQ(transfer->messages[0].entities(1).trait().name(), "CUSTOM_A");
  EXPECT_EQ(read, static_cast<int64_t>(text.size()));
  EXPECT_EQ(ReadTransfer("f", kTrait, nullptr)->lines, (std::vector<int64_t>{1}));
  EXPECT_EQ(ReadTransfer("f", "", nullptr)->messages[0].total_count(), 0);
}

TEST(TransferFile, SaysWhereItIsWrong) {
  EXPECT_EQ(MessageOf(absl::StrCat(kTrait, "\n{\"trait\":")).substr(0, 5), "f:2: ");
  EXPECT_EQ(MessageOf("{\"nonsense\":1}").substr(0, 5), "f:1: ");
  EXPECT_EQ(
      MessageOf(absl::StrCat("{\"totalCount\":\"2\"}\n", kTrait)),
      "f:2: the first line announces 2 entities, but the file holds 1: the file is incomplete");
}

TEST(TransferFile, ManyRecordsAreManyMessages) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    absl::StrAppend(&text, "{\"trait\":{\"name\":\"CUSTOM_", std::string(30, 'A'), i, "\"}}\n");
  }
  const auto transfer = ReadTransfer("f", text, nullptr);
  ASSERT_TRUE(transfer.ok());
  ASSERT_GT(transfer->messages.size(), 1u);
  int64_t count = 0;
  for (const pb::ImportLedgerRequest& message : transfer->messages) {
    EXPECT_LT(message.ByteSizeLong(), 300'000u);
    EXPECT_EQ(message.has_total_count(), count == 0);
    count += message.entities_size();
  }
  EXPECT_EQ(count, 20'000);
}

TEST(TransferFile, RefusedRecordsAreLines) {
  const absl::Status refused =
      OfRequest(Refused(absl::StatusCode::kAlreadyExists, "DUPLICATE_PROVIDER", "record 2: it is",
                        {{{"record", "2"}, {"provider", "p"}}}),
                "id", false);
  const Failure failure = FailureOf(AtLines(refused, "f", {2, 4}));
  EXPECT_EQ(failure.items[0].at("line"), "f:4");
  EXPECT_EQ(failure.items[0].at("provider"), "p");
  EXPECT_EQ(failure.reason, "DUPLICATE_PROVIDER");
  EXPECT_EQ(failure.request_id, "id");
  EXPECT_EQ(InWords(failure).substr(0, 25), "berth: f:4: record 2: it ");
  const absl::Status other = absl::UnavailableError("gone");
  EXPECT_EQ(AtLines(other, "f", {2, 4}), other);
  EXPECT_EQ(AtLines(refused, "f", {2}), refused);
}

TEST(ProgressTest, Lines) {
  EXPECT_EQ(ProgressLine("sending", 600, 1000),
            "sending  ██████████████░░░░░░░░░░  60 %  600 of 1000");
  EXPECT_EQ(ProgressLine("sending", 0, 10).substr(0, 12), "sending  ░");
  EXPECT_EQ(ProgressLine("reading", 7, 0), "reading  7");
  EXPECT_EQ(WaitingLine("waiting for the ledger", absl::Milliseconds(12'900)),
            "waiting for the ledger  12 s");
}

TEST(RevisionText, Reads) {
  EXPECT_EQ(RevisionText(*ParseRevision("3:7")), "7 of epoch 3");
  EXPECT_EQ(RevisionText(*ParseRevision("7")), "7 of epoch 1");
  for (const char* text : {"", "x", "1:", "1:2:3", "-1", "1:-1"}) {
    EXPECT_FALSE(ParseRevision(text).ok()) << text;
  }
}

}  // namespace
}  // namespace berth::cli
