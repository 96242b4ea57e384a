import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type Blobs, PAYLOAD_LIMIT_BYTES } from '../../runtime/blobs.ts';
import { type ErrorCode, SvcError } from '../../runtime/errors.ts';

export interface BlobsUnderTest {
  /** An open adapter. */
  readonly blobs: Blobs;
  /** Another adapter over the same data, not open yet. */
  another(): Blobs;
  stop(): Promise<void>;
}

const refuses = (call: Promise<unknown>, code: ErrorCode) =>
  assert.rejects(call, (error) => error instanceof SvcError && error.code === code);

const same = (a: Uint8Array, b: Uint8Array) => assert.ok(Buffer.from(a).equals(b), 'the bytes are the same');

/** The promises of every adapter of Blobs. */
export function blobsContract(
  name: string,
  make: () => Promise<BlobsUnderTest>,
  options: {
    readonly skip?: string | false;
    /** The bytes are stored encrypted, so their reference reveals nothing about them. */
    readonly encrypted?: boolean;
  } = {},
): void {
  describe(`blobs on ${name}`, { skip: options.skip ?? false, timeout: 300_000 }, () => {
    let setup: BlobsUnderTest | undefined;
    const current = (): BlobsUnderTest => {
      if (setup === undefined) throw new Error('the store was not started');
      return setup;
    };
    before(async () => {
      setup = await make();
    });
    after(async () => {
      await setup?.stop();
    });

    test('bytes come back under the SHA-256 of what was stored, from none to 16 MiB', async () => {
      const { blobs } = current();
      for (const size of [0, 1, 65_537, 300_000, PAYLOAD_LIMIT_BYTES]) {
        const bytes = randomBytes(size);
        const ref = await blobs.put('acme', bytes);
        assert.equal(ref === createHash('sha256').update(bytes).digest('hex'), options.encrypted !== true);
        same(await blobs.get('acme', ref), bytes);
        // The MongoDB-wire server of the tests reads all bytes of all blobs for each delete: twenty of later ones took a minute.
        await blobs.delete('acme', ref);
      }
    });

    test('more than 16 MiB is refused', async () => {
      await refuses(current().blobs.put('acme', new Uint8Array(PAYLOAD_LIMIT_BYTES + 1)), 'payload_too_large');
    });

    test('another tenant can neither read nor delete, even with the reference, even if its name differs in case only', async () => {
      const { blobs } = current();
      const bytes = randomBytes(1_000);
      const ref = await blobs.put('acme', bytes);
      for (const stranger of ['globex', 'Acme', 'acme.']) {
        await refuses(blobs.get(stranger, ref), 'not_found');
        await blobs.delete(stranger, ref);
      }
      same(await blobs.get('acme', ref), bytes);
      const theirs = await blobs.put('globex', bytes);
      assert.equal(theirs === ref, options.encrypted !== true, 'only the key of its tenant makes it another');
      await blobs.delete('acme', ref);
      await refuses(blobs.get('acme', ref), 'not_found');
      same(await blobs.get('globex', theirs), bytes);
    });

    test('unknown and malformed references are not found, and a tenant cannot be a path', async () => {
      const { blobs } = current();
      for (const ref of [
        '0'.repeat(64),
        '',
        '../../etc/passwd',
        `${'a'.repeat(63)}/`,
        'A'.repeat(64),
        `${'0'.repeat(64)}.`,
      ]) {
        await refuses(blobs.get('acme', ref), 'not_found');
        if (ref !== '0'.repeat(64)) await refuses(blobs.delete('acme', ref), 'not_found');
      }
      await blobs.delete('acme', '0'.repeat(64));
      for (const tenant of ['../acme', '', 'a/b', '.', 'a\0']) {
        await refuses(blobs.put(tenant, new Uint8Array(1)), 'invalid_argument');
        await refuses(blobs.get(tenant, '0'.repeat(64)), 'invalid_argument');
      }
    });

    test('twenty concurrent puts of equal bytes are one blob: one delete removes it', async () => {
      const { blobs } = current();
      const bytes = randomBytes(100_000);
      const refs = new Set(await Promise.all(Array.from({ length: 20 }, () => blobs.put('acme', bytes))));
      assert.equal(refs.size, 1);
      const [ref = ''] = refs;
      same(await blobs.get('acme', ref), bytes);
      await blobs.delete('acme', ref);
      await refuses(blobs.get('acme', ref), 'not_found');
    });

    test('a blob that is stored for an owner is shared with no other, and all of them are removed with the owner', async () => {
      const { blobs } = current();
      const [one, other] = ['execution/acme/one', 'execution/acme/other'];
      const bytes = randomBytes(70_000);
      const shared = await blobs.put('acme', bytes);
      const refs = [await blobs.put('acme', bytes, one), await blobs.put('acme', randomBytes(10), one)];
      const kept = [await blobs.put('acme', bytes, other), await blobs.put('globex', bytes, one)];
      const ofTwoTenants = options.encrypted === true ? 0 : 1;
      assert.equal(new Set([shared, ...refs, ...kept]).size, 5 - ofTwoTenants, 'one is the same in two tenants');
      assert.equal(await blobs.put('acme', bytes, one), refs[0], 'put again it is the same');
      for (const ref of refs) assert.ok((await blobs.get('acme', ref)).byteLength > 0);
      await refuses(blobs.get('globex', refs[1] ?? ''), 'not_found');
      await blobs.deleteOwned('acme', one);
      for (const ref of refs) await refuses(blobs.get('acme', ref), 'not_found');
      same(await blobs.get('acme', shared), bytes);
      same(await blobs.get('acme', kept[0] ?? ''), bytes);
      same(await blobs.get('globex', kept[1] ?? ''), bytes);
      await blobs.deleteOwned('acme', one);
      const again = await blobs.put('acme', bytes, one);
      await blobs.delete('acme', again);
      await refuses(blobs.get('acme', again), 'not_found');
    });

    test('reopening keeps the bytes, and a closed store answers unavailable', async (t) => {
      const bytes = randomBytes(10_000);
      const first = current().another();
      t.after(() => first.close());
      await first.open();
      const ref = await first.put('acme', bytes);
      await first.close();
      await refuses(first.get('acme', ref), 'unavailable');
      await refuses(first.put('acme', bytes), 'unavailable');
      const second = current().another();
      t.after(() => second.close());
      await second.open();
      same(await second.get('acme', ref), bytes);
      await second.close();
    });
  });
}
