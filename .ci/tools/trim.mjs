/**
 * Runs after `npm ci`. The package `node` brings the C headers of Node.js, 67 MB that only builds of native addons read,
 * and none is built here. Plain JavaScript for an older Node.js: npm runs it with that of the machine.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';

const PACKAGES = 'node_modules/node/node_modules';

if (existsSync(PACKAGES))
  for (const name of readdirSync(PACKAGES)) rmSync(`${PACKAGES}/${name}/include`, { recursive: true, force: true });
