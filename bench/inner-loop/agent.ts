import type { AgentManifest } from '../../manifests/agent/schema.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { oneShotAgent } from '../one-shot-agent.ts';

/** `rounds`: one call in each round; `long`: the same with larger files; `one-turn`: all calls in the model's first turn. */
export type Variant = 'rounds' | 'long' | 'one-turn';

export const CALLS = 10;
export const TENANT = 'bench';
export const IDENTITY: Identity = { kind: 'local', subject: 'bench', tenant: TENANT, roles: [], tier: 'enterprise' };

export const manifest = (): AgentManifest => oneShotAgent('Keep notes.', "tools: ['fs.*']");

/** A file is written, then read; five times. */
const calls = (lines: number): readonly { readonly name: string; readonly arguments: JsonObject }[] =>
  Array.from({ length: CALLS }, (_, at): { name: string; arguments: JsonObject } => {
    const path = `notes/note-${Math.floor(at / 2)}.md`;
    const content = 'A line of a note that an agent keeps.\n'.repeat(lines);
    return at % 2 === 0 ? { name: 'fs.write', arguments: { path, content } } : { name: 'fs.read', arguments: { path } };
  });

const inRounds = (word: Variant, lines: number): JsonObject[] =>
  calls(lines).map((call, at) => ({ match: { contains: word, round: at + 1 }, reply: { tool_calls: [call] } }));

/** What the scripted model answers; JSON is YAML. Files have a thousand characters, long ones ten thousand. */
export const script = (): string =>
  JSON.stringify({
    rules: [
      ...inRounds('rounds', 26),
      ...inRounds('long', 260),
      { match: { contains: 'one-turn', round: 1 }, reply: { tool_calls: calls(26) } },
      { reply: 'All notes are kept.' },
    ],
  });
