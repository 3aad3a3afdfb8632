#include <algorithm>

#include "ckpt/error.h"
#include "io/bytes.h"
#include "named_tensors/losses.h"
#include "named_tensors/sharding_info.h"
#include "ops/tensor_bytes.h"
#include "ops/watched_source.h"
#include "safetensors/copy_tensors.h"
#include "safetensors/plan.h"
#include "safetensors/safetensors.h"

namespace ckpt::safetensors {
namespace {

/// Of what came from elsewhere it says that it came from PyTorch: transformers reads no file that has metadata without.
Metadata metadata_of(const Checkpoint& checkpoint, const Plan& plan) {
  Metadata metadata = checkpoint.metadata;
  std::erase_if(metadata, std::not_fn(is_text_entry));
  const bool says = std::any_of(metadata.begin(), metadata.end(), [](const auto& e) { return e.first == "format"; });
  if (!says && !checkpoint.format.starts_with(safetensors_format.name))
    metadata.insert(metadata.begin(), {"format", "pt"});
  std::vector<std::string> names;
  for (const OutTensor& out : plan.written) names.push_back(out.tensor.name);
  std::erase_if(metadata, [&](const auto& e) {
    return e.first == named_tensors::sharding_key && !named_tensors::is_about(e.second, names);
  });
  add_views(metadata, plan.views);
  return metadata;
}

std::string and_more(std::size_t count) { return count > 1 ? " and " + std::to_string(count - 1) + " more" : ""; }

/// Of what is written once, as other readers have less of it than there was.
void note_views(const Plan& plan, std::vector<std::string>& left_out) {
  const auto whole = [](const View& view) { return view.whole; };
  const auto count = static_cast<std::size_t>(std::count_if(plan.views.begin(), plan.views.end(), whole));
  if (count > 0) {
    const View& tied = *std::find_if(plan.views.begin(), plan.views.end(), whole);
    left_out.push_back("'" + tied.name + "'" +
                       (count == 1 ? " is written once, as '" + tied.of + "': safetensors.torch.load_model puts it"
                                   : " (as '" + tied.of + "')" + and_more(count) +
                                         " are written once: safetensors.torch.load_model puts them") +
                       " back, load_file does not");
  }
  if (count == plan.views.size()) return;
  const View& part = *std::find_if_not(plan.views.begin(), plan.views.end(), whole);
  const std::size_t parts = plan.views.size() - count;
  left_out.push_back("'" + part.name + "'" +
                     (parts == 1 ? " is written as a view of '" + part.of + "'"
                                 : and_more(parts) + " are written as views of others") +
                     ", which only ckpt reads back");
}

}  // namespace

WriteReceipt write(Checkpoint& checkpoint, ByteSink& sink, const WriteOptions&) {
  named_tensors::refuse_other_values(checkpoint);
  const Plan plan = plan_of(checkpoint);
  std::vector<Entry> entries;
  std::uint64_t end = 0;
  for (const OutTensor& out : plan.written) {
    if (out.tensor.tensor->value == checkpoint.root)
      throw Error(ErrorCode::unsupported, "a tensor without a name")
          .expected("tensors by name, as safetensors files hold")
          .in(checkpoint.file)
          .hint("--format torch holds one tensor without a name");
    const std::uint64_t begin = end;
    const auto next = checked_add(end, logical_bytes(*out.tensor.placed));
    if (!next) throw Error(ErrorCode::corrupt, "tensors of 2^64 bytes and more").in(checkpoint.file);
    end = *next;
    entries.push_back({.name = out.tensor.name,
                       .dtype = out.type->dtype,
                       .shape = out.tensor.tensor->info.shape,
                       .begin = begin,
                       .end = end});
  }
  sink.write(as_bytes(make_header(entries, metadata_of(checkpoint, plan))));
  entries = std::vector<Entry>();  // braces alone would keep the room
  checkpoint.values = {};
  const std::vector<Storage> storages = watched_storages(checkpoint);
  WriteReceipt receipt;
  for (const std::uint32_t sum : copy_tensors(plan.written, storages, sink))
    receipt[std::to_string(receipt.size())] = sum;
  finish_watching(storages);
  return receipt;
}

std::vector<std::string> losses(const Checkpoint& checkpoint) {
  std::vector<std::string> left_out = named_tensors::losses_but_sharing(checkpoint);
  const Plan plan = plan_of(checkpoint);
  note_views(plan, left_out);
  if (const auto& [a, b] = plan.apart; a != b)
    left_out.push_back("tensors that share storage and lie in no other, such as '" + a + "' and '" + b +
                       "', are written one by one");
  const auto strided = std::find_if(plan.written.begin(), plan.written.end(),
                                    [](const OutTensor& out) { return !is_contiguous(*out.tensor.placed); });
  if (strided != plan.written.end())
    left_out.push_back("strides: what is not contiguous, such as '" + strided->tensor.name + "', is written so");
  return left_out;
}

}  // namespace ckpt::safetensors
