import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { approvalActor } from '../../../actors/approval/definition.ts';
import { ApprovalUpdate } from '../../../actors/approval/messages.ts';
import { APPROVALS, type ApprovalDocument } from '../../../actors/approval/view.ts';
import { addressOf } from '../../../runtime/address.ts';
import { defineActor } from '../../../runtime/define-actor.ts';
import { createApprovalApi } from '../../../usecases/approvals.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { AREA_KERNELS, type AreaKernel } from './area-kernel.ts';
import { namedUsers, restServer } from './rest-server.ts';

/** The actor that asked: keeps the updates that it gets. */
const listener = defineActor({
  kind: 'listener',
  version: 1,
  state: z.object({ words: z.array(ApprovalUpdate) }),
  initial: () => ({ words: [] }),
  messages: { Heard: ApprovalUpdate },
  events: {},
  on: { Heard: ({ words }, word) => ({ words: [...words, word] }) },
});

const as = (user: string) => ({ authorization: `Bearer ${user}` });
const PENDING = '/v1/human-approvals';
const GONE = { error: 'request not found or already completed' };

for (const { name, missing, start } of AREA_KERNELS) {
  describe(`human approvals over REST, ${name}`, { skip: missing ?? false }, () => {
    let kernel: AreaKernel;
    let at: Awaited<ReturnType<typeof restServer>>;
    before(async () => {
      kernel = await start({ definitions: [approvalActor, listener] });
      const approvals = await kernel.documents.collection<ApprovalDocument>(APPROVALS);
      const { client } = kernel.runtime;
      at = await restServer({ approvals: createApprovalApi({ client, approvals }), authenticator: namedUsers });
    });
    after(async () => {
      await at[Symbol.asyncDispose]();
      await kernel.stop();
    });

    /** A question in a tenant; resolves when it is pending. */
    async function ask({ tenant = 'alice', timeoutMs = 60_000 as number | null } = {}): Promise<string> {
      const id = randomUUID();
      const notify = { to: addressOf('listener', tenant, id), as: 'Heard', context: null };
      const question = { approval_id: id, execution_id: `run-${id}`, state_name: 'GATE', prompt: 'Ship it?' };
      const payload = { ...question, timeout_ms: timeoutMs, default_response: null, notify };
      await kernel.runtime.client.ask(addressOf('approval', tenant, id), 'Ask', payload);
      return id;
    }
    const words = async (id: string, tenant = 'alice') => {
      const snapshot = await kernel.runtime.client.read(addressOf('listener', tenant, id));
      return snapshot === null ? [] : z.object({ words: z.array(ApprovalUpdate) }).parse(snapshot.state).words;
    };
    const answered = (id: string) =>
      waitUntil('the asking actor to receive the answer', async () =>
        (await words(id)).find(({ kind }) => kind === 'answered'),
      );
    const get = (path: string, user = 'alice') => at.call('GET', path, { headers: as(user) });
    const post = (path: string, body: unknown, user = 'alice') => at.postJson(path, body, as(user));

    test('a pending approval is listed and shown with all its fields', async () => {
      const id = await ask();
      const listed = await waitUntil('it is listed', async () => {
        const { body } = await get(PENDING);
        const found = body.pending_requests.find((request: { id: string }) => request.id === id);
        return found === undefined ? undefined : { found, body };
      });
      const { created_at, ...rest } = listed.found;
      assert.deepEqual(rest, { id, execution_id: `run-${id}`, prompt: 'Ship it?', timeout_seconds: 60 });
      assert.equal(new Date(created_at).toISOString(), created_at);
      assert.equal(listed.body.count, listed.body.pending_requests.length);
      const shown = await get(`${PENDING}/${id.toUpperCase()}`);
      assert.deepEqual([shown.status, shown.body], [200, { request: listed.found }]);
      assert.equal((await get(`${PENDING}/${await ask({ timeoutMs: null })}`)).body.request.timeout_seconds, 0);
    });

    test('approve: the asking actor gets approved and the feedback; without a body the feedback is none', async () => {
      const id = await ask();
      const done = await post(`${PENDING}/${id}/approve`, { feedback: 'ship', approved_by: 'ada' });
      assert.deepEqual([done.status, done.body], [200, { status: 'approved', request_id: id }]);
      const { payload, feedback } = await answered(id);
      assert.deepEqual([payload, feedback], ['approved', 'ship']);
      const bare = await ask();
      assert.equal((await at.call('POST', `${PENDING}/${bare}/approve`, { headers: as('alice') })).status, 200);
      assert.equal((await answered(bare)).feedback, null);
    });

    test('reject needs a reason, and the asking actor gets it', async () => {
      const id = await ask();
      for (const body of [{}, { reason: '' }, { reason: 7 }, null]) {
        assert.equal((await post(`${PENDING}/${id}/reject`, body)).status, 400, JSON.stringify(body));
      }
      const done = await post(`${PENDING}/${id}/reject`, { reason: 'no tests', rejected_by: 'bob' });
      assert.deepEqual([done.status, done.body], [200, { status: 'rejected', request_id: id }]);
      const { payload, feedback } = await answered(id);
      assert.deepEqual([payload, feedback], ['rejected', 'no tests']);
    });

    test('a second answer is 409, and a resolved approval is shown as gone with 200', async () => {
      const id = await ask();
      await post(`${PENDING}/${id}/approve`, {});
      const late = await post(`${PENDING}/${id}/reject`, { reason: 'late' });
      assert.deepEqual([late.status, late.body.error], [409, 'conflict']);
      const shown = await get(`${PENDING}/${id}`);
      assert.deepEqual([shown.status, shown.body], [200, GONE]);
      await waitUntil('it leaves the list', async () => !JSON.stringify((await get(PENDING)).body).includes(id));
      // Long after, from the archive.
      const address = addressOf('approval', 'alice', id);
      await waitUntil('it is archived', async () => (await kernel.runtime.client.read(address))?.archived);
      assert.equal((await post(`${PENDING}/${id}/approve`, {})).status, 409);
    });

    test('an expired approval is shown as gone with 200 and cannot be answered', async () => {
      const id = await ask({ timeoutMs: 30 });
      await waitUntil('it expires', async () => (await words(id)).some(({ kind }) => kind === 'expired'));
      assert.deepEqual((await get(`${PENDING}/${id}`)).body, GONE);
      assert.equal((await post(`${PENDING}/${id}/approve`, {})).status, 409);
    });

    test('an id that is no UUID is 400 invalid request id, an unknown one 404 for answers', async () => {
      for (const bad of [await get(`${PENDING}/nope`), await post(`${PENDING}/nope/approve`, {})]) {
        assert.deepEqual([bad.status, bad.body], [400, { error: 'invalid request id' }]);
      }
      const unknown = await post(`${PENDING}/${randomUUID()}/approve`, {});
      assert.deepEqual([unknown.status, unknown.body], [404, { error: 'request not found' }]);
      assert.deepEqual((await get(`${PENDING}/${randomUUID()}`)).body, GONE);
    });

    test('another tenant can neither see nor answer it, a reader can see and not answer', async () => {
      const id = await ask();
      assert.deepEqual((await get(`${PENDING}/${id}`, 'bob')).body, GONE);
      assert.equal((await post(`${PENDING}/${id}/approve`, {}, 'bob')).status, 404);
      assert.ok(!JSON.stringify((await get(PENDING, 'bob')).body).includes(id));
      const ours = await ask({ tenant: 'svc-system' });
      assert.equal((await get(`${PENDING}/${ours}`, 'reader')).body.request.id, ours);
      for (const way of ['approve', 'reject']) {
        const refused = await post(`${PENDING}/${ours}/${way}`, { reason: 'x' }, 'reader');
        assert.deepEqual([refused.status, refused.body.error], [403, 'forbidden']);
      }
      assert.equal((await at.call('POST', `${PENDING}/${ours}/approve`)).status, 401);
      assert.equal((await get(`${PENDING}/${ours}`, 'operator')).body.request.id, ours);
    });

    test('of 100 concurrent answers exactly one is 200 and 99 are 409', async () => {
      const id = await ask();
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          n % 2 === 0
            ? post(`${PENDING}/${id}/approve`, { feedback: String(n) })
            : post(`${PENDING}/${id}/reject`, { reason: String(n) }),
        ),
      );
      const statuses = answers.map(({ status }) => status);
      assert.equal(statuses.filter((status) => status === 200).length, 1);
      assert.equal(statuses.filter((status) => status === 409).length, 99);
      const { payload, feedback } = await answered(id);
      const winner = answers.findIndex(({ status }) => status === 200);
      assert.deepEqual([payload, feedback], [winner % 2 === 0 ? 'approved' : 'rejected', String(winner)]);
      assert.equal((await words(id)).length, 2);
    });

    test('an approval whose actor is not in memory is shown, answered and expires all the same', async () => {
      const { client, dropActor } = kernel.runtime;
      const id = await ask();
      await dropActor(addressOf('approval', 'alice', id));
      assert.equal((await get(`${PENDING}/${id}`)).body.request.id, id);
      assert.equal((await post(`${PENDING}/${id}/approve`, {})).status, 200);
      await answered(id);
      const short = await ask({ timeoutMs: 200 });
      await dropActor(addressOf('approval', 'alice', short));
      await waitUntil('it expires', async () => (await words(short)).some(({ kind }) => kind === 'expired'));
      await client.tell(addressOf('approval', 'alice', short), 'Withdraw', {});
      assert.deepEqual((await get(`${PENDING}/${short}`)).body, GONE);
    });

    test('every route is in the OpenAPI description with its statuses', async () => {
      const { paths } = (await at.call('GET', '/v1/openapi.json')).body;
      const described = Object.keys(paths).filter((path) => path.startsWith(PENDING));
      const routes = [PENDING, `${PENDING}/{id}`, `${PENDING}/{id}/approve`, `${PENDING}/{id}/reject`];
      assert.deepEqual(described.sort(), routes);
      const { post: approve } = paths[`${PENDING}/{id}/approve`];
      for (const status of ['200', '400', '401', '403', '404', '409']) assert.ok(approve.responses[status], status);
    });
  });
}
