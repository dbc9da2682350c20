#include "services/api/page.h"

#include <algorithm>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/process/digest.h"
#include "services/wire/form.h"

namespace berth::services {
namespace {

constexpr int kSizeDefault = 100;
constexpr int kSizeMax = 1000;
constexpr size_t kFilterDigestBytes = 12;

absl::Status Mismatch() {
  return placement::Refuse(
      absl::StatusCode::kInvalidArgument, "PAGE_TOKEN_MISMATCH",
      "page_token does not come from this list call with these filters: begin without it",
      {{{"field", "page_token"}}});
}

}  // namespace

absl::StatusOr<Page> Page::Of(const google::protobuf::Message& request) {
  const google::protobuf::Descriptor& type = *request.GetDescriptor();
  const google::protobuf::Reflection& values = *request.GetReflection();
  const int size = values.GetInt32(request, type.FindFieldByName("page_size"));
  const std::string token = values.GetString(request, type.FindFieldByName("page_token"));
  if (size < 0) return InvalidField("page_size", "must not be negative");
  Page page;
  page.limit_ = size == 0 ? kSizeDefault : std::min(size, kSizeMax);
  page.filters_ = MessageDigest(request, {"page_size", "page_token", "minimum_revision"})
                      .substr(0, kFilterDigestBytes);
  if (token.empty()) return page;
  // A token is the base64 text of the digest of the filters followed by "EPOCH:NUMBER:KEY".
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(token, &bytes) || bytes.size() < kFilterDigestBytes ||
      bytes.substr(0, kFilterDigestBytes) != page.filters_) {
    return Mismatch();
  }
  const std::string rest = bytes.substr(kFilterDigestBytes);
  const std::vector<std::string> parts = absl::StrSplit(rest, absl::MaxSplits(':', 2));
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &page.first_page_.epoch) ||
      !absl::SimpleAtoi(parts[1], &page.first_page_.number)) {
    return Mismatch();
  }
  page.after_ = parts[2];
  return page;
}

std::optional<placement::Revision> Page::FirstRevision(const google::protobuf::Message& request) {
  const google::protobuf::FieldDescriptor* const field =
      request.GetDescriptor()->FindFieldByName("page_token");
  if (field == nullptr || request.GetReflection()->GetString(request, field).empty()) {
    return std::nullopt;
  }
  const absl::StatusOr<Page> page = Of(request);
  return page.ok() ? std::make_optional(page->first_page_) : std::nullopt;
}

placement::Revision Page::RevisionToAnswer(placement::Revision read_at) const {
  return after_ ? first_page_ : read_at;
}

std::string Page::NextToken(const std::string& last_key, placement::Revision read_at) const {
  const placement::Revision first = RevisionToAnswer(read_at);
  return absl::WebSafeBase64Escape(
      absl::StrCat(filters_, first.epoch, ":", first.number, ":", last_key));
}

}  // namespace berth::services
