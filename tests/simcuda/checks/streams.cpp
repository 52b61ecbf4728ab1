// SPDX-License-Identifier: Apache-2.0
// Streams and events, with and without pending work.
#include <thread>

#include "session_fixture.h"

namespace {

cudaStream_t side_stream(unsigned flags = cudaStreamNonBlocking) {
    cudaStream_t stream = nullptr;
    REQUIRE(cudaStreamCreateWithFlags(&stream, flags) == cudaSuccess);
    return stream;
}

cudaEvent_t event() {
    cudaEvent_t created = nullptr;
    REQUIRE(cudaEventCreateWithFlags(&created, cudaEventDisableTiming) == cudaSuccess);
    return created;
}

void work(cudaStream_t stream) {
    static const char kernel = 0;
    REQUIRE(cudaLaunchKernel(&kernel, dim3(1), dim3(1), nullptr, 0, stream) == cudaSuccess);
}

cudaEvent_t recorded(cudaStream_t stream) {
    cudaEvent_t created = event();
    REQUIRE(cudaEventRecord(created, stream) == cudaSuccess);
    return created;
}

struct Pending {
    Pending() { REQUIRE(simcuda_set_pending_events(1) == 0); }
    ~Pending() { simcuda_set_pending_events(0); }
};

}  // namespace

TEST_CASE("without pending events everything is done at once") {
    const FreshDevices fresh;
    cudaStream_t stream = side_stream();
    work(stream);
    CHECK(cudaEventQuery(recorded(stream)) == cudaSuccess);
    CHECK(cudaStreamQuery(stream) == cudaSuccess);
}

TEST_CASE("an event after work on a side stream is not ready until that stream is synchronised") {
    const FreshDevices fresh;
    const Pending pending;
    cudaStream_t stream = side_stream();
    CHECK(cudaEventQuery(recorded(stream)) == cudaSuccess);
    work(stream);
    cudaEvent_t after = recorded(stream);
    CHECK(cudaEventQuery(after) == cudaErrorNotReady);
    CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
    CHECK(cudaEventQuery(event()) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(cudaEventQuery(after) == cudaSuccess);
    CHECK(cudaStreamQuery(stream) == cudaSuccess);
}

TEST_CASE("synchronising with an event finishes the work before it and not the work after it") {
    const FreshDevices fresh;
    const Pending pending;
    cudaStream_t stream = side_stream();
    work(stream);
    cudaEvent_t first = recorded(stream);
    work(stream);
    cudaEvent_t second = recorded(stream);
    REQUIRE(cudaEventSynchronize(first) == cudaSuccess);
    CHECK(cudaEventQuery(first) == cudaSuccess);
    CHECK(cudaEventQuery(second) == cudaErrorNotReady);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaEventQuery(second) == cudaSuccess);
}

TEST_CASE("synchronising with a stream finishes what it waited for on other streams") {
    const FreshDevices fresh;
    const Pending pending;
    cudaStream_t producer = side_stream();
    cudaStream_t consumer = side_stream();
    work(producer);
    cudaEvent_t produced = recorded(producer);
    REQUIRE(cudaStreamWaitEvent(consumer, produced, 0) == cudaSuccess);
    CHECK(cudaEventQuery(produced) == cudaErrorNotReady);
    REQUIRE(cudaStreamSynchronize(consumer) == cudaSuccess);
    CHECK(cudaEventQuery(produced) == cudaSuccess);
}

TEST_CASE("the default stream is ready at once, except for what it waits for") {
    const FreshDevices fresh;
    const Pending pending;
    work(nullptr);
    CHECK(cudaEventQuery(recorded(nullptr)) == cudaSuccess);
    cudaStream_t stream = side_stream();
    work(stream);
    cudaEvent_t side = recorded(stream);
    REQUIRE(cudaStreamWaitEvent(nullptr, side, 0) == cudaSuccess);
    work(nullptr);
    cudaEvent_t after = recorded(nullptr);
    CHECK(cudaEventQuery(after) == cudaErrorNotReady);
    REQUIRE(cudaEventSynchronize(side) == cudaSuccess);
    CHECK(cudaEventQuery(after) == cudaSuccess);
}

TEST_CASE("the default stream waits for blocking streams and not for others") {
    const FreshDevices fresh;
    const Pending pending;
    cudaStream_t non_blocking = side_stream();
    work(non_blocking);
    work(nullptr);
    CHECK(cudaEventQuery(recorded(nullptr)) == cudaSuccess);
    cudaStream_t blocking = side_stream(cudaStreamDefault);
    work(blocking);
    work(nullptr);
    CHECK(cudaEventQuery(recorded(nullptr)) == cudaErrorNotReady);
}

TEST_CASE("a destroyed stream leaves its events ready and its handle invalid") {
    const FreshDevices fresh;
    const Pending pending;
    cudaStream_t stream = side_stream();
    work(stream);
    cudaEvent_t after = recorded(stream);
    REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
    CHECK(cudaEventQuery(after) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
    REQUIRE(cudaEventDestroy(after) == cudaSuccess);
    CHECK(cudaEventQuery(after) == cudaErrorInvalidResourceHandle);
}

TEST_CASE("freeing device memory waits for the device") {
    const FreshDevices fresh;
    const Pending pending;
    void* const pointer = allocate(kMiB);
    cudaStream_t stream = side_stream();
    work(stream);
    cudaEvent_t after = recorded(stream);
    REQUIRE(cudaFree(pointer) == cudaSuccess);
    CHECK(cudaEventQuery(after) == cudaSuccess);
}

TEST_CASE("elapsed time needs two timed events that were recorded") {
    const FreshDevices fresh;
    float milliseconds = -1;
    cudaEvent_t start = nullptr;
    cudaEvent_t end = nullptr;
    REQUIRE(cudaEventCreate(&start) == cudaSuccess);
    REQUIRE(cudaEventCreate(&end) == cudaSuccess);
    CHECK(cudaEventElapsedTime(&milliseconds, start, end) == cudaErrorInvalidResourceHandle);
    REQUIRE(cudaEventRecord(start, nullptr) == cudaSuccess);
    REQUIRE(cudaEventRecord(end, nullptr) == cudaSuccess);
    CHECK(cudaEventElapsedTime(&milliseconds, start, end) == cudaSuccess);
    CHECK(milliseconds >= 0);
    CHECK(cudaEventElapsedTime(&milliseconds, recorded(nullptr), end) == cudaErrorInvalidResourceHandle);
}

TEST_CASE("each thread has its own per-thread default stream") {
    const FreshDevices fresh;
    const Pending pending;
    work(cudaStreamPerThread);
    CHECK(cudaStreamQuery(cudaStreamPerThread) == cudaErrorNotReady);
    cudaError_t elsewhere = cudaErrorUnknown;
    std::thread([&] { elsewhere = cudaStreamQuery(cudaStreamPerThread); }).join();
    CHECK(elsewhere == cudaSuccess);
}

TEST_CASE("a host function runs, and in a capture only at each launch") {
    const FreshDevices fresh;
    int calls = 0;
    const auto count = [](void* counter) { ++*static_cast<int*>(counter); };
    cudaStream_t stream = side_stream();
    REQUIRE(cudaLaunchHostFunc(stream, count, &calls) == cudaSuccess);
    CHECK(calls == 1);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    REQUIRE(cudaLaunchHostFunc(stream, count, &calls) == cudaSuccess);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    CHECK(calls == 1);
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
    REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
    CHECK(calls == 3);
}
