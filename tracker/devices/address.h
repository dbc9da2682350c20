// PCI addresses, and the patterns by which operators name them.
//
// Plain values and pure functions.
#ifndef BERTH_TRACKER_DEVICES_ADDRESS_H_
#define BERTH_TRACKER_DEVICES_ADDRESS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::tracker {

// The four parts of an address, in this order: domain, bus, slot, function. Each part is text in
// lower-case hexadecimal digits with its full width, for example 0000, 3b, 02, 1.
using AddressParts = std::array<std::string, 4>;

// Reads a hexadecimal number of at most 32 bits, for example 8086, 0x8086 or 00086, with or without
// blanks around, and without a sign. Returns nothing for any other text.
std::optional<uint32_t> ParseHexNumber(absl::string_view text);

// Splits `0000:3b:02.1`. Returns nothing if `address` has another form or if its domain is larger
// than FFFF: such a device cannot be tracked (T-236).
std::optional<AddressParts> SplitAddress(absl::string_view address);

// A pattern for addresses (T-234).
class AddressPattern {
 public:
  // Reads `[[[domain:]bus:]slot][.function]`. Each part is a hexadecimal number or `*`. A part that
  // is absent or empty means `*`.
  //
  // InvalidArgument, which names the part, if a part is no hexadecimal number or is larger than
  // FFFF, FF, 1F or 7; if there are more than three parts before the function.
  static absl::StatusOr<AddressPattern> FromGlob(absl::string_view text);

  // Makes a pattern of one regular expression per part. An absent expression matches everything. An
  // expression matches if it matches the beginning of the part, without regard to case.
  //
  // InvalidArgument, which names the part, if an expression is malformed.
  static absl::StatusOr<AddressPattern> FromExpressions(
      const std::array<std::optional<std::string>, 4>& expressions);

  bool Matches(const AddressParts& address) const;

  // The address, if every part of the pattern is a plain hexadecimal number; else nothing. Only a
  // pattern with an address also matches the virtual functions of the device that it names (T-235).
  const std::optional<AddressParts>& single() const { return single_; }

 private:
  using Part = std::variant<std::string, std::regex>;  // a text: `*` or the part's digits
  std::array<Part, 4> parts_ = {"*", "*", "*", "*"};
  std::optional<AddressParts> single_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_DEVICES_ADDRESS_H_
