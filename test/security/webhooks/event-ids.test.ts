import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import type { WebhookScheme } from '../../../manifests/node/rate-limits.ts';
import { signedWebhooks } from '../../support/signed-webhooks.ts';
import { EVENT_VECTORS, type EventVector, eventHeaders, VECTORS } from './vectors.ts';

type Body = string | Uint8Array;

interface Try {
  readonly scheme: EventVector['scheme'];
  readonly secret: string;
  readonly body: Body;
  readonly seconds: number;
  readonly digest: string;
}

/** A delivery that was received and is not verified yet. */
async function received({ scheme, secret, body, seconds, digest }: Try) {
  const clock = { now: () => seconds * 1_000 };
  const webhooks = signedWebhooks({ SVC_WEBHOOK_SECRET_SHOP: secret }, [{ source: 'shop', scheme }], clock);
  const headers = Object.entries(eventHeaders(scheme, seconds, digest)).map(([name, value]) => [name, [value]]);
  const delivery = await webhooks.open('shop', Object.fromEntries(headers));
  delivery.update(Buffer.from(body));
  return delivery;
}

async function keyOf(sent: Try): Promise<string | undefined> {
  const delivery = await received(sent);
  delivery.verify();
  return delivery.key(Buffer.from(sent.body));
}

/** The same body, signed at a time. */
function signed({ scheme, secret }: EventVector, body: Body, seconds: number): Try {
  const prefix = scheme === 'stripe' ? `${seconds}.` : `v0:${seconds}:`;
  const digest = createHmac('sha256', secret).update(prefix).update(body).digest('hex');
  return { scheme, secret, body, seconds, digest };
}

const SECONDS = 1_700_000_000;
/** Bodies of which each has the member once, with a value that is no id. */
const ODD_IDS: readonly [string, unknown][] = [
  ['null', null],
  ['a number', 7],
  ['a list', ['evt_1', 'Ev1']],
  ['an object', { id: 'evt_1', event_id: 'Ev1' }],
  ['an empty text', ''],
  ['the id of something else', 'in_1'],
  ['a text that looks as the key of a signature', `sha256:${'0'.repeat(64)}`],
];

for (const vector of EVENT_VECTORS) {
  const { scheme, secret, body, id, tries } = vector;
  const [member, prefix, other] = scheme === 'stripe' ? ['id', 'evt_', 'Ev'] : ['event_id', 'Ev', 'evt_'];
  const event = (value: unknown): string => JSON.stringify({ [member]: value, type: 'x' });
  /** Keys of two tries; each has to be that of its own signature. */
  async function assertBySignature(text: Body, what: string): Promise<void> {
    for (const seconds of [SECONDS, SECONDS + 60]) {
      const sent = signed(vector, text, seconds);
      assert.equal(await keyOf(sent), `sha256:${sent.digest}`, what);
    }
  }

  describe(`the id of the event, scheme ${scheme}`, () => {
    test('an event that is signed anew at another time has the same key, also when the rest of its body changed', async () => {
      for (const { seconds, digest } of tries) assert.equal(await keyOf({ scheme, secret, body, seconds, digest }), id);
      const changed = JSON.stringify({ ...JSON.parse(body), pending: 0 }, null, 2);
      assert.equal(await keyOf(signed(vector, changed, SECONDS)), id);
    });

    test('two events of the same time have two keys, also when their ids differ in case alone', async () => {
      for (const one of [`${prefix}a`, `${prefix}A`, `${prefix}b`])
        assert.equal(await keyOf(signed(vector, event(one), SECONDS)), one);
    });

    test('the id counts only once the signature was found right', async () => {
      const { seconds, digest } = signed(vector, body, SECONDS);
      const unverified = await received({ scheme, secret, body, seconds, digest });
      assert.throws(() => unverified.key(Buffer.from(body)), { code: 'internal' });
      const forged = await received({ scheme, secret: 'another', body, seconds, digest });
      assert.throws(() => forged.verify(), { code: 'invalid_signature' });
      assert.throws(() => forged.key(Buffer.from(body)), { code: 'internal' });
    });

    test('an id that is missing, no text, empty or of another kind is none: the signature is the key', async () => {
      await assertBySignature('{"type": "x"}', 'missing');
      for (const [what, value] of ODD_IDS) await assertBySignature(event(value), what);
      const forms = [prefix, `${other}1`, `x${prefix}1`, ` ${prefix}1`, `${prefix.toUpperCase()}1`];
      for (const value of forms) await assertBySignature(event(value), value);
      // An object within the event has an id of its own.
      await assertBySignature(JSON.stringify({ data: { [member]: `${prefix}1` } }), 'further in');
    });

    test('an id has at most 255 visible ASCII characters', async () => {
      const longest = prefix.padEnd(255, 'x');
      assert.equal(await keyOf(signed(vector, event(longest), SECONDS)), longest);
      for (const value of [`${longest}x`, prefix.padEnd(500_000, 'x'), `${prefix}a b`, `${prefix}é`, `${prefix}\0`])
        await assertBySignature(event(value), value.slice(0, 20));
    });

    test('a body that is no JSON object, or can be read in two ways, is known by its signature', async () => {
      const one = `"${member}":"${prefix}1"`;
      const escaped = `\\u00${member.charCodeAt(0).toString(16)}${member.slice(1)}`;
      const bodies: readonly Body[] = [
        ...['', ' ', 'null', '7', `"${prefix}1"`, `[{${one}}]`, `{${one}`, `{${one}} x`, `${member}=${prefix}1`],
        ...[`payload=%7B%22${member}%22%3A%22${prefix}1%22%7D`, `\u{feff}{${one}}`],
        ...[`{${one},"${member}":"${prefix}2"}`, `{${one},"${escaped}":"${prefix}2"}`, `{${one},"__proto__":{}}`],
        `{${one},"deep":${'['.repeat(200_000)}${']'.repeat(200_000)}}`,
        Buffer.concat([Buffer.from(`{${one},"a":"`), Uint8Array.of(0xff), Buffer.from('"}')]),
        Uint8Array.from({ length: 256 }, (_, at) => at),
      ];
      for (const text of bodies) await assertBySignature(text, String(text).slice(0, 60));
    });
  });
}

test('schemes whose headers name the delivery take no id from its body', async () => {
  const body = '{"id":"evt_1","event_id":"Ev1"}';
  const unnamed: readonly WebhookScheme[] = ['svc', 'github'];
  for (const { scheme, secret, signature, headers, key } of VECTORS.filter((one) => unnamed.includes(one.scheme))) {
    const webhooks = signedWebhooks({ SVC_WEBHOOK_SECRET_SHOP: secret }, [{ source: 'shop', scheme }]);
    const digest = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    const values = Object.entries({ ...headers, [signature]: digest }).map(([name, value]) => [name, [value]]);
    const delivery = await webhooks.open('shop', Object.fromEntries(values));
    delivery.update(Buffer.from(body));
    delivery.verify();
    assert.equal(delivery.key(Buffer.from(body)), key);
  }
});
