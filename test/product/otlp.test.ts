import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ATTRIBUTES } from '../docs/span-table.ts';
import { type HttpServer, httpServer } from '../effects/mcp/http-server.ts';
import { ModelServer } from '../support/model-server.ts';
import { OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { waitUntil } from '../support/wait-until.ts';
import { clientOf, ended, metadataOf, request } from '../transport/grpc/call.ts';
import { agentYaml, ProductNode } from './product-node.ts';

const CANARY = 'canary-5b1f77c3';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const STATE = 'vendor=opaque-1';
const parentOf = (trace: string, flags = '01'): string => `00-${trace}-${CALLER}-${flags}`;
const traceNumber = (n: number): string => `${'0'.repeat(30)}${n.toString(16).padStart(2, '0')}`;

const receiver = new OtlpReceiver();
const models = new ModelServer();
let tools: HttpServer;
let node: ProductNode;
let agent: string;

async function completed(id: string): Promise<Readonly<Record<string, unknown>>> {
  return waitUntil('the run to end', async () => {
    const status = await node.statusOf(id);
    return status.status !== 'running' && status.status !== 'pending' && status;
  });
}

/**
 * All spans of a trace, once they include the expected ones and every span that another span or request names as
 * parent.
 */
const whole = (trace: string, wanted: (spans: readonly ReceivedSpan[]) => boolean): Promise<ReceivedSpan[]> =>
  waitUntil(`the spans of ${trace}`, () => {
    const spans = receiver.of(trace);
    return wanted(spans) && spans;
  });

describe('OpenTelemetry', () => {
  before(async () => {
    const endpoint = await receiver.start();
    await models.start();
    tools = await httpServer();
    node = await ProductNode.start({
      env: { ...process.env, OTLP_KEY: CANARY },
      spec: {
        node: { id: 'node-of-spans' },
        llm_providers: [
          {
            name: 'gateway',
            type: 'openai-compatible',
            endpoint: `${models.url}/v1`,
            api_key: CANARY,
            models: [{ alias: 'default', model: 'small-1' }],
          },
        ],
        mcp_servers: [{ name: 'h', url: tools.url, headers: { 'x-key': CANARY } }],
        security_contexts: [{ name: 'any', capabilities: [{ tool_pattern: '*' }] }],
        observability: {
          logging: { level: 'warn' },
          tracing: { otlp_endpoint: endpoint, headers: { 'x-otlp-key': 'env:OTLP_KEY' }, max_queued_spans: 512 },
        },
      },
    });
    agent = await node.deploy(agentYaml('teller', { tools: ['h.echo'], security_context: 'any' }));
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await Promise.all([models.stop(), tools[Symbol.asyncDispose]()]);
  });

  test('one trace connects the caller’s span with the requests to a model and to a tool server', async () => {
    models.script(
      {
        toolCalls: [{ id: 'c1', name: 'h_echo', arguments: `{"password":"${CANARY}"}` }],
        usage: { input: 7, output: 3 },
      },
      { chunks: [`told ${CANARY}`], usage: { input: 9, output: 4 } },
    );
    const headers = { traceparent: parentOf(TRACE), tracestate: STATE };
    const id = await node.run(agent, `say ${CANARY}`, headers);
    const run = await completed(id);
    assert.deepEqual([run.status, run.trace_id], ['completed', TRACE]);
    const spans = await whole(TRACE, (all) => {
      const known = new Set([CALLER, ...all.map(({ span_id }) => span_id)]);
      const calls = all.filter(({ name }) => name === 'chat small-1').length;
      return calls === 2 && all.every(({ parent_span_id }) => known.has(parent_span_id ?? CALLER));
    });
    const ids = new Map(spans.map((span) => [span.span_id, span]));
    const [start] = spans.filter(({ name }) => name === 'execution Start');
    assert.ok(start !== undefined);
    assert.deepEqual([start.parent_span_id, start.trace_state, start.kind], [CALLER, STATE, 5]);
    assert.deepEqual([start.resource['service.name'], start.resource['service.instance.id']], ['svc', 'node-of-spans']);
    // The requests to the model and the tool server name a span of this trace, whose ancestors include the caller's.
    const model = models.calls.at(-1)?.headers;
    const tool = tools.calls.at(-1);
    const seen = [model?.traceparent, tool?.headers.traceparent, tool?.meta.traceparent];
    const named = seen.map((header) => /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(String(header)));
    assert.deepEqual(
      named.map((match) => match?.[1]),
      [TRACE, TRACE, TRACE],
    );
    assert.deepEqual([model?.tracestate, tool?.headers.tracestate, tool?.meta.tracestate], [STATE, STATE, STATE]);
    const paths = named.map((match) => {
      const names: string[] = [];
      for (let at = match?.[2]; at !== undefined && at !== CALLER; at = ids.get(at)?.parent_span_id) {
        names.push(ids.get(at)?.name ?? `no span ${at}`);
      }
      return names;
    });
    assert.deepEqual(paths[0]?.slice(0, 2), ['chat small-1', 'effect model.generate']);
    assert.equal(paths[0]?.at(-1), 'execution Start');
    assert.deepEqual(paths[1]?.slice(0, 2), ['execute_tool h.echo', 'effect tool.call']);
    assert.deepEqual(paths[2], paths[1]);
    for (const span of spans) {
      const isRoot = span.parent_span_id === CALLER || ids.has(span.parent_span_id ?? '') || span.links.length > 0;
      assert.ok(isRoot, `${span.name} is an orphan`);
      assert.ok(BigInt(span.start_time_unix_nano) <= BigInt(span.end_time_unix_nano), span.name);
      assert.equal(span.attributes['svc.tenant'], 'svc-system');
      assert.deepEqual(
        Object.keys(span.attributes).filter((name) => !(name in ATTRIBUTES)),
        [],
      );
    }
    const chat = spans.find(({ name }) => name === 'chat small-1');
    assert.equal(chat?.attributes['gen_ai.provider.name'], 'openai-compatible');
    assert.equal(String(chat?.attributes['gen_ai.usage.input_tokens']), '7');
    assert.equal(chat?.kind, 3);
  });

  test('no span contains a payload or a secret, and the receiver gets the headers of the settings', () => {
    assert.ok(receiver.bodies.length > 0);
    assert.ok(receiver.bodies.every((body) => !body.includes(CANARY)));
    assert.ok(receiver.headers.every((headers) => headers['x-otlp-key'] === CANARY));
    assert.deepEqual([...new Set(receiver.paths)], ['/v1/traces']);
  });

  test('a call over gRPC and one over MCP continue their caller’s span, and one without the sampled flag exports none', async () => {
    models.script({ chunks: ['ok'] });
    const [overGrpc, overMcp, unsampled] = [traceNumber(1), traceNumber(2), traceNumber(3)];
    const client = clientOf(await node.process.grpcAddress);
    const answered = await ended(client.executeAgent(request(agent), metadataOf({ traceparent: parentOf(overGrpc) })));
    assert.equal(answered.code, 'OK');
    client.close();
    const quiet = await node.run(agent, 'quiet', { traceparent: parentOf(unsampled, '00') });
    await completed(quiet);
    assert.match(String(models.calls.at(-1)?.headers.traceparent), new RegExp(`^00-${unsampled}-[0-9a-f]{16}-00$`));
    const params = { name: 'h.echo', arguments: {}, _meta: { traceparent: parentOf(overMcp) } };
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const told = await node.json('POST', '/mcp', call, { accept: 'application/json, text/event-stream' });
    assert.equal(told.status, 200, told.text);
    const follows = (spans: readonly ReceivedSpan[]) => spans.some(({ parent_span_id }) => parent_span_id === CALLER);
    await Promise.all([whole(overGrpc, follows), whole(overMcp, follows)]);
    assert.match(String(tools.calls.at(-1)?.meta.traceparent), new RegExp(`^00-${overMcp}-`));
    assert.deepEqual(receiver.of(unsampled), []);
  });

  test('without a receiver runs end and the node stops in time', async () => {
    await receiver.stop();
    models.script({ chunks: ['alone'] });
    const status = await completed(await node.run(agent, 'go on'));
    assert.deepEqual([status.status, status.last_output], ['completed', 'alone']);
    const stopping = performance.now();
    await node.process.kill('SIGTERM');
    assert.ok(performance.now() - stopping < 15_000, `${performance.now() - stopping} ms`);
  });
});
