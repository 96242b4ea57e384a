import { createRequire } from 'node:module';

/**
 * Libraries of many modules that an idle node does not need: together a sixth of the modules of a start. Each is loaded by its
 * first call. The names are literals here, so that a bundle of the product with its packages has one copy of each.
 */
const load = createRequire(import.meta.url);

let loadedYaml: typeof import('yaml') | null = null;
let loadedJose: typeof import('jose') | null = null;

export function yaml(): typeof import('yaml') {
  const library: typeof import('yaml') = loadedYaml ?? load('yaml');
  loadedYaml = library;
  return library;
}

/** Errors of jose are compared with the classes of this copy. */
export function jose(): typeof import('jose') {
  const library: typeof import('jose') = loadedJose ?? load('jose');
  loadedJose = library;
  return library;
}
