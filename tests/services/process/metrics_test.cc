// What Prometheus reads, over a real socket.
#include "services/process/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/service_process.h"

namespace berth::services {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MetricsTest, CountsCallsByMethodAndCode) {
  Metrics metrics("placement");
  Metrics::Method* method = metrics.ForMethod("a.B/C");
  EXPECT_EQ(metrics.ForMethod("a.B/C"), method);
  method->Record(0, absl::Milliseconds(2));
  method->Record(0, absl::Milliseconds(3));
  method->Record(10, absl::Milliseconds(1));
  method->Record(99, absl::Milliseconds(1));
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr(R"(placement_grpc_requests_total{code="OK",method="a.B/C"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(placement_grpc_requests_total{code="ABORTED",method="a.B/C"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(placement_grpc_requests_total{code="UNKNOWN",method="a.B/C"} 1)"));
  EXPECT_THAT(text, Not(HasSubstr("NOT_FOUND")));
  EXPECT_THAT(text,
              HasSubstr(R"(placement_grpc_request_duration_seconds_count{method="a.B/C"} 4)"));
  EXPECT_THAT(text, HasSubstr("placement_build_info{version="));
}

TEST(MetricsTest, AsksItsSourcesAtEveryReading) {
  Metrics metrics("placement");
  double revision = 0;
  metrics.AddSource([&revision](Samples* samples) {
    samples->Gauge("revision", "The newest revision.", ++revision);
    samples->Counter("batches_total", "Batches.", 5, {{"kind", "x"}});
    samples->Histogram("wait_seconds", "Waits.", {0.5, 1}, {3, 2, 1}, 4.5, {{"node", "n"}});
  });
  EXPECT_THAT(metrics.Text(), HasSubstr("placement_revision 1"));
  EXPECT_THAT(metrics.Text(), HasSubstr("placement_revision 2"));
  EXPECT_THAT(metrics.Text(), HasSubstr(R"(placement_batches_total{kind="x"} 5)"));
  EXPECT_THAT(metrics.Text(), HasSubstr(R"(placement_wait_seconds_bucket{node="n",le="1"} 5)"));
  EXPECT_THAT(metrics.Text(), HasSubstr(R"(placement_wait_seconds_count{node="n"} 6)"));
}

TEST(MetricsTest, ServesOnAChosenPortAndSaysWhenItIsTaken) {
  Metrics metrics("placement");
  const absl::StatusOr<std::string> address = metrics.Listen("127.0.0.1:0");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_THAT(e2e::FetchMetrics(*address), HasSubstr("placement_build_info"));
  Metrics second("placement");
  const absl::StatusOr<std::string> taken = second.Listen(*address);
  EXPECT_EQ(taken.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(taken.status().message(), HasSubstr("is taken by another process"));
}

}  // namespace
}  // namespace berth::services
