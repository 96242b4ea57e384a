import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ModelInput } from '../../../effects/models/call.ts';
import { withToolResults } from '../../../effects/models/earlier-messages.ts';
import { createModelEffect } from '../../../effects/models/model-effect.ts';
import { ModelSelection, ProviderConfig } from '../../../manifests/node/models.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import type { Limited, Principal, TierLimits } from '../../../security/api.ts';
import { effectContext } from '../../support/effect-context.ts';

const answer = (ref: string, content = 'the beginning') => ({
  ...{ role: 'tool', content, tool_call_id: 'c1', tool_name: 'fs.read', content_ref: ref },
});
const conversation = (...messages: readonly object[]): ModelInput =>
  ModelInput.parse({ model: 'default', messages: [{ role: 'user', content: 'go' }, ...messages] });
const contents = ({ messages }: ModelInput): string[] => messages.slice(1).map(({ content }) => content);

describe('tool results that a conversation refers to', () => {
  async function stored<T>(use: (blobs: FileBlobs, put: (text: string) => Promise<string>) => Promise<T>): Promise<T> {
    const directory = await mkdtemp(join(tmpdir(), 'svc-results-'));
    const blobs = new FileBlobs({ directory });
    await blobs.open();
    const put = (text: string) => blobs.put('acme', Buffer.from(JSON.stringify({ content: [{ type: 'text', text }] })));
    try {
      return await use(blobs, put);
    } finally {
      await blobs.close();
      await rm(directory, { recursive: true });
    }
  }

  test('tool results are given completely, without their reference', () =>
    stored(async (blobs, put) => {
      const given = await withToolResults(conversation(answer(await put('whole'))), blobs, 'acme');
      assert.deepEqual(given.messages[1], { role: 'tool', content: 'whole', tool_call_id: 'c1', tool_name: 'fs.read' });
    }));

  test('tool results are cut at 256 KiB with the size of the rest; no character is split', () =>
    stored(async (blobs, put) => {
      const text = `x${'ä'.repeat(200_000)}`;
      const [given = ''] = contents(await withToolResults(conversation(answer(await put(text))), blobs, 'acme'));
      assert.match(given, /ä\n\[cut: \d+ more bytes/);
      assert.ok(Buffer.byteLength(given) < 257 * 1024);
    }));

  test('the oldest tool results are cut to their beginning when all together are too large', () =>
    stored(async (blobs, put) => {
      const refs = await Promise.all(Array.from({ length: 18 }, (_, n) => put(`${n} ${'y'.repeat(300_000)}`)));
      const given = contents(await withToolResults(conversation(...refs.map((ref) => answer(ref))), blobs, 'acme'));
      assert.equal(given[0], 'the beginning');
      assert.match(given.at(-1) ?? '', /^17 y/);
      assert.ok(Buffer.byteLength(given.join('')) < 4.1 * 1024 * 1024);
    }));

  test('a tool result of another tenant, or a removed one, is cut to its beginning', () =>
    stored(async (blobs, put) => {
      const input = conversation(answer(await put('secret')), answer('0'.repeat(64)));
      assert.deepEqual(contents(await withToolResults(input, blobs, 'other')), ['the beginning', 'the beginning']);
    }));
});

describe('limits of a tier', () => {
  /** Two calls and a hundred tokens, and then none. */
  class FewLimits implements TierLimits {
    readonly left = new Map<Limited, number>([
      ['model_calls', 2],
      ['model_tokens', 100],
    ]);
    async take(_principal: Principal, what: Limited, units = 1): Promise<void> {
      const left = this.left.get(what) ?? 0;
      if (left < units) throw new SvcError('rate_limited', `${what} are used up`, { retryAfterMs: 1_000 });
      this.left.set(what, left - units);
    }
  }

  async function asking(tokens: number) {
    const scriptDir = await mkdtemp(join(tmpdir(), 'svc-limits-'));
    const usage = `{input_tokens: ${tokens - 1}, output_tokens: 1}`;
    await writeFile(join(scriptDir, 's.yaml'), `rules: [{reply: {text: hi, usage: ${usage}}}]`);
    const limits = new FewLimits();
    const models = [{ alias: 'default', model: 'demo' }];
    const effect = createModelEffect({
      providers: [ProviderConfig.parse({ name: 'demo', type: 'scripted', script: 's.yaml', models })],
      selection: ModelSelection.parse({}),
      secrets: { resolve: async (_tenant, reference) => reference },
      scriptDir,
      limits,
    });
    const ask = (more: object = {}, attempt = 1) => {
      const principal = { kind: 'consumer', subject: 'ada', tier: 'free' };
      const input = ModelInput.parse({
        model: 'default',
        messages: [{ role: 'user', content: 'go' }],
        principal,
        ...more,
      });
      return effect.run(input, effectContext({ effectId: 'e', attempt, address: 'execution/acme/1' }));
    };
    return { ask, limits, [Symbol.asyncDispose]: () => rm(scriptDir, { recursive: true }) };
  }

  test('a call is counted before it is made, and refused when none is left', async () => {
    await using limited = await asking(10);
    await limited.ask();
    await limited.ask();
    await assert.rejects(
      limited.ask(),
      (error: SvcError) => error.code === 'rate_limited' && error.retryAfterMs === 1_000,
    );
    assert.equal(limited.limits.left.get('model_tokens'), 79, 'only the first token of the third call');
  });

  test('an answer that used more tokens than are left is returned, and the next call is refused', async () => {
    await using limited = await asking(5_000);
    await limited.ask();
    assert.equal(limited.limits.left.get('model_tokens'), 0);
    await assert.rejects(limited.ask(), /model_tokens are used up/);
  });

  test('another attempt of the same call is not counted again, and without a principal no call is counted', async () => {
    await using limited = await asking(10);
    await limited.ask({}, 2);
    await limited.ask({ principal: undefined });
    assert.equal(limited.limits.left.get('model_calls'), 2);
  });
});
