import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { CatalogReader, CatalogScope, CatalogStatus } from '../../../catalog/api.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../../runtime/identity.ts';
import { sample } from '../../support/size.ts';
import { DOCUMENT_STORES } from '../document-stores.ts';
import { admin, agentYaml, operator, type SearchNode, searchNode } from './search-node.ts';

const TENANTS = ['red', 'green', 'blue'] as const;
const USERS = ['uma', 'vic', 'wes'] as const;
/** No two alike in letters, stem or meaning. */
const WORDS = ['quartz', 'umbrella', 'giraffe', 'lantern'] as const;

/** A slip of the pen scores less: words of other runs differ in a digit only. */
const MIN_SCORE = 0.9;

interface Step {
  readonly act: 'deploy' | 'delete' | 'promote' | 'demote' | 'status' | 'search';
  readonly tenant: (typeof TENANTS)[number];
  readonly user: (typeof USERS)[number];
  readonly scope: CatalogScope;
  readonly word: (typeof WORDS)[number];
  readonly status: CatalogStatus;
  /** Which node does it. */
  readonly node: number;
  /** Which of those that are there. */
  readonly pick: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom('deploy', 'deploy', 'deploy', 'delete', 'promote', 'demote', 'status', 'search', 'search'),
  tenant: fc.constantFrom(...TENANTS),
  user: fc.constantFrom(...USERS),
  scope: fc.constantFrom('user', 'tenant', 'global'),
  word: fc.constantFrom(...WORDS),
  status: fc.constantFrom('deployed', 'paused', 'archived'),
  node: fc.nat(1),
  pick: fc.nat(1_000),
});

/** The expected content of the catalog, tracked by the test. */
interface Known {
  readonly id: string;
  tenant: string;
  scope: CatalogScope;
  owner: string;
  status: CatalogStatus;
  word: string;
}

const seen = (reader: CatalogReader, { tenant, scope, owner, status }: Known): boolean =>
  status !== 'archived' &&
  (scope === 'global' || (tenant === reader.tenant && (scope === 'tenant' || owner === reader.subject)));

class Setup {
  readonly #nodes: readonly SearchNode[];
  readonly #known: Known[] = [];
  readonly #run: number;
  #count = 0;
  searches = 0;

  constructor(nodes: readonly SearchNode[], run: number) {
    this.#nodes = nodes;
    this.#run = run;
  }

  #node(at: number): SearchNode {
    const node = this.#nodes[at % this.#nodes.length];
    assert.ok(node);
    return node;
  }

  /** Tenants of one run are no others': all runs share a store. */
  #tenant(name: string): string {
    return `${name}-${this.#run}`;
  }

  /** The word of this run: with letters that no stemmer takes away, and no digits, which the count after it has. */
  #word(word: string): string {
    return `${word}${[...this.#run.toString(4)].map((digit) => 'kxzq'[Number(digit)]).join('')}`;
  }

  async take(step: Step): Promise<void> {
    const { agents } = this.#node(step.node);
    const tenant = this.#tenant(step.tenant);
    const picked = this.#known[step.pick % Math.max(1, this.#known.length)];
    if (step.act === 'deploy') {
      this.#count += 1;
      const word = this.#word(step.word);
      const by = step.scope === 'global' ? operator(tenant) : admin(tenant, step.user);
      const yaml = agentYaml(`${word}-${this.#count}`, 'x');
      const { agent_id: id } = await agents.deploy(by, yaml, { force: false, scope: step.scope });
      const owner = step.scope === 'user' ? step.user : '';
      const at = step.scope === 'global' ? SYSTEM_TENANT : tenant;
      this.#known.push({ id, tenant: at, scope: step.scope, owner, status: 'deployed', word });
    } else if (step.act === 'search') {
      await this.search(step);
    } else if (picked !== undefined) {
      await this.#change(step, picked);
    }
  }

  async #change({ act, node, status, user, tenant: name }: Step, known: Known): Promise<void> {
    const { agents } = this.#node(node);
    const to = this.#tenant(name);
    const acting = known.scope === 'global' ? operator(to) : chief(known.tenant);
    if (act === 'delete') {
      await agents.delete(acting, known.id);
      this.#known.splice(this.#known.indexOf(known), 1);
    } else if (act === 'status') {
      await agents.setStatus(acting, known.id, status);
      known.status = status;
    } else if (act === 'promote' && known.scope !== 'global') {
      const target = known.scope === 'user' ? 'tenant' : 'global';
      await agents.promote(target === 'global' ? operator(known.tenant) : acting, known.id, target);
      Object.assign(known, { scope: target, owner: '', tenant: target === 'global' ? SYSTEM_TENANT : known.tenant });
    } else if (act === 'demote' && known.scope === 'global') {
      await agents.demote(acting, known.id, 'tenant');
      Object.assign(known, { scope: 'tenant', tenant: to });
    } else if (act === 'demote' && known.scope === 'tenant') {
      await agents.demote(acting, known.id, 'user', user);
      Object.assign(known, { scope: 'user', owner: user });
    }
  }

  /** Everybody asks on every node: exactly what each may see, and nothing else. */
  async search({ word }: Pick<Step, 'word'>): Promise<void> {
    const query = this.#word(word);
    for (const name of TENANTS) {
      for (const subject of [...USERS, undefined]) {
        const reader = { tenant: this.#tenant(name), ...(subject === undefined ? {} : { subject }) };
        const expected = this.#known.filter((known) => known.word === query && seen(reader, known)).map(({ id }) => id);
        for (const { search } of this.#nodes) {
          this.searches += 1;
          const hits = await search.agents(reader, { query, limit: 100, minScore: MIN_SCORE });
          assert.deepEqual(hits.map(({ id }) => id).sort(), expected.sort(), `${reader.tenant} ${subject}`);
        }
      }
    }
  }
}

/** An administrator who finds agents of all users by id. */
const chief = (tenant: string): Identity => admin(tenant, 'chief');

const RUNS = { SQLite: sample({ normal: 10, long: 25 }), FerretDB: sample({ normal: 1, long: 3 }) } as const;

for (const { name, skip, open } of DOCUMENT_STORES) {
  const numRuns = RUNS[name];
  describe(`three tenants on ${name}`, { skip }, () => {
    it(`${numRuns} random histories on two nodes: every search shows all the reader may see and leaks nothing`, async (t) => {
      const { documents, stop } = await open();
      try {
        const nodes = [await searchNode(documents), await searchNode(documents)];
        let run = 0;
        let searches = 0;
        const histories = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
          run += 1;
          const setup = new Setup(nodes, run);
          for (const one of steps) {
            await setup.take(one).catch((thrown: unknown) => {
              // A name is never taken twice here: every refusal would be a fault of the test.
              throw thrown instanceof SvcError ? new Error(`${one.act}: ${thrown.code} ${thrown.message}`) : thrown;
            });
          }
          for (const word of WORDS) await setup.search({ word });
          searches += setup.searches;
        });
        await fc.assert(histories, { numRuns });
        t.diagnostic(`${searches} searches, 0 leaks`);
      } finally {
        await stop();
      }
    });
  });
}
