import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AgentManifest } from '../../../manifests/agent/schema.ts';
import type { Json } from '../../../runtime/json.ts';
import { sample } from '../../support/size.ts';
import { DrivenExecution, manifestOf, programOf } from './driven-execution.ts';

/** One message of a random mailbox. Numbers pick among the effects ever asked for, so most are stale. */
type Step =
  | { readonly kind: 'start' }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'iterationTimer'; readonly iteration: number }
  | { readonly kind: 'executionTimer' }
  | {
      readonly kind: 'result';
      readonly pick: number;
      readonly type: 'ModelAnswered' | 'ProgramEnded';
      readonly outcome: Json;
    }
  | { readonly kind: 'chunk'; readonly pick: number; readonly attempt: number; readonly value: Json };

const text = fc.oneof(
  fc.constantFrom('7', 'x', '', '{"a":1}', 'line\nline\n'),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
);
const value: fc.Arbitrary<Json> = fc.oneof(
  fc.record({ text, exit_code: fc.constantFrom(0, 1, null), stdout: text, stderr: text }),
  text.map((said) => ({ text: said, tool_calls: [{ name: 'fs.read' }], exit_code: 0, stdout: said, timed_out: true })),
  fc.constantFrom<Json[]>(null, 1, 'text', [], {}),
);
const outcome: fc.Arbitrary<Json> = fc.oneof(
  { weight: 5, arbitrary: value.map((made) => ({ kind: 'done', value: made })) },
  { weight: 1, arbitrary: fc.constant({ kind: 'in_doubt' }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('model_unavailable', 'forbidden', 'program_failed')
      .map((code) => ({ kind: 'failed', code, message: 'it failed' })),
  },
);
const pick = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(6) });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'start' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'cancel' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'executionTimer' }) },
  { weight: 2, arbitrary: fc.nat(100_000).map((ms): Step => ({ kind: 'advance', ms })) },
  { weight: 2, arbitrary: fc.nat(4).map((iteration): Step => ({ kind: 'iterationTimer', iteration })) },
  {
    weight: 8,
    arbitrary: fc
      .tuple(pick, fc.constantFrom('ModelAnswered' as const, 'ProgramEnded' as const), outcome)
      .map(([picked, type, made]): Step => ({ kind: 'result', pick: picked, type, outcome: made })),
  },
  {
    weight: 8,
    arbitrary: fc
      .tuple(
        pick,
        fc.integer({ min: 1, max: 4 }),
        fc.oneof(
          text.map((said) => ({ text: said })),
          fc.constant(null),
        ),
      )
      .map(([picked, attempt, made]): Step => ({ kind: 'chunk', pick: picked, attempt, value: made })),
  },
);

const validation = [{ type: 'regex', pattern: '^[0-9]+$' }];
const MANIFESTS: readonly AgentManifest[] = [
  manifestOf(),
  manifestOf({ execution: { validation, max_iterations: 3 } }),
  programOf({ max_iterations: 4 }),
  programOf({ validation, mode: 'one-shot' }),
  programOf({ validation }, { 'svc.dev/on-in-doubt': 'fail' }),
];
const manifest = fc.constantFrom(...MANIFESTS);
const steps = fc.array(step, { maxLength: 60 });

function run(agent: AgentManifest, mailbox: readonly Step[]): DrivenExecution {
  const driven = new DrivenExecution();
  for (const each of mailbox) apply(driven, agent, each);
  return driven;
}

function apply(driven: DrivenExecution, agent: AgentManifest, each: Step): void {
  const asked = driven.turns.flatMap((turn) => turn.effects.map((effect) => effect.id)).toReversed();
  if (each.kind === 'start') driven.start(agent);
  else if (each.kind === 'cancel') driven.send('Cancel', {});
  else if (each.kind === 'advance') driven.advance(each.ms);
  else if (each.kind === 'iterationTimer') driven.send('IterationTimedOut', { iteration: each.iteration }, 'timer');
  else if (each.kind === 'executionTimer') driven.send('ExecutionTimedOut', {}, 'timer');
  else {
    const effectId = asked[each.pick] ?? 'never-asked';
    if (each.kind === 'result') driven.result(each.type, each.outcome, effectId);
    else {
      const type = agent.spec.advanced.bootstrap_path === undefined ? 'ModelChunk' : 'ProgramChunk';
      driven.send(type, { effectId, attempt: each.attempt, value: each.value }, 'effect');
    }
  }
}

const LETTER: Readonly<Record<string, string>> = {
  execution_started: 'S',
  iteration_started: 'i',
  iteration_output: 'o',
  iteration_completed: 'c',
  iteration_failed: 'f',
  refinement_applied: 'r',
  execution_completed: 'C',
  execution_failed: 'F',
};
/** What a stream may be at any moment; a whole one ends in C or F and nothing follows. */
const GRAMMAR = /^(S(io*fr)*(i(o*|o*cC|o*fF)|F))?$/;

test('any mailbox gives events in the order of the grammar, and nothing after the last', () => {
  fc.assert(
    fc.property(manifest, fc.boolean(), steps, (agent, first, rest) => {
      const driven = run(agent, first ? [{ kind: 'start' }, ...rest] : rest);
      const word = driven.names.map((name) => LETTER[name]).join('');
      assert.match(word, GRAMMAR);
      const { status } = driven.view;
      const ended = /[CF]$/.test(word);
      assert.equal(ended, status === 'completed' || status === 'failed' || status === 'cancelled');
      assert.equal(driven.timers.size, status === 'running' ? 2 : 0);
    }),
    { numRuns: sample({ normal: 50, long: 500 }) },
  );
});

test('a running execution always waits for an effect that was asked for, not cancelled, and not answered yet', () => {
  fc.assert(
    fc.property(manifest, steps, (agent, rest) => {
      const driven = new DrivenExecution();
      driven.start(agent);
      for (const each of rest) {
        const before = driven.view;
        apply(driven, agent, each);
        const after = driven.view;
        if (after.status !== 'running') continue;
        assert.ok(driven.effects.has(after.current.effect_id));
        const type = agent.spec.advanced.bootstrap_path === undefined ? 'ModelAnswered' : 'ProgramEnded';
        const answered = each.kind === 'result' && each.type === type && each.pick === 0 && before.status === 'running';
        if (answered) assert.notEqual(after.current.effect_id, before.current.effect_id);
      }
    }),
    { numRuns: 200 },
  );
});

test('the same messages give the same state, events, effects and answers', () => {
  fc.assert(
    fc.property(manifest, steps, (agent, rest) => {
      const mailbox: Step[] = [{ kind: 'start' }, ...rest];
      const once = run(agent, mailbox);
      const again = run(agent, mailbox);
      assert.deepEqual(again.state, once.state);
      assert.deepEqual(again.events, once.events);
      assert.deepEqual(again.turns, once.turns);
    }),
    { numRuns: 200 },
  );
});

test('a result, timer or start delivered twice changes nothing the second time', () => {
  fc.assert(
    fc.property(manifest, steps, step, (agent, rest, last) => {
      fc.pre(last.kind === 'result' || last.kind === 'iterationTimer' || last.kind === 'start');
      const driven = run(agent, [{ kind: 'start' }, ...rest]);
      const asked = driven.turns.flatMap((turn) => turn.effects.map((effect) => effect.id)).toReversed();
      const repeat = (): void => {
        if (last.kind === 'result') driven.result(last.type, last.outcome, asked[last.pick] ?? 'never-asked');
        else apply(driven, agent, last);
      };
      repeat();
      const state = JSON.stringify(driven.state);
      const count = driven.names.length;
      repeat();
      assert.equal(JSON.stringify(driven.state), state);
      assert.equal(driven.names.length, count);
    }),
    { numRuns: sample({ normal: 30, long: 300 }) },
  );
});
