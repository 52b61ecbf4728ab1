// SPDX-License-Identifier: Apache-2.0
//
// Each event goes to those who count it.
#include "trail.h"

namespace memsnap {

TrailWatch::TrailWatch(const Capture& capture, const Window& window, const Ledger& begin,
                       const Matched& marked, const Event& failure)
    : device_(failure.device),
      failure_ticket_(failure.ticket),
      site_growth_(window, begin, marked, device_),
      dimensions_(step_tickets(capture.boundaries, device_, marked.family, window.events.begin_ticket(),
                               failure.ticket)) {}

void TrailWatch::take(const Event& event, const Ledger& ledger, const Change& change) {
    site_growth_.take(event, ledger);
    dimensions_.advance(event.ticket);
    const bool report = is_report(event) && event.device == device_;
    if (report && event.has(kTotals)) dimensions_.take_report(event.allocated_bytes);
    if (report && event.kind == Kind::block_alloc && event.ticket < failure_ticket_) recent_.take(event);
    if (change.collected && change.freed->device == device_) collections_.take_freed(*change.freed);
    if (change.collection_ended) collections_.take_end();
    if (event.kind == Kind::step) collections_.take_step(event);
    if (event.kind == Kind::note) dimensions_.take_note(event);
}

Trail TrailWatch::trail(const Ledger& ledger) {
    return {recent_.births(ledger), site_growth_.growth(), collections_.collections(), dimensions_.effects()};
}

}  // namespace memsnap
