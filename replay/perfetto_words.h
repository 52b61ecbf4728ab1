// SPDX-License-Identifier: Apache-2.0
//
// The words of a trace for Perfetto that are not in the vocabularies of a receipt. The rule: a text of a
// trace is one of these, one of those, or a token.
#pragma once

#include <string_view>

namespace memsnap {

inline constexpr std::string_view kPerfettoFormat = "memsnap.perfetto.v1";
inline constexpr std::string_view kRealtimeWord = "realtime";
inline constexpr std::string_view kTicketWord = "ticket";
inline constexpr std::string_view kJobWord = "job";
inline constexpr std::string_view kStepWord = "step";
inline constexpr std::string_view kCollectionWord = "garbage collection";
inline constexpr std::string_view kFailureWord = "out of memory";
inline constexpr std::string_view kNearMissWord = "near miss";

inline constexpr std::string_view kPerfettoWords[] = {kPerfettoFormat,
                                                      kRealtimeWord,
                                                      kTicketWord,
                                                      kJobWord,
                                                      kStepWord,
                                                      kCollectionWord,
                                                      kFailureWord,
                                                      kNearMissWord,
                                                      "ns",
                                                      "B",
                                                      "C",
                                                      "E",
                                                      "M",
                                                      "i",
                                                      "p",
                                                      "none",
                                                      "process_name",
                                                      "process_sort_index",
                                                      "thread_name"};

}  // namespace memsnap
