import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { CHALLENGE_TTL_MS, nodeChallengeActor } from '../../actors/node-challenge/definition.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { ActorDriver, type DrivenTurn } from '../../runtime/testing/actor-driver.ts';

const NONCE = Buffer.alloc(32, 7).toString('base64url');
const node = generateKeyPairSync('ed25519');
const stranger = generateKeyPairSync('ed25519');
const claim = {
  node_id: 'w1',
  public_key_pem: node.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  role: 'WORKER',
  nonce: NONCE,
};
const signed = (text: string, key = node.privateKey) => ({
  signature_base64: sign(null, Buffer.from(text, 'utf8'), key).toString('base64'),
});

function issued(): ActorDriver {
  const actor = new ActorDriver(nodeChallengeActor(), SYSTEM_TENANT, '6f1c3a52-0000-4000-8000-000000000001');
  actor.send('Issue', claim);
  return actor;
}

const proven = (turn: DrivenTurn): unknown => (turn.reply?.ok === true ? turn.reply.value : turn.reply?.code);
const { nonce: _, ...owner } = claim;

test('a signature over the UTF-8 bytes of the nonce proves the key', () => {
  assert.deepEqual(proven(issued().send('Answer', signed(NONCE))), { proven: owner });
});

for (const [what, answer] of [
  ['of another key', signed(NONCE, stranger.privateKey)],
  ['over the decoded bytes', { signature_base64: sign(null, Buffer.alloc(32, 7), node.privateKey).toString('base64') }],
  ['over another text', signed(`${NONCE}=`)],
  ['that is empty', { signature_base64: '' }],
  ['that is no base64', { signature_base64: '%%%' }],
] as const) {
  test(`a signature ${what} is refused and consumes the challenge`, () => {
    const actor = issued();
    assert.deepEqual(proven(actor.send('Answer', answer)), { proven: null });
    assert.equal(proven(actor.send('Answer', signed(NONCE))), 'unauthenticated');
    assert.deepEqual(actor.state, { status: 'over' });
  });
}

test('a correct answer counts once', () => {
  const actor = issued();
  actor.send('Answer', signed(NONCE));
  assert.equal(proven(actor.send('Answer', signed(NONCE))), 'unauthenticated');
});

test('an answer counts until the last millisecond, also when the timer is late', () => {
  const early = issued();
  early.advance(CHALLENGE_TTL_MS - 1);
  assert.deepEqual(proven(early.send('Answer', signed(NONCE))), { proven: owner });
  const late = issued();
  late.advance(CHALLENGE_TTL_MS);
  assert.deepEqual(proven(late.send('Answer', signed(NONCE))), { proven: null });
});

test('an expired challenge accepts no answer', () => {
  const actor = issued();
  actor.fire('expiry');
  assert.equal(proven(actor.send('Answer', signed(NONCE))), 'unauthenticated');
});

test('only Issue creates a challenge, and only once', () => {
  const actor = new ActorDriver(nodeChallengeActor(), SYSTEM_TENANT, '6f1c3a52-0000-4000-8000-000000000002');
  assert.equal(proven(actor.send('Answer', signed(NONCE))), 'not_found');
  actor.send('Issue', claim);
  assert.equal(proven(actor.send('Issue', { ...claim, node_id: 'w2' })), 'conflict');
});
