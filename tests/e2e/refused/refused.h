// RefusedTest: calls that placement must refuse, with what it says and with what it leaves behind,
// which is nothing.
//
// Not thread-safe.
#ifndef BERTH_TESTS_E2E_REFUSED_REFUSED_H_
#define BERTH_TESTS_E2E_REFUSED_REFUSED_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "tests/e2e/calls.h"

namespace berth::e2e {

class RefusedTest : public CallsTest {
 protected:
  // The status, the reason and the metadata of the first item, sorted: "INVALID_ARGUMENT
  // INVALID_FIELD field=group.policy".
  static std::string Words(const grpc::Status& status) {
    if (status.ok()) return "OK";
    const std::string code =
        absl::StatusCodeToString(static_cast<absl::StatusCode>(status.error_code()));
    const auto infos = InfosOf(status);
    if (infos.empty()) return code;
    const std::map<std::string, std::string> item(infos[0].metadata().begin(),
                                                  infos[0].metadata().end());
    return absl::StrCat(code, " ", infos[0].reason(), item.empty() ? "" : " ",
                        absl::StrJoin(item, " ", absl::PairFormatter("=")));
  }

  // The words of a call, which must leave the ledger as it was if it is refused.
  template <typename Response>
  static std::string Told(const std::string& method, const Message& request) {
    const std::string before = Everything();
    Response response;
    const grpc::Status status = Invoke(method, request, &response);
    if (!status.ok()) {
      EXPECT_EQ(Everything(), before) << method << " was refused, and left something";
    }
    return Words(status);
  }

  // The revision of the ledger and all that it holds.
  static std::string Everything() {
    grpc::ClientContext context;
    const auto stub = pb::LedgerService::NewStub(channel_);
    const auto reader = stub->ExportLedger(&context, pb::ExportLedgerRequest());
    std::string text;
    pb::ExportLedgerResponse message;
    while (reader->Read(&message)) absl::StrAppend(&text, message.DebugString());
    EXPECT_TRUE(reader->Finish().ok());
    EXPECT_FALSE(text.empty());
    return text;
  }
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_E2E_REFUSED_REFUSED_H_
