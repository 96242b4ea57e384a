import { isObject, type JsonObject, textOf } from './json.ts';

/** An execution for people: what it waits for as a sentence, such as "waiting for a node with tags gpu". */
export const waitingInWords = (execution: JsonObject): JsonObject =>
  isObject(execution.waiting_for) ? { ...execution, waiting_for: textOf(execution.waiting_for, 'reason') } : execution;
