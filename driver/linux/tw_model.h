/* What an ONNX model must not have if nobody vouches for it: tensors whose bytes lie in other files. */
#ifndef TILEWRIGHT_MODEL_H
#define TILEWRIGHT_MODEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1: the serialised model is sound as far as is looked at, and holds all of its tensors itself. 0: it names other files or
 * memory, is no protobuf, or is onnxruntime's own format, which is not read here. */
uint32_t tw_model_is_whole(const uint8_t *model, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
