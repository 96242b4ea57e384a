import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { IndependentAgent } from './independent-agent.ts';
import { SealNode } from './seal-node.ts';
import type { RestClient, SealClient } from './transports.ts';

/** Texts that two parsers read differently. A parser that keeps the last of two equal names reads the signed call. */
const AMBIGUOUS: Readonly<Record<string, (call: string) => string>> = {
  'the name of the tool twice': (call) => call.replace('"name":', '"name":"cmd.run","name":'),
  'the name of the tool twice, once with escapes': (call) => call.replace('"name":', '"n\\u0061me":"cmd.run","name":'),
  'the arguments twice': (call) => call.replace('"arguments":', '"arguments":{"path":"other"},"arguments":'),
  'an argument twice': (call) => call.replace('"path":', '"path":"other","path":'),
  'the method twice': (call) => call.replace('"method":', '"method":"tools/list","method":'),
  'the id twice, both the same': (call) => call.replace(/("id":"[^"]*")/, '$1,$1'),
  'an argument __proto__': (call) => call.replace('"path":', '"__proto__":{"path":"other"},"path":'),
  'a member __proto__ with escapes': (call) => call.replace('"id":', '"\\u005f\\u005fproto__":{},"id":'),
  '__proto__ deep in a list': (call) => call.replace('"content":', '"deep":[[{"__proto__":null}]],"content":'),
};

describe('a payload that can be read in two ways', () => {
  let at: SealNode;
  let agent: IndependentAgent;
  let rest: readonly RestClient[];
  let grpc: readonly SealClient[];
  let files: unknown;
  before(async () => {
    at = await SealNode.start();
    rest = [at.rest(), at.rest({ path: '/v1/invoke', name: 'REST alias' }), at.internalRest()];
    grpc = [at.grpc(), at.internalGrpc()];
    agent = await at.attested(await at.begin(), rest[0] ?? assert.fail());
    files = await at.files();
  });
  after(() => at[Symbol.asyncDispose]());

  let count = 0;
  /** A body over 4 KiB takes another path for a caller without a bearer: its token is checked before it is parsed. */
  const sizes = [10, 8_000];
  const fresh = (size: number) => {
    count += 1;
    return agent.call(`two-ways-${count}`, 'fs.write', { path: `two-ways-${count}`, content: 'x'.repeat(size) });
  };

  for (const [what, changed] of Object.entries(AMBIGUOUS)) {
    test(`${what}: is refused in the object form, over REST at each address`, async () => {
      for (const client of rest) {
        for (const size of sizes) {
          const { payload, ...envelope } = fresh(size);
          const text = changed(payload.toString());
          assert.notEqual(text, payload.toString());
          const body = `${JSON.stringify(envelope).slice(0, -1)},"payload":${text}}`;
          const answer = await client.invokeText(body);
          assert.deepEqual([answer.status, answer.rpcCode], [400, -32600], `${client.name}: ${answer.text}`);
          assert.match(answer.message, /same name twice|__proto__/, client.name);
        }
      }
      assert.deepEqual(await at.files(), files);
    });

    test(`${what}: is refused as bytes too, signed as they are, over REST and gRPC`, async () => {
      for (const client of [...rest, ...grpc]) {
        for (const size of sizes) {
          const text = changed(fresh(size).payload.toString());
          const answer = await client.invoke(agent.seal(text));
          const status = client.transport === 'REST' ? 400 : 'INVALID_ARGUMENT';
          assert.equal(answer.status, status, `${client.name}: ${answer.text}`);
        }
      }
      assert.deepEqual(await at.files(), files);
    });
  }

  test('an envelope with a duplicate member is refused, whichever of the two values is right', async () => {
    for (const client of rest) {
      for (const size of sizes) {
        const { payload, ...texts } = fresh(size);
        const envelope = { ...texts, payload: payload.toString('base64') };
        for (const [name, value] of Object.entries(envelope)) {
          const right = JSON.stringify(envelope).slice(1, -1);
          const other = `${JSON.stringify(name)}:${JSON.stringify(name === 'payload' ? '' : value)}`;
          for (const body of [`{${other},${right}}`, `{${right},${other}}`]) {
            const answer = await client.invokeText(body);
            assert.deepEqual([answer.status, answer.rpcCode], [400, -32600], `${client.name}, ${name}: ${answer.text}`);
          }
        }
      }
    }
    assert.deepEqual(await at.files(), files);
  });

  test('the same calls without it are accepted', async () => {
    for (const client of rest) {
      for (const size of sizes) {
        const { payload, ...envelope } = fresh(size);
        const answer = await client.invokeText(`${JSON.stringify(envelope).slice(0, -1)},"payload":${payload}}`);
        assert.equal(answer.status, 200, `${client.name}: ${answer.text}`);
      }
    }
  });
});
