import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { type Answer, type Extra, encode, type Fields, type PageClient } from './page.ts';

const WORKER = 1;

const CAPABILITIES = {
  gpu_count: 1,
  vram_gb: 24,
  cpu_cores: 8,
  available_memory_gb: 32,
  supported_runtimes: ['python'],
  tags: ['gpu'],
};

/** A worker written from the specification alone, with its own key. */
export class IndependentWorker {
  readonly nodeId: string;
  readonly client: PageClient;
  readonly privateKey: KeyObject;
  readonly publicKeyPem: string;
  token = '';
  peerId = '';

  constructor(nodeId: string, client: PageClient) {
    this.nodeId = nodeId;
    this.client = client;
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    this.privateKey = privateKey;
    this.publicKeyPem = String(publicKey.export({ type: 'spki', format: 'pem' }));
  }

  attest(more: Fields = {}, extra: Extra = {}): Promise<Answer> {
    const { nodeId: node_id, publicKeyPem: public_key_pem } = this;
    return this.client.unary(
      'AttestNode',
      encode('AttestNodeRequest', { node_id, public_key_pem, role: WORKER, ...more }),
      extra,
    );
  }

  answer(challengeId: unknown, nonce: unknown, key = this.privateKey): Promise<Answer> {
    const signature = sign(null, Buffer.from(String(nonce), 'utf8'), key);
    return this.client.unary('ChallengeNode', encode('ChallengeNodeRequest', { challenge_id: challengeId, signature }));
  }

  /** Steps 1 to 3, which give it a token. */
  async prove(more: Fields = {}, extra: Extra = {}): Promise<Answer> {
    const { message, code, details } = await this.attest(more, extra);
    assert.equal(code, 'OK', details);
    const proven = await this.answer(message.challenge_id, message.challenge_nonce);
    assert.equal(proven.code, 'OK', proven.details);
    this.token = String(proven.message.node_security_token);
    return proven;
  }

  seal(payload: Buffer, token = this.token): Buffer {
    return encode('SealNodeEnvelope', {
      node_security_token: token,
      signature: sign(null, payload, this.privateKey),
      payload,
    });
  }

  metadata(extra: Extra = {}): Extra {
    return { authorization: `Bearer ${this.token}`, ...extra };
  }

  /** A call whose request is in an envelope. */
  call(method: string, fields: Fields = {}, extra: Extra = {}): Promise<Answer> {
    return this.client.unary(method, this.seal(encode(`${method}Request`, fields)), this.metadata(extra));
  }

  async register(more: Fields = {}, extra: Extra = {}): Promise<Answer> {
    const registered = await this.call('RegisterNode', { capabilities: { ...CAPABILITIES, ...more } }, extra);
    this.peerId = String(registered.message.peer_id);
    return registered;
  }

  heartbeat(more: Fields = {}): Promise<Answer> {
    return this.call('Heartbeat', {
      peer_id: this.peerId,
      active_execution_count: 2,
      cpu_utilization_percent: 12.5,
      memory_utilization_percent: 40,
      status: 0,
      ...more,
    });
  }

  /** All steps up to the first heartbeat. */
  async join(more: Fields = {}, extra: Extra = {}): Promise<this> {
    await this.prove();
    const registered = await this.register(more, extra);
    assert.equal(registered.code, 'OK', registered.details);
    const beaten = await this.heartbeat();
    assert.equal(beaten.code, 'OK', beaten.details);
    return this;
  }
}
