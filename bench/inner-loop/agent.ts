import type { AgentManifest } from '../../manifests/agent/schema.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { oneShotAgent } from '../one-shot-agent.ts';

/**
 * `rounds`: one call in each round; `listing`, `writing`: the same with one kind of tool, which reads or must not be repeated; `long`: as
 * `rounds` with larger files; `one-turn`: all calls in the model's first turn.
 */
export type Variant = 'rounds' | 'listing' | 'writing' | 'long' | 'one-turn';

export const CALLS = 10;
export const TENANT = 'bench';
export const IDENTITY: Identity = { kind: 'local', subject: 'bench', tenant: TENANT, roles: [], tier: 'enterprise' };

export const manifest = (): AgentManifest => oneShotAgent('Keep notes.', "tools: ['fs.*']");

type Call = { readonly name: string; readonly arguments: JsonObject };

const content = (lines: number): string => 'A line of a note that an agent keeps.\n'.repeat(lines);

const pathOf = (note: number): string => `notes/note-${note}.md`;

const written = (note: number, lines: number): Call => ({
  name: 'fs.write',
  arguments: { path: pathOf(note), content: content(lines) },
});

const times = (call: (at: number) => Call): readonly Call[] => Array.from({ length: CALLS }, (_, at) => call(at));

/** A file is written, then read; five times. */
const mixed = (lines: number): readonly Call[] =>
  times((at) => {
    const note = Math.floor(at / 2);
    return at % 2 === 0 ? written(note, lines) : { name: 'fs.read', arguments: { path: pathOf(note) } };
  });

const inRounds = (word: Variant, calls: readonly Call[]): JsonObject[] =>
  calls.map((call, at) => ({ match: { contains: word, round: at + 1 }, reply: { tool_calls: [call] } }));

/** What the scripted model answers; JSON is YAML. Files have a thousand characters, long ones ten thousand. */
export const script = (): string =>
  JSON.stringify({
    rules: [
      ...inRounds('rounds', mixed(26)),
      ...inRounds(
        'listing',
        times(() => ({ name: 'fs.list', arguments: { path: '.' } })),
      ),
      ...inRounds(
        'writing',
        times((at) => written(at, 26)),
      ),
      ...inRounds('long', mixed(260)),
      { match: { contains: 'one-turn', round: 1 }, reply: { tool_calls: mixed(26) } },
      { reply: 'All notes are kept.' },
    ],
  });
