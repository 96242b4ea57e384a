import { isObject, type JsonObject, textOf } from './json.ts';

/**
 * An execution for people: what it waits for as a sentence, such as "waiting for a node with tags gpu", or "waiting for
 * an agent: iteration 1 waits for its model, attempt 1 on node n1 (until 2026-01-01T00:00:00.000Z)".
 */
export function waitingInWords(execution: JsonObject): JsonObject {
  const { waiting_for } = execution;
  return isObject(waiting_for) ? { ...execution, waiting_for: sentence(waiting_for) } : execution;
}

function sentence(wait: JsonObject): string {
  const reason = textOf(wait, 'reason');
  const until = textOf(wait, 'until');
  const ended = until === '' || reason.includes(until) ? reason : `${reason} (until ${until})`;
  return isObject(wait.child) ? `${ended}: ${sentence(wait.child)}` : ended;
}
