// Titled lines, for example the head of a page: "host name   dc1-h07". Pure.
#ifndef BERTH_SERVICES_CLI_TEXT_TITLED_LINES_H_
#define BERTH_SERVICES_CLI_TEXT_TITLED_LINES_H_

#include <string>
#include <utility>
#include <vector>

namespace berth::cli {

// Titles of at most eleven characters, each with its value.
using TitledLines = std::vector<std::pair<std::string, std::string>>;

// One line for each title. The values are made Printable.
std::string Render(const TitledLines& lines);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_TITLED_LINES_H_
