import { type Alias, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import type { z } from 'zod';
import { type Fault, tooDeep, type YamlDocument, type YamlLimits } from './yaml-tokens.ts';

export type Json = z.core.util.JSONType;

const PLAIN_TAGS = new Set(['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((t) => `tag:yaml.org,2002:${t}`));

/** What the walk found: the plain value, and what an alias stands for (needed to find a line again). */
export interface Plain {
  readonly value: Json;
  readonly aliases: ReadonlyMap<Alias, Node>;
  readonly faults: readonly Fault[];
}

/**
 * Document nodes to plain JSON. Our own walk instead of `toJS`: duplicate keys in linear time, aliases counted as they
 * expand, and nothing but JSON comes out.
 */
export function plainValue(document: YamlDocument, limits: YamlLimits): Plain {
  const walk = new Walk(limits);
  const value = walk.node(document.contents, 1);
  return { value, aliases: walk.aliases, faults: walk.faults };
}

class Walk {
  readonly aliases = new Map<Alias, Node>();
  readonly faults: Fault[] = [];
  readonly #limits: YamlLimits;
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  readonly #path: PropertyKey[] = [];
  #values = 0;
  #aliasUses = 0;

  constructor(limits: YamlLimits) {
    this.#limits = limits;
  }

  node(node: unknown, depth: number): Json {
    this.#values += 1;
    if (this.#values > this.#limits.maxValues)
      return this.#fault(node, `expected at most ${this.#limits.maxValues} values, aliases expanded`);
    if (depth > this.#limits.maxDepth + 1) return this.#fault(node, tooDeep(this.#limits));
    if (isAlias(node)) return this.#alias(node, depth);
    if (isScalar(node)) return this.#scalar(node);
    if (isMap(node) || isSeq(node)) return this.#collection(node, depth);
    return node === null ? null : this.#fault(node, 'expected text, a number, a boolean, a list or a map');
  }

  #fault(node: unknown, message: string): null {
    const last = this.faults.at(-1);
    // A limit is met again by every value behind it: say it once.
    if (last?.message !== message) this.faults.push({ offset: offsetOf(node), path: [...this.#path], message });
    return null;
  }

  #enter(node: Node & { tag?: string; anchor?: string }): boolean {
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (node.tag === undefined || PLAIN_TAGS.has(node.tag)) return true;
    this.#fault(node, `expected no YAML tag, got ${node.tag.slice(0, 60)}`);
    return false;
  }

  #alias(alias: Alias, depth: number): Json {
    this.#aliasUses += 1;
    if (this.#aliasUses > this.#limits.maxAliases)
      return this.#fault(alias, `expected at most ${this.#limits.maxAliases} uses of aliases`);
    const target = this.aliases.get(alias) ?? this.#anchors.get(alias.source);
    if (target === undefined)
      return this.#fault(alias, `no anchor named ${alias.source.slice(0, 60)} before this alias`);
    if (this.#open.has(target))
      return this.#fault(alias, `the alias ${alias.source.slice(0, 60)} stands inside itself`);
    this.aliases.set(alias, target);
    return this.node(target, depth);
  }

  #scalar(node: Node & { value: unknown }): Json {
    if (!this.#enter(node)) return null;
    const { value } = node;
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (typeof value !== 'number') return this.#fault(node, 'expected text, a number or a boolean');
    if (!Number.isFinite(value)) return this.#fault(node, 'expected a finite number');
    if (Number.isInteger(value) && !Number.isSafeInteger(value))
      return this.#fault(node, 'expected a whole number up to 9007199254740991; write larger ones in quotes');
    return value;
  }

  #collection(node: Node & { items: unknown[] }, depth: number): Json {
    if (!this.#enter(node)) return null;
    this.#open.add(node);
    const value = isMap(node)
      ? this.#map(node, depth)
      : node.items.map((item, index) => this.#at(index, item, depth + 1));
    this.#open.delete(node);
    return value;
  }

  #at(key: PropertyKey, node: unknown, depth: number): Json {
    this.#path.push(key);
    const value = this.node(node, depth);
    this.#path.pop();
    return value;
  }

  #map(node: { items: { key: unknown; value: unknown }[] }, depth: number): Json {
    const entries = new Map<string, Json>();
    for (const { key, value } of node.items) {
      const name = keyText(key);
      if (name === null) this.#fault(key, 'expected a plain text key');
      else if (name === '__proto__') this.#fault(key, 'the key __proto__ is not allowed');
      else if (entries.has(name)) this.#fault(key, `duplicate key ${JSON.stringify(name.slice(0, 100))}`);
      else entries.set(name, this.#at(name, value, depth + 1));
    }
    return Object.fromEntries(entries);
  }
}

/** A key as text; null for lists, maps, aliases and empty keys. */
export function keyText(key: unknown): string | null {
  if (!isScalar(key) || key.value === null || typeof key.value === 'object') return null;
  return String(key.value);
}

export function offsetOf(node: unknown): number {
  if (typeof node !== 'object' || node === null || !('range' in node) || !Array.isArray(node.range)) return 0;
  const start: unknown = node.range[0];
  return typeof start === 'number' ? start : 0;
}
