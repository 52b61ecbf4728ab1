// SPDX-License-Identifier: Apache-2.0
#include "operation.h"

namespace memsnap::recorder {

void Operation::describe(Event& event) const {
    event.kind = wire::Kind::operation;
    event.address = first_failed_bytes_;
    event.size = last_attempt_bytes_;
    event.link = first_failed_ticket_;
    event.op = first_failed_op_;
    event.code = first_failed_code_;
    event.set_extra(last_mem_info_, failed_count_);
}

}  // namespace memsnap::recorder
