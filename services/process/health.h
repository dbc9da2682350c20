// Health: grpc.health.v1, answered from memory at once, however busy the rest is.
//
// Our own instead of gRPC's built-in one: that one cannot be described by reflection, and its open
// Watch calls hold up a graceful stop. Owns the statuses; thread-safe.
#ifndef BERTH_SERVICES_PROCESS_HEALTH_H_
#define BERTH_SERVICES_PROCESS_HEALTH_H_

#include <memory>
#include <string>

namespace grpc {
class Service;
}  // namespace grpc

namespace berth::services {

class Health {
 public:
  Health();
  ~Health();

  // Makes `service` known, or changes it; "" stands for the whole process.
  void Set(const std::string& service, bool serving);
  // Everything is NOT_SERVING from now on, whatever Set says, and open Watch calls end after they
  // were told. For the stop.
  void Stop();

  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_HEALTH_H_
