// The findings of an audit of the data that models derive.
import { count } from "../values.js";
import { Chip, html } from "../ui.js";

const sum = (numbers) => Object.values(numbers ?? {}).reduce((all, number) => all + number, 0);

/** The number of derived facts that disagree with the rows from which they are derived. */
export const disagreements = (report) => report.models.reduce((all, one) => all + sum(one.wrong), 0);

/** The findings of one model. */
export function Audited({ audited }) {
  const wrong = sum(audited.wrong);
  const verdict = audited.not_audited ? html`<${Chip} kind="warn">not checked<//>` : wrong ? html`<${Chip} kind="bad">${count(wrong)} derived facts disagree<//>` : html`<${Chip} kind="good">everything agrees<//>`;
  return html`<p>${count(audited.rows)} rows checked. ${verdict} ${audited.not_audited ?? ""}</p>
    ${audited.left?.length > 0 && html`<ul class="findings">${audited.left.map((fact) => html`<li>${fact.entity}${fact.effect ? `, ${fact.effect}` : ""}: ${fact.reason ?? `is ${fact.there}, and should be ${fact.wanted}`}</li>`)}</ul>`}
    ${audited.left_total > audited.left?.length && html`<p class="quiet">${count(audited.left_total - audited.left.length)} more.</p>`}`;
}
