import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Json } from '../../../runtime/json.ts';
import { ActorDriver } from '../../../runtime/testing/actor-driver.ts';
import { asked, bodies, definition, end, opening, SESSION, sha, stateOf } from './driven-session.ts';

type Step = (actor: ActorDriver) => void;
const send =
  (type: string, payload: Json): Step =>
  (actor) =>
    void actor.send(type, payload);

const ids = fc.constantFrom('n:1', 'n:2', 's:1', 's:__proto__');
const tools = fc.constantFrom('fs.read', 'slow.one', 'cmd.run', 'fs.delete', null);
const paths = fc.constantFrom('a', '/etc/x', 7);
const outcomes = fc.constantFrom<Json | undefined>(
  undefined,
  { kind: 'in_doubt' },
  { kind: 'failed', code: 'unavailable', message: 'x' },
  { kind: 'done', value: 'nonsense' },
);

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(ids, tools, paths)
      .map(([id, tool, path]) => send('Invoke', asked(id, { tool, arguments: { path } }))),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(fc.nat(8), outcomes).map(
      ([n, outcome]): Step =>
        (actor) => {
          const effect = [...actor.effects.values()][n];
          if (effect !== undefined) end(actor, effect, outcome);
        },
    ),
  },
  { weight: 2, arbitrary: fc.constant(send('Open', opening())) },
  {
    weight: 2,
    arbitrary: fc.nat(3).map((n) => send('Refuse', { envelope_hash: sha(`${n}`), reason: 'signature_invalid' })),
  },
  { weight: 1, arbitrary: fc.constant(send('Close', { reason: 'ended' })) },
  { weight: 1, arbitrary: fc.constant(send('Revoke', { reason: 'ended' })) },
  { weight: 1, arbitrary: fc.constant(send('Expired', {})) },
  {
    weight: 1,
    arbitrary: fc.constant(
      send('Record', { body: { kind: 'ended', call: 'x', outcome: 'succeeded', error: null, result_hash: null } }),
    ),
  },
);

describe('a tool session, whatever reaches it in whatever order', () => {
  test('its chain is linked and gap-free; each run call was allowed once and ends once; nothing follows the close', () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 60 }), (mailbox) => {
        const actor = new ActorDriver(definition, 'acme', SESSION);
        for (const step of mailbox) step(actor);
        const told = bodies(actor);
        const { chain, status, running } = stateOf(actor);
        assert.equal(chain.sequence, told.length);
        const closedAt = told.findIndex(({ kind }) => kind === 'closed');
        assert.equal(closedAt === -1, status === 'new' || status === 'active');
        if (closedAt !== -1) assert.equal(closedAt, told.length - 1);
        const effects = actor.turns.flatMap((turn) => turn.effects).length;
        const allowed = told.filter((body) => body.kind === 'decided' && body.decision === 'allowed').length;
        const ended = told.filter((body) => body.kind === 'ended' && body.call !== 'x').length;
        assert.equal(effects, allowed);
        assert.equal(ended + Object.keys(running).length, allowed);
        assert.equal(actor.effects.size, Object.keys(running).length);
      }),
      { numRuns: 300 },
    );
  });
});
