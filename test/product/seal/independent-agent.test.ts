import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../../support/wait-until.ts';
import type { Identified, IndependentAgent } from './independent-agent.ts';
import { SealNode } from './seal-node.ts';
import type { SealClient } from './transports.ts';

const TEXT = 'grüße ✓\n';

describe('an independent agent, written from the specification alone', () => {
  let at: SealNode;
  let running: Identified;
  before(async () => {
    at = await SealNode.start();
    running = await at.begin();
  });
  after(() => at[Symbol.asyncDispose]());

  /** fs.write, fs.read and cmd.run, with the answers that the specification defines. */
  async function works(agent: IndependentAgent, client: SealClient): Promise<void> {
    const path = `/workspace/${agent.sessionId}/note.txt`;
    const said = await client.invoke(agent.call(1, 'fs.write', { path, content: TEXT }));
    assert.ok([200, 'OK'].includes(said.status), `${client.name}: ${said.text}`);
    assert.equal(said.id, 1);
    assert.equal(said.result?.isError, false);
    assert.match(said.result?.text ?? '', new RegExp(path));
    const read = await client.invoke(agent.call('two', 'fs.read', { path }, { method: 'call_tool' }));
    assert.deepEqual([read.id, read.result?.text], ['two', TEXT]);
    const args = ['-c', 'cat "$0" - < /dev/null; echo oops >&2; exit 3', path];
    const ran = await client.invoke(agent.call(3, 'cmd.run', { command: 'sh', args }));
    const result = { stdout: TEXT, stderr: 'oops\n', exit_code: 3 };
    assert.deepEqual([ran.result?.isError, ran.result?.structured], [false, result], `${client.name}: ${ran.text}`);
    assert.deepEqual(JSON.parse(ran.result?.text ?? ''), result);
  }

  const WAYS: Readonly<Record<string, () => SealClient>> = {
    gRPC: () => at.grpc(),
    'REST with base64': () => at.rest(),
    'REST with an object, signed in its RFC 8785 form': () => at.rest({ asObject: true }),
    'the alias /v1/invoke with base64': () => at.rest({ path: '/v1/invoke' }),
    'the alias /v1/invoke with an object': () => at.rest({ path: '/v1/invoke', asObject: true }),
  };
  for (const [title, open] of Object.entries(WAYS)) {
    test(`attests, writes, reads and runs a command over ${title}`, async () => {
      const client = open();
      await works(await at.attested(running, client), client);
    });
  }

  test('attests with the internal address that its program was given, and calls there without a bearer', async () => {
    const { is, url } = await at.beginProgram();
    assert.ok(url.startsWith(`${at.internalUrl}/x/`), 'the address contains a token');
    const rest = at.internalRest(url);
    await works(await at.attested(is, rest), rest);
    await works(await at.attested(is, rest), at.internalRest());
    const grpc = at.internalGrpc();
    const token = url.split('/x/')[1] ?? '';
    await works(await at.attested(is, grpc, { authorization: `Bearer ${token}` }), grpc);
    const nobody = await grpc.attest(await at.attested(is, rest));
    assert.deepEqual([nobody.status, nobody.token], ['UNAUTHENTICATED', '']);
  });

  test('receives its own tools, and no others', async () => {
    const agent = await at.attested(running, at.rest());
    const headers = { authorization: `Bearer ${agent.token}` };
    const { status, body } = await at.node.call('GET', '/v1/seal/tools', { headers });
    assert.equal(status, 200);
    const tools = Array.isArray(body.tools) ? body.tools : [];
    assert.equal(body.total, tools.length);
    const names = tools.map(({ name }) => name);
    for (const name of ['fs.read', 'fs.write', 'cmd.run', 'svc.tools.list']) assert.ok(names.includes(name), name);
    for (const { name, description, input_schema } of tools) {
      assert.ok(typeof description === 'string' && input_schema.type === 'object', name);
    }
    const { result } = await at.grpc().invoke(agent.call(1, 'svc.tools.list', {}));
    assert.deepEqual(
      JSON.parse(result?.text ?? '').tools.map(({ name }: { name: string }) => name),
      names,
    );
    const bare = await at.attested(await at.begin('bare'), at.grpc());
    const few = await at.node.call('GET', '/v1/seal/tools', { headers: { authorization: `Bearer ${bare.token}` } });
    assert.deepEqual([few.body.total, JSON.stringify(few.body.tools).includes('"fs.read"')], [1, true]);
  });

  const endings: readonly [string, (agent: IndependentAgent) => Promise<unknown>][] = [
    ['its session was revoked', (agent) => at.node.json('POST', `/v1/seal/sessions/${agent.sessionId}/revoke`, {})],
    ['its execution was cancelled', ({ is }) => at.node.json('POST', `/v1/executions/${is.execution_id}/cancel`, {})],
  ];
  for (const [title, end] of endings) {
    test(`is refused everywhere once ${title}, and its chain is closed`, async () => {
      const clients = [at.rest(), at.grpc(), at.internalRest(), at.internalGrpc()];
      const agent = await at.attested(await at.begin(), clients[0] ?? assert.fail());
      const early = agent.call(1, 'fs.read', { path: 'none' });
      for (const client of clients) assert.match((await client.invoke(early)).result?.text ?? '', /^NOT_FOUND: /);
      await end(agent);
      await waitUntil('the session has ended', async () => {
        const { body } = await at.node.call('GET', `/v1/seal/sessions/${agent.sessionId}`);
        return body.status !== 'active';
      });
      const before = await at.files();
      for (const client of clients) {
        for (const envelope of [early, agent.call(2, 'fs.write', { path: 'late', content: '' })]) {
          const { status, rpcCode, reason } = await client.invoke(envelope);
          const expected = client.transport === 'REST' ? [403, -32000] : ['PERMISSION_DENIED', undefined];
          assert.deepEqual([status, rpcCode, reason], [...expected, 'SessionInactive'], client.name);
        }
      }
      assert.deepEqual(await at.files(), before);
      const headers = { authorization: `Bearer ${agent.token}` };
      assert.equal((await at.node.call('GET', '/v1/seal/tools', { headers })).status, 403);
      const { bodies } = await at.audit(agent.sessionId);
      assert.equal(bodies.at(-1)?.kind, 'closed');
    });
  }
});
