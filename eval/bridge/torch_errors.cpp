#include "bridge/torch_errors.h"

#include <c10/util/Exception.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <new>

namespace ckpt::eval {
namespace {

// Libraries below libtorch have no exception of their own for this.
constexpr std::array shortage_words{"out of memory", "can't allocate memory", "not enough memory",
                                    "ALLOC_FAILED",  "out_of_memory",         "ALLOCATION_FAILED"};

}  // namespace

// libtorch puts what went wrong first and where behind it; TorchScript's interpreter does the reverse.
std::string main_line(std::string_view words) {
  while (words.ends_with('\n')) words.remove_suffix(1);
  constexpr std::string_view thrown = "RuntimeError: ";
  if (const std::size_t at = words.rfind(thrown); at != std::string_view::npos)
    words.remove_prefix(at + thrown.size());
  else if (words.starts_with("The following operation failed"))
    words.remove_prefix(words.rfind('\n') + 1);
  return std::string(words.substr(0, words.find('\n')));
}

std::optional<std::uint64_t> allocation_in(const std::string& words) {
  constexpr std::string_view mark = "ried to allocate ";
  const auto at = words.find(mark);
  if (at == std::string::npos) return std::nullopt;
  const char* begin = words.c_str() + at + mark.size();
  char* end = nullptr;
  const double number = std::strtod(begin, &end);
  if (end == begin || !(number >= 0)) return std::nullopt;
  const std::string_view unit = end;
  double scale = 0;
  for (const auto& [name, bytes] :
       {std::pair(" bytes", 0x1p0), std::pair(" KiB", 0x1p10), std::pair(" MiB", 0x1p20), std::pair(" GiB", 0x1p30)}) {
    if (unit.starts_with(name)) scale = bytes;
  }
  if (scale == 0 || number * scale >= 0x1p63) return std::nullopt;
  return static_cast<std::uint64_t>(number * scale);
}

std::optional<Shortage> as_shortage(const std::exception_ptr& error) {
  std::string words;
  try {
    std::rethrow_exception(error);
  } catch (const Error& ours) {
    if (ours.code() == ErrorCode::out_of_memory) return Shortage{allocation_in(ours.what())};
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return Shortage{};
  } catch (const c10::OutOfMemoryError& refused) {
    return Shortage{allocation_in(refused.what_without_backtrace())};
  } catch (const c10::Error& torch) {
    words = torch.what_without_backtrace();
  } catch (const std::exception& other) {
    words = other.what();
  } catch (...) {
    return std::nullopt;
  }
  for (const char* mark : shortage_words) {
    if (words.find(mark) != std::string::npos) return Shortage{allocation_in(words)};
  }
  return std::nullopt;
}

Error caught_torch_error(const std::string& doing, ErrorCode otherwise) {
  const ErrorCode code = as_shortage(std::current_exception()) ? ErrorCode::out_of_memory : otherwise;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const c10::Error& error) {
    return Error(code, main_line(error.what_without_backtrace())).within(doing);
  } catch (const std::exception& error) {
    return Error(code, main_line(error.what())).within(doing);
  }
}

}  // namespace ckpt::eval
