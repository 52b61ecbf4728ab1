// SPDX-License-Identifier: Apache-2.0
#include "marks_nvtx.h"

#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

namespace {

using Words = std::vector<std::string>;

// Any thread ends the range that any thread started last.
std::mutex g_started_lock;
std::vector<nvtxRangeId_t> g_started;

void start(const std::string& name) {
    nvtxRangeId_t range = nvtxRangeStartA(name.c_str());
    std::lock_guard guard(g_started_lock);
    g_started.push_back(range);
}

void stop() {
    std::unique_lock lock(g_started_lock);
    if (g_started.empty()) return;
    nvtxRangeId_t range = g_started.back();
    g_started.pop_back();
    lock.unlock();
    nvtxRangeEnd(range);
}

std::wstring wide(const std::string& word) {
    return {word.begin(), word.end()};
}

// The name with its underscores as spaces, so that a command can hold it.
std::string spaced(std::string word) {
    for (char& c : word) {
        if (c == '_') c = ' ';
    }
    return word;
}

nvtxDomainHandle_t domain(const std::string& name) {
    static std::map<std::string, nvtxDomainHandle_t> domains;
    auto found = domains.find(name);
    if (found == domains.end()) found = domains.emplace(name, nvtxDomainCreateA(name.c_str())).first;
    return found->second;
}

nvtxEventAttributes_t attributes(int type) {
    nvtxEventAttributes_t event = {};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = type;
    return event;
}

void push_registered(nvtxDomainHandle_t where, const std::string& name) {
    std::string given = name;
    auto event = attributes(NVTX_MESSAGE_TYPE_REGISTERED);
    event.message.registered = nvtxDomainRegisterStringA(where, given.c_str());
    given.assign(given.size(), 'x');  // a registered text need not last
    nvtxDomainRangePushEx(where, &event);
}

// Another library with a copy of NVTX of its own.
int call_plugin(const char* function, const char* name) {
    void* plugin = dlopen(std::getenv("NVTX_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<int (*)(const char*)>(dlsym(plugin, function))(name);
}

// Different names, with digits spelled in letters so that they do not fold.
std::string numbered(const std::string& name, int i) {
    std::string result = name;
    for (; i != 0; i /= 10) {
        result += static_cast<char>('a' + i % 10);
    }
    return result;
}

}  // namespace

bool marks_nvtx(const Words& words) {
    const std::string& command = words[0];
    std::string name = words.size() > 1 ? words[1] : "";
    std::string second = words.size() > 2 ? words[2] : "";
    if (command == "push") {
        nvtxRangePushA(spaced(name).c_str());
    } else if (command == "pop") {
        nvtxRangePop();
    } else if (command == "print_push") {
        std::printf("%d\n", nvtxRangePushA(name.c_str()));
    } else if (command == "push_wide") {
        nvtxRangePushW((wide(name) + L"\u00e9\u20ac\U0001f40d").c_str());
    } else if (command == "push_ascii_ex") {
        auto event = attributes(NVTX_MESSAGE_TYPE_ASCII);
        event.message.ascii = name.c_str();
        nvtxRangePushEx(&event);
    } else if (command == "push_wide_ex") {
        std::wstring text = wide(name);
        auto event = attributes(NVTX_MESSAGE_TYPE_UNICODE);
        event.message.unicode = text.c_str();
        nvtxRangePushEx(&event);
    } else if (command == "push_registered") {
        push_registered(nullptr, name);
    } else if (command == "domain_push") {
        auto event = attributes(NVTX_MESSAGE_TYPE_ASCII);
        event.message.ascii = second.c_str();
        nvtxDomainRangePushEx(domain(name), &event);
    } else if (command == "domain_push_registered") {
        push_registered(domain(name), second);
    } else if (command == "domain_pop") {
        nvtxDomainRangePop(domain(name));
    } else if (command == "start") {
        start(name);
    } else if (command == "stop") {
        stop();
    } else if (command == "nvtx_mark") {
        nvtxMarkA(name.c_str());
    } else if (command == "push_many") {
        for (int i = 0; i < std::atoi(second.c_str()); ++i) {
            nvtxRangePushA(numbered(name, i).c_str());
            nvtxRangePop();
        }
    } else if (command == "plugin_push") {
        call_plugin("plugin_push", name.c_str());
    } else if (command == "plugin_pop") {
        call_plugin("plugin_pop", "");
    } else {
        return false;
    }
    return true;
}
