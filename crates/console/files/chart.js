// Lines over time, drawn as SVG. The same figures are in a table for screen readers.
import { html, useState } from "./ui.js";

const WIDTH = 600;
const HEIGHT = 150;
const LEFT = 52;
const BOTTOM = 20;
const TOP = 8;

const clock = (s) => new Date(s * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

/** A round number at or above the highest value. */
function ceiling(highest) {
  if (highest <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(highest));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= highest);
}

/**
 * `series`: [{ name, values }], one value for each time, `null` for none. `times`: seconds since 1970.
 */
export function Chart({ title, times, series, format = String, empty = "Nothing yet: the first sample comes within ten seconds." }) {
  const [at, setAt] = useState();
  if (times.length < 2) return html`<figure class="chart"><figcaption>${title}</figcaption><p class="quiet">${empty}</p></figure>`;
  const top = ceiling(Math.max(...series.flatMap((line) => line.values.map((value) => value ?? 0))));
  const x = (i) => LEFT + (i / (times.length - 1)) * (WIDTH - LEFT - 6);
  const y = (value) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
  const path = (values) => {
    let drawn = "";
    values.forEach((value, i) => {
      if (value === null || value === undefined) return;
      const begins = i === 0 || values[i - 1] === null || values[i - 1] === undefined;
      drawn += `${begins ? "M" : "L"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    });
    return drawn;
  };
  const point = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const inside = ((event.clientX - box.left) / box.width) * WIDTH;
    setAt(Math.max(0, Math.min(times.length - 1, Math.round(((inside - LEFT) / (WIDTH - LEFT - 6)) * (times.length - 1)))));
  };
  const shownAt = at ?? times.length - 1;
  return html`<figure class="chart">
    <figcaption>${title}<span class="legend">${series.map((line, i) => html`<span class=${`key line${i}`}>${line.name} <b>${line.values[shownAt] === null || line.values[shownAt] === undefined ? "–" : format(line.values[shownAt])}</b></span>`)}<span class="quiet">${clock(times[shownAt])}</span></span></figcaption>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`${title}: ${series.map((line) => `${line.name} ${format(line.values.at(-1) ?? 0)}`).join(", ")} now`}
        onMouseMove=${point} onMouseLeave=${() => setAt(undefined)}>
      ${[0, 0.5, 1].map((part) => html`<line class="grid" x1=${LEFT} x2=${WIDTH - 6} y1=${y(top * part)} y2=${y(top * part)} /><text class="axis" x=${LEFT - 6} y=${y(top * part) + 4} text-anchor="end">${format(top * part)}</text>`)}
      <text class="axis" x=${LEFT} y=${HEIGHT - 4}>${clock(times[0])}</text>
      <text class="axis" x=${WIDTH - 6} y=${HEIGHT - 4} text-anchor="end">${clock(times.at(-1))}</text>
      ${series.map((line, i) => html`<path class=${`line line${i}`} d=${path(line.values)} />`)}
      ${at !== undefined && html`<line class="at" x1=${x(at)} x2=${x(at)} y1=${TOP} y2=${HEIGHT - BOTTOM} />`}
    </svg>
    <details class="figures"><summary>Figures</summary><div class="scroll" tabindex="0" role="region" aria-label=${`${title}, figures`}><table><thead><tr><th scope="col">time</th>${series.map((line) => html`<th scope="col">${line.name}</th>`)}</tr></thead>
      <tbody>${times.slice(-60).map((time, i) => { const row = Math.max(0, times.length - 60) + i; return html`<tr><th scope="row">${new Date(time * 1000).toLocaleTimeString()}</th>${series.map((line) => html`<td class="number">${line.values[row] === null || line.values[row] === undefined ? "–" : format(line.values[row])}</td>`)}</tr>`; })}</tbody></table></div></details>
  </figure>`;
}
