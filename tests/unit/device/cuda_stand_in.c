/* SPDX-License-Identifier: BSD-3-Clause
 * A stand-in for libcuda: the part of the driver API of cuda.h that the library uses. A context is
 * the number of its device plus one. */
#include "stand_in_memory.h"

typedef struct {
    size_t from_x, from_y;
    unsigned from_type;
    const void* from_host;
    uintptr_t from;
    void* from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    unsigned to_type;
    void* to_host;
    uintptr_t to;
    void* to_array;
    size_t to_pitch;
    size_t width, height;
} rows_copy;

enum {
    success = 0,
    invalid_value = 1,
    not_initialised = 3,
    invalid_device = 101,
    invalid_context = 201
};

static __thread intptr_t contexts[8]; /* this thread's stack of contexts */
static __thread int depth;

static intptr_t current(void) {
    return depth > 0 ? contexts[depth - 1] : 0;
}

/* Returns the number of contexts that the library has pushed and not popped, for tests. */
EXPORT int stand_in_depth(void) {
    return depth;
}

EXPORT int cuPointerGetAttributes(unsigned count, const int* names, void** data, uintptr_t at) {
    if (stand_in.uninitialised) return not_initialised;
    const struct stand_in_range* const range = range_of((void*)at);
    for (unsigned i = 0; i < count; ++i) {
        if (names[i] == 1)
            *(intptr_t*)data[i] = range != NULL && range->home >= 0 ? range->home + 1 : 0;
        else if (names[i] == 2)
            *(unsigned*)data[i] = range == NULL ? 0 : range->kind == of_host ? 1 : 2;
        else if (names[i] == 8)
            *(unsigned*)data[i] = range != NULL && range->kind == managed;
        else if (names[i] == 9)
            *(int*)data[i] = range == NULL ? -2 : range->home < 0 ? 0 : range->home;
        else
            return invalid_value;
    }
    return success;
}

EXPORT int cuCtxPushCurrent_v2(void* context) {
    if (context == NULL) return invalid_context;
    contexts[depth++] = (intptr_t)context;
    return success;
}

EXPORT int cuCtxPopCurrent_v2(void** context) {
    *context = (void*)contexts[--depth];
    return success;
}

EXPORT int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal < 0 ? invalid_device : success;
}

EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
    *context = (void*)(intptr_t)(device + 1);
    ++stand_in.retained;
    return success;
}

EXPORT int cuDevicePrimaryCtxRelease(int device) {
    (void)device;
    --stand_in.retained;
    return success;
}

EXPORT int cuStreamCreate(void** stream, unsigned flags) {
    if (current() == 0 || flags != 0) return invalid_context;
    *stream = malloc(1);
    ++stand_in.streams;
    return success;
}

EXPORT int cuStreamDestroy_v2(void* stream) {
    free(stream);
    --stand_in.streams;
    return success;
}

EXPORT int cuStreamSynchronize(void* stream) {
    return make_copies(stream) ? success : 700;
}

EXPORT int cuMemcpyAsync(uintptr_t to, uintptr_t from, size_t bytes, void* stream) {
    const struct stand_in_copy copy = {(char*)to, (const char*)from, bytes, bytes, bytes, 1,
                                       stream};
    if (current() == 0) return invalid_context;
    return add_copy(copy) ? success : invalid_value;
}

EXPORT int cuMemcpy2DAsync_v2(const rows_copy* rows, void* stream) {
    const struct stand_in_copy copy = {(char*)rows->to, (const char*)rows->from,
                                       rows->to_pitch,  rows->from_pitch,
                                       rows->width,     rows->height,
                                       stream};
    if (current() == 0) return invalid_context;
    if (rows->from_type != 4 || rows->to_type != 4) return invalid_value;
    if (rows->from_x + rows->from_y + rows->to_x + rows->to_y != 0) return invalid_value;
    return add_copy(copy) ? success : invalid_value;
}

EXPORT int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
    if (current() == 0 || memory == NULL || bytes == 0 || flags != 1) return invalid_value;
    ++stand_in.pins;
    return success;
}
