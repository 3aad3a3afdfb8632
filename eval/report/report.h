#pragma once

#include <string>

#include "ckpt/error.h"
#include "ckpt/eval.h"
#include "console/render.h"
#include "report/verdict.h"

/// A result in every form that it is handed on in. Each ends in a line feed. What comes from files is escaped as the
/// form demands, control characters and invisible ones included.
namespace ckpt::eval {

/// For a terminal: what was run, one table, what the verdict says. Warnings have gone to standard error.
[[nodiscard]] std::string table_text(const Result& result, const Verdict& verdict, const tools::Colours& colours);

/// One object on a line: docs/eval.md has its keys. Numbers that are NaN or infinite are null.
[[nodiscard]] std::string json_text(const Result& result, const Verdict& verdict);

/// A test suite for CI: that the model loads, and a case for each check.
[[nodiscard]] std::string junit_text(const Result& result, const Verdict& verdict);
/// The same where there is no result.
[[nodiscard]] std::string junit_text(const std::string& model, const Error& error);

/// For the summary of a CI job: GitHub's and GitLab's Markdown.
[[nodiscard]] std::string markdown_text(const Result& result, const Verdict& verdict);

/// One page that needs nothing but itself.
[[nodiscard]] std::string html_text(const Result& result, const Verdict& verdict);

}  // namespace ckpt::eval
