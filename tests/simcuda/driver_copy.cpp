// SPDX-License-Identifier: Apache-2.0
// Copies and fills. Rule: they move real bytes, at once or, when captured, at each launch of the graph; a
// range that leaves its allocation is CUDA_ERROR_INVALID_VALUE. The bytes move outside the driver's lock.
#include <cstring>

#include "driver_state.h"

namespace simcuda {
namespace {

void fill(const Transfer& transfer) {
    if (transfer.pattern == 0) {
        fill_zero(transfer.destination, transfer.bytes);
        return;
    }
    auto* const bytes = reinterpret_cast<unsigned char*>(transfer.destination);
    if (transfer.pattern_bytes == 1) {
        std::memset(bytes, static_cast<int>(transfer.pattern), transfer.bytes);
        return;
    }
    for (uint64_t at = 0; at < transfer.bytes; at += transfer.pattern_bytes) {
        std::memcpy(bytes + at, &transfer.pattern, transfer.pattern_bytes);
    }
}

bool is_own_device_memory(uint64_t address) {
    const std::lock_guard lock(driver().mutex);
    const MemoryRange* range = driver().memory.find(address);
    return range != nullptr && range->kind != MemoryKind::registered;
}

// Mapped ranges may follow each other without a gap, as in one reservation; unknown addresses are the host's.
bool fits(Driver& state, uint64_t address, uint64_t bytes) {
    const MemoryRange* range = state.memory.find(address);
    while (range != nullptr) {
        const uint64_t left_bytes = range->base + range->bytes - address;
        if (bytes <= left_bytes) return true;
        if (range->kind != MemoryKind::mapped) return false;
        address += left_bytes;
        bytes -= left_bytes;
        range = state.memory.find(address);
        if (range == nullptr) return false;
    }
    return true;
}

bool is_valid(Driver& state, const Transfer& transfer) {
    const bool is_copy = transfer.pattern_bytes == 0;
    if (transfer.destination == 0 || (is_copy && transfer.source == 0)) return false;
    if (!is_copy && state.memory.find(transfer.destination) == nullptr) return false;
    return fits(state, transfer.destination, transfer.bytes) &&
           (!is_copy || fits(state, transfer.source, transfer.bytes));
}

void perform_unlocked(const Transfer& transfer) {
    if (transfer.pattern_bytes != 0) {
        fill(transfer);
    } else if (is_own_device_memory(transfer.destination) && is_own_device_memory(transfer.source)) {
        copy_sparse(transfer.destination, transfer.source, transfer.bytes);
    } else {
        std::memmove(reinterpret_cast<void*>(transfer.destination), reinterpret_cast<void*>(transfer.source),
                     transfer.bytes);
    }
}

CUgraphNodeType node_type(const Transfer& transfer) {
    return transfer.pattern_bytes != 0 ? CU_GRAPH_NODE_TYPE_MEMSET : CU_GRAPH_NODE_TYPE_MEMCPY;
}

enum class Waiting {
    asynchronous,
    synchronous
};

CUresult transfer_on(CUstream stream, const Transfer& transfer, Waiting waiting) {
    if (transfer.bytes == 0) return CUDA_SUCCESS;
    CUgraphNode node = nullptr;
    const CUresult result = with_context([&](Driver& state, CUctx_st& context) {
        if (!is_valid(state, transfer)) return CUDA_ERROR_INVALID_VALUE;
        if (waiting == Waiting::synchronous) {
            const CUresult allowed = state.captures.check_unsafe_call();
            if (allowed != CUDA_SUCCESS) return allowed;
        }
        const CUresult queued =
            enqueue(state, context, stream, {.type = node_type(transfer), .transfer = transfer}, &node);
        if (queued == CUDA_SUCCESS && waiting == Waiting::synchronous) {
            state.stream_model.synchronise(state.stream_model.now(find_stream(state, context, stream)->id));
        }
        return queued;
    });
    if (result == CUDA_SUCCESS && node == nullptr) perform_unlocked(transfer);
    return result;
}

CUresult copy(CUstream stream, uint64_t destination, uint64_t source, size_t bytes, Waiting waiting) {
    return transfer_on(stream, {.destination = destination, .source = source, .bytes = bytes}, waiting);
}

CUresult set(CUstream stream, uint64_t destination, uint32_t pattern, uint32_t pattern_bytes, size_t count,
             Waiting waiting) {
    if (destination % pattern_bytes != 0) return CUDA_ERROR_INVALID_VALUE;
    return transfer_on(stream,
                       {.destination = destination,
                        .bytes = count * pattern_bytes,
                        .pattern = pattern,
                        .pattern_bytes = pattern_bytes},
                       waiting);
}

CUresult set_rows(CUstream stream, uint64_t destination, size_t pitch, uint32_t pattern,
                  uint32_t pattern_bytes, size_t width, size_t height, Waiting waiting) {
    CUresult result = CUDA_SUCCESS;
    for (size_t row = 0; row < height && result == CUDA_SUCCESS; ++row) {
        result = set(stream, destination + row * pitch, pattern, pattern_bytes, width, waiting);
    }
    return result;
}

CUresult copy_rows(CUstream stream, const CUDA_MEMCPY2D& rows, Waiting waiting) {
    if (rows.srcMemoryType == CU_MEMORYTYPE_ARRAY || rows.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    const bool from_host = rows.srcMemoryType == CU_MEMORYTYPE_HOST;
    const bool to_host = rows.dstMemoryType == CU_MEMORYTYPE_HOST;
    const uint64_t source = from_host ? reinterpret_cast<uint64_t>(rows.srcHost) : rows.srcDevice;
    const uint64_t destination = to_host ? reinterpret_cast<uint64_t>(rows.dstHost) : rows.dstDevice;
    CUresult result = CUDA_SUCCESS;
    for (size_t row = 0; row < rows.Height && result == CUDA_SUCCESS; ++row) {
        result =
            copy(stream, destination + (rows.dstY + row) * rows.dstPitch + rows.dstXInBytes,
                 source + (rows.srcY + row) * rows.srcPitch + rows.srcXInBytes, rows.WidthInBytes, waiting);
    }
    return result;
}

uint64_t address(const void* pointer) {
    return reinterpret_cast<uint64_t>(pointer);
}

}  // namespace

void perform(const Transfer& transfer) {
    if (transfer.pattern_bytes != 0) {
        fill(transfer);
    } else {
        copy_sparse(transfer.destination, transfer.source, transfer.bytes);
    }
}

}  // namespace simcuda

using namespace simcuda;

extern "C" {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy(nullptr, to, from, bytes, Waiting::synchronous);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy(stream, to, from, bytes, Waiting::asynchronous);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    return cuMemcpy(to, address(from), bytes);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    return cuMemcpy(address(to), from, bytes);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return cuMemcpy(to, from, bytes);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return cuMemcpyAsync(to, address(from), bytes, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return cuMemcpyAsync(address(to), from, bytes, stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return cuMemcpyAsync(to, from, bytes, stream);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
    return cuMemcpy(to, from, bytes);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes,
                           CUstream stream) {
    return cuMemcpyAsync(to, from, bytes, stream);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* rows) {
    return rows == nullptr ? CUDA_ERROR_INVALID_VALUE : copy_rows(nullptr, *rows, Waiting::synchronous);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* rows) {
    return cuMemcpy2D_v2(rows);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* rows, CUstream stream) {
    return rows == nullptr ? CUDA_ERROR_INVALID_VALUE : copy_rows(stream, *rows, Waiting::asynchronous);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    return set(nullptr, to, value, 1, count, Waiting::synchronous);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
    return set(nullptr, to, value, 2, count, Waiting::synchronous);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count) {
    return set(nullptr, to, value, 4, count, Waiting::synchronous);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    return set(stream, to, value, 1, count, Waiting::asynchronous);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
    return set(stream, to, value, 2, count, Waiting::asynchronous);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
    return set(stream, to, value, 4, count, Waiting::asynchronous);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
    return set_rows(nullptr, to, pitch, value, 1, width, height, Waiting::synchronous);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
    return set_rows(stream, to, pitch, value, 1, width, height, Waiting::asynchronous);
}

}  // extern "C"
