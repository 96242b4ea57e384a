import assert from 'node:assert/strict';
import { createHmac, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { systemClock } from '../../runtime/clock.ts';
import { DAY_MS } from '../../security/keys/published-keys.ts';
import { refused } from '../support/refused.ts';
import { ManualClock } from './identity-provider.ts';
import { fleet, goodClaims, HOUR_MS, jwt, MINUTE_MS, newestPrivateKey, nodePair, part } from './key-fleet.ts';

const pair = nodePair();
const node = { nodeId: 'node-1', role: 'WORKER', publicKeyPem: pair.publicKeyPem } as const;
const stranger = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const INVALID = /^The node token or the signature of its envelope is not valid\.$/;
const EXPIRED = /^The node token has expired\.$/;

/** One controller whose private key the test knows: it can sign anything that only a controller could. */
async function forge() {
  const at = await fleet();
  const controller = at.controller();
  const { token } = await controller.tokens.issue(node);
  const { kid } = decodeProtectedHeader(token);
  const key = await newestPrivateKey(controller.keysDirectory);
  const header = { alg: 'RS256', typ: 'JWT', kid };
  const claims = (changed: object = {}) => goodClaims(at.clock, pair.publicKey, changed);
  return {
    ...controller,
    clock: at.clock,
    token,
    kid,
    key,
    header,
    claims,
    [Symbol.asyncDispose]: at[Symbol.asyncDispose],
  };
}

describe('a node token', () => {
  it('names the node, its key and the end of its validity', async () => {
    await using at = await fleet();
    const { tokens } = at.controller();
    const { token, expiresAt } = await tokens.issue(node);
    const claims = decodeJwt(token);
    assert.deepEqual(Object.keys(claims).sort(), ['aud', 'cnf', 'exp', 'iat', 'iss', 'role', 'sub']);
    assert.equal((claims.exp ?? 0) - (claims.iat ?? 0), 3_600, 'one hour');
    assert.equal(expiresAt, (claims.exp ?? 0) * 1_000);
    const verified = await tokens.verify(token);
    assert.equal(verified.nodeId, 'node-1');
    assert.equal(verified.role, 'WORKER');
    assert.equal(verified.expiresAt, expiresAt);
    assert.ok(verified.publicKey.equals(pair.publicKey));
  });

  it('is refused more than five seconds after its hour', async () => {
    await using at = await fleet();
    const { tokens } = at.controller();
    const { token } = await tokens.issue(node);
    at.clock.advance(HOUR_MS + 3_000);
    await tokens.verify(token);
    at.clock.advance(4_000);
    await assert.rejects(tokens.verify(token), refused('unauthenticated', EXPIRED));
  });

  it('is issued for an Ed25519 key and a node id only', async () => {
    await using at = await fleet();
    const { tokens } = at.controller();
    const rsa = String(stranger.publicKey.export({ type: 'spki', format: 'pem' }));
    await assert.rejects(tokens.issue({ ...node, publicKeyPem: rsa }), refused('invalid_argument', /public_key_pem/));
    await assert.rejects(tokens.issue({ ...node, nodeId: '' }), refused('invalid_argument', /node_id/));
    await assert.rejects(tokens.issue({ ...node, nodeId: 'a\nb' }), refused('invalid_argument', /node_id/));
  });
});

describe('a bad node token is refused', () => {
  const { kty, crv, x } = pair.publicKey.export({ format: 'jwk' });
  const rsaJwk = stranger.publicKey.export({ format: 'jwk' });
  const badClaims: Readonly<Record<string, object>> = {
    'without subject': { sub: undefined },
    'with an empty subject': { sub: '' },
    'with a subject that is no text': { sub: 7 },
    'without role': { role: undefined },
    'with an unknown role': { role: 'ADMIN' },
    'without iat': { iat: undefined },
    'without exp': { exp: undefined },
    'with an exp that is no number': { exp: 'never' },
    'that lives longer than an hour': { exp: Math.floor(Date.now() / 1_000) + 90_000 },
    'of another issuer': { iss: 'svc-orchestrator' },
    'without issuer': { iss: undefined },
    'for another audience': { aud: 'svc-agents' },
    'without audience': { aud: undefined },
    'not valid yet': { nbf: Math.floor(Date.now() / 1_000) + 600 },
    'without cnf': { cnf: undefined },
    'with an empty cnf': { cnf: {} },
    'with a thumbprint as cnf': { cnf: { jkt: 'abc' } },
    'with an RSA key as cnf': { cnf: { jwk: rsaJwk } },
    'with an X25519 key as cnf': { cnf: { jwk: { kty, crv: 'X25519', x } } },
    'with a short key as cnf': { cnf: { jwk: { kty, crv, x: 'AAAA' } } },
    'with a cnf that is no base64url': { cnf: { jwk: { kty, crv, x: '!'.repeat(43) } } },
    'with a private key in cnf': { cnf: { jwk: { kty, crv, x, d: x } } },
  };
  for (const [title, changed] of Object.entries(badClaims)) {
    it(title, async () => {
      await using at = await forge();
      await at.tokens.verify(jwt(at.header, at.claims(), at.key));
      await assert.rejects(
        at.tokens.verify(jwt(at.header, at.claims(changed), at.key)),
        refused('unauthenticated', INVALID),
      );
    });
  }

  it('unsigned (alg none), whatever the text in place of the signature', async () => {
    await using at = await forge();
    const input = `${part({ ...at.header, alg: 'none' })}.${part(at.claims())}`;
    for (const token of [`${input}.`, `${input}.AAAA`]) {
      await assert.rejects(at.tokens.verify(token), refused('unauthenticated', INVALID));
    }
  });

  it('signed with the public key as an HMAC secret (HS256)', async () => {
    await using at = await forge();
    const secret = String(createPublicKey(at.key).export({ type: 'spki', format: 'pem' }));
    const input = `${part({ ...at.header, alg: 'HS256' })}.${part(at.claims())}`;
    const token = `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
    await assert.rejects(at.tokens.verify(token), refused('unauthenticated', INVALID));
  });

  const badHeaders: Readonly<Record<string, object>> = {
    'that says RS512': { alg: 'RS512' },
    'that says PS256': { alg: 'PS256' },
    'that says EdDSA': { alg: 'EdDSA' },
    'without kid': { kid: undefined },
    'with an unknown kid': { kid: 'A'.repeat(43) },
    'with a kid that is no thumbprint': { kid: 'svc-node-token-v1' },
    'with a kid of another type': { kid: 7 },
    'with an extension it must understand': { crit: ['exp'], exp: 1 },
  };
  for (const [title, changed] of Object.entries(badHeaders)) {
    it(title, async () => {
      await using at = await forge();
      const token = jwt({ ...at.header, ...changed }, at.claims(), at.key);
      await assert.rejects(at.tokens.verify(token), refused('unauthenticated', INVALID));
    });
  }

  it('signed by another key under a known kid, with that key in the header', async () => {
    await using at = await forge();
    const jwk = stranger.publicKey.export({ format: 'jwk' });
    for (const header of [at.header, { ...at.header, jwk }, { ...at.header, jku: 'http://127.0.0.1:1/' }]) {
      const token = jwt(header, at.claims(), stranger.privateKey);
      await assert.rejects(at.tokens.verify(token), refused('unauthenticated', INVALID));
    }
  });

  it('only tokens that a controller signed are reported as expired', async () => {
    await using at = await forge();
    const old = at.claims({ iat: 1_000, exp: 4_600 });
    await assert.rejects(at.tokens.verify(jwt(at.header, old, at.key)), refused('unauthenticated', EXPIRED));
    await assert.rejects(
      at.tokens.verify(jwt(at.header, old, stranger.privateKey)),
      refused('unauthenticated', INVALID),
    );
  });

  it('changed in any byte, or any text that is none, without an error of another kind', async () => {
    await using at = await forge();
    await fc.assert(
      fc.asyncProperty(fc.nat(at.token.length - 1), fc.integer({ min: 1, max: 63 }), async (index, by) => {
        const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
        const old = at.token[index] ?? '';
        fc.pre(old !== '.');
        const changed = alphabet[(alphabet.indexOf(old) + by) % 64];
        const token = at.token.slice(0, index) + changed + at.token.slice(index + 1);
        // An unknown kid waits for a read of the documents, which has a test of its own.
        fc.pre(token.split('.')[0] === at.token.split('.')[0]);
        await assert.rejects(at.tokens.verify(token), refused('unauthenticated'));
      }),
      { numRuns: 300 },
    );
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 5_000, unit: 'binary' }), async (text) => {
        await assert.rejects(at.tokens.verify(text), refused('unauthenticated', INVALID));
      }),
      { numRuns: 300 },
    );
  });
});

describe('several controllers', () => {
  it('with keys of their own verify the tokens of each other and show the keys of all', async () => {
    await using at = await fleet();
    const [one, two] = [at.controller(), at.controller()];
    const [first, second] = [await one.tokens.issue(node), await two.tokens.issue(node)];
    assert.notEqual(decodeProtectedHeader(first.token).kid, decodeProtectedHeader(second.token).kid);
    assert.equal((await two.tokens.verify(first.token)).nodeId, 'node-1');
    assert.equal((await one.tokens.verify(second.token)).nodeId, 'node-1');
    at.clock.advance(1_000);
    for (const { tokens } of [one, two]) {
      const { keys } = await tokens.keySet();
      assert.equal(keys.length, 2);
      assert.doesNotMatch(JSON.stringify(keys), /"(d|p|q|dp|dq|qi)"/, 'no private part');
    }
  });

  it('take a key that another made a moment ago, without a restart', async () => {
    await using at = await fleet();
    const [one, two] = [at.controller(), at.controller()];
    const before = await one.tokens.issue(node);
    await two.tokens.verify(before.token);
    at.clock.advance(1_000);
    await one.keys.rotate();
    const after = await one.tokens.issue(node);
    assert.notEqual(decodeProtectedHeader(before.token).kid, decodeProtectedHeader(after.token).kid);
    await two.tokens.verify(after.token);
    await two.tokens.verify(before.token);
  });

  it('verify a token of the old key until its hour is over, and forget the key afterwards', async () => {
    await using at = await fleet();
    const [one, two] = [at.controller(), at.controller()];
    const { token } = await one.tokens.issue(node);
    await one.keys.rotate();
    for (let minute = 0; minute < 59; minute += 1) {
      at.clock.advance(MINUTE_MS);
      await one.tokens.issue(node);
      await two.tokens.verify(token);
    }
    at.clock.advance(30 * MINUTE_MS);
    await one.tokens.issue(node);
    assert.equal((await two.tokens.keySet()).keys.length, 1);
    assert.equal((await one.keys.publicKeys()).length, 1);
  });

  it('whose clocks are two minutes off agree about a token for all but the ends of its hour', async () => {
    await using at = await fleet();
    for (const offMs of [-2 * MINUTE_MS, 2 * MINUTE_MS]) {
      const clock = new ManualClock();
      clock.advance(offMs);
      const [one, two] = [at.controller(), at.controller({ clock })];
      const { token } = await one.tokens.issue(node);
      await two.tokens.verify(token);
      clock.advance(HOUR_MS - offMs - 1_000);
      await two.tokens.verify(token);
      clock.advance(7_000);
      await assert.rejects(two.tokens.verify(token), refused('unauthenticated', EXPIRED));
    }
  });

  it('a controller whose clock is a day ahead does not delete the keys of the others, and unused keys are deleted in the end', async () => {
    await using at = await fleet();
    const ahead = { ...systemClock, now: () => at.clock.now() + DAY_MS, monotonic: () => at.clock.monotonic() };
    const [one, two, wrong] = [at.controller(), at.controller(), at.controller({ clock: ahead })];
    const { token } = await one.tokens.issue(node);
    await two.tokens.verify(token);
    await wrong.tokens.issue(node);
    // Two reads the keys again.
    at.clock.advance(61_000);
    await two.tokens.verify(token);
    const kids = async () => (await keys.find({ tenant: 'svc-system', limit: 10 })).map(({ id }) => id);
    const keys = await at.sqlite.collection({ name: 'signing_keys', unique: [], indexes: [['last_seen']] });
    assert.equal((await kids()).length, 2);
    for (let step = 0; step < 32; step += 1) {
      at.clock.advance(5 * MINUTE_MS);
      await two.tokens.issue(node);
    }
    assert.ok(!(await kids()).includes(decodeProtectedHeader(token).kid ?? ''));
  });

  it('a controller that only verifies makes no key', async () => {
    await using at = await fleet();
    const [one, two] = [at.controller(), at.controller()];
    const { token } = await one.tokens.issue(node);
    await two.tokens.verify(token);
    await assert.rejects(newestPrivateKey(two.keysDirectory), { code: 'ENOENT' });
  });
});

describe('unknown keys', () => {
  it('500 tokens of unknown keys at once cause at most two reads of the documents', async () => {
    await using at = await forge();
    await at.tokens.verify(at.token);
    const before = at.documents.finds;
    const garbage = () =>
      jwt({ ...at.header, kid: randomBytes(32).toString('base64url') }, at.claims(), stranger.privateKey);
    const answers = await Promise.allSettled(Array.from({ length: 500 }, () => at.tokens.verify(garbage())));
    for (const answer of answers) {
      assert.equal(answer.status, 'rejected');
      refused('unauthenticated', INVALID)(answer.reason);
    }
    assert.ok(at.documents.finds - before <= 2, `${at.documents.finds - before} looks`);
  });

  it('successive unknown keys share one read per second', async () => {
    await using at = await forge();
    await at.tokens.verify(at.token);
    const before = at.documents.finds;
    const answers: Promise<unknown>[] = [];
    for (let count = 0; count < 30; count += 1) {
      const kid = randomBytes(32).toString('base64url');
      const rubbish = jwt({ ...at.header, kid }, at.claims(), stranger.privateKey);
      answers.push(assert.rejects(at.tokens.verify(rubbish), refused('unauthenticated', INVALID)));
      // Long enough for a read of its own, if it caused one.
      for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    }
    await Promise.all(answers);
    assert.ok(at.documents.finds - before <= 2, `${at.documents.finds - before} looks`);
  });

  it('a good token of a new key is not refused because bad tokens used up the read of this second', async () => {
    await using at = await fleet();
    const [one, two] = [at.controller(), at.controller()];
    const rubbish = jwt({ alg: 'RS256', kid: 'A'.repeat(43) }, {}, stranger.privateKey);
    await assert.rejects(two.tokens.verify(rubbish), refused('unauthenticated'));
    const { token } = await one.tokens.issue(node);
    await two.tokens.verify(token);
  });

  it('while the documents are down a known key verifies and an unknown one is unavailable, not invalid', async () => {
    await using at = await fleet();
    const [one, two, three] = [at.controller(), at.controller(), at.controller()];
    const known = await one.tokens.issue(node);
    const unknown = await three.tokens.issue(node);
    await one.tokens.verify(known.token);
    two.documents.isDown = true;
    await assert.rejects(two.tokens.verify(known.token), refused('unavailable'));
    two.documents.isDown = false;
    await two.tokens.verify(known.token);
    two.documents.isDown = true;
    at.clock.advance(5 * MINUTE_MS);
    await two.tokens.verify(known.token);
    const late = at.controller();
    late.documents.isDown = true;
    await assert.rejects(late.tokens.verify(unknown.token), refused('unavailable'));
  });

  it('a document that is no key of the service verifies nothing and harms no other key', async () => {
    await using at = await fleet();
    const one = at.controller();
    const { token } = await one.tokens.issue(node);
    const keys = await at.sqlite.collection({ name: 'signing_keys', unique: [], indexes: [['last_seen']] });
    const now = at.clock.now();
    const n = stranger.publicKey.export({ format: 'jwk' }).n;
    const kid = decodeProtectedHeader(token).kid;
    // An attacker's key with the kid of a controller's key.
    const jwk = { kty: 'RSA', n, e: 'AQAB', kid, alg: 'RS256', use: 'sig' };
    for (const [id, value] of [
      ['planted', jwk],
      ['broken', null],
      ['text', 'jwk'],
    ] as const) {
      const row = { tenant: 'svc-system', id, version: now + 1, jwk: value, last_seen: now };
      assert.equal(await keys.put(row), true);
    }
    const two = at.controller();
    await two.tokens.verify(token);
    const forged = jwt({ alg: 'RS256', kid }, goodClaims(at.clock, pair.publicKey), stranger.privateKey);
    await assert.rejects(two.tokens.verify(forged), refused('unauthenticated', INVALID));
  });
});
