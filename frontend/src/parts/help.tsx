/** The keys, on a sheet over the page. */

import { useEffect, useRef } from "preact/hooks";
import { data } from "../data";

const KEYS: [string, [string, string][]][] = [
  ["Anywhere", [["g h", "home"], ["g e", "examples and rollouts"], ["g c", "compare"], ["g r", "runs"], ["g s", "servers"], ["g g", "graph"], ["/", "search"], ["t", "light, dark, as the system"], ["?", "this sheet"]]],
  ["In lists", [["j  ↓", "down"], ["k  ↑", "up"], ["Enter  o", "open"], ["x", "clear all filters"], ["Esc", "leave a field"]]],
  ["In a rollout", [["n", "next"], ["p", "previous"], ["e", "unfold or fold all calls"], ["Esc  u", "back to the list"]]],
];

export function Help({ close }: { close: () => void }) {
  const sheet = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    sheet.current?.showModal();
    return () => sheet.current?.close();
  }, []);
  return (
    <dialog class="help" ref={sheet} onClose={close} onClick={(event) => event.target === sheet.current && sheet.current?.close()} aria-label="help">
      <h2>Keys</h2>
      <div class="help-groups">
        {KEYS.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>{keys.map(([key, what]) => <div key={key}><dt>{key.split("  ").map((one) => <kbd key={one}>{one}</kbd>)}</dt><dd>{what}</dd></div>)}</dl>
          </section>
        ))}
      </div>
      <p>
        The link in the address bar always reopens exactly what you see.
        {data.frozen ? " This is a report: it holds a selection, and tools cannot be tried in it." : ""}
      </p>
      <button type="button" onClick={() => sheet.current?.close()}>Close</button>
    </dialog>
  );
}
