import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import type { WebhookSettings } from '../../../manifests/node/rate-limits.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { signedWebhooks } from '../../support/signed-webhooks.ts';
import { VECTORS, type Vector } from './vectors.ts';

type Headers = Readonly<Record<string, string | readonly string[]>>;
interface Sent {
  readonly headers?: Headers;
  readonly body?: string;
  /** Between sending and receiving. */
  readonly laterMs?: number;
  readonly settings?: Partial<WebhookSettings>;
  readonly environment?: Readonly<Record<string, string>>;
}

/** The key of a delivery that is taken; throws what a refused one is answered with. */
async function taken(vector: Vector, sent: Sent = {}): Promise<string | undefined> {
  const { scheme, secret, sentAt } = vector;
  const { headers = vector.headers, body = vector.body, laterMs = 0, settings, environment } = sent;
  const clock = { now: () => sentAt + laterMs };
  const known = environment ?? { SVC_WEBHOOK_SECRET_SHOP: secret };
  const webhooks = signedWebhooks(known, [{ source: 'shop', scheme, ...settings }], clock);
  const values = Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? [value] : value]);
  const delivery = await webhooks.open('Shop', Object.fromEntries(values));
  for (const byte of Buffer.from(body)) delivery.update(Uint8Array.of(byte));
  delivery.verify();
  return delivery.key(Buffer.from(body));
}

async function refused(vector: Vector, sent: Sent): Promise<SvcError> {
  const outcome = await taken(vector, sent).catch((thrown: unknown) => thrown);
  assert.ok(outcome instanceof SvcError, `it was taken: ${JSON.stringify(sent)}`);
  return outcome;
}

const without = (headers: Headers, name: string): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([one]) => one !== name));
/** Another character of the same kind in the middle. */
const tampered = (text: string): string => {
  const at = Math.floor(text.length / 2);
  return `${text.slice(0, at)}${text[at] === '1' ? '2' : '1'}${text.slice(at + 1)}`;
};
const of = (scheme: string): Vector => VECTORS.find((one) => one.scheme === scheme) ?? assert.fail(scheme);

for (const vector of VECTORS) {
  const { scheme, headers, body, signature, signedHeaders, key } = vector;
  const needed = Object.keys(headers).filter((name) => name !== 'x-idempotency-key');
  describe(`webhooks of scheme ${scheme}`, () => {
    test('a delivery as its sender documents it is taken, and a repeat has the same key', async () => {
      assert.equal(await taken(vector), key);
      assert.equal(await taken(vector, { laterMs: 1_000 }), key);
    });

    test('another body, another signature or any other text of what is signed is refused', async () => {
      for (const other of [`${body} `, body.slice(1), tampered(body), body.toUpperCase(), ''])
        assert.equal((await refused(vector, { body: other })).code, 'invalid_signature', other);
      const [changed = ''] = [headers[signature]];
      const forged = { ...headers, [signature]: `${changed.slice(0, 30)}${tampered(changed.slice(30))}` };
      assert.equal((await refused(vector, { headers: forged })).code, 'invalid_signature');
      for (const name of signedHeaders) {
        const text = headers[name] ?? '';
        // A time that is a second later is still fresh: only the signature can tell.
        const other = /^\d+$/.test(text) ? String(Number(text) + 1) : tampered(text);
        assert.equal((await refused(vector, { headers: { ...headers, [name]: other } })).code, 'invalid_signature');
      }
    });

    test('a header that is missing or empty is named', async () => {
      for (const name of needed) {
        for (const less of [without(headers, name), { ...headers, [name]: ' ' }]) {
          const error = await refused(vector, { headers: less });
          assert.equal(error.code, 'missing_signature');
          assert.match(error.message, new RegExp(`^${name} is missing: expected \\w`, 'i'));
        }
      }
    });

    test('a header that comes twice is refused, also when both are the same', async () => {
      for (const name of needed) {
        const value = headers[name] ?? '';
        for (const twice of [
          [value, value],
          [value, 'x'],
          ['x', value],
        ]) {
          const error = await refused(vector, { headers: { ...headers, [name]: twice } });
          assert.equal(error.code, 'malformed_signature', name);
          assert.match(error.message, new RegExp(`^${name}: expected once, `, 'i'));
        }
      }
    });

    test('the name of the form in another case is another form; hexadecimal digits have none', async () => {
      const value = headers[signature] ?? '';
      if (scheme !== 'svc') {
        const name =
          scheme === 'stripe' ? value.replace('v1=', 'V1=') : value.replace(/^\w/, (one) => one.toUpperCase());
        assert.equal(
          (await refused(vector, { headers: { ...headers, [signature]: name } })).code,
          'malformed_signature',
        );
      }
      const digits = value.replace(/=[0-9a-f]{64}$/, (hex) => hex.toUpperCase());
      if (scheme === 'standard-webhooks') return;
      assert.equal(await taken(vector, { headers: { ...headers, [signature]: digits } }), key);
    });

    test('a digest that is cut, longer or no digits is refused', async () => {
      const value = headers[signature] ?? '';
      for (const other of [
        value.slice(0, -2),
        `${value}00`,
        `${value.slice(0, -1)}x`,
        value.replace(/[=,].*/, ''),
        'x',
      ]) {
        const { code } = await refused(vector, { headers: { ...headers, [signature]: other } });
        // The specification has no length for `svc`: digits in pairs are its form.
        const hasForm = /^sha256=(?:[0-9a-f]{2})+$/.test(other) && scheme === 'svc';
        assert.equal(code, hasForm ? 'invalid_signature' : 'malformed_signature', other);
      }
    });

    test('every secret of a source signs, and a refusal does not say how many there are', async () => {
      const environment = { NEW: scheme === 'standard-webhooks' ? 'AAAA' : 'new', OLD: vector.secret };
      for (const secrets of [
        ['env:OLD', 'env:NEW'],
        ['env:NEW', 'env:OLD'],
        ['env:GONE', 'env:OLD'],
      ])
        assert.equal(await taken(vector, { settings: { secrets }, environment }), key);
      const one = await refused(vector, { settings: { secrets: ['env:NEW'] }, environment });
      const two = await refused(vector, { body: 'x', settings: { secrets: ['env:NEW', 'env:OLD'] }, environment });
      assert.deepEqual([one.code, one.message], ['invalid_signature', two.message]);
      const none = await refused(vector, { settings: { secrets: ['env:GONE'] }, environment });
      assert.equal(none.code, 'secret_not_found');
      // The variable of the source means nothing once secrets are set.
      const aside = { SVC_WEBHOOK_SECRET_SHOP: vector.secret };
      assert.equal(
        (await refused(vector, { settings: { secrets: ['env:GONE'] }, environment: aside })).code,
        'secret_not_found',
      );
    });

    test('headers of the other schemes prove nothing', async () => {
      for (const other of VECTORS.filter((one) => one.scheme !== scheme))
        assert.equal((await refused(vector, { headers: other.headers })).code, 'missing_signature', other.scheme);
    });
  });
}

for (const scheme of ['standard-webhooks', 'stripe', 'slack']) {
  const vector = of(scheme);
  const named = scheme === 'stripe' ? 'Stripe-Signature' : (vector.signedHeaders.at(-1) ?? '');
  describe(`the time of scheme ${scheme}`, () => {
    test('it may be five minutes off either way, by the clock of the node', async () => {
      for (const laterMs of [-300_000, -299_999, 299_999, 300_000]) await taken(vector, { laterMs });
      for (const laterMs of [-300_001, 300_001, 86_400_000, -86_400_000]) {
        const { code, message } = await refused(vector, { laterMs });
        assert.equal(code, 'invalid_signature');
        assert.match(message, new RegExp(`^${named}: expected a time within 300 s of the node's clock$`, 'i'));
      }
    });

    test('a time that is no whole number of seconds is refused', async () => {
      const header = scheme === 'stripe' ? 'stripe-signature' : (vector.signedHeaders.at(-1) ?? '');
      const value = vector.headers[header] ?? '';
      const seconds = String(vector.sentAt / 1_000);
      for (const other of [
        '',
        '-1',
        `0${seconds}`,
        `${seconds}.0`,
        `${seconds}x`,
        `+${seconds}`,
        '1e9',
        '١',
        '9'.repeat(13),
      ]) {
        const headers = { ...vector.headers, [header]: value.replace(seconds, other) };
        const { code } = await refused(vector, { headers });
        assert.ok(
          code === 'malformed_signature' || (other === '' && code === 'missing_signature'),
          `${other}: ${code}`,
        );
      }
    });
  });
}

describe('what only some schemes have', () => {
  const standard = of('standard-webhooks');
  const stripe = of('stripe');

  test('standard-webhooks: several signatures and versions may stand there, one v1 has to fit', async () => {
    const right = standard.headers['webhook-signature'] ?? '';
    const wrong = `v1,${'A'.repeat(43)}=`;
    const signedBy = (signatures: string) => ({ headers: { ...standard.headers, 'webhook-signature': signatures } });
    for (const several of [`${wrong} ${right}`, `${right} ${wrong}`, `v1a,xyz ${right}`, `v2 ${right}`])
      assert.equal(await taken(standard, signedBy(several)), standard.key);
    assert.equal((await refused(standard, signedBy(`${wrong} ${wrong}`))).code, 'invalid_signature');
    for (const none of ['v1a,xyz', right.replace('v1,', 'v2,'), right.slice(3), Array(9).fill(right).join(' ')])
      assert.equal((await refused(standard, signedBy(none))).code, 'malformed_signature', none);
  });

  test('standard-webhooks: an id with a full stop is refused, since what is signed could be read in two ways', async () => {
    // The same bytes are signed as in a delivery `msg` at TIME with the body `TIME.body`.
    const seconds = String(standard.sentAt / 1_000);
    const digest = createHmac('sha256', Buffer.from(standard.secret.slice('whsec_'.length), 'base64'))
      .update(`msg.${seconds}.${seconds}.body`)
      .digest('base64');
    const headers = (id: string) => ({
      ...{ 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${digest}` },
    });
    assert.equal(await taken(standard, { headers: headers('msg'), body: `${seconds}.body` }), 'msg');
    const error = await refused(standard, { headers: headers(`msg.${seconds}`), body: 'body' });
    assert.equal(error.code, 'malformed_signature');
    assert.match(error.message, /^webhook-id: expected /);
  });

  test('standard-webhooks: a secret is base64, with whsec_ before it or not; another text is no secret', async () => {
    const plain = standard.secret.slice('whsec_'.length);
    assert.equal(await taken(standard, { settings: { secrets: [plain] } }), standard.key);
    for (const secret of ['whsec_', 'no base64!', plain.slice(1)])
      assert.equal((await refused(standard, { settings: { secrets: [secret] } })).code, 'secret_not_found');
    const webhooks = signedWebhooks({ SET: 'no base64!' }, [
      { source: 'a', scheme: 'standard-webhooks', secrets: ['env:SET', 'no base64!', plain] },
      { source: 'b', secrets: ['env:UNSET'] },
    ]);
    assert.deepEqual(await webhooks.unusable(), [
      'spec.stimulus.webhooks[0]: SET of source a cannot be used: expected base64, with or without whsec_',
      'spec.stimulus.webhooks[0]: a value in the settings of source a cannot be used: expected base64, with or without whsec_',
      'spec.stimulus.webhooks[1]: UNSET of source b cannot be used: expected a secret',
    ]);
  });

  test('stripe: signatures of other schemes mean nothing, several of v1 may stand there, the time only once', async () => {
    const value = stripe.headers['stripe-signature'] ?? '';
    const [time = '', right = ''] = value.split(',');
    const wrong = `v1=${'0'.repeat(64)}`;
    const signedBy = (signature: string) => ({ headers: { 'stripe-signature': signature } });
    for (const several of [`${time},${wrong},${right}`, `${right},${time}`, `${time},${right},v0=${'0'.repeat(64)}`])
      assert.equal(await taken(stripe, signedBy(several)), stripe.key);
    assert.equal((await refused(stripe, signedBy(`${time},${wrong}`))).code, 'invalid_signature');
    const forms = [time, right, `${time},${time},${right}`, `${time},${right.replace('v1', 'v0')}`, `t=,${right}`];
    for (const form of [...forms, `${time};${right}`, `${time},${Array(9).fill(right).join(',')}`])
      assert.equal((await refused(stripe, signedBy(form))).code, 'malformed_signature', form);
  });

  test('svc: without X-Idempotency-Key nothing is a repeat', async () => {
    const { 'x-idempotency-key': _, ...headers } = of('svc').headers;
    assert.equal(await taken(of('svc'), { headers }), undefined);
    assert.equal(await taken(of('svc'), { headers: { ...headers, 'x-idempotency-key': '' } }), undefined);
  });

  test('svc and github with repeat: digest: the signature is the key, whatever key is sent', async () => {
    for (const [scheme, header] of [
      ['svc', 'x-idempotency-key'],
      ['github', 'x-github-delivery'],
    ] as const) {
      const vector = of(scheme);
      const digest = vector.headers[vector.signature]?.replace('sha256=', 'sha256:');
      const settings = { repeat: 'digest' } as const;
      const signature = vector.headers[vector.signature] ?? '';
      for (const value of [signature, signature.replace(/=[0-9a-f]{64}$/, (hex) => hex.toUpperCase())]) {
        for (const key of ['a', 'b']) {
          const headers = { [vector.signature]: value, [header]: key };
          assert.equal(await taken(vector, { settings, headers }), digest);
        }
      }
    }
  });

  test('github: a delivery without a usable id is refused, as each repeat would be new', async () => {
    const github = of('github');
    for (const id of ['a b', 'é', 'x'.repeat(256)]) {
      const error = await refused(github, { headers: { ...github.headers, 'x-github-delivery': id } });
      assert.equal(error.code, 'malformed_signature');
      assert.match(error.message, /^X-GitHub-Delivery: expected /);
    }
  });
});
