import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { SvcError } from '../../runtime/errors.ts';
import type { KeySource } from '../../security/encryption/key-source.ts';

interface KeySourceUnderTest {
  /** A source without keys. */
  readonly source: KeySource;
  /** Another source over the same keys, as another node has it. */
  another(): KeySource;
  stop(): Promise<void>;
}

const refused = (error: unknown): boolean => error instanceof SvcError && error.code === 'failed_precondition';

/** The requirements for a key management service that encrypts the secrets of a node. */
export function keySourceContract(name: string, make: () => Promise<KeySourceUnderTest>): void {
  describe(`keys in ${name}`, { timeout: 300_000 }, () => {
    test('versions count from 1; each decrypts what it encrypted, on any node, and nothing else', async () => {
      const { source, another, stop } = await make();
      assert.equal(await source.newest(), 0);
      await assert.rejects(source.wrap(1, randomBytes(32)), refused);
      assert.equal(await source.create(), 1);
      const dataKey = randomBytes(32);
      const first = await source.wrap(1, dataKey);
      const node = another();
      assert.equal(await node.create(), 2);
      assert.equal(await source.newest(), 2);
      const second = await source.wrap(2, dataKey);
      assert.notEqual(first, second);
      assert.ok(!`${first}${second}`.includes(dataKey.toString('base64')));
      for (const at of [source, node]) {
        assert.deepEqual(Buffer.from(await at.unwrap(1, first)), dataKey, 'an old version stays readable');
        assert.deepEqual(Buffer.from(await at.unwrap(2, second)), dataKey);
        await assert.rejects(at.unwrap(2, first), refused, 'the version is part of it');
        await assert.rejects(at.unwrap(3, second), refused);
        await assert.rejects(at.unwrap(1, `${first.slice(0, -8)}AAAAAAA=`), refused, 'changed');
        await assert.rejects(at.wrap(3, dataKey), refused);
      }
      // The old version still encrypts: a node that has not seen the rotation yet uses it.
      assert.deepEqual(Buffer.from(await node.unwrap(1, await source.wrap(1, dataKey))), dataKey);
      await node.close();
      await source.close();
      await stop();
    });
  });
}
