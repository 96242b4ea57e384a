import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SESSION_LIMITS } from '../../../actors/tool-session/messages.ts';
import { ActorDriver } from '../../../runtime/testing/actor-driver.ts';
import {
  answer,
  asked,
  bodies,
  chain,
  definition,
  end,
  opening,
  refusal,
  SESSION,
  said,
  session,
  sha,
  stateOf,
} from './driven-session.ts';

const kinds = (actor: ActorDriver): string[] => bodies(actor).map(({ kind }) => kind);
const value = (more: object) => ({ kind: 'done', value: JSON.parse(JSON.stringify(more)) });

describe('a tool session', () => {
  test('a session records the offered tools, each decision and each end', () => {
    const actor = session();
    const call = asked('n:1');
    const turn = actor.send('Invoke', call);
    assert.deepEqual(answer(turn), { kind: 'accepted', sequence: 2, replayed: false });
    const [effect] = turn.effects;
    assert.equal(effect?.request.kind, 'tool.call');
    assert.equal(effect?.request.mode, 'repeatable');
    end(actor, effect);
    const [opened, decided, ended] = bodies(actor);
    assert.ok(opened?.kind === 'opened' && decided?.kind === 'decided' && ended?.kind === 'ended');
    assert.deepEqual(opened.tools[0], { name: 'fs.read', schema_hash: sha('fs.read') });
    assert.equal(decided.decision, 'allowed');
    assert.equal(decided.schema_hash, sha('fs.read'));
    assert.equal(decided.payload_hash, call.call_hash);
    assert.equal(decided.envelope_hash, call.envelope_hash);
    assert.deepEqual([ended.outcome, ended.error], ['succeeded', null]);
    assert.match(ended.result_hash ?? '', /^[0-9a-f]{64}$/);
    assert.deepEqual(stateOf(actor).running, {});
  });

  test('a repeated call is answered from the record: it runs once, while it runs and after', () => {
    const actor = session();
    const first = actor.send('Invoke', asked('n:1'));
    const during = actor.send('Invoke', asked('n:1'));
    assert.deepEqual(answer(during), { kind: 'accepted', sequence: 2, replayed: true });
    end(actor, first.effects[0]);
    const after = actor.send('Invoke', asked('n:1'));
    assert.deepEqual(answer(after), { kind: 'ended', sequence: 4 });
    assert.equal(actor.events[3]?.name, 'CallEnded');
    assert.deepEqual([during.effects, after.effects], [[], []]);
    assert.deepEqual(kinds(actor), ['opened', 'decided', 'replayed', 'ended', 'replayed']);
  });

  test('the same id with another payload is an invalid request, and the chain records the attempt', () => {
    const actor = session();
    end(actor, actor.send('Invoke', asked('n:1')).effects[0]);
    const other = actor.send('Invoke', asked('n:1', { arguments: { path: 'b.txt' } }));
    assert.equal(answer(other).kind, 'invalid_request');
    assert.deepEqual(other.effects, []);
    assert.equal(kinds(actor).at(-1), 'refused');
  });

  test('numbers and texts are different ids', () => {
    const actor = session();
    assert.equal(actor.send('Invoke', asked('n:1')).effects.length, 1);
    assert.equal(actor.send('Invoke', asked('s:1')).effects.length, 1);
    assert.equal(refusal(actor.send('Invoke', asked('__proto__'))), 'invalid_argument');
  });

  test('a call without a tool name is no valid request', () => {
    const actor = session();
    assert.equal(answer(actor.send('Invoke', asked('n:1', { tool: null }))).kind, 'invalid_request');
    assert.equal(actor.effects.size, 0);
  });

  const denials = [
    ['fs.delete', { path: 'a' }, 'ToolNotAllowed', null],
    ['fs.read', {}, 'InvalidArguments', sha('fs.read')],
    ['fs.read', { path: '/etc/shadow' }, 'PathOutsideBoundary', sha('fs.read')],
  ] as const;
  for (const [tool, args, reason, hash] of denials) {
    test(`${tool} ${JSON.stringify(args)} is denied as ${reason}, recorded, and the same each time`, () => {
      const actor = session();
      const call = asked('n:1', { tool, arguments: args });
      const first = answer(actor.send('Invoke', call));
      assert.ok(first.kind === 'denied' && first.reason === reason);
      assert.deepEqual(answer(actor.send('Invoke', call)), first);
      assert.equal(actor.effects.size, 0);
      const decided = bodies(actor)[1];
      assert.ok(decided?.kind === 'decided' && decided.decision === 'denied');
      assert.deepEqual([decided.reason, decided.schema_hash], [reason, hash]);
      assert.deepEqual(kinds(actor), ['opened', 'decided', 'replayed']);
      assert.equal(stateOf(actor).counts.denied, 1);
    });
  }

  test('a capability runs no more calls at once than allowed; a refused call may be repeated', () => {
    const actor = session();
    const slow = { tool: 'slow.one' };
    const first = actor.send('Invoke', asked('n:1', slow));
    const second = answer(actor.send('Invoke', asked('n:2', slow)));
    assert.ok(second.kind === 'denied' && second.reason === 'ConcurrentExecLimitExceeded');
    assert.equal(answer(actor.send('Invoke', asked('n:3'))).kind, 'accepted');
    end(actor, first.effects[0]);
    assert.equal(answer(actor.send('Invoke', asked('n:2', slow))).kind, 'accepted');
  });

  test('a session runs at most its limit of calls at once', () => {
    const actor = session();
    for (let n = 0; n < SESSION_LIMITS.running; n += 1) actor.send('Invoke', asked(`n:${n}`));
    const more = answer(actor.send('Invoke', asked('n:x')));
    assert.ok(more.kind === 'denied' && more.reason === 'ConcurrentExecLimitExceeded');
    assert.equal(actor.effects.size, SESSION_LIMITS.running);
  });

  test('a tool that must not be repeated is requested as such; in doubt it is an error that says so', () => {
    const actor = session();
    const { effects } = actor.send('Invoke', asked('n:1', { tool: 'cmd.run' }));
    assert.equal(effects[0]?.request.mode, 'once');
    // Retries are only for failures that the effect reports as before the action.
    assert.equal(effects[0]?.request.retry?.maxAttempts, 3);
    end(actor, effects[0], { kind: 'in_doubt' });
    const ended = bodies(actor).at(-1);
    assert.ok(ended?.kind === 'ended' && ended.outcome === 'in_doubt');
    assert.equal(actor.effects.size, 0);
    assert.deepEqual(actor.send('Invoke', asked('n:1', { tool: 'cmd.run' })).effects, []);
  });

  test('a refusal of policy at the place of the tool is a denial; a rate limit may pass, a changed tool may not', () => {
    const actor = session();
    const policyError = (code: string) =>
      value(said(code, { is_error: true, error: { code, class: 'policy', message: `${code}!` } }));
    end(actor, actor.send('Invoke', asked('n:1')).effects[0], policyError('RateLimitExceeded'));
    end(actor, actor.send('Invoke', asked('n:2')).effects[0], policyError('ToolChanged'));
    assert.equal(stateOf(actor).counts.denied, 2);
    assert.equal(answer(actor.send('Invoke', asked('n:1'))).kind, 'accepted');
    assert.equal(answer(actor.send('Invoke', asked('n:2'))).kind, 'ended');
  });

  test('a result of a call that is over, or of another effect, changes nothing', () => {
    const actor = session();
    const [effect] = actor.send('Invoke', asked('n:1')).effects;
    end(actor, effect);
    const before = actor.state;
    assert.deepEqual(end(actor, effect).events, []);
    assert.deepEqual(actor.state, before);
  });

  test('an invalid outcome fails the call instead of blocking it', () => {
    const actor = session();
    end(actor, actor.send('Invoke', asked('n:1')).effects[0], value({ nonsense: true }));
    const ended = bodies(actor).at(-1);
    assert.ok(ended?.kind === 'ended' && ended.outcome === 'failed' && ended.error === 'internal');
  });

  test('closing a session stops running calls, records them, and forgets all calls; no event follows', () => {
    const actor = session();
    actor.send('Invoke', asked('n:1'));
    actor.send('Invoke', asked('n:2', { tool: 'cmd.run' }));
    const closing = actor.send('Close', { reason: 'the execution completed' });
    assert.equal(closing.cancelled.length, 2);
    const ended = bodies(actor).filter((body) => body.kind === 'ended');
    assert.deepEqual(
      ended.map(({ call, outcome, error }) => [call, outcome, error]),
      [
        ['n:1', 'failed', 'cancelled'],
        ['n:2', 'in_doubt', 'cancelled'],
      ],
    );
    const state = stateOf(actor);
    assert.deepEqual([state.status, state.grant, state.calls, state.running], ['closed', null, {}, {}]);
    assert.equal(definition.done?.(state), true);
    const length = actor.events.length;
    assert.equal(answer(actor.send('Invoke', asked('n:3'))).kind, 'inactive');
    for (const [type, payload] of [
      ['Close', { reason: 'x' }],
      ['Revoke', { reason: 'x' }],
      ['Expired', {}],
      ['Refuse', { envelope_hash: sha('x'), reason: 'x' }],
    ] as const) {
      actor.send(type, payload);
    }
    assert.equal(refusal(actor.send('Open', opening())), 'failed_precondition');
    assert.equal(actor.events.length, length);
  });

  test('a session that was closed before it was opened cannot be opened', () => {
    const actor = new ActorDriver(definition, 'acme', SESSION);
    actor.send('Close', { reason: 'the execution failed' });
    assert.equal(refusal(actor.send('Open', opening())), 'failed_precondition');
    assert.deepEqual(kinds(actor), ['closed']);
  });

  test('repeating an opening changes nothing; opening it for another key is a conflict', () => {
    const actor = session();
    assert.deepEqual(actor.send('Open', opening()).events, []);
    assert.equal(refusal(actor.send('Open', opening({ public_key: 'other' }))), 'conflict');
  });

  test('a session ends by itself at its timeout', () => {
    const actor = session({ expires_at: '2026-01-01T00:10:00.000Z' });
    actor.fire('expiry');
    assert.equal(actor.now, Date.parse('2026-01-01T00:10:00.000Z'));
    assert.equal(stateOf(actor).status, 'closed');
  });

  test('a revoked session reports that it was revoked', () => {
    const actor = session({ expires_at: '2026-01-01T00:10:00.000Z' });
    actor.send('Revoke', { reason: 'revoked by ada' });
    const reply = answer(actor.send('Invoke', asked('n:1')));
    assert.ok(reply.kind === 'inactive' && /revoked/.test(reply.message));
    assert.equal(actor.timers.size, 0);
  });

  test('the session of an execution’s own loop cannot be revoked: its calls would go on without a record', () => {
    const actor = session({ source: 'inner_loop', public_key: null });
    assert.equal(refusal(actor.send('Revoke', { reason: 'revoked by ada' })), 'failed_precondition');
    assert.equal(stateOf(actor).status, 'active');
  });

  test('a session of one call ends with that call, whatever its outcome', () => {
    for (const [more, last] of [
      [{}, 'closed'],
      [{ tool: 'fs.delete' }, 'closed'],
      [{ tool: null }, 'closed'],
    ] as const) {
      const actor = session({ source: 'mcp', public_key: null });
      end2(actor, { ...asked('n:1', more), envelope_hash: null, last: true });
      assert.equal(stateOf(actor).status, last);
      assert.equal(kinds(actor).at(-1), 'closed');
    }
  });

  const end2 = (actor: ActorDriver, call: Parameters<ActorDriver['send']>[1]): void => {
    const [effect] = actor.send('Invoke', call).effects;
    if (effect !== undefined) end(actor, effect);
  };

  test('only an opening, an end or a record creates a session', () => {
    const actor = new ActorDriver(definition, 'acme', SESSION);
    for (const [type, payload] of [
      ['Invoke', asked('n:1')],
      ['Refuse', { envelope_hash: sha('x'), reason: 'x' }],
      ['Revoke', { reason: 'x' }],
      ['Expired', {}],
    ] as const) {
      assert.equal(refusal(actor.send(type, payload)), 'not_found', type);
    }
    assert.equal(actor.events.length, 0);
  });

  test('an inner loop records its calls only, not the begin and end of a session', () => {
    const actor = session({ source: 'inner_loop', public_key: null });
    const decided = {
      kind: 'decided',
      call: 'c1',
      tool: 'fs.read',
      envelope_hash: null,
      payload_hash: sha('p'),
      decision: 'denied',
      reason: 'JudgeRejected',
      schema_hash: null,
    };
    actor.send('Record', { body: decided });
    assert.equal(refusal(actor.send('Record', { body: { kind: 'closed', reason: 'x' } })), 'invalid_argument');
    actor.send('Close', { reason: 'x' });
    assert.equal(refusal(actor.send('Record', { body: decided })), 'failed_precondition');
    assert.deepEqual(kinds(actor), ['opened', 'decided', 'closed']);
    assert.equal(stateOf(actor).counts.denied, 1);
  });

  test('requests that fail authentication cannot make a chain grow without limit', () => {
    const actor = session();
    const full = {
      ...stateOf(actor),
      counts: { calls: 0, denied: 0, replayed: 0, refused: SESSION_LIMITS.refusals - 1 },
    };
    actor.state = full;
    for (let n = 0; n < 5; n += 1) actor.send('Refuse', { envelope_hash: sha(`${n}`), reason: `bad ${n}` });
    const refused = bodies(actor).filter((body) => body.kind === 'refused');
    assert.deepEqual(
      refused.map(({ reason }) => reason),
      ['bad 0', 'further refusals of this session are not recorded'],
    );
  });

  test('an agent cannot make a chain grow without limit either: further calls are refused by name, repeats only answered', () => {
    const actor = session();
    const { calls, replays } = SESSION_LIMITS;
    end(actor, actor.send('Invoke', asked('n:1')).effects[0]);
    actor.state = { ...stateOf(actor), counts: { calls, denied: 0, refused: 0, replayed: replays } };
    const more = answer(actor.send('Invoke', asked('n:2')));
    assert.ok(more.kind === 'denied' && more.reason === 'SessionCallLimitExceeded');
    const before = actor.events.length;
    assert.equal(answer(actor.send('Invoke', asked('n:1'))).kind, 'ended');
    assert.equal(actor.events.length, before);
    chain(actor);
  });
});
