#include "ckpt/formats.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "console/command.h"
#include "console/messages.h"
#include "console/render.h"
#include "console/text.h"

namespace ckpt::tools {
namespace {

std::string formats_json() {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  out["formats"] = nlohmann::ordered_json::array();
  for (const FormatInfo& format : formats()) {
    out["formats"].push_back({{"name", format.name},
                              {"description", format.description},
                              {"suffixes", format.suffixes},
                              {"reads", format.reads},
                              {"writes", format.writes}});
  }
  return visible_json(out.dump()) + "\n";
}

void print_formats() {
  Table table({"name", "reads", "writes", "suffixes", "description"}, Table::Last::left);
  for (const FormatInfo& format : formats()) {
    std::string suffixes;
    for (const std::string& suffix : format.suffixes) suffixes += (suffixes.empty() ? "" : " ") + suffix;
    table.add({format.name, format.reads ? "yes" : "no", format.writes ? "yes" : "no", suffixes, format.description});
  }
  table.print(Colours());
}

Runner define(Arguments& arguments) {
  const auto json = std::make_shared<bool>(false);
  arguments.flag("--json", *json, "one JSON object, on one line");
  return [json](bool) {
    *json ? print(formats_json()) : print_formats();
    return int{exit_done};
  };
}

}  // namespace

extern const Command formats_command;
const Command formats_command{
    "formats",
    "[options]",
    "the formats that ckpt reads and writes",
    "Lists every format: whether it is read, whether it is written, and its usual suffixes. Suffixes\n"
    "decide nothing when reading: what a file is, its content says. Each file may be in gzip.\n",
    "ckpt formats",
    "ckpt formats --json",
    define,
};

}  // namespace ckpt::tools
