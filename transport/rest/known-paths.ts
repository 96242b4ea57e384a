import { SvcError } from '../../runtime/errors.ts';

/** Remembers the methods of each path, to tell a wrong path (404) from a wrong method (405). HEAD goes where GET goes. */
export class KnownPaths {
  readonly #methods = new Map<string, Set<string>>();
  readonly #patterns = new Map<string, RegExp>();

  add(path: string, methods: string | readonly string[]): void {
    const known = this.#methods.get(path) ?? new Set<string>();
    for (const method of typeof methods === 'string' ? [methods] : methods) known.add(method);
    if (known.has('GET')) known.add('HEAD');
    this.#methods.set(path, known);
    this.#patterns.set(path, patternOf(path));
  }

  /** The methods of the path, sorted; empty for an unknown path. */
  methodsOf(url: string): string[] {
    const path = url.split('?', 1)[0] ?? '';
    // A path without parameters wins over a path whose parameter would match too.
    const own = this.#methods.get(path);
    if (own !== undefined) return [...own].sort();
    const found = new Set<string>();
    for (const [route, pattern] of this.#patterns) {
      if (pattern.test(path)) for (const method of this.#methods.get(route) ?? []) found.add(method);
    }
    return [...found].sort();
  }

  /**
   * Whether a path without parameters exists, but not with this method. The parameter of another path must not match it then.
   */
  isWrittenOutWithout(method: string, url: string): boolean {
    const path = url.split('?', 1)[0] ?? '';
    const own = /[:*]/.test(path) ? undefined : this.#methods.get(path);
    return own !== undefined && !own.has(method);
  }

  /** The error for a request that matched no route, with its `Allow` header. */
  refusalOf(method: string, url: string): { error: SvcError; allow: string | undefined } {
    const methods = this.methodsOf(url);
    if (methods.length === 0) return { error: new SvcError('not_found', 'There is no such path.'), allow: undefined };
    const allow = methods.join(', ');
    return {
      error: new SvcError('method_not_allowed', `${method} is not allowed on this path. Allowed: ${allow}.`),
      allow,
    };
  }
}

function patternOf(path: string): RegExp {
  const parts = path.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+';
    return part === '*' ? '.*' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}$`);
}
