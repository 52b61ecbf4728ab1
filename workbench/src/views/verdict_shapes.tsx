// SPDX-License-Identifier: Apache-2.0
//
// Nothing failed: the shape of each lane. The rule: a shape is what a lane did, never a cause.
import type { Incident } from "../data/incident";
import type { Count } from "../data/receipt";
import { grouped, sizeText } from "../parts/units";
import { kShapes } from "../parts/words";
import { Bytes, Head, Scroll } from "./common";

interface LaneShape {
  shape: string;
  first_bytes: Count | null;
  last_bytes: Count | null;
  max_bytes: Count | null;
  point_count: Count;
}

interface DeviceShapes {
  device: number;
  total_bytes: Count | null;
  boundaries: string;
  active: LaneShape;
  reserved: LaneShape;
  outside: LaneShape;
}

export function Shapes({ incident }: { incident: Incident }) {
  const list = (incident.receipt.evidence.shapes ?? []) as unknown as DeviceShapes[];
  if (list.length === 0) return <p class="card">No device memory was reported.</p>;
  return (
    <section class="card stack" aria-labelledby="shapes">
      <h2 id="shapes">What each lane did</h2>
      {list.map((one) => (
        <Scroll label="shapes">
          <table>
            <caption>
              cuda:{one.device}
              {one.total_bytes === null ? ", size not known" : ` of ${sizeText(one.total_bytes)}`}
            </caption>
            <Head columns={["lane", "shape", "#peak", "#first", "#last", "#points"]} />
            <tbody>
              {(["active", "reserved", "outside"] as const).map((lane) => (
                <tr>
                  <th scope="row">{lane}</th>
                  <td>{kShapes[one[lane].shape] ?? one[lane].shape}</td>
                  <td class="number">
                    <Bytes bytes={one[lane].max_bytes} />
                  </td>
                  <td class="number">
                    <Bytes bytes={one[lane].first_bytes} />
                  </td>
                  <td class="number">
                    <Bytes bytes={one[lane].last_bytes} />
                  </td>
                  <td class="number">{grouped(one[lane].point_count)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      ))}
      <p class="small quiet">A shape is what a lane did, not a cause.</p>
    </section>
  );
}
