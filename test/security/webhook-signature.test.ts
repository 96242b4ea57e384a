import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { webhookSecretVariable } from '../../manifests/secret.ts';
import { signatureDigest, webhookSecretsFrom, webhookSignature } from '../../security/webhook-signature.ts';

function verifyWebhookBody(digest: Uint8Array, secret: string, body: Uint8Array): void {
  const signature = webhookSignature(digest, secret);
  // In two pieces, as it may come.
  signature.update(body.subarray(0, 3));
  signature.update(body.subarray(3));
  signature.verify();
}

/** Test case 2 of RFC 4231. */
const RFC4231 = {
  secret: 'Jefe',
  body: Buffer.from('what do ya want for nothing?'),
  digest: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
};

test('the digest is HMAC-SHA256 as in RFC 4231', () => {
  verifyWebhookBody(signatureDigest(`sha256=${RFC4231.digest}`), RFC4231.secret, RFC4231.body);
});

test('every flipped bit of a digest or a body is found', () => {
  const body = Buffer.from('body');
  const digest = createHmac('sha256', 's').update(body).digest();
  for (const [bytes, check] of [
    [digest, (changed: Buffer) => verifyWebhookBody(changed, 's', body)],
    [body, (changed: Buffer) => verifyWebhookBody(digest, 's', changed)],
  ] as const) {
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.throws(() => check(changed), { code: 'invalid_signature' });
    }
  }
});

test('a digest of another length is invalid, not an error of the comparison', () => {
  for (const digest of [new Uint8Array(0), new Uint8Array(31), new Uint8Array(33)]) {
    assert.throws(() => verifyWebhookBody(digest, 's', Buffer.from('x')), { code: 'invalid_signature' });
  }
});

test('the header is missing, malformed or a digest', () => {
  for (const header of [undefined, '', ' '])
    assert.throws(() => signatureDigest(header), { code: 'missing_signature' });
  for (const header of ['sha256', 'sha256=', 'sha256=0', 'sha256=0g', 'SHA512=00', '00', 'sha256=00,sha256=00']) {
    assert.throws(() => signatureDigest(header), { code: 'malformed_signature' }, header);
  }
  assert.deepEqual(signatureDigest('sha256=00fF'), Buffer.from([0, 255]));
});

test('the variable of a source: upper-case, every other character is _', async () => {
  const cases: [string, string][] = [
    ['github', 'GITHUB'],
    ['git-hub.io', 'GIT_HUB_IO'],
    ['a b/ü9', 'A_B__9'],
  ];
  for (const [source, name] of cases) assert.equal(webhookSecretVariable(source), `SVC_WEBHOOK_SECRET_${name}`);
  const secretOf = webhookSecretsFrom({ SVC_WEBHOOK_SECRET_GITHUB: 's', SVC_WEBHOOK_SECRET_EMPTY: '' });
  assert.deepEqual([await secretOf('GitHub'), await secretOf('empty'), await secretOf('other')], ['s', null, null]);
});
