// SPDX-License-Identifier: Apache-2.0
//
// What was live at the instant, by the stacks that allocated it: the graph, the table of sites, and what was allocated last.
import { useSignal } from "@preact/signals";
import { holdsNames } from "../data/names";
import { pathOf, type FlameNode } from "../history/flame";
import { changeText, counted, shareText, sizeText } from "../parts/units";
import { instant, reference, session } from "../session";
import { Unseen } from "./before";
import { Legend } from "./common";
import { failureRow, goToFailure, instantText, landmarkText } from "./instant";
import { Recent } from "./events_recent";
import { FlameCanvas, kCodeNames, kCodeTexts, open } from "./flame_canvas";
import { boxes, chooseNode, depth, differs, hiddenHit_bytes, hits, inverted, ownOnly, top, tree, wanted, zoomTo } from "./flame_state";
import { scene, unseen } from "./map_scene";
import { PeakButton } from "./instant_buttons";
import { SitesTable } from "./sites";
import "./flame.css";

function noBoxText(hidden_bytes: number): string {
  return hidden_bytes === 0 ? "no box has it" : `no box of your code has it; ${sizeText(hidden_bytes)} in the frames that are left out`;
}

function Toggle({ text, on, press }: { text: string; on: boolean; press: () => void }) {
  return (
    <button type="button" class="small" aria-pressed={on} onClick={press}>
      {text}
    </button>
  );
}

function Controls() {
  const found = hits.value;
  return (
    <div class="row flame-controls">
      <div class="row" role="group" aria-label="instant of the graph">
        <PeakButton text="at the peak" />
        {failureRow() !== null && (
          <button type="button" class="small" onClick={goToFailure}>
            at the failure
          </button>
        )}
        <Toggle
          text={reference.value === null ? "difference from here on" : `difference to ${instantText(reference.value)}`}
          on={reference.value !== null}
          press={() => {
            reference.value = reference.value === null ? instant.value : null;
          }}
        />
      </div>
      <div class="row" role="group" aria-label="form of the graph">
        <Toggle
          text="allocation first"
          on={inverted.value}
          press={() => {
            inverted.value = !inverted.value;
            zoomTo(null);
            chooseNode(null);
          }}
        />
        <Toggle
          text="your code only"
          on={ownOnly.value}
          press={() => {
            ownOnly.value = !ownOnly.value;
            zoomTo(null);
            chooseNode(null);
          }}
        />
      </div>
      <label class="row small">
        search{" "}
        <input
          id="flame-search"
          type="search"
          value={wanted.value}
          onInput={(event) => {
            wanted.value = event.currentTarget.value;
          }}
        />
      </label>
      {wanted.value.trim() !== "" && (
        <span class="small" role="status">
          {found.nodes.size === 0
            ? noBoxText(hiddenHit_bytes.value)
            : `${counted(found.nodes.size, "box").replace("boxs", "boxes")}, ${sizeText(found.bytes)}`}
        </span>
      )}
    </div>
  );
}

const kCrumbs_count = 5; // the last ones; before them stands how many more there are

function Crumbs() {
  if (top.value === null) return null;
  const path = pathOf(top.value);
  const shown = path.length <= kCrumbs_count + 1 ? path.slice(1) : path.slice(-kCrumbs_count);
  const left_out = path.length - 1 - shown.length;
  const go = (node: FlameNode) => {
    zoomTo(node);
    chooseNode(node);
  };
  return (
    <nav aria-label="boxes above" class="small">
      <ol class="row crumbs">
        <li>
          <button type="button" class="plain" onClick={() => go(path[0])}>
            all live blocks
          </button>
        </li>
        {left_out > 0 && <li class="quiet">{counted(left_out, "frame")}</li>}
        {shown.map((node, at) => (
          <li>
            {at === shown.length - 1 ? (
              <strong class="wrap" aria-current="location">
                {node.label}
              </strong>
            ) : (
              <button type="button" class="plain wrap" onClick={() => go(node)}>
                {node.label}
              </button>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

const kListed_count = 200;
const kListedLeast = 0.005; // of all bytes

function listed(root: FlameNode): FlameNode[] {
  const nodes: FlameNode[] = [];
  const visit = (node: FlameNode) => {
    if (nodes.length >= kListed_count || node.width_bytes < root.width_bytes * kListedLeast) return;
    nodes.push(node);
    node.children.forEach(visit);
  };
  visit(root);
  return nodes;
}

function AsText() {
  const shown = useSignal(false);
  const root = tree.value;
  if (root === null) return null;
  return (
    <details
      onToggle={(event) => {
        shown.value = (event.currentTarget as HTMLDetailsElement).open;
      }}
    >
      <summary class="small">The same as a table: boxes of 0.5 % and more</summary>
      {shown.value && (
        <div class="scroll" tabIndex={0} role="region" aria-label="boxes of the flame graph">
          <table>
            <thead>
              <tr>
                <th scope="col">depth</th>
                <th scope="col">frame</th>
                <th scope="col" class="number">
                  bytes
                </th>
                <th scope="col" class="number">
                  share
                </th>
                {differs.value && (
                  <th scope="col" class="number">
                    change
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {listed(root).map((node) => (
                <tr>
                  <td class="number">{node.depth}</td>
                  <th scope="row">
                    <button
                      type="button"
                      class="plain wrap"
                      title={node.detail}
                      style={{ paddingLeft: `${Math.min(node.depth, 30) * 0.7}rem` }}
                      onClick={() => open(node)}
                    >
                      {node.label}
                    </button>
                  </th>
                  <td class="number">{sizeText(node.bytes)}</td>
                  <td class="number">{shareText(node.bytes, root.bytes)}</td>
                  {differs.value && <td class="number">{changeText(node.bytes - node.before_bytes)}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

function CodeLegend() {
  const drawn = new Set(boxes.value.map((box) => box.node.code));
  const codes = (["own", "torch", "library", "native", "unknown"] as const).filter((code) => drawn.has(code));
  return <Legend items={codes.map((code) => ({ name: kCodeNames[code], text: kCodeTexts[code] }))} />;
}

function DiffLegend() {
  const steps: [string, string][] = [
    ["diverging-0", "− gone"],
    ["diverging-2", "− less"],
    ["diverging-3", "the same"],
    ["diverging-4", "+ more"],
    ["diverging-6", "+ new"],
  ];
  return <Legend items={steps.map(([name, text]) => ({ name, text }))} />;
}

export function FlameView() {
  const root = tree.value;
  const now = scene.value;
  if (session.value === null || root === null || now === null) return <p class="quiet">The events are being read.</p>;
  const named = holdsNames(session.value.incident.names);
  const deferred_bytes = now.activeBytes - root.bytes;
  const landmark = landmarkText(instant.value);
  return (
    <div class="stack">
      <section class="card stack" aria-label="flame graph">
        <h2>
          Live by stack{" "}
          <span class="quiet small">
            {instantText(instant.value)}
            {landmark === null ? "" : ` (${landmark})`}: {sizeText(root.bytes)}
            {differs.value && reference.value !== null && `, ${changeText(root.bytes - root.before_bytes)} since ${instantText(reference.value)}`}
            {deferred_bytes > 0 && `; ${sizeText(deferred_bytes)} more are freed and still waited for`}
          </span>
        </h2>
        <Controls />
        <Unseen where="this graph" />
        <Crumbs />
        {root.width_bytes === 0 ? <p>{unseen.value === 0 ? "Nothing" : "Nothing that was seen"} is live at this instant.</p> : <FlameCanvas />}
        {differs.value ? <DiffLegend /> : named && <CodeLegend />}
        <p class="small quiet">
          Width is bytes{differs.value && ": of each site the greater of both instants, so that what is gone is seen too"}.{" "}
          {inverted.value ? "The allocation is at the top, its callers below." : "The root is at the top, the allocation at the foot."}
          {ownOnly.value && named && " Frames of libraries and native code are left out; a stack with none of yours is one box."}
          {!named && " This page holds no names: boxes are tokens."} {counted(depth.value, "row")}.
        </p>
        <AsText />
      </section>
      <SitesTable />
      <Recent />
    </div>
  );
}
