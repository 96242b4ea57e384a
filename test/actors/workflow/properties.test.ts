import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { WorkflowManifest } from '../../../manifests/workflow/schema.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import type { MessageOrigin } from '../../../runtime/message.ts';
import type { DrivenTurn } from '../../../runtime/testing/actor-driver.ts';
import { sample } from '../../support/size.ts';
import { toJson } from '../../support/to-json.ts';
import { DrivenWorkflow, manifestOf, pure, single } from './driven-workflow.ts';

/** One message of a random mailbox. `pick` counts back over all requests, most of which are stale. */
type Step =
  | { readonly kind: 'start' | 'cancel' }
  | { readonly kind: 'result'; readonly pick: number; readonly outcome: Json }
  /** A result under the name of another effect's. */
  | { readonly kind: 'stray'; readonly type: string; readonly pick: number; readonly outcome: Json }
  | { readonly kind: 'word'; readonly type: string; readonly pick: number; readonly word: JsonObject }
  | { readonly kind: 'timer'; readonly type: 'StateTimedOut' | 'RetryContainer' | 'Continue'; readonly entry: number }
  | { readonly kind: 'fire'; readonly name: 'state' | 'retry' };

const weighted = <T>(...arms: readonly (readonly [number, fc.Arbitrary<T>])[]): fc.Arbitrary<T> =>
  fc.oneof(...arms.map(([weight, arbitrary]) => ({ weight, arbitrary })));

const pick = weighted([4, fc.constant(0)], [2, fc.nat(5)]);
const value: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom(0, 0, 1, 137, null).map((exit_code) => ({ exit_code, stdout: 'o', stderr: '', duration_ms: 1 })),
  fc.constantFrom<Json>({ workflow_id: 'c', name: 'c' }, { agent_id: 'a' }, { timed_out: true }, null, 'x', []),
  fc.constant<Json>({ workspace: { volume_id: 'w' }, shared: {} }),
);
const outcome: fc.Arbitrary<Json> = weighted<Json>(
  [6, value.map((made) => ({ kind: 'done', value: made }))],
  [1, fc.constant({ kind: 'in_doubt' })],
  [2, fc.constantFrom('unavailable', 'forbidden').map((code) => ({ kind: 'failed', code, message: 'no' }))],
);
const ended = fc.constantFrom('running', 'completed', 'completed', 'failed', 'cancelled');
const payload = fc.constantFrom('yes', 'no', 'text', null);

const RESULTS = ['VolumesPrepared', 'CommandEnded', 'ContainerEnded', 'AgentStarted', 'ChildStarted'] as const;

const step: fc.Arbitrary<Step> = weighted<Step>(
  [1, fc.constant({ kind: 'start' })],
  [1, fc.constant({ kind: 'cancel' })],
  [8, fc.tuple(pick, outcome).map(([picked, made]) => ({ kind: 'result', pick: picked, outcome: made }))],
  [
    2,
    fc
      .tuple(fc.constantFrom(...RESULTS), pick, outcome)
      .map(([type, picked, made]) => ({ kind: 'stray', type, pick: picked, outcome: made })),
  ],
  [
    8,
    fc.tuple(fc.constantFrom('AgentWord', 'ChildWord'), pick, ended).map(([type, picked, status]) => ({
      ...{ kind: 'word', type, pick: picked },
      word: { status, output: status === 'completed' ? '{"score": 0.5}' : null, reason: null, error: null },
    })),
  ],
  [
    4,
    fc.tuple(pick, fc.constantFrom('concluded', 'failed', 'cancelled')).map(([picked, status]) => ({
      ...{ kind: 'word', type: 'PanelWord', pick: picked },
      word: { status, consensus: { score: 0.8, confidence: 1, strategy: 'majority', metadata: {} } },
    })),
  ],
  [
    8,
    fc.tuple(pick, fc.constantFrom('opened', 'answered', 'expired'), payload).map(([picked, kind, said]) => ({
      ...{ kind: 'word', type: 'ApprovalWord', pick: picked },
      word: { kind, payload: kind === 'answered' ? (said ?? 'x') : said, feedback: null },
    })),
  ],
  [
    3,
    fc
      .tuple(fc.constantFrom('StateTimedOut' as const, 'RetryContainer' as const, 'Continue' as const), fc.nat(6))
      .map(([type, entry]) => ({ kind: 'timer', type, entry })),
  ],
  [2, fc.constantFrom('state' as const, 'retry' as const).map((name) => ({ kind: 'fire', name }))],
);

const loop: Json = [{ condition: 'on_success', target: 'NEXT' }, { target: 'STEP' }];
const container = { image: 'alpine', command: ['true'] };
const consensus = { strategy: 'majority' };
const AGENT = { kind: 'Agent', agent: 'a' };
const EACH: readonly JsonObject[] = [
  AGENT,
  { kind: 'System', command: 'true' },
  { kind: 'Human', prompt: '?', timeout: '1h' },
  { kind: 'ParallelAgents', agents: [{ agent: 'a' }], consensus },
  { kind: 'ContainerRun', ...container, retry: { max_attempts: 3, backoff: '1s' } },
  { kind: 'ParallelContainerRun', steps: ['a', 'b'].map((name) => ({ name, ...container })) },
  { kind: 'Subworkflow', workflow_id: 'c', result_key: 'r' },
  { kind: 'Subworkflow', workflow_id: 'c', mode: 'fire_and_forget' },
];
const MANIFESTS: readonly WorkflowManifest[] = [
  ...EACH.map((state) => single(state)),
  ...EACH.map((state) =>
    manifestOf({
      STEP: { ...state, transitions: loop },
      NEXT: { ...AGENT, transitions: [{ condition: 'score_above', threshold: 0.4, target: 'STEP' }] },
    }),
  ),
  single({ kind: 'System', command: 'true' }, { annotations: { 'svc.dev/on-in-doubt': 'ask' } }),
  single({ kind: 'System', command: 'true' }, { annotations: { 'svc.dev/on-in-doubt': 'retry' } }),
  single(AGENT, { spec: { storage: { workspace: {} } } }),
  manifestOf({ A: pure('a', [{ target: 'A' }]) }),
];
const manifest = fc.constantFrom(...MANIFESTS);
const steps = fc.array(step, { maxLength: 50 });

interface Sent {
  readonly type: string;
  readonly payload: Json;
}

class RecordedWorkflow extends DrivenWorkflow {
  readonly sent: Sent[] = [];

  override send(type: string, payload: Json, origin?: MessageOrigin): DrivenTurn {
    this.sent.push({ type, payload });
    return super.send(type, payload, origin);
  }
}

const run = (flow: WorkflowManifest, mailbox: readonly Step[]): RecordedWorkflow => {
  const driven = new RecordedWorkflow(60);
  for (const each of mailbox) apply(driven, flow, each);
  return driven;
};

const WORD_BASE: Readonly<Record<string, JsonObject>> = {
  AgentWord: { agent_id: 'a', iterations: 1, score: 1, context: null },
  ChildWord: { workflow_id: 'c', blackboard: {}, context: null },
  PanelWord: { error: null, binary_valid: true, individual_results: [], agents: [], context: null },
  ApprovalWord: { context: null },
};
const WORD_ID: Readonly<Record<string, string>> = { PanelWord: 'panel_id', ApprovalWord: 'approval_id' };
const ACTOR_KIND: Readonly<Record<string, string>> = { PanelWord: 'judge-panel', ApprovalWord: 'approval' };

/** Ids under which the run ever asked for such an actor, newest first. */
function idsFor(driven: DrivenWorkflow, type: string): string[] {
  const sent = driven.turns.flatMap((turn) => turn.sends).filter(({ to }) => to.startsWith(`${ACTOR_KIND[type]}/`));
  const started = driven.turns.flatMap((turn) => turn.effects).map(({ request }) => request.input.execution_id);
  const ids = ACTOR_KIND[type] === undefined ? started : sent.map(({ to }) => to.split('/')[2]);
  return ids.filter((id) => typeof id === 'string').toReversed();
}

const entryOf = (payload: Json): Json | undefined =>
  payload !== null && typeof payload === 'object' && !Array.isArray(payload) ? payload.entry : undefined;

function apply(driven: DrivenWorkflow, flow: WorkflowManifest, each: Step): void {
  switch (each.kind) {
    case 'start':
      driven.start(flow);
      break;
    case 'cancel':
      driven.send('Cancel', {});
      break;
    case 'fire':
      if (driven.timers.has(each.name)) driven.fire(each.name);
      break;
    case 'timer': {
      // The kernel lets a timer's message in by taking the timer: an armed one cannot come and stay armed.
      const armed = [...driven.timers].find(
        ([, { type, payload }]) => type === each.type && entryOf(payload) === each.entry,
      );
      if (armed === undefined) driven.send(each.type, { entry: each.entry }, 'timer');
      else driven.fire(armed[0]);
      break;
    }
    case 'result': {
      const asked = driven.turns.flatMap((turn) => turn.effects.map((effect) => effect.id)).toReversed();
      driven.result(each.outcome, asked[each.pick] ?? 'never-asked');
      break;
    }
    case 'stray': {
      const asked = driven.turns.flatMap((turn) => turn.effects).toReversed()[each.pick];
      const { id: effectId, kind } = { id: asked?.id ?? 'never-asked', kind: asked?.request.kind ?? '' };
      // Under its own name it is a result like any other, and its effect is closed.
      if (asked?.request.replyAs === each.type) driven.result(each.outcome, effectId);
      else driven.send(each.type, { effectId, kind, attempt: 1, outcome: each.outcome }, 'effect');
      break;
    }
    case 'word': {
      const id = idsFor(driven, each.type)[each.pick] ?? 'unknown';
      const payload = { ...WORD_BASE[each.type], ...each.word, [WORD_ID[each.type] ?? 'execution_id']: id };
      driven.send(each.type, payload, 'actor');
    }
  }
}

const LETTER: Readonly<Record<string, string>> = {
  WorkflowExecutionStarted: 'S',
  WorkflowStateEntered: 'e',
  WorkflowStateExited: 'x',
  WorkflowExecutionCompleted: 'C',
  WorkflowExecutionFailed: 'F',
  WorkflowExecutionCancelled: 'X',
};
/** What a stream may be at any moment; between entering and leaving a state are the events of its work. */
const GRAMMAR = /^(S(ew*x)*((ew*)?X?|F|C)?)?$/;

test('any mailbox gives events in the order of the grammar, and nothing after the last', () => {
  fc.assert(
    fc.property(manifest, fc.boolean(), steps, (flow, first, rest) => {
      const driven = run(flow, first ? [{ kind: 'start' }, ...rest] : rest);
      const word = driven.names.map((name) => LETTER[name] ?? 'w').join('');
      assert.match(word, GRAMMAR);
      const over = ['completed', 'failed', 'cancelled'].includes(driven.status);
      assert.equal(/[CFX]$/.test(word), over);
      if (over) assert.equal(driven.effects.size + driven.timers.size, 0);
    }),
    { numRuns: sample({ normal: 100, long: 1_000 }) },
  );
});

test('a run waits for one state: its open effects are the ones it names, and none of an earlier state is left', () => {
  fc.assert(
    fc.property(manifest, steps, (flow, rest) => {
      const driven = new DrivenWorkflow(60);
      driven.start(flow);
      for (const each of rest) {
        apply(driven, flow, each);
        const { view } = driven;
        if (!('awaiting' in view)) continue;
        const { awaiting } = view;
        const single = 'effect_id' in awaiting && awaiting.effect_id !== null ? [awaiting.effect_id] : [];
        const named = awaiting.kind === 'containers' ? Object.values(awaiting.effects) : single;
        assert.deepEqual([...driven.effects.keys()].sort(), [...named].sort());
        assert.equal(driven.timers.has('retry'), awaiting.kind === 'container' && awaiting.effect_id === null);
        assert.equal(view.status === 'waiting_for_human_input', awaiting.kind === 'approval' && awaiting.opened);
      }
    }),
    { numRuns: sample({ normal: 50, long: 500 }) },
  );
});

test('every effect that a run requested has answered or was cancelled', () => {
  fc.assert(
    fc.property(manifest, steps, (flow, rest) => {
      const driven = run(flow, [{ kind: 'start' }, ...rest, { kind: 'cancel' }]);
      const sends = driven.turns.flatMap((turn) => turn.sends);
      const letGo = new Set<string>(
        sends.filter(({ type }) => type === 'Cancel' || type === 'Withdraw').map(({ to }) => to),
      );
      const answered = new Set(driven.sent.filter(isLast(flow)).map(({ payload }) => idOf(payload)));
      const asked = sends.filter(({ type }) => type === 'Ask' || type === 'Convene').map(({ to }) => to);
      const started = driven.turns
        .flatMap((turn) => turn.effects)
        .filter(({ request }) => request.kind.endsWith('.start'))
        .map(({ request }) => {
          const kind = request.kind === 'agent.start' ? 'execution' : 'workflow';
          return `${kind}/acme/${String(request.input.execution_id)}`;
        });
      for (const address of [...asked, ...started])
        assert.ok(letGo.has(address) || answered.has(address.split('/')[2] ?? ''), address);
    }),
    { numRuns: sample({ normal: 50, long: 500 }) },
  );
});

const idOf = (payload: Json): string => {
  const { execution_id, panel_id, approval_id } = toJson(payload);
  return String(execution_id ?? panel_id ?? approval_id);
};

/** Messages after which the actor needs no cancel; a detached child needs none once it runs. */
const isLast =
  (flow: WorkflowManifest) =>
  ({ type, payload }: Sent): boolean => {
    const { status, kind } = toJson(payload);
    if (type === 'ApprovalWord') return kind !== 'opened';
    const detached = Object.values(flow.spec.states).some((state) => 'mode' in state && state.mode !== 'blocking');
    return type.endsWith('Word') && (status !== 'running' || (type === 'ChildWord' && detached));
  };

test('the same messages give the same state, events, effects and answers', () => {
  fc.assert(
    fc.property(manifest, steps, (flow, rest) => {
      const mailbox: Step[] = [{ kind: 'start' }, ...rest];
      const once = run(flow, mailbox);
      const again = run(flow, mailbox);
      assert.deepEqual(again.state, once.state);
      assert.deepEqual(again.events, once.events);
      assert.deepEqual(again.turns, once.turns);
    }),
    { numRuns: 200 },
  );
});

test('a message delivered twice changes nothing the second time', () => {
  fc.assert(
    fc.property(manifest, steps, step, (flow, rest, last) => {
      fc.pre(last.kind === 'result' || last.kind === 'word' || last.kind === 'timer');
      const driven = run(flow, [{ kind: 'start' }, ...rest, last]);
      const state = JSON.stringify(driven.state);
      const count = driven.names.length;
      const sent = driven.sent.at(-1);
      assert.ok(sent !== undefined);
      driven.send(sent.type, sent.payload, 'actor');
      assert.equal(JSON.stringify(driven.state), state);
      assert.equal(driven.names.length, count);
    }),
    { numRuns: 300 },
  );
});
