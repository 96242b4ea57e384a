import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CompactSign } from 'jose';
import { SvcError } from '../../runtime/errors.ts';
import type { NodeIdentity, ProvenCall } from '../../security/api.ts';
import { createProofGuard, Nonces, WINDOW_MS } from '../../security/node-proofs/guard.ts';
import { makeProof, openPins } from '../../security/node-proofs/proof.ts';
import { fleet, HOUR_MS, nodePair } from './key-fleet.ts';

const CALL: ProvenCall = {
  method: '/svc.cluster.v1.NodeClusterService/Heartbeat',
  tenant: '',
  address: '',
  token: 'header.claims.signature',
  payload: Buffer.from([10, 2, 1, 2]),
};

const because = (reason: string) => (error: unknown) => {
  assert.ok(error instanceof SvcError, String(error));
  assert.deepEqual([error.code, error.reason], ['unauthenticated', reason], error.message);
  return true;
};

async function setup() {
  const at = await fleet();
  const { clock, sqlite: documents } = at;
  const receiver = async (node = 'ctl-1', required = false) =>
    createProofGuard({ node, required, clock, pins: await openPins({ documents, clock }) });
  const sender = (nodeId: string, expiresAt = clock.now() + HOUR_MS) => {
    const pair = nodePair();
    const identity: NodeIdentity = { nodeId, role: 'WORKER', publicKey: pair.publicKey, expiresAt };
    return { ...pair, identity };
  };
  type Guard = Awaited<ReturnType<typeof receiver>>;
  const prove = (to: Guard, by: ReturnType<typeof sender>, call = CALL, aheadMs = 0) => {
    const { nodeId, life } = to.introduction();
    return makeProof(by.privateKey, call, { nodeId, life, at: clock.now() + aheadMs });
  };
  return { ...at, receiver, sender, prove, [Symbol.asyncDispose]: at[Symbol.asyncDispose] };
}

describe('a proof of a call between nodes', () => {
  it('is valid for the call it was made for, once', async () => {
    await using at = await setup();
    const [guard, worker] = [await at.receiver(), at.sender('w')];
    const proof = await at.prove(guard, worker);
    await guard.check(worker.identity, CALL, proof);
    await assert.rejects(guard.check(worker.identity, CALL, proof), because('proof_repeated'));
    const both = await at.prove(guard, worker);
    const twice = await Promise.allSettled([1, 2].map(() => guard.check(worker.identity, CALL, both)));
    assert.deepEqual(twice.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  });

  const changes: readonly [reason: string, changed: Partial<ProvenCall>][] = [
    ['proof_method', { method: '/svc.cluster.v1.NodeClusterService/DeregisterNode' }],
    ['proof_tenant', { tenant: 'acme' }],
    ['proof_address', { address: '10.0.0.9:50056' }],
    ['proof_token', { token: 'another' }],
    ['proof_payload', { payload: Buffer.from([10, 2, 1, 3]) }],
  ];
  for (const [reason, changed] of changes) {
    it(`is refused as ${reason} for a call that differs in it`, async () => {
      await using at = await setup();
      const [guard, worker] = [await at.receiver(), at.sender('w')];
      const proof = await at.prove(guard, worker);
      await assert.rejects(guard.check(worker.identity, { ...CALL, ...changed }, proof), because(reason));
      await guard.check(worker.identity, CALL, proof);
    });
  }

  it('is refused by another node, and by the same node after a restart', async () => {
    await using at = await setup();
    const worker = at.sender('w');
    const guard = await at.receiver();
    const proof = await at.prove(guard, worker);
    const others = [await at.receiver('ctl-2'), await at.receiver('ctl-1')];
    for (const other of others) {
      await assert.rejects(other.check(worker.identity, CALL, proof), because('proof_receiver'));
    }
    const { life } = guard.introduction();
    const misnamed = await makeProof(worker.privateKey, CALL, { nodeId: 'ctl-2', life, at: at.clock.now() });
    await assert.rejects(guard.check(worker.identity, CALL, misnamed), because('proof_receiver'));
  });

  it('is refused outside of its window, before and after', async () => {
    await using at = await setup();
    const [guard, worker] = [await at.receiver(), at.sender('w')];
    for (const aheadMs of [WINDOW_MS + 1, -WINDOW_MS - 1]) {
      const proof = await at.prove(guard, worker, CALL, aheadMs);
      await assert.rejects(guard.check(worker.identity, CALL, proof), because('proof_time'));
    }
    for (const aheadMs of [WINDOW_MS, -WINDOW_MS]) {
      await guard.check(worker.identity, CALL, await at.prove(guard, worker, CALL, aheadMs));
    }
    const late = await at.prove(guard, worker);
    at.clock.advance(WINDOW_MS + 1);
    await assert.rejects(guard.check(worker.identity, CALL, late), because('proof_time'));
  });

  it('of another key, or a text that is no proof, is refused', async () => {
    await using at = await setup();
    const [guard, worker, thief] = [await at.receiver(), at.sender('w'), at.sender('w')];
    const proof = await at.prove(guard, worker);
    // The same claims, signed by the right key, as a token of another type.
    const [, claims = ''] = proof.split('.');
    const other = await new CompactSign(Buffer.from(claims, 'base64url'))
      .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT' })
      .sign(worker.privateKey);
    await assert.rejects(guard.check(worker.identity, CALL, other), because('proof_invalid'));
    const texts = [await at.prove(guard, thief), '', 'x', 'a.b.c', `${proof}x`, proof.slice(0, -4), 'y'.repeat(9_000)];
    for (const text of texts) {
      await assert.rejects(guard.check(worker.identity, CALL, text), because('proof_invalid'), text);
    }
  });
});

describe('a node that has sent a proof', () => {
  it('is refused without one from then on, by every controller and after a restart', async () => {
    await using at = await setup();
    const [first, second, worker, old] = [
      await at.receiver('ctl-1'),
      await at.receiver('ctl-2'),
      at.sender('w'),
      at.sender('o'),
    ];
    for (const guard of [first, second]) await guard.check(worker.identity, CALL, undefined);
    await first.check(worker.identity, CALL, await at.prove(first, worker));
    for (const guard of [first, second, await at.receiver('ctl-1')]) {
      await assert.rejects(guard.check(worker.identity, CALL, undefined), because('proof_required'));
      await guard.check(old.identity, CALL, undefined);
    }
  });

  it('may have a new key with a newer token only', async () => {
    await using at = await setup();
    const [guard, before] = [await at.receiver(), at.sender('w')];
    const after = at.sender('w', before.identity.expiresAt + 1_000);
    await guard.check(before.identity, CALL, await at.prove(guard, before));
    await guard.check(after.identity, CALL, await at.prove(guard, after));
    await assert.rejects(guard.check(before.identity, CALL, await at.prove(guard, before)), because('proof_key'));
    await guard.check(after.identity, CALL, await at.prove(guard, after));
  });

  it('is forgotten when an operator removes it', async () => {
    await using at = await setup();
    const [guard, worker] = [await at.receiver(), at.sender('w')];
    await guard.check(worker.identity, CALL, await at.prove(guard, worker));
    await (await openPins({ documents: at.sqlite, clock: at.clock })).forget('w');
    await guard.check(worker.identity, CALL, undefined);
  });

  it('is not pinned by a proof that was refused', async () => {
    await using at = await setup();
    const [guard, worker] = [await at.receiver(), at.sender('w')];
    const stale = await at.prove(guard, worker, CALL, -WINDOW_MS - 1);
    await assert.rejects(guard.check(worker.identity, CALL, stale), because('proof_time'));
    await guard.check(worker.identity, CALL, undefined);
  });
});

it('require_proof refuses every call without one', async () => {
  await using at = await setup();
  const [guard, worker] = [await at.receiver('ctl-1', true), at.sender('w')];
  await assert.rejects(guard.check(worker.identity, CALL, undefined), because('proof_required'));
  await guard.check(worker.identity, CALL, await at.prove(guard, worker));
});

describe('nonces', () => {
  it('are remembered for their window and forgotten after two', async () => {
    await using at = await setup();
    const nonces = new Nonces({ clock: at.clock, windowMs: 60_000 });
    at.clock.advance(45_000);
    assert.deepEqual([nonces.note('w', 'a'), nonces.note('x', 'a')], ['new', 'new']);
    for (const _ of [1, 2, 3]) {
      at.clock.advance(20_000);
      assert.equal(nonces.note('w', 'a'), 'repeated');
    }
    at.clock.advance(120_000);
    assert.equal(nonces.note('w', 'a'), 'new');
    assert.equal(nonces.size, 1);
  });

  it('of one node take no room of others, and are refused rather than forgotten', async () => {
    await using at = await setup();
    const nonces = new Nonces({ clock: at.clock, windowMs: 60_000, mostPerNode: 3, most: 5 });
    const noted = ['1', '2', '3', '4'].map((nonce) => nonces.note('busy', nonce));
    assert.deepEqual(noted, ['new', 'new', 'new', 'full']);
    assert.deepEqual(
      ['1', '2', '3'].map((nonce) => nonces.note('calm', nonce)),
      ['new', 'new', 'full'],
    );
    assert.equal(nonces.note('busy', '1'), 'repeated');
  });
});
