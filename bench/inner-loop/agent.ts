import { parseAgentManifest } from '../../manifests/agent/parse.ts';
import type { AgentManifest } from '../../manifests/agent/schema.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';

/** `rounds`: a call a round; `one-turn`: all calls in the model's first turn; `none`: an answer at once. */
export const VARIANTS = ['rounds', 'one-turn', 'none'] as const;
export type Variant = (typeof VARIANTS)[number];

export const CALLS = 10;
export const TENANT = 'bench';
export const IDENTITY: Identity = { kind: 'local', subject: 'bench', tenant: TENANT, roles: [], tier: 'enterprise' };

const AGENT = `
apiVersion: svc.dev/v1
kind: Agent
metadata: { name: bench, version: 1.0.0 }
spec:
  task: { instruction: Keep notes. }
  execution: { mode: one-shot }
  tools: ['fs.*']
`;

export function manifest(): AgentManifest {
  const parsed = parseAgentManifest(AGENT);
  if (!parsed.ok) throw new Error('the benchmark’s manifest is wrong');
  return parsed.manifest;
}

const CONTENT = 'A line of a note that an agent keeps.\n'.repeat(26);

/** A file is written, then read; five times. Each holds about a thousand characters. */
const calls: readonly { readonly name: string; readonly arguments: JsonObject }[] = Array.from(
  { length: CALLS },
  (_, at): { name: string; arguments: JsonObject } => {
    const path = `notes/note-${Math.floor(at / 2)}.md`;
    return at % 2 === 0
      ? { name: 'fs.write', arguments: { path, content: CONTENT } }
      : { name: 'fs.read', arguments: { path } };
  },
);

/** What the scripted model answers; JSON is YAML. */
export const script = (): string =>
  JSON.stringify({
    rules: [
      ...calls.map((call, at) => ({ match: { contains: 'rounds', round: at + 1 }, reply: { tool_calls: [call] } })),
      { match: { contains: 'one-turn', round: 1 }, reply: { tool_calls: calls } },
      { reply: 'All notes are kept.' },
    ],
  });
