import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { credentials } from '@grpc/grpc-js';
import { pino } from 'pino';
import { SvcRuntimeClient } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { type GenerateRequest, type GenerateResponse, InnerLoopClient } from '../../../proto/gen/svc/v1/inner_loop.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { createInternalGrpcServer, type SealMethods } from '../../../transport/grpc/inner-loop/server.ts';
import { type DispatchApi, type GatewayAnswer, gatewayRequestOf } from '../../../usecases/gateway.ts';
import { AGENT, dispatch, EXECUTION, final, ScriptedLoop, TOKEN } from '../../effects/agents/bootstrap-places.ts';
import { metadataOf, unary } from '../grpc/call.ts';

async function setup(loop: DispatchApi, seal?: SealMethods) {
  const logged: string[] = [];
  const server = createInternalGrpcServer({
    dispatch: loop,
    tokens: {
      issue: async () => TOKEN,
      verify: async (token) => {
        if (token !== TOKEN) throw new SvcError('unauthenticated', 'The token does not hold.');
        return { tenant: 'acme', executionId: EXECUTION };
      },
    },
    logger: pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) }),
    health: { ready: async () => ({ ready: true }) },
    ...(seal === undefined ? {} : { seal }),
    limits: { closeGraceMs: 500 },
  });
  const address = await server.listen('127.0.0.1', 0);
  const client = new InnerLoopClient(address, credentials.createInsecure());
  const call = (request: GenerateRequest, token: string | null = TOKEN) =>
    unary((callback) =>
      client.generate(request, metadataOf(token === null ? {} : { authorization: `Bearer ${token}` }), callback),
    );
  return {
    ...{ address, call, logged },
    async [Symbol.asyncDispose]() {
      client.close();
      await server.close();
    },
  };
}

const GENERATE: GenerateRequest = {
  request: {
    $case: 'generate',
    value: {
      ...{ agent_id: AGENT, execution_id: EXECUTION, iteration_number: 1, model_alias: 'fast', prompt: 'hi' },
      messages: [
        { role: 'user', content: 'before', tool_call_id: '', tool_calls: [] },
        {
          ...{ role: 'assistant', content: '', tool_call_id: '' },
          tool_calls: [{ id: 'c1', name: 'fs.read', arguments: '{"path":"/a"}' }],
        },
        { role: 'tool', content: 'text', tool_call_id: 'c1', tool_calls: [] },
      ],
    },
  },
};

describe('svc.v1.InnerLoop/Generate', () => {
  test('carries both messages and both answers', async () => {
    const conversation: JsonObject[] = [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [{ type: 'text' }],
        tool_calls: [{ id: 'c', name: 'cmd.run', arguments: { a: 1 } }],
      },
    ];
    const last: GatewayAnswer = { type: 'final', content: 'done', conversation, tool_calls_executed: 7 };
    const loop = new ScriptedLoop([dispatch('git', ['status', ''], { env_additions: { A: 'b' } }), last]);
    await using node = await setup(loop);
    const first = await node.call(GENERATE);
    const { type: _type, ...expected } = { ...dispatch('git', ['status', '']), env_additions: { A: 'b' } };
    assert.deepEqual((first.answer as GenerateResponse).response, { $case: 'dispatch', value: expected });
    assert.deepEqual(loop.asked[0]?.messages, [
      { role: 'user', content: 'before' },
      { role: 'assistant', content: '', tool_calls: [{ id: 'c1', name: 'fs.read', arguments: { path: '/a' } }] },
      { role: 'tool', content: 'text', tool_call_id: 'c1' },
    ]);
    const result = { dispatch_id: 'd', exit_code: -1, stdout: 'o', stderr: 'e', duration_ms: 5, truncated: true };
    const second = await node.call({
      request: { $case: 'dispatch_result', value: { execution_id: EXECUTION, ...result } },
    });
    assert.deepEqual(loop.results, [result]);
    assert.deepEqual((second.answer as GenerateResponse).response, {
      $case: 'final',
      value: {
        content: 'done',
        tool_calls_executed: 7,
        conversation: [
          { role: 'user', content: 'hi', tool_call_id: '', tool_calls: [] },
          {
            ...{ role: 'assistant', content: '[{"type":"text"}]', tool_call_id: '' },
            tool_calls: [{ id: 'c', name: 'cmd.run', arguments: '{"a":1}' }],
          },
        ],
      },
    });
  });

  test('needs the token of that very execution', async () => {
    const loop = new ScriptedLoop([final('secret')]);
    await using node = await setup(loop);
    assert.equal((await node.call(GENERATE, null)).code, 'UNAUTHENTICATED');
    assert.equal((await node.call(GENERATE, 'wrong')).code, 'UNAUTHENTICATED');
    const foreign: GenerateRequest = {
      request: { $case: 'generate', value: { ...generateValue(), execution_id: AGENT } },
    };
    assert.equal((await node.call(foreign)).code, 'PERMISSION_DENIED');
    assert.equal(loop.asked.length, 0);
    assert.ok(!node.logged.some((line) => line.includes(TOKEN.slice(0, 60))));
  });

  test('maps errors by the one table', async () => {
    const rows = [
      ['model_failed', 'UNAVAILABLE'],
      ['rate_limited', 'RESOURCE_EXHAUSTED'],
      ['failed_precondition', 'FAILED_PRECONDITION'],
      ['not_found', 'NOT_FOUND'],
    ] as const;
    for (const [code, status] of rows) {
      await using node = await setup(new ScriptedLoop([new SvcError(code, 'why')]));
      const answer = await node.call(GENERATE);
      assert.deepEqual([answer.code, answer.details], [status, 'why']);
    }
    await using node = await setup(new ScriptedLoop([]));
    assert.equal((await node.call({ request: undefined })).code, 'INVALID_ARGUMENT');
    const zero: GenerateRequest = {
      request: { $case: 'generate', value: { ...generateValue(), iteration_number: 0 } },
    };
    assert.match((await node.call(zero)).details, /iteration_number/);
  });

  test('AttestAgent and InvokeTool are served beside it, without a token, when the node has them', async () => {
    const served: SealMethods = {
      attestAgent: (_call, answer) => answer({ code: 9, details: 'reached' }),
      invokeTool: (_call, answer) => answer({ code: 9, details: 'reached' }),
    };
    for (const [seal, expected] of [
      [served, 'FAILED_PRECONDITION'],
      [undefined, 'UNIMPLEMENTED'],
    ] as const) {
      await using node = await setup(new ScriptedLoop([]), seal);
      const client = new SvcRuntimeClient(node.address, credentials.createInsecure());
      const attest = { agent_id: AGENT, execution_id: EXECUTION, container_id: EXECUTION, public_key_pem: '' };
      const { code } = await unary((callback) => client.attestAgent(attest, callback));
      assert.equal(code, expected);
      const other = await unary((callback) =>
        client.executeSystemCommand({ command: 'id', env: {}, workdir: '' }, callback),
      );
      assert.equal(other.code, 'UNIMPLEMENTED');
      client.close();
    }
  });
});

function generateValue() {
  if (GENERATE.request?.$case !== 'generate') throw new Error('not a generate');
  return GENERATE.request.value;
}

test('a malformed request of a bootstrap names its field and what was expected', () => {
  const rows: readonly (readonly [unknown, RegExp])[] = [
    [null, /^expected an object$/],
    [{ type: 'shout' }, /^type: expected generate or dispatch_result$/],
    [{ type: 'generate', agent_id: 'a', execution_id: 'e', iteration_number: 1 }, /^prompt: expected text$/],
    [
      { type: 'dispatch_result', execution_id: 'e', dispatch_id: 'd', colour: 'red' },
      /^exit_code: expected a number; stdout: expected text.*; unknown members: colour$/,
    ],
  ];
  for (const [given, message] of rows)
    assert.throws(() => gatewayRequestOf(given), { code: 'invalid_argument', message });
});
