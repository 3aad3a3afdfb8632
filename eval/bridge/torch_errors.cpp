#include "bridge/torch_errors.h"

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <string_view>

namespace ckpt::eval {
namespace {

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

}  // namespace

Error caught_torch_error(const std::string& doing, ErrorCode otherwise) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    return Error(ErrorCode::out_of_memory, first_line(error.what_without_backtrace())).within(doing);
  } catch (const c10::Error& error) {
    const std::string line = first_line(error.what_without_backtrace());
    // The CPU's allocator has no type of its own for it (c10/core/impl/alloc_cpu.cpp).
    const bool memory = line.find("DefaultCPUAllocator: ") != std::string::npos;
    return Error(memory ? ErrorCode::out_of_memory : otherwise, line).within(doing);
  } catch (const std::exception& error) {
    return Error(otherwise, first_line(error.what())).within(doing);
  }
}

}  // namespace ckpt::eval
