// berth-group-schedulers: one process of schedulers that group_kill_test starts.
//
// usage: berth-group-schedulers DIRECTORY NUMBER SEED [--tls-certificate=… --tls-key=… --tls-ca=…]
//
// Follows the plan in the directory with 16 schedulers, and reports as process NUMBER
// (group_plan.h). Ends with 0 when all members are taken, when the plan's time is over, or when the
// counts say that schedulers have to stop; with 1 if a check of its own failed.
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tests/fault/groups/group_client.h"
#include "tests/fault/groups/group_plan.h"
#include "tests/fault/groups/group_report.h"
#include "tests/processes/client_credentials.h"

namespace berth::fault {
namespace {

std::string ContentOf(absl::string_view path) {
  std::ifstream file{std::string(path)};
  return {std::istreambuf_iterator<char>(file), {}};
}

// Those of the certificate that the arguments name.
std::shared_ptr<grpc::ChannelCredentials> CredentialsFrom(const std::vector<std::string>& words) {
  testing::IssuedCertificate own;
  std::string ca;
  for (absl::string_view word : words) {
    if (absl::ConsumePrefix(&word, "--tls-certificate=")) own.certificate = ContentOf(word);
    if (absl::ConsumePrefix(&word, "--tls-key=")) own.key = ContentOf(word);
    if (absl::ConsumePrefix(&word, "--tls-ca=")) ca = ContentOf(word);
  }
  if (ca.empty()) return grpc::InsecureChannelCredentials();
  return testing::ClientCredentials(own, ca);
}

int Schedule(const std::vector<std::string>& words) {
  int number = 0;
  uint64_t seed = 0;
  if (words.size() < 3 || !absl::SimpleAtoi(words[1], &number) ||
      !absl::SimpleAtoi(words[2], &seed)) {
    std::fprintf(stderr, "usage: berth-group-schedulers DIRECTORY NUMBER SEED\n");
    return 2;
  }
  GroupWork work{ReadPlan(PlanPath(words[0])), CredentialsFrom(words),
                 GroupProgress(ProgressPath(words[0])), GroupReport(ReportPath(words[0], number))};
  std::mt19937_64 random(seed);
  std::vector<std::unique_ptr<GroupClient>> clients;
  for (int i = 0; i < kGroupSchedulers; ++i) {
    clients.push_back(std::make_unique<GroupClient>(random(), &work));
  }
  std::vector<std::thread> threads;
  for (const auto& client : clients) {
    threads.emplace_back([one = client.get()] { one->Run(); });
  }
  for (std::thread& thread : threads) thread.join();
  work.report.End();
  return ::testing::UnitTest::GetInstance()->Failed() ? 1 : 0;
}

}  // namespace
}  // namespace berth::fault

int main(int count, char** arguments) {
  return berth::fault::Schedule(std::vector<std::string>(arguments + 1, arguments + count));
}
