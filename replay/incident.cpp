// SPDX-License-Identifier: Apache-2.0
//
// One pass over the events that collects failures and what followed them. State is kept a thread and a
// library, never an event.
#include "incident.h"

#include <algorithm>
#include <limits>
#include <map>

#include "window_builder.h"

namespace memsnap {
namespace {

constexpr uint16_t kOutOfMemory = 2;  // cudaErrorMemoryAllocation and CUDA_ERROR_OUT_OF_MEMORY

bool refused_device_memory(const Event& event) {
    return event.kind == Kind::fail && event.code == kOutOfMemory && !event.has(kNested) &&
           serves_device_memory(event);
}

class Collector {
  public:
    explicit Collector(const Capture& capture) : capture_(capture) {}

    Failures run() {
        take_outside_window();
        capture_.window.events.for_each([this](const Event& event) {
            take(event);
            return true;
        });
        for (auto& [number, thread] : threads_)
            settle(thread);
        drop_probes();
        follow_boundaries();
        link_chains();
        std::ranges::stable_sort(failures_.near_misses, {}, &NearMiss::ticket);
        return std::move(failures_);
    }

  private:
    struct ThreadState {
        uint64_t failed_calls_count = 0;
        uint64_t request_bytes = 0;  // of the first failed call
        uint64_t ticket = 0;
        Op op = Op::none;
        std::optional<Event>
            unsettled;  // the last refused call, where only what follows tells whether it was retried
        uint64_t least_open_bytes = std::numeric_limits<uint64_t>::max();
        std::vector<size_t> open;  // failures that no equally large success followed yet
    };

    // Failures that only a keyframe still knows: the window begins after them, so the job went on; or no ring
    // was kept when they happened.
    void take_outside_window() {
        for (const KeyframeFacts& facts : capture_.keyframes) {
            const uint64_t ticket = facts.failure.ticket;
            if (capture_.window.events.covers(ticket)) continue;
            Failure failure = make(facts.failure);
            failure.in_window = false;
            failure.keyframe_slot = facts.slot;
            if (capture_.window.events.began_after(ticket)) {
                failure.followed = true;
                failure.scope_end_ticket = capture_.window.events.begin_ticket();
            }
            failures_.listed.push_back(failure);
        }
    }

    Failure make(const Event& event) const {
        Failure failure;
        failure.event = event;
        failure.in_window = true;
        if (event.kind == Kind::block_oom) return failure;
        failure.allocator =
            event.has(kFromTorch) ? FailedAllocator::pytorch_uncached : FailedAllocator::foreign;
        return failure;
    }

    void take(const Event& event) {
        switch (event.kind) {
            case Kind::block_alloc:
                take_success(event);
                break;
            case Kind::block_oom:
                threads_[event.thread].failed_calls_count = 0;
                open(event);
                break;
            case Kind::fail:
                if (refused_device_memory(event)) take_refusal(event);
                break;
            case Kind::ok:
                if (event.has(kCapturing)) break;  // a graph node is no memory yet
                if (!event.has(kFromTorch) && !event.has(kNested) && serves_device_memory(event)) {
                    library_success_[event.library] = event.ticket;
                } else if (event.has(kFromTorch) && uncached() && role(event.op) == OpRole::allocates) {
                    take_uncached_success(event);
                }
                break;
            case Kind::mem_info:
                take_question(event);
                break;
            case Kind::none:
            case Kind::block_free:
            case Kind::birth:
            case Kind::try_call:
            case Kind::free:
            case Kind::free_fail:
            case Kind::blind:
            case Kind::operation:
            case Kind::device_sample:
            case Kind::process_sample:
            case Kind::neighbour:
            case Kind::phase_begin:
            case Kind::phase_end:
            case Kind::mark:
            case Kind::step:
            case Kind::note:
            case Kind::category:
            case Kind::cap:
            case Kind::tap_alloc:
            case Kind::tap_free_requested:
            case Kind::tap_free_completed:
            case Kind::tap_segment_alloc:
            case Kind::tap_segment_free:
            case Kind::tap_segment_map:
            case Kind::tap_segment_unmap:
            case Kind::tap_oom:
            case Kind::keyframe:
            case Kind::cupti_memory:
            case Kind::initial:
            case Kind::initial_segment:
                break;
        }
    }

    void open(const Event& event) {
        Failure failure = make(event);
        const auto keyframe =
            std::ranges::find(capture_.keyframes, event.ticket,
                              [](const KeyframeFacts& facts) { return facts.failure.ticket; });
        if (keyframe != capture_.keyframes.end()) failure.keyframe_slot = keyframe->slot;
        // Another library's failure is no failure of the thread: drop_probes() judges it by the library.
        if (failure.allocator != FailedAllocator::foreign) {
            ThreadState& thread = threads_[event.thread];
            thread.open.push_back(failures_.listed.size());
            thread.least_open_bytes = std::min(thread.least_open_bytes, event.size_bytes);
        }
        failures_.listed.push_back(failure);
    }

    // Where PyTorch reports neither blocks nor failures: without its cache, and with the driver's pools in
    // its place.
    bool uncached() const {
        const AllocatorConfig& config = capture_.header.config;
        return config.caching_disabled || config.backend_async;
    }

    // PyTorch's own refused call is a failure only where nothing retries it; its OOM report is one anyway.
    // From the driver's pools it asks again after it has trimmed them (older versions do not), and both ways
    // lead to an exception that asks how much is free.
    void take_refusal(const Event& event) {
        if (!event.has(kFromTorch) || capture_.header.config.caching_disabled) {
            open(event);
            return;
        }
        ThreadState& thread = threads_[event.thread];
        if (capture_.header.config.backend_async) {
            if (thread.unsettled && thread.unsettled->size_bytes != event.size_bytes) settle(thread);
            thread.unsettled = event;
        }
        if (thread.failed_calls_count++ > 0) return;
        thread.request_bytes = event.size_bytes;
        thread.ticket = event.ticket;
        thread.op = event.op;
    }

    void settle(ThreadState& thread) {
        if (!thread.unsettled) return;
        open(*thread.unsettled);
        thread.unsettled.reset();
        thread.failed_calls_count = 0;
    }

    void take_question(const Event& event) {
        const auto found = threads_.find(event.thread);
        if (found != threads_.end()) settle(found->second);
    }

    void take_uncached_success(const Event& event) {
        const auto found = threads_.find(event.thread);
        if (found == threads_.end()) return;
        if (found->second.unsettled && found->second.unsettled->size_bytes != event.size_bytes)
            settle(found->second);
        found->second.unsettled.reset();
        take_success(event);
    }

    void take_success(const Event& event) {
        const auto found = threads_.find(event.thread);
        if (found == threads_.end()) return;
        ThreadState& thread = found->second;
        if (thread.failed_calls_count > 0) {
            failures_.near_misses.push_back({NearMiss::Kind::recovered, thread.ticket, event.device,
                                             thread.request_bytes, thread.failed_calls_count, thread.op});
            thread.failed_calls_count = 0;
        }
        close_followed(event);
    }

    void close_followed(const Event& event) {
        ThreadState& thread = threads_[event.thread];
        if (event.size_bytes < thread.least_open_bytes) return;
        thread.least_open_bytes = std::numeric_limits<uint64_t>::max();
        std::erase_if(thread.open, [&](size_t index) {
            Failure& failure = failures_.listed[index];
            const bool followed =
                failure.event.device == event.device && failure.event.size_bytes <= event.size_bytes;
            if (followed) {
                failure.followed = true;
                failure.scope_end_ticket = event.ticket;
            } else {
                thread.least_open_bytes = std::min(thread.least_open_bytes, failure.event.size_bytes);
            }
            return followed;
        });
    }

    // A library that was refused and later served, or a process that ended well, only tried.
    void drop_probes() {
        const bool ended_well = ended_with_status_0();
        std::erase_if(failures_.listed, [&](const Failure& failure) {
            if (failure.allocator != FailedAllocator::foreign) return false;
            const auto success = library_success_.find(failure.event.library);
            const bool served_later =
                success != library_success_.end() && success->second > failure.event.ticket;
            if (!ended_well && !served_later) return false;
            failures_.near_misses.push_back({NearMiss::Kind::probe, failure.event.ticket,
                                             failure.event.device, failure.event.size_bytes, 1,
                                             failure.event.op});
            return true;
        });
    }

    bool ended_with_status_0() const {
        return capture_.header.exit_ticket && capture_.header.exit_status == 0;
    }

    // Only a range opened after the failure counts: the exception that it raised closes the open ones. A
    // process that ended well has got over every failure, whatever it did next.
    void follow_boundaries() {
        for (Failure& failure : failures_.listed) {
            if (ended_with_status_0()) failure.followed = true;
            const uint64_t failed = failure.event.ticket;
            for (const Boundary& boundary : capture_.boundaries) {
                const bool later = boundary.opened_ticket != kNoTicket && boundary.opened_ticket > failed;
                if (!later) continue;
                failure.followed = true;
                failure.scope_end_ticket = std::min(failure.scope_end_ticket, boundary.ticket);
                break;
            }
        }
    }

    void link_chains() {
        std::ranges::stable_sort(failures_.listed, {}, [](const Failure& f) { return f.event.ticket; });
        std::map<int, size_t> last_of_device;
        for (size_t index = 0; index < failures_.listed.size(); ++index) {
            Failure& failure = failures_.listed[index];
            failure.chain = index;
            const bool chains = failure.allocator != FailedAllocator::foreign;
            if (!chains) continue;
            const auto before = last_of_device.find(failure.event.device);
            if (before != last_of_device.end()) {
                const Failure& previous = failures_.listed[before->second];
                if (previous.scope_end_ticket > failure.event.ticket) failure.chain = previous.chain;
            }
            last_of_device[failure.event.device] = index;
        }
        // The first of a chain stands for it: the job got over it only when it got over all of it.
        for (const Failure& failure : failures_.listed) {
            if (!failure.followed) failures_.listed[failure.chain].followed = false;
        }
    }

    const Capture& capture_;
    Failures failures_;
    std::map<uint16_t, ThreadState> threads_;       // only threads that saw a refusal
    std::map<uint16_t, uint64_t> library_success_;  // last ticket
};

}  // namespace

namespace {

bool placed(const Failure& failure) {
    return failure.event.device >= 0 && failure.event.device < kDeviceCapacity;
}

}  // namespace

const Failure* Failures::first_placed() const {
    const auto found = std::ranges::find_if(listed, placed);
    return found == listed.end() ? nullptr : &*found;
}

std::optional<size_t> Failures::incident(std::optional<int> device, std::optional<uint64_t> ticket) const {
    const auto eligible = [&](const Failure& failure) {
        return placed(failure) && (!device || failure.event.device == *device) &&
               (!ticket || failure.event.ticket == *ticket);
    };
    std::optional<size_t> last_fatal;
    std::optional<size_t> first;
    for (size_t index = 0; index < listed.size(); ++index) {
        if (!eligible(listed[index])) continue;
        if (!first) first = index;
        if (!listed[index].followed) last_fatal = index;
    }
    if (ticket || !last_fatal) return first;
    // The first of its chain; later ones are consequences.
    return listed[*last_fatal].chain;
}

Failures find_failures(const Capture& capture) {
    return Collector(capture).run();
}

}  // namespace memsnap
