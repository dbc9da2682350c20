// Metrics: what a Prometheus server reads from this process, and the endpoint it reads from.
//
// Names begin with the prefix of the process, e.g. "placement_". Calls are counted as they end;
// everything else is asked of its sources when somebody reads. No ids are labels. Thread-safe.
#ifndef BERTH_SERVICES_PROCESS_METRICS_H_
#define BERTH_SERVICES_PROCESS_METRICS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace berth::services {

// What one reading of the sources gathers.
class Samples {
 public:
  virtual ~Samples() = default;
  using Labels = std::map<std::string, std::string>;
  // `name` without the prefix; a counter's ends in _total.
  virtual void Gauge(const std::string& name, const std::string& help, double value,
                     const Labels& labels = {}) = 0;
  virtual void Counter(const std::string& name, const std::string& help, double value,
                       const Labels& labels = {}) = 0;
};

class Metrics {
 public:
  explicit Metrics(const std::string& prefix);
  ~Metrics();

  // The calls of one RPC method: <prefix>_grpc_requests_total{method,code} and
  // <prefix>_grpc_request_duration_seconds{method}.
  class Method {
   public:
    virtual ~Method() = default;
    // `code` is a grpc::StatusCode.
    virtual void Record(int code, absl::Duration duration) = 0;
  };
  // Lives as long as the Metrics; the same for the same name.
  Method* ForMethod(const std::string& full_name);

  // Asks `source` at every reading. It must stay callable until the Metrics is gone.
  void AddSource(std::function<void(Samples*)> source);

  // Serves http://`address`/metrics; `address` is HOST:PORT, port 0 for a free one. Returns the
  // address with the port that it got; kUnavailable when it cannot be had.
  absl::StatusOr<std::string> Listen(const std::string& address);

  // No reading is under way, and none begins, once it has returned.
  void StopListening();

  // Everything in Prometheus' text format.
  std::string Text() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_METRICS_H_
