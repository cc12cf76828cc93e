/* SPDX-License-Identifier: BSD-3-Clause
 * A stand-in for libamdhip64: the part of the HIP runtime of hip_runtime_api.h that the library
 * uses. */
#include "stand_in_memory.h"

struct attributes {
    int type;
    int device;
    void* device_pointer;
    void* host_pointer;
    int is_managed;
    unsigned flags;
};

enum { success = 0, invalid_value = 1 };

static __thread int current;
static __thread int last_error;

static int said(int code) {
    if (code != success) last_error = code;
    return code;
}

EXPORT int hipRuntimeGetVersion(int* version) {
    *version = stand_in.version != 0 ? stand_in.version : 60342131;
    return said(success);
}

EXPORT int hipPointerGetAttributes(struct attributes* found, const void* at) {
    const struct stand_in_range* const range = range_of(at);
    const int before_6 = stand_in.version != 0 && stand_in.version < 60000000;
    if (range == NULL) return said(invalid_value);
    memset(found, 0, sizeof *found);
    found->type = range->kind == of_host ? 1 : range->kind == managed ? 3 : 2;
    if (before_6) found->type = range->kind == of_host ? 0 : range->kind == managed ? 4 : 1;
    found->device = range->home;
    found->is_managed = range->kind == managed;
    return said(success);
}

EXPORT int hipPeekAtLastError(void) {
    return last_error;
}

EXPORT int hipGetLastError(void) {
    const int error = last_error;
    last_error = success;
    return error;
}

EXPORT int hipGetDevice(int* device) {
    *device = current;
    return said(success);
}

EXPORT int hipSetDevice(int device) {
    current = device;
    return said(success);
}

EXPORT int hipStreamCreate(void** stream) {
    int* const made = malloc(sizeof *made);
    *made = current;
    *stream = made;
    ++stand_in.streams;
    return said(success);
}

EXPORT int hipStreamDestroy(void* stream) {
    free(stream);
    --stand_in.streams;
    return said(success);
}

EXPORT int hipStreamSynchronize(void* stream) {
    return said(make_copies(stream) ? success : 719);
}

/* Queues a copy. As in HIP, a stream works only while its device is the current one. */
EXPORT int hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream) {
    const struct stand_in_copy copy = {to, from, bytes, bytes, bytes, 1, stream};
    if (kind != 4 || *(int*)stream != current) return said(invalid_value);
    return said(add_copy(copy) ? success : invalid_value);
}

EXPORT int hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                            size_t width, size_t height, int kind, void* stream) {
    const struct stand_in_copy copy = {to, from, to_pitch, from_pitch, width, height, stream};
    if (kind != 4 || *(int*)stream != current) return said(invalid_value);
    return said(add_copy(copy) ? success : invalid_value);
}

EXPORT int hipHostRegister(void* memory, size_t bytes, unsigned flags) {
    if (memory == NULL || bytes == 0 || flags != 1) return said(invalid_value);
    ++stand_in.pins;
    return said(success);
}
