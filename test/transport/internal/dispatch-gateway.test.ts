import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CallOptions } from '../../../runtime/client.ts';
import { type ErrorCode, SvcError } from '../../../runtime/errors.ts';
import type { DispatchApi, GatewayAnswer } from '../../../usecases/gateway.ts';
import {
  AGENT,
  dispatch,
  EXECUTION,
  final,
  gateway,
  ScriptedLoop,
  TOKEN,
} from '../../effects/agents/bootstrap-places.ts';
import { waitUntil } from '../../support/wait-until.ts';

const GENERATE = {
  type: 'generate',
  agent_id: AGENT,
  execution_id: EXECUTION,
  iteration_number: 2,
  model_alias: 'fast',
  prompt: 'hi',
  messages: [{ role: 'user', content: 'before' }],
};
const RESULT = {
  ...{ type: 'dispatch_result', execution_id: EXECUTION, dispatch_id: 'd-1', exit_code: 0, stdout: 'out', stderr: '' },
  ...{ duration_ms: 3, truncated: false },
};

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(url, {
    method: 'POST',
    body: text,
    headers: { 'content-type': 'application/json', ...headers },
  });
  const answer = await response.text();
  return { status: response.status, headers: response.headers, text: answer };
}

/** A loop whose calls wait until the test releases them. */
class WaitingLoop implements DispatchApi {
  readonly waits: { readonly options: CallOptions | undefined; answer(with_: GatewayAnswer): void }[] = [];

  generate(_tenant: string, _id: string, _request: unknown, options?: CallOptions): Promise<GatewayAnswer> {
    return new Promise((resolve, reject) => {
      this.waits.push({ options, answer: resolve });
      options?.signal?.addEventListener('abort', () => reject(new SvcError('cancelled')), { once: true });
    });
  }

  dispatchResult(tenant: string, id: string, result: unknown, options?: CallOptions): Promise<GatewayAnswer> {
    return this.generate(tenant, id, result, options);
  }
}

describe('the dispatch gateway over REST', () => {
  test('takes both messages under the token in the address and in the header', async () => {
    for (const way of ['path', 'header'] as const) {
      const loop = new ScriptedLoop([dispatch('git', ['status']), final('done')]);
      await using server = await gateway(loop);
      const url = `${way === 'path' ? server.url : server.base}/v1/dispatch-gateway`;
      const headers: Record<string, string> = way === 'path' ? {} : { authorization: `Bearer ${TOKEN}` };
      const first = await post(url, GENERATE, headers);
      assert.deepEqual([first.status, JSON.parse(first.text)], [200, dispatch('git', ['status'])]);
      const second = await post(url, RESULT, headers);
      assert.deepEqual([second.status, JSON.parse(second.text)], [200, final('done')]);
      assert.equal(first.headers.get('cache-control'), 'no-store');
      assert.equal(first.headers.get('x-content-type-options'), 'nosniff');
      const { type: _type, execution_id: _execution, ...asked } = GENERATE;
      assert.deepEqual(loop.asked, [asked]);
      const { type: _t, execution_id: _e, ...result } = RESULT;
      assert.deepEqual(loop.results, [result]);
    }
  });

  test('answers every error as {error, message} with the status of the table', async () => {
    const rows: readonly (readonly [ErrorCode, number])[] = [
      ['model_failed', 502],
      ['model_unavailable', 503],
      ['rate_limited', 429],
      ['not_found', 404],
      ['failed_precondition', 409],
      ['invalid_argument', 400],
      ['tool_failed', 500],
      ['unavailable', 503],
    ];
    for (const [code, status] of rows) {
      await using server = await gateway(new ScriptedLoop([new SvcError(code, 'the reason'), new Error('swordfish')]));
      const answer = await post(`${server.url}/v1/dispatch-gateway`, GENERATE);
      assert.deepEqual([answer.status, JSON.parse(answer.text)], [status, { error: code, message: 'the reason' }]);
      assert.equal(answer.headers.has('retry-after'), status === 429 || status === 503);
      const bug = await post(`${server.url}/v1/dispatch-gateway`, GENERATE);
      assert.equal(bug.status, 500);
      assert.ok(!bug.text.includes('swordfish'));
    }
  });

  test('without the token of that very execution nothing is read or answered', async () => {
    const loop = new ScriptedLoop([final('secret'), final('secret')]);
    await using server = await gateway(loop);
    const path = '/v1/dispatch-gateway';
    for (const url of [path, `/x/${path}`, `/x${path}`, `/x/wrong${path}`, `/x/${TOKEN}x${path}`, `/x/%ff${path}`]) {
      const answer = await post(server.base + url, GENERATE);
      assert.ok([401, 404].includes(answer.status), `${url} ${answer.status}`);
    }
    const garbage = await post(`${server.base}/x/wrong${path}`, '{not even JSON');
    assert.equal(garbage.status, 401);
    const two = await post(`${server.url}${path}`, GENERATE, { authorization: 'Bearer other' });
    assert.equal(two.status, 401);
    const foreign = await post(`${server.url}${path}`, { ...GENERATE, execution_id: AGENT });
    assert.deepEqual([foreign.status, JSON.parse(foreign.text).error], [403, 'forbidden']);
    assert.equal(loop.asked.length + loop.results.length, 0);
  });

  test('never logs or repeats the token', async () => {
    const loop = new ScriptedLoop([new Error('a bug'), new SvcError('unavailable', 'x')]);
    await using server = await gateway(loop);
    const seen: string[] = [];
    for (const rest of [
      '/v1/dispatch-gateway',
      '/v1/dispatch-gateway',
      '/v1/nothing',
      '',
      '/%ff',
      '/v1/dispatch-gateway?x',
    ]) {
      seen.push((await post(server.url + rest, GENERATE)).text);
    }
    seen.push((await post(`${server.url}/v1/dispatch-gateway`, '{', {})).text);
    seen.push(await (await fetch(`${server.url}/v1/dispatch-gateway`)).text());
    assert.ok(server.logged.length > 5);
    assert.ok(![...seen, ...server.logged].some((line) => line.includes(TOKEN.slice(0, 60))));
  });

  test('refuses what is not one of the two messages, naming the field', async () => {
    await using server = await gateway(new ScriptedLoop([]));
    const rows: readonly (readonly [unknown, RegExp])[] = [
      [{ ...GENERATE, type: 'shout' }, /type/],
      [{ ...GENERATE, colour: 'red' }, /colour/],
      [{ ...GENERATE, iteration_number: 0 }, /iteration_number/],
      [{ ...GENERATE, iteration_number: '1' }, /iteration_number/],
      [{ ...GENERATE, messages: [{}] }, /messages.*role/],
      [{ ...GENERATE, messages: Array(1_001).fill({ role: 'user', content: '' }) }, /messages/],
      [{ ...GENERATE, prompt: undefined }, /prompt/],
      [{ ...RESULT, exit_code: 1.5 }, /exit_code/],
      [{ ...RESULT, truncated: 'no' }, /truncated/],
      [{ ...RESULT, duration_ms: -1 }, /duration_ms/],
      [{ ...RESULT, agent_id: AGENT }, /agent_id/],
    ];
    for (const [body, field] of rows) {
      const answer = await post(`${server.url}/v1/dispatch-gateway`, body);
      assert.equal(answer.status, 400, answer.text);
      assert.match(JSON.parse(answer.text).message, field);
    }
    const wrongType = await post(`${server.url}/v1/dispatch-gateway`, 'x', { 'content-type': 'text/plain' });
    assert.equal(wrongType.status, 415);
  });

  test('serves shells: framed text in, a script out, errors too', async () => {
    const loop = new ScriptedLoop([dispatch('git', ["it's"]), new SvcError('lease_lost', 'moved')]);
    await using server = await gateway(loop);
    const head = `generate\nagent_id ${AGENT}\nexecution_id ${EXECUTION}\niteration_number 1\nmodel_alias `;
    const shell = { 'content-type': 'text/x-svc-request', accept: 'text/x-shellscript' };
    const first = await post(`${server.url}/v1/dispatch-gateway`, `${head}\nprompt_bytes 2\n\nhi`, shell);
    assert.equal(first.headers.get('content-type'), 'text/x-shellscript');
    assert.match(first.text, /^svc_type='dispatch'\n[\s\S]*\nset -- 'git' 'it'\\''s'\nreturn 0\n$/);
    const second = await post(`${server.url}/v1/dispatch-gateway`, GENERATE, { accept: 'text/x-shellscript' });
    assert.equal(second.status, 503);
    assert.match(second.text, /^svc_type='error'\nsvc_error='lease_lost'\nsvc_message='moved'\nsvc_retry_secs='1'/);
    const packed = await post(`${server.url}/v1/dispatch-gateway`, 'x', { ...shell, 'content-encoding': 'gzip' });
    assert.deepEqual([packed.status, packed.text.includes('content-encoding: expected identity')], [415, true]);
    const third = await post(`${server.base}/x/wrong/v1/dispatch-gateway`, 'x', shell);
    assert.equal(third.status, 401);
    assert.match(third.text, /^svc_type='error'\nsvc_error='unauthenticated'/);
  });

  test('a client that goes away ends its wait and nothing else', async () => {
    const loop = new WaitingLoop();
    await using server = await gateway(loop);
    const leaving = new AbortController();
    const left = fetch(`${server.url}/v1/dispatch-gateway`, {
      method: 'POST',
      body: JSON.stringify(GENERATE),
      headers: { 'content-type': 'application/json' },
      signal: leaving.signal,
    }).catch(() => 'left');
    const first = await waitUntil('the first waits', () => loop.waits[0]);
    const staying = post(`${server.url}/v1/dispatch-gateway`, GENERATE);
    const second = await waitUntil('the second waits', () => loop.waits[1]);
    leaving.abort();
    assert.equal(await left, 'left');
    await waitUntil('the wait has ended', () => first.options?.signal?.aborted === true);
    assert.equal(second.options?.signal?.aborted, false);
    second.answer(final('still here'));
    assert.equal(JSON.parse((await staying).text).content, 'still here');
  });

  test('a server that closes tells waiting clients to retry', async () => {
    const loop = new WaitingLoop();
    const server = await gateway(loop);
    const waiting = post(`${server.url}/v1/dispatch-gateway`, GENERATE);
    await waitUntil('it waits', () => loop.waits[0]);
    await server.app.close();
    const answer = await waiting;
    assert.deepEqual([answer.status, JSON.parse(answer.text).error], [503, 'unavailable']);
  });

  test('other routes of the address are reached below a token as well', async () => {
    const { createInternalServer } = await import('../../../transport/internal/server.ts');
    const { pino } = await import('pino');
    const app = createInternalServer({
      dispatch: new ScriptedLoop([]),
      tokens: { issue: async () => TOKEN, verify: async () => ({ tenant: 'acme', executionId: EXECUTION }) },
      logger: pino({ level: 'silent' }),
      addSealRoutes: (scope) => {
        scope.post('/v1/seal/attest', { config: { access: 'public' } }, async () => ({ attested: true }));
      },
    });
    for (const path of ['/v1/seal/attest', `/x/${TOKEN}/v1/seal/attest`]) {
      const answer = await app.inject({ method: 'POST', url: path, payload: {} });
      assert.deepEqual([answer.statusCode, answer.json()], [200, { attested: true }]);
    }
    await app.close();
  });
});
