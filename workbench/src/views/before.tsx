// SPDX-License-Identifier: Apache-2.0
//
// What a view says of memory from before the recording that it cannot show. The rule: never drawn, and never counted to a site.
import { sizeText } from "../parts/units";
import { unseen } from "./map_scene";

export function Unseen({ where }: { where: string }) {
  const bytes = unseen.value;
  if (bytes === 0) return null;
  return (
    <p class="small notice">
      {bytes === null ? (
        `Not in ${where}: what was there before the recording. How much is not known at this instant, the allocator has not reported yet.`
      ) : (
        <>
          Not in {where}: <strong>{sizeText(bytes)}</strong> from before the recording. The allocator reports them, and no block that was seen has
          them: neither place nor site is known.
        </>
      )}
    </p>
  );
}
