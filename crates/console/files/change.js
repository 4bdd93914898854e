// A change of a table as the view Changes shows it: used by the page, and by the worker that follows the stream.
import { recognise } from "./model.js";
import { differences } from "./values.js";

/** The event of a record, with the name that routes use. */
export const eventOf = (record) => {
  if (record.eventName === "REMOVE") return record.userIdentity?.principalId === "dynamodb.amazonaws.com" ? "expire" : "remove";
  return record.eventName.toLowerCase();
};

/** A record of the stream as a row of the view. `hidden`: attributes that are derived from others. */
export function changeOf(record, known, hidden) {
  const { OldImage, NewImage, Keys, ApproximateCreationDateTime } = record.dynamodb;
  return {
    id: record.eventID, at: ApproximateCreationDateTime * 1000, event: eventOf(record), keys: Keys, entity: recognise(known, NewImage ?? OldImage ?? Keys)?.name,
    changes: differences(OldImage, NewImage).filter((one) => !hidden.has(one.name)),
  };
}

export const isFilter = ({ entity, event, attribute }) => Boolean(entity || event || attribute);

export const fits = (change, { entity, event, attribute }) =>
  (!entity || change.entity === entity) && (!event || change.event === event) && (!attribute || change.changes.some((one) => one.name === attribute));
