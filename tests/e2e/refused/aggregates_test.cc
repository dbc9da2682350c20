// Metadata of aggregates that is none, or too much.
#include <functional>
#include <string>

#include "berth/placement/v1/aggregate.pb.h"
#include "tests/e2e/refused/refused.h"

namespace berth::e2e {
namespace {

using Metadata = google::protobuf::Map<std::string, std::string>;

constexpr size_t kMebibyte = 1 << 20;

class RefusedMetadata : public RefusedTest {
 protected:
  static std::string Set(const pb::SetAggregateRequest& request) {
    return Told<pb::SetAggregateResponse>("AggregateService/SetAggregate", request);
  }
};

// With right entries beside it, because it must be told which one is wrong.
void AddRightEntries(Metadata* metadata) {
  for (int i = 0; i < 20; ++i) (*metadata)[absl::StrCat("right-", i)] = "v";
}

const struct {
  const char* what;
  std::function<void(Metadata*)> spoil;
  const char* told;  // after the status and the reason; a number of an entry is shown as N
} kSpoiled[] = {
    {"U+0000 in a value",
     [](Metadata* metadata) {
       AddRightEntries(metadata);
       (*metadata)["wrong"] = std::string("a\0b", 3);
     },
     "field=aggregate.metadata[N].value key=wrong"},
    {"U+0000 in a key",
     [](Metadata* metadata) {
       AddRightEntries(metadata);
       (*metadata)[std::string("a\0b", 3)] = "v";
     },
     "field=aggregate.metadata[N].key"},
    {"a value of 1 MiB",
     [](Metadata* metadata) {
       AddRightEntries(metadata);
       (*metadata)["wrong"] = std::string(kMebibyte, 'v');
     },
     "field=aggregate.metadata key=wrong"},
    {"a key of 1 MiB", [](Metadata* metadata) { (*metadata)[std::string(kMebibyte, 'k')] = "v"; },
     "field=aggregate.metadata"},
    {"1 MiB in entries of which each is right",
     [](Metadata* metadata) {
       for (int i = 0; i < 1024; ++i) {
         (*metadata)[absl::StrCat(1000 + i)] = std::string(1020, 'v');
       }
     },
     "field=aggregate.metadata"},
    {"1 MiB in as many entries as there may be",
     [](Metadata* metadata) {
       for (int i = 0; i < 255; ++i) {  // one is there
         (*metadata)[absl::StrCat(1000 + i)] = std::string(4112, 'v');
       }
     },
     "field=aggregate.metadata key=1000"},
};

// The number of an entry is no more than that: a map has no order.
std::string WithoutNumber(std::string told) {
  const size_t open = told.find('['), close = told.find(']');
  if (open != std::string::npos) told.replace(open + 1, close - open - 1, "N");
  const size_t omitted = told.find(" omitted=");
  if (omitted != std::string::npos) told.resize(omitted);
  return told;
}

TEST_F(RefusedMetadata, NamesItsFieldAndTheKeyOfItsEntry) {
  pb::SetAggregateRequest right;
  right.mutable_aggregate()->set_uuid(Random());
  right.mutable_aggregate()->set_name("rack");
  (*right.mutable_aggregate()->mutable_metadata())["ssd"] = "true";
  ASSERT_EQ(Set(right), "OK");
  pb::GetAggregateRequest get;
  get.set_aggregate_uuid(right.aggregate().uuid());
  pb::GetAggregateResponse before;
  Do("AggregateService/GetAggregate", get, &before);
  for (const auto& one : kSpoiled) {
    SCOPED_TRACE(one.what);
    const std::string told = absl::StrCat("INVALID_ARGUMENT INVALID_FIELD ", one.told);
    pb::SetAggregateRequest request = right;
    one.spoil(request.mutable_aggregate()->mutable_metadata());
    request.set_expected_generation(before.aggregate().generation());
    EXPECT_EQ(WithoutNumber(Set(request)), told);
    request.clear_expected_generation();
    request.mutable_aggregate()->set_uuid(Random());
    request.mutable_aggregate()->set_name("another rack");
    EXPECT_EQ(WithoutNumber(Set(request)), told);
  }
  pb::GetAggregateResponse after;
  Do("AggregateService/GetAggregate", get, &after);
  EXPECT_EQ(after.DebugString(), before.DebugString());
}

}  // namespace
}  // namespace berth::e2e
