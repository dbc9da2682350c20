// Endpoints: the placement processes that a client may call, and the channels to them.
//
// Every process serves the same ledger, so a client calls one of them until it fails, and then the
// next. Owns a channel to each process that was called, and the certificate of the client.
// Thread-safe.
#ifndef BERTH_SERVICES_CLIENT_CPP_ENDPOINT_H_
#define BERTH_SERVICES_CLIENT_CPP_ENDPOINT_H_

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/client/cpp/mutex.h"
#include "services/client/cpp/own_certificate.h"

namespace berth::client {

// Opens a channel to TargetOf(`target`), in any form that gRPC knows: HOST:PORT, unix:PATH, or
// ipv4:ADDRESS:PORT,ADDRESS:PORT. Connects with the first call. The connection is its own: another
// channel to the same target does not share it. A process that vanishes without closing the
// connection is noticed within 40 s (a keepalive each 30 s, which waits 10 s). Null credentials: the
// connection is not encrypted.
std::shared_ptr<grpc::Channel> Dial(const std::string& target,
                                    const std::shared_ptr<grpc::ChannelCredentials>& credentials);

// Opens the connection of `channel`, unless it is open. False: the attempt failed, or `timeout` has
// passed. Then a call that waits for no connection would not have been sent.
bool Connect(grpc::Channel* channel, absl::Duration timeout);

class Endpoints {
 public:
  // Over mutual TLS with the files of `tls`, which must be good for a client. If `tls` is not given,
  // the connections are not encrypted. `targets`: see Dial. A client begins with one of them at
  // random, so that many clients spread. Without targets every call fails.
  //
  // A server must have a certificate of one of the CAs, with exactly one URI, an id in the trust
  // domain with the role "placement". Nothing is sent to any other server: calls fail with
  // UNAVAILABLE, and their message says what is wrong with the certificate.
  //
  // Renewed files need no call of Renew. Channel() and renewals() look at the files, once a second at
  // most, and the caller waits for the disk then. After a random part of
  // OwnCertificate::renewal_spread() they return what they return after a Renew. Whoever calls
  // neither of them keeps the old certificate; a Mirror calls them each second. Files that do not
  // pass the checks change nothing.
  //
  // `tell`, which may be null, is told what becomes of the files, and which servers were refused, from
  // any thread. It may call this object, but must destroy neither it nor a Mirror: the destructor
  // waits until no `tell` runs. None comes later, even if channels live on.
  //
  // Fails like OwnCertificate::Open.
  static absl::StatusOr<std::shared_ptr<Endpoints>> Open(std::vector<std::string> targets,
                                                         const TlsSettings& tls,
                                                         OwnCertificate::Tell tell = nullptr);
  // The same with credentials that the caller makes and renews. Null: not encrypted.
  explicit Endpoints(std::vector<std::string> targets,
                     std::shared_ptr<grpc::ChannelCredentials> credentials = nullptr);
  ~Endpoints();

  // The channel for the next call.
  std::shared_ptr<grpc::Channel> Channel();
  // To be called when a call on `channel` got no answer, or the answer that this process cannot
  // serve. If Channel() still returns this one, it will return that of the next process, and a Renew
  // that waits takes effect: there is a new connection anyway, and the old certificate may be why.
  void Failed(const std::shared_ptr<grpc::Channel>& channel);

  // To be called when the credentials that a caller makes were renewed. From a random moment within
  // `spread` on, Channel() returns new channels with `credentials`: open connections would keep the
  // old certificate. Whoever has a long call makes it anew when renewals() has grown. A Renew that
  // has not taken effect is replaced, and not put off.
  void Renew(std::shared_ptr<grpc::ChannelCredentials> credentials, absl::Duration spread);
  // How many Renew have taken effect.
  int64_t renewals();

 private:
  class Teller;

  void LookAtFiles();
  void TakeRenewal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Renewal {
    std::shared_ptr<grpc::ChannelCredentials> credentials;
    absl::Duration due;  // as Now()
  };

  const std::vector<std::string> targets_;
  // Both are constant after Open.
  std::shared_ptr<Teller> teller_;     // null: nobody is told
  std::optional<OwnCertificate> own_;  // absent: the caller has credentials
  Mutex mutex_;
  std::shared_ptr<grpc::ChannelCredentials> credentials_ ABSL_GUARDED_BY(mutex_);
  std::optional<Renewal> renewal_ ABSL_GUARDED_BY(mutex_);
  int64_t renewals_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration next_look_ ABSL_GUARDED_BY(mutex_);  // as Now(); infinite: somebody looks
  int64_t own_renewals_ = 0;  // of own_, for which Renew was called; of who looks
  // One for each target; null: not called since the last renewal.
  std::vector<std::shared_ptr<grpc::Channel>> channels_ ABSL_GUARDED_BY(mutex_);
  size_t current_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_ENDPOINT_H_
