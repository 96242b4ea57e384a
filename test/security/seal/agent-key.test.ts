import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { parseAgentPublicKey, publicKeyText } from '../../../security/api.ts';
import { isStrongPoint } from '../../../security/seal/agent-key.ts';
import { refused } from '../../support/refused.ts';
import { nodePair } from '../key-fleet.ts';

test('a key comes as PEM, as base64 of 32 raw bytes, or as base64 of the SPKI, and is the same', () => {
  for (let round = 0; round < 20; round += 1) {
    const { publicKey, publicKeyPem } = nodePair();
    const raw = Buffer.from(publicKeyText(publicKey), 'base64url');
    const spki = publicKey.export({ type: 'spki', format: 'der' });
    const ways = [raw.toString('base64'), raw.toString('base64url'), spki.toString('base64')];
    for (const base64 of ways) assert.ok(parseAgentPublicKey({ base64 }).equals(publicKey));
    assert.ok(parseAgentPublicKey({ pem: publicKeyPem }).equals(publicKey));
  }
});

test('points of small order, of no curve and in a second form are refused', () => {
  const weak = [
    '0000000000000000000000000000000000000000000000000000000000000000',
    '0100000000000000000000000000000000000000000000000000000000000000',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  ].flatMap((hex) => {
    const bytes = Buffer.from(hex, 'hex');
    const signed = Buffer.from(bytes);
    signed[31] = (signed[31] ?? 0) | 0x80;
    return [bytes, signed];
  });
  for (const bytes of weak) {
    const refuses = refused('invalid_argument', /^agent_public_key: expected a point/);
    assert.throws(() => parseAgentPublicKey({ base64: bytes.toString('base64') }), refuses, bytes.toString('hex'));
  }
  const offCurve = Array.from({ length: 64 }, (_, y) => Buffer.concat([Buffer.from([y + 2]), Buffer.alloc(31)]));
  const on = offCurve.filter((bytes) => isStrongPoint(bytes)).length;
  assert.ok(on > 10 && on < 54, `about half of all numbers are on the curve: ${on}`);
});

test('anything else is refused by its field', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey;
  const x25519 = generateKeyPairSync('x25519').publicKey.export({ type: 'spki', format: 'der' });
  for (const base64 of ['', 'AAAA', x25519.toString('base64'), 'a'.repeat(1_000), Buffer.alloc(33).toString('base64')])
    assert.throws(() => parseAgentPublicKey({ base64 }), refused('invalid_argument', /^agent_public_key/));
  for (const pem of ['', 'x', String(rsa.export({ type: 'spki', format: 'pem' }))])
    assert.throws(() => parseAgentPublicKey({ pem }), refused('invalid_argument', /^public_key_pem/));
});
