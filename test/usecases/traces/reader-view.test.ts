import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shownValue, withoutSecrets } from '../../../usecases/traces/reader-view.ts';
import { processorMs } from '../../support/processor-time.ts';

const HEAD = 'eyJhbGciOiJIUzI1NiJ9';
const JWT = `${HEAD}.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl`;

describe('recorded values as readers get them', () => {
  test('texts that are secrets by their form are masked, and what stands around them stays', () => {
    const cases: readonly (readonly [string, string])[] = [
      [`id ${JWT}, then`, 'id [redacted], then'],
      [`a.b.x-${JWT}.rest`, 'a.b.x-[redacted].rest'],
      [`${HEAD}.e30.`, '[redacted]'],
      [`${HEAD}.only-two`, `${HEAD}.only-two`],
      ['version 1.2.3 of eyJ.a.b', 'version 1.2.3 of eyJ.a.b'],
      ['key svc_0123456789abcdefgh!', 'key [redacted]!'],
      ['Bearer abcdefghij and bearer abcdefghij', '[redacted] and [redacted]'],
      ['see https://ann:p@ss@host/x', 'see https://[redacted]@host/x'],
      ['see https://host/ann@example.org', 'see https://host/ann@example.org'],
      ['-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY----- after', '[redacted] after'],
      ['cut: -----BEGIN RSA PRIVATE KEY-----\nMII', 'cut: [redacted]'],
      ['literal:abc', 'literal:[redacted]'],
    ];
    for (const [text, shown] of cases) assert.equal(withoutSecrets(text), shown);
  });

  // Some milliseconds are normal; a pattern that scans again from each character takes minutes.
  test('a text of 1 MiB that a caller made to look like secrets is masked in less than a second of the processor', () => {
    const pieces = [
      'eyJ-',
      'a.',
      'a:',
      'eyJ-.a',
      '-----BEGIN PRIVATE KEY-----',
      'Bearer ',
      'svc_-',
      'a://',
      '://a@',
      '@',
    ];
    for (const piece of pieces) {
      const text = piece.repeat(1_000_000 / piece.length);
      const ms = processorMs(() => shownValue({ text }));
      assert.ok(ms < 1_000, `${piece}: ${ms} ms`);
    }
  });
});
