#pragma once

/// CKPT_EVAL_API marks what libckpt_eval.so exports; everything else is hidden.
#if defined(__GNUC__)
#define CKPT_EVAL_API __attribute__((visibility("default")))
#else
#define CKPT_EVAL_API
#endif
