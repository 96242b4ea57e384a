import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { waitUntil } from '../../support/wait-until.ts';
import { has, listOf, type Row } from './row.ts';
import type { Setting } from './setting.ts';

const TOOLS = [
  ['svc.approval.approve', 'approved', { feedback: 'well done' }],
  ['svc.approval.reject', 'rejected', { reason: 'too early' }],
] as const;

/** The run of each request that a row answers. */
const runs = new Map<unknown, string>();

async function asked(at: Setting): Promise<string> {
  const { request_id, execution_id } = await at.approval();
  runs.set(request_id, execution_id);
  return request_id;
}

const noRequest = ['not_found', /^request not found$/] as const;

/** svc.approval.*: the routes for approvals as tools (H19). */
export const APPROVAL_ROWS: readonly Row[] = [
  {
    ...{ tool: 'svc.approval.list', what: 'lists what waits, oldest first, by pages' },
    args: async (at) => {
      await at.approval();
      await at.approval();
      return { limit: 1, offset: 1 };
    },
    gives: async ({ pending_requests, count, limit, offset }, _args, at) => {
      assert.deepEqual([limit, offset, listOf(pending_requests).length], [1, 1, 1]);
      assert.ok(Number(count) >= 2, String(count));
      // Other rows ask and answer meanwhile: a page is compared with a list from which it differs by nothing of theirs.
      await waitUntil('a page is its part of the list', async () => {
        const page = await at.ok('svc.approval.list', { limit: 1, offset: 1 });
        const whole = listOf((await at.ok('svc.approval.list', { limit: 1_000 })).pending_requests);
        const times = whole.map(({ created_at }) => String(created_at));
        assert.deepEqual(times, times.toSorted());
        return page.count === whole.length && isDeepStrictEqual(page.pending_requests, whole.slice(1, 2));
      });
    },
  },
  {
    ...{ tool: 'svc.approval.list', what: 'names the run, the question and its time-out' },
    args: async (at) => {
      await at.approval();
      return { limit: 1_000 };
    },
    gives: async ({ pending_requests }, _args, at) => {
      const { request_id, execution_id } = await at.approval();
      const { pending_requests: now } = await at.ok('svc.approval.list', { limit: 1_000 });
      const { created_at, ...asked } = listOf(now).find(({ id }) => id === request_id) ?? assert.fail();
      assert.deepEqual(asked, { id: request_id, execution_id, prompt: 'go on?', timeout_seconds: 0 });
      assert.ok(listOf(pending_requests).every(({ id }) => id !== request_id));
    },
  },
  {
    ...{ tool: 'svc.approval.list', what: 'shows a caller of another tenant its own objects alone', by: 'stranger' },
    args: async (at) => {
      await at.approval();
      return {};
    },
    gives: has({ pending_requests: [], count: 0 }),
  },
  ...TOOLS.flatMap(([tool, status, more]): Row[] => [
    {
      ...{ tool, what: 'answers one with a text, and its run goes on with both' },
      args: async (at) => ({ request_id: await asked(at), ...more }),
      gives: async (result, { request_id }, at) => {
        assert.deepEqual(result, { status, request_id });
        const { blackboard } = await at.ok('svc.workflow.wait', { execution_id: runs.get(request_id) });
        const { output, feedback } = Object(blackboard).ASK;
        assert.deepEqual([output, feedback], [status, Object.values(more)[0]]);
      },
    },
    {
      ...{ tool, what: 'lets a user of the tenant answer, as over REST', by: 'user' },
      args: async (at) => ({ request_id: await asked(at), ...more }),
      gives: has({ status }),
    },
    {
      ...{ tool, what: 'refuses one that was answered before' },
      args: async (at) => {
        const request_id = await asked(at);
        await at.ok('svc.approval.approve', { request_id });
        return { request_id, ...more };
      },
      gives: ['conflict', /answered already/],
    },
    { tool, what: 'refuses an unknown id', args: (at) => ({ request_id: at.unknown, ...more }), gives: noRequest },
    {
      ...{ tool, what: 'refuses one of another tenant', by: 'stranger' },
      args: async (at) => ({ request_id: await asked(at), ...more }),
      gives: noRequest,
    },
  ]),
];
