import assert from 'node:assert/strict';
import { type ClientHttp2Session, connect } from 'node:http2';
import { describe, test } from 'node:test';
import { ExecuteAgentRequest } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Authenticator } from '../../../security/api.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { arrival, ended, metadataOf, request } from './call.ts';
import { grpcServer } from './grpc-server.ts';

const at = '2026-01-02T03:04:05.000Z';

/** A stream whose client takes the headers and then reads nothing, so that HTTP/2 flow control stops the server. */
function lazyStream(session: ClientHttp2Session, agentId: string, more: Record<string, string> = {}) {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/svc.runtime.v1.SvcRuntime/ExecuteAgent',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...more,
  });
  stream.pause();
  for (const part of [session, stream]) {
    part.on('error', () => {
      // The end of the connection is expected.
    });
  }
  const message = ExecuteAgentRequest.encode(request(agentId)).finish();
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  stream.end(frame);
  return stream;
}

describe('events over gRPC', () => {
  test('every kind of event has its fields, and zero values stay what they are', async () => {
    await using it = await grpcServer();
    const { call, id } = await it.run();
    const over = ended(call);
    const base = { execution_id: id, iteration_number: 1 };
    const events = [
      ['execution_started', { execution_id: id, agent_id: 'a', started_at: at }],
      ['iteration_started', { ...base, action: '', started_at: at }],
      ['iteration_output', { ...base, output: 'naïve 🎉' }],
      ['iteration_failed', { ...base, error: { error_type: 'e', message: 'm', stacktrace: '' }, failed_at: at }],
      ['iteration_failed', { ...base, error: { error_type: 'e', message: 'm' }, failed_at: at }],
      ['refinement_applied', { ...base, code_diff: '', applied_at: at }],
      ['iteration_completed', { ...base, output: '', completed_at: at }],
      ['execution_completed', { execution_id: id, final_output: '', total_iterations: 0, completed_at: at }],
    ] as const;
    for (const [name, payload] of events) it.executions.emit(id, name, JSON.parse(JSON.stringify(payload)));
    const run = await over;
    assert.equal(run.code, 'OK');
    const plain = JSON.parse(JSON.stringify(run.events.map(({ $case, value }) => [$case, value])));
    assert.deepEqual(plain, events);
  });

  test('a call whose token is revoked ends UNAUTHENTICATED; the execution goes on', async () => {
    let isRevoked = false;
    const authenticator: Authenticator = {
      required: true,
      async authenticate() {
        if (isRevoked) throw new SvcError('unauthenticated');
        return { kind: 'operator', subject: 'o', tenant: 'svc-system', roles: ['svc:admin'], tier: 'free' };
      },
    };
    await using it = await grpcServer({ recheckMs: 5 }, { authenticator });
    const { call } = await it.run();
    const over = ended(call);
    isRevoked = true;
    assert.equal((await over).code, 'UNAUTHENTICATED');
    await waitUntil('the stream was given up', () => it.executions.following === 0);
  });

  test('a run that did not complete ends, behind its event, with status and code of its end and the cause as text', async () => {
    await using it = await grpcServer();
    for (const [reason, code] of [
      ['max_iterations_exceeded', 'RESOURCE_EXHAUSTED'],
      ['cancelled', 'CANCELLED'],
      ['timed_out', 'DEADLINE_EXCEEDED'],
      ['model_refused', 'FAILED_PRECONDITION'],
      ['not_found', 'NOT_FOUND'],
    ] as const) {
      const { call, id } = await it.run();
      const over = ended(call);
      const event = { execution_id: id, reason, total_iterations: 1, failed_at: at, message: 'the cause' };
      it.executions.emit(id, 'execution_failed', event);
      const run = await over;
      assert.equal(run.events.length, 1);
      assert.equal(run.code, code, reason);
      assert.equal(run.status.details, `${reason}: the cause`);
      assert.deepEqual(run.status.metadata?.get('svc-error-code'), [reason]);
    }
  });

  test('a bug is INTERNAL with a trace id and none of its text, which the log has', async () => {
    await using it = await grpcServer();
    it.executions.failure = new Error('password=hunter2');
    const trace = 'ef'.repeat(16);
    const metadata = metadataOf({ traceparent: `00-${trace}-${'01'.repeat(8)}-01` });
    const run = await ended(it.client.executeAgent(request(it.agentId), metadata));
    assert.equal(run.code, 'INTERNAL');
    assert.equal(run.status.details, `An internal error occurred. The log of the node has the cause. Trace ${trace}.`);
    assert.doesNotMatch(JSON.stringify(run.status.metadata?.toJSON()), /hunter2/);
    assert.ok(it.logged.some((line) => line.includes(trace) && line.includes('hunter2')));
  });

  test('an event that no message exists for ends the stream as INTERNAL, not as a silent gap', async () => {
    await using it = await grpcServer();
    const { call, id } = await it.run();
    const over = ended(call);
    it.executions.emit(id, 'execution_paused', { execution_id: id });
    assert.equal((await over).code, 'INTERNAL');
  });

  test('temporary errors name a time to retry', async () => {
    await using it = await grpcServer();
    it.executions.failure = new SvcError('mailbox_full', undefined, { retryAfterMs: 1_500 });
    const run = await ended(it.client.executeAgent(request(it.agentId)));
    assert.equal(run.code, 'RESOURCE_EXHAUSTED');
    const details = run.status.metadata?.get('grpc-status-details-bin')[0];
    assert.ok(Buffer.isBuffer(details));
    assert.match(details.toString('latin1'), /google\.rpc\.RetryInfo/);
  });

  test('a client that cancels ends the follow', async () => {
    await using it = await grpcServer();
    const { call, id } = await it.run();
    await waitUntil('the stream is followed', () => it.executions.following === 1);
    it.executions.emit(id, 'execution_started', { execution_id: id, agent_id: 'a', started_at: at });
    await arrival(call, 'execution_started');
    const over = ended(call);
    call.cancel();
    assert.equal((await over).code, 'CANCELLED');
    await waitUntil('the follow ended', () => it.executions.following === 0);
  });

  test('takes no more streams than its limit', async () => {
    await using it = await grpcServer({ streams: 1 });
    const { call } = await it.run();
    const refused = await ended(it.client.executeAgent(request(it.agentId)));
    assert.equal(refused.code, 'UNAVAILABLE');
    assert.equal(it.executions.starts.length, 1);
    const over = ended(call);
    call.cancel();
    await over;
    await waitUntil('the place is free', () => it.executions.following === 0);
    const { call: next } = await it.run();
    next.cancel();
  });
});

describe('clients that do not read', () => {
  /** Emits events of 64 KiB until the server takes no more; returns how many it took. */
  async function flood(it: Awaited<ReturnType<typeof grpcServer>>, id: string, count: number): Promise<void> {
    const output = 'x'.repeat(64 * 1024);
    for (let n = 0; n < count; n += 1) {
      it.executions.emit(id, 'iteration_output', { execution_id: id, iteration_number: 1, output });
    }
  }

  test('a client that reads nothing is held back: little is buffered for 200 MB of events', async () => {
    await using it = await grpcServer();
    const session = connect(`http://${it.address}`);
    const stream = lazyStream(session, it.agentId);
    const start = await waitUntil('the execution was started', () => it.executions.starts[0]);
    const id = start.request.executionId;
    let taken = 0;
    const run = it.executions.runs.get(id);
    assert.ok(run !== undefined);
    // One text, counted each time the server takes it to send.
    const output = 'x'.repeat(64 * 1024);
    const event = { execution_id: id, iteration_number: 1, output };
    for (let n = 0; n < 3_200; n += 1) {
      run.events.push({
        seq: n + 1,
        at: 0,
        name: 'iteration_output',
        get payload() {
          taken += 1;
          return event;
        },
      });
    }
    run.news.emit('news');
    await waitUntil('the server stopped taking events', async () => {
      const before = taken;
      await new Promise((resolve) => setTimeout(resolve, 200));
      return taken > 0 && taken === before;
    });
    assert.ok(taken < 20, `took ${taken} events of 64 KiB`);
    stream.destroy();
    session.destroy();
    await waitUntil('the follow ended', () => it.executions.following === 0);
  });

  test('a client that reads slowly but steadily gets everything, in order', async () => {
    await using it = await grpcServer({ unreadBytes: 64 * 1024 });
    const { call, id } = await it.run();
    const over = ended(call);
    const read = setInterval(() => (call.isPaused() ? call.resume() : call.pause()), 2);
    await flood(it, id, 100);
    it.executions.emit(id, 'execution_completed', {
      execution_id: id,
      final_output: '',
      total_iterations: 1,
      completed_at: at,
    });
    await waitUntil('all was read', () => it.executions.following === 0);
    clearInterval(read);
    call.resume();
    const run = await over;
    assert.equal(run.code, 'OK');
    assert.equal(run.events.length, 101);
  });

  test('a client that reads nothing for too long loses the stream, and its follow ends', async () => {
    await using it = await grpcServer({ drainTimeoutMs: 50 });
    const session = connect(`http://${it.address}`);
    const stream = lazyStream(session, it.agentId);
    const start = await waitUntil('the execution was started', () => it.executions.starts[0]);
    await flood(it, start.request.executionId, 100);
    await waitUntil('the follow ended', () => it.executions.following === 0);
    assert.ok(it.logged.some((line) => line.includes('did not read the events')));
    stream.destroy();
    session.destroy();
  });

  test('the deadline of a client that reads nothing ends its follow', async () => {
    await using it = await grpcServer();
    const session = connect(`http://${it.address}`);
    const stream = lazyStream(session, it.agentId, { 'grpc-timeout': '200m' });
    const start = await waitUntil('the execution was started', () => it.executions.starts[0]);
    await flood(it, start.request.executionId, 100);
    await waitUntil('the follow ended', () => it.executions.following === 0);
    stream.destroy();
    session.destroy();
  });

  test('closing cuts connections whose clients do not read', async () => {
    await using it = await grpcServer({ closeGraceMs: 100 });
    const session = connect(`http://${it.address}`);
    const gone = new Promise((resolve) => session.once('close', resolve));
    const stream = lazyStream(session, it.agentId);
    const start = await waitUntil('the execution was started', () => it.executions.starts[0]);
    await flood(it, start.request.executionId, 100);
    await waitUntil('events wait for the client', () => stream.readableLength > 0);
    const closedAt = performance.now();
    await it.server.close();
    assert.ok(performance.now() - closedAt < 5_000);
    await gone;
    await waitUntil('the follow ended', () => it.executions.following === 0);
  });
});
