// RotatedFiles: the certificate, the key and the CAs of a program that runs, as three files, and the
// ways in which people and tools replace them.
//
// Owns what is in its directory. Not thread-safe.
#ifndef BERTH_TESTS_FAULT_ROTATED_FILES_H_
#define BERTH_TESTS_FAULT_ROTATED_FILES_H_

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tests/processes/certificate_authority.h"

namespace berth::fault {

enum class RotatedFile { kCertificate, kKey, kCa };

// How a file gets its new text.
enum class WritingWay {
  kInPlace,  // emptied and written
  // The same, and most comes later. The first part ends within a certificate or key: nobody sees
  // that a file is not whole which ends with a whole certificate.
  kInParts,
  kByRename,          // another file is written and takes its name
  kDeleteThenCreate,  // it is away for some time
  kDirectorySwap,     // all three are links through one link to a directory, which is replaced
};

// A way, and the order of the files. With kDirectorySwap the order does not count.
struct WritingManner {
  WritingWay way;
  std::array<RotatedFile, 3> order;
};

// Each order with each way in which files change one after the other, and the swap: 25.
std::vector<WritingManner> AllManners();
// For people, for example "in parts: key, CA, certificate".
std::string NameOf(const WritingManner& manner);

class RotatedFiles {
 public:
  // By RotatedFile; all PEM.
  using Texts = std::array<std::string, 3>;

  RotatedFiles(std::string directory, const Texts& texts);

  testing::CertificatePaths paths() const;
  // Writes `texts`. Calls `between` after each change that a reader of the files can see.
  void Replace(const Texts& texts, const WritingManner& manner,
               const std::function<void()>& between);

 private:
  std::string PathOf(RotatedFile file) const;
  void Write(RotatedFile file, const std::string& text, WritingWay way,
             const std::function<void()>& between);
  // Makes all three files links through the link ..data, without changing what a reader finds.
  void BecomeLinks();
  // Lets ..data lead to a new directory with `texts`.
  void Swap(const Texts& texts);

  const std::string directory_;
  Texts texts_;
  int version_ = 0;  // of the directory to which ..data leads
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_ROTATED_FILES_H_
