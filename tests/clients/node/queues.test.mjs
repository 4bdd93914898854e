// Queues through the AWS SDK for JavaScript, which checks the sums of what it sends and receives.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  QueueDoesNotExist,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import { queues } from "./support.mjs";

const made = [];

after(() => Promise.all(made.map((QueueUrl) => queues.send(new DeleteQueueCommand({ QueueUrl })).catch(() => {}))));

async function queue(Attributes = {}) {
  const QueueName = `js${randomUUID().slice(0, 13)}`;
  const { QueueUrl } = await queues.send(new CreateQueueCommand({ QueueName, Attributes }));
  made.push(QueueUrl);
  return QueueUrl;
}

async function receive(QueueUrl, more = {}) {
  const all = { MessageAttributeNames: ["All"], MessageSystemAttributeNames: ["All"], MaxNumberOfMessages: 10 };
  const { Messages } = await queues.send(new ReceiveMessageCommand({ QueueUrl, ...all, ...more }));
  return Messages ?? [];
}

test("a message is sent, received and deleted", async () => {
  const QueueUrl = await queue();
  const MessageAttributes = {
    text: { DataType: "String", StringValue: "größer" },
    bytes: { DataType: "Binary", BinaryValue: new Uint8Array([0, 255]) },
  };
  const sent = await queues.send(new SendMessageCommand({ QueueUrl, MessageBody: "hello", MessageAttributes }));
  const [got] = await receive(QueueUrl);
  assert.equal(got.MessageId, sent.MessageId);
  assert.equal(got.Body, "hello");
  assert.equal(got.MessageAttributes.text.StringValue, "größer");
  assert.deepEqual([...got.MessageAttributes.bytes.BinaryValue], [0, 255]);
  assert.equal(got.Attributes.ApproximateReceiveCount, "1");
  await queues.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: got.ReceiptHandle }));
  const counts = await queues.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }));
  assert.equal(counts.Attributes.ApproximateNumberOfMessagesNotVisible, "0");
});

test("a batch is received in the order it was sent by somebody who waits", async () => {
  const QueueUrl = await queue({ ReceiveMessageWaitTimeSeconds: "20" });
  const waiting = receive(QueueUrl);
  const Entries = ["a", "b", "c"].map((body) => ({ Id: body, MessageBody: body }));
  const { Successful } = await queues.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
  assert.equal(Successful.length, 3);
  const got = await waiting;
  assert.deepEqual(got.map((message) => message.Body), ["a", "b", "c"]);
});

test("a queue that is not there is an error of its own class", async () => {
  const QueueUrl = `${await queue()}x`;
  await assert.rejects(queues.send(new SendMessageCommand({ QueueUrl, MessageBody: "x" })), (error) => {
    return error instanceof QueueDoesNotExist;
  });
});
