import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { execution } from '../../../actors/execution/definition.ts';
import { phaseOf, stagesOf, waitsOf } from '../../../actors/execution/phase.ts';
import { ExecutionState } from '../../../actors/execution/state.ts';
import { type JsonObject, plainJson, plainObject } from '../../../runtime/json.ts';
import { ActorDriver, type DrivenTurn } from '../../../runtime/testing/actor-driver.ts';
import { Bootstrapped } from './bootstrapped.ts';
import { AGENT_ID, EXECUTION_ID, manifestOf, programOf } from './driven-execution.ts';
import { WAYS } from './phases.ts';

const FORK_ID = '3f0c9a52-7a3e-4b67-9d44-0d0f6d1f2a99';

const ACTORS = ['judge-panel', 'approval'];

/** A fork of an execution in its present state, before it gets further messages. */
function forkOf(original: Bootstrapped, extra: JsonObject = {}): { fork: ActorDriver; turn: DrivenTurn } {
  const ends = original.turns.flatMap(({ sends }) => sends);
  const fork = new ActorDriver(execution, 'acme', FORK_ID);
  fork.identity = original.identity;
  const turn = fork.send('Fork', {
    ...{ execution_id: FORK_ID, agent_id: AGENT_ID, input: 'the text', changed: [] },
    manifest: plainObject(manifestOf()),
    work: {
      ...{ from: { id: EXECUTION_ID, message_id: 'm' }, version: 5, state: plainJson(original.state) },
      events: original.events.map(({ name, payload }) => ({ name, payload })),
      timers: [...original.timers].map(([name, { type, payload }]) => ({ name, after_ms: 1, type, payload })),
      effects: open(original),
      sent: ends
        .filter(({ to }) => ACTORS.includes(to.split('/')[0] ?? ''))
        .map(({ to, type, payload }) => ({ to, type, payload })),
    },
    ...extra,
  });
  return { fork, turn };
}

/** The driver keeps an effect until it is cancelled; what is awaited is what is open. */
function open(original: Bootstrapped) {
  const awaited = new Set(waitsIn(original.state).map(({ id }) => id));
  return [...original.effects.values()]
    .filter(({ id }) => awaited.has(id))
    .map(({ id, request }) => ({ id, request: plainObject(request) }));
}

function waitsIn(state: unknown) {
  const read = ExecutionState.parse(state);
  return read.status === 'running' ? waitsOf(phaseOf(read)) : [];
}

const running = Object.entries(WAYS).filter(([, way]) => ExecutionState.parse(way().state).status === 'running');

describe('a fork of an execution goes on where the original is, under ids of its own', () => {
  for (const [name, way] of running) {
    test(name, () => {
      const original = way();
      const { fork, turn } = forkOf(original);
      assert.deepEqual(turn.reply, { ok: true, value: { execution_id: FORK_ID } });
      assert.deepEqual(stagesOf(ExecutionState.parse(fork.state)), stagesOf(ExecutionState.parse(original.state)));
      const before = waitsIn(original.state).map(({ id }) => id);
      const opened = [...turn.effects.map(({ id }) => id), ...turn.sends.map(({ to }) => to.split('/')[2])];
      for (const { kind, id } of waitsIn(fork.state)) {
        assert.ok(!before.includes(id), `${kind} has the id of the original`);
        if (kind !== 'dispatch') assert.ok(opened.includes(id), `${kind} was not opened`);
      }
      assert.equal(turn.effects.length, open(original).length);
      assert.deepEqual(
        turn.events.map((event) => event.name),
        original.events.map((event) => event.name),
      );
      assert.deepEqual([...fork.timers.keys()].sort(), [...original.timers.keys()].sort());
      const state = ExecutionState.parse(fork.state);
      assert.ok(state.status === 'running');
      assert.deepEqual(state.forked_from, { id: EXECUTION_ID, message_id: 'm' });
      const { forked_from: _from, ...rest } = state;
      const text = JSON.stringify([rest, turn.effects, turn.events, turn.sends.map(({ payload }) => payload)]);
      assert.ok(!text.includes(`"${EXECUTION_ID}"`), 'an id of the original is left');
    });
  }
});

test('a fork has the volumes of the manifest that its own start made, and those of the workflow as they were', () => {
  const given = { volume_id: 'given', mount_path: '/workspace/given', read_only: true };
  const named = (volume_id: string) => ({
    ...{ volume_id, mount_path: '/workspace/scratch', read_only: false, of_manifest: true },
  });
  const original = new Bootstrapped();
  original.start(programOf(), { mounts: [given, named('of-original')] });
  const { fork, turn } = forkOf(original, { mounts: [given, named('of-fork')] });
  const expected = [given, { volume_id: 'of-fork', mount_path: '/workspace/scratch', read_only: false }];
  assert.deepEqual(turn.effects[0]?.request.input.mounts, expected);
  assert.ok(!JSON.stringify(fork.state).includes('of-original'));
});

describe('a fork with another input asks again what waits for it, and only that', () => {
  for (const [name, way] of running) {
    test(name, () => {
      const original = way();
      const { fork, turn } = forkOf(original, { input: 'quite another text', changed: ['input'] });
      assert.equal(turn.reply?.ok, true);
      assert.equal(turn.effects.length, open(original).length);
      const state = ExecutionState.parse(fork.state);
      assert.ok(state.status === 'running' && state.input === 'quite another text');
      assert.deepEqual(
        waitsIn(fork.state).map(({ kind }) => kind),
        waitsIn(original.state).map(({ kind }) =>
          kind === 'round' && turn.effects[0]?.request.kind === 'tools.grant' ? 'grant' : kind,
        ),
      );
    });
  }
  test('with a changed manifest the contents of spec.context that were read stay, and other files are refused', () => {
    const context = (path: string) => [{ type: 'file', path }];
    const original = WAYS['reads its context']?.() ?? assert.fail();
    const changed = (path: string) => ({
      manifest: plainObject(manifestOf({ context: context(path), task: { instruction: 'Shorten.' } })),
      changed: ['manifest'],
    });
    const early = forkOf(original, changed('other.md'));
    assert.match(JSON.stringify(early.turn.effects[0]?.request), /context\.read.*other\.md/);
    const outcome = { kind: 'done', value: { texts: ['no adverbs'] } };
    const { effectId } = original;
    original.send('ContextRead', { effectId, kind: 'context.read', attempt: 1, outcome }, 'effect');
    const same = forkOf(original, changed('style.md'));
    assert.match(JSON.stringify(same.turn.effects[0]?.request.input), /Shorten\.\\n\\nstyle\.md:\\nno adverbs/);
    const { reply } = forkOf(original, changed('other.md')).turn;
    assert.match(JSON.stringify(reply), /validation_failed.*spec\.context must be that of the original/);
  });

  test('the model is asked with the new text', () => {
    const { turn } = forkOf(WAYS['asks the model']?.() ?? assert.fail(), {
      input: 'quite another',
      changed: ['input'],
    });
    assert.match(JSON.stringify(turn.effects[0]?.request.input), /quite another/);
  });
});
