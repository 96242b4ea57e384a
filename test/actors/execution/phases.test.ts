import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { executionActor } from '../../../actors/execution/definition.ts';
import { AWAITED, phaseOf, stagesOf, waitsOf } from '../../../actors/execution/phase.ts';
import { ExecutionState } from '../../../actors/execution/state.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import type { DrivenTurn } from '../../../runtime/testing/actor-driver.ts';
import type { Bootstrapped } from './bootstrapped.ts';
import { AGENT_ID, EXECUTION_ID, manifestOf } from './driven-execution.ts';
import { WAYS } from './phases.ts';
import { policy } from './tooled.ts';

type MessageName = keyof typeof AWAITED;

const MESSAGES = Object.keys(AWAITED) as MessageName[];
const PLACES = ['pending', 'model', 'program', 'worker', 'context', 'grant', 'round', 'call', 'call judges'].concat([
  'dispatch',
  'panel',
  'judge model',
  'files',
  'script',
  'hints',
  'store',
  'ended',
]);

const isAwaitedAt = (message: MessageName, place: string): boolean => AWAITED[message].some((one) => one === place);

const result = (effectId: string): Json => ({
  ...{ effectId, kind: 'any', attempt: 1 },
  outcome: { kind: 'failed', code: 'unavailable', message: 'down' },
});
const chunk = (effectId: string, value: Json): Json => ({ effectId, attempt: 1, value });
const panel = (panel_id: string): Json => ({
  ...{ panel_id, status: 'failed', error: 'no judge answered', consensus: null, binary_valid: false },
  ...{ individual_results: [], agents: [], context: null },
});

function runningState(): Json {
  const states = Object.values(WAYS).map((way) => ExecutionState.parse(way().state));
  return JSON.parse(JSON.stringify(states.find(({ status }) => status === 'running')));
}

/** A message with the id it carries, if it carries one. */
const PAYLOADS: Readonly<Record<MessageName, (id: string, driven: Bootstrapped) => Json>> = {
  Start: () => ({
    ...{ execution_id: EXECUTION_ID, agent_id: AGENT_ID, input: 'the text' },
    manifest: JSON.parse(JSON.stringify(manifestOf())),
  }),
  Fork: () => ({
    ...{ execution_id: EXECUTION_ID, agent_id: AGENT_ID, input: 'the text', changed: [] },
    manifest: JSON.parse(JSON.stringify(manifestOf())),
    work: {
      ...{ from: { id: 'other', message_id: 'one' }, version: 5, state: runningState() },
      ...{ events: [], timers: [], effects: [], sent: [] },
    },
  }),
  Cancel: () => ({}),
  ExecutionTimedOut: () => ({}),
  IterationTimedOut: (_id, { view }) => ({ iteration: view.status === 'running' ? view.iteration_count : 1 }),
  Attest: (_id, { view }) => ({
    ...{ session_id: 's2', agent_id: AGENT_ID },
    container_id: (view.status === 'running' ? view.current.container_id : undefined) ?? EXECUTION_ID,
  }),
  ModelAnswered: result,
  ModelChunk: (id) => chunk(id, { text: 'a piece' }),
  ProgramEnded: result,
  ProgramChunk: (id) => chunk(id, { container_id: 'another' }),
  WorkerSaid: (id) => chunk(id, { node_id: 'w', index: 9, name: 'iteration_output', payload: {} }),
  WorkerEnded: result,
  Generate: (_id, { view }) => ({
    ...{ agent_id: AGENT_ID, model_alias: '', prompt: 'do it', messages: [] },
    iteration_number: view.status === 'running' ? view.iteration_count : 1,
  }),
  ContextRead: result,
  ToolsGranted: result,
  ToolEnded: result,
  DispatchEnded: (dispatch_id) => ({
    ...{ dispatch_id, exit_code: 0, stdout: '', stderr: '', duration_ms: 1, truncated: false },
  }),
  PanelWord: panel,
  ModelJudged: result,
  FilesRead: result,
  ScriptEnded: result,
  MemoryAnswered: result,
  MemoryTimedOut: (effect_id) => ({ effect_id }),
};

/** A client waits for the answer of these. */
const ASKED: readonly string[] = ['Start', 'Fork', 'Cancel', 'Attest', 'Generate', 'DispatchEnded'];
const CREATES: readonly string[] = ['Start', 'Fork'];
const CARRY_NO_ID: readonly string[] = [
  'Start',
  'Fork',
  'Cancel',
  'ExecutionTimedOut',
  'IterationTimedOut',
  'Attest',
  'Generate',
];

const isNothing = ({ events, effects, sends, cancelled }: DrivenTurn): boolean =>
  [events, effects, sends, cancelled].every(({ length }) => length === 0);

/** The effect of a message with this id on an execution at this stage. */
function sent(way: () => Bootstrapped, message: MessageName, id: string) {
  const driven = way();
  const before = JSON.stringify(driven.state);
  const turn = driven.send(message, PAYLOADS[message](id, driven), 'effect');
  return { turn, changed: JSON.stringify(driven.state) !== before || !isNothing(turn) };
}

/** Ids of all requests, awaited or not, and one that was never used. */
function idsOf(driven: Bootstrapped): string[] {
  const effects = driven.turns.flatMap((turn) => turn.effects.map(({ id }) => id));
  const panels = driven.panels.map(({ panel_id }) => panel_id);
  const dispatches = driven.calls.flatMap(({ dispatch_id }) => dispatch_id ?? []);
  return [...effects, ...panels, ...dispatches, 'unknown'];
}

describe('a message in a phase that does not await it changes nothing, and an awaited one is accepted', () => {
  for (const [name, way] of Object.entries(WAYS)) {
    test(name, () => {
      const state = ExecutionState.parse(way().state);
      const places: readonly string[] = stagesOf(state);
      const waits = state.status === 'running' ? waitsOf(phaseOf(state)) : [];
      for (const message of MESSAGES) {
        const awaits = waits.filter(({ kind }) => isAwaitedAt(message, kind)).map(({ id }) => id);
        const isAwaited = places.some((place) => isAwaitedAt(message, place));
        for (const id of CARRY_NO_ID.includes(message) ? ['none'] : idsOf(way())) {
          const { turn, changed } = sent(way, message, id);
          const taken = CARRY_NO_ID.includes(message) ? isAwaited : awaits.includes(id);
          const shown = `${message} with ${id} in ${places.join(' and ')}`;
          if (ASKED.includes(message)) assert.equal(turn.reply?.ok, taken || CREATES.includes(message), shown);
          // A repeated request finds the loop of the first one.
          if (message === 'Generate' && taken) continue;
          assert.equal(changed, taken, shown);
        }
      }
    });
  }
});

test('the listed paths reach every phase', () => {
  const reached = Object.values(WAYS).flatMap((way) => stagesOf(ExecutionState.parse(way().state)));
  assert.deepEqual([...new Set<string>(reached)].sort(), PLACES.toSorted());
});

test('README.md shows the table', () => {
  const rows = MESSAGES.map((message) => {
    const cells = PLACES.map((place) => (isAwaitedAt(message, place) ? '×' : ''));
    return `| \`${message}\` | ${cells.join(' | ')} |`;
  });
  const table = [`| | ${PLACES.join(' | ')} |`, `|---|${PLACES.map(() => '---').join('|')}|`, ...rows].join('\n');
  assert.ok(readFileSync('actors/execution/README.md', 'utf8').includes(table), table);
});

const Stored = z.object({ name: z.string(), state: z.custom<JsonObject>() });

/** States that version 3 wrote before phases had a name, one path for each line. It stored no trace. */
const stored = readFileSync(`${import.meta.dirname}/stored-states.jsonl`, 'utf8')
  .trim()
  .split('\n')
  .map((line) => Stored.parse(JSON.parse(line)));

describe('states that earlier nodes wrote', () => {
  const definition = executionActor({ policy });
  for (const { name, state } of stored) {
    test(`${name}: opens, and today's node writes the same`, () => {
      assert.deepEqual(JSON.parse(JSON.stringify(definition.state.parse(state))), state);
      const way = WAYS[name];
      assert.ok(way !== undefined);
      const { trace_id, ...written } = JSON.parse(JSON.stringify(way().state));
      assert.equal(trace_id, name === 'pending' ? undefined : '0'.repeat(32));
      assert.deepEqual(written, state);
    });
  }
});
