import { isAlias, isMap, isSeq } from 'yaml';
import { MAX_PROBLEMS, type Problem, pathText } from './problem.ts';
import { type Composed, composeYaml, type Fault, YAML_LIMITS, type YamlLimits } from './yaml-tokens.ts';
import { type Json, keyText, offsetOf, type Plain, plainValue } from './yaml-value.ts';

export interface Position {
  /** 1-based. */
  readonly line: number;
  /** 1-based. */
  readonly column: number;
}

/** A parsed document that still knows where each of its values stands. */
export interface YamlText {
  readonly value: Json;
  /** Of the value at `path`; of its nearest container when nothing is there. */
  locate(path: readonly PropertyKey[]): Position;
}

export type ParsedYaml =
  | { readonly ok: true; readonly yaml: YamlText }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * One YAML 1.2 document as plain JSON, or every reason why not. Never throws: size, depth, number of elements, alias
 * expansion and duplicate keys are all checked. Broken UTF-8 is the caller's to find, before it has a string.
 */
export function parseYaml(text: string, limits: YamlLimits = YAML_LIMITS): ParsedYaml {
  const composed = composeYaml(text, limits);
  if (composed.document === null) return { ok: false, problems: problemsOf(composed, composed.faults) };
  const plain = plainValue(composed.document, limits);
  if (plain.faults.length > 0) return { ok: false, problems: problemsOf(composed, plain.faults) };
  const root: unknown = composed.document.contents;
  return {
    ok: true,
    yaml: {
      value: plain.value,
      locate: (path) => position(composed, locateOffset(root, path, plain)),
    },
  };
}

function problemsOf(composed: Composed, faults: readonly Fault[]): Problem[] {
  return faults
    .slice(0, MAX_PROBLEMS)
    .map(({ offset, path = [], message }) => ({ path: pathText(path), ...position(composed, offset), message }));
}

function position({ lines }: Composed, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function locateOffset(root: unknown, path: readonly PropertyKey[], { aliases }: Plain): number {
  let node = root;
  let offset = offsetOf(root);
  for (const part of path) {
    if (isAlias(node)) node = aliases.get(node);
    if (isMap(node)) {
      const pair = node.items.find((item) => keyText(item.key) === String(part));
      if (pair === undefined) return offset;
      offset = offsetOf(pair.key);
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number' && part < node.items.length) {
      node = node.items[part];
      offset = offsetOf(node);
    } else return offset;
  }
  return offset;
}
