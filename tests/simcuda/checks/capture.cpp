// SPDX-License-Identifier: Apache-2.0
// Stream capture and graphs: nodes, modes, what a capture forbids, memory of graphs.
#include <thread>

#include "session_fixture.h"

namespace {

cudaStream_t side_stream() {
    cudaStream_t stream = nullptr;
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    return stream;
}

void work(cudaStream_t stream) {
    static const char kernel = 0;
    REQUIRE(cudaLaunchKernel(&kernel, dim3(1), dim3(1), nullptr, 0, stream) == cudaSuccess);
}

cudaStream_t begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    cudaStream_t stream = side_stream();
    REQUIRE(cudaStreamBeginCapture(stream, mode) == cudaSuccess);
    return stream;
}

cudaGraph_t end(cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    return graph;
}

size_t node_count(cudaGraph_t graph) {
    size_t count = 0;
    REQUIRE(cudaGraphGetNodes(graph, nullptr, &count) == cudaSuccess);
    return count;
}

cudaGraphExec_t instantiate(cudaGraph_t graph, unsigned long long flags = 0) {
    cudaGraphExec_t executable = nullptr;
    REQUIRE(cudaGraphInstantiate(&executable, graph, flags) == cudaSuccess);
    return executable;
}

void wait_for(cudaStream_t waiting, cudaStream_t other) {
    cudaEvent_t event = nullptr;
    REQUIRE(cudaEventCreate(&event) == cudaSuccess);
    REQUIRE(cudaEventRecord(event, other) == cudaSuccess);
    REQUIRE(cudaStreamWaitEvent(waiting, event, 0) == cudaSuccess);
}

void exchange(cudaStreamCaptureMode mode) {
    REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess);
}

}  // namespace

TEST_CASE("captured work becomes nodes in order and the stream says that it captures") {
    const FreshDevices fresh;
    cudaStream_t stream = begin();
    work(stream);
    work(stream);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    cudaGraph_t building = nullptr;
    const cudaGraphNode_t* tail = nullptr;
    size_t tail_count = 0;
    REQUIRE(cudaStreamGetCaptureInfo(stream, &status, &id, &building, &tail, nullptr, &tail_count) ==
            cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusActive);
    CHECK(id != 0);
    REQUIRE(tail_count == 1);
    size_t before = 0;
    REQUIRE(cudaGraphNodeGetDependencies(tail[0], nullptr, nullptr, &before) == cudaSuccess);
    CHECK(before == 1);
    cudaGraph_t graph = end(stream);
    CHECK(graph == building);
    CHECK(node_count(graph) == 2);
    REQUIRE(cudaStreamIsCapturing(stream, &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusNone);
    CHECK(cudaGraphDestroy(graph) == cudaSuccess);
    CHECK(cudaGraphDestroy(graph) == cudaErrorInvalidValue);
}

TEST_CASE("a captured copy moves bytes at each launch and not before") {
    const FreshDevices fresh;
    auto* const from = static_cast<unsigned char*>(allocate(1000));
    auto* const to = static_cast<unsigned char*>(allocate(1000));
    from[5] = 41;
    cudaStream_t stream = begin();
    REQUIRE(cudaMemcpyAsync(to, from, 1000, cudaMemcpyDeviceToDevice, stream) == cudaSuccess);
    cudaGraphExec_t executable = instantiate(end(stream));
    from[5] = 42;
    CHECK(to[5] == 0);
    REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
    CHECK(to[5] == 42);
}

TEST_CASE("a second stream joins through an event and must be joined back") {
    const FreshDevices fresh;
    cudaStream_t stream = begin();
    cudaStream_t side = side_stream();
    work(stream);
    wait_for(side, stream);
    work(side);
    SECTION("joined") {
        wait_for(stream, side);
        CHECK(node_count(end(stream)) == 2);
    }
    SECTION("not joined") {
        cudaGraph_t graph = nullptr;
        CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureUnjoined);
        CHECK(graph == nullptr);
    }
    SECTION("ended on the wrong stream") {
        cudaGraph_t graph = nullptr;
        CHECK(cudaStreamEndCapture(side, &graph) == cudaErrorStreamCaptureUnmatched);
        wait_for(stream, side);
        end(stream);
    }
}

TEST_CASE("cudaMalloc during a global capture is refused and spoils the capture") {
    const FreshDevices fresh;
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    cudaStream_t stream = begin();
    void* pointer = nullptr;
    CHECK(cudaMalloc(&pointer, 1) == cudaErrorStreamCaptureUnsupported);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    REQUIRE(cudaStreamIsCapturing(stream, &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusInvalidated);
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(cudaMalloc(&pointer, 1) == cudaSuccess);
}

TEST_CASE("a relaxed thread may allocate during a capture") {
    const FreshDevices fresh;
    cudaStream_t stream = begin();
    exchange(cudaStreamCaptureModeRelaxed);
    void* pointer = nullptr;
    CHECK(cudaMalloc(&pointer, 1) == cudaSuccess);
    exchange(cudaStreamCaptureModeGlobal);
    end(stream);
}

TEST_CASE("a thread-local capture forbids its own thread only, a global one every thread") {
    const FreshDevices fresh;
    const auto allocate_elsewhere = [] {
        cudaError_t result = cudaErrorUnknown;
        std::thread([&] {
            void* pointer = nullptr;
            result = cudaMalloc(&pointer, 1);
        }).join();
        return result;
    };
    cudaStream_t local = begin(cudaStreamCaptureModeThreadLocal);
    CHECK(allocate_elsewhere() == cudaSuccess);
    end(local);
    cudaStream_t global = begin(cudaStreamCaptureModeGlobal);
    CHECK(allocate_elsewhere() == cudaErrorStreamCaptureUnsupported);
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamEndCapture(global, &graph) == cudaErrorStreamCaptureInvalidated);
}

TEST_CASE("a capture ends on the thread that began it") {
    const FreshDevices fresh;
    cudaStream_t stream = begin();
    cudaError_t result = cudaSuccess;
    std::thread([&] {
        cudaGraph_t graph = nullptr;
        result = cudaStreamEndCapture(stream, &graph);
    }).join();
    CHECK(result == cudaErrorStreamCaptureWrongThread);
    end(stream);
}

TEST_CASE("captured events may not be asked, the legacy stream may not capture") {
    const FreshDevices fresh;
    CHECK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
    cudaStream_t stream = begin(cudaStreamCaptureModeRelaxed);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaErrorIllegalState);
    cudaEvent_t event = nullptr;
    REQUIRE(cudaEventCreate(&event) == cudaSuccess);
    REQUIRE(cudaEventRecord(event, stream) == cudaSuccess);
    CHECK(cudaEventQuery(event) == cudaErrorCapturedEvent);
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
}

TEST_CASE("waiting in a capture for work outside it is isolation") {
    const FreshDevices fresh;
    cudaEvent_t outside = nullptr;
    REQUIRE(cudaEventCreate(&outside) == cudaSuccess);
    REQUIRE(cudaEventRecord(outside, side_stream()) == cudaSuccess);
    cudaStream_t stream = begin();
    CHECK(cudaStreamWaitEvent(stream, outside, 0) == cudaErrorStreamCaptureIsolation);
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
}

TEST_CASE(
    "a captured allocation takes memory at launch, keeps it for the next one, and gives it back when "
    "trimmed") {
    const FreshDevices fresh;
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    cudaStream_t stream = begin();
    void* pointer = nullptr;
    REQUIRE(cudaMallocAsync(&pointer, 10 * kMiB, stream) == cudaSuccess);
    work(stream);
    REQUIRE(cudaFreeAsync(pointer, stream) == cudaSuccess);
    cudaGraph_t graph = end(stream);
    CHECK(node_count(graph) == 3);
    cudaGraphExec_t executable = instantiate(graph);
    CHECK(free_bytes(0) == kFreeWithContextBytes);
    REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
    REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 10 * kMiB);
    uint64_t reserved = 0;
    REQUIRE(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved) == cudaSuccess);
    CHECK(reserved == 10 * kMiB);
    REQUIRE(cudaDeviceGraphMemTrim(0) == cudaSuccess);
    CHECK(free_bytes(0) == kFreeWithContextBytes);
    CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
    CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}

TEST_CASE("an allocation the graph does not free can be launched again only when freed") {
    const FreshDevices fresh;
    cudaStream_t stream = begin();
    void* pointer = nullptr;
    REQUIRE(cudaMallocAsync(&pointer, 4 * kMiB, stream) == cudaSuccess);
    cudaGraph_t graph = end(stream);
    cudaGraphExec_t executable = instantiate(graph);
    CHECK(cudaFree(pointer) == cudaErrorInvalidValue);
    REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
    CHECK(cudaGraphLaunch(executable, stream) == cudaErrorInvalidValue);
    REQUIRE(cudaFreeAsync(pointer, stream) == cudaSuccess);
    CHECK(cudaFreeAsync(pointer, stream) == cudaErrorInvalidValue);
    REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
    REQUIRE(cudaGraphExecDestroy(executable) == cudaSuccess);
    REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
    CHECK(free_bytes(0) == kFreeWithContextBytes - 4 * kMiB);
    CHECK(cudaFree(pointer) == cudaSuccess);
    CHECK(free_bytes(0) == kFreeWithContextBytes);
}

TEST_CASE("a graph larger than the card fails at launch") {
    const FreshDevices fresh;
    cudaStream_t stream = begin();
    void* pointer = nullptr;
    REQUIRE(cudaMallocAsync(&pointer, 2 * kTotalBytes, stream) == cudaSuccess);
    REQUIRE(cudaFreeAsync(pointer, stream) == cudaSuccess);
    cudaGraph_t graph = end(stream);
    cudaGraphExec_t executable = instantiate(graph);
    CHECK(cudaGraphLaunch(executable, stream) == cudaErrorMemoryAllocation);
    CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
    CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}

TEST_CASE("a user object dies with the last graph that retains it") {
    const FreshDevices fresh;
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    int destroyed = 0;
    cudaUserObject_t object = nullptr;
    REQUIRE(cudaUserObjectCreate(
                &object, &destroyed, [](void* flag) { ++*static_cast<int*>(flag); }, 1,
                cudaUserObjectNoDestructorSync) == cudaSuccess);
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
    REQUIRE(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove) == cudaSuccess);
    cudaGraphExec_t executable = instantiate(graph);
    REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
    CHECK(destroyed == 0);
    REQUIRE(cudaGraphExecDestroy(executable) == cudaSuccess);
    CHECK(destroyed == 1);
}
