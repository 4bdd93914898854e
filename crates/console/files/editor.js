// A text area with line numbers that marks problems, and the differences between two texts, line by line.
import { html, useEffect, useRef } from "./ui.js";

export function Editor({ id, label, text, onChange, problems = [], disabled, rows = 24 }) {
  const lines = text.split("\n").length;
  const bad = new Set(problems.map((problem) => problem.line));
  const area = useRef();
  const numbers = useRef();
  useEffect(() => {
    const follow = () => { numbers.current.scrollTop = area.current.scrollTop; };
    area.current.addEventListener("scroll", follow);
    return () => area.current?.removeEventListener("scroll", follow);
  }, []);
  const visible = Math.min(Math.max(lines + 1, 8), 400);
  return html`<div class="field"><label for=${id}>${label}</label><div class="editor">
    <div class="lines" ref=${numbers} aria-hidden="true">${Array.from({ length: lines }, (_, i) => (bad.has(i + 1) ? html`<b>${i + 1}</b>${"\n"}` : `${i + 1}\n`))}</div>
    <textarea id=${id} ref=${area} rows=${Math.max(rows, visible)} wrap="off" spellcheck=${false} disabled=${disabled} value=${text} aria-invalid=${problems.length > 0} onInput=${(event) => onChange(event.target.value)}></textarea>
  </div></div>`;
}

/** The differences by the longest common subsequence of lines: the other lines were removed or added. */
export function lineDifferences(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const [c, d] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  const same = (lines) => lines.map((text) => ({ kind: "same", text }));
  return [...same(a.slice(0, head)), ...(c.length * d.length > 4_000_000 ? replaced(c, d) : common(c, d)), ...same(a.slice(a.length - tail))];
}

const replaced = (c, d) => [...c.map((text) => ({ kind: "old", text })), ...d.map((text) => ({ kind: "new", text }))];

function common(c, d) {
  const width = d.length + 1;
  const length = new Uint16Array((c.length + 1) * width);
  for (let i = c.length - 1; i >= 0; i -= 1) {
    for (let j = d.length - 1; j >= 0; j -= 1) {
      length[i * width + j] = c[i] === d[j] ? length[(i + 1) * width + j + 1] + 1 : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < c.length || j < d.length) {
    if (i < c.length && j < d.length && c[i] === d[j]) {
      found.push({ kind: "same", text: c[i] });
      i += 1;
      j += 1;
    } else if (j >= d.length || (i < c.length && length[(i + 1) * width + j] >= length[i * width + j + 1])) {
      found.push({ kind: "old", text: c[i] });
      i += 1;
    } else {
      found.push({ kind: "new", text: d[j] });
      j += 1;
    }
  }
  return found;
}
