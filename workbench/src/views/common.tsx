// SPDX-License-Identifier: Apache-2.0
//
// Small pieces that several views are made of.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Count, Status } from "../data/receipt";
import { patternOf, type Paint, type Pattern } from "./palette";
import { exactText, knownText } from "../parts/units";
import { site } from "../session";

// A size; the exact bytes are its tooltip, and are read out.
export function Bytes({ bytes, exact = false }: { bytes: Count | null | undefined; exact?: boolean }) {
  if (bytes === null || bytes === undefined || Number.isNaN(bytes)) return <span class="quiet">not known</span>;
  return (
    <span class="nowrap" title={exactText(bytes)}>
      {exact ? exactText(bytes) : knownText(bytes)}
    </span>
  );
}

// The sign beside a word of a legend or a table; what it means stands in the text. `name`: of a custom property.
export function Swatch({ name, pattern }: { name: string; pattern?: Pattern }) {
  return <span aria-hidden="true" class={`swatch pattern-${pattern ?? "plain"}`} style={{ backgroundColor: `var(--${name})` }} />;
}

export function PaintSwatch({ paint }: { paint: Paint }) {
  return <Swatch name={paint} pattern={patternOf(paint)} />;
}

const kStatusSigns: Record<Status, string> = { primary: "●", contributing: "◐", rejected: "✕", undecidable: "?" };

export function StatusMark({ status }: { status: Status }) {
  return (
    <span class={`status status-${status}`}>
      <span aria-hidden="true">{kStatusSigns[status]}</span>
      {status}
    </span>
  );
}

// A command line to run, with a button that copies it. Where the browser gives no clipboard it selects the text.
export function Command({ text, label = "command" }: { text: string; label?: string }) {
  const done = useSignal(false);
  const copy = async (event: MouseEvent) => {
    const code = (event.currentTarget as HTMLElement).parentElement!.querySelector("code")!;
    try {
      await navigator.clipboard.writeText(text);
      done.value = true;
    } catch {
      getSelection()?.selectAllChildren(code);
    }
  };
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" class="small screen-only" aria-label={`copy the ${label}`} onClick={copy}>
        {done.value ? "copied" : "copy"}
      </button>
    </div>
  );
}

export function Legend({ items }: { items: { name: string; pattern?: Pattern; text: ComponentChildren }[] }) {
  return (
    <ul class="row small legend">
      {items.map((item) => (
        <li class="nowrap">
          <Swatch name={item.name} pattern={item.pattern} /> {item.text}
        </li>
      ))}
    </ul>
  );
}

// How a number is known: the receipt's own words.
export function Known({ as }: { as: string | undefined }) {
  return as === undefined ? null : <span class={`tiny quiet known known-${as}`}>{as}</span>;
}

// What may be wider or longer than its place. Where it is, the keyboard can reach it.
export function Scroll({ label, extra = "", children }: { label: string; extra?: string; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const over = useSignal(false);
  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => {
      over.value = element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    for (const child of element.children) watch.observe(child);
    return () => watch.disconnect();
  }, []);
  const reach = over.value ? { role: "region" as const, tabIndex: 0, "aria-label": label } : {};
  return (
    <div ref={box} class={`scroll ${extra}`} {...reach}>
      {children}
    </div>
  );
}

// The head row of a table: a leading # says that the column holds numbers.
export function Head({ columns }: { columns: string[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th scope="col" class={column.startsWith("#") ? "number" : ""}>
            {column.replace(/^#/, "")}
          </th>
        ))}
      </tr>
    </thead>
  );
}

// A site by its name; a click highlights it in all views. `then`: what else it does.
export function SiteButton({ ordinal, text, then }: { ordinal: number; text: string; then?: () => void }) {
  return (
    <button
      type="button"
      class="plain site"
      onClick={() => {
        site.value = ordinal;
        then?.();
      }}
    >
      {text}
    </button>
  );
}
