// Requirement: what an extra spec of a flavor asks of a value, in the words of OpenStack.
//
// Pure functions.
#ifndef BERTH_SERVICES_CLIENT_CPP_REQUIREMENT_H_
#define BERTH_SERVICES_CLIENT_CPP_REQUIREMENT_H_

#include <string>

namespace berth::client {

// Whether `value` is what `requirement` asks for. The first word of a requirement may be an
// operator: `=` (at least), `==`, `!=`, `>=`, `<=` compare numbers; `s==`, `s!=`, `s<`, `s<=`, `s>`
// and `s>=` compare texts; `<in>` asks for a part of the value, `<all-in>` for several parts, and
// `<or>` for one of several values. Without an operator the requirement is the value.
//
// A number is never what is asked of a value that is no number.
bool Meets(const std::string& value, const std::string& requirement);

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_REQUIREMENT_H_
