import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { CatalogReader } from '../../../catalog/api.ts';
import { SEARCH_VECTORS, type VectorRecord } from '../../../catalog/search/entry-vectors.ts';
import { createEmbeddings } from '../../../effects/models/embeddings.ts';
import { ModelSelection, NodeCortex, ProviderConfig } from '../../../manifests/node/models.ts';
import { systemClock } from '../../../runtime/clock.ts';
import type { Documents } from '../../../runtime/documents.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { ModelServer, type RecordedCall } from '../../support/model-server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openSqlite } from '../document-stores.ts';
import { admin, agentYaml, type SearchNode, searchNode } from './search-node.ts';

const KEY = 'sk-very-secret-0123456789';
const inAcme = admin('acme');
const ada: CatalogReader = { tenant: 'acme', subject: 'ada' };

/** Words of one meaning share a direction; each other text has one of its own. */
const MEANINGS = [
  ['physician', 'doctor', 'medic'],
  ['vessel', 'boat', 'ship'],
  ['kettle', 'tea'],
];
const DIMENSIONS = MEANINGS.length + 8;

function direction(text: string): number[] {
  const words = text.toLowerCase().split(/[^a-z]+/);
  const numbers = MEANINGS.map((group) => (group.some((word) => words.includes(word)) ? 1 : 0));
  const rest = Array.from({ length: DIMENSIONS - numbers.length }, () => 0);
  if (!numbers.includes(1)) rest[text.length % rest.length] = 1;
  return [...numbers, ...rest];
}

const textsOf = ({ body }: RecordedCall): string[] => [body.input].flat().map(String);
const answered = (call: RecordedCall) => ({
  body: JSON.stringify({
    object: 'list',
    model: 'embed-1',
    data: textsOf(call).map((text, index) => ({ object: 'embedding', index, embedding: direction(text) })),
    usage: { prompt_tokens: 1, total_tokens: 1 },
  }),
});

const cortex = { embeddings: { alias: 'meaning', timeout_secs: 5, cosine_floor: 0.1, cosine_ceiling: 0.7 } };

function embeddings(url: string, more: object = {}) {
  const provider = ProviderConfig.parse({
    ...{ name: 'local', type: 'openai-compatible', endpoint: `${url}/v1`, api_key: KEY },
    models: [{ alias: 'meaning', model: 'embed-1' }],
  });
  const settings = NodeCortex.parse({ embeddings: { ...cortex.embeddings, ...more } }).embeddings;
  assert.ok(settings);
  return createEmbeddings({
    settings,
    providers: [provider],
    selection: ModelSelection.parse({}),
    secrets: { resolve: async (_tenant, reference) => reference },
  });
}

describe('search with embeddings', () => {
  const server = new ModelServer();
  let documents: Documents;
  let stop: () => Promise<void>;
  let shiftMs = 0;
  const clock = { ...systemClock, monotonic: () => performance.now() + shiftMs };
  const open = (more: object = {}): Promise<SearchNode> =>
    searchNode(documents, { cortex, clock, embeddings: embeddings(server.url, more) });
  const vectors = async (): Promise<VectorRecord[]> =>
    (await documents.collection<VectorRecord>(SEARCH_VECTORS)).find({ tenant: 'acme', limit: 1_000 });

  before(async () => {
    await server.start();
    ({ documents, stop } = await openSqlite());
    const node = await open();
    await node.agents.deploy(inAcme, agentYaml('physician-finder', 'Finds a physician'), { force: false });
    await node.agents.deploy(inAcme, agentYaml('harbour-master', 'Berths a vessel'), { force: false });
  });
  after(async () => {
    await server.stop();
    await stop();
  });
  beforeEach(() => {
    server.answer(answered);
    server.calls.length = 0;
    shiftMs += 100_000;
  });

  it('finds by meaning an agent that shares no word with the query, and scores it 0 to 1', async () => {
    const node = await open();
    const [hit, ...others] = await node.search.agents(ada, { query: 'medic' });
    assert.equal(hit?.name, 'physician-finder');
    assert.ok(hit.score > 0.6 && hit.score <= 1, String(hit.score));
    assert.deepEqual(others, []);
    const named = await node.search.agents(ada, { query: 'physician finder' });
    assert.ok((named[0]?.score ?? 0) > hit.score, 'its own words score more');
    assert.ok((named[0]?.score ?? 2) <= 1);
  });

  it('sends what the wire format says, with the key in the header and nowhere else', async () => {
    const node = await open({ dimensions: 11 });
    await node.search.agents(ada, { query: 'boat' });
    assert.ok(server.calls.length >= 2);
    for (const call of server.calls) {
      assert.equal(call.path, '/v1/embeddings');
      assert.equal(call.headers.authorization, `Bearer ${KEY}`);
      assert.equal(call.body.model, 'embed-1');
      assert.equal(call.body.dimensions, 11);
      assert.ok(!JSON.stringify(call.body).includes(KEY));
    }
  });

  it('asks nothing again after a restart but for the query, and that once', async () => {
    await (await open()).search.agents(ada, { query: 'boat' });
    server.calls.length = 0;
    const restarted = await open();
    const [hit] = await restarted.search.agents(ada, { query: 'ship' });
    await restarted.search.agents(ada, { query: 'ship' });
    assert.equal(hit?.name, 'harbour-master');
    assert.deepEqual(server.calls.map(textsOf), [['ship']]);
  });

  it('requests embeddings only for changed agents, and drops the vectors of deleted ones', async () => {
    const node = await open();
    await node.search.agents(ada, { query: 'boat' });
    const kept = await vectors();
    const yaml = (version: string, text: string) => agentYaml('water-boiler', text, { version });
    const { agent_id: id } = await node.agents.deploy(inAcme, yaml('1.0.0', 'Heats a kettle'), { force: false });
    server.calls.length = 0;
    assert.equal((await node.search.agents(ada, { query: 'tea' }))[0]?.name, 'water-boiler');
    assert.equal(server.calls.flatMap(textsOf).length, 2);
    assert.equal((await vectors()).length, kept.length + 1);
    await node.agents.deploy(inAcme, yaml('2.0.0', 'Fills a boat'), { force: false });
    await node.search.agents(ada, { query: 'tea' });
    assert.equal((await vectors()).length, kept.length + 1);
    await node.agents.delete(inAcme, id);
    await node.search.agents(ada, { query: 'tea' });
    assert.deepEqual(
      (await vectors()).map((one) => one.id),
      kept.map((one) => one.id),
    );
  });

  const failures = [
    ['an error of the server', { status: 500, body: `{"error":{"message":"key ${KEY} broke"}}` }],
    ['refused credentials', { status: 401, body: `{"error":{"message":"bad key ${KEY}"}}` }],
    ['nonsense', { body: '{"data": 7}' }],
    ['too few vectors', { body: '{"data":[],"usage":{"prompt_tokens":1}}' }],
  ] as const;
  for (const [what, turn] of failures) {
    it(`uses words alone on ${what}, logs it once, and recovers`, async () => {
      server.answer(() => turn);
      const node = await open();
      const byWords = await node.search.agents(ada, { query: 'vessel' });
      assert.equal(byWords[0]?.name, 'harbour-master');
      assert.deepEqual(await node.search.agents(ada, { query: 'ship' }), []);
      assert.equal(node.warnings.length, 1);
      assert.match(node.warnings[0] ?? '', /does not answer; searches use words alone/);
      const asked = server.calls.length;
      await node.search.agents(ada, { query: 'other words' });
      assert.equal(server.calls.length, asked, 'the model is not asked again for a while');
      server.answer(answered);
      shiftMs += 11_000;
      assert.equal((await node.search.agents(ada, { query: 'ship' }))[0]?.name, 'harbour-master');
    });
  }

  it('waits for a silent model no longer than its time-out', async () => {
    server.answer(() => ({ silent: true }));
    const node = await open({ timeout_secs: 0.2 });
    const startedAt = performance.now();
    assert.equal((await node.search.agents(ada, { query: 'vessel' }))[0]?.name, 'harbour-master');
    assert.ok(performance.now() - startedAt < 15_000);
  });

  it('has no key and no text in its errors', async () => {
    server.answer(() => ({ status: 400, body: `{"error":{"message":"wrong: ${KEY} for sweet secret text"}}` }));
    await assert.rejects(embeddings(server.url).embed(['sweet secret text']), (thrown: unknown) => {
      assert.ok(thrown instanceof SvcError);
      assert.equal(thrown.code, 'model_refused');
      assert.ok(!`${thrown.message} ${thrown.stack} ${JSON.stringify(thrown)}`.includes(KEY));
      return true;
    });
  });

  it('makes many vectors in the background, while searches answer by words', async () => {
    const node = await open();
    const crowd = admin('crowd');
    await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        node.agents.deploy(crowd, agentYaml(`sailor-${at}`, `Sails vessel number ${at}`), { force: false }),
      ),
    );
    const reader = { tenant: 'crowd' };
    assert.equal((await node.search.agents(reader, { query: 'vessel', limit: 5 })).length, 5);
    await waitUntil('every vector is there', async () => {
      const hits = await node.search.agents(reader, { query: 'boat', limit: 100 });
      return hits.length === 100;
    });
    const most = Math.max(...server.calls.map((call) => textsOf(call).length));
    assert.ok(most <= 64, `${most} texts in one call`);
  });
});

describe('spec.cortex.embeddings', () => {
  const refuses = (providers: readonly object[], message: RegExp) => {
    const settings = NodeCortex.parse(cortex).embeddings;
    assert.ok(settings);
    const given = {
      settings,
      providers: providers.map((one) => ProviderConfig.parse(one)),
      selection: ModelSelection.parse({}),
      secrets: { resolve: async (_tenant: string, reference: string) => reference },
    };
    assert.throws(
      () => createEmbeddings(given),
      (thrown: unknown) => {
        assert.ok(thrown instanceof SvcError);
        assert.equal(thrown.code, 'invalid_config');
        assert.match(thrown.message, message);
        return true;
      },
    );
  };
  const models = [{ alias: 'meaning', model: 'x' }];

  it('refuses an alias without a provider at start', () => {
    refuses([{ name: 'a', type: 'ollama', models: [{ alias: 'other', model: 'x' }] }], /alias "meaning"/);
    refuses([{ name: 'a', type: 'ollama', enabled: false, models }], /alias "meaning"/);
  });

  it('refuses a provider without embeddings at start', () => {
    refuses([{ name: 'a', type: 'anthropic', api_key: 'x', models }], /anthropic have no embeddings/);
  });

  it('refuses a floor that is not below the ceiling', () => {
    const wrong = { embeddings: { alias: 'x', cosine_floor: 0.9, cosine_ceiling: 0.8 } };
    assert.match(NodeCortex.safeParse(wrong).error?.message ?? '', /cosine_floor below cosine_ceiling/);
  });
});
