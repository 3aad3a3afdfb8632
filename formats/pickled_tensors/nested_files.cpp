#include "pickled_tensors/nested_files.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "ckpt/error.h"
#include "model/byte_texts.h"
#include "model/calls.h"
#include "pickle/global_uses.h"

namespace ckpt::torch {
namespace {

constexpr std::string_view module_name = "torch.storage", function_name = "_load_from_bytes";

/// The storage that a file holds and nothing else; null where it holds anything else.
std::shared_ptr<const NestedStorage> root_storage(const Checkpoint& file) {
  const StorageUse* const use = find_storage_use(file, file.root);
  if (use == nullptr || !file.discarded.empty()) return nullptr;
  const ValueId type = file.values.items(file.values.items(file.root)[0])[1];
  Storage storage = file.storages[use->storage];
  if (use->view != nullptr) {
    const std::uint64_t size = dtype_size(storage.dtype);
    storage.nbytes = use->view->size * size;
    storage.bytes = slice(storage.bytes, use->view->offset * size, storage.nbytes, storage.bytes->source_name());
  }
  return std::make_shared<NestedStorage>(
      NestedStorage{std::string(file.values.module(type)), std::string(file.values.name(type)), std::move(storage)});
}

class Opener {
 public:
  Opener(Checkpoint& checkpoint, std::span<const pickle::LongText> texts, const ReadContext& context)
      : checkpoint_(checkpoint),
        values_(checkpoint.values),
        texts_(texts),
        context_(context),
        globals_(checkpoint.globals) {}

  std::vector<NestedFile> run() {
    const auto& globals = checkpoint_.globals;
    if (std::none_of(globals.begin(), globals.end(), [](const GlobalUse& g) { return is_function(g.module, g.name); }))
      return {};
    find_functions();
    for (ValueId id = 0; id < values_.size(); ++id) look_at(id);
    for (GlobalUse& global : checkpoint_.globals)
      if (is_function(global.module, global.name)) global.verdict = doubt_ ? Verdict::dangerous : Verdict::known;
    if (!reason_.empty()) checkpoint_.warnings.push_back("torch.storage._load_from_bytes stays dangerous: " + reason_);
    return std::move(opened_);
  }

 private:
  struct Nested {
    bool is_open = false;
    std::shared_ptr<const NestedStorage> storage;
  };

  static bool is_function(std::string_view module, std::string_view name) {
    return module == module_name && name == function_name;
  }

  void find_functions() {
    functions_.resize(values_.size());
    for (ValueId id = 0; id < values_.size(); ++id) functions_[id] = is_global(values_, id, module_name, function_name);
  }

  /// A use that is no call by name could pass the function on to something that calls it.
  void look_at(ValueId id) {
    if (functions_[id] && values_.first_effect(id) != 0) return doubt("it is changed by BUILD");
    if (values_.kind(id) == ValueKind::global) return;
    const auto items = values_.items(id);
    const bool calls = values_.kind(id) == ValueKind::object && functions_[items[0]];
    std::size_t uses = 0;
    values_.each_operand(id, [&](ValueId item) { uses += functions_[item] ? 1 : 0; });
    if (uses > (calls ? 1U : 0U)) doubt("it is given to something else, which may call it");
    if (calls) open_call(id);
  }

  void open_call(ValueId id) {
    const auto arguments = call_arguments(values_, id);
    if (values_.call(id) != CallKind::reduce || arguments.size() != 1)
      return doubt("it is called with something else than bytes");
    // However often a text is made into bytes: files within files, each of which opens the next many times, are few
    // bytes.
    const ValueId text = text_of_bytes(values_, arguments[0]);
    const auto [found, fresh] = files_.try_emplace(text == no_value ? arguments[0] : text);
    if (fresh) found->second = open(arguments[0]);
    if (found->second.is_open) opened_.push_back({id, found->second.storage});
  }

  Nested open(ValueId argument) {
    const std::string name = checkpoint_.file + ": bytes for torch.storage._load_from_bytes";
    try {
      const ByteSourcePtr bytes = bytes_of(values_, argument, name);
      if (bytes == nullptr) {
        doubt("it is called with something else than bytes");
        return {};
      }
      const std::size_t known = context_.findings == nullptr ? 0 : context_.findings->size();
      const Checkpoint file = context_.open(bytes, "torch.storage._load_from_bytes");
      add_globals(file, argument);
      // Of a file that is damaged torch may read something else.
      if (context_.findings != nullptr && has_faults(std::span(*context_.findings).subspan(known)))
        doubt("its bytes are damaged");
      // torch.load begins to run whatever else it is given before it finds that it cannot read that.
      if (!file.gzip && !file.archive && (file.format == "torch" || file.format == "torch-legacy"))
        return {true, root_storage(file)};
      doubt("it is given a file of format " + file.format +
            (file.gzip      ? ", compressed"
             : file.archive ? ", in an archive"
                            : ""));
    } catch (const Error& error) {
      if (is_of_the_machine(error)) throw;
      doubt(error.what());
    }
    return {};
  }

  void add_globals(const Checkpoint& file, ValueId argument) {
    const ValueId text = text_of_bytes(values_, argument);
    const auto place = std::lower_bound(texts_.begin(), texts_.end(), text,
                                        [](const pickle::LongText& a, ValueId b) { return a.value < b; });
    const bool is_placed = place != texts_.end() && place->value == text;
    for (GlobalUse global : file.globals) {
      if (global.verdict == Verdict::dangerous) doubt("its bytes call for " + global.module + "." + global.name);
      // An encoded text's bytes are not where its characters are: it is where the text begins.
      global.offset = is_placed ? place->at + (place->is_raw ? global.offset : 0) : 0;
      globals_.add(std::move(global));
    }
  }

  void doubt(std::string reason) {
    doubt_ = true;
    if (reason_.empty()) reason_ = std::move(reason);
  }

  Checkpoint& checkpoint_;
  const ValueGraph& values_;
  std::span<const pickle::LongText> texts_;
  const ReadContext& context_;
  pickle::GlobalUses globals_;
  std::vector<bool> functions_;      ///< which values are the function
  std::map<ValueId, Nested> files_;  ///< by the argument
  std::vector<NestedFile> opened_;
  bool doubt_ = false;
  std::string reason_;
};

}  // namespace

std::vector<NestedFile> open_nested_files(Checkpoint& checkpoint, std::span<const pickle::LongText> texts,
                                          const ReadContext& context) {
  return Opener(checkpoint, texts, context).run();
}

}  // namespace ckpt::torch
