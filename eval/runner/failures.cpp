#include "runner/failures.h"

#include <c10/util/Exception.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <new>
#include <string_view>

namespace ckpt::eval {
namespace {

// Libraries below libtorch have no exception of their own for this.
constexpr std::array shortage_words{"out of memory", "can't allocate memory", "not enough memory",
                                    "ALLOC_FAILED",  "out_of_memory",         "ALLOCATION_FAILED"};

// libtorch puts what went wrong first and where behind it; TorchScript's interpreter does the reverse.
std::string gist(std::string words) {
  while (!words.empty() && words.back() == '\n') words.pop_back();
  if (words.starts_with("The following operation failed")) return words.substr(words.rfind('\n') + 1);
  return words.substr(0, words.find('\n'));
}

}  // namespace

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

std::exception_ptr translated(const std::exception_ptr& error, const std::string& device) {
  const auto shortage = as_shortage(error);
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    return error;
  } catch (...) {
    if (shortage) {
      const std::string needed =
          shortage->needed ? ": " + std::to_string(*shortage->needed) + " bytes were needed" : "";
      Error refused(ErrorCode::out_of_memory, device + " ran out of memory" + needed);
      if (device != "cpu") refused.hint("--device cpu");
      return std::make_exception_ptr(refused);
    }
  }
  try {
    std::rethrow_exception(error);
  } catch (const c10::AcceleratorError& broken) {
    return std::make_exception_ptr(
        Error(ErrorCode::unavailable, device + " failed: " + gist(broken.what_without_backtrace())));
  } catch (const c10::Error& torch) {
    return std::make_exception_ptr(
        Error(ErrorCode::unsupported, "the model failed on " + device + ": " + gist(torch.what_without_backtrace())));
  } catch (const std::exception& other) {
    return std::make_exception_ptr(
        Error(ErrorCode::unsupported, "the model failed on " + device + ": " + gist(other.what())));
  } catch (...) {
    return std::make_exception_ptr(Error(ErrorCode::unsupported, "the model failed on " + device));
  }
}

}  // namespace ckpt::eval
