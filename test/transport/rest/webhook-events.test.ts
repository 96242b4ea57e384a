import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type Identity, SYSTEM_TENANT } from '../../../runtime/identity.ts';
import { stimulusNode } from '../../actors/stimulus/stimulus-node.ts';
import { type EventVector, eventHeaders } from '../../security/webhooks/vectors.ts';
import { signedWebhooks } from '../../support/signed-webhooks.ts';
import { AREA_KERNELS } from './area-kernel.ts';
import { namedUsers, restServer } from './rest-server.ts';

type Scheme = EventVector['scheme'];
type Body = string | Uint8Array<ArrayBuffer>;

const SCHEMES: readonly Scheme[] = ['stripe', 'slack'];
const OPERATOR: Identity = { kind: 'operator', subject: 'ada', tenant: SYSTEM_TENANT, roles: [], tier: 'free' };
const NOW = 1_700_000_000;
/** Each source has a secret of its own, as the settings require. */
const secretOf = (source: string): string => `the secret of ${source}`;

/** An event of that scheme, as its sender would call it. */
const eventOf = (scheme: Scheme, id: string, more: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({ ...(scheme === 'stripe' ? { id: `evt_${id}` } : { event_id: `Ev${id}` }), ...more });

for (const { name, missing, start } of AREA_KERNELS) {
  describe(`events of Stripe and Slack over REST, ${name}`, { skip: missing ?? false }, () => {
    let node: Awaited<ReturnType<typeof stimulusNode>>;
    let at: Awaited<ReturnType<typeof restServer>>;
    before(async () => {
      const sources = SCHEMES.flatMap((scheme) => [
        { source: `${scheme}-a`, scheme, workflow: 'deploy', tenant: 'alice' },
        { source: `${scheme}-a2`, scheme, workflow: 'deploy', tenant: 'alice' },
        { source: `${scheme}-b`, scheme, workflow: 'deploy', tenant: 'bob' },
        { source: `${scheme}-moved`, scheme, workflow: 'deploy', tenant: 'alice' },
        { source: `${scheme}-strict`, scheme, workflow: 'strict', tenant: 'alice' },
      ]);
      const configured = sources.map(({ source, workflow, tenant }) => ({ source, workflow, tenant }));
      const settings = sources.map(({ source, scheme }) => ({ source, scheme, secrets: [secretOf(source)] }));
      node = await stimulusNode({ start, configured });
      const webhooks = signedWebhooks({}, settings, { now: () => NOW * 1_000 });
      at = await restServer({ stimuli: node.stimuli, webhooks, authenticator: namedUsers });
    });
    after(async () => {
      await at[Symbol.asyncDispose]();
      await node.stop();
    });

    /** A try of a delivery, signed some seconds off the clock of the node. */
    const send = (scheme: Scheme, source: string, body: Body, { later = 0, secret = secretOf(source) } = {}) => {
      const seconds = NOW + later;
      const prefix = scheme === 'stripe' ? `${seconds}.` : `v0:${seconds}:`;
      const digest = createHmac('sha256', secret).update(prefix).update(body).digest('hex');
      return at.call('POST', `/v1/webhooks/${source}`, { body, headers: eventHeaders(scheme, seconds, digest) });
    };
    const tenantOf = (id: string) => node.started.find(({ execution_id }) => execution_id === id)?.identity.tenant;

    for (const scheme of SCHEMES) {
      const source = `${scheme}-a`;

      test(`${scheme}: tries that are signed anew, one by one and at once, start one run and name it`, async () => {
        const before = node.started.length;
        const body = eventOf(scheme, 'once', { pending: 1 });
        const first = await send(scheme, source, body);
        assert.equal(first.status, 200, first.text);
        const tries = [60, 120, 240, -60].map((later) => send(scheme, source, body, { later }));
        const changed = eventOf(scheme, 'once', { pending: 0 });
        for (const again of [...(await Promise.all(tries)), await send(scheme, source, changed, { later: 300 })]) {
          assert.deepEqual([again.status, again.body], [200, { ...first.body, duplicate: true }]);
        }
        assert.equal(node.started.length, before + 1);
      });

      test(`${scheme}: of 20 tries at once, each of another time, one starts`, async () => {
        const before = node.started.length;
        const body = eventOf(scheme, 'at-once');
        const tries = Array.from({ length: 20 }, (_, later) => send(scheme, source, body, { later }));
        const answers = await Promise.all(tries);
        assert.ok(answers.every(({ status }) => status === 200));
        assert.equal(answers.filter(({ body: { duplicate } }) => duplicate === true).length, 19);
        assert.equal(new Set(answers.map(({ body: { workflow_execution_id } }) => workflow_execution_id)).size, 1);
        assert.equal(node.started.length, before + 1);
      });

      test(`${scheme}: two events that happen in the same second start two runs`, async () => {
        const before = node.started.length;
        for (const id of ['first', 'second'])
          assert.equal((await send(scheme, source, eventOf(scheme, id))).status, 200);
        assert.equal(node.started.length, before + 2);
      });

      test(`${scheme}: a sender without the secret that knows the id of an event cannot take its place`, async () => {
        const body = eventOf(scheme, 'awaited');
        const forged = await send(scheme, source, body, { secret: secretOf(`${scheme}-b`) });
        assert.deepEqual([forged.status, forged.body.error], [401, 'invalid_signature']);
        assert.equal((await send(scheme, source, body)).status, 200);
        const late = await send(scheme, source, body, { later: -301 });
        assert.deepEqual([late.status, late.body.error], [401, 'invalid_signature']);
      });

      test(`${scheme}: the same id in another source or another tenant is another event`, async () => {
        const body = eventOf(scheme, 'shared');
        const sources = [source, `${scheme}-a2`, `${scheme}-b`];
        const runs: string[] = [];
        for (const one of sources) {
          const done = await send(scheme, one, body);
          assert.equal(done.status, 200, `${one}: ${done.text}`);
          runs.push(done.body.workflow_execution_id);
        }
        assert.deepEqual(runs.map(tenantOf), ['alice', 'alice', 'bob']);
        for (const [index, one] of sources.entries()) {
          const again = await send(scheme, one, body, { later: 5 });
          assert.deepEqual([again.body.duplicate, again.body.workflow_execution_id], [true, runs[index]], one);
        }
      });

      test(`${scheme}: an event is new in a tenant to which its source has moved, and only there`, async () => {
        const moved = `${scheme}-moved`;
        const body = eventOf(scheme, 'moved');
        const first = await send(scheme, moved, body);
        // A stored route of the operator comes before that of the settings, which is alice's.
        await node.routes.put(OPERATOR, moved, 'deploy');
        const second = await send(scheme, moved, body, { later: 5 });
        assert.deepEqual(
          [first, second].map(({ body: run }) => tenantOf(run.workflow_execution_id)),
          ['alice', SYSTEM_TENANT],
        );
        await node.routes.remove(SYSTEM_TENANT, moved);
        const back = await send(scheme, moved, body, { later: 10 });
        assert.deepEqual([back.status, back.body], [200, { ...first.body, duplicate: true }]);
      });

      test(`${scheme}: without an id a try that is signed anew starts another run, and a recorded one does not`, async () => {
        const bodies: readonly Body[] = [
          ...['', 'text', '{"id":7,"event_id":7}', '{"id":"","event_id":""}', '{"broken":', 'command=%2Fdeploy'],
          eventOf(scheme, 'x'.repeat(256)),
          Uint8Array.from({ length: 256 }, (_, byte) => byte),
        ];
        for (const body of bodies) {
          for (const [later, duplicate] of [
            [0, undefined],
            [0, true],
            [1, undefined],
          ] as const) {
            const answer = await send(scheme, source, body, { later });
            const what = `${String(body).slice(0, 40)}: ${answer.text}`;
            assert.deepEqual([answer.status, answer.body.duplicate], [200, duplicate], what);
          }
        }
      });

      test(`${scheme}: an event that started nothing is taken anew`, async () => {
        for (const later of [0, 60]) {
          const refused = await send(scheme, `${scheme}-strict`, eventOf(scheme, 'refused'), { later });
          assert.deepEqual([refused.status, refused.body.error], [422, 'validation_failed']);
        }
      });
    }
  });
}
