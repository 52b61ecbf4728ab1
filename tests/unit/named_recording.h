// SPDX-License-Identifier: Apache-2.0
//
// A recording from text with a sidecar beside it.
#pragma once

#include <optional>

#include "receipt_fixture.h"
#include "sidecar_fixture.h"

namespace memsnap::test {

// The encoder's ring has the id that SidecarWriter's has, and says that a sidecar lies beside it.
struct NamedRecording {
    Recording recording;
    SidecarWriter sidecar;
    Names names;
    std::optional<SiteNames> sites;

    NamedRecording(std::string_view events, void (*write)(SidecarWriter&))
        : recording("memsnap-events 1\nheader sidecar=1\n" + std::string(events)) {
        std::ranges::copy(recording.capture->header.ring_id, sidecar.header.ring_id);
        write(sidecar);
        write_sidecar(sidecar, recording.path());
        names = read_names(*recording.capture);
        if (!names.problem.empty()) FAIL(names.problem);
        sites.emplace(names);
    }
    Naming naming(std::optional<TokenKey> key = {}, bool with_names = false) {
        return {&*sites, key, with_names};
    }
    std::string receipt(std::optional<TokenKey> key = {}, bool with_names = false) {
        const auto text = write_receipt(*recording.capture, recording.analysis, naming(key, with_names));
        if (!text) FAIL(text.error().detail);
        return *text;
    }
};

// Site 7 is a model's forward called by main, site 8 is main.
inline void two_functions(SidecarWriter& sidecar) {
    add_function(sidecar, 1, 10, "/home/someone/model.py", "Net.forward");
    add_function(sidecar, 2, 40, "/home/someone/train.py", "main");
    sidecar.stack(7, {frame_at(1, 2), frame_at(2, 1)});
    sidecar.stack(8, {frame_at(2, 3)});
}

// A list that grows by 10 MiB a step.
inline std::string retaining() {
    std::string job = "segment s1 900MiB\nmem_info total=1GiB free=100MiB\n";
    for (int step = 0; step < 20; ++step) {
        job += "alloc k" + std::to_string(step) + " s1+" + std::to_string(step * 40) + "MiB 10MiB site=7\n";
        job += "alloc t s1+" + std::to_string(step * 40 + 20) + "MiB 5MiB site=8\nfree t\nstep\n";
    }
    return job + "failing 800MiB total=1GiB free=100MiB\n";
}

}  // namespace memsnap::test
