import assert from 'node:assert/strict';
import { sign } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { OPERATOR } from '../../actors/node-peer/controller.ts';
import { IndependentWorker } from './independent-worker.ts';
import { type FleetNode, fleetNode } from './node.ts';
import { type Answer, type Extra, encode, PageClient } from './page.ts';

const UUID = '7d6f1c1a-3a50-4f7b-9a55-0a4b2f1c9e01';
const HASH = '0'.repeat(64);

describe('what a node may not do', { timeout: 300_000 }, () => {
  let at: FleetNode;
  let client: PageClient;
  let member: IndependentWorker;
  before(async () => {
    at = await fleetNode();
    client = new PageClient(at.address);
    member = await new IndependentWorker('member', client).join();
  });
  after(async () => {
    const logged = at.logged.join('\n');
    for (const secret of secretsOf(member)) assert.ok(!logged.includes(secret), 'no secret is logged');
    client.close();
    await at[Symbol.asyncDispose]();
  });

  /** Checks the status, and that text and trailers hold no secret. */
  const refused = (answer: Answer, code: string, says: RegExp, who: IndependentWorker = member): void => {
    assert.equal(answer.code, code, answer.details);
    assert.match(answer.details, says);
    assert.ok((answer.metadata.at(-1)?.get('svc-error-code').length ?? 0) === 1, 'the trailer names the error');
    const shown = [answer.details, ...answer.metadata.map((one) => JSON.stringify(one.getMap()))].join('\n');
    const decoded = `${shown}${answer.metadata.map((one) => String(one.get('grpc-status-details-bin')[0] ?? '')).join()}`;
    assert.doesNotMatch(decoded, /\n\s+at |\.ts\b|file:|node_modules|\/(work|home|tmp|root)\/|BEGIN|ZodError|JWT|JWS/);
    for (const secret of secretsOf(who)) assert.ok(!decoded.includes(secret), `a secret is in: ${decoded}`);
  };
  const fresh = (): IndependentWorker => new IndependentWorker(`node-${Math.random().toString(36).slice(2)}`, client);

  describe('attestation', () => {
    test('a nonce signed with another key is UNAUTHENTICATED, and uses the challenge up', async () => {
      const [one, other] = [fresh(), fresh()];
      const { message } = await one.attest();
      const nonce = message.challenge_nonce;
      const wrong = await one.answer(message.challenge_id, nonce, other.privateKey);
      refused(wrong, 'UNAUTHENTICATED', /challenge/);
      assert.ok(!wrong.details.includes(String(nonce)));
      refused(await one.answer(message.challenge_id, nonce), 'UNAUTHENTICATED', /challenge/);
    });

    test('a challenge answered once is not answered again', async () => {
      const one = fresh();
      const { message } = await one.attest();
      assert.equal((await one.answer(message.challenge_id, message.challenge_nonce)).code, 'OK');
      refused(await one.answer(message.challenge_id, message.challenge_nonce), 'UNAUTHENTICATED', /challenge/);
    });

    test('a challenge that ran out, was never issued or is no id is UNAUTHENTICATED', async () => {
      await using brief = await fleetNode({ challengeTtlMs: 1 });
      const there = new PageClient(brief.address);
      const one = new IndependentWorker('late', there);
      const { message } = await one.attest();
      const expired = await one.answer(message.challenge_id, message.challenge_nonce);
      there.close();
      const unknown = await member.answer(UUID, 'nonce');
      const malformed = await member.answer('../../etc', 'nonce');
      for (const answer of [expired, unknown, malformed]) refused(answer, 'UNAUTHENTICATED', /challenge/);
    });

    test('a known node id with another key is PERMISSION_DENIED until an operator removes the node', async () => {
      const rightful = await fresh().join();
      const thief = new IndependentWorker(rightful.nodeId, client);
      refused(await thief.attest(), 'PERMISSION_DENIED', /./, rightful);
      await at.peers.remove(rightful.nodeId, OPERATOR);
      await thief.join();
      refused(await rightful.heartbeat(), 'UNAUTHENTICATED', /key/, rightful);
      refused(await rightful.call('SyncConfig'), 'UNAUTHENTICATED', /registered/, rightful);
      assert.deepEqual((await rightful.call('DeregisterNode')).message, { accepted: false });
      assert.equal(await at.peers.isRegistered(thief.nodeId), true);
    });

    test('no node is attested as CONTROLLER', async () => {
      refused(await fresh().attest({ role: 0 }), 'PERMISSION_DENIED', /role/);
    });

    const malformed: readonly [what: string, request: Buffer, says: RegExp][] = [
      [
        'an unknown role',
        encode('AttestNodeRequest', { node_id: 'a', public_key_pem: 'b', role: 7 }),
        /role: expected/,
      ],
      ['no node id', encode('AttestNodeRequest', { public_key_pem: 'b', role: 1 }), /node_id/],
      ['an id with a path', encode('AttestNodeRequest', { node_id: '../x', role: 1 }), /node_id/],
      [
        'a text that is no key',
        encode('AttestNodeRequest', { node_id: 'a', public_key_pem: 'x', role: 1 }),
        /public_key_pem/,
      ],
      ['garbage', Buffer.from([0x0a, 0xff, 0xff, 0xff]), /not a valid message/],
      ['a large request', encode('AttestNodeRequest', { node_id: 'a'.repeat(20_000) }), /too large/],
    ];
    for (const [what, request, says] of malformed) {
      test(`${what} is INVALID_ARGUMENT`, async () => {
        refused(await client.unary('AttestNode', request), 'INVALID_ARGUMENT', says);
      });
    }

    test('a private key sent as the public one is refused and never repeated', async () => {
      const one = fresh();
      const pem = String(one.privateKey.export({ type: 'pkcs8', format: 'pem' }));
      const answer = await one.attest({ public_key_pem: pem });
      refused(answer, 'INVALID_ARGUMENT', /public_key_pem/, one);
    });
  });

  describe('token and envelope', () => {
    const METHODS = [
      'RegisterNode',
      'Heartbeat',
      'DeregisterNode',
      'RouteExecution',
      'SyncConfig',
      'PushConfig',
      'ListPeers',
    ];

    for (const method of METHODS) {
      test(`${method} without a token, with half of it, or with rubbish is UNAUTHENTICATED`, async () => {
        const sealed = member.seal(Buffer.alloc(0));
        const answers = [
          await client.unary(method, sealed),
          await client.unary(method, sealed, { authorization: member.token }),
          await client.unary(method, sealed, { authorization: 'Bearer x.y.z' }),
          await client.unary(method, Buffer.alloc(0), member.metadata()),
          await client.unary(method, Buffer.from([0x0a, 0xff, 0xff]), member.metadata()),
          await client.unary(method, encode(`${method}Request`, {}), member.metadata()),
          await client.unary(method, member.seal(Buffer.alloc(0), 'other'), member.metadata()),
        ];
        for (const answer of answers) refused(answer, 'UNAUTHENTICATED', /./);
      });
    }

    test('an expired token is UNAUTHENTICATED, though its signature and envelope hold', async () => {
      const { token } = await at.pastTokens.issue({
        nodeId: 'member',
        role: 'WORKER',
        publicKeyPem: member.publicKeyPem,
      });
      const sealed = member.seal(Buffer.alloc(0), token);
      refused(
        await client.unary('SyncConfig', sealed, { authorization: `Bearer ${token}` }),
        'UNAUTHENTICATED',
        /expired/,
      );
    });

    test('the token of another node does not go with this node’s signature', async () => {
      const other = await fresh().join();
      const payload = encode('HeartbeatRequest', { peer_id: other.peerId });
      const stolen = member.seal(payload, other.token);
      const answer = await client.unary('Heartbeat', stolen, { authorization: `Bearer ${other.token}` });
      refused(answer, 'UNAUTHENTICATED', /./, other);
    });

    test('a token whose subject was changed is UNAUTHENTICATED', async () => {
      const [head, body = '', signature] = member.token.split('.');
      const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
      const forged = [
        head,
        Buffer.from(JSON.stringify({ ...claims, sub: 'admin' })).toString('base64url'),
        signature,
      ].join('.');
      const answer = await client.unary('SyncConfig', member.seal(Buffer.alloc(0), forged), {
        authorization: `Bearer ${forged}`,
      });
      refused(answer, 'UNAUTHENTICATED', /./);
    });

    test('a payload changed by one bit, or signed under another token, is UNAUTHENTICATED', async () => {
      const payload = encode('HeartbeatRequest', { peer_id: member.peerId });
      const signature = sign(null, payload, member.privateKey);
      const changed = Buffer.from(payload);
      changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1);
      const tampered = encode('SealNodeEnvelope', { node_security_token: member.token, signature, payload: changed });
      refused(await client.unary('Heartbeat', tampered, member.metadata()), 'UNAUTHENTICATED', /./);
      const { token } = await fresh().join();
      const mixed = await client.unary('Heartbeat', member.seal(payload, token), member.metadata());
      refused(mixed, 'UNAUTHENTICATED', /./);
    });
  });

  describe('requests', () => {
    test('a heartbeat before registration is FAILED_PRECONDITION', async () => {
      const one = fresh();
      await one.prove();
      one.peerId = member.peerId;
      refused(await one.heartbeat(), 'FAILED_PRECONDITION', /register/, one);
    });

    test('an unregistered node is unknown to RouteExecution, ListPeers and SyncConfig', async () => {
      const one = fresh();
      await one.prove();
      for (const method of ['RouteExecution', 'ListPeers', 'SyncConfig']) {
        refused(
          await one.call(method, method === 'RouteExecution' ? { execution_id: UUID } : {}),
          'UNAUTHENTICATED',
          /registered/,
        );
      }
    });

    test('the peer id and the node id of another are PERMISSION_DENIED', async () => {
      const other = await fresh().join();
      refused(await member.heartbeat({ peer_id: other.peerId }), 'PERMISSION_DENIED', /./);
      refused(await member.call('DeregisterNode', { node_id: other.nodeId }), 'PERMISSION_DENIED', /node_id/);
      assert.equal(await at.peers.isRegistered(other.nodeId), true);
    });

    test('workers neither forward executions nor push configuration', async () => {
      const config = { config_yaml: 'spec: {}', config_hash: HASH };
      refused(await member.call('PushConfig', config), 'PERMISSION_DENIED', /controller/);
      assert.deepEqual(at.applied, []);
    });

    test('garbage in a well-signed envelope is INVALID_ARGUMENT', async () => {
      const sealed = member.seal(Buffer.from([0x0a, 0xff, 0xff, 0xff]));
      for (const method of ['RegisterNode', 'Heartbeat', 'DeregisterNode', 'RouteExecution', 'ListPeers']) {
        refused(await client.unary(method, sealed, member.metadata()), 'INVALID_ARGUMENT', /not a valid message/);
      }
    });

    const malformed: readonly [what: string, method: string, fields: Record<string, unknown>, says: RegExp][] = [
      ['no capabilities', 'RegisterNode', {}, /capabilities/],
      ['a tag with blanks', 'RegisterNode', { capabilities: { tags: ['a b'] } }, /tags/],
      [
        'ten thousand tags',
        'RegisterNode',
        { capabilities: { tags: Array(10_000).fill('a') } },
        /tags: expected at most 64 entries/,
      ],
      ['negative memory', 'RegisterNode', { capabilities: { vram_gb: -1 } }, /vram_gb: expected at least 0$/],
      [
        'memory that is no number',
        'RegisterNode',
        { capabilities: { available_memory_gb: Number.NaN } },
        /memory_gb: expected a number$/,
      ],
      ['an unknown status', 'Heartbeat', { status: 9 }, /status: expected ACTIVE \(0\)/],
      [
        'an infinite load',
        'Heartbeat',
        { cpu_utilization_percent: Number.POSITIVE_INFINITY },
        /cpu_utilization_percent: expected a number$/,
      ],
      ['an unknown filter', 'ListPeers', { filter_status: 3 }, /filter_status: expected/],
      ['an execution that is no UUID', 'RouteExecution', { execution_id: 'mine' }, /execution_id.*UUID/],
      [
        'a negative number of GPUs',
        'RouteExecution',
        { execution_id: UUID, required: { vram_gb: -2 } },
        /required.*vram_gb/,
      ],
      ['a reason that is too long', 'DeregisterNode', { reason: 'x'.repeat(5_000) }, /reason: expected/],
    ];
    for (const [what, method, fields, says] of malformed) {
      test(`${what} is INVALID_ARGUMENT to ${method}`, async () => {
        const peer = method === 'Heartbeat' ? { peer_id: member.peerId } : {};
        refused(await member.call(method, { ...peer, ...fields }), 'INVALID_ARGUMENT', says);
      });
    }

    for (const address of ['nowhere', 'host:0', 'host:70000', '[::zz]:1', 'a b:1', 'http://x:1', '::1:50056']) {
      test(`the address "${address}" is INVALID_ARGUMENT to RegisterNode`, async () => {
        const answer = await member.call('RegisterNode', { capabilities: {} }, { 'svc-node-grpc-address': address });
        refused(answer, 'INVALID_ARGUMENT', /host:port/);
      });
    }

    test('a request of more than 4 MiB is INVALID_ARGUMENT', async () => {
      refused(
        await member.call('DeregisterNode', { reason: 'x'.repeat(5 * 1024 * 1024) }),
        'INVALID_ARGUMENT',
        /large/,
      );
    });
  });

  test('4,000 attestations at once over one connection are all answered', async () => {
    const asked = Array.from({ length: 4_000 }, (_, number) =>
      new IndependentWorker(`many-${number}`, client).attest(),
    );
    const answers = await Promise.all(asked);
    assert.deepEqual(new Set(answers.map(({ code }) => code)), new Set(['OK']));
    assert.equal(new Set(answers.map(({ message }) => message.challenge_nonce)).size, 4_000);
  });
});

describe('a fleet that is not open to all', { timeout: 300_000 }, () => {
  test('a node needs the join token, and only to be attested', async () => {
    await using at = await fleetNode({ joinToken: 'let-me-in-please' });
    const client = new PageClient(at.address);
    const worker = new IndependentWorker('w', client);
    const shown: readonly Extra[] = [{}, { 'svc-join-token': 'let-me-in' }, { 'svc-join-token': '' }];
    for (const extra of shown) {
      const answer = await worker.attest({}, extra);
      assert.equal(answer.code, 'PERMISSION_DENIED');
      assert.ok(!answer.details.includes('let-me-in'));
    }
    await worker.prove({}, { 'svc-join-token': 'let-me-in-please' });
    assert.equal((await worker.register()).code, 'OK');
    assert.ok(!at.logged.join('\n').includes('let-me-in'));
    client.close();
  });

  test('attestations beyond the bound are RESOURCE_EXHAUSTED and name a time to retry', async () => {
    await using at = await fleetNode({ limits: { attestations: 2 } });
    const client = new PageClient(at.address);
    const asked = Array.from({ length: 50 }, (_, number) => new IndependentWorker(`w-${number}`, client).attest());
    const codes = (await Promise.all(asked)).map(({ code }) => code);
    assert.deepEqual(new Set(codes), new Set(['OK', 'RESOURCE_EXHAUSTED']));
    assert.equal((await new IndependentWorker('later', client).attest()).code, 'OK');
    client.close();
  });

  test('a pure worker answers FAILED_PRECONDITION to what only controllers do, and the other way round', async () => {
    await using worker = await fleetNode({ controller: false });
    await using controller = await fleetNode({ worker: false });
    const [toWorker, toController] = [new PageClient(worker.address), new PageClient(controller.address)];
    const one = await new IndependentWorker('w', toController).join();
    for (const method of ['AttestNode', 'ChallengeNode', 'RegisterNode', 'ListPeers']) {
      assert.equal((await toWorker.unary(method, Buffer.alloc(0))).code, 'FAILED_PRECONDITION', method);
    }
    assert.equal((await one.call('PushConfig')).code, 'FAILED_PRECONDITION');
    for (const client of [toWorker, toController]) client.close();
  });
});

/** Texts that no answer may hold: the token and its parts, both keys. */
function secretsOf({ token, privateKey, publicKeyPem }: IndependentWorker): readonly string[] {
  const key = privateKey.export({ format: 'jwk' });
  return [...token.split('.').filter((part) => part !== ''), key.d ?? '', publicKeyPem.split('\n')[1] ?? ''].filter(
    (secret) => secret !== '',
  );
}
