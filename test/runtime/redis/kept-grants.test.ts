import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeldGrants, RenewalTimes } from '../../../runtime/redis/kept-grants.ts';

const OUTAGES = 50;
const LEASES = 12;
const TERM_MS = 6_000;

/** Grants of one outage: each lease is granted anew after it, and none is given back before. */
const grantsOf = (outage: number): string[] => Array.from({ length: LEASES }, (_, n) => `${outage}-${n}`);

test('the lease thread keeps no lease that was lost in an outage, and keeps those that are renewed', () => {
  const held = new HeldGrants<{ lease: { grant: string } }>();
  for (let outage = 0; outage < OUTAGES; outage += 1) {
    const at = outage * 10 * TERM_MS;
    for (const grant of grantsOf(outage)) held.renewed({ lease: { grant } }, at);
    held.dropBefore(at - TERM_MS / 2);
    assert.deepEqual(
      held.all.map(({ lease }) => lease.grant),
      grantsOf(outage),
    );
  }
  held.drop('49-0');
  assert.equal(held.size, LEASES - 1);
});

test('times of renewals by the lease thread are kept for one term, those of lost leases included', () => {
  const times = new RenewalTimes();
  for (let outage = 0; outage < OUTAGES; outage += 1) {
    const at = outage * 10 * TERM_MS;
    times.note(grantsOf(outage), at);
    times.dropBefore(at - TERM_MS);
    assert.deepEqual([times.size, times.of(`${outage}-0`)], [LEASES, at]);
  }
  times.dropBefore(OUTAGES * 10 * TERM_MS);
  assert.equal(times.size, 0);
});
