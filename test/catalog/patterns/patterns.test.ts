import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Patterns } from '../../../catalog/patterns-api.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { crashingDocuments } from '../crashing-documents.ts';
import { DOCUMENT_STORES, type OpenedStore } from '../document-stores.ts';
import { DAY_MS, HandClock, openPatterns, pattern } from './open-patterns.ts';

const refused = (code: string, field?: string) => (thrown: unknown) => {
  assert.ok(thrown instanceof SvcError, String(thrown));
  assert.equal(thrown.code, code, thrown.message);
  if (field !== undefined) assert.equal(thrown.field, field);
  return true;
};

const newTenant = (): string => `t-${randomUUID()}`;
const SIGNATURE = "TypeError: Cannot read properties of undefined (reading 'name') at /srv/app/user.js:10:5";

for (const { name, skip, open } of DOCUMENT_STORES) {
  describe(`learned patterns on ${name}`, { skip }, () => {
    let store: OpenedStore;
    let clock: HandClock;
    let patterns: Patterns;
    let tenant: string;
    before(async () => {
      store = await open();
    });
    after(() => store.stop());
    const fresh = async (settings: Parameters<typeof openPatterns>[1] = {}) => {
      clock = new HandClock();
      patterns = await openPatterns(store.documents, { clock, ...settings });
      tenant = newTenant();
    };

    it('finds a stored pattern by its signature, with every field', async () => {
      await fresh();
      const stored = await patterns.store(tenant, pattern(SIGNATURE, { solutionCode: 'user?.name', tags: ['js'] }));
      assert.equal(stored.deduplicated, false);
      assert.equal(stored.new_frequency, 1);
      const [found, ...more] = await patterns.query(tenant, { errorSignature: SIGNATURE });
      assert.deepEqual(more, []);
      assert.deepEqual(found, {
        pattern_id: stored.pattern_id,
        error_signature: SIGNATURE,
        error_type: 'TypeError',
        solution_approach: 'check the value before it is read',
        solution_code: 'user?.name',
        success_score: 2 / 3,
        frequency: 1,
      });
    });

    it('counts the same error at another place, with other numbers and values, in the same pattern', async () => {
      await fresh();
      const first = await patterns.store(tenant, pattern(SIGNATURE));
      const again = pattern("typeerror: cannot read property of undefined (reading 'id') at C:\\app\\b.js:99");
      const second = await patterns.store(tenant, again);
      assert.deepEqual(second, { pattern_id: first.pattern_id, deduplicated: true, new_frequency: 2 });
    });

    it('with a model of embeddings, finds and counts the same meaning in other words', async () => {
      const direction = (text: string): number[] => [
        /open|access/.test(text) ? 1 : 0,
        /folder|directory/.test(text) ? 1 : 0,
        0.01,
      ];
      const asked: string[] = [];
      let isDown = false;
      const embeddings = {
        model: 'm',
        async embed(texts: readonly string[]) {
          if (isDown) throw new Error('it does not answer');
          asked.push(...texts);
          return texts.map(direction);
        },
      };
      await fresh({ embeddings });
      const first = await patterns.store(
        tenant,
        pattern('file could not be opened', { solutionApproach: 'create the directory first' }),
      );
      const again = pattern('unable to access the document on disk', {
        solutionApproach: 'make the parent folder before writing',
      });
      assert.deepEqual(await patterns.store(tenant, again), {
        pattern_id: first.pattern_id,
        deduplicated: true,
        new_frequency: 2,
      });
      const other = pattern('cannot open it', { solutionApproach: 'ask the user for the right name' });
      assert.equal((await patterns.store(tenant, other)).deduplicated, false, 'another solution is another pattern');
      const found = await patterns.query(tenant, { errorSignature: 'no access' });
      assert.ok(found.some(({ pattern_id }) => pattern_id === first.pattern_id));
      assert.deepEqual(await patterns.query(tenant, { errorSignature: 'out of memory' }), []);
      assert.ok(asked.length > 0);
      isDown = true;
      assert.equal((await patterns.store(tenant, again)).deduplicated, false, 'words alone decide while it is away');
      const byWords = await patterns.query(tenant, { errorSignature: 'file could not be opened' });
      assert.equal(byWords[0]?.pattern_id, first.pattern_id);
    });

    it('keeps another solution, another type and another error apart', async () => {
      await fresh();
      const ids = new Set<string>();
      for (const one of [
        pattern(SIGNATURE),
        pattern(SIGNATURE, { solutionApproach: 'load the user from the database first' }),
        pattern(SIGNATURE, { errorType: 'validation_failed' }),
        pattern('ECONNREFUSED: connection refused by the database'),
      ]) {
        const stored = await patterns.store(tenant, one);
        assert.equal(stored.deduplicated, false);
        ids.add(stored.pattern_id);
      }
      assert.equal(ids.size, 4);
      assert.equal((await patterns.query(tenant, { errorSignature: SIGNATURE })).length, 3);
      assert.equal((await patterns.query(tenant, { errorSignature: SIGNATURE, errorType: 'typeerror' })).length, 2);
      assert.equal((await patterns.list(tenant, { limit: 10, skip: 0 })).items.length, 4);
      assert.equal((await patterns.list(tenant, { limit: 10, skip: 3, errorType: 'TYPEERROR' })).items.length, 0);
    });

    it('counts 50 stores of one pattern at once as one pattern with frequency 50', async () => {
      await fresh();
      const others = await openPatterns(store.documents, { clock });
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          (at % 2 === 0 ? patterns : others).store(tenant, pattern(`${SIGNATURE} ${at}`)),
        ),
      );
      assert.equal(new Set(answers.map(({ pattern_id }) => pattern_id)).size, 1);
      const frequencies = answers.map(({ new_frequency }) => new_frequency).sort((a, b) => a - b);
      assert.deepEqual(
        frequencies,
        Array.from({ length: 50 }, (_, at) => at + 1),
      );
      assert.equal(answers.filter(({ deduplicated }) => !deduplicated).length, 1);
      const found = (await patterns.list(tenant, { limit: 10, skip: 0 })).items;
      assert.deepEqual(
        found.map(({ frequency }) => frequency),
        [50],
      );
    });

    it('counts a repeat under the same key once, and answers it as the first time', async () => {
      await fresh();
      const first = await patterns.store(tenant, pattern(SIGNATURE), { once: 'run-1' });
      const second = await patterns.store(tenant, pattern(SIGNATURE), { once: 'run-2' });
      assert.deepEqual(await patterns.store(tenant, pattern(SIGNATURE), { once: 'run-1' }), first);
      assert.deepEqual(await patterns.store(tenant, pattern(SIGNATURE), { once: 'run-2' }), second);
      const [found] = (await patterns.list(tenant, { limit: 1, skip: 0 })).items;
      assert.equal(found?.frequency, 2);
    });

    it('finds the most similar first, and of equally similar ones the one that succeeded more often', async () => {
      await fresh();
      const texts = ['disk is full while the archive is written', 'disk is full', 'the archive cannot be opened'];
      for (const text of texts) await patterns.store(tenant, pattern(text, { solutionApproach: `about ${text}` }));
      const better = pattern('disk is full', { solutionApproach: 'remove old snapshots' });
      for (let at = 0; at < 3; at += 1) await patterns.store(tenant, better);
      const found = await patterns.query(tenant, { errorSignature: 'Disk full!' });
      assert.deepEqual(
        found.map(({ solution_approach }) => solution_approach),
        ['remove old snapshots', 'about disk is full', 'about disk is full while the archive is written'],
      );
      assert.equal((await patterns.query(tenant, { errorSignature: 'Disk full!', limit: 1 })).length, 1);
      const often = await patterns.query(tenant, { errorSignature: 'Disk full!', minSuccessScore: 0.75 });
      assert.equal(often.length, 1);
      assert.deepEqual(await patterns.query(tenant, { errorSignature: 'quota of mail exceeded' }), []);
    });

    it('halves the success of a pattern with each half life since its last use', async () => {
      await fresh({ half_life_days: 10 });
      await patterns.store(tenant, pattern(SIGNATURE));
      clock.nowMs += 20 * DAY_MS;
      const [faded] = await patterns.query(tenant, { errorSignature: SIGNATURE });
      assert.ok(Math.abs((faded?.success_score ?? 0) - 2 / 3 / 4) < 1e-9);
      assert.deepEqual(await patterns.query(tenant, { errorSignature: SIGNATURE, minSuccessScore: 0.5 }), []);
      await patterns.store(tenant, pattern(SIGNATURE));
      const [back] = await patterns.query(tenant, { errorSignature: SIGNATURE });
      assert.equal(back?.success_score, 3 / 4);
    });

    it('makes eviction for a new pattern with the weakest: lowest weight after decay', async () => {
      await fresh({ max_per_tenant: 3, half_life_days: 1 });
      const errors = ['alpha broke', 'beta broke loudly', 'gamma fell over', 'delta timed out'];
      const [alpha = '', beta = '', gamma = '', delta = ''] = errors;
      const store = (text: string) => patterns.store(tenant, pattern(text, { solutionApproach: `mend ${text}` }));
      // Alpha three times, long ago; beta and gamma once, later.
      for (let at = 0; at < 3; at += 1) await store(alpha);
      clock.nowMs += DAY_MS;
      await store(beta);
      clock.nowMs += DAY_MS / 2;
      await store(gamma);
      clock.nowMs += DAY_MS;
      await store(delta);
      const left = (await patterns.list(tenant, { limit: 10, skip: 0 })).items;
      assert.deepEqual(
        left.map(({ error_signature }) => error_signature),
        [delta, alpha, gamma],
      );
      assert.deepEqual(await patterns.query(tenant, { errorSignature: beta, minSimilarity: 1 }), []);
    });

    it('survives a crash at any write: the same store again finds or makes the one pattern', async () => {
      await fresh();
      for (let writes = 0; writes < 14; writes += 1) {
        tenant = newTenant();
        const dying = await openPatterns(crashingDocuments(store.documents, writes), { clock });
        const once = { once: 'run' };
        const first = await dying.store(tenant, pattern(SIGNATURE), once).then(
          () => 'stored',
          () => 'died',
        );
        const again = await patterns.store(tenant, pattern(SIGNATURE), once);
        assert.equal(again.new_frequency, 1, `${writes} writes, ${first}`);
        const found = await patterns.query(tenant, { errorSignature: SIGNATURE });
        assert.deepEqual(
          found.map(({ frequency }) => frequency),
          [1],
          `${writes} writes, ${first}`,
        );
      }
    });

    it('refuses what is out of bounds and names the field', async () => {
      await fresh();
      const cases: readonly (readonly [string, Promise<unknown>])[] = [
        ['error_signature', patterns.query(tenant, { errorSignature: ' ' })],
        ['limit', patterns.query(tenant, { errorSignature: 'x', limit: 101 })],
        ['limit', patterns.query(tenant, { errorSignature: 'x', limit: 0 })],
        ['min_success_score', patterns.query(tenant, { errorSignature: 'x', minSuccessScore: 1.5 })],
        ['min_success_score', patterns.query(tenant, { errorSignature: 'x', minSuccessScore: Number.NaN })],
        ['error_signature', patterns.store(tenant, pattern(''))],
        ['error_type', patterns.store(tenant, pattern('x', { errorType: '' }))],
        ['solution_approach', patterns.store(tenant, pattern('x', { solutionApproach: '' }))],
        ['solution_code', patterns.store(tenant, pattern('x', { solutionCode: 'x'.repeat(65_537) }))],
        ['tags', patterns.store(tenant, pattern('x', { tags: Array.from({ length: 33 }, (_, at) => `${at}`) }))],
        ['skip', patterns.list(tenant, { limit: 1, skip: -1 })],
      ];
      for (const [field, call] of cases) await assert.rejects(call, refused('invalid_argument', field));
    });

    it('answers cortex_not_configured where memory is switched off', async () => {
      await fresh({ enabled: false });
      const off = refused('cortex_not_configured');
      await assert.rejects(patterns.query(tenant, { errorSignature: 'x' }), off);
      await assert.rejects(patterns.store(tenant, pattern('x')), off);
      await assert.rejects(patterns.list(tenant, { limit: 1, skip: 0 }), off);
    });
  });
}
