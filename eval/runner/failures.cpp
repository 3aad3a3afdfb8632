#include "runner/failures.h"

#include <c10/util/Exception.h>

#include "bridge/torch_errors.h"

namespace ckpt::eval {
namespace {

std::exception_ptr the_models(const std::string& device, const std::string& why) {
  return std::make_exception_ptr(
      Error(ErrorCode::unsupported, "the model failed on " + device + why)
          .hint("in Python: torch.jit.load(path)(inputs), of a batch as it is evaluated, shows where"));
}

}  // namespace

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
        Error(ErrorCode::unavailable, device + " failed: " + main_line(broken.what_without_backtrace())));
  } catch (const c10::Error& torch) {
    return the_models(device, ": " + main_line(torch.what_without_backtrace()));
  } catch (const std::exception& other) {
    return the_models(device, ": " + main_line(other.what()));
  } catch (...) {
    return the_models(device, "");
  }
}

}  // namespace ckpt::eval
