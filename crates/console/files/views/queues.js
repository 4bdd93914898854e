// Queues: the number of messages, their contents; send, move back, purge.
import { may, queueName, queueUrls, queues } from "../api.js";
import { peek } from "../peek.js";
import { PageTurns, usePaging } from "../paging.js";
import { amend, go, link } from "../router.js";
import { count, duration, when } from "../values.js";
import { Chip, Confirm, Empty, Failure, Field, Loading, html, say, useAsked, useState } from "../ui.js";
import { Message, Send, stateOf } from "./message.js";

const EVERY_MS = 3000;
/** The number of queues on a page: each costs a request whenever the page is read again. */
const PAGE = 50;

async function withAttributes(url) {
  const { Attributes } = await queues("GetQueueAttributes", { QueueUrl: url, AttributeNames: ["All"] });
  return { url, name: queueName(url), ...Attributes };
}

export function Queues({ address }) {
  const [name] = address.parts;
  const asked = useAsked(() => queueUrls(), [], EVERY_MS);
  if (!asked.value) {
    if (asked.error?.status === 404) return html`<h1>Queues</h1><${Empty} title="This server has no queues"><p>Gateways and the console of another endpoint have no queues: use SQS.</p><//>`;
    return asked.error ? html`<h1>Queues</h1><${Failure} error=${asked.error} />` : html`<${Loading} what="queues" />`;
  }
  const all = asked.value;
  const url = all.find((one) => queueName(one) === name);
  if (url) return html`<${OneQueue} key=${name} url=${url} all=${all} address=${address} />`;
  return html`<div class="stack"><div class="bar"><h1>Queues</h1></div><${Failure} error=${asked.error} />
    ${name && html`<p class="quiet">There is no queue ${name}.</p>`}
    ${all.length ? html`<${QueueList} all=${all} address=${address} />`
      : html`<${Empty} title="No queue yet"><p>Create one with any SQS client at this address: <code>aws sqs create-queue --endpoint-url ${location.origin} --queue-name jobs</code></p><//>`}</div>`;
}

/** A page of the queues whose names contain a text. Only the attributes of these queues are requested. */
function QueueList({ all, address }) {
  const { contains = "", page = "1" } = address.query;
  const found = all.filter((url) => queueName(url).includes(contains));
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  const at = Math.min(Math.max(1, Number(page) || 1), pages);
  const shown = found.slice((at - 1) * PAGE, at * PAGE);
  const asked = useAsked(() => Promise.all(shown.map(withAttributes)), [shown.join("\n")], EVERY_MS);
  const to = (members) => go(["queues"], { contains, page: at, ...members }, true);
  return html`${all.length > PAGE && html`<div class="bar"><label for="queue-contains">Name contains</label><input id="queue-contains" value=${contains} spellcheck=${false} onInput=${(event) => to({ contains: event.target.value, page: "" })} />
      <span class="quiet" role="status">${count(found.length)} of ${count(all.length)} queues, page ${count(at)} of ${count(pages)}</span><span class="grow"></span>
      <button type="button" disabled=${at === 1} onClick=${() => to({ page: at - 1 })}>Previous page</button><button type="button" disabled=${at === pages} onClick=${() => to({ page: at + 1 })}>Next page</button></div>`}
    <${Failure} error=${asked.error} />
    ${!asked.value ? !asked.error && html`<${Loading} what="queues" />` : html`<div class="scroll" tabindex="0" role="region" aria-label="Queues"><table><thead><tr><th scope="col">Queue</th><th scope="col" class="number">Waiting</th><th scope="col" class="number">In flight</th><th scope="col" class="number">Delayed</th><th scope="col">Visibility</th><th scope="col">Dead-letter queue</th></tr></thead>
      <tbody>${asked.value.map((one) => html`<tr><th scope="row"><a href=${link(["queues", one.name])}>${one.name}</a></th><td class="number">${count(Number(one.ApproximateNumberOfMessages))}</td><td class="number">${count(Number(one.ApproximateNumberOfMessagesNotVisible))}</td><td class="number">${count(Number(one.ApproximateNumberOfMessagesDelayed))}</td><td>${duration(Number(one.VisibilityTimeout) * 1000)}</td><td>${one.RedrivePolicy ? JSON.parse(one.RedrivePolicy).deadLetterTargetArn.split(":").pop() : "–"}</td></tr>`)}</tbody></table></div>`}`;
}

/** A queue, and the queues whose dead letters it gets. */
function OneQueue({ url, all, address }) {
  const asked = useAsked(async () => {
    const [queue, sources] = await Promise.all([withAttributes(url), queueUrls("ListDeadLetterSourceQueues", { QueueUrl: url })]);
    return { queue, sources: sources.map(queueName) };
  }, [url], EVERY_MS);
  if (!asked.value) return asked.error ? html`<h1>Queue ${queueName(url)}</h1><${Failure} error=${asked.error} />` : html`<${Loading} what="the queue" />`;
  const { queue, sources } = asked.value;
  return html`<${KnownQueue} queue=${queue} sources=${sources} names=${all.map(queueName)} reload=${asked.reload} address=${address} />`;
}

/** The address contains the open dialog, so that a link opens it. */
const setOpen = (what) => amend({ open: what });

function KnownQueue({ queue, sources, names, reload, address }) {
  const paging = usePaging(address, queue.name);
  const asked = useAsked(() => peek(queue.name, paging.start), [queue.name, JSON.stringify(paging.start)], 5000);
  const { open, message } = address.query;
  const tasks = useAsked(async () => (sources.length ? (await queues("ListMessageMoveTasks", { SourceArn: queue.QueueArn, MaxResults: 1 })).Results ?? [] : []), [queue.name, sources.length], 3000);
  const again = async () => { await Promise.all([reload(), asked.reload(), tasks.reload()]); };
  return html`<div class="stack"><div class="bar"><h1>Queue ${queue.name}</h1>${queue.FifoQueue === "true" && html`<${Chip}>FIFO<//>`}<span class="grow"></span><a href="#/queues">All queues</a>
      ${may.write && html`${sources.length > 0 && html`<button type="button" onClick=${() => setOpen("move")}>Move all back</button>`}
      <button type="button" class="danger" onClick=${() => setOpen("purge")}>Purge</button>`}</div>
    <div class="figures-row">
      <div class="figure"><b>${count(Number(queue.ApproximateNumberOfMessages))}</b><span>waiting</span></div><div class="figure"><b>${count(Number(queue.ApproximateNumberOfMessagesNotVisible))}</b><span>in flight</span></div>
      <div class="figure"><b>${count(Number(queue.ApproximateNumberOfMessagesDelayed))}</b><span>delayed</span></div><div class="figure"><b>${duration(Number(queue.MessageRetentionPeriod) * 1000)}</b><span>kept for</span></div></div>
    ${sources.length > 0 && html`<p>Dead letters of ${sources.map((name) => html`<a href=${link(["queues", name])}>${name}</a> `)}</p>`}
    ${tasks.value?.map((task) => html`<p class=${task.FailureReason ? "wrong" : "quiet"}>Last move: ${task.Status.toLowerCase()}, ${count(task.ApproximateNumberOfMessagesMoved)} of ${count(task.ApproximateNumberOfMessagesToMove)} moved${task.FailureReason ? `. ${task.FailureReason}: choose a queue to move them to` : ""}.</p>`)}
    <${Failure} error=${asked.error ?? tasks.error} />
    <section class="card"><header><h2>Messages</h2><span class="quiet">shown without receiving them</span></header>
      ${!asked.value ? !asked.error && html`<${Loading} what="messages" />` : asked.value.messages.length ? html`<${MessageList} messages=${asked.value.messages} address=${address} />` : html`<p class="quiet">${paging.number > 1 ? "No more messages." : "No messages."}</p>`}
      <div class="bar"><${PageTurns} paging=${paging} next=${asked.value?.next} busy=${asked.loading} /></div></section>
    ${may.write && html`<${Send} queue=${queue} isWanted=${open === "send"} onSent=${again} />`}
    ${message && html`<${Message} queue=${queue} number=${message} />`}
    ${open === "move" && may.write && sources.length > 0 && html`<${Move} queue=${queue} names=${names} onMoved=${again} />`}
    ${open === "purge" && may.write && html`<${Confirm} title=${`Purge ${queue.name}`} action="Delete all messages" danger onClose=${() => setOpen()} onDone=${async () => { await queues("PurgeQueue", { QueueUrl: queue.url }); await again(); }}><p>All messages are deleted, also those in flight. This cannot be undone.</p><//>`}</div>`;
}

function MessageList({ messages, address }) {
  const now = Date.now();
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Messages"><table><thead><tr><th scope="col">Sent</th><th scope="col" class="number">Received</th><th scope="col">State</th><th scope="col">Body</th></tr></thead>
    <tbody>${messages.map((message) => html`<tr key=${message.number}><th scope="row"><a href=${link(["queues", ...address.parts], { ...address.query, message: message.number })}>${when(message.sent)}</a>${message.group ? html`<br /><span class="quiet">group ${message.group}</span>` : ""}</th><td class="number">${count(message.receives ?? 0)}</td><td>${stateOf(message, now)}${message.reason ? html`<br /><span class="wrong">${message.reason}</span>` : ""}</td><td><code>${message.large ? "a large message" : message.body}</code></td></tr>`)}</tbody></table></div>`;
}

function Move({ queue, names, onMoved }) {
  const [destination, setDestination] = useState("");
  const arnOf = (name) => [...queue.QueueArn.split(":").slice(0, -1), name].join(":");
  const move = async () => {
    await queues("StartMessageMoveTask", { SourceArn: queue.QueueArn, ...(destination ? { DestinationArn: destination } : {}) });
    say("Messages are being moved");
    await onMoved();
  };
  return html`<${Confirm} title=${`Move the messages of ${queue.name}`} action="Move" onClose=${() => setOpen()} onDone=${move}>
    <${Field} id="move-to" label="To"><select id="move-to" value=${destination} onChange=${(event) => setDestination(event.target.value)}><option value="">the queue that gave each up</option>${names.filter((name) => name !== queue.name).map((name) => html`<option value=${arnOf(name)}>${name}</option>`)}</select><//><//>`;
}
