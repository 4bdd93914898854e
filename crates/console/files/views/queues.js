// Queues: how many messages wait, what they say, send, move back, purge.
import { may, queues } from "../api.js";
import { peek } from "../peek.js";
import { link } from "../router.js";
import { count, duration, when } from "../values.js";
import { Confirm, Empty, Failure, Field, Loading, html, say, useAction, useAsked, useState } from "../ui.js";

async function list() {
  const urls = [];
  let next;
  do {
    const page = await queues("ListQueues", { MaxResults: 1000, ...(next ? { NextToken: next } : {}) });
    urls.push(...(page.QueueUrls ?? []));
    next = page.NextToken;
  } while (next);
  return Promise.all(urls.map(async (url) => {
    const { Attributes } = await queues("GetQueueAttributes", { QueueUrl: url, AttributeNames: ["All"] });
    return { url, name: url.split("/").pop(), ...Attributes };
  }));
}

export function Queues({ address }) {
  const [name] = address.parts;
  const asked = useAsked(list, [], 3000);
  if (!asked.value) {
    if (asked.error?.status === 404) return html`<h1>Queues</h1><${Empty} title="This server has no queues"><p>Gateways and the console of another endpoint have no queues: use SQS.</p><//>`;
    return asked.error ? html`<h1>Queues</h1><${Failure} error=${asked.error} />` : html`<${Loading} what="queues" />`;
  }
  const all = asked.value;
  const queue = all.find((one) => one.name === name);
  if (queue) return html`<${OneQueue} key=${name} queue=${queue} all=${all} reload=${asked.reload} />`;
  return html`<div class="stack"><div class="bar"><h1>Queues</h1></div><${Failure} error=${asked.error} />
    ${name && html`<p class="quiet">There is no queue ${name}.</p>`}
    ${all.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Queues"><table><thead><tr><th scope="col">Queue</th><th scope="col" class="number">Waiting</th><th scope="col" class="number">In flight</th><th scope="col" class="number">Delayed</th><th scope="col">Visibility</th><th scope="col">Dead-letter queue</th></tr></thead>
      <tbody>${all.map((one) => html`<tr><th scope="row"><a href=${link(["queues", one.name])}>${one.name}</a></th><td class="number">${count(Number(one.ApproximateNumberOfMessages))}</td><td class="number">${count(Number(one.ApproximateNumberOfMessagesNotVisible))}</td><td class="number">${count(Number(one.ApproximateNumberOfMessagesDelayed))}</td><td>${duration(Number(one.VisibilityTimeout) * 1000)}</td><td>${one.RedrivePolicy ? JSON.parse(one.RedrivePolicy).deadLetterTargetArn.split(":").pop() : "–"}</td></tr>`)}</tbody></table></div>`
      : html`<${Empty} title="No queue yet"><p>Create one with any SQS client at this address: <code>aws sqs create-queue --endpoint-url ${location.origin} --queue-name jobs</code></p><//>`}</div>`;
}

function OneQueue({ queue, all, reload }) {
  const [starts, setStarts] = useState([undefined]);
  const asked = useAsked(() => peek(queue.name, starts.at(-1)), [queue.name, starts], 5000);
  const [body, setBody] = useState("");
  const [open, setOpen] = useState();
  const sent = useAction();
  const [destination, setDestination] = useState("");
  const isFifo = queue.name.endsWith(".fifo");
  const sources = all.filter((one) => one.RedrivePolicy && JSON.parse(one.RedrivePolicy).deadLetterTargetArn === queue.QueueArn);
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
    ${sources.length > 0 && html`<p>Dead letters of ${sources.map((one) => html`<a href=${link(["queues", one.name])}>${one.name}</a> `)}</p>`}
    ${tasks.value?.map((task) => html`<p class=${task.FailureReason ? "wrong" : "quiet"}>Last move: ${task.Status.toLowerCase()}, ${count(task.ApproximateNumberOfMessagesMoved)} of ${count(task.ApproximateNumberOfMessagesToMove)} moved${task.FailureReason ? `. ${task.FailureReason}: choose a queue to move them to` : ""}.</p>`)}
    <${Failure} error=${asked.error ?? tasks.error} />
    <section class="card"><header><h2>Messages</h2><span class="quiet">shown without receiving them</span></header>
      ${!asked.value ? html`<${Loading} what="messages" />` : asked.value.messages.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Messages"><table><thead><tr><th scope="col">Sent</th><th scope="col" class="number">Received</th><th scope="col">State</th><th scope="col">Body</th></tr></thead>
        <tbody>${asked.value.messages.map((message) => html`<tr key=${message.number}><th scope="row">${when(message.sent)}${message.group ? html`<br /><span class="quiet">group ${message.group}</span>` : ""}</th><td class="number">${count(message.receives ?? 0)}</td><td>${message.due > now ? `visible in ${duration(message.due - now)}` : "waiting"}${message.reason ? html`<br /><span class="wrong">${message.reason}</span>` : ""}</td><td><code>${message.large ? "a large message" : message.body}</code></td></tr>`)}</tbody></table></div>`
        : html`<p class="quiet">No messages.</p>`}
      <div class="bar"><button type="button" disabled=${starts.length < 2} onClick=${() => setStarts(starts.slice(0, -1))}>Previous page</button><button type="button" disabled=${!asked.value?.next} onClick=${() => setStarts([...starts, asked.value.next])}>Next page</button></div></section>
    ${may.write && html`<form class="card stack" onSubmit=${send}><${Field} id="message" label="Send a message"><textarea id="message" rows="3" required value=${body} onInput=${(event) => setBody(event.target.value)}></textarea><//><div><button class="primary" disabled=${sent.busy}>Send</button></div><${Failure} error=${sent.error} /></form>`}
    ${open === "move" && html`<${Confirm} title=${`Move the messages of ${queue.name}`} action="Move" onClose=${() => setOpen()} onDone=${async () => { await queues("StartMessageMoveTask", { SourceArn: queue.QueueArn, ...(destination ? { DestinationArn: destination } : {}) }); say("Messages move"); await again(); }}>
      <${Field} id="move-to" label="To"><select id="move-to" value=${destination} onChange=${(event) => setDestination(event.target.value)}><option value="">the queue that gave each up</option>${all.filter((one) => one.name !== queue.name).map((one) => html`<option value=${one.QueueArn}>${one.name}</option>`)}</select><//><//>`}
    ${open === "purge" && html`<${Confirm} title=${`Purge ${queue.name}`} action="Delete all messages" danger onClose=${() => setOpen()} onDone=${async () => { await queues("PurgeQueue", { QueueUrl: queue.url }); await again(); }}><p>All messages are deleted, also those in flight. This cannot be undone.</p><//>`}</div>`;
}
