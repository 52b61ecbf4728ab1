// SPDX-License-Identifier: Apache-2.0
// Rule: see launcher_options.h; one table says what each setting does, for options and variables alike.
#include "launcher_options.h"

#include <cstdlib>
#include <functional>
#include <map>

#include "shared_state.h"

namespace simcuda {
namespace {

// Sets its part of the settings; returns a reason when it cannot.
using Setting = std::function<std::string(SessionSettings&, const std::string&)>;

template <typename T>
std::string assign(const Parsed<T>& parsed, T& target) {
    if (!parsed) return parsed.error();
    target = *parsed;
    return {};
}

std::string set_devices(SessionSettings& settings, const std::string& text) {
    uint64_t count = 0;
    const std::string reason = assign(parse_bytes(text), count);
    if (!reason.empty() || count < 1 || count > kMaxDevices)
        return "'" + text + "' is not a number from 1 to 16";
    settings.device_count = static_cast<int>(count);
    return {};
}

const std::map<std::string, Setting>& settings_by_name() {
    using Text = const std::string&;
    static const std::map<std::string, Setting> table = {
        {"total", [](SessionSettings& to, Text text) { return assign(parse_bytes(text), to.total_bytes); }},
        {"context",
         [](SessionSettings& to, Text text) { return assign(parse_bytes(text), to.context_bytes); }},
        {"external",
         [](SessionSettings& to, Text text) { return assign(parse_external(text), to.external); }},
        {"refuse", [](SessionSettings& to, Text text) { return assign(parse_refusals(text), to.refusals); }},
        {"devices", set_devices},
    };
    return table;
}

std::string variable_name(std::string name) {
    for (char& letter : name)
        letter = static_cast<char>(letter - 'a' + 'A');
    return "SIMCUDA_" + name;
}

std::string apply_variables(SessionSettings& settings) {
    for (const auto& [name, set] : settings_by_name()) {
        const char* value = std::getenv(variable_name(name).c_str());
        const std::string reason = value == nullptr ? "" : set(settings, value);
        if (!reason.empty()) return variable_name(name) + ": " + reason;
    }
    return {};
}

}  // namespace

Parsed<LauncherOptions> parse_launcher_options(int count, char** arguments) {
    LauncherOptions options;
    const std::string reason = apply_variables(options.settings);
    if (!reason.empty()) return std::unexpected(reason);
    int index = 1;
    for (; index < count && std::string(arguments[index]) != "--"; index += 2) {
        const std::string option = arguments[index];
        const auto found =
            option.starts_with("--") ? settings_by_name().find(option.substr(2)) : settings_by_name().end();
        if (found == settings_by_name().end()) return std::unexpected("unknown option " + option);
        if (index + 1 == count) return std::unexpected(option + " needs a value");
        const std::string wrong = found->second(options.settings, arguments[index + 1]);
        if (!wrong.empty()) return std::unexpected(option + ": " + wrong);
        options.names_settings = true;
    }
    for (++index; index < count; ++index)
        options.command.push_back(arguments[index]);
    if (options.command.empty()) return std::unexpected("no command after --");
    options.command.push_back(nullptr);
    return options;
}

}  // namespace simcuda
