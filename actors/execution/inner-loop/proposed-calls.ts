import { z } from 'zod';
import type { JsonObject } from '../../../runtime/json.ts';
import { jsonObjectField } from '../../../runtime/json-field.ts';
import { LOOP } from './limits.ts';

/** One call as the model asked for it. */
export interface ProposedCall {
  /** Unique in its turn, so that each answer finds its call. */
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** Why it cannot even be decided about. */
  readonly problem?: string;
}

const Proposed = z.object({ id: z.string().max(200).catch(''), name: z.string(), arguments: jsonObjectField });
const NameOnly = z.object({ name: z.string() });
const NAME_CHARS = 200;

/** The calls of a turn. What is malformed stays in its place, with what is wrong about it. */
export function proposedCalls(calls: readonly unknown[]): ProposedCall[] {
  const ids = new Set<string>();
  let bytes = 0;
  return calls.map((given, at) => {
    const read = Proposed.safeParse(given);
    const named = NameOnly.safeParse(given);
    const name = (named.success ? named.data.name : '').slice(0, NAME_CHARS) || 'unknown';
    const id = uniqueId(read.success ? read.data.id : '', at, ids);
    if (!read.success) return { id, name, arguments: {}, problem: 'expected a name and an object of arguments' };
    if (read.data.name.length > NAME_CHARS) {
      return { id, name, arguments: {}, problem: `a tool's name has at most ${NAME_CHARS} characters` };
    }
    bytes += Buffer.byteLength(JSON.stringify(read.data.arguments));
    if (bytes > LOOP.argumentBytes) {
      return { id, name, arguments: {}, problem: `the arguments of one turn have at most ${LOOP.argumentBytes} bytes` };
    }
    return { id, name, arguments: read.data.arguments };
  });
}

function uniqueId(given: string, at: number, ids: Set<string>): string {
  let id = given === '' ? `call_${at + 1}` : given;
  for (let n = 2; ids.has(id); n += 1) id = `${given.slice(0, 180)}_${at + 1}_${n}`;
  ids.add(id);
  return id;
}
