#pragma once

/// CKPT_API marks what libckpt.so exports; everything else is hidden.
#if defined(__GNUC__)
#define CKPT_API __attribute__((visibility("default")))
#else
#define CKPT_API
#endif
