#include "tests/processes/ledger_runner.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ground/check.h"
#include "placement/ledger/loss.h"
#include "placement/ledger/self_check.h"
#include "placement/values/refusal.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

constexpr absl::Duration kStep = absl::Milliseconds(2);

}  // namespace

LedgerRunner::LedgerRunner(LedgerOptions options, bool loops) {
  options.tell_operator = [this](const std::string& words) {
    const MutexLock lock(&mutex_);
    absl::StrAppend(&told_, words, "\n");
  };
  position_file_ = std::make_unique<PositionFile>(options.position_path);
  auto ledger = OpenPatiently([&] { return Ledger::Open(options); });
  if (!ledger.ok()) std::fprintf(stderr, "%s\n", ledger.status().ToString().c_str());
  BERTH_CHECK(ledger.ok());
  ledger_ = *std::move(ledger);
  if (!loops) return;
  const auto repeat = [this](auto step) {
    loops_.emplace_back([this, step] {
      while (!ending_) {
        step();
        absl::SleepFor(kStep);
      }
    });
  };
  repeat([this] { (void)ledger_->Follow(); });
  repeat([this] { ledger_->Watchdog(); });
}

LedgerRunner::~LedgerRunner() {
  ending_ = true;
  for (std::thread& loop : loops_) loop.join();
  ledger_->Stop(BootNow() + absl::Seconds(5));
  KeepPosition();
}

void LedgerRunner::KeepPosition() {
  const std::optional<Position> position = ledger_->PositionToKeep();
  if (!position) return;
  EXPECT_EQ(position_file_->Write(*position), absl::OkStatus());
}

std::future<Decision> LedgerRunner::Begin(Command command, absl::Duration limit) {
  auto promise = std::make_shared<std::promise<Decision>>();
  std::future<Decision> future = promise->get_future();
  ledger_->Submit(std::move(command), BootNow() + limit, nullptr,
                  [promise](Decision decision) { promise->set_value(std::move(decision)); });
  return future;
}

Decision LedgerRunner::Do(Command command, absl::Duration limit) {
  return Begin(std::move(command), limit).get();
}

Decision LedgerRunner::Do(CommandBody body, const std::string& request_id) {
  return Do(WithId(std::move(body), request_id));
}

Decision LedgerRunner::Must(CommandBody body, const std::string& request_id) {
  Decision decision = Do(std::move(body), request_id);
  EXPECT_EQ(decision.status, absl::OkStatus());
  return decision;
}

std::string LedgerRunner::told() const {
  const MutexLock lock(&mutex_);
  return told_;
}

bool LedgerRunner::Eventually(const std::function<bool()>& holds) {
  const absl::Time end = absl::Now() + absl::Seconds(30);
  while (!holds()) {
    if (absl::Now() > end) return false;
    absl::SleepFor(kStep);
  }
  return true;
}

LedgerOptions OptionsFor(const std::string& url) {
  LedgerOptions options;
  options.database_url = url;
  options.batch_deciding_max = absl::Minutes(1);
  return options;
}

std::string ReasonOf(const Decision& decision) {
  const std::optional<Refusal> refusal = RefusalOf(decision.status);
  return refusal ? refusal->reason : std::string(absl::StatusCodeToString(decision.status.code()));
}

Command WithId(CommandBody body, const std::string& request_id) {
  Command command;
  command.actor = "tester";
  command.request_id = request_id;
  if (!request_id.empty()) command.body_hash = std::string(32, 'h');
  command.body = std::move(body);
  return command;
}

ProviderId ProviderNumber(int number) {
  return ProviderId{Uuid{0x1000, static_cast<uint64_t>(number)}};
}
ConsumerId ConsumerNumber(int number) {
  return ConsumerId{Uuid{0x2000, static_cast<uint64_t>(number)}};
}

CommandBody NewProvider(int number) {
  return CreateProvider{ProviderNumber(number), absl::StrCat("host", number), std::nullopt};
}

CommandBody Offer(int provider, Generation generation, Amount vcpu, Amount memory_mb) {
  SetInventories set;
  set.provider = ProviderNumber(provider);
  set.expected_generation = generation;
  Inventory cpus;
  cpus.total = vcpu;
  Inventory memory;
  memory.total = memory_mb;
  set.inventories = {{"VCPU", cpus}, {"MEMORY_MB", memory}};
  return set;
}

CommandBody Claim(int consumer, std::vector<int> providers, int32_t vcpu,
                  std::optional<Generation> generation) {
  ConsumerAllocations allocations;
  allocations.consumer = ConsumerNumber(consumer);
  allocations.expected_generation = generation;
  allocations.project = "project";
  allocations.user = "user";
  allocations.type = "INSTANCE";
  for (const int provider : providers) {
    allocations.allocations.push_back({ProviderNumber(provider), {{"VCPU", vcpu}}});
  }
  return SetAllocations{{allocations}};
}

CommandBody Release(int consumer, Generation generation) {
  return DeleteAllocations{ConsumerNumber(consumer), generation};
}

void MakeProviders(LedgerRunner& runner, int count, Amount vcpu, Amount memory_mb) {
  runner.Must(EnsureStandardNames{{"VCPU", "MEMORY_MB"}, {}});
  std::vector<std::future<Decision>> made;
  for (int i = 1; i <= count; ++i) made.push_back(runner.Begin(WithId(NewProvider(i), "")));
  std::vector<std::future<Decision>> offered;
  for (int i = 1; i <= count; ++i) {
    const Decision decision = made[static_cast<size_t>(i) - 1].get();
    BERTH_CHECK(decision.status.ok() && decision.result.providers.size() == 1);
    const Generation generation = decision.result.providers[0].config->generation;
    offered.push_back(runner.Begin(WithId(Offer(i, generation, vcpu, memory_mb), "")));
  }
  for (std::future<Decision>& offer : offered) EXPECT_EQ(offer.get().status, absl::OkStatus());
}

Amount UsedOf(const State& state, int provider) {
  const auto place = state.FindProvider(ProviderNumber(provider));
  if (!place) return -1;
  return place->config().inventories.empty() ? 0 : place->used(0);
}

void ExpectEqualStates(const State& a, const State& b) {
  EXPECT_EQ(a.position().revision, b.position().revision);
  EXPECT_EQ(a.position().batch, b.position().batch);
  EXPECT_EQ(a.position().command_count, b.position().command_count);
  EXPECT_EQ(a.epochs(), b.epochs());
  EXPECT_EQ(a.provider_count(), b.provider_count());
  EXPECT_EQ(a.consumers().size(), b.consumers().size());
  for (const EntityKey& difference : Differences(a, b)) ADD_FAILURE() << difference.key;
}

void ExpectCleanSelfCheck(LedgerRunner& runner, const std::string& url) {
  // On a busy machine a connection may take longer than placement waits for one.
  const absl::StatusOr<SelfCheckReport> report =
      SelfCheck(runner.ledger(), absl::StrCat(url, "&connect_timeout=60"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->findings, std::vector<std::string>());
}

}  // namespace berth::placement
