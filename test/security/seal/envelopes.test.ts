import assert from 'node:assert/strict';
import { hash, sign } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import type { Refusal, SealEnvelope } from '../../../security/api.ts';
import { payloadBytes } from '../../../security/api.ts';
import { createSealEnvelopes } from '../../../security/seal/envelopes.ts';
import { refused } from '../../support/refused.ts';
import { nodePair } from '../key-fleet.ts';
import { attestedAgent, callOf } from './attested-agent.ts';

let at: Awaited<ReturnType<typeof attestedAgent>>;
before(async () => {
  at = await attestedAgent();
});
after(() => at[Symbol.asyncDispose]());

async function refusalOf(
  envelope: SealEnvelope,
): Promise<{ refusal: Refusal; message: string; rpcId: unknown; claimed: unknown }> {
  const opened = await at.envelopes.open(envelope);
  assert.ok(!opened.ok, 'refused');
  return opened;
}

const opened = async (envelope: SealEnvelope) => {
  const outcome = await at.envelopes.open(envelope);
  assert.ok(outcome.ok, outcome.ok ? '' : outcome.refusal);
  return outcome.call;
};

test('a valid envelope names its caller and tool, and is verified over its bytes as received', async () => {
  const envelope = at.envelope(callOf('abc'));
  const call = await opened(envelope);
  assert.deepEqual(call.rpc, { id: 'abc', tool: 'fs.read', arguments: { path: 'a.txt' } });
  assert.equal(call.claims.tenant, 'acme');
  assert.equal(call.payloadHash, hash('sha256', envelope.payload, 'hex'));
  assert.match(call.envelopeHash, /^[0-9a-f]{64}$/);
});

test('the hash of an envelope covers every part of it', async () => {
  const good = at.envelope();
  const other = { protocol: 'x', security_token: 'x', signature: 'x', payload: Buffer.from('x'), timestamp: 'x' };
  const hashes = new Set<string>();
  for (const changed of [{}, ...Object.entries(other).map(([name, value]) => ({ [name]: value }))]) {
    const outcome = await at.envelopes.open({ ...good, ...changed });
    hashes.add(outcome.ok ? outcome.call.envelopeHash : outcome.envelopeHash);
  }
  assert.equal(hashes.size, 6);
});

describe('each fault has its refusal', () => {
  const later = (ms: number): string => new Date(at.clock.now() + ms).toISOString();
  const rows: [string, Refusal, () => Partial<SealEnvelope>][] = [
    ['another protocol', 'protocol_unknown', () => ({ protocol: 'seal/v2' })],
    ['no protocol', 'protocol_unknown', () => ({ protocol: '' })],
    ['no token', 'envelope_malformed', () => ({ security_token: '' })],
    ['a token without end', 'envelope_malformed', () => ({ security_token: 'a'.repeat(5_000) })],
    ['no signature', 'envelope_malformed', () => ({ signature: '' })],
    ['a short signature', 'envelope_malformed', () => ({ signature: Buffer.alloc(63).toString('base64') })],
    [
      'a signature with white space',
      'envelope_malformed',
      () => ({ signature: ` ${at.envelope().signature.slice(1)}` }),
    ],
    ['base64 without its padding', 'envelope_malformed', () => ({ signature: `${'+'.repeat(84)}A+` })],
    ['base64 with spare bits', 'envelope_malformed', () => ({ signature: `${'A'.repeat(85)}B==` })],
    ['no payload', 'envelope_malformed', () => ({ payload: Buffer.alloc(0) })],
    ['no timestamp', 'envelope_malformed', () => ({ timestamp: '' })],
    ['Unix seconds', 'envelope_malformed', () => ({ timestamp: String(at.clock.now()) })],
    ['a local time', 'envelope_malformed', () => ({ timestamp: later(0).replace('Z', '') })],
    ['another zone', 'envelope_malformed', () => ({ timestamp: later(0).replace('Z', '+02:00') })],
    ['month 13', 'envelope_malformed', () => ({ timestamp: '2026-13-01T00:00:00Z' })],
    ['31 s ago', 'timestamp_stale', () => ({ timestamp: later(-31_000) })],
    ['31 s ahead', 'timestamp_stale', () => ({ timestamp: later(31_000) })],
    ['no token at all', 'token_invalid', () => ({ security_token: 'x.y.z' })],
    ['a signature of nothing', 'signature_invalid', () => ({ signature: Buffer.alloc(64).toString('base64') })],
    ['another payload', 'signature_invalid', () => ({ payload: Buffer.from(JSON.stringify(callOf(2))) })],
    [
      "another's signature",
      'signature_invalid',
      () => ({ signature: sign(null, at.envelope().payload, nodePair().privateKey).toString('base64') }),
    ],
  ];
  for (const [name, refusal, changed] of rows)
    test(`${name}: ${refusal}`, async () => {
      assert.equal((await refusalOf({ ...at.envelope(), ...changed() })).refusal, refusal);
    });

  test('a bad token and a bad signature read the same', async () => {
    const token = await refusalOf({ ...at.envelope(), security_token: `${at.token.slice(0, -4)}AAAA` });
    const signature = await refusalOf({ ...at.envelope(), signature: Buffer.alloc(64).toString('base64') });
    assert.deepEqual([token.refusal, signature.refusal], ['token_invalid', 'signature_invalid']);
    assert.equal(token.message, signature.message);
  });
});

test('a time exactly at the limit of freshness is accepted, and so are fractions of a second and +00:00', async () => {
  for (const ms of [-30_000, 30_000, 0]) {
    const timestamp = new Date(at.clock.now() + ms).toISOString();
    await opened({ ...at.envelope(), timestamp });
    await opened({ ...at.envelope(), timestamp: timestamp.replace('Z', '+00:00') });
    if (ms !== 30_000) await opened({ ...at.envelope(), timestamp: timestamp.replace('Z', '123456Z') });
  }
});

test('a refused envelope names the session its token claims, and echoes an id only once its sender is certain', async () => {
  const { sessionId } = await at.agentTokens.verify(at.token);
  const bad = await refusalOf({ ...at.envelope(callOf(7)), signature: Buffer.alloc(64).toString('base64') });
  assert.deepEqual([bad.claimed, bad.rpcId], [{ tenant: 'acme', sessionId }, null]);
  assert.equal((await refusalOf(at.envelope(callOf(7, { method: 'tools/list' })))).rpcId, 7);
  assert.equal((await refusalOf({ ...at.envelope(), security_token: 'x' })).claimed, null);
});

test('the signed bytes must be one JSON-RPC call that can be read in one way', async () => {
  const good = (text: string): Buffer => Buffer.from(text);
  const text = JSON.stringify(callOf(1));
  const malformed: (object | Buffer)[] = [
    ...[null, undefined, true, 1.5, '', 'x'.repeat(257), 'a\ud800', {}].map((id) => callOf(id)),
    callOf(1, { jsonrpc: '1.0' }),
    callOf(1, { method: 'tools/list' }),
    callOf(1, { params: [] }),
    callOf(1, { params: { name: 5 } }),
    callOf(1, { params: { name: 'fs.\udfff' } }),
    [callOf(1)],
    good('{'),
    good(`\ufeff${text}`),
    Buffer.concat([good(text.slice(0, -1)), Buffer.from([0x2c, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])]),
    good(text.replace('"id":1', '"id":1,"id":2')),
    good(text.replace('"id":1', '"id":1,"\\u0069d":2')),
    good(text.replace('"path"', '"__proto__"')),
    good(text.replace('"a.txt"', '['.repeat(200) + ']'.repeat(200))),
    good(text.replace('"path":"a.txt"', '"path":"a.txt","path":"b.txt"')),
    good(text.replace('"path":"a.txt"', Array.from({ length: 10_001 }, (_, n) => `"n${n}":1`).join(','))),
  ];
  for (const payload of malformed)
    assert.equal(
      (await refusalOf(at.envelope(payload))).refusal,
      'payload_malformed',
      JSON.stringify(payload).slice(0, 80),
    );
  assert.throws(() => payloadBytes(Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`n${n}`, 1]))));
  for (const [payload, rpc] of [
    [callOf(1, { method: 'call_tool' }), { id: 1, tool: 'fs.read', arguments: { path: 'a.txt' } }],
    [callOf(1, { params: { name: 'x' } }), { id: 1, tool: 'x', arguments: {} }],
    [callOf(1, { params: {} }), { id: 1, tool: null, arguments: {} }],
    [
      callOf(1, { params: { name: 'x', arguments: { a: '{"b":1,"b":2}\\"', c: ['a', 'a'] }, _meta: {} } }),
      { id: 1, tool: 'x', arguments: { a: '{"b":1,"b":2}\\"', c: ['a', 'a'] } },
    ],
  ] as const)
    assert.deepEqual((await opened(at.envelope(payload))).rpc, rpc);
});

test('a thousand envelopes with one changed character or bit are all refused', async () => {
  const good = at.envelope();
  await opened(good);
  const texts = ['protocol', 'security_token', 'signature'] as const;
  const bits = fc.tuple(fc.nat({ max: good.payload.length - 1 }), fc.nat({ max: 7 })).map(([place, bit]) => {
    const payload = Buffer.from(good.payload);
    payload[place] = (payload[place] ?? 0) ^ (1 << bit);
    return { ...good, payload };
  });
  const characters = fc
    .tuple(fc.constantFrom(...texts), fc.nat(), fc.integer({ min: 0x21, max: 0x7e }))
    .map(([name, where, code]) => {
      const text = good[name];
      const place = where % text.length;
      return { ...good, [name]: text.slice(0, place) + String.fromCharCode(code) + text.slice(place + 1) };
    })
    .filter((changed) => texts.some((name) => changed[name] !== good[name]))
    // An unknown kid waits for a read of the documents; node-tokens.test.ts checks that.
    .filter(({ security_token }) => security_token.startsWith(good.security_token.split('.')[0] ?? ''));
  const refused = async (changed: SealEnvelope) => assert.equal((await at.envelopes.open(changed)).ok, false);
  await fc.assert(fc.asyncProperty(fc.oneof(bits, characters), refused), { numRuns: 1_000 });
  for (const code of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=') {
    const security_token = good.security_token.slice(0, -1) + code;
    if (security_token !== good.security_token) await refused({ ...good, security_token });
  }
});

test('a verified token is cached for thirty seconds, and not past its expiry', async () => {
  let looks = 0;
  const tokens = {
    verify: (token: string) => {
      looks += 1;
      return at.agentTokens.verify(token);
    },
  };
  const envelopes = createSealEnvelopes({ tokens, clock: at.clock });
  const expiresAt = at.clock.now() + 40_000;
  const security_token = await at.agentTokens.issue(at.claims({ expiresAt }));
  const open = async () => (await envelopes.open({ ...at.envelope(), security_token })).ok;
  assert.deepEqual([await open(), await open(), looks], [true, true, 1]);
  at.clock.advance(31_000);
  assert.deepEqual([await open(), looks], [true, 2]);
  at.clock.advance(20_000);
  const late = await envelopes.open({ ...at.envelope(), security_token });
  assert.ok(!late.ok && late.refusal === 'token_expired');
});

test('a payload over REST is base64 of the bytes, or an object in its canonical form', () => {
  const bytes = Buffer.from('{"b":1}');
  assert.deepEqual(payloadBytes(bytes.toString('base64')), bytes);
  assert.deepEqual(payloadBytes(bytes.toString('base64url')), bytes);
  assert.equal(
    Buffer.from(payloadBytes({ b: 1e21, a: 'ä', '\u20ac': [1.0] })).toString(),
    '{"a":"ä","b":1e+21,"€":[1]}',
  );
  for (const bad of ['{}', ' e30=', null, undefined, 5, [], { a: Number.NaN }, { a: '\ud800' }])
    assert.throws(() => payloadBytes(bad), refused('invalid_argument', /^payload: expected/), String(bad));
});
