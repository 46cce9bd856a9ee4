/* Parts of a network that run on the processor, by onnxruntime's C API: a `tw_part` for the driver.
 *
 * The API is given by the caller: `OrtGetApiBase()->GetApi(ORT_API_VERSION)`, linked or found by dlsym. Only program files (ELF)
 * carry such parts; flat images do not. */
#ifndef TILEWRIGHT_ONNXRUNTIME_H
#define TILEWRIGHT_ONNXRUNTIME_H

#include <onnxruntime_c_api.h>

#include "tilewright_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TW_PARTS = 32, TW_PART_TENSORS_MOST = 32, TW_KEPT = 32, TW_PART_ERROR = 256 };

typedef struct tw_kept {
    char *name; /* as onnxruntime allocated it */
    OrtValue *value;
} tw_kept;

typedef struct tw_onnxruntime {
    const OrtApi *api;
    OrtEnv *env;
    OrtMemoryInfo *memory;
    OrtAllocator *allocator;
    const char *names[TW_PARTS];
    OrtSession *sessions[TW_PARTS];
    uint32_t count;
    tw_kept kept[TW_KEPT]; /* what one part leaves to another */
    char error[TW_PART_ERROR]; /* onnxruntime's words, when something has failed */
} tw_onnxruntime;

/* Load every part of the program, with the options of Python's runtime unless others are given. The program must stay. Parts
 * whose tensors lie in other files are refused. onnxruntime's telemetry is switched off for the process, by its environment:
 * call this before other threads read that. */
tw_result tw_onnxruntime_open(tw_onnxruntime *parts, const OrtApi *api, const tw_program *program,
                              const OrtSessionOptions *options);
/* The `tw_part` for tw_begin and tw_infer; `context` is a tw_onnxruntime. One run at a time. */
tw_result tw_onnxruntime_part(void *context, tw_run *run, const char *name);
void tw_onnxruntime_close(tw_onnxruntime *parts);

#ifdef __cplusplus
}
#endif

#endif
