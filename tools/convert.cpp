#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "byte_count.h"
#include "ckpt/device.h"
#include "ckpt/ops.h"
#include "console/command.h"
#include "console/messages.h"
#include "console/render.h"
#include "loading.h"
#include "prefix_edit.h"
#include "renaming.h"
#include "selection.h"
#include "tensor_edits.h"
#include "writing.h"

namespace ckpt::tools {
namespace {

struct ConvertOptions {
  WritingOptions writing;
  SelectionOptions selection;
  ReadOptions reading;
  std::optional<std::string> to, format, protocol, shard_size, strip_prefix, add_prefix;
  std::vector<std::string> map, rename;
  TensorEditOptions tensors;
};

std::vector<std::string> as_list(const std::optional<std::string>& value) {
  return value ? std::vector<std::string>{*value} : std::vector<std::string>{};
}

/// `format`: of what is written.
std::uint64_t shard_bytes_of(const ConvertOptions& options, const std::string& format) {
  const bool in_shards = format.ends_with("-index");
  if (options.shard_size && !in_shards)
    throw usage_error("--shard-size is of formats in several files",
                      "--format safetensors-index --shard-size " + shell_value(*options.shard_size));
  return in_shards ? options.shard_size ? number_of_bytes("--shard-size", *options.shard_size) : default_shard_bytes
                   : 0;
}

bool is_pickled(const std::string& format) {
  const std::vector<FormatInfo> all = formats();
  return std::ranges::any_of(all, [&](const FormatInfo& f) { return f.name == format && f.pickled; });
}

void refuse_idle_protocol(const ConvertOptions& options, const std::string& format) {
  if (options.protocol && !is_pickled(format))
    throw usage_error(format == "torch-index"
                          ? "--protocol is of one pickle, and the shards of torch-index are of protocol 2"
                          : "--protocol is of pickles, and " + format + " has none",
                      "leave --protocol out");
}

// --to is the rule for every device that --map does not name.
DeviceMap device_map(const ConvertOptions& options) {
  try {
    if (options.map.empty()) return options.to ? DeviceMap::all_to(*options.to) : DeviceMap();
    DeviceMap map;
    for (const std::string& rule : options.map) map.add(rule);
    const auto takes_rest = [](const std::string& rule) { return rule.compare(0, 2, "*=") == 0; };
    if (options.to && std::any_of(options.map.begin(), options.map.end(), takes_rest)) {
      throw usage_error("--to and --map '*=...' contradict each other", "give one of them");
    }
    if (options.to) map.add("*=" + *options.to);
    return map;
  } catch (Error& error) {
    if (error.hint().empty()) error.hint("for example --to cpu, --to cuda:1, --map cuda:0=cuda:1");
    throw;
  }
}

std::vector<std::string> locations(const Checkpoint& checkpoint) {
  std::vector<std::string> all;
  std::set<std::string> seen;
  const auto add = [&](const std::string& location) {
    if (seen.insert(location).second) all.push_back(location);
  };
  for (const Storage& storage : checkpoint.storages) add(storage.location);
  for (const Tensor& tensor : checkpoint.tensors)
    if (tensor.device_holder != no_value) add(tensor.device);
  return all;
}

void warn_of_unmatched(const DeviceMap& map, const Checkpoint& checkpoint) {
  const std::vector<std::string> there = locations(checkpoint);
  std::string names;
  for (const std::string& name : there) names += (names.empty() ? "" : ", ") + name;
  for (const std::string& source : map.unmatched(there)) {
    if (source == "*") continue;  // "every other" may well be none
    print_warning(checkpoint.file + ": --map " + source + "=... matches no storage; the file's devices are " +
                  (names.empty() ? "none" : names));
  }
}

// "57 storages cuda:0 -> cpu", a pair of devices each. What is written without devices is on the CPU.
std::vector<std::string> moves(const Checkpoint& checkpoint, const DeviceMap& map, bool keeps_devices) {
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> counts;
  const auto count = [&](const std::string& what, const std::string& location) {
    const std::string target = map.map(location);
    if (target != location && (keeps_devices || target == "cpu")) ++counts[{what, location, target}];
  };
  std::set<std::uint32_t> of_arrays;  // which are on no device
  for (const Tensor& tensor : checkpoint.tensors)
    if (tensor.array && tensor.storage) of_arrays.insert(*tensor.storage);
  for (std::uint32_t i = 0; i < checkpoint.storages.size(); ++i)
    if (!of_arrays.contains(i)) count("storage", checkpoint.storages[i].location);
  for (const Tensor& tensor : checkpoint.tensors)
    if (tensor.device_holder != no_value) count("tensor", tensor.device);
  std::vector<std::string> out;
  constexpr std::size_t most = 16;  // more devices than one machine has
  for (const auto& [move, number] : counts) {
    if (out.size() == most) {
      out.push_back("and so on: " + count_text(counts.size() - most, "other move"));
      break;
    }
    const auto& [what, location, target] = move;
    out.push_back(count_text(number, what) + " " + location + " -> " + target);
  }
  if (out.empty()) out.push_back("no device changed");
  return out;
}

Checkpoint remap_devices(Checkpoint checkpoint, const DeviceMap& map, bool keeps_devices,
                         std::vector<std::string>& done) {
  if (map.empty()) return checkpoint;
  warn_of_unmatched(map, checkpoint);
  if (checkpoint.details != nullptr)
    for (const std::string& what : checkpoint.details->out_of_reach(map)) print_warning(checkpoint.file + ": " + what);
  const std::vector<std::string> moved = moves(checkpoint, map, keeps_devices);
  done.insert(done.end(), moved.begin(), moved.end());
  return remap(std::move(checkpoint), map);
}

int run(const ConvertOptions& options, bool quiet) {
  const auto is_prefix = [](const std::string& file) {
    return file.size() > 1 && file.ends_with('.') && file.find('/') == std::string::npos;
  };
  for (const char* option : {"--strip-prefix", "--add-prefix"})
    refuse_value_as_file(options.writing, option, is_prefix, "the prefix");
  Job job = plan(options.writing, "convert");
  if (options.format) job.save.format = writable_format(*options.format);
  job.save.protocol = protocol_of(options.selection);
  if (options.protocol) job.save.protocol = number_option("--protocol", *options.protocol, 0, 5, 2);
  const DeviceMap map = device_map(options);
  const std::vector<std::string> strip = as_list(options.strip_prefix), add = as_list(options.add_prefix);
  check_prefixes(strip, "--strip-prefix");
  check_prefixes(add, "--add-prefix");
  const std::vector<RenameRule> rules = rename_rules(options.rename);
  check_tensor_edits(options.tensors);

  job.renames = !strip.empty() || !add.empty() || !rules.empty();
  std::vector<std::string> done;
  Checkpoint checkpoint = load_input(job, options.reading);
  const std::string format = format_to_save(checkpoint, job.out, job.save);
  if (format != checkpoint.format) writable_format(format);
  refuse_idle_protocol(options, format);
  job.save.shard_bytes = shard_bytes_of(options, format);
  if (options.reading.dequantize && checkpoint.format != "gguf" && !quiet)
    print_note(checkpoint.file + ": --dequantize changes nothing: it is of GGUF's blocks");
  checkpoint = take_part(std::move(checkpoint), options.selection, done);
  checkpoint = remap_devices(std::move(checkpoint), map, is_pickled(format), done);
  checkpoint = strip_prefixes(std::move(checkpoint), strip, done, quiet);
  checkpoint = add_prefixes(std::move(checkpoint), add, done, quiet);
  checkpoint = rename_keys(std::move(checkpoint), rules, done);
  checkpoint = edit_tensors(std::move(checkpoint), options.tensors, done);
  write_output(std::move(checkpoint), job, done, quiet);
  return exit_done;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<ConvertOptions>();
  const std::string module(data_parallel_prefix);
  define_selection_options(arguments, options->selection);
  arguments.value("--to", "DEVICE", options->to, "the device of every storage: cpu, cuda:1, mps, ...");
  arguments.values("--map", "SRC=DST", options->map, "one device's storages to another; '*=DST' takes every other");
  arguments.value(
      "--format", "NAME", options->format,
      "torch, torch-legacy, torchscript, safetensors, npz, npy; folders: dcp, safetensors-index, torch-index; else as "
      "OUT's suffix says, or as the input");
  arguments.value("--shard-size", "BYTES", options->shard_size,
                  "of a file of safetensors-index or torch-index, where OUT is a folder; default 5GB");
  arguments.value("--protocol", "N", options->protocol, "pickle protocol, 0 to 5; else as the input");
  arguments.optional_value("--strip-prefix", "P", module, options->strip_prefix, "take module. (or P) from the keys");
  arguments.optional_value("--add-prefix", "P", module, options->add_prefix,
                           "put module. (or P) before the keys, after any stripping");
  arguments.values("--rename", "REGEX=REPL", options->rename,
                   "replace what matches in the keys (RE2; \\1 is the first group); may be repeated, each in turn");
  define_tensor_edit_options(arguments, options->tensors);
  define_reading_options(arguments, options->reading);
  define_writing_options(arguments, options->writing);
  return [options](bool quiet) { return run(*options, quiet); };
}

}  // namespace

extern const Command convert_command;
const Command convert_command{
    "convert",
    "IN OUT [options]",
    "device, format, compression, prefix, or a part of it, in one pass",
    "Writes a checkpoint again with what the options change, and nothing else: other values, their types,\n"
    "order and sharing stay. OUT appears whole or not at all. Without options OUT is what IN was; but a name\n"
    "that ends in .gz is compressed, and one that has lost the .gz of IN's is not. What is done comes in this\n"
    "order: --root, --weights-only, --keep, --drop (by the names of the input), --strip-optimizer, devices,\n"
    "prefixes, --rename, --contiguous, --compact, --dedupe, --dtype.\n",
    "ckpt convert model.pt.gz model.cpu.pt --to cpu --strip-prefix --no-gzip",
    "ckpt convert --in-place model.pt --map cuda:1=cuda:0",
    define,
};

}  // namespace ckpt::tools
