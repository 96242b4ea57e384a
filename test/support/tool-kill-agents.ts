import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Json } from '../../runtime/json.ts';
import { BUSYBOX } from './podman.ts';

/** Where an agent's loop runs, and its commands with it (docs/explanation/inner-loop.md). */
type AgentPlace = 'node' | 'program' | 'container';

/** An agent of ten tool calls. Its model answers by the round and the last tool result, so an undisturbed run always ends
 * the same way. */
export interface ToolAgent {
  readonly name: string;
  readonly place: AgentPlace;
  readonly manifest: string;
  /** What its model says (docs/guides/scripted-provider.md). */
  readonly rules: readonly object[];
  /** Tools of its calls, in the order in which the model asks for them. */
  readonly tools: readonly string[];
}

/** Name of the MCP server whose tool counts its runs. */
export const COUNTER = 'counter';
/** Most iterations: a run that needs a second one completes, and the checks report it. */
const ITERATIONS = 2;
/** File in the workspace to which commands append a mark for each run; no tool of the agents writes there. */
export const JOURNAL = 'journal';
const BOOTSTRAP = join(import.meta.dirname, '../../effects/agents/bootstrap/bootstrap.sh');
const MODEL_DELAY_MS = 25;
const COMMAND_SECS = 0.08;
const NOTES = 'notes.txt';

interface Call {
  readonly name: string;
  readonly arguments: Readonly<Record<string, Json>>;
}

const call = (name: string, args: Readonly<Record<string, Json>>): Call => ({ name, arguments: args });

/** A command: appends its mark, sleeps, prints what the agent has done so far. */
function command(mark: string, iteration: number): Call {
  const script = [
    `echo ${iteration}.${mark} >> ${JOURNAL}`,
    `sleep ${COMMAND_SECS}`,
    `grep ^${iteration} ${JOURNAL}; cat ${NOTES}`,
  ];
  return call('cmd.run', { command: 'sh', args: ['-c', script.join('; ')] });
}

/** Rounds of calls. The last call of each but the third is one that must not be repeated; so is the third's first. */
function roundsOf(iteration: number, counts: boolean): readonly (readonly Call[])[] {
  const count = call(`${COUNTER}.count`, {});
  return [
    [
      call('fs.write', { path: NOTES, content: 'one\ntwo\nend\n' }),
      call('fs.write', { path: 'doomed.txt', content: 'x' }),
    ],
    [call('fs.list', {}), counts ? count : command('first', iteration)],
    [
      call('fs.edit', { path: NOTES, target_content: 'end', replacement_content: '+end' }),
      call('fs.read', { path: NOTES }),
    ],
    [
      call('fs.glob', { pattern: '*.txt', path: '/' }),
      call('fs.grep', { pattern: '^t', path: NOTES }),
      counts ? count : call('fs.delete', { path: 'doomed.txt' }),
    ],
    [command('second', iteration)],
  ];
}

/** As a tool result shows it: JSON. */
const shown = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Output of an undisturbed run. */
export const ALL_DONE = 'All ten calls were made.';
/** Output of a run that stopped at a call in doubt. */
export const STOPPED = 'Stopped: it is unknown whether the last call was made.';
/** Output when it checked, and the edit in doubt had not been made. */
export const NOT_EDITED = 'Stopped: the edit was in doubt, and was not made.';

function rulesOf(agent: string, iteration: number, rounds: readonly (readonly Call[])[]): object[] {
  const when = (round: number, more: object = {}) => ({ contains: `agent=${agent};`, iteration, round, ...more });
  const say = (text: string, calls: readonly Call[] = []) => ({
    text,
    chunks: 3,
    delay_ms: MODEL_DELAY_MS,
    tool_calls: calls,
  });
  const rules: object[] = [];
  for (let round = 1; round <= rounds.length + 1; round += 1) {
    const next = say(`Round ${round} begins. `, rounds[round - 1]);
    if (round > 1) rules.push({ match: when(round, { tool_contains: 'in_doubt' }), reply: say(STOPPED) });
    if (round === 4) {
      rules.push({ match: when(round, { tool_contains: '++end' }), reply: say('The edit was made twice.') });
      rules.push({ match: when(round, { tool_contains: 'two\nend' }), reply: say(NOT_EDITED) });
    }
    if (round <= rounds.length) rules.push({ match: when(round), reply: next });
  }
  const marks = rounds[1]?.some(({ name }) => name === 'cmd.run') ? ['first', 'second'] : ['second'];
  const expected = shown(`${marks.map((mark) => `${iteration}.${mark}\n`).join('')}one\ntwo\n+end\n`);
  const last = rounds.length + 1;
  rules.push({ match: when(last, { tool_contains: `"stdout":"${expected}"` }), reply: say(ALL_DONE) });
  rules.push({ match: when(last), reply: say('The last command saw another workspace.') });
  return rules;
}

interface Shape {
  readonly name: string;
  readonly place: AgentPlace;
  readonly counts?: boolean;
}

function agentOf({ name, place, counts = false }: Shape): ToolAgent {
  const rounds = Array.from({ length: ITERATIONS }, (_, before) => roundsOf(before + 1, counts));
  const cmd = { name: 'cmd.run', executor: 'builtin:cmd', config: { subcommand_allowlist: { sh: ['-c'] } } };
  const spec = {
    runtime: place === 'container' ? { isolation: 'docker', image: BUSYBOX } : { isolation: 'process' },
    ...(place === 'program' ? { advanced: { bootstrap_path: BOOTSTRAP } } : {}),
    tools: ['fs.*', cmd, ...(counts ? [`mcp:${COUNTER}`] : [])],
    task: { prompt_template: `agent=${name};` },
    execution: { max_iterations: ITERATIONS },
  };
  const manifest = { apiVersion: 'svc.dev/v1', kind: 'Agent', metadata: { name, version: '1.0.0' }, spec };
  return {
    name,
    place,
    manifest: stringify(manifest),
    rules: rounds.flatMap((one, before) => rulesOf(name, before + 1, one)),
    tools: (rounds[0] ?? []).flat().map((one) => one.name),
  };
}

/** The agents with these names: in-node, gateway, mcp, docker. */
export function toolAgents(which: readonly string[]): readonly ToolAgent[] {
  const shapes: readonly Shape[] = [
    { name: 'in-node', place: 'node' },
    { name: 'gateway', place: 'program' },
    { name: 'mcp', place: 'node', counts: true },
    { name: 'docker', place: 'container' },
  ];
  return shapes.filter(({ name }) => which.includes(name)).map(agentOf);
}
