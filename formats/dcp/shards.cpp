#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "dcp/dcp.h"
#include "dcp/join.h"
#include "io/bytes.h"
#include "io/file_source.h"
#include "model/joined_metadata.h"
#include "named_tensors/shard_names.h"
#include "named_tensors/sharding_info.h"

namespace ckpt::dcp {
namespace {

/// What a list of shards begins with; their names follow, a line each.
constexpr std::string_view list_mark = "shards of a distributed checkpoint\n";
constexpr std::string_view prefix = "shard-", suffix = ".safetensors";
using named_tensors::Offsets, named_tensors::parse_offsets, named_tensors::sharding_key;

std::vector<std::string> names_of(const ByteSource& list) {
  const auto bytes = read_all(list, limits::folder_entries * limits::kib);
  std::string_view text = as_text(bytes).substr(list_mark.size());
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

class Reader {
 public:
  explicit Reader(const ReadContext& context) : context_(context) {}

  Checkpoint run(const ByteSourcePtr& list) {
    NameSet read;
    const std::vector<std::string> names = names_of(*list);
    report_missing(names);
    for (const std::string& name : names) {
      try {
        if (!read.insert(name).second) throw Error(ErrorCode::corrupt, "the file comes twice").expected("each once");
        read_file(name);
      } catch (const Error& error) {
        context_.report(error, "'" + name + "'");
      }
    }
    std::uint64_t chunks = 0;
    for (const auto& each : chunks_) chunks += each.size();
    Joiner joiner{Steps(chunks)};
    std::vector<TensorSource> tensors;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const std::string where = "'" + entries_[i].name + "'";
      try {
        tensors.push_back(joiner.join(entries_[i], std::move(chunks_[i]), list->name() + ": " + where));
      } catch (Error& error) {
        context_.report(error.within(where).hint("a rank's file may be missing: copy all of them into one folder"), "");
      }
    }
    Checkpoint checkpoint = assemble(std::move(tensors));
    checkpoint.file = list->name();
    checkpoint.format = dcp_format.name;
    checkpoint.beside = std::move(files_);
    checkpoint.metadata = metadata_.take();
    checkpoint.warnings = std::move(warnings_);
    context_.remark("no checksum covers the tensors' bytes (safetensors has none)");
    return checkpoint;
  }

 private:
  /// "shard-00003-model-00001-of-00002.safetensors": of each number there is a file, of one rank at least.
  void report_missing(const std::vector<std::string>& names) const {
    std::map<std::uint32_t, std::set<std::uint32_t>> numbers;  // by how many there are
    for (const std::string& name : names)
      if (const auto shard = shards::parse_shard_name(name)) numbers[shard->count].insert(shard->number);
    for (const auto& [count, there] : numbers) {
      const std::uint32_t missing = count - static_cast<std::uint32_t>(std::min<std::size_t>(there.size(), count));
      if (missing == 0) continue;
      std::uint32_t first = 1;
      while (there.contains(first)) ++first;
      const std::string more = missing == 1 ? "" : ", nor are " + std::to_string(missing - 1) + " more";
      context_.report(
          Error(ErrorCode::truncated, "no rank's file of number " + std::to_string(first) + " is there" + more)
              .expected("one of each number up to the " + std::to_string(count) + " that the others' names say")
              .hint("copy the files of every rank into one folder"),
          "");
    }
  }

  void read_file(const std::string& name) {
    const ByteSourcePtr file = context_.open_beside(name);
    if (file == nullptr) throw Error(ErrorCode::corrupt, "the file '" + name + "' is missing");
    files_.push_back(file);
    Checkpoint part = context_.open(file, "'" + name + "'");
    if (part.pickled)
      throw Error(ErrorCode::corrupt, "'" + name + "' is of format " + part.format).expected("safetensors");
    std::optional<Offsets> offsets;
    for (const auto& [key, text] : part.metadata)
      if (key == sharding_key) offsets = parse_offsets(text);
    if (!offsets) warnings_.push_back("'" + name + "' has no " + std::string(sharding_key) + ": its tensors are whole");
    for (const auto& named : tensor_names(part)) add(part, named, offsets ? &*offsets : nullptr);
    std::erase_if(part.metadata, [](const auto& entry) { return entry.first == sharding_key; });
    metadata_.add(std::move(part.metadata), "'" + name + "'", warnings_);
  }

  void add(const Checkpoint& part, const NamedTensor& named, const Offsets* offsets) {
    const TensorInfo& info = named.tensor->info;
    std::vector<std::int64_t> begin(info.shape.size(), 0);
    if (offsets != nullptr) {
      const auto found = offsets->find(named.name);
      if (found == offsets->end() || found->second.size() != begin.size())
        throw Error(ErrorCode::corrupt, std::string(sharding_key) + " has " +
                                            (found == offsets->end() ? "nothing" : "other dimensions") + " of '" +
                                            named.name + "'")
            .expected("where its chunk begins in each of its " + std::to_string(begin.size()) + " dimensions");
      begin = found->second;
    }
    const auto [place, fresh] = places_.try_emplace(named.name, entries_.size());
    if (fresh) {
      entries_.push_back({.name = named.name, .is_tensor = true, .dtype = info.dtype});
      entries_.back().shape.assign(begin.size(), 0);
      chunks_.emplace_back();
    }
    Entry& entry = entries_[place->second];
    if (entry.dtype != info.dtype || entry.shape.size() != begin.size())
      throw Error(ErrorCode::corrupt, "a chunk of '" + named.name + "' is " + std::string(dtype_name(info.dtype)) +
                                          " of " + std::to_string(begin.size()) + " dimensions")
          .expected(std::string(dtype_name(entry.dtype)) + " of " + std::to_string(entry.shape.size()) +
                    ", as another file has it");
    // Nothing says how large the whole is: it is what its chunks come to.
    for (std::size_t d = 0; d < begin.size(); ++d) {
      const auto end = checked_add(begin[d], info.shape[d]);
      if (!end) throw Error(ErrorCode::corrupt, "a chunk of '" + named.name + "' ends past 2^63");
      entry.shape[d] = std::max(entry.shape[d], *end);
    }
    chunks_[place->second].push_back(chunk_of(part, *named.tensor, info.dtype, info.shape));
    entry.boxes.insert(entry.boxes.end(), begin.begin(), begin.end());
    entry.boxes.insert(entry.boxes.end(), info.shape.begin(), info.shape.end());
  }

  const ReadContext& context_;
  std::vector<Entry> entries_;
  std::vector<std::vector<Chunk>> chunks_;  ///< of each entry
  NameMap<std::size_t> places_;
  JoinedMetadata metadata_;
  std::vector<std::string> warnings_;
  std::vector<ByteSourcePtr> files_;
};

bool is_shard(const std::string& path) {
  const ByteSourcePtr file = open_regular_file(path);
  std::array<std::byte, 4096> head{};
  const std::string_view text = as_text(std::span(head).first(file->read_at(0, head)));
  return text.size() > 8 && text[8] == '{' && text.find(sharding_key) != std::string_view::npos;
}

}  // namespace

bool is_shard_list(const ByteSource& source) {
  std::array<std::byte, list_mark.size()> head{};
  return as_text(std::span(head).first(source.read_at(0, head))) == list_mark;
}

ByteSourcePtr list_shards(const std::string& folder, std::span<const std::string> names) {
  std::string list(list_mark);
  bool any = false;
  for (const std::string& name : names) {
    if (name.ends_with(".index.json")) return nullptr;  // which says itself where tensors are
    if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.find('\n') != std::string::npos) continue;
    if (!any && !is_shard(folder + "/" + name)) return nullptr;
    any = true;
    list += name + "\n";
  }
  if (!any) return nullptr;
  const auto bytes = as_bytes(list);
  return memory_source({bytes.begin(), bytes.end()}, folder, folder);
}

Checkpoint read_shards(const ByteSourcePtr& source, const ReadContext& context) { return Reader(context).run(source); }

}  // namespace ckpt::dcp
