import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import type { OpenEffect } from '../../../runtime/testing/actor-driver.ts';
import { sample } from '../../support/size.ts';
import { AGENT_ID } from './driven-execution.ts';
import { type Ask, outcomeOf, read, run, ToolingExecution, tooled, write } from './tooled.ts';

type Step = (driven: ToolingExecution) => void;

const CRITIC = { type: 'semantic', judge_agent: 'critic', criteria: 'Is it safe?' };
const BASE = { execution: { max_iterations: 3 } };
const AGENTS: readonly JsonObject[] = [
  BASE,
  { execution: { max_iterations: 3, tool_validation: [CRITIC] } },
  { execution: { max_iterations: 2, validation: [{ type: 'regex', pattern: '^[0-9]+$' }] } },
  { ...BASE, advanced: { bootstrap_path: './agent.sh' }, runtime: { isolation: 'process' } },
  { ...BASE, runtime: { isolation: 'docker' } },
];

/** One of the effects of a kind, old ones too, so that many results are late or repeated. */
const pick = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(4) });
const picked = (driven: ToolingExecution, kind: string, back: number): OpenEffect | undefined =>
  driven.asked(kind).toReversed()[back];

const asks: fc.Arbitrary<readonly Ask[]> = fc.array(
  fc.constantFrom(read('1'), read('2'), write(), run(), { name: 'nope' }, { name: 'fs.read', args: { bad: 1 } }),
  { maxLength: 5 },
);

const settle = (kind: string, type: string, outcome: fc.Arbitrary<Json>): fc.Arbitrary<Step> =>
  fc.tuple(pick, outcome).map(
    ([back, made]): Step =>
      (driven) => {
        const effect = picked(driven, kind, back);
        if (effect === undefined) return;
        driven.send(type, { effectId: effect.id, kind, attempt: 1, outcome: made }, 'effect');
      },
  );

const failed = fc.constantFrom<Json[]>(
  { kind: 'in_doubt' },
  { kind: 'failed', code: 'unavailable', message: 'down' },
  { kind: 'done', value: null },
);
const result: fc.Arbitrary<Json> = fc.constantFrom<Json[]>(
  JSON.parse(JSON.stringify({ kind: 'done', value: outcomeOf('well') })),
  {
    kind: 'done',
    value: {
      ...{ content: [], is_error: true, duration_ms: 1 },
      error: { code: 'tool_failed', class: 'fatal', message: 'broken' },
    },
  },
);
const sometimes = (usual: fc.Arbitrary<Json>) =>
  fc.oneof({ weight: 6, arbitrary: usual }, { weight: 1, arbitrary: failed });
const send =
  (type: string, payload: (driven: ToolingExecution) => Json): Step =>
  (driven) =>
    void driven.send(type, payload(driven));
const dispatchOf = ({ calls }: ToolingExecution): string =>
  calls.find(({ status }) => status === 'dispatched')?.dispatch_id ?? 'none';
const generate = (prompt: string): Step =>
  send('Generate', ({ view }) => ({
    ...{ agent_id: AGENT_ID, model_alias: '', prompt, messages: [] },
    iteration_number: view.status === 'running' ? view.iteration_count : 1,
  }));
const dispatchEnded = send('DispatchEnded', (driven) => ({
  ...{ dispatch_id: dispatchOf(driven), exit_code: 0, stdout: 'out', stderr: '', duration_ms: 1, truncated: false },
}));

const programEnd = fc.constantFrom<Json[]>(
  { kind: 'in_doubt' },
  { kind: 'done', value: { exit_code: 0, stdout: '7' } },
  { kind: 'done', value: { exit_code: 1, stdout: 'x' } },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constant<Step>((driven) => void (driven.asked('tools.grant').length > 0 && driven.granted())),
  },
  {
    weight: 8,
    arbitrary: fc.tuple(pick, asks, fc.constantFrom('7', 'words')).map(
      ([back, calls, text]): Step =>
        (driven) => {
          const effect = picked(driven, 'model.generate', back);
          if (effect !== undefined) driven.says(text, calls, effect);
        },
    ),
  },
  { weight: 10, arbitrary: settle('tool.call', 'ToolEnded', sometimes(result)) },
  { weight: 1, arbitrary: settle('model.generate', 'ModelAnswered', failed) },
  { weight: 1, arbitrary: settle('program.run', 'ProgramEnded', programEnd) },
  { weight: 1, arbitrary: settle('agent.container', 'ProgramEnded', programEnd) },
  {
    weight: 4,
    arbitrary: fc.tuple(fc.nat(2), fc.constantFrom(0.1, 0.9, 0.9, null)).map(
      ([back, score]): Step =>
        (driven) => {
          const panel = driven.panels.toReversed()[back];
          if (panel !== undefined) driven.judge(score, panel);
        },
    ),
  },
  { weight: 4, arbitrary: fc.constantFrom(generate('one'), generate('one'), generate('two')) },
  { weight: 4, arbitrary: fc.constant(dispatchEnded) },
  { weight: 1, arbitrary: fc.constant<Step>((driven) => void driven.send('Cancel', {})) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('iteration', 'execution').map(
      (name): Step =>
        (driven) => {
          if (driven.timers.has(name)) driven.fire(name);
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(pick, fc.constantFrom('a', 'b')).map(
      ([back, text]): Step =>
        (driven) => {
          const effect = picked(driven, 'model.generate', back);
          if (effect !== undefined) driven.chunk(text, 1, effect.id);
        },
    ),
  },
);
/** Most begin in the middle of a turn of the model, so that the rest happens to calls. */
const begun: fc.Arbitrary<readonly Step[]> = fc.oneof(
  { weight: 1, arbitrary: fc.constant([]) },
  {
    weight: 5,
    arbitrary: asks.map((calls): readonly Step[] => [
      generate('one'),
      (driven) => void driven.granted(),
      (driven) => void driven.says('', [read('1'), read('2'), ...calls]),
    ]),
  },
);
const mailbox = fc.tuple(
  fc.constantFrom(...AGENTS),
  fc.tuple(begun, fc.array(step, { maxLength: 60 })).map(([first, rest]) => [...first, ...rest]),
);

function drive(agent: JsonObject, steps: readonly Step[]): ToolingExecution {
  const driven = new ToolingExecution();
  driven.start(tooled(agent));
  for (const each of steps) each(driven);
  return driven;
}

const GRAMMAR = /^S(i(fri|o)*)*(cC|fF)?$/;
const LETTER: Readonly<Record<string, string>> = {
  ...{ execution_started: 'S', iteration_started: 'i', iteration_output: 'o', iteration_completed: 'c' },
  ...{ iteration_failed: 'f', refinement_applied: 'r', execution_completed: 'C', execution_failed: 'F' },
};

/** Ids of the calls of each turn, with the answers that follow it. */
function assertPaired(messages: readonly JsonObject[]): void {
  messages.forEach(({ role, tool_calls: calls }, at) => {
    if (role !== 'assistant' || !Array.isArray(calls)) return;
    const asked = calls.map((call) => (call as JsonObject).id);
    const answered = messages.slice(at + 1, at + 1 + asked.length).map((message) => message.tool_call_id);
    assert.deepEqual(answered, asked);
    assert.notEqual(messages[at + 1 + asked.length]?.role, 'tool');
  });
}

test('for any order of messages the stream keeps its grammar, and every call is answered exactly once', () => {
  fc.assert(
    fc.property(mailbox, ([agent, steps]) => {
      const driven = drive(agent, steps);
      assert.match(driven.names.map((name) => LETTER[name]).join(''), GRAMMAR);
      for (const { request } of driven.asked('model.generate')) {
        assertPaired(JSON.parse(JSON.stringify(request.input.messages)));
      }
      assert.equal(driven.timers.size, driven.view.status === 'running' ? 2 : 0);
    }),
    { numRuns: sample({ normal: 40, long: 400 }) },
  );
});

test('for any messages no call runs twice, an allowed call is recorded before it ends, and each ends at most once', () => {
  fc.assert(
    fc.property(mailbox, ([agent, steps]) => {
      const driven = drive(agent, steps);
      const keys = driven.asked('tool.call').map(({ request }) => JSON.stringify(request.context));
      assert.equal(new Set(keys).size, keys.length);
      const allowed = new Set<unknown>();
      const ended = new Set<unknown>();
      for (const { kind, call, decision } of driven.records) {
        if (kind === 'decided' && decision === 'allowed') allowed.add(call);
        if (kind !== 'ended') continue;
        assert.ok(allowed.has(call) && !ended.has(call));
        ended.add(call);
      }
    }),
    { numRuns: sample({ normal: 30, long: 300 }) },
  );
});

test('for any messages a running execution waits for a requested effect that will be answered', () => {
  fc.assert(
    fc.property(mailbox, ([agent, steps]) => {
      const driven = drive(agent, steps);
      const { view } = driven;
      if (view.status !== 'running') return;
      const { effect_id, loop, judging } = view.current;
      const effects = [effect_id, loop?.effect_id, ...(loop?.calls ?? []).map((call) => call.effect_id)];
      const waits = effects.some((id) => typeof id === 'string' && driven.effects.has(id));
      const open = (loop?.calls ?? []).filter(({ status }) => status === 'judging' || status === 'dispatched');
      assert.ok(waits || open.length > 0 || judging !== undefined);
      assert.ok((loop?.calls ?? []).filter(({ status }) => status === 'dispatched').length <= 1);
    }),
    { numRuns: sample({ normal: 20, long: 200 }) },
  );
});

test('a loop that is restored from its record at any message makes the same decisions with the same ids', () => {
  fc.assert(
    fc.property(mailbox, fc.nat(60), ([agent, steps], at) => {
      const lost = drive(agent, steps.slice(0, at + 1));
      const revived = drive(agent, steps.slice(0, at));
      steps[at]?.(revived);
      assert.deepEqual(revived.turns.at(-1), lost.turns.at(-1));
      assert.deepEqual(revived.state, lost.state);
    }),
    { numRuns: 100 },
  );
});
