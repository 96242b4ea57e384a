import { type JsonObject, listOf, numberOf, textOf } from './json.ts';

export const CALL_COLUMNS = ['sequence', 'at', 'tool', 'decision', 'outcome', 'why'];

/**
 * The calls of an exported audit chain, oldest first: what was decided about each, and how those that ran ended. `outcome`
 * is empty for a call that was denied, and for one that still runs.
 */
export function callsOf(chain: unknown): JsonObject[] {
  const bodies = listOf(chain, 'records').map((record) => ({ record, body: record.body }));
  const ends = new Map(
    bodies.filter(({ body }) => textOf(body, 'kind') === 'ended').map(({ body }) => [textOf(body, 'call'), body]),
  );
  return bodies
    .filter(({ body }) => textOf(body, 'kind') === 'decided')
    .map(({ record, body }) => {
      const isAllowed = textOf(body, 'decision') === 'allowed';
      const end = isAllowed ? ends.get(textOf(body, 'call')) : undefined;
      return {
        sequence: numberOf(record, 'sequence'),
        at: textOf(record, 'at'),
        tool: textOf(body, 'tool'),
        decision: textOf(body, 'decision'),
        outcome: textOf(end, 'outcome'),
        why: isAllowed ? textOf(end, 'error') : textOf(body, 'reason'),
      };
    });
}
