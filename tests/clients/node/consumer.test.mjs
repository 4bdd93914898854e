// The package sqs-consumer: messages handled one by one and in batches, and again after a failure.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { test } from "node:test";
import {
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  SendMessageBatchCommand,
} from "@aws-sdk/client-sqs";
import { Consumer } from "sqs-consumer";
import { queues } from "./support.mjs";

const counts = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];

/** A queue with ten messages, deleted after the test. */
async function queueWithTen(context) {
  const { QueueUrl } = await queues.send(new CreateQueueCommand({ QueueName: `js${randomUUID().slice(0, 13)}` }));
  context.after(() => queues.send(new DeleteQueueCommand({ QueueUrl })));
  const Entries = Array.from({ length: 10 }, (_, n) => ({ Id: `${n}`, MessageBody: `${n}` }));
  await queues.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
  return QueueUrl;
}

/** Runs a consumer until `isDone` says so after one of its handlers returned, and looks that the queue is empty. */
async function consume(queueUrl, options, isDone) {
  const consumer = Consumer.create({ queueUrl, sqs: queues, waitTimeSeconds: 1, pollingCompleteWaitTimeMs: 10_000, ...options });
  const failures = [];
  consumer.on("error", (error) => failures.push(error));
  consumer.on("processing_error", (error) => error.message.endsWith("once more") || failures.push(error));
  consumer.on("message_processed", () => isDone() && consumer.stop());
  const stopped = once(consumer, "stopped", { signal: AbortSignal.timeout(30_000) });
  consumer.start();
  await stopped;
  assert.deepEqual(failures, []);
  const { Attributes } = await queues.send(new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: counts }));
  assert.deepEqual(Attributes, { ApproximateNumberOfMessages: "0", ApproximateNumberOfMessagesNotVisible: "0" });
}

test("sqs-consumer handles messages one by one, again after a failure, and deletes them", async (context) => {
  const queueUrl = await queueWithTen(context);
  const handled = [];
  let hasFailed = false;
  const options = {
    batchSize: 10,
    visibilityTimeout: 30,
    heartbeatInterval: 1,
    terminateVisibilityTimeout: true,
    handleMessage: async (message) => {
      if (message.Body === "3" && !hasFailed) {
        hasFailed = true;
        throw new Error("once more");
      }
      handled.push(message.Body);
      return message;
    },
  };
  await consume(queueUrl, options, () => handled.length === 10);
  assert.equal(hasFailed, true);
  assert.deepEqual(handled.toSorted(), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
});

test("sqs-consumer handles messages in batches", async (context) => {
  const queueUrl = await queueWithTen(context);
  const handled = [];
  const options = {
    batchSize: 5,
    handleMessageBatch: async (messages) => {
      handled.push(...messages.map((message) => message.Body));
      return messages;
    },
  };
  await consume(queueUrl, options, () => handled.length === 10);
  assert.deepEqual(handled.toSorted(), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
});
