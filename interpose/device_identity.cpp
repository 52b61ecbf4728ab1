// SPDX-License-Identifier: Apache-2.0
#include "device_identity.h"

#include "device.h"

namespace memsnap::recorder {
namespace {

constexpr int kSuccess = 0;
constexpr uint32_t kUuid_bytes = 16;

void add_uuid(Text<48>& text, const unsigned char (&uuid)[kUuid_bytes]) {
    static const char kDigits[] = "0123456789abcdef";
    for (uint32_t i = 0; i < kUuid_bytes; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text.add('-');
        text.add(kDigits[uuid[i] >> 4]);
        text.add(kDigits[uuid[i] & 15]);
    }
}

// The second form knows the instances of divided cards.
bool ask_uuid(int handle, unsigned char (&uuid)[kUuid_bytes]) {
    auto* ask = question<int(unsigned char*, int)>(Question::cuDeviceGetUuid_v2);
    if (ask == nullptr) ask = question<int(unsigned char*, int)>(Question::cuDeviceGetUuid);
    return ask != nullptr && ask(uuid, handle) == kSuccess;
}

}  // namespace

DeviceIdentity identify_device(int device) {
    DeviceIdentity identity;
    auto* ask_handle = question<int(int*, int)>(Question::cuDeviceGet);
    auto* ask_bus_id = question<int(char*, int, int)>(Question::cuDeviceGetPCIBusId);
    int handle = 0;
    if (ask_handle == nullptr || ask_handle(&handle, device) != kSuccess) return identity;
    unsigned char uuid[kUuid_bytes] = {};
    if (ask_uuid(handle, uuid)) add_uuid(identity.uuid, uuid);
    char bus_id[32] = {};
    if (ask_bus_id != nullptr && ask_bus_id(bus_id, sizeof bus_id, handle) == kSuccess)
        identity.bus_id.add(bus_id);
    return identity;
}

}  // namespace memsnap::recorder
