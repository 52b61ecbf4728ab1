// SPDX-License-Identifier: Apache-2.0
#include "neighbours.h"

#include <unistd.h>

#include "proc_files.h"

namespace memsnap::recorder {
namespace {

constexpr uint64_t kFirstPidNamespace = 0xeffffffc;  // the inode of the machine's own

bool is_of_our_job(const wire::Header& header, uint32_t pid) {
    pid_t session = getsid(static_cast<pid_t>(pid));
    if (session > 0 && static_cast<uint32_t>(session) == header.session_id) return true;
    if (header.job_key_source != wire::JobKey::launcher) return false;
    Job job = read_job_of(pid);
    return job.source == wire::JobKey::launcher && job.key == header.job_key;
}

// Answers by process number and start time: an environment is read once a process.
struct Answer {
    uint32_t pid;
    bool of_our_job;
    uint64_t start_ticks;  // 0: unused
};
Answer g_answers[64];

bool shares_our_job(const wire::Header& header, uint32_t pid) {
    if (pid == kThisProcess) return false;  // a number that the driver withholds
    uint64_t start_ticks = process_start_ticks(pid);
    if (start_ticks == 0) return false;
    Answer& answer = g_answers[pid % (sizeof g_answers / sizeof g_answers[0])];
    if (answer.pid != pid || answer.start_ticks != start_ticks) {
        answer = Answer{pid, is_of_our_job(header, pid), start_ticks};
    }
    return answer.of_our_job;
}

// Ourselves among the holders, or null. In a pid namespace of our own the number may be that of a stranger
// outside, who then holds less than we do; and a holder of nothing is no answer.
const Holder* find_ourselves(const wire::Header& header, const Holders& holders, uint64_t reserved_bytes) {
    for (const Holder& holder : holders) {
        if (!is_this_process(holder.pid)) continue;
        bool of_the_machine = header.pid_namespace == kFirstPidNamespace;
        bool believable =
            holder.bytes != 0 && (of_the_machine || (reserved_bytes != 0 && holder.bytes >= reserved_bytes));
        return !holder.told || believable ? &holder : nullptr;
    }
    return nullptr;
}

Event make_neighbour(const wire::Header& header, const Holder& holder) {
    Event event;
    event.kind = wire::Kind::neighbour;
    event.address = holder.pid;
    event.link = holder.bytes;
    if (!holder.told) event.flags = wire::kFlagUnavailable;
    event.code = shares_our_job(header, holder.pid) ? 1 : 0;
    return event;
}

// The largest holders but ourselves, by repeated selection: there are few.
void add_largest(const wire::Header& header, const Holders& holders, const Holder* ourselves,
                 ProcessEvents& events) {
    const Holder* chosen[kNeighboursAtMost];
    uint32_t count = 0;
    for (const Holder& holder : holders) {
        if (&holder == ourselves) continue;
        uint32_t place = count;
        while (place > 0 && chosen[place - 1]->bytes < holder.bytes) {
            --place;
        }
        if (place == kNeighboursAtMost) continue;
        if (count < kNeighboursAtMost) ++count;
        for (uint32_t i = count - 1; i > place; --i) {
            chosen[i] = chosen[i - 1];
        }
        chosen[place] = &holder;
    }
    for (uint32_t i = 0; i < count; ++i) {
        events.neighbours[i] = make_neighbour(header, *chosen[i]);
    }
    events.neighbour_count = count;
}

}  // namespace

void describe_no_processes(ProcessEvents& events) {
    events.neighbour_count = 0;
    events.sample = Event{};
    events.sample.kind = wire::Kind::process_sample;
    events.sample.flags = wire::kFlagUnavailable;
}

void describe_processes(const wire::Header& header, const Holders& holders, uint64_t reserved_bytes,
                        ProcessEvents& events) {
    describe_no_processes(events);
    const Holder* ourselves = find_ourselves(header, holders, reserved_bytes);
    if (ourselves == nullptr) return;
    add_largest(header, holders, ourselves, events);
    Event& sample = events.sample;
    bool all_told = true;
    for (const Holder& holder : holders) {
        (&holder == ourselves ? sample.size : sample.link) += holder.bytes;
        all_told = all_told && holder.told;
    }
    sample.code = static_cast<uint16_t>(holders.count() - 1);
    if (all_told) sample.flags = 0;
    if (!all_told) sample.size = sample.link = 0;
}

}  // namespace memsnap::recorder
