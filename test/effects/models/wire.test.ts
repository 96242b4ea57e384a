import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ModelServer, startModelServer } from '../../support/model-server.ts';
import { sample } from '../../support/size.ts';
import { ask, FORMATS, KEY, providerAt } from './generate.ts';

/** Each is a separate event on the wire. */
const TOKENS = sample({ normal: 2_000, long: 5_000 });

const TOOLS = [
  {
    name: 'fs.read',
    description: 'Reads a file.',
    input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
];

for (const type of FORMATS) {
  describe(`model.generate over the wire format of ${type}`, () => {
    let server: ModelServer;
    before(async () => {
      server = await startModelServer();
    });
    after(() => server.stop());

    test('a streamed answer arrives completely, in chunks, with tokens and cost', async () => {
      server.script({ chunks: ['Hel', 'lo, ', 'wörld 🎉'], delayMs: 15, usage: { input: 100, output: 20 } });
      const { result, chunks } = await ask({ providers: [providerAt(server, type)] });
      assert.equal(result.text, 'Hello, wörld 🎉');
      assert.equal(chunks.join(''), result.text);
      assert.equal(result.finish_reason, 'stop');
      assert.equal(result.provider, type);
      assert.equal(result.model, 'some-model');
      assert.deepEqual(result.usage, { input_tokens: 100, output_tokens: 20, cost: 0.4, estimated: false });
    });

    test('an answer in one piece arrives without progress when streaming is off', async () => {
      server.script({ chunks: ['Hello'], usage: { input: 10, output: 5 } });
      const { result, chunks } = await ask({ providers: [providerAt(server, type)], input: { stream: false } });
      assert.equal(result.text, 'Hello');
      assert.deepEqual(chunks, []);
      assert.equal(result.usage.input_tokens, 10);
      assert.ok(!server.calls[0]?.path.includes('stream'));
      assert.notEqual(server.calls[0]?.body.stream, true);
    });

    test('tool calls are returned under our names with their arguments, and not run', async () => {
      const args = JSON.stringify({ path: '/workspace/a.txt' });
      for (const stream of [true, false]) {
        server.script({ chunks: ['Let me look.'], toolCalls: [{ id: 'call_7', name: 'fs_read', arguments: args }] });
        const { result } = await ask({ providers: [providerAt(server, type)], input: { tools: TOOLS, stream } });
        assert.equal(result.finish_reason, 'tool-calls');
        assert.equal(result.tool_calls.length, 1);
        assert.equal(result.tool_calls[0]?.name, 'fs.read');
        assert.deepEqual(result.tool_calls[0]?.arguments, { path: '/workspace/a.txt' });
        assert.ok(JSON.stringify(server.calls[0]?.body).includes('"fs_read"'));
        assert.ok(!JSON.stringify(server.calls[0]?.body).includes('"fs.read"'));
      }
    });

    test('a call of a tool that was not offered is returned under its name', async () => {
      server.script({ toolCalls: [{ id: 'c1', name: 'made_up', arguments: '{"a":1}' }] });
      const { result } = await ask({ providers: [providerAt(server, type)], input: { tools: TOOLS } });
      assert.deepEqual(result.tool_calls[0]?.name, 'made_up');
      assert.deepEqual(result.tool_calls[0]?.arguments, { a: 1 });
    });

    test('system, history, tool results, temperature and limits reach the provider', async () => {
      server.script({ chunks: ['ok'] });
      await ask({
        providers: [providerAt(server, type, { headers: { 'x-team': 'blue' } })],
        input: {
          system: 'You are terse.',
          temperature: 0.1,
          max_output_tokens: 77,
          tools: TOOLS,
          messages: [
            { role: 'system', content: 'Speak French.' },
            { role: 'user', content: 'Read it.' },
            {
              role: 'assistant',
              content: '',
              tool_calls: [{ id: 'call_1', name: 'fs.read', arguments: { path: '/q' } }],
            },
            { role: 'tool', tool_call_id: 'call_1', tool_name: 'fs.read', content: 'file says 42' },
            { role: 'user', content: 'So?' },
          ],
        },
      });
      const body = JSON.stringify(server.calls[0]?.body);
      for (const expected of [
        'You are terse.',
        'Speak French.',
        'Read it.',
        '/q',
        'file says 42',
        'So?',
        '0.1',
        '77',
      ]) {
        assert.ok(body.includes(expected), `${expected} is missing in ${body}`);
      }
      const headers = JSON.stringify(server.calls[0]?.headers);
      assert.ok(headers.includes(KEY));
      assert.ok(headers.includes('"x-team":"blue"'));
    });

    test('an answer cut off by the token limit is marked', async () => {
      server.script({ chunks: ['half'], finish: 'length' });
      assert.equal((await ask({ providers: [providerAt(server, type)] })).result.finish_reason, 'length');
    });

    test('a fast answer of many tokens becomes few messages and loses nothing', async () => {
      const words = Array.from({ length: TOKENS }, (_, n) => `w${n} `);
      server.script({ chunks: words });
      const { result, chunks } = await ask({ providers: [providerAt(server, type)] });
      assert.equal(result.text, words.join(''));
      assert.equal(chunks.join(''), words.join(''));
      assert.ok(chunks.length < 200, `${chunks.length} messages for ${TOKENS} tokens`);
    });
  });
}

describe('Ollama', () => {
  test('Ollama is called through its OpenAI-compatible endpoint, without a key', async () => {
    const server = await startModelServer();
    try {
      server.script({ chunks: ['hi'], usage: { input: 3, output: 1 } });
      const provider = providerAt(server, 'ollama', { endpoint: server.url, api_key: undefined });
      const { result } = await ask({ providers: [provider] });
      assert.equal(result.text, 'hi');
      assert.equal(server.calls[0]?.path, '/v1/chat/completions');
      assert.equal(server.calls[0]?.headers.authorization, undefined);
    } finally {
      await server.stop();
    }
  });
});

describe('token counts', () => {
  test('the tokens of a provider without counts are estimated and marked, never free', async () => {
    const server = await startModelServer();
    try {
      server.script({ chunks: ['x'.repeat(400)] });
      const { result } = await ask({ providers: [providerAt(server, 'openai-compatible')] });
      assert.equal(result.usage.estimated, true);
      assert.equal(result.usage.output_tokens, 100);
      assert.ok(result.usage.cost > 1);
    } finally {
      await server.stop();
    }
  });
});
