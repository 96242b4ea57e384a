import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { svc } from '../../cli/svc-run.ts';
import { sample } from '../../support/size.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { IndependentWorker } from '../../transport/cluster/independent-worker.ts';
import { PageClient as ClusterClient } from '../../transport/cluster/page.ts';
import { canonical } from './canonical.ts';
import type { IndependentAgent } from './independent-agent.ts';
import { type Loot, MUTATIONS, type Mutant, REFUSALS } from './mutations.ts';
import { SealNode } from './seal-node.ts';
import { Seeded } from './seeded.ts';
import type { SealClient, Sent } from './transports.ts';

/**
 * `envelope_hash` as docs/reference/seal.md defines it: five parts in order, each after its length in eight bytes, big
 * endian.
 */
function envelopeHash(sent: Sent): string {
  const hash = createHash('sha256');
  for (const field of ['payload', 'security_token', 'signature', 'timestamp', 'protocol']) {
    const value = sent[field];
    const bytes = Buffer.isBuffer(value) ? value : Buffer.from(typeof value === 'string' ? value : '');
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    hash.update(length).update(bytes);
  }
  return hash.digest('hex');
}

/** Claims are JSON, so text that is not UTF-8 is invalid (RFC 7519). */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The session that a token claims, verified or not; null when no claim can be read. */
function claimedSession(token: unknown): string | null {
  if (typeof token !== 'string' || token.length > 4_096) return null;
  const parts = token.split('.');
  if (parts.length !== 3) return null;
  try {
    const claims: unknown = JSON.parse(utf8.decode(Buffer.from(parts[1] ?? '', 'base64url')));
    if (typeof claims !== 'object' || claims === null || !('jti' in claims) || !('tenant_id' in claims)) return null;
    return `${claims.tenant_id}/${claims.jti}`;
  } catch {
    return null;
  }
}

const SEED = 20_260_611;
const COUNT = sample({ normal: 40, long: 1_000 });
const AT_ONCE = 32;

interface Trial {
  readonly kind: string;
  readonly mutant: Mutant;
  readonly client: SealClient;
}

describe(`${COUNT} mutations of an independent agent's envelopes`, () => {
  let at: SealNode;
  let loot: Loot;
  let agents: readonly IndependentAgent[];
  let clients: { readonly rest: readonly SealClient[]; readonly grpc: readonly SealClient[] };
  /** Refusals that the chains must name, by session. */
  const expected = new Map<string, string[]>();

  before(async () => {
    at = await SealNode.start({ spec: { cluster: { enabled: true, cluster_grpc_port: 0 } } });
    const rest = at.rest();
    clients = {
      rest: [rest, at.rest({ path: '/v1/invoke', name: 'REST alias' }), at.internalRest()],
      grpc: [at.grpc(), at.internalGrpc()],
    };
    const running = await at.begin();
    const agent = await at.attested(running, rest);
    const other = await at.attested(running, rest);
    const elsewhere = await at.attested(await at.begin('bare'), rest);
    agents = [agent, other, elsewhere];
    const used = await rest.invoke(agent.call('used', 'fs.write', { path: 'used', content: 'once' }));
    assert.equal(used.status, 200, used.text);
    const { url } = await at.beginProgram();
    const cluster = new ClusterClient(await at.node.process.clusterAddress);
    const node = new IndependentWorker(randomUUID(), cluster);
    await node.prove();
    cluster.close();
    const { body } = await at.node.call('GET', '/.well-known/jwks.json');
    const [jwk] = Array.isArray(body.keys) ? body.keys : [];
    let id = 0;
    loot = {
      ...{ agent, other, elsewhere, jwk, usedId: 'used', foreignTokens: [node.token, url.split('/x/')[1] ?? ''] },
      fresh() {
        id += 1;
        return agent.call(`fresh-${id}`, 'fs.write', { path: `mutant-${id}`, content: `${id}` });
      },
    };
  });
  after(() => at[Symbol.asyncDispose]());

  function expectRecord({ mutant: { sent, reason, restOnly, isLarge }, client }: Trial): void {
    const session = claimedSession(sent.security_token);
    if (session === null) return;
    // Of a body that is no envelope only the texts are hashed.
    const isMalformed = restOnly === true && reason === 'envelope_malformed' && client.transport === 'REST';
    const isUnread = isMalformed || (isLarge === true && client.name === 'internal REST');
    const hash = envelopeHash(isUnread ? { ...sent, payload: '' } : sentBytes(sent));
    expected.set(session, [...(expected.get(session) ?? []), `${reason} ${hash}`]);
  }

  async function refuse(trial: Trial): Promise<void> {
    const { kind, mutant, client } = trial;
    const answer = await client.invoke(mutant.sent);
    const [http, rpc, grpc] = REFUSALS[mutant.reason];
    const said = `${kind} over ${client.name}: ${mutant.reason}, not ${answer.text}`;
    if (client.transport === 'REST') assert.deepEqual([answer.status, answer.rpcCode], [http, rpc], said);
    else assert.equal(answer.status, grpc, said);
    assert.equal(answer.result, undefined, said);
    expectRecord(trial);
  }

  test('are all refused, each with its code, over REST and gRPC, and nothing runs', { timeout: 300_000 }, async () => {
    const by = new Seeded(SEED);
    const kinds = Object.entries(MUTATIONS);
    const before = await at.files();
    const listed = await sessionsOf(at);
    const run = async (index: number): Promise<void> => {
      const [kind, mutation] = kinds[index % kinds.length] ?? assert.fail();
      const mutant = mutation(loot, by);
      const ways = [by.pick(clients.rest), ...(mutant.restOnly === true ? [] : [by.pick(clients.grpc)])];
      for (const client of ways) await refuse({ kind, mutant, client });
    };
    for (let index = 0; index < COUNT; index += AT_ONCE) {
      const length = Math.min(AT_ONCE, COUNT - index);
      await Promise.all(Array.from({ length }, (_, more) => run(index + more)));
    }
    assert.deepEqual(await at.files(), before);
    assert.equal(await sessionsOf(at), listed);
  });

  test('are all named in the audit chain of the session that their token claims, and nothing else is', async () => {
    for (const agent of agents) {
      const wanted = expected.get(`svc-system/${agent.sessionId}`) ?? [];
      const chain = await waitUntil('the chain has all refusals', async () => {
        const found = await at.audit(agent.sessionId);
        return found.bodies.filter(({ kind }) => kind === 'refused').length >= wanted.length ? found : null;
      });
      const refused = chain.bodies.filter(({ kind }) => kind === 'refused');
      assert.deepEqual(refused.map(({ reason, envelope_hash }) => `${reason} ${envelope_hash}`).sort(), wanted.sort());
      const others = chain.bodies.filter(({ kind }) => kind !== 'refused').map(({ kind }) => kind);
      assert.deepEqual(others, agent === loot.agent ? ['opened', 'decided', 'ended'] : ['opened']);
    }
    assert.ok((expected.get(`svc-system/${loot.agent.sessionId}`)?.length ?? 0) > COUNT);
    assert.ok((expected.get(`svc-system/${loot.elsewhere.sessionId}`)?.length ?? 0) > COUNT / 100);
  });

  test('a timestamp that is changed within its window is the exception: it is not signed', async () => {
    for (const [index, seconds] of [-20, 20].entries()) {
      const timestamp = new Date(Date.now() + seconds * 1_000).toISOString();
      for (const client of [...clients.rest, ...clients.grpc]) {
        const envelope = loot.agent.call(`shifted-${index}`, 'fs.read', { path: 'used' });
        assert.equal((await client.invoke({ ...envelope, timestamp })).result?.text, 'once', client.name);
      }
    }
  });

  describe('the exported chain', () => {
    const file = (name: string): string => join(at.node.directory, name);
    const verify = (path: string) =>
      svc(['audit', 'verify', path, '--jwks', file('keys.json'), '--output', 'json'], {
        SVC_URL: 'http://127.0.0.1:1',
      });

    test('verifies with public keys alone, and counts every refusal', async () => {
      const { sessionId } = loot.agent;
      const exported = await svc(
        ['audit', 'export', sessionId, '-o', file('chain.json'), '--jwks', file('keys.json')],
        {
          SVC_URL: at.node.url,
        },
      );
      assert.equal(exported.code, 0, exported.stderr);
      const { code, stdout } = await verify(file('chain.json'));
      assert.equal(code, 0, stdout);
      const verdict = JSON.parse(stdout);
      const records = recordsOf(await readFile(file('chain.json'), 'utf8'));
      assert.deepEqual([verdict.valid, verdict.signature, verdict.records], [true, 'good', records.length]);
      const refused = records.filter(({ body }) => body.kind === 'refused');
      assert.equal(refused.length, expected.get(`svc-system/${sessionId}`)?.length);
    });

    const TAMPERED: Readonly<Record<string, (records: ChainRecord[], by: Seeded) => unknown[]>> = {
      changed: (records, by) => {
        const place = by.nat(records.length);
        const [one = assert.fail()] = records.slice(place, place + 1);
        return records.with(place, { ...one, body: { ...one.body, reason: 'nothing happened' } });
      },
      missing: (records, by) => records.toSpliced(by.whole(1, records.length - 2), 1),
      reordered: (records, by) => {
        const place = by.whole(1, records.length - 2);
        return records.toSpliced(place, 2, ...records.slice(place, place + 2).reverse());
      },
      inserted: (records, by) => {
        const place = by.whole(1, records.length - 1);
        return records.toSpliced(place, 0, records[place - 1] ?? assert.fail());
      },
      truncated: (records, by) => records.slice(0, -by.whole(1, records.length - 1)),
    };
    for (const [kind, tamper] of Object.entries(TAMPERED)) {
      test(`fails verification when it is ${kind}`, async () => {
        const by = new Seeded(SEED);
        const text = await readFile(file('chain.json'), 'utf8');
        for (let round = 0; round < 2; round += 1) {
          const path = file(`${kind}-${round}.json`);
          await writeFile(path, canonical({ ...JSON.parse(text), records: tamper(recordsOf(text), by) }));
          const { code, stdout } = await verify(path);
          assert.equal(code, 1, stdout);
          const kinds = JSON.parse(stdout).faults.map((fault: { kind: string }) => fault.kind);
          assert.ok(kinds.includes(kind), `${kind} was called ${kinds}`);
        }
      });
    }
  });
});

interface ChainRecord {
  readonly body: { readonly kind: string; readonly reason?: unknown };
}

const recordsOf = (text: string): ChainRecord[] => JSON.parse(text).records;

/** As bytes, since the signature of the object form is over its canonical form. */
function sentBytes(sent: Mutant['sent']): Mutant['sent'] {
  const { payload } = sent;
  if (typeof payload !== 'object' || payload === null || Buffer.isBuffer(payload)) return sent;
  return { ...sent, payload: Buffer.from(canonical(payload)) };
}

async function sessionsOf(at: SealNode): Promise<string> {
  const { body } = await at.node.call('GET', '/v1/seal/sessions?limit=1000');
  const sessions = Array.isArray(body.sessions) ? body.sessions : [];
  return JSON.stringify(sessions.map(({ session_id, status, calls }) => [session_id, status, calls]).sort());
}
