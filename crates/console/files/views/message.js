// Sends a message to a queue, to a FIFO queue with a group; and shows a complete message without receiving it.
import { queues } from "../api.js";
import { messageOf } from "../peek.js";
import { amend } from "../router.js";
import { count, duration, when } from "../values.js";
import { Dialog, Empty, Failure, Field, Json, Loading, html, useAction, useAsked, useEffect, useState } from "../ui.js";

/** The maximum delay of a message in SQS, in seconds. */
const DELAY_MAX = 900;
const EMPTY = { body: "", group: "", deduplication: "", delay: "" };

/** A new id. Browsers offer crypto.randomUUID only over HTTPS and on localhost. */
const newId = () => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;

/** A message to a FIFO queue without a deduplication id gets one, unless the queue derives it from the body. */
function callOf(queue, { body, group, deduplication, delay }) {
  const request = { QueueUrl: queue.url, MessageBody: body };
  if (queue.FifoQueue !== "true") return delay === "" ? request : { ...request, DelaySeconds: Number(delay) };
  const id = deduplication || (queue.ContentBasedDeduplication === "true" ? undefined : newId());
  return { ...request, MessageGroupId: group, ...(id ? { MessageDeduplicationId: id } : {}) };
}

/** `isWanted`: a link opens the form. */
export function Send({ queue, isWanted, onSent }) {
  const [form, setForm] = useState(EMPTY);
  const sent = useAction();
  useEffect(() => { if (isWanted) document.getElementById("message").focus(); }, [isWanted]);
  const send = (event) => {
    event.preventDefault();
    sent.run(async () => {
      const { MessageId } = await queues("SendMessage", callOf(queue, form));
      setForm({ ...EMPTY, group: form.group });
      await onSent();
      return MessageId;
    });
  };
  const input = (name, label, hint, more = {}) => html`<${Field} id=${`message-${name}`} label=${label} hint=${hint}><input id=${`message-${name}`} value=${form[name]} spellcheck=${false} onInput=${(event) => setForm({ ...form, [name]: event.target.value })} ...${more} /><//>`;
  return html`<form class="card stack" onSubmit=${send}><${Field} id="message" label="Send a message"><textarea id="message" rows="3" required value=${form.body} onInput=${(event) => setForm({ ...form, body: event.target.value })}></textarea><//>
    <div class="form">${queue.FifoQueue === "true" ? html`${input("group", "Message group id", "messages of a group are received in order", { required: true })}
      ${input("deduplication", "Deduplication id", queue.ContentBasedDeduplication === "true" ? "made from the body unless given" : "a new one unless given")}`
      : input("delay", "Delay in seconds", "as the queue says unless given", { type: "number", min: 0, max: DELAY_MAX })}</div>
    <div class="bar"><button class="primary" disabled=${sent.busy}>Send</button>${sent.done && html`<span role="status">Sent as <code>${sent.done}</code>.</span>`}</div><${Failure} error=${sent.error} /></form>`;
}

export const stateOf = ({ due }, now) => (due > now ? `visible in ${duration(due - now)}` : "waiting");

/** Formats a body that is JSON, so that it is easier to read. */
function asJson(body) {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

export function Message({ queue, number }) {
  const asked = useAsked(() => messageOf(queue.name, number), [queue.name, number]);
  const message = asked.value;
  const close = () => amend({ message: "" });
  return html`<${Dialog} title="Message" onClose=${close} wide><div class="dialog-body"><${Failure} error=${asked.error} />
    ${message === undefined ? !asked.error && html`<${Loading} what="the message" />` : message === null ? html`<${Empty} title="The message is not in the queue"><p>It was received and deleted, moved, or its retention ended.</p><//>` : html`<${Known} message=${message} />`}</div><//>`;
}

function Known({ message }) {
  const { id, sent, receives, group, deduplication, source, reason, body, attributes } = message;
  const rows = [["Id", id], ["Sent", when(sent)], ["State", stateOf(message, Date.now())], ["Received", `${count(receives ?? 0)} times`], ["Message group", group], ["Deduplication id", deduplication], ["From the queue", source], ["Given up because", reason]];
  const json = asJson(body);
  return html`<table><tbody>${rows.filter(([, value]) => value).map(([label, value]) => html`<tr><th scope="row">${label}</th><td>${value}</td></tr>`)}</tbody></table>
    <h3>Body</h3>${json === undefined ? html`<pre class="code" tabindex="0" aria-label="Body">${body}</pre>` : html`<${Json} value=${json} label="Body" />`}
    ${attributes && html`<h3>Attributes</h3><${Json} value=${attributes} label="Attributes" />`}`;
}
