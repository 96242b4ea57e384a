import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { EventSource } from 'eventsource';
import { SvcError } from '../../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../../runtime/identity.ts';
import type { Authenticator } from '../../../security/api.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { restServer, UNKNOWN } from './rest-server.ts';

const path = (id: string) => `/v1/executions/${id}/stream`;

/** Opens a stream over a bare socket and collects what arrives. */
async function rawStream(port: number, id: string, headers = '') {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  let closed = false;
  socket.on('close', () => {
    closed = true;
  });
  socket.on('error', () => {});
  socket.write(`GET ${path(id)} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
  return { socket, text: () => text, closed: () => closed };
}

const frames = (text: string): string[] => text.split('\n\n').filter((frame) => frame !== '');

describe('event stream', () => {
  it('sends each event as an unnamed record with its number, as recorded, and ends after the last', async () => {
    await using at = await restServer();
    const id = await at.startRun();
    const started = { execution_id: id, agent_id: 'a', started_at: 't', note: 'two\nlines\r\n\u2028' };
    at.executions.emit(id, 'execution_started', started);
    at.executions.emit(id, 'execution_completed', { execution_id: id, final_output: 'done', total_iterations: 1 });
    for (const accept of ['*/*', 'text/event-stream', 'text/*']) {
      const stream = await at.call('GET', path(id), { headers: { accept } });
      assert.equal(stream.status, 200);
      assert.equal(stream.headers.get('content-type'), 'text/event-stream');
      assert.deepEqual(frames(stream.text), [
        `id: 1\ndata: ${JSON.stringify({ execution_started: started })}`,
        `id: 2\ndata: {"execution_completed":{"execution_id":"${id}","final_output":"done","total_iterations":1}}`,
      ]);
    }
  });

  it('opens at once and delivers events as they happen', async () => {
    await using at = await restServer();
    const id = await at.startRun();
    const response = await fetch(at.base + path(id));
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail('no body');
    at.executions.emit(id, 'iteration_started', { execution_id: id });
    assert.match((await reader.read()).value ?? '', /^id: 1\ndata: \{"iteration_started":/);
    at.executions.emit(id, 'execution_failed', { execution_id: id });
    assert.match((await reader.read()).value ?? '', /^id: 2\n/);
    assert.equal((await reader.read()).done, true);
  });

  it('an event stream resumes behind Last-Event-ID, given as header or in the query', async () => {
    await using at = await restServer();
    const id = await at.startRun();
    for (const name of ['execution_started', 'iteration_started', 'execution_completed']) {
      at.executions.emit(id, name, { execution_id: id });
    }
    const byHeader = await at.call('GET', path(id), { headers: { 'last-event-id': '1' } });
    const byQuery = await at.call('GET', `${path(id)}?last_event_id=1`);
    for (const { text } of [byHeader, byQuery]) {
      assert.deepEqual(
        frames(text).map((frame) => frame.slice(0, 5)),
        ['id: 2', 'id: 3'],
      );
    }
  });

  it('an event stream answers 204 at the last event of an ended execution, so that a client stops', async () => {
    await using at = await restServer();
    const id = await at.startRun();
    at.executions.emit(id, 'execution_completed', {});
    for (const last of ['1', '7']) {
      const done = await at.call('GET', path(id), { headers: { 'last-event-id': last } });
      assert.deepEqual([done.status, done.text], [204, '']);
    }
  });

  it('refuses a Last-Event-ID that is no number, or beyond the events there are', async () => {
    await using at = await restServer();
    const id = await at.startRun();
    at.executions.emit(id, 'execution_started', {});
    for (const last of ['x', '-1', '1.5', '01', '1e3', '9'.repeat(16), '2', '1, 1']) {
      const refused = await at.call('GET', path(id), { headers: { 'last-event-id': last } });
      assert.equal(refused.status, 400, last);
      assert.match(refused.body.error, /last-event-id/i, last);
    }
    assert.equal((await at.call('GET', `${path(id)}?last_event_id=x`)).status, 400);
    assert.equal(at.executions.following, 0);
  });

  it('an unknown execution is 404 before the stream begins; a client that wants no events gets 406', async () => {
    await using at = await restServer();
    assert.deepEqual((await at.call('GET', path(UNKNOWN))).body, { error: 'execution not found' });
    const refused = await at.call('GET', path(await at.startRun()), { headers: { accept: 'application/json' } });
    assert.equal(refused.status, 406);
    assert.equal(refused.body.error, 'not_acceptable');
    assert.equal(typeof refused.body.message, 'string');
  });

  it('sends a comment in silence', async () => {
    await using at = await restServer({ limits: { heartbeatMs: 20 } });
    const raw = await rawStream(at.port, await at.startRun());
    await waitUntil('two heartbeats', () => raw.text().split(': heartbeat\n\n').length > 2);
    raw.socket.destroy();
  });

  it('a standard EventSource follows, reconnects where it was after a cut, and stops at the end', async () => {
    await using at = await restServer({ limits: { reconnectMs: 10 } });
    const id = await at.startRun();
    const seen: string[] = [];
    let connections = 0;
    const source = new EventSource(at.base + path(id), {
      fetch: (input, init) => {
        connections += 1;
        return fetch(input, init);
      },
    });
    source.onmessage = (message) => seen.push(`${message.lastEventId} ${Object.keys(JSON.parse(message.data))[0]}`);
    try {
      await waitUntil('the source to be open', () => source.readyState === EventSource.OPEN);
      at.executions.emit(id, 'execution_started', {});
      await waitUntil('the first event', () => seen.length === 1);
      at.app.server.closeAllConnections();
      await waitUntil('the stream to be given up', () => at.executions.following === 0);
      at.executions.emit(id, 'iteration_started', {});
      at.executions.emit(id, 'execution_completed', {});
      await waitUntil('the source to stop for good', () => source.readyState === EventSource.CLOSED, 15_000);
      assert.deepEqual(seen, ['1 execution_started', '2 iteration_started', '3 execution_completed']);
      assert.equal(connections, 3);
    } finally {
      source.close();
    }
  });

  it('a stream whose token is revoked ends with a record that says so, and goes on while the check itself fails', async () => {
    const reader: Identity = {
      kind: 'operator',
      subject: 'r',
      tenant: SYSTEM_TENANT,
      roles: ['svc:admin'],
      tier: 'free',
    };
    let checks = 0;
    let answer: Identity | SvcError = reader;
    const authenticator: Authenticator = {
      required: true,
      async authenticate() {
        checks += 1;
        if (answer instanceof SvcError) throw answer;
        return answer;
      },
    };
    await using at = await restServer({ authenticator, limits: { recheckMs: 5 } });
    const raw = await rawStream(at.port, await at.startRun());
    await waitUntil('the follow to begin', () => at.executions.following === 1);
    const checked = async () => {
      const before = checks;
      await waitUntil('two more checks', () => checks > before + 1);
    };
    await checked();
    answer = new SvcError('unavailable');
    await checked();
    assert.equal(at.executions.following, 1);
    answer = new SvcError('unauthenticated');
    await waitUntil('the stream to end', () => at.executions.following === 0 && raw.text().endsWith('\r\n0\r\n\r\n'));
    const { code, message } = answer;
    const body = raw.text().split('\r\n\r\n').slice(1).join('\r\n\r\n');
    const record = `event: access_ended\ndata: ${JSON.stringify({ access_ended: { code, message } })}\n\n`;
    assert.equal(body.includes(record), true, body);
    raw.socket.destroy();
  });

  it('a role that is taken away ends the stream too', async () => {
    let roles = ['svc:admin'];
    const authenticator: Authenticator = {
      required: true,
      authenticate: async () => ({ kind: 'operator', subject: 'r', tenant: SYSTEM_TENANT, roles, tier: 'free' }),
    };
    await using at = await restServer({ authenticator, limits: { recheckMs: 5 } });
    const raw = await rawStream(at.port, await at.startRun());
    await waitUntil('the follow to begin', () => at.executions.following === 1);
    roles = [];
    await waitUntil('the last record', () => raw.text().includes('{"access_ended":{"code":"forbidden"'));
    raw.socket.destroy();
  });

  it('a client that leaves ends the follow', async () => {
    await using at = await restServer();
    const raw = await rawStream(at.port, await at.startRun());
    await waitUntil('the follow to begin', () => at.executions.following === 1);
    raw.socket.destroy();
    await waitUntil('the follow to end', () => at.executions.following === 0);
  });

  it('closing the server ends streams with a hint to reconnect', async () => {
    await using at = await restServer({ limits: { reconnectMs: 1_234 } });
    const raw = await rawStream(at.port, await at.startRun());
    await waitUntil('the stream to be open', () => raw.text().includes('text/event-stream'));
    await at.app.close();
    await waitUntil('the socket to end', raw.closed);
    assert.match(raw.text(), /retry: 1234\n\n/);
    assert.match(raw.text(), /0\r\n\r\n$/, 'the answer ends in order');
    assert.equal(at.executions.following, 0);
  });

  it('a stream whose source breaks ends with a hint to reconnect', async () => {
    await using at = await restServer();
    const id = await at.startRun();
    const raw = await rawStream(at.port, id);
    await waitUntil('the follow to begin', () => at.executions.following === 1);
    at.executions.runs.get(id)?.news.emit('error', new Error('store gone'));
    await waitUntil('the hint', () => raw.text().includes('retry: 2000\n\n'));
    assert.ok(at.logged.some((line) => line.includes('an event stream ended early')));
    raw.socket.destroy();
  });

  it('takes no more streams than its limit', async () => {
    await using at = await restServer({ limits: { streams: 1 } });
    const id = await at.startRun();
    const raw = await rawStream(at.port, id);
    await waitUntil('the follow to begin', () => at.executions.following === 1);
    const refused = await at.call('GET', path(id));
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get('retry-after'), '5');
    raw.socket.destroy();
  });
});

describe('slow clients', () => {
  const chunk = 'x'.repeat(256 * 1024);

  it('a client that does not read is held back, then cut off, and little is buffered for it', async () => {
    await using at = await restServer({ limits: { drainTimeoutMs: 300 } });
    const id = await at.startRun();
    for (let n = 0; n < 200; n += 1) at.executions.emit(id, 'iteration_output', { output: chunk });
    const before = process.memoryUsage().rss;
    const socket = connect({
      port: at.port,
      host: '127.0.0.1',
      onread: { buffer: Buffer.alloc(1024), callback: () => false },
    });
    let closed = false;
    socket
      .on('error', () => {})
      .on('close', () => {
        closed = true;
      });
    socket.write(`GET ${path(id)} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await waitUntil('the follow to begin', () => at.executions.following === 1);
    await waitUntil('the slow client to be cut off', () => at.executions.following === 0);
    const grownMib = (process.memoryUsage().rss - before) / 1024 / 1024;
    assert.ok(grownMib < 30, `memory grew by ${grownMib.toFixed(1)} MiB for 50 MiB of events`);
    socket.destroy();
    await waitUntil('the socket to be closed', () => closed);
  });

  it('a client that reads slowly but steadily gets everything', async () => {
    await using at = await restServer({ limits: { drainTimeoutMs: 5_000 } });
    const id = await at.startRun();
    for (let n = 0; n < 20; n += 1) at.executions.emit(id, 'iteration_output', { output: chunk });
    at.executions.emit(id, 'execution_completed', {});
    const response = await fetch(at.base + path(id));
    let bytes = 0;
    for await (const part of response.body ?? []) {
      bytes += part.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(bytes > 20 * chunk.length);
  });
});

describe('many streams', () => {
  it('1,000 idle streams cost little memory, and all end when their clients leave', async () => {
    await using at = await restServer();
    const id = await at.startRun();
    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    const sockets = Array.from({ length: 1_000 }, () => {
      const socket = connect(at.port, '127.0.0.1').on('error', () => {});
      socket.on('data', () => {});
      socket.write(`GET ${path(id)} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      return socket;
    });
    await waitUntil('all streams to be open', () => at.executions.following === 1_000, 20_000);
    // Client and server share this process, so this is the cost of both.
    const kibEach = (process.memoryUsage().rss - before) / 1024 / 1_000;
    assert.ok(kibEach < 150, `${kibEach.toFixed(0)} KiB a stream`);
    for (const socket of sockets) socket.destroy();
    await waitUntil('all streams to end', () => at.executions.following === 0, 20_000);
  });
});
