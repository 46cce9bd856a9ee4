/* Sessions of onnxruntime for the parts of a program. */
#define _POSIX_C_SOURCE 200809L
#include "tw_onnxruntime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tw_internal.h"
#include "tw_model.h"

#define PREFIX ".cpu."
enum { NAME_BYTES = 256, DIMENSIONS = 16 };

/* As Python's runtime reads models: integer kernels for quantised patterns, nothing that computes floats in another order. */
static const char LEFT_OUT[] =
    "AttentionFusion;BiasDropoutFusion;BiasGeluFusion;BiasSkipLayerNormFusion;BiasSoftmaxFusion;ConvActivationFusion;"
    "ConvAddActivationFusion;ConvAddFusion;ConvBNFusion;ConvMulFusion;DivMulFusion;DynamicQuantizeMatMulFusion;"
    "EmbedLayerNormFusion;FastGeluFusion;GeluFusionL1;GeluFusionL2;GemmActivationFusion;GroupQueryAttentionFusion;"
    "LayerNormFusionL1;LayerNormFusionL2;MatMulActivationFusion;MatMulIntegerToFloatFusion;MatMulScaleFusion;"
    "MatMul_BatchNormalization_Fusion;MatmulTransposeFusion;QuickGeluFusion;SimplifiedLayerNormFusion;SkipLayerNormFusion";

static void say(tw_onnxruntime *parts, const char *what, const char *name)
{
    (void)snprintf(parts->error, sizeof parts->error, "%s: %s", name, what);
}

/* Whether a call went well; its words are kept. */
static int good(tw_onnxruntime *parts, OrtStatus *status)
{
    if (status == NULL)
        return 1;
    (void)snprintf(parts->error, sizeof parts->error, "%s", parts->api->GetErrorMessage(status));
    parts->api->ReleaseStatus(status);
    return 0;
}

static int default_options(tw_onnxruntime *parts, OrtSessionOptions **options)
{
    const OrtApi *api = parts->api;
    return good(parts, api->CreateSessionOptions(options))
        && good(parts, api->SetSessionGraphOptimizationLevel(*options, ORT_ENABLE_EXTENDED))
        && good(parts, api->AddSessionConfigEntry(*options, "session.qdqisint8allowed", "1"))
        && good(parts, api->AddSessionConfigEntry(*options, "optimization.disable_specified_optimizers", LEFT_OUT));
}

static tw_result load(tw_onnxruntime *parts, const tw_program *program, const char *name, const OrtSessionOptions *options)
{
    char title[NAME_BYTES];
    const uint8_t *model;
    uint32_t bytes = 0u;
    const int length = snprintf(title, sizeof title, PREFIX "%s", name);
    if (length < 0 || length >= NAME_BYTES || parts->count == TW_PARTS)
        return TW_TOO_SMALL;
    model = tw_u32(program->image) == TW_FLAT_MAGIC ? NULL : tw_section(program, title, &bytes);
    if (model == NULL)
        return TW_NO_PART;
    if (!tw_model_is_whole(model, bytes)) {
        say(parts, "the part names bytes outside of the program, or is no ONNX model: compile the model again", name);
        return TW_DAMAGED;
    }
    parts->names[parts->count] = name;
    if (!good(parts, parts->api->CreateSessionFromArray(parts->env, model, bytes, options, &parts->sessions[parts->count])))
        return TW_PART;
    parts->count++;
    return TW_OK;
}

static OrtSession *find_part(const tw_onnxruntime *parts, const char *name)
{
    uint32_t i;
    for (i = 0; i < parts->count; i++)
        if (strcmp(parts->names[i], name) == 0)
            return parts->sessions[i];
    return NULL;
}

/* Nothing is told to onnxruntime's vendor, and no identity of the device is made. The environment decides when onnxruntime
 * starts; the call is for one that has started already, and for other systems. */
static int start_silently(tw_onnxruntime *parts)
{
    if (setenv("ORT_DISABLE_TELEMETRY", "1", 1) != 0) {
        say(parts, "telemetry cannot be switched off", "onnxruntime");
        return 0;
    }
    return good(parts, parts->api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "tilewright", &parts->env))
        && good(parts, parts->api->DisableTelemetryEvents(parts->env));
}

tw_result tw_onnxruntime_open(tw_onnxruntime *parts, const OrtApi *api, const tw_program *program,
                              const OrtSessionOptions *options)
{
    OrtSessionOptions *mine = NULL;
    tw_result result = TW_OK;
    tw_step step;
    uint32_t i;
    if (parts == NULL || api == NULL || !tw_is_open(program))
        return TW_NULL_POINTER;
    memset(parts, 0, sizeof *parts);
    parts->api = api;
    if (!start_silently(parts)
        || !good(parts, api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &parts->memory))
        || !good(parts, api->GetAllocatorWithDefaultOptions(&parts->allocator))
        || (options == NULL && !default_options(parts, &mine)))
        result = TW_PART;
    for (i = 0; result == TW_OK && i < tw_word(program, TW_TABLE_STEPS); i++) {
        tw_get_step(program, i, &step);
        if (step.kind == (uint32_t)TW_STEP_CPU && step.conversions == 0u && find_part(parts, step.name) == NULL)
            result = load(parts, program, step.name, options != NULL ? options : mine);
    }
    if (mine != NULL)
        api->ReleaseSessionOptions(mine);
    return result;
}

static ONNXTensorElementDataType type_of(const tw_tensor *tensor)
{
    static const ONNXTensorElementDataType types[4][9] = {
        {0, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, 0, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
         0, 0, 0, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64},
        {0, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, 0,
         ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, 0, 0, 0, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64},
        {0, 0, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, 0, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 0, 0, 0,
         ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE},
        {0, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, 0, 0, 0, 0, 0, 0, 0},
    };
    return tensor->kind < 4u && tensor->element_bytes < 9u ? types[tensor->kind][tensor->element_bytes]
                                                            : ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

static uint32_t is_input(const tw_run *run, const tw_tensor *tensor)
{
    tw_tensor other;
    uint32_t i;
    for (i = 0; tw_input_at(&run->network->program, i, &other) == TW_OK; i++)
        if (other.number == tensor->number)
            return 1u;
    return 0u;
}

/* The caller's array of an input or output of the network that is no buffer. */
static tw_array array_of(const tw_run *run, const tw_tensor *tensor)
{
    const tw_program *program = &run->network->program;
    const tw_array none = {NULL, 0u};
    tw_tensor other;
    uint32_t i;
    for (i = 0; i < tw_input_count(program); i++)
        if (tw_input_at(program, i, &other) == TW_OK && other.number == tensor->number)
            return run->inputs[i];
    for (i = 0; i < tw_output_count(program); i++)
        if (tw_output_at(program, i, &other) == TW_OK && other.number == tensor->number)
            return run->outputs[i];
    return none;
}

/* The sizes that the part declares; those it leaves open are the tensor's. */
static int shape_of(tw_onnxruntime *parts, OrtSession *session, size_t place, const tw_program *program,
                    const tw_tensor *tensor, int64_t *sizes, size_t *count)
{
    OrtTypeInfo *info = NULL;
    const OrtTensorTypeAndShapeInfo *shape = NULL;
    const OrtApi *api = parts->api;
    size_t i;
    int fine = good(parts, api->SessionGetInputTypeInfo(session, place, &info))
        && good(parts, api->CastTypeInfoToTensorInfo(info, &shape)) && shape != NULL
        && good(parts, api->GetDimensionsCount(shape, count)) && *count <= (size_t)DIMENSIONS
        && good(parts, api->GetDimensions(shape, sizes, *count));
    for (i = 0; fine && i < *count; i++)
        if (sizes[i] < 0)
            sizes[i] = (int64_t)tw_size(program, tensor, (uint32_t)i);
    if (info != NULL)
        api->ReleaseTypeInfo(info);
    return fine;
}

static OrtValue *kept_value(const tw_onnxruntime *parts, const char *name)
{
    uint32_t i;
    for (i = 0; i < (uint32_t)TW_KEPT; i++)
        if (parts->kept[i].name != NULL && strcmp(parts->kept[i].name, name) == 0)
            return parts->kept[i].value;
    return NULL;
}

static void forget(tw_onnxruntime *parts, tw_kept *entry)
{
    parts->api->ReleaseValue(entry->value);
    (void)good(parts, parts->api->AllocatorFree(parts->allocator, entry->name));
    entry->name = NULL;
    entry->value = NULL;
}

/* Takes over name and value. */
static tw_result keep(tw_onnxruntime *parts, tw_kept *left)
{
    uint32_t i;
    for (i = 0; i < (uint32_t)TW_KEPT; i++)
        if (parts->kept[i].name != NULL && strcmp(parts->kept[i].name, left->name) == 0)
            forget(parts, &parts->kept[i]);
    for (i = 0; i < (uint32_t)TW_KEPT; i++)
        if (parts->kept[i].name == NULL) {
            parts->kept[i] = *left;
            left->name = NULL;
            left->value = NULL;
            return TW_OK;
        }
    return TW_TOO_SMALL;
}

/* An input of a part: its bytes are copied to `data`, which the caller frees, or are the caller's own. */
static tw_result feed(tw_onnxruntime *parts, OrtSession *session, size_t place, const tw_run *run, tw_kept *input, void **data)
{
    const tw_program *program = &run->network->program;
    int64_t sizes[DIMENSIONS];
    size_t count = 0u, bytes;
    tw_tensor tensor;
    tw_result result;
    void *from;
    if (!good(parts, parts->api->SessionGetInputName(session, place, parts->allocator, &input->name)))
        return TW_PART;
    if (tw_find(program, input->name, &tensor) != TW_OK)
        return TW_ARGUMENT;
    if (!shape_of(parts, session, place, program, &tensor, sizes, &count))
        return TW_PART;
    bytes = (size_t)tensor.elements * tensor.element_bytes;
    from = array_of(run, &tensor).data;
    if (tensor.region != TW_REGION_HOST) {
        from = *data = malloc(bytes > 0u ? bytes : 1u);
        if (from == NULL)
            return TW_TOO_SMALL;
        result = tw_read(run->network, run->set, &tensor, from, (uint32_t)bytes);
        if (result != TW_OK)
            return result;
    }
    if (from == NULL)
        return TW_NULL_POINTER;
    return good(parts, parts->api->CreateTensorWithDataAsOrtValue(parts->memory, from, bytes, sizes, count, type_of(&tensor),
                                                                  &input->value))
        ? TW_OK
        : TW_PART;
}

/* Whether a value is a tensor of as many elements of the type that the program says; where they are. */
static tw_result elements_of(tw_onnxruntime *parts, const tw_kept *output, const tw_tensor *tensor, void **data)
{
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    OrtTensorTypeAndShapeInfo *info = NULL;
    size_t elements = 0u;
    int is_tensor = 0, fine;
    if (!good(parts, parts->api->IsTensor(output->value, &is_tensor)))
        return TW_PART;
    fine = is_tensor != 0 && good(parts, parts->api->GetTensorTypeAndShape(output->value, &info))
        && good(parts, parts->api->GetTensorElementType(info, &type))
        && good(parts, parts->api->GetTensorShapeElementCount(info, &elements));
    if (info != NULL)
        parts->api->ReleaseTensorTypeAndShapeInfo(info);
    if (is_tensor != 0 && !fine)
        return TW_PART;
    if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED || type != type_of(tensor) || elements != tensor->elements) {
        say(parts, "a part delivers another type, or another number of elements, than the program says", output->name);
        return TW_DAMAGED;
    }
    return good(parts, parts->api->GetTensorMutableData(output->value, data)) ? TW_OK : TW_PART;
}

/* An output of a part: to DRAM, to the caller's array, or kept for another part. */
static tw_result deliver(tw_onnxruntime *parts, const tw_run *run, tw_kept *output)
{
    size_t bytes;
    tw_tensor tensor;
    tw_array array;
    tw_result result;
    void *data = NULL;
    if (tw_find(&run->network->program, output->name, &tensor) != TW_OK)
        return keep(parts, output);
    result = elements_of(parts, output, &tensor, &data);
    if (result != TW_OK)
        return result;
    bytes = (size_t)tensor.elements * tensor.element_bytes;
    if (tensor.region != TW_REGION_HOST)
        return tw_write(run->network, run->set, &tensor, data, (uint32_t)bytes);
    if (is_input(run, &tensor)) {
        say(parts, "a part writes an input of the network", output->name);
        return TW_DAMAGED;
    }
    array = array_of(run, &tensor);
    if (array.data == NULL)
        return TW_NULL_POINTER;
    if (array.bytes < bytes)
        return TW_TOO_SMALL;
    memcpy(array.data, data, bytes);
    return TW_OK;
}

tw_result tw_onnxruntime_part(void *context, tw_run *run, const char *name)
{
    tw_onnxruntime *parts = context;
    tw_kept inputs[TW_PART_TENSORS_MOST] = {{NULL, NULL}}, outputs[TW_PART_TENSORS_MOST] = {{NULL, NULL}};
    const char *input_names[TW_PART_TENSORS_MOST], *output_names[TW_PART_TENSORS_MOST];
    const OrtValue *given[TW_PART_TENSORS_MOST];
    OrtValue *made[TW_PART_TENSORS_MOST] = {NULL};
    void *data[TW_PART_TENSORS_MOST] = {NULL};
    size_t in = 0u, out = 0u, i;
    OrtSession *session;
    tw_result result = TW_OK;
    if (parts == NULL || run == NULL || name == NULL || parts->api == NULL)
        return TW_NULL_POINTER;
    session = find_part(parts, name);
    if (session == NULL)
        return TW_NO_PART;
    if (!good(parts, parts->api->SessionGetInputCount(session, &in))
        || !good(parts, parts->api->SessionGetOutputCount(session, &out)))
        return TW_PART;
    if (in > (size_t)TW_PART_TENSORS_MOST || out > (size_t)TW_PART_TENSORS_MOST)
        return TW_TOO_SMALL;
    for (i = 0; result == TW_OK && i < in; i++) {
        result = feed(parts, session, i, run, &inputs[i], &data[i]);
        given[i] = inputs[i].value;
        if (result == TW_ARGUMENT && (given[i] = kept_value(parts, inputs[i].name)) != NULL)
            result = TW_OK;
        input_names[i] = inputs[i].name;
    }
    for (i = 0; result == TW_OK && i < out; i++) {
        result = good(parts, parts->api->SessionGetOutputName(session, i, parts->allocator, &outputs[i].name)) ? TW_OK : TW_PART;
        output_names[i] = outputs[i].name;
    }
    if (result == TW_OK && !good(parts, parts->api->Run(session, NULL, input_names, given, in, output_names, out, made)))
        result = TW_PART;
    for (i = 0; i < out; i++) {
        outputs[i].value = made[i];
        if (result == TW_OK)
            result = deliver(parts, run, &outputs[i]);
    }
    for (i = 0; i < (size_t)TW_PART_TENSORS_MOST; i++) {
        free(data[i]);
        if (inputs[i].name != NULL)
            forget(parts, &inputs[i]);
        if (outputs[i].name != NULL)
            forget(parts, &outputs[i]);
    }
    return result;
}

void tw_onnxruntime_close(tw_onnxruntime *parts)
{
    uint32_t i;
    if (parts == NULL || parts->api == NULL)
        return;
    for (i = 0; i < (uint32_t)TW_KEPT; i++)
        if (parts->kept[i].name != NULL)
            forget(parts, &parts->kept[i]);
    for (i = 0; i < parts->count; i++)
        parts->api->ReleaseSession(parts->sessions[i]);
    if (parts->memory != NULL)
        parts->api->ReleaseMemoryInfo(parts->memory);
    if (parts->env != NULL)
        parts->api->ReleaseEnv(parts->env);
    memset(parts, 0, sizeof *parts);
}
