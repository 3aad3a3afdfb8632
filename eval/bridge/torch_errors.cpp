#include "bridge/torch_errors.h"

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <string_view>

namespace ckpt::eval {
namespace {

/// The line that says what went wrong: the first, or the last one of a TorchScript's traceback.
std::string main_line(std::string_view text) {
  constexpr std::string_view thrown = "RuntimeError: ";
  const std::size_t at = text.rfind(thrown);
  if (at != std::string_view::npos) text.remove_prefix(at + thrown.size());
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

Error caught_torch_error(const std::string& doing, ErrorCode otherwise) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    return Error(ErrorCode::out_of_memory, main_line(error.what_without_backtrace())).within(doing);
  } catch (const c10::Error& error) {
    const std::string line = main_line(error.what_without_backtrace());
    // The CPU's allocator has no type of its own for it (c10/core/impl/alloc_cpu.cpp).
    const bool memory = line.find("DefaultCPUAllocator: ") != std::string::npos;
    return Error(memory ? ErrorCode::out_of_memory : otherwise, line).within(doing);
  } catch (const std::exception& error) {
    return Error(otherwise, main_line(error.what())).within(doing);
  }
}

}  // namespace ckpt::eval
