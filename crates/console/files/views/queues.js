// Queues: how many messages wait, what they say, send, move back, purge.
import { everyPage, may, queues } from "../api.js";
import { peek } from "../peek.js";
import { go, link } from "../router.js";
import { count, duration, when } from "../values.js";
import { Confirm, Empty, Failure, Field, Loading, html, say, useAction, useAsked, useState } from "../ui.js";

const EVERY_MS = 3000;
/** Queues of a page: each costs a request whenever the page is read again. */
const PAGE = 50;

const nameOf = (url) => url.split("/").pop();
const everyUrl = (operation, request = {}) => everyPage((next) => queues(operation, { ...request, MaxResults: 1000, ...(next ? { NextToken: next } : {}) }), (page) => page.QueueUrls ?? page.queueUrls, (page) => page.NextToken);

async function withAttributes(url) {
  const { Attributes } = await queues("GetQueueAttributes", { QueueUrl: url, AttributeNames: ["All"] });
  return { url, name: nameOf(url), ...Attributes };
}

export function Queues({ address }) {
  const [name] = address.parts;
  const asked = useAsked(() => everyUrl("ListQueues"), [], EVERY_MS);
  if (!asked.value) {
    if (asked.error?.status === 404) return html`<h1>Queues</h1><${Empty} title="This server has no queues"><p>Gateways and the console of another endpoint have no queues: use SQS.</p><//>`;
    return asked.error ? html`<h1>Queues</h1><${Failure} error=${asked.error} />` : html`<${Loading} what="queues" />`;
  }
  const all = asked.value;
  const url = all.find((one) => nameOf(one) === name);
  if (url) return html`<${OneQueue} key=${name} url=${url} all=${all} />`;
  return html`<div class="stack"><div class="bar"><h1>Queues</h1></div><${Failure} error=${asked.error} />
    ${name && html`<p class="quiet">There is no queue ${name}.</p>`}
    ${all.length ? html`<${QueueList} all=${all} address=${address} />`
      : html`<${Empty} title="No queue yet"><p>Create one with any SQS client at this address: <code>aws sqs create-queue --endpoint-url ${location.origin} --queue-name jobs</code></p><//>`}</div>`;
}

/** A page of the queues whose names contain a text. Only their attributes are asked for. */
function QueueList({ all, address }) {
  const { contains = "", page = "1" } = address.query;
  const found = all.filter((url) => nameOf(url).includes(contains));
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

/** A queue, and the queues that it has the dead letters of. */
function OneQueue({ url, all }) {
  const asked = useAsked(async () => {
    const [queue, sources] = await Promise.all([withAttributes(url), everyUrl("ListDeadLetterSourceQueues", { QueueUrl: url })]);
    return { queue, sources: sources.map(nameOf) };
  }, [url], EVERY_MS);
  if (!asked.value) return asked.error ? html`<h1>Queue ${nameOf(url)}</h1><${Failure} error=${asked.error} />` : html`<${Loading} what="the queue" />`;
  const { queue, sources } = asked.value;
  return html`<${KnownQueue} queue=${queue} sources=${sources} names=${all.map(nameOf)} reload=${asked.reload} />`;
}

function KnownQueue({ queue, sources, names, reload }) {
  const [starts, setStarts] = useState([undefined]);
  const asked = useAsked(() => peek(queue.name, starts.at(-1)), [queue.name, starts], 5000);
  const [body, setBody] = useState("");
  const [open, setOpen] = useState();
  const sent = useAction();
  const [destination, setDestination] = useState("");
  const isFifo = queue.name.endsWith(".fifo");
  const arnOf = (name) => [...queue.QueueArn.split(":").slice(0, -1), name].join(":");
  const tasks = useAsked(async () => (sources.length ? (await queues("ListMessageMoveTasks", { SourceArn: queue.QueueArn, MaxResults: 1 })).Results ?? [] : []), [queue.name, sources.length], 3000);
  const again = async () => { await Promise.all([reload(), asked.reload(), tasks.reload()]); };
  const send = (event) => {
    event.preventDefault();
    sent.run(async () => {
      await queues("SendMessage", { QueueUrl: queue.url, MessageBody: body, ...(isFifo ? { MessageGroupId: "console", MessageDeduplicationId: crypto.randomUUID?.() ?? String(Date.now()) } : {}) });
      setBody("");
      say("Sent");
      await again();
    });
  };
  const now = Date.now();
  return html`<div class="stack"><div class="bar"><h1>Queue ${queue.name}</h1><span class="grow"></span><a href="#/queues">All queues</a>
      ${may.write && html`${sources.length > 0 && html`<button type="button" onClick=${() => setOpen("move")}>Move all back</button>`}
      <button type="button" class="danger" onClick=${() => setOpen("purge")}>Purge</button>`}</div>
    <div class="figures-row">
      <div class="figure"><b>${count(Number(queue.ApproximateNumberOfMessages))}</b><span>waiting</span></div><div class="figure"><b>${count(Number(queue.ApproximateNumberOfMessagesNotVisible))}</b><span>in flight</span></div>
      <div class="figure"><b>${count(Number(queue.ApproximateNumberOfMessagesDelayed))}</b><span>delayed</span></div><div class="figure"><b>${duration(Number(queue.MessageRetentionPeriod) * 1000)}</b><span>kept for</span></div></div>
    ${sources.length > 0 && html`<p>Dead letters of ${sources.map((name) => html`<a href=${link(["queues", name])}>${name}</a> `)}</p>`}
    ${tasks.value?.map((task) => html`<p class=${task.FailureReason ? "wrong" : "quiet"}>Last move: ${task.Status.toLowerCase()}, ${count(task.ApproximateNumberOfMessagesMoved)} of ${count(task.ApproximateNumberOfMessagesToMove)} moved${task.FailureReason ? `. ${task.FailureReason}: choose a queue to move them to` : ""}.</p>`)}
    <${Failure} error=${asked.error ?? tasks.error} />
    <section class="card"><header><h2>Messages</h2><span class="quiet">shown without receiving them</span></header>
      ${!asked.value ? html`<${Loading} what="messages" />` : asked.value.messages.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Messages"><table><thead><tr><th scope="col">Sent</th><th scope="col" class="number">Received</th><th scope="col">State</th><th scope="col">Body</th></tr></thead>
        <tbody>${asked.value.messages.map((message) => html`<tr key=${message.number}><th scope="row">${when(message.sent)}${message.group ? html`<br /><span class="quiet">group ${message.group}</span>` : ""}</th><td class="number">${count(message.receives ?? 0)}</td><td>${message.due > now ? `visible in ${duration(message.due - now)}` : "waiting"}${message.reason ? html`<br /><span class="wrong">${message.reason}</span>` : ""}</td><td><code>${message.large ? "a large message" : message.body}</code></td></tr>`)}</tbody></table></div>`
        : html`<p class="quiet">No messages.</p>`}
      <div class="bar"><button type="button" disabled=${starts.length < 2} onClick=${() => setStarts(starts.slice(0, -1))}>Previous page</button><button type="button" disabled=${!asked.value?.next} onClick=${() => setStarts([...starts, asked.value.next])}>Next page</button></div></section>
    ${may.write && html`<form class="card stack" onSubmit=${send}><${Field} id="message" label="Send a message"><textarea id="message" rows="3" required value=${body} onInput=${(event) => setBody(event.target.value)}></textarea><//><div><button class="primary" disabled=${sent.busy}>Send</button></div><${Failure} error=${sent.error} /></form>`}
    ${open === "move" && html`<${Confirm} title=${`Move the messages of ${queue.name}`} action="Move" onClose=${() => setOpen()} onDone=${async () => { await queues("StartMessageMoveTask", { SourceArn: queue.QueueArn, ...(destination ? { DestinationArn: destination } : {}) }); say("Messages move"); await again(); }}>
      <${Field} id="move-to" label="To"><select id="move-to" value=${destination} onChange=${(event) => setDestination(event.target.value)}><option value="">the queue that gave each up</option>${names.filter((name) => name !== queue.name).map((name) => html`<option value=${arnOf(name)}>${name}</option>`)}</select><//><//>`}
    ${open === "purge" && html`<${Confirm} title=${`Purge ${queue.name}`} action="Delete all messages" danger onClose=${() => setOpen()} onDone=${async () => { await queues("PurgeQueue", { QueueUrl: queue.url }); await again(); }}><p>All messages are deleted, also those in flight. This cannot be undone.</p><//>`}</div>`;
}
