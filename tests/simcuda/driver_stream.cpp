// SPDX-License-Identifier: Apache-2.0
// Streams: their life, the work put on them, and waiting for it.
// Rule: a stream of another context is found too, as in CUDA; handles 0, 1 and 2 name the current context's
// default streams (CUDA driver API, "Stream synchronization behavior").
#include <algorithm>
#include <thread>

#include "driver_state.h"

namespace simcuda {
namespace {

CUstream add_stream(Driver& state, CUctx_st& context, unsigned flags, int priority, bool is_legacy) {
    auto stream = std::make_unique<CUstream_st>();
    stream->context = &context;
    stream->id = state.stream_model.add_stream(!is_legacy);
    stream->flags = flags;
    stream->priority = priority;
    stream->is_legacy = is_legacy;
    CUstream handle = stream.get();
    state.streams[handle] = std::move(stream);
    return handle;
}

void destroy_stream(Driver& state, CUstream stream) {
    if (stream->capture != nullptr) {
        stream->capture->is_invalid = true;
        stream->capture->streams.erase(stream);
    }
    state.stream_model.remove_stream(stream->id);
    state.streams.erase(stream);
}

bool is_blocking(const CUstream_st& stream) {
    return (stream.flags & CU_STREAM_NON_BLOCKING) == 0;
}

// Work on the legacy stream waits for all blocking streams of its context, and they wait for it.
void order_with_legacy(Driver& state, CUctx_st& context, const CUstream_st& stream) {
    if (stream.is_legacy) {
        for (const auto& [handle, other] : state.streams) {
            if (other->context != &context || other->is_legacy || !is_blocking(*other)) continue;
            state.stream_model.wait(stream.id, state.stream_model.now(other->id));
        }
    } else if (is_blocking(stream) && context.legacy_stream != nullptr) {
        state.stream_model.wait(stream.id, state.stream_model.now(context.legacy_stream->id));
    }
}

// A legacy-stream operation would have to wait for a blocking stream that captures.
bool conflicts_with_capture(const Driver& state, const CUctx_st& context, const CUstream_st& stream) {
    if (!stream.is_legacy || thread_capture_mode() == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    for (const auto& [handle, other] : state.streams) {
        if (other->context == &context && other->capture != nullptr && is_blocking(*other)) return true;
    }
    return false;
}

CUresult synchronise_stream(Driver& state, CUstream stream) {
    if (stream->capture != nullptr) {
        stream->capture->is_invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    const CUresult allowed = state.captures.check_unsafe_call();
    if (allowed != CUDA_SUCCESS) return allowed;
    state.stream_model.synchronise(state.stream_model.now(stream->id));
    state.pools.trim_to_thresholds(state);
    return CUDA_SUCCESS;
}

CUresult wait_event(Driver& state, CUctx_st& context, CUstream stream, const CUevent_st& event) {
    if (event.capture_id == 0) {
        if (stream->capture != nullptr) {
            stream->capture->is_invalid = true;
            return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
        }
        order_with_legacy(state, context, *stream);
        state.stream_model.wait(stream->id, event.position);
        return CUDA_SUCCESS;
    }
    Capture* capture = state.captures.find(event.capture_id);
    if (capture == nullptr) return CUDA_SUCCESS;  // that capture has ended: nothing to wait for
    if (stream->capture != nullptr && stream->capture != capture) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    stream->capture = capture;
    capture->streams.insert(stream);
    stream->capture_tail.insert(stream->capture_tail.end(), event.captured_nodes.begin(),
                                event.captured_nodes.end());
    return CUDA_SUCCESS;
}

template <typename Body>
CUresult with_stream(CUstream handle, Body body) {
    return with_context([&](Driver& state, CUctx_st& context) {
        CUstream stream = find_stream(state, context, handle);
        return stream == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(state, context, stream);
    });
}

}  // namespace

CUstream find_stream(Driver& state, CUctx_st& context, CUstream handle) {
    if (handle == nullptr || handle == CU_STREAM_LEGACY) {
        if (context.legacy_stream == nullptr) {
            context.legacy_stream = add_stream(state, context, CU_STREAM_DEFAULT, 0, true);
        }
        return context.legacy_stream;
    }
    if (handle == CU_STREAM_PER_THREAD) {
        CUstream& own = context.per_thread_streams[std::this_thread::get_id()];
        if (own == nullptr) own = add_stream(state, context, CU_STREAM_DEFAULT, 0, false);
        return own;
    }
    return state.streams.contains(handle) ? handle : nullptr;
}

void destroy_streams_of(Driver& state, CUcontext context) {
    for (auto entry = state.streams.begin(); entry != state.streams.end();) {
        CUstream stream = (entry++)->first;
        if (stream->context == context) destroy_stream(state, stream);
    }
    std::erase_if(state.events, [&](const auto& entry) { return entry.second->context == context; });
    context->legacy_stream = nullptr;
    context->per_thread_streams.clear();
}

void synchronise_context(Driver& state, CUcontext context) {
    for (const auto& [handle, stream] : state.streams) {
        if (stream->context == context) state.stream_model.synchronise(state.stream_model.now(stream->id));
    }
    state.pools.trim_to_thresholds(state);
}

CUresult enqueue(Driver& state, CUctx_st& context, CUstream handle, GraphNodeContent content,
                 CUgraphNode* node) {
    CUstream stream = find_stream(state, context, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture != nullptr) {
        if (stream->capture->is_invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        CUgraphNode added = GraphTable::add_node(stream->capture->graph, content, stream->capture_tail);
        stream->capture_tail = {added};
        if (node != nullptr) *node = added;
        return CUDA_SUCCESS;
    }
    if (conflicts_with_capture(state, context, *stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    order_with_legacy(state, context, *stream);
    state.stream_model.submit(stream->id);
    return CUDA_SUCCESS;
}

}  // namespace simcuda

using namespace simcuda;

extern "C" {

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
    if (stream == nullptr || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return with_context([&](Driver& state, CUctx_st& context) {
        *stream = add_stream(state, context, flags, std::min(0, std::max(priority, -5)), false);
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
    return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult cuStreamDestroy_v2(CUstream handle) {
    return with_driver([&](Driver& state) {
        if (!state.streams.contains(handle) || handle->is_legacy) return CUDA_ERROR_INVALID_HANDLE;
        destroy_stream(state, handle);
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamQuery(CUstream handle) {
    return with_stream(handle, [](Driver& state, CUctx_st&, CUstream stream) {
        if (stream->capture != nullptr) {
            stream->capture->is_invalid = true;
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
        const CUresult allowed = state.captures.check_unsafe_call();
        if (allowed != CUDA_SUCCESS) return allowed;
        return state.stream_model.is_done(state.stream_model.now(stream->id)) ? CUDA_SUCCESS
                                                                              : CUDA_ERROR_NOT_READY;
    });
}

CUresult cuStreamSynchronize(CUstream handle) {
    return with_stream(
        handle, [](Driver& state, CUctx_st&, CUstream stream) { return synchronise_stream(state, stream); });
}

CUresult cuCtxSynchronize() {
    return with_context([](Driver& state, CUctx_st& context) {
        const CUresult allowed = state.captures.check_unsafe_call();
        if (allowed == CUDA_SUCCESS) synchronise_context(state, &context);
        return allowed;
    });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int) {
    return with_stream(handle, [event](Driver& state, CUctx_st& context, CUstream stream) {
        if (!state.events.contains(event)) return CUDA_ERROR_INVALID_HANDLE;
        return wait_event(state, context, stream, *event);
    });
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
    if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_stream(handle, [&](Driver&, CUctx_st&, CUstream stream) {
        *priority = stream->priority;
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned int* flags) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_stream(handle, [&](Driver&, CUctx_st&, CUstream stream) {
        *flags = stream->flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_stream(handle, [&](Driver&, CUctx_st&, CUstream stream) {
        *id = stream->id;
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* owner) {
    if (owner == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_stream(handle, [&](Driver&, CUctx_st&, CUstream stream) {
        *owner = stream->context;
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_stream(handle, [&](Driver&, CUctx_st&, CUstream stream) {
        *device = stream->context->device;
        return CUDA_SUCCESS;
    });
}

// A host function runs at once on the calling thread: the work before it does nothing that takes time.
CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* user_data) {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNode node = nullptr;
    const CUresult result = with_context([&](Driver& state, CUctx_st& context) {
        const GraphNodeContent content{
            .type = CU_GRAPH_NODE_TYPE_HOST, .host_function = function, .user_data = user_data};
        return enqueue(state, context, handle, content, &node);
    });
    if (result == CUDA_SUCCESS && node == nullptr) function(user_data);
    return result;
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* user_data,
                             unsigned int flags) {
    if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = with_stream(handle, [&](Driver& state, CUctx_st& context, CUstream stream) {
        if (stream->capture == nullptr)
            return enqueue(state, context, handle, {.type = CU_GRAPH_NODE_TYPE_HOST});
        stream->capture->is_invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    });
    if (result == CUDA_SUCCESS) callback(handle, CUDA_SUCCESS, user_data);
    return result;
}

}  // extern "C"
