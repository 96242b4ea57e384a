import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { generatedClients } from '../../clients/generate.ts';
import { createClient, SvcApiError, type SvcClient } from '../../clients/typescript/client.ts';
import { NodeProcess } from '../support/node-process.ts';
import { waitUntil } from '../support/wait-until.ts';

const SETTINGS = (directory: string): string => `apiVersion: svc.dev/v1
kind: NodeConfig
spec:
  llm_providers:
    - name: script
      type: scripted
      script: ${directory}/answers.yaml
      models:
        - { alias: default, model: script }
`;

const AGENT = `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: haiku, version: "1.0.0", description: Writes a haiku }
spec:
  runtime: { model: default }
  task: { instruction: Write a haiku. }
`;

/** A body whose connection breaks after the text. */
function brokenAfter(text: string): ReadableStream<Uint8Array> {
  let isSent = false;
  return new ReadableStream({
    pull(controller) {
      if (isSent) return controller.error(new TypeError('broken'));
      isSent = true;
      controller.enqueue(new TextEncoder().encode(text));
    },
  });
}

describe('the TypeScript client', () => {
  let directory: string;
  let node: NodeProcess;
  let svc: SvcClient;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-client-'));
    await writeFile(join(directory, 'svc.yaml'), SETTINGS(directory));
    await writeFile(join(directory, 'answers.yaml'), 'rules:\n  - reply: rain on the roof\n');
    node = new NodeProcess(['--data', join(directory, 'data'), '--config', join(directory, 'svc.yaml')]);
    node.spawn();
    svc = createClient({ baseUrl: await node.url });
  });
  after(async () => {
    await node.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('is what its generator makes of the API description, as is the Python client', async () => {
    const described = await (await fetch(`${await node.url}/v1/openapi.json`)).text();
    const files = generatedClients(JSON.parse(described));
    const stale = [...files].filter(([path, text]) => readFileSync(path, 'utf8') !== text).map(([path]) => path);
    assert.deepEqual(stale, [], 'run "npm run generate:client"');
  });

  test('deploys an agent from YAML, starts it once for one key, and follows it to its output', async () => {
    const { agent_id } = await svc.agents.deploy({ body: AGENT });
    assert.match(await svc.agents.export({ id: agent_id }), /name: haiku/);
    const start = (): ReturnType<SvcClient['executions']['start']> =>
      svc.executions.start({ agent_id, input: 'rain' }, { idempotencyKey: 'one' });
    const [{ execution_id }, again] = [await start(), await start()];
    assert.equal(again.execution_id, execution_id);

    const names: string[] = [];
    const ids: number[] = [];
    for await (const { id, event } of svc.executions.stream({ id: execution_id })) {
      ids.push(id);
      names.push(...Object.keys(event));
    }
    assert.deepEqual([names[0], names.at(-1)], ['execution_started', 'execution_completed']);
    assert.deepEqual(
      ids,
      ids.map((_id, index) => index + 1),
    );

    const { status, last_output } = await svc.executions.get({ id: execution_id });
    assert.deepEqual([status, last_output], ['completed', 'rain on the roof']);
    const listed = await waitUntil('lists follow within their lag', async () => {
      const { executions } = await svc.executions.list({ status: 'completed', limit: 5 });
      return executions.length > 0 && executions;
    });
    assert.deepEqual(
      listed.map((one) => one.execution_id),
      [execution_id],
    );

    const behind: number[] = [];
    for await (const { id } of svc.executions.stream({ id: execution_id }, { lastEventId: 2 })) behind.push(id);
    assert.deepEqual(behind, ids.slice(2));
  });

  test('the example deploys a workflow, runs it, follows it, and shows why a cancel is refused', async () => {
    const args = ['examples/clients/run-workflow.ts', 'examples/workflows/data-job/workflow.yaml', 'data-job'];
    const env = { ...process.env, SVC_URL: await node.url };
    const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 60_000 });
    const lines = stdout.trim().split('\n');
    assert.ok(lines.includes('WorkflowExecutionCompleted'), stdout);
    assert.match(lines.slice(-2).join('\n'), /^completed \d states\n409 /);
  });

  test('writes and reads the bytes of a file', async () => {
    const { id } = await svc.volumes.create({
      name: 'notes',
      storage_class: 'persistent',
      size_limit_bytes: 1_000_000,
    });
    const bytes = new Uint8Array([0, 255, 13, 10]);
    await svc.volumeFiles.write({ id, path: '/a b.bin', body: bytes });
    assert.deepEqual(await svc.volumeFiles.read({ id, path: '/a b.bin' }), bytes);
    await svc.volumeFiles.write({ id, path: '/a b.bin' });
    assert.deepEqual(await svc.volumeFiles.read({ id, path: '/a b.bin' }), new Uint8Array());
  });

  test('a refusal is an error with status, code and text', async () => {
    const unknown = '00000000-0000-4000-8000-000000000000';
    const refused = async (call: Promise<unknown>): Promise<SvcApiError> => {
      const thrown: unknown = await call.then(
        () => null,
        (error: unknown) => error,
      );
      assert.ok(thrown instanceof SvcApiError, String(thrown));
      return thrown;
    };
    const plain = await refused(svc.executions.get({ id: unknown }));
    assert.deepEqual([plain.status, plain.code, plain.message], [404, null, 'execution not found']);
    const coded = await refused(svc.secrets.get({ path: 'nothing' }));
    assert.deepEqual([coded.status, coded.code], [404, 'not_found']);
  });

  test('a parameter that is missing in the path, or would change the path, is named before anything is sent', async () => {
    for (const id of ['', '.', '..'])
      await assert.rejects(svc.executions.get({ id }), { name: 'TypeError', message: /^id: expected a value/ });
  });

  test('a stream that may not resume says when its node cuts it, and from which event to resume', async () => {
    const cut = 'id: 7\ndata: {"execution_started":{}}\n\nretry: 50\n\n';
    const answer = (): Response => new Response(cut, { headers: { 'content-type': 'text/event-stream' } });
    const client = createClient({ baseUrl: 'http://127.0.0.1:1', fetch: async () => answer() });
    const seen: number[] = [];
    await assert.rejects(
      async () => {
        for await (const { id } of client.executions.stream({ id: 'x' }, { resume: false })) seen.push(id);
      },
      { name: 'StreamCutError', lastEventId: 7, retryAfterMs: 50 },
    );
    assert.deepEqual(seen, [7]);
  });

  test('a stream resumes by itself after each kind of cut, with no event lost or doubled', async () => {
    const after: (string | null)[] = [];
    const events = (...ids: readonly number[]): string => ids.map((id) => `id: ${id}\ndata: {"e":${id}}\n\n`).join('');
    const answers: (() => Response)[] = [
      () => new Response(brokenAfter(`: heartbeat\n\n${events(1, 2)}id: 3\nda`)),
      () => {
        throw new TypeError('fetch failed');
      },
      () => new Response('{"error":"unavailable","message":"it starts"}', { status: 503 }),
      // It sends again what was seen, and then announces that it stops.
      () => new Response(`${events(2, 3)}retry: 1\n\n`),
      // A proxy closed it in the middle of a record.
      () => new Response(`${events(4)}id: 5\ndata: {"e"`),
      () => new Response(events(5)),
      () => new Response(null, { status: 204 }),
    ];
    const client = createClient({
      baseUrl: 'http://127.0.0.1:1',
      fetch: async (_url, init) => {
        after.push(new Headers(init?.headers).get('last-event-id'));
        return (answers.shift() ?? assert.fail('one call too many'))();
      },
    });
    const seen: number[] = [];
    for await (const { id } of client.executions.stream({ id: 'x' })) seen.push(id);
    assert.deepEqual(seen, [1, 2, 3, 4, 5]);
    assert.deepEqual(after, [null, '2', '2', '2', '3', '4', '5']);
  });

  test('a stream ends with the error when its node stays away, when it is refused, and when its signal says so', async () => {
    const answers: (() => Response)[] = [];
    const client = createClient({
      baseUrl: 'http://127.0.0.1:1',
      fetch: async (_url, init) => {
        init?.signal?.throwIfAborted();
        const next = answers.shift();
        if (next === undefined) throw new TypeError('fetch failed');
        return next();
      },
    });
    const cut = (): Response => new Response(brokenAfter('id: 1\ndata: {"e":1}\n\n'));
    const read = async (options: Parameters<typeof client.executions.stream>[1]): Promise<void> => {
      for await (const { id } of client.executions.stream({ id: 'x' }, options)) assert.equal(id, 1);
    };
    await assert.rejects(read({}), TypeError, 'a node that was never there is not waited for');
    answers.push(cut);
    await assert.rejects(read({ resume: { patienceMs: 0 } }), /fetch failed|broken/);
    answers.push(cut, () => new Response('{"error":"execution not found"}', { status: 404 }));
    await assert.rejects(read({}), { name: 'SvcApiError', status: 404 });
    answers.push(cut);
    await assert.rejects(read({ signal: AbortSignal.timeout(150) }), { name: 'TimeoutError' });
  });

  test('a stream whose caller has no access any more says so', async () => {
    const text =
      'id: 7\ndata: {"run":{}}\n\nevent: access_ended\ndata: {"access_ended":{"code":"x","message":"expired"}}\n\n';
    const answer = (): Response => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
    const client = createClient({ baseUrl: 'http://127.0.0.1:1', fetch: async () => answer() });
    const seen: string[] = [];
    await assert.rejects(
      async () => {
        for await (const { place } of client.feed.stream({})) seen.push(place);
      },
      { name: 'AccessEndedError', lastEventId: 7, message: /expired/ },
    );
    assert.deepEqual(seen, ['7']);
  });

  test('an address without its scheme is refused when the client is created', () => {
    for (const baseUrl of ['127.0.0.1:8080', 'localhost:8080', 'ftp://127.0.0.1', 'http://', ''])
      assert.throws(() => createClient({ baseUrl }), /baseUrl: expected an address such as http/);
  });

  test('leaving the loop of a stream, or its signal, ends the request', async () => {
    let closed = 0;
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': heartbeat\n\nid: 1\ndata: {"execution_started":{}}\n\n');
      response.on('close', () => {
        closed += 1;
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    const slow = createClient({ baseUrl: `http://127.0.0.1:${address.port}`, token: async () => 'secret' });
    for await (const { id } of slow.executions.stream({ id: 'x' })) {
      assert.equal(id, 1);
      break;
    }
    const abort = new AbortController();
    await assert.rejects(
      async () => {
        for await (const { id } of slow.executions.stream({ id: 'x' }, { signal: abort.signal })) {
          assert.equal(id, 1);
          abort.abort();
        }
      },
      { name: 'AbortError' },
    );
    await waitUntil('both requests are closed', () => closed === 2);
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });
});
