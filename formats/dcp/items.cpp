#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/quoted_name.h"
#include "dcp/dcp.h"
#include "dcp/join.h"
#include "dcp/metadata.h"
#include "dcp/tree.h"
#include "io/bytes.h"
#include "pickle/global_uses.h"
#include "pickled_tensors/arguments.h"
#include "pickled_tensors/assembler.h"

namespace ckpt::dcp {
namespace {

constexpr std::string_view item_suffix = ".distcp";

std::string in_quotes(const std::string& name) { return "'" + name + "'"; }

class Reader {
 public:
  Reader(const ByteSourcePtr& source, const ReadContext& context)
      : source_(source), context_(context), metadata_(read_metadata(*source, context)), tree_(metadata_.steps) {
    broken_.resize(metadata_.entries.size());
    uses_.add(metadata_.globals, 0);
  }

  Checkpoint run() {
    open_files();
    try {
      Checkpoint checkpoint = read();
      if (context_.met != nullptr) tell_items(*context_.met, false);
      return checkpoint;
    } catch (const Error&) {
      if (context_.met != nullptr) tell_items(*context_.met, true);
      throw;
    }
  }

 private:
  Checkpoint read() {
    check_places();
    plant();
    // The items are as large as they say, whatever `.metadata` weighs.
    std::uint64_t length = 0;
    for (const Item& item : metadata_.items) length = checked_add(length, item.length).value_or(UINT64_MAX);
    within_ = context_;
    within_.pickle_cap = limits::pickle_bytes;
    within_.inflated_cap = limits::inflated_cap(length);
    joiner_.emplace(metadata_.steps);
    std::size_t holes = 0;
    const ValueId root = tree_.build({
        .leaf = [&](std::uint32_t entry) { return leaf(metadata_.entries[entry]); },
        .none =
            [&] {
              ++holes;
              return assembler_.none();
            },
        .key = [&](std::string_view key) { return assembler_.key(key); },
        .dict = [&](std::span<const ValueId> pairs) { return assembler_.dict(pairs); },
        .list = [&](std::span<const ValueId> items) { return assembler_.list(items); },
    });
    Checkpoint checkpoint = assembler_.finish(root);
    checkpoint.file = source_->name();
    checkpoint.format = dcp_format.name;
    checkpoint.pickled = true;
    checkpoint.globals = std::move(globals_);
    checkpoint.warnings = strangers();
    if (holes > 0)
      checkpoint.warnings.push_back(std::to_string(holes) + (holes == 1 ? " place" : " places") +
                                    " in lists, for which .metadata names nothing, " + (holes == 1 ? "is" : "are") +
                                    " read as None: an empty dict that was saved leaves such a place");
    for (const ByteSourcePtr& file : open_)
      if (file != nullptr) checkpoint.beside.push_back(file);
    return checkpoint;
  }

  /// Those that are there; of tensors, which torch loads with weights_only, where they have not been read.
  void tell_items(ReadContext::Met& met, bool of_tensors) const {
    for (const Entry& entry : metadata_.entries) {
      if (entry.is_tensor && !of_tensors) continue;
      for (const std::uint32_t index : entry.items)
        if (const Item& item = metadata_.items[index]; met.beside.size() <= limits::scan_parts &&
                                                       open_[item.file] != nullptr &&
                                                       in_bounds(item.offset, item.length, open_[item.file]->size()))
          met.beside.emplace_back("item " + quoted_name(entry.name), bytes_of(item, in_quotes(entry.name)));
    }
  }

  void fault(std::size_t entry, const Error& error) {
    broken_[entry] = true;
    Error told = error;
    if (told.hint().empty())
      told.hint("ckpt verify " + shell_word(context_.folder) +
                " lists all that is wrong; copy the file that is named again");
    context_.report(told, in_quotes(metadata_.entries[entry].name));
  }

  /// Of a file: how many entries have items in it, and the names of the first.
  struct Wanted {
    std::size_t count = 0;
    std::string names;
  };

  std::vector<Wanted> wanted() const {
    constexpr std::size_t most = 3;
    std::vector<Wanted> files(metadata_.files.size());
    std::vector<std::size_t> last(files.size());  // entry that was counted last, and one
    for (std::size_t e = 0; e < metadata_.entries.size(); ++e) {
      for (const std::uint32_t item : metadata_.entries[e].items) {
        const std::uint32_t file = metadata_.items[item].file;
        if (std::exchange(last[file], e + 1) == e + 1) continue;
        Wanted& by = files[file];
        if (++by.count <= most) by.names += (by.count == 1 ? "" : ", ") + in_quotes(metadata_.entries[e].name);
      }
    }
    for (Wanted& by : files)
      if (by.count > most) by.names += " and " + std::to_string(by.count - most) + " more";
    return files;
  }

  /// Each once; of one that is missing, who wants it.
  void open_files() {
    const std::vector<Wanted> by = wanted();
    for (std::size_t i = 0; i < metadata_.files.size(); ++i) {
      const std::string& name = metadata_.files[i];
      open_.push_back(nullptr);
      if (by[i].count == 0) continue;
      try {
        open_.back() = context_.open_beside(name);
        if (open_.back() == nullptr)
          throw Error(ErrorCode::corrupt, "the file " + in_quotes(name) + " is missing")
              .expected("it beside .metadata: it has " + by[i].names)
              .hint("copy the files of every rank into one folder");
      } catch (Error& error) {
        context_.report(error.in(source_->name()), in_quotes(name));
      }
    }
    for (std::size_t e = 0; e < broken_.size(); ++e)
      for (const std::uint32_t item : metadata_.entries[e].items)
        broken_[e] = broken_[e] || open_[metadata_.items[item].file] == nullptr;
  }

  /// No item may reach past its file, or share bytes with another: a small file would stand for a large one.
  void check_places() {
    struct Use {
      std::uint32_t item;
      std::uint32_t entry;
    };
    std::vector<Use> uses;
    for (std::uint32_t e = 0; e < metadata_.entries.size(); ++e)
      for (const std::uint32_t item : metadata_.entries[e].items) uses.push_back({item, e});
    const auto place = [&](const Use& use) {
      const Item& item = metadata_.items[use.item];
      return std::tuple(item.file, item.offset, use.item);
    };
    std::sort(uses.begin(), uses.end(), [&](const Use& a, const Use& b) { return place(a) < place(b); });
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const Item& item = metadata_.items[uses[i].item];
      const bool first = i == 0 || metadata_.items[uses[i - 1].item].file != item.file;
      if (first) end = 0;
      if (broken_[uses[i].entry]) continue;
      const ByteSource& file = *open_[item.file];
      if (!in_bounds(item.offset, item.length, file.size())) {
        fault(uses[i].entry, Error(ErrorCode::truncated, in_quotes(metadata_.entries[uses[i].entry].name) + " has " +
                                                             std::to_string(item.length) + " bytes from byte " +
                                                             std::to_string(item.offset) + " on")
                                 .expected("the file's " + std::to_string(file.size()) + " bytes to hold them")
                                 .in(file.name())
                                 .hint("it was not copied, or not written, to its end"));
        continue;
      }
      if (item.offset < end)
        fault(uses[i].entry, Error(ErrorCode::corrupt, in_quotes(metadata_.entries[uses[i].entry].name) +
                                                           " begins within what holds another item")
                                 .expected("items that share no bytes")
                                 .at(item.offset)
                                 .in(file.name()));
      end = std::max(end, item.offset + item.length);
    }
  }

  void plant() {
    for (std::uint32_t e = 0; e < metadata_.entries.size(); ++e) {
      if (broken_[e]) continue;
      const Entry& entry = metadata_.entries[e];
      try {
        if (entry.path == no_value) {
          tree_.put(entry.name, e);
          continue;
        }
        const auto path = torch::sequence_items(metadata_.values, entry.path);
        if (!path) throw Error(ErrorCode::corrupt, "its path in planner_data is no tuple");
        tree_.put(metadata_.values, *path, e);
      } catch (Error& error) {
        fault(e, error.within(in_quotes(entry.name)));
      }
    }
  }

  ByteSourcePtr bytes_of(const Item& item, const std::string& name) const {
    const ByteSourcePtr& file = open_[item.file];
    return slice(file, item.offset, item.length, file->name() + ": " + name);
  }

  Checkpoint open(const Item& item, const std::string& name) {
    Checkpoint part = within_.open(bytes_of(item, name), "its item");  // the source has the name
    uses_.add(part.globals, item.offset);
    if (part.format != "torch")
      throw Error(ErrorCode::corrupt, name + " is of format '" + part.format + "'").expected("what torch.save wrote");
    return part;
  }

  /// Of an entry that is broken, None, which only those see who collect findings.
  ValueId leaf(const Entry& entry) {
    const std::string name = in_quotes(entry.name);
    try {
      if (!entry.is_tensor) return assembler_.adopt(open(metadata_.items[entry.items[0]], name));
      return assembler_.add(tensor(entry, name));
    } catch (const Error& error) {
      context_.report(error, name);
      return assembler_.none();
    }
  }

  TensorSource tensor(const Entry& entry, const std::string& name) {
    std::vector<Chunk> chunks;
    for (std::size_t i = 0; i < entry.items.size(); ++i) {
      const Checkpoint part = open(metadata_.items[entry.items[i]], name);
      try {
        chunks.push_back(chunk(entry, i, part));
      } catch (Error& error) {
        throw error.within(name);
      }
    }
    try {
      return joiner_->join(entry, std::move(chunks), source_->name() + ": " + name);
    } catch (Error& error) {
      throw error.within(name);
    }
  }

  static Chunk chunk(const Entry& entry, std::size_t i, const Checkpoint& part) {
    const auto whole = std::find_if(part.tensors.begin(), part.tensors.end(),
                                    [&](const Tensor& tensor) { return tensor.value == part.root; });
    if (whole == part.tensors.end()) throw Error(ErrorCode::corrupt, "a chunk is no tensor").expected("a tensor");
    const std::size_t dims = entry.shape.size();
    return chunk_of(part, *whole, entry.dtype, std::span(entry.boxes).subspan((2 * i + 1) * dims, dims));
  }

  /// Files of items that nothing wants, of an earlier save with more ranks; and what trainers keep beside them.
  std::vector<std::string> strangers() const {
    std::vector<std::string> found;
    if (context_.folder.empty()) return {};
    const std::set<std::string_view> known(metadata_.files.begin(), metadata_.files.end());
    std::error_code failure;
    for (std::filesystem::directory_iterator next(context_.folder, failure), end; !failure && next != end;
         next.increment(failure)) {
      const std::string name = next->path().filename().string();
      const bool is_kept = name.ends_with(item_suffix) || !formats_by_suffix(name).empty();
      std::error_code unknown;
      if (is_kept && next->is_regular_file(unknown) && !known.contains(name) && found.size() < limits::folder_entries)
        found.push_back(name);
    }
    std::sort(found.begin(), found.end());
    for (std::string& name : found) name = "the file " + in_quotes(name) + " belongs to nothing that .metadata names";
    return found;
  }

  const ByteSourcePtr& source_;
  const ReadContext& context_;
  ReadContext within_;
  Metadata metadata_;
  std::vector<bool> broken_;  ///< entries that a finding has named
  std::vector<ByteSourcePtr> open_;
  Tree tree_;
  std::optional<Joiner> joiner_;
  torch::Assembler assembler_;
  std::vector<GlobalUse> globals_;
  pickle::GlobalUses uses_{globals_};
};

}  // namespace

Checkpoint read_items(const ByteSourcePtr& source, const ReadContext& context) { return Reader(source, context).run(); }

}  // namespace ckpt::dcp
