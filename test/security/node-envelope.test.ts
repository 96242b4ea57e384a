import assert from 'node:assert/strict';
import { sign } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { NodeEnvelope } from '../../security/api.ts';
import { openNodeEnvelope, sealNodeEnvelope } from '../../security/node-envelope.ts';
import { refused } from '../support/refused.ts';
import { fleet, HOUR_MS, nodePair } from './key-fleet.ts';

const MISSING = /^A node token is needed, as bearer token and in a signed envelope\.$/;
const INVALID = /^The node token or the signature of its envelope is not valid\.$/;
const EXPIRED = /^The node token has expired\.$/;
const PAYLOAD = Buffer.from([10, 4, 1, 2, 3, 4]);

async function setup() {
  const at = await fleet();
  const { tokens } = at.controller();
  const pair = nodePair();
  const { token } = await tokens.issue({ nodeId: 'node-1', role: 'HYBRID', publicKeyPem: pair.publicKeyPem });
  const good = sealNodeEnvelope(token, pair.privateKey, PAYLOAD);
  const open = (envelope: NodeEnvelope, authorization: string | undefined = `Bearer ${token}`) =>
    openNodeEnvelope({ tokens }, authorization, envelope);
  return { ...at, tokens, pair, token, good, open, [Symbol.asyncDispose]: at[Symbol.asyncDispose] };
}

describe('a node envelope', () => {
  it('of a good token and signature says who sent it', async () => {
    await using at = await setup();
    const node = await at.open(at.good);
    assert.deepEqual([node.nodeId, node.role], ['node-1', 'HYBRID']);
  });

  it('may hold an empty payload, which must be signed too', async () => {
    await using at = await setup();
    const empty = new Uint8Array();
    await at.open(sealNodeEnvelope(at.token, at.pair.privateKey, empty));
    await assert.rejects(at.open({ ...at.good, payload: empty }), refused('unauthenticated', INVALID));
    const unsigned = { node_security_token: at.token, signature: empty, payload: empty };
    await assert.rejects(at.open(unsigned), refused('unauthenticated', INVALID));
  });

  it('without a token in both places is refused as missing', async () => {
    await using at = await setup();
    await assert.rejects(openNodeEnvelope(at, undefined, at.good), refused('unauthenticated', MISSING));
    for (const header of ['', 'Bearer', 'Bearer ', `Basic ${at.token}`, at.token]) {
      await assert.rejects(at.open(at.good, header), refused('unauthenticated', MISSING));
    }
    await assert.rejects(at.open({ ...at.good, node_security_token: '' }), refused('unauthenticated', MISSING));
  });

  it('with two good tokens that are not the same one is refused', async () => {
    await using at = await setup();
    const other = nodePair();
    const two = await at.tokens.issue({ nodeId: 'node-2', role: 'WORKER', publicKeyPem: other.publicKeyPem });
    await assert.rejects(at.open(at.good, `Bearer ${two.token}`), refused('unauthenticated', INVALID));
    await assert.rejects(at.open({ ...at.good, node_security_token: two.token }), refused('unauthenticated', INVALID));
  });

  it('with the token of another node, signed by the own key, is refused', async () => {
    await using at = await setup();
    const thief = sealNodeEnvelope(at.token, nodePair().privateKey, PAYLOAD);
    await assert.rejects(at.open(thief), refused('unauthenticated', INVALID));
  });

  it('whose payload or signature was changed in any bit is refused', async () => {
    await using at = await setup();
    const flipped = (bytes: Uint8Array, bit: number) => {
      const copy = Buffer.from(bytes);
      const index = (bit >> 3) % copy.length;
      copy[index] = (copy[index] ?? 0) ^ (1 << (bit & 7));
      return copy;
    };
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.nat(511), async (inPayload, bit) => {
        const { payload, signature } = at.good;
        const changed = inPayload ? { payload: flipped(payload, bit) } : { signature: flipped(signature, bit) };
        await assert.rejects(at.open({ ...at.good, ...changed }), refused('unauthenticated', INVALID));
      }),
      { numRuns: 200 },
    );
    for (const length of [0, 1, 63, 65, 4_096]) {
      const signature = Buffer.alloc(length, 1);
      await assert.rejects(at.open({ ...at.good, signature }), refused('unauthenticated', INVALID));
    }
  });

  it('that signs the token instead of the payload is refused', async () => {
    await using at = await setup();
    const signature = sign(null, Buffer.from(at.token), at.pair.privateKey);
    await assert.rejects(at.open({ ...at.good, signature }), refused('unauthenticated', INVALID));
  });

  it('ends with its token', async () => {
    await using at = await setup();
    at.clock.advance(HOUR_MS + 6_000);
    await assert.rejects(at.open(at.good), refused('unauthenticated', EXPIRED));
  });
});
