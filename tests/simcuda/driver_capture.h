// SPDX-License-Identifier: Apache-2.0
// Stream capture: work on a capturing stream becomes nodes of a graph.
// Rule: calls that a capture cannot see are refused and invalidate it, by the modes of
// cuThreadExchangeStreamCaptureMode (CUDA driver API, "Stream Management").
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <thread>

namespace simcuda {

struct Capture {
    uint64_t id = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUstream origin = nullptr;
    CUgraph graph = nullptr;
    bool owns_graph = true;  // false: capturing into a graph of the program's
    bool is_invalid = false;
    std::thread::id owner;
    std::set<CUstream> streams;
};

class CaptureTable {
  public:
    Capture& begin(CUstream origin, CUgraph graph, CUstreamCaptureMode mode);
    void end(Capture& capture);
    Capture* find(uint64_t id);
    bool is_any_active() const { return !captures_.empty(); }

    // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the captures that forbid the call become invalid, when the
    // calling thread may not make a call that no capture can see.
    CUresult check_unsafe_call();

  private:
    std::map<uint64_t, std::unique_ptr<Capture>> captures_;
    uint64_t next_id_ = 1;
};

CUstreamCaptureMode& thread_capture_mode();

}  // namespace simcuda
