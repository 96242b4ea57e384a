/**
 * Runs after `npm ci`. The package `node` brings the C headers of Node.js, 67 MB that only builds of native addons read,
 * and none is built here. Plain JavaScript: npm may run it with a Node.js that does not strip types.
 */
import { globSync, rmSync } from 'node:fs';

for (const headers of globSync('node_modules/node/node_modules/node-*/include'))
  rmSync(headers, { recursive: true, force: true });
