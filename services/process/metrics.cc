#include "services/process/metrics.h"

#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "placement/ground/mutex.h"
#include "prometheus/counter.h"
#include "prometheus/exposer.h"
#include "prometheus/family.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"
#include "services/process/server.h"
#include "services/process/version.h"

namespace berth::services {
namespace {

using ::berth::placement::Mutex;
using ::berth::placement::MutexLock;

// The names of grpc::StatusCode, by its value.
constexpr std::array<const char*, 17> kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

const prometheus::Histogram::BucketBoundaries kDurations = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

class MethodImpl : public Metrics::Method {
 public:
  MethodImpl(const std::string& name, prometheus::Family<prometheus::Counter>* requests,
             prometheus::Family<prometheus::Histogram>* durations)
      : duration_(&durations->Add({{"method", name}}, kDurations)) {
    for (size_t code = 0; code < kCodeNames.size(); ++code) {
      counters_[code] = &requests->Add({{"method", name}, {"code", kCodeNames[code]}});
    }
  }
  void Record(int code, absl::Duration duration) override {
    const size_t known = code >= 0 && code < 17 ? static_cast<size_t>(code) : 2;
    counters_[known]->Increment();
    duration_->Observe(absl::ToDoubleSeconds(duration));
  }

 private:
  std::array<prometheus::Counter*, kCodeNames.size()> counters_{};
  prometheus::Histogram* duration_;
};

class SampleFamilies : public Samples {
 public:
  explicit SampleFamilies(const std::string& prefix) : prefix_(prefix) {}

  void Gauge(const std::string& name, const std::string& help, double value,
             const Labels& labels) override {
    prometheus::ClientMetric metric = Metric(labels);
    metric.gauge.value = value;
    Put(name, help, prometheus::MetricType::Gauge, std::move(metric));
  }
  void Counter(const std::string& name, const std::string& help, double value,
               const Labels& labels) override {
    prometheus::ClientMetric metric = Metric(labels);
    metric.counter.value = value;
    Put(name, help, prometheus::MetricType::Counter, std::move(metric));
  }
  void Histogram(const std::string& name, const std::string& help, absl::Span<const double> bounds,
                 absl::Span<const uint64_t> counts, double sum, const Labels& labels) override {
    prometheus::ClientMetric metric = Metric(labels);
    uint64_t cumulative = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      cumulative += counts[i];
      const bool last = i == bounds.size();
      metric.histogram.bucket.push_back(
          {cumulative, last ? std::numeric_limits<double>::infinity() : bounds[i]});
    }
    metric.histogram.sample_count = cumulative;
    metric.histogram.sample_sum = sum;
    Put(name, help, prometheus::MetricType::Histogram, std::move(metric));
  }
  std::vector<prometheus::MetricFamily> Take() {
    std::vector<prometheus::MetricFamily> taken;
    for (auto& [name, family] : families_) taken.push_back(std::move(family));
    return taken;
  }

 private:
  static prometheus::ClientMetric Metric(const Labels& labels) {
    prometheus::ClientMetric metric;
    for (const auto& [name, value] : labels) metric.label.push_back({name, value});
    return metric;
  }
  void Put(const std::string& name, const std::string& help, prometheus::MetricType type,
           prometheus::ClientMetric metric) {
    prometheus::MetricFamily& family = families_[name];
    family.name = absl::StrCat(prefix_, "_", name);
    family.help = help;
    family.type = type;
    family.metric.push_back(std::move(metric));
  }

  const std::string prefix_;
  absl::btree_map<std::string, prometheus::MetricFamily> families_;
};

// Collects the values for one reading: the counts of calls, then the values of the sources.
class Everything : public prometheus::Collectable {
 public:
  Everything(const std::string& prefix, prometheus::Registry* registry)
      : prefix_(prefix), registry_(registry) {}

  void AddSource(std::function<void(Samples*)> source) {
    MutexLock lock(&mutex_);
    sources_.push_back(std::move(source));
  }
  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families;
    for (prometheus::MetricFamily& family : registry_->Collect()) {
      // Every method has one counter for each status code. Counters that are 0 are left out of the
      // reading.
      std::erase_if(family.metric, [&](const prometheus::ClientMetric& metric) {
        return family.type == prometheus::MetricType::Counter && metric.counter.value == 0;
      });
      if (!family.metric.empty()) families.push_back(std::move(family));
    }
    SampleFamilies samples(prefix_);
    samples.Gauge("build_info", "Always 1; the label has the version of the program.", 1,
                  {{"version", kVersion}});
    MutexLock lock(&mutex_);
    for (const auto& source : sources_) source(&samples);
    for (prometheus::MetricFamily& family : samples.Take()) families.push_back(std::move(family));
    return families;
  }

 private:
  const std::string prefix_;
  prometheus::Registry* const registry_;
  mutable Mutex mutex_;
  std::vector<std::function<void(Samples*)>> sources_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

class Metrics::Impl {
 public:
  explicit Impl(const std::string& prefix)
      : everything(std::make_shared<Everything>(prefix, &registry)),
        requests(&prometheus::BuildCounter()
                      .Name(prefix + "_grpc_requests_total")
                      .Help("Calls that ended, by method and status code.")
                      .Register(registry)),
        durations(&prometheus::BuildHistogram()
                       .Name(prefix + "_grpc_request_duration_seconds")
                       .Help("Duration of calls by method, without streams.")
                       .Register(registry)) {}

  prometheus::Registry registry;
  std::shared_ptr<Everything> everything;
  prometheus::Family<prometheus::Counter>* requests;
  prometheus::Family<prometheus::Histogram>* durations;
  Mutex mutex;
  std::map<std::string, std::unique_ptr<MethodImpl>> methods ABSL_GUARDED_BY(mutex);
  std::unique_ptr<prometheus::Exposer> exposer;
};

Metrics::Metrics(const std::string& prefix) : impl_(std::make_unique<Impl>(prefix)) {}
Metrics::~Metrics() = default;

Metrics::Method* Metrics::ForMethod(const std::string& full_name) {
  MutexLock lock(&impl_->mutex);
  std::unique_ptr<MethodImpl>& method = impl_->methods[full_name];
  if (method == nullptr) {
    method = std::make_unique<MethodImpl>(full_name, impl_->requests, impl_->durations);
  }
  return method.get();
}

void Metrics::AddSource(std::function<void(Samples*)> source) {
  impl_->everything->AddSource(std::move(source));
}

absl::StatusOr<std::string> Metrics::Listen(const std::string& address) {
  try {
    impl_->exposer = std::make_unique<prometheus::Exposer>(address, 1);
  } catch (const std::exception&) {  // the exception has no useful text
    return absl::UnavailableError(
        absl::StrCat("cannot serve metrics on ", address, ": ", WhyNotListen(address)));
  }
  impl_->exposer->RegisterCollectable(impl_->everything);
  const std::vector<int> ports = impl_->exposer->GetListeningPorts();
  const std::string host = address.substr(0, address.rfind(':'));
  return absl::StrCat(host, ":", ports.empty() ? 0 : ports.front());
}

void Metrics::StopListening() { impl_->exposer.reset(); }

std::string Metrics::Text() const {
  return prometheus::TextSerializer().Serialize(impl_->everything->Collect());
}

}  // namespace berth::services
