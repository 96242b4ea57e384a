import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { webhookSecretVariable } from '../../../manifests/secret.ts';
import { HmacSignature } from '../../../security/webhooks/schemes.ts';

/** Test case 2 of RFC 4231. */
const RFC4231 = {
  secret: 'Jefe',
  body: Buffer.from('what do ya want for nothing?'),
  digest: Buffer.from('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843', 'hex'),
};

function verified(digests: readonly Uint8Array[], secrets: readonly string[], body: Uint8Array, prefix = '') {
  const keys = secrets.map((secret) => Buffer.from(secret));
  const signature = new HmacSignature({ prefix, digests }, keys);
  // In two pieces, as bodies may arrive.
  signature.update(body.subarray(0, 3));
  signature.update(body.subarray(3));
  signature.verify();
  return signature.verified;
}

test('the digest is HMAC-SHA256 as in RFC 4231, of a prefix and the body in any number of pieces', () => {
  const { secret, body, digest } = RFC4231;
  assert.equal(verified([digest], [secret], body), digest.toString('hex'));
  const [prefix, rest] = [body.subarray(0, 8).toString(), body.subarray(8)];
  assert.equal(verified([digest], [secret], rest, prefix), digest.toString('hex'));
});

test('every flipped bit of a digest or a body is found', () => {
  const body = Buffer.from('body');
  const digest = createHmac('sha256', 's').update(body).digest();
  for (const [bytes, check] of [
    [digest, (changed: Buffer) => verified([changed], ['s'], body)],
    [body, (changed: Buffer) => verified([digest], ['s'], changed)],
  ] as const) {
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.throws(() => check(changed), { code: 'invalid_signature' });
    }
  }
});

test('any digest of any secret may be the right one, and the one that was right is named afterwards', () => {
  const body = Buffer.from('body');
  const by = (secret: string): Buffer => createHmac('sha256', secret).update(body).digest();
  const [right, wrong] = [by('new'), by('neither')];
  for (const digests of [[right], [wrong, right], [right, wrong], [wrong, right, wrong]])
    for (const secrets of [['new'], ['old', 'new'], ['new', 'old']])
      assert.equal(verified(digests, secrets, body), right.toString('hex'));
  assert.throws(() => verified([wrong, by('other')], ['old', 'new'], body), { code: 'invalid_signature' });
  assert.throws(() => verified([], ['old', 'new'], body), { code: 'invalid_signature' });
  assert.throws(() => verified([right], [], body), { code: 'invalid_signature' });
});

test('a digest of another length is invalid, not an error of the comparison', () => {
  for (const digest of [new Uint8Array(0), new Uint8Array(31), new Uint8Array(33)])
    assert.throws(() => verified([digest], ['s'], Buffer.from('x')), { code: 'invalid_signature' });
});

test('the variable of a source: upper-case, every other character is _', () => {
  const cases: [string, string][] = [
    ['github', 'GITHUB'],
    ['git-hub.io', 'GIT_HUB_IO'],
    ['a b/ü9', 'A_B__9'],
  ];
  for (const [source, name] of cases) assert.equal(webhookSecretVariable(source), `SVC_WEBHOOK_SECRET_${name}`);
});
