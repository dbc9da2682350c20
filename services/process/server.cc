#include "services/process/server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "grpcpp/ext/channelz_service_plugin.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/impl/service_type.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/support/server_interceptor.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/check.h"
#include "placement/ground/status_macros.h"
#include "services/log/refusal_log.h"
#include "services/process/acceptor.h"
#include "services/process/access_service.h"
#include "services/process/admission.h"
#include "services/process/caller.h"
#include "services/process/gate.h"
#include "services/process/loops.h"
#include "services/process/open_calls.h"
#include "services/process/open_connections.h"

namespace berth::services {
namespace {

constexpr int kKeepaliveMilliseconds = 30'000;
constexpr int kKeepaliveTimeoutMilliseconds = 10'000;
// The names and values of a call's metadata. gRPC refuses a call with more.
constexpr int kMetadataBytesMax = 8 << 10;
// Clients may ping every 20 s. If a client pings more often than the server allows, gRPC closes the
// connection with GOAWAY; gRPC's default allows one ping in 300 s.
constexpr int kPingIntervalMinMilliseconds = 20'000;
// The first size of a connection's read buffer. A silent connection keeps a buffer of this size.
// gRPC doubles the buffer when a connection fills it, and shrinks it again later. A Hello or a
// heartbeat fits into the first size; a connection that sends claims without a pause soon has tens
// of KiB. gRPC uses this setting only without its experiment of fixed chunks; see libraries.cc.
constexpr int kFirstReadBytes = 1024;
// Together with the time that a call gets to end itself it is less than a second.
constexpr absl::Duration kSweepStep = absl::Milliseconds(200);

// Listeners of such addresses are gRPC's.
bool IsUnixSocket(const std::string& address) { return absl::StartsWith(address, "unix:"); }

std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

absl::Status CheckAddress(const std::string& address, bool reachable) {
  if (!IsUnixSocket(address) && address.find(':') == std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "listen address '", address, "' is not valid: write HOST:PORT, [IPV6]:PORT or unix:PATH"));
  }
  if (reachable || IsLoopback(address)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("will not listen on ", address,
                   ": other machines can reach this address, and callers are not identified. "
                   "Give --tls-certificate, --tls-key, --tls-ca and --trust-domain, or listen on "
                   "127.0.0.1, or give --insecure-listen if the network can be trusted"));
}

// Binds a socket to `address` in the way of a listener, and closes it. Returns 0, or the error
// number.
int BindError(const addrinfo& address) {
  const int probe = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return errno;
  const int on = 1;
  setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool bound = bind(probe, address.ai_addr, address.ai_addrlen) == 0;
  const int error = bound && listen(probe, 1) == 0 ? 0 : errno;
  close(probe);
  return error;
}

std::string BindErrorInWords(int error, absl::string_view port) {
  switch (error) {
    case EADDRINUSE:
      return absl::StrCat("port ", port,
                          " is taken by another process; end it or choose another port");
    case EADDRNOTAVAIL:
      return "the address is not one of this machine; choose one that `ip address` shows";
    case EACCES:
    case EPERM:
      return absl::StrCat("this user has no right to listen on port ", port,
                          "; choose a port from 1024 up, or give the process the capability "
                          "CAP_NET_BIND_SERVICE");
    default:
      return std::strerror(error);
  }
}

void SetLimits(const ServerOptions& options, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(options.message_mib_max << 20);
  builder->SetMaxSendMessageSize(options.message_mib_max << 20);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.streams_max);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              static_cast<int>(absl::ToInt64Milliseconds(options.handshake_max)));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMilliseconds);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              kPingIntervalMinMilliseconds);
}

// Turns off features of gRPC that Berth never uses, because each of them takes memory for every
// connection or call. Ten thousand trackers make ten thousand connections.
void LeaveOutUnused(grpc::ServerBuilder* builder) {
  // Turns off the compression of answers. The server still accepts compressed requests, because
  // gRPC decompresses requests in another filter.
  builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  // By default gRPC allocates four records of 320 bytes for zero-copy sends, although these are
  // turned off.
  builder->AddChannelArgument(GRPC_ARG_TCP_TX_ZEROCOPY_MAX_SIMULT_SENDS, 1);
  builder->AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kFirstReadBytes);
}

absl::Status CannotListen(const std::string& address) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address, ": ", WhyNotListen(address)));
}

// Fails unless the server was `built` and listens on each of `listen`. gRPC tries them in their order
// and stops at the first that fails, so that this one and those after it have no port.
absl::Status CheckPorts(const std::vector<std::string>& listen, const std::vector<int>& ports,
                        bool built) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i] <= 0) return CannotListen(listen[i]);
  }
  if (built) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot listen on ", absl::StrJoin(listen, ", ")));
}

// Writes the file under another name and renames it, so that nobody reads a half-written file.
absl::Status WriteAddressFile(const std::string& path, const std::vector<std::string>& addresses) {
  const std::string part = path + ".part";
  std::ofstream file(part);
  file << absl::StrJoin(addresses, "\n") << "\n";
  file.close();
  if (file.good() && std::rename(part.c_str(), path.c_str()) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("cannot write the address file ", path));
}

}  // namespace

bool IsLoopback(const std::string& address) {
  if (IsUnixSocket(address)) return true;
  const std::string host = HostOf(address);
  return host == "localhost" || host == "[::1]" ||
         (absl::StartsWith(host, "127.") &&
          host.find_first_not_of("0123456789.") == std::string::npos);
}

std::string WhyNotListen(const std::string& address) {
  if (IsUnixSocket(address)) {
    return "the socket cannot be made there; its directory must exist, this user must be allowed "
           "to "
           "write it, and the path may have at most 107 bytes";
  }
  const size_t colon = address.rfind(':');
  std::string host = HostOf(address);
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found);
  if (failed != 0) {
    return absl::StrCat("this is no address: ", gai_strerror(failed), "; write HOST:PORT");
  }
  int error = 0;
  for (const addrinfo* one = found; one != nullptr && error == 0; one = one->ai_next) {
    error = BindError(*one);
  }
  freeaddrinfo(found);
  if (error != 0) return BindErrorInWords(error, port);
  return absl::StrCat("port ", port, " is free now; give each address once, or try again");
}

absl::Status CheckListeners(const ServerOptions& options) {
  if (options.listen.empty()) return absl::InvalidArgumentError("--listen names no address");
  if (options.connection_age_max < absl::Seconds(1) ||
      options.connection_age_max > absl::Hours(24)) {
    return absl::InvalidArgumentError(absl::StrCat("--connection-age-max is ",
                                                   absl::FormatDuration(options.connection_age_max),
                                                   ", but must be 1s to 24h"));
  }
  BERTH_RETURN_IF_ERROR(ConnectionBoundsFor(options.connections_max, FilesMax()).status());
  const bool reachable = options.tls.given() || options.insecure_listen;
  for (const std::string& address : options.listen) {
    BERTH_RETURN_IF_ERROR(CheckAddress(address, reachable));
  }
  return absl::OkStatus();
}

namespace {

// Ends the calls of callers who may not be here any more.
class Sweeper {
 public:
  Sweeper(const Admission* admission, OpenCalls* calls) : admission_(admission), calls_(calls) {}

  // One step. Asks all of Admission only if its answers may have changed.
  void Sweep() {
    const int64_t version = admission_->version();
    const bool all = std::exchange(version_, version) != version;
    const absl::Time now = absl::Now();
    const placement::BootTime boot_now = placement::BootNow();
    calls_->EndWhere(
        [&](const OpenCall& call) {
          return all ? admission_->Check(call.caller(), call.connection(), now)
                     : CheckExpiry(call.caller(), now);
        },
        [this, boot_now](const OpenCall& call, const absl::Status& why) {
          endings_.Tell(ActorOf(call.caller()), call.method(), why, boot_now);
        },
        boot_now);
  }

 private:
  const Admission* const admission_;
  OpenCalls* const calls_;
  int64_t version_ = 0;
  RefusalLog endings_{"an open call was ended"};
};

}  // namespace

class Server::Impl {
 public:
  Impl(const ServerOptions& given, const ConnectionBounds& bounds, const Tls* tls,
       AccessPolicy* policy)
      : options(given),
        connections(std::make_shared<OpenConnections>(bounds)),
        acceptor(connections, absl::Milliseconds(kKeepaliveTimeoutMilliseconds)),
        admission(tls, policy),
        gate(&admission, &calls, policy, connections.get()),
        access(MakeAccessService(policy)) {}

  // Asks the gate about all calls of connections with TLS, and ends them when it is time.
  void Secure(const std::shared_ptr<grpc::ServerCredentials>& credentials,
              grpc::ServerBuilder* builder) {
    credentials->SetAuthMetadataProcessor(gate.Processor());
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
    creators.push_back(gate.Interceptors());
    builder->experimental().SetInterceptorCreators(std::move(creators));
    builder->AddChannelArgument(
        GRPC_ARG_MAX_CONNECTION_AGE_MS,
        static_cast<int>(absl::ToInt64Milliseconds(options.connection_age_max)));
    // Open calls go on: they are ended by their certificate, with a reason.
    builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, INT_MAX);
    sweeping = std::make_unique<Loop>("calls", [this] {
      sweeper.Sweep();
      return kSweepStep;
    });
  }

  // Registers `services` and those that every server has, all behind the gate.
  void Offer(std::vector<grpc::Service*> services, grpc::ServerBuilder* builder) {
    services.push_back(health.service());
    services.push_back(access.get());
    for (grpc::Service* service : services) {
      gate.Guard(service);
      builder->RegisterService(service);
    }
  }

  // Listens on all addresses; gRPC does so when `builder` builds. `ports` gets the ports.
  absl::Status Listen(const std::shared_ptr<grpc::ServerCredentials>& credentials,
                      grpc::ServerBuilder* builder, std::vector<int>* ports) {
    for (size_t i = 0; i < ports->size(); ++i) {
      const std::string& address = options.listen[i];
      if (IsUnixSocket(address)) {
        builder->AddListeningPort(address, credentials, &(*ports)[i]);
        continue;
      }
      const absl::StatusOr<int> port = acceptor.Listen(address);
      if (!port.ok()) return CannotListen(address);
      (*ports)[i] = *port;
    }
    return absl::OkStatus();
  }

  const ServerOptions options;
  const std::shared_ptr<OpenConnections> connections;
  Acceptor acceptor;
  const Admission admission;
  OpenCalls calls;
  Sweeper sweeper{&admission, &calls};
  Gate gate;  // before the services, whose handlers use it
  Health health;
  const std::unique_ptr<grpc::Service> access;
  std::vector<std::string> addresses;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Loop> sweeping;  // null: no TLS
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() {
  impl_->acceptor.Stop();
  impl_->health.Stop();
  impl_->sweeping.reset();
  if (impl_->server != nullptr) impl_->server->Shutdown(Within(absl::ZeroDuration()));
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                      const std::vector<grpc::Service*>& services,
                                                      Tls* tls, AccessPolicy* policy) {
  BERTH_CHECK((tls != nullptr) == options.tls.given());
  BERTH_RETURN_IF_ERROR(CheckListeners(options));
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::channelz::experimental::InitChannelzService();
  BERTH_ASSIGN_OR_RETURN(ConnectionBounds bounds,
                         ConnectionBoundsFor(options.connections_max, FilesMax()));
  bounds.handshake_max = options.handshake_max;
  RaiseFileLimit(bounds);
  auto impl = std::make_unique<Impl>(options, bounds, tls, policy);
  grpc::ServerBuilder builder;
  SetLimits(options, &builder);
  LeaveOutUnused(&builder);
  const std::shared_ptr<grpc::ServerCredentials> credentials =
      tls == nullptr ? grpc::InsecureServerCredentials() : tls->ForServer();
  if (tls != nullptr) impl->Secure(credentials, &builder);
  std::vector<int> ports(options.listen.size(), 0);
  BERTH_RETURN_IF_ERROR(impl->Listen(credentials, &builder, &ports));
  auto connected = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  impl->Offer(services, &builder);
  impl->server = builder.BuildAndStart();
  BERTH_RETURN_IF_ERROR(CheckPorts(options.listen, ports, impl->server != nullptr));
  impl->acceptor.Start(std::move(connected));
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string& address = options.listen[i];
    impl->addresses.push_back(absl::StartsWith(address, "unix:")
                                  ? address
                                  : absl::StrCat(HostOf(address), ":", ports[i]));
  }
  if (!options.address_file.empty()) {
    BERTH_RETURN_IF_ERROR(WriteAddressFile(options.address_file, impl->addresses));
  }
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

const std::vector<std::string>& Server::addresses() const { return impl_->addresses; }
Health& Server::health() { return impl_->health; }
const std::shared_ptr<OpenConnections>& Server::connections() const { return impl_->connections; }

bool Server::Drain(const std::function<void()>& end_streams) {
  impl_->health.Stop();
  absl::SleepFor(impl_->options.drain_delay);
  if (end_streams) end_streams();
  impl_->acceptor.Stop();
  const placement::BootTime begun = placement::BootNow();
  impl_->server->Shutdown(Within(impl_->options.drain_max));
  return placement::BootNow() - begun < impl_->options.drain_max;
}

}  // namespace berth::services
