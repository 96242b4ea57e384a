import { createHmac, createPublicKey, generateKeyPairSync, type JsonWebKey, sign } from 'node:crypto';
import type { Envelope, IndependentAgent } from './independent-agent.ts';
import type { Seeded } from './seeded.ts';
import type { Sent } from './transports.ts';

/** Rows of docs/reference/seal.md: HTTP status, JSON-RPC code, gRPC status, and the reason in the chain. */
export const REFUSALS = {
  envelope_malformed: [400, -32600, 'INVALID_ARGUMENT'],
  protocol_unknown: [400, -32600, 'INVALID_ARGUMENT'],
  payload_malformed: [400, -32600, 'INVALID_ARGUMENT'],
  'the id was used for another call of this session': [400, -32600, 'INVALID_ARGUMENT'],
  token_invalid: [401, -32000, 'UNAUTHENTICATED'],
  signature_invalid: [401, -32000, 'UNAUTHENTICATED'],
  timestamp_stale: [401, -32000, 'UNAUTHENTICATED'],
} as const;
type Reason = keyof typeof REFUSALS;

export interface Mutant {
  readonly sent: Sent;
  readonly reason: Reason;
  /** This envelope cannot be expressed in gRPC. */
  readonly restOnly?: true;
  /** From a caller without a bearer it is refused before its payload is read. */
  readonly isLarge?: true;
}

/** Data that an attacker may have. */
export interface Loot {
  readonly agent: IndependentAgent;
  /** Another agent of the same execution, with its own session and key. */
  readonly other: IndependentAgent;
  /** An agent of another execution. */
  readonly elsewhere: IndependentAgent;
  /** Tokens of the node that are not for agents: of a node, of the dispatch gateway. */
  readonly foreignTokens: readonly string[];
  /** The node's public key. */
  readonly jwk: JsonWebKey & { readonly kid?: string };
  /** Id of the envelope of a call that was made. */
  readonly usedId: string;
  /** A new call that policy allows, and that writes a file. */
  fresh(): Envelope;
}

type Mutation = (loot: Loot, by: Seeded) => Mutant;

const b64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const forger = generateKeyPairSync('rsa', { modulusLength: 2_048 });

/** The parts of a token, with one of them changed. */
function withPart(token: string, index: 0 | 1 | 2, change: (part: string) => string): string {
  return token
    .split('.')
    .map((part, at) => (at === index ? change(part) : part))
    .join('.');
}

const flippedToken =
  (index: 0 | 1 | 2): Mutation =>
  (loot, by) => {
    const envelope = loot.fresh();
    const security_token = withPart(envelope.security_token, index, (part) => by.swapped(part));
    return { sent: { ...envelope, security_token }, reason: 'token_invalid' };
  };

const timestamped = (sent: string, loot: Loot): Sent => ({ ...loot.fresh(), timestamp: sent });

const BAD_TIMES = [
  ...['', 'now', '0', '1700000000', '2026-13-01T00:00:00Z', '2026-01-01', '2026-01-01T00:00:00', 'Z', '-1'],
  ...['2026-01-01T00:00:00+01:00', '2026-01-01t00:00:00z', ' 2026-01-01T00:00:00Z', '2026-01-01 00:00:00Z'],
  ...['2026-01-01T00:00:00.Z', '2026-01-01T00:00:00.1234567890Z', '20260101T000000Z', '2026-01-01T25:00:00Z'],
];

/** Texts with the same meaning but other bytes. */
const RESPELLED: readonly ((payload: Buffer) => string)[] = [
  (payload) => JSON.stringify(JSON.parse(payload.toString()), null, 1),
  (payload) => `${payload} `,
  (payload) => `\n${payload}`,
  (payload) => payload.toString().replace('"jsonrpc":', '"jsonrpc": '),
  (payload) => payload.toString().replace('fs.write', 'fs\\u002ewrite'),
  (payload) => JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(payload.toString())).reverse())),
];

/** Signed by the agent itself, but not a valid call. */
const NO_CALLS: readonly ((text: string) => string | Buffer)[] = [
  (text) => text.replace('"fs.write"', '"fs.write","name":"fs.read"'),
  (text) => text.replace('{', '{"jsonrpc":"2.0",'),
  (text) => text.replace('"path"', '"path":"x","path"'),
  (text) => text.replace('"path"', '"__proto__":{},"path"'),
  (text) => text.replace('"path"', '"p\\u0061th":"x","path"'),
  (text) => text.replace('tools/call', 'Tools/Call'),
  (text) => text.replace('tools/call', 'CALL_TOOL'),
  (text) => text.replace('tools/call', 'tools/list'),
  (text) => text.replace('"2.0"', '"1.0"'),
  (text) => text.replace('"2.0"', '2.0'),
  (text) => text.replace('"jsonrpc"', '"JSONRPC"'),
  (text) => text.replace('"params"', '"Params"'),
  (text) => text.replace('"method"', '"METHOD"'),
  (text) => text.replace(/"id":"[^"]*"/, '"id":null'),
  (text) => text.replace(/"id":"[^"]*"/, '"id":1.5'),
  (text) => text.replace(/"id":"[^"]*"/, '"id":""'),
  (text) => text.replace(/"id":"[^"]*"/, '"id":[1]'),
  (text) => text.replace(/"id":"[^"]*",/, ''),
  (text) => `[${text}]`,
  (text) => `\ufeff${text}`,
  (text) => `${text}${text}`,
  (text) => text.slice(0, -1),
  (text) => text.replace('"path"', `"deep":${'['.repeat(200)}${']'.repeat(200)},"path"`),
  (text) => Buffer.concat([Buffer.from(text.slice(0, 30)), Buffer.from([0xff]), Buffer.from(text.slice(30))]),
  () => 'null',
  () => '{}',
  () => '""',
  () => 'x',
];

const ALL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** The order of the curve's group. */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** A second signature of the same message, for verifiers that do not check that S is below the order. */
function malleable(signature: Buffer): Buffer {
  const scalar = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + ORDER;
  const bytes = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse();
  return Buffer.concat([signature.subarray(0, 32), bytes]);
}

export const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'a bit of the payload': (loot, by) => {
    const envelope = loot.fresh();
    return { sent: { ...envelope, payload: by.flipped(envelope.payload) }, reason: 'signature_invalid' };
  },
  'a bit of the signature': (loot, by) => {
    const envelope = loot.fresh();
    const signature = by.flipped(Buffer.from(envelope.signature, 'base64')).toString('base64');
    return { sent: { ...envelope, signature }, reason: 'signature_invalid' };
  },
  "a character of the token's header": flippedToken(0),
  "a character of the token's claims": flippedToken(1),
  "a character of the token's signature": flippedToken(2),
  'a token cut short, or longer': (loot, by) => {
    const { security_token: token, ...rest } = loot.fresh();
    const end = token.slice(token.lastIndexOf('.') + 1).length;
    const cut = token.slice(0, -by.whole(1, end + 20));
    const longer = token + by.pick(['A', '.', '.AAAA', '=', ' ', 'AAAAAAAA', '\u0000', 'é']);
    return { sent: { ...rest, security_token: by.pick([cut, longer]) }, reason: 'token_invalid' };
  },
  "another session's token": (loot, by) => {
    const security_token = by.pick([loot.other, loot.elsewhere]).token;
    return { sent: { ...loot.fresh(), security_token }, reason: 'signature_invalid' };
  },
  "another session's signature": (loot, by) => {
    const envelope = loot.fresh();
    const signature = by.pick([loot.other, loot.elsewhere]).sign(envelope.payload).toString('base64');
    return { sent: { ...envelope, signature }, reason: 'signature_invalid' };
  },
  "another call's signature": (loot) => {
    const { signature } = loot.fresh();
    return { sent: { ...loot.fresh(), signature }, reason: 'signature_invalid' };
  },
  'a signature over something else': (loot, by) => {
    const envelope = loot.fresh();
    const { payload, timestamp, security_token } = envelope;
    const others = [payload.toString('base64'), `${payload}${timestamp}`, `${security_token}${payload}`, ''];
    const signature = loot.agent.sign(Buffer.from(by.pick(others))).toString('base64');
    return { sent: { ...envelope, signature }, reason: 'signature_invalid' };
  },
  'a second form of the same signature': (loot, by) => {
    const envelope = loot.fresh();
    const bytes = Buffer.from(envelope.signature, 'base64');
    const forms = [malleable(bytes), Buffer.alloc(64), Buffer.from(bytes).reverse(), Buffer.alloc(64, 0xff)];
    return { sent: { ...envelope, signature: by.pick(forms).toString('base64') }, reason: 'signature_invalid' };
  },
  'a signature that is no base64 of 64 bytes': (loot, by) => {
    const { signature, ...rest } = loot.fresh();
    const forms = [
      signature.slice(0, -by.whole(3, 80)),
      signature + by.pick(['A', '=', '\n', ' ', 'AAAA']),
      ` ${signature}`,
      `${signature.slice(0, 20)}\n${signature.slice(20)}`,
      signature.slice(0, -1),
      `${signature.slice(0, 40)}*${signature.slice(41)}`,
      `-_${ALL.slice(by.nat(10), 62).padEnd(86, '+/')}==`.slice(0, 88),
      Buffer.from(signature, 'base64').toString('hex'),
      '',
      'AAAA',
    ];
    return { sent: { ...rest, signature: by.pick(forms) }, reason: 'envelope_malformed' };
  },
  'a stale timestamp': (loot, by) => {
    const ms = by.pick([35, 60, 3_600, 86_400, 31_536_000]) * 1_000 + by.nat(5_000);
    return { sent: timestamped(new Date(Date.now() - ms).toISOString(), loot), reason: 'timestamp_stale' };
  },
  'a timestamp of the future': (loot, by) => {
    const ms = by.pick([45, 60, 3_600, 86_400, 31_536_000]) * 1_000 + by.nat(5_000);
    return { sent: timestamped(new Date(Date.now() + ms).toISOString(), loot), reason: 'timestamp_stale' };
  },
  'a timestamp of another form': (loot, by) => ({
    sent: timestamped(by.pick(BAD_TIMES), loot),
    reason: 'envelope_malformed',
  }),
  'a used id with another payload': (loot, by) => {
    const args = by.pick([{ path: `stolen-${by.nat(1e6)}`, content: '' }, { path: 'used' }]);
    const name = by.pick(['fs.write', 'fs.delete', 'fs.read', 'no.such', 'cmd.run']);
    return {
      sent: loot.agent.call(loot.usedId, name, args),
      reason: 'the id was used for another call of this session',
    };
  },
  'another protocol': (loot, by) => {
    const protocol = by.pick(['seal/v2', 'SEAL/V1', 'seal/v1 ', 'seal', '', 'seal/v1\u0000', 'mcp/v1', 'seal/v10']);
    return { sent: { ...loot.fresh(), protocol }, reason: 'protocol_unknown' };
  },
  'a token without algorithm': (loot, by) => {
    const { security_token: token, ...rest } = loot.fresh();
    const [, claims = '', signature = ''] = token.split('.');
    const header = b64({ alg: by.pick(['none', 'None', 'NONE', '']), typ: 'agent+jwt', kid: loot.jwk.kid });
    return {
      sent: { ...rest, security_token: `${header}.${claims}.${by.pick(['', signature])}` },
      reason: 'token_invalid',
    };
  },
  "a token whose secret is the node's public key": (loot, by) => {
    const { security_token: token, ...rest } = loot.fresh();
    const [, claims = ''] = token.split('.');
    const algorithm = by.pick(['256', '384', '512']);
    const key = createPublicKey({ key: loot.jwk, format: 'jwk' });
    const pem = String(key.export({ type: by.pick(['spki', 'pkcs1'] as const), format: 'pem' }));
    const secret = by.pick([pem, pem.trim(), String(loot.jwk.n), JSON.stringify(loot.jwk)]);
    const input = `${b64({ alg: `HS${algorithm}`, typ: 'agent+jwt', kid: loot.jwk.kid })}.${claims}`;
    const mac = createHmac(`sha${algorithm}`, secret).update(input).digest('base64url');
    return { sent: { ...rest, security_token: `${input}.${mac}` }, reason: 'token_invalid' };
  },
  'a token signed with a key of the thief': (loot, by) => {
    const { security_token: token, ...rest } = loot.fresh();
    const [, claims = ''] = token.split('.');
    const jwk = forger.publicKey.export({ format: 'jwk' });
    const headers = [
      { kid: loot.jwk.kid },
      { kid: 'thief' },
      { jwk },
      { jku: 'http://127.0.0.1:1/jwks' },
      { kid: '../../x' },
    ];
    const longer = b64({
      ...loot.agent.claims,
      exp: Math.floor(Date.now() / 1_000) + 3_000,
      scp: 'svc-system-operator',
    });
    const input = `${b64({ alg: 'RS256', typ: 'agent+jwt', ...by.pick(headers) })}.${by.pick([claims, longer])}`;
    const made = sign('RSA-SHA256', Buffer.from(input), forger.privateKey).toString('base64url');
    return { sent: { ...rest, security_token: `${input}.${made}` }, reason: 'token_invalid' };
  },
  'a token with other claims': (loot, by) => {
    const claims = { ...loot.agent.claims };
    const { exec_id, jti } = loot.elsewhere.claims;
    const changes = [
      { exec_id },
      { jti },
      { tenant_id: 'acme' },
      { aud: 'svc-dispatch' },
      { iss: 'x' },
      { exp: 4e9 },
      { sub: '' },
    ];
    const security_token = withPart(loot.agent.token, 1, () => b64({ ...claims, ...by.pick(changes) }));
    return { sent: { ...loot.fresh(), security_token }, reason: 'token_invalid' };
  },
  'a token of the node for something else': (loot, by) => ({
    sent: { ...loot.fresh(), security_token: by.pick(loot.foreignTokens) },
    reason: 'token_invalid',
  }),
  'the same JSON in other bytes': (loot, by) => {
    const envelope = loot.fresh();
    return {
      sent: { ...envelope, payload: Buffer.from(by.pick(RESPELLED)(envelope.payload)) },
      reason: 'signature_invalid',
    };
  },
  'a signed payload that is no call': (loot, by) => {
    const { payload } = loot.fresh();
    const changed = by.pick(NO_CALLS)(payload.toString());
    return { sent: loot.agent.seal(changed), reason: 'payload_malformed' };
  },
  'an empty value for a required field': (loot, by) => {
    const field = by.pick(['security_token', 'signature', 'timestamp', 'payload', 'protocol'] as const);
    const empty = field === 'payload' ? Buffer.alloc(0) : '';
    const reason = field === 'protocol' ? 'protocol_unknown' : 'envelope_malformed';
    return { sent: { ...loot.fresh(), [field]: empty }, reason };
  },
  'a token without end': (loot, by) => {
    const security_token = loot.agent.token + 'A'.repeat(by.whole(4_097, 9_000));
    return { sent: { ...loot.fresh(), security_token }, reason: 'envelope_malformed' };
  },
  'a token that was changed, with more than a stranger may send': (loot, by) => {
    const large = loot.agent.call(`large-${by.nat(1e9)}`, 'fs.write', { path: 'large', content: 'x'.repeat(20_000) });
    const security_token = withPart(large.security_token, 2, (part) => by.swapped(part));
    return { sent: { ...large, security_token }, reason: 'token_invalid', isLarge: true };
  },
  'a payload of the object form with another content': (loot, by) => {
    const envelope = loot.fresh();
    const payload = JSON.parse(envelope.payload.toString());
    const changes = [
      { id: by.nat(1e9) },
      { extra: 1 },
      { method: 'call_tool' },
      { params: { ...payload.params, name: 'fs.read' } },
    ];
    return {
      sent: { ...envelope, payload: { ...payload, ...by.pick(changes) } },
      reason: 'signature_invalid',
      restOnly: true,
    };
  },
  'a payload that is no base64': (loot, by) => {
    const envelope = loot.fresh();
    const text = envelope.payload.toString('base64');
    const bad = [
      `${text}\n`,
      ` ${text}`,
      `${text}A`,
      text.slice(0, 5),
      `${text.slice(0, 9)}!${text.slice(9)}`,
      '%%%%',
      [text],
      7,
      null,
    ];
    return { sent: { ...envelope, payload: by.pick(bad) }, reason: 'envelope_malformed', restOnly: true };
  },
  'a field that is missing, of another type or case, or too many': (loot, by) => {
    const envelope: Record<string, unknown> = { ...loot.fresh() };
    const field = by.pick(['signature', 'timestamp', 'payload']);
    const value = envelope[field];
    const how = by.pick(['missing', 'null', 'list', 'number', 'upper', 'extra']);
    if (how === 'extra')
      return { sent: { ...envelope, [by.pick(['id', 'alg', 'x'])]: 1 }, reason: 'envelope_malformed', restOnly: true };
    delete envelope[field];
    if (how === 'upper') envelope[field.toUpperCase()] = String(value);
    else if (how !== 'missing') envelope[field] = { null: null, list: [String(value)], number: 1 }[how];
    return { sent: envelope, reason: 'envelope_malformed', restOnly: true };
  },
};
