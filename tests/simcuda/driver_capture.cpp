// SPDX-License-Identifier: Apache-2.0
// Which captures are under way, and entry points that begin, end and describe them. Rule: see
// driver_capture.h.
#include "driver_capture.h"

#include <algorithm>

#include "driver_state.h"

namespace simcuda {

Capture& CaptureTable::begin(CUstream origin, CUgraph graph, CUstreamCaptureMode mode) {
    auto capture = std::make_unique<Capture>();
    capture->id = next_id_++;
    capture->mode = mode;
    capture->origin = origin;
    capture->graph = graph;
    capture->owner = std::this_thread::get_id();
    capture->streams.insert(origin);
    return *(captures_[capture->id] = std::move(capture));
}

void CaptureTable::end(Capture& capture) {
    captures_.erase(capture.id);
}

Capture* CaptureTable::find(uint64_t id) {
    const auto found = captures_.find(id);
    return found == captures_.end() ? nullptr : found->second.get();
}

CUresult CaptureTable::check_unsafe_call() {
    const CUstreamCaptureMode thread_mode = thread_capture_mode();
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
    CUresult result = CUDA_SUCCESS;
    for (const auto& [id, capture] : captures_) {
        const bool is_own = capture->owner == std::this_thread::get_id();
        const bool forbids = is_own ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                                    : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                          thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!forbids) continue;
        capture->is_invalid = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

CUstreamCaptureMode& thread_capture_mode() {
    thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return mode;
}

}  // namespace simcuda

using namespace simcuda;

namespace {

CUresult begin_capture(Driver& state, CUctx_st& context, CUstream handle, CUgraph graph,
                       CUstreamCaptureMode mode, std::vector<CUgraphNode> tail) {
    CUstream stream = find_stream(state, context, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    const bool owns_graph = graph == nullptr;
    Capture& capture = state.captures.begin(stream, owns_graph ? state.graphs.create() : graph, mode);
    capture.owns_graph = owns_graph;
    stream->capture = &capture;
    stream->capture_tail = std::move(tail);
    return CUDA_SUCCESS;
}

// Every stream that joined must have been waited for by the origin: its last nodes must lie before the
// origin's.
bool is_joined(const Capture& capture) {
    std::set<CUgraphNode> before;
    std::vector<CUgraphNode> open = capture.origin->capture_tail;
    while (!open.empty()) {
        CUgraphNode node = open.back();
        open.pop_back();
        if (before.insert(node).second)
            open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
    }
    return std::ranges::all_of(capture.streams, [&](CUstream stream) {
        return std::ranges::all_of(stream->capture_tail,
                                   [&](CUgraphNode node) { return before.contains(node); });
    });
}

CUresult end_capture(Driver& state, CUctx_st& context, CUstream handle, CUgraph* graph,
                     std::vector<HostCall>& calls) {
    CUstream stream = find_stream(state, context, handle);
    *graph = nullptr;
    if (stream == nullptr || stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    Capture& capture = *stream->capture;
    if (capture.origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture.owner != std::this_thread::get_id()) {
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    CUresult result = capture.is_invalid    ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                      : !is_joined(capture) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                                            : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS) *graph = capture.graph;
    if (result != CUDA_SUCCESS && capture.owns_graph) state.graphs.destroy(state, capture.graph, calls);
    for (CUstream joined : capture.streams) {
        joined->capture = nullptr;
        joined->capture_tail.clear();
    }
    state.captures.end(capture);
    return result;
}

CUstreamCaptureStatus status_of(const CUstream_st& stream) {
    if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream.capture->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

template <typename Body>
CUresult with_stream(CUstream handle, Body body) {
    return with_context([&](Driver& state, CUctx_st& context) {
        CUstream stream = find_stream(state, context, handle);
        return stream == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*stream);
    });
}

}  // namespace

extern "C" {

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    return with_context([&](Driver& state, CUctx_st& context) {
        return begin_capture(state, context, stream, nullptr, mode, {});
    });
}

CUresult cuStreamBeginCapture(CUstream stream) {
    return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData*, size_t count, CUstreamCaptureMode mode) {
    return with_context([&](Driver& state, CUctx_st& context) {
        if (!state.graphs.graphs.contains(graph)) return CUDA_ERROR_INVALID_VALUE;
        return begin_capture(state, context, stream, graph, mode, {dependencies, dependencies + count});
    });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<HostCall> calls;
    const CUresult result = with_context(
        [&](Driver& state, CUctx_st& context) { return end_capture(state, context, stream, graph, calls); });
    for (const HostCall& call : calls)
        call.function(call.user_data);
    return result;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_stream(stream, [&](CUstream_st& asked) {
        *status = status_of(asked);
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, size_t* count) {
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_stream(stream, [&](CUstream_st& asked) {
        *status = status_of(asked);
        if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
        if (id != nullptr) *id = asked.capture->id;
        if (graph != nullptr) *graph = asked.capture->graph;
        if (dependencies != nullptr) *dependencies = asked.capture_tail.data();
        if (edges != nullptr) *edges = nullptr;
        if (count != nullptr) *count = asked.capture_tail.size();
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies, size_t* count) {
    return cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, nullptr, count);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
    return cuStreamGetCaptureInfo_v3(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* dependencies,
                                              const CUgraphEdgeData*, size_t count, unsigned int flags) {
    return with_stream(stream, [&](CUstream_st& asked) {
        if (asked.capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
        if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) asked.capture_tail.clear();
        asked.capture_tail.insert(asked.capture_tail.end(), dependencies, dependencies + count);
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, size_t count,
                                           unsigned int flags) {
    return cuStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    if (mode == nullptr || static_cast<unsigned>(*mode) > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, thread_capture_mode());
    return CUDA_SUCCESS;
}

}  // extern "C"
