#pragma once

#include "ckpt/error.h"
#include "ckpt/eval.h"
#include "program/settings.h"
#include "report/verdict.h"

namespace ckpt::eval {

/// Judges a result, hands it on in every form that was asked for, the table among them where standard output is free,
/// and returns the exit status: 1 where the verdict is no; then a file that is the baseline, too, is left as it is.
/// Throws Error: what judge() throws, and io where a file cannot be written.
int deliver(Result result, const Bars& bars, const OutputSettings& settings);

/// The JUnit report of a run that came to no result, where one was asked for. `spares`: it is known to replace nothing
/// that is read; else it replaces nothing but an earlier report.
void deliver_failure(const std::string& model, const Error& error, const OutputSettings& settings, bool spares);

}  // namespace ckpt::eval
