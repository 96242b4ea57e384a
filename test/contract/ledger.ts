import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { LedgerDelivery, LedgerPage } from '../../runtime/ledger/ledger-reader.ts';
import { LedgerDriver, NODES, nameOf, numbersFrom, TENANTS, TRACES } from './ledger-driver.ts';

interface LedgerSetup {
  readonly documents: Documents;
  stop(): Promise<void>;
}

const STEPS = ['round', 'round', 'round', 'cut', 'merge', 'cut merge', 'retain', 'wait', 'pages'] as const;
const steps = fc.array(fc.tuple(fc.constantFrom(...STEPS), fc.nat()), { minLength: 20, maxLength: 60 });

const names = (deliveries: readonly LedgerDelivery[]): string[] => deliveries.map(nameOf).sort();

/** The promises of the ledger's keys on any documents. */
export function ledgerContract(
  name: string,
  make: () => Promise<LedgerSetup>,
  { skip = false, runs }: { readonly skip?: string | false; readonly runs: number },
): void {
  describe(`keys of the ledger on ${name}`, { skip, timeout: 300_000 }, () => {
    test('every look-up answers like a scan of all segments, whatever was merged, removed or cut off; tenants are separate', async () => {
      const property = fc.asyncProperty(steps, async (history) => {
        const setup = await make();
        try {
          const driver = await LedgerDriver.open(setup.documents);
          for (const [step, seed] of history) await run(driver, step, seed);
          // A round that was cut off is written again by the next holder of its logs.
          await driver.write('node-a', numbersFrom(1));
          // Removed deliveries may be answered from memory for some seconds.
          await driver.clock.pass(20_000);
          await checkAll(driver);
        } finally {
          await setup.stop();
        }
      });
      await fc.assert(property, { numRuns: runs });
    });
  });
}

async function run(driver: LedgerDriver, step: (typeof STEPS)[number], seed: number): Promise<void> {
  const number = numbersFrom(seed);
  const node = NODES[number(2)] ?? 'node-a';
  if (step === 'round') await driver.write(node, number);
  else if (step === 'merge') await driver.merge(node);
  else if (step === 'retain') await driver.retain(TENANTS[number(2)] ?? 'acme', number(4));
  else if (step === 'wait') await driver.clock.pass([100, 20_000, 4_000_000][number(3)] ?? 0);
  else if (step === 'pages') await readWhileItGrows(driver, number);
  else {
    driver.cutOff.get(node)?.after(number(6));
    const cut = step === 'cut' ? driver.write(node, number) : number(2) === 0 ? driver.merge(node) : driver.prune(node);
    await cut.catch((thrown: unknown) => {
      if (!(thrown instanceof SvcError) || thrown.code !== 'unavailable') throw thrown;
    });
    await driver.restart(node);
  }
}

async function checkAll(driver: LedgerDriver): Promise<void> {
  const { reader } = driver;
  for (const tenant of TENANTS) {
    const all = await driver.scan(tenant);
    const idsOf = (pick: (one: LedgerDelivery) => string | null): string[] => [
      ...new Set(all.flatMap((one) => pick(one) ?? [])),
    ];
    const expect = (fits: (one: LedgerDelivery) => boolean): string[] => names(all.filter(fits));
    for (const id of idsOf(({ message }) => message.id))
      assert.deepEqual(
        names(await reader.message(tenant, id)),
        expect(({ message }) => message.id === id),
      );
    for (const id of idsOf(({ message }) => message.cause))
      assert.deepEqual(
        names(await reader.causedBy(tenant, id)),
        expect(({ message }) => message.cause === id),
      );
    for (const id of idsOf(({ effect }) => effect))
      assert.deepEqual(
        names(await reader.effect(tenant, id)),
        expect(({ effect }) => effect === id),
      );
    for (const trace of TRACES) {
      const pages = await allPages((after) => reader.trace(tenant, trace, { limit: 7, after }));
      assert.deepEqual(
        names(pages),
        expect(({ message }) => message.trace === trace),
      );
      const [whole] = [await reader.trace(tenant, trace, { limit: 1_000 })];
      assertOrder(whole.deliveries, ({ at }) => at);
      assert.equal(whole.next, null);
    }
    for (const to of idsOf(({ message }) => message.to)) {
      const [, , id = ''] = to.split('/');
      for (const newestFirst of [false, true]) {
        const pages = await allPages((after) =>
          reader.actor(`counter/${tenant}/${id}`, { limit: 5, after, newestFirst }),
        );
        assert.deepEqual(
          names(pages),
          expect(({ message }) => message.to === to),
        );
        assertOneAfterTheOther(newestFirst ? pages.toReversed() : pages);
      }
    }
    for (const roots of [false, true]) {
      const pages = await allPages((after) => reader.recent(tenant, { limit: 9, after, roots }));
      assert.deepEqual(
        names(pages),
        expect(({ message, part }) => !roots || (message.cause === null && part === undefined)),
      );
      assertOrder(pages.toReversed(), ({ at }) => at);
    }
    const [some] = all;
    const other = TENANTS.find((one) => one !== tenant) ?? '';
    if (some !== undefined) {
      const foreign = await reader.message(other, some.message.id);
      assert.deepEqual(foreign, []);
    }
  }
}

async function allPages(read: (after: string | undefined) => Promise<LedgerPage>): Promise<LedgerDelivery[]> {
  const all: LedgerDelivery[] = [];
  for (let after: string | undefined; ; ) {
    const { deliveries, next } = await read(after);
    all.push(...deliveries);
    if (next === null) return all;
    after = next;
  }
}

/** One partition follows the other, each in the order of its positions. */
function assertOneAfterTheOther(deliveries: readonly LedgerDelivery[]): void {
  const order = [...new Set(deliveries.map(({ partition }) => partition))];
  assertOrder(deliveries, ({ partition }) => order.indexOf(partition));
  for (const one of order)
    assertOrder(
      deliveries.filter(({ partition }) => partition === one),
      ({ seq }) => seq,
    );
}

function assertOrder(deliveries: readonly LedgerDelivery[], keyOf: (one: LedgerDelivery) => number): void {
  const keys = deliveries.map(keyOf);
  assert.deepEqual(
    keys,
    keys.toSorted((a, b) => a - b),
  );
}

/** Reads a trace in small pages while both nodes write and merge. */
async function readWhileItGrows(driver: LedgerDriver, number: (below: number) => number): Promise<void> {
  const tenant = TENANTS[number(2)] ?? 'acme';
  const trace = TRACES[number(3)] ?? 't0';
  const seen: string[] = [];
  let expected: string[] = [];
  for (let after: string | undefined; ; ) {
    const growing = number(3) > 0 && seen.length < 200;
    if (growing) {
      const node = NODES[number(2)] ?? 'node-a';
      if (number(3) === 0) await driver.merge(node);
      else await driver.write(node, number);
      if (number(2) === 0) await driver.clock.pass(number(30_000));
    }
    await driver.clock.pass(200);
    expected = (await driver.scan(tenant)).filter(({ message }) => message.trace === trace).map(nameOf);
    const { deliveries, next } = await driver.reader.trace(tenant, trace, { limit: 1 + number(4), after });
    seen.push(...deliveries.map(nameOf));
    if (next === null) break;
    after = next;
  }
  assert.equal(new Set(seen).size, seen.length, 'a delivery came twice');
  const missing = expected.filter((one) => driver.complete.has(one) && !seen.includes(one));
  assert.deepEqual(missing, [], 'deliveries were skipped');
}
