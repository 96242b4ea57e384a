import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);

/**
 * A library for calls that cannot wait, loaded within the first one: an idle node does not carry it. `name` is that of its
 * package, `Library` the type of its module; one that is missing is an error at each call.
 */
export function lateLibrary<Library>(name: string): () => Library {
  let library: Library | null = null;
  return () => {
    const loaded: Library = library ?? load(name);
    library = loaded;
    return loaded;
  };
}
