// SPDX-License-Identifier: Apache-2.0
//
// The frame around the views.
import { opened } from "../session";

export function Page() {
  return <main>{opened.value === null ? "nothing is open" : opened.value.outline.headline.cause}</main>;
}
