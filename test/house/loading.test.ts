import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { isGenerated, projectFiles } from '../support/tree.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** They act when they are loaded: programs, and what threads of their own run. */
const ACTS = /(-worker|\/thread|^cli\/svc|^cli\/compile-cache|^cli\/pack|^proto\/generate)\.ts$/;

/**
 * A constant that is read at loading, through a function perhaps, must stand above its reader. Imports make no cycles, so a
 * file that loads once loads in any order.
 */
test('every file of the product can be loaded', async () => {
  const product = projectFiles('.ts').filter(
    (file) => !isGenerated(file) && !/^(test|bench|examples|dashboard)\//.test(file),
  );
  const broken: string[] = [];
  for (const file of product.filter((one) => !ACTS.test(one))) {
    try {
      await import(join(ROOT, file));
    } catch (error) {
      broken.push(`${file}: ${String(error)}`);
    }
  }
  assert.deepEqual(broken, []);
  assert.ok(product.length > 500, `only ${product.length} files`);
});
