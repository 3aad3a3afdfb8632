#include "tensor_edits.h"

#include <array>
#include <utility>

#include "ckpt/tensor_ops.h"
#include "console/command.h"
#include "console/messages.h"
#include "console/render.h"

namespace ckpt::tools {
namespace {

std::string signed_size(std::int64_t saved) {
  return size_text(static_cast<std::uint64_t>(saved < 0 ? -saved : saved)) + (saved < 0 ? " more" : " less");
}

Checkpoint cast_tensors(Checkpoint checkpoint, const TensorEditOptions& options, std::vector<std::string>& done) {
  auto [edited, report] = cast(std::move(checkpoint), dtype_to_cast(*options.dtype), options.except);
  for (const std::string& glob : report.idle_except)
    print_warning(edited.file + ": --dtype-except '" + glob + "' matches no tensor");
  if (report.arrays > 0)
    print_warning(edited.file + ": " + count_text(report.arrays, "tensor") +
                  (report.arrays == 1 ? ", which is a numpy array or of a class of its own, keeps its dtype"
                                      : ", which are numpy arrays or of classes of their own, keep their dtype"));
  done.push_back(report.tensors == 0
                     ? "no tensor cast"
                     : count_text(report.tensors, "tensor") + " cast to " +
                           std::string(dtype_name(dtype_to_cast(*options.dtype))) + ", " + signed_size(report.saved));
  return std::move(edited);
}

}  // namespace

DType dtype_to_cast(const std::string& name) {
  // As people call them.
  constexpr std::array<std::pair<std::string_view, DType>, 11> names{{{"float64", DType::float64},
                                                                      {"float32", DType::float32},
                                                                      {"float16", DType::float16},
                                                                      {"bfloat16", DType::bfloat16},
                                                                      {"float8_e4m3fn", DType::float8_e4m3fn},
                                                                      {"float8_e5m2", DType::float8_e5m2},
                                                                      {"double", DType::float64},
                                                                      {"float", DType::float32},
                                                                      {"half", DType::float16},
                                                                      {"fp16", DType::float16},
                                                                      {"bf16", DType::bfloat16}}};
  for (const auto& [known, dtype] : names)
    if (known == name) return dtype;
  throw usage_error("no dtype to cast to is named '" + name + "'",
                    "--dtype float64, float32, float16, bfloat16, float8_e4m3fn or float8_e5m2");
}

void define_tensor_edit_options(Arguments& arguments, TensorEditOptions& options) {
  arguments.flag("--contiguous", options.contiguous, "tensors that are not contiguous in memory become so");
  arguments.flag("--compact", options.compact, "a view keeps only its own bytes of a larger storage");
  arguments.flag("--dedupe", options.dedupe, "storages with the same bytes become one, and their tensors tied");
  arguments.value("--dtype", "DTYPE", options.dtype,
                  "cast floating tensors: float64, float32, float16, bfloat16, float8_e4m3fn, float8_e5m2");
  arguments.values("--dtype-except", "GLOB", options.except, "names that --dtype leaves as they are");
}

void check_tensor_edits(const TensorEditOptions& options) {
  if (options.dtype) dtype_to_cast(*options.dtype);
  if (!options.except.empty() && !options.dtype)
    throw usage_error("--dtype-except belongs to --dtype", "--dtype float16 --dtype-except '*.norm.*'");
}

Checkpoint edit_tensors(Checkpoint checkpoint, const TensorEditOptions& options, std::vector<std::string>& done) {
  if (options.contiguous) {
    auto [edited, tensors] = make_contiguous(std::move(checkpoint));
    checkpoint = std::move(edited);
    done.push_back(count_text(tensors, "tensor") + " made contiguous");
  }
  if (options.compact) {
    auto [edited, report] = compact(std::move(checkpoint));
    checkpoint = std::move(edited);
    done.push_back(count_text(report.storages, "storage") + " compacted, " + size_text(report.saved) + " less");
  }
  if (options.dedupe) {
    auto [edited, report] = dedupe(std::move(checkpoint));
    checkpoint = std::move(edited);
    done.push_back(count_text(report.storages, "storage") + " equal to another, " + size_text(report.saved) + " less");
  }
  if (options.dtype) checkpoint = cast_tensors(std::move(checkpoint), options, done);
  return checkpoint;
}

}  // namespace ckpt::tools
